/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failing: an operation with calls that fail (FiSC sections 3.3 and 5.2): allocations, and reads,
 * writes and flushes of the disk. First every single one of them fails, then every pair, and so
 * on: so the smallest set that breaks something is found first.
 *
 * What must hold. An operation whose call failed succeeds, or it answers EIO, ENOMEM or EROFS and
 * has changed nothing. Nothing is kept that it should have given back. Unless a write was lost, the
 * disk is in order after the unmount. A power cut afterwards is judged as in a crash run with
 * faults (recording/record.c). Where a write was lost, a sync follows in which nothing fails, and
 * then the power is cut once more: a sync that succeeds has made stable what was lost, too.
 *
 * Calls are counted from the mount on, as `assay run --fault` counts them: so what is found comes
 * back there. How many calls there are before the operation is learnt from a run in which nothing
 * fails.
 */
#include "check/worker_priv.h"

#include "disk/call.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last row of the disk's kinds is followed by allocations. */
enum failing_kind { FAIL_READ, FAIL_WRITE, FAIL_FLUSH, FAIL_ALLOC, FAIL_KINDS };

static const struct {
	const char *rule; /* of a plan, but for the number */
	const char *action;
	unsigned asked; /* enum as_check_fault */
	unsigned call; /* of the disk; not for FAIL_ALLOC */
} kinds[FAIL_KINDS] = {
	[FAIL_READ] = { "read", ":eio", AS_CHECK_FAIL_READ, AS_CALL_READ },
	[FAIL_WRITE] = { "write", ":eio", AS_CHECK_FAIL_WRITE, AS_CALL_WRITE },
	[FAIL_FLUSH] = { "flush", ":eio", AS_CHECK_FAIL_WRITE, AS_CALL_FLUSH },
	[FAIL_ALLOC] = { "alloc", "", AS_CHECK_FAIL_ALLOC, 0 },
};

#define ALONE_MAX 64u

struct fault {
	enum failing_kind kind;
	uint64_t n; /* the call, from 1 */
};

struct as_failing {
	unsigned asked, most;
	struct as_plan *counts;
	uint64_t before[FAIL_KINDS], after[FAIL_KINDS]; /* calls, of a run without faults */
	struct fault set[AS_CHECK_FAULTS_MAX];
	/* Of the operation: those that break something alone. They are not part of larger sets. */
	struct fault alone[ALONE_MAX];
	unsigned n_alone;
};

unsigned as_failing_of_recovery(unsigned faults)
{
	return (faults & AS_CHECK_FAIL_READ ? AS_CRASH_FAIL_READ : 0u) |
	       (faults & AS_CHECK_FAIL_WRITE ? AS_CRASH_FAIL_WRITE : 0u) |
	       (faults & AS_CHECK_FAIL_ALLOC ? AS_CRASH_FAIL_ALLOC : 0u);
}

struct as_failing *as_failing_new(const struct as_check_options *options)
{
	struct as_failing *f = as_xcalloc(1, sizeof(*f));

	f->asked = options->faults;
	f->most = options->max_faults;
	as_assert(!as_plan_parse("read:1000000000000:eio", &f->counts, NULL));
	return f;
}

void as_failing_free(struct as_failing *f)
{
	if (!f)
		return;
	as_plan_free(f->counts);
	free(f);
}

const struct as_plan *as_failing_counts(const struct as_failing *f)
{
	return f->counts;
}

static void count(struct as_expander *w, uint64_t calls[FAIL_KINDS])
{
	struct as_medium *disk = as_instance_hold_disk(w->instance);

	for (unsigned k = 0; k < FAIL_KINDS; k++)
		calls[k] = k == FAIL_ALLOC ? as_instance_allocations(w->instance)
					   : as_medium_calls(disk, kinds[k].call);
	as_instance_release_disk(w->instance);
}

/* ---- One set --------------------------------------------------------------------------------- */

/* before[]: how many calls of each kind were made before; NULL: none. */
static void print_plan(const struct as_failing *f, unsigned n, const uint64_t *before,
		       char text[AS_SUSPECT_FAULTS])
{
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		enum failing_kind kind = f->set[i].kind;
		uint64_t call = f->set[i].n + (before ? before[kind] : 0);

		len += (size_t)snprintf(text + len, AS_SUSPECT_FAULTS - len, "%s%s:%llu%s",
					i ? " " : "", kinds[kind].rule, (unsigned long long)call,
					kinds[kind].action);
	}
}

/* Who runs the whole trace counts the calls of the start, too. */
static int make_plan(struct as_expander *w, unsigned n, struct as_plan **plan, struct as_err *err)
{
	const struct as_start *start = w->c->start;

	_Static_assert((int)FAIL_READ == AS_START_READ && (int)FAIL_WRITE == AS_START_WRITE &&
			       (int)FAIL_FLUSH == AS_START_FLUSH &&
			       (int)FAIL_ALLOC == AS_START_ALLOC,
		       "both count the same calls");
	print_plan(w->failing, n, NULL, w->faults);
	print_plan(w->failing, n, start ? start->calls : NULL, w->lane->tried.faults);
	return as_plan_parse(w->faults, plan, err);
}

static int add_close(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_op op = as_model_closing(slot);

	(void)ino;
	(void)flags;
	as_seq_add(ctx, &op);
	return 0;
}

/* Closes what is open, and unmounts. */
static bool end_mount(struct as_expander *w)
{
	struct as_seq *seq = as_seq_new();
	struct as_op leave = as_op_make(AS_OP_CHCWD), umount = as_op_make(AS_OP_UMOUNT);
	struct as_outcome got;
	bool ok = true;

	(void)as_model_each_open(w->trial.model, add_close, seq);
	leave.path = "/";
	as_seq_add(seq, &leave);
	as_seq_add(seq, &umount);
	for (size_t i = 0; ok && i < seq->n; i++)
		ok = as_worker_do(w, &seq->ops[i], (uint32_t)(w->seq->n + 1 + i), &got) ==
			     AS_TRIAL_AGREED &&
		     !got.err;
	as_seq_free(seq);
	return ok;
}

/* The state as it is after the operation, with the faults switched off. */
static int judge_rest(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	int rc = 0;

	if (as_model_mounted(w->trial.model) && as_worker_tree_agrees(w, op->code) &&
	    !as_trial_excuses(&w->trial, AS_EXCUSED_AGAIN) && end_mount(w))
		(void)as_worker_disk_agrees(w, op->code, err, &rc);
	return rc;
}

/* A sync after the operation, and a power cut then. With a kernel, the record ends with the
 * failure. */
static int sync_after(struct as_expander *w, const struct as_op *op, const struct as_plan *plan,
		      struct as_err *err)
{
	struct as_op sync = as_op_make(AS_OP_SYNC);
	struct as_seq *seq;
	uint64_t wrote;
	bool fine;
	int rc;

	if (!w->crashes || !plan || !as_plan_hits_writes(plan) ||
	    !as_model_mounted(w->trial.model) || !as_instance_can(w->instance, AS_INSTANCE_STRICT))
		return 0;
	as_buf_clear(&w->line);
	as_print_op(op, &w->line);
	as_buf_adds(&w->line, "\nsync");
	as_try_begin(&w->lane->tried, as_buf_str(&w->line));
	seq = as_seq_copy(w->seq);
	as_seq_add(seq, op);
	as_seq_add(seq, &sync);
	w->lane->phase = AS_CHECK_CRASH;
	rc = as_crashes_try(w->crashes, seq, w->upto, plan, &fine, &wrote, err);
	as_seq_free(seq);
	as_buf_clear(&w->line);
	as_print_op(op, &w->line);
	return rc;
}

int as_failing_judge(struct as_expander *w, const struct as_op *op, const struct as_plan *plan,
		     bool follows, struct as_err *err)
{
	int rc = follows ? judge_rest(w, op, err) : 0;
	uint64_t wrote;
	bool fine;

	if (!rc)
		rc = as_worker_cut_power(w, op, plan, &fine, &wrote, err);
	return rc ? rc : sync_after(w, op, plan, err);
}

/* *fired: all faults of the set have hit. */
static int try_set(struct as_expander *w, const struct as_op *op, unsigned n, bool *fired,
		   struct as_err *err)
{
	struct as_plan *plan = NULL;
	uint64_t suspects = w->lane->suspects;
	enum as_trial_did did;
	int rc = make_plan(w, n, &plan, err);

	*fired = false;
	if (rc)
		return rc;
	w->trial.plan = plan;
	as_check_excuse(w->c, w->lane, true);
	rc = as_worker_try(w, op, &did, err);
	*fired = !rc && as_instance_hits(w->instance) >= n;
	as_trial_end_faults(&w->trial);
	if (*fired && did != AS_TRIAL_WRONG)
		rc = as_failing_judge(w, op, plan, as_trial_goes_on(did), err);
	(void)as_worker_quiet(w, op->code);
	as_check_excuse(w->c, w->lane, false);
	w->trial.plan = NULL;
	w->back = false;
	as_instance_set_faults(w->instance, w->failing->counts);
	as_plan_free(plan);
	if (n == 1 && w->lane->suspects != suspects && w->failing->n_alone < ALONE_MAX)
		w->failing->alone[w->failing->n_alone++] = w->failing->set[0];
	w->lane->tried.faults[0] = w->faults[0] = '\0';
	return rc;
}

static bool breaks_alone(const struct as_failing *f, struct fault fault)
{
	for (unsigned i = 0; i < f->n_alone; i++)
		if (f->alone[i].kind == fault.kind && f->alone[i].n == fault.n)
			return true;
	return false;
}

/* ---- All sets -------------------------------------------------------------------------------- */

/* All sets of `size` faults that begin with the first `n` of the set. Later ones have later calls,
 * or kinds that come after. */
static int try_sets(struct as_expander *w, const struct as_op *op, unsigned n, unsigned size,
		    struct as_err *err)
{
	struct as_failing *f = w->failing;
	unsigned first = n ? f->set[n - 1].kind : 0;
	int rc = 0;

	for (unsigned k = first; k < FAIL_KINDS && !rc; k++) {
		uint64_t from = n && k == first ? f->set[n - 1].n : f->before[k];
		bool fired = true;

		if (!(f->asked & kinds[k].asked))
			continue;
		/* After a fault there may be calls that are not there without it. */
		for (uint64_t i = from + 1; !rc && (i <= f->after[k] || (n && fired)); i++) {
			if (w->c->shared->stop)
				return 0;
			f->set[n] = (struct fault){ (enum failing_kind)k, i };
			if (size > 1 && breaks_alone(f, f->set[n]))
				continue;
			rc = n + 1 < size ? try_sets(w, op, n + 1, size, err)
					  : try_set(w, op, size, &fired, err);
			if (n + 1 < size)
				fired = i < f->after[k];
		}
	}
	return rc;
}

/* How many calls the operation makes. */
static int learn(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	struct as_failing *f = w->failing;
	struct as_outcome got;
	int rc = as_worker_bring_back(w, err);

	if (rc || !w->back)
		return rc;
	count(w, f->before);
	w->lane->phase = AS_CHECK_MOVE;
	w->back = as_worker_do(w, op, (uint32_t)w->seq->n, &got) == AS_TRIAL_AGREED;
	count(w, f->after);
	return 0;
}

int as_failing_try(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	int rc = learn(w, op, err);
	bool agreed = w->back;

	w->back = false;
	w->failing->n_alone = 0;
	for (unsigned size = 1; !rc && agreed && size <= w->failing->most; size++)
		rc = try_sets(w, op, 0, size, err);
	return rc;
}
