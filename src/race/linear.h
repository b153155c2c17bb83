/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linear: whether some order of calls that overlapped explains what they answered.
 *
 * The input is what several threads did: each call with its answer, and the moments when it began
 * and ended. An order explains it if calls that did not overlap keep their order, if the model
 * allows every answer, and if the last state of the model is what the file system holds in the end.
 * Pure.
 */
#ifndef AS_RACE_LINEAR_H
#define AS_RACE_LINEAR_H

#include "model/model.h"
#include "progress/raced.h"

#define AS_LINEAR_THREADS_MAX 16u
#define AS_LINEAR_STATES_MAX 100000u

/* One call. The calls of a thread do not overlap; begin < end. */
struct as_linear_call {
	const struct as_op *op;
	struct as_outcome got;
	uint64_t begin, end; /* from one clock for all threads; no two are equal */
	uint32_t thread;
};

enum as_linear_answer {
	AS_LINEAR_EXPLAINED,
	AS_LINEAR_UNEXPLAINED, /* no order allows all the answers */
	AS_LINEAR_WRONG_END, /* some orders do, but none ends with the tree that is there */
	AS_LINEAR_GAVE_UP, /* too many states: nothing is known */
};

struct as_linear {
	const struct as_model *first; /* before the first call */
	const struct as_linear_call *calls; /* in any order */
	size_t n;
	/* Every call was carried out at one moment, while no other call was running (a library
	 * that is called under a lock). Then no call is taken apart, and none is judged less
	 * strictly: see linear.c. */
	bool atomic;
	uint64_t max_states; /* 0: AS_LINEAR_STATES_MAX */
	/* Whether the file system holds this at the end; if not, it fills in `why`, which is empty.
	 * NULL: the end is not compared. */
	bool (*ends)(void *ctx, const struct as_model *last, struct as_buf *why);
	/* Called every now and then as a sign of life; may be NULL. */
	void (*beat)(void *ctx);
	void *ctx;
};

struct as_linear_result {
	enum as_linear_answer answer;
	uint64_t states; /* visited */
	bool taken_apart; /* explained only when calls were taken apart into several steps */
	struct as_model *last; /* the model after the explanation; NULL: there is none */
	size_t *order; /* numbers of calls in the order in which they ended; all n when explained */
	size_t n_order; /* how many; unexplained: of the longest partial explanation */
	size_t guilty; /* unexplained: the call that cannot come next; else n */
	struct as_raced raced; /* how the calls were judged */
	struct as_buf why; /* unexplained, wrong end: in words */
};

/* *result need not be initialized. */
void as_linear_judge(const struct as_linear *linear, struct as_linear_result *result);
void as_linear_result_free(struct as_linear_result *result);

#endif
