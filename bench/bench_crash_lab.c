/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_crash_lab: power cuts of labfs, in the CPU time of the processes that make, recover and
 * judge its crash states: with all views, mount and full checker; the same with mounts alone; the
 * same with power cuts during recovery.
 */
#include "bench/bench.h"

#include "base/buf.h"
#include "crash/crash.h"
#include "work/parse.h"


#define ROUNDS 8

/* What people do to files, with all of it made stable now and then. */
static void write_workload(unsigned seed, struct as_buf *out)
{
	for (unsigned i = 0; i < 5; i++) {
		unsigned n = seed * 5 + i;

		as_buf_addf(out, "mkdir /d%u 0755\n$0 = open /d%u/f O_RDWR|O_CREAT 0644\n", n, n);
		as_buf_addf(out, "pwrite $0 len=%u at=%u fill=%u\n", 700 + n * 613 % 9000,
			    n * 977 % 3000, n % 200 + 1);
		as_buf_addf(out, "%s\n", n % 3 ? "fsync $0" : "sync");
		as_buf_addf(out, "rename /d%u/f /d%u/g\nhardlink /d%u/g /h%u\n", n, n, n, n);
		as_buf_addf(out, "write_xattr /d%u user.a len=%u fill=9\nclose $0\n", n, n % 100);
		if (n % 2)
			as_buf_addf(out, "unlink /h%u\nsync\n", n);
	}
}

static int crash_all(const char *params, struct as_crash_counts *sum, double *seconds,
		     struct as_err *err)
{
	struct as_run_options run = { 0 };
	struct as_crash_options options;
	struct as_target *target = NULL;
	struct as_crasher *crasher = NULL;
	double start = bench_waited_s();
	int rc = as_crash_options_parse(params, &options, err);

	if (!rc)
		rc = as_target_open("lab", &target, err);
	if (!rc)
		rc = as_crasher_new(target, &run, &options, NULL, &crasher, err);
	for (unsigned i = 0; i < ROUNDS && !rc; i++) {
		struct as_crash_counts counts;
		struct as_run_result result;
		struct as_buf text = { 0 };
		struct as_seq *seq = NULL;

		write_workload(i, &text);
		rc = as_parse_text("bench", as_buf_str(&text), text.len, &seq, err);
		if (!rc)
			rc = as_crash_workload(crasher, seq, "bench", &result, &counts, err);
		if (!rc && result.findings)
			rc = as_fail(err, AS_EIO, "a sound labfs has findings");
		if (!rc)
			as_crash_counts_add(sum, &counts);
		as_seq_free(seq);
		as_buf_free(&text);
	}
	as_crasher_free(crasher);
	as_target_free(target);
	*seconds = bench_waited_s() - start;
	return rc;
}

void bench_crash_lab(as_bench_report report)
{
	static const struct {
		const char *name, *params;
	} rows[] = {
		{ "crash.lab", "again=0" },
		{ "crash.lab.mount", "again=0,ways=mount" },
		{ "crash.lab.again", "again=1" },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_crash_counts c = { 0 };
		struct as_err err = { 0 };
		struct as_buf name = { 0 };
		double seconds;

		if (crash_all(rows[i].params, &c, &seconds, &err)) {
			report(err.msg, 0, "failed");
			return;
		}
		report(rows[i].name, (double)c.generated / seconds, "states/s");
		as_buf_addf(&name, "%s.memoised", rows[i].name);
		report(as_buf_str(&name), 100.0 * (double)c.memoised / (double)c.distinct, "%");
		if (!i)
			report("crash.lab.states", (double)c.generated, "states");
		if (!i)
			report("crash.lab.distinct", (double)c.distinct, "states");
		as_buf_free(&name);
	}
}
