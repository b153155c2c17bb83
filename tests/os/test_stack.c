/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: a process that dies tells where. One place is the same in every process and by every way
 * to it, and two places are two.
 */
#include "os/stack.h"

#include "base/buf.h"
#include "os/spawn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int zero;
static int *volatile nowhere;
static void (*volatile bad_call)(void);

NOINLINE static void dies_here(void)
{
	*nowhere = 1;
	zero = 2; /* so that no jump takes the place of a call */
}

NOINLINE static void dies_there(void)
{
	zero = 100 / zero;
	zero = 3;
}

NOINLINE static void one_way(void)
{
	dies_here();
	zero = 4;
}

NOINLINE static void assert_something(void)
{
	abort();
}

NOINLINE static void breaks_a_promise(void)
{
	assert_something();
	zero = 5;
}

NOINLINE static void copies_to_nowhere(void)
{
	memcpy(nowhere, "text", (size_t)zero + 4);
	zero = 6;
}

NOINLINE static void calls_nothing(void)
{
	bad_call();
	zero = 7;
}

NOINLINE static int goes_deep(int n)
{
	volatile char much[4096];

	much[0] = (char)n;
	return n ? goes_deep(n + 1) + much[0] : 0;
}

static void overflows(void)
{
	zero = goes_deep(1);
}

static void is_killed(void)
{
	kill(getpid(), SIGKILL);
}

static void is_asked_to_end(void)
{
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

/* What the child that runs fn says of its death. */
static void die(void (*fn)(void), struct as_buf *words)
{
	struct as_stack *stack = as_shared_alloc(sizeof(*stack));
	int status;
	pid_t pid;

	/* What was noted of another death is no longer there. */
	memset(stack, 0x55, sizeof(*stack));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		as_stack_catch(stack);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		fail_msg("it ended with status %x", (unsigned)status);
	as_stack_words(stack, WTERMSIG(status), words);
	as_shared_free(stack, sizeof(*stack));
}

static void test_places(void **state)
{
	static const struct {
		void (*fn)(void);
		const char *want;
	} rows[] = {
		{ dies_here, "SIGSEGV in dies_here" },
		{ one_way, "SIGSEGV in dies_here" },
		{ dies_there, "SIGFPE in dies_there" },
		{ breaks_a_promise, "SIGABRT in breaks_a_promise" },
		{ copies_to_nowhere, "SIGSEGV in copies_to_nowhere" },
		{ calls_nothing, "SIGSEGV in calls_nothing" },
		{ overflows, "SIGSEGV in goes_deep" },
		{ is_killed, "SIGKILL" },
		{ is_asked_to_end, "SIGTERM" },
	};

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	print_message("SKIP: a sanitizer has handlers of its own\n");
	skip();
#endif
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int again = 0; again < 2; again++) {
			struct as_buf words = { 0 };

			die(rows[i].fn, &words);
			assert_string_equal(as_buf_str(&words), rows[i].want);
			as_buf_free(&words);
		}
}

/* Another module than our own program: its caller is told, too. */
static void add(struct as_stack *stack, uint64_t at, const char *module)
{
	struct as_stack_frame *frame = &stack->frame[stack->n++];

	frame->at = at;
	strncpy(frame->module, module, sizeof(frame->module) - 1);
}

static void test_modules(void **state)
{
	struct as_stack stack = { .signal = SIGSEGV };
	struct as_buf words = { 0 };

	(void)state;
	add(&stack, 0x77, "/lib/libc.so.6");
	add(&stack, 0x1234, "/nowhere/liblittle.so");
	add(&stack, 0x777, "/lib/libc.so.6");
	add(&stack, 0x5678, "/nowhere/liblittle.so");
	add(&stack, 0x9abc, "/nowhere/liblittle.so");
	as_stack_words(&stack, SIGSEGV, &words);
	assert_string_equal(as_buf_str(&words),
			    "SIGSEGV in liblittle.so+0x1234 < liblittle.so+0x5678");
	as_buf_clear(&words);

	/* Who called the module is not told. */
	snprintf(stack.frame[3].module, sizeof(stack.frame[3].module), "/nowhere/program");
	as_stack_words(&stack, SIGSEGV, &words);
	assert_string_equal(as_buf_str(&words), "SIGSEGV in liblittle.so+0x1234");
	as_buf_clear(&words);

	/* The handler died, too; and what a dying process leaves may be anything. */
	stack = (struct as_stack){ .signal = SIGABRT, .n = UINT32_MAX };
	memset(stack.frame, 'x', sizeof(stack.frame));
	as_stack_words(&stack, SIGSEGV, &words);
	assert_memory_equal(as_buf_str(&words), "SIGABRT in xxx", 14);
	as_buf_free(&words);
}

/* What glibc says of a heap is chance, apart from a block that is freed twice. */
static void test_heap(void **state)
{
	static const struct {
		const char *said, *want;
	} rows[] = {
		{ "malloc(): invalid size (unsorted)\n", "SIGABRT: a damaged heap" },
		{ "free(): corrupted unsorted chunks\n", "SIGABRT: a damaged heap" },
		{ "corrupted size vs. prev_size\n", "SIGABRT: a damaged heap" },
		{ "Fatal glibc error: malloc assertion failure in _int_malloc: chunk\n",
		  "SIGABRT: a damaged heap" },
		{ "corrupted double-linked list\n", "SIGABRT: a damaged heap" },
		{ "Fatal glibc error: malloc.c:2593 (sysmalloc): assertion failed: old_top\n",
		  "SIGABRT: a damaged heap" },
		{ "free(): double free detected in tcache 2\n",
		  "SIGABRT: free(): double free detected in tcache 2 in lib.so+0x12" },
		{ "double free or corruption (fasttop)\n",
		  "SIGABRT: double free or corruption (fasttop) in lib.so+0x12" },
		{ "f: log.c:12: put: Assertion `n < 4' failed.\n",
		  "SIGABRT: assertion `n < 4' at log.c:12 in lib.so+0x12" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct as_stack stack = { .signal = SIGABRT };
		struct as_buf words = { 0 };

		add(&stack, 0x12, "/nowhere/lib.so");
		snprintf(stack.abort, sizeof(stack.abort), "%s", rows[i].said);
		as_stack_words(&stack, SIGABRT, &words);
		assert_string_equal(as_buf_str(&words), rows[i].want);
		as_buf_free(&words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
