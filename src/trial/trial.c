/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trial: see trial.h. What it decides stands in excuse.def; this file does what the rows say. */
#include "trial/facts.h"

#include "disk/flash.h"
#include "host/medium.h"
#include "model/compare.h"
#include "target/facts.h"
#include "vfs/tree_watch.h"

#include <stddef.h>

/* ---- Trouble --------------------------------------------------------------------------------- */

static bool is_explained(struct as_trial *t, const char *misuse)
{
	uint64_t facts = as_facts_state(t);

	if (as_flash_misuse_rank(misuse) == 2)
		facts |= AS_FACT(UNERASED);
	return as_facts_excuse(AS_EXCUSED_MISUSE, facts, &t->decided.excuses);
}

const char *as_trial_trouble(struct as_trial *t, enum as_finding_kind *kind)
{
	const char *why = as_instance_trouble(t->instance, kind);

	if (!why) {
		why = as_instance_misuse(t->instance);
		*kind = AS_FIND_MISUSE;
	}
	return why && *kind == AS_FIND_MISUSE && is_explained(t, why) ? NULL : why;
}

/* A recording goes on after the first failure that was hidden: it is noted, and a power cut may
 * show what was lost. */
static bool is_noted(const struct as_trial *t, enum as_finding_kind kind)
{
	return t->way == AS_TRIAL_CRASH && kind == AS_FIND_SILENT;
}

/* True: it ends here. */
static bool is_troubled(struct as_trial *t, uint32_t i, const struct as_op *op)
{
	enum as_finding_kind kind;
	const char *why;
	bool noted;

	if (t->ops->troubled)
		return t->ops->troubled(t->ctx, i, op);
	why = as_trial_trouble(t, &kind);
	if (!why)
		return false;
	noted = is_noted(t, kind);
	t->ops->wrong(t->ctx, i, op, kind, why, noted);
	return !noted;
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Whether a fault made this operation stop half-way, by its own word. While the model knows the
 * state, an error that must be is none of a fault; one that may be (ENOSPC) is. */
static bool stopped_half_way(struct as_trial *t, const struct as_op *op,
			     const struct as_outcome *got)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->changes == AS_CHANGES_NOTHING && info->reads != AS_READS_NOTHING)
		return false;
	if (as_op_fell_short(op, got->ret))
		return true;
	return got->ret < 0 && as_facts_error(t, got->err, false) & AS_FACT(TOLD) &&
	       (t->blind || !as_model_judge(t->model, op, got, &t->verdict) ||
		!t->verdict.allowed.must);
}

/* The slot is free whatever close answers. False: the model does not know it. */
static bool free_slot(struct as_trial *t, const struct as_op *op)
{
	struct as_outcome closed = { 0 };

	return as_model_judge(t->model, op, &closed, &t->verdict);
}

/* The model lets go of what a full disk may have lost. */
static void loosen(struct as_trial *t)
{
	bool at_close = as_target_contract(t->target).promises & AS_PROMISE_AT_CLOSE;

	t->full = true;
	as_model_loosen(t->model, !at_close);
}

/* It has failed, and that is explained. */
static enum as_trial_did excused(struct as_trial *t, uint32_t i, const struct as_op *op,
				 const struct as_outcome *got, enum as_do what)
{
	bool closed = as_op_closes(op->code) && free_slot(t, op);

	t->unsure = true;
	t->blind |= what == AS_DO_LOSE || what == AS_DO_END;
	if (as_op_closes(op->code) && !closed && what != AS_DO_END) {
		t->blind = true;
		what = t->way == AS_TRIAL_RUN || t->way == AS_TRIAL_START ? AS_DO_LOSE : AS_DO_END;
	}
	if (t->ops->excused && !t->ops->excused(t->ctx, i, op, got, closed))
		return AS_TRIAL_ENDED;
	if (what == AS_DO_END)
		return AS_TRIAL_ENDED;
	return what == AS_DO_LOSE ? AS_TRIAL_BLIND : AS_TRIAL_FOLLOWED;
}

static enum as_trial_did wrong(struct as_trial *t, uint32_t i, const struct as_op *op,
			       enum as_finding_kind kind, const struct as_buf *why)
{
	t->ops->wrong(t->ctx, i, op, kind, as_buf_str((struct as_buf *)why), false);
	return AS_TRIAL_WRONG;
}

static enum as_trial_did agreed(struct as_trial *t, uint32_t i, const struct as_op *op,
				const struct as_outcome *got)
{
	if (t->ops->agreed && !t->ops->agreed(t->ctx, i, op, got))
		return AS_TRIAL_ENDED;
	return AS_TRIAL_AGREED;
}

static enum as_trial_did allowed(struct as_trial *t, uint32_t i, const struct as_op *op,
				 const struct as_outcome *got, uint64_t facts)
{
	const struct as_decision *row;

	as_buf_clear(&t->why);
	facts |= as_facts_allowed(t, op, got, &t->why);
	row = as_decide(t, AS_WHEN_ALLOWED, facts, NULL);
	switch (row->what[t->way]) {
	case AS_DO_WRONG:
		return wrong(t, i, op, AS_FIND_OUTCOME, &t->why);
	case AS_DO_END:
		return AS_TRIAL_ENDED;
	case AS_DO_UNSURE:
		t->unsure = true;
		return agreed(t, i, op, got);
	default:
		as_assert(row->what[t->way] == AS_DO_AGREE);
		return agreed(t, i, op, got);
	}
}

static bool part_agrees(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	struct as_op part = *op;

	part.len = (uint64_t)got->ret;
	return as_model_judge(t->model, &part, got, &t->verdict);
}

static enum as_trial_did refused(struct as_trial *t, uint32_t i, const struct as_op *op,
				 const struct as_outcome *got, uint64_t facts)
{
	const struct as_decision *row = NULL;

	facts |= as_facts_refused(t, op, got);
	do {
		row = as_decide(t, AS_WHEN_REFUSED, facts, row);
			switch (row->what[t->way]) {
		case AS_DO_PART:
			if (part_agrees(t, op, got))
				return agreed(t, i, op, got);
			break;
		case AS_DO_OFF:
			t->off = t->blind = true;
			return AS_TRIAL_BLIND;
		case AS_DO_BLIND:
			t->blind = true;
			return AS_TRIAL_BLIND;
		case AS_DO_FOLLOW:
		case AS_DO_LOSE:
		case AS_DO_END:
			return excused(t, i, op, got, row->what[t->way]);
		default:
			as_assert(row->what[t->way] == AS_DO_WRONG);
			return wrong(t, i, op, t->verdict.kind, &t->verdict.why);
		}
	} while (true);
}

static enum as_trial_did judge(struct as_trial *t, uint32_t i, const struct as_op *op,
			       const struct as_outcome *got)
{
	uint64_t facts = as_facts_answered(t, op, got);
	const struct as_decision *row = as_decide(t, AS_WHEN_ANSWERED, facts, NULL);

	t->noticed |= (facts & AS_FACT(HIT)) && (facts & AS_FACT(DAMAGED));
	switch (row->what[t->way]) {
	case AS_DO_BLIND:
		if (facts & AS_FACT(HIT) && !(facts & (AS_FACT(STRICT) | AS_FACT(INSIDE))))
			t->half_done |= stopped_half_way(t, op, got);
		t->blind = true;
		return AS_TRIAL_BLIND;
	case AS_DO_SKIP:
		return AS_TRIAL_BLIND;
	case AS_DO_LOOSEN:
		loosen(t);
		return excused(t, i, op, got, AS_DO_FOLLOW);
	case AS_DO_LOSE:
	case AS_DO_END:
		return excused(t, i, op, got, row->what[t->way]);
	default:
		as_assert(row->what[t->way] == AS_DO_JUDGE);
	}
	if (as_model_judge(t->model, op, got, &t->verdict))
		return allowed(t, i, op, got, facts);
	return refused(t, i, op, got, facts);
}

/* ---- A workload ------------------------------------------------------------------------------ */

void as_trial_begin(struct as_trial *t)
{
	t->hit = t->unsure = t->blind = t->half_done = t->full = t->off = t->unclean = false;
	t->met = t->noticed = t->lost = t->over = false;
}

void as_trial_end_faults(struct as_trial *t)
{
	(void)as_trial_hit(t);
	as_instance_end_faults(t->instance);
	t->over = true;
}

void as_trial_end(struct as_trial *t)
{
	as_verdict_free(&t->verdict);
	as_buf_free(&t->why);
}

bool as_trial_excuses(struct as_trial *t, enum as_excused what)
{
	return as_facts_excuse(what, as_facts_state(t), &t->decided.excuses);
}

bool as_trial_excuses_order(struct as_trial *t, int err)
{
	return as_facts_excuse(AS_EXCUSED_ORDER, as_facts_error(t, err, false),
			       &t->decided.excuses);
}

static bool excuses_error(struct as_trial *t, int err)
{
	return as_facts_error(t, err, false) & AS_FACT(EXCUSED);
}

/* ---- One operation --------------------------------------------------------------------------- */

/* It answered an error, and may have made a file all the same. */
static void look_at_made(struct as_trial *t, uint32_t i, const struct as_op *op)
{
	const struct as_outcome worked = { 0 };
	struct as_op look = as_op_make(AS_OP_STAT), end = as_op_make(AS_OP_CLOSE);
	struct as_outcome got;

	look.path = op->path;
	as_instance_do(t->instance, i, &look, &got);
	if (got.ret < 0 || as_model_judge(t->model, &look, &got, &t->verdict))
		return;
	/* It is there, and was not. If it could not have been made so, that is found later. */
	if (!as_model_judge(t->model, op, &worked, &t->verdict) || op->code != AS_OP_OPEN)
		return;
	end.fd = op->slot;
	if (!as_model_judge(t->model, &end, &worked, &t->verdict))
		t->blind = true;
}

static void settle(struct as_trial *t, uint32_t i, const struct as_op *op,
		   const struct as_outcome *got, bool going)
{
	const char *row = t->row;
	uint64_t facts = as_facts_after(t, op, got);

	switch (as_decide(t, AS_WHEN_AFTER, facts, NULL)->what[t->way]) {
	case AS_DO_LOST:
		t->lost = t->blind = true;
		break;
	case AS_DO_BLIND:
		t->blind = true;
		break;
	case AS_DO_LOOK:
		if (going)
			look_at_made(t, i, op);
		break;
	default:
		break;
	}
	t->row = row;
	t->met = false;
}

/* How it was left, whatever the model thinks of the answer. */
static void note_mount(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	if (op->code == AS_OP_CRASH)
		t->unclean = got->ret < 0;
	else if (op->code == AS_OP_MOUNT && got->ret >= 0)
		t->unclean = false;
	else if (op->code == AS_OP_UMOUNT && got->ret < 0 && excuses_error(t, got->err))
		t->unclean = true;
}

enum as_trial_did as_trial_op(struct as_trial *t, uint32_t i, const struct as_op *op,
			      struct as_outcome *got)
{
	const struct as_trial_ops *ops = t->ops;
	enum as_trial_did did;
	int64_t began_ns;

	t->row = NULL;
	if (ops->before && !ops->before(t->ctx, i, op))
		return AS_TRIAL_ENDED;
	began_ns = as_instance_time_from(t->instance);
	if (ops->carry_out)
		ops->carry_out(t->ctx, i, op, got);
	else
		as_instance_do(t->instance, i, op, got);
	as_model_clock(t->model, began_ns, as_instance_time_until(t->instance));
	note_mount(t, op, got);
	if (ops->answered)
		ops->answered(t->ctx, i, op, got);
	if (is_troubled(t, i, op))
		return AS_TRIAL_WRONG;
	did = judge(t, i, op, got);
	if (t->inside)
		settle(t, i, op, got, as_trial_goes_on(did));
	return did;
}

bool as_trial_goes_on(enum as_trial_did did)
{
	return did != AS_TRIAL_ENDED && did != AS_TRIAL_WRONG;
}

/* ---- Our own mount and unmount --------------------------------------------------------------- */

enum as_trial_did as_trial_mount(struct as_trial *t, int *rc)
{
	uint64_t facts;

	*rc = as_instance_mount(t->instance);
	facts = *rc ? as_facts_error(t, -*rc, true) : 0;
	switch (as_decide(t, AS_WHEN_MOUNTED, facts, NULL)->what[t->way]) {
	case AS_DO_END:
		return AS_TRIAL_ENDED;
	case AS_DO_WRONG:
		return AS_TRIAL_WRONG;
	default:
		t->met = t->unclean = false;
		return AS_TRIAL_AGREED;
	}
}

static enum as_trial_did decide_end(struct as_trial *t, enum as_when when, int rc)
{
	uint64_t facts = rc ? as_facts_error(t, -rc, false) : 0;

	switch (as_decide(t, when, facts, NULL)->what[t->way]) {
	case AS_DO_LOSE:
		t->blind = true;
		return AS_TRIAL_BLIND;
	case AS_DO_LOOSEN:
		if (t->model)
			loosen(t);
		return AS_TRIAL_FOLLOWED;
	case AS_DO_FOLLOW:
		return AS_TRIAL_FOLLOWED;
	case AS_DO_WRONG:
		return AS_TRIAL_WRONG;
	default:
		return AS_TRIAL_AGREED;
	}
}

enum as_trial_did as_trial_closed(struct as_trial *t, int rc)
{
	return decide_end(t, AS_WHEN_UNMOUNTED, rc);
}

void as_trial_written(struct as_trial *t, int rc)
{
	(void)decide_end(t, AS_WHEN_WRITTEN, rc);
}

enum as_trial_did as_trial_unmount(struct as_trial *t, int *rc)
{
	*rc = as_instance_unmount(t->instance);
	t->unclean |= *rc;
	t->half_done |= *rc && as_trial_hit(t) && as_facts_error(t, -*rc, false) & AS_FACT(TOLD);
	return as_trial_closed(t, *rc);
}

/* ---- The tree -------------------------------------------------------------------------------- */

bool as_trial_tree_agrees(struct as_trial *t, volatile uint64_t *alive, int64_t until_us,
			  struct as_buf *why)
{
	struct as_tree_watch watch = { .vfs = as_instance_vfs(t->instance),
				       .alive = alive,
				       .until_us = until_us };
	bool differs = true;

	if (as_trial_excuses(t, AS_EXCUSED_TREE))
		return true;
	as_model_tree_read(t->model, INT64_MAX);
	for (int i = 0; i < 2 && differs; i++) {
		as_buf_clear(why);
		watch.failed = 0;
		differs = as_model_compare(t->model, &as_tree_watch_ops, &watch, why);
		if (!differs || !watch.failed || !excuses_error(t, watch.failed))
			break;
		differs = i == 0;
	}
	as_model_tree_read(t->model, as_instance_time_until(t->instance));
	return !differs;
}
