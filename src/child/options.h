/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options: how a workload is run: what fails, what is looked for, what is told to whom. An option
 * is a row of run_option.def; what carries options walks these rows: the text of a finding, so
 * that a replay does the same (options.c), the wire to a sandbox (supervise/wire.c), and the
 * command line (cli/rows.c), by whose words a hunt remembers them (cmd/cmd_hunt.c).
 */
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

/* The types of the forms of run_option.def. */
#define AS_FORM_FLAG bool
#define AS_FORM_U32 uint32_t
#define AS_FORM_U64 uint64_t
#define AS_FORM_WORD(bytes) __typeof__(char[bytes])
#define AS_FORM_TEXT const char *
#define AS_FORM_SWEEP enum as_sweep

/* What it says of an option, and how it travels, is in run_option.def. What is no row there belongs
 * to this process, and does not travel. */
struct as_run_options {
#define RUN_OPTION(field, form, said, sent, given, what) AS_FORM_##form field;
#include "child/run_option.def"
	struct as_sweep_at sweep_at; /* the sweep of the first workload was interrupted there */
	struct as_race_options race; /* what `scenario` says of a race */
	struct as_answers *answers; /* where to note every answer (answers.h); NULL: nowhere */
	/* Where the progress is kept for a supervisor outside of the sandbox; NULL: there is
	 * none. */
	struct as_box_state *state;
	const struct as_watch *watch; /* is told what workloads do (vfs/watch.h); NULL: nobody is */
	const volatile int *stop; /* set: a run that is under way ends with AS_ESTOP; NULL: never */
};

/* ---- The table ------------------------------------------------------------------------------- */

enum as_run_form {
	AS_RUN_FLAG,
	AS_RUN_U32,
	AS_RUN_U64,
	AS_RUN_WORD,
	AS_RUN_TEXT,
	AS_RUN_SWEEP,
};

/* How a finding says it. */
enum as_run_said {
	AS_SAID_IF,
	AS_SAID_EITHER,
	AS_SAID_NUMBER,
	AS_SAID_NAMED,
	AS_SAID_PATH,
	AS_SAID_EACH,
	AS_SAID_NOWHERE,
};

struct as_run_row {
	const char *field;
	enum as_run_form form;
	size_t at, size; /* of the field in the struct */
	enum as_run_said said;
	const char *word, *unset; /* of a finding; unset: of EITHER */
	uint64_t standard; /* not worth saying */
	int (*check)(const char *text, struct as_err *err); /* of NAMED */
	bool sent;
	const char *why; /* it is not said, or not sent; NULL: it is both */
};

enum as_run_option {
#define RUN_OPTION(field, form, said, sent, given, what) AS_RUN_OPTION_##field,
#define RUN_PART(whole, part, form, said, sent, given, what) AS_RUN_OPTION_##whole##_##part,
#include "child/run_option.def"
	AS_RUN_OPTIONS,
};

extern const struct as_run_row as_run_rows[AS_RUN_OPTIONS];

/* A field of the form U32 or U64, or of a flag; and its change. Numbers that are too large become
 * the largest. */
uint64_t as_run_number(const struct as_run_options *options, const struct as_run_row *row);
void as_run_set_number(struct as_run_options *options, const struct as_run_row *row,
		       uint64_t number);
/* A field of the form WORD or TEXT: never NULL. */
const char *as_run_text(const struct as_run_options *options, const struct as_run_row *row);
/* Sets one of the form WORD. */
AS_MUST_CHECK int as_run_set_word(struct as_run_options *options, const struct as_run_row *row,
				  const char *text, struct as_err *err);

/* ---- As text --------------------------------------------------------------------------------- */

/* Options as a finding carries them ("check=op fault=read:3:eio") and back. The faults parsed are
 * to be freed by the caller. */
void as_run_options_print(const struct as_run_options *options, struct as_buf *out);
AS_MUST_CHECK int as_run_options_parse(const char *text, struct as_run_options *options,
				       char **faults, struct as_err *err);
const char *as_sweep_name(enum as_sweep sweep);
/* Whether it sweeps each operation on its own. */
bool as_sweep_by_op(enum as_sweep sweep);
/* The plan of the run at that place; for sweeps that are not by operations, only n counts. */
void as_sweep_plan(enum as_sweep sweep, const struct as_sweep_at *at, char *text, size_t len);
/* Whether a comes before b in a sweep. */
bool as_sweep_before(const struct as_sweep_at *a, const struct as_sweep_at *b);
AS_MUST_CHECK int as_sweep_parse(const char *name, enum as_sweep *sweep, struct as_err *err);

#endif
