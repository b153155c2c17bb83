/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run, hunt, crash and check agree on what becomes of each operation while something fails: it is
 * followed as one that failed, the rest is blind, the way ends, or it is wrong.
 *
 * Method. A plan fails call N of a kind, for N = 1, 2, 3, ... until a run ends in which nothing
 * failed. Each way carries each plan out (tests/lib/agree.h), and is compared with the run, an
 * operation at a time, up to its own end. Where a way differs on purpose, a row of `differs` says
 * so, and why. A cell is a target, a kind of fault, and whether the fault stays: each is reached by
 * some workload, or a row of `empty` says why it cannot be. What a power cut shows afterwards is
 * not compared, nor what the tree and the disk are like at the end, but for run and hunt, which
 * come to the same in everything.
 */
#include "tests/lib/agree.h"
#include "tests/lib/agree_cases.h"
#include "tests/lib/mounted.h"
#include "tests/lib/skip.h"

#include "work/parse.h"

#include "crash/crash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	{ T_WAY_CHECK, ON_ANY, T_DID_BLIND, T_DID_END, 0, false, false,
	  "what is not known is no state from which a trace could go on" },
};

static bool may_differ(const struct t_agree *on, unsigned way, bool cuts, const struct t_step *run,
		       const struct t_step *other)
{
	for (size_t i = 0; i < N_ROWS(differs); i++) {
		const struct differ *d = &differs[i];

		if (d->way == way && d->run == run->did && d->way_did == other->did &&
		    (d->on == ON_ANY || !on->strict) &&
		    (!d->quirk || on->quirks & d->quirk) && (!d->in_part || run->fell_short) && (!d->cuts || cuts))
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
	const char *target, *workload;
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

static void disagree(const struct at *at, unsigned way, const struct t_steps *run,
		     const struct t_steps *other, size_t i)
{
	char a[64], b[64], kind[sizeof(disagreements[0].kind)];
	size_t k = 0;

	snprintf(kind, sizeof(kind), "%s: %s: run %s, %s %s", at->target,
		 op_name(at->sweep->seq, i), words(&run->step[i], a), t_ways[way].name,
		 words(&other->step[i], b));
	while (k < n_disagreements && strcmp(disagreements[k].kind, kind))
		k++;
	if (k == KINDS_MAX)
		return;
	if (k == n_disagreements) {
		n_disagreements++;
		snprintf(disagreements[k].kind, sizeof(disagreements[k].kind), "%s", kind);
		snprintf(disagreements[k].first, sizeof(disagreements[k].first),
			 "workload %s, --fault \"%s\", operation %zu; run: %s%s; %s: %s%s",
			 at->workload, at->sweep->text[at->plan], i, run->why, run->tree,
			 t_ways[way].name, other->why, other->tree);
	}
	disagreements[k].n++;
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

static void show(const struct at *at, const char *way, const struct t_steps *s)
{
	char text[64];

	if (!getenv("SHOW") || strcmp(getenv("SHOW"), at->sweep->text[at->plan]))
		return;
	print_message("%s %s %s%s:", at->workload, way, at->sweep->text[at->plan],
		      s->fired ? ", which hit" : "");
	for (size_t i = 0; i <= s->n + 1; i++)
		print_message(" %s=%s", op_name(at->sweep->seq, i), words(&s->step[i], text));
	print_message(" %s%s\n", s->why, s->tree);
}

/* ---- One sweep ------------------------------------------------------------------------------- */

/* Returns how many plans hit something. */
static unsigned try_sweep(struct t_sweep *sweep, const char *target, const char *workload)
{
	struct t_steps *steps[T_WAYS] = { NULL };
	struct at at = { sweep, target, workload, 0 };
	struct as_err err = { 0 };
	unsigned hits = 0;

	for (unsigned way = 0; way < T_WAYS; way++) {
		steps[way] = as_xcalloc(T_PLANS_MAX, sizeof(*steps[way]));
		if (t_ways[way].go(sweep, steps[0], steps[way], &err))
			fail_msg("%s, workload %s, %s, --fault %s ...: %s", target, workload,
				 t_ways[way].name, sweep->text[0], err.msg);
		for (size_t i = 0; way == T_WAY_RUN && !sweep->patient && i < sweep->n; i++)
			if (!steps[way][i].fired && sweep->plan[i])
				sweep->n = i;
		for (at.plan = 0; at.plan < sweep->n; at.plan++) {
			show(&at, t_ways[way].name, &steps[way][at.plan]);
			if (way && !steps[way][at.plan].refused)
				compare(&at, way, &steps[0][at.plan], &steps[way][at.plan]);
		}
		if (!sweep->n)
			break;
	}
	for (size_t i = 0; i < sweep->n; i++)
		hits += steps[0][i].fired;
	n_cases += (unsigned)sweep->n;
	for (unsigned way = 0; way < T_WAYS; way++)
		free(steps[way]);
	return hits;
}

static void add_plan(struct t_sweep *sweep, const char *text)
{
	size_t i = sweep->n++;
	struct as_err err = { 0 };

	snprintf(sweep->text[i], sizeof(sweep->text[i]), "%s", text);
	if (as_plan_parse(text, &sweep->plan[i], &err))
		fail_msg("%s: %s", text, err.msg);
}

static void print_rule(const struct fault *f, unsigned n, bool stays, char text[64])
{
	bool alloc = !strcmp(f->kind, "alloc");
	size_t len = 0;

	for (unsigned i = 0; i < (alloc && stays ? STAYS_ALLOCS : 1); i++)
		len += (size_t)snprintf(text + len, 64 - len, "%s%s:%u%s%s", i ? " " : "", f->kind,
					n + i, !alloc && stays ? "+" : "", f->then);
}

static void sweep_free(struct t_sweep *sweep)
{
	for (size_t i = 0; i < T_PLANS_MAX; i++)
		as_plan_free(sweep->plan[i]);
	as_seq_free((struct as_seq *)(uintptr_t)sweep->seq);
	free(sweep);
}

static struct t_sweep *sweep_new(struct t_agree *on, const struct workload *w)
{
	struct t_sweep *sweep = as_xcalloc(1, sizeof(*sweep));
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text(w->name, w->text, strlen(w->text), &seq, &err))
		fail_msg("%s: %s", w->name, err.msg);
	sweep->on = on;
	sweep->seq = seq;
	return sweep;
}

static unsigned try_fault(struct t_agree *on, const struct subject *s, const struct workload *w,
			  const struct fault *f, bool stays)
{
	struct t_sweep *sweep = sweep_new(on, w);
	size_t most = s->is & IS_KERNEL ? 3 : f->patient ? 10 : T_PLANS_MAX;
	unsigned hits;
	char text[64];

	for (unsigned n = s->is & IS_KERNEL ? 4 : 1; sweep->n < most;
	     n += s->is & IS_KERNEL ? n * 4 : 1 + n / f->slower) {
		print_rule(f, n, stays, text);
		add_plan(sweep, text);
	}
	sweep->patient = f->patient || s->is & IS_KERNEL;
	hits = try_sweep(sweep, s->name, w->name);
	sweep_free(sweep);
	return hits;
}

/* ---- Targets --------------------------------------------------------------------------------- */

static const char *why_empty(const struct subject *s, const struct fault *f, bool stays)
{
	for (size_t i = 0; i < N_ROWS(empty); i++) {
		const struct empty *e = &empty[i];

		if ((e->is ? (s->is & e->is) == e->is : !(s->is & IS_FLASH)) &&
		    !strcmp(e->kind, f->kind) && (!*e->then || !strcmp(e->then, f->then)) &&
		    (e->stays < 0 || e->stays == (int)stays))
			return e->why;
	}
	return NULL;
}

/* Returns how many cells are wrong: empty without a reason, or with one and not empty. */
static unsigned try_cells(struct t_agree *on, const struct subject *s)
{
	const struct workload *w = s->is & IS_KERNEL ? kernel_workloads : workloads;
	size_t n = s->is & IS_KERNEL ? N_ROWS(kernel_workloads) : N_ROWS(workloads);
	unsigned bad = 0;

	for (size_t f = 0; f < N_ROWS(faults); f++)
		for (unsigned stays = 0; stays < 2; stays++) {
			const char *why = why_empty(s, &faults[f], stays);
			unsigned hits = 0;

			for (size_t i = 0; i < n; i++)
				hits += try_fault(on, s, &w[i], &faults[f], stays);
			if (!hits == (why != NULL))
				continue;
			bad++;
			print_message("%s: the cell %s%s%s %s\n", s->name, faults[f].kind,
				      faults[f].then, stays ? ", which stays," : "",
				      why ? "was reached, but is to be empty" : "is not reached");
		}
	return bad;
}

/* Nothing fails: all agree on each operation. */
static void try_sound(struct t_agree *on, const struct subject *s)
{
	for (size_t i = 0; i < N_ROWS(workloads); i++) {
		struct t_sweep *sweep = sweep_new(on, &workloads[i]);

		sweep->n = 1;
		(void)try_sweep(sweep, s->name, workloads[i].name);
		sweep_free(sweep);
	}
}

static void tell(void)
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

static void try_subject(const struct subject *s)
{
	char spec[4400];
	struct t_agree *on;
	unsigned bad;

	if (s->plugin)
		snprintf(spec, sizeof(spec), "plugin:%s/%s%s", t_agree_plugins(), s->plugin, s->spec);
	else
		snprintf(spec, sizeof(spec), "%s", s->spec);
	on = t_agree_open(spec);
	try_sound(on, s);
	bad = try_cells(on, s);
	t_agree_close(on);
	tell();
	assert_int_equal(bad, 0);
}

static const struct subject lab = { "lab", NULL, "lab", 0 };
static const struct subject skeleton = { "skeleton", "skeleton.so", "", WRITES_SECTORS };
static const struct subject memfs = { "memfs", "memfs.so", "", 0 };
/* Programs of a record are torn into several (disk/flash.c): then a plan would meet others. */
static const struct subject flashfs = { "flashfs", "flashfs.so", ":flash.tear=off", IS_FLASH };
static const struct subject pairfs = { "pairfs", "pairfs.so", ":flash.tear=off", IS_FLASH };
static const struct subject ext2lib = { "ext2lib", "ext2lib.so", "", 0 };
static const struct subject ext4 = { "ext4", NULL, "ext4", IS_KERNEL | NO_ALLOC };

static void test_subject(void **state)
{
	const struct subject *s = *state;

	if (s->is & IS_KERNEL)
		t_need_host(s->spec);
	if (s->plugin && !t_agree_has_plugin(s->plugin))
		skip_because("%s was not built", s->plugin);
	try_subject(s);
}

#define SUBJECT(row) { #row, test_subject, NULL, NULL, (void *)(uintptr_t)&(row) }

int main(void)
{
	const struct CMUnitTest tests[] = {
		SUBJECT(lab),	 SUBJECT(skeleton), SUBJECT(memfs), SUBJECT(flashfs),
		SUBJECT(pairfs), SUBJECT(ext2lib),  SUBJECT(ext4),
	};

	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
