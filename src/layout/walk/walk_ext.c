/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_ext: finds the structures of ext2, ext3 and ext4: the superblock and its backups, group
 * descriptors, bitmaps, and inodes. What belongs to an inode is in walk_ext_map.c (blocks),
 * walk_ext_dir.c (directories, attributes) and walk_ext_journal.c.
 *
 * It reads the disk itself, not through libext2fs, which would want the whole disk as a file and
 * refuses disks whose damage is what a reader wants to see.
 */
#include "layout/walk/walk_ext_priv.h"

#include "base/crc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUPER 1024u
#define ROOT_INO 2u
#define JOURNAL_INO 8u
#define INODE_BLOCK 40u /* i_block in an inode */
#define GROUPS_MAX 65536u

bool as_ext_block_ok(const struct ext_walk *e, uint64_t block)
{
	return block > 0 && block < e->blocks &&
	       (block + 1) * e->block_bytes <= as_walk_disk_bytes(e->walk);
}

/* ---- Superblock ---- */

static int read_super(struct ext_walk *e, struct as_err *err)
{
	struct as_disk_walk *w = e->walk;
	uint32_t log = (uint32_t)as_walk_le(w, SUPER + 24, 4);
	bool dynamic = as_walk_le(w, SUPER + 76, 4) > 0;

	if (as_walk_le(w, SUPER + 56, 2) != 0xef53)
		return as_fail(err, AS_EUSE, "the disk has no superblock of ext2, ext3 or ext4");
	if (log > 6)
		return as_fail(err, AS_EUSE, "the superblock names no size of blocks that exists");
	e->block_bytes = UINT64_C(1024) << log;
	e->inodes = (uint32_t)as_walk_le(w, SUPER, 4);
	e->blocks = as_walk_le(w, SUPER + 4, 4);
	e->first_block = as_walk_le(w, SUPER + 20, 4);
	e->blocks_per_group = (uint32_t)as_walk_le(w, SUPER + 32, 4);
	e->clusters_per_group = (uint32_t)as_walk_le(w, SUPER + 36, 4);
	e->inodes_per_group = (uint32_t)as_walk_le(w, SUPER + 40, 4);
	e->first_ino = dynamic ? (uint32_t)as_walk_le(w, SUPER + 84, 4) : 11;
	e->inode_bytes = dynamic ? (uint32_t)as_walk_le(w, SUPER + 88, 2) : 128;
	e->compat = (uint32_t)as_walk_le(w, SUPER + 92, 4);
	e->incompat = (uint32_t)as_walk_le(w, SUPER + 96, 4);
	e->ro_compat = (uint32_t)as_walk_le(w, SUPER + 100, 4);
	e->reserved_gdt = (uint32_t)as_walk_le(w, SUPER + 206, 2);
	e->desc_bytes = 32;
	if (e->incompat & EXT_INCOMPAT_64BIT) {
		e->desc_bytes = (uint32_t)as_walk_le(w, SUPER + 254, 2);
		e->blocks |= as_walk_le(w, SUPER + 336, 4) << 32;
	}
	/* A group has one block of each bitmap. */
	if (e->inodes_per_group > e->block_bytes * 8)
		return as_fail(err, AS_EUSE, "the superblock names too many inodes of a group");
	if (e->inode_bytes < 128 || e->inode_bytes > e->block_bytes || !e->blocks_per_group ||
	    !e->inodes_per_group || e->desc_bytes < 32 || e->desc_bytes > 1024 ||
	    e->first_block >= e->blocks)
		return as_fail(err, AS_EUSE, "the superblock makes no sense");
	e->groups = (uint32_t)((e->blocks - e->first_block + e->blocks_per_group - 1) /
			       e->blocks_per_group);
	if (e->groups > GROUPS_MAX) {
		as_walk_complain(w, "only the first %u groups were looked at", GROUPS_MAX);
		e->groups = GROUPS_MAX;
	}
	as_walk_read(w, SUPER + 104, e->uuid, sizeof(e->uuid));
	e->csum = e->ro_compat & EXT_RO_COMPAT_METADATA_CSUM;
	e->seed = e->incompat & EXT_INCOMPAT_CSUM_SEED
			  ? (uint32_t)as_walk_le(w, SUPER + 624, 4)
			  : as_crc32c(UINT32_MAX, e->uuid, sizeof(e->uuid));
	return 0;
}

static void set_vars(struct ext_walk *e)
{
	as_walk_set(e->walk, EXT_BLOCK_BYTES, e->block_bytes);
	as_walk_set(e->walk, EXT_INODE_BYTES, e->inode_bytes);
	as_walk_set(e->walk, EXT_DESC_BYTES, e->desc_bytes);
	as_walk_set(e->walk, EXT_COMPAT, e->compat);
	as_walk_set(e->walk, EXT_INCOMPAT, e->incompat);
	as_walk_set(e->walk, EXT_RO_COMPAT, e->ro_compat);
}

static void emit_super(struct ext_walk *e, uint64_t off, const char *instance, const char *class)
{
	struct as_walk_at at = { .structure = "super",
				 .off = off,
				 .instance = instance,
				 .class = class };
	struct as_seal seal = { .init = UINT32_MAX };

	if (e->csum) {
		as_seal_disk(&seal, off, 1020);
		as_seal_store(&seal, off + 1020, 4, 0, false);
		at.seal = as_walk_seal(e->walk, &seal);
	}
	as_walk_emit(e->walk, &at);
}

/* ---- Groups ---- */

static bool power_of(uint32_t n, uint32_t base)
{
	while (n > base && n % base == 0)
		n /= base;
	return n == base;
}

static bool has_super(const struct ext_walk *e, uint32_t group)
{
	return group <= 1 || !(e->ro_compat & EXT_RO_COMPAT_SPARSE) || power_of(group, 3) ||
	       power_of(group, 5) || power_of(group, 7);
}

static uint64_t desc_at(const struct ext_walk *e, uint32_t group)
{
	uint64_t per_block = e->block_bytes / e->desc_bytes, block = group / per_block;
	/* With bigalloc, blocks count from 0, and the superblock may still be in block 1. */
	bool in_block_1 = !e->first_block && e->block_bytes == SUPER;
	uint64_t home = e->first_block + in_block_1 + 1 + block;

	if (e->incompat & EXT_INCOMPAT_META_BG && block >= as_walk_le(e->walk, SUPER + 260, 4)) {
		uint32_t first = (uint32_t)(block * per_block);

		home = e->first_block + (uint64_t)first * e->blocks_per_group +
		       has_super(e, first) + (in_block_1 && !first);
	}
	return home * e->block_bytes + group % per_block * e->desc_bytes;
}

static uint64_t desc_number(const struct ext_walk *e, uint32_t group, unsigned lo, unsigned hi)
{
	uint64_t at = desc_at(e, group), value = as_walk_le(e->walk, at + lo, 4);

	if (e->desc_bytes >= 64)
		value |= as_walk_le(e->walk, at + hi, 4) << 32;
	return value;
}

static uint32_t group_seal(struct ext_walk *e, uint32_t group)
{
	uint64_t at = desc_at(e, group);
	struct as_seal seal = { .init = e->seed };

	if (e->csum) {
		as_seal_le32(&seal, group);
		as_seal_disk(&seal, at, 30);
		as_seal_zeros(&seal, 2);
	} else if (e->ro_compat & EXT_RO_COMPAT_GDT_CSUM) {
		seal.sum = AS_SUM_CRC16;
		seal.init = 0xffff;
		as_seal_literal(&seal, e->uuid, sizeof(e->uuid));
		as_seal_le32(&seal, group);
		as_seal_disk(&seal, at, 30);
	} else {
		return 0;
	}
	as_seal_disk(&seal, at + 32, e->desc_bytes - 32);
	as_seal_store(&seal, at + 30, 2, 0, false);
	return as_walk_seal(e->walk, &seal);
}

static void emit_bitmap(struct ext_walk *e, uint32_t group, uint32_t next, bool of_blocks)
{
	uint64_t block = of_blocks ? desc_number(e, group, 0, 32) : desc_number(e, group, 4, 36);
	uint64_t desc = desc_at(e, group),
		 n = of_blocks ? e->blocks_per_group : e->inodes_per_group;
	uint64_t first = of_blocks ? e->first_block + (uint64_t)group * n : (uint64_t)group * n + 1;
	uint64_t sum_bits = of_blocks ? e->clusters_per_group : n;
	const char *unit = of_blocks ? "block" : "inode";
	struct as_walk_at at = { .structure = of_blocks ? "block_bitmap" : "inode_bitmap",
				 .off = block * e->block_bytes,
				 .len = e->block_bytes };
	struct as_seal seal = { .init = e->seed, .next = next };

	if (!as_ext_block_ok(e, block)) {
		as_walk_complain(e->walk, "group %u has no %s bitmap on the disk", group, unit);
		return;
	}
	if (e->csum && sum_bits / 8 <= e->block_bytes) {
		as_seal_disk(&seal, at.off, sum_bits / 8);
		as_seal_store(&seal, desc + (of_blocks ? 24 : 26), 2, 0, false);
		if (e->desc_bytes >= 64)
			as_seal_store(&seal, desc + (of_blocks ? 56 : 58), 2, 16, false);
		at.seal = as_walk_seal(e->walk, &seal);
	}
	if (of_blocks && first + n > e->blocks)
		n = e->blocks - first;
	/* With bigalloc, a bit is a cluster. */
	if (of_blocks && e->clusters_per_group && e->blocks_per_group > e->clusters_per_group) {
		uint64_t ratio = e->blocks_per_group / e->clusters_per_group;

		first /= ratio;
		n = (n + ratio - 1) / ratio;
		unit = "cluster";
	}
	if (n > e->block_bytes * 8)
		n = e->block_bytes * 8;
	at.instance = as_walk_text(e->walk, "%s bitmap of group %u", of_blocks ? "block" : "inode",
				   group);
	as_walk_bits(e->walk, &at, unit, first, n, of_blocks ? "bitmap.block" : "bitmap.inode");
	as_walk_area(e->walk, at.off, e->block_bytes, at.instance, false, 0);
}

static void emit_groups(struct ext_walk *e)
{
	for (uint32_t group = 0; group < e->groups; group++) {
		uint32_t seal = group_seal(e, group);
		struct as_walk_at at = {
			.structure = "group",
			.off = desc_at(e, group),
			.instance = as_walk_text(e->walk, "group %u", group),
			.self = group,
			.seal = seal,
		};
		uint64_t start = e->first_block + (uint64_t)group * e->blocks_per_group;

		if (group && has_super(e, group) && as_ext_block_ok(e, start))
			emit_super(e, start * e->block_bytes,
				   as_walk_text(e->walk, "backup superblock in group %u", group),
				   "backup");
		as_walk_emit(e->walk, &at);
		emit_bitmap(e, group, seal, true);
		emit_bitmap(e, group, seal, false);
	}
}

/* ---- Inodes ---- */

static bool ext_inode_at(const struct ext_walk *e, uint32_t ino, uint64_t *off)
{
	uint32_t group = (ino - 1) / e->inodes_per_group, index = (ino - 1) % e->inodes_per_group;
	uint64_t table;

	if (ino < 1 || ino > e->inodes || group >= e->groups)
		return false;
	table = desc_number(e, group, 8, 40);
	*off = table * e->block_bytes + (uint64_t)index * e->inode_bytes;
	return as_ext_block_ok(e, table) && *off + e->inode_bytes <= as_walk_disk_bytes(e->walk);
}

struct as_seal as_ext_inode_seal(const struct ext_walk *e, const struct ext_inode *inode)
{
	struct as_seal seal = { .init = e->seed };

	as_seal_le32(&seal, inode->ino);
	as_seal_disk(&seal, inode->off + 100, 4);
	return seal;
}

static uint32_t inode_seal(struct ext_walk *e, const struct ext_inode *inode)
{
	struct as_seal seal = as_ext_inode_seal(e, inode);
	bool has_high = inode->extra >= 4;

	if (!e->csum)
		return 0;
	as_seal_disk(&seal, inode->off, 124);
	as_seal_zeros(&seal, 2);
	as_seal_store(&seal, inode->off + 124, 2, 0, false);
	if (has_high) {
		as_seal_disk(&seal, inode->off + 126, 4);
		as_seal_zeros(&seal, 2);
		as_seal_disk(&seal, inode->off + 132, e->inode_bytes - 132);
		as_seal_store(&seal, inode->off + 130, 2, 16, false);
	} else {
		as_seal_disk(&seal, inode->off + 126, e->inode_bytes - 126);
	}
	return as_walk_seal(e->walk, &seal);
}

void as_ext_emit(struct ext_walk *e, const struct ext_inode *inode, const char *structure,
		 uint64_t off, uint64_t len, const char *instance, uint32_t seal)
{
	struct as_walk_at at = {
		.structure = structure,
		.off = off,
		.len = len,
		.instance = instance,
		.class = inode->class,
		.path = inode->path,
		.self = inode->ino,
		.parent = inode->parent,
		.seal = seal,
	};

	as_walk_emit(e->walk, &at);
}

/* The blocks of a file, as areas. */
static void own_runs(struct ext_walk *e, const struct ext_inode *inode, const struct ext_runs *runs)
{
	bool file = S_ISREG(inode->mode) && inode->path;
	const char *what = as_walk_text(e->walk, "%s %s",
					S_ISDIR(inode->mode)	    ? "directory"
					: S_ISLNK(inode->mode)	    ? "text of"
					: inode->ino == JOURNAL_INO ? "journal,"
								    : "data of",
					inode->path ? inode->path : inode->who);

	for (size_t i = 0; i < runs->n; i++)
		as_walk_area(e->walk, runs->run[i].block * e->block_bytes,
			     runs->run[i].n * e->block_bytes, what, file,
			     runs->run[i].at * e->block_bytes);
}

static void look_at(struct ext_walk *e, struct ext_inode *inode)
{
	struct ext_runs runs = { 0 };

	as_walk_set(e->walk, EXT_EXTRA, inode->extra);
	inode->seal = inode_seal(e, inode);
	as_ext_emit(e, inode, "inode", inode->off, 0, inode->who, inode->seal);
	as_ext_xattrs(e, inode);
	if (inode->flags & EXT_INLINE_FL)
		return;
	if (S_ISREG(inode->mode) || S_ISDIR(inode->mode) ||
	    (S_ISLNK(inode->mode) && inode->size >= 60))
		as_ext_map(e, inode, &runs);
	own_runs(e, inode, &runs);
	if (S_ISLNK(inode->mode) && runs.n) {
		as_walk_set(e->walk, EXT_ENTRIES,
			    inode->size < e->block_bytes ? inode->size : e->block_bytes);
		as_ext_emit(e, inode, "link_text", runs.run[0].block * e->block_bytes,
			    e->block_bytes, as_walk_text(e->walk, "text of %s", inode->path), 0);
	}
	if (S_ISDIR(inode->mode))
		as_ext_dir(e, inode, &runs);
	else if (inode->ino == JOURNAL_INO)
		as_ext_journal(e, &runs);
	free(runs.run);
}

void as_ext_inode(struct ext_walk *e, uint32_t ino, uint32_t parent, const char *path,
		  const char *class, unsigned depth)
{
	struct as_disk_walk *w = e->walk;
	struct ext_inode inode = { .ino = ino, .parent = parent, .path = path, .depth = depth };

	if (!ext_inode_at(e, ino, &inode.off) || !as_walk_inode(w, ino, path))
		return;
	if (depth > WALK_DEPTH_MAX) {
		as_walk_complain(w, "directories are nested too deeply at %s", path);
		return;
	}
	inode.mode = (uint32_t)as_walk_le(w, inode.off, 2);
	inode.size = as_walk_le(w, inode.off + 4, 4) | as_walk_le(w, inode.off + 108, 4) << 32;
	inode.flags = (uint32_t)as_walk_le(w, inode.off + 32, 4);
	inode.acl = as_walk_le(w, inode.off + 104, 4) | as_walk_le(w, inode.off + 118, 2) << 32;
	if (e->inode_bytes > 128)
		inode.extra = (uint32_t)as_walk_le(w, inode.off + 128, 2);
	if (inode.extra > e->inode_bytes - 128)
		inode.extra = 0;
	inode.class = class ? class : as_walk_mode_class(inode.mode);
	inode.who = path ? as_walk_text(w, "inode %u of %s", ino, path)
			 : as_walk_text(w, "inode %u", ino);
	look_at(e, &inode);
}

/* Inodes without a path: reserved ones, orphans, those that a damage has cut off. */
static void other_inodes(struct ext_walk *e)
{
	uint64_t end = (uint64_t)e->groups * e->inodes_per_group;

	for (uint32_t ino = 1; ino <= e->inodes && ino <= end; ino++) {
		uint64_t off;

		if (!ext_inode_at(e, ino, &off))
			continue;
		if (ino < e->first_ino)
			as_ext_inode(e, ino, 0, NULL, "reserved", 0);
		else if (as_walk_le(e->walk, off, 2))
			as_ext_inode(e, ino, 0, NULL, "without a name", 0);
	}
}

static int walk_ext(struct as_disk_walk *walk, struct as_err *err)
{
	struct ext_walk e = { .walk = walk };
	int rc = read_super(&e, err);

	if (rc)
		return rc;
	set_vars(&e);
	emit_super(&e, SUPER, "superblock", "");
	emit_groups(&e);
	as_ext_inode(&e, ROOT_INO, ROOT_INO, "/", NULL, 0);
	other_inodes(&e);
	return 0;
}

static const char *const structures[] = {
	"super",
	"group",
	"block_bitmap",
	"inode_bitmap",
	"inode",
	"extent_head",
	"extent",
	"extent_index",
	"extent_tail",
	"indirect",
	"dir_entry",
	"dir_tail",
	"htree_root",
	"htree_limit",
	"htree_entry",
	"htree_tail",
	"xattr_head",
	"xattr_entry",
	"xattr_body",
	"link_text",
	"journal_super",
	"journal_descriptor",
	"journal_tag",
	"journal_commit",
	"journal_revoke",
	"journal_revoked",
	NULL,
};
static const char *const vars[] = {
	[EXT_BLOCK_BYTES] = "block_bytes",
	[EXT_INODE_BYTES] = "inode_bytes",
	[EXT_DESC_BYTES] = "desc_bytes",
	[EXT_COMPAT] = "compat",
	[EXT_INCOMPAT] = "incompat",
	[EXT_RO_COMPAT] = "ro_compat",
	[EXT_EXTRA] = "extra",
	[EXT_TAG_BYTES] = "tag_bytes",
	[EXT_ENTRIES] = "entries",
	NULL,
};

const struct as_walker as_walker_ext = { .name = "ext",
					 .structures = structures,
					 .vars = vars,
					 .walk = walk_ext };
