/* SPDX-License-Identifier: GPL-2.0-or-later */
/* statx: what it tells besides stat, and that the model objects to each thing told wrong. */
#include "tests/lib/model.h"

#include <errno.h>
#include <sys/stat.h>

#define ATTR_IMMUTABLE 0x10
#define ATTR_NODUMP 0x40

struct told {
	uint32_t mask;
	uint64_t attributes, attributes_mask;
	int64_t btime_ns;
	uint64_t longer; /* than the file is */
};

static struct as_model *model_of_file(const struct as_traits *traits)
{
	struct as_model *m = as_model_new(traits);

	as_model_follow_times(m, "");
	as_model_clock(m, 1000, 2000);
	assert_int_equal(t_apply_text(m, "create /f 0644"), 0);
	return m;
}

/* Judges a statx of /f that tells this, asked for everything, or all but the times. */
static bool judges(struct as_model *m, const struct told *told)
{
	static const int64_t times = AS_STATX_ATIME | AS_STATX_MTIME | AS_STATX_CTIME;
	struct as_op op = as_op_make(AS_OP_STATX);
	struct as_outcome got = { .payload = AS_PAYLOAD_STAT };
	struct as_verdict verdict = { 0 };
	bool ok;

	op.path = "/f";
	op.flags = AS_STATX_BASIC_STATS | AS_STATX_BTIME;
	if (!(told->mask & times))
		op.flags &= ~times;
	assert_true(as_model_stat(m, "/f", true, &got.st));
	got.st.atime_ns = got.st.mtime_ns = got.st.ctime_ns = told->mask & times ? 1500 : 0;
	got.st.size += told->longer;
	got.stx = (struct as_statx){ .known = true,
				     .mask = told->mask,
				     .attributes = told->attributes,
				     .attributes_mask = told->attributes_mask,
				     .btime_ns = told->btime_ns };
	as_model_clock(m, 3000, 4000);
	ok = as_model_judge(m, &op, &got, &verdict);
	as_verdict_free(&verdict);
	return ok;
}

static void test_told(void **state)
{
	static const struct {
		const char *name;
		struct told told;
		bool right;
	} rows[] = {
		{ "all", { 0xfff, 0, 0, 1500, 0 }, true },
		{ "more", { 0x1fff, 0, ATTR_NODUMP, 1500, 0 }, true },
		{ "no dump", { 0xfff, ATTR_NODUMP, ATTR_NODUMP, 1500, 0 }, false },
		{ "without a time of making", { 0x7ff, 0, 0, 0, 0 }, true },
		{ "without the times, which nobody asked for", { 0xf1f, 0, 0, 1500, 0 }, true },
		{ "without one of the times", { 0xfbf, 0, 0, 1500, 0 }, false },
		{ "made before", { 0xfff, 0, 0, 999, 0 }, false },
		{ "made afterwards", { 0xfff, 0, 0, 2001, 0 }, false },
		{ "without the size", { 0xdff, 0, 0, 1500, 0 }, false },
		{ "another size", { 0xfff, 0, 0, 1500, 1 }, false },
		{ "attributes that it does not know", { 0xfff, ATTR_NODUMP, 0, 1500, 0 }, false },
		{ "immutable", { 0xfff, ATTR_IMMUTABLE, ATTR_IMMUTABLE, 1500, 0 }, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_traits traits = t_full_traits;
		struct as_model *m;

		traits.stamps = AS_STAMPS_ALL;
		m = model_of_file(&traits);
		if (judges(m, &rows[i].told) != rows[i].right)
			fail_msg("%s", rows[i].name);
		as_model_free(m);
	}
}

/* What was told once stays; nothing moves it. */
static void test_born_once(void **state)
{
	struct as_traits traits = t_full_traits;
	struct as_model *m;

	(void)state;
	traits.stamps = AS_STAMPS_ALL;
	m = model_of_file(&traits);
	assert_true(judges(m, &(struct told){ 0xfff, 0, 0, 1500, 0 }));
	assert_true(judges(m, &(struct told){ 0xfff, 0, 0, 1500, 0 }));
	assert_false(judges(m, &(struct told){ 0xfff, 0, 0, 1501, 0 }));
	as_model_free(m);
}

static void test_answers(void **state)
{
	(void)state;
	assert_true(t_judges(&t_full_traits, "statx /n", -1, ENOENT));
	assert_true(t_judges(&t_full_traits, "statx /n mask=0x80000000", -1, EINVAL));
	assert_false(t_judges(&t_full_traits, "statx /n mask=0x80000000", -1, ENOENT));
	assert_false(t_judges(&t_full_traits, "statx /n", 0, 0));
	assert_true(t_judges(&t_full_traits, "symlink n /l\nstatx /l nofollow=1", 0, 0));
	assert_true(t_judges(&t_full_traits, "symlink n /l\nstatx /l", -1, ENOENT));
}

/* A copy to a file that was opened with O_DIRECT sets the time before it is refused. */
static void test_refused_copy(void **state)
{
	static const char *const flags[] = { "O_RDWR", "O_RDWR|O_DIRECT" };

	(void)state;
	for (int direct = 0; direct < 2; direct++) {
		struct as_traits traits = t_full_traits;
		struct as_outcome refused = { .ret = -1, .err = EINVAL },
				  got = { .payload = AS_PAYLOAD_STAT };
		struct as_verdict verdict = { 0 }, other = { 0 };
		struct as_op stat = as_op_make(AS_OP_STAT);
		struct as_seq *seq = t_parse("copy_file_range $1 $0 len=1 at=0 to=0");
		struct as_buf text = { 0 };
		struct as_model *m;

		traits.stamps = AS_STAMPS_ALL;
		m = model_of_file(&traits);
		as_buf_addf(&text,
			    "$0 = open /f %s\n$1 = open /g O_RDWR|O_CREAT 0644\nwrite $1 len=9",
			    flags[direct]);
		(void)t_apply_text(m, as_buf_str(&text));
		as_model_clock(m, 3000, 4000);
		assert_int_equal(as_model_judge(m, &seq->ops[0], &refused, &verdict), direct);
		stat.path = "/f";
		assert_true(as_model_stat(m, "/f", true, &got.st));
		got.st.atime_ns = 1500;
		got.st.mtime_ns = got.st.ctime_ns = 3500;
		assert_int_equal(as_model_judge(m, &stat, &got, &other), direct);
		as_verdict_free(&verdict);
		as_verdict_free(&other);
		as_buf_free(&text);
		as_seq_free(seq);
		as_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_born_once),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_refused_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
