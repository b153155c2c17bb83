/* SPDX-License-Identifier: MIT */
/*
 * target.h: what a file system linked into assay (labfs, or yours in a plugin) must provide,
 * and what assay provides to it.
 *
 * A plugin is a shared object that exports one symbol,
 *
 *	const struct as_target_ops as_target = { .api = AS_TARGET_API, .name = "myfs", ... };
 *
 * and assay loads it with `--target plugin:./myfs.so`. examples/plugin_skeleton/ is a commented,
 * compiling start; docs/HOWTO_ADD_TARGET.md takes you from nothing to a first finding.
 *
 * Rules of the seam
 *   1. All I/O goes through the `struct as_bd` given to mkfs and mount; nothing else is kept on
 *      stable storage. A disk may keep, drop or reorder what was written since the last flush. A
 *      flush covers the writes that were complete when it was called.
 *   2. All memory comes from the host (as_malloc, as_free), so that assay can fail any allocation
 *      and see any leak. After unmount nothing may be left allocated.
 *   3. Anything your file system leaves to chance asks as_ask(), so that assay can enumerate it.
 *      There is no clock but host->now_ns().
 *   4. Functions return 0 or a byte count on success, and a negative errno (-ENOENT) on failure.
 *      A function that fails leaves the tree as it was.
 *   5. Paths are absolute and normal: they start with '/', have no empty component, no "." or "..",
 *      no trailing slash, and no symbolic link but perhaps at the end. assay resolves what the
 *      workload wrote (working directory, links, dots) before it calls. Functions never follow a
 *      link in the last component. "/" is the root.
 *   6. assay never calls two functions of one mounted file system at the same time.
 *   7. A function that answers success has done its work, although an allocation, a read or a write
 *      may have failed on the way. If it tried again, or could do without, it says so
 *      (as_forgive()).
 */
#ifndef ASSAY_TARGET_H
#define ASSAY_TARGET_H

#include <assay/bd.h>
#include <assay/flash.h>
#include <assay/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised when the interface grows. A plugin that was built for an older version is loaded and works
 * as ever, but is not held to what it could not know: version 2 added what <assay/host.h> has under
 * "What a file system may tell", version 3 the contract and raw flash. A plugin for a newer version
 * is refused. */
#define AS_TARGET_API 3u
/* The version of struct as_target_ops that has `contract` and `flash`. */
#define AS_TARGET_CONTRACT 3u

/* ---- Values that cross the seam ------------------------------------------------------------- */

struct as_stat {
	uint64_t ino;
	uint32_t mode; /* type and permission bits as in <sys/stat.h> */
	uint32_t nlink;
	uint32_t uid, gid;
	uint64_t rdev; /* makedev() form, 0 unless a device */
	uint64_t size;
	uint64_t blocks; /* 512-byte units in use; 0 where unknown */
	int64_t atime_ns, mtime_ns, ctime_ns;
};

struct as_statfs {
	uint32_t block_bytes, name_max;
	uint64_t blocks, blocks_free;
	uint64_t files, files_free;
};

/* Which fields of struct as_stat a setattr changes. */
enum {
	AS_SET_MODE = 1, /* permission bits only */
	AS_SET_UID = 2,
	AS_SET_GID = 4,
	AS_SET_SIZE = 8,
	AS_SET_ATIME = 16,
	AS_SET_MTIME = 32,
};

/* Called once for each directory entry but "." and ".."; a non-zero return stops the listing and is
 * handed back by readdir. */
typedef int (*as_fill_fn)(void *ctx, const char *name, uint64_t ino, uint32_t type_bits);

/* ---- The file system ------------------------------------------------------------------------ */

/* What it can do. Operations whose flag is missing are answered -EOPNOTSUPP (or -EPERM for links
 * and nodes, as Linux does) without a call; the functions may then be NULL. */
enum as_cap {
	AS_CAP_HARDLINK = 1u << 0, /* link */
	AS_CAP_SYMLINK = 1u << 1, /* symlink, readlink */
	AS_CAP_MKNOD = 1u << 2, /* mknod */
	AS_CAP_XATTR = 1u << 3, /* setxattr, getxattr, listxattr, removexattr */
	AS_CAP_FALLOCATE = 1u << 4, /* fallocate: mode 0 and FALLOC_FL_KEEP_SIZE */
	AS_CAP_RENAME2 = 1u << 5, /* rename with flags */
	AS_CAP_TMPFILE = 1u << 6, /* open with O_TMPFILE; link_handle */
	AS_CAP_OWNER = 1u << 7, /* modes, uid, gid are kept; S_ISGID directories hand on theirs */
	AS_CAP_TIMES = 1u << 8, /* atime and mtime can be set */
	AS_CAP_STATFS = 1u << 9, /* statfs */
	AS_CAP_OPEN_UNLINKED = 1u << 10, /* a removed file stays usable through open handles */
	AS_CAP_FSCK = 1u << 11, /* fsck */
	AS_CAP_PUNCH = 1u << 12, /* fallocate: PUNCH_HOLE and ZERO_RANGE */
	AS_CAP_SHIFT = 1u << 13, /* fallocate: COLLAPSE_RANGE and INSERT_RANGE */
	/* Promises, which assay holds the file system to. */
	AS_CAP_STAMPS = 1u << 14, /* mtime and ctime move as POSIX says, to host->now_ns() */
	/* statfs: what was removed is free again after a sync, and after ENOSPC at least half is in
	 * use. */
	AS_CAP_EXACT_SPACE = 1u << 15,
	/* It can be mounted read-only (as_mount_args.readonly), and remount takes "ro" and "rw".
	 * Then what would change something answers EROFS, and nothing is written to the disk;
	 * remount "ro" makes everything stable first, and answers EBUSY while a handle is open for
	 * writing. */
	AS_CAP_READONLY = 1u << 16,
};

/* How a checker is run, and what it answers: e2fsck's exit bits. */
enum as_fsck_mode { AS_FSCK_REPLAY, AS_FSCK_DEFAULT, AS_FSCK_FULL };
enum {
	AS_FSCK_CLEAN = 0,
	AS_FSCK_REPAIRED = 1,
	AS_FSCK_LEFT = 4, /* errors left uncorrected */
	AS_FSCK_OPERATIONAL = 8,
};

/* Limits of your file system, so that its refusals are told from mistakes. 0: none, or not known
 * (name_max: 255). */
struct as_limits {
	uint32_t name_max; /* bytes of a name; longer ones are ENAMETOOLONG and not handed to you */
	uint32_t link_max, dir_link_max; /* names of a file, links of a directory: EMLINK */
	uint32_t symlink_max; /* bytes of a link's text: ENAMETOOLONG */
	uint32_t xattr_bytes; /* names and values of one file together: ENOSPC, E2BIG or ERANGE */
	uint64_t file_bytes; /* of a file: EFBIG */
};

/* ---- What it promises, and what it does not -------------------------------------------------- */

/* What is there after a power cut when nothing was synced. */
enum as_after_cut {
	AS_CUT_PREFIX, /* names and attributes as they were after some call, in order */
	AS_CUT_OBJECT, /* each file and directory as it was at some moment of its own */
	AS_CUT_REPAIR, /* what nobody touched since it was synced; the rest may be anything */
};

/* Promises, which widen or narrow that. */
enum as_promises {
	/* What is written to a file, and its size, is stable when a handle of it is closed, and at
	 * fsync and sync. Until then the disk may have what it had before. */
	AS_PROMISE_AT_CLOSE = 1u << 0,
	/* What makes, renames or removes a name is stable when it returns. */
	AS_PROMISE_NAMES_NOW = 1u << 1,
	/* A file has all of its old contents and size, or all of the new ones. */
	AS_PROMISE_WHOLE_FILES = 1u << 2,
	/* Nothing is promised of what was touched since the last sync: AS_CUT_REPAIR for all. */
	AS_PROMISE_ONLY_SYNC = 1u << 3,
	/* fsync of a file also makes its names stable; its times; the blocks that it has. */
	AS_PROMISE_FSYNC_NAMES = 1u << 4,
	AS_PROMISE_FSYNC_TIMES = 1u << 5,
	AS_PROMISE_FSYNC_BLOCKS = 1u << 6,
	/* The contents of files have checksums: a bit that has flipped on the disk is an error, and
	 * never data. */
	AS_PROMISE_CHECKSUMS = 1u << 7,
	/* fsck makes /lost+found where there is none, whether it needs it or not. */
	AS_PROMISE_MAKES_FOUND = 1u << 8,
};

/* Where it differs from POSIX and means it. */
enum as_semantics {
	AS_MEANS_NLINK_ANY = 1u << 0, /* st_nlink says nothing */
	AS_MEANS_INO_ANY = 1u << 1, /* st_ino says nothing: 0, not unique, or not lasting */
	/* A call that answers an error of the disk (EIO and the like) may have been done. */
	AS_MEANS_FAILED_MAYBE_DONE = 1u << 2,
	/* A call that answers ENOSPC may lose what was written to open files and not synced. */
	AS_MEANS_FULL_DROPS = 1u << 3,
	/* After a call of the disk or the memory has failed: it may answer EROFS to changes until
	 * it is mounted again; */
	AS_MEANS_FAILED_READ_ONLY = 1u << 4,
	/* it may refuse the next mount, so that somebody looks at it (nothing may be lost); */
	AS_MEANS_FAILED_NO_MOUNT = 1u << 5,
	/* an fsync or sync that failed may forget what it could not write: a later one that
	 * succeeds says nothing of that. */
	AS_MEANS_SYNC_FORGETS = 1u << 6,
	/* A handle sees the file as it was when it was opened, and what was written through itself.
	 * Others see that from fsync, sync or close of the handle on. O_TRUNC is a change, too. */
	AS_MEANS_OWN_VIEWS = 1u << 7,
	/* There is no directory but the root: mkdir is EPERM, and is not called. */
	AS_MEANS_FLAT = 1u << 8,
};

/* Of a table without one, a contract with AS_CUT_PREFIX, the three AS_PROMISE_FSYNC_* and
 * AS_MEANS_FAILED_READ_ONLY is assumed. */
struct as_contract {
	enum as_after_cut after_cut;
	uint32_t promises; /* enum as_promises */
	uint32_t semantics; /* enum as_semantics */
	/* Without AS_CAP_OPEN_UNLINKED: what the removal of an open file is refused with, also by a
	 * rename onto it. 0: EBUSY. */
	int32_t busy_errno;
};

struct as_fs; /* a mounted file system: yours, opaque to assay */
struct as_handle; /* an open file or directory: yours, opaque to assay */

/* What mkfs and mount are told. `opts` is the text after the target's name
 * ("bug=3,data=journal" of `--target lab:bug=3,data=journal`), then that of the mount operation;
 * an option you do not know is -EINVAL. */
struct as_mount_args {
	const struct as_host *host;
	struct as_bd *bd;
	const char *opts;
	bool readonly;
	/* Since AS_TARGET_CONTRACT. Of a table with `flash`; bd is NULL then. */
	struct as_flash *flash;
};

struct as_target_ops {
	uint32_t api; /* AS_TARGET_API */
	uint32_t caps; /* enum as_cap */
	const char *name;
	const char *version;
	uint64_t min_bytes, default_bytes; /* size of the disk */

	/* Required. */
	int (*mkfs)(const struct as_mount_args *args);
	int (*mount)(const struct as_mount_args *args, struct as_fs **fs);
	/* Frees everything, also when it returns an error. No handle is open. */
	int (*unmount)(struct as_fs *fs);
	int (*sync)(struct as_fs *fs);

	int (*getattr)(struct as_fs *fs, const char *path, struct as_stat *st);
	/* `set` is a mask of AS_SET_*; an ATIME or MTIME value comes in st. */
	int (*setattr)(struct as_fs *fs, const char *path, const struct as_stat *st, unsigned set);
	int (*mkdir)(struct as_fs *fs, const char *path, uint32_t mode);
	int (*rmdir)(struct as_fs *fs, const char *path);
	int (*unlink)(struct as_fs *fs, const char *path);
	/* flags: 0 or RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT of <linux/fs.h>. */
	int (*rename)(struct as_fs *fs, const char *from, const char *to, unsigned flags);
	int (*readdir)(struct as_fs *fs, const char *path, as_fill_fn fill, void *ctx);

	/* flags as for open(2): access mode, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DIRECTORY,
	 * O_TMPFILE (path is then the directory), O_SYNC, O_DSYNC. */
	int (*open)(struct as_fs *fs, const char *path, unsigned flags, uint32_t mode,
		    struct as_handle **handle);
	int (*close)(struct as_fs *fs, struct as_handle *handle);
	int64_t (*read)(struct as_fs *fs, struct as_handle *handle, void *buf, size_t len,
			uint64_t off);
	/* Writes at *off, or at the end where the handle was opened with O_APPEND, and leaves in
	 * *off the position after the last byte written. */
	int64_t (*write)(struct as_fs *fs, struct as_handle *handle, const void *buf, size_t len,
			 uint64_t *off);
	int (*fgetattr)(struct as_fs *fs, struct as_handle *handle, struct as_stat *st);
	int (*fsetattr)(struct as_fs *fs, struct as_handle *handle, const struct as_stat *st,
			unsigned set);
	int (*fsync)(struct as_fs *fs, struct as_handle *handle, bool data_only);

	/* Needed when the capability says so. */
	int (*link)(struct as_fs *fs, const char *from, const char *to);
	int (*link_handle)(struct as_fs *fs, struct as_handle *handle, const char *to);
	int (*symlink)(struct as_fs *fs, const char *text, const char *path);
	int64_t (*readlink)(struct as_fs *fs, const char *path, char *buf, size_t len);
	int (*mknod)(struct as_fs *fs, const char *path, uint32_t mode, uint64_t rdev);
	/* mode as for fallocate(2). */
	int (*fallocate)(struct as_fs *fs, struct as_handle *handle, unsigned mode, uint64_t off,
			 uint64_t len);
	/* flags: 0, XATTR_CREATE, XATTR_REPLACE. */
	int (*setxattr)(struct as_fs *fs, const char *path, const char *name, const void *value,
			size_t len, unsigned flags);
	/* Returns the length; with len 0 only that; -ERANGE when it does not fit. */
	int64_t (*getxattr)(struct as_fs *fs, const char *path, const char *name, void *value,
			    size_t len);
	/* Names, each with its NUL, as listxattr(2). */
	int64_t (*listxattr)(struct as_fs *fs, const char *path, char *list, size_t len);
	int (*removexattr)(struct as_fs *fs, const char *path, const char *name);
	int (*statfs)(struct as_fs *fs, struct as_statfs *st);
	/* Optional: change options of a mounted file system; where NULL, remount is a sync. With
	 * AS_MEANS_OWN_VIEWS a sync follows in any case. */
	int (*remount)(struct as_fs *fs, const char *opts);
	/* On an unmounted disk. Returns AS_FSCK_* bits or a negative errno; what it finds goes to
	 * host->log(). */
	int (*fsck)(const struct as_mount_args *args, enum as_fsck_mode mode);
	const struct as_limits *limits; /* optional */

	/* Since AS_TARGET_CONTRACT; both optional. */
	const struct as_contract *contract;
	/* It works on raw flash of this geometry and not on a block device. size_bytes is not
	 * looked at: default_bytes says it. */
	const struct as_flash_geometry *flash;
};

#endif
