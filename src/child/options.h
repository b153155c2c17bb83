/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: how a workload is run: what fails, what is looked for, what is told to whom; and the
 * same as text, which a finding keeps, so that a replay does the same. */
#ifndef AS_CHILD_OPTIONS_H
#define AS_CHILD_OPTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/finding.h"
#include "box/sandbox.h"
#include "race/race.h"
#include "vfs/bounds.h"

struct as_watch;

#define AS_RUN_SCENARIO_MAX 384
#define AS_RUN_CHOICES_MAX 512
#define AS_RUN_LAYOUT_MAX 512
#define AS_RUN_ALTER_MAX 256

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

#define AS_SWEEP_MOUNT UINT32_MAX

/* How far a sweep by operations is. */
struct as_sweep_at {
	/* The run in flight, or the last one. Two operations: a pair of failures; pairs come after
	 * all single ones. n 0: none yet. */
	uint64_t op, n, op2, n2;
	uint64_t points; /* so many failures were tried before it */
};

struct as_answers;

struct as_run_options {
	bool check_every_op;
	bool on_host; /* on the running kernel, though the type has a sandbox: --sandbox host */
	char kernel[AS_KERNEL_NAME_MAX]; /* the one of `assay kernel` in the sandbox; "": none */
	unsigned deadline_ms; /* without progress; 0: AS_RUN_DEADLINE_MS */
	uint64_t size_bytes; /* of the disk; 0: the target's own */
	uint64_t seed; /* of the choices a target asks for by as_choose() */
	uint32_t kmemleak; /* 1: after each workload, memory that nobody frees is a finding */
	bool kcov; /* the code that the kernel reaches is told (base/codeset.h) */
	char choices[AS_RUN_CHOICES_MAX]; /* answers as_ask(): as_chooser_parse(); "": 0 */
	/* Of a directory of the machine; 0: the defaults of vfs/bounds.def. */
	uint64_t max_bytes, max_entries;
	const char *faults; /* see host/medium.h; NULL: none */
	uint32_t max_faults; /* 2: a sweep by operations goes on with pairs of failures */
	struct as_sweep_at sweep_at; /* the sweep of the first workload was interrupted there */
	/* A sweep by operations does only this one; AS_SWEEP_MOUNT: only the mount; 0: all. */
	uint64_t sweep_only;
	bool draw_faults; /* in place of these, what is drawn for each workload (run/draw.h) */
	/* A finding with this symptom is looked for: if the faults do not show it, they are tried
	 * at earlier calls, as the workload may be a shorter one. NULL: nothing is looked for. */
	const char *near;
	/* So often a bit of the disk is flipped before a mount, after each workload of a library
	 * (child_corrupt.c). */
	uint32_t corrupt;
	/* The same with a field that gets another value. `layout` is a description of the disk
	 * (docs/LAYOUT.md); "": assay has one. */
	uint32_t fields;
	char layout[AS_RUN_LAYOUT_MAX];
	/* What a finding had wrong on its disk: "byte.bit", or "structure.field:instance:way:seal".
	 * It is tried first, and then the same field of other instances. "": any is drawn. */
	char alter[AS_RUN_ALTER_MAX];
	/* Bytes that a call of a library may have allocated, and of stack that it may use; more is
	 * a finding. 0: any number. With `measure_`, what it uses is measured in any case
	 * (host/usage.h). */
	uint64_t max_heap, max_stack;
	bool measure_heap, measure_stack;
	/* What else is done with a workload than running it once: "NAME:PARAMS", see
	 * scenario/scenario.h. */
	char scenario[AS_RUN_SCENARIO_MAX]; /* "": nothing */
	enum as_sweep sweep;
	struct as_race_options race;
	struct as_answers *answers; /* where to note every answer (answers.h); NULL: nowhere */
	/* Where the progress is kept for a supervisor outside of the sandbox; NULL: there is
	 * none. */
	struct as_box_state *state;
	const struct as_watch *watch; /* is told what workloads do (vfs/watch.h); NULL: nobody is */
	const volatile int *stop; /* set: a run that is under way ends with AS_ESTOP; NULL: never */
};

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
/* The plan of the run at that place; for sweeps that are not by operations, only n counts. */
void as_sweep_plan(enum as_sweep sweep, const struct as_sweep_at *at, char *text, size_t len);
/* Whether a comes before b in a sweep. */
bool as_sweep_before(const struct as_sweep_at *a, const struct as_sweep_at *b);
AS_MUST_CHECK int as_sweep_parse(const char *name, enum as_sweep *sweep, struct as_err *err);

#endif
