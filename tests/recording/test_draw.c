/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults while a workload is recorded: those that a hunt draws, a finding that needs one and keeps
 * it, and faults that are refused.
 */
#include "tests/lib/crash_rig.h"

#include "host/medium.h"
#include "recording/draw.h"

static struct as_seq *workload(unsigned i)
{
	struct as_seq *seq = NULL;
	char text[64];

	snprintf(text, sizeof(text), "mkdir /d%u 0755\nsync\n", i);
	assert_int_equal(as_parse_text("workload", text, strlen(text), &seq, NULL), 0);
	return seq;
}

/* Every plan can be read, the same comes again, and all kinds and pairs come. */
static void test_draw(void **state)
{
	unsigned with = 0, pairs = 0, flush = 0, alloc = 0, lasts = 0;
	enum { N = 4000 };

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct as_seq *seq = workload(i);
		unsigned what = AS_DRAW_WRITE | AS_DRAW_FLUSH | (i % 2 ? AS_DRAW_MEMORY : 0);
		struct as_drawn drawn = as_draw(seq, 7, AS_DRAW_EVERY, what),
				again = as_draw(seq, 7, AS_DRAW_EVERY, what);
		char text[AS_DRAW_TEXT_MAX], text_again[AS_DRAW_TEXT_MAX];
		struct as_plan *plan;

		as_draw_plan(&drawn, ~0u, text);
		as_draw_plan(&again, ~0u, text_again);
		assert_string_equal(text, text_again);
		assert_int_equal(as_plan_parse(text, &plan, NULL), 0);
		assert_false(as_plan_is_silent(plan));
		assert_true(i % 2 || !as_plan_alloc(plan));
		with += drawn.n > 0;
		pairs += drawn.n == 2;
		flush += strstr(text, "flush") != NULL;
		alloc += strstr(text, "alloc") != NULL;
		lasts += strchr(text, '+') != NULL;
		as_plan_free(plan);
		as_seq_free(seq);
	}
	assert_in_range(with, N / AS_DRAW_EVERY * 8 / 10, N / AS_DRAW_EVERY * 12 / 10);
	assert_in_range(pairs, with / 6, with / 3);
	assert_true(flush > with / 10 && alloc > with / 20 && lasts > with / 20);
}

/* A write that fails leaves what was on the disk: old data, where it was used before. */
static void test_draw_used(void **state)
{
	static const char *const specs[] = { "ext4", "ext4:mkfs=used", "ext4:mkfs=4k+used" };
	unsigned writes[3] = { 0 }, flushes[3] = { 0 };

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct as_target *target = NULL;
		struct as_err err = { 0 };

		assert_int_equal(as_target_open(specs[k], &target, &err), 0);
		for (unsigned i = 0; i < 200; i++) {
			struct as_seq *seq = workload(i);
			struct as_drawn drawn = as_draw(seq, 7, 1, as_draw_what(target));
			char text[AS_DRAW_TEXT_MAX];

			as_draw_plan(&drawn, ~0u, text);
			writes[k] += strstr(text, "write") != NULL;
			flushes[k] += strstr(text, "flush") != NULL;
			as_seq_free(seq);
		}
		as_target_free(target);
		assert_int_equal(writes[k] > 0, k == 0);
		assert_true(flushes[k] > 0);
	}
}

/* One in four has writes that are held, one in four has early ones, one in four two rounds; the
 * same come again, and the seed of the hunt matters. */
static void test_draw_queue(void **state)
{
	static const struct as_shares nothing;
	struct as_share_chances usual = as_share_chances(&nothing);
	unsigned hold = 0, early = 0, both = 0, other = 0, most = 0, rounds = 0;
	enum { N = 4000 };

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct as_seq *seq = workload(i);
		struct as_drawn_queue drawn = as_draw_queue(seq, 7, usual),
				      again = as_draw_queue(seq, 7, usual);

		assert_int_equal(drawn.hold, again.hold);
		assert_int_equal(drawn.early, again.early);
		again = as_draw_queue(seq, 8, usual);
		other += drawn.hold != again.hold || drawn.early != again.early;
		hold += drawn.hold > 0;
		early += drawn.early > 0;
		rounds += drawn.rounds == 2;
		both += drawn.hold && drawn.early;
		most = drawn.hold > most ? drawn.hold : most;
		assert_true(drawn.hold <= AS_HOLD_MAX && drawn.early <= AS_EARLY_MAX);
		as_seq_free(seq);
	}
	assert_in_range(hold, N / AS_DRAW_EVERY * 8 / 10, N / AS_DRAW_EVERY * 12 / 10);
	assert_in_range(early, N / AS_DRAW_EVERY * 8 / 10, N / AS_DRAW_EVERY * 12 / 10);
	assert_in_range(rounds, N / AS_DRAW_EVERY * 8 / 10, N / AS_DRAW_EVERY * 12 / 10);
	assert_in_range(both, hold / 6, hold / 3);
	assert_true(other > N / 3 && most > 16);
}

/* What does not need held or early writes is reported without them; what does keeps them. */
static void test_queue_is_kept(void **state)
{
	static const struct {
		const char *spec;
		bool hold, early;
	} rows[] = { { "lab:bug=76", true, false },
		     { "lab:bug=78", false, true },
		     { "lab:bug=26", false, false },
		     { "lab:bug=77", false, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned found = 0;

		/* The workload's name decides what is drawn. */
		for (unsigned n = 0; n < 60 && found < 3; n++) {
			struct crash_rig rig, again;
			char text[160], *params;

			snprintf(text, sizeof(text),
				 "mkdir /d%u 0755\nsync\ncreate /f 0644\nrename /f /g\nsync\n", n);
			t_crash_once(&rig, rows[i].spec, "record=draw,budget=96", text);
			if (rig.n && !strstr(rig.caught[0].options, "faults=")) {
				assert_int_equal(t_crash_number(&rig.caught[0], "hold=") > 0,
						 rows[i].hold);
				assert_int_equal(t_crash_number(&rig.caught[0], "early=") > 0,
						 rows[i].early);
				params = strdup(t_crash_params(&rig.caught[0]));
				t_crash_once(&again, rows[i].spec, params, text);
				assert_int_equal(again.n, 1);
				t_crash_forget(&again);
				free(params);
				found++;
			}
			t_crash_forget(&rig);
		}
		if (found < 3)
			fail_msg("%s was found in %u of 60 workloads", rows[i].spec, found);
	}
}

#define FSYNCED "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=3000 at=0 fill=3\nfsync $0\n"

static void crash_seeded(struct crash_rig *rig, const char *spec, const char *params,
			 const char *faults, uint64_t seed)
{
	struct as_run_options run = { .deadline_ms = 30000, .faults = faults, .seed = seed };
	struct as_crash_options options;
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	/* The rig's sink, with a crasher of our own: it takes faults. */
	t_crash_once(rig, "lab", "", "mkdir /d 0755\n");
	assert_int_equal(rig->n, 0);
	if (as_crash_options_parse(params, &options, &err) ||
	    as_target_open(spec, &rig->target, &err) ||
	    as_crasher_new(rig->target, &run, &options, &rig->sink, &rig->crasher, &err) ||
	    as_parse_text("workload", FSYNCED, strlen(FSYNCED), &seq, &err) ||
	    as_crash_workload(rig->crasher, seq, "workload", &rig->result, &rig->counts, &err))
		fail_msg("%s", err.msg);
	as_seq_free(seq);
	as_crasher_free(rig->crasher);
	as_target_free(rig->target);
}

static void crash(struct crash_rig *rig, const char *spec, const char *params, const char *faults)
{
	crash_seeded(rig, spec, params, faults, 0);
}

/* Each call comes, with its number, and no other. */
static void test_among(void **state)
{
	unsigned seen[2][8] = { { 0 } };
	char text[AS_DRAW_TEXT_MAX], again[AS_DRAW_TEXT_MAX];
	struct as_seq *seq = workload(1);

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		char what[8];
		unsigned nth;

		assert_true(as_draw_among(seq, seed, 7, 3, text));
		assert_true(as_draw_among(seq, seed, 7, 3, again));
		assert_string_equal(text, again);
		assert_int_equal(sscanf(text, "%5s:", what), 1);
		assert_int_equal(sscanf(text + 6, "%u:eio", &nth), 1);
		assert_in_range(nth, 1, text[0] == 'w' ? 7 : 3);
		seen[text[0] == 'w'][nth]++;
	}
	for (unsigned nth = 1; nth <= 7; nth++)
		assert_true(seen[1][nth] && (nth > 3 || seen[0][nth]));
	assert_false(as_draw_among(seq, 1, 0, 0, text));
	as_seq_free(seq);
}

/* A write that has to fail is met soon, and nothing is found where nothing is wrong. */
static void test_short_runs(void **state)
{
	enum { N = 48 };
	unsigned found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= N; seed++) {
		struct crash_rig rig;

		crash_seeded(&rig, "lab:bug=61", "record=draw", NULL, seed);
		found += rig.n > 0;
		t_crash_forget(&rig);
		crash_seeded(&rig, "lab", "record=draw", NULL, seed);
		assert_int_equal(rig.n, 0);
		t_crash_forget(&rig);
	}
	print_message("%u of %u\n", found, N);
	assert_true(found >= N / 8);
}

/* What a sweep finds names the fault, comes again with it, and not without it. */
static void test_kept(void **state)
{
	struct crash_rig rig, again;
	char fault[32] = "", params[512];
	const char *at;

	(void)state;
	crash(&rig, "lab:bug=61", "record=sweep", NULL);
	assert_true(rig.n > 0);
	at = strstr(rig.caught[0].options, " fault=");
	assert_non_null(at);
	snprintf(fault, sizeof(fault), "%s", at + strlen(" fault="));
	snprintf(params, sizeof(params), "%s", t_crash_params(&rig.caught[0]));
	params[strcspn(params, " ")] = '\0';
	assert_null(strstr(params, "record="));
	crash(&again, "lab:bug=61", params, fault);
	assert_int_equal(again.n, 1);
	assert_string_equal(again.caught[0].options, rig.caught[0].options);
	t_crash_forget(&again);
	crash(&again, "lab:bug=61", params, NULL);
	assert_int_equal(again.n, 0);
	crash(&again, "lab", "", fault);
	assert_int_equal(again.n, 0);
	t_crash_forget(&rig);
}

static void test_silent(void **state)
{
	struct as_run_options run = { .faults = "write:2:drop" };
	struct as_crash_options options = as_crash_options_default();
	struct as_crasher *crasher = NULL;
	struct as_target *target = NULL;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_target_open("lab", &target, &err), 0);
	assert_int_equal(as_crasher_new(target, &run, &options, NULL, &crasher, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "no promise can hold"));
	as_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_draw),	      cmocka_unit_test(test_draw_queue),
		cmocka_unit_test(test_queue_is_kept), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_among),	      cmocka_unit_test(test_short_runs),
		cmocka_unit_test(test_silent),	      cmocka_unit_test(test_draw_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
