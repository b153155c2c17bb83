/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: see facts.h. Each is worked out only where a row can ask for it. */
#include "trial/facts.h"

#include "host/medium.h"
#include "model/persist.h"
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

bool as_trial_told(const struct as_trial *t, int err)
{
	if (as_traits_failed_answer(t->traits, err))
		return true;
	if (t->plan && as_plan_gives(t->plan, err))
		return true;
	/* A checksum that catches a flipped bit says so. */
	return says_damaged(err) && (!t->plan || as_plan_is_silent(t->plan));
}

bool as_trial_lost_writes(const struct as_trial *t)
{
	return t->hit && t->plan && as_plan_hits_writes(t->plan);
}

bool as_trial_says_off(int err)
{
	return err == EROFS || err == EIO || err == EUCLEAN || err == ESHUTDOWN;
}

bool as_trial_in_doubt(const struct as_trial *t, const struct as_op *op)
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
	return fact(AS_FACT_PLAN, t->plan) | fact(AS_FACT_HIT, as_trial_hit(t)) |
	       fact(AS_FACT_SILENT, !t->plan || as_plan_is_silent(t->plan)) |
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
	       fact(AS_FACT_TOLD, as_trial_told(t, err)) |
	       fact(AS_FACT_DAMAGED, says_damaged(err)) |
	       fact(AS_FACT_NOT_ONE, mounting && err == EINVAL);
}

uint64_t as_facts_error(struct as_trial *t, int err, bool mounting)
{
	return of_faults(t) | of_error(t, err, mounting);
}

uint64_t as_facts_answered(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	uint64_t facts =
		(t->plan ? of_faults(t) : 0) | of_op(op) | fact(AS_FACT_BLIND, t->blind) |
		fact(AS_FACT_UNSURE, t->unsure) |
		fact(AS_FACT_MANY, as_op_table[op->code].calls == AS_CALLS_MANY && got->done);

	if (t->full && !t->blind)
		facts |= as_facts_full(t, op);
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

static bool refuses_mount(const struct as_trial *t, const struct as_op *op)
{
	return (op->code == AS_OP_REMOUNT || op->code == AS_OP_MOUNT) && t->ops->warned &&
	       t->ops->warned(t->ctx);
}

uint64_t as_facts_refused(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	bool mounting =
		op->code == AS_OP_MOUNT || op->code == AS_OP_REMOUNT || op->code == AS_OP_CRASH;
	uint64_t facts = fact(AS_FACT_FORGETS, forgets(t, op));

	if (!t->plan && got->ret < 0)
		facts |= of_faults(t) | of_error(t, got->err, mounting) |
			 fact(AS_FACT_VIEW, as_model_view_in_doubt(t->model, op));
	if (t->inside)
		facts |= fact(AS_FACT_PART, did_part(op, got)) |
			 fact(AS_FACT_DOUBT, as_trial_in_doubt(t, op)) |
			 fact(AS_FACT_NO_REMOUNT, refuses_mount(t, op));
	if (got->ret >= 0)
		return facts;
	return facts | fact(AS_FACT_IO_ERROR, got->err == EIO) |
	       fact(AS_FACT_OFF_ERROR, as_trial_says_off(got->err)) |
	       fact(AS_FACT_EXCUSED,
		    mounting ? as_trial_excuses_mount(t, got->err) : as_trial_excuses(t, got->err));
}
