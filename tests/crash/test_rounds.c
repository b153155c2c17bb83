/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Crash, recover, go on, crash (crash/rounds.h). Two bugs of labfs show only when the file system
 * goes on after a recovery: one round misses them, two find them. What is found replays, is found
 * in another workload, too, and a sound labfs has nothing in three rounds.
 */
#include "tests/lib/crash_rig.h"

#include "crash/rounds.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

#define FILE(slot, name)                                   \
	"$" slot " = open /" name " O_RDWR|O_CREAT 0644\n" \
	"pwrite $" slot " len=2048 at=0 fill=" slot "\nfsync $" slot "\n"

/* Whole and half transactions, */
#define NAMES "create /a 0644\nsync\ncreate /b 0644\nsync\nrename /a /c\nsync\nunlink /b\nsync\n"
/* and some after one that took blocks. The map of blocks is not at home before it changes again. */
#define FILES FILE("1", "f") NAMES FILE("2", "g")

static const struct {
	const char *spec, *workload;
} bugs[] = {
	{ "lab:bug=80", NAMES },
	{ "lab:bug=81", FILES },
	{ "lab:bug=81", FILE("1", "f") NAMES "crash\n" FILE("2", "g") },
};

static void test_one_round_misses(void **state)
{
	struct crash_rig rig;

	(void)state;
	for (size_t i = 0; i < COUNT(bugs); i++) {
		t_crash_once(&rig, bugs[i].spec, "", bugs[i].workload);
		if (rig.n)
			fail_msg("%s: one round finds %s", bugs[i].spec, rig.caught[0].summary);
		assert_int_equal(rig.counts.rounds, 0);
		t_crash_forget(&rig);
	}
}

static void check_again(const char *spec, const char *params, const char *workload,
			const char *signature, const char *options)
{
	struct crash_rig again;

	t_crash_once(&again, spec, params, workload);
	assert_int_equal(again.n, 1);
	assert_true(as_signature_same_symptom(again.caught[0].signature, signature));
	if (options) {
		assert_string_equal(again.caught[0].options, options);
		assert_int_equal(again.counts.rounds, 1);
	}
	t_crash_forget(&again);
}

static void test_two_find(void **state)
{
	struct crash_rig rig, sound;

	(void)state;
	for (size_t i = 0; i < COUNT(bugs); i++) {
		const char *params;

		t_crash_once(&rig, bugs[i].spec, "rounds=2", bugs[i].workload);
		if (!rig.n)
			fail_msg("%s was not found in two rounds", bugs[i].spec);
		print_message("%s\n", rig.caught[0].summary);
		assert_non_null(strstr(rig.caught[0].summary, "in round 2, "));
		assert_non_null(strstr(rig.caught[0].options, "rounds=2,from="));
		params = t_crash_params(&rig.caught[0]);
		check_again(bugs[i].spec, params, bugs[i].workload, rig.caught[0].signature,
			    strstr(params, "view=") == params ? rig.caught[0].options : NULL);
		t_crash_once(&sound, "lab", params, bugs[i].workload);
		assert_int_equal(sound.n, 0);
		t_crash_forget(&sound);
		t_crash_forget(&rig);
	}
}

/* A state that another workload does not have is looked for, as reductions need it. */
static void test_found_elsewhere(void **state)
{
	struct crash_rig rig;

	(void)state;
	t_crash_once(&rig, "lab:bug=81", "rounds=2", FILES);
	assert_true(rig.n > 0);
	check_again("lab:bug=81", t_crash_params(&rig.caught[0]), "create /z 0644\nsync\n" FILES,
		    rig.caught[0].signature, NULL);
	t_crash_forget(&rig);
}

static void test_sound(void **state)
{
	static const char *const params[] = { "rounds=2", "rounds=3,budget=200",
					      "rounds=2,views=3" };
	struct crash_rig rig;

	(void)state;
	for (size_t i = 0; i < COUNT(bugs); i++)
		for (size_t k = 0; k < COUNT(params); k++) {
			t_crash_once(&rig, "lab", params[k], bugs[i].workload);
			if (rig.n)
				fail_msg("a sound labfs, %s: %s", params[k], rig.caught[0].summary);
			assert_true(rig.counts.rounds > 1);
			t_crash_forget(&rig);
		}
}

/* ---- Parts ---- */

static void check_part(const char *text, unsigned rounds, unsigned round, size_t first, size_t n,
		       uint64_t fill)
{
	struct as_seq *whole = NULL, *part;
	size_t at;

	assert_int_equal(as_parse_text("workload", text, strlen(text), &whole, NULL), 0);
	part = as_round_part(whole, rounds, round, &at);
	assert_int_equal(part->n, n);
	assert_int_equal(at, first);
	if (n)
		assert_int_equal(part->ops[n - 1].fill, fill);
	as_seq_free(part);
	as_seq_free(whole);
}

static void test_parts(void **state)
{
	static const char one[] =
		"create /a 0644\ntruncate /a 5\nwrite_xattr /a user.a len=3 fill=4\n";
	static const char three[] =
		"sync\ncrash\nsync\nsync\ncrash\nwrite_xattr /a user.a len=3 fill=4\n";

	(void)state;
	check_part(one, 1, 0, 0, 3, 4);
	check_part(one, 2, 0, 0, 3, 4);
	check_part(one, 2, 1, 0, 3, 4 + 1000003);
	check_part(three, 1, 0, 0, 6, 4);
	check_part(three, 3, 0, 0, 1, 0);
	check_part(three, 3, 1, 2, 2, 0);
	check_part(three, 3, 2, 5, 1, 4);
	check_part("crash\nsync\n", 2, 0, 0, 0, 0);
	check_part("sync\ncrash\n", 2, 1, 2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	 cmocka_unit_test(test_one_round_misses),
		cmocka_unit_test(test_two_find), cmocka_unit_test(test_found_elsewhere),
		cmocka_unit_test(test_sound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
