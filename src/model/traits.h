/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traits: how a file system type narrows or widens what POSIX and Linux allow. Filled from the
 * target's capabilities and its row in target/fstype.def; the model never asks for names.
 */
#ifndef AS_MODEL_TRAITS_H
#define AS_MODEL_TRAITS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Quirks and features have 64 bits, which is more than an int: every bit is made by this. */
#define AS_TRAIT_BIT(n) ((uint64_t)1 << (n))

/* Documented departures. Each use in model/ says which manual or source line it stands for. */
enum as_quirk {
	AS_QUIRK_DIR_NLINK_ONE = AS_TRAIT_BIT(0), /* btrfs: directories always have one link */
	AS_QUIRK_DIR_NLINK_ANY =
		AS_TRAIT_BIT(1), /* vfat, FUSE: link counts of directories mean nothing */
	AS_QUIRK_NO_ATIME = AS_TRAIT_BIT(2), /* access times are not kept */
	/* xfs: xfs_rename_alloc_whiteout() makes a whiteout without the default list of its
	 * directory */
	AS_QUIRK_WHITEOUT_NO_ACL = AS_TRAIT_BIT(3),
	AS_QUIRK_NO_OPEN_UNLINKED =
		AS_TRAIT_BIT(5), /* removing an open file may be refused with EBUSY */
	AS_QUIRK_XATTR_PART_REPORTED =
		AS_TRAIT_BIT(6), /* list also shows attributes nobody set (security.*) */
	/* ext4, xfs, f2fs, btrfs: ext4_fallocate() and the like call file_modified() before they
	 * look at the range or for space, so a refused fallocate moves mtime */
	AS_QUIRK_FALLOC_TOUCHES = AS_TRAIT_BIT(9),
	/* ext2: its own driver keeps whole seconds, ext4's driver on the same disk all of a
	 * time */
	AS_QUIRK_TIMES_MAYBE_SECONDS = AS_TRAIT_BIT(10),
	/* minix: it has no splice_write, so copy_file_range(2) answers EINVAL */
	AS_QUIRK_COPY_MAYBE_REFUSED = AS_TRAIT_BIT(11),
	/* ext4: ext4_rename() puts the whiteout in place before it asks whether the target is
	 * empty, and takes it back: a refused RENAME_WHITEOUT moves the directory's mtime */
	AS_QUIRK_WHITEOUT_TOUCHES = AS_TRAIT_BIT(12),
	/* fuse2fs: op_mkdir() takes away the umask that libext2fs was born with (022), whatever
	 * the caller's is */
	AS_QUIRK_MKDIR_022 = AS_TRAIT_BIT(13),
	/* ntfs-3g: NTFS has no number of inodes; ntfs_fuse_statfs() adds two guesses of its own,
	 * and the one for the free ones may be the larger one */
	AS_QUIRK_FREE_FILES_ANY = AS_TRAIT_BIT(14),
	/* xfs: xfs_rename() answers EEXIST for a directory that is not empty, as rename(2)
	 * allows */
	AS_QUIRK_RENAME_EEXIST = AS_TRAIT_BIT(15),
	/* btrfs: find_desired_extent() takes a negative offset of SEEK_DATA and SEEK_HOLE for the
	 * very start of the file */
	AS_QUIRK_SEEK_FROM_START = AS_TRAIT_BIT(16),
	/* f2fs: f2fs_rename() writes the new ".." of a directory that goes to another parent by
	 * f2fs_set_link(), which sets the directory's own mtime */
	AS_QUIRK_MOVE_TOUCHES = AS_TRAIT_BIT(17),
	AS_QUIRK_DIR_READ_EINVAL = AS_TRAIT_BIT(18), /* reading a directory answers EINVAL */
	/* vfat: vfat_find() does not find a name that is too long; only making one is refused */
	AS_QUIRK_LONG_NAME_ENOENT = AS_TRAIT_BIT(19),
	/* minix, nilfs2: minix_rename() and nilfs_rename() write ".." of every directory that they
	 * rename, also inside one parent, and this sets the directory's own mtime */
	AS_QUIRK_RENAME_TOUCHES = AS_TRAIT_BIT(20),
	/* xfs: xfs_cross_rename() sets the mtime of a directory that goes to another parent;
	 * xfs_rename() does not */
	AS_QUIRK_EXCHANGE_TOUCHES = AS_TRAIT_BIT(21),
	/* vfat: the root directory has no entry that could hold times; fat_truncate_time() leaves
	 * it out */
	AS_QUIRK_NO_ROOT_TIMES = AS_TRAIT_BIT(22),
	/* udf: udf_symlink() keeps the text as a list of names in one block, each with a head of
	 * 4 bytes and one for its character set: how much fits depends on their number */
	AS_QUIRK_SYMLINK_OF_NAMES = AS_TRAIT_BIT(23),
	/* ocfs2: ocfs2_seek_data_hole_offset() compares a negative offset with the size as signed
	 * numbers, and vfs_setpos() refuses what it leaves with EINVAL */
	AS_QUIRK_SEEK_NEGATIVE = AS_TRAIT_BIT(24),
	/* fuse2fs 1.47.0: op_setxattr() does not look at its flags, and ext2fs_xattr_remove() is
	 * content when there is nothing to remove */
	AS_QUIRK_XATTR_LAX = AS_TRAIT_BIT(25),
	/* fuse2fs: op_fallocate() answers EINVAL for modes that it does not know */
	AS_QUIRK_FALLOC_EINVAL = AS_TRAIT_BIT(26),
	/* ntfs-3g: ntfs_fuse_create() keeps the permission bits of the mode alone; POSIX leaves the
	 * others to the system */
	AS_QUIRK_CREATE_0777 = AS_TRAIT_BIT(27),
	/* ntfs-3g: ntfs_fuse_listxattr() lists attributes of the user alone, even to root, who can
	 * read and write others */
	AS_QUIRK_LISTS_USER = AS_TRAIT_BIT(28),
	/* vfat, exfat: vfat_unlink(), vfat_rmdir(), exfat_unlink() and exfat_rmdir() set the mtime
	 * of what they remove, which may be open */
	AS_QUIRK_UNLINK_TOUCHES = AS_TRAIT_BIT(29),
	/* xfs: xfs_file_buffered_read() holds the lock of the inode (XFS_IOLOCK_SHARED) that
	 * writes, truncations and fallocates hold alone: a read shows each of them in full or not
	 * at all. Others (ext4, btrfs, tmpfs) read page by page without it */
	AS_QUIRK_READS_WHOLE = AS_TRAIT_BIT(30),
	/* btrfs: btrfs_remap_file_range_prep() refuses with EINVAL if only one of the two files has
	 * checksums, which depends on the mount options at the time when each was made */
	AS_QUIRK_CLONE_MAYBE_REFUSED = AS_TRAIT_BIT(31),
	/* xfs: xfs_trans_dqresv() refuses root nothing, and the limits of id 0 are those of all who
	 * have none (xfs_qm_adjust_dqlimits()) */
	AS_QUIRK_QUOTA_ROOT = AS_TRAIT_BIT(32),
	/* xfs: xfs_trans_alloc_ichange() gives files away whatever the limits are */
	AS_QUIRK_QUOTA_CHOWN = AS_TRAIT_BIT(33),
	/* reiserfs: reiserfs_xattr_set() is content when there is nothing to remove, once an
	 * attribute was ever set */
	AS_QUIRK_XATTR_GONE = AS_TRAIT_BIT(34),
	/* a library's contract: st_nlink says nothing (AS_MEANS_NLINK_ANY) */
	AS_QUIRK_NLINK_ANY = AS_TRAIT_BIT(35),
	/* the same: after ENOSPC, what was written and not synced may be gone
	 * (AS_MEANS_FULL_DROPS) */
	AS_QUIRK_FULL_DROPS = AS_TRAIT_BIT(36),
	/* the same: what may follow when a call of the disk or the memory has failed */
	AS_QUIRK_FAILED_READ_ONLY = AS_TRAIT_BIT(37),
	AS_QUIRK_FAILED_NO_MOUNT = AS_TRAIT_BIT(38),
	AS_QUIRK_SYNC_FORGETS = AS_TRAIT_BIT(39),
	/* the same: each descriptor has a view of its own of a file (model/view.h) */
	AS_QUIRK_OWN_VIEWS = AS_TRAIT_BIT(40),
	/* the same: no directory can be made (AS_MEANS_FLAT) */
	AS_QUIRK_FLAT = AS_TRAIT_BIT(41),
	/* jfs: a transaction of its lazy commit holds the inode that it removes (txCommit()) until
	 * the next sync: s_remove_count keeps a remount from being read-only. btrfs: so does data
	 * of a removed file on its way to the disk (BTRFS_INODE_FLUSH_ON_CLOSE, igrab()); nilfs2:
	 * data that waits for a segment (nilfs_set_file_dirty()) */
	AS_QUIRK_REMOVED_LINGER = AS_TRAIT_BIT(42),
	/* udf: udf_name_from_CS0() takes "..a" for "." with the extension ".a" and shows another
	 * name, so what was made under it cannot be found; workloads have no such names */
	AS_QUIRK_DOTS_LOST = AS_TRAIT_BIT(43),
	/* ocfs2: ocfs2_sync_file() answers EROFS where it is mounted read-only, to msync(), too */
	AS_QUIRK_FSYNC_EROFS = AS_TRAIT_BIT(44),
	/* gfs2: gfs2_exchange() writes ".." of each directory that it exchanges, also inside one
	 * parent, and this sets the directory's own mtime; gfs2_rename() does it for another parent
	 * alone */
	AS_QUIRK_SWAP_TOUCHES = AS_TRAIT_BIT(45),
};

enum as_feature {
	AS_FEAT_HARDLINK = AS_TRAIT_BIT(0),
	AS_FEAT_SYMLINK = AS_TRAIT_BIT(1),
	AS_FEAT_MKNOD = AS_TRAIT_BIT(2),
	AS_FEAT_XATTR_USER = AS_TRAIT_BIT(3),
	AS_FEAT_XATTR_TRUSTED = AS_TRAIT_BIT(4),
	AS_FEAT_FALLOC_ALLOC = AS_TRAIT_BIT(5),
	AS_FEAT_FALLOC_KEEP = AS_TRAIT_BIT(6),
	AS_FEAT_FALLOC_PUNCH = AS_TRAIT_BIT(7),
	AS_FEAT_FALLOC_ZERO = AS_TRAIT_BIT(8),
	AS_FEAT_FALLOC_COLLAPSE = AS_TRAIT_BIT(9),
	AS_FEAT_FALLOC_INSERT = AS_TRAIT_BIT(10),
	AS_FEAT_RENAME_NOREPLACE = AS_TRAIT_BIT(11),
	AS_FEAT_RENAME_EXCHANGE = AS_TRAIT_BIT(12),
	AS_FEAT_RENAME_WHITEOUT = AS_TRAIT_BIT(13),
	AS_FEAT_TMPFILE = AS_TRAIT_BIT(14),
	AS_FEAT_OWNER = AS_TRAIT_BIT(15),
	AS_FEAT_TIMES = AS_TRAIT_BIT(16),
	AS_FEAT_SPARSE = AS_TRAIT_BIT(17),
	AS_FEAT_DIRECT = AS_TRAIT_BIT(18), /* O_DIRECT can be opened */
	AS_FEAT_MMAP = AS_TRAIT_BIT(19),
	AS_FEAT_MOUNT = AS_TRAIT_BIT(20), /* umount, mount, remount, crash are possible */
	AS_FEAT_LIBRARY = AS_TRAIT_BIT(21), /* linked in: no mmap, no copy_file_range of its own */
	AS_FEAT_XATTR_SECURITY = AS_TRAIT_BIT(22), /* security.* can be set by root */
	AS_FEAT_UNPRIVILEGED =
		AS_TRAIT_BIT(23), /* the executor is not root: EPERM and EACCES are possible */
	AS_FEAT_CLONE = AS_TRAIT_BIT(24), /* files can share blocks: FICLONE and its relatives */
	AS_FEAT_FREEZE = AS_TRAIT_BIT(26), /* FIFREEZE, FITHAW */
	AS_FEAT_TRIM = AS_TRAIT_BIT(27), /* FITRIM, if the disk can discard */
	AS_FEAT_QUOTA = AS_TRAIT_BIT(28), /* Q_GETQUOTA of users and groups */
	AS_FEAT_HANDLE = AS_TRAIT_BIT(29), /* handles, which last: export operations */
	AS_FEAT_ACL = AS_TRAIT_BIT(
		30), /* access control lists, with the options that it is mounted with */
	AS_FEAT_READONLY = AS_TRAIT_BIT(33), /* it can be mounted read-only */
	AS_FEAT_TURNS = AS_TRAIT_BIT(34), /* a remount makes it read-only and writable again */
	AS_FEAT_PROJECT = AS_TRAIT_BIT(32), /* quotas of projects, too */
	AS_FEAT_SWAP = AS_TRAIT_BIT(31), /* files without holes can be swapped to */
	AS_FEAT_FLAGS =
		AS_TRAIT_BIT(25), /* FS_IOC_SETFLAGS: append-only, immutable, no dump, no atime */
};

/* The times that model/stamp.h judges. */
enum as_stamps_judged {
	AS_STAMPS_ATIME = 1 << 0,
	AS_STAMPS_MTIME = 1 << 1,
	AS_STAMPS_CTIME = 1 << 2,
	AS_STAMPS_ALL = AS_STAMPS_ATIME | AS_STAMPS_MTIME | AS_STAMPS_CTIME,
	AS_STAMPS_RENAMED = 1 << 3, /* a rename moves the ctime of what it renames */
	/* They move more often than anything says: judged is only whether they moved when they had
	 * to. */
	AS_STAMPS_OFTEN = 1 << 4,
};

/* What statfs promises; child/child_space.c judges it. */
enum as_space_promise {
	AS_SPACE_REMOUNT = 1 << 0, /* what is free after a sync is free after another mount */
	AS_SPACE_FREED = 1 << 1, /* what was removed is free after a sync */
	AS_SPACE_ALL = AS_SPACE_REMOUNT | AS_SPACE_FREED,
	AS_SPACE_FILES = 1 << 2, /* after a mount, holes of files have no blocks (st_blocks) */
	AS_SPACE_AHEAD = 1 << 3, /* but what was allocated in advance stays with some files */
	AS_SPACE_ROOM = 1 << 4, /* ENOSPC of names and data: no more than half is free */
};

/* What Q_GETQUOTA promises of AS_FEAT_QUOTA; after a mount it is always exact. */
enum as_quota_promise {
	AS_QUOTA_NOW = 1 << 0, /* what was removed is given back at once */
	AS_QUOTA_LIMITS = 1 << 2, /* it is mounted so that limits refuse */
	AS_QUOTA_SPACE = 1 << 1, /* space is the blocks that stat tells; child/quota.h judges it */
};

struct as_traits {
	const char *name;
	uint64_t features; /* enum as_feature */
	uint64_t maybe; /* features that some drivers of the type have: its answer tells */
	uint64_t quirks; /* enum as_quirk */
	uint32_t name_max;
	uint32_t link_max; /* hard links of a file, 0: unlimited */
	uint32_t dir_link_max; /* links of a directory, 0: unlimited */
	uint32_t symlink_max; /* bytes of text */
	uint32_t xattr_value_max; /* beyond it: E2BIG, ENOSPC or ERANGE */
	uint32_t block_bytes;
	uint64_t size_max; /* bytes of a file: beyond it EFBIG */
	/* O_DIRECT: buffers, offsets and lengths that are multiples of it are not refused; 0: the
	 * type promises nothing. statx(2), STATX_DIOALIGN, tells where the kernel does. */
	uint32_t dio_align;
	int64_t time_granularity_ns; /* 1: exact */
	/* utimensat(): a time becomes "the greatest value supported by the file system that is not
	 * greater". So stat tells no atime that the disk cannot hold. 0: it is as fine as the
	 * others. */
	int64_t atime_granularity_ns;
	uint8_t stamps; /* enum as_stamps_judged: times that move as POSIX says */
	uint8_t space; /* enum as_space_promise */
	uint8_t quota; /* enum as_quota_promise */
	uint32_t quota_own; /* inodes that root has besides those in the tree */
	int64_t time_min_s, time_max_s; /* others become the nearer one; both 0: no limit */
	uint8_t flags_handed_on; /* AS_FS_*_FL that what is new takes from its directory */
	/* AS_QUIRK_NO_OPEN_UNLINKED: what the removal of an open file may be refused with */
	int busy_errno;
	bool may_fill; /* ENOSPC and EDQUOT are possible */
};

/* Fields of a file system with every feature and the usual limits, for whoever has no target. */
#define AS_TRAITS_ANY                                                                              \
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY), .name_max = 255,          \
	.symlink_max = 4095, .xattr_value_max = 65536, .block_bytes = 4096, .size_max = INT64_MAX, \
	.dio_align = 4096, .time_granularity_ns = 1, .quota = AS_QUOTA_NOW

/* Whether an attribute of that name must be in the list. */
static inline bool as_traits_lists(const struct as_traits *traits, const char *name)
{
	return !(traits->quirks & AS_QUIRK_LISTS_USER) || !strncmp(name, "user.", 5);
}

/* Whether a library may answer this (positive) once a call of the disk or the memory has failed. */
static inline bool as_traits_failed_answer(const struct as_traits *traits, int err)
{
	return err == EIO || err == ENOMEM ||
	       (err == EROFS && traits->quirks & AS_QUIRK_FAILED_READ_ONLY);
}

/* Whether it is worth trying: the type has the feature, or some of its drivers have. */
static inline bool as_traits_may(const struct as_traits *traits, uint64_t feature)
{
	return ((traits->features | traits->maybe) & feature) == feature;
}

/* Whether a time read is the one that was set. */
static inline bool as_traits_same_time(const struct as_traits *traits, int64_t got_ns,
				       int64_t set_ns)
{
	int64_t rest = set_ns % 1000000000;

	if (got_ns == set_ns)
		return true;
	return traits->quirks & AS_QUIRK_TIMES_MAYBE_SECONDS &&
	       got_ns == set_ns - (rest < 0 ? rest + 1000000000 : rest);
}

static inline bool as_traits_holds_atime(const struct as_traits *traits, int64_t ns)
{
	return !traits->atime_granularity_ns || ns % traits->atime_granularity_ns == 0;
}

#endif
