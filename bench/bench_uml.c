/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_uml: the sandbox uml, on the kernel and the packages that are here. uml.first_op: from
 * nothing to the end of a workload of one operation on ext4: the initramfs, the boot, the modules,
 * the fresh disk, the mount, the operation, and also all checks after it. uml.ext4: operations a
 * second of a mixed workload as the engine inside measures it, answers judged, everything counted
 * from the mount to the second comparison. uml.first_op.NAME and uml.ext4.NAME: the same in the
 * flavours of `assay kernel build` that are built.
 */
#include "bench/bench.h"

#include "base/buf.h"
#include "cli/boxes.h"
#include "kernel/kernel.h"
#include "os/spawn.h"
#include "work/parse.h"

#include <stdio.h>
#include <string.h>

#define ROUNDS 2000
#define RUNS 3

struct seen {
	int64_t at_us;
	struct as_run_result result;
};

static void on_workload(void *ctx, const char *name, const struct as_run_result *result)
{
	struct seen *seen = ctx;

	(void)name;
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

/* In the kernel of that name; NULL: `linux` in PATH. False: there is no sandbox. */
static bool run_text(const char *kernel, const char *text, int64_t *until_us,
		     struct as_run_result *result)
{
	static const struct as_opt named = { .name = "kernel", .kind = AS_OPT_TEXT };
	struct as_args args = { .given = { { .opt = &named, .value = kernel } },
				.n_given = kernel ? 1 : 0 };
	struct as_run_result stats = { 0 };
	struct as_seq *seq = NULL;
	const char *bench = "bench";
	const struct as_work work = { (const struct as_seq *const *)&seq, &bench, 1, NULL };
	struct as_cli_box box;
	struct as_err err;
	struct seen seen = { 0 };
	int64_t start_us = as_now_us();
	int rc = as_cli_box_open(&args, "ext4", 0, &box, &err);

	if (rc)
		return false;
	as_assert(!as_parse_text("bench", text, strlen(text), &seq, &err));
	box.boxed.workload = on_workload;
	box.boxed.ctx = &seen;
	rc = as_boxed_run(&box.boxed, &work, &stats, &err);
	/* A run with a finding stopped early: its speed means nothing. */
	as_assert(rc == AS_ELACK || (!rc && !stats.findings));
	*until_us = seen.at_us - start_us;
	*result = seen.result;
	as_seq_free(seq);
	as_cli_box_close(&box);
	return !rc;
}

static void bench_one(as_bench_report report, const char *kernel, const char *text)
{
	double first_s = 0, rate = 0;
	char name[128];

	for (int i = 0; i < RUNS; i++) {
		struct as_run_result result;
		int64_t until_us;

		if (!run_text(kernel, "mkdir /a 0755\n", &until_us, &result))
			break;
		if (!first_s || (double)until_us / 1e6 < first_s)
			first_s = (double)until_us / 1e6;
		if (!run_text(kernel, text, &until_us, &result))
			break;
		if ((double)result.ops / ((double)result.wall_us / 1e6) > rate)
			rate = (double)result.ops / ((double)result.wall_us / 1e6);
	}
	snprintf(name, sizeof(name), "uml.first_op%s%s", kernel ? "." : "", kernel ? kernel : "");
	if (first_s > 0)
		report(name, first_s, "s");
	snprintf(name, sizeof(name), "uml.ext4%s%s", kernel ? "." : "", kernel ? kernel : "");
	if (rate > 0)
		report(name, rate, "op/s");
}

void bench_uml(as_bench_report report)
{
	const struct as_kernel_flavour *flavour;
	struct as_buf text = { 0 };

	mixed_workload(&text);
	bench_one(report, NULL, as_buf_str(&text));
	for (unsigned i = 0; (flavour = as_kernel_flavour(i)); i++) {
		struct as_kernel kernel;

		if (as_kernel_find(flavour->name, &kernel, NULL))
			continue;
		as_kernel_free(&kernel);
		bench_one(report, flavour->name, as_buf_str(&text));
	}
	as_buf_free(&text);
}
