/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_checker: what a run of e2fsck costs. The disk is ext4 of 2 MiB as mke2fs makes it; each run
 * is a full check (-f -y), which writes the superblock. Both ways run on one core, in turns, and
 * the best round of each counts, so that what else the machine does hits both alike.
 *
 *	checker.e2fsck		through the fork server: load the disk, run, log and recovered disk
 *	checker.e2fsck.plain	posix_spawn and waitpid in a loop over a file on tmpfs
 *	checker.e2fsck.ratio	the first over the second
 *	checker.e2fsck.quick*	the same for -p, what a machine does when it boots
 */
#include "bench/bench.h"
#include "disk/image.h"
#include "os/spawn.h"
#include "tool/checker.h"

#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES (UINT64_C(2) << 20)
#define N_ROUNDS 12
#define N_RUNS 60

struct rig {
	const struct as_fstype *type;
	struct as_checkers *checkers;
	struct as_chunks *store;
	struct as_disk *disk;
	char path[64], program[4096];
};

static double round_forked(struct rig *rig, enum as_check_mode mode)
{
	int64_t start_us = as_now_us();

	for (int i = 0; i < N_RUNS; i++) {
		struct as_checked checked;

		as_assert(!as_checker_run(rig->checkers, rig->type, mode, rig->disk, 0, &checked,
					  NULL));
		as_assert(checked.answer == AS_CHECK_CLEAN);
		as_checked_free(&checked);
	}
	return (double)(as_now_us() - start_us) / N_RUNS;
}

static double round_plain(struct rig *rig, enum as_check_mode mode)
{
	char **argv = as_fstype_argv(as_fstype_check(rig->type, mode)->command,
				     &(struct as_fstype_disks){ .disk = rig->path,
								.size_bytes = DISK_BYTES });
	char **envp = as_fstype_envp(rig->type);
	posix_spawn_file_actions_t actions;
	int64_t start_us;
	double each_us;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	start_us = as_now_us();
	for (int i = 0; i < N_RUNS; i++) {
		int status = -1;
		pid_t pid;

		as_assert(!posix_spawn(&pid, rig->program, &actions, NULL, argv, envp));
		as_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		as_assert(!WEXITSTATUS(status));
	}
	each_us = (double)(as_now_us() - start_us) / N_RUNS;
	posix_spawn_file_actions_destroy(&actions);
	as_fstype_free_words(argv);
	as_fstype_free_words(envp);
	return each_us;
}

static void measure(struct rig *rig, enum as_check_mode mode, const char *name,
		    as_bench_report report)
{
	double forked_us = 1e9, plain_us = 1e9;
	char full[64];

	for (int i = 0; i < N_ROUNDS; i++) {
		double us = round_forked(rig, mode);

		forked_us = us < forked_us ? us : forked_us;
		us = round_plain(rig, mode);
		plain_us = us < plain_us ? us : plain_us;
	}
	report(name, 1e6 / forked_us, "run/s");
	snprintf(full, sizeof(full), "%s.plain", name);
	report(full, 1e6 / plain_us, "run/s");
	snprintf(full, sizeof(full), "%s.ratio", name);
	report(full, plain_us / forked_us, "x");
}

static bool prepare(struct rig *rig)
{
	struct as_tool_result made;
	bool fine;

	rig->type = as_fstype_find("ext4");
	if (!rig->type || access("/dev/shm", W_OK) ||
	    !as_spawn_which("e2fsck", rig->program, sizeof(rig->program)))
		return false;
	snprintf(rig->path, sizeof(rig->path), "/dev/shm/assay-bench-%d", (int)getpid());
	rig->store = as_chunks_new();
	rig->checkers = as_checkers_new(NULL);
	as_assert(!as_disk_new(rig->store, DISK_BYTES, &rig->disk, NULL));
	fine = !as_checker_mkfs(rig->checkers, rig->type, rig->disk, &made, NULL);
	if (fine) {
		as_disk_free(rig->disk);
		rig->disk = as_disk_snapshot(made.disk);
		fine = !as_image_export_raw(rig->disk, rig->path, NULL);
	}
	as_tool_result_free(&made);
	return fine;
}

void bench_checker(as_bench_report report)
{
	struct rig rig = { 0 };
	cpu_set_t before, one;

	/* The server inherits the core that it is started on. */
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (prepare(&rig)) {
		measure(&rig, AS_CHECK_FULL, "checker.e2fsck", report);
		measure(&rig, AS_CHECK_QUICK, "checker.e2fsck.quick", report);
	}
	if (*rig.path)
		unlink(rig.path);
	as_checkers_free(rig.checkers);
	as_disk_free(rig.disk);
	as_chunks_free(rig.store);
	sched_setaffinity(0, sizeof(before), &before);
}
