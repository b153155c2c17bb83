/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve: finds bytes for which a path goes on in the same way up to a branch, and takes the other
 * way there. What is tried, in this order: conditions that share no byte with the branch are left
 * out; answers to earlier questions; working backwards from the wanted value; bounds of all nodes,
 * in boxes of bytes; all values of one or two bytes; Z3 in a process of its own. Every answer is
 * computed again before it is given.
 */
#ifndef AS_SYM_SOLVE_H
#define AS_SYM_SOLVE_H

#include "base/err.h"
#include "sym/expr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is done with a question that takes too long (SWIFT, section 5.5): some bytes of it keep
 * the values that they have on the path. */
enum as_concretize {
	AS_CONCRETIZE_FIRST, /* half of the bytes, in the order in which the conditions have them */
	AS_CONCRETIZE_FREQUENT, /* half of them, the most frequent ones */
	AS_CONCRETIZE_ARITH, /* those that are in arithmetic */
	AS_CONCRETIZE_FULL, /* all of them but one, which is tried */
	AS_CONCRETIZE_NONE, /* the question is dropped */
};

struct as_solver_setup {
	unsigned deadline_ms; /* of one question to Z3; 0: AS_SOLVE_DEADLINE_MS */
	uint64_t memory_bytes; /* of its process; 0: AS_SOLVE_MEMORY_BYTES */
	enum as_concretize concretize;
	bool without_z3, only_z3; /* for tests */
	bool fresh; /* for tests, too: Z3 gets each question anew */
	const char *record; /* a file for the questions that Z3 gets (solve_record.h), or NULL */
};

#define AS_SOLVE_DEADLINE_MS 400u /* of processor time */
#define AS_SOLVE_MEMORY_BYTES ((uint64_t)1 << 30)

enum as_solved {
	AS_SOLVED, /* there are such bytes */
	AS_SOLVED_NONE, /* there are none */
	AS_SOLVED_LATE, /* nobody knows */
	AS_SOLVED_CONCRETE, /* such bytes, found after some of the others were given their values */
};

/* A question. */
struct as_question {
	struct as_expr *expr; /* nodes may be added */
	const uint32_t *holds; /* nodes of 1 bit that must stay 1, in the order of the path */
	size_t n;
	uint32_t target; /* the node that must become 1 */
	const unsigned char *bytes; /* of the path: for these, all of `holds` are 1 */
	/* Of the branch; 0: it is not known. Where many are late, less time is spent. */
	uint64_t site;
};

struct as_solve_counts {
	uint64_t questions, solved, none, late, concrete;
	/* Who answered. */
	uint64_t by_cache, by_quick, by_bounds, by_tries, by_z3;
	uint64_t z3_asked, z3_deaths, z3_us, z3_cpu_us;
	uint64_t wrong; /* answers that did not hold: an error of ours */
};

struct as_solver;

/* AS_ELACK: there is no Z3; the message has the package. */
AS_MUST_CHECK int as_solver_new(const struct as_solver_setup *setup, struct as_solver **out,
				struct as_err *err);
/* Whether all questions up to here are in the file of the setup, if it has one. */
AS_MUST_CHECK int as_solver_recorded(const struct as_solver *solver, struct as_err *err);
void as_solver_free(struct as_solver *solver); /* takes NULL */

/* `out` has room for each input of the graph; it has the answer if there is one. */
enum as_solved as_solve(struct as_solver *solver, const struct as_question *question,
			unsigned char *out);
struct as_solve_counts as_solver_counts(const struct as_solver *solver);

/* The process of Z3, for tests that end it; 0: there is none yet. */
int as_solver_pid(const struct as_solver *solver);

#endif
