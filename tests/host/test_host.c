/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's books: what is allocated, what fails when asked to, what is freed wrongly. */
#include "tests/lib/skip.h"

#include "base/choice.h"
#include "host/host.h"

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

/* ---- What a file system tells of itself ---- */

static const char *trouble(enum as_finding_kind want)
{
	enum as_finding_kind kind = AS_FIND_KINDS;
	const char *why = as_host_trouble(f.mem, &kind);

	if (why)
		assert_int_equal(kind, want);
	return why;
}

/* A script of locks: A, B, C take one of a class, a, b, c give it back, 1 and 2 are two of a class
 * and ! and ? give them back, a dot ends the operation. */
static void play(const char *script)
{
	for (; *script; script++) {
		static char names[][2] = { "A", "B", "C" };
		char c = *script;

		if (c == '.')
			as_host_end_op(f.mem);
		else if (c == '1' || c == '2')
			as_lock(f.host, "N", (uint64_t)(c - '0'));
		else if (c == '!' || c == '?')
			as_unlock(f.host, "N", c == '!' ? 1 : 2);
		else if (c <= 'C')
			as_lock(f.host, names[c - 'A'], 0);
		else
			as_unlock(f.host, names[c - 'a'], 0);
	}
}

static void locks(void **state)
{
	static const struct {
		const char *script, *want;
	} rows[] = {
		{ "ABba.ABab.BCcb.ACca.12?!.", NULL },
		{ "AA", "'A', which it holds" },
		{ "a", "'A', which it does not hold" },
		{ "Ab", "'B', which it does not hold" },
		{ "A.", "ends with 'A' locked" },
		{ "ABba.BAab.", "'A' while it holds 'B', but has locked them in the other order" },
		{ "ABba.BCcb.CAac.", "'A' while it holds 'C', but has locked them in the other" },
		{ "21", "'N' 1 while it holds 2" },
		{ "11", "'N', which it holds" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why;

		play(rows[i].script);
		why = trouble(AS_FIND_LOCK);
		if (!why != !rows[i].want || (why && !strstr(why, rows[i].want)))
			fail_msg("%s: %s", rows[i].script, why ? why : "nothing");
		teardown(state);
		setup(state);
	}
}

static void pairs(void **state)
{
	(void)state;
	as_pair(f.host, AS_PAIR_UNMOUNT, "handle", 1);
	as_pair(f.host, AS_PAIR_OPERATION, "pin", 1);
	as_pair(f.host, AS_PAIR_OPERATION, "pin", -1);
	as_host_end_op(f.mem);
	as_pair(f.host, AS_PAIR_UNMOUNT, "handle", -1);
	as_host_leaving(f.mem);
	as_host_left(f.mem);
	assert_null(trouble(AS_FIND_PAIR));
	as_pair(f.host, AS_PAIR_UNMOUNT, "handle", 1);
	as_host_left(f.mem);
	assert_non_null(strstr(trouble(AS_FIND_PAIR), "unmount ends with 'handle' taken 1 time"));
}

static void pair_of_an_operation(void **state)
{
	(void)state;
	as_pair(f.host, AS_PAIR_OPERATION, "pin", 2);
	as_host_end_op(f.mem);
	assert_non_null(strstr(trouble(AS_FIND_PAIR), "ends with 'pin' taken 2 times"));
}

static void pair_given_too_often(void **state)
{
	(void)state;
	as_pair(f.host, AS_PAIR_UNMOUNT, "pin", -1);
	assert_non_null(strstr(trouble(AS_FIND_PAIR), "more often than it took it"));
}

static const char *words_of(void *ctx)
{
	return *(const char **)ctx;
}

static void invariants(void **state)
{
	const char *words = NULL;

	(void)state;
	as_invariant(f.host, "rule", words_of, &words);
	as_host_end_op(f.mem);
	assert_null(trouble(AS_FIND_INVARIANT));
	words = "it is late";
	as_host_leaving(f.mem);
	as_host_end_op(f.mem);
	assert_null(trouble(AS_FIND_INVARIANT));
	as_invariant(f.host, "rule", words_of, &words);
	as_host_end_op(f.mem);
	assert_string_equal(trouble(AS_FIND_INVARIANT), "'rule' is broken: it is late");
}

static void questions(void **state)
{
	static const unsigned list[] = { 1, 2 };
	struct as_chooser *chooser = as_chooser_replay(list, 2);
	struct as_buf said = { 0 };

	(void)state;
	assert_int_equal(as_ask(f.host, 5, "nobody answers"), 0);
	as_host_set_choice(f.mem, as_chooser_choice(chooser));
	as_host_begin_op(f.mem, 3);
	assert_int_equal(as_ask(f.host, 2, "first"), 1);
	assert_int_equal(as_ask(f.host, 1, "no question"), 0);
	assert_int_equal(as_ask(f.host, 3, "second"), 2);
	assert_int_equal(as_ask(f.host, 3, "third"), 0);
	as_host_answers(f.mem, &said);
	assert_string_equal(as_buf_str(&said), "op 4: first: 1 of 2\nop 4: second: 2 of 3\n");
	as_host_set_choice(f.mem, NULL);
	as_buf_free(&said);
	as_chooser_free(chooser);
}

static void hidden_failures(void **state)
{
	(void)state;
	as_host_fail_nth(f.mem, 1);
	as_host_begin_call(f.mem);
	assert_null(as_malloc(f.host, 1));
	as_host_end_call(f.mem, "open", -12);
	assert_null(trouble(AS_FIND_SILENT));
	as_host_fail_nth(f.mem, 1);
	as_host_begin_call(f.mem);
	assert_null(as_malloc(f.host, 1));
	as_forgive(f.host);
	as_host_end_call(f.mem, "open", 0);
	assert_null(trouble(AS_FIND_SILENT));
	as_host_fail_nth(f.mem, 1);
	as_host_begin_call(f.mem);
	assert_null(as_malloc(f.host, 1));
	as_host_end_call(f.mem, "open", 0);
	assert_non_null(
		strstr(trouble(AS_FIND_SILENT), "open answered success, although the alloc"));
}

static void who_allocated(void **state)
{
	void *first, *second, *moved;

	(void)state;
	as_host_begin_op(f.mem, 7);
	first = as_malloc(f.host, 4);
	as_host_begin_op(f.mem, 9);
	second = as_malloc(f.host, 4);
	assert_int_equal(as_host_live_op(f.mem), 7);
	as_free(f.host, first);
	assert_int_equal(as_host_live_op(f.mem), 9);
	memcpy(second, "abc", 4);
	moved = as_realloc(f.host, second, 4, 100);
	assert_string_equal(moved, "abc");
	as_host_fail_nth(f.mem, 1);
	assert_null(as_realloc(f.host, moved, 100, 200));
	assert_int_equal(as_host_live(f.mem).count, 1);
	as_free(f.host, moved);
	assert_int_equal(as_host_live_op(f.mem), AS_HOST_NO_OP);
}

/* A plugin that was built for version 1 finds everything where it was. */
static void version_1(void **state)
{
	struct host_1 {
		uint32_t api;
		void *ctx;
		void *(*alloc)(void *ctx, size_t len);
		void (*release)(void *ctx, void *ptr);
		struct as_choice *choice;
		uint64_t (*now_ns)(void *ctx);
		void (*log)(void *ctx, const char *line);
	};
	struct as_host old;

	(void)state;
	assert_int_equal(offsetof(struct host_1, release), offsetof(struct as_host, release));
	assert_int_equal(offsetof(struct host_1, choice), offsetof(struct as_host, choice));
	assert_int_equal(offsetof(struct host_1, now_ns), offsetof(struct as_host, now_ns));
	assert_int_equal(offsetof(struct host_1, log), offsetof(struct as_host, log));
	assert_int_equal(sizeof(struct host_1), offsetof(struct as_host, checks));
	/* And one that is new works with a host that is old. */
	memset(&old, 0xff, sizeof(old));
	memcpy(&old, f.host, sizeof(struct host_1));
	old.api = 1;
	assert_int_equal(as_ask(&old, 2, "nobody"), 0);
	as_lock(&old, "A", 0);
	as_unlock(&old, "B", 0);
	as_pair(&old, AS_PAIR_OPERATION, "p", 1);
	as_forgive(&old);
	as_host_end_op(f.mem);
	assert_null(trouble(AS_FIND_LOCK));
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
		T(locks),
		T(pairs),
		T(pair_of_an_operation),
		T(pair_given_too_often),
		T(invariants),
		T(questions),
		T(hidden_failures),
		T(who_allocated),
		T(version_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
