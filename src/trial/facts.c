/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: see facts.h. Each is worked out only where a row can ask for it.
 *
 * After ENOSPC a library may drop what was written to open files and not synced
 * (AS_MEANS_FULL_DROPS). What may be lost is the contents and the size of files that are open for
 * writing. The model lets go of these (as_model_loosen()), and of nothing else: names, other files,
 * and the space that is free afterwards are what they would be if the operation had never been
 * tried. So the tree is compared at once, and the workload goes on.
 *   - An operation on a descriptor of such a file is carried out, and not judged (FULL_DATA).
 *   - One that works on two descriptors, or on the data of many files, may carry what is not known
 *     elsewhere: from there on the run is blind (FULL_MIXED).
 *   - All else is judged. If the answer of one that names such a file is wrong, the run is blind,
 *     too (FULL_NAMED).
 * Without AS_PROMISE_AT_CLOSE, what was written to files that are closed may be in a cache as well:
 * then no contents are known. With faults the run is blind at once, since other rules hold.
 */
#include "trial/facts.h"

#include "host/medium.h"
#include "model/persist.h"
#include "target/facts.h"
#include "trial/space.h"

#include <errno.h>

bool as_trial_hit(struct as_trial *t)
{
	if (!t->hit && as_instance_fault_hit(t->instance))
		t->hit = true;
	return t->hit;
}

static bool says_damaged(int err)
{
	return err == EUCLEAN || err == EBADMSG;
}

static bool is_told(const struct as_trial *t, int err)
{
	if (as_traits_failed_answer(t->traits, err))
		return true;
	if (t->plan && as_plan_gives(t->plan, err))
		return true;
	/* A checksum that catches a flipped bit says so. */
	return says_damaged(err) && (!t->plan || as_plan_is_silent(t->plan));
}

bool as_trial_says_off(int err)
{
	return err == EROFS || err == EIO || err == EUCLEAN || err == ESHUTDOWN;
}

static bool is_in_doubt(const struct as_trial *t, const struct as_op *op)
{
	const struct as_outcome wrote = { .ret = 1 };

	return as_op_table[op->code].changes & AS_CHANGES_AS_OPENED &&
	       as_model_persists(t->model, op, &wrote, 0).kind != AS_PERSIST_NOTHING;
}

static uint64_t fact(enum as_trial_fact which, bool holds)
{
	return holds ? UINT64_C(1) << which : 0;
}

/* Without a plan, flash can fail by itself: its bits rot. */
static uint64_t of_faults(struct as_trial *t)
{
	bool silent = !t->plan || as_plan_is_silent(t->plan);

	return fact(AS_FACT_PLAN, t->plan) | fact(AS_FACT_HIT, as_trial_hit(t)) |
	       fact(AS_FACT_OVER, t->over && !silent && !t->unclean) |
	       fact(AS_FACT_SILENT, silent) |
	       fact(AS_FACT_INSIDE, t->inside) | fact(AS_FACT_MET, t->met) |
	       fact(AS_FACT_STRICT, as_instance_can(t->instance, AS_INSTANCE_STRICT)) |
	       fact(AS_FACT_OFF, t->off);
}

static uint64_t of_op(const struct as_op *op)
{
	switch (op->code) {
	case AS_OP_CRASH:
		return AS_FACT(MOUNTS) | AS_FACT(CUT);
	case AS_OP_REMOUNT:
		return AS_FACT(MOUNTS) | AS_FACT(REMOUNT);
	case AS_OP_MOUNT:
	case AS_OP_UMOUNT:
		return AS_FACT(MOUNTS);
	default:
		return fact(AS_FACT_CLOSES, as_op_closes(op->code)) |
		       fact(AS_FACT_SYNCS, as_op_writes_then_syncs(op));
	}
}

static bool drops(const struct as_trial *t, int err)
{
	return err == ENOSPC && t->traits->quirks & AS_QUIRK_FULL_DROPS;
}

static uint64_t of_error(struct as_trial *t, int err, bool mounting)
{
	return AS_FACT(ERROR) | fact(AS_FACT_DROPS, drops(t, err)) |
	       fact(AS_FACT_TOLD, is_told(t, err)) |
	       fact(AS_FACT_DAMAGED, says_damaged(err)) |
	       fact(AS_FACT_NOT_ONE, mounting && err == EINVAL);
}

static bool keeps(const struct as_trial *t)
{
	unsigned all = AS_PROMISE_AT_CLOSE | AS_PROMISE_NAMES_NOW;

	return (as_target_contract(t->target).promises & all) == all;
}

/* With EXCUSED. */
uint64_t as_facts_error(struct as_trial *t, int err, bool mounting)
{
	uint64_t facts = of_faults(t) | of_error(t, err, mounting);
	bool excused = as_facts_excuse(AS_EXCUSED_ERROR, facts, &t->decided.excuses);

	return facts | fact(AS_FACT_EXCUSED, excused) | fact(AS_FACT_KEEPS, keeps(t)) |
	       fact(AS_FACT_OWN_VIEWS, t->traits->quirks & AS_QUIRK_OWN_VIEWS);
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

static uint64_t of_full(const struct as_trial *t, const struct as_op *op)
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

uint64_t as_facts_answered(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	uint64_t facts =
		(t->plan ? of_faults(t) : 0) | of_op(op) | fact(AS_FACT_BLIND, t->blind) |
		fact(AS_FACT_UNSURE, t->unsure) |
		fact(AS_FACT_MANY, as_op_table[op->code].calls == AS_CALLS_MANY && got->done);

	if (t->full && !t->blind)
		facts |= of_full(t, op);
	if (got->ret < 0 && (t->plan || got->err == ENOSPC))
		facts |= of_error(t, got->err, facts & AS_FACT(MOUNTS));
	if (t->plan)
		facts |= fact(AS_FACT_VIEW, as_model_view_in_doubt(t->model, op));
	return facts;
}

static bool has_room(struct as_trial *t, const struct as_op *op, const struct as_outcome *got,
		     struct as_buf *why)
{
	return !t->plan && as_space_has_room(as_instance_vfs(t->instance), t->model, op, got, why);
}

uint64_t as_facts_allowed(struct as_trial *t, const struct as_op *op, const struct as_outcome *got,
			  struct as_buf *why)
{
	return fact(AS_FACT_SHORT, as_op_fell_short(op, got->ret)) |
	       fact(AS_FACT_ROOM, has_room(t, op, got, why));
}

static bool forgets(const struct as_trial *t, const struct as_op *op)
{
	return t->traits->quirks & AS_QUIRK_SYNC_FORGETS &&
	       (as_op_table[op->code].persists != AS_PERSISTS_NOTHING ||
		as_op_makes_all_stable(op) || as_op_closes(op->code));
}

static bool did_part(const struct as_op *op, const struct as_outcome *got)
{
	bool reads = op->code == AS_OP_READ || op->code == AS_OP_PREAD || op->code == AS_OP_PREADV2;

	return got->ret > 0 &&
	       (reads ? (uint64_t)got->ret < op->len : as_op_fell_short(op, got->ret));
}

static bool has_warned(const struct as_trial *t)
{
	return t->inside && t->ops->warned && t->ops->warned(t->ctx);
}

static bool refuses_mount(const struct as_trial *t, const struct as_op *op)
{
	return (op->code == AS_OP_REMOUNT || op->code == AS_OP_MOUNT) && has_warned(t);
}

uint64_t as_facts_refused(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	bool mounting =
		op->code == AS_OP_MOUNT || op->code == AS_OP_REMOUNT || op->code == AS_OP_CRASH;
	uint64_t facts = fact(AS_FACT_FORGETS, forgets(t, op));

	if (!t->plan && got->ret < 0)
		facts |= fact(AS_FACT_VIEW, as_model_view_in_doubt(t->model, op));
	if (t->inside)
		facts |= fact(AS_FACT_PART, did_part(op, got)) |
			 fact(AS_FACT_DOUBT, is_in_doubt(t, op)) |
			 fact(AS_FACT_NO_REMOUNT, refuses_mount(t, op));
	if (got->ret >= 0)
		return facts;
	return facts | as_facts_error(t, got->err, mounting) |
	       fact(AS_FACT_IO_ERROR, got->err == EIO) |
	       fact(AS_FACT_OFF_ERROR, as_trial_says_off(got->err));
}

/* ---- While nothing is asked ---- */

static bool lost_writes(struct as_trial *t)
{
	return t->plan && as_trial_hit(t) && as_plan_hits_writes(t->plan);
}

static bool leaves_half(const struct as_trial *t)
{
	struct as_contract contract = as_target_contract(t->target);

	return contract.after_cut == AS_CUT_REPAIR &&
	       contract.semantics & AS_MEANS_FAILED_MAYBE_DONE;
}

static bool repairs(const struct as_trial *t)
{
	return as_target_promise(t->target).guarantee == AS_GUARANTEE_REPAIR;
}

uint64_t as_facts_state(struct as_trial *t)
{
	return of_faults(t) | fact(AS_FACT_UNWRITTEN, lost_writes(t)) |
	       fact(AS_FACT_WARNED, has_warned(t)) | fact(AS_FACT_BLIND, t->blind) |
	       fact(AS_FACT_UNCLEAN, t->unclean) | fact(AS_FACT_NOTICED, t->noticed) |
	       fact(AS_FACT_HALF_DONE, t->half_done) |
	       fact(AS_FACT_LEAVES_HALF, t->half_done && leaves_half(t)) |
	       fact(AS_FACT_LOST, t->lost) | fact(AS_FACT_REPAIRS, t->lost && repairs(t)) |
	       fact(AS_FACT_RECORDED, t->way == AS_TRIAL_CRASH);
}

/* ---- After a failure inside the kernel ---- */

static bool unmounts(const struct as_op *op)
{
	return op->code == AS_OP_UMOUNT || op->code == AS_OP_REMOUNT;
}

static bool makes(const struct as_op *op)
{
	return op->code == AS_OP_CREATE || (op->code == AS_OP_OPEN && op->flags & AS_O_CREAT);
}

/* Of a descriptor that the model does not know any more, O_SYNC may be a flag. */
static bool makes_stable(const struct as_trial *t, const struct as_op *op)
{
	const struct as_op_info *info = &as_op_table[op->code];

	return info->persists != AS_PERSISTS_NOTHING || unmounts(op) || is_in_doubt(t, op) ||
	       (t->blind && info->changes & AS_CHANGES_AS_OPENED);
}

uint64_t as_facts_after(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	if (!t->met)
		return 0;
	return AS_FACT(MET) | fact(AS_FACT_BLIND, t->blind) | fact(AS_FACT_ERROR, got->ret < 0) |
	       fact(AS_FACT_REQUESTS, as_plan_kernel(t->plan).rule[0].kind == AS_KFAIL_IO) |
	       fact(AS_FACT_UNMOUNTS, unmounts(op)) |
	       fact(AS_FACT_WARNED, unmounts(op) && has_warned(t)) |
	       fact(AS_FACT_MUTE, op->code == AS_OP_SYNC || unmounts(op)) |
	       fact(AS_FACT_STABLE, makes_stable(t, op)) | fact(AS_FACT_MAKES, makes(op));
}
