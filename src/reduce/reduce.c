/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduce: Dogfood's reducer (section 5), made to need few executions, and what comes after it.
 *
 * Method, in this order, each phase starting from the best of the one before:
 * 1. prefix: the shortest prefix that fails, by binary search. If it is known which operation
 *    failed, and the prefix that ends before it does not fail, there is no search.
 * 2. slice: the last operation and those that it depends on; if that does not fail, those that use
 *    the same files, too. One run may save a hundred.
 * 3. front: operations are removed from the beginning, with those that depend on them
 *    (work/defuse). They are removed in pieces: the size of a piece doubles after a success and
 *    halves after a failure, so that k needed operations among n cost about 2k log n runs.
 * 4. ddmin over what is left, with the same closure.
 * 5. rewrite operations to save one (reduce_merge.c), simplify arguments (reduce_args.c), then do 4
 *    again if anything changed: a simpler operation may make another one unnecessary.
 *
 * Invariants:
 * 1. x->best was seen to fail in the same way; it only ever gets better.
 * 2. No candidate is run twice (digests of all that were run are kept), except that, if the failure
 *    is flaky at the start, each candidate is run several times.
 * 3. An operation is left: a mount alone may show the same, but a workload of nothing tells nobody
 *    what was done, and is not replayed.
 */
#include "base/array.h"
#include "base/ddmin.h"
#include "reduce/reduce_priv.h"
#include "work/defuse.h"

#include <stdlib.h>
#include <string.h>

struct as_tried {
	struct as_digest digest;
	bool failed;
};

struct tried_key {
	const struct as_tried *tried;
	struct as_digest digest;
};

static bool is_tried(const void *ctx, size_t index)
{
	const struct tried_key *key = ctx;

	return as_digest_eq(key->tried[index].digest, key->digest);
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static int run_once(struct as_reducing *x, const struct as_seq *seq)
{
	int rc = x->with->fails(x->with->ctx, seq, x->err);

	x->result->executions++;
	if (rc < 0) {
		x->rc = rc;
		x->over = true;
	}
	return rc;
}

static bool must_stop(struct as_reducing *x)
{
	if (x->with->stop && x->with->stop(x->with->ctx) != AS_REDUCE_GO_ON)
		x->over = true;
	if (x->with->max_executions && x->result->executions >= x->with->max_executions)
		x->over = true;
	return x->over;
}

static struct as_tried *look_up(struct as_reducing *x, const struct as_seq *seq, bool *is_new)
{
	struct tried_key key = { x->tried, as_seq_digest(seq) };
	size_t i = as_table_find(&x->by_digest, key.digest.lo, is_tried, &key);

	*is_new = i == AS_TABLE_NONE;
	if (*is_new) {
		AS_ARRAY_ROOM(x->tried, x->n_tried, x->cap_tried);
		i = x->n_tried++;
		x->tried[i] = (struct as_tried){ .digest = key.digest };
		as_table_add(&x->by_digest, key.digest.lo, i);
	}
	return &x->tried[i];
}

bool as_reducing_try(struct as_reducing *x, struct as_seq *candidate)
{
	struct as_tried *tried;
	bool is_new;

	if (!candidate->n || must_stop(x)) {
		as_seq_free(candidate);
		return false;
	}
	tried = look_up(x, candidate, &is_new);
	x->result->known += !is_new;
	for (unsigned i = 0; is_new && i < x->tries && !tried->failed && !must_stop(x); i++)
		tried->failed = run_once(x, candidate) > 0;
	if (!tried->failed) {
		as_seq_free(candidate);
		return false;
	}
	as_seq_free(x->best);
	x->best = candidate;
	if (x->with->better)
		x->with->better(x->with->ctx, candidate, x->phase);
	return true;
}

/* Tries a subset of the best; kept[] has best->n elements. */
static bool reducing_try_kept(struct as_reducing *x, const bool *kept)
{
	return as_reducing_try(x, as_seq_subset(x->best, kept));
}

/* ---- Phase 1: the shortest prefix ------------------------------------------------------------ */

static bool try_prefix(struct as_reducing *x, size_t n)
{
	bool *kept = as_xcalloc(x->best->n + 1, sizeof(*kept));
	bool failed;

	memset(kept, true, n * sizeof(*kept));
	failed = reducing_try_kept(x, kept);
	free(kept);
	return failed;
}

static void shorten_prefix(struct as_reducing *x)
{
	size_t low = 0, hint = (size_t)x->with->op_index + 1; /* `low` operations do not fail */

	x->phase = "prefix";
	if (x->with->op_index >= 0 && hint < x->best->n)
		try_prefix(x, hint);
	if (x->with->op_index >= 0 && hint == x->best->n && !try_prefix(x, hint - 1))
		return;
	while (low + 1 < x->best->n && !x->over) {
		size_t middle = low + (x->best->n - low) / 2;

		if (!try_prefix(x, middle))
			low = middle;
	}
}

/* ---- Phase 2: what the last operation depends on --------------------------------------------- */

static void slice(struct as_reducing *x)
{
	x->phase = "slice";
	for (int wide = 0; wide < 2 && x->best->n > 1; wide++) {
		/* The best may be replaced while the analysis is in use. */
		struct as_seq *whole = as_seq_copy(x->best);
		struct as_defuse *du = as_defuse_new(whole);
		bool *kept = as_xcalloc(whole->n, sizeof(*kept));
		bool done = as_defuse_slice(du, whole->n - 1, wide, kept) < whole->n &&
			    reducing_try_kept(x, kept);

		as_defuse_free(du);
		as_seq_free(whole);
		free(kept);
		if (done)
			return;
	}
}

/* ---- Phase 3: from the front ----------------------------------------------------------------- */

/* Tries the best without the operations from..to and those that depend on them. If it is known that
 * the last operation fails, a candidate without it is not run. */
static bool try_without(struct as_reducing *x, size_t from, size_t to, size_t *removed_before)
{
	struct as_seq *whole = as_seq_copy(x->best);
	struct as_defuse *du = as_defuse_new(whole);
	bool *kept = as_xcalloc(whole->n, sizeof(*kept));
	bool failed = false;

	for (size_t i = 0; i < whole->n; i++)
		kept[i] = i < from || i >= to;
	if (as_defuse_close(du, kept) && (x->with->op_index < 0 || kept[whole->n - 1]))
		failed = reducing_try_kept(x, kept);
	*removed_before = 0;
	for (size_t i = 0; i < from; i++)
		*removed_before += !kept[i];
	free(kept);
	as_defuse_free(du);
	as_seq_free(whole);
	return failed;
}

static void remove_from_front(struct as_reducing *x)
{
	size_t at = 0, piece = x->best->n / 2, before;

	x->phase = "front";
	while (at < x->best->n && !x->over) {
		size_t left = x->best->n - at;

		piece = piece < 1 ? 1 : piece > left ? left : piece;
		if (try_without(x, at, at + piece, &before)) {
			as_assert(!before); /* only operations after it depend on it */
			piece *= 2;
		} else if (piece > 1) {
			piece /= 2;
		} else {
			at++;
			piece = (x->best->n - at) / 2;
		}
	}
}

/* ---- Phase 4: delta debugging ---------------------------------------------------------------- */

struct shrinking {
	struct as_reducing *x;
	struct as_seq *whole; /* the operation that each element stands for */
	struct as_defuse *du;
};

static int test_subset(void *ctx, bool *kept, size_t n)
{
	struct shrinking *s = ctx;
	size_t left;

	if (s->x->over)
		return 0;
	left = as_defuse_close(s->du, kept);
	if (!left || (s->x->with->op_index >= 0 && !kept[n - 1]))
		return 0;
	return as_reducing_try(s->x, as_seq_subset(s->whole, kept));
}

static void delta_debug(struct as_reducing *x)
{
	struct shrinking s = { .x = x, .whole = as_seq_copy(x->best) };
	bool *kept = as_xcalloc(s.whole->n + 1, sizeof(*kept));

	x->phase = "ddmin";
	s.du = as_defuse_new(s.whole);
	memset(kept, true, s.whole->n * sizeof(*kept));
	as_ddmin(kept, s.whole->n, test_subset, &s, 0);
	as_defuse_free(s.du);
	as_seq_free(s.whole);
	free(kept);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool is_interrupted(const struct as_reducing *x)
{
	return x->with->stop && x->with->stop(x->with->ctx) == AS_REDUCE_INTERRUPTED;
}

/* Does it fail at all, and every time? */
static bool fails_at_first(struct as_reducing *x, const struct as_seq *seq, unsigned runs)
{
	bool is_new;

	for (unsigned i = 0; i < runs && !x->over && !is_interrupted(x); i++) {
		if (run_once(x, seq) > 0) {
			x->result->flaky = i > 0;
			x->tries = i > 0 ? runs : 1;
			x->best = as_seq_copy(seq);
			look_up(x, seq, &is_new)->failed = true;
			return true;
		}
	}
	return false;
}

static void confirm(struct as_reducing *x, unsigned runs)
{
	struct as_reduced *result = x->result;

	while (result->runs < runs && !x->rc && !is_interrupted(x)) {
		int fails = run_once(x, x->best);

		result->failed += fails > 0;
		result->runs += fails >= 0;
	}
	result->flaky = result->flaky || result->failed < result->runs;
}

static void free_tried(struct as_reducing *x)
{
	as_table_free(&x->by_digest);
	free(x->tried);
}

int as_reduce(const struct as_seq *seq, const struct as_reducer *reducer, struct as_seq **best,
	      struct as_reduced *result, struct as_err *err)
{
	struct as_reducing x = { .with = reducer, .result = result, .err = err };
	unsigned runs = reducer->runs ? reducer->runs : AS_REDUCE_RUNS;
	struct as_digest before;

	*result = (struct as_reduced){ .ops_before = seq->n, .ops_after = seq->n };
	*best = NULL;
	if (fails_at_first(&x, seq, runs)) {
		shorten_prefix(&x);
		slice(&x);
		remove_from_front(&x);
		delta_debug(&x);
		do {
			before = as_seq_digest(x.best);
			as_reduce_merge(&x);
			as_reduce_args(&x);
			if (!as_digest_eq(before, as_seq_digest(x.best)))
				delta_debug(&x);
		} while (!x.over && !as_digest_eq(before, as_seq_digest(x.best)));
		result->complete = !x.over;
		confirm(&x, runs);
		/* A resumed hunt takes it up again. */
		result->complete = result->complete && result->runs == runs;
		result->ops_after = x.best->n;
		*best = x.best;
	}
	free_tried(&x);
	return x.rc;
}
