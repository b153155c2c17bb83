/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_crash: the recorded workloads of `assay fsck --model crash`. */
#ifndef AS_CMD_FSCK_FSCK_CRASH_H
#define AS_CMD_FSCK_FSCK_CRASH_H

#include "base/event.h"
#include "cli/cli.h"
#include "fsck/judge.h"
#include "recording/tape.h"

/* One that is all zero is empty. */
struct as_fsck_crashes {
	struct as_seq **seqs;
	struct as_tape *tapes;
	struct as_buf *texts, *names;
	size_t n;
};

/* Runs the workload of --workload, or some that the seed gives, on the type, and records what it
 * does to its disk: a library here, a file system of the kernel in a sandbox. */
AS_MUST_CHECK int as_fsck_crashes_record(const struct as_args *args, struct as_chunks *store,
					 const char *type, uint64_t seed, struct as_sink *notes,
					 struct as_fsck_crashes *crashes, struct as_err *err);
/* The disk before the last mount of a workload, to begin with. */
struct as_disk *as_fsck_crashes_base(const struct as_fsck_crashes *crashes, size_t i);
void as_fsck_crashes_free(struct as_fsck_crashes *crashes);

#endif
