/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_differential: is what the tool and the solver say about a program true? sym_functions.c has
 * some hundred functions, each with bytes of its own. All bytes are unknown at once. For each
 * branch of each function, the solver is asked for the other way. The answers for all functions
 * are put into one disk; then the program is run on it as it is, and under the tool. Every answer
 * must lead to the branch that it was made for, and every decision must be the same in both runs.
 */
#include "base/prng.h"
#include "fsck/subject.h"
#include "os/spawn.h"
#include "sym/path.h"
#include "sym/server.h"
#include "sym/solve.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BYTES 16u /* of a function */
#define ROUNDS 5u /* one branch of each function in each */
#define FUNCTIONS_MAX 512u
#define CLANG "/usr/bin/clang"

struct rig {
	char folder[4000], program[4096], file[4096];
	unsigned n; /* functions */
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_fsck_subject *subject;
	struct as_sym_server *server;
	struct as_solver *solver;
	unsigned char *bytes; /* of the disk */
	size_t len;
	struct as_sym_range range;
};

/* The steps of one function on a path. */
struct mine {
	size_t *steps;
	size_t n;
};

static void spawn(char *const *argv, struct as_buf *out)
{
	struct as_spawn s = { .argv = argv, .deadline_ms = 60000, .output = out };
	struct as_ended ended;
	struct as_err err;

	assert_int_equal(as_spawn_run(&s, &ended, &err), 0);
	assert_int_equal(ended.how, AS_END_EXIT);
	assert_int_equal(ended.status, 0);
}

static void compile(struct rig *r, const char *cc, const char *level, const char *machine)
{
	char *const argv[] = {
		(char *)cc, (char *)level, (char *)machine, "-w",
		"-fwrapv",  "-o",	   r->program,	    "tests/sym/sym_functions.c",
		NULL
	};
	struct as_buf out = { 0 };

	spawn(argv, &out);
	as_buf_clear(&out);
	spawn((char *[]){ r->program, NULL }, &out);
	r->n = (unsigned)atoi(as_buf_str(&out));
	assert_in_range(r->n, 200, FUNCTIONS_MAX);
	as_buf_free(&out);
}

/* What the program decides about these bytes, run as it is. */
static void run_native(struct rig *r, const unsigned char *bytes, char *decided)
{
	struct as_buf out = { 0 };
	FILE *f = fopen(r->file, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, r->len, f), r->len);
	assert_int_equal(fclose(f), 0);
	spawn((char *[]){ r->program, r->file, NULL }, &out);
	assert_true(out.len >= r->n);
	memcpy(decided, out.data, r->n);
	as_buf_free(&out);
}

static void run_tool(struct rig *r, const unsigned char *bytes, struct as_path *path)
{
	struct as_damage damage = { 0 };
	struct as_disk *to = as_disk_snapshot(r->disk);
	struct as_sym_run run;
	struct as_err err;
	int rc;

	assert_int_equal(as_bd_write(as_disk_bd(to), 0, bytes, r->len), 0);
	as_damage_diff(&damage, r->disk, to);
	rc = as_sym_server_run(r->server, &damage, &r->range, 1, 120000, &run, &err);
	if (rc)
		fail_msg("%s", err.msg);
	assert_false(run.late);
	rc = as_path_read(run.log, run.log_bytes, path, &err);
	if (rc)
		fail_msg("%s", err.msg);
	assert_int_equal(path->wrong, 0);
	assert_int_equal(path->mismatches, 0);
	as_disk_free(to);
	as_damage_free(&damage);
}

/* Which function a node belongs to; UINT32_MAX: to none, or to several. */
static uint32_t owner(const struct as_path *path, uint32_t node)
{
	uint32_t inputs[BYTES + 1];
	uint32_t n =
		as_expr_set_list(path->expr, as_expr_support(path->expr, node), inputs, BYTES + 1);
	uint32_t who = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t f = (uint32_t)(as_expr_input_off(path->expr, inputs[i]) / BYTES);

		if (who != UINT32_MAX && who != f)
			return UINT32_MAX;
		who = f;
	}
	return who;
}

static struct mine *divide(const struct rig *r, const struct as_path *path)
{
	struct mine *all = calloc(r->n, sizeof(*all));

	for (unsigned i = 0; i < r->n; i++)
		all[i].steps = calloc(path->n + 1, sizeof(size_t));
	for (size_t k = 0; k < path->n; k++) {
		uint32_t who = owner(path, path->steps[k].node);

		if (who < r->n)
			all[who].steps[all[who].n++] = k;
	}
	return all;
}

static void divided_free(const struct rig *r, struct mine *all)
{
	for (unsigned i = 0; i < r->n; i++)
		free(all[i].steps);
	free(all);
}

static bool same(const struct as_path *a, size_t i, const struct as_path *b, size_t k)
{
	return a->steps[i].site == b->steps[k].site && a->steps[i].value == b->steps[k].value;
}

/* Whether a function went as before up to its step `at`, and the other way there. */
static bool follows(const struct as_path *was, const struct mine *a, size_t at,
		    const struct as_path *is, const struct mine *b)
{
	if (b->n <= at)
		return false;
	for (size_t i = 0; i < at; i++)
		if (!same(was, a->steps[i], is, b->steps[i]))
			return false;
	return was->steps[a->steps[at]].site == is->steps[b->steps[at]].site &&
	       was->steps[a->steps[at]].value != is->steps[b->steps[at]].value;
}

static bool solve(struct rig *r, struct as_path *path, size_t k, unsigned char *out)
{
	uint32_t *holds = calloc(k + 1, sizeof(*holds));
	struct as_question q = {
		.expr = path->expr,
		.holds = holds,
		.n = k,
		.bytes = path->inputs,
	};
	enum as_solved solved;

	for (size_t i = 0; i < k; i++)
		holds[i] = path->steps[i].holds;
	q.target = as_expr_op1(path->expr, AS_EXPR_NOT, 1, path->steps[k].holds, 0);
	solved = as_solve(r->solver, &q, out);
	free(holds);
	return solved == AS_SOLVED;
}

struct counts {
	unsigned asked, solved, followed;
	unsigned last, turned; /* last branches; those that turned the decision */
};

/* One branch of each function, counted from its last one. */
static void one_round(struct rig *r, struct as_path *path, const struct mine *all,
		      const char *decided, unsigned round, struct counts *c)
{
	unsigned char *bytes = malloc(r->len), *out = calloc(as_expr_inputs(path->expr) + 1, 1);
	bool flipped[FUNCTIONS_MAX] = { false };
	char now[FUNCTIONS_MAX];
	struct as_path after;
	struct mine *theirs;

	memcpy(bytes, r->bytes, r->len);
	for (unsigned i = 0; i < r->n; i++) {
		size_t k;

		if (all[i].n <= round)
			continue;
		k = all[i].steps[all[i].n - 1 - round];
		if (path->steps[k].kind != AS_PATH_BRANCH)
			continue;
		c->asked++;
		flipped[i] = solve(r, path, k, out);
		c->solved += flipped[i];
		for (unsigned b = 0; flipped[i] && b < BYTES; b++) {
			uint32_t input = as_expr_input_of(path->expr, i * BYTES + b);

			if (input != UINT32_MAX)
				bytes[i * BYTES + b] = out[input];
		}
	}
	run_tool(r, bytes, &after);
	run_native(r, bytes, now);
	theirs = divide(r, &after);
	for (unsigned i = 0; i < r->n; i++) {
		if (!flipped[i]) {
			assert_int_equal(now[i], decided[i]);
			continue;
		}
		if (follows(path, &all[i], all[i].n - 1 - round, &after, &theirs[i]))
			c->followed++;
		else
			print_message("function %u strayed at its branch %zu\n", i,
				      all[i].n - 1 - round);
		/* The last branch of a function mostly is its decision. */
		c->turned += !round && now[i] != decided[i];
		c->last += !round;
	}
	divided_free(r, theirs);
	as_path_free(&after);
	free(bytes);
	free(out);
}

static void rig_open(struct rig *r, const char *cc, const char *level, const char *machine)
{
	struct as_buf spec = { 0 };
	struct as_prng prng = as_prng_seed(4711);
	struct as_err err;

	memset(r, 0, sizeof(*r));
	snprintf(r->folder, sizeof(r->folder), "%s", t_tmpdir());
	snprintf(r->program, sizeof(r->program), "%s/functions", r->folder);
	snprintf(r->file, sizeof(r->file), "%s/disk", r->folder);
	compile(r, cc, level, machine);
	r->len = (r->n * BYTES + 511) / 512 * 512;
	r->bytes = calloc(r->len, 1);
	for (size_t i = 0; i < r->len; i++)
		r->bytes[i] = as_prng_below(&prng, 3) ? (unsigned char)as_prng_next(&prng) : 0;
	r->store = as_chunks_new();
	assert_int_equal(as_disk_new(r->store, r->len, &r->disk, &err), 0);
	assert_int_equal(as_bd_write(as_disk_bd(r->disk), 0, r->bytes, r->len), 0);
	as_buf_addf(&spec, "checker:%s {disk}", r->program);
	assert_int_equal(as_subject_open(&(struct as_subject_setup){ .spec = as_buf_str(&spec) },
					 &r->subject, &err),
			 0);
	r->range = (struct as_sym_range){ 0, r->n * BYTES, true };
	if (as_sym_server_start(r->subject, r->disk, &r->range, 1, &r->server, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&spec);
}

static void rig_close(struct rig *r)
{
	as_sym_server_free(r->server);
	as_subject_free(r->subject);
	as_disk_free(r->disk);
	as_chunks_free(r->store);
	as_solver_free(r->solver);
	free(r->bytes);
}

static void compare(const char *cc, const char *level, const char *machine)
{
	struct rig r;
	struct as_path path;
	struct as_solver *solver = NULL;
	struct counts c = { 0 };
	struct mine *all;
	char decided[FUNCTIONS_MAX];
	struct as_err err;

	if (as_sym_server_look(&err) ||
	    as_solver_new(&(struct as_solver_setup){ .deadline_ms = 500,
						     .concretize = AS_CONCRETIZE_NONE },
			  &solver, &err)) {
		skip_because("%s", err.msg);
	}
	rig_open(&r, cc, level, machine);
	r.solver = solver;
	run_tool(&r, r.bytes, &path);
	run_native(&r, r.bytes, decided);
	all = divide(&r, &path);
	for (unsigned round = 0; round < ROUNDS; round++)
		one_round(&r, &path, all, decided, round, &c);
	print_message(
		"%s %s %s: %u functions, %u branches asked about, %u solved, %u of them followed; "
		"%u of %u decisions turned\n",
		cc, level, machine, r.n, c.asked, c.solved, c.followed, c.turned, c.last);
	assert_int_equal(c.followed, c.solved);
	assert_true(c.solved > r.n * 3 / 4);
	assert_true(c.turned > c.last * 3 / 4);
	divided_free(&r, all);
	as_path_free(&path);
	rig_close(&r);
}

static void test_plain(void **state)
{
	(void)state;
	compare("cc", "-O0", "-march=x86-64");
}

static void test_optimized(void **state)
{
	(void)state;
	compare("cc", "-O2", "-march=x86-64");
}

static void test_vectors(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2"))
		skip_because("this processor has no AVX2, or no BMI2");
	compare("cc", "-O3", "-march=haswell");
}

static void test_other_compiler(void **state)
{
	(void)state;
	if (access(CLANG, X_OK))
		skip_because("there is no %s", CLANG);
	compare(CLANG, "-O2", "-march=x86-64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_optimized),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_other_compiler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
