/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's books: what is allocated, what fails when asked to, what is freed wrongly. */
#include "tests/lib/skip.h"

#include "base/choice.h"
#include "target/host.h"

#include <stdio.h>
#include <string.h>

struct fixture {
	struct as_chooser *chooser;
	struct as_host_log log;
	struct as_host_mem *mem;
	const struct as_host *host;
};

static struct fixture f;

static int setup(void **state)
{
	(void)state;
	memset(&f.log, 0, sizeof(f.log));
	f.chooser = as_chooser_seeded(7);
	f.mem = as_host_new(as_chooser_choice(f.chooser), &f.log);
	f.host = as_host_seam(f.mem);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	as_host_free(f.mem);
	as_chooser_free(f.chooser);
	return 0;
}

static void counts_what_is_live(void **state)
{
	void *a = as_malloc(f.host, 100), *b = as_malloc(f.host, 0);
	char *c = as_malloc(f.host, 1000);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(c[i], 0);
	assert_int_equal(as_host_live(f.mem).count, 3);
	assert_int_equal(as_host_live(f.mem).bytes, 1100);
	as_free(f.host, a);
	as_free(f.host, b);
	as_free(f.host, c);
	as_free(f.host, NULL);
	assert_int_equal(as_host_live(f.mem).count, 0);
	assert_int_equal(as_host_live(f.mem).bytes, 0);
	assert_null(as_host_misuse(f.mem));
}

/* Many blocks in changing order: the table grows, and deletions keep the rest reachable. */
static void many_blocks(void **state)
{
	enum { N = 5000 };
	static void *block[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		block[i] = as_malloc(f.host, i % 50);
	for (size_t i = 0; i < N; i += 3)
		as_free(f.host, block[i]);
	for (size_t i = 0; i < N; i += 3)
		block[i] = as_malloc(f.host, 8);
	assert_int_equal(as_host_live(f.mem).count, N);
	for (size_t i = N; i-- > 0;)
		as_free(f.host, block[i]);
	assert_int_equal(as_host_live(f.mem).count, 0);
	assert_null(as_host_misuse(f.mem));
}

static void fails_the_nth(void **state)
{
	(void)state;
	as_host_fail_nth(f.mem, 3);
	assert_non_null(as_malloc(f.host, 1));
	assert_non_null(as_malloc(f.host, 1));
	assert_false(as_host_failed(f.mem));
	assert_null(as_malloc(f.host, 1));
	assert_true(as_host_failed(f.mem));
	assert_non_null(as_malloc(f.host, 1));
	assert_int_equal(as_host_calls(f.mem), 4);
	as_host_fail_nth(f.mem, 0);
	assert_false(as_host_failed(f.mem));
	as_host_drop(f.mem);
	assert_int_equal(as_host_live(f.mem).count, 0);
}

static void a_target_cannot_take_all_memory(void **state)
{
	(void)state;
	assert_null(as_malloc(f.host, AS_HOST_LIVE_MAX_BYTES + 1));
	assert_null(as_malloc(f.host, SIZE_MAX));
}

static void second_free_is_misuse(void **state)
{
	void *ptr = as_malloc(f.host, 10);

	(void)state;
	as_free(f.host, ptr);
	as_free(f.host, ptr);
	assert_non_null(strstr(as_host_misuse(f.mem), "not allocated"));
}

static void free_of_a_stranger_is_misuse(void **state)
{
	int local;

	(void)state;
	as_free(f.host, &local);
	assert_non_null(strstr(as_host_misuse(f.mem), "not allocated"));
}

static void overrun_is_misuse(void **state)
{
	char *ptr = as_malloc(f.host, 10);

	(void)state;
	ptr[10] = 1;
	/* Seen when looked for, without a free. */
	assert_null(as_host_misuse(f.mem));
	as_host_check(f.mem);
	assert_non_null(strstr(as_host_misuse(f.mem), "past the end of an allocation of 10 bytes"));
}

static void the_clock_only_rises(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		uint64_t now = f.host->now_ns(f.host->ctx);

		assert_true(now > last);
		last = now;
	}
}

static void the_log_keeps_the_last_lines(void **state)
{
	struct as_buf text = { 0 };
	char line[32];

	(void)state;
	f.host->log(f.host->ctx, "first");
	as_host_log_text(&f.log, &text);
	assert_string_equal(as_buf_str(&text), "first\n");
	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof(line), "line %d", i);
		f.host->log(f.host->ctx, line);
	}
	as_buf_clear(&text);
	as_host_log_text(&f.log, &text);
	assert_true(text.len <= AS_HOST_LOG_BYTES);
	/* Whole lines only, the newest last. */
	assert_int_equal(strncmp(as_buf_str(&text), "line ", 5), 0);
	assert_non_null(strstr(as_buf_str(&text), "line 4999\n"));
	assert_null(strstr(as_buf_str(&text), "first"));
	as_buf_free(&text);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(counts_what_is_live),
		T(many_blocks),
		T(fails_the_nth),
		T(a_target_cannot_take_all_memory),
		T(second_free_is_misuse),
		T(free_of_a_stranger_is_misuse),
		T(overrun_is_misuse),
		T(the_clock_only_rises),
		T(the_log_keeps_the_last_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
