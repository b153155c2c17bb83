/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vfs: how one operation of a workload is carried out. Two implementations: a linked library
 * (lib_*.c, over struct as_target_ops) and the running kernel (sys_*.c, system calls below a
 * directory). docs/FORMAT.md says what an operation means; both follow it, down to the errno.
 *
 * Rules that both share, decided without a call to the file system under test:
 *   - a fifo, socket or device node is never opened but with O_PATH: the answer is ENXIO (or
 *     EEXIST, ENOTDIR, ELOOP where the rules of open(2) say so first);
 *   - while unmounted, everything but mount answers ESHUTDOWN, umount EINVAL;
 *   - what cannot be done here at all answers AS_ERR_UNSUPPORTED, what would use too much of the
 *     machine AS_ERR_LIMIT; both before anything was changed.
 */
#ifndef AS_VFS_VFS_H
#define AS_VFS_VFS_H

#include "base/event.h"
#include "model/compare.h"
#include "work/op.h"
#include "work/outcome.h"

#include <assay/choice.h>

struct as_watch;

#define AS_VFS_API 1u
#define AS_VFS_SYMLINKS_MAX 40
#define AS_VFS_PATH_MAX 4096
/* Deepest absolute path that a library is given. */
#define AS_VFS_DEEP_MAX_BYTES 65536u

enum as_vfs_cap {
	AS_VFS_MOUNTS = 1, /* umount, mount, remount, crash */
	AS_VFS_SYNC_IS_SYNCFS = 2, /* sync(2) would flush the whole machine: syncfs stands for it */
	AS_VFS_LIBRARY = 4, /* makes no system calls */
};

struct as_vfs;

/* Fills *out, which is zeroed before. Data in it lives until the next operation. */
typedef void (*as_vfs_fn)(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out);

struct as_vfs_ops {
	uint32_t api, caps;
	const char *name;
	as_vfs_fn op[AS_OP_COUNT]; /* every one is there */
	const struct as_tree_ops *tree; /* reads the tree for a comparison; ctx is the vfs */
	void (*free)(struct as_vfs *vfs);
	/* One more for the same tree, to be used by another thread at the same time; its slots are
	 * its own. NULL: only one call at a time. */
	struct as_vfs *(*another)(const struct as_vfs *vfs);
	void (*begin)(struct as_vfs *vfs); /* what it holds open is told; NULL: nothing */
	void (*write_back)(struct as_vfs *vfs, struct as_choice *choice); /* NULL: nothing */
};

/* Implementations embed this as their first member. */
struct as_vfs {
	const struct as_vfs_ops *ops;
	struct as_buf data; /* what the last outcome points to */
	struct as_bounds *bounds; /* see vfs/bounds.h; NULL: none */
	const struct as_watch *watch; /* of the calls that it makes; NULL: nobody */
	bool readonly; /* it is mounted read-only */
	bool recorded; /* every write to the disk can be the last one before a power cut */
};

/* Carries it out, or answers AS_ERR_LIMIT where it has bounds and they do not allow it. */
void as_vfs_exec(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out);
/* Tells `watch` that a workload begins, and from now on of every call. NULL: nobody is told. */
void as_vfs_watch(struct as_vfs *vfs, const struct as_watch *watch);
/* Between two operations: writes back some of what the kernel's caches have, as the kernel might do
 * by itself at any time, or nothing. Nobody who watches is told. */
void as_vfs_write_back(struct as_vfs *vfs, struct as_choice *choice);
/* Reads the tree from its root through the vfs. */
const struct as_tree_ops *as_vfs_tree(const struct as_vfs *vfs);
/* The reading of a tree is over: it holds nothing of it any more. */
void as_vfs_tree_rest(struct as_vfs *vfs);
void as_vfs_free(struct as_vfs *vfs); /* takes NULL */

/* ---- For implementations ---- */

/* rc >= 0: success; negative: that errno. */
void as_vfs_answer(struct as_outcome *out, int64_t rc);
void as_vfs_answer_bytes(struct as_vfs *vfs, struct as_outcome *out, int64_t rc);

/* What a call that gave n bytes is to answer, where `again` came of the same call with room for one
 * byte less: that must have been ERANGE (getxattr(2), listxattr(2)), unless another thread has made
 * it shorter. */
int64_t as_vfs_cramped(int64_t n, int64_t again);
/* The same where it came of the call with room for just n bytes. */
int64_t as_vfs_exact(int64_t n, int64_t again);
/* What a call returned that was given room for so many bytes: AS_ERR_TOO_MUCH for more. */
int64_t as_vfs_fitting(int64_t rc, size_t room_bytes);

/* A listing that becomes AS_PAYLOAD_NAMES. */
struct as_vfs_names {
	struct as_buf text; /* letter and name, each with its NUL */
	uint32_t *start; /* where each begins */
	size_t n, cap;
};

char as_vfs_type_letter(uint32_t mode);
/* letter 0: none (listxattr). 0, or -AS_ERR_TOO_MUCH when the list gets longer than any can be. */
#define AS_VFS_NAMES_MAX_BYTES ((size_t)64 << 20)
AS_MUST_CHECK int as_vfs_names_add(struct as_vfs_names *names, char letter, const char *name);
void as_vfs_names_sort(struct as_vfs_names *names); /* of a directory */
const char *as_vfs_names_at(const struct as_vfs_names *names, size_t i); /* with the letter */
/* Sorts, copies into the vfs' buffer, and answers their number. */
void as_vfs_answer_names(struct as_vfs *vfs, struct as_outcome *out, struct as_vfs_names *names,
			 bool letters);
/* Passes the names of a directory on, unless rc is an error of the listing; frees them. What fill
 * or the listing returned. */
int as_vfs_names_pass(struct as_vfs_names *names, int rc, as_fill_fn fill, void *fill_ctx);
void as_vfs_names_free(struct as_vfs_names *names);

/* What fallocate(2) checks before the file system sees it (fs/open.c, vfs_fallocate): negative
 * errno or 0. */
int as_vfs_fallocate_mode(int64_t mode);

#endif
