/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_priv: how a start is made. Only start*.c include it. */
#ifndef AS_CHECK_START_PRIV_H
#define AS_CHECK_START_PRIV_H

#include "check/start.h"

#include "instance/instance.h"
#include "model/model.h"
#include "os/stack.h"
#include "trial/trial.h"
#include "work/seq.h"

#include <assay/choice.h>

#define AS_START_TEXT_MAX ((size_t)4 << 20)
#define AS_START_OPS_MAX 65536u

enum as_start_kind { AS_START_DO, AS_START_UNTIL, AS_START_AGAIN };
enum as_start_until { AS_START_GROWS, AS_START_TURNS, AS_START_REFUSED };

struct as_start_step {
	enum as_start_kind kind;
	const char *ops;
	/* UNTIL: */
	enum as_start_until until;
	const char *path, *most;
	unsigned back;
	/* AGAIN: */
	unsigned every, of;
};

#define AS_START_STEPS 12u

struct as_start_row {
	const char *name, *help, *ops;
	struct as_start_step steps[AS_START_STEPS]; /* one without ops ends them */
};

const struct as_start_row *as_start_row(const char *name); /* NULL: there is none */

/* What the child that makes it says. */
struct as_start_said {
	volatile uint64_t alive;
	bool ended;
	int tool_rc;
	struct as_err tool_err;
	bool refused;
	bool wrong; /* the last line of the text is to blame */
	char why[512];
	size_t n_text; /* of operations that were done, and of one that was begun */
	char text[AS_START_TEXT_MAX];
	uint32_t n_ops;
	struct {
		int64_t ret;
		int err;
		uint64_t done;
	} answer[AS_START_OPS_MAX]; /* of each line of the text */
	uint64_t free_bytes, after_ns, calls[AS_START_CALLS];
	struct as_host_log log;
	struct as_stack stack;
};

/* In the child: a file system on which the workload is carried out. */
struct as_start_maker {
	const struct as_start_args *args;
	const struct as_start_row *row; /* NULL: `given` is the workload */
	const struct as_seq *given;
	struct as_start_said *said;
	int fd; /* where the disk goes */
	struct as_medium *disk;
	struct as_instance *instance;
	struct as_instance_mark *mark;
	struct as_trial trial; /* what is known of it, and its model */
	struct as_seq *seq; /* what was done */
	struct as_outcome got; /* the last answer */
	struct as_plan *counts; /* nothing fails, but calls are counted */
	struct as_choice choice; /* answers 0 */
	uint64_t asked;
	struct as_buf line;
};

/* ---- start_do.c ---- */

/* For as_spawn_fork_limited(); ctx: the maker. */
int as_start_child(void *ctx);
/* Carries an operation out. False: something is wrong, and the child is to end. */
bool as_start_op(struct as_start_maker *m, const struct as_op *op);
/* The fresh file system, and the first n operations of m->seq again. */
bool as_start_rewind(struct as_start_maker *m, size_t n);

/* ---- start_row.c ---- */

/* Carries the steps of the row out; m->seq has then what was done. */
bool as_start_steps(struct as_start_maker *m);

#endif
