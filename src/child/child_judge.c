/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_judge: one operation, and whether its answer and the tree are as the model says.
 *
 * Method with faults. Once a fault has hit, an operation may answer EIO, ENOMEM or EROFS where the
 * model does not expect it; by the rules of the seam it then changed nothing, and the model stays
 * where it is. What cannot be followed that way (a composite operation that stopped half-way) makes
 * the rest blind: carried out, but not judged. Faults end with the unmount; the checker meets none.
 */
#include "child/child_priv.h"

#include "child/answers.h"
#include "model/compare.h"
#include "os/spawn.h"
#include "vfs/tree_watch.h"

#include <errno.h>

#define LOOK_EVERY 16
#define PATIENCE 30 /* times the deadline, for reading a tree that comes forth on a busy machine */

/* ---- Faults ---------------------------------------------------------------------------------- */

bool as_child_fault_hit(struct child *c)
{
	if (as_instance_fault_hit(c->instance))
		c->sh->fired = true;
	return c->sh->fired;
}

bool as_child_told_of_fault(const struct child *c, int err)
{
	if (as_traits_failed_answer(c->args->traits, err))
		return true;
	if (c->args->plan && as_plan_gives(c->args->plan, err))
		return true;
	/* A checksum that catches a flipped bit says so. */
	return (err == EUCLEAN || err == EBADMSG) &&
	       (!c->args->plan || as_plan_is_silent(c->args->plan));
}

bool as_child_excused(struct child *c, int err)
{
	/* What it could not write, it may not be able to write when it is unmounted, either. */
	if (err == ENOSPC && c->args->traits->quirks & AS_QUIRK_FULL_DROPS)
		return true;
	if (!as_child_fault_hit(c))
		return false;
	if (c->kfault)
		return c->kfailing || c->aborted;
	if (!as_instance_can(c->instance, AS_INSTANCE_STRICT))
		return true;
	return as_child_told_of_fault(c, err);
}

bool as_child_writes_were_hit(const struct child *c)
{
	return c->sh->fired && c->args->plan && as_plan_hits_writes(c->args->plan);
}

/* ---- The tree -------------------------------------------------------------------------------- */

/* A fault that hits while the tree is read says nothing about the tree, so it is read once more.
 * When a fault stays, the tree cannot be read, and nothing can be said. */
static bool compare_tree(struct child *c, struct as_buf *why)
{
	bool differs = true;

	for (int i = 0; i < 2 && differs; i++) {
		/* A large tree takes long, which is no hang, unless it takes very long. */
		int64_t patience_us = (int64_t)c->args->options->deadline_ms * 1000 * PATIENCE;
		struct as_tree_watch watch = { .vfs = as_instance_vfs(c->instance),
					       .alive = &c->sh->alive,
					       .until_us = as_now_us() + patience_us };

		as_buf_clear(why);
		differs = as_model_compare(c->model, &as_tree_watch_ops, &watch, why);
		if (!differs || !watch.failed || !as_child_excused(c, watch.failed))
			return differs;
	}
	return false;
}

bool as_child_tree_agrees(struct child *c, int64_t op)
{
	struct as_buf why = { 0 };
	bool differs;

	if (!c->blind)
		as_child_kfail_look(c);
	if (c->blind)
		return true;
	as_model_tree_read(c->model, INT64_MAX);
	differs = compare_tree(c, &why);
	as_model_tree_read(c->model, as_instance_time_until(c->instance));
	if (differs)
		as_child_found(c, AS_FIND_TREE, op,
			       op >= 0 ? as_op_table[c->args->seq->ops[op].code].name
				       : as_phase_name(c->sh->phase),
			       as_buf_str(&why));
	as_buf_free(&why);
	return !differs;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* The model does not know this outcome, but a fault explains it. False: the file system is gone
 * and the workload ends here. */
static bool follow_fault(struct child *c, const struct as_op *op, const struct as_outcome *got)
{
	struct as_outcome closed = { 0 };

	c->unsure = true;
	switch (op->code) {
	case AS_OP_CLOSE:
	case AS_OP_MUNMAP:
		/* The slot is free whatever close answers. */
		if (!as_model_judge(c->model, op, &closed, &c->verdict) ||
		    as_model_view_in_doubt(c->model, op))
			c->blind = true;
		return true;
	case AS_OP_MOUNT:
	case AS_OP_UMOUNT:
	case AS_OP_CRASH:
		c->blind = true;
		return false;
	default:
		/* What an operation before had written may be what could not reach the disk now. */
		if (c->kfault && got->err == EIO)
			c->blind = true;
		if (c->kfault && as_child_kfail_in_doubt(c, op))
			c->blind = true;
		if (as_op_writes_then_syncs(op) || as_model_view_in_doubt(c->model, op) ||
		    (as_op_table[op->code].calls == AS_CALLS_MANY && got->done))
			c->blind = true;
		return true;
	}
}

/* Whether a fault made this operation stop half-way, by its own word. While the model knows the
 * state, an error that it gives itself is none of a fault. */
static bool stopped_by_fault(struct child *c, const struct as_op *op, const struct as_outcome *got)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->changes == AS_CHANGES_NOTHING && info->reads != AS_READS_NOTHING)
		return false;
	if (as_op_fell_short(op, got->ret))
		return true;
	return got->ret < 0 && as_child_told_of_fault(c, got->err) &&
	       (c->blind || !as_model_judge(c->model, op, got, &c->verdict));
}

/* False: the workload ends here. */
static bool judge(struct child *c, int64_t i, const struct as_outcome *got)
{
	const struct as_op *op = &c->args->seq->ops[i];
	enum as_full_rule rule = as_child_full_rule(c, op);

	/* It may have turned itself off, or kept half of an operation. */
	if (c->args->plan && !c->kfault && !as_instance_can(c->instance, AS_INSTANCE_STRICT) &&
	    as_child_fault_hit(c)) {
		c->half_done |= stopped_by_fault(c, op, got);
		c->blind = true;
	}
	if (rule == AS_FULL_BLIND)
		c->blind = true;
	if (!c->blind && as_child_may_drop(c, got))
		return as_child_full(c, i, got);
	/* A mount after a power cut finds what reached the disk. */
	if (op->code == AS_OP_CRASH && c->unsure)
		c->blind = true;
	if (c->blind || rule == AS_FULL_UNJUDGED)
		return true;
	if (as_model_judge(c->model, op, got, &c->verdict)) {
		c->sh->skipped += got->ret < 0 &&
				  (got->err == AS_ERR_UNSUPPORTED || got->err == AS_ERR_LIMIT);
		c->unsure |=
			as_op_fell_short(op, got->ret) && c->args->plan && as_child_fault_hit(c);
		return as_child_space_full(c, i, got);
	}
	if (rule == AS_FULL_LENIENT) {
		c->blind = true;
		return true;
	}
	if (as_child_kfail_part(c, op, got))
		return true;
	if (got->ret < 0 && as_child_excused(c, got->err))
		return follow_fault(c, op, got);
	if (c->kfault && c->sh->fired && got->ret < 0 &&
	    (as_child_kfail_aborts(got->err) || as_child_kfail_refuses(c, op))) {
		c->aborted = c->blind = true;
		return true;
	}
	/* A message of the kernel is the cause, and the answer what came of it. */
	if (!c->quick || !as_child_troubled(c, i))
		as_child_found(c, c->verdict.kind, i, as_op_table[op->code].name,
			       as_buf_str(&c->verdict.why));
	return false;
}

/* On a disk that nobody watches the kernel's log is not read after every operation: whatever is
 * found is looked for again on a disk that is watched. */
static bool is_time_to_look(const struct child *c, int64_t i)
{
	return !c->quick || i % LOOK_EVERY == LOOK_EVERY - 1;
}

static bool run_op_once(struct child *c, int64_t i)
{
	const struct as_run_options *options = c->args->options;
	struct as_child_shared *sh = c->sh;
	struct as_outcome got;
	int64_t began_ns;
	bool going;

	sh->op = i;
	as_child_enter(c, PHASE_OP);
	as_child_kfail_before(c, &c->args->seq->ops[i]);
	began_ns = as_instance_time_from(c->instance);
	as_child_kfail_begin(c, (uint64_t)i + 1);
	as_instance_do(c->instance, (uint32_t)i, &c->args->seq->ops[i], &got);
	as_child_kfail_end(c);
	as_model_clock(c->model, began_ns, as_instance_time_until(c->instance));
	sh->recent[i % RECENT] = (struct as_recent){ i, got.ret, got.err };
	sh->ops += c->kfail_try == c->kfail_first;
	c->failed[i] = got.ret < 0;
	if (is_time_to_look(c, i) && as_child_troubled(c, i))
		return false;
	going = judge(c, i, &got);
	if (going && c->failed[i])
		as_child_kfail_follow(c, &c->args->seq->ops[i]);
	as_child_kfail_lost(c, &c->args->seq->ops[i], &got);
	c->kfailing = false;
	if (options->answers)
		as_answers_add(options->answers, &got, c->blind ? NULL : &c->verdict,
			       c->args->fresh_model);
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
