/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of a call is measured: frames that are deep, frames with a gap, other threads. */
#include "os/paint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#define WINDOW 65536u
#define SLACK 4096u /* of calls in between, more with sanitizers */

static __attribute__((noinline)) int use(size_t bytes)
{
	volatile char buf[bytes];

	/* Only the far end: there is paint left before it. */
	buf[0] = 1;
	return buf[0];
}

static __attribute__((noinline)) size_t measure(size_t bytes)
{
	struct as_paint paint;

	as_paint(&paint, __builtin_frame_address(0), WINDOW);
	if (bytes)
		use(bytes);
	return as_paint_used(&paint);
}

static void depths(void **state)
{
	(void)state;
	assert_true(measure(0) < SLACK);
	for (size_t bytes = 4096; bytes < WINDOW; bytes *= 2) {
		size_t used = measure(bytes);

		assert_true(used >= bytes);
		assert_true(used < bytes + SLACK);
	}
	assert_true(measure(0) < SLACK);
}

static void more_than_is_painted(void **state)
{
	struct as_paint paint;

	(void)state;
	as_paint(&paint, __builtin_frame_address(0), 4096);
	assert_true(paint.from >= (const char *)__builtin_frame_address(0) - 4096);
}

static void elsewhere(void **state)
{
	static char other[64];
	struct as_paint paint;

	(void)state;
	as_paint(&paint, other, WINDOW);
	assert_int_equal(as_paint_used(&paint), 0);
	for (size_t i = 0; i < sizeof(other); i++)
		assert_int_equal(other[i], 0);
}

static void *in_thread(void *ctx)
{
	*(size_t *)ctx = measure(16384);
	return NULL;
}

/* A stack that is smaller than the window: its end is not touched. */
static void small_thread(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	size_t used = 0;

	(void)state;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	assert_int_equal(pthread_create(&thread, &attr, in_thread, &used), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_true(used >= 16384);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depths),
		cmocka_unit_test(more_than_is_painted),
		cmocka_unit_test(elsewhere),
		cmocka_unit_test(small_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
