/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool: runs an unmodified program (mkfs, a checker) on disks of ours many times, quickly. The
 * program is loaded once with a shim that makes one path a disk in shared memory and stops before
 * main. Each run is a fork of it (see tool/shim/). A run can read files of this machine, but it can
 * change only its disk. It sees the same clock, process id and random numbers each time, so that
 * the same disk gives the same result.
 *
 * Every read, write and flush that reaches the disk is recorded in order. Ranges that are not made
 * of whole sectors are recorded as the sectors they touch, as a block device would see them.
 *
 * No shim can be loaded into a static program. Such a program gets its disk as a file of a private
 * FUSE mount (tool_static.c). That needs root or user namespaces, and libfuse3, otherwise AS_ELACK.
 * Each run is an exec, and the program sees the true clock. It has an empty folder of its own for
 * other files ($TMPDIR).
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
	/* NAME=VALUE, with a NULL after the last, in addition to a small fixed environment; may be
	 * NULL. */
	char *const *envp;
	const char *disk_path; /* NULL: AS_TOOL_DISK */
	unsigned deadline_ms; /* of one run; 0: 60 s */
	const struct as_halt *halt; /* a run that is not over then is AS_ESTOP; may be NULL */
	uint64_t memory_bytes; /* limit of address space; 0: 2 GiB */
	size_t output_bytes; /* how much output is kept; the rest is dropped; 0: 1 MiB */
	/* Limit of the record of one run; 0: 256 MiB, but an eighth of the machine's memory at
	 * most. */
	uint64_t record_bytes;
	/* It is run as if it were static: it may run other programs, which the shim cannot. */
	bool served;
};

enum as_tool_flags {
	AS_TOOL_READS = 1, /* record reads, too */
	AS_TOOL_BLOCK = 2, /* show the disk as a block device; else it is a regular file */
};

struct as_tool_job {
	/* argv[0] is the name that the program sees; the disk is at disk_path. */
	char *const *argv;
	const char *input; /* on standard input; NULL: nothing */
	unsigned flags; /* enum as_tool_flags */
	/* The last bytes of the disk are a second one, at disk_path + AS_TOOL_JOURNAL; 0: they are
	 * not. Each has flushes of its own. */
	uint64_t journal_bytes;
	/* The number of the read of the disk that fails with EIO, counted from 1; 0: none. It has
	 * no effect on static programs and on mapped ranges. */
	uint64_t fail_read;
};

struct as_tool_result {
	struct as_ended ended;
	struct as_buf output; /* standard output and error */
	struct as_disk *disk; /* as the run left it; a snapshot of its own */
	/* What the run did to the disk; replaying it gives `disk`. */
	struct as_reclog *log;
	struct as_disk *log_disk; /* the disk of the log; equal to `disk` */
	bool changed; /* some write, discard or zero was recorded */
	/* The record does not have everything: it was longer than record_bytes, or the program
	 * overwrote it. `disk` is right all the same; the last entries of the log are then what
	 * differed at the end. */
	bool incomplete;
	/* Calls that read the disk, and that map it; of a static program, requests that arrive. */
	uint64_t reads, maps;
	unsigned refused; /* calls refused because they would have changed something else */
	char first_refused[160]; /* the first of them, in words */
	/* Where it died of a signal: "SIGSEGV in f < main"; "" if it did not. */
	char died[160];
	/* The address that it could not reach then, if the signal has one. */
	bool has_address;
	uint64_t address;
	bool confined; /* the kernel (seccomp) refuses them, too; else only the shim does */
};

/* Where a program finds its disk unless told otherwise. No such file has to exist. */
#define AS_TOOL_DISK "/dev/assay0"
#define AS_TOOL_JOURNAL "-journal"

/*
 * Prepares `program`, which is looked up in PATH and the sbin folders; it is loaded with the first
 * run. The tool belongs to the thread that runs it and ends with it. setup may be NULL.
 */
AS_MUST_CHECK int as_tool_start(const char *program, const struct as_tool_setup *setup,
				struct as_tool **tool, struct as_err *err);
/* From now on, of each run. */
void as_tool_set_deadline(struct as_tool *tool, unsigned deadline_ms);
/* Takes NULL. It must be called before the chunk store of the last disk is freed. */
void as_tool_free(struct as_tool *tool);

/*
 * One run. `disk` itself is not changed. If the program crashes, hangs or fails, that is no error
 * of ours: see result->ended. The result must be freed also after an error.
 */
AS_MUST_CHECK int as_tool_run(struct as_tool *tool, const struct as_tool_job *job,
			      struct as_disk *disk, struct as_tool_result *result,
			      struct as_err *err);
void as_tool_result_free(struct as_tool_result *result);

/* Whether a program can be run this way: a dynamic executable of this machine. */
bool as_tool_is_dynamic(const char *path);

/*
 * Makes a descriptor of the shim, for LD_PRELOAD=/proc/self/fd/N of a child that inherits it. Each
 * call makes a new one.
 */
AS_MUST_CHECK int as_tool_shim_fd(int *fd, struct as_err *err);

#endif
