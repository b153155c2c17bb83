/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress: what is shown fits a terminal of any width, names lose their middle, files of counters
 * stay small however long a run takes. */
#include "progress/curves.h"
#include "progress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct as_progress sample(const char *target)
{
	struct as_progress p = { .command = "hunt",
				 .jobs = 4,
				 .wall_us = 83 * 1000000ll,
				 .for_us = 600 * 1000000ll,
				 .where = "in a sandbox",
				 .newest = "lab-outcome-0123abcd",
				 .newest_words =
					 "op 7: rename /a /b: returned 0, model says EEXIST" };

	as_progress_text(p.target, target);
	as_progress_set(&p, AS_COUNT_workloads, 1234);
	as_progress_set(&p, AS_COUNT_ops, 9876543);
	as_progress_set(&p, AS_COUNT_recoveries, 25);
	as_progress_set(&p, AS_COUNT_memoised, 75);
	as_progress_set(&p, AS_COUNT_frontier, 0);
	as_progress_set(&p, AS_COUNT_memory_bytes, 45 << 20);
	p.rate[AS_COUNT_ops] = 4567.4;
	p.kinds[AS_FIND_OUTCOME] = 2;
	p.kinds[AS_FIND_CRASH] = 1;
	return p;
}

static unsigned widest(const char *text, unsigned *lines)
{
	unsigned most = 0, now = 0;

	for (*lines = 0; *text; text++) {
		now = *text == '\n' ? 0 : now + (((unsigned char)*text & 0xc0) != 0x80);
		*lines += *text == '\n';
		most = now > most ? now : most;
	}
	return most;
}

static void test_fits(void **state)
{
	static const char *const names[] = {
		"lab", "ext4:mkfs=4k+inline_data+metadata_csum,data=journal,errors=remount-ro",
		"\x1b[31m\n\t evil", "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", ""
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned columns = 20; columns <= 200; columns++) {
			struct as_progress p = sample(names[i]);
			struct as_buf out = { 0 };
			unsigned lines;

			as_progress_block(&p, columns, false, &out);
			assert_true(widest(as_buf_str(&out), &lines) <= columns);
			assert_in_range(lines, 2, 8);
			assert_null(strchr(as_buf_str(&out), '\033'));
			as_buf_free(&out);
		}
}

static void test_says(void **state)
{
	static const char *const wants[] = { "assay hunt  lab  4 jobs  in a sandbox",
					     "1:23, 8:37 left",
					     "workloads 1,234",
					     "operations 9,876,543, 4,567/s",
					     "to go 0",
					     "from the memo 75 (75 %)",
					     "memory 45 MiB",
					     "findings 3: outcome 2, crash 1",
					     "newest 1:23 ago  lab-outcome-0123abcd" };
	struct as_progress p = sample("lab");
	struct as_buf out = { 0 }, colour = { 0 };

	(void)state;
	as_progress_block(&p, 120, false, &out);
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++)
		if (!strstr(as_buf_str(&out), wants[i]))
			fail_msg("no '%s' in:\n%s", wants[i], as_buf_str(&out));
	as_progress_block(&p, 120, true, &colour);
	assert_non_null(strstr(as_buf_str(&colour), "\033[1;31m"));
	as_buf_free(&out);
	as_buf_free(&colour);
}

/* A command that makes something has no findings, not even 0 of them. */
static void test_finds_nothing(void **state)
{
	struct as_progress p = { .wall_us = 3000000, .command = "kernel", .phase = "compiles" };
	struct as_buf block = { 0 }, line = { 0 };

	(void)state;
	as_progress_block(&p, 80, false, &block);
	assert_null(strstr(as_buf_str(&block), "findings"));
	as_progress_line(&p, &line);
	assert_string_equal(as_buf_str(&line), "0:03: compiles");
	p.has = (uint64_t)1 << AS_COUNT_findings;
	as_buf_clear(&block);
	as_progress_block(&p, 80, false, &block);
	assert_non_null(strstr(as_buf_str(&block), "  findings 0\n"));
	as_buf_clear(&line);
	as_progress_line(&p, &line);
	assert_string_equal(as_buf_str(&line), "0:03: compiles; findings 0");
	as_buf_free(&block);
	as_buf_free(&line);
}

static void test_middle(void **state)
{
	struct as_buf out = { 0 };
	char long_name[1000], text[AS_PROGRESS_TEXT];

	(void)state;
	as_progress_fit("/a/very/long/name/of/a/file.txt", 17, &out);
	assert_string_equal(as_buf_str(&out), "/a/very...ile.txt");
	memset(long_name, 'x', sizeof(long_name));
	long_name[0] = 'a';
	long_name[sizeof(long_name) - 2] = 'z';
	long_name[sizeof(long_name) - 1] = '\0';
	as_progress_text(text, long_name);
	assert_true(text[0] == 'a' && strlen(text) < sizeof(text) && strstr(text, "..."));
	assert_true(text[strlen(text) - 1] == 'z');
	as_buf_free(&out);
}

static void test_left(void **state)
{
	struct as_progress p = { .wall_us = 10000000 };
	bool about;

	(void)state;
	assert_int_equal(as_progress_left(&p, &about), -1);
	p.all = 4;
	p.done = 1;
	assert_int_equal(as_progress_left(&p, &about), 30);
	assert_true(about);
	p.for_us = 25000000;
	assert_int_equal(as_progress_left(&p, &about), 15);
	assert_false(about);
}

/* The share that is done fits the time that is left: it is that of the time, or of the work. */
static void test_share(void **state)
{
	static const struct {
		int64_t for_us;
		uint64_t done;
		const char *want;
	} rows[] = {
		{ 0, 1, "0:10, 25 % done, about 0:30 left" },
		{ 25000000, 1, "0:10, 40 % done, 0:15 left" },
		{ 25000000, 0, "0:10, 40 % done, 0:15 left" },
		{ 25000000, 3, "0:10, 75 % done, about 0:03 left" },
		{ 5000000, 1, "0:10, 100 % done, 0:00 left" },
		{ 0, 0, "0:10, 0 % done" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_progress p = { .wall_us = 10000000,
					 .all = 4,
					 .done = rows[i].done,
					 .for_us = rows[i].for_us };
		struct as_buf out = { 0 };

		as_progress_block(&p, 120, false, &out);
		if (!strstr(as_buf_str(&out), rows[i].want))
			fail_msg("no '%s' in:\n%s", rows[i].want, as_buf_str(&out));
		as_buf_free(&out);
	}
}

/* A day of samples; the file stays small, in order, and ends with the last one. */
static void test_bounded(void **state)
{
	struct as_curves curves = { 0 }, again;
	struct as_buf text = { 0 };
	struct as_progress p = { 0 };
	struct as_err err;

	(void)state;
	for (int64_t i = 0; i < 172800; i++) {
		p.wall_us = i * 500000;
		as_progress_set(&p, AS_COUNT_ops, (uint64_t)i);
		as_curves_add(&curves, &p, false);
		assert_true(curves.n <= AS_CURVES_ROWS);
	}
	p.wall_us += 100;
	assert_true(as_curves_add(&curves, &p, true));
	as_curves_print(&curves, &text);
	assert_true(text.len < 64 << 10);
	assert_int_equal(as_curves_parse(as_buf_str(&text), text.len, &again, &err), 0);
	assert_int_equal(again.n, curves.n);
	assert_int_equal(again.rows[again.n - 1].wall_us, p.wall_us);
	assert_int_equal(again.rows[again.n - 1].n[AS_COUNT_ops], 172799);
	/* A writer that was killed within a row. */
	as_curves_free(&again);
	assert_int_equal(as_curves_parse(as_buf_str(&text), text.len - 3, &again, &err), 0);
	assert_int_equal(again.n, curves.n - 1);
	as_curves_free(&again);
	assert_int_not_equal(as_curves_parse("nonsense\n1\n", 11, &again, &err), 0);
	as_curves_free(&again);
	as_curves_free(&curves);
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),	      cmocka_unit_test(test_says),
		cmocka_unit_test(test_finds_nothing), cmocka_unit_test(test_middle),
		cmocka_unit_test(test_left),	      cmocka_unit_test(test_share),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
