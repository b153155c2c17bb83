/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solve: see solve.h. */
#include "sym/solve_priv.h"

#include "base/array.h"
#include "base/table.h"
#include "os/spawn.h"
#include "sym/solve_record.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MOST 3u /* times that the time for a site is halved */

struct as_solver {
	struct as_solver_setup setup;
	struct solve_cache *cache;
	struct solve_peer *peer; /* NULL: without Z3 */
	struct solve_record *record; /* or NULL */
	struct as_table late; /* how often Z3 was late at a site, and never in time */
	struct as_solve_counts counts;
};

int as_solver_new(const struct as_solver_setup *setup, struct as_solver **out, struct as_err *err)
{
	struct as_solver *s;

	*out = NULL;
	if (!setup->without_z3) {
#ifdef AS_HAVE_z3
		int rc = as_z3_load(err);

		if (rc)
			return rc;
#else
		return as_fail(err, AS_ELACK,
			       "this assay was built without Z3: install libz3-dev and build it "
			       "again");
#endif
	}
	(void)err;
	s = as_xcalloc(1, sizeof(*s));
	s->setup = *setup;
	if (!s->setup.deadline_ms)
		s->setup.deadline_ms = AS_SOLVE_DEADLINE_MS;
	if (!s->setup.memory_bytes)
		s->setup.memory_bytes = AS_SOLVE_MEMORY_BYTES;
	s->cache = as_solve_cache_new();
	if (!setup->without_z3)
		s->peer = as_solve_peer_new(s->setup.memory_bytes, setup->fresh);
	if (setup->record) {
		int rc = as_solve_record_new(setup->record, &s->record, err);

		if (rc) {
			as_solver_free(s);
			return rc;
		}
	}
	*out = s;
	return 0;
}

int as_solver_recorded(const struct as_solver *s, struct as_err *err)
{
	return as_solve_record_check(s->record, err);
}

void as_solver_free(struct as_solver *s)
{
	if (!s)
		return;
	as_solve_cache_free(s->cache);
	as_solve_peer_free(s->peer);
	as_solve_record_free(s->record);
	as_table_free(&s->late);
	free(s);
}

struct as_solve_counts as_solver_counts(const struct as_solver *s)
{
	struct as_solve_counts counts = s->counts;

	counts.z3_deaths = s->peer ? as_solve_peer_deaths(s->peer) : 0;
	counts.z3_cpu_us = s->peer ? as_solve_peer_used_us(s->peer) : 0;
	return counts;
}

int as_solver_pid(const struct as_solver *s)
{
	return s->peer ? as_solve_peer_pid(s->peer) : 0;
}

/* ---- What matters ---------------------------------------------------------------------------- */

static void add_term(struct solve_slice *s, size_t *cap, uint32_t term)
{
	AS_ARRAY_ROOM(s->terms, s->n, *cap);
	s->terms[s->n++] = term;
}

/* The conditions that share a byte with the target, or with one that does, and so on. */
static void slice_open(const struct as_question *q, struct solve_slice *s)
{
	struct as_expr *e = q->expr;
	bool *in = as_xcalloc(q->n + 1, 1), *have, more = true;
	uint32_t set = as_expr_support(e, q->target);
	size_t cap = 0;

	*s = (struct solve_slice){ .expr = e, .hint = q->bytes, .site = q->site };
	while (more) {
		more = false;
		for (size_t i = 0; i < q->n; i++) {
			uint32_t support = as_expr_support(e, q->holds[i]);

			if (in[i] || !as_expr_sets_meet(e, support, set))
				continue;
			in[i] = true;
			support = as_expr_set_union(e, set, support);
			more = more || support != set;
			set = support;
		}
	}
	have = as_xcalloc((uint64_t)as_expr_n(e) + 1, 1);
	for (size_t i = 0; i < q->n; i++)
		if (in[i] && !have[q->holds[i]]) {
			have[q->holds[i]] = true;
			add_term(s, &cap, q->holds[i]);
		}
	add_term(s, &cap, q->target);
	as_expr_slice(e, s->terms, s->n, &s->nodes);
	s->n_inputs = as_expr_set_n(e, set);
	s->inputs = as_xmalloc((s->n_inputs + 1) * sizeof(*s->inputs));
	as_expr_set_list(e, set, s->inputs, s->n_inputs);
	s->values = as_xcalloc((uint64_t)as_expr_n(e) + 1, sizeof(*s->values));
	as_expr_eval_slice(e, &s->nodes, s->hint, s->values);
	free(have);
	free(in);
}

static void slice_close(struct solve_slice *s)
{
	as_expr_slice_free(&s->nodes);
	free(s->terms);
	free(s->inputs);
	free(s->values);
	free(s->core);
}

bool as_slice_holds(struct solve_slice *s, const unsigned char *bytes)
{
	as_expr_eval_slice(s->expr, &s->nodes, bytes, s->values);
	for (size_t i = 0; i < s->n; i++)
		if (s->values[s->terms[i]] != 1)
			return false;
	return true;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* All terms but the target hold on the path: without the target, none of them can fail. */
static bool core_makes_sense(const struct solve_slice *slice)
{
	for (size_t i = 0; slice->core && i < slice->n_core; i++)
		if (slice->core[i] == slice->terms[slice->n - 1])
			return true;
	return !slice->core;
}

/* A site leads to the same computation for every field of its kind (a date that is printed): where
 * Z3 was late each time, the next question gets half of the time, down to an eighth. */
static unsigned deadline_ms(const struct as_solver *s, uint64_t site)
{
	size_t times = site ? as_table_get(&s->late, site) : AS_TABLE_NONE;

	return times == AS_TABLE_NONE ? s->setup.deadline_ms : s->setup.deadline_ms >> times;
}

static void note_late(struct as_solver *s, uint64_t site, bool late)
{
	size_t times = site ? as_table_get(&s->late, site) : LATE_MOST;

	if (!site || (late && times == LATE_MOST))
		return;
	if (times != AS_TABLE_NONE)
		as_table_remove(&s->late, site, times);
	if (late)
		as_table_add(&s->late, site, times == AS_TABLE_NONE ? 1 : times + 1);
}

static enum as_solved ask_z3(struct as_solver *s, struct solve_slice *slice, const bool *fixed,
			     unsigned char *out)
{
	int64_t start = as_now_us();
	/* With some bytes fixed it is another question, and a last one: it has all of the time. */
	unsigned ms = fixed ? s->setup.deadline_ms : deadline_ms(s, slice->site);
	enum as_solved solved = as_solve_peer_ask(s->peer, slice, fixed, ms, out);

	s->counts.z3_asked++;
	s->counts.z3_us += (uint64_t)(as_now_us() - start);
	if (!fixed)
		note_late(s, slice->site, solved == AS_SOLVED_LATE);
	if ((solved == AS_SOLVED && !as_slice_holds(slice, out)) ||
	    (solved == AS_SOLVED_NONE && !fixed && !core_makes_sense(slice))) {
		s->counts.wrong++;
		return AS_SOLVED_LATE;
	}
	return solved;
}

/* SWIFT, section 5.5. */
static enum as_solved concretize(struct as_solver *s, struct solve_slice *slice, unsigned char *out)
{
	enum as_solved solved = AS_SOLVED_LATE;
	bool *fixed;

	if (s->setup.concretize == AS_CONCRETIZE_NONE)
		return AS_SOLVED_LATE;
	if (s->setup.concretize != AS_CONCRETIZE_FULL && s->peer) {
		fixed = as_xcalloc(slice->n_inputs + 1, sizeof(*fixed));
		as_solve_concretize(slice, s->setup.concretize, fixed);
		solved = ask_z3(s, slice, fixed, out);
		free(fixed);
	} else if (as_solve_one_byte(slice, out)) {
		solved = AS_SOLVED;
	}
	return solved == AS_SOLVED ? AS_SOLVED_CONCRETE : AS_SOLVED_LATE;
}

/* What needs no other process. */
static enum as_solved ask_here(struct as_solver *s, struct solve_slice *slice, unsigned char *out)
{
	enum as_solved solved = AS_SOLVED_LATE;

	if (as_solve_quick(slice, out)) {
		s->counts.by_quick++;
		return AS_SOLVED;
	}
	solved = as_solve_boxes(slice, out);
	s->counts.by_bounds += solved != AS_SOLVED_LATE;
	if (solved == AS_SOLVED_LATE) {
		solved = as_solve_tries(slice, out);
		s->counts.by_tries += solved != AS_SOLVED_LATE;
	}
	return solved;
}

static enum as_solved ask(struct as_solver *s, struct solve_slice *slice, unsigned char *out)
{
	enum as_solved solved = AS_SOLVED_LATE;

	if (!s->setup.only_z3) {
		solved = as_solve_cache_find(s->cache, slice, out);
		if (solved != AS_SOLVED_LATE) {
			s->counts.by_cache++;
			return solved;
		}
		solved = ask_here(s, slice, out);
	}
	if (solved == AS_SOLVED_LATE && s->peer) {
		if (s->record)
			as_solve_record_add(s->record, slice);
		solved = ask_z3(s, slice, NULL, out);
		s->counts.by_z3 += solved != AS_SOLVED_LATE;
	}
	if (solved != AS_SOLVED_LATE)
		as_solve_cache_add(s->cache, slice, solved, out);
	return solved == AS_SOLVED_LATE ? concretize(s, slice, out) : solved;
}

enum as_solved as_solve(struct as_solver *s, const struct as_question *q, unsigned char *out)
{
	struct solve_slice slice;
	enum as_solved solved;

	s->counts.questions++;
	if (as_expr_is_const(q->expr, q->target)) {
		bool yes = as_expr_at(q->expr, q->target)->imm;

		memcpy(out, q->bytes, as_expr_inputs(q->expr));
		s->counts.solved += yes;
		s->counts.none += !yes;
		return yes ? AS_SOLVED : AS_SOLVED_NONE;
	}
	slice_open(q, &slice);
	memcpy(out, q->bytes, as_expr_inputs(q->expr));
	solved = ask(s, &slice, out);
	slice_close(&slice);
	s->counts.solved += solved == AS_SOLVED;
	s->counts.none += solved == AS_SOLVED_NONE;
	s->counts.late += solved == AS_SOLVED_LATE || solved == AS_SOLVED_CONCRETE;
	s->counts.concrete += solved == AS_SOLVED_CONCRETE;
	return solved;
}
