/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_mount: file systems of the running kernel on a disk of ours.
 *
 *	run.ext4             operations of a whole run, every answer judged, the tree compared
 *	run.ext4.raw_ratio   the executor without judging, against a loop of the same system calls
 *	                     written by hand, on one mount, in turns; 1 is no cost at all
 *	mount.T.cycle        mount and unmount of a type
 *	mount.T.crash        power cut, unmount, restore, mount
 *
 * Where the running kernel cannot be used nothing is reported.
 */
#include "bench/bench.h"

#include "mount/mount.h"
#include "os/spawn.h"
#include "run/run.h"
#include "target/fresh.h"
#include "vfs/sys_new.h"
#include "work/parse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RAW_ROUNDS 3000
#define RAW_TURNS 7
#define CALLS 9 /* in a round */
#define RUN_ROUNDS 6000
#define CYCLES 60
#define DISK_BYTES ((uint64_t)64 << 20)

/* What the children report. */
struct results {
	double raw_us, executor_us, cycle_us, crash_us;
};

static bool lacks(const char *name)
{
	struct as_buf why = { 0 };
	bool no = as_fstype_lacks_host(as_fstype_find(name), &why);

	as_buf_free(&why);
	return no;
}

static struct as_mount *mount_fresh(const char *name, uint64_t size_bytes,
				    struct as_medium **medium)
{
	const struct as_fstype *type = as_fstype_find(name);
	struct as_mount *m;
	struct as_err err;

	as_assert(!as_medium_new(size_bytes ? size_bytes : type->default_bytes, medium, &err));
	as_assert(!as_fresh_disk(type, NULL, *medium, NULL, &err));
	as_assert(!as_mount_new(type, *medium, &m, &err));
	return m;
}

/* ---- The executor against a loop by hand --------------------------------------------------- */

/* The same operations as in raw_round(). */
static void add_round(struct as_buf *text, int i)
{
	int d = i % 16, f = i % 61;

	as_buf_addf(text, "create /d%d/f%d 0644\n", d, f);
	as_buf_addf(text, "$0 = open /d%d/f%d O_RDWR\n", d, f);
	bench_add_io(text, i, d, f);
	as_buf_addf(text, "unlink /d%d/g%d\n", (d + 1) % 16, f);
}

static void raw_round(int i)
{
	int d = i % 16, f = i % 61, fd;
	char from[32], to[32], data[512];
	struct stat st;

	snprintf(from, sizeof(from), "/d%d/f%d", d, f);
	snprintf(to, sizeof(to), "/d%d/g%d", (d + 1) % 16, f);
	fd = open(from, O_CREAT | O_EXCL | O_WRONLY, 0644);
	as_assert(fd >= 0 && !close(fd));
	fd = open(from, O_RDWR);
	for (size_t k = 0; k < sizeof(data); k++)
		data[k] = (char)(i + (int)k);
	as_assert(pwrite(fd, data, sizeof(data), (i % 4) * 512) == sizeof(data));
	as_assert(pread(fd, data, sizeof(data), (i % 4) * 512) == sizeof(data));
	as_assert(!close(fd) && !stat(from, &st) && !rename(from, to) && !unlink(to));
}

static double best_of(double best, double us)
{
	return best == 0 || us < best ? us : best;
}

static int measure_ratio(void *ctx)
{
	struct results *results = ctx;
	struct as_buf text = { 0 };
	struct as_medium *medium;
	struct as_mount *m = mount_fresh("ext4", DISK_BYTES, &medium);
	struct as_outcome outcome;
	struct as_vfs *vfs;
	struct as_seq *seq;
	struct as_err err;
	char name[16];

	for (int i = 0; i < RAW_ROUNDS; i++)
		add_round(&text, i);
	as_assert(!as_parse_text("bench", as_buf_str(&text), text.len, &seq, &err));
	as_assert(!as_vfs_sys_mounted_new(m, "", &vfs, &err) && !as_vfs_sys_mount(vfs, ""));
	for (int i = 0; i < 16; i++) {
		snprintf(name, sizeof(name), "/d%d", i);
		as_assert(!mkdir(name, 0755));
	}
	for (int turn = 0; turn < RAW_TURNS; turn++) {
		int64_t start_us = as_now_us(), middle_us;

		for (int i = 0; i < RAW_ROUNDS; i++)
			raw_round(i);
		middle_us = as_now_us();
		for (size_t i = 0; i < seq->n; i++) {
			as_vfs_exec(vfs, &seq->ops[i], &outcome);
			as_assert(outcome.ret >= 0);
		}
		results->raw_us = best_of(results->raw_us, (double)(middle_us - start_us));
		results->executor_us =
			best_of(results->executor_us, (double)(as_now_us() - middle_us));
	}
	as_vfs_free(vfs);
	as_mount_free(m);
	as_medium_free(medium);
	as_seq_free(seq);
	as_buf_free(&text);
	return 0;
}

/* ---- Mounting ------------------------------------------------------------------------------ */

struct cycle {
	const char *name;
	struct results *results;
};

static int measure_cycle(void *ctx)
{
	struct cycle *cycle = ctx;
	struct as_medium *medium;
	struct as_mount *m = mount_fresh(cycle->name, 0, &medium);

	for (int i = 0; i < CYCLES; i++) {
		int64_t start_us = as_now_us();

		as_assert(!as_mount_mount(m, "", "") && !as_mount_umount(m));
		cycle->results->cycle_us =
			best_of(cycle->results->cycle_us, (double)(as_now_us() - start_us));
	}
	as_assert(!as_mount_mount(m, "", ""));
	for (int i = 0; i < CYCLES; i++) {
		int64_t start_us = as_now_us();

		as_mount_cut(m);
		as_assert(!as_mount_cut_end(m) && !as_mount_mount(m, "", ""));
		cycle->results->crash_us =
			best_of(cycle->results->crash_us, (double)(as_now_us() - start_us));
	}
	as_mount_free(m);
	as_medium_free(medium);
	return 0;
}

static void in_child(int (*fn)(void *), void *ctx)
{
	struct as_ended ended;
	struct as_err err;

	as_assert(!as_spawn_fork(fn, ctx, 60000, NULL, &ended, &err));
	as_assert(ended.how == AS_END_EXIT && !ended.status);
}

static void report_cycles(struct results *results, as_bench_report report)
{
	static const char *const names[] = { "ext2", "ext4", "xfs", "btrfs" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cycle cycle = { names[i], results };
		char name[64];

		if (lacks(names[i]))
			continue;
		*results = (struct results){ 0 };
		in_child(measure_cycle, &cycle);
		snprintf(name, sizeof(name), "mount.%s.cycle", names[i]);
		report(name, results->cycle_us, "us");
		snprintf(name, sizeof(name), "mount.%s.crash", names[i]);
		report(name, results->crash_us, "us");
	}
}

/* ---- Whole runs ---------------------------------------------------------------------------- */

static void report_run(as_bench_report report)
{
	struct as_run_options options = { .size_bytes = DISK_BYTES };
	struct as_run_result result, best = { 0 };
	struct as_runner *runner;
	struct as_target *target;
	struct as_seq *seq;
	struct as_buf text = { 0 };
	struct as_err err;

	for (int i = 0; i < 16; i++)
		as_buf_addf(&text, "mkdir /d%d 0755\n", i);
	for (int i = 0; i < RUN_ROUNDS; i++)
		add_round(&text, i);
	as_assert(!as_parse_text("bench", as_buf_str(&text), text.len, &seq, &err));
	as_assert(!as_target_open("ext4", &target, &err));
	as_assert(!as_runner_new(target, &options, NULL, &runner, &err));
	for (int i = 0; i < 3; i++) {
		as_assert(!as_run_workload(runner, seq, "bench", &result, &err));
		as_assert(!result.findings);
		if (!best.wall_us || result.wall_us < best.wall_us)
			best = result;
	}
	report("run.ext4", (double)best.ops / ((double)best.wall_us / 1e6), "op/s");
	as_runner_free(runner);
	as_target_free(target);
	as_seq_free(seq);
	as_buf_free(&text);
}

void bench_run_kernel(as_bench_report report)
{
	struct results *results;

	if (lacks("ext4"))
		return;
	results = as_shared_alloc(sizeof(*results));
	report_run(report);
	in_child(measure_ratio, results);
	report("run.ext4.raw_ratio", results->raw_us / results->executor_us, "1");
	report("run.ext4.raw", RAW_ROUNDS * CALLS / (results->raw_us / 1e6), "call/s");
	as_shared_free(results, sizeof(*results));
}

void bench_mount(as_bench_report report)
{
	struct results *results = as_shared_alloc(sizeof(*results));

	report_cycles(results, report);
	as_shared_free(results, sizeof(*results));
}
