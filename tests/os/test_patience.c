/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: a child that waits for a processor for longer than its deadline is not ended, and one
 * that sleeps or spins for ever is.
 */
#include "os/patience.h"

#include "os/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOGS 15
#define NEED_MS 30 /* so much time of a processor does the child need */
#define DEADLINE_MS 300 /* with HOGS beside it, the child takes about twice as long */

static void use_one_processor(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &one);
			break;
		}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
}

static int64_t spent_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void spin_for(int64_t ms)
{
	while (spent_ms() < ms)
		;
}

static int needs_a_while(void *ctx)
{
	(void)ctx;
	spin_for(NEED_MS);
	return 0;
}

/* The work is done by a grandchild, and the child sleeps meanwhile. */
static int lets_another_work(void *ctx)
{
	pid_t pid = fork();
	int status = 1;

	if (!pid)
		_exit(needs_a_while(ctx));
	waitpid(pid, &status, 0);
	return status;
}

static int sleeps(void *ctx)
{
	(void)ctx;
	while (pause() < 0)
		;
	return 1;
}

static int spins(void *ctx)
{
	(void)ctx;
	spin_for(INT64_MAX);
	return 1;
}

/* Whoever calls vfork() waits in the kernel until its child has ended. */
static int is_blocked(void *ctx)
{
	pid_t pid = vfork();

	if (!pid) {
		while (pause() < 0)
			;
		_exit(1);
	}
	(void)ctx;
	return 1;
}

static enum as_end end_of(int (*fn)(void *ctx))
{
	struct as_ended ended;
	struct as_err err = { 0 };

	assert_int_equal(as_spawn_fork(fn, NULL, DEADLINE_MS, NULL, &ended, &err), 0);
	return ended.how;
}

/* HOGS, the child and we share one processor. */
static void among_hogs(int (*fn)(void *ctx), enum as_end want)
{
	cpu_set_t before;
	pid_t hogs[HOGS];
	enum as_end got;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	use_one_processor();
	for (int i = 0; i < HOGS; i++) {
		hogs[i] = fork();
		if (!hogs[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			spins(NULL);
		}
		assert_true(hogs[i] > 0);
	}
	got = end_of(fn);
	for (int i = 0; i < HOGS; i++) {
		kill(hogs[i], SIGKILL);
		waitpid(hogs[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(got, want);
}

static bool is_told(void)
{
	return !access("/proc/self/task", R_OK) && !access("/proc/self/schedstat", R_OK);
}

static void test_who_waits_for_a_processor(void **state)
{
	(void)state;
	if (!is_told()) {
		print_message("SKIP: the kernel does not tell how long a process waited\n");
		skip();
	}
	among_hogs(needs_a_while, AS_END_EXIT);
	among_hogs(lets_another_work, AS_END_EXIT);
}

static void test_who_never_ends(void **state)
{
	(void)state;
	assert_int_equal(end_of(sleeps), AS_END_DEADLINE);
	assert_int_equal(end_of(spins), AS_END_DEADLINE);
	assert_int_equal(end_of(is_blocked), AS_END_DEADLINE);
	among_hogs(sleeps, AS_END_DEADLINE);
	among_hogs(spins, AS_END_DEADLINE); /* after DEADLINE_MS of the processor */
}

static void test_what_is_left(void **state)
{
	struct as_patience none = as_patience_of(AS_PATIENCE_CHILD, getpid(), 0), some;
	struct as_patience_look nobody = { 0 }, ours = { 0 };

	(void)state;
	as_patience_restart(&none);
	assert_int_equal(none.look.use.waited_us, 0);
	some = as_patience_of(AS_PATIENCE_CHILD, getpid(), 60000);
	assert_in_range(as_patience_left(&some), 1, AS_PATIENCE_STEP_MS);
	/* A process that is gone has waited for nothing. */
	assert_int_equal(as_patience_waited(&nobody, 0), 0);
	assert_int_equal(nobody.use.waited_us, 0);
	assert_int_equal(as_patience_waited(&ours, getpid()), 0);
	assert_true(!is_told() || ours.use.wants);
}

/* What the machine tells is given, up to the time that has passed, and nothing else is. */
static void test_what_the_machine_tells(void **state)
{
	volatile int64_t told_us = 5000000;
	struct as_patience p;

	(void)state;
	as_patience_told(&told_us);
	p = as_patience_of(AS_PATIENCE_CHILD, 0, 1);
	spin_for(spent_ms() + 3);
	told_us += 60000000;
	assert_true(as_patience_left(&p) == 1);
	spin_for(spent_ms() + 3);
	assert_int_equal(as_patience_left(&p), 0);
	as_patience_told(NULL);
	p = as_patience_of(AS_PATIENCE_CHILD, 0, 1);
	spin_for(spent_ms() + 3);
	told_us += 60000000;
	assert_int_equal(as_patience_left(&p), 0);
}

/* Time in which nobody looked, though somebody should have, was a stop; a little late is none. */
static void test_who_was_stopped(void **state)
{
	struct as_patience p = as_patience_of(AS_PATIENCE_CHILD, 0, 1000);

	(void)state;
	p.since_us -= 60000000;
	p.asked_us -= 60000000;
	p.look.us -= 60000000;
	assert_in_range(as_patience_left(&p), 1, AS_PATIENCE_STEP_MS);
	p = as_patience_of(AS_PATIENCE_CHILD, 0, 1000);
	p.since_us -= 1400000;
	p.asked_us -= 1400000;
	p.look.us -= 1400000;
	assert_int_equal(as_patience_left(&p), 0);
}

/* What we waited counts for who may wait for us, and for nobody else. */
static void test_who_waits_for_us(void **state)
{
	static const struct {
		enum as_patience_kind kind;
		bool left;
	} rows[] = { { AS_PATIENCE_PROGRAM, true },
		     { AS_PATIENCE_CHECKER, true },
		     { AS_PATIENCE_MATE, true },
		     { AS_PATIENCE_CHILD, false },
		     { AS_PATIENCE_SERVER, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_patience p = as_patience_of(rows[i].kind, 0, 60000);

		assert_in_range(as_patience_left(&p), 1, AS_PATIENCE_STEP_MS);
		/* As if it were 61 s later, in which we had waited for 30 s. */
		p.since_us -= 61000000;
		p.look.us -= 61000000;
		p.ours_us -= 30000000;
		assert_int_equal(as_patience_left(&p) > 0, rows[i].left);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits_for_a_processor),
		cmocka_unit_test(test_who_never_ends),
		cmocka_unit_test(test_what_is_left),
		cmocka_unit_test(test_what_the_machine_tells),
		cmocka_unit_test(test_who_was_stopped),
		cmocka_unit_test(test_who_waits_for_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
