/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawn: how a child ended is reported correctly, nothing of its group is left, and no output
 * blocks it. Children block on something that never comes, and the deadline ends them. Only a stop
 * that is longer than a deadline takes its time.
 */
#include "os/spawn.h"
#include "tests/lib/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Long enough on a loaded machine, and short enough to wait for. */
#define SHORT_MS 150
#define LONG_MS 60000
#define BUSY_MS 1000 /* longer than a busy machine lets a child wait for its turn */

static struct as_ended run_sh(const char *script, struct as_buf *output, unsigned deadline_ms)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct as_spawn spawn = { .argv = argv, .output = output, .deadline_ms = deadline_ms };
	struct as_ended ended;
	struct as_err err = { 0 };

	if (as_spawn_run(&spawn, &ended, &err))
		fail_msg("%s", err.msg);
	assert_true(ended.wall_us > 0);
	return ended;
}

static void test_ends(void **state)
{
	static const struct {
		const char *script;
		enum as_end how;
		int status;
	} rows[] = {
		{ "exit 0", AS_END_EXIT, 0 },
		{ "exit 42", AS_END_EXIT, 42 },
		{ "exit 127", AS_END_EXIT, 127 },
		{ "kill -SEGV $$", AS_END_SIGNAL, SIGSEGV },
		{ "kill -KILL $$", AS_END_SIGNAL, SIGKILL },
		{ "kill -PIPE $$", AS_END_SIGNAL, SIGPIPE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_ended ended = run_sh(rows[i].script, NULL, LONG_MS);

		assert_int_equal(ended.how, rows[i].how);
		assert_int_equal(ended.status, rows[i].status);
	}
}

static void test_output_and_input(void **state)
{
	struct as_buf out = { 0 };
	struct as_ended ended;
	struct as_err err = { 0 };
	char *argv[] = { "cat", NULL };
	struct as_spawn spawn = { .argv = argv, .output = &out, .output_max = 8 << 20 };
	struct as_buf big = { 0 };

	(void)state;
	run_sh("echo out; echo err >&2; cat", &out, LONG_MS);
	assert_string_equal(as_buf_str(&out), "out\nerr\n");

	/* More than any pipe holds, both ways at once. */
	for (int i = 0; i < 500000; i++)
		as_buf_addc(&big, (char)('a' + i % 26));
	as_buf_clear(&out);
	spawn.input = big.data;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_int_equal(out.len, big.len);
	assert_memory_equal(out.data, big.data, big.len);
	as_buf_free(&big);
	as_buf_free(&out);
}

static void test_output_beyond_the_limit_is_dropped(void **state)
{
	struct as_buf out = { 0 };
	char *argv[] = { "sh", "-c", "head -c 3000000 /dev/zero; exit 5", NULL };
	struct as_spawn spawn = { .argv = argv, .output = &out, .output_max = 1000 };
	struct as_ended ended;
	struct as_err err;

	(void)state;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 5);
	assert_int_equal(out.len, 1000);
	/* The default limit is 1 MiB. */
	as_buf_clear(&out);
	spawn.output_max = 0;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_int_equal(out.len, 1 << 20);
	as_buf_free(&out);
}

static void test_never_ending_output_meets_the_deadline(void **state)
{
	struct as_ended ended;
	struct as_buf out = { 0 };

	(void)state;
	ended = run_sh("yes", &out, SHORT_MS);
	assert_int_equal(ended.how, AS_END_DEADLINE);
	assert_true(ended.wall_us >= SHORT_MS * 1000 && ended.wall_us < LONG_MS * 1000LL);
	as_buf_free(&out);
}

/* The pipe reads as ended when every process that holds it has ended. */
static void assert_all_gone(int read_fd)
{
	struct pollfd fd = { .fd = read_fd, .events = POLLIN };
	char byte;

	assert_int_equal(poll(&fd, 1, LONG_MS), 1);
	assert_int_equal(read(read_fd, &byte, 1), 0);
}

/* Runs the script with the write end of a pipe, so that survivors would hold it open. */
static struct as_ended run_holding_pipe(const char *script, unsigned deadline_ms, int *read_fd)
{
	struct as_ended ended;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	ended = run_sh(script, NULL, deadline_ms);
	close(fds[1]);
	*read_fd = fds[0];
	return ended;
}

static void test_deadline_kills_grandchildren(void **state)
{
	struct as_ended ended;
	int fd;

	(void)state;
	ended = run_holding_pipe("(sh -c 'sleep 1000' & sleep 1000) & sleep 1000", SHORT_MS, &fd);
	assert_int_equal(ended.how, AS_END_DEADLINE);
	assert_int_equal(ended.status, SIGKILL);
	assert_true(ended.wall_us >= SHORT_MS * 1000);
	assert_all_gone(fd);
	close(fd);
}

static void test_nothing_of_the_group_is_left(void **state)
{
	struct as_ended ended;
	int fd;

	(void)state;
	ended = run_holding_pipe("sleep 1000 & exit 3", LONG_MS, &fd);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 3);
	assert_true(ended.wall_us < LONG_MS * 1000LL);
	assert_all_gone(fd);
	close(fd);
}

static void test_stubborn_child_dies(void **state)
{
	struct as_ended ended = run_sh("trap '' TERM INT HUP; kill -STOP $$", NULL, SHORT_MS);

	(void)state;
	assert_int_equal(ended.how, AS_END_DEADLINE);
}

static void test_environment(void **state)
{
	char *argv[] = { "env", NULL }, *one[] = { "ONLY=this", NULL };
	struct as_buf out = { 0 };
	struct as_spawn spawn = { .argv = argv, .output = &out, .cwd = "/" };
	struct as_ended ended;
	struct as_err err;

	(void)state;
	setenv("ASSAY_TEST_LEAK", "1", 1);
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_null(strstr(as_buf_str(&out), "ASSAY_TEST_LEAK"));
	assert_non_null(strstr(as_buf_str(&out), "LC_ALL=C\n"));
	assert_non_null(strstr(as_buf_str(&out), "TZ=UTC\n"));
	assert_non_null(strstr(as_buf_str(&out), "PATH="));
	as_buf_clear(&out);
	spawn.envp = one;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_string_equal(as_buf_str(&out), "ONLY=this\n");
	argv[0] = "pwd";
	as_buf_clear(&out);
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), 0);
	assert_string_equal(as_buf_str(&out), "/\n");
	as_buf_free(&out);
}

static void test_cannot_be_started(void **state)
{
	char *missing[] = { "no-such-program-anywhere", NULL }, *folder[] = { "/etc", NULL };
	char *fine[] = { "true", NULL };
	struct as_spawn spawn = { .argv = missing };
	struct as_ended ended;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), AS_ELACK);
	assert_non_null(strstr(err.msg, "no-such-program-anywhere"));
	spawn.argv = folder;
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), AS_ELACK);
	spawn.argv = fine;
	spawn.cwd = "/nonexistent";
	assert_int_equal(as_spawn_run(&spawn, &ended, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "/nonexistent: No such file"));
}

static void test_which(void **state)
{
	char path[256], tiny[4];

	(void)state;
	assert_true(as_spawn_which("sh", path, sizeof(path)));
	assert_int_equal(access(path, X_OK), 0);
	assert_true(as_spawn_which("/bin/sh", path, sizeof(path)));
	assert_string_equal(path, "/bin/sh");
	assert_false(as_spawn_which("no-such-program-anywhere", path, sizeof(path)));
	assert_false(as_spawn_which("", path, sizeof(path)));
	assert_false(as_spawn_which("sh", tiny, sizeof(tiny)));
	/* The sbin folders are searched even where PATH does not name them. */
	setenv("PATH", "/nonexistent", 1);
	assert_true(as_spawn_which("ldconfig", path, sizeof(path)));
	setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

/* ---- Forked functions ------------------------------------------------------------------------ */

struct shared {
	volatile uint64_t alive, value;
};

static int child_returns(void *ctx)
{
	((struct shared *)ctx)->value = 17;
	return 9;
}

static int child_crashes(void *ctx)
{
	(void)ctx;
	signal(SIGABRT, SIG_DFL);
	raise(SIGABRT);
	return 0;
}

static int child_hangs(void *ctx)
{
	(void)ctx;
	for (;;)
		pause();
	return 0;
}

/* Works for two deadlines, never silent for more than a small part of one. */
static int child_keeps_alive(void *ctx)
{
	struct shared *shared = ctx;
	int64_t until_us = as_now_us() + 2 * BUSY_MS * 1000;

	while (as_now_us() < until_us)
		shared->alive++;
	return 0;
}

static int child_stalls(void *ctx)
{
	struct shared *shared = ctx;

	shared->alive = 100;
	return child_hangs(ctx);
}

static void test_fork(void **state)
{
	static const struct {
		int (*fn)(void *ctx);
		unsigned deadline_ms;
		bool counted;
		enum as_end how;
		int status;
	} rows[] = {
		{ child_returns, LONG_MS, false, AS_END_EXIT, 9 },
		{ child_returns, 0, true, AS_END_EXIT, 9 },
		{ child_crashes, LONG_MS, false, AS_END_SIGNAL, SIGABRT },
		{ child_hangs, SHORT_MS, false, AS_END_DEADLINE, SIGKILL },
		{ child_stalls, SHORT_MS, true, AS_END_DEADLINE, SIGKILL },
		{ child_keeps_alive, SHORT_MS, false, AS_END_DEADLINE, SIGKILL },
		{ child_keeps_alive, BUSY_MS, true, AS_END_EXIT, 0 },
	};
	struct shared *shared = as_shared_alloc(sizeof(*shared));

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_ended ended;
		struct as_err err;

		shared->value = 0;
		assert_int_equal(as_spawn_fork(rows[i].fn, shared, rows[i].deadline_ms,
					       rows[i].counted ? &shared->alive : NULL, &ended,
					       &err),
				 0);
		assert_int_equal(ended.how, rows[i].how);
		assert_int_equal(ended.status, rows[i].status);
		if (rows[i].fn == child_returns)
			assert_int_equal(shared->value, 17);
	}
	as_shared_free(shared, sizeof(*shared));
	as_shared_free(NULL, 0);
}

static int child_asks_to_stop(void *ctx)
{
	volatile int *stop = ctx;

	*stop = 1;
	return child_hangs(ctx);
}

static void test_stop(void **state)
{
	volatile int *stop = as_shared_alloc(sizeof(*stop));
	struct as_spawn_limits limits = { .deadline_ms = LONG_MS, .stop = stop };
	struct as_ended ended;
	struct as_err err;

	(void)state;
	assert_int_equal(
		as_spawn_fork_limited(child_asks_to_stop, (void *)stop, &limits, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_STOPPED);
	assert_int_equal(ended.stuck, 0);
	assert_true(ended.wall_us < LONG_MS * 1000);
	as_shared_free((void *)stop, sizeof(*stop));
}

/* When a supervisor is killed, its children die with it. */
static int supervise(void *ctx)
{
	struct as_ended ended;
	struct as_err err;

	return as_spawn_fork(child_stalls, ctx, 0, NULL, &ended, &err) ? 1 : 0;
}

static void test_children_die_with_us(void **state)
{
	struct shared *shared = as_shared_alloc(sizeof(*shared));
	struct as_ended ended;
	struct as_err err;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	/* The grandchild is in a group of its own: only PR_SET_PDEATHSIG reaches it. */
	assert_int_equal(as_spawn_fork(supervise, shared, SHORT_MS, &shared->alive, &ended, &err),
			 0);
	assert_int_equal(ended.how, AS_END_DEADLINE);
	assert_int_equal(shared->alive, 100);
	close(fds[1]);
	assert_all_gone(fds[0]);
	close(fds[0]);
	as_shared_free(shared, sizeof(*shared));
}

static void test_signal_names(void **state)
{
	(void)state;
	assert_string_equal(as_signal_name(SIGSEGV), "SIGSEGV");
	assert_string_equal(as_signal_name(SIGKILL), "SIGKILL");
	assert_string_equal(as_signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
	assert_string_equal(as_signal_name(0), "signal 0");
	assert_string_equal(as_signal_name(999), "signal 999");
}

/* Shared by the three processes of the next test. */
struct stopped {
	volatile pid_t child;
	volatile bool may_end;
};

static int wait_for_leave(void *ctx)
{
	struct stopped *s = ctx;

	s->child = getpid();
	while (!s->may_end)
		poll(NULL, 0, 5);
	return 0;
}

static bool child_is_there(void *ctx)
{
	return ((struct stopped *)ctx)->child != 0;
}

/* Who watches a child is stopped for longer than the deadline, and the child with it: that time
 * does not count. */
static void test_time_while_stopped(void **state)
{
	struct stopped *s = as_shared_alloc(sizeof(*s));
	struct as_ended ended = { 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (as_spawn_fork(wait_for_leave, s, 3000, NULL, &ended, NULL))
			_exit(9);
		_exit(ended.how == AS_END_EXIT ? 0 : 1);
	}
	assert_true(t_wait_until(child_is_there, s, LONG_MS));
	kill(s->child, SIGSTOP);
	kill(pid, SIGSTOP);
	poll(NULL, 0, 4000);
	kill(pid, SIGCONT);
	/* It has time to look at the clock before the child ends. */
	poll(NULL, 0, 300);
	s->may_end = true;
	kill(s->child, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	as_shared_free(s, sizeof(*s));
}

static void stop_here(void)
{
	raise(SIGSTOP);
}

/* The same, but it is stopped before it looks at its child for the first time: in fork(). */
static void test_time_while_stopped_at_the_start(void **state)
{
	struct stopped *s = as_shared_alloc(sizeof(*s));
	struct as_ended ended = { 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (pthread_atfork(NULL, stop_here, NULL) ||
		    as_spawn_fork(wait_for_leave, s, 3000, NULL, &ended, NULL))
			_exit(9);
		_exit(ended.how == AS_END_EXIT ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	poll(NULL, 0, 4500); /* the time is what is tested */
	kill(pid, SIGCONT);
	/* It has time to look at the clock before the child ends. */
	poll(NULL, 0, 300);
	s->may_end = true;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	as_shared_free(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_output_and_input),
		cmocka_unit_test(test_output_beyond_the_limit_is_dropped),
		cmocka_unit_test(test_never_ending_output_meets_the_deadline),
		cmocka_unit_test(test_deadline_kills_grandchildren),
		cmocka_unit_test(test_nothing_of_the_group_is_left),
		cmocka_unit_test(test_stubborn_child_dies),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_cannot_be_started),
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_children_die_with_us),
		cmocka_unit_test(test_signal_names),
		cmocka_unit_test(test_time_while_stopped),
		cmocka_unit_test(test_time_while_stopped_at_the_start),
	};

	return cmocka_run_group_tests_name("os/spawn", tests, NULL, NULL);
}
