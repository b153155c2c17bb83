/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that share blocks: what the model expects, and that it objects to each wrong answer. */
#include "tests/lib/model.h"

#include "model/state.h"

#include <errno.h>

#define TWO "$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\n"
#define FILLED TWO "pwrite $0 len=10000 at=0 fill=1\n"
#define CLONED FILLED "clone $1 $0\n"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err, wrong; /* wrong: an errno, 0: success */
} rows[] = {
	{ "whole", FILLED "clone $1 $0", 0, 0, EINVAL },
	{ "empty onto itself", TWO "clone $0 $0", 0, 0, EINVAL },
	{ "onto itself", FILLED "clone $0 $0", -1, EINVAL, 0 },
	{ "no descriptor", FILLED "clone $9 $0", -1, EBADF, EINVAL },
	{ "no source", FILLED "clone $1 $9", -1, EBADF, EINVAL },
	{ "to one that cannot be written", FILLED "$2 = open /g O_RDONLY\nclone $2 $0", -1, EBADF,
	  0 },
	{ "to one that appends", FILLED "$2 = open /g O_RDWR|O_APPEND\nclone $2 $0", -1, EBADF, 0 },
	{ "from one that cannot be read", FILLED "$2 = open /f O_WRONLY\nclone $1 $2", -1, EBADF,
	  0 },
	{ "to a directory", FILLED "$2 = open / O_RDONLY\nclone $2 $0", -1, EISDIR, EBADF },
	{ "from a directory", FILLED "$2 = open / O_RDONLY\nclone $1 $2", -1, EISDIR, EBADF },
	{ "over a longer file", FILLED "ftruncate $1 20000\nclone $1 $0", -1, EINVAL, 0 },
	{ "over a longer file by whole blocks",
	  FILLED "ftruncate $0 8192\nftruncate $1 20000\nclone $1 $0", 0, 0, EINVAL },
	{ "a block", CLONED "clone_range $1 $0 len=4096 at=4096 to=0", 0, 0, EINVAL },
	{ "part of a block", CLONED "clone_range $1 $0 len=100 at=0 to=0", -1, EINVAL, 0 },
	{ "from inside of a block", CLONED "clone_range $1 $0 len=4096 at=1 to=0", -1, EINVAL, 0 },
	{ "to inside of a block", CLONED "clone_range $1 $0 len=4096 at=0 to=1", -1, EINVAL, 0 },
	{ "the end, said", CLONED "clone_range $1 $0 len=1808 at=8192 to=16384", 0, 0, EINVAL },
	{ "the end, not said", CLONED "clone_range $1 $0 len=0 at=8192 to=16384", 0, 0, EINVAL },
	{ "the end into the middle", CLONED "clone_range $1 $0 len=0 at=8192 to=0", -1, EINVAL, 0 },
	{ "more than there is", CLONED "clone_range $1 $0 len=4096 at=8192 to=16384", -1, EINVAL,
	  0 },
	{ "nothing at the end", CLONED "clone_range $1 $0 len=0 at=10000 to=1", 0, 0, EINVAL },
	{ "after the end", CLONED "clone_range $1 $0 len=0 at=12288 to=0", -1, EINVAL, 0 },
	{ "a negative length", CLONED "clone_range $1 $0 len=-1 at=0 to=0", -1, EINVAL, 0 },
	{ "a range that wraps", CLONED "clone_range $1 $0 len=4096 at=0 to=9223372036854771712", -1,
	  EINVAL, 0 },
	{ "side by side", CLONED "clone_range $0 $0 len=4096 at=0 to=4096", 0, 0, EINVAL },
	{ "overlapping", CLONED "clone_range $0 $0 len=8192 at=0 to=4096", -1, EINVAL, 0 },
	{ "the same bytes", CLONED "dedupe_range $1 $0 len=4096 at=0 to=0", 4096, 0, EBADE },
	{ "other bytes", CLONED "dedupe_range $1 $0 len=4096 at=4096 to=0", -1, EBADE, 0 },
	{ "holes of both",
	  TWO "ftruncate $0 8192\nftruncate $1 8192\n"
	      "dedupe_range $1 $0 len=4096 at=0 to=4096",
	  4096, 0, EBADE },
	{ "a hole and bytes", FILLED "ftruncate $1 8192\ndedupe_range $1 $0 len=4096 at=0 to=4096",
	  -1, EBADE, 0 },
	{ "the last byte",
	  CLONED "pwrite $1 len=1 at=9999 fill=9\n"
		 "dedupe_range $1 $0 len=10000 at=0 to=0",
	  -1, EBADE, 0 },
	{ "common end", CLONED "dedupe_range $1 $0 len=1808 at=8192 to=8192", 1808, 0, EBADE },
	{ "a part that is cut",
	  CLONED "pwrite $1 len=1 at=4096 fill=9\n"
		 "dedupe_range $1 $0 len=5000 at=0 to=0",
	  5000, 0, EBADE },
	{ "no bytes", CLONED "dedupe_range $1 $0 len=0 at=1 to=2", 0, 0, EINVAL },
	{ "beyond the source", CLONED "dedupe_range $1 $0 len=20000 at=0 to=0", -1, EINVAL, 0 },
	{ "beyond the other", CLONED "dedupe_range $1 $0 len=4096 at=0 to=1048576", -1, EINVAL, 0 },
	{ "with itself", CLONED "dedupe_range $0 $0 len=4096 at=0 to=0", -1, EINVAL, 0 },
	{ "source cannot be read",
	  CLONED "$2 = open /f O_WRONLY\n"
		 "dedupe_range $1 $2 len=4096 at=0 to=0",
	  -1, EINVAL, EBADF },
	{ "other cannot be written",
	  CLONED "$2 = open /g O_RDONLY\n"
		 "dedupe_range $2 $0 len=4096 at=0 to=0",
	  4096, 0, EBADF },
	{ "with a directory",
	  CLONED "$2 = open / O_RDONLY\n"
		 "dedupe_range $2 $0 len=4096 at=0 to=0",
	  -1, EISDIR, EINVAL },
};

static void test_answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int wrong = rows[i].wrong;

		if (!t_judges(&t_full_traits, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (t_judges(&t_full_traits, rows[i].text, wrong ? -1 : 0, wrong))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

/* A type that cannot, one of which some drivers can, and one that asks for checksums. */
static void test_types(void **state)
{
	struct as_traits none = t_full_traits, maybe, odd = t_full_traits;
	const char *good = FILLED "clone $1 $0", *bad = FILLED "clone_range $1 $0 len=1 at=0 to=0",
		   *same = CLONED "dedupe_range $1 $0 len=0 at=0 to=0";

	(void)state;
	none.features &= ~(uint64_t)AS_FEAT_CLONE;
	maybe = none;
	maybe.maybe |= AS_FEAT_CLONE;
	odd.quirks |= AS_QUIRK_CLONE_MAYBE_REFUSED;
	assert_true(t_judges(&none, good, -1, EOPNOTSUPP));
	assert_true(t_judges(&none, bad, -1, EOPNOTSUPP));
	assert_true(t_judges(&none, same, -1, EOPNOTSUPP));
	assert_false(t_judges(&none, good, 0, 0));
	assert_false(t_judges(&none, bad, -1, EINVAL));
	assert_true(t_judges(&maybe, good, -1, EOPNOTSUPP));
	assert_true(t_judges(&maybe, good, 0, 0));
	assert_true(t_judges(&maybe, bad, -1, EINVAL));
	assert_false(t_judges(&maybe, bad, 0, 0));
	assert_true(t_judges(&odd, good, -1, EINVAL));
	assert_true(t_judges(&odd, good, 0, 0));
	assert_false(t_judges(&odd, good, -1, EOPNOTSUPP));
	assert_false(t_judges(&t_full_traits, good, -1, EOPNOTSUPP));
}

/* Whether the model wants these bytes at 4096 of /g: pattern 1 as it is `from` bytes into it. */
static bool holds(const char *text, uint64_t from)
{
	struct as_model *m = as_model_new(&t_full_traits);
	struct as_seq *seq = t_parse("pread $1 len=100 at=4096");
	char bytes[100];
	struct as_outcome got = {
		.ret = 100, .payload = AS_PAYLOAD_BYTES, .data = bytes, .len = sizeof(bytes)
	};
	struct as_verdict verdict = { 0 };
	bool ok;

	assert_int_equal(t_apply_text(m, text), 0);
	assert_null(as_model_check(m));
	as_pattern_fill(1, from, bytes, sizeof(bytes));
	ok = as_model_judge(m, &seq->ops[0], &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return ok;
}

static void test_contents(void **state)
{
	static const char *const moved = FILLED "clone_range $1 $0 len=8192 at=0 to=4096\n",
				 *const apart = FILLED "clone_range $1 $0 len=8192 at=0 to=4096\n"
						       "pwrite $0 len=4096 at=0 fill=2\n";

	(void)state;
	assert_true(holds(CLONED, 4096));
	assert_false(holds(CLONED, 0));
	assert_true(holds(moved, 0));
	assert_false(holds(moved, 4096));
	/* What is written to one of the two later does not show in the other. */
	assert_true(holds(apart, 0));
}

/* A type that knows the call, on a disk that was made without shared blocks. */
static void test_maybe(void **state)
{
	struct as_traits traits = t_any_traits;
	const char *nothing = "$0 = open /f O_RDWR|O_CREAT 0644\n"
			      "dedupe_range $0 $0 len=0 at=0 to=0\n";
	const char *some = "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=9000 at=0 fill=1\n"
			   "dedupe_range $0 $0 len=4096 at=0 to=4096\n";

	(void)state;
	traits.features &= ~(uint64_t)AS_FEAT_CLONE;
	assert_false(t_judges(&traits, nothing, 0, 0));
	assert_false(t_judges(&traits, some, -1, EINVAL));
	traits.maybe |= AS_FEAT_CLONE;
	assert_true(t_judges(&traits, nothing, 0, 0));
	assert_true(t_judges(&traits, nothing, -1, EOPNOTSUPP));
	assert_true(t_judges(&traits, some, -1, EINVAL));
	assert_true(t_judges(&traits, some, -1, EOPNOTSUPP));
	assert_false(t_judges(&traits, some, 4096, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_maybe),
		cmocka_unit_test(test_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
