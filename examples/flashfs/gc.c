/* SPDX-License-Identifier: MIT */
/*
 * gc: which block is next, and what is moved so that there is one.
 *
 * Rules
 *   1. A block is taken only if nothing lives in it: no newest state of a node, no page of one, no
 *      stone with older records elsewhere.
 *   2. What is moved is programmed elsewhere first. The old copy is lost when its block is taken.
 *   3. Blocks with pages that no commit has yet are pinned until the change ends.
 *   4. FF_RESERVE free blocks are kept, so that moving is always possible.
 */
#include "flashfs.h"

#include <errno.h>
#include <string.h>

static uint32_t block_of(const struct as_fs *fs, uint32_t at)
{
	return at / fs->block_bytes;
}

/* Whether its newest state must stay. */
static bool is_needed(const struct as_fs *fs, const struct ff_node *node)
{
	if (!node->where)
		return false;
	if (node->kind != FF_GONE)
		return true;
	return node->records > 1 && fs->bug != FF_STONE_DROPPED;
}

static bool has_pages(const struct ff_node *node)
{
	return node->kind == FF_FILE;
}

/* There is no page after this one: it would lie after the end. */
static uint32_t pages_max(const struct ff_node *node)
{
	uint32_t size = node->size > node->flash_size ? node->size : node->flash_size;

	if (!has_pages(node) || size > FF_FILE_BYTES)
		return FF_PAGES;
	return (size + FF_PAGE - 1) / FF_PAGE;
}

static uint32_t state_bytes(const struct as_fs *fs, const struct ff_node *node)
{
	uint32_t n = pages_max(node);

	while (n && !node->flash_pages[n - 1] && !node->pages[n - 1] && !node->dirty[n - 1])
		n--;
	return ff_round(fs, (uint32_t)(sizeof(struct ff_record) + sizeof(struct ff_state) +
				       strlen(node->name)) +
				    4 * n);
}

void ff_count_live(struct as_fs *fs)
{
	for (uint32_t b = 0; b < fs->n_blocks; b++)
		fs->blocks[b].live = 0;
	for (size_t i = 0; i < fs->n_nodes; i++) {
		const struct ff_node *node = fs->nodes[i];
		uint32_t n = has_pages(node) ? pages_max(node) : 0;

		if (is_needed(fs, node))
			fs->blocks[block_of(fs, node->where)].live += state_bytes(fs, node);
		for (uint32_t p = 0; p < n; p++) {
			if (node->flash_pages[p])
				fs->blocks[block_of(fs, node->flash_pages[p])].live +=
					ff_page_bytes(fs);
			/* What a handle reads may not be committed yet. */
			if (node->pages[p] && node->pages[p] != node->flash_pages[p])
				fs->blocks[block_of(fs, node->pages[p])].live += 1;
		}
	}
}

static bool is_free(const struct as_fs *fs, uint32_t b)
{
	const struct ff_block *block = &fs->blocks[b];

	return !block->bad && !block->pinned && !block->live && b != fs->cur;
}

static uint32_t count_free(const struct as_fs *fs)
{
	uint32_t n = 0;

	for (uint32_t b = 0; b < fs->n_blocks; b++)
		n += is_free(fs, b);
	return n;
}

/* ---- Taking ---- */

static int forget_state(struct as_fs *fs, const struct ff_state *state, const char *name,
			const unsigned char *pages, uint32_t where)
{
	struct ff_node *node = ff_find(fs, state->ino);

	(void)name;
	(void)pages;
	(void)where;
	if (node && node->records)
		node->records--;
	return 0;
}

static int recall_state(struct as_fs *fs, const struct ff_state *state, const char *name,
			const unsigned char *pages, uint32_t where)
{
	struct ff_node *node = ff_find(fs, state->ino);

	(void)name;
	(void)pages;
	(void)where;
	if (node)
		node->records++;
	return 0;
}

/* Removed nodes of which no record is left. */
static void drop_gone(struct as_fs *fs)
{
	for (size_t i = fs->n_nodes; i-- > 0;)
		if (fs->nodes[i]->kind == FF_GONE && !fs->nodes[i]->records && !fs->nodes[i]->opens)
			ff_drop_node(fs, fs->nodes[i]);
}

void ff_retire(struct as_fs *fs, uint32_t block)
{
	fs->blocks[block].bad = true;
	fs->bad_changed = true;
	if (fs->cur == block)
		fs->cur = FF_NONE;
}

static uint32_t pick(const struct as_fs *fs)
{
	uint32_t best = FF_NONE;

	for (uint32_t b = 0; b < fs->n_blocks; b++) {
		if (!is_free(fs, b))
			continue;
		if (best == FF_NONE ||
		    (fs->bug != FF_NO_LEVELLING && fs->blocks[b].erases < fs->blocks[best].erases))
			best = b;
	}
	return best;
}

/* Erases a block and programs its head. */
static int prepare(struct as_fs *fs, uint32_t b)
{
	struct ff_block *block = &fs->blocks[b];
	struct ff_head head = { 0xf1a5b10c, block->erases + 1, 0, 0 };
	uint32_t len = ff_head_bytes(fs);
	unsigned char *bytes = fs->page;
	int rc = 0;

	if (fs->bug != FF_MISSING_ERASE || !block->headed)
		rc = as_flash_erase(fs->flash, (uint64_t)b * fs->block_bytes);
	if (rc)
		return rc;
	block->headed = block->weak = false;
	block->erases++;
	head.crc = head.magic ^ head.erases * 2654435761u;
	memset(bytes, fs->flash->geometry.erased, len);
	memcpy(bytes, &head, sizeof(head));
	rc = as_flash_program(fs->flash, (uint64_t)b * fs->block_bytes, bytes, len);
	if (fs->bug == FF_BAD_KEPT)
		rc = 0;
	block->headed = !rc;
	return rc;
}

static void close_block(struct as_fs *fs)
{
	uint32_t len = ff_head_bytes(fs), at = fs->cur * fs->block_bytes;

	if (fs->bug != FF_PROGRAM_TWICE || fs->cur == FF_NONE)
		return;
	if (!as_flash_read(fs->flash, at, fs->page, len)) {
		memset(fs->page + 8, 0, 4);
		(void)as_flash_program(fs->flash, at, fs->page, len);
	}
}

int ff_take_block(struct as_fs *fs)
{
	close_block(fs);
	for (;;) {
		uint32_t b, end;
		int rc = 0;

		ff_count_live(fs);
		b = pick(fs);
		if (b == FF_NONE)
			return -ENOSPC;
		if (fs->blocks[b].headed)
			rc = ff_each_state(fs, b, forget_state, &end);
		if (!rc)
			rc = prepare(fs, b);
		if (!rc) {
			fs->cur = b;
			fs->at = ff_head_bytes(fs);
			fs->blocks[b].pinned = true;
			return 0;
		}
		if (fs->blocks[b].headed && ff_each_state(fs, b, recall_state, &end))
			return -EIO;
		if (rc != -EIO)
			return rc;
		ff_retire(fs, b);
		as_forgive(fs->host);
	}
}

/* ---- Moving ---- */

/* FF_ERASE_FIRST: the pages of the block, and an erase. */
static int read_and_erase(struct as_fs *fs, uint32_t b, unsigned char **kept)
{
	uint32_t per = ff_page_bytes(fs), n = fs->block_bytes / per + 1, at = 0;
	int rc = 0;

	*kept = as_malloc(fs->host, n * FF_PAGE);
	if (!*kept)
		return -ENOMEM;
	for (size_t i = 0; i < fs->n_nodes; i++)
		for (unsigned p = 0; has_pages(fs->nodes[i]) && p < FF_PAGES && !rc; p++) {
			uint32_t where = fs->nodes[i]->flash_pages[p];

			if (where && block_of(fs, where) == b && at < n)
				rc = ff_get_page(fs, where, *kept + FF_PAGE * at++);
		}
	if (!rc)
		rc = as_flash_erase(fs->flash, (uint64_t)b * fs->block_bytes);
	fs->blocks[b].headed = false;
	return rc;
}

/* Moves what lives in the block for one node. `kept`: its pages, in order. */
static int move_node(struct as_fs *fs, struct ff_node *node, uint32_t b, unsigned char **kept)
{
	bool move = is_needed(fs, node) && block_of(fs, node->where) == b;
	struct ff_change change = ff_as_it_is(node);
	uint32_t pages[FF_PAGES];
	unsigned char bytes[FF_PAGE];
	int rc = 0;

	memcpy(pages, node->flash_pages, sizeof(pages));
	for (unsigned p = 0; has_pages(node) && p < FF_PAGES && !rc; p++) {
		if (!pages[p] || block_of(fs, pages[p]) != b)
			continue;
		if (*kept) {
			memcpy(bytes, *kept, FF_PAGE);
			*kept += FF_PAGE;
		} else if (ff_get_page(fs, pages[p], bytes)) {
			continue; /* it cannot be read, and stays where it is */
		}
		rc = ff_put_page(fs, node->ino, bytes, &pages[p]);
		move = true;
	}
	if (rc || !move)
		return rc;
	change.pages = pages;
	for (unsigned p = 0; p < FF_PAGES; p++)
		if (node->pages[p] == node->flash_pages[p])
			node->pages[p] = pages[p];
	return ff_commit(fs, &change, 1);
}

static int move_block(struct as_fs *fs, uint32_t b)
{
	unsigned char *kept = NULL, *at;
	int rc = fs->bug == FF_ERASE_FIRST ? read_and_erase(fs, b, &kept) : 0;

	if (fs->cur == b)
		fs->cur = FF_NONE;
	at = kept;
	for (size_t i = 0; i < fs->n_nodes && !rc; i++)
		rc = move_node(fs, fs->nodes[i], b, &at);
	as_free(fs->host, kept);
	ff_count_live(fs);
	return rc;
}

/* The block with the least in it; FF_NONE: moving would gain nothing. */
static uint32_t emptiest(const struct as_fs *fs)
{
	uint32_t best = FF_NONE;

	for (uint32_t b = 0; b < fs->n_blocks; b++) {
		const struct ff_block *block = &fs->blocks[b];

		if (block->bad || block->pinned || !block->live || b == fs->cur)
			continue;
		if (best == FF_NONE || block->live < fs->blocks[best].live)
			best = b;
	}
	if (best != FF_NONE &&
	    fs->blocks[best].live > fs->block_bytes - ff_head_bytes(fs) - ff_page_bytes(fs))
		best = FF_NONE;
	return best;
}

/* What was written once and never again keeps its block from being used: it is moved. */
static int level(struct as_fs *fs)
{
	uint32_t cold = FF_NONE, most = 0;

	for (uint32_t b = 0; b < fs->n_blocks; b++) {
		const struct ff_block *block = &fs->blocks[b];

		if (block->bad)
			continue;
		most = block->erases > most ? block->erases : most;
		if (block->live && b != fs->cur && !block->pinned &&
		    (cold == FF_NONE || block->erases < fs->blocks[cold].erases))
			cold = b;
	}
	if (fs->bug == FF_NO_LEVELLING || cold == FF_NONE ||
	    most - fs->blocks[cold].erases < FF_SPREAD)
		return 0;
	return move_block(fs, cold);
}

static void unpin(struct as_fs *fs)
{
	for (uint32_t b = 0; b < fs->n_blocks; b++)
		fs->blocks[b].pinned = false;
}

/* Of a block, what is surely used before the next record does not fit any more. */
static uint32_t room_of(const struct as_fs *fs)
{
	return fs->block_bytes - ff_head_bytes(fs) - ff_page_bytes(fs);
}

int ff_has_room(struct as_fs *fs, uint32_t bytes)
{
	uint64_t used = bytes, good = 0;

	ff_count_live(fs);
	for (uint32_t b = 0; b < fs->n_blocks; b++) {
		used += fs->blocks[b].live;
		good += !fs->blocks[b].bad;
	}
	for (size_t i = 0; i < fs->n_nodes; i++)
		for (unsigned p = 0; fs->nodes[i]->changed && p < FF_PAGES; p++)
			used += fs->nodes[i]->dirty[p] ? ff_page_bytes(fs) : 0;
	if (good < FF_RESERVE + 3 || used > (good - FF_RESERVE - 3) * room_of(fs))
		return -ENOSPC;
	return 0;
}

int ff_begin(struct as_fs *fs, uint32_t bytes)
{
	uint32_t need = (bytes + ff_state_bytes(fs)) / room_of(fs) + 1 + FF_RESERVE;
	int rc = 0;

	if (fs->readonly)
		return -EROFS;
	ff_count_live(fs);
	drop_gone(fs);
	for (uint32_t tries = 0; count_free(fs) < need && tries < 2 * fs->n_blocks; tries++) {
		uint32_t b = emptiest(fs);

		if (b == FF_NONE)
			return -ENOSPC;
		rc = move_block(fs, b);
		unpin(fs);
		if (rc)
			return rc;
	}
	if (count_free(fs) < need)
		return -ENOSPC;
	rc = level(fs);
	unpin(fs);
	return rc == -ENOSPC ? 0 : rc;
}

static int write_table(struct as_fs *fs)
{
	struct ff_node *table = ff_find(fs, FF_TABLE);
	uint32_t pages[FF_PAGES] = { 0 };
	struct ff_change change;
	unsigned n = 0;

	for (uint32_t b = 0; b < fs->n_blocks && n < FF_PAGES; b++)
		if (fs->blocks[b].bad)
			pages[n++] = b + 1;
	change = ff_as_it_is(table);
	change.pages = pages;
	return ff_commit(fs, &change, 1);
}

/* What does not work now is tried again after the next change. */
void ff_end(struct as_fs *fs)
{
	unpin(fs);
	if (fs->moving)
		return;
	fs->moving = true;
	ff_count_live(fs);
	for (uint32_t b = 0; b < fs->n_blocks; b++)
		if ((fs->blocks[b].bad || fs->blocks[b].weak) && fs->blocks[b].live &&
		    move_block(fs, b))
			as_forgive(fs->host);
	if (fs->bad_changed) {
		fs->bad_changed = write_table(fs);
		if (fs->bad_changed)
			as_forgive(fs->host);
	}
	unpin(fs);
	fs->moving = false;
}
