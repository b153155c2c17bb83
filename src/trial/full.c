/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * full: what is judged after ENOSPC of a library that may then drop what was written to open files
 * and not synced (AS_MEANS_FULL_DROPS).
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
#include "trial/facts.h"

#include "target/facts.h"

void as_trial_loosen(struct as_trial *t)
{
	bool at_close = as_target_contract(t->target).promises & AS_PROMISE_AT_CLOSE;

	t->full = true;
	as_model_loosen(t->model, !at_close);
}

/* Whether its answer may depend on what the file of its path contains. */
static bool asks_loose(const struct as_trial *t, const struct as_op *op)
{
	struct as_stat st;

	return op->path && as_model_stat(t->model, op->path, op->nofollow == 1, &st) &&
	       as_model_is_loose(t->model, (uint32_t)st.ino);
}

/* Whether it changes nothing but contents and the place in the file, and asks for nothing else. */
static bool only_data(const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return op->slot < 0 && !op->path &&
	       (info->changes & AS_CHANGES_DATA || info->reads != AS_READS_NOTHING ||
		info->persists != AS_PERSISTS_NOTHING || op->code == AS_OP_LSEEK);
}

uint64_t as_facts_full(const struct as_trial *t, const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->changes == AS_CHANGES_NAMES || op->code == AS_OP_CLOSE)
		return 0;
	if (info->calls == AS_CALLS_MANY || op->fd2 >= 0)
		return AS_FACT(FULL_MIXED);
	if (op->fd >= 0 && as_model_is_loose(t->model, as_model_slot_ino(t->model, op->fd)))
		return only_data(op) ? AS_FACT(FULL_DATA) : AS_FACT(FULL_MIXED);
	return asks_loose(t, op) ? AS_FACT(FULL_NAMED) : 0;
}
