/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool: an unmodified program (mkfs, a checker) run on a disk of ours, again and again, quickly.
 * The program is loaded once with a shim that makes one path a disk in shared memory and stops
 * before main; each run is a fork of it (target/shim/ holds the details). A run can read
 * files of this machine, but change nothing except its disk; it sees a clock, a process id and
 * random numbers that are the same each time, so that the same disk gives the same result.
 *
 * Every read, write and flush that reaches the disk is recorded in order. Ranges that are not made
 * of whole sectors are recorded as the sectors they touch, as a block device would see them.
 *
 * Static programs, which nothing can be loaded into, get their disk as a file of a private FUSE
 * mount (tool_static.c). That needs root or user namespaces and libfuse3, else AS_ELACK; it takes
 * an exec each time, and such a program sees the true clock.
 */
#ifndef AS_TOOL_TOOL_H
#define AS_TOOL_TOOL_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "disk/log.h"
#include "os/spawn.h"

#include <stdbool.h>
#include <stdint.h>

struct as_tool;

struct as_tool_setup {
	/* NAME=VALUE, ended by NULL, on top of a small fixed environment; may be NULL. */
	char *const *envp;
	const char *disk_path; /* NULL: AS_TOOL_DISK */
	unsigned deadline_ms; /* of one run; 0: 60 s */
	uint64_t memory_bytes; /* of address space; 0: 2 GiB */
	size_t output_bytes; /* kept; the rest is read and dropped; 0: 1 MiB */
	uint64_t record_bytes; /* of the record of one run; 0: 256 MiB */
};

enum as_tool_flags {
	AS_TOOL_READS = 1, /* record reads, too */
	AS_TOOL_BLOCK = 2, /* show the disk as a block device; else it is a regular file */
};

struct as_tool_job {
	/* argv[0] is the program's name as it sees it; the disk is where disk_path said. */
	char *const *argv;
	const char *input; /* on standard input; NULL: nothing */
	unsigned flags; /* enum as_tool_flags */
	/* This read of the disk fails with EIO, counted from 1; 0: none. Static programs are
	 * spared, and so is what is mapped. */
	uint64_t fail_read;
};

struct as_tool_result {
	struct as_ended ended;
	struct as_buf output; /* standard output and error */
	struct as_disk *disk; /* as the run left it; a snapshot of its own */
	/* What was done, on top of the disk as it was; replaying it gives `disk`. */
	struct as_reclog *log;
	struct as_disk *log_disk; /* what the log stands on; equal to `disk` */
	bool changed; /* some write, discard or zero was recorded */
	/* The record is shorter than what happened: it outgrew record_bytes, or the program
	 * scribbled over it. `disk` is right all the same; the last entries of the log are then
	 * what differed at the end. */
	bool incomplete;
	uint64_t reads; /* calls that read the disk, not counting maps; 0 for a static program */
	unsigned refused; /* calls refused because they would have changed something else */
	char first_refused[160]; /* the first of them, in words */
	bool confined; /* the kernel helps to refuse (seccomp); else the shim alone does */
};

/* Where a program finds its disk unless told otherwise. Nothing need be there. */
#define AS_TOOL_DISK "/dev/assay0"

/*
 * Prepares `program` (looked up in PATH and the sbin folders); it is loaded with the first run. The
 * tool belongs to the thread that runs it and dies with it. setup may be NULL.
 */
AS_MUST_CHECK int as_tool_start(const char *program, const struct as_tool_setup *setup,
				struct as_tool **tool, struct as_err *err);
/* Takes NULL. Must come before the end of the chunk store of the last disk that was run on. */
void as_tool_free(struct as_tool *tool);

/*
 * One run. `disk` itself is not changed. A program that crashes, hangs or fails is no error of
 * ours: see result->ended. The result is to be freed also after an error.
 */
AS_MUST_CHECK int as_tool_run(struct as_tool *tool, const struct as_tool_job *job,
			      struct as_disk *disk, struct as_tool_result *result,
			      struct as_err *err);
void as_tool_result_free(struct as_tool_result *result);

/* Whether a program can be run this way: a dynamic executable of this machine. */
bool as_tool_is_dynamic(const char *path);

/*
 * The shim as a file: a descriptor of it, for LD_PRELOAD=/proc/self/fd/N of a child that inherits
 * it. It is made anew for each call.
 */
AS_MUST_CHECK int as_tool_shim_fd(int *fd, struct as_err *err);

#endif
