/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trial: see trial.h. What it decides stands in excuse.def; this file walks its rows. */
#include "trial/facts.h"

#include "disk/flash.h"
#include "host/medium.h"
#include "model/compare.h"

#include <stddef.h>

/* ---- The rows -------------------------------------------------------------------------------- */

enum when { ANSWERED, ALLOWED, REFUSED };

enum what {
	JUDGE,
	AGREE,
	UNSURE,
	FOLLOW,
	LOSE,
	BLIND,
	SKIP,
	LOOSEN,
	PART,
	OFF,
	END,
	WRONG,
	NEXT,
	NEVER,
};

struct explained {
	uint64_t all, none;
};

struct decision {
	enum when when;
	const char *name;
	uint64_t all, any, none;
	enum what what[AS_TRIAL_START + 1];
};

#define F(name) AS_FACT(name)
#define ALL(facts) facts
#define ANY(facts) facts
#define NONE(facts) facts

#define AS_EXCUSE(name, all, none, why) { all, none },
#define AS_DECIDE(...)
static const struct explained excuses[] = {
#include "trial/excuse.def"
};

#define AS_EXCUSE(...)
#define AS_DECIDE(when, name, all, any, none, run, crash, check, start, why) \
	{ when, #when "." #name, all, any, none, { run, crash, check, start } },
static const struct decision decisions[] = {
#include "trial/excuse.def"
};

/* The last row of each moment holds always. */
static const struct decision *decide(const struct as_trial *t, enum when when, uint64_t facts,
				     const struct decision *after)
{
	const struct decision *row = after ? after + 1 : decisions;

	for (;; row++) {
		as_assert(row < decisions + sizeof(decisions) / sizeof(decisions[0]));
		if (row->when == when && (facts & row->all) == row->all &&
		    (!row->any || facts & row->any) && !(facts & row->none) &&
		    row->what[t->way] != NEXT)
			return row;
	}
}

static bool excuses_error(uint64_t facts)
{
	for (size_t i = 0; i < sizeof(excuses) / sizeof(excuses[0]); i++)
		if ((facts & excuses[i].all) == excuses[i].all && !(facts & excuses[i].none))
			return true;
	return false;
}

bool as_trial_excuses_mount(struct as_trial *t, int err)
{
	return excuses_error(as_facts_error(t, err, true));
}

bool as_trial_excuses(struct as_trial *t, int err)
{
	return excuses_error(as_facts_error(t, err, false));
}

/* ---- Trouble --------------------------------------------------------------------------------- */

/* Whether a call outside of the disk is explained. A bit that was flipped, or an erase that was not
 * done, makes flash look programmed that the file system takes for erased, and rightly. After a
 * failure inside the kernel, it may note on a disk that is mounted read-only that it needs a check,
 * or turn itself off and still write what it had begun to write. */
static bool is_explained(struct as_trial *t, const char *misuse)
{
	if (!t->plan || !as_trial_hit(t))
		return false;
	return t->inside || (as_flash_misuse_rank(misuse) == 2 && as_plan_is_silent(t->plan));
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
 * state, an error that it gives itself is none of a fault. */
static bool stopped_half_way(struct as_trial *t, const struct as_op *op,
			     const struct as_outcome *got)
{
	const struct as_op_info *info = &as_op_table[op->code];

	if (info->changes == AS_CHANGES_NOTHING && info->reads != AS_READS_NOTHING)
		return false;
	if (as_op_fell_short(op, got->ret))
		return true;
	return got->ret < 0 && as_trial_told(t, got->err) &&
	       (t->blind || !as_model_judge(t->model, op, got, &t->verdict));
}

/* The slot is free whatever close answers. False: the model does not know it. */
static bool free_slot(struct as_trial *t, const struct as_op *op)
{
	struct as_outcome closed = { 0 };

	return as_model_judge(t->model, op, &closed, &t->verdict);
}

/* It has failed, and that is explained. */
static enum as_trial_did excused(struct as_trial *t, uint32_t i, const struct as_op *op,
				 const struct as_outcome *got, enum what what)
{
	bool closed = as_op_closes(op->code) && free_slot(t, op);

	t->unsure = true;
	t->blind |= what == LOSE || what == END;
	if (as_op_closes(op->code) && !closed && what != END) {
		t->blind = true;
		what = t->way == AS_TRIAL_RUN || t->way == AS_TRIAL_START ? LOSE : END;
	}
	if (t->ops->excused && !t->ops->excused(t->ctx, i, op, got, closed))
		return AS_TRIAL_ENDED;
	if (what == END)
		return AS_TRIAL_ENDED;
	return what == LOSE ? AS_TRIAL_BLIND : AS_TRIAL_FOLLOWED;
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
	const struct decision *row;

	as_buf_clear(&t->why);
	facts |= as_facts_allowed(t, op, got, &t->why);
	row = decide(t, ALLOWED, facts, NULL);
	t->row = row->name;
	switch (row->what[t->way]) {
	case WRONG:
		return wrong(t, i, op, AS_FIND_OUTCOME, &t->why);
	case END:
		return AS_TRIAL_ENDED;
	case UNSURE:
		t->unsure = true;
		return agreed(t, i, op, got);
	default:
		as_assert(row->what[t->way] == AGREE);
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
	const struct decision *row = NULL;

	facts |= as_facts_refused(t, op, got);
	do {
		row = decide(t, REFUSED, facts, row);
		t->row = row->name;
		switch (row->what[t->way]) {
		case PART:
			if (part_agrees(t, op, got))
				return agreed(t, i, op, got);
			break;
		case OFF:
			t->off = t->blind = true;
			return AS_TRIAL_BLIND;
		case BLIND:
			t->blind = true;
			return AS_TRIAL_BLIND;
		case FOLLOW:
		case LOSE:
		case END:
			return excused(t, i, op, got, row->what[t->way]);
		default:
			as_assert(row->what[t->way] == WRONG);
			return wrong(t, i, op, t->verdict.kind, &t->verdict.why);
		}
	} while (true);
}

static enum as_trial_did judge(struct as_trial *t, uint32_t i, const struct as_op *op,
			       const struct as_outcome *got)
{
	uint64_t facts = as_facts_answered(t, op, got);
	const struct decision *row = decide(t, ANSWERED, facts, NULL);

	t->row = row->name;
	t->noticed |= (facts & AS_FACT(HIT)) && (facts & AS_FACT(DAMAGED));
	switch (row->what[t->way]) {
	case BLIND:
		if (facts & AS_FACT(HIT) && !(facts & (AS_FACT(STRICT) | AS_FACT(INSIDE))))
			t->half_done |= stopped_half_way(t, op, got);
		t->blind = true;
		return AS_TRIAL_BLIND;
	case SKIP:
		return AS_TRIAL_BLIND;
	case LOOSEN:
		as_trial_loosen(t);
		return excused(t, i, op, got, FOLLOW);
	case LOSE:
	case END:
		return excused(t, i, op, got, row->what[t->way]);
	default:
		as_assert(row->what[t->way] == JUDGE);
	}
	if (as_model_judge(t->model, op, got, &t->verdict))
		return allowed(t, i, op, got, facts);
	return refused(t, i, op, got, facts);
}

/* ---- One operation --------------------------------------------------------------------------- */

void as_trial_begin(struct as_trial *t)
{
	t->hit = t->unsure = t->blind = t->half_done = t->full = t->off = t->unclean = false;
	t->met = t->noticed = false;
}

void as_trial_end(struct as_trial *t)
{
	as_verdict_free(&t->verdict);
	as_buf_free(&t->why);
}

/* How it was left, whatever the model thinks of the answer. */
static void note_mount(struct as_trial *t, const struct as_op *op, const struct as_outcome *got)
{
	if (op->code == AS_OP_CRASH)
		t->unclean = got->ret < 0;
	else if (op->code == AS_OP_MOUNT && got->ret >= 0)
		t->unclean = false;
	else if (op->code == AS_OP_UMOUNT && got->ret < 0 && as_trial_excuses(t, got->err))
		t->unclean = true;
}

enum as_trial_did as_trial_op(struct as_trial *t, uint32_t i, const struct as_op *op,
			      struct as_outcome *got)
{
	const struct as_trial_ops *ops = t->ops;
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
	return judge(t, i, op, got);
}

bool as_trial_goes_on(enum as_trial_did did)
{
	return did != AS_TRIAL_ENDED && did != AS_TRIAL_WRONG;
}

/* ---- The tree -------------------------------------------------------------------------------- */

bool as_trial_tree_agrees(struct as_trial *t, const struct as_instance_reader *reader, int *failed,
			  struct as_buf *why)
{
	bool differs = true;

	as_model_tree_read(t->model, INT64_MAX);
	for (int i = 0; i < 2 && differs; i++) {
		as_buf_clear(why);
		if (failed)
			*failed = 0;
		differs = as_model_compare(t->model, reader->ops, reader->ctx, why);
		if (!differs || !failed || !*failed || !as_trial_excuses(t, *failed))
			break;
		differs = i == 0;
	}
	as_model_tree_read(t->model, as_instance_time_until(t->instance));
	return !differs;
}
