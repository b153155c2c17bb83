/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_questions: questions that checkers led to (tests/sym/questions, made by `assay fsck CHECKER
 * --symbolic --questions FILE`) are asked in three ways: of Z3, each anew; of Z3, which keeps what
 * it learnt; and of everybody, with the cache of earlier answers. The answers must agree, and bytes
 * that are an answer must make all conditions true. test_questions FILE... does the same with
 * others, and prints what Z3 took for each.
 */
#include "base/buf.h"
#include "sym/solve_priv.h"
#include "tests/lib/recorded.h"
#include "tests/lib/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILE_MAX ((size_t)64 << 20)

#define WAYS 3u

static const char *const own_files[] = { "tests/sym/questions/e2fsck",
					 "tests/sym/questions/jfs_fsck", NULL };
static const char *const *files = own_files;

struct way {
	const char *name;
	struct as_solver *solver;
	unsigned asked, solved, none, late;
};

static void load(const char *path, struct t_recorded *r)
{
	struct as_buf text = { 0 };
	struct as_err err;

	if (as_buf_read_file(&text, path, FILE_MAX, &err) ||
	    t_recorded_read(text.data, text.len, r, &err))
		fail_msg("%s: %s", path, err.msg);
	as_buf_free(&text);
}

static bool all_hold(const struct as_question *q, const unsigned char *bytes)
{
	as_u128 *values = calloc(as_expr_n(q->expr) + 1, sizeof(*values));
	bool hold;

	as_expr_eval(q->expr, bytes, values);
	hold = bytes == q->bytes || values[q->target] == 1;
	for (size_t i = 0; i < q->n; i++)
		hold = hold && values[q->holds[i]] == 1;
	free(values);
	return hold;
}

static enum as_solved ask_one(struct way *w, const struct as_question *q)
{
	unsigned char *out = calloc(as_expr_inputs(q->expr) + 1, 1);
	uint64_t before = as_solver_counts(w->solver).z3_cpu_us;
	enum as_solved solved = as_solve(w->solver, q, out);

	if (solved == AS_SOLVED && !all_hold(q, out))
		fail_msg("%s: bytes that are no answer", w->name);
	w->asked++;
	w->solved += solved == AS_SOLVED;
	w->none += solved == AS_SOLVED_NONE;
	w->late += solved == AS_SOLVED_LATE;
	if (files != own_files)
		print_message("%s: %d, %.1f ms\n", w->name, (int)solved,
			      (double)(as_solver_counts(w->solver).z3_cpu_us - before) / 1000);
	free(out);
	return solved;
}

/* How many pairs of answers there were. */
static unsigned ask_ways(struct way *ways, const struct as_question *q)
{
	enum as_solved first = ask_one(&ways[0], q);
	unsigned both = 0;

	for (unsigned k = 1; k < WAYS; k++) {
		enum as_solved other = ask_one(&ways[k], q);

		if (first == AS_SOLVED_LATE || other == AS_SOLVED_LATE)
			continue;
		both++;
		if (first != other)
			fail_msg("question %u: anew %d, %s %d", ways[0].asked, (int)first,
				 ways[k].name, (int)other);
	}
	return both;
}

/* The question, and before it those about the other way at each of its conditions. */
static unsigned ask_path(struct way *ways, struct t_recorded *r, size_t i)
{
	const struct t_recorded_ask *ask = &r->asks[i];
	unsigned char *bytes = calloc(as_expr_inputs(r->expr) + 1, 1);
	struct as_question q = { .expr = r->expr, .holds = ask->terms, .bytes = bytes };
	unsigned both = 0;

	memcpy(bytes, ask->bytes, ask->n_bytes);
	for (q.n = 0; q.n < ask->n; q.n++) {
		bool last = q.n + 1 == ask->n;

		q.target = last ? ask->terms[q.n]
				: as_expr_op1(r->expr, AS_EXPR_NOT, 1, ask->terms[q.n], 0);
		assert_true(all_hold(&q, bytes));
		both += ask_ways(ways, &q);
	}
	free(bytes);
	return both;
}

static void open_ways(struct way *ways)
{
	static const char *const names[] = { "anew", "kept", "all" };
	struct as_err err;

	for (unsigned i = 0; i < WAYS; i++) {
		ways[i] = (struct way){ .name = names[i] };
		if (as_solver_new(&(struct as_solver_setup){ .only_z3 = i < 2,
							     .fresh = !i,
							     .concretize = AS_CONCRETIZE_NONE },
				  &ways[i].solver, &err))
			skip_because("%s", err.msg);
	}
}

static void compare(const char *path)
{
	struct t_recorded r;
	struct way ways[WAYS];
	unsigned both = 0;

	open_ways(ways);
	load(path, &r);
	for (size_t i = 0; i < r.n; i++)
		both += ask_path(ways, &r, i);
	for (unsigned k = 0; k < WAYS; k++) {
		struct as_solve_counts c = as_solver_counts(ways[k].solver);

		print_message("%s, %s: %u questions, %u with an answer, %u without, %u late, %u "
			      "by the cache; %.3f s CPU time of Z3\n",
			      path, ways[k].name, ways[k].asked, ways[k].solved, ways[k].none,
			      ways[k].late, (unsigned)c.by_cache, (double)c.z3_cpu_us / 1e6);
		assert_int_equal(c.wrong + c.z3_deaths, 0);
		as_solver_free(ways[k].solver);
	}
	assert_true(both > 40);
	t_recorded_free(&r);
}

static void test_ways_agree(void **state)
{
	(void)state;
	for (size_t i = 0; files[i]; i++)
		compare(files[i]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways_agree),
	};

	if (argc > 1)
		files = (const char *const *)argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
