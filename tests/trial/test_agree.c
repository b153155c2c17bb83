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
#include "tests/lib/agree_cases.h"
#include "tests/lib/agree_compare.h"
#include "tests/lib/agree_guest.h"
#include "tests/lib/mounted.h"
#include "tests/lib/skip.h"

#include "base/choice.h"
#include "gen/profile.h"
#include "hunt/stream.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_rule(const struct fault *f, unsigned n, bool stays, char text[64])
{
	bool alloc = !strcmp(f->kind, "alloc");
	size_t len = 0;

	for (unsigned i = 0; i < (alloc && stays ? STAYS_ALLOCS : 1); i++)
		len += (size_t)snprintf(text + len, 64 - len, "%s%s:%u%s%s", i ? " " : "", f->kind,
					n + i, !alloc && stays ? "+" : "", f->then);
}

#define CALLS_MAX 100000u

static unsigned after(const struct subject *s, const struct fault *f, unsigned n)
{
	if (s->is & IS_KERNEL)
		return n * 7;
	return n + 1 + (s->is & IS_DENSE ? n / f->slower : n);
}

static unsigned try_fault(struct t_agree *on, const struct subject *s, const struct workload *w,
			  const struct fault *f, bool stays)
{
	struct t_sweep *sweep = t_sweep_new(on, w->name, w->text);
	bool kernel = s->is & IS_KERNEL;
	size_t most = kernel ? 2 : f->patient ? 10 : T_PLANS_MAX;
	unsigned hits;
	char text[64];

	for (unsigned n = kernel ? 4 : 1; sweep->n < most && n < CALLS_MAX; n = after(s, f, n)) {
		print_rule(f, n, stays, text);
		t_sweep_add(sweep, text);
	}
	sweep->patient = f->patient || kernel;
	hits = t_sweep_try(sweep, s->name, NULL);
	t_sweep_free(sweep);
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

static bool is_one_of_few(const struct fault *f)
{
	return !strcmp(f->then, ":eio") || !*f->then ||
	       (!strcmp(f->then, ":enospc") && !strcmp(f->kind, "write"));
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

			if (s->is & IS_FEW && !is_one_of_few(&faults[f]))
				continue;
			for (size_t i = 0; i < n; i++)
				if (!(s->is & NOT_MANY && !strcmp(w[i].name, "many calls")))
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

static void try_one(struct t_agree *on, const struct subject *s, const struct workload *w,
		    const char *plan)
{
	struct t_sweep *sweep = t_sweep_new(on, w->name, w->text);

	sweep->patient = true;
	t_sweep_add(sweep, plan);
	(void)t_sweep_try(sweep, s->name, NULL);
	t_sweep_free(sweep);
}

/* Nothing fails: all agree on each operation. */
static void try_sound(struct t_agree *on, const struct subject *s)
{
	for (size_t i = 0; i < N_ROWS(workloads); i++)
		try_one(on, s, &workloads[i], NULL);
	if (s->is & IS_KERNEL)
		return;
	try_one(on, s, &full, NULL);
	try_one(on, s, &left_open, NULL);
}

/* Several faults in one plan, at the mount, and on a disk that is full besides. */
static void try_mixed(struct t_agree *on, const struct subject *s)
{
	for (size_t p = 0; p < N_ROWS(mixed); p++) {
		for (size_t i = 0; i < N_ROWS(workloads); i++)
			if (!(s->is & NOT_MANY && !strcmp(workloads[i].name, "many calls")))
				try_one(on, s, &workloads[i], mixed[p]);
		try_one(on, s, &full, mixed[p]);
	}
}

/* ---- Plans that are drawn -------------------------------------------------------------------- */

#define DRAWN_RULES 3u
#define DRAWN_PLANS 3u /* of each workload */

/* A few rules, most of them of an early call: "read:12+:eio alloc:40". */
static void draw_plan(struct as_choice *choice, bool flash, char text[64])
{
	unsigned n = 1 + as_choose(choice, DRAWN_RULES);
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct fault *f;
		bool stays, alloc;
		unsigned at;

		do {
			f = &faults[as_choose(choice, N_ROWS(faults))];
		} while (!strcmp(f->kind, flash ? "flush" : "erase") ||
			 !strcmp(f->then, ":tear=1"));
		alloc = !strcmp(f->kind, "alloc");
		stays = !alloc && !as_choose(choice, 3);
		at = 1 + as_choose(choice, 1u << (2 + as_choose(choice, 6)));
		len += (size_t)snprintf(text + len, 64 - len, "%s%s:%u%s%s", i ? " " : "", f->kind,
					at, stays ? "+" : "", f->then);
	}
}

/* PLANS=N in the environment draws N of each workload, SEED=N others. */
static void try_plans(struct t_agree *on, const struct subject *s)
{
	const char *more = getenv("PLANS"), *seed = getenv("SEED");
	unsigned n = more ? (unsigned)atoi(more) : DRAWN_PLANS;
	struct as_chooser *chooser = as_chooser_seeded(seed ? (uint64_t)atoi(seed) : 1);
	struct as_choice *choice = as_chooser_choice(chooser);

	for (size_t i = 0; i <= N_ROWS(workloads); i++) {
		const struct workload *w = i < N_ROWS(workloads) ? &workloads[i] : &full;
		struct t_sweep *sweep;
		char text[64];

		if (s->is & NOT_MANY && !strcmp(w->name, "many calls"))
			continue;
		sweep = t_sweep_new(on, w->name, w->text);
		sweep->patient = true;
		while (sweep->n < n && sweep->n < T_PLANS_MAX) {
			draw_plan(choice, s->is & IS_FLASH, text);
			t_sweep_add(sweep, text);
		}
		(void)t_sweep_try(sweep, s->name, NULL);
		t_sweep_free(sweep);
	}
	as_chooser_free(chooser);
}

/* ---- Workloads that are drawn ---------------------------------------------------------------- */

#define DRAWN_OPS 24u
#define SEEDS 4u

/* The first operations of one, and one that shows what the last came to. */
static struct t_sweep *draw(struct t_agree *on, uint64_t seed)
{
	struct as_profile *profile = as_profile_new();
	struct as_stream *stream = NULL;
	struct as_buf text = { 0 };
	struct t_sweep *sweep;
	struct as_err err = { 0 };
	struct as_seq *seq;

	if (as_stream_new(profile, as_runner_fresh(on->runner).traits, seed, 0, &stream, &err))
		fail_msg("%s", err.msg);
	seq = as_stream_next(stream);
	for (size_t i = 0; i < seq->n && i < DRAWN_OPS; i++) {
		as_print_op(&seq->ops[i], &text);
		as_buf_addc(&text, '\n');
	}
	as_buf_adds(&text, "stat /\n");
	sweep = t_sweep_new(on, "drawn", as_buf_str(&text));
	as_seq_free(seq);
	as_stream_free(stream);
	free(profile);
	as_buf_free(&text);
	return sweep;
}

static void try_drawn(struct t_agree *on, const struct subject *s)
{
	static const struct fault some[] = { { "write", ":enospc", 3, false },
					     { "read", ":eilseq", 3, false },
					     { "alloc", "", 3, false } };

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		for (size_t f = 0; f < N_ROWS(some); f++) {
			struct t_sweep *sweep = draw(on, seed);
			char text[64];

			for (unsigned n = 1; sweep->n < T_PLANS_MAX; n = after(s, &some[f], n)) {
				print_rule(&some[f], n, seed % 2, text);
				t_sweep_add(sweep, text);
			}
			(void)t_sweep_try(sweep, s->name, NULL);
			t_sweep_free(sweep);
		}
}

/* ---- Subjects -------------------------------------------------------------------------------- */

static const struct subject subjects[] = {
	{ "lab", NULL, "lab", IS_DENSE },
	{ "skeleton", "skeleton.so", "", WRITES_SECTORS },
	{ "memfs", "memfs.so", "", 0 },
	/* Programs of a record are torn into several (disk/flash.c): then a plan meets others. */
	{ "flashfs", "flashfs.so", ":flash.tear=off", IS_FLASH },
	{ "pairfs", "pairfs.so", ":flash.tear=off", IS_FLASH },
	/* Where a read has failed, it can leave a directory in a circle: then `deepen` goes on for
	 * minutes. */
	{ "ext2lib", "ext2lib.so", "", IS_FEW | NOT_MANY },
	/* labfs with other promises (odd_plugin.c). */
	{ "lenient", NULL, NULL, IS_FEW },
	{ "forgets", NULL, NULL, IS_FEW },
	{ "drops", NULL, NULL, IS_FEW },
	{ "ext4", NULL, "ext4", IS_KERNEL | IS_FEW },
	{ "ext4 in a guest", NULL, "ext4", IS_KERNEL | IS_FEW | IS_BOXED },
};

static unsigned n_skipped;

static void spec_of(const struct subject *s, char *spec, size_t room)
{
	bool there = true;

	if (s->plugin) {
		snprintf(spec, room, "plugin:%s/%s%s", t_agree_plugins(), s->plugin, s->spec);
		there = t_agree_has_plugin(s->plugin);
	} else if (s->spec) {
		snprintf(spec, room, "%s", s->spec);
	} else {
		there = t_agree_odd(s->name, spec, room);
	}
	if (there)
		return;
	n_skipped++;
	skip_because("the plugin %s was not built", s->name);
}

static void try_subject(const struct subject *s)
{
	struct t_agree *on;
	char spec[4400];
	unsigned bad;

	spec_of(s, spec, sizeof(spec));
	on = t_agree_open(spec);
	try_sound(on, s);
	bad = try_cells(on, s);
	if (!(s->is & IS_KERNEL)) {
		try_plans(on, s);
		try_mixed(on, s);
	}
	if (s->is & IS_DENSE)
		try_drawn(on, s);
	t_agree_close(on);
	t_agree_tell();
	assert_int_equal(bad, 0);
}

/* A type of the kernel runs on the machine's own and in a guest. */
static void test_subject(void **state)
{
	const struct subject *s = *state;

	if (s->is & IS_BOXED) {
		t_agree_in_guest(s->spec, s->name);
		return;
	}
	if (s->is & IS_KERNEL)
		t_need_host(s->spec);
	try_subject(s);
}

static void test_inside(void **state)
{
	try_subject(*state);
	t_agree_say_met();
}

/* ---- What is wrong is found ------------------------------------------------------------------ */

static const struct odd {
	const char *name; /* of odd_plugin.c */
	struct workload workload;
	const char *plan;
	size_t op; /* 0: the mount */
	const char *words;
} odds[] = {
	{ "full", { "no room", "mkdir /a 0755\nmkdir /full 0755\nstat /\n" }, NULL, 2, "ENOSPC" },
	{ "late", { "times", "mkdir /late 0755\nstat /late\nstat /\n" }, NULL, 2, "mtime" },
	{ "odd", { "errors", "mkdir /a 0755\nsync\nstat /\n" }, "write:2+:eio", 2, "ENXIO" },
	{ "oddmount", { "a mount", "mkdir /a 0755\nstat /\n" }, "read:1:eio", 0, "ENXIO" },
	{ "oddmount",
	  { "another", "mkdir /a 0755\numount\nmount\nstat /\n" },
	  "read:7+:eio",
	  3,
	  "ENXIO" },
	{ "oddunmount", { "an unmount", "mkdir /a 0755\nstat /\n" }, NULL, 3, "ENXIO" },
	{ "stray", { "misuse", "mkdir /a 0755\nsync\nstat /\n" }, "write:2+:eio", 2, "read of" },
};

/* All ways say so of the same operation: that they agree is not enough. */
static void test_odd(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(odds); i++) {
		const struct odd *odd = &odds[i];
		struct t_steps run;
		struct t_sweep *sweep;
		struct t_agree *on;
		char spec[4400];

		if (!t_agree_odd(odd->name, spec, sizeof(spec)))
			skip_because("the plugin %s was not built", odd->name);
		on = t_agree_open(spec);
		on->is_odd = true;
		sweep = t_sweep_new(on, odd->workload.name, odd->workload.text);
		t_sweep_add(sweep, odd->plan);
		(void)t_sweep_try(sweep, odd->name, &run);
		if (run.step[odd->op].did != T_DID_WRONG || !strstr(run.why, odd->words))
			fail_msg("%s: operation %zu is %s: %s", odd->name, odd->op,
				 t_did_name(run.step[odd->op].did), run.why);
		t_sweep_free(sweep);
		t_agree_close(on);
	}
	t_agree_tell();
}

/* ---- The table ------------------------------------------------------------------------------- */

static const char inside[] = "failures inside a kernel: test_inside.c has them";
static const char threads[] = "of several threads: tests/race/test_dropped.sh";
static const char no_trial[] = "of who has no trial: test_said()";

/* Rows that no case here reaches, in any way (-1) or in one. */
static const struct unreached {
	const char *row;
	int way;
	const char *why;
} unreached[] = {
	{ "REFUSED.PART", -1, inside },	      { "REFUSED.WRITTEN", -1, inside },
	{ "REFUSED.OFF", -1, inside },	      { "AFTER.LOST", -1, inside },
	{ "AFTER.WARNED", -1, inside },	      { "AFTER.MADE", -1, inside },
	{ "AFTER.ELSE", -1, inside },	      { "ERROR.MET", -1, inside },
	{ "ERROR.OFF", -1, inside },	      { "MISUSE.INSIDE", -1, inside },
	{ "CHECKER.OFF", -1, inside },	      { "CHECKER.LOST", -1, inside },
	{ "CHECKER.WARNED", -1, inside },     { "LOG.DIED", -1, no_trial },
	{ "LOG.STUCK", -1, no_trial },	      { "ORDER.DROPS", -1, threads },
	{ "RECOVERY.REFUSED", -1, no_trial }, { "RECOVERY.REPAIRED", -1, no_trial },
	{ "REDONE.REPAIRED", -1, no_trial },
};

static const struct {
	const char *row;
	const char *what[T_WAYS];
} rows[] = {
#define AS_EXCUSE(...)
#define AS_DECIDE(when, name, all, any, none, run, crash, check, start, why) \
	{ #when "." #name, { #run, #run, #crash, #check, #start } },
#include "trial/excuse.def"
};

static const char *const excuse_rows[] = {
#define AS_EXCUSE(what, name, all, none, why) #what "." #name,
#define AS_DECIDE(...)
#include "trial/excuse.def"
};

static const char *why_unreached(const char *row, int way)
{
	for (size_t i = 0; i < N_ROWS(unreached); i++)
		if (!strcmp(unreached[i].row, row) &&
		    (unreached[i].way < 0 || unreached[i].way == way))
			return unreached[i].why;
	return NULL;
}

static unsigned is_wrong(const char *way, const char *row, bool reached, bool used)
{
	if (reached == used)
		return 0;
	print_message("%s: %s was %sreached\n", way, row, reached ? "" : "not ");
	return 1;
}

/* Each row decides somewhere, in each way that has a use for it; and each excuse explains
 * something, in whatever way. */
static void test_rows(void **state)
{
	uint64_t excuses = 0;
	unsigned bad = 0;

	(void)state;
	if (n_skipped)
		skip_because("%u targets were not there", n_skipped);
	for (unsigned way = 0; way < T_WAY_START; way++) {
		struct as_decided met = t_agree_met(way);

		excuses |= met.excuses;
		for (size_t i = 0; i < N_ROWS(rows); i++) {
			bool used = strcmp(rows[i].what[way], "NEVER") &&
				    strcmp(rows[i].what[way], "NEXT");

			bad += is_wrong(t_ways[way].name, rows[i].row, met.rows >> i & 1,
					used && !why_unreached(rows[i].row, (int)way));
		}
	}
	for (size_t i = 0; i < N_ROWS(excuse_rows); i++)
		bad += is_wrong("no way", excuse_rows[i], excuses >> i & 1,
				!why_unreached(excuse_rows[i], -1));
	assert_int_equal(bad, 0);
}

/* ---- Who has no trial ------------------------------------------------------------------------ */

static const struct {
	enum as_excused what;
	unsigned said;
	bool excused;
} said[] = {
	{ AS_EXCUSED_LOG, 0, false },
	{ AS_EXCUSED_LOG, AS_CLUE_PLAN, false },
	{ AS_EXCUSED_LOG, AS_CLUE_HIT, false },
	{ AS_EXCUSED_LOG, AS_CLUE_DIED, false },
	{ AS_EXCUSED_LOG, AS_CLUE_PLAN | AS_CLUE_HIT, true },
	{ AS_EXCUSED_LOG, AS_CLUE_PLAN | AS_CLUE_DIED, true },
	{ AS_EXCUSED_LOG, AS_CLUE_STUCK, true },
	{ AS_EXCUSED_RECOVERY, AS_CLUE_PLAN | AS_CLUE_HIT, false },
	{ AS_EXCUSED_RECOVERY, AS_CLUE_GAVE_UP, false },
	{ AS_EXCUSED_RECOVERY, AS_CLUE_PLAN | AS_CLUE_HIT | AS_CLUE_GAVE_UP, true },
	{ AS_EXCUSED_RECOVERY, AS_CLUE_PLAN | AS_CLUE_HIT | AS_CLUE_REPAIRED, true },
	{ AS_EXCUSED_REDONE, AS_CLUE_PLAN | AS_CLUE_HIT | AS_CLUE_GAVE_UP, false },
	{ AS_EXCUSED_REDONE, AS_CLUE_PLAN | AS_CLUE_HIT | AS_CLUE_REPAIRED, true },
	{ AS_EXCUSED_CHECKER, AS_CLUE_PLAN | AS_CLUE_HIT, false },
};

static void test_said(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(said); i++)
		if (as_excuses(said[i].what, said[i].said) != said[i].excused)
			fail_msg("row %zu", i);
}

static int go_inside(const char *name)
{
	struct CMUnitTest test[1] = { { name, test_inside, NULL, NULL, NULL } };

	for (size_t i = 0; i < N_ROWS(subjects); i++)
		if (!strcmp(subjects[i].name, name))
			test[0].initial_state = (void *)(uintptr_t)&subjects[i];
	return test[0].initial_state ? cmocka_run_group_tests(test, NULL, NULL) : 2;
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[N_ROWS(subjects) + 3] = { 0 };

	for (size_t i = 0; i < N_ROWS(subjects); i++)
		tests[i] = (struct CMUnitTest){ subjects[i].name, test_subject, NULL, NULL,
						(void *)(uintptr_t)&subjects[i] };
	tests[N_ROWS(subjects)] = (struct CMUnitTest)cmocka_unit_test(test_odd);
	tests[N_ROWS(subjects) + 1] = (struct CMUnitTest)cmocka_unit_test(test_rows);
	tests[N_ROWS(subjects) + 2] = (struct CMUnitTest)cmocka_unit_test(test_said);
	if (getenv("ONLY"))
		cmocka_set_test_filter(getenv("ONLY"));
	t_agree_guest_main(argv);
	if (argc == 3 && !strcmp(argv[1], T_AGREE_INSIDE))
		return go_inside(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
