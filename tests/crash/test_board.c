/* SPDX-License-Identifier: GPL-2.0-or-later */
/* board: what one process posts, the others read, once and whole; also after the ring is full, and
 * when processes are killed while they post. */
#include "crash/board.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define WORDS 4096u

/* A notice of any length that says itself whether it is whole. */
static void post(struct as_board *board, uint64_t n)
{
	uint64_t words[WORDS];
	size_t len = 1 + n * 7919 % WORDS;

	for (size_t i = 0; i < len; i++)
		words[i] = n * 31 + i;
	as_board_post(board, words, len * sizeof(*words));
}

static uint64_t read_whole(const struct as_buf *notice)
{
	const uint64_t *words = (const uint64_t *)(const void *)notice->data;
	uint64_t n = words[0] / 31;

	assert_int_equal(notice->len, (1 + n * 7919 % WORDS) * sizeof(*words));
	for (size_t i = 0; i < notice->len / sizeof(*words); i++)
		assert_int_equal(words[i], n * 31 + i);
	return n;
}

static pid_t post_in_child(struct as_board *board, uint64_t from, uint64_t to)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		for (uint64_t n = from; n < to; n++)
			post(board, n);
		_exit(0);
	}
	return pid;
}

static void test_others_read_it(void **state)
{
	struct as_board *board = as_board_new();
	struct as_buf notice = { 0 };
	uint64_t at = 0, n = 0;

	(void)state;
	assert_false(as_board_next(board, &at, &notice));
	post(board, 1);
	/* Nobody reads his own. */
	assert_false(as_board_next(board, &at, &notice));
	assert_int_equal(waitpid(post_in_child(board, 0, 100), NULL, 0) > 0, 1);
	while (as_board_next(board, &at, &notice))
		assert_int_equal(read_whole(&notice), n++);
	assert_int_equal(n, 100);
	as_buf_free(&notice);
	as_board_free(board);
}

/* 16 KiB each on average: the ring goes round about twice. Who is late has the newest. */
static void test_the_oldest_are_taken_down(void **state)
{
	struct as_board *board = as_board_new();
	uint64_t many = 2 * AS_BOARD_BYTES / (WORDS / 2 * sizeof(uint64_t));
	struct as_buf notice = { 0 };
	uint64_t at = 0, n = 0, got = 0, first = UINT64_MAX;

	(void)state;
	assert_int_equal(waitpid(post_in_child(board, 0, many), NULL, 0) > 0, 1);
	while (as_board_next(board, &at, &notice)) {
		n = read_whole(&notice);
		first = first < n ? first : n;
		got++;
	}
	assert_int_equal(n, many - 1);
	assert_int_equal(got, many - first);
	assert_true(first > 0 && got > many / 3);
	as_board_post(board, "", AS_BOARD_BYTES / 4 + 1); /* too large */
	assert_false(as_board_next(board, &at, &notice));
	as_buf_free(&notice);
	as_board_free(board);
}

static void test_killed_writers(void **state)
{
	struct as_board *board = as_board_new();
	struct as_buf notice = { 0 };
	uint64_t at = 0, got = 0;

	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		pid_t pid = post_in_child(board, i << 40, UINT64_MAX);

		/* It has begun, and is killed at some moment. */
		for (uint64_t begun = got + 2; got < begun;) {
			if (!as_board_next(board, &at, &notice))
				continue;
			(void)read_whole(&notice);
			got++;
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (as_board_next(board, &at, &notice))
			(void)read_whole(&notice);
	}
	assert_int_equal(waitpid(post_in_child(board, 5, 6), NULL, 0) > 0, 1);
	assert_true(as_board_next(board, &at, &notice));
	assert_int_equal(read_whole(&notice), 5);
	as_buf_free(&notice);
	as_board_free(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_others_read_it),
		cmocka_unit_test(test_the_oldest_are_taken_down),
		cmocka_unit_test(test_killed_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
