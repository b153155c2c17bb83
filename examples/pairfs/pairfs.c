/* SPDX-License-Identifier: MIT */
/*
 * pairfs: a small copy-on-write file system for raw flash, with paths and without inodes.
 *
 * On flash: a directory is a pair of blocks. One of them is the newest: it has the higher revision,
 * and its checksum is right. A commit writes the whole directory to the other one. A file is an
 * index block with the numbers and checksums of its data blocks; the entry of the file has the
 * checksum of the index. Blocks 0 and 1 are the pair of the root.
 *
 * In memory: the tree is there, and how many users each block has. A handle has its own view of a
 * file, which becomes the file's at close, fsync and sync.
 *
 * A move between directories is committed three times: to the new directory, with a note which
 * entry of the old one has to go; to the old one; to the new one without the note. A mount that
 * finds a note finishes the move.
 *
 * A block that cannot be erased or programmed is given up. If it is one of a pair, the parent gets
 * the new pair. The root cannot move: its blocks have to be good.
 *
 * The option `wrap` of mkfs begins with a revision that soon wraps around. bugs.def has the bugs
 * that the option bug=N plants, and checks.txt how each is found.
 */
#include <assay/target.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAGIC 0x72696170u
#define NAME 64u
#define DATA 64u /* data blocks of a file */
#define FILE_BYTES (DATA * 2048u) /* with any geometry of the matrix */

/* Planted bugs: the option bug=N. */
enum bug {
	CLEAN,
#define BUG(number, id, help) id = number,
#include "bugs.def"
#undef BUG
};

struct head {
	uint32_t magic, rev, len, count;
	uint32_t note_dir, note_id; /* of a move that is not finished; 0: none */
	uint32_t crc, zero;
};

struct entry {
	uint32_t id, size;
	uint32_t a, b; /* a directory's pair; a file's index (0: none) and its checksum */
	uint32_t dir, name_len;
};

struct part {
	uint32_t block, crc; /* block 0: zeros */
};

struct node {
	struct node *parent, *next, *children;
	char name[NAME + 1];
	bool dir, gone;
	uint32_t id, opens;
	/* Of a directory. */
	uint32_t pair[2], cur, rev;
	uint32_t note_dir, note_id;
	bool noted; /* its newest commit has a note */
	/* Of a file. */
	uint32_t size, index, index_crc;
	struct part parts[DATA];
};

struct as_handle {
	struct node *node;
	unsigned flags;
	bool dirty;
	uint32_t size;
	struct part parts[DATA];
	struct as_handle *next;
};

struct as_fs {
	const struct as_host *host;
	struct as_flash *flash;
	uint32_t bytes, n, next, next_id;
	enum bug bug;
	bool readonly;
	struct node *root, *unsettled;
	struct as_handle *open;
	uint16_t *users;
	bool *bad;
	unsigned char *buf, *io, *look;
};

static uint32_t crc32(const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

/* ---- Blocks ---- */

static int read_block(struct as_fs *fs, uint32_t block, unsigned char *buf)
{
	int rc = as_flash_read(fs->flash, (uint64_t)block * fs->bytes, buf, fs->bytes);

	if (rc == -EUCLEAN) {
		as_forgive(fs->host);
		rc = 0;
	}
	return rc;
}

/* Erases, programs and reads back. */
static int write_block(struct as_fs *fs, uint32_t block, const unsigned char *buf, uint32_t len)
{
	uint64_t at = (uint64_t)block * fs->bytes;
	uint32_t unit = fs->flash->geometry.program_bytes;
	int rc = fs->bug == NO_ERASE ? 0 : as_flash_erase(fs->flash, at);

	len = (len + unit - 1) / unit * unit;
	if (!rc)
		rc = as_flash_program(fs->flash, at, buf, len);
	if (!rc)
		rc = read_block(fs, block, fs->look);
	if (!rc && memcmp(fs->look, buf, len))
		rc = -EIO;
	return rc;
}

static uint32_t count_free(const struct as_fs *fs)
{
	uint32_t n = 0;

	for (uint32_t i = 2; i < fs->n; i++)
		n += !fs->users[i] && !fs->bad[i];
	return n;
}

/* Writes to a new block. */
static int put_block(struct as_fs *fs, const unsigned char *buf, uint32_t len, uint32_t *block)
{
	for (uint32_t i = 0; i < fs->n; i++) {
		uint32_t b = fs->next;
		int rc;

		fs->next = (b + 1) % fs->n;
		if (b < 2 || fs->users[b] || fs->bad[b])
			continue;
		rc = write_block(fs, b, buf, len);
		if (!rc || (fs->bug == BAD_KEPT && rc == -EIO)) {
			if (rc)
				as_forgive(fs->host);
			fs->users[b] = 1;
			*block = b;
			return 0;
		}
		fs->bad[b] = true;
		as_forgive(fs->host);
	}
	assert(fs->bug != ASSERTS && "there is a free block");
	return -ENOSPC;
}

static void unuse(struct as_fs *fs, uint32_t block)
{
	if (block)
		fs->users[block]--;
}

static void use_parts(struct as_fs *fs, const struct part *parts, int by)
{
	for (uint32_t i = 0; i < DATA; i++)
		if (parts[i].block)
			fs->users[parts[i].block] = (uint16_t)(fs->users[parts[i].block] + by);
}

/* ---- Commits ---- */

static int pack(struct as_fs *fs, const struct node *dir, uint32_t rev, uint32_t *len)
{
	struct head head = {
		.magic = MAGIC, .rev = rev, .note_dir = dir->note_dir, .note_id = dir->note_id
	};
	uint32_t at = sizeof(head);

	memset(fs->buf, 0, fs->bytes);
	for (const struct node *n = dir->children; n; n = n->next) {
		struct entry e = { .id = n->id, .size = n->size, .dir = n->dir };

		if (n->gone)
			continue;
		e.a = n->dir ? n->pair[0] : n->index;
		e.b = n->dir ? n->pair[1] : n->index_crc;
		e.name_len = (uint32_t)strlen(n->name);
		if (at + sizeof(e) + e.name_len > fs->bytes)
			return -ENOSPC;
		memcpy(fs->buf + at, &e, sizeof(e));
		memcpy(fs->buf + at + sizeof(e), n->name, e.name_len);
		at += (uint32_t)sizeof(e) + e.name_len;
		head.count++;
	}
	head.len = *len = at;
	memcpy(fs->buf, &head, sizeof(head));
	head.crc = crc32(fs->buf, at);
	memcpy(fs->buf, &head, sizeof(head));
	return 0;
}

static int commit(struct as_fs *fs, struct node *dir)
{
	uint32_t other = !dir->cur, old = dir->pair[other], fresh, len;
	int rc;

	if (fs->readonly)
		return -EROFS;
	rc = pack(fs, dir, dir->rev + 1, &len);
	if (rc)
		return rc;
	rc = write_block(fs, old, fs->buf, len);
	if (rc && !dir->parent) {
		/* What may have got there must not count. */
		(void)as_flash_erase(fs->flash, (uint64_t)old * fs->bytes);
		return rc;
	}
	if (rc) {
		rc = put_block(fs, fs->buf, len, &fresh);
		if (rc)
			return rc;
		as_forgive(fs->host);
		dir->pair[other] = fresh;
		rc = commit(fs, dir->parent);
		if (rc) {
			dir->pair[other] = old;
			unuse(fs, fresh);
			return rc;
		}
		fs->bad[old] = true;
		unuse(fs, old);
	}
	dir->cur = other;
	dir->rev++;
	dir->noted = dir->note_id;
	return 0;
}

static struct node *by_id(struct node *top, uint32_t id)
{
	if (top->id == id)
		return top;
	for (struct node *n = top->children; n; n = n->next) {
		struct node *found = by_id(n, id);

		if (found)
			return found;
	}
	return NULL;
}

/* The move that was not finished, if there is one. */
static int settle(struct as_fs *fs)
{
	struct node *dir = fs->unsettled;
	int rc = 0;

	if (!dir)
		return 0;
	if (dir->note_id) {
		struct node *from = by_id(fs->root, dir->note_dir);

		rc = from ? commit(fs, from) : 0;
	}
	if (rc)
		return rc;
	dir->note_dir = dir->note_id = 0;
	rc = commit(fs, dir);
	if (!rc)
		fs->unsettled = NULL;
	return rc;
}

/* ---- The tree ---- */

static struct node *new_node(struct as_fs *fs, struct node *parent, const char *name, size_t len,
			     bool dir)
{
	struct node *node = as_malloc(fs->host, sizeof(*node));

	if (!node)
		return NULL;
	memcpy(node->name, name, len);
	node->dir = dir;
	node->parent = parent;
	node->id = fs->next_id++;
	if (parent) {
		node->next = parent->children;
		parent->children = node;
	}
	return node;
}

static void take_out(struct node *node)
{
	struct node **at = &node->parent->children;

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
}

/* Frees what it has on flash and in memory; all that is below it, too. */
static void free_node(struct as_fs *fs, struct node *node)
{
	while (node->children) {
		struct node *child = node->children;

		node->children = child->next;
		free_node(fs, child);
	}
	if (node->dir) {
		unuse(fs, node->pair[0]);
		unuse(fs, node->pair[1]);
	} else {
		unuse(fs, node->index);
		use_parts(fs, node->parts, -1);
	}
	if (fs->unsettled == node)
		fs->unsettled = NULL;
	as_free(fs->host, node);
}

static bool good_head(struct as_fs *fs, unsigned char *buf, struct head *head)
{
	uint32_t crc;

	memcpy(head, buf, sizeof(*head));
	if (head->magic != MAGIC || head->len < sizeof(*head) || head->len > fs->bytes)
		return false;
	if (fs->bug == NO_CRC)
		return true;
	crc = head->crc;
	head->crc = 0;
	memcpy(buf, head, sizeof(*head));
	return crc32(buf, head->len) == crc;
}

static bool newer(const struct as_fs *fs, uint32_t a, uint32_t b)
{
	return fs->bug == NO_WRAP ? a > b : (int32_t)(a - b) > 0;
}

static int load_file(struct as_fs *fs, struct node *node)
{
	uint32_t n = (node->size + fs->bytes - 1) / fs->bytes;
	int rc;

	if (n > DATA || node->index >= fs->n) {
		node->index = 0; /* it is not in use */
		return -EUCLEAN;
	}
	if (!node->index)
		return 0;
	fs->users[node->index]++;
	rc = read_block(fs, node->index, fs->io);
	if (rc)
		return rc;
	if (crc32(fs->io, n * sizeof(struct part)) != node->index_crc)
		return -EUCLEAN;
	memcpy(node->parts, fs->io, n * sizeof(struct part));
	for (uint32_t i = 0; i < DATA; i++)
		if (node->parts[i].block >= fs->n) {
			memset(node->parts, 0, sizeof(node->parts));
			return -EUCLEAN;
		}
	use_parts(fs, node->parts, 1);
	return 0;
}

static int load_dir(struct as_fs *fs, struct node *dir, unsigned depth);

static int load_entries(struct as_fs *fs, struct node *dir, const unsigned char *buf,
			const struct head *head, unsigned depth)
{
	uint32_t at = sizeof(*head);
	int rc = 0;

	for (uint32_t i = 0; i < head->count && !rc; i++) {
		struct node *node;
		struct entry e;

		if (at + sizeof(e) > head->len)
			return -EUCLEAN;
		memcpy(&e, buf + at, sizeof(e));
		if (e.name_len > NAME || at + sizeof(e) + e.name_len > head->len)
			return -EUCLEAN;
		node = new_node(fs, dir, (const char *)buf + at + sizeof(e), e.name_len, e.dir);
		if (!node)
			return -ENOMEM;
		at += (uint32_t)sizeof(e) + e.name_len;
		node->id = e.id;
		if (e.id >= fs->next_id)
			fs->next_id = e.id + 1;
		node->size = e.size;
		if (e.dir) {
			if (e.a >= fs->n || e.b >= fs->n)
				return -EUCLEAN;
			node->pair[0] = e.a;
			node->pair[1] = e.b;
			fs->users[e.a]++;
			fs->users[e.b]++;
			rc = load_dir(fs, node, depth + 1);
		} else {
			node->index = e.a;
			node->index_crc = e.b;
			rc = load_file(fs, node);
		}
	}
	return rc;
}

static int load_dir(struct as_fs *fs, struct node *dir, unsigned depth)
{
	unsigned char *buf = as_malloc(fs->host, 2u * fs->bytes);
	struct head heads[2];
	bool good[2];
	int rc = buf ? 0 : -ENOMEM;

	if (depth > 64)
		rc = -EUCLEAN;
	for (int i = 0; i < 2 && !rc; i++) {
		rc = read_block(fs, dir->pair[i], buf + i * fs->bytes);
		good[i] = !rc && good_head(fs, buf + i * fs->bytes, &heads[i]);
	}
	if (!rc && !good[0] && !good[1])
		rc = -EUCLEAN;
	if (!rc) {
		dir->cur = !good[0] || (good[1] && newer(fs, heads[1].rev, heads[0].rev));
		dir->rev = heads[dir->cur].rev;
		dir->note_dir = heads[dir->cur].note_dir;
		dir->note_id = heads[dir->cur].note_id;
		if (dir->note_id >= fs->next_id)
			fs->next_id = dir->note_id + 1;
		rc = load_entries(fs, dir, buf + dir->cur * fs->bytes, &heads[dir->cur], depth);
	}
	as_free(fs->host, buf);
	return rc;
}

/* Finishes a move that the power cut has interrupted. */
static int finish(struct as_fs *fs, struct node *dir)
{
	struct node *from, *n;
	int rc = 0;

	if (dir->note_id) {
		from = by_id(fs->root, dir->note_dir);
		for (n = from ? from->children : NULL; n && n->id != dir->note_id; n = n->next)
			;
		if (n) {
			take_out(n);
			free_node(fs, n);
		}
		if (n && !fs->readonly)
			rc = commit(fs, from);
		dir->note_dir = dir->note_id = 0;
		return !rc && !fs->readonly ? commit(fs, dir) : rc;
	}
	for (n = dir->children; n && !rc; n = n->next)
		if (n->dir)
			rc = finish(fs, n);
	return rc;
}

/* ---- mkfs, mount ---- */

static int parse(const char *opts, enum bug *bug, uint32_t *rev)
{
	*bug = CLEAN;
	*rev = 1;
	while (*opts) {
		size_t len = strcspn(opts, ",");

		if (!strncmp(opts, "bug=", 4) && len < 7) {
			*bug = 0;
			for (const char *s = opts + 4; s < opts + len; s++)
				*bug = (enum bug)(*bug * 10 + (unsigned)(*s - '0'));
		} else if (len == 4 && !strncmp(opts, "wrap", 4)) {
			*rev = UINT32_MAX - 2;
		} else if (len != 2 || (strncmp(opts, "ro", 2) && strncmp(opts, "rw", 2))) {
			return -EINVAL;
		}
		opts += len + (opts[len] == ',');
	}
	return 0;
}

static void clean_up(struct as_fs *fs)
{
	if (fs->root)
		free_node(fs, fs->root);
	as_free(fs->host, fs->users);
	as_free(fs->host, fs->bad);
	as_free(fs->host, fs->buf);
	as_free(fs->host, fs);
}

static int set_up(const struct as_mount_args *args, struct as_fs **out, uint32_t *rev)
{
	struct as_fs *fs = as_malloc(args->host, sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	fs->host = args->host;
	fs->flash = args->flash;
	fs->bytes = args->flash->geometry.erase_bytes;
	fs->n = (uint32_t)(args->flash->geometry.size_bytes / fs->bytes);
	fs->next = 2;
	fs->next_id = 2;
	fs->users = as_malloc(args->host, fs->n * sizeof(*fs->users));
	fs->bad = as_malloc(args->host, fs->n);
	fs->buf = as_malloc(args->host, 3u * fs->bytes);
	if (fs->users && fs->bad && fs->buf) {
		fs->io = fs->buf + fs->bytes;
		fs->look = fs->io + fs->bytes;
		fs->root = new_node(fs, NULL, "", 0, true);
	}
	if (fs->root) {
		fs->root->id = 1;
		fs->root->pair[1] = 1;
		fs->users[0] = fs->users[1] = 1;
	}
	*out = fs;
	return !fs->root ? -ENOMEM : parse(args->opts, &fs->bug, rev);
}

static int mkfs(const struct as_mount_args *args)
{
	struct as_fs *fs = NULL;
	uint32_t rev;
	int rc = set_up(args, &fs, &rev);

	if (!rc)
		rc = as_flash_erase(fs->flash, 0);
	if (!rc)
		rc = as_flash_erase(fs->flash, fs->bytes);
	if (!rc) {
		fs->root->cur = 1;
		fs->root->rev = rev;
		rc = commit(fs, fs->root);
	}
	if (fs)
		clean_up(fs);
	return rc;
}

static int mount(const struct as_mount_args *args, struct as_fs **out)
{
	struct as_fs *fs = NULL;
	uint32_t rev;
	int rc = set_up(args, &fs, &rev);

	if (!rc) {
		fs->readonly = args->readonly;
		rc = load_dir(fs, fs->root, 0);
	}
	if (!rc)
		rc = finish(fs, fs->root);
	if (!rc && fs->bug == STALE_FREE)
		for (uint32_t i = fs->n / 2; i < fs->n; i++)
			fs->users[i] = 0;
	if (rc && fs)
		clean_up(fs);
	else if (!rc)
		*out = fs;
	return rc;
}

static int unmount(struct as_fs *fs)
{
	clean_up(fs);
	return 0;
}

/* ---- Paths ---- */

struct place {
	struct node *dir, *node;
	const char *name;
};

static int walk(struct as_fs *fs, const char *path, struct place *p)
{
	*p = (struct place){ .dir = fs->root, .node = fs->root, .name = "" };
	for (const char *s = path + 1; *s;) {
		size_t len = strcspn(s, "/");

		if (!p->node)
			return -ENOENT;
		if (!p->node->dir)
			return -ENOTDIR;
		p->dir = p->node;
		p->name = s;
		for (p->node = p->dir->children; p->node; p->node = p->node->next)
			if (strlen(p->node->name) == len && !memcmp(p->node->name, s, len))
				break;
		s += len;
		s += *s == '/';
	}
	return 0;
}

static int walk_to(struct as_fs *fs, const char *path, struct place *p)
{
	int rc = walk(fs, path, p);

	return rc ? rc : p->node ? 0 : -ENOENT;
}

static int fill_stat(const struct node *node, uint32_t size, struct as_stat *st)
{
	*st = (struct as_stat){ .mode = node->dir ? S_IFDIR | 0755 : S_IFREG | 0644,
				.nlink = 1,
				.size = node->dir ? 0 : size };
	return 0;
}

static int getattr(struct as_fs *fs, const char *path, struct as_stat *st)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	return rc ? rc : fill_stat(p.node, p.node->size, st);
}

/* ---- Data ---- */

/* FULL_LOSES: the files of a directory that nobody has open give up their blocks. */
static void take_blocks(struct as_fs *fs, struct node *dir)
{
	for (struct node *n = dir->children; n; n = n->next)
		if (!n->dir && !n->opens) {
			use_parts(fs, n->parts, -1);
			memset(n->parts, 0, sizeof(n->parts));
		}
}

/* Puts bytes into a block of the view; NULL: zeros. */
static int put_part(struct as_fs *fs, struct as_handle *h, uint32_t i, uint32_t at, const void *buf,
		    uint32_t len)
{
	struct part *part = &h->parts[i];
	uint32_t block;
	int rc = 0;

	if (!part->block && !buf)
		return 0;
	if (count_free(fs) < 2) {
		if (fs->bug == FULL_LOSES)
			take_blocks(fs, h->node->parent);
		return -ENOSPC;
	}
	if (part->block)
		rc = read_block(fs, part->block, fs->io);
	else
		memset(fs->io, 0, fs->bytes);
	if (rc)
		return rc;
	if (part->block && fs->bug != PART_UNCHECKED && crc32(fs->io, fs->bytes) != part->crc)
		return -EIO;
	if (buf)
		memcpy(fs->io + at, buf, len);
	else
		memset(fs->io + at, 0, len);
	rc = put_block(fs, fs->io, fs->bytes, &block);
	if (rc)
		return rc;
	unuse(fs, part->block);
	*part = (struct part){ block, crc32(fs->io, fs->bytes) };
	h->dirty = true;
	return 0;
}

static int resize(struct as_fs *fs, struct as_handle *h, uint64_t size)
{
	uint32_t tail = (uint32_t)(size % fs->bytes);
	int rc = 0;

	if (size > FILE_BYTES)
		return -EFBIG;
	if (size < h->size && tail)
		rc = put_part(fs, h, (uint32_t)(size / fs->bytes), tail, NULL, fs->bytes - tail);
	if (rc)
		return rc;
	for (uint32_t i = (uint32_t)((size + fs->bytes - 1) / fs->bytes); i < DATA; i++) {
		unuse(fs, h->parts[i].block);
		h->parts[i] = (struct part){ 0 };
	}
	h->dirty = h->dirty || size != h->size;
	h->size = (uint32_t)size;
	return 0;
}

/* The view becomes the file. */
static int flush(struct as_fs *fs, struct as_handle *h)
{
	struct node *node = h->node, was = *node;
	uint32_t n = (h->size + fs->bytes - 1) / fs->bytes;
	int rc = 0;

	if (!h->dirty)
		return 0;
	node->index = 0;
	memcpy(fs->io, h->parts, n * sizeof(struct part));
	node->index_crc = crc32(fs->io, n * sizeof(struct part));
	if (n)
		rc = put_block(fs, fs->io, n * (uint32_t)sizeof(struct part), &node->index);
	if (!rc) {
		if (fs->bug != SIZE_OLD || h->size / fs->bytes != was.size / fs->bytes)
			node->size = h->size;
		memcpy(node->parts, h->parts, sizeof(h->parts));
		rc = commit(fs, node->parent);
	}
	if (rc) {
		unuse(fs, node->index);
		node->index = was.index;
		node->index_crc = was.index_crc;
		node->size = was.size;
		memcpy(node->parts, was.parts, sizeof(was.parts));
		return rc;
	}
	unuse(fs, was.index);
	use_parts(fs, node->parts, 1);
	use_parts(fs, was.parts, -1);
	h->dirty = false;
	return 0;
}

static int sync_all(struct as_fs *fs)
{
	int rc = 0;

	for (struct as_handle *h = fs->open; h && fs->bug != SYNC_LATE; h = h->next) {
		int now = flush(fs, h);

		rc = rc ? rc : now;
	}
	return rc;
}

/* ---- Handles ---- */

static void begin(struct as_fs *fs, struct as_handle *h, struct node *node, unsigned flags)
{
	h->node = node;
	h->flags = flags;
	h->size = node->size;
	memcpy(h->parts, node->parts, sizeof(h->parts));
	use_parts(fs, h->parts, 1);
	h->next = fs->open;
	fs->open = h;
	node->opens++;
}

static int end(struct as_fs *fs, struct as_handle *h)
{
	struct as_handle **at = &fs->open;
	int rc = fs->readonly ? 0 : flush(fs, h);

	while (*at != h)
		at = &(*at)->next;
	*at = h->next;
	h->node->opens--;
	use_parts(fs, h->parts, -1);
	as_free(fs->host, h);
	return rc;
}

static int setattr(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set)
{
	struct as_handle *h;
	struct place p;
	int rc = walk_to(fs, path, &p), rc2;

	if (rc)
		return rc;
	if (fs->readonly)
		return -EROFS;
	if (!(set & AS_SET_SIZE))
		return 0;
	if (p.node->dir)
		return -EISDIR;
	h = as_malloc(fs->host, sizeof(*h));
	if (!h)
		return -ENOMEM;
	begin(fs, h, p.node, O_RDWR);
	rc = resize(fs, h, st->size);
	if (rc)
		h->dirty = false;
	rc2 = end(fs, h);
	return rc ? rc : rc2;
}

static int make(struct as_fs *fs, struct place *p, bool dir)
{
	struct node *node;
	uint32_t len;
	int rc = 0;

	if (p->node)
		return -EEXIST;
	if (fs->readonly)
		return -EROFS;
	if (strlen(p->name) > NAME)
		return -ENAMETOOLONG;
	node = new_node(fs, p->dir, p->name, strlen(p->name), dir);
	if (!node)
		return -ENOMEM;
	if (dir) {
		/* The other one of the pair must not have an older life in it. */
		rc = pack(fs, node, 1, &len);
		if (!rc)
			rc = put_block(fs, fs->buf, len, &node->pair[0]);
		memset(fs->buf, 0, fs->bytes);
		if (!rc)
			rc = put_block(fs, fs->buf, sizeof(struct head), &node->pair[1]);
		node->rev = 1;
	}
	if (!rc)
		rc = commit(fs, p->dir);
	if (rc == -ENOSPC && fs->bug == FULL_NAME)
		return rc;
	if (rc == -ENOSPC && fs->bug == FULL_LEAKS)
		node->pair[0] = 0;
	if (rc) {
		take_out(node);
		free_node(fs, node);
		return rc;
	}
	p->node = node;
	return 0;
}

static int open_file(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		     struct as_handle **out)
{
	struct as_handle *h;
	struct place p;
	int rc = walk(fs, path, &p);

	(void)mode;
	if (rc)
		return rc;
	if (!p.node && !(flags & O_CREAT))
		return -ENOENT;
	if (p.node && flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if (p.node && flags & O_DIRECTORY && !p.node->dir)
		return -ENOTDIR;
	if (p.node && p.node->dir &&
	    (flags & O_CREAT || flags & O_TRUNC || (flags & O_ACCMODE) != O_RDONLY))
		return -EISDIR;
	h = as_malloc(fs->host, sizeof(*h));
	if (!h)
		return -ENOMEM;
	if (!p.node)
		rc = make(fs, &p, false);
	else if (flags & O_TRUNC && fs->readonly)
		rc = -EROFS;
	if (rc) {
		as_free(fs->host, h);
		return rc;
	}
	begin(fs, h, p.node, flags);
	if (flags & O_TRUNC)
		(void)!resize(fs, h, 0);
	*out = h;
	return 0;
}

static int64_t read_file(struct as_fs *fs, struct as_handle *h, void *buf, size_t len, uint64_t off)
{
	size_t done = 0;

	if (h->node->dir)
		return -EISDIR;
	if (off >= h->size)
		return 0;
	if (len > h->size - off)
		len = (size_t)(h->size - off);
	while (done < len) {
		uint32_t i = (uint32_t)((off + done) / fs->bytes);
		uint32_t at = (uint32_t)((off + done) % fs->bytes);
		size_t n = fs->bytes - at < len - done ? fs->bytes - at : len - done;
		int rc = 0;

		if (h->parts[i].block)
			rc = read_block(fs, h->parts[i].block, fs->io);
		else
			memset(fs->io, 0, fs->bytes);
		if (!rc && h->parts[i].block && crc32(fs->io, fs->bytes) != h->parts[i].crc)
			rc = -EIO;
		if (rc)
			return rc;
		memcpy((char *)buf + done, fs->io + at, n);
		done += n;
	}
	return (int64_t)len;
}

static int64_t write_file(struct as_fs *fs, struct as_handle *h, const void *buf, size_t len,
			  uint64_t *off)
{
	uint64_t start = h->flags & O_APPEND ? h->size : *off;
	size_t done = 0;
	int rc = 0;

	if (fs->readonly)
		return -EROFS;
	if (!len)
		return 0;
	if (start >= FILE_BYTES)
		return -EFBIG;
	if (len > FILE_BYTES - start)
		len = (size_t)(FILE_BYTES - start);
	while (done < len && !rc) {
		uint32_t i = (uint32_t)((start + done) / fs->bytes);
		uint32_t at = (uint32_t)((start + done) % fs->bytes);
		uint32_t room = fs->bytes - at;
		uint32_t n = room < len - done ? room : (uint32_t)(len - done);

		rc = put_part(fs, h, i, at, (const char *)buf + done,
			      n - (fs->bug == OFF_BY_ONE && n == room && n > 1));
		if (!rc)
			done += n;
		if (!rc && start + done > h->size)
			h->size = (uint32_t)(start + done);
	}
	if (!done)
		return rc;
	rc = h->flags & (O_SYNC | O_DSYNC) ? flush(fs, h) : 0;
	if (rc)
		return rc;
	*off = start + done;
	return (int64_t)done;
}

static int fgetattr(struct as_fs *fs, struct as_handle *h, struct as_stat *st)
{
	(void)fs;
	return fill_stat(h->node, h->size, st);
}

static int fsetattr(struct as_fs *fs, struct as_handle *h, const struct as_stat *st, unsigned set)
{
	if (fs->readonly)
		return -EROFS;
	return set & AS_SET_SIZE ? resize(fs, h, st->size) : 0;
}

static int fsync_file(struct as_fs *fs, struct as_handle *h, bool data_only)
{
	(void)data_only;
	return fs->readonly || fs->bug == SYNC_LATE ? 0 : flush(fs, h);
}

/* ---- Names ---- */

static int make_dir(struct as_fs *fs, const char *path, uint32_t mode)
{
	struct place p;
	int rc = walk(fs, path, &p);

	(void)mode;
	return rc ? rc : make(fs, &p, true);
}

static int drop(struct as_fs *fs, struct node *node)
{
	int rc;

	node->gone = true;
	rc = commit(fs, node->parent);
	node->gone = false;
	if (rc)
		return rc;
	take_out(node);
	free_node(fs, node);
	return 0;
}

static int rmdir_path(struct as_fs *fs, const char *path)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (rc)
		return rc;
	if (!p.node->dir)
		return -ENOTDIR;
	if (p.node == fs->root || p.node->opens)
		return -EBUSY;
	return p.node->children ? -ENOTEMPTY : drop(fs, p.node);
}

static int unlink_path(struct as_fs *fs, const char *path)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (rc)
		return rc;
	if (p.node->dir)
		return -EISDIR;
	return p.node->opens ? -EBUSY : drop(fs, p.node);
}

static bool lies_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && path[len] == '/';
}

static int may_replace(const struct node *from, const struct node *to)
{
	if (from->dir && !to->dir)
		return -ENOTDIR;
	if (!from->dir && to->dir)
		return -EISDIR;
	if (to->children)
		return -ENOTEMPTY;
	return to->opens ? -EBUSY : 0;
}

static void move_to(struct node *node, struct node *dir, const char *name)
{
	take_out(node);
	node->parent = dir;
	node->next = dir->children;
	dir->children = node;
	memset(node->name, 0, sizeof(node->name));
	memcpy(node->name, name, strlen(name));
}

/* The entry has been moved in memory. */
static int commit_move(struct as_fs *fs, struct node *node, struct node *from)
{
	struct node *dir = node->parent;
	int rc;

	if (dir != from && fs->bug != NO_NOTE) {
		dir->note_dir = from->id;
		dir->note_id = node->id;
	}
	rc = commit(fs, dir);
	if (rc) {
		dir->note_dir = dir->note_id = 0;
		return rc;
	}
	if (dir == from)
		return 0;
	/* From here on it has happened. */
	fs->unsettled = dir;
	rc = commit(fs, from);
	if (!rc) {
		dir->note_dir = dir->note_id = 0;
		rc = commit(fs, dir);
	}
	if (!rc)
		fs->unsettled = NULL;
	else
		as_forgive(fs->host);
	return 0;
}

static int rename_path(struct as_fs *fs, const char *from_path, const char *to_path, unsigned flags)
{
	struct place from, to;
	char old[NAME + 1];
	int rc = walk_to(fs, from_path, &from);

	if (flags)
		return -EINVAL;
	if (!rc)
		rc = walk(fs, to_path, &to);
	if (rc || to.node == from.node)
		return rc;
	if (lies_below(to_path, from_path))
		return -EINVAL;
	if (lies_below(from_path, to_path))
		return -ENOTEMPTY;
	if (to.node)
		rc = may_replace(from.node, to.node);
	if (!rc && strlen(to.name) > NAME)
		rc = -ENAMETOOLONG;
	if (!rc)
		rc = settle(fs);
	if (rc)
		return rc;
	memcpy(old, from.node->name, sizeof(old));
	if (to.node)
		to.node->gone = true;
	move_to(from.node, to.dir, to.name);
	rc = commit_move(fs, from.node, from.dir);
	if (rc) {
		if (to.node)
			to.node->gone = false;
		move_to(from.node, from.dir, old);
		return rc;
	}
	if (to.node) {
		take_out(to.node);
		free_node(fs, to.node);
	}
	return 0;
}

/* Bad blocks are neither free nor there. */
static int statfs(struct as_fs *fs, struct as_statfs *st)
{
	*st = (struct as_statfs){ .block_bytes = fs->bytes, .name_max = NAME };
	for (uint32_t i = 0; i < fs->n; i++)
		st->blocks += !fs->bad[i];
	st->blocks_free = count_free(fs);
	return 0;
}

static int readdir(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx)
{
	struct place p;
	int rc = walk_to(fs, path, &p);

	if (!rc && !p.node->dir)
		rc = -ENOTDIR;
	for (struct node *n = rc ? NULL : p.node->children; n && !rc; n = n->next)
		rc = fill(ctx, n->name, 0, n->dir ? S_IFDIR : S_IFREG);
	return rc;
}

/* ---- The table ---- */

static const struct as_limits limits = { .name_max = NAME, .file_bytes = FILE_BYTES };

static const struct as_contract contract = {
	.after_cut = AS_CUT_PREFIX,
	.promises = AS_PROMISE_AT_CLOSE | AS_PROMISE_NAMES_NOW | AS_PROMISE_WHOLE_FILES |
		    AS_PROMISE_CHECKSUMS,
	.semantics =
		AS_MEANS_NLINK_ANY | AS_MEANS_INO_ANY | AS_MEANS_FULL_DROPS | AS_MEANS_OWN_VIEWS,
	.busy_errno = EBUSY,
};

static const struct as_flash_geometry flash = { .erase_bytes = 4096,
						.program_bytes = 16,
						.read_bytes = 1,
						.erased = 0xff };

__attribute__((visibility("default"))) extern const struct as_target_ops as_target;
const struct as_target_ops as_target = {
	.api = AS_TARGET_API,
	.name = "pairfs",
	.version = "1",
	.caps = AS_CAP_STATFS | AS_CAP_EXACT_SPACE,
	.min_bytes = 64 * 1024,
	.default_bytes = 256 * 1024,
	.mkfs = mkfs,
	.mount = mount,
	.unmount = unmount,
	.sync = sync_all,
	.getattr = getattr,
	.setattr = setattr,
	.mkdir = make_dir,
	.rmdir = rmdir_path,
	.unlink = unlink_path,
	.rename = rename_path,
	.readdir = readdir,
	.open = open_file,
	.close = end,
	.read = read_file,
	.write = write_file,
	.fgetattr = fgetattr,
	.fsetattr = fsetattr,
	.fsync = fsync_file,
	.statfs = statfs,
	.limits = &limits,
	.contract = &contract,
	.flash = &flash,
};
