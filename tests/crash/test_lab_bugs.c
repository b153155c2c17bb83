/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every bug of labfs that a power cut brings out is found, by a workload of a few lines, in the
 * view that labfs/views.def predicts; the same workload on a sound labfs finds nothing. (That a
 * hunt comes upon such workloads by itself is tests/crash/test_hunt.sh.) A bug that needs a call
 * that fails is looked for with every call failing once, one that shows only when the file system
 * goes on after a recovery in two rounds, and one that takes several threads in a race.
 */
#include "tests/lib/crash_rig.h"

#include <labfs/bug.h>

#define COMMITS "mkdir /a 0755\nmkdir /b 0755\nsync\nrename /a /b/c\nsync\n"

/* With each of its calls failing once. */
#define SYNCS                                                                               \
	"mkdir /a 0755\n$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=0 fill=3\n" \
	"fsync $0\nrename /a /b\nsync\nclose $0\n"

/* In two rounds. */
#define GOES_ON                                                                        \
	"$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=2048 at=0 fill=7\nfsync $0\n" \
	"create /a 0644\nsync\ncreate /b 0644\nsync\nrename /a /c\nsync\n"             \
	"unlink /b\nsync\n$1 = open /g O_RDWR|O_CREAT 0644\n"                          \
	"pwrite $1 len=2048 at=0 fill=8\nfsync $1\n"

/* In two threads: one makes files, and one makes names of the same directory stable. */
#define RACES                                                                                  \
	"mkdir /d 0755\n$0 = open /d O_RDONLY|O_DIRECTORY\n$1 = open /f O_RDWR|O_CREAT 0644\n" \
	"create /d/a 0644\nfsync $0\nrename /d/a /d/b\nfsync $0\nwrite $1 len=3000 fill=7\n"   \
	"create /d/c 0644\nfsync $0\nfsync $1\nhardlink /f /d/g\nfsync $1\n"

static const struct row {
	unsigned bug;
	const char *workload;
} rows[] = {
	{ 26, "create /f 0644\nrename /f /g\n" },
	{ 27, "create /f 0644\nrename /f /g\n" },
	{ 28, "create /f 0644\nhardlink /f /g\n" },
	{ 29, "create /f 0644\nsync\nhardlink /f /g\n$0 = open /f O_RDWR\nfsync $0\n" },
	{ 30, "mkdir /d 0755\nsync\ncreate /d/f 0644\n$0 = open /d O_RDONLY|O_DIRECTORY\n"
	      "fsync $0\n" },
	{ 31, "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nfallocate $0 0 at=0 len=5000\nfsync $0\n" },
	{ 32, "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nwrite_xattr /f user.a len=10 fill=1\n"
	      "fsync $0\n" },
	{ 33, "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=3\nsync\n"
	      "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=1024 len=4096\nfsync $0\n" },
	{ 34, "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=3\nclose $0\nsync\n"
	      "unlink /f\n$1 = open /g O_RDWR|O_CREAT 0644\npwrite $1 len=8192 at=0 fill=4\n"
	      "sync\n" },
	{ 35, COMMITS },
	{ 36, COMMITS },
	{ 37, COMMITS },
	{ 38, COMMITS },
	{ 39, COMMITS },
	{ 40, "mkdir /d 0755\ncreate /d/f 0644\nsync\nunlink /d/f\nrmdir /d\nsync\n"
	      "$0 = open /g O_RDWR|O_CREAT 0644\npwrite $0 len=20000 at=0 fill=4\nfsync $0\n" },
	{ 41, "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=20000 at=0 fill=4\nsync\n"
	      "unlink /f\nsync\n" },
	{ 42, "mkdir /a 0755\nmkdir /b 0755\nmkdir /c 0755\n" },
	{ 48, SYNCS },
	{ 49, SYNCS },
	{ 59, COMMITS "mkdir /d 0755\nsync\n" },
	{ 60, SYNCS },
	{ 61, SYNCS },
	{ 65, SYNCS },
	{ 62, "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nutimens /f atime=5 mtime=6.000000007\n"
	      "fsync $0\n" },
	{ 63, "$0 = open /f O_RDWR|O_CREAT 0644\nsync\nfallocate $0 KEEP_SIZE at=0 len=5000\n"
	      "fsync $0\n" },
	{ 180, "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=10 at=0 fill=1\nsync\n"
	       "pwrite $0 len=10 at=10 fill=2\nfdatasync $0\n" },
	{ 67, GOES_ON },
	{ 71, RACES },
	{ 72, RACES },
	{ 76, COMMITS },
	{ 77, COMMITS },
	{ 78, COMMITS },
	{ 79, COMMITS },
	{ 80, GOES_ON },
	{ 81, GOES_ON },
};

/* What a bug does not show without, and the sound labfs that does the same. */
static const struct needs {
	unsigned bug;
	const char *params, *sound;
} needs[] = {
	{ 67, "rounds=2", "lab" },	   { 71, "threads=2,seed=6", "lab" },
	{ 72, "threads=2,seed=6", "lab" }, { 76, "hold=1", "lab:queue" },
	{ 77, "", "lab:queue" },	   { 78, "early=1", "lab" },
	{ 79, "", "lab:queue" },	   { 80, "rounds=2", "lab" },
	{ 81, "rounds=2", "lab" },
};

static const struct {
	unsigned bug, view, then;
} views[] = {
#define LAB_VIEW(number, view, then) { number, view, then },
#include <labfs/views.def>
#undef LAB_VIEW
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct row *row_of(unsigned bug)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].bug == bug)
			return &rows[i];
	fail_msg("bug %u has no workload here", bug);
	return NULL;
}

static struct needs needs_of(unsigned bug)
{
	for (size_t i = 0; i < COUNT(needs); i++)
		if (needs[i].bug == bug)
			return needs[i];
	return (struct needs){ bug, "", "lab" };
}

static const char *params_of(const struct row *row)
{
	return strcmp(row->workload, SYNCS) ? needs_of(row->bug).params : "record=sweep";
}

/* The easiest view in which it was found. That a failure was hidden shows without a power cut. */
static void easiest(const struct crash_rig *rig, unsigned *view, unsigned *then)
{
	*view = *then = 9;
	for (size_t i = 0; i < rig->n; i++) {
		unsigned v = t_crash_number(&rig->caught[i], "view=");
		unsigned t = t_crash_number(&rig->caught[i], "then=");

		if (!strncmp(rig->caught[i].signature, "silent:", 7))
			continue;
		if (v * 10 + t < *view * 10 + *then) {
			*view = v;
			*then = t;
		}
	}
}

/* Within the budget of a hunt, it is found in the same view. */
static void check_within(unsigned bug, const char *spec, unsigned view, unsigned then)
{
	const struct row *row = row_of(bug);
	struct crash_rig rig;
	char params[64];
	unsigned v, t;

	snprintf(params, sizeof(params), "budget=96,%s", needs_of(bug).params);
	t_crash_once(&rig, spec, params, row->workload);
	if (!rig.n)
		fail_msg("bug %u was not found within the budget", bug);
	easiest(&rig, &v, &t);
	print_message("  within the budget: %llu recoveries, %llu of %llu states\n",
		      (unsigned long long)(rig.counts.checked + rig.counts.again_checked),
		      (unsigned long long)rig.result.looked,
		      (unsigned long long)rig.result.possible);
	if (v != view || !t != !then)
		fail_msg("bug %u shows in view %u,%u within the budget; its row says %u,%u", bug, v,
			 t, view, then);
	t_crash_forget(&rig);
}

static void check(unsigned bug, unsigned view, unsigned then)
{
	const struct row *row = row_of(bug);
	const char *params = params_of(row);
	struct crash_rig rig;
	unsigned v, t;
	char spec[32];

	snprintf(spec, sizeof(spec), "lab:bug=%u", bug);
	t_crash_once(&rig, spec, params, row->workload);
	if (!rig.n)
		fail_msg("bug %u was not found", bug);
	easiest(&rig, &v, &t);
	print_message("bug %u: %s\n", bug, rig.caught[0].summary);
	if (v != view || t != then)
		fail_msg("bug %u shows in view %u,%u; its row says %u,%u", bug, v, t, view, then);
	for (size_t i = 0; i < rig.n; i++)
		assert_true(rig.caught[i].disk);
	t_crash_forget(&rig);
	/* Of a second round, a hunt sees a few beginnings with each workload. */
	if (strcmp(params, "record=sweep") && strcmp(params, "rounds=2"))
		check_within(bug, spec, view, then);
	t_crash_once(&rig, needs_of(bug).sound, params, row->workload);
	if (rig.n)
		fail_msg("a sound labfs, workload of bug %u: %s", bug, rig.caught[0].summary);
	assert_true(rig.counts.distinct > 20);
	if (!*needs_of(bug).params)
		return;
	t_crash_once(&rig, spec, "", row->workload);
	if (rig.n)
		fail_msg("bug %u shows without %s: %s", bug, params, rig.caught[0].summary);
	assert_true(rig.counts.distinct > 20);
}

static void test_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(views); i++)
		check(views[i].bug, views[i].view, views[i].then);
}

/* Every bug has a row. */
static void test_all_have_views(void **state)
{
	const struct lab_bug_row *row;

	(void)state;
	for (unsigned i = 0; (row = lab_bug_row(i)); i++) {
		bool power = strstr(row->command, "hunt --crash"), has = false;

		for (size_t k = 0; k < COUNT(views); k++)
			has |= views[k].bug == row->number;
		if (power != has)
			fail_msg("bug %u: %s in labfs/views.def", row->number,
				 has ? "should not be" : "is not");
	}
}

/* The options of a finding bring the state back; with another workload they find the same again. */
static void test_again(void **state)
{
	static const unsigned bugs[] = { 26, 35, 37, 59, 76, 78 };
	struct crash_rig first, again;
	char spec[32], *signature, *params;

	(void)state;
	for (size_t i = 0; i < COUNT(bugs); i++) {
		snprintf(spec, sizeof(spec), "lab:bug=%u", bugs[i]);
		t_crash_once(&first, spec, params_of(row_of(bugs[i])), row_of(bugs[i])->workload);
		assert_true(first.n > 0);
		signature = first.caught[0].signature;
		params = strdup(t_crash_params(&first.caught[0]));
		t_crash_once(&again, spec, params, row_of(bugs[i])->workload);
		assert_int_equal(again.n, 1);
		assert_true(as_signature_same_symptom(again.caught[0].signature, signature));
		assert_string_equal(again.caught[0].options, first.caught[0].options);
		assert_int_equal(again.counts.generated, 1);
		t_crash_forget(&again);
		t_crash_once(&again, spec, params,
			     "mkdir /z 0755\ncreate /z/f 0644\nsync\n" COMMITS
			     "create /f 0644\nrename /f /g\n");
		assert_int_equal(again.n, 1);
		assert_true(as_signature_same_symptom(again.caught[0].signature, signature));
		t_crash_forget(&again);
		/* Where it cannot be found, nothing else is reported. */
		t_crash_once(&again, "lab", params, row_of(bugs[i])->workload);
		assert_int_equal(again.n, 0);
		t_crash_forget(&first);
		free(params);
	}
}

/* A finding that is asked for in a strict view only is still reported in the easiest one. */
static void test_easiest_view(void **state)
{
	static const struct {
		const char *spec, *params;
		unsigned view;
	} asked[] = {
		{ "lab:bug=26", "views=5,again=0", 1 },
		{ "lab:bug=38", "views=3,again=0", 1 },
		{ "lab:bug=35", "views=5,again=0", 3 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(asked); i++) {
		struct crash_rig rig;
		unsigned view, then;

		t_crash_once(&rig, asked[i].spec, asked[i].params,
			     row_of(asked[i].spec[8] == '2' ? 26 : 35)->workload);
		assert_true(rig.n > 0);
		easiest(&rig, &view, &then);
		assert_int_equal(view, asked[i].view);
		t_crash_forget(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_all_have_views),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_easiest_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
