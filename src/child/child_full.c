/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * child_full: what is judged after ENOSPC of a library that may then drop what was written to open
 * files and not synced (AS_MEANS_FULL_DROPS).
 *
 * Method. What may be lost is the contents and the size of files that are open for writing. The
 * model lets go of these (as_model_loosen()), and nothing else: names, other files, and the space
 * that is free afterwards are what they would be if the operation had never been tried. So the tree
 * is compared at once, and the workload goes on.
 *   - An operation on a descriptor of such a file is carried out, and not judged.
 *   - One that works on two descriptors, or on the data of many files, may carry what is not known
 *     elsewhere: from there on the run is blind.
 *   - All else is judged. If the answer of one that names such a file is wrong, the run is blind,
 *     too.
 * Without AS_PROMISE_AT_CLOSE, what was written to files that are closed may be in a cache as well:
 * then no contents are known. With faults the run is blind at once, since other rules hold.
 */
#include "child/child_priv.h"

#include "target/facts.h"

#include <errno.h>

bool as_child_may_drop(const struct child *c, const struct as_outcome *got)
{
	return got->ret < 0 && got->err == ENOSPC &&
	       as_model_traits(c->model)->quirks & AS_QUIRK_FULL_DROPS;
}

void as_child_loosen(struct child *c)
{
	bool at_close = as_target_contract(c->args->target).promises & AS_PROMISE_AT_CLOSE;

	c->full = true;
	as_model_loosen(c->model, !at_close);
}

/* Whether it may have been done in part, as it is many calls. */
static bool is_partly_done(const struct as_op *op, const struct as_outcome *got)
{
	return as_op_table[op->code].calls == AS_CALLS_MANY && got->done;
}

bool as_child_full(struct child *c, int64_t i, const struct as_outcome *got)
{
	const struct as_op *op = &c->args->seq->ops[i];
	struct as_outcome closed = { 0 };

	if (c->args->plan || op->code == AS_OP_MOUNT || op->code == AS_OP_UMOUNT ||
	    op->code == AS_OP_CRASH || op->code == AS_OP_REMOUNT || is_partly_done(op, got)) {
		c->blind = true;
		return true;
	}
	as_child_loosen(c);
	/* The slot is free whatever close answers. */
	if ((op->code == AS_OP_CLOSE || op->code == AS_OP_MUNMAP) &&
	    !as_model_judge(c->model, op, &closed, &c->verdict))
		c->blind = true;
	c->unsure = true;
	return as_child_tree_agrees(c, i);
}

/* Whether its answer may depend on what the file of its path contains. */
static bool asks_loose(const struct child *c, const struct as_op *op)
{
	struct as_stat st;

	return op->path && as_model_stat(c->model, op->path, op->nofollow == 1, &st) &&
	       as_model_is_loose(c->model, (uint32_t)st.ino);
}

/* Whether it changes nothing but contents and the place in the file, and asks for nothing else. */
static bool only_data(const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return op->slot < 0 && !op->path &&
	       (info->changes & AS_CHANGES_DATA || info->reads != AS_READS_NOTHING ||
		info->persists != AS_PERSISTS_NOTHING || op->code == AS_OP_LSEEK);
}

enum as_full_rule as_child_full_rule(const struct child *c, const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (!c->full || info->changes == AS_CHANGES_NAMES || op->code == AS_OP_CLOSE)
		return AS_FULL_STRICT;
	if (info->calls == AS_CALLS_MANY || op->fd2 >= 0)
		return AS_FULL_BLIND;
	if (op->fd >= 0 && as_model_is_loose(c->model, as_model_slot_ino(c->model, op->fd)))
		return only_data(op) ? AS_FULL_UNJUDGED : AS_FULL_BLIND;
	return asks_loose(c, op) ? AS_FULL_LENIENT : AS_FULL_STRICT;
}
