/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_uml: the sandbox uml, on the kernel and the packages that are here. uml.first_op: from
 * nothing to the end of a workload of one operation on ext4: the initramfs, the boot, the modules,
 * the fresh disk, the mount, the operation, and also all checks after it. uml.ext4: operations a
 * second of a mixed workload as the engine inside measures it, answers judged, everything counted
 * from the mount to the second comparison.
 */
#include "bench/bench.h"

#include "base/buf.h"
#include "cli/boxes.h"
#include "os/spawn.h"
#include "work/parse.h"

#include <string.h>

#define ROUNDS 2000
#define RUNS 3

struct seen {
	int64_t at_us;
	struct as_run_result result;
};

static void on_workload(void *ctx, const struct as_boxed_job *job,
			const struct as_run_result *result)
{
	struct seen *seen = ctx;

	(void)job;
	seen->at_us = as_now_us();
	seen->result = *result;
}

/* It uses the same names again and again, so that the tree stays small. */
static void mixed_workload(struct as_buf *text)
{
	for (int i = 0; i < 16; i++)
		as_buf_addf(text, "mkdir /d%d 0755\n", i);
	for (int i = 0; i < ROUNDS; i++) {
		int d = i % 16, f = i % 61;

		as_buf_addf(text, "$0 = open /d%d/f%d O_RDWR|O_CREAT 0644\n", d, f);
		bench_add_io(text, i, d, f);
		as_buf_addf(text, "unlink /d%d/g%d\n", (d + 1) % 16, f);
	}
}

/* False: there is no sandbox. */
static bool run_text(const char *text, int64_t *until_us, struct as_run_result *result)
{
	struct as_args args = { 0 };
	struct as_boxed_job job = { .name = "bench" };
	struct as_run_stats stats = { 0 };
	struct as_seq *seq = NULL;
	struct as_cli_box box;
	struct as_err err;
	struct seen seen = { 0 };
	int64_t start_us = as_now_us();
	int rc = as_cli_box_open(&args, "ext4", 0, &box, &err);

	if (rc)
		return false;
	as_assert(!as_parse_text("bench", text, strlen(text), &seq, &err));
	job.seq = seq;
	box.boxed.workload = on_workload;
	box.boxed.ctx = &seen;
	rc = as_boxed_run(&box.boxed, &job, 1, &stats, &err);
	/* A run with a finding stopped early: its speed means nothing. */
	as_assert(rc == AS_ELACK || (!rc && !stats.findings));
	*until_us = seen.at_us - start_us;
	*result = seen.result;
	as_seq_free(seq);
	as_cli_box_close(&box);
	return !rc;
}

void bench_uml(as_bench_report report)
{
	struct as_buf text = { 0 };
	double first_s = 0, rate = 0;

	mixed_workload(&text);
	for (int i = 0; i < RUNS; i++) {
		struct as_run_result result;
		int64_t until_us;

		if (!run_text("mkdir /a 0755\n", &until_us, &result))
			break;
		if (!first_s || (double)until_us / 1e6 < first_s)
			first_s = (double)until_us / 1e6;
		if (!run_text(as_buf_str(&text), &until_us, &result))
			break;
		if ((double)result.ops / ((double)result.wall_us / 1e6) > rate)
			rate = (double)result.ops / ((double)result.wall_us / 1e6);
	}
	if (first_s > 0)
		report("uml.first_op", first_s, "s");
	if (rate > 0)
		report("uml.ext4", rate, "op/s");
	as_buf_free(&text);
}
