/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Departures of single types: an answer that a row of the table allows, and that plain POSIX does
 * not; and the limits that only some types have. */
#include "tests/lib/model.h"

#include <errno.h>

#define LONG_5 "aaaaa"
#define LONG_25 LONG_5 LONG_5 LONG_5 LONG_5 LONG_5
#define LONG_125 LONG_25 LONG_25 LONG_25 LONG_25 LONG_25
#define LONG_260 LONG_125 LONG_125 LONG_5 LONG_5

/* The last operation answers `ret` or -1 with `err`; of a stat, all is as the model has it but the
 * mtime, which is 99 s. */
static const struct {
	const char *name, *text;
	uint64_t quirks, maybe;
	int64_t ret;
	int err;
} rows[] = {
	{ "rename in place", "mkdir /f 0755\nutimens /f mtime=5\nrename /f /a\nstat /a",
	  AS_QUIRK_RENAME_TOUCHES, 0, 0, 0 },
	{ "exchange",
	  "mkdir /f 0755\nmkdir /g 0755\ncreate /g/a 0644\nutimens /f mtime=5\n"
	  "rename2 /f /g/a RENAME_EXCHANGE\nstat /g/a",
	  AS_QUIRK_EXCHANGE_TOUCHES, 0, 0, 0 },
	{ "exchange inside one directory",
	  "mkdir /f 0755\nmkdir /g 0755\nutimens /f mtime=5\n"
	  "rename2 /f /g RENAME_EXCHANGE\nstat /g",
	  AS_QUIRK_SWAP_TOUCHES, 0, 0, 0 },
	{ "fallocate refused",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nutimens /f mtime=5\n"
	  "fallocate $0 COLLAPSE_RANGE at=0 len=1\nstat /f",
	  AS_QUIRK_FALLOC_TOUCHES, 0, 0, 0 },
	{ "times of the root", "utimens / mtime=5\nstat /", AS_QUIRK_NO_ROOT_TIMES, 0, 0, 0 },
	{ "unlink of an open file",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nutimens /f mtime=5\nunlink /f\nfstat $0",
	  AS_QUIRK_UNLINK_TOUCHES, 0, 0, 0 },
	{ "a link of long names", "symlink /" LONG_260 " /l", AS_QUIRK_SYMLINK_OF_NAMES, 0, -1,
	  ENAMETOOLONG },
	{ "negative SEEK_HOLE", "$0 = open /f O_RDWR|O_CREAT 0644\nlseek $0 -9 SEEK_HOLE",
	  AS_QUIRK_SEEK_NEGATIVE, 0, -1, EINVAL },
	{ "a directory into itself, by a long name", "mkdir /a 0755\nrename /a /a/" LONG_260,
	  AS_QUIRK_LONG_NAME_ENOENT, 0, -1, EINVAL },
	{ "flags of setxattr", "create /f 0644\nwrite_xattr /f user.a len=1 flags=XATTR_REPLACE",
	  AS_QUIRK_XATTR_LAX, 0, 0, 0 },
	{ "removexattr of nothing", "create /f 0644\nremovexattr /f user.a", AS_QUIRK_XATTR_LAX, 0,
	  0, 0 },
	{ "removexattr of what is gone", "create /f 0644\nremovexattr /f user.a",
	  AS_QUIRK_XATTR_GONE, 0, 0, 0 },
	{ "mode of fallocate",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 UNSHARE_RANGE at=0 len=1",
	  AS_QUIRK_FALLOC_EINVAL, 0, -1, EINVAL },
	{ "range of an unknown type",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 ZERO_RANGE at=0 len=1", 0,
	  AS_FEAT_FALLOC_ZERO, -1, EINVAL },
};

/* fallocate() that finds no space, and then another mtime. */
static bool judge_full(uint64_t quirks, int err)
{
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse("$0 = open /f O_RDWR|O_CREAT 0644\nutimens /f mtime=5\n"
				     "fallocate $0 KEEP_SIZE at=0 len=100000\nstat /f");
	struct as_outcome refused = { .ret = -1, .err = err };
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
	struct as_verdict verdict = { 0 };
	struct as_model *m;
	bool agrees;

	traits.quirks |= quirks;
	traits.may_fill = true;
	traits.features &= ~(typeof(traits.features))AS_FEAT_QUOTA;
	m = as_model_new(&traits);
	(void)as_model_apply(m, &seq->ops[0]);
	(void)as_model_apply(m, &seq->ops[1]);
	assert_true(as_model_judge(m, &seq->ops[2], &refused, &verdict));
	assert_true(as_model_stat(m, "/f", true, &got.st));
	got.st.mtime_ns = INT64_C(99000000000);
	agrees = as_model_judge(m, &seq->ops[3], &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return agrees;
}

static void test_fallocate_without_space(void **state)
{
	static const int errs[] = { ENOSPC, EDQUOT };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_true(judge_full(AS_QUIRK_FALLOC_TOUCHES, errs[i]));
		assert_false(judge_full(0, errs[i]));
	}
}

/* Whether the mode may be 01617 after 05617, a fallocate that was refused, and `then`. */
static bool judge_setid(uint64_t features, uint64_t quirks, const char *then)
{
	struct as_traits traits = t_full_traits;
	struct as_outcome refused = { .ret = -1, .err = EINVAL };
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
	struct as_verdict verdict = { 0 };
	struct as_seq *seq = t_parse("$0 = open /f O_RDWR|O_CREAT 05617\n"
				     "fallocate $0 COLLAPSE_RANGE at=0 len=1\nstat /f");
	struct as_model *m;
	bool agrees;

	traits.features |= features;
	traits.quirks |= quirks;
	m = as_model_new(&traits);
	(void)as_model_apply(m, &seq->ops[0]);
	assert_true(as_model_judge(m, &seq->ops[1], &refused, &verdict));
	if (then)
		assert_int_equal(t_apply_text(m, then), 0);
	assert_true(as_model_stat(m, "/f", true, &got.st));
	got.st.mode = 0101617;
	agrees = as_model_judge(m, &seq->ops[2], &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return agrees;
}

static void test_fallocate_drops_setid(void **state)
{
	(void)state;
	assert_true(judge_setid(AS_FEAT_UNPRIVILEGED, AS_QUIRK_FALLOC_TOUCHES, NULL));
	assert_false(judge_setid(0, AS_QUIRK_FALLOC_TOUCHES, NULL));
	assert_false(judge_setid(AS_FEAT_UNPRIVILEGED, 0, NULL));
	assert_false(judge_setid(AS_FEAT_UNPRIVILEGED, AS_QUIRK_FALLOC_TOUCHES, "chmod /f 05617"));
}

static bool judge_last(const struct as_traits *traits, const char *text, int64_t ret, int err)
{
	struct as_model *m = as_model_new(traits);
	struct as_seq *seq = t_parse(text);
	struct as_outcome got = { .ret = ret, .err = err };
	struct as_verdict verdict = { 0 };
	const struct as_op *last = &seq->ops[seq->n - 1];
	bool agrees;

	for (size_t i = 0; i + 1 < seq->n; i++)
		(void)as_model_apply(m, &seq->ops[i]);
	if (last->code == AS_OP_STAT || last->code == AS_OP_FSTAT) {
		got.payload = AS_PAYLOAD_STAT;
		if (last->code == AS_OP_STAT)
			assert_true(as_model_stat(m, last->path, true, &got.st));
		else
			got.st = (struct as_stat){ .mode = 0100644 };
		got.st.mtime_ns = INT64_C(99000000000);
	}
	agrees = as_model_judge(m, last, &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return agrees;
}

static void test_quirks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_traits plain = t_full_traits, odd = t_full_traits;

		odd.quirks |= rows[i].quirks;
		odd.maybe |= rows[i].maybe;
		odd.features &= ~rows[i].maybe;
		if (!judge_last(&odd, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: not allowed where it is known", rows[i].name);
		if (judge_last(&plain, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: allowed everywhere", rows[i].name);
	}
}

/* What the executor cannot do may have opened and closed the file, and with it went the lock of the
 * process (fcntl(2)). */
static void test_lock_after_unsupported(void **state)
{
	struct as_seq *seq =
		t_parse("$0 = open /f O_RDWR|O_CREAT 0644\nsetlk $0 F_RDLCK at=0 len=3\n"
			"swapon /f\nofd_setlk $0 F_WRLCK at=0 len=9");
	struct as_outcome cannot = { .ret = -1, .err = AS_ERR_UNSUPPORTED }, fine = { 0 };
	struct as_verdict verdict = { 0 };

	(void)state;
	for (int tried = 0; tried < 2; tried++) {
		struct as_model *m = as_model_new(&t_full_traits);

		(void)as_model_apply(m, &seq->ops[0]);
		assert_true(as_model_judge(m, &seq->ops[1], &fine, &verdict));
		if (tried)
			assert_true(as_model_judge(m, &seq->ops[2], &cannot, &verdict));
		assert_int_equal(as_model_judge(m, &seq->ops[3], &fine, &verdict), tried);
		as_model_free(m);
	}
	as_verdict_free(&verdict);
	as_seq_free(seq);
}

/* What is not in the list of a type that lists user.* alone is missing of another. */
static void test_lists(void **state)
{
	struct as_traits odd = t_full_traits;

	(void)state;
	odd.quirks |= AS_QUIRK_LISTS_USER;
	assert_true(as_traits_lists(&odd, "user.a"));
	assert_false(as_traits_lists(&odd, "trusted.a"));
	assert_true(as_traits_lists(&t_full_traits, "trusted.a"));
}

static void test_modes_of_new_files(void **state)
{
	struct as_traits odd = t_full_traits;
	struct as_model *m;
	struct as_stat st;

	(void)state;
	odd.quirks |= AS_QUIRK_CREATE_0777;
	m = as_model_new(&odd);
	assert_int_equal(t_apply_text(m, "create /f 07644"), 0);
	assert_true(as_model_stat(m, "/f", true, &st));
	assert_int_equal(st.mode, 0100644);
	as_model_free(m);
}

/* A time that the type cannot hold becomes the nearest one. */
static void test_range_of_times(void **state)
{
	static const struct {
		const char *text;
		int64_t want_s;
	} times[] = {
		{ "create /f 0644\nutimens /f mtime=51097544", 315532800 },
		{ "create /f 0644\nutimens /f mtime=1491434397", 1491434396 },
		{ "create /f 0644\nutimens /f mtime=5000000000", INT64_C(4354819198) },
	};
	struct as_traits vfat = t_full_traits;

	(void)state;
	vfat.time_min_s = 315532800;
	vfat.time_max_s = INT64_C(4354819198);
	vfat.time_granularity_ns = 2000000000;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		struct as_model *m = as_model_new(&vfat);
		struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
		struct as_verdict verdict = { 0 };
		struct as_op op = as_op_make(AS_OP_STAT);

		assert_int_equal(t_apply_text(m, times[i].text), 0);
		assert_true(as_model_stat(m, "/f", true, &got.st));
		got.st.mtime_ns = times[i].want_s * INT64_C(1000000000);
		op.path = "/f";
		assert_true(as_model_judge(m, &op, &got, &verdict));
		got.st.mtime_ns += INT64_C(2000000000);
		assert_false(as_model_judge(m, &op, &got, &verdict));
		as_verdict_free(&verdict);
		as_model_free(m);
	}
}

/* An atime that the disk cannot hold changes when it is read from there (exfat: two seconds). */
static void test_atime_that_is_too_fine(void **state)
{
	struct as_traits exfat = t_full_traits;
	struct as_model *m;
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
	struct as_verdict verdict = { 0 };
	struct as_op op = as_op_make(AS_OP_STAT);

	(void)state;
	exfat.quirks |= AS_QUIRK_NO_ATIME;
	exfat.time_granularity_ns = 10000000;
	exfat.atime_granularity_ns = 2000000000;
	m = as_model_new(&exfat);
	assert_int_equal(t_apply_text(m, "create /f 0644\nutimens /f atime=1700000001.7"), 0);
	assert_true(as_model_stat(m, "/f", true, &got.st));
	op.path = "/f";
	got.st.atime_ns = INT64_C(1700000000000000000);
	assert_true(as_model_judge(m, &op, &got, &verdict));
	got.st.atime_ns = INT64_C(1700000001700000000);
	assert_false(as_model_judge(m, &op, &got, &verdict));
	as_verdict_free(&verdict);
	as_model_free(m);
}

/* copy_file_range: the largest offset is asked for before overlaps, and also for nothing. */
static void test_copy_at_the_end(void **state)
{
	const char *text = "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=9\n"
			   "copy_file_range $0 $0 len=0 at=0 to=9223372036854775807";

	(void)state;
	assert_true(judge_last(&t_any_traits, text, -1, EFBIG));
	assert_true(judge_last(&t_any_traits, text, 0, 0));
	assert_false(judge_last(&t_any_traits, text, -1, EINVAL));
	text = "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4999 at=4611686018427387904\n"
	       "copy_file_range $0 $0 len=4611686018427387904 at=1 to=4611686018427387904";
	assert_true(judge_last(&t_any_traits, text, 4096, 0));
	assert_false(judge_last(&t_any_traits, text, -1, EINVAL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quirks),
		cmocka_unit_test(test_fallocate_without_space),
		cmocka_unit_test(test_fallocate_drops_setid),
		cmocka_unit_test(test_lock_after_unsupported),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_modes_of_new_files),
		cmocka_unit_test(test_range_of_times),
		cmocka_unit_test(test_atime_that_is_too_fine),
		cmocka_unit_test(test_copy_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
