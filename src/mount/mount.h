/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount: a file system of the running kernel on a disk of ours. disk/serve.h gives the disk a name,
 * a loop device makes it a block device, and mount(2) mounts it. All this is in a mount namespace
 * that nobody else sees. The namespace, and all that is mounted in it, is gone when the process is.
 *
 * Rules
 *   1. One per process, made in a process that has one thread and lives for this alone.
 *   2. A mount is entered (chroot) and left. The functions that mount and unmount leave it
 *      themselves. What keeps it busy (descriptors, the working directory of others) is the
 *      caller's business; the caller's own working directory is moved.
 *   3. The medium may be touched only through as_mount_medium(), with the lock held.
 *   4. What the file system answers comes as 0 or a negative errno. What goes wrong on our side
 *      comes as AS_E* with a message.
 */
#ifndef AS_MOUNT_MOUNT_H
#define AS_MOUNT_MOUNT_H

#include "base/err.h"
#include "disk/cow.h"
#include "host/medium.h"
#include "target/fstype.h"

struct as_mount;

/* Whether this user may mount file systems on the running kernel: only root may. AS_ELACK
 * otherwise. */
AS_MUST_CHECK int as_mount_allowed(struct as_err *err);

/* Makes the namespace, the thread that serves the disk, and the loop device (for a FUSE server: a
 * user namespace if we are not root, and no loop device). Nothing is mounted yet. `medium` must
 * outlive it. */
AS_MUST_CHECK int as_mount_new(const struct as_fstype *type, struct as_medium *medium,
			       struct as_mount **mount, struct as_err *err);
/* The same, but the disk is copied to a file in memory and not served. This is much faster. But
 * what reaches the disk is neither recorded nor witnessed nor made to fail, the power cannot be
 * cut, and as_mount_medium() brings the medium up to date only while nothing is mounted. */
AS_MUST_CHECK int as_mount_new_quick(const struct as_fstype *type, struct as_medium *medium,
				     struct as_mount **mount, struct as_err *err);
/* With nothing mounted: gives the medium the contents of `disk` (same size and store), and the
 * kernel forgets what it knew of the old ones. */
AS_MUST_CHECK int as_mount_restore(struct as_mount *mount, struct as_disk *disk,
				   struct as_err *err);
/* Unmounts what can be. Takes NULL. */
void as_mount_free(struct as_mount *mount);

/* For looking at many disks, one after the other, without a medium: a served block device, which
 * sees every request, or a file in memory, which is faster. Not for a type with a FUSE server. If
 * `beside` is not NULL, it is another mount, in whose namespace this one lives, and which is freed
 * after it. Functions that need the medium may not be called for these. */
AS_MUST_CHECK int as_mount_new_served(const struct as_fstype *type, struct as_bd *bd,
				      struct as_mount *beside, struct as_mount **mount,
				      struct as_err *err);
/* The disk gives the size and the store. */
AS_MUST_CHECK int as_mount_new_memory(const struct as_fstype *type, struct as_disk *disk,
				      struct as_mount *beside, struct as_mount **mount,
				      struct as_err *err);
/* For a file in memory, with nothing mounted: sets its contents, and gets them. */
AS_MUST_CHECK int as_mount_load(struct as_mount *mount, struct as_disk *disk, struct as_err *err);
AS_MUST_CHECK int as_mount_save(struct as_mount *mount, struct as_disk **disk, struct as_err *err);
/* For a file in memory, with nothing mounted: dumps it (disk/dump.h). AS_ELACK: it does not fit. */
AS_MUST_CHECK int as_mount_dump(struct as_mount *mount, void *area, size_t room_bytes,
				size_t *len_bytes, struct as_err *err);
/* For a served one: nobody calls the device between this and as_mount_release(). */
void as_mount_hold(struct as_mount *mount);

/* Where it is mounted, seen from outside. */
const char *as_mount_path(const struct as_mount *mount);

/* Mounts it with the type's own options, `base` and `opts` (each may be ""). */
AS_MUST_CHECK int as_mount_mount(struct as_mount *mount, const char *base, const char *opts);
/* Leaves it and unmounts it. */
AS_MUST_CHECK int as_mount_umount(struct as_mount *mount);
AS_MUST_CHECK int as_mount_remount(struct as_mount *mount, const char *base, const char *opts);
/* as_mount_cut(): the power fails, and what has not reached the disk by now never will.
 * as_mount_cut_end() unmounts, which is when the kernel learns of it; -EBUSY where something is
 * still in use, and then nothing has happened. */
void as_mount_cut(struct as_mount *mount);
AS_MUST_CHECK int as_mount_cut_end(struct as_mount *mount);
const struct as_fstype *as_mount_type(const struct as_mount *mount);
bool as_mount_mounted(const struct as_mount *mount);
/* For a type with a FUSE server: what went wrong with the process ("the server died of SIGSEGV"),
 * or NULL; the end of what it printed; the directory that it passes on, or NULL. */
const char *as_mount_trouble(struct as_mount *mount);
const char *as_mount_output(struct as_mount *mount);
/* Whether a server did not end; why the last one could not be started ("": it was). */
bool as_mount_hung(const struct as_mount *mount);
const char *as_mount_refusal(const struct as_mount *mount);
/* How long a server may take to mount, or to end. */
void as_mount_set_deadline(struct as_mount *mount, unsigned ms);
/* The mount is no longer needed: ends a FUSE server, so that closing what is open there does not
 * wait for it. Does nothing for other types. */
void as_mount_abandon(struct as_mount *mount);
/* Whether the mount has lost its server. When it has: waits a moment for the process to end. */
bool as_mount_lost(const struct as_mount *mount);
void as_mount_await_trouble(struct as_mount *mount);
const char *as_mount_source(const struct as_mount *mount);
/* The name of its disk in messages of the kernel: "loop7". */
const char *as_mount_device(const struct as_mount *mount);

/* Makes the root of the mounted file system "/" and the working directory, and undoes it. */
AS_MUST_CHECK int as_mount_enter(struct as_mount *mount, struct as_err *err);
AS_MUST_CHECK int as_mount_leave(struct as_mount *mount, struct as_err *err);

/* Takes the lock and gives the medium, until as_mount_release(). */
struct as_medium *as_mount_medium(struct as_mount *mount);
void as_mount_release(struct as_mount *mount);
/* `before` is called before each request of the disk, in the thread that serves it and without the
 * lock: it may wait. ctx outlives the mount. NULL: none. */
void as_mount_set_delay(struct as_mount *mount, void (*before)(void *ctx), void *ctx);
/* The operation that later writes belong to. */
void as_mount_set_op(struct as_mount *mount, uint32_t op);
/* Writes what the kernel's cache of the device has to the device, as it might do by itself at any
 * time, and flushes the device if asked. Nothing without a device. */
void as_mount_write_back(struct as_mount *mount, bool flush);
/* Whether this kernel is a sandbox's own (User-Mode Linux). The first call must come before a mount
 * is entered: it reads /proc. */
bool as_mount_is_guest(void);
/* The kernel is to write back what is older than a tick, or as late as usual. Only where the kernel
 * is a guest of ours; elsewhere that is the machine's to decide, and nothing is done. Needs no
 * mount. */
void as_mount_write_soon(bool soon);
/* Flushes the disk, though the file system did not ask for it. Needs a medium. */
void as_mount_flush(struct as_mount *mount);
/* Before a mmap(2) of a file of it: the disk can be served while that waits. */
void as_mount_before_map(struct as_mount *mount);
/* See as_loop_read_ahead(). */
void as_mount_read_ahead(struct as_mount *mount, uint64_t off, uint64_t len);
/* To be called after the disk was changed through the medium, with nothing mounted: the kernel
 * forgets what it knew of it. */
AS_MUST_CHECK int as_mount_forget(struct as_mount *mount, struct as_err *err);

/* Runs the checker on a copy of the disk, with nothing mounted. With `keep`, the repaired copy
 * becomes the disk. *answer is AS_CHECK_CLEAN for a type without a checker. What it printed goes
 * to `output`. */
AS_MUST_CHECK int as_mount_check(struct as_mount *mount, enum as_check_mode mode, bool keep,
				 unsigned deadline_ms, enum as_check_answer *answer,
				 struct as_buf *output, struct as_err *err);

#endif
