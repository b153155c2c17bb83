/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_ext_map: where the blocks of an inode of ext are: trees of extents, blocks of pointers. */
#include "layout/walk/walk_ext_priv.h"

#include "base/array.h"

#include <sys/stat.h>

#define EXTENT_BYTES 12u
#define EXTENT_MAGIC 0xf30a
#define EXTENT_DEPTH_MAX 5u
#define RUNS_MAX (1u << 20)
#define DIRECT 12u

static void add_run(struct ext_walk *e, struct ext_runs *runs, uint64_t at, uint64_t block,
		    uint64_t n)
{
	struct ext_run *last = runs->n ? &runs->run[runs->n - 1] : NULL;

	if (!n || !as_ext_block_ok(e, block) || n > e->blocks - block || runs->n >= RUNS_MAX)
		return;
	if (last && last->at + last->n == at && last->block + last->n == block) {
		last->n += n;
		return;
	}
	AS_ARRAY_ROOM(runs->run, runs->n, runs->cap);
	runs->run[runs->n++] = (struct ext_run){ at, block, n };
}

/* ---- Extents ---- */

static uint32_t node_seal(struct ext_walk *e, const struct ext_inode *inode, uint64_t off,
			  uint32_t max)
{
	struct as_seal seal = as_ext_inode_seal(e, inode);
	uint64_t len = EXTENT_BYTES * (1 + (uint64_t)max);

	if (!e->csum || len + 4 > e->block_bytes)
		return 0;
	as_seal_disk(&seal, off, len);
	as_seal_store(&seal, off + len, 4, 0, false);
	return as_walk_seal(e->walk, &seal);
}

static void leaf_entry(struct ext_walk *e, const struct ext_inode *inode, uint64_t at,
		       uint32_t number, uint32_t seal, struct ext_runs *runs)
{
	uint64_t len = as_walk_le(e->walk, at + 4, 2);

	as_ext_emit(e, inode, "extent", at, 0,
		    as_walk_text(e->walk, "extent %u of %s", number,
				 inode->path ? inode->path : inode->who),
		    seal);
	/* More than 32768: not initialized. */
	add_run(e, runs, as_walk_le(e->walk, at, 4),
		as_walk_le(e->walk, at + 8, 4) | as_walk_le(e->walk, at + 6, 2) << 32,
		len > 32768 ? len - 32768 : len);
}

/* A node of `room` bytes at `off`. seal: of what it is in; 0 if that is not known yet. */
static void extent_node(struct ext_walk *e, const struct ext_inode *inode, uint64_t off,
			uint64_t room, uint32_t seal, unsigned level, struct ext_runs *runs)
{
	struct as_disk_walk *w = e->walk;
	const char *name = inode->path ? inode->path : inode->who;
	uint32_t n = (uint32_t)as_walk_le(w, off + 2, 2),
		 depth = (uint32_t)as_walk_le(w, off + 6, 2);
	bool is_block = level > 0;

	as_ext_emit(e, inode, "extent_head", off, 0,
		    is_block ? as_walk_text(w, "extent block %llu of %s",
					    (unsigned long long)(off / e->block_bytes), name)
			     : as_walk_text(w, "extent root of %s", name),
		    seal);
	if (as_walk_le(w, off, 2) != EXTENT_MAGIC || depth > EXTENT_DEPTH_MAX)
		return;
	if (n > room / EXTENT_BYTES - 1)
		n = (uint32_t)(room / EXTENT_BYTES - 1);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = off + EXTENT_BYTES * (1 + (uint64_t)i), child;

		if (!depth) {
			leaf_entry(e, inode, at, i, seal, runs);
			continue;
		}
		as_ext_emit(e, inode, "extent_index", at, 0,
			    as_walk_text(w, "extent index %u of %s", i, name), seal);
		child = as_walk_le(w, at + 4, 4) | as_walk_le(w, at + 8, 2) << 32;
		if (level >= EXTENT_DEPTH_MAX || !as_ext_block_ok(e, child) ||
		    !as_walk_first(w, EXT_SEEN_BLOCK, child))
			continue;
		child *= e->block_bytes;
		as_walk_area(w, child, e->block_bytes, as_walk_text(w, "extents of %s", name),
			     false, 0);
		extent_node(e, inode, child, e->block_bytes,
			    node_seal(e, inode, child, (uint32_t)as_walk_le(w, child + 4, 2)),
			    level + 1, runs);
	}
	if (is_block && seal)
		as_ext_emit(e, inode, "extent_tail",
			    off + EXTENT_BYTES * (1 + as_walk_le(w, off + 4, 2)), 0,
			    as_walk_text(w, "extent block %llu of %s",
					 (unsigned long long)(off / e->block_bytes), name),
			    seal);
}

/* ---- Blocks of pointers ---- */

/* The blocks below a pointer of `level`; *at is their place in the file. */
static void indirect(struct ext_walk *e, const struct ext_inode *inode, uint64_t block,
		     unsigned level, uint64_t *at, struct ext_runs *runs)
{
	struct as_disk_walk *w = e->walk;
	uint64_t per_block = e->block_bytes / 4, covers = 1;
	const char *name = inode->path ? inode->path : inode->who;
	bool has_unset = false;

	for (unsigned i = 0; i < level; i++)
		covers *= per_block;
	if (!level && block)
		add_run(e, runs, *at, block, 1);
	if (!level || !as_ext_block_ok(e, block) || !as_walk_first(w, EXT_SEEN_BLOCK, block)) {
		*at += covers;
		return;
	}
	as_walk_area(w, block * e->block_bytes, e->block_bytes,
		     as_walk_text(w, "pointers of %s", name), false, 0);
	for (uint64_t i = 0; i < per_block; i++) {
		uint64_t off = block * e->block_bytes + i * 4, to = as_walk_le(w, off, 4);

		if (to || !has_unset) {
			struct as_walk_at place = {
				.structure = "indirect",
				.off = off,
				.instance = as_walk_text(w, "pointer %llu of block %llu of %s",
							 (unsigned long long)i,
							 (unsigned long long)block, name),
				.class = level > 1 ? "to pointers"
					 : to	   ? "to data"
						   : "unset",
				.path = inode->path,
				.self = block,
				.parent = inode->ino,
			};

			as_walk_emit(w, &place);
		}
		has_unset |= !to;
		indirect(e, inode, to, level - 1, at, runs);
	}
}

void as_ext_map(struct ext_walk *e, const struct ext_inode *inode, struct ext_runs *runs)
{
	uint64_t at = 0, table = inode->off + 40;

	if (inode->flags & EXT_EXTENTS_FL) {
		extent_node(e, inode, table, 60, inode->seal, 0, runs);
		return;
	}
	for (unsigned i = 0; i < DIRECT; i++)
		indirect(e, inode, as_walk_le(e->walk, table + i * 4, 4), 0, &at, runs);
	for (unsigned level = 1; level <= 3; level++)
		indirect(e, inode, as_walk_le(e->walk, table + (DIRECT - 1 + level) * 4, 4), level,
			 &at, runs);
}
