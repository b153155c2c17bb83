/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_jfs: finds the structures of JFS. The table of aggregate inodes is at a fixed place. Its
 * inode 16 is the map of the inodes of the fileset: pages that name extents of 32 inodes each. Data
 * of files and pages of directories are found by trees whose roots are in the inodes.
 */
#include "layout/walk/walk_priv.h"

#include "base/array.h"
#include "base/show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUPER 32768u
#define SUPER2 61440u
#define AGGREGATE 45056u
#define INODE 512u
#define PAGE 4096u
#define TREE 224u /* in an inode */
#define ROOT_INO 2u
#define MAP_INO 16u /* of the aggregate */
#define BMAP_INO 2u
#define LEVELS_MAX 8u
#define RUNS_MAX (1u << 20)
#define FLAG_LEAF 2u
#define NAME_MAX_CHARS 255u

enum jfs_var { JFS_ENTRIES };
enum jfs_space { JFS_SEEN_INODE, JFS_SEEN_PAGE, JFS_SEEN_AGGREGATE, JFS_SEEN_CHILDREN };

struct jfs_run {
	uint64_t at, off, len; /* place in the file and on the disk, in bytes */
};

struct jfs_runs {
	struct jfs_run *run;
	size_t n, cap;
};

struct jfs_walk {
	struct as_disk_walk *walk;
	uint64_t block_bytes;
	struct jfs_runs map; /* of the inode map */
};

struct jfs_file {
	struct jfs_walk *j;
	uint64_t off;
	struct as_walk_at at;
	unsigned depth;
};

static void emit(const struct jfs_file *f, const char *structure, uint64_t off, const char *class,
		 const char *instance)
{
	struct as_walk_at at = f->at;

	at.structure = structure;
	at.off = off;
	at.class = class;
	at.instance = instance;
	as_walk_emit(f->j->walk, &at);
}

/* The byte that a pxd leads to; *len: its bytes. */
static uint64_t extent_at(const struct jfs_walk *j, uint64_t pxd, uint64_t *len)
{
	uint64_t first = as_walk_le(j->walk, pxd, 4);
	uint64_t off = (first >> 24 << 32 | as_walk_le(j->walk, pxd + 4, 4)) * j->block_bytes;

	*len = (first & 0xffffff) * j->block_bytes;
	if (!off || off > as_walk_disk_bytes(j->walk) || *len > as_walk_disk_bytes(j->walk) - off)
		return 0;
	return off;
}

/* ---- Trees of extents ---- */

static void xtree(const struct jfs_file *f, uint64_t off, bool root, unsigned depth,
		  struct jfs_runs *runs)
{
	struct jfs_walk *j = f->j;
	struct as_disk_walk *w = j->walk;
	uint64_t n = as_walk_le(w, off + 18, 2), flag = as_walk_le(w, off + 16, 1);
	uint64_t most = root ? 18 : PAGE / 16;

	emit(f, "xtree_head", off, f->at.class,
	     as_walk_text(w, "extent %s of %s", root ? "root" : "page", f->at.path));
	for (uint64_t i = 2; i < n && i < most; i++) {
		uint64_t entry = off + i * 16, len, to = extent_at(j, entry + 8, &len);
		uint64_t at = as_walk_le(w, entry + 3, 1) << 32 | as_walk_le(w, entry + 4, 4);

		emit(f, "xtree_entry", entry, f->at.class,
		     as_walk_text(w, "extent %llu of %s%s", (unsigned long long)i - 2, f->at.path,
				  root ? "" : " (in a page)"));
		if (!to || runs->n >= RUNS_MAX)
			continue;
		if (!(flag & FLAG_LEAF)) {
			if (depth < LEVELS_MAX && as_walk_first(w, JFS_SEEN_PAGE, to))
				xtree(f, to, false, depth + 1, runs);
			continue;
		}
		AS_ARRAY_ROOM(runs->run, runs->n, runs->cap);
		runs->run[runs->n++] = (struct jfs_run){ at * j->block_bytes, to, len };
	}
}

static uint64_t place_of(const struct jfs_runs *runs, uint64_t at)
{
	for (size_t i = 0; i < runs->n; i++)
		if (at >= runs->run[i].at && at - runs->run[i].at < runs->run[i].len)
			return runs->run[i].off + (at - runs->run[i].at);
	return 0;
}

/* ---- Directories ---- */

static void look_at(struct jfs_walk *j, uint64_t ino, uint64_t parent, const char *path,
		    unsigned depth);

/* Characters are of 16 bits; those that have no byte of their own become '?'. */
static size_t add_chars(struct as_disk_walk *w, uint64_t at, size_t n, char *name, size_t len)
{
	for (size_t i = 0; i < n && len < NAME_MAX_CHARS; i++) {
		uint64_t c = as_walk_le(w, at + i * 2, 2);

		name[len++] = (char)(c < 128 ? c : '?');
	}
	return len;
}

/* An entry of a leaf, in slot `slot` of the page at `page`. */
static void entry(const struct jfs_file *dir, uint64_t page, unsigned slot, unsigned slots,
		  int pass)
{
	struct as_disk_walk *w = dir->j->walk;
	uint64_t off = page + slot * 32;
	size_t namlen = (size_t)as_walk_le(w, off + 5, 1), len;
	unsigned next = (unsigned)as_walk_le(w, off + 4, 1), more = 0;
	struct as_buf shown = { 0 };
	char name[NAME_MAX_CHARS + 1];
	uint64_t parts[24];

	len = add_chars(w, off + 6, namlen < 11 ? namlen : 11, name, 0);
	for (; next && next < slots && more < 24;
	     next = (unsigned)as_walk_le(w, parts[more - 1], 1)) {
		parts[more] = page + next * 32;
		len = add_chars(w, parts[more] + 2, as_walk_le(w, parts[more] + 1, 1) & 15, name,
				len);
		more++;
	}
	if (pass) {
		if (as_walk_leads_on(name, len))
			look_at(dir->j, as_walk_le(w, off, 4), dir->at.self,
				as_walk_join(w, dir->at.path, name, len), dir->depth + 1);
		return;
	}
	as_shown(&shown, name, len);
	emit(dir, "dir_entry", off, "entry",
	     as_walk_text(w, "entry %s of %s", as_buf_str(&shown), dir->at.path));
	for (unsigned i = 0; i < more; i++)
		emit(dir, "name_slot", parts[i], "",
		     as_walk_text(w, "name %u of entry %s of %s", i + 1, as_buf_str(&shown),
				  dir->at.path));
	as_buf_free(&shown);
}

/* A page of the tree, or its root, which is in the inode. */
static void dtree(const struct jfs_file *dir, uint64_t page, bool root, unsigned depth, int pass)
{
	struct as_disk_walk *w = dir->j->walk;
	unsigned slots = root ? 9 : PAGE / 32, n = (unsigned)as_walk_le(w, page + 17, 1);
	uint64_t table = root ? page + 24 : page + as_walk_le(w, page + 21, 1) * 32, len, to;
	bool is_leaf = as_walk_le(w, page + 16, 1) & FLAG_LEAF;

	if (!pass)
		emit(dir, root ? "dtree_root" : "dtree_page", page, dir->at.class,
		     as_walk_text(w, "directory %s%s", dir->at.path, root ? "" : " (a page)"));
	for (unsigned i = 0; i < n && i < (root ? 8 : slots - 1); i++) {
		unsigned slot = (unsigned)as_walk_le(w, table + i, 1);

		if (!slot || slot >= slots)
			continue;
		if (is_leaf) {
			entry(dir, page, slot, slots, pass);
			continue;
		}
		if (!pass)
			emit(dir, "dtree_entry", page + slot * 32, dir->at.class,
			     as_walk_text(w, "pointer %u of directory %s", i, dir->at.path));
		to = extent_at(dir->j, page + slot * 32, &len);
		if (!to || depth > LEVELS_MAX ||
		    !as_walk_first(w, pass ? JFS_SEEN_CHILDREN : JFS_SEEN_PAGE, to))
			continue;
		if (!pass)
			as_walk_area(w, to, PAGE, as_walk_text(w, "directory %s", dir->at.path),
				     false, 0);
		dtree(dir, to, false, depth + 1, pass);
	}
}

/* ---- Inodes ---- */

static uint64_t inode_at(struct jfs_walk *j, uint64_t ino)
{
	/* Page 0 of the map is its control page. */
	uint64_t iag = place_of(&j->map, ((ino >> 12) + 1) * PAGE), extent, len;

	if (!iag)
		return 0;
	extent = extent_at(j, iag + 3072 + (ino >> 5 & 127) * 8, &len);
	return extent ? extent + (ino & 31) * INODE : 0;
}

static void own_runs(const struct jfs_file *f, const struct jfs_runs *runs, uint32_t mode)
{
	const char *what = as_walk_text(f->j->walk, "%s %s", S_ISLNK(mode) ? "text of" : "data of",
					f->at.path);

	for (size_t i = 0; i < runs->n; i++)
		as_walk_area(f->j->walk, runs->run[i].off, runs->run[i].len, what, S_ISREG(mode),
			     runs->run[i].at);
}

static void look_at(struct jfs_walk *j, uint64_t ino, uint64_t parent, const char *path,
		    unsigned depth)
{
	struct as_disk_walk *w = j->walk;
	struct jfs_file f = { .j = j, .depth = depth, .at = { .path = path } };
	struct jfs_runs runs = { 0 };
	uint32_t mode;

	if (!as_walk_inode(w, ino, path) || depth > WALK_DEPTH_MAX)
		return;
	f.off = inode_at(j, ino);
	if (!f.off) {
		as_walk_complain(w, "inode %llu of %s is not in the map", (unsigned long long)ino,
				 path);
		return;
	}
	mode = (uint32_t)as_walk_le(w, f.off + 52, 4);
	f.at.self = ino;
	f.at.parent = parent;
	f.at.class = as_walk_mode_class(mode);
	emit(&f, "inode", f.off, f.at.class,
	     as_walk_text(w, "inode %llu of %s", (unsigned long long)ino, path));
	if (S_ISDIR(mode)) {
		dtree(&f, f.off + TREE, true, 0, 0);
		dtree(&f, f.off + TREE, true, 0, 1);
	} else if (S_ISREG(mode) || (S_ISLNK(mode) && as_walk_le(w, f.off + 24, 8) >= 256)) {
		xtree(&f, f.off + TREE, true, 0, &runs);
		own_runs(&f, &runs, mode);
	}
	free(runs.run);
}

/* The inodes that the file system itself is made of. */
static void aggregate(struct jfs_walk *j, uint64_t ino, const char *name, struct jfs_runs *runs)
{
	struct jfs_file f = { .j = j, .off = AGGREGATE + ino * INODE };

	f.at.path = name;
	f.at.class = "reserved";
	f.at.self = ino;
	emit(&f, "inode", f.off, "reserved",
	     as_walk_text(j->walk, "aggregate inode %llu %s", (unsigned long long)ino, name));
	xtree(&f, f.off + TREE, true, 0, runs);
	for (size_t i = 0; i < runs->n; i++)
		as_walk_area(j->walk, runs->run[i].off, runs->run[i].len, name, false, 0);
}

static void maps(struct jfs_walk *j)
{
	struct jfs_runs bmap = { 0 }, self = { 0 };
	struct as_walk_at at = { .structure = "dbmap", .instance = "map of blocks" };

	aggregate(j, 1, "(aggregate inodes)", &self);
	aggregate(j, BMAP_INO, "(map of blocks)", &bmap);
	aggregate(j, MAP_INO, "(map of inodes)", &j->map);
	at.off = place_of(&bmap, 0);
	if (at.off)
		as_walk_emit(j->walk, &at);
	as_walk_set(j->walk, JFS_ENTRIES, 128);
	for (uint64_t i = 0; place_of(&j->map, (i + 1) * PAGE); i++) {
		at.structure = "iag";
		at.off = place_of(&j->map, (i + 1) * PAGE);
		at.instance = as_walk_text(j->walk, "group of inodes %llu", (unsigned long long)i);
		as_walk_emit(j->walk, &at);
	}
	free(bmap.run);
	free(self.run);
}

static int walk_jfs(struct as_disk_walk *walk, struct as_err *err)
{
	struct jfs_walk j = { .walk = walk };
	struct as_walk_at at = { .structure = "super", .off = SUPER, .instance = "superblock" };
	uint64_t log, len;

	j.block_bytes = as_walk_le(walk, SUPER + 16, 4);
	if (as_walk_le(walk, SUPER, 4) != 0x3153464a || j.block_bytes < 512 ||
	    j.block_bytes > 4096 || j.block_bytes & (j.block_bytes - 1))
		return as_fail(err, AS_EUSE, "the disk has no superblock of JFS");
	as_walk_emit(walk, &at);
	at.off = SUPER2;
	at.class = "backup";
	at.instance = "backup superblock";
	as_walk_emit(walk, &at);
	maps(&j);
	look_at(&j, ROOT_INO, ROOT_INO, "/", 0);
	log = extent_at(&j, SUPER + 72, &len);
	if (log)
		as_walk_area(walk, log, len, "log", false, 0);
	free(j.map.run);
	return 0;
}

static const char *const structures[] = {
	"super",     "inode",	    "xtree_head", "xtree_entry", "dtree_root", "dtree_page",
	"dir_entry", "dtree_entry", "name_slot",  "iag",	 "dbmap",      NULL,
};
static const char *const vars[] = { "entries", NULL };

const struct as_walker as_walker_jfs = { .name = "jfs",
					 .structures = structures,
					 .vars = vars,
					 .walk = walk_jfs };
