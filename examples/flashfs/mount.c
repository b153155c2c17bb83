/* SPDX-License-Identifier: MIT */
/* mount: making a file system, reading what is on flash into memory, and giving the memory back. */
#include "flashfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUGS_MAX 17u
#define BLOCK_MIN 2048u
#define BLOCKS_MIN 8u

/* ---- Nodes ---- */

struct ff_node *ff_find(struct as_fs *fs, uint32_t ino)
{
	for (size_t i = 0; i < fs->n_nodes; i++)
		if (fs->nodes[i]->ino == ino)
			return fs->nodes[i];
	return NULL;
}

struct ff_node *ff_new_node(struct as_fs *fs, uint32_t ino)
{
	struct ff_node *node = as_malloc(fs->host, sizeof(*node));

	if (!node)
		return NULL;
	if (fs->n_nodes == fs->cap_nodes) {
		size_t cap = fs->cap_nodes ? fs->cap_nodes * 2 : 16;
		struct ff_node **nodes = as_realloc(
			fs->host, fs->nodes, fs->n_nodes * sizeof(*nodes), cap * sizeof(*nodes));

		if (!nodes) {
			as_free(fs->host, node);
			return NULL;
		}
		fs->nodes = nodes;
		fs->cap_nodes = cap;
	}
	node->ino = ino;
	fs->nodes[fs->n_nodes++] = node;
	return node;
}

static void free_node(struct as_fs *fs, struct ff_node *node)
{
	for (unsigned p = 0; p < FF_PAGES; p++)
		as_free(fs->host, node->dirty[p]);
	as_free(fs->host, node);
}

void ff_drop_node(struct as_fs *fs, struct ff_node *node)
{
	for (size_t i = 0; i < fs->n_nodes; i++)
		if (fs->nodes[i] == node) {
			fs->nodes[i] = fs->nodes[--fs->n_nodes];
			break;
		}
	free_node(fs, node);
}

static void free_fs(struct as_fs *fs)
{
	for (size_t i = 0; i < fs->n_nodes; i++)
		free_node(fs, fs->nodes[i]);
	as_free(fs->host, fs->nodes);
	as_free(fs->host, fs->blocks);
	as_free(fs->host, fs->record);
	as_free(fs->host, fs->page);
	as_free(fs->host, fs);
}

/* ---- Options ---- */

struct opts {
	unsigned bug;
	uint32_t start;
};

static bool read_number(const char **at, const char *word, uint64_t max, uint64_t *n)
{
	size_t len = strlen(word);
	char *end;

	if (strncmp(*at, word, len))
		return false;
	*n = strtoull(*at + len, &end, 0);
	if (end == *at + len || *n > max)
		return false;
	*at = end;
	return true;
}

static int read_opts(const char *text, struct opts *opts)
{
	while (*text) {
		uint64_t n;

		if (read_number(&text, "bug=", BUGS_MAX, &n))
			opts->bug = (unsigned)n;
		else if (read_number(&text, "start=", UINT32_MAX, &n))
			opts->start = (uint32_t)n;
		else if (!strncmp(text, "ro", 2))
			text += 2;
		else
			return -EINVAL;
		if (*text == ',')
			text++;
		else if (*text)
			return -EINVAL;
	}
	return 0;
}

static int new_fs(const struct as_mount_args *args, struct as_fs **out)
{
	const struct as_flash_geometry *g;
	struct opts opts = { 0 };
	struct as_fs *fs;
	int rc = read_opts(args->opts, &opts);

	*out = NULL;
	if (!rc && !args->flash)
		rc = -ENODEV;
	if (rc)
		return rc;
	g = &args->flash->geometry;
	if (g->erase_bytes < BLOCK_MIN || g->size_bytes / g->erase_bytes < BLOCKS_MIN ||
	    g->size_bytes > UINT32_MAX)
		return -EINVAL;
	fs = as_malloc(args->host, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->flash = args->flash;
	fs->bug = (enum ff_bug)opts.bug;
	fs->readonly = args->readonly;
	fs->block_bytes = g->erase_bytes;
	fs->unit = g->program_bytes;
	fs->n_blocks = (uint32_t)(g->size_bytes / g->erase_bytes);
	fs->version = opts.start;
	fs->next_ino = FF_ROOT + 1;
	fs->cur = FF_NONE;
	fs->blocks = as_malloc(fs->host, fs->n_blocks * sizeof(*fs->blocks));
	fs->record = as_malloc(fs->host, fs->block_bytes);
	fs->page = as_malloc(fs->host, fs->block_bytes);
	if (!fs->blocks || !fs->record || !fs->page) {
		free_fs(fs);
		return -ENOMEM;
	}
	*out = fs;
	return 0;
}

/* ---- mkfs ---- */

static int make(struct as_fs *fs)
{
	struct ff_change changes[2];
	struct ff_node *root = ff_new_node(fs, FF_ROOT);
	struct ff_node *table = root ? ff_new_node(fs, FF_TABLE) : NULL;

	if (!table)
		return -ENOMEM;
	root->kind = FF_DIR;
	table->kind = FF_BAD_TABLE;
	for (uint32_t b = 0; b < fs->n_blocks; b++) {
		int rc = as_flash_erase(fs->flash, (uint64_t)b * fs->block_bytes);

		if (rc && rc != -EIO)
			return rc;
		if (rc)
			ff_retire(fs, b);
		else
			fs->blocks[b].erases = 1;
	}
	changes[0] = ff_as_it_is(root);
	changes[1] = ff_as_it_is(table);
	return ff_commit(fs, changes, 2);
}

int ff_mkfs(const struct as_mount_args *args)
{
	struct as_fs *fs;
	int rc = new_fs(args, &fs);

	if (rc)
		return rc;
	rc = make(fs);
	if (!rc)
		ff_end(fs);
	free_fs(fs);
	return rc;
}

/* ---- Mounting ---- */

static int learn_state(struct as_fs *fs, const struct ff_state *state, const char *name,
		       const unsigned char *pages, uint32_t where)
{
	struct ff_node *node = ff_find(fs, state->ino);

	if (!node)
		node = ff_new_node(fs, state->ino);
	if (!node)
		return -ENOMEM;
	node->records++;
	if (node->where && !ff_newer(fs, state->version, node->version))
		return 0;
	node->parent = state->parent;
	node->version = state->version;
	node->kind = (enum ff_kind)state->kind;
	node->where = where + (uint32_t)(where == 0);
	node->size = node->flash_size = state->size;
	memset(node->name, 0, sizeof(node->name));
	memcpy(node->name, name, state->name_len);
	memset(node->flash_pages, 0, sizeof(node->flash_pages));
	memcpy(node->flash_pages, pages, 4u * state->n_pages);
	memcpy(node->pages, node->flash_pages, sizeof(node->pages));
	return 0;
}

static int read_block(struct as_fs *fs, uint32_t b, uint32_t *end)
{
	struct ff_head head;
	int rc = ff_read(fs, b * fs->block_bytes, fs->page, ff_head_bytes(fs));

	*end = fs->block_bytes;
	if (rc)
		return rc;
	memcpy(&head, fs->page, sizeof(head));
	if (head.magic != 0xf1a5b10c || head.crc != (head.magic ^ head.erases * 2654435761u))
		return 0;
	fs->blocks[b].headed = true;
	fs->blocks[b].erases = head.erases;
	return ff_each_state(fs, b, learn_state, end);
}

/* Heads that a power cut took: such a block was erased about as often as others. */
static void guess_erases(struct as_fs *fs)
{
	uint64_t sum = 0, n = 0;

	for (uint32_t b = 0; b < fs->n_blocks; b++)
		if (fs->blocks[b].headed) {
			sum += fs->blocks[b].erases;
			n++;
		}
	for (uint32_t b = 0; b < fs->n_blocks && n; b++)
		if (!fs->blocks[b].headed)
			fs->blocks[b].erases = (uint32_t)(sum / n);
}

static void learn_rest(struct as_fs *fs)
{
	const struct ff_node *table = ff_find(fs, FF_TABLE);
	bool first = true;

	for (size_t i = 0; i < fs->n_nodes; i++) {
		const struct ff_node *node = fs->nodes[i];

		if (first || ff_newer(fs, node->version, fs->version))
			fs->version = node->version;
		first = false;
		if (node->ino >= fs->next_ino)
			fs->next_ino = node->ino + 1;
	}
	for (unsigned i = 0; i < FF_PAGES; i++)
		if (table->flash_pages[i] && table->flash_pages[i] <= fs->n_blocks)
			fs->blocks[table->flash_pages[i] - 1].bad = true;
}

/* The last block may have room, unless a power cut has left something there. */
static int go_on(struct as_fs *fs, const uint32_t *ends)
{
	uint32_t b = FF_NONE;

	for (size_t i = 0; i < fs->n_nodes; i++)
		if (fs->nodes[i]->version == fs->version)
			b = fs->nodes[i]->where / fs->block_bytes;
	if (b == FF_NONE || fs->blocks[b].bad)
		return 0;
	if (fs->bug != FF_TORN_TAIL) {
		int rc = ff_read(fs, b * fs->block_bytes, fs->page, fs->block_bytes);

		if (rc)
			return rc;
		for (uint32_t i = ends[b]; i < fs->block_bytes; i++)
			if (fs->page[i] != fs->flash->geometry.erased)
				return 0;
	}
	fs->cur = b;
	fs->at = ends[b];
	return 0;
}

static int load(struct as_fs *fs)
{
	uint32_t *ends = as_malloc(fs->host, fs->n_blocks * sizeof(*ends));
	const struct ff_node *root, *table;
	int rc = ends ? 0 : -ENOMEM;

	for (uint32_t b = 0; b < fs->n_blocks && !rc; b++)
		rc = read_block(fs, b, &ends[b]);
	root = ff_find(fs, FF_ROOT);
	table = ff_find(fs, FF_TABLE);
	if (!rc && (!root || root->kind != FF_DIR || !table))
		rc = -EUCLEAN;
	if (!rc) {
		guess_erases(fs);
		learn_rest(fs);
		rc = go_on(fs, ends);
	}
	as_free(fs->host, ends);
	return rc;
}

int ff_mount(const struct as_mount_args *args, struct as_fs **out)
{
	struct as_fs *fs;
	int rc = new_fs(args, &fs);

	if (!rc)
		rc = load(fs);
	if (rc && fs)
		free_fs(fs);
	if (!rc)
		*out = fs;
	return rc;
}

int ff_sync(struct as_fs *fs)
{
	int rc = 0;

	for (size_t i = 0; i < fs->n_nodes; i++) {
		int now = ff_flush(fs, fs->nodes[i]);

		rc = rc ? rc : now;
	}
	return rc;
}

int ff_unmount(struct as_fs *fs)
{
	int rc = fs->readonly ? 0 : ff_sync(fs);

	free_fs(fs);
	return rc;
}
