/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever kills us, nothing stays behind: a runner that mounts, writes, unmounts, cuts the
 * power and checks without end is killed with SIGKILL at random moments, or its engine is; then
 * no process of its session, and no loop device of its (peculiar) size may be left.
 */
#include "tests/lib/skip.h"

#include "base/prng.h"
#include "os/spawn.h"
#include "run/run.h"
#include "target/fstype.h"
#include "tests/lib/wait.h"
#include "work/parse.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS 20
#define MAX_DELAY_US 150000
#define PATIENCE_MS 20000

static const char workload[] = "$0 = open /f O_RDWR|O_CREAT 0644\n"
			       "write $0 len=300000 fill=1\n"
			       "fsync $0\n"
			       "mmap_write $0 at=4096 len=4096 fill=2 flags=MS_SYNC\n"
			       "close $0\n"
			       "enlarge / 200\n"
			       "sync\n"
			       "umount\n"
			       "mount\n"
			       "deepen / 50\n"
			       "sync\n"
			       "crash\n"
			       "remount\n"
			       "prune /\n";

static uint64_t size_bytes; /* of the disk: no other test has this one */

/* The part of assay: does not end by itself. */
_Noreturn static void run_for_ever(const char *name)
{
	struct as_run_options options = { .size_bytes = size_bytes };
	struct as_run_result result;
	struct as_runner *runner = NULL;
	struct as_target *target = NULL;
	struct as_seq *seq = NULL;
	struct as_err err;

	setsid();
	if (as_parse_text("kill", workload, strlen(workload), &seq, &err) ||
	    as_target_open(name, &target, &err) ||
	    as_runner_new(target, &options, NULL, &runner, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		_exit(98);
	}
	while (!as_run_workload(runner, seq, "kill", &result, &err))
		;
	fprintf(stderr, "%s\n", err.msg);
	_exit(97);
}

/* A process of the session other than its leader, or 0. With `any` the leader counts, too. */
static pid_t find_process(pid_t session, bool any)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t found = 0;

	assert_non_null(proc);
	while (!found && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && (any || pid != session) && getsid(pid) == session)
			found = pid;
	}
	closedir(proc);
	return found;
}

static bool loop_is_there(void)
{
	DIR *block = opendir("/sys/block");
	struct dirent *entry;
	bool found = false;

	while (block && !found && (entry = readdir(block))) {
		struct as_buf size = { 0 }, path = { 0 };

		as_buf_addf(&path, "/sys/block/%s/size", entry->d_name);
		if (!strncmp(entry->d_name, "loop", 4) &&
		    !as_buf_read_file(&size, as_buf_str(&path), 100, NULL))
			found = strtoull(as_buf_str(&size), NULL, 10) == size_bytes / 512;
		as_buf_free(&size);
		as_buf_free(&path);
	}
	if (block)
		closedir(block);
	return found;
}

/* Dying takes the kernel a moment. */
static bool is_clean(void *ctx)
{
	/* The engine has become our child. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return !find_process(*(pid_t *)ctx, true) && !loop_is_there();
}

static void expect_nothing(pid_t session, int round)
{
	if (!t_wait_until(is_clean, &session, PATIENCE_MS))
		fail_msg("kill %d: left behind: %s%s", round,
			 find_process(session, true) ? "a process " : "",
			 loop_is_there() ? "a loop device" : "");
}

static void test_killed(void **state)
{
	struct as_prng prng = as_prng_seed(0x6b696c6c);
	struct as_buf why = { 0 };

	if (as_fstype_lacks_host(as_fstype_find(*state), &why))
		skip_because("%s on the running kernel lacks %s", (const char *)*state,
			     as_buf_str(&why));
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	size_bytes = (16u << 20) + (uint64_t)(getpid() % 4096 + 1) * 4096;
	for (int i = 0; i < KILLS; i++) {
		pid_t pid = fork(), engine;
		int status;

		assert_true(pid >= 0);
		if (!pid)
			run_for_ever(*state);
		/* The moment is what is tested. */
		usleep((useconds_t)as_prng_below(&prng, MAX_DELAY_US));
		engine = i % 2 ? find_process(pid, false) : 0;
		if (engine)
			kill(engine, SIGKILL);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		/* Without its engine, it may have ended by itself before it was killed. */
		assert_true(WIFSIGNALED(status) || engine);
		expect_nothing(pid, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "killed: ext4", test_killed, NULL, NULL, "ext4" },
		{ "killed: xfs", test_killed, NULL, NULL, "xfs" },
		{ "killed: btrfs", test_killed, NULL, NULL, "btrfs" },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
