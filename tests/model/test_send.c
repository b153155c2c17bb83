/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sendfile and splice: errors in the kernel's order, short answers, offsets, contents. */
#include "tests/lib/model.h"

#include "model/state.h"

#include <errno.h>
#include <stdio.h>

#define TWO "$0 = open /f O_RDWR|O_CREAT 0644\n$1 = open /g O_RDWR|O_CREAT 0644\n"
#define FILLED TWO "pwrite $0 len=9000 at=0 fill=1\n"
#define MAX "9223372036854775807"

/* The last operation must answer `ret`, or -1 with `err`; `wrong` is another answer. */
static const struct {
	const char *name, *text;
	int64_t ret;
	int err;
	int64_t wrong; /* >= 0: a success, else an errno */
} rows[] = {
	{ "sent", FILLED "sendfile $0 $1 len=100 at=50", 100, 0, 99 },
	{ "no more than there is", FILLED "sendfile $0 $1 len=10000 at=50", 8950, 0, 10000 },
	{ "at the end", FILLED "sendfile $0 $1 len=10 at=9000", 0, 0, 10 },
	{ "after the end", FILLED "sendfile $0 $1 len=10 at=20000", 0, 0, -EINVAL },
	{ "nothing", FILLED "sendfile $0 $1 len=0 at=0", 0, 0, -EINVAL },
	{ "nothing to nowhere", FILLED "sendfile $0 $9 len=0 at=0", -1, EBADF, 0 },
	{ "no source", FILLED "sendfile $9 $1 len=10 at=-2", -1, EBADF, -EINVAL },
	{ "no target, bad offset", FILLED "sendfile $0 $9 len=10 at=-2", -1, EINVAL, -EBADF },
	{ "source for writing", FILLED "$2 = open /f O_WRONLY\nsendfile $2 $1 len=10 at=0", -1,
	  EBADF, 10 },
	{ "target for reading", FILLED "$2 = open /g O_RDONLY\nsendfile $0 $2 len=10 at=0", -1,
	  EBADF, 10 },
	{ "target without data", FILLED "$2 = open /g O_RDWR|O_PATH\nsendfile $0 $2 len=10 at=0",
	  -1, EBADF, 10 },
	{ "target that appends",
	  FILLED "$2 = open /g O_WRONLY|O_APPEND\nsendfile $0 $2 len=10 at=0", -1, EINVAL, 10 },
	{ "nothing to what appends",
	  FILLED "$2 = open /g O_WRONLY|O_APPEND\nsendfile $0 $2 len=0 at=0", -1, EINVAL, 0 },
	{ "a directory", FILLED "$2 = open / O_RDONLY\nsendfile $2 $1 len=10 at=0", -1, EINVAL,
	  -EISDIR },
	{ "nothing of a directory", FILLED "$2 = open / O_RDONLY\nsendfile $2 $1 len=0 at=0", 0, 0,
	  -EINVAL },
	{ "a length that is negative", FILLED "sendfile $0 $1 len=-1 at=0", -1, EINVAL, 9000 },
	{ "from the largest offset", FILLED "sendfile $0 $1 len=0 at=" MAX, -1, EOVERFLOW, 0 },
	{ "to beyond the largest offset", FILLED "splice $0 $1 len=10 at=0 to=" MAX, -1, EINVAL,
	  10 },
	{ "side by side in one file", FILLED "lseek $0 100 SEEK_SET\nsendfile $0 $0 len=100 at=0",
	  100, 0, -EINVAL },
	{ "onto itself", FILLED "lseek $0 100 SEEK_SET\nsendfile $0 $0 len=101 at=0", -1, EINVAL,
	  101 },
	{ "its own end", FILLED "sendfile $0 $0 len=10 at=8999", -1, EINVAL, 1 },
	{ "after its own end", FILLED "sendfile $0 $0 len=10 at=9000", 0, 0, -EINVAL },
	{ "spliced", FILLED "splice $0 $1 len=100 at=50 to=7", 100, 0, 0 },
	{ "spliced in part", FILLED "splice $0 $1 len=9000 at=50 to=7", 4096, 0, 9001 },
	{ "spliced at the end", FILLED "splice $0 $1 len=10 at=9000 to=0", 0, 0, 10 },
	{ "nothing spliced from nowhere", TWO "splice $8 $9 len=0 at=-2 to=-2", 0, 0, -EBADF },
	{ "the end, and no target", FILLED "splice $0 $9 len=10 at=9000 to=0", 0, 0, -EBADF },
	{ "spliced to nowhere", FILLED "splice $0 $9 len=10 at=0 to=0", -1, EBADF, 10 },
	{ "spliced from a bad offset", FILLED "splice $0 $9 len=10 at=-2 to=-2", -1, EINVAL,
	  -EBADF },
	{ "spliced to a bad offset", FILLED "splice $0 $1 len=10 at=0 to=-2", -1, EINVAL, 10 },
	{ "spliced to what appends",
	  FILLED "$2 = open /g O_WRONLY|O_APPEND\nsplice $0 $2 len=10 at=0 to=0", -1, EINVAL, 10 },
	{ "a directory spliced", FILLED "$2 = open / O_RDONLY\nsplice $2 $1 len=10 at=0 to=0", -1,
	  EINVAL, -EISDIR },
	{ "spliced onto itself", FILLED "splice $0 $0 len=10 at=0 to=9", -1, EINVAL, 10 },
};

static bool agrees(const struct as_traits *traits, const char *text, int64_t ret, int err)
{
	struct as_model *m = as_model_new(traits);
	struct as_seq *seq = t_parse(text);
	struct as_outcome got = { .ret = ret, .err = err };
	struct as_verdict verdict = { 0 };
	bool ok;

	for (size_t i = 0; i + 1 < seq->n; i++)
		as_model_apply(m, &seq->ops[i]);
	ok = as_model_judge(m, &seq->ops[seq->n - 1], &got, &verdict);
	as_verdict_free(&verdict);
	as_seq_free(seq);
	as_model_free(m);
	return ok;
}

static void test_answers(void **state)
{
	struct as_traits exact = t_full_traits;

	(void)state;
	exact.may_fill = false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t wrong = rows[i].wrong;

		if (!agrees(&exact, rows[i].text, rows[i].ret, rows[i].err))
			fail_msg("%s: the right answer is refused", rows[i].name);
		if (agrees(&exact, rows[i].text, wrong < 0 ? -1 : wrong,
			   wrong < 0 ? (int)-wrong : 0))
			fail_msg("%s: a wrong answer is accepted", rows[i].name);
	}
}

/* The largest file of a type: EOVERFLOW for the source, EFBIG for the target, and what fits. */
static void test_largest(void **state)
{
	struct as_traits small = t_full_traits;

	(void)state;
	small.may_fill = false;
	small.size_max = 16384;
	assert_true(agrees(&small, FILLED "sendfile $0 $1 len=1 at=16384", -1, EOVERFLOW));
	assert_true(agrees(&small, FILLED "lseek $1 16384 SEEK_SET\nsendfile $0 $1 len=1 at=0", -1,
			   EFBIG));
	assert_true(
		agrees(&small, FILLED "lseek $1 16380 SEEK_SET\nsendfile $0 $1 len=9 at=0", 4, 0));
	assert_false(
		agrees(&small, FILLED "lseek $1 16380 SEEK_SET\nsendfile $0 $1 len=9 at=0", 9, 0));
	assert_true(agrees(&small, FILLED "splice $0 $1 len=1 at=0 to=16384", -1, EFBIG));
	assert_true(agrees(&small, FILLED "splice $0 $1 len=1 at=16384 to=0", 0, 0));
}

/* Both offsets move by what was answered, and not where one was given. */
static void test_offsets(void **state)
{
	static const char *const sent = FILLED "sendfile $0 $1 len=100 at=-1\n",
				 *const given = FILLED "sendfile $0 $1 len=100 at=5\n",
				 *const spliced = FILLED "splice $0 $1 len=100 at=-1 to=-1\n",
				 *const both = FILLED "splice $0 $1 len=100 at=3 to=4\n";
	static const struct {
		const char *text;
		int64_t in, out;
	} moves[] = {
		{ sent, 100, 100 },
		{ given, 0, 100 },
		{ spliced, 100, 100 },
		{ both, 0, 0 },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		snprintf(text, sizeof(text), "%slseek $0 0 SEEK_CUR", moves[i].text);
		assert_true(agrees(&t_full_traits, text, moves[i].in, 0));
		assert_false(agrees(&t_full_traits, text, moves[i].in + 1, 0));
		snprintf(text, sizeof(text), "%slseek $1 0 SEEK_CUR", moves[i].text);
		assert_true(agrees(&t_full_traits, text, moves[i].out, 0));
		assert_false(agrees(&t_full_traits, text, moves[i].out + 1, 0));
	}
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
	(void)state;
	assert_true(holds(FILLED "sendfile $0 $1 len=9000 at=0\n", 4096));
	assert_true(holds(FILLED "lseek $1 4000 SEEK_SET\nsendfile $0 $1 len=9000 at=10\n", 106));
	assert_true(holds(FILLED "splice $0 $1 len=9000 at=20 to=4090\n", 26));
	assert_false(holds(FILLED "splice $0 $1 len=9000 at=20 to=4090\n", 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_contents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
