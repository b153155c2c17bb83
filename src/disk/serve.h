/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve: shows block devices of ours as files of a FUSE mount, so that the kernel can use them. A
 * loop device on such a file (see loop.h) is a disk: each of its writes and flushes comes to us in
 * the order of issue, and one request of the block layer is one call. Requests are answered one
 * after the other, unless writes are held (as_serve_hold()): then several are in flight.
 *
 * The block layer tells a loop device nothing of FUA: it sends the write, waits for it, and sends a
 * flush. So a flush of ours may stand for FUA, and then it covers more than it would on a disk that
 * knows FUA.
 *
 * One server has any number of disks, which are called folder/NAME. Reads and writes arrive as
 * calls of struct as_bd, in pieces of at most AS_SERVE_MAX_BYTES; fsync(2) is a flush; fallocate(2)
 * with PUNCH_HOLE is a discard, with ZERO_RANGE a zero.
 *
 * Rules
 *   1. A disk is called by the server's thread only, and only while it holds the lock. The owner
 *      takes the lock to look at a disk, to restore it, or to change the wrappers around it.
 *   2. The owner never waits, with the lock held, for anything that the kernel does with a disk.
 *   3. The server ends with its process, whatever ends that; whoever waits for a disk then gets
 *      EIO.
 */
#ifndef AS_DISK_SERVE_H
#define AS_DISK_SERVE_H

#include "base/err.h"
#include "disk/call.h"

#include <assay/target.h>
#include <stddef.h>
#include <stdint.h>

#define AS_SERVE_MAX_BYTES (1u << 20)

struct as_serve;

struct as_serve_disk {
	const char *name; /* no slash */
	struct as_bd *bd; /* outlives the server */
};

/* Called before each request, without the lock, in the server's thread: it may wait. */
struct as_serve_hook {
	void (*before)(void *ctx, size_t disk, enum as_call call, uint64_t off, uint64_t len);
	void *ctx;
};

/* Mounts on `folder`, in the mount namespace of the caller, which should be a private one. home_fd
 * is another namespace (of /proc/self/ns/mnt) for the server's thread: rule 3 holds only with one
 * (see serve_fuse.c); -1: none. It needs CAP_SYS_ADMIN, /dev/fuse and libfuse3; AS_ELACK if one is
 * missing. */
AS_MUST_CHECK int as_serve_new(const char *folder, const struct as_serve_disk *disks, size_t n,
			       int home_fd, struct as_serve **serve, struct as_err *err);
/* No loop device may use its files any more; processes that still have them open get errors. Takes
 * NULL. */
void as_serve_free(struct as_serve *serve);

void as_serve_lock(struct as_serve *serve);
void as_serve_unlock(struct as_serve *serve);
/* From now on a write is answered only when a flush has come, or `after` other requests, or no
 * request for idle_ms. The disk gets it at once by as_bd_submit(), and as_bd_wait() when it is
 * answered. So a flush that comes in between does not cover it: that is how a file system shows
 * that does not wait before it flushes. after 0: writes are answered at once. */
void as_serve_hold(struct as_serve *serve, unsigned after, unsigned idle_ms);
/* Whoever is about to call mmap(2) says so: what the server needs is brought into memory
 * (serve_pipe.h). */
void as_serve_settle(struct as_serve *serve);
/* `hook` may be NULL: none. */
void as_serve_set_hook(struct as_serve *serve, const struct as_serve_hook *hook);

#endif
