/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount: a file system of the running kernel on a disk of ours: disk/serve.h gives the disk a
 * name, a loop device makes it a block device, mount(2) mounts it, in a mount namespace that
 * nobody else sees and that is gone, with all that is mounted in it, when the process is.
 *
 * Rules
 *   1. One per process, made in a process that has one thread and lives for this alone.
 *   2. A mount is entered (chroot) and left; mounting and unmounting are done from outside, which
 *      the functions see to themselves. What keeps it busy (descriptors, the working directory of
 *      others) is the caller's business; his own working directory is moved.
 *   3. The medium may be touched only through as_mount_medium(), with the lock held.
 *   4. What the file system answers comes as 0 or a negative errno. What goes wrong on our side
 *      comes as AS_E* with a message.
 */
#ifndef AS_TARGET_MOUNT_H
#define AS_TARGET_MOUNT_H

#include "base/err.h"
#include "disk/cow.h"
#include "target/fstype.h"
#include "target/medium.h"

struct as_mount;

/* Whether the running kernel may be used at all: root, by name. One clear sentence otherwise. */
AS_MUST_CHECK int as_mount_allowed(struct as_err *err);

/* The namespace, the server and the loop device (for a FUSE server: a user namespace where we are
 * not root, and no loop device); nothing is mounted yet. `medium` must outlive
 * it. */
AS_MUST_CHECK int as_mount_new(const struct as_fstype *type, struct as_medium *medium,
			       struct as_mount **mount, struct as_err *err);
/*
 * The same with the disk's contents in a file in memory and nobody who serves it: much faster, but
 * what reaches the disk is neither recorded nor witnessed nor made to fail, power cannot be cut,
 * and the medium is brought up to date by as_mount_medium() only while nothing is mounted.
 */
AS_MUST_CHECK int as_mount_new_quick(const struct as_fstype *type, struct as_medium *medium,
				     struct as_mount **mount, struct as_err *err);
/* Of a quick one, with nothing mounted: the disk becomes that of another stand. */
AS_MUST_CHECK int as_mount_renew(struct as_mount *mount, const struct as_medium *from,
				 struct as_err *err);
/* Unmounts what can be. Takes NULL. */
void as_mount_free(struct as_mount *mount);

/*
 * For disks that are looked at one after the other, with nobody's medium beneath: a served block
 * device, which sees every request, or a file in memory, which is faster. Not of a type with a FUSE
 * server. `beside` is another one, to live in its namespace and to be freed before it; NULL: none.
 * Of these, what has to do with the medium may not be called.
 */
AS_MUST_CHECK int as_mount_new_served(const struct as_fstype *type, struct as_bd *bd,
				      struct as_mount *beside, struct as_mount **mount,
				      struct as_err *err);
/* The disk gives the size and the store. */
AS_MUST_CHECK int as_mount_new_memory(const struct as_fstype *type, struct as_disk *disk,
				      struct as_mount *beside, struct as_mount **mount,
				      struct as_err *err);
/* Of a file in memory, with nothing mounted: gives it these contents, and the contents it has. */
AS_MUST_CHECK int as_mount_load(struct as_mount *mount, struct as_disk *disk, struct as_err *err);
AS_MUST_CHECK int as_mount_save(struct as_mount *mount, struct as_disk **disk, struct as_err *err);
/* Of a served one: nobody calls the device between these two. */
void as_mount_hold(struct as_mount *mount);
/* ... as_mount_release() */

/* Where it is mounted, seen from outside. */
const char *as_mount_path(const struct as_mount *mount);

/* Mounts it with the type's own options, `base` and `opts` (each may be ""). */
AS_MUST_CHECK int as_mount_mount(struct as_mount *mount, const char *base, const char *opts);
/* Leaves it and unmounts. */
AS_MUST_CHECK int as_mount_umount(struct as_mount *mount);
AS_MUST_CHECK int as_mount_remount(struct as_mount *mount, const char *base, const char *opts);
/* The power fails: what has not reached the disk by now never will. The kernel is told at the end,
 * which unmounts; -EBUSY where something is still in use, and then nothing has happened. */
void as_mount_cut(struct as_mount *mount);
AS_MUST_CHECK int as_mount_cut_end(struct as_mount *mount);
const struct as_fstype *as_mount_type(const struct as_mount *mount);
bool as_mount_mounted(const struct as_mount *mount);
/* Of a type with a FUSE server: what went wrong with the process ("the server died of SIGSEGV"),
 * NULL for nothing; the end of what it printed; the directory it passes on, NULL for none. */
const char *as_mount_trouble(struct as_mount *mount);
const char *as_mount_output(struct as_mount *mount);
/* Whether it is that one of them did not end; why the last one could not be started, "": it was. */
bool as_mount_hung(const struct as_mount *mount);
const char *as_mount_refusal(const struct as_mount *mount);
/* How long a server may take to mount, or to end. */
void as_mount_set_deadline(struct as_mount *mount, unsigned ms);
/* Nothing more is wanted of the mount: a FUSE server is ended, so that nobody has to wait for it
 * who closes what is open there. Of other types: nothing. */
void as_mount_abandon(struct as_mount *mount);
/* The mount has lost its server: waits a moment for the process to end. */
void as_mount_await_trouble(struct as_mount *mount);
const char *as_mount_source(const struct as_mount *mount);
/* The name of its disk in messages of the kernel: "loop7". */
const char *as_mount_device(const struct as_mount *mount);
/* Whether options ask for a mount that cannot be written to: a model has no use for one. */
bool as_mount_is_readonly(const char *opts);

/* Makes the root of the mounted file system "/" and the working directory, and back. */
AS_MUST_CHECK int as_mount_enter(struct as_mount *mount, struct as_err *err);
AS_MUST_CHECK int as_mount_leave(struct as_mount *mount, struct as_err *err);

/* Takes the lock and gives the medium, until as_mount_release(). */
struct as_medium *as_mount_medium(struct as_mount *mount);
void as_mount_release(struct as_mount *mount);
/* Called before each request of the disk, in the server's thread and without the lock: it may wait.
 * ctx outlives the mount. NULL: none. */
void as_mount_set_delay(struct as_mount *mount, void (*before)(void *ctx), void *ctx);
/* The operation that later writes belong to. */
void as_mount_set_op(struct as_mount *mount, uint32_t op);
/* The disk is flushed though nobody asked it to be. Of one with a medium. */
void as_mount_flush(struct as_mount *mount);
/* After the disk was changed through the medium, with nothing mounted. */
AS_MUST_CHECK int as_mount_forget(struct as_mount *mount, struct as_err *err);

/* Runs the checker on a copy of the disk, with nothing mounted; with `keep`, what it makes of it
 * becomes the disk. *answer is
 * AS_CHECK_CLEAN for a type without a checker. What it printed goes to `output`. */
AS_MUST_CHECK int as_mount_check(struct as_mount *mount, enum as_check_mode mode, bool keep,
				 unsigned deadline_ms, enum as_check_answer *answer,
				 struct as_buf *output, struct as_err *err);

#endif
