/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree_capture: reads a tree. Files up to WHOLE_BYTES are read whole; of larger ones (sparse,
 * mostly) both ends are read. It stops at the first thing that cannot be read or does not end,
 * which the caller reports.
 */
#include "snapshot/tree.h"

#include "base/arena.h"
#include "base/array.h"
#include "work/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WHOLE_BYTES (16u << 20)
#define EDGE_BYTES 65536u
#define PIECE_BYTES 65536u
#define LIST_BYTES 65536u
#define XATTRS_MAX 1024u
/* A tree beyond these limits is damaged: its directories lead back to themselves, or a list of
 * names does not end. */
#define LEVELS_MAX 16000u
#define ENTRIES_MAX 1000000u
/* Holes of a file that are looked at. */
#define HOLES_MAX 64u
#define QUOTAS_MAX 4096u

struct capture {
	const struct as_tree_ops *ops;
	void *ctx;
	struct as_buf *why;
	struct as_buf path;
	struct as_tree_maker *maker;
	struct as_content_maker *content;
	struct as_arena names;
	char *piece; /* PIECE_BYTES, then LIST_BYTES for lists */
	bool failed;
	struct tree_capture_level *level; /* directories that we are in, from the root */
	size_t levels, levels_cap, entries; /* entries: met */
	struct as_tree_xattr
		xattr[XATTRS_MAX]; /* of the node at hand; last, since it is not zeroed */
	char *xattr_name[XATTRS_MAX];
};

static void fail(struct capture *c, const char *fmt, ...) AS_PRINTF(2, 3);

static void fail(struct capture *c, const char *fmt, ...)
{
	va_list ap;

	if (c->failed)
		return;
	c->failed = true;
	as_buf_addf(c->why, "%s: ", as_buf_str(&c->path));
	va_start(ap, fmt);
	as_buf_vaddf(c->why, fmt, ap);
	va_end(ap);
}

/* ---- Contents ---- */

static void read_range(struct capture *c, uint64_t off, uint64_t end)
{
	while (off < end && !c->failed) {
		size_t len = end - off < PIECE_BYTES ? (size_t)(end - off) : PIECE_BYTES;
		int64_t n = c->ops->read(c->ctx, as_buf_str(&c->path), c->piece, len, off);

		if (n < 0) {
			fail(c, "reading at %llu gives %s", (unsigned long long)off,
			     as_outcome_err_name((int)-n));
			return;
		}
		if ((size_t)n != len) {
			fail(c, "reading at %llu gives %lld bytes of %zu", (unsigned long long)off,
			     (long long)n, len);
			return;
		}
		as_content_maker_add(c->content, c->piece, len);
		off += len;
	}
}

static struct as_content *read_content(struct capture *c, uint64_t size)
{
	if (size <= WHOLE_BYTES) {
		read_range(c, 0, size);
	} else {
		/* Patterns are words: what is skipped begins and ends with a whole one. */
		uint64_t tail = (size - EDGE_BYTES) & ~(uint64_t)7;

		read_range(c, 0, EDGE_BYTES);
		as_content_maker_skip(c->content, tail - EDGE_BYTES);
		read_range(c, tail, size);
	}
	return as_content_maker_done(c->content);
}

/* One more than the first byte of the hole that is not zero; 0: all are. */
static uint64_t data_in(const struct as_content *content, const struct as_hole *hole)
{
	uint64_t at = hole->start;

	while (at < hole->end && at < content->size) {
		const struct as_content_piece *piece = as_content_at(content, at);
		uint64_t end = piece->start + piece->len;
		unsigned char byte;

		if (piece->kind == AS_PIECE_ZERO || piece->kind == AS_PIECE_UNREAD) {
			at = end;
			continue;
		}
		as_piece_bytes(piece, at, &byte, 1);
		at++;
		if (byte)
			return at;
	}
	return 0;
}

static void read_file(struct capture *c, struct as_tree_node *node)
{
	struct as_hole hole[HOLES_MAX];
	int64_t n = 0;

	/* Before it is read: afterwards, the kernel may take what is in memory for data. */
	if (c->ops->holes && node->size)
		n = c->ops->holes(c->ctx, as_buf_str(&c->path), hole, HOLES_MAX);
	node->content = read_content(c, node->size);
	for (int64_t i = 0; i < n && !node->hidden; i++)
		node->hidden = data_in(node->content, &hole[i]);
}

/* ---- Attributes ---- */

static int by_string(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct as_content *read_value(struct capture *c, const char *name)
{
	int64_t n = c->ops->getxattr(c->ctx, as_buf_str(&c->path), name, c->piece, PIECE_BYTES);

	if (n < 0) {
		fail(c, "attribute %s: reading it gives %s", name, as_outcome_err_name((int)-n));
		n = 0;
	}
	as_content_maker_add(c->content, c->piece, (size_t)n);
	return as_content_maker_done(c->content);
}

static uint32_t read_xattrs(struct capture *c)
{
	char *list = c->piece + PIECE_BYTES, **names = c->xattr_name;
	int64_t len = c->ops->listxattr(c->ctx, as_buf_str(&c->path), list, LIST_BYTES);
	uint32_t n = 0;

	if (len < 0) {
		/* Types without attributes say so; sockets and the like may be refused. */
		if (len != -EOPNOTSUPP && len != -ENOSYS && len != -EPERM && len != -EACCES)
			fail(c, "listing its attributes gives %s", as_outcome_err_name((int)-len));
		return 0;
	}
	for (char *p = list; p < list + len && n < XATTRS_MAX; p += strlen(p) + 1)
		names[n++] = p;
	if (n > 1)
		qsort(names, n, sizeof(names[0]), by_string);
	for (uint32_t i = 0; i < n; i++) {
		c->xattr[i].name = names[i];
		c->xattr[i].value = read_value(c, names[i]);
	}
	return n;
}

/* ---- Nodes ---- */

struct tree_capture_names {
	struct as_arena *arena;
	char **name;
	size_t n, cap, max;
};

/* On the heap, since a stack may be too small for a tree that is LEVELS_MAX deep. */
struct tree_capture_level {
	struct tree_capture_names names;
	size_t next, path_len; /* of its names; of its own path */
	uint32_t dir;
};

static int collect(void *ctx, const char *name, uint64_t ino, uint32_t type_bits)
{
	struct tree_capture_names *names = ctx;

	(void)ino;
	(void)type_bits;
	if (names->n == names->max)
		return -AS_ERR_TOO_MUCH;
	AS_ARRAY_ROOM(names->name, names->n, names->cap);
	names->name[names->n++] = as_arena_strndup(names->arena, name, strlen(name));
	return 0;
}

/* What only some types have. */
static void read_body(struct capture *c, struct as_tree_node *node)
{
	int64_t n;

	if (S_ISREG(node->mode)) {
		read_file(c, node);
	} else if (S_ISLNK(node->mode)) {
		n = c->ops->readlink(c->ctx, as_buf_str(&c->path), c->piece, PIECE_BYTES - 1);
		if (n < 0)
			fail(c, "reading the link gives %s", as_outcome_err_name((int)-n));
		c->piece[n < 0 ? 0 : n] = '\0';
		node->text = c->piece;
	}
}

static void enter(struct capture *c, uint32_t dir)
{
	struct tree_capture_names names = { .arena = &c->names, .max = ENTRIES_MAX - c->entries };
	int rc = c->ops->list(c->ctx, as_buf_str(&c->path), collect, &names);

	c->entries += names.n;
	if (rc == -AS_ERR_TOO_MUCH)
		fail(c, "listing it does not end");
	else if (rc < 0)
		fail(c, "listing it gives %s", as_outcome_err_name(-rc));
	if (names.n)
		qsort(names.name, names.n, sizeof(char *), by_string);
	for (size_t i = 1; i < names.n; i++)
		if (strcmp(names.name[i], names.name[i - 1]) == 0)
			fail(c, "lists \"%s\" twice", names.name[i]);
	if (c->levels == LEVELS_MAX)
		fail(c, "is more than %u directories deep", LEVELS_MAX);
	AS_ARRAY_ROOM(c->level, c->levels, c->levels_cap);
	c->level[c->levels++] =
		(struct tree_capture_level){ .names = names, .path_len = c->path.len, .dir = dir };
}

/* Enters it if it is a directory. */
static void capture_node(struct capture *c, const char *name, uint32_t parent)
{
	struct as_stat st = { 0 };
	struct as_tree_node node = { .name = name };
	int rc = c->ops->stat(c->ctx, as_buf_str(&c->path), &st);
	uint32_t at;

	/* It is deeper than a path can reach: nothing more can be read. */
	if (rc == -ENAMETOOLONG) {
		as_tree_maker_cut(c->maker);
		return;
	}
	if (rc < 0) {
		fail(c, "asking for its attributes gives %s", as_outcome_err_name(-rc));
		return;
	}
	node.mode = st.mode;
	node.nlink = st.nlink;
	node.uid = st.uid;
	node.gid = st.gid;
	node.size = st.size;
	node.rdev = S_ISCHR(st.mode) || S_ISBLK(st.mode) ? st.rdev : 0;
	node.atime_ns = st.atime_ns;
	node.mtime_ns = st.mtime_ns;
	node.ctime_ns = st.ctime_ns;
	node.blocks = st.blocks;
	node.xattr = c->xattr;
	node.n_xattrs = read_xattrs(c);
	read_body(c, &node);
	at = as_tree_maker_add(c->maker, parent, st.ino, &node);
	as_content_put(node.content);
	for (uint32_t i = 0; i < node.n_xattrs; i++)
		as_content_put(c->xattr[i].value);
	if (S_ISDIR(node.mode) && !c->failed)
		enter(c, at);
}

static void capture_all(struct capture *c)
{
	as_buf_addc(&c->path, '/');
	capture_node(c, "", AS_TREE_NONE);
	while (c->levels) {
		struct tree_capture_level *top = &c->level[c->levels - 1];
		const char *name;

		if (c->failed || top->next == top->names.n) {
			free(top->names.name);
			c->levels--;
			continue;
		}
		name = top->names.name[top->next++];
		c->path.len = top->path_len;
		c->path.data[c->path.len] = '\0';
		if (top->path_len > 1)
			as_buf_addc(&c->path, '/');
		as_buf_adds(&c->path, name);
		capture_node(c, name, top->dir);
	}
	free(c->level);
}

static void capture_quotas(struct capture *c)
{
	struct as_quota_told *quota;
	int64_t n;

	if (!c->ops->quotas)
		return;
	quota = as_xcalloc(QUOTAS_MAX, sizeof(*quota));
	n = c->ops->quotas(c->ctx, quota, QUOTAS_MAX);
	if (n < 0)
		fail(c, "asking for quotas gives %s", as_outcome_err_name((int)-n));
	else
		as_tree_maker_quotas(c->maker, quota, (uint32_t)n);
	free(quota);
}

static int capture(const struct as_tree_ops *ops, void *ctx, bool quotas, struct as_tree **tree,
		   struct as_buf *why)
{
	struct capture *c = as_xmalloc(sizeof(*c));
	bool failed;

	memset(c, 0, offsetof(struct capture, xattr));
	c->ops = ops;
	c->ctx = ctx;
	c->why = why;
	c->maker = as_tree_maker_new();
	c->content = as_content_maker_new();
	c->piece = as_xmalloc(PIECE_BYTES + LIST_BYTES);
	capture_all(c);
	if (quotas && !c->failed)
		capture_quotas(c);
	if (ops->rest)
		ops->rest(ctx);
	*tree = NULL;
	failed = c->failed;
	if (failed)
		as_tree_maker_free(c->maker);
	else
		*tree = as_tree_maker_done(c->maker);
	as_content_maker_free(c->content);
	as_arena_free(&c->names);
	as_buf_free(&c->path);
	free(c->piece);
	free(c);
	return failed;
}

int as_tree_capture(const struct as_tree_ops *ops, void *ctx, struct as_tree **tree,
		    struct as_buf *why)
{
	return capture(ops, ctx, false, tree, why);
}

int as_tree_capture_quotas(const struct as_tree_ops *ops, void *ctx, struct as_tree **tree,
			   struct as_buf *why)
{
	return capture(ops, ctx, true, tree, why);
}
