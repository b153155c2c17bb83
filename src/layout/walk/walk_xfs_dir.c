/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_xfs_dir: the blocks of an inode of xfs, and directories in all their forms. */
#include "layout/walk/walk_xfs_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <string.h>

#define RUNS_MAX (1u << 20)
#define LEVELS_MAX 9u
#define FORM_LOCAL 1u
#define FORM_EXTENTS 2u
#define FORM_BTREE 3u
#define LEAF_START (UINT64_C(1) << 35) /* of a directory, in bytes */

/* ---- Extents ---- */

static void extent(struct xfs_walk *x, const struct xfs_inode *inode, uint64_t off, uint64_t number,
		   uint32_t seal, struct xfs_runs *runs)
{
	uint64_t high = as_walk_be(x->walk, off, 8), low = as_walk_be(x->walk, off + 8, 8);
	uint64_t n = low & ((1u << 21) - 1), start = (high & 511) << 43 | low >> 21;
	uint64_t place = as_xfs_block(x, start);

	as_xfs_emit(x, inode, "extent", off, 0, inode->class,
		    as_walk_text(x->walk, "extent %llu of %s", (unsigned long long)number,
				 inode->path),
		    seal);
	if (!place || runs->n >= RUNS_MAX ||
	    place + n * x->block_bytes > as_walk_disk_bytes(x->walk))
		return;
	AS_ARRAY_ROOM(runs->run, runs->n, runs->cap);
	runs->run[runs->n++] = (struct xfs_run){ .at = high >> 9 & ((UINT64_C(1) << 54) - 1),
						 .off = place,
						 .n = n };
}

/* A block of the tree of extents of a file. */
static void bmap_block(struct xfs_walk *x, const struct xfs_inode *inode, uint64_t fsblock,
		       unsigned depth, struct xfs_runs *runs)
{
	struct as_disk_walk *w = x->walk;
	uint64_t off = as_xfs_block(x, fsblock), head = x->v5 ? 72 : 24, n, level, max;
	const char *name;
	uint32_t seal;

	if (!off || depth > LEVELS_MAX || !as_walk_first(w, XFS_SEEN_BLOCK, off))
		return;
	n = as_walk_be(w, off + 6, 2);
	level = as_walk_be(w, off + 4, 2);
	max = (x->block_bytes - head) / 16;
	seal = as_xfs_seal(x, off, x->block_bytes, 64);
	name = as_walk_text(w, "extent block %llu of %s", (unsigned long long)fsblock, inode->path);
	as_walk_area(w, off, x->block_bytes, as_walk_text(w, "extents of %s", inode->path), false,
		     0);
	as_xfs_emit(x, inode, "btree_long", off, 0, inode->class, name, seal);
	for (uint64_t i = 0; i < n && i < max; i++) {
		uint64_t pointer = off + head + max * 8 + i * 8;

		if (!level) {
			extent(x, inode, off + head + i * 16, i, seal, runs);
			continue;
		}
		as_xfs_emit(x, inode, "bmap_key", off + head + i * 8, 0, inode->class,
			    as_walk_text(w, "key %llu of %s", (unsigned long long)i, name), seal);
		as_xfs_emit(x, inode, "bmap_pointer", pointer, 0, inode->class,
			    as_walk_text(w, "pointer %llu of %s", (unsigned long long)i, name),
			    seal);
		bmap_block(x, inode, as_walk_be(w, pointer, 8), depth + 1, runs);
	}
}

void as_xfs_map(struct xfs_walk *x, const struct xfs_inode *inode, struct xfs_runs *runs)
{
	struct as_disk_walk *w = x->walk;
	uint64_t max = (inode->fork_bytes - 4) / 16, n = as_walk_be(w, inode->fork + 2, 2);

	if (inode->format == FORM_EXTENTS)
		for (uint32_t i = 0; i < inode->extents && (i + 1) * 16 <= inode->fork_bytes; i++)
			extent(x, inode, inode->fork + i * 16, i, inode->seal, runs);
	if (inode->format != FORM_BTREE)
		return;
	as_xfs_emit(x, inode, "bmap_root", inode->fork, 0, inode->class,
		    as_walk_text(w, "extent root of %s", inode->path), inode->seal);
	for (uint64_t i = 0; i < n && i < max; i++) {
		uint64_t pointer = inode->fork + 4 + max * 8 + i * 8;

		as_xfs_emit(x, inode, "bmap_key", inode->fork + 4 + i * 8, 0, inode->class,
			    as_walk_text(w, "key %llu of the extent root of %s",
					 (unsigned long long)i, inode->path),
			    inode->seal);
		as_xfs_emit(x, inode, "bmap_pointer", pointer, 0, inode->class,
			    as_walk_text(w, "pointer %llu of the extent root of %s",
					 (unsigned long long)i, inode->path),
			    inode->seal);
		bmap_block(x, inode, as_walk_be(w, pointer, 8), 0, runs);
	}
}

/* ---- Directories ---- */

static const char *entry_words(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t name,
			       size_t len, const char **class)
{
	struct as_buf shown = { 0 };
	char text[256];
	const char *words;

	as_walk_read(x->walk, name, text, len);
	as_shown(&shown, text, len);
	*class = len == 1 && text[0] == '.'			? "itself"
		 : len == 2 && text[0] == '.' && text[1] == '.' ? "parent"
								: "entry";
	words = as_walk_text(x->walk, "entry %s of %s", as_buf_str(&shown), dir->path);
	as_buf_free(&shown);
	return words;
}

static void child(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t name, size_t len,
		  uint64_t ino)
{
	char text[256];

	as_walk_read(x->walk, name, text, len);
	if (!as_walk_leads_on(text, len))
		return;
	as_xfs_inode(x, ino, dir->ino, as_walk_join(x->walk, dir->path, text, len), NULL,
		     dir->depth + 1);
}

/* In the inode itself. pass 0 emits, pass 1 goes on to the children. */
static void short_dir(struct xfs_walk *x, const struct xfs_inode *dir, int pass)
{
	struct as_disk_walk *w = x->walk;
	uint64_t n = as_walk_be(w, dir->fork, 1), end = dir->fork + dir->fork_bytes, at;
	bool wide = as_walk_be(w, dir->fork + 1, 1);
	unsigned ino_bytes = wide ? 8 : 4;

	as_walk_set(w, XFS_WIDE, wide);
	if (!pass)
		as_xfs_emit(x, dir, "short_head", dir->fork, 2 + ino_bytes, dir->class,
			    as_walk_text(w, "directory %s", dir->path), dir->seal);
	at = dir->fork + 2 + ino_bytes;
	for (uint64_t i = 0; i < n && at + 4 <= end; i++) {
		size_t len = (size_t)as_walk_be(w, at, 1);
		uint64_t bytes = 3 + len + x->v5 + ino_bytes;
		const char *class, *words;

		if (at + bytes > end) {
			if (!pass)
				as_walk_complain(w, "an entry of %s makes no sense", dir->path);
			return;
		}
		words = entry_words(x, dir, at + 3, len, &class);
		if (!pass)
			as_xfs_emit(x, dir, "short_entry", at, bytes, class, words, dir->seal);
		else
			child(x, dir, at + 3, len, as_walk_be(w, at + 3 + len + x->v5, ino_bytes));
		at += bytes;
	}
}

/* The entries of a block from `at` up to `end`. */
static void data_entries(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t at, uint64_t end,
			 uint32_t seal, int pass)
{
	struct as_disk_walk *w = x->walk;

	while (at + 16 <= end) {
		size_t len = (size_t)as_walk_be(w, at + 8, 1);
		uint64_t bytes = (9 + len + x->v5 + 2 + 7) / 8 * 8;
		const char *class, *words;
		bool unused = as_walk_be(w, at, 2) == 0xffff;

		if (unused)
			bytes = as_walk_be(w, at + 2, 2);
		if (bytes < 8 || bytes % 8 || at + bytes > end) {
			if (!pass)
				as_walk_complain(w, "an entry of %s makes no sense", dir->path);
			return;
		}
		if (!pass && unused) {
			as_xfs_emit(x, dir, "dir_unused", at, bytes, "free",
				    as_walk_text(w, "free entry at byte %llu of %s",
						 (unsigned long long)at, dir->path),
				    seal);
		} else if (!pass) {
			words = entry_words(x, dir, at + 9, len, &class);
			as_xfs_emit(x, dir, "dir_entry", at, bytes, class, words, seal);
		} else if (!unused) {
			child(x, dir, at + 9, len, as_walk_be(w, at, 8));
		}
		at += bytes;
	}
}

static void leaf_entries(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t at, uint64_t n,
			 uint64_t end, uint32_t seal)
{
	for (uint64_t i = 0; i < n && at + 8 <= end; i++, at += 8)
		as_xfs_emit(x, dir, "dir_leaf_entry", at, 0, dir->class,
			    as_walk_text(x->walk, "hash entry at byte %llu of %s",
					 (unsigned long long)at, dir->path),
			    seal);
}

/* Blocks that hold no names: by hash, and of free space. */
static void index_block(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t off,
			const char *name)
{
	struct as_disk_walk *w = x->walk;
	uint64_t magic = as_walk_be(w, off + 8, 2), end = off + x->dir_block_bytes;
	bool is_free = as_walk_be(w, off, 4) == 0x58444633 || as_walk_be(w, off, 4) == 0x58443246;
	uint32_t seal = as_xfs_seal(x, off, x->dir_block_bytes, is_free ? 4 : 12);

	as_xfs_emit(x, dir, is_free ? "dir_free" : "da_block", off, 0, dir->class, name, seal);
	if (!is_free && (magic == 0x3df1 || magic == 0x3dff || magic == 0x3ebe))
		leaf_entries(x, dir, off + 64, as_walk_be(w, off + 56, 2), end, seal);
}

static void one_block(struct xfs_walk *x, const struct xfs_inode *dir, uint64_t at, uint64_t off,
		      int pass)
{
	struct as_disk_walk *w = x->walk;
	uint64_t magic = as_walk_be(w, off, 4), end = off + x->dir_block_bytes, n;
	const char *name = as_walk_text(w, "block %llu of directory %s",
					(unsigned long long)(at / x->dir_block_bytes), dir->path);
	bool single = magic == 0x58444233 || magic == 0x58443242; /* XDB3, XD2B */
	uint32_t seal;

	if (at >= LEAF_START) {
		if (!pass)
			index_block(x, dir, off, name);
		return;
	}
	seal = pass ? 0 : as_xfs_seal(x, off, x->dir_block_bytes, 4);
	n = single ? as_walk_be(w, end - 8, 4) : 0;
	if (single && n > (x->dir_block_bytes - 72) / 8)
		n = 0;
	if (!pass) {
		as_xfs_emit(x, dir, "dir_block", off, 0, dir->class, name, seal);
		if (single) {
			as_xfs_emit(x, dir, "dir_tail", end - 8, 0, dir->class,
				    as_walk_text(w, "tail of %s", name), seal);
			leaf_entries(x, dir, end - 8 - n * 8, n, end - 8, seal);
		}
	}
	data_entries(x, dir, off + (x->v5 ? 64 : 16), single ? end - 8 - n * 8 : end, seal, pass);
}

void as_xfs_dir(struct xfs_walk *x, const struct xfs_inode *inode, const struct xfs_runs *runs)
{
	uint64_t per = x->dir_block_bytes / x->block_bytes;

	for (int pass = 0; pass < 2; pass++) {
		if (inode->format == FORM_LOCAL)
			short_dir(x, inode, pass);
		for (size_t i = 0; inode->format != FORM_LOCAL && i < runs->n; i++)
			for (uint64_t k = 0; k + per <= runs->run[i].n; k += per)
				one_block(x, inode, (runs->run[i].at + k) * x->block_bytes,
					  runs->run[i].off + k * x->block_bytes, pass);
	}
}
