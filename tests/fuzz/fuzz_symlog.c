/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_symlog: a log of the Valgrind tool that the fuzzer writes (sym/vg/log.h). What can be read
 * of it is evaluated, and a question is asked about each of its first branches, without Z3: an
 * answer must hold.
 */
#include "sym/path.h"
#include "sym/solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED 16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(struct as_solver *solver, struct as_path *path, size_t k)
{
	unsigned char *out = calloc(as_expr_inputs(path->expr) + 1, 1);
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
	solved = q.target ? as_solve(solver, &q, out) : AS_SOLVED_LATE;
	if (solved == AS_SOLVED || solved == AS_SOLVED_CONCRETE) {
		as_u128 *values = calloc((size_t)as_expr_n(path->expr) + 1, sizeof(*values));

		as_expr_eval(path->expr, out, values);
		for (size_t i = 0; i < k; i++)
			if (values[holds[i]] != 1)
				abort();
		if (values[q.target] != 1)
			abort();
		free(values);
	}
	free(out);
	free(holds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_solver *solver = NULL;
	struct as_path path;
	struct as_buf drops = { 0 };
	struct as_err err;

	as_path_drops(data, len, &drops);
	as_buf_free(&drops);
	if (as_path_read(data, len, &path, &err))
		return 0;
	if (!path.wrong &&
	    !as_solver_new(&(struct as_solver_setup){ .without_z3 = true,
						      .concretize = AS_CONCRETIZE_FULL },
			   &solver, &err))
		for (size_t k = 0; k < path.n && k < ASKED; k++)
			ask(solver, &path, k);
	as_solver_free(solver);
	as_path_free(&path);
	return 0;
}
