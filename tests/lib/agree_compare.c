/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agree_compare: see agree_compare.h. SHOW="write:2:eio" in the environment prints what each way
 * made of that plan. */
#include "tests/lib/agree_compare.h"

#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* ---- Where ways differ on purpose ------------------------------------------------------------ */

enum on { ON_ANY, ON_LENIENT };

static const struct differ {
	unsigned way;
	enum on on;
	enum t_did run, way_did;
	uint64_t quirk; /* of the target; 0: any */
	bool in_part; /* only of an operation that did a part */
	bool cuts; /* only of a `crash` in the workload */
	const char *why;
} differs[] = {
	{ T_WAY_CRASH, ON_ANY, T_DID_BLIND, T_DID_END, 0, false, false,
	  "a record ends where the model cannot follow: a power cut could not be judged" },
	{ T_WAY_CRASH, ON_LENIENT, T_DID_BLIND, T_DID_AGREE, 0, false, false,
	  "a record believes an answer that the model allows (record.c, rule 3)" },
	{ T_WAY_CRASH, ON_ANY, T_DID_AGREE, T_DID_END, 0, true, false,
	  "what the failure has left of the rest is not known on the disk (record.c, rule 6)" },
	{ T_WAY_CRASH, ON_ANY, T_DID_FOLLOW, T_DID_END, AS_QUIRK_SYNC_FORGETS, false, false,
	  "an fsync that succeeds later promises nothing of what is forgotten (record.c, rule 5)" },
	{ T_WAY_CRASH, ON_ANY, T_DID_AGREE, T_DID_END, 0, false, true,
	  "what the mount finds, the model does not know: rounds go on there (crash/rounds.h)" },
	{ T_WAY_CRASH, ON_ANY, T_DID_FOLLOW, T_DID_END, AS_QUIRK_FULL_DROPS, false, false,
	  "what is on the disk of contents that may be lost is not known" },
	{ T_WAY_CHECK, ON_ANY, T_DID_FOLLOW, T_DID_END, AS_QUIRK_FULL_DROPS, false, false,
	  "a state has contents that are known" },
	{ T_WAY_CHECK, ON_ANY, T_DID_BLIND, T_DID_END, 0, false, false,
	  "what is not known is no state from which a trace could go on" },
};

static bool may_differ(const struct t_agree *on, unsigned way, bool cuts, const struct t_step *run,
		       const struct t_step *other)
{
	for (size_t i = 0; i < N_ROWS(differs); i++) {
		const struct differ *d = &differs[i];

		if (d->way == way && d->run == run->did && d->way_did == other->did &&
		    (d->on == ON_ANY || !on->strict) && (!d->quirk || on->quirks & d->quirk) &&
		    (!d->in_part || run->fell_short) && (!d->cuts || cuts))
			return true;
	}
	return false;
}

/* ---- What they do not agree on --------------------------------------------------------------- */

#define KINDS_MAX 64

/* Of a kind the first case is kept, and how many there were. */
static struct disagreement {
	char kind[192], first[1400];
	unsigned n;
} disagreements[KINDS_MAX];
static size_t n_disagreements;
static unsigned n_cases;

struct at {
	const struct t_sweep *sweep;
	const char *target;
	size_t plan;
};

static const char *op_name(const struct as_seq *seq, size_t i)
{
	if (!i)
		return "the mount";
	return i > seq->n ? "the unmount" : as_op_table[seq->ops[i - 1].code].name;
}

static const char *words(const struct t_step *step, char text[64])
{
	snprintf(text, 64, "%s%s%s", t_did_name(step->did), step->ret < 0 ? " " : "",
		 step->ret < 0 ? as_outcome_err_name(step->err) : "");
	return text;
}

static void add(const struct at *at, const char *kind, unsigned way, const struct t_steps *run,
		const struct t_steps *other, size_t i)
{
	size_t k = 0;

	while (k < n_disagreements && strcmp(disagreements[k].kind, kind))
		k++;
	if (k == KINDS_MAX)
		return;
	if (k == n_disagreements) {
		n_disagreements++;
		snprintf(disagreements[k].kind, sizeof(disagreements[k].kind), "%s", kind);
		snprintf(disagreements[k].first, sizeof(disagreements[k].first),
			 "workload %s, --fault \"%s\", operation %zu; run: %s%s; %s: %s%s",
			 at->sweep->workload, at->sweep->text[at->plan], i, run->why, run->tree,
			 t_ways[way].name, other->why, other->tree);
	}
	disagreements[k].n++;
}

static void disagree(const struct at *at, unsigned way, const struct t_steps *run,
		     const struct t_steps *other, size_t i)
{
	char a[64], b[64], kind[sizeof(disagreements[0].kind)];

	snprintf(kind, sizeof(kind), "%s: %s: run %s, %s %s", at->target,
		 op_name(at->sweep->seq, i), words(&run->step[i], a), t_ways[way].name,
		 words(&other->step[i], b));
	add(at, kind, way, run, other, i);
}

/* Whether nothing that follows can be compared: the way has ended, or has found something. */
static bool is_over(const struct t_step *step)
{
	return step->did == T_DID_END || step->did == T_DID_WRONG || step->did == T_DID_NOTHING;
}

/* A kernel writes when it likes: then the plan meets another call, and the rest differs. */
static bool is_another_story(const struct t_agree *on, const struct t_step *a,
			     const struct t_step *b)
{
	return !on->certain && a->did != T_DID_WRONG && b->did != T_DID_WRONG;
}

static bool is_cut(const struct as_seq *seq, size_t i)
{
	return i && i <= seq->n && seq->ops[i - 1].code == AS_OP_CRASH;
}

static void compare(const struct at *at, unsigned way, const struct t_steps *run,
		    const struct t_steps *other)
{
	const struct t_agree *on = at->sweep->on;

	for (size_t i = 0; i <= at->sweep->seq->n + 1; i++) {
		const struct t_step *a = &run->step[i], *b = &other->step[i];

		if (a->did != b->did && !may_differ(on, way, is_cut(at->sweep->seq, i), a, b)) {
			if (!is_another_story(on, a, b))
				disagree(at, way, run, other, i);
			return;
		}
		if (is_over(a) || is_over(b))
			return;
	}
	if (way == T_WAY_HUNT && strcmp(run->tree, other->tree))
		disagree(at, way, run, other, at->sweep->seq->n + 1);
}

/* What a library without bugs does is right, unless the disk lies. */
static void must_be_right(const struct at *at, const struct t_steps *run)
{
	const struct as_plan *plan = at->sweep->plan[at->plan];
	char kind[sizeof(disagreements[0].kind)];
	size_t i = 0;

	if (at->sweep->on->is_odd || (plan && as_plan_is_silent(plan)) ||
	    (!*run->why && !*run->tree))
		return;
	while (i < run->n + 1 && run->step[i].did != T_DID_WRONG)
		i++;
	snprintf(kind, sizeof(kind), "%s: %s: %s: a finding", at->target, at->sweep->workload,
		 op_name(at->sweep->seq, i));
	add(at, kind, T_WAY_RUN, run, run, i);
}

static void show(const struct at *at, const char *way, const struct t_steps *s)
{
	char text[64];

	if (!getenv("SHOW") || strcmp(getenv("SHOW"), at->sweep->text[at->plan]))
		return;
	print_message("%s %s %s%s:", at->sweep->workload, way, at->sweep->text[at->plan],
		      s->fired ? ", which hit" : "");
	for (size_t i = 0; i <= s->n + 1; i++)
		print_message(" %s=%s", op_name(at->sweep->seq, i), words(&s->step[i], text));
	print_message(" %s%s\n", s->why, s->tree);
}

static struct as_decided met[T_WAYS];

void t_agree_meet(unsigned way, const struct as_decided *decided)
{
	met[way].rows |= decided->rows;
	met[way].excuses |= decided->excuses;
}

struct as_decided t_agree_met(unsigned way)
{
	return met[way];
}

unsigned t_sweep_try(struct t_sweep *sweep, const char *target, struct t_steps *run)
{
	struct t_steps *steps[T_WAYS] = { NULL };
	struct at at = { sweep, target, 0 };
	struct as_err err = { 0 };
	unsigned hits = 0;

	for (unsigned way = 0; way < T_WAYS; way++) {
		steps[way] = as_xcalloc(T_PLANS_MAX, sizeof(*steps[way]));
		if (t_ways[way].go(sweep, steps[0], steps[way], &err))
			fail_msg("%s, workload %s, %s, --fault %s ...: %s", target, sweep->workload,
				 t_ways[way].name, sweep->text[0], err.msg);
		for (size_t i = 0; way == T_WAY_RUN && !sweep->patient && i < sweep->n; i++)
			if (!steps[way][i].fired && sweep->plan[i])
				sweep->n = i;
		for (at.plan = 0; at.plan < sweep->n; at.plan++) {
			show(&at, t_ways[way].name, &steps[way][at.plan]);
			t_agree_meet(way, &steps[way][at.plan].decided);
			if (!way)
				must_be_right(&at, &steps[0][at.plan]);
			else if (!steps[way][at.plan].refused)
				compare(&at, way, &steps[0][at.plan], &steps[way][at.plan]);
		}
		if (!sweep->n)
			break; /* already the first plan has hit nothing */
	}
	for (size_t i = 0; i < sweep->n; i++)
		hits += steps[0][i].fired;
	if (run)
		*run = steps[0][0];
	n_cases += (unsigned)sweep->n;
	for (unsigned way = 0; way < T_WAYS; way++)
		free(steps[way]);
	return hits;
}

void t_agree_tell(void)
{
	size_t n = n_disagreements;

	for (size_t i = 0; i < n; i++)
		print_message("%4u times  %s\n            %s\n", disagreements[i].n,
			      disagreements[i].kind, disagreements[i].first);
	print_message("%u cases\n", n_cases);
	n_disagreements = 0;
	n_cases = 0;
	assert_int_equal(n, 0);
}

/* ---- Sweeps ---------------------------------------------------------------------------------- */

struct t_sweep *t_sweep_new(struct t_agree *on, const char *name, const char *workload)
{
	struct t_sweep *sweep = as_xcalloc(1, sizeof(*sweep));
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text(name, workload, strlen(workload), &seq, &err))
		fail_msg("%s: %s", name, err.msg);
	sweep->on = on;
	sweep->workload = name;
	sweep->seq = seq;
	return sweep;
}

void t_sweep_free(struct t_sweep *sweep)
{
	for (size_t i = 0; i < T_PLANS_MAX; i++)
		as_plan_free(sweep->plan[i]);
	as_seq_free((struct as_seq *)(uintptr_t)sweep->seq);
	free(sweep);
}

void t_sweep_add(struct t_sweep *sweep, const char *text)
{
	size_t i = sweep->n++;
	struct as_err err = { 0 };

	if (!text)
		return;
	snprintf(sweep->text[i], sizeof(sweep->text[i]), "%s", text);
	if (as_plan_parse(text, &sweep->plan[i], &err))
		fail_msg("%s: %s", text, err.msg);
}
