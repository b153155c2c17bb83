/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which times an operation moves: after each workload, the operations in which atime, mtime and
 * ctime of a path must lie. A time of the operation before or after that one is found to be wrong.
 */
#include "tests/lib/model.h"

#include <errno.h>

#define TICKS 100 /* of the clock, for each operation */

struct row {
	const char *name, *text, *path;
	int atime, mtime, ctime; /* numbers of operations, from 1 */
};

static const struct row rows[] = {
	{ "made", "create /f 0644", "/f", 1, 1, 1 },
	{ "written", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5", "/f", 1, 2, 2 },
	{ "written in place",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5\npwrite $0 len=1 at=0", "/f", 1, 3, 3 },
	{ "a write of nothing", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=0", "/f", 1, 1, 1 },
	{ "chmod", "create /f 0644\nchmod /f 0600", "/f", 1, 1, 2 },
	{ "fchmod", "$0 = open /f O_RDWR|O_CREAT 0644\nfchmod $0 0600", "/f", 1, 1, 2 },
	{ "chown", "create /f 0644\nchown /f 1 1", "/f", 1, 1, 2 },
	{ "utimens now", "create /f 0644\nutimens /f", "/f", 2, 2, 2 },
	{ "utimens of one", "create /f 0644\nutimens /f atime=omit", "/f", 1, 2, 2 },
	{ "utimens of none", "create /f 0644\nutimens /f atime=omit mtime=omit", "/f", 1, 1, 1 },
	{ "an attribute", "create /f 0644\nwrite_xattr /f user.a len=3", "/f", 1, 1, 2 },
	{ "an attribute less", "create /f 0644\nwrite_xattr /f user.a len=3\nremovexattr /f user.a",
	  "/f", 1, 1, 3 },
	{ "longer", "create /f 0644\ntruncate /f 9", "/f", 1, 2, 2 },
	{ "O_TRUNC", "create /f 0644\ntruncate /f 9\n$0 = open /f O_WRONLY|O_TRUNC", "/f", 1, 3,
	  3 },
	{ "a link", "create /f 0644\nhardlink /f /g", "/f", 1, 1, 2 },
	{ "a link less", "create /f 0644\nhardlink /f /g\nunlink /g", "/f", 1, 1, 3 },
	{ "replaced, with another name",
	  "create /f 0644\nhardlink /f /g\ncreate /h 0644\nrename /h /g", "/f", 1, 1, 4 },
	{ "links of one file", "create /f 0644\nhardlink /f /g\nrename /f /g", "/f", 1, 1, 2 },
	{ "renamed", "create /f 0644\nrename /f /g", "/g", 1, 1, 2 },
	{ "a folder that is renamed", "mkdir /b 0755\nmkdir /c 0755\nrename /b /a", "/a", 1, 1, 3 },
	{ "the folder of what is made", "mkdir /a 0755\ncreate /a/f 0644", "/a", 1, 2, 2 },
	{ "the folder of what is removed", "mkdir /a 0755\ncreate /a/f 0644\nunlink /a/f", "/a", 1,
	  3, 3 },
	{ "the folder that it leaves", "mkdir /a 0755\ncreate /a/f 0644\nrename /a/f /f", "/a", 1,
	  3, 3 },
	{ "the folder that it comes to", "mkdir /a 0755\ncreate /f 0644\nrename /f /a/f", "/a", 1,
	  3, 3 },
	{ "a folder whose file is written",
	  "mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\nwrite $0 len=5", "/a", 1, 2, 2 },
	{ "what fails moves nothing", "mkdir /a 0755\nmkdir /a 0755\nrmdir /a/b", "/a", 1, 1, 1 },
	{ "a copy",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5\n$1 = open /g O_RDWR|O_CREAT 0644\n"
	  "copy_file_range $0 $1 len=5 at=0 to=0",
	  "/g", 3, 4, 4 },
	{ "noatime",
	  "remount opts=noatime\n$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5\npread $0 len=5 "
	  "at=0",
	  "/f", 2, 3, 3 },
	{ "strictatime",
	  "remount opts=strictatime\n$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5\npread $0 "
	  "len=5 at=0",
	  "/f", 4, 3, 3 },
	{ "read-only",
	  "umount\nmount opts=strictatime\n$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5\n"
	  "close $0\nremount opts=strictatime,ro\n$0 = open /f O_RDONLY\npread $0 len=5 at=0",
	  "/f", 3, 4, 4 },
	{ "O_NOATIME",
	  "remount opts=strictatime\n$0 = open /f O_RDWR|O_CREAT|O_NOATIME 0644\nwrite $0 len=5\n"
	  "pread $0 len=5 at=0",
	  "/f", 2, 3, 3 },
};

static int64_t middle(int number)
{
	return (int64_t)number * TICKS + TICKS / 2;
}

/* Every operation as the model wants it, each within its ticks. */
static void play(struct as_model *m, const struct as_seq *seq)
{
	for (size_t i = 0; i < seq->n; i++) {
		struct as_verdict verdict = { 0 };
		struct as_outcome got = { 0 };
		struct as_allowed allowed;

		as_model_allowed(m, &seq->ops[i], &allowed);
		got.ret = allowed.must ? -1 : allowed.ret > 0 ? allowed.ret : 0;
		got.err = allowed.must;
		as_model_clock(m, (int64_t)(i + 1) * TICKS, (int64_t)(i + 2) * TICKS - 1);
		assert_true(as_model_judge(m, &seq->ops[i], &got, &verdict));
		as_verdict_free(&verdict);
	}
}

static bool agrees(struct as_model *m, const char *path, const int64_t ns[3], struct as_buf *why)
{
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
	struct as_op stat = as_op_make(AS_OP_STAT);
	struct as_verdict verdict = { 0 };
	bool ok;

	stat.path = path;
	assert_true(as_model_stat(m, path, true, &got.st));
	got.st.atime_ns = ns[0];
	got.st.mtime_ns = ns[1];
	got.st.ctime_ns = ns[2];
	ok = as_model_judge(m, &stat, &got, &verdict);
	as_buf_clear(why);
	as_buf_adds(why, as_buf_str(&verdict.why));
	as_verdict_free(&verdict);
	return ok;
}

static void check_row(const struct row *row)
{
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse(row->text);
	int64_t ns[3] = { middle(row->atime), middle(row->mtime), middle(row->ctime) };
	struct as_buf why = { 0 };
	struct as_model *m;

	traits.stamps = AS_STAMPS_ALL | AS_STAMPS_RENAMED;
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	play(m, seq);
	if (!agrees(m, row->path, ns, &why))
		fail_msg("%s: %s", row->name, as_buf_str(&why));
	for (int i = 0; i < 3; i++)
		for (int by = -TICKS; by <= TICKS; by += 2 * TICKS) {
			ns[i] += by;
			/* Whoever looks a directory's names up may read it. */
			if (agrees(m, row->path, ns, &why) &&
			    !(i == 0 && by > 0 && row->path[1] == 'a'))
				fail_msg("%s: time %d by %d ticks is not found", row->name, i, by);
			ns[i] -= by;
		}
	as_buf_free(&why);
	as_seq_free(seq);
	as_model_free(m);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* The last operation answers as it is told, not as the model likes best. */
/* Where the type does not say so, a rename moves the ctime or not. An exchange always may. */
static void test_renamed_maybe(void **state)
{
	static const struct {
		const char *text;
		unsigned stamps;
	} maybe[] = {
		{ "create /f 0644\ncreate /h 0644\nrename /f /g", 0 },
		{ "create /f 0644\ncreate /g 0644\nrename2 /f /g RENAME_EXCHANGE",
		  AS_STAMPS_RENAMED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(maybe) / sizeof(maybe[0]); i++) {
		struct as_traits traits = t_full_traits;
		struct as_seq *seq = t_parse(maybe[i].text);
		struct as_buf why = { 0 };
		struct as_model *m;

		traits.stamps = AS_STAMPS_ALL | maybe[i].stamps;
		m = as_model_new(&traits);
		as_model_follow_times(m, "");
		play(m, seq);
		for (int ctime = 1; ctime <= 3; ctime += 2) {
			const int64_t ns[3] = { middle(1), middle(1), middle(ctime) };

			if (!agrees(m, "/g", ns, &why))
				fail_msg("%s: %s", maybe[i].text, as_buf_str(&why));
		}
		as_buf_free(&why);
		as_seq_free(seq);
		as_model_free(m);
	}
}

/* Where they move more often than the model knows, only an older time is wrong. */
static void test_often(void **state)
{
	const int64_t later[3] = { middle(1), middle(3), middle(3) };
	const int64_t older[3] = { middle(1), middle(1), middle(1) };
	struct as_seq *seq = t_parse("create /f 0644\nchmod /f 0600");

	(void)state;
	for (int often = 0; often <= 1; often++) {
		struct as_traits traits = t_full_traits;
		struct as_buf why = { 0 };
		struct as_model *m;

		traits.stamps = AS_STAMPS_ALL | (often ? AS_STAMPS_OFTEN : 0);
		m = as_model_new(&traits);
		as_model_follow_times(m, "");
		play(m, seq);
		assert_int_equal(agrees(m, "/f", later, &why), often);
		assert_false(agrees(m, "/f", older, &why));
		as_buf_free(&why);
		as_model_free(m);
	}
	as_seq_free(seq);
}

static void refuse_last(struct as_model *m, struct as_seq *seq, int err)
{
	struct as_outcome got = { .ret = -1, .err = err };
	struct as_verdict verdict = { 0 };
	size_t last = --seq->n;

	play(m, seq);
	as_model_clock(m, (int64_t)(last + 1) * TICKS, (int64_t)(last + 2) * TICKS - 1);
	/* No model knows when there is no memory. */
	if (as_model_judge(m, &seq->ops[last], &got, &verdict) == (err == ENOMEM))
		fail_msg("%s", as_buf_str(&verdict.why));
	as_verdict_free(&verdict);
	seq->n++;
}

/* What is refused for its alignment, or for lack of space or memory, may have set mtime and ctime;
 * other refusals do not. */
static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
		bool may_move;
	} refused[] = {
		{ "$0 = open /f O_RDWR|O_CREAT|O_DIRECT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\n"
		  "write $1 len=5\ncopy_file_range $1 $0 len=5 at=0 to=0",
		  EINVAL, true },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nmkdir /a 0755\nmkdir /b 0755\nwrite $0 len=9",
		  ENOSPC, true },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nmkdir /a 0755\nmkdir /b 0755\nwrite $0 len=9",
		  ENOMEM, true },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nmkdir /a 0755\nmkdir /b 0755\n"
		  "ftruncate $0 9",
		  ENOMEM, false },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nmkdir /a 0755\nmkdir /b 0755\n"
		  "removexattr /f user.a",
		  ENOSPC, false },
		{ "$0 = open /f O_RDWR|O_CREAT 0644\nmkdir /a 0755\nmkdir /b 0755\n"
		  "write_xattr /f user.a len=1 flags=XATTR_REPLACE",
		  ENOSPC, false },
	};
	struct as_traits traits = t_full_traits;

	(void)state;
	traits.stamps = AS_STAMPS_ALL;
	traits.may_fill = true;
	traits.dio_align = 4096;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct as_model *m = as_model_new(&traits);
		struct as_seq *seq = t_parse(refused[i].text);
		const int64_t same[3] = { middle(1), middle(1), middle(1) };
		const int64_t moved[3] = { middle(1), middle(4), middle(4) };
		struct as_buf why = { 0 };

		as_model_follow_times(m, "");
		refuse_last(m, seq, refused[i].err);
		if (!agrees(m, "/f", same, &why))
			fail_msg("%s: %s", refused[i].text, as_buf_str(&why));
		if (agrees(m, "/f", moved, &why) != refused[i].may_move)
			fail_msg("%s: moved: %s", refused[i].text, as_buf_str(&why));
		as_buf_free(&why);
		as_seq_free(seq);
		as_model_free(m);
	}
}

/* An atime of the future goes back to the clock when the file is read. */
static void test_future(void **state)
{
	const int64_t future = INT64_C(1000000) * 1000000000;
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse("create /f 0644\nutimens /f atime=1000000 mtime=1000000");
	int64_t ns[3] = { future, future, middle(2) };
	struct as_buf why = { 0 };
	struct as_model *m;

	(void)state;
	traits.stamps = AS_STAMPS_ALL;
	traits.quirks |= AS_QUIRK_NO_ATIME; /* as of every type of the kernel */
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	play(m, seq);
	if (!agrees(m, "/f", ns, &why))
		fail_msg("%s", as_buf_str(&why));
	ns[0] = middle(2);
	if (!agrees(m, "/f", ns, &why))
		fail_msg("%s", as_buf_str(&why));
	ns[0] = middle(1);
	assert_false(agrees(m, "/f", ns, &why));
	ns[0] = future;
	ns[1] = middle(2);
	assert_false(agrees(m, "/f", ns, &why));
	as_buf_free(&why);
	as_seq_free(seq);
	as_model_free(m);
}

/* A copy follows no times, and nothing is known after a crash. */
static void test_unknown(void **state)
{
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse("create /f 0644\nsync"), *crash = t_parse("crash");
	const int64_t any[3] = { 1, 2, 3 };
	struct as_buf why = { 0 };
	struct as_model *m, *copy;

	(void)state;
	traits.stamps = AS_STAMPS_ALL;
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	play(m, seq);
	assert_false(agrees(m, "/f", any, &why));
	copy = as_model_copy(m);
	assert_true(agrees(copy, "/f", any, &why));
	play(m, crash);
	assert_true(agrees(m, "/f", any, &why));
	as_buf_free(&why);
	as_seq_free(seq);
	as_seq_free(crash);
	as_model_free(copy);
	as_model_free(m);
}

/* A type that keeps seconds. */
static void test_granularity(void **state)
{
	static const int64_t second = 1000000000;
	struct as_traits traits = t_full_traits;
	struct as_op create = as_op_make(AS_OP_CREATE);
	struct as_outcome done = { 0 };
	struct as_verdict verdict = { 0 };
	struct as_buf why = { 0 };
	int64_t kept[3] = { 7 * second, 7 * second, 7 * second };
	struct as_model *m;

	(void)state;
	create.path = "/f";
	traits.stamps = AS_STAMPS_ALL;
	traits.time_granularity_ns = second;
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	as_model_clock(m, 7 * second + 5, 7 * second + 9);
	assert_true(as_model_judge(m, &create, &done, &verdict));
	assert_true(agrees(m, "/f", kept, &why));
	kept[1] -= second;
	assert_false(agrees(m, "/f", kept, &why));
	as_verdict_free(&verdict);
	as_buf_free(&why);
	as_model_free(m);
}

/* An atime in the future: whoever reads the directory afterwards sets it back. */
static void test_future_atime(void **state)
{
	static const int64_t now[3] = { 3 * TICKS, 9000000000, 2 * TICKS + 1 },
			     before[3] = { TICKS, 9000000000, 2 * TICKS + 1 };
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse("mkdir /a 0755\nutimens /a atime=9 mtime=9\nprune /a\n"
				     "create /b 0644\ncreate /c 0644");
	struct as_buf why = { 0 };
	struct as_model *m;

	(void)state;
	traits.quirks |= AS_QUIRK_NO_ATIME;
	traits.stamps = AS_STAMPS_ALL;
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	play(m, seq);
	assert_true(agrees(m, "/a", now, &why));
	assert_false(agrees(m, "/a", before, &why));
	as_buf_free(&why);
	as_seq_free(seq);
	as_model_free(m);
}

/* An attribute that is set to the value it has: ctime moves or not. */
static void test_same_xattr(void **state)
{
	const int64_t kept[3] = { middle(1), middle(1), middle(2) },
		      moved[3] = { middle(1), middle(1), middle(3) },
		      older[3] = { middle(1), middle(1), middle(1) };
	struct as_traits traits = t_full_traits;
	struct as_seq *seq = t_parse("create /f 0644\nwrite_xattr /f user.a len=3 fill=1\n"
				     "write_xattr /f user.a len=3 fill=1");
	struct as_buf why = { 0 };
	struct as_model *m;

	(void)state;
	traits.stamps = AS_STAMPS_ALL;
	m = as_model_new(&traits);
	as_model_follow_times(m, "");
	play(m, seq);
	assert_true(agrees(m, "/f", kept, &why));
	assert_true(agrees(m, "/f", moved, &why));
	assert_false(agrees(m, "/f", older, &why));
	as_buf_free(&why);
	as_seq_free(seq);
	as_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_future_atime),  cmocka_unit_test(test_rows),
		cmocka_unit_test(test_renamed_maybe), cmocka_unit_test(test_often),
		cmocka_unit_test(test_unknown),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_future),	      cmocka_unit_test(test_granularity),
		cmocka_unit_test(test_same_xattr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
