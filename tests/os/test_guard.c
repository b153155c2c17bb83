/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard: what a child with foreign code prints is kept, and what it leaves running is killed. */
#include "os/guard.h"
#include "tests/lib/wait.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DEADLINE_MS 20000

static int print(void *ctx)
{
	(void)ctx;
	return write(STDOUT_FILENO, "out ", 4) + write(STDERR_FILENO, "err", 3) == 7 ? 0 : 1;
}

static int flood(void *ctx)
{
	char block[4096];

	(void)ctx;
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 1000; i++)
		(void)!write(STDERR_FILENO, block, sizeof(block));
	return 7;
}

/* A process in a session of its own; its id goes to shared memory. */
static bool has_begun(void *ctx)
{
	return *(volatile pid_t *)ctx;
}

static int leave_daemon(void *ctx)
{
	volatile pid_t *daemon = ctx;
	pid_t pid = fork();

	if (!pid) {
		setsid();
		pid = fork();
		if (!pid) {
			*daemon = getpid();
			for (;;)
				pause();
		}
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return t_wait_until(has_begun, (void *)daemon, DEADLINE_MS) ? 0 : 1;
}

static int reads_input(void *ctx)
{
	char c;

	(void)ctx;
	return (int)read(STDIN_FILENO, &c, 1);
}

static struct as_ended guard(int (*fn)(void *), void *ctx, struct as_buf *output)
{
	struct as_spawn_limits limits = { .deadline_ms = DEADLINE_MS };
	struct as_ended ended;

	assert_int_equal(as_guard_fork(fn, ctx, &limits, output, &ended, NULL), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	return ended;
}

static void test_output(void **state)
{
	struct as_buf output = { 0 };

	(void)state;
	assert_int_equal(guard(print, NULL, &output).status, 0);
	assert_string_equal(as_buf_str(&output), "out err");
	as_buf_clear(&output);
	/* A pipe that nobody reads does not stop it, and what is kept is bounded. */
	assert_int_equal(guard(flood, NULL, &output).status, 7);
	assert_true(output.len >= 4096 && output.len <= 128 << 10);
	as_buf_clear(&output);
	assert_int_equal(guard(reads_input, NULL, &output).status, 0);
	as_buf_free(&output);
}

static void test_daemon(void **state)
{
	volatile pid_t *daemon = as_shared_alloc(sizeof(*daemon));
	struct as_buf output = { 0 };
	pid_t mine;

	(void)state;
	/* A child that was there before is left alone. */
	mine = fork();
	if (!mine)
		for (;;)
			pause();
	guard(leave_daemon, (void *)daemon, &output);
	assert_true(*daemon > 0);
	if (access("/proc/thread-self/children", F_OK))
		print_message("the kernel lists no children: orphans are not looked for\n");
	else
		assert_true(kill(*daemon, 0) && errno == ESRCH);
	assert_int_equal(kill(mine, SIGKILL), 0);
	assert_int_equal(waitpid(mine, NULL, 0), mine);
	as_buf_free(&output);
	as_shared_free((void *)daemon, sizeof(*daemon));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
