/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partitions of numbers, combinations of flags, the file, and the numbers of the paper. */
#include "tests/lib/counted.h"

#include "cover/metric.h"
#include "cover/warn.h"

#include <math.h>

static void test_boundaries(void **state)
{
	static const struct {
		const char *number, *plain, *bound;
	} rows[] = {
		{ "0", "0", NULL },
		{ "1", "2^0", NULL },
		{ "2", "2^1", "=2^1" },
		{ "3", "2^1", "=2^2-1" },
		{ "4", "2^2", "=2^2" },
		{ "5", "2^2", "=2^2+1" },
		{ "6", "2^2", NULL },
		{ "7", "2^2", "=2^3-1" },
		{ "4095", "2^11", "=2^12-1" },
		{ "4096", "2^12", "=2^12" },
		{ "4097", "2^12", "=2^12+1" },
		{ "4098", "2^12", NULL },
		{ "-1", "negative", NULL },
		{ "2147483647", "2^30", "=2^31-1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_space space;
		struct as_counts *c;
		char line[100];
		uint64_t all = 0;

		snprintf(line, sizeof(line), "ftruncate(3, %s) = 0", rows[i].number);
		c = t_read_text(&as_source_strace, NULL, NULL, line);
		if (t_count(c, "truncate", "length", rows[i].plain) != 1)
			fail_msg("%s is not in %s", rows[i].number, rows[i].plain);
		if (rows[i].bound &&
		    t_count_in(c, "truncate", "length", AS_SPACE_BOUNDS, rows[i].bound) != 1)
			fail_msg("%s is not %s", rows[i].number, rows[i].bound);
		assert_true(as_counts_find(c, "truncate", "length", AS_SPACE_BOUNDS, &space));
		for (unsigned p = 0; p < space.n; p++)
			all += space.parts[p].count;
		assert_int_equal(all, rows[i].bound != NULL);
		as_space_free(&space);
		as_counts_free(c);
	}
}

/* ---- Flags, and Table 1 ---------------------------------------------------------------------- */

/* 10 opens: 1 with one flag, 2 with two, 3 with three, 4 with four. */
static const char table1[] = "open(\"/a\", O_RDONLY) = 3\n"
			     "open(\"/a\", O_RDONLY|O_CLOEXEC) = 3\n"
			     "open(\"/a\", O_WRONLY|O_APPEND) = 3\n"
			     "open(\"/a\", O_RDONLY|O_CLOEXEC|O_NOFOLLOW) = 3\n"
			     "open(\"/a\", O_RDWR|O_CREAT|O_EXCL, 0) = 3\n"
			     "open(\"/a\", O_RDWR|O_CREAT|O_TRUNC, 0) = 3\n"
			     "open(\"/a\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3\n"
			     "open(\"/a\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3\n"
			     "open(\"/a\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3\n"
			     "open(\"/a\", O_WRONLY|O_CREAT|O_TRUNC|O_SYNC, 0) = 3\n";

static void sum_up(void *ctx, const char *name, uint64_t n)
{
	uint64_t *sums = ctx;

	assert_non_null(strchr(name, '|'));
	sums[0]++;
	sums[1] += n;
	if (!strcmp(name, "O_RDONLY|O_NONBLOCK|O_CLOEXEC"))
		sums[2] = n;
}

static void test_table1(void **state)
{
	static const uint64_t all[] = { 0, 1, 2, 3, 4 }, rdonly[] = { 0, 1, 1, 1, 3 };
	struct as_counts *c = t_read_text(&as_source_strace, NULL, NULL, table1);
	const struct as_spec_family *family = as_spec_family(t_spec, "open");
	const struct as_spec_arg *flags = &family->args[2];
	uint64_t by_n[AS_SPEC_BITS + 1], sums[3] = { 0 };

	(void)state;
	assert_string_equal(flags->name, "flags");
	as_counts_together(c, flags, NULL, by_n);
	for (unsigned n = 0; n <= AS_SPEC_BITS; n++)
		assert_int_equal(by_n[n], n < 5 ? all[n] : 0);
	as_counts_together(c, flags, "O_RDONLY", by_n);
	for (unsigned n = 0; n <= AS_SPEC_BITS; n++)
		assert_int_equal(by_n[n], n < 5 ? rdonly[n] : 0);
	assert_int_equal(t_count_in(c, "open", "flags", AS_SPACE_TOGETHER, "4"), 4);
	assert_int_equal(t_count_in(c, "open", "flags", AS_SPACE_PAIRS, "O_RDONLY|O_CLOEXEC"), 5);
	assert_int_equal(t_count_in(c, "open", "flags", AS_SPACE_PAIRS, "O_CREAT|O_TRUNC"), 2);
	/* 4 + 4 * 3 + 4 * 4: triples in each set. */
	as_counts_combinations(c, flags, 3, sum_up, sums);
	assert_int_equal(sums[1], 3 * 1 + 4 * 4);
	assert_int_equal(sums[2], 3);
	assert_true(sums[0] > 500);
	as_counts_free(c);
}

/* Pairs of words that exclude each other are no pairs. */
static void test_possible_pairs(void **state)
{
	struct as_counts *c = as_counts_new(t_spec);
	struct as_space space;

	(void)state;
	assert_true(as_counts_find(c, "open", "flags", AS_SPACE_PAIRS, &space));
	for (unsigned i = 0; i < space.n; i++) {
		assert_string_not_equal(space.parts[i].name, "O_RDONLY|O_RDWR");
		assert_string_not_equal(space.parts[i].name, "O_DSYNC|O_SYNC");
		assert_string_not_equal(space.parts[i].name, "O_DIRECTORY|O_TMPFILE");
	}
	/* 20 words: 190 pairs, without 3 + 1 + 1. */
	assert_int_equal(space.n, 185);
	as_space_free(&space);
	as_counts_free(c);
}

/* ---- The deviation --------------------------------------------------------------------------- */

static struct as_tcd tcd_of(const uint64_t *counts, unsigned n, uint64_t target)
{
	struct as_part parts[16] = { 0 };
	struct as_space space = { .family = as_spec_family(t_spec, "open"),
				  .parts = parts,
				  .n = n };
	struct as_targets *targets = as_targets_uniform(target);
	struct as_tcd tcd = { 0 };

	space.arg = &space.family->args[2];
	for (unsigned i = 0; i < n; i++)
		parts[i] = (struct as_part){ "O_RDONLY", counts[i], true };
	as_tcd_add(&tcd, &space, targets);
	as_targets_free(targets);
	return tcd;
}

static void test_tcd(void **state)
{
	static const uint64_t even[] = { 100, 100, 100 }, mixed[] = { 1024, 1, 0, 16 };
	struct as_tcd tcd = tcd_of(even, 3, 100);

	(void)state;
	assert_true(as_tcd_value(&tcd) == 0);
	/* log2: 10, 0, 0 (log 0 is 0), 4; target 2^4: 6, 4, 4, 0. sqrt(68 / 4). */
	tcd = tcd_of(mixed, 4, 16);
	assert_true(fabs(as_tcd_value(&tcd) - sqrt(17)) < 1e-12);
	/* A partition that was never met deviates as one that was met once. */
	assert_true(as_tcd_log(0) == as_tcd_log(1));
	tcd = tcd_of((const uint64_t[]){ 0 }, 1, 1024);
	assert_true(fabs(as_tcd_value(&tcd) - 10) < 1e-12);
	/* A target of 0 is that of 1. */
	tcd = tcd_of((const uint64_t[]){ 8 }, 1, 0);
	assert_true(fabs(as_tcd_value(&tcd) - 3) < 1e-12);
}

/* Figure 5: below the crossing the suite that tests less is better, above it the other one. */
static void test_crossing(void **state)
{
	static const uint64_t less[] = { 7924, 100, 30, 4, 0, 12 },
			      more[] = { 4099770, 90000, 1000000, 5000, 3, 70000 };
	struct as_tcd a = tcd_of(less, 6, 10), b = tcd_of(more, 6, 10), c, d;
	double at;

	(void)state;
	assert_true(as_tcd_crossing(&a, &b, &at));
	assert_true(at > 100 && at < 10000);
	c = tcd_of(less, 6, (uint64_t)(at * 0.9));
	d = tcd_of(more, 6, (uint64_t)(at * 0.9));
	assert_true(as_tcd_value(&c) < as_tcd_value(&d));
	c = tcd_of(less, 6, (uint64_t)(at * 1.1));
	d = tcd_of(more, 6, (uint64_t)(at * 1.1));
	assert_true(as_tcd_value(&c) > as_tcd_value(&d));
	assert_false(as_tcd_crossing(&a, &a, &at));
}

static void test_targets(void **state)
{
	static const char text[] = "# persistence matters\n"
				   "default 10\n"
				   "open flags * 100\n"
				   "open flags O_*SYNC 1000 # more\n"
				   "* output E* 5\n";
	struct as_counts *c = as_counts_new(t_spec);
	struct as_targets *targets = NULL;
	struct as_space space;
	struct as_err err;
	uint64_t n;

	(void)state;
	assert_int_equal(as_targets_parse("t", text, strlen(text), &targets, &err), 0);
	assert_true(as_counts_find(c, "open", "flags", AS_SPACE_PLAIN, &space));
	for (unsigned i = 0; i < space.n; i++) {
		bool sync = strstr(space.parts[i].name, "SYNC") != NULL;

		assert_true(as_targets_get(targets, &space, &space.parts[i], &n));
		assert_int_equal(n, sync ? 1000 : 100);
	}
	as_space_free(&space);
	assert_true(as_counts_find(c, "mkdir", NULL, AS_SPACE_OUTPUT, &space));
	for (unsigned i = 0; i < space.n; i++) {
		assert_true(as_targets_get(targets, &space, &space.parts[i], &n));
		assert_int_equal(n, space.parts[i].name[0] == 'E' ? 5 : 10);
	}
	as_space_free(&space);
	as_targets_free(targets);
	as_counts_free(c);
	assert_int_equal(as_targets_parse("t", "a b\n", 4, &targets, &err), AS_EUSE);
	assert_string_equal(err.msg, "t:1: expected 'CALL ARGUMENT PARTITION N' or 'default N'");
	assert_int_equal(as_targets_parse("t", "\nopen flags X -1\n", 17, &targets, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "t:2:"));
	assert_int_equal(as_targets_parse("t", "#\n", 2, &targets, &err), AS_EUSE);
}

/* ---- Coverage -------------------------------------------------------------------------------- */

static void test_coverage(void **state)
{
	struct as_counts *c = t_read_text(&as_source_strace, NULL, NULL,
					  "close(3) = 0\nclose(3) = 0\nclose(-1) = -1 EBADF (x)\n");
	struct as_coverage in, out;

	(void)state;
	/* 5 kinds of descriptors: here only the negative one and one that is not known. */
	as_coverage_family(c, as_spec_family(t_spec, "close"), 1, &in, &out);
	assert_int_equal(in.met, 1);
	assert_int_equal(in.of, 5);
	assert_int_equal(out.met, 2);
	assert_int_equal(out.of, 6);
	as_coverage_family(c, as_spec_family(t_spec, "close"), 2, &in, &out);
	assert_int_equal(in.met, 0);
	assert_int_equal(out.met, 1);
	as_coverage_family(c, NULL, 1, &in, &out);
	assert_int_equal(in.met + out.met, 3);
	as_counts_free(c);
}

/* ---- The file -------------------------------------------------------------------------------- */

static struct as_counts *parsed(const struct as_buf *text, struct as_err *err)
{
	struct as_counts *c = NULL;

	if (as_counts_parse(t_spec, "x.cov", as_buf_str(text), text->len, &c, err))
		return NULL;
	return c;
}

static void test_round_trip(void **state)
{
	struct as_buf first = { 0 }, second = { 0 };
	struct as_counts *c = t_read_text(&as_source_strace, NULL, "/", table1), *again;
	struct as_err err = { 0 };

	(void)state;
	as_counts_source(c, "strace a\nb");
	as_counts_under(c, "/mnt/(a|b) c");
	as_counts_partial(c, "cut off");
	as_counts_example(c, "some \x01 line", 11);
	as_counts_unknown_call(c, "brk", 3);
	as_counts_print(c, &first);
	again = parsed(&first, &err);
	assert_non_null(again);
	as_counts_print(again, &second);
	assert_string_equal(as_buf_str(&first), as_buf_str(&second));
	assert_string_equal(as_counts_is_partial(again), "cut off");
	/* Twice as much of everything. */
	as_counts_merge(again, c);
	assert_int_equal(t_count(again, "open", "flags", "O_RDONLY"), 12);
	assert_int_equal(t_count_in(again, "open", "flags", AS_SPACE_PAIRS, "O_CREAT|O_TRUNC"), 4);
	as_counts_free(again);
	as_counts_free(c);
	as_buf_free(&first);
	as_buf_free(&second);
}

/* Any byte changed, any cut: refused, with one line. */
/* Fields with values that no word has: they stay what they are in files and when files are put
 * together. */
static void test_nameless(void **state)
{
	static const char text[] = "open(\"/a\", O_ACCMODE) = 3\n"
				   "open(\"/a\", 0x3|O_CREAT, 0) = 3\n"
				   "open(\"/a\", O_RDONLY) = 3\n"
				   "open(\"/a\", 04000000) = 3\n" /* __O_SYNC alone */
				   "open(\"/a\", 020000001) = 3\n" /* __O_TMPFILE alone */
				   "mknod(\"/a\", 0150644) = -1 EINVAL (x)\n"
				   "mknod(\"/a\", 0644) = 0\n";
	struct as_counts *c = t_read_text(&as_source_strace, NULL, "/", text), *again;
	struct as_buf first = { 0 }, second = { 0 };
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(t_count(c, "open", "flags", "O_RDONLY"), 2);
	assert_int_equal(t_count(c, "open", "flags", "O_WRONLY"), 1);
	as_counts_print(c, &first);
	for (int round = 0; round < 3; round++) {
		struct as_counts *merged = as_counts_new(t_spec);

		again = parsed(&first, &err);
		assert_non_null(again);
		as_counts_merge(merged, again);
		as_buf_clear(&second);
		as_counts_print(merged, &second);
		assert_string_equal(as_buf_str(&first), as_buf_str(&second));
		assert_int_equal(t_count(merged, "open", "flags", "O_RDONLY"), 2);
		as_counts_free(again);
		as_counts_free(merged);
	}
	as_counts_free(c);
	as_buf_free(&first);
	as_buf_free(&second);
}

/* Names of calls that are in no table: any bytes, of any length. */
static void test_odd_names(void **state)
{
	struct as_counts *c = as_counts_new(t_spec), *again;
	struct as_buf first = { 0 }, second = { 0 };
	struct as_err err = { 0 };
	uint64_t n;

	(void)state;
	as_counts_unknown_call(c, "ab", 2);
	as_counts_unknown_call(c, "ab\0cdefgh", 9);
	as_counts_unknown_call(c, "ab\0cdefgh", 9);
	as_counts_unknown_call(c, "ab.cdefgh", 9);
	as_counts_unknown_call(c, "", 0);
	assert_string_equal(as_counts_unknown_at(c, 1, &n), "ab.cdefgh");
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < 600; i++) {
		char name[100];

		snprintf(name, sizeof(name), "%090u", i * 7919);
		as_counts_unknown_call(c, name, i % 2 ? 90 : 3 + i / 8);
	}
	as_counts_print(c, &first);
	again = parsed(&first, &err);
	assert_non_null(again);
	as_counts_print(again, &second);
	assert_string_equal(as_buf_str(&first), as_buf_str(&second));
	as_counts_free(again);
	as_counts_free(c);
	as_buf_free(&first);
	as_buf_free(&second);
}

static void test_warnings(void **state)
{
	static const struct {
		const char *under, *text, *want;
	} rows[] = {
		{ "/n", "1 mkdir(\"/m/a\", 0) = 0\n", "none of 1 calls was about files below /n" },
		{ "/m", "1 mkdir(\"/m/a\", 0) = 0\n", NULL },
		{ "/m", "1 write(3, \"\", 1) = 1\n1 write(4, \"\", 1) = 1\n",
		  "100 % of the calls about files could not be attributed" },
		{ "/m", "1 getpid() = 3\n", "there were no calls about files" },
		{ NULL, "1 close(3) = 0\nwhat\n", "50.0 % of the lines were not understood" },
	};
	char warning[AS_WARNING_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_counts *c =
			t_read_text(&as_source_strace, rows[i].under, NULL, rows[i].text);
		bool found = false;

		as_counts_under(c, rows[i].under);
		for (unsigned k = 0; as_counts_warning(c, k, warning); k++) {
			if (!rows[i].want)
				fail_msg("a warning that is none: %s", warning);
			found |= strstr(warning, rows[i].want) != NULL;
		}
		if (rows[i].want && !found)
			fail_msg("no warning: %s", rows[i].want);
		as_counts_free(c);
	}
}

static void test_damage(void **state)
{
	struct as_counts *c = t_read_text(&as_source_strace, NULL, "/", table1), *got = NULL;
	struct as_buf text = { 0 };
	struct as_err err = { 0 };

	(void)state;
	as_counts_print(c, &text);
	for (size_t i = 0; i < text.len; i += 7) {
		text.data[i] ^= 1;
		assert_null(parsed(&text, &err));
		assert_null(strchr(err.msg, '\n'));
		text.data[i] ^= 1;
	}
	for (size_t i = 0; i < text.len; i += 11)
		assert_int_equal(as_counts_parse(t_spec, "x", text.data, i, &got, &err), AS_EUSE);
	assert_int_equal(as_counts_parse(t_spec, "x", "assay-cov 2\nend 0\n", 18, &got, &err),
			 AS_EUSE);
	assert_non_null(strstr(err.msg, "version 2"));
	assert_int_equal(as_counts_parse(t_spec, "x", "hello\n", 6, &got, &err), AS_EUSE);
	assert_non_null(strstr(err.msg, "not a .cov file"));
	as_counts_free(c);
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boundaries),     cmocka_unit_test(test_table1),
		cmocka_unit_test(test_possible_pairs), cmocka_unit_test(test_tcd),
		cmocka_unit_test(test_crossing),       cmocka_unit_test(test_targets),
		cmocka_unit_test(test_coverage),       cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),	       cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_odd_names),      cmocka_unit_test(test_warnings),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
