/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_judge: the operations of a workload, each of them a trial (trial/trial.h), and the tree.
 *
 * A run goes on after an answer that cannot be judged: it is blind then, and what follows is
 * carried out all the same, since it may still die, hang, leak or make the kernel complain. Faults
 * end with the unmount; the checker meets none.
 */
#include "child/child_priv.h"

#include "child/answers.h"
#include "klog/kwatch.h"
#include "os/spawn.h"

#define LOOK_EVERY 16
#define PATIENCE 30 /* times the deadline, for reading a tree that comes forth on a busy machine */

bool as_child_fault_hit(struct child *c)
{
	c->sh->fired |= as_trial_hit(&c->trial);
	return c->sh->fired;
}

/* ---- The tree -------------------------------------------------------------------------------- */

bool as_child_tree_agrees(struct child *c, int64_t op)
{
	/* A large tree takes long, which is no hang, unless it takes very long. */
	int64_t patience_us = (int64_t)c->args->options->deadline_ms * 1000 * PATIENCE;
	struct as_buf why = { 0 };
	bool agrees;

	if (!c->trial.blind)
		as_child_kfail_look(c);
	agrees = as_trial_tree_agrees(&c->trial, &c->sh->alive, as_now_us() + patience_us, &why);
	if (!agrees)
		as_child_found(c, AS_FIND_TREE, op,
			       op >= 0 ? as_op_table[c->args->seq->ops[op].code].name
				       : as_phase_name(c->sh->phase),
			       as_buf_str(&why));
	as_buf_free(&why);
	return agrees;
}

/* ---- What a run notes of an operation -------------------------------------------------------- */

static bool before(void *ctx, uint32_t i, const struct as_op *op)
{
	struct child *c = ctx;

	c->sh->op = i;
	as_child_enter(c, PHASE_OP);
	as_child_kfail_before(c, op);
	return true;
}

/* With failures inside the kernel: they are in the call, and in nothing around it. */
static void carry_out(void *ctx, uint32_t i, const struct as_op *op, struct as_outcome *got)
{
	struct child *c = ctx;

	as_child_kfail_begin(c, (uint64_t)i + 1);
	as_instance_do(c->instance, i, op, got);
	as_child_kfail_end(c);
}

static void answered(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct child *c = ctx;

	(void)op;
	c->sh->recent[i % RECENT] = (struct as_recent){ i, got->ret, got->err };
	c->sh->ops += c->kfail_try == c->kfail_first;
	c->failed[i] = got->ret < 0;
}

/* On a disk that nobody watches the kernel's log is not read after every operation: whatever is
 * found is looked for again on a disk that is watched. */
static bool troubled(void *ctx, uint32_t i, const struct as_op *op)
{
	struct child *c = ctx;

	(void)op;
	return (!c->quick || i % LOOK_EVERY == LOOK_EVERY - 1) && as_child_troubled(c, i);
}

static bool agreed(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got)
{
	struct child *c = ctx;

	(void)i;
	(void)op;
	c->sh->skipped +=
		got->ret < 0 && (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT);
	return true;
}

static bool excused(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got,
		    bool closed)
{
	struct child *c = ctx;

	(void)op;
	(void)got;
	(void)closed;
	/* A full disk drops contents, and nothing else. */
	return !c->trial.full || as_child_tree_agrees(c, i);
}

static void wrong(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		  const char *why, bool noted)
{
	struct child *c = ctx;

	(void)noted;
	/* A message of the kernel is the cause, and the answer what came of it. */
	if (!c->quick || !as_child_troubled(c, i))
		as_child_found(c, kind, i, as_op_table[op->code].name, why);
}

static bool warned(void *ctx)
{
	return as_kwatch_excused(((struct child *)ctx)->watch);
}

#define OBSERVERS                                                                       \
	.before = before, .answered = answered, .troubled = troubled, .agreed = agreed, \
	.excused = excused, .wrong = wrong

static const struct as_trial_ops observers = { OBSERVERS };
static const struct as_trial_ops observers_inside = { OBSERVERS, .carry_out = carry_out,
						      .warned = warned };

void as_child_judge_open(struct child *c)
{
	c->trial = (struct as_trial){ .ops = c->kfault ? &observers_inside : &observers,
				      .ctx = c,
				      .way = AS_TRIAL_RUN,
				      .target = c->args->target,
				      .traits = c->args->traits,
				      .instance = c->instance,
				      .plan = c->args->plan,
				      .inside = c->kfault };
}

/* ---- One operation --------------------------------------------------------------------------- */

static bool run_op_once(struct child *c, int64_t i)
{
	const struct as_run_options *options = c->args->options;
	const struct as_op *op = &c->args->seq->ops[i];
	struct as_outcome got;
	enum as_trial_did did = as_trial_op(&c->trial, (uint32_t)i, op, &got);
	bool going = as_trial_goes_on(did);

	if (!c->trial.row)
		return false;
	if (options->answers)
		as_answers_add(options->answers, &c->trial, did, &got, c->args->fresh_model);
	if (!going || !options->check_every_op)
		return going;
	as_child_enter(c, PHASE_COMPARE);
	return as_child_tree_agrees(c, i);
}

bool as_child_run_op(struct child *c, int64_t i)
{
	unsigned before;
	bool going;

	c->kfail_first = c->kfail_try = as_child_kfail_first(c, &c->args->seq->ops[i]);
	for (;; c->kfail_try++) {
		before = c->sh->kfired;
		going = run_op_once(c, i);
		if (!going || !as_child_kfail_again(c, &c->args->seq->ops[i], before))
			return going;
	}
}
