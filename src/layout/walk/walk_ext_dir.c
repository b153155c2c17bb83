/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_ext_dir: directories of ext, their hash trees, and extended attributes. */
#include "layout/walk/walk_ext_priv.h"

#include "base/show.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_HEAD 8u
#define TAIL_BYTES 12u
#define TREE_LEVELS_MAX 3u
#define XATTR_MAGIC 0xea020000u
#define XATTR_ENTRY 16u

static const char *name_of(const struct ext_inode *inode)
{
	return inode->path ? inode->path : inode->who;
}

static uint64_t block_of(const struct ext_runs *runs, uint64_t at)
{
	for (size_t i = 0; i < runs->n; i++)
		if (at >= runs->run[i].at && at - runs->run[i].at < runs->run[i].n)
			return runs->run[i].block + (at - runs->run[i].at);
	return 0;
}

/* ---- Entries ---- */

static uint32_t dir_seal(struct ext_walk *e, const struct ext_inode *inode, uint64_t off)
{
	struct as_seal seal = as_ext_inode_seal(e, inode);

	if (!e->csum)
		return 0;
	as_seal_disk(&seal, off, e->block_bytes - TAIL_BYTES);
	as_seal_store(&seal, off + e->block_bytes - 4, 4, 0, false);
	return as_walk_seal(e->walk, &seal);
}

static bool is_dots(const char *name, size_t len)
{
	return (len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.');
}

static void entry(struct ext_walk *e, const struct ext_inode *dir, uint64_t off, uint64_t len,
		  uint32_t seal)
{
	struct as_disk_walk *w = e->walk;
	size_t name_len = (size_t)as_walk_le(w, off + 6, 1);
	uint32_t ino = (uint32_t)as_walk_le(w, off, 4);
	struct as_buf shown = { 0 };
	struct ext_inode as = *dir;
	char name[256];

	as_walk_read(w, off + ENTRY_HEAD, name, name_len);
	as_shown(&shown, name, name_len);
	as.class = !ino			      ? "free"
		   : !is_dots(name, name_len) ? "entry"
		   : name_len == 1	      ? "itself"
					      : "parent";
	as_ext_emit(e, &as, "dir_entry", off, len,
		    ino ? as_walk_text(w, "entry %s of %s", as_buf_str(&shown), name_of(dir))
			: as_walk_text(w, "free entry at byte %llu of %s",
				       (unsigned long long)(off % e->block_bytes), name_of(dir)),
		    seal);
	as_buf_free(&shown);
}

/* Entries of a block; up to `end`, where an index may begin. */
static void entries(struct ext_walk *e, const struct ext_inode *dir, uint64_t off, uint64_t end,
		    uint32_t seal)
{
	struct as_disk_walk *w = e->walk;

	for (uint64_t pos = 0; pos + ENTRY_HEAD <= end;) {
		uint64_t len = as_walk_le(w, off + pos + 4, 2);

		/* 65535 and 0 stand for a whole block of 64 KiB. */
		if (len == 65535 || !len)
			len = e->block_bytes;
		if (e->csum && pos + TAIL_BYTES == e->block_bytes &&
		    as_walk_le(w, off + pos + 7, 1) == 0xde) {
			as_ext_emit(e, dir, "dir_tail", off + pos, 0,
				    as_walk_text(w, "tail of block %llu of %s",
						 (unsigned long long)(off / e->block_bytes),
						 name_of(dir)),
				    seal);
			return;
		}
		if (len < ENTRY_HEAD || len % 4 || pos + len > e->block_bytes) {
			/* It is shown, but what comes after it cannot be told. */
			entry(e, dir, off + pos, e->block_bytes - pos, seal);
			as_walk_complain(w, "a directory entry of %s makes no sense", name_of(dir));
			return;
		}
		entry(e, dir, off + pos, pos + len > end ? end - pos : len, seal);
		pos += len;
	}
}

static void children(struct ext_walk *e, const struct ext_inode *dir, uint64_t off)
{
	struct as_disk_walk *w = e->walk;

	for (uint64_t pos = 0; pos + ENTRY_HEAD <= e->block_bytes;) {
		uint32_t ino = (uint32_t)as_walk_le(w, off + pos, 4);
		uint64_t len = as_walk_le(w, off + pos + 4, 2);
		size_t name_len = (size_t)as_walk_le(w, off + pos + 6, 1);
		char name[256];

		if (len < ENTRY_HEAD || pos + len > e->block_bytes)
			return;
		as_walk_read(w, off + pos + ENTRY_HEAD, name, name_len);
		if (ino && as_walk_leads_on(name, name_len) && name_len + ENTRY_HEAD <= len)
			as_ext_inode(e, ino, dir->ino,
				     as_walk_join(w, dir->path ? dir->path : dir->who, name,
						  name_len),
				     NULL, dir->depth + 1);
		pos += len;
	}
}

/* ---- Hash trees ---- */

struct ext_tree {
	struct ext_walk *e;
	const struct ext_inode *dir;
	const struct ext_runs *runs;
	uint64_t *node; /* blocks of the file that are nodes of the index */
	size_t n;
};
#define TREE_NODES_MAX 1024u

static uint32_t tree_seal(struct ext_tree *t, uint64_t off, uint64_t at)
{
	struct ext_walk *e = t->e;
	struct as_seal seal = as_ext_inode_seal(e, t->dir);
	uint64_t limit = as_walk_le(e->walk, off + at, 2), n = as_walk_le(e->walk, off + at + 2, 2);

	if (!e->csum || n > limit || at + limit * 8 + 8 > e->block_bytes)
		return 0;
	as_seal_disk(&seal, off, at + n * 8);
	as_seal_disk(&seal, off + at + limit * 8, 4);
	as_seal_zeros(&seal, 4);
	as_seal_store(&seal, off + at + limit * 8 + 4, 4, 0, false);
	return as_walk_seal(e->walk, &seal);
}

/* A node whose table begins at byte `at` of the block. */
static void tree_node(struct ext_tree *t, uint64_t block, uint64_t at, unsigned levels,
		      uint32_t seal)
{
	struct ext_walk *e = t->e;
	struct as_disk_walk *w = e->walk;
	uint64_t off = block * e->block_bytes;
	uint64_t limit = as_walk_le(w, off + at, 2), n = as_walk_le(w, off + at + 2, 2);
	const char *name = name_of(t->dir);

	as_ext_emit(e, t->dir, "htree_limit", off + at, 0,
		    as_walk_text(w, "hash tree node %llu of %s", (unsigned long long)block, name),
		    seal);
	if (at + limit * 8 > e->block_bytes || n > limit) {
		as_walk_complain(w, "a node of the hash tree of %s makes no sense", name);
		return;
	}
	for (uint64_t i = 1; i < n; i++)
		as_ext_emit(e, t->dir, "htree_entry", off + at + i * 8, 0,
			    as_walk_text(w, "hash tree entry %llu of node %llu of %s",
					 (unsigned long long)i, (unsigned long long)block, name),
			    seal);
	if (seal)
		as_ext_emit(e, t->dir, "htree_tail", off + at + limit * 8, 0,
			    as_walk_text(w, "tail of hash tree node %llu of %s",
					 (unsigned long long)block, name),
			    seal);
	for (uint64_t i = 0; levels && i < n && t->n < TREE_NODES_MAX; i++) {
		uint64_t child = as_walk_le(w, off + at + i * 8 + 4, 4) & 0x0fffffff;
		uint64_t there = block_of(t->runs, child);

		if (!there || !as_walk_first(w, EXT_SEEN_BLOCK, there))
			continue;
		t->node[t->n++] = child;
		tree_node(t, there, 8, levels - 1, tree_seal(t, there * e->block_bytes, 8));
	}
}

static bool is_node(const struct ext_tree *t, uint64_t at)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->node[i] == at)
			return true;
	return false;
}

static void tree(struct ext_tree *t)
{
	struct ext_walk *e = t->e;
	uint64_t block = block_of(t->runs, 0), off = block * e->block_bytes;
	uint64_t levels = as_walk_le(e->walk, off + 30, 1);
	uint32_t seal;

	if (!block)
		return;
	seal = tree_seal(t, off, 32);
	/* The entries of . and .. are those of every directory. */
	entries(e, t->dir, off, 24, seal);
	as_ext_emit(e, t->dir, "htree_root", off + 24, 0,
		    as_walk_text(e->walk, "hash tree of %s", name_of(t->dir)), seal);
	t->node[t->n++] = 0;
	tree_node(t, block, 32, levels < TREE_LEVELS_MAX ? (unsigned)levels : 0, seal);
}

/* ---- The whole directory ---- */

void as_ext_dir(struct ext_walk *e, const struct ext_inode *inode, const struct ext_runs *runs)
{
	struct ext_tree t = { .e = e, .dir = inode, .runs = runs };

	t.node = as_xcalloc(TREE_NODES_MAX, sizeof(*t.node));
	if (inode->flags & EXT_INDEX_FL)
		tree(&t);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < runs->n; i++)
			for (uint64_t k = 0; k < runs->run[i].n; k++) {
				uint64_t off = (runs->run[i].block + k) * e->block_bytes;
				bool node = is_node(&t, runs->run[i].at + k);

				if (pass)
					children(e, inode, off);
				else if (!node)
					entries(e, inode, off, e->block_bytes,
						dir_seal(e, inode, off));
			}
	}
	free(t.node);
}

/* ---- Extended attributes ---- */

static void xattr_entries(struct ext_walk *e, const struct ext_inode *inode, uint64_t at,
			  uint64_t end, uint32_t seal)
{
	struct as_disk_walk *w = e->walk;
	unsigned number = 0;

	while (at + XATTR_ENTRY <= end && as_walk_le(w, at, 4)) {
		uint64_t len = XATTR_ENTRY + as_walk_le(w, at, 1);

		if (at + len > end)
			return;
		as_ext_emit(e, inode, "xattr_entry", at, len,
			    as_walk_text(w, "attribute %u of %s", number++, name_of(inode)), seal);
		at += (len + 3) / 4 * 4;
	}
}

void as_ext_xattrs(struct ext_walk *e, const struct ext_inode *inode)
{
	struct as_disk_walk *w = e->walk;
	uint64_t body = inode->off + 128 + inode->extra, off = inode->acl * e->block_bytes;
	unsigned char number[8];
	struct as_seal seal = { .init = e->seed };
	uint32_t sealed = 0;

	if (inode->extra && as_walk_le(w, body, 4) == XATTR_MAGIC &&
	    body + 4 < inode->off + e->inode_bytes) {
		as_ext_emit(e, inode, "xattr_body", body, 0,
			    as_walk_text(w, "attributes in the inode of %s", name_of(inode)),
			    inode->seal);
		xattr_entries(e, inode, body + 4, inode->off + e->inode_bytes, inode->seal);
	}
	if (!as_ext_block_ok(e, inode->acl) || as_walk_le(w, off, 4) != XATTR_MAGIC ||
	    !as_walk_first(w, EXT_SEEN_BLOCK, inode->acl))
		return;
	if (e->csum) {
		as_number_put(number, 8, false, inode->acl);
		as_seal_literal(&seal, number, 8);
		as_seal_whole(&seal, off, e->block_bytes, off + 16, 4, false);
		sealed = as_walk_seal(w, &seal);
	}
	as_walk_area(w, off, e->block_bytes, as_walk_text(w, "attributes of %s", name_of(inode)),
		     false, 0);
	as_ext_emit(e, inode, "xattr_head", off, 0,
		    as_walk_text(w, "attribute block of %s", name_of(inode)), sealed);
	xattr_entries(e, inode, off + 32, off + e->block_bytes, sealed);
}
