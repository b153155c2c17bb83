/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run: workloads on a target. Each runs in a child process, on a fresh file system. The model
 * judges every answer, and the tree is compared with it (at the end, or after every operation).
 * Then the file system is unmounted, its memory is counted, its disk is checked, and it is mounted
 * once more to be compared again. The first finding ends a workload; a child that dies or hangs is
 * a finding, too. */
#ifndef AS_RUN_RUN_H
#define AS_RUN_RUN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/event.h"
#include "box/sandbox.h"
#include "race/race.h"
#include "target/target.h"
#include "work/seq.h"

struct as_watch;

#define AS_RUN_DEADLINE_MS 10000u
#define AS_RUN_SCENARIO_MAX 384
#define AS_RUN_CHOICES_MAX 512
#define AS_RUN_COUNTS 17

/* Run a workload again and again, failing call 1, 2, 3, ... of a kind, until a run ends in which
 * nothing failed. */
enum as_sweep {
	AS_SWEEP_NONE,
	AS_SWEEP_ALLOC,
	AS_SWEEP_READ,
	AS_SWEEP_WRITE,
	AS_SWEEP_ERASE,
	AS_SWEEP_READ_EILSEQ,
	AS_SWEEP_READ_FLIP,
	AS_SWEEP_WRITE_ENOSPC,
	AS_SWEEP_WRITE_EILSEQ,
	AS_SWEEP_WRITE_DROP,
	AS_SWEEP_WRITE_FLIP,
	AS_SWEEP_ERASE_DROP,
	/* Inside a kernel: of each operation, and of the mount. */
	AS_SWEEP_KALLOC,
	AS_SWEEP_KPAGE,
	AS_SWEEP_KIO,
};

struct as_answers;

struct as_run_options {
	bool check_every_op;
	bool on_host; /* on the running kernel, though the type has a sandbox: --sandbox host */
	unsigned deadline_ms; /* without progress; 0: AS_RUN_DEADLINE_MS */
	uint64_t size_bytes; /* of the disk; 0: the target's own */
	uint64_t seed; /* of the choices a target asks for by as_choose() */
	char choices[AS_RUN_CHOICES_MAX]; /* answers as_ask(): as_chooser_parse(); "": 0 */
	/* Of a directory of the machine; 0: the defaults of vfs/bounds.def. */
	uint64_t max_bytes, max_entries;
	const char *faults; /* see target/medium.h; NULL: none */
	/* A sweep by operations begins with this operation and call in the first workload: it was
	 * interrupted. */
	uint64_t sweep_op, sweep_n;
	bool draw_faults; /* in place of these, what is drawn for each workload (run/draw.h) */
	/* A finding with this symptom is looked for: if the faults do not show it, they are tried
	 * at earlier calls, as the workload may be a shorter one. NULL: nothing is looked for. */
	const char *near;
	/* So often a bit of the disk is flipped before a mount, after each workload of a library
	 * (child_corrupt.c). */
	uint32_t corrupt;
	/* Bytes that a call of a library may have allocated, and of stack that it may use; more is
	 * a finding. 0: any number. With `measure_`, what it uses is measured in any case
	 * (target/usage.h). */
	uint64_t max_heap, max_stack;
	bool measure_heap, measure_stack;
	/* What else is done with a workload than running it once: "NAME:PARAMS", see
	 * scenario/scenario.h. */
	char scenario[AS_RUN_SCENARIO_MAX]; /* "": nothing */
	enum as_sweep sweep;
	struct as_race_options race;
	struct as_answers *answers; /* where to note every answer (run/answers.h); NULL: nowhere */
	/* Where the progress is kept for a supervisor outside of the sandbox; NULL: there is
	 * none. */
	struct as_box_state *state;
	const struct as_watch *watch; /* is told what workloads do (vfs/watch.h); NULL: nobody is */
	const volatile int *stop; /* set: a run that is under way ends with AS_ESTOP; NULL: never */
};

struct as_run_result {
	uint64_t runs, ops, findings;
	uint64_t again; /* findings that an earlier workload showed, too: not in `findings` */
	uint64_t skipped; /* operations this target cannot do */
	uint64_t unjudged; /* runs in several threads with too many orders to be judged */
	uint64_t excused; /* answers that differ between targets, but are known or allowed to */
	uint64_t looked, possible; /* crash states that were looked at, of how many */
	int64_t wall_us;
	struct as_raced raced;
	struct as_shares shares; /* of crash states */
	/* What the scenario counts for itself; crash: struct as_crash_counts. */
	uint64_t counts[AS_RUN_COUNTS];
};

struct as_runner;
struct as_model;
struct as_medium;
struct as_plan;
struct as_traits;

/* How many bytes as_box_state.engine must have. */
size_t as_run_state_bytes(void);

/* Makes the file system once; each workload gets a copy. A target that cannot even be made and
 * mounted is a mistake of the caller: AS_EUSE. The target, the sinks and options->faults must
 * outlive the runner. */
AS_MUST_CHECK int as_runner_new(const struct as_target *target,
				const struct as_run_options *options, struct as_sink *sinks,
				struct as_runner **runner, struct as_err *err);
void as_runner_free(struct as_runner *runner); /* takes NULL */

/* What the runner made, for other ways to run workloads: the disk (NULL: a directory has none),
 * the model of what is on it, and what the model has to know. They live as long as the runner. */
struct as_run_fresh {
	struct as_medium *disk;
	const struct as_model *model;
	const struct as_traits *traits;
};
struct as_run_fresh as_runner_fresh(const struct as_runner *runner);

/* Findings go to the sinks; what is returned is 0 or an error of ours. */
AS_MUST_CHECK int as_run_workload(struct as_runner *runner, const struct as_seq *seq,
				  const char *name, struct as_run_result *result,
				  struct as_err *err);

/* Workloads of which several may share a child. */
struct as_run_batch {
	const struct as_seq *const *seqs;
	const char *const *names;
	size_t n;
	/* What fails in each; an element may be NULL. NULL: the same in all. */
	const struct as_plan *const *plans;
};

/* As as_run_workload() for the first *done of them. Where the target allows it
 * (AS_INSTANCE_BATCH), they share one child: starting a child costs more than running a workload.
 * It ends after the first one that finds something; *done counts that one, too. Others have run in
 * the same process before, so to be sure the caller runs it once more, alone. */
AS_MUST_CHECK int as_run_batch(struct as_runner *runner, const struct as_run_batch *batch,
			       size_t *done, struct as_run_result *result, struct as_err *err);

/* Options as a finding carries them ("check=op fault=read:3:eio") and back. The faults parsed are
 * to be freed by the caller. */
void as_run_options_print(const struct as_run_options *options, struct as_buf *out);
AS_MUST_CHECK int as_run_options_parse(const char *text, struct as_run_options *options,
				       char **faults, struct as_err *err);
/* Sets options->choices. */
AS_MUST_CHECK int as_run_choices(const char *text, struct as_run_options *options,
				 struct as_err *err);
const char *as_sweep_name(enum as_sweep sweep);
/* Whether it sweeps each operation on its own. */
bool as_sweep_by_op(enum as_sweep sweep);
/* The plan of its nth run; `op` is for those that sweep each operation (0: the mount). */
void as_sweep_plan(enum as_sweep sweep, unsigned long long op, unsigned long long n, char *text,
		   size_t len);
AS_MUST_CHECK int as_sweep_parse(const char *name, enum as_sweep *sweep, struct as_err *err);

#endif
