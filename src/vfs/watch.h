/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch: who is told of the system calls that workloads make. Only those: what the executor asks
 * for its own sake (is this a device? where does an appended byte land? what does the tree look
 * like?) is not told.
 *
 * Workloads run in children, whose memory is lost with them; whoever wants to keep something shares
 * memory with them from open() on.
 */
#ifndef AS_VFS_WATCH_H
#define AS_VFS_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct as_op;
struct as_outcome;

struct as_watch {
	/* In the process that starts the children: before the first, after each, after all. */
	void (*open)(void *ctx);
	void (*ended)(void *ctx);
	void (*close)(void *ctx);
	/* In a child. A workload begins (or goes on after a crash): the working directory is
	 * "/", nothing is open. */
	void (*begin)(void *ctx);
	/* A descriptor that no call of the workload opened. */
	void (*holds)(void *ctx, int fd, const char *path, bool directory);
	/* raw: what the kernel answered, a negative errno for a failure. */
	void (*call)(void *ctx, long nr, const uint64_t args[6], int64_t raw);
	/* Where the target is a library, nobody makes calls: an operation and its answer. */
	void (*op)(void *ctx, const struct as_op *op, const struct as_outcome *outcome);
	void *ctx;
};

#endif
