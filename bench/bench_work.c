/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_work: the workload language. The text is the example of docs/FORMAT.md again and again, a
 * million lines; parsing is measured streaming (nothing kept) and into memory.
 */
#include "os/spawn.h"
#include "work/parse.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LINES 1000000
#define ROUNDS 5
#define FILL_BYTES (64u << 20)

typedef void (*report_fn)(const char *name, double value, const char *unit);

void bench_work(report_fn report);

static const char example[] = "mkdir /a 0775\n"
			      "$0 = open /a/f O_RDWR|O_CREAT 0644\n"
			      "pwrite $0 len=4096 at=8192 fill=7\n"
			      "fsync $0\n"
			      "rename /a /b\n"
			      "enlarge /b 512\n"
			      "sync\n"
			      "close $0\n";
#define EXAMPLE_LINES 8

static int count_op(void *ctx, const struct as_op *op, unsigned line)
{
	(void)op, (void)line;
	++*(size_t *)ctx;
	return 0;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void bench_parse(report_fn report, const struct as_buf *text)
{
	static const struct as_parse_fns fns = { count_op, NULL };
	int64_t best_us = INT64_MAX;
	long before_kib = peak_kib();

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start_us = as_now_us();
		size_t n = 0;
		struct as_parser *parser = as_parser_new("bench", &fns, &n);
		struct as_err err;

		as_assert(!as_parser_feed(parser, text->data, text->len, &err));
		as_assert(!as_parser_finish(parser, &err));
		as_parser_free(parser);
		as_assert(n == LINES);
		if (as_now_us() - start_us < best_us)
			best_us = as_now_us() - start_us;
	}
	report("work.parse", LINES * 1e6 / (double)best_us, "lines/s");
	report("work.parse_memory", (double)(peak_kib() - before_kib), "KiB");
}

static struct as_seq *bench_parse_seq(report_fn report, const struct as_buf *text)
{
	int64_t start_us = as_now_us();
	struct as_seq *seq = NULL;
	struct as_err err;

	as_assert(!as_parse_text("bench", text->data, text->len, &seq, &err));
	report("work.parse_seq", LINES * 1e6 / (double)(as_now_us() - start_us), "lines/s");
	return seq;
}

static void bench_print(report_fn report, const struct as_seq *seq, const struct as_buf *text)
{
	struct as_buf out = { 0 };
	int64_t best_us = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start_us = as_now_us();

		as_buf_clear(&out);
		as_print_seq(seq, &out);
		if (as_now_us() - start_us < best_us)
			best_us = as_now_us() - start_us;
	}
	as_assert(out.len == text->len && !memcmp(out.data, text->data, out.len));
	report("work.print", LINES * 1e6 / (double)best_us, "lines/s");
	as_buf_free(&out);
}

static void bench_pattern(report_fn report)
{
	char *data = as_xmalloc(FILL_BYTES);
	int64_t fill_us = INT64_MAX, check_us = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t start_us = as_now_us(), middle_us, end_us;

		as_pattern_fill((uint64_t)i + 1, 3, data, FILL_BYTES);
		middle_us = as_now_us();
		as_assert(as_pattern_check((uint64_t)i + 1, 3, data, FILL_BYTES) == FILL_BYTES);
		end_us = as_now_us();
		fill_us = middle_us - start_us < fill_us ? middle_us - start_us : fill_us;
		check_us = end_us - middle_us < check_us ? end_us - middle_us : check_us;
	}
	report("work.pattern_fill", FILL_BYTES / (double)fill_us, "MB/s");
	report("work.pattern_check", FILL_BYTES / (double)check_us, "MB/s");
	free(data);
}

void bench_work(report_fn report)
{
	struct as_buf text = { 0 };
	struct as_seq *seq;

	for (int i = 0; i < LINES / EXAMPLE_LINES; i++)
		as_buf_add(&text, example, sizeof(example) - 1);
	bench_parse(report, &text);
	seq = bench_parse_seq(report, &text);
	bench_print(report, seq, &text);
	bench_pattern(report);
	as_seq_free(seq);
	as_buf_free(&text);
}
