/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_xfs_priv: what the parts of the walker of xfs share. */
#ifndef AS_LAYOUT_WALK_WALK_XFS_PRIV_H
#define AS_LAYOUT_WALK_WALK_XFS_PRIV_H

#include "layout/walk/walk_priv.h"

enum xfs_var { XFS_V5, XFS_SECTOR_BYTES, XFS_BLOCK_BYTES, XFS_WIDE, XFS_ENTRIES };
enum xfs_space { XFS_SEEN_INODE, XFS_SEEN_BLOCK };

struct xfs_walk {
	struct as_disk_walk *walk;
	bool v5;
	uint64_t block_bytes, sector_bytes, inode_bytes, dir_block_bytes;
	uint64_t blocks, ag_blocks, ags;
	unsigned ag_block_log, inodes_per_block_log;
};

struct xfs_inode {
	uint64_t ino, parent, off, size;
	uint64_t fork, fork_bytes; /* where the data fork is */
	uint32_t mode, format, extents;
	const char *path, *class;
	uint32_t seal;
	unsigned depth;
};

/* Runs of blocks of a file: place in the file, place on the disk in bytes, blocks. */
struct xfs_run {
	uint64_t at, off, n;
};
struct xfs_runs {
	struct xfs_run *run;
	size_t n, cap;
};

uint32_t as_xfs_seal(struct xfs_walk *x, uint64_t off, uint64_t len, uint64_t crc_at);
/* The byte at which a block of the file system is; 0: it is not on the disk. */
uint64_t as_xfs_block(const struct xfs_walk *x, uint64_t fsblock);
void as_xfs_emit(struct xfs_walk *x, const struct xfs_inode *inode, const char *structure,
		 uint64_t off, uint64_t len, const char *class, const char *instance,
		 uint32_t seal);
void as_xfs_map(struct xfs_walk *x, const struct xfs_inode *inode, struct xfs_runs *runs);
void as_xfs_dir(struct xfs_walk *x, const struct xfs_inode *inode, const struct xfs_runs *runs);
void as_xfs_inode(struct xfs_walk *x, uint64_t ino, uint64_t parent, const char *path,
		  const char *class, unsigned depth);

#endif
