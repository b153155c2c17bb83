/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_ext_priv: what the parts of the walker of ext2, ext3 and ext4 share. */
#ifndef AS_LAYOUT_WALK_WALK_EXT_PRIV_H
#define AS_LAYOUT_WALK_WALK_EXT_PRIV_H

#include "layout/walk/walk_priv.h"

enum ext_var {
	EXT_BLOCK_BYTES,
	EXT_INODE_BYTES,
	EXT_DESC_BYTES,
	EXT_COMPAT,
	EXT_INCOMPAT,
	EXT_RO_COMPAT,
	EXT_EXTRA,
	EXT_TAG_BYTES,
	EXT_ENTRIES,
};

enum {
	EXT_COMPAT_JOURNAL = 0x4,
	EXT_INCOMPAT_META_BG = 0x10,
	EXT_INCOMPAT_64BIT = 0x80,
	EXT_INCOMPAT_CSUM_SEED = 0x2000,
	EXT_RO_COMPAT_SPARSE = 0x1,
	EXT_RO_COMPAT_GDT_CSUM = 0x10,
	EXT_RO_COMPAT_METADATA_CSUM = 0x400,
	EXT_INDEX_FL = 0x1000,
	EXT_EXTENTS_FL = 0x80000,
	EXT_INLINE_FL = 0x10000000,
};

enum ext_space { EXT_SEEN_INODE, EXT_SEEN_BLOCK };

struct ext_walk {
	struct as_disk_walk *walk;
	uint64_t block_bytes, blocks, first_block;
	uint32_t inodes, inodes_per_group, blocks_per_group, clusters_per_group, groups;
	uint32_t inode_bytes, desc_bytes, first_ino, reserved_gdt;
	uint32_t compat, incompat, ro_compat;
	uint32_t seed; /* of all checksums */
	bool csum; /* metadata_csum */
	unsigned char uuid[16];
};

/* One inode, while it is looked at. */
struct ext_inode {
	uint32_t ino, parent;
	uint64_t off; /* of it on the disk */
	uint32_t mode, flags, extra;
	uint64_t size, acl;
	const char *path; /* NULL: it has none */
	const char *who; /* "inode 12 of /d/f1" */
	const char *class;
	unsigned depth;
	uint32_t seal; /* of the inode itself */
};

/* A run of blocks of a file, in the order of the file. */
struct ext_run {
	uint64_t at, block, n;
};
struct ext_runs {
	struct ext_run *run;
	size_t n, cap;
};

/* A seal that begins with what belongs to an inode. */
struct as_seal as_ext_inode_seal(const struct ext_walk *e, const struct ext_inode *inode);
/* Looks at an inode and all that belongs to it, once. */
void as_ext_inode(struct ext_walk *e, uint32_t ino, uint32_t parent, const char *path,
		  const char *class, unsigned depth);
/* Emits the nodes and pointers that lead to the blocks of an inode. */
void as_ext_map(struct ext_walk *e, const struct ext_inode *inode, struct ext_runs *runs);
void as_ext_dir(struct ext_walk *e, const struct ext_inode *inode, const struct ext_runs *runs);
void as_ext_xattrs(struct ext_walk *e, const struct ext_inode *inode);
void as_ext_journal(struct ext_walk *e, const struct ext_runs *runs);
bool as_ext_block_ok(const struct ext_walk *e, uint64_t block);
void as_ext_emit(struct ext_walk *e, const struct ext_inode *inode, const char *structure,
		 uint64_t off, uint64_t len, const char *instance, uint32_t seal);

#endif
