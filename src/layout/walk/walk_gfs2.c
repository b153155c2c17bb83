/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_gfs2: finds the structures of gfs2. Inodes are blocks; what the file system itself needs
 * (the index of resource groups, journals) are files below a directory of its own, the master.
 */
#include "layout/walk/walk_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUPER 65536u
#define MAGIC 0x01161970u
#define DINODE 232u
#define HEIGHT_MAX 10u
#define RUNS_MAX (1u << 20)
#define ENTRY 40u
#define EXHASH 0x2u /* the directory is a hash table */

enum gfs2_var { GFS2_BLOCK_BYTES, GFS2_ENTRIES };
enum gfs2_space { GFS2_SEEN_INODE, GFS2_SEEN_BLOCK, GFS2_SEEN_LEAF, GFS2_SEEN_CHILDREN };

struct gfs2_walk {
	struct as_disk_walk *walk;
	uint64_t block_bytes;
	uint64_t *index; /* blocks of the file rindex */
	size_t n_index, cap_index;
	uint64_t index_bytes, index_stuffed; /* stuffed: it is in its inode, at this byte */
};

struct gfs2_file {
	struct gfs2_walk *g;
	uint64_t off, size;
	struct as_walk_at at;
	uint32_t mode, flags, height;
	unsigned depth;
	uint64_t *block; /* of the file, in order; 0: a hole */
	size_t n, cap;
};

static uint64_t block_at(const struct gfs2_walk *g, uint64_t block)
{
	uint64_t size = as_walk_disk_bytes(g->walk);

	return block && block < size / g->block_bytes ? block * g->block_bytes : 0;
}

static void emit(const struct gfs2_file *f, const char *structure, uint64_t off, uint64_t len,
		 const char *class, const char *instance)
{
	struct as_walk_at at = f->at;

	at.structure = structure;
	at.off = off;
	at.len = len;
	at.class = class;
	at.instance = instance;
	as_walk_emit(f->g->walk, &at);
}

/* ---- Blocks ---- */

/* The pointers in [from, end) of a block, at `height` levels above the data. */
static void pointers(struct gfs2_file *f, uint64_t from, uint64_t end, unsigned height)
{
	struct as_disk_walk *w = f->g->walk;

	for (; from + 8 <= end && f->n < RUNS_MAX; from += 8) {
		uint64_t block = as_walk_be(w, from, 8), off = block_at(f->g, block);

		if (height > 1) {
			if (!off || !as_walk_first(w, GFS2_SEEN_BLOCK, block))
				continue;
			as_walk_set(w, GFS2_ENTRIES, (f->g->block_bytes - 24) / 8);
			emit(f, "indirect", off, f->g->block_bytes, f->at.class,
			     as_walk_text(w, "pointers in block %llu of %s",
					  (unsigned long long)block, f->at.path));
			as_walk_area(w, off, f->g->block_bytes,
				     as_walk_text(w, "pointers of %s", f->at.path), false, 0);
			pointers(f, off + 24, off + f->g->block_bytes, height - 1);
			continue;
		}
		AS_ARRAY_ROOM(f->block, f->n, f->cap);
		f->block[f->n++] = off ? block : 0;
	}
}

static void own_blocks(struct gfs2_file *f)
{
	const char *what = as_walk_text(f->g->walk, "%s %s",
					S_ISDIR(f->mode) ? "hash table of" : "data of", f->at.path);

	for (size_t i = 0; i < f->n; i++)
		if (f->block[i])
			as_walk_area(f->g->walk, f->block[i] * f->g->block_bytes, f->g->block_bytes,
				     what, S_ISREG(f->mode), i * f->g->block_bytes);
}

/* ---- Directories ---- */

static void look_at(struct gfs2_walk *g, uint64_t block, uint64_t parent, const char *path,
		    unsigned depth);

static void entries(struct gfs2_file *dir, uint64_t at, uint64_t end, int pass)
{
	struct as_disk_walk *w = dir->g->walk;

	while (at + ENTRY <= end) {
		uint64_t rec = as_walk_be(w, at + 20, 2), to = as_walk_be(w, at + 8, 8);
		size_t len = (size_t)as_walk_be(w, at + 22, 2);
		struct as_buf shown = { 0 };
		char name[256];
		bool dots;

		if (rec < ENTRY || at + rec > end || len > 255 || ENTRY + len > rec) {
			if (!pass)
				as_walk_complain(w, "an entry of %s makes no sense", dir->at.path);
			return;
		}
		as_walk_read(w, at + ENTRY, name, len);
		dots = (len == 1 && name[0] == '.') ||
		       (len == 2 && name[0] == '.' && name[1] == '.');
		if (!pass) {
			as_shown(&shown, name, len);
			emit(dir, "dir_entry", at, rec,
			     !to	? "free"
			     : !dots	? "entry"
			     : len == 1 ? "itself"
					: "parent",
			     to ? as_walk_text(w, "entry %s of %s", as_buf_str(&shown),
					       dir->at.path)
				: as_walk_text(w, "free entry at byte %llu of %s",
					       (unsigned long long)at, dir->at.path));
			as_buf_free(&shown);
		} else if (to && as_walk_leads_on(name, len)) {
			look_at(dir->g, to, dir->at.self, as_walk_join(w, dir->at.path, name, len),
				dir->depth + 1);
		}
		at += rec;
	}
}

static void leaves(struct gfs2_file *dir, uint64_t block, int pass)
{
	struct as_disk_walk *w = dir->g->walk;
	unsigned space = pass ? GFS2_SEEN_CHILDREN : GFS2_SEEN_LEAF;

	while (block_at(dir->g, block) && as_walk_first(w, space, block)) {
		uint64_t off = block_at(dir->g, block);

		if (!pass) {
			emit(dir, "leaf", off, 0, "",
			     as_walk_text(w, "leaf %llu of %s", (unsigned long long)block,
					  dir->at.path));
			as_walk_area(w, off, dir->g->block_bytes,
				     as_walk_text(w, "directory %s", dir->at.path), false, 0);
		}
		entries(dir, off + 104, off + dir->g->block_bytes, pass);
		block = as_walk_be(w, off + 32, 8);
	}
}

/* The hash table is the data of the directory: in its inode, or in blocks with a head. */
static void hash_table(struct gfs2_file *dir, int pass)
{
	struct as_disk_walk *w = dir->g->walk;
	uint64_t n = dir->size / 8, per = (dir->g->block_bytes - 24) / 8;
	uint64_t before = 0;

	for (uint64_t i = 0; i < n && i < RUNS_MAX; i++) {
		uint64_t at = dir->off + DINODE + i * 8, leaf;

		if (!dir->height && DINODE + (i + 1) * 8 > dir->g->block_bytes)
			return;
		if (dir->height) {
			if (i / per >= dir->n || !dir->block[i / per])
				return;
			at = dir->block[i / per] * dir->g->block_bytes + 24 + i % per * 8;
		}
		leaf = as_walk_be(w, at, 8);
		if (!pass && leaf != before)
			emit(dir, "hash_entry", at, 0, "",
			     as_walk_text(w, "hash entry %llu of %s", (unsigned long long)i,
					  dir->at.path));
		before = leaf;
		leaves(dir, leaf, pass);
	}
}

/* ---- Inodes ---- */

/* rindex is kept, for what comes after. */
static void keep_index(struct gfs2_file *f)
{
	struct gfs2_walk *g = f->g;

	if (strcmp(f->at.path, "/(master)/rindex") != 0)
		return;
	g->index_bytes = f->size;
	g->index_stuffed = f->height ? 0 : f->off + DINODE;
	g->index = f->block;
	g->n_index = f->n;
	f->block = NULL;
}

static void look_at(struct gfs2_walk *g, uint64_t block, uint64_t parent, const char *path,
		    unsigned depth)
{
	struct as_disk_walk *w = g->walk;
	struct gfs2_file f = { .g = g, .depth = depth, .off = block_at(g, block) };
	uint64_t room = g->block_bytes - DINODE, slots = room / 8;

	if (!f.off || !as_walk_inode(w, block, path) || depth > WALK_DEPTH_MAX)
		return;
	f.at.path = path;
	f.at.self = block;
	f.at.parent = parent;
	f.mode = (uint32_t)as_walk_be(w, f.off + 40, 4);
	f.size = as_walk_be(w, f.off + 56, 8);
	f.flags = (uint32_t)as_walk_be(w, f.off + 128, 4);
	f.height = (uint32_t)as_walk_be(w, f.off + 138, 2);
	f.at.class = strncmp(path, "/(master)", 9) == 0 ? "reserved" : as_walk_mode_class(f.mode);
	while (slots > 1 && !as_walk_be(w, f.off + DINODE + (slots - 1) * 8, 8))
		slots--;
	as_walk_set(w, GFS2_ENTRIES, f.height ? slots : f.size < room ? f.size : room);
	emit(&f, "dinode", f.off, g->block_bytes, f.at.class,
	     as_walk_text(w, "inode %llu of %s", (unsigned long long)block, path));
	as_walk_area(w, f.off, g->block_bytes, as_walk_text(w, "inode of %s", path), false, 0);
	if (f.height && f.height <= HEIGHT_MAX)
		pointers(&f, f.off + DINODE, f.off + g->block_bytes, f.height);
	own_blocks(&f);
	for (int pass = 0; pass < 2 && S_ISDIR(f.mode); pass++) {
		if (f.flags & EXHASH)
			hash_table(&f, pass);
		else
			entries(&f, f.off + DINODE, f.off + g->block_bytes, pass);
	}
	if (S_ISREG(f.mode))
		keep_index(&f);
	free(f.block);
}

/* ---- Resource groups ---- */

/* Bytes of a bitmap in which any block is not free, and the first in which all are. */
static void states(struct gfs2_walk *g, uint64_t from, uint64_t end, uint64_t first,
		   const char *name)
{
	bool has_free = false;

	for (uint64_t off = from; off < end; off++) {
		uint64_t block = first + (off - from) * 4;
		bool used = as_walk_be(g->walk, off, 1);
		struct as_walk_at at = { .structure = "block_state", .off = off, .self = block };

		if (!used && has_free)
			continue;
		has_free |= !used;
		at.class = used ? "used" : "unused";
		at.instance = as_walk_text(g->walk, "blocks %llu to %llu in %s",
					   (unsigned long long)block, (unsigned long long)block + 3,
					   name);
		as_walk_emit(g->walk, &at);
	}
}

static void resource_group(struct gfs2_walk *g, uint64_t number, uint64_t entry)
{
	struct as_disk_walk *w = g->walk;
	uint64_t block = as_walk_be(w, entry, 8), n = as_walk_be(w, entry + 8, 4);
	uint64_t first = as_walk_be(w, entry + 16, 8), left = as_walk_be(w, entry + 28, 4);
	struct as_seal seal = { .sum = AS_SUM_CRC32, .init = UINT32_MAX, .final = UINT32_MAX };
	struct as_walk_at at = { .structure = "rindex", .off = entry, .self = block };
	const char *name = as_walk_text(w, "resource group %llu", (unsigned long long)number);

	at.instance = as_walk_text(w, "entry of %s in the index", name);
	as_walk_emit(w, &at);
	for (uint64_t i = 0; i < n && block_at(g, block + i); i++) {
		uint64_t off = block_at(g, block + i), head = i ? 24 : 128, bytes;

		at = (struct as_walk_at){ .structure = i ? "rgrp_bitmap" : "rgrp",
					  .off = off,
					  .self = block + i };
		at.instance =
			i ? as_walk_text(w, "bitmap block %llu of %s", (unsigned long long)i, name)
			  : name;
		if (!i) {
			as_seal_whole(&seal, off, 128, off + 64, 4, true);
			at.seal = as_walk_seal(w, &seal);
		}
		as_walk_emit(w, &at);
		as_walk_area(w, off, g->block_bytes, name, false, 0);
		bytes = g->block_bytes - head < left ? g->block_bytes - head : left;
		states(g, off + head, off + head + bytes, first, name);
		first += bytes * 4;
		left -= bytes;
	}
}

static void resource_groups(struct gfs2_walk *g)
{
	uint64_t room = g->index_stuffed ? g->block_bytes - DINODE : g->n_index * g->block_bytes;

	if (g->index_bytes > room)
		g->index_bytes = room;
	for (uint64_t i = 0; (i + 1) * 96 <= g->index_bytes; i++) {
		uint64_t at = i * 96, off = g->index_stuffed ? g->index_stuffed + at : 0;

		if (!off && at / g->block_bytes < g->n_index && g->index[at / g->block_bytes])
			off = g->index[at / g->block_bytes] * g->block_bytes + at % g->block_bytes;
		/* An entry that lies in two blocks is left out. */
		if (!off || (!g->index_stuffed && at % g->block_bytes + 96 > g->block_bytes))
			continue;
		resource_group(g, i, off);
	}
}

static int walk_gfs2(struct as_disk_walk *walk, struct as_err *err)
{
	struct gfs2_walk g = { .walk = walk };
	struct as_walk_at at = { .structure = "super", .off = SUPER, .instance = "superblock" };

	g.block_bytes = as_walk_be(walk, SUPER + 36, 4);
	if (as_walk_be(walk, SUPER, 4) != MAGIC || g.block_bytes < 512 || g.block_bytes > 65536 ||
	    g.block_bytes & (g.block_bytes - 1))
		return as_fail(err, AS_EUSE, "the disk has no superblock of gfs2");
	as_walk_set(walk, GFS2_BLOCK_BYTES, g.block_bytes);
	as_walk_emit(walk, &at);
	look_at(&g, as_walk_be(walk, SUPER + 88, 8), 0, "/", 0);
	look_at(&g, as_walk_be(walk, SUPER + 56, 8), 0, "/(master)", 0);
	resource_groups(&g);
	free(g.index);
	return 0;
}

static const char *const structures[] = {
	"super",    "rgrp",	 "rgrp_bitmap", "block_state", "rindex", "dinode",
	"indirect", "dir_entry", "leaf",	"hash_entry",  NULL,
};
static const char *const vars[] = { "block_bytes", "entries", NULL };

const struct as_walker as_walker_gfs2 = { .name = "gfs2",
					  .structures = structures,
					  .vars = vars,
					  .walk = walk_gfs2 };
