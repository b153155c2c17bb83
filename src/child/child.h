/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child: the child process that runs one workload, and the memory that it shares with the parent.
 * The child may die at any moment. So everything that the parent needs to say what happened is
 * written here before the call that may be the last one. */
#ifndef AS_CHILD_CHILD_H
#define AS_CHILD_CHILD_H

#include "base/err.h"
#include "base/event.h"
#include "base/notice.h"
#include "child/options.h"
#include "host/host.h"
#include "host/medium.h"
#include "instance/outside.h"
#include "model/model.h"
#include "os/stack.h"
#include "progress/raced.h"
#include "work/list.h"

#define RECENT 8 /* operations kept for context */
#define FRESH_BYTES 65536u /* of the list of what a fresh file system holds */

enum as_phase {
	PHASE_SETUP,
	PHASE_MKFS,
	PHASE_FRESH_MOUNT,
	PHASE_MOUNT,
	PHASE_OP,
	PHASE_COMPARE,
	PHASE_UNMOUNT,
	PHASE_FSCK,
	PHASE_MOUNT_AGAIN,
	PHASE_COMPARE_AGAIN,
	PHASE_SPACE,
	PHASE_UNMOUNT_AGAIN,
	PHASE_GROWTH,
	PHASE_CORRUPT,
	PHASES
};

const char *as_phase_name(enum as_phase phase);

struct as_recent {
	int64_t index, ret;
	int err;
};

struct as_child_shared {
	volatile uint64_t alive;
	/* Of the workloads that this child has finished without a finding. */
	volatile uint64_t done, done_ops, done_skipped, done_unjudged;
	struct as_raced done_raced;
	/* Of a sweep: what is to fail in the run in flight, and its place in the sweep. */
	char sweep_plan[128];
	struct as_sweep_at sweep_at;
	/* From here on: of the one in flight. */
	volatile enum as_phase phase;
	volatile int64_t op; /* in flight */
	volatile int64_t
		racing[AS_RACE_THREADS_MAX]; /* of each thread: its operation + 1, or 0 for none */
	uint64_t ops, skipped;
	struct as_raced raced;
	bool unjudged; /* too many orders of the calls to be judged */
	bool finished; /* the child came to its own end */
	bool fired; /* a fault hit */
	unsigned kfired; /* so many of those inside the kernel did */
	/* The last one, if each operation meets them all. */
	uint64_t kfired_op, kfired_nth;
	struct as_recent recent[RECENT]; /* by index % RECENT */
	struct as_host_log log;
	char device[32]; /* the disk's name in the kernel's log; "": none */

	struct as_stack stack; /* where it died */
	char answers[2048]; /* what the target asked and was not answered 0 */
	/* What is wrong on the disk that is mounted (as_run_options.alter), and the name of that
	 * field; "": nothing is, or it has no name. */
	char alter[AS_RUN_ALTER_MAX], altered[128];
	volatile bool tried; /* that mount has come to its end */

	int tool_rc;
	struct as_err tool_err;
	bool blamed; /* tool_err is what the target answered for a fresh disk */

	struct as_notice notice; /* what was found */
	uint32_t fresh_len;
	char fresh[FRESH_BYTES]; /* struct as_stat and path, one after the other */
};

/* Of several children that share the workloads of a batch; in shared memory. */
struct as_passes {
	volatile bool over; /* one of them has found something: the others may end */
	size_t next; /* the next workload that nobody has taken */
	struct as_pass {
		bool passed;
		uint64_t ops, skipped;
	} rows[]; /* of each workload */
};

/* What a child is given. */
struct as_child_args {
	const struct as_target *target;
	const struct as_traits *traits;
	const struct as_run_options *options;
	const struct as_plan *plan; /* NULL: no faults */
	const struct as_seq *seq;
	const struct as_work *batch; /* in place of seq: several; NULL: one */
	/* Where a batch is shared; then as_child_shared.done is the number of the workload in
	 * flight. NULL: it is not. */
	struct as_passes *passes;
	uint64_t race_seed; /* of a run in several threads; 0: by one */
	unsigned race_first; /* number of the run, or of the first of a batch */
	struct as_kwatch *watch; /* the parent's, for when the child is gone; NULL: none */
	struct as_medium *fresh_disk; /* NULL: a directory has none */
	const struct as_model *fresh_model;
	const char *folder; /* in a directory: the one to work in; NULL: there is none */
	struct as_child_shared *shared;
	int disk_fd; /* where a disk is handed over */
	struct as_kcov_area *code; /* what the kernel reaches goes there; NULL: nowhere */
	struct as_witness_area *witness; /* of AS_RUN_WITNESS_BYTES; NULL: none */
};

/* For as_spawn_fork(). */
int as_child_prepare(void *args); /* makes the fresh disk and lists its tree */
int as_child_run(void *args);
int as_child_run_batch(void *args); /* with AS_INSTANCE_BATCH */

/* The first call in a child that a target runs in. */
void as_child_begin(struct as_stack *stack);
/* Memory that is freed is not given back to the kernel: for a child that allocates and frees the
 * same again and again. */
void as_child_keep_memory(void);

/* Forgets the workload in flight. */
void as_shared_clear(struct as_child_shared *shared);
/* When the child is gone, before its texts are read: the target may have written over them. */
void as_shared_mend(struct as_child_shared *shared);

/* The last operations with their answers. The last one is that of the notice, or the one that
 * ran last. */
void as_shared_describe(const struct as_child_shared *shared, const struct as_seq *seq,
			const char *faults, struct as_buf *out);

#endif
