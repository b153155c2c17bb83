/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_xfs: finds the structures of xfs: superblocks, headers and B+trees of allocation groups, and
 * inodes. Their blocks and directories are in walk_xfs_dir.c.
 */
#include "layout/walk/walk_xfs_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define AGS_MAX 1024u
#define TREE_LEVELS_MAX 9u

uint32_t as_xfs_seal(struct xfs_walk *x, uint64_t off, uint64_t len, uint64_t crc_at)
{
	struct as_seal seal = { .init = UINT32_MAX, .final = UINT32_MAX };

	if (!x->v5)
		return 0;
	as_seal_whole(&seal, off, len, off + crc_at, 4, false);
	return as_walk_seal(x->walk, &seal);
}

static uint64_t ag_block(const struct xfs_walk *x, uint64_t ag, uint64_t block)
{
	uint64_t off = (ag * x->ag_blocks + block) * x->block_bytes;

	if (ag >= x->ags || block >= x->ag_blocks ||
	    off + x->block_bytes > as_walk_disk_bytes(x->walk))
		return 0;
	return off;
}

uint64_t as_xfs_block(const struct xfs_walk *x, uint64_t fsblock)
{
	return ag_block(x, fsblock >> x->ag_block_log,
			fsblock & ((UINT64_C(1) << x->ag_block_log) - 1));
}

/* ---- Superblock ---- */

static int read_super(struct xfs_walk *x, struct as_err *err)
{
	struct as_disk_walk *w = x->walk;
	uint64_t inode_log = as_walk_be(w, 122, 1);

	if (as_walk_be(w, 0, 4) != 0x58465342)
		return as_fail(err, AS_EUSE, "the disk has no superblock of xfs");
	x->block_bytes = as_walk_be(w, 4, 4);
	x->blocks = as_walk_be(w, 8, 8);
	x->ag_blocks = as_walk_be(w, 84, 4);
	x->ags = as_walk_be(w, 88, 4);
	x->v5 = (as_walk_be(w, 100, 2) & 15) == 5;
	x->sector_bytes = as_walk_be(w, 102, 2);
	x->inode_bytes = as_walk_be(w, 104, 2);
	x->inodes_per_block_log = (unsigned)as_walk_be(w, 123, 1);
	x->ag_block_log = (unsigned)as_walk_be(w, 124, 1);
	x->dir_block_bytes = x->block_bytes << (as_walk_be(w, 192, 1) & 7);
	if (x->block_bytes < 512 || x->block_bytes > 65536 ||
	    (x->block_bytes & (x->block_bytes - 1)) || x->sector_bytes < 512 ||
	    x->sector_bytes > 32768 || x->ag_block_log > 32 || x->inodes_per_block_log > 8 ||
	    inode_log < 8 || inode_log > 11 || x->inode_bytes != UINT64_C(1) << inode_log ||
	    !x->ag_blocks)
		return as_fail(err, AS_EUSE, "the superblock makes no sense");
	if (x->ags > AGS_MAX)
		x->ags = AGS_MAX;
	as_walk_set(w, XFS_V5, x->v5);
	as_walk_set(w, XFS_SECTOR_BYTES, x->sector_bytes);
	as_walk_set(w, XFS_BLOCK_BYTES, x->block_bytes);
	return 0;
}

/* ---- Allocation groups ---- */

static void emit_ag(struct xfs_walk *x, uint64_t ag, const char *structure, uint64_t off,
		    const char *words, uint32_t seal)
{
	struct as_walk_at at = {
		.structure = structure,
		.off = off,
		.instance =
			as_walk_text(x->walk, "%s of group %llu", words, (unsigned long long)ag),
		.class = ag && strcmp(structure, "super") == 0 ? "backup" : "",
		.self = ag,
		.seal = seal,
	};

	as_walk_emit(x->walk, &at);
}

struct xfs_tree {
	const char *words, *record;
	unsigned record_bytes, key_bytes;
};

static void tree_block(struct xfs_walk *x, uint64_t ag, const struct xfs_tree *t, uint64_t block,
		       unsigned level)
{
	struct as_disk_walk *w = x->walk;
	uint64_t off = ag_block(x, ag, block), head = x->v5 ? 56 : 16;
	uint64_t n = as_walk_be(w, off + 6, 2), here = as_walk_be(w, off + 4, 2), max;
	const char *name;
	uint32_t seal;

	if (!off || level > TREE_LEVELS_MAX || !as_walk_first(w, XFS_SEEN_BLOCK, off))
		return;
	seal = as_xfs_seal(x, off, x->block_bytes, 52);
	name = as_walk_text(w, "%s block %llu", t->words, (unsigned long long)block);
	as_walk_area(w, off, x->block_bytes,
		     as_walk_text(w, "%s of group %llu", name, (unsigned long long)ag), false, 0);
	emit_ag(x, ag, "btree_short", off, name, seal);
	max = (x->block_bytes - head) / (here ? t->key_bytes + 4 : t->record_bytes);
	for (uint64_t i = 0; i < n && i < max; i++) {
		uint64_t keys = off + head + i * t->key_bytes;
		uint64_t pointer = off + head + max * t->key_bytes + i * 4;

		if (!here) {
			emit_ag(x, ag, t->record, off + head + i * t->record_bytes,
				as_walk_text(w, "record %llu of %s", (unsigned long long)i, name),
				seal);
			continue;
		}
		emit_ag(x, ag, "btree_key", keys,
			as_walk_text(w, "key %llu of %s", (unsigned long long)i, name), seal);
		emit_ag(x, ag, "btree_pointer", pointer,
			as_walk_text(w, "pointer %llu of %s", (unsigned long long)i, name), seal);
		tree_block(x, ag, t, as_walk_be(w, pointer, 4), level + 1);
	}
}

static void trees(struct xfs_walk *x, uint64_t ag, uint64_t agf, uint64_t agi)
{
	static const struct xfs_tree bno = { "free space by place", "free_record", 8, 8 },
				     cnt = { "free space by length", "free_record", 8, 8 },
				     rmap = { "reverse map", "rmap_record", 24, 40 },
				     ref = { "reference counts", "refcount_record", 12, 4 },
				     ino = { "inodes", "inode_record", 16, 4 },
				     fino = { "free inodes", "inode_record", 16, 4 };
	struct as_disk_walk *w = x->walk;

	tree_block(x, ag, &bno, as_walk_be(w, agf + 16, 4), 0);
	tree_block(x, ag, &cnt, as_walk_be(w, agf + 20, 4), 0);
	if (as_walk_be(w, agf + 24, 4))
		tree_block(x, ag, &rmap, as_walk_be(w, agf + 24, 4), 0);
	if (x->v5 && as_walk_be(w, agf + 88, 4))
		tree_block(x, ag, &ref, as_walk_be(w, agf + 88, 4), 0);
	tree_block(x, ag, &ino, as_walk_be(w, agi + 20, 4), 0);
	if (x->v5 && as_walk_be(w, agi + 328, 4))
		tree_block(x, ag, &fino, as_walk_be(w, agi + 328, 4), 0);
}

static void emit_groups(struct xfs_walk *x)
{
	for (uint64_t ag = 0; ag < x->ags; ag++) {
		uint64_t at = ag * x->ag_blocks * x->block_bytes, s = x->sector_bytes;

		if (at + 4 * s > as_walk_disk_bytes(x->walk)) {
			as_walk_complain(x->walk, "group %llu is not on the disk",
					 (unsigned long long)ag);
			return;
		}
		emit_ag(x, ag, "super", at, "superblock", as_xfs_seal(x, at, s, 224));
		emit_ag(x, ag, "agf", at + s, "free space header", as_xfs_seal(x, at + s, s, 216));
		emit_ag(x, ag, "agi", at + 2 * s, "inode header",
			as_xfs_seal(x, at + 2 * s, s, 312));
		as_walk_set(x->walk, XFS_ENTRIES, (s - (x->v5 ? 36 : 0)) / 4);
		emit_ag(x, ag, "agfl", at + 3 * s, "free list", as_xfs_seal(x, at + 3 * s, s, 32));
		trees(x, ag, at + s, at + 2 * s);
	}
}

/* ---- Inodes ---- */

void as_xfs_emit(struct xfs_walk *x, const struct xfs_inode *inode, const char *structure,
		 uint64_t off, uint64_t len, const char *class, const char *instance, uint32_t seal)
{
	struct as_walk_at at = { .structure = structure,
				 .off = off,
				 .len = len,
				 .instance = instance,
				 .class = class,
				 .path = inode->path,
				 .self = inode->ino,
				 .parent = inode->parent,
				 .seal = seal };

	as_walk_emit(x->walk, &at);
}

static void own_runs(struct xfs_walk *x, const struct xfs_inode *inode, const struct xfs_runs *runs)
{
	const char *what = as_walk_text(x->walk, "%s %s",
					S_ISDIR(inode->mode)   ? "directory"
					: S_ISLNK(inode->mode) ? "text of"
							       : "data of",
					inode->path);

	for (size_t i = 0; i < runs->n; i++)
		as_walk_area(x->walk, runs->run[i].off, runs->run[i].n * x->block_bytes, what,
			     S_ISREG(inode->mode), runs->run[i].at * x->block_bytes);
}

static void remote_link(struct xfs_walk *x, const struct xfs_inode *inode,
			const struct xfs_runs *runs)
{
	uint64_t room = x->block_bytes - 56;

	if (!runs->n || !x->v5)
		return;
	as_walk_set(x->walk, XFS_ENTRIES, inode->size < room ? inode->size : room);
	as_xfs_emit(x, inode, "link_block", runs->run[0].off, x->block_bytes, inode->class,
		    as_walk_text(x->walk, "text of %s", inode->path),
		    as_xfs_seal(x, runs->run[0].off, x->block_bytes, 12));
}

static uint64_t inode_at(const struct xfs_walk *x, uint64_t ino)
{
	uint64_t index = ino & ((UINT64_C(1) << x->inodes_per_block_log) - 1);
	uint64_t block = as_xfs_block(x, ino >> x->inodes_per_block_log);

	return block ? block + index * x->inode_bytes : 0;
}

void as_xfs_inode(struct xfs_walk *x, uint64_t ino, uint64_t parent, const char *path,
		  const char *class, unsigned depth)
{
	struct as_disk_walk *w = x->walk;
	struct xfs_inode inode = { .ino = ino, .parent = parent, .path = path, .depth = depth };
	struct xfs_runs runs = { 0 };
	uint64_t core, fork_off;

	inode.off = inode_at(x, ino);
	if (!inode.off || !as_walk_inode(w, ino, path) || depth > WALK_DEPTH_MAX)
		return;
	if (as_walk_be(w, inode.off, 2) != 0x494e)
		as_walk_complain(w, "inode %llu of %s has no magic", (unsigned long long)ino, path);
	inode.mode = (uint32_t)as_walk_be(w, inode.off + 2, 2);
	inode.format = (uint32_t)as_walk_be(w, inode.off + 5, 1);
	inode.size = as_walk_be(w, inode.off + 56, 8);
	inode.extents = (uint32_t)as_walk_be(w, inode.off + 76, 4);
	core = as_walk_be(w, inode.off + 4, 1) >= 3 ? 176 : 100;
	fork_off = as_walk_be(w, inode.off + 82, 1) * 8;
	inode.fork = inode.off + core;
	inode.fork_bytes =
		fork_off && fork_off < x->inode_bytes - core ? fork_off : x->inode_bytes - core;
	inode.class = class ? class : as_walk_mode_class(inode.mode);
	inode.seal = as_xfs_seal(x, inode.off, x->inode_bytes, 100);
	as_xfs_emit(x, &inode, "inode", inode.off, core + inode.fork_bytes, inode.class,
		    as_walk_text(w, "inode %llu of %s", (unsigned long long)ino, path), inode.seal);
	if (S_ISREG(inode.mode) || S_ISDIR(inode.mode) || S_ISLNK(inode.mode))
		as_xfs_map(x, &inode, &runs);
	own_runs(x, &inode, &runs);
	if (S_ISLNK(inode.mode))
		remote_link(x, &inode, &runs);
	else if (S_ISDIR(inode.mode))
		as_xfs_dir(x, &inode, &runs);
	free(runs.run);
}

static int walk_xfs(struct as_disk_walk *walk, struct as_err *err)
{
	struct xfs_walk x = { .walk = walk };
	int rc = read_super(&x, err);
	uint64_t log;

	if (rc)
		return rc;
	emit_groups(&x);
	as_xfs_inode(&x, as_walk_be(walk, 56, 8), as_walk_be(walk, 56, 8), "/", NULL, 0);
	as_xfs_inode(&x, as_walk_be(walk, 64, 8), 0, "(bitmap of the realtime device)", "reserved",
		     0);
	as_xfs_inode(&x, as_walk_be(walk, 72, 8), 0, "(summary of the realtime device)", "reserved",
		     0);
	log = as_xfs_block(&x, as_walk_be(walk, 48, 8));
	if (log)
		as_walk_area(walk, log, as_walk_be(walk, 96, 4) * x.block_bytes, "log", false, 0);
	return 0;
}

static const char *const structures[] = {
	"super",
	"agf",
	"agi",
	"agfl",
	"btree_short",
	"btree_long",
	"btree_key",
	"btree_pointer",
	"free_record",
	"inode_record",
	"refcount_record",
	"rmap_record",
	"inode",
	"extent",
	"bmap_root",
	"bmap_key",
	"bmap_pointer",
	"short_head",
	"short_entry",
	"dir_block",
	"dir_entry",
	"dir_unused",
	"dir_tail",
	"dir_leaf_entry",
	"da_block",
	"dir_free",
	"link_block",
	NULL,
};
static const char *const vars[] = { "v5", "sector_bytes", "block_bytes", "wide", "entries", NULL };

const struct as_walker as_walker_xfs = { .name = "xfs",
					 .structures = structures,
					 .vars = vars,
					 .walk = walk_xfs };
