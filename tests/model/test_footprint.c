/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of the disk a file can have at most (model/footprint.h): with holes, cuts and blocks
 * that were allocated without data, and when nothing can be said. */
#include "tests/lib/model.h"

#include <errno.h>

#define FILE_64K "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=65536 at=0 fill=1\n"
#define BLOCK 1024u
#define UNKNOWN 0

/* In blocks: own + data + one for 16 of data + for runs. */
#define MOST(data, runs, kept) ((4 + (data) + (data) / 16 + (runs)*6 + (kept)) * BLOCK)

static const struct {
	const char *name, *text;
	uint64_t most, xfs; /* xfs: of a type that allocates in advance */
} rows[] = {
	{ "empty", "create /f 0644", MOST(0, 0, 0), MOST(0, 0, 0) },
	{ "written", FILE_64K, MOST(64, 1, 0), MOST(64, 1, 0) },
	{ "written twice", FILE_64K "pwrite $0 len=65536 at=0 fill=2", MOST(64, 1, 0),
	  MOST(64, 1, 0) },
	{ "grown", FILE_64K "ftruncate $0 1000000", MOST(64, 1, 1),
	  MOST(64, 1, 1) + 1000000 - 65536 },
	{ "written after the end", FILE_64K "pwrite $0 len=1024 at=131072 fill=1", MOST(65, 2, 0),
	  MOST(65, 2, 64) },
	{ "cut", FILE_64K "ftruncate $0 8192", MOST(8, 1, 1), MOST(8, 1, 1) },
	{ "punched inside", FILE_64K "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=16384 len=32768",
	  MOST(32, 2, 2), MOST(32, 2, 2) },
	{ "punched inside of a block", FILE_64K "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=100 len=200",
	  MOST(64, 2, 2), MOST(64, 2, 2) },
	{ "punched", FILE_64K "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=65536", MOST(0, 0, 2),
	  MOST(0, 0, 2) },
	{ "collapsed", FILE_64K "fallocate $0 COLLAPSE_RANGE at=0 len=49152", MOST(16, 1, 0),
	  MOST(16, 1, 0) },
	{ "one byte", "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=1 at=5000 fill=1",
	  (4 + 1 + 3) * BLOCK, (4 + 1 + 3) * BLOCK },
	{ "zeroed", FILE_64K "fallocate $0 ZERO_RANGE at=0 len=32768", MOST(32, 1, 34), UNKNOWN },
	{ "after the end", FILE_64K "fallocate $0 KEEP_SIZE at=65536 len=65536", MOST(64, 1, 66),
	  UNKNOWN },
	{ "an attribute", FILE_64K "write_xattr /f user.a len=3 fill=1", UNKNOWN, UNKNOWN },
	{ "mapped", FILE_64K "mmap $0 len=4096 at=0", UNKNOWN, UNKNOWN },
	{ "mapped and written", FILE_64K "mmap_write $0 len=10 at=0 fill=2", UNKNOWN, UNKNOWN },
	{ "append-only", FILE_64K "setflags $0 FS_APPEND_FL", UNKNOWN, UNKNOWN },
};

static uint64_t most_of(const struct as_model *m)
{
	struct as_footprint most;
	struct as_stat st;

	assert_true(as_model_stat(m, "/f", true, &st));
	return as_model_footprint(m, (uint32_t)st.ino, &most) ? most.bytes : UNKNOWN;
}

static struct as_model *after(const struct as_traits *traits, const char *text)
{
	struct as_model *m = as_model_new(traits);

	assert_int_equal(t_apply_text(m, text), 0);
	return m;
}

static void test_rows(void **state)
{
	struct as_traits plain = t_full_traits, ahead;

	(void)state;
	plain.block_bytes = BLOCK;
	ahead = plain;
	ahead.space = AS_SPACE_AHEAD;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_model *m = after(&plain, rows[i].text), *x = after(&ahead, rows[i].text);

		if (most_of(m) != rows[i].most || most_of(x) != rows[i].xfs)
			fail_msg("%s: %llu and %llu", rows[i].name, (unsigned long long)most_of(m),
				 (unsigned long long)most_of(x));
		as_model_free(m);
		as_model_free(x);
	}
}

/* Which answers leave nothing to say. */
static const struct {
	const char *text;
	int64_t ret;
	int err;
	bool known;
} answers[] = {
	{ "pwrite $0 len=100 at=0 fill=1", 100, 0, true },
	{ "pwrite $0 len=100 at=0 fill=1", -1, ENOSPC, false },
	{ "pwrite $5 len=100 at=0 fill=1", -1, EBADF, true },
	{ "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=0", -1, EINVAL, false },
	{ "mkdir /d 0755", -1, ENOSPC, false },
	{ "mkdir /f 0755", -1, EEXIST, true },
};

static void test_answers(void **state)
{
	struct as_traits traits = t_full_traits;

	(void)state;
	traits.may_fill = true;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct as_outcome got = { .ret = answers[i].ret, .err = answers[i].err };
		struct as_model *m = after(&traits, FILE_64K);
		struct as_seq *seq = t_parse(answers[i].text);
		struct as_verdict verdict = { 0 };

		if (!as_model_judge(m, &seq->ops[0], &got, &verdict) ||
		    (most_of(m) != UNKNOWN) != answers[i].known)
			fail_msg("%s = %lld: %s", answers[i].text, (long long)answers[i].ret,
				 as_buf_str(&verdict.why));
		as_verdict_free(&verdict);
		as_seq_free(seq);
		as_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
