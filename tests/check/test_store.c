/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The states that were found: each once, in the order that is asked for, and in a file that may be
 * damaged. */
#include "check/store.h"
#include "tests/lib/tmpdir.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX 1000u

static struct as_digest digest_of(uint64_t n)
{
	return as_hash(&n, sizeof(n));
}

static uint32_t add(struct as_store *store, uint64_t n, uint32_t parent, const char *line)
{
	uint32_t id;

	assert_int_equal(as_store_add(store, digest_of(n), parent, line, false, &id), AS_STORE_NEW);
	return id;
}

static struct as_store *open_store(int fd, uint32_t max)
{
	struct as_store *store = NULL;
	struct as_err err;

	if (as_store_open(fd, "test", max, &store, &err))
		fail_msg("%s", err.msg);
	return store;
}

static void test_order(void **state)
{
	struct as_store *store = open_store(-1, MAX);
	uint32_t id, n = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		id = add(store, i, i ? 0 : AS_STORE_NONE, "x");
		as_store_push(store, id, i * 37 % 101);
	}
	assert_int_equal(as_store_frontier(store), 100);
	for (uint64_t last = UINT64_MAX; as_store_pop(store, &id); n++) {
		assert_true(id * 37 % 101 < last);
		last = id * 37 % 101;
		assert_int_equal(as_store_in_work(store), 1);
		as_store_done(store, id);
		assert_true(as_store_at(store, id).flags & AS_STATE_EXPANDED);
	}
	assert_int_equal(n, 100);
	assert_int_equal(as_store_add(store, digest_of(5), 0, "y", false, &id), AS_STORE_KNOWN);
	assert_int_equal(id, 5);
	as_store_close(store);
}

static void test_full(void **state)
{
	struct as_store *store = open_store(-1, 3);
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		(void)add(store, i, i ? 0 : AS_STORE_NONE, "x");
	assert_int_equal(as_store_add(store, digest_of(9), 0, "x", false, &id), AS_STORE_FULL);
	assert_int_equal(as_store_n(store), 3);
	as_store_close(store);
}

/* A frontier with a bound discards at random, says how many, and a file takes them up again. */
static void test_bound(void **state)
{
	int fd = memfd_create("states", MFD_CLOEXEC);
	struct as_store *store = open_store(fd, MAX);
	uint64_t last = UINT64_MAX;
	unsigned n = 0, early = 0;
	uint32_t id;

	(void)state;
	assert_int_equal(as_store_bound(store, 50, 7), 0);
	for (uint32_t i = 0; i < 100; i++)
		n += as_store_push(store, add(store, i, i ? 0 : AS_STORE_NONE, "x"), i * 37 % 101);
	assert_int_equal(n, 50);
	assert_int_equal(as_store_frontier(store), 50);
	assert_int_equal(as_store_gaps(store), 50);
	for (n = 0; as_store_pop(store, &id); n++) {
		assert_true(id * 37 % 101 < last); /* the order is still that of the ranks */
		last = id * 37 % 101;
		early += id < 50;
		as_store_done(store, id);
	}
	assert_int_equal(n, 50);
	assert_in_range(early, 1, 49); /* neither only the first nor only the last are kept */
	as_store_close(store);
	store = open_store(fd, MAX);
	assert_int_equal(as_store_frontier(store), 50);
	assert_int_equal(as_store_gaps(store), 0);
	assert_int_equal(as_store_bound(store, 40, 7), 10);
	assert_int_equal(as_store_frontier(store), 40);
	as_store_close(store);
	close(fd);
}

/* What was discarded and is met again by a shorter trace is no gap any more. */
static void test_bound_shorter(void **state)
{
	struct as_store *store = open_store(-1, MAX);
	uint32_t a = add(store, 0, AS_STORE_NONE, ""), b = add(store, 1, a, "a"), id;

	(void)state;
	assert_int_equal(as_store_bound(store, 1, 1), 0);
	assert_int_equal(as_store_push(store, add(store, 2, b, "b"), 1), 0);
	assert_int_equal(as_store_push(store, add(store, 3, b, "c"), 1), 1);
	assert_int_equal(as_store_gaps(store), 1);
	id = as_store_at(store, 2).flags & AS_STATE_DISCARDED ? 2 : 3;
	assert_int_equal(as_store_add(store, digest_of(id), a, "d", true, &id), AS_STORE_SHORTER);
	assert_int_equal(as_store_gaps(store), 0);
	as_store_close(store);
}

static void test_trace(void **state)
{
	struct as_store *store = open_store(-1, MAX);
	struct as_buf text = { 0 };
	uint32_t a = add(store, 1, AS_STORE_NONE, ""), b = add(store, 2, a, "mkdir /a 0755");
	uint32_t c = add(store, 3, b, "sync");

	(void)state;
	as_store_trace(store, c, &text);
	assert_string_equal(as_buf_str(&text), "mkdir /a 0755\nsync\n");
	assert_int_equal(as_store_at(store, c).depth, 2);
	as_buf_free(&text);
	as_store_close(store);
}

/* Several processes add the same states: each is new to one of them. */
static void test_shared(void **state)
{
	struct as_store *store = open_store(-1, MAX);
	unsigned all = 0;
	int status;

	(void)state;
	for (unsigned p = 0; p < 4; p++)
		if (!fork()) {
			unsigned new = 0;
			uint32_t id;

			for (uint64_t i = 0; i < 200; i++)
				new += as_store_add(store, digest_of(i), AS_STORE_NONE, "x", false,
						    &id) == AS_STORE_NEW;
			_exit((int)new);
		}
	while (wait(&status) > 0)
		all += (unsigned)WEXITSTATUS(status);
	assert_int_equal(all, 200);
	assert_int_equal(as_store_n(store), 200);
	as_store_close(store);
}

static int open_file(const char *dir)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/states", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	return fd;
}

static void test_file(void **state)
{
	int fd = open_file(t_tmpdir());
	struct as_store *store = open_store(fd, MAX);
	struct as_err err;
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		as_store_push(store, add(store, i, i ? 0 : AS_STORE_NONE, "sync"), i);
	assert_true(as_store_pop(store, &id));
	as_store_done(store, id);
	as_store_stop(store, 3, false);
	assert_true(as_store_pop(store, &id)); /* in work when it is killed */
	as_store_close(store);

	store = open_store(fd, MAX);
	assert_int_equal(as_store_n(store), 10);
	assert_int_equal(as_store_frontier(store), 8);
	assert_int_equal(as_store_add(store, digest_of(7), 0, "x", false, &id), AS_STORE_KNOWN);
	as_store_close(store);
	assert_int_equal(as_store_open(fd, "other", MAX, &store, &err), AS_EUSE);
	assert_string_equal(err.msg, "it was made with other settings: `test`, and not `other`");
	assert_int_equal(as_store_open(fd, "test", MAX + 1, &store, &err), AS_EUSE);
	close(fd);
}

/* Killed while a new state was judged: who leads there again judges it. */
static void test_judge_again(void **state)
{
	int fd = open_file(t_tmpdir());
	struct as_store *store = open_store(fd, MAX);
	uint32_t id;

	(void)state;
	as_store_push(store, add(store, 0, AS_STORE_NONE, ""), 0);
	assert_int_equal(add(store, 1, 0, "sync"), 1);
	as_store_gap(store, 2);
	as_store_close(store);
	for (unsigned i = 0; i < 2; i++) {
		store = open_store(fd, MAX);
		assert_int_equal(as_store_frontier(store), 1);
		assert_int_equal(as_store_gaps(store), 3);
		as_store_close(store);
	}
	store = open_store(fd, MAX);
	assert_int_equal(as_store_add(store, digest_of(1), 0, "sync", false, &id), AS_STORE_NEW);
	assert_int_equal(id, 1);
	assert_int_equal(as_store_n(store), 2);
	assert_int_equal(as_store_gaps(store), 2);
	assert_int_equal(as_store_add(store, digest_of(1), 0, "sync", false, &id), AS_STORE_KNOWN);
	as_store_close(store);
	close(fd);
}

/* Killed before it had begun: the file has its size, and nothing in it. */
static void test_zeros(void **state)
{
	int fd = open_file(t_tmpdir());
	struct as_store *store = open_store(fd, MAX);
	off_t size = lseek(fd, 0, SEEK_END);

	(void)state;
	as_store_close(store);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, size), 0);
	store = open_store(fd, MAX);
	assert_int_equal(as_store_n(store), 0);
	(void)add(store, 1, AS_STORE_NONE, "");
	as_store_close(store);
	store = open_store(fd, MAX);
	assert_int_equal(as_store_n(store), 1);
	as_store_close(store);
	close(fd);
}

/* A file with a bit that is another one is refused, or nothing is lost by it. */
static void flip(int fd, off_t at, unsigned bit)
{
	struct as_buf text = { 0 };
	struct as_store *store;
	unsigned char was, is;

	assert_int_equal(pread(fd, &was, 1, at), 1);
	is = was ^ (unsigned char)(1u << bit);
	assert_int_equal(pwrite(fd, &is, 1, at), 1);
	if (!as_store_open(fd, "test", MAX, &store, NULL)) {
		assert_int_equal(as_store_n(store), 4);
		assert_int_equal(as_store_gaps(store), 4);
		for (uint32_t i = 0; i < as_store_n(store); i++) {
			as_buf_clear(&text);
			as_store_trace(store, i, &text);
			assert_int_equal(text.len, (i + 1) * strlen("sync\n"));
			assert_true(!memcmp(text.data, "sync\n", 5));
		}
		as_store_close(store);
	}
	assert_int_equal(pwrite(fd, &was, 1, at), 1);
	as_buf_free(&text);
}

/* All bits of the header, the states and their lines, one after the other. */
static void test_damaged(void **state)
{
	int fd = open_file(t_tmpdir());
	struct as_store *store = open_store(fd, MAX);
	static const char lines[] = "syncsyncsyncsync";
	off_t text = 0;
	char there[sizeof(lines)] = "";

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		(void)add(store, i, i ? i - 1 : AS_STORE_NONE, "sync");
	as_store_close(store);
	while (memcmp(there, lines, sizeof(there) - 1))
		assert_int_equal(pread(fd, there, sizeof(there) - 1, text++), sizeof(there) - 1);
	for (off_t at = 0; at < 8 * 4400; at++)
		flip(fd, at / 8, at % 8);
	for (off_t at = 0; at < 8 * 16; at++)
		flip(fd, text - 1 + at / 8, at % 8);
	store = open_store(fd, MAX);
	assert_int_equal(as_store_n(store), 4);
	as_store_close(store);
	close(fd);
}

/* A state that is met again by a shorter trace is added again, and the store forgets nothing of
 * what follows the other one. */
static void test_shorter(void **state)
{
	int fd = memfd_create("states", MFD_CLOEXEC);
	struct as_buf trace = { 0 };
	struct as_store *store;
	uint32_t id, after;

	(void)state;
	assert_int_equal(as_store_open(fd, "it", 100, &store, NULL), 0);
	assert_int_equal(as_store_add(store, digest_of(0), AS_STORE_NONE, "", true, &id),
			 AS_STORE_NEW);
	assert_int_equal(as_store_add(store, digest_of(1), 0, "a", true, &id), AS_STORE_NEW);
	assert_int_equal(as_store_add(store, digest_of(2), 1, "b", true, &id), AS_STORE_NEW);
	as_store_push(store, id, 1);
	assert_int_equal(as_store_add(store, digest_of(3), 2, "c", true, &after), AS_STORE_NEW);
	/* Somebody judges it now. */
	assert_int_equal(as_store_add(store, digest_of(3), 0, "c", true, &id), AS_STORE_LATER);
	as_store_stop(store, after, false);
	/* Nobody asks, or it is no shorter. A line counts for each of its operations. */
	assert_int_equal(as_store_add(store, digest_of(2), 0, "d\ne", true, &id), AS_STORE_KNOWN);
	assert_int_equal(as_store_add(store, digest_of(2), 0, "d\ne\nf", true, &id),
			 AS_STORE_KNOWN);
	assert_int_equal(as_store_add(store, digest_of(3), 0, "d\ne\nf", true, &id),
			 AS_STORE_KNOWN);
	assert_int_equal(as_store_add(store, digest_of(2), 0, "d", false, &id), AS_STORE_KNOWN);
	assert_int_equal(as_store_add(store, digest_of(2), 1, "d", true, &id), AS_STORE_KNOWN);
	assert_int_equal(as_store_add(store, digest_of(2), 0, "d", true, &id), AS_STORE_SHORTER);
	assert_int_equal(id, 4);
	assert_int_equal(as_store_at(store, 4).depth, 1);
	assert_int_equal(as_store_distinct(store), 4);
	as_store_trace(store, after, &trace);
	assert_string_equal(as_buf_str(&trace), "a\nb\nc\n");
	as_store_push(store, id, 0);
	assert_true(as_store_pop(store, &id));
	assert_int_equal(id, 4); /* and not the one that it has replaced */
	assert_false(as_store_pop(store, &id));
	as_store_close(store);
	/* The file says the same. */
	assert_int_equal(as_store_open(fd, "it", 100, &store, NULL), 0);
	assert_int_equal(as_store_distinct(store), 4);
	assert_int_equal(as_store_add(store, digest_of(2), 0, "d", true, &id), AS_STORE_KNOWN);
	assert_int_equal(id, 4);
	assert_true(as_store_pop(store, &id));
	assert_int_equal(id, 4);
	as_store_close(store);
	as_buf_free(&trace);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	      cmocka_unit_test(test_full),
		cmocka_unit_test(test_trace),	      cmocka_unit_test(test_shared),
		cmocka_unit_test(test_file),	      cmocka_unit_test(test_judge_again),
		cmocka_unit_test(test_zeros),	      cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_shorter),	      cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_shorter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
