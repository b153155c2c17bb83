/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop: loop devices, by ioctl. A loop holds its device open for reading; the device detaches
 * itself from its file when the last descriptor on it is closed and nothing is mounted from it,
 * also when we are killed.
 *
 * The descriptor that we hold keeps the device's page cache alive across mounts. After the file
 * beneath was changed without the kernel's knowledge (a restore), as_loop_forget() must be called
 * before the next mount, or the kernel reads what was there before. Nothing may be mounted from the
 * device then.
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

/* A loop device on a file. AS_ELACK: there are no loop devices, or we may not use them. */
AS_MUST_CHECK int as_loop_new(const char *path, unsigned flags, struct as_loop **loop,
			      struct as_err *err);
/* A loop device on a file in memory with the contents of `disk`, for checking without a server in
 * between. It remembers the present contents of the disk for as_loop_load(). second_bytes, if not
 * 0: the last bytes are a second device, and the first has the others. */
AS_MUST_CHECK int as_loop_new_memory(struct as_disk *disk, uint64_t second_bytes,
				     struct as_loop **loop, struct as_err *err);
/* A loop device on another file, as the second device of `loop`: what is done to one is done to
 * both. */
AS_MUST_CHECK int as_loop_add(struct as_loop *loop, const char *path, unsigned flags,
			      struct as_err *err);
/* NULL: there is one device only. */
struct as_loop *as_loop_second(const struct as_loop *loop);
/* Detaches. Takes NULL. */
void as_loop_free(struct as_loop *loop);

/* "/dev/loop7". Where there is no /dev (in a chroot), use as_loop_fd(). */
const char *as_loop_path(const struct as_loop *loop);
int as_loop_fd(const struct as_loop *loop);

/* Has the kernel read whole pages of this range into its cache of the device, at once. It is only a
 * help: what cannot be read is not. */
void as_loop_read_ahead(struct as_loop *loop, uint64_t off, uint64_t len);
/* Drops the kernel's cache of the device's contents. */
AS_MUST_CHECK int as_loop_forget(struct as_loop *loop, struct as_err *err);

/* For a loop in memory from which nothing is mounted: gives it the contents of `disk` (same size
 * and store). It writes the chunks in which the disk differs from what was loaded last, and those
 * that were written to the device since. Then it drops the kernel's cache. */
AS_MUST_CHECK int as_loop_load(struct as_loop *loop, struct as_disk *disk, struct as_err *err);
/* The present contents as a disk of the same store; nothing is mounted from the device. The next
 * load compares with these. */
AS_MUST_CHECK int as_loop_save(struct as_loop *loop, struct as_disk **disk, struct as_err *err);
/* Dumps the present contents (disk/dump.h); nothing is mounted from the device. AS_ELACK: the room
 * is too small. */
AS_MUST_CHECK int as_loop_dump(struct as_loop *loop, void *area, size_t room_bytes,
			       size_t *len_bytes, struct as_err *err);
/* How many chunks the last as_loop_load() wrote. */
uint64_t as_loop_loaded(const struct as_loop *loop);

#endif
