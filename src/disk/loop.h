/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop: loop devices, by ioctl. A loop holds its device open for reading; the device detaches
 * itself from its file when the last descriptor on it is closed and nothing is mounted from it,
 * also when we are killed.
 *
 * The descriptor we hold keeps the device's page cache alive across mounts: after the file beneath
 * was changed behind its back (a restore), as_loop_forget() must be called before the next mount,
 * or the kernel reads what was there before. Nothing may be mounted from it then.
 */
#ifndef AS_DISK_LOOP_H
#define AS_DISK_LOOP_H

#include "base/err.h"
#include "disk/cow.h"

struct as_loop;

enum as_loop_flags {
	AS_LOOP_DIRECT = 1, /* direct I/O on the file */
	AS_LOOP_NO_MERGES = 2, /* bios are not merged: each is a request of its own */
};

/* On a file named by a path. AS_ELACK where there are no loop devices, or we may not use them. */
AS_MUST_CHECK int as_loop_new(const char *path, unsigned flags, struct as_loop **loop,
			      struct as_err *err);
/* On a file in memory with the contents of `disk`, for checking: no server in between. The disk's
 * contents of this moment are remembered: see as_loop_load(). */
AS_MUST_CHECK int as_loop_new_memory(struct as_disk *disk, struct as_loop **loop,
				     struct as_err *err);
/* Detaches. Takes NULL. */
void as_loop_free(struct as_loop *loop);

/* "/dev/loop7". Another path where /dev is not there (a chroot): as_loop_fd(). */
const char *as_loop_path(const struct as_loop *loop);
int as_loop_fd(const struct as_loop *loop);

/* Drops what the kernel remembers of the device's contents. */
AS_MUST_CHECK int as_loop_forget(struct as_loop *loop, struct as_err *err);

/* Of a loop in memory, with nothing mounted from it: gives it the contents of `disk` (same size and
 * store) by writing the chunks in which it differs from what was loaded last, and those that were
 * written to the device since; and forgets. */
AS_MUST_CHECK int as_loop_load(struct as_loop *loop, struct as_disk *disk, struct as_err *err);
/* The contents it has by now, as a disk of the same store; nothing is mounted from it. The next
 * load compares with these. */
AS_MUST_CHECK int as_loop_save(struct as_loop *loop, struct as_disk **disk, struct as_err *err);
/* Chunks that the last as_loop_load() wrote. */
uint64_t as_loop_loaded(const struct as_loop *loop);

#endif
