/* SPDX-License-Identifier: GPL-2.0-or-later */
/* solve_tries: tries values one by one, and chooses the bytes that keep theirs. */
#include "sym/solve_priv.h"

#include <stdlib.h>
#include <string.h>

#define WORK_MAX 6000000u /* nodes that are computed for one question */

/* The nodes in the order of the terms that first need them, so that a term that fails ends a try
 * early. The target comes first: most values fail there. */
struct plan {
	uint32_t *nodes;
	size_t *until; /* nodes before this one are needed for term i */
	uint32_t *terms;
	size_t n;
};

static void plan_open(const struct solve_slice *s, struct plan *p)
{
	unsigned char *have = as_xcalloc((uint64_t)as_expr_n(s->expr) + 1, 1);
	size_t n = 0;

	p->nodes = as_xmalloc((s->nodes.n + 1) * sizeof(*p->nodes));
	p->until = as_xmalloc((s->n + 1) * sizeof(*p->until));
	p->terms = as_xmalloc((s->n + 1) * sizeof(*p->terms));
	p->n = s->n;
	for (size_t i = 0; i < s->n; i++) {
		struct as_expr_slice slice;

		p->terms[i] = s->terms[i ? i - 1 : s->n - 1];
		as_expr_slice(s->expr, &p->terms[i], 1, &slice);
		for (size_t k = 0; k < slice.n; k++)
			if (!have[slice.nodes[k]]) {
				have[slice.nodes[k]] = 1;
				p->nodes[n++] = slice.nodes[k];
			}
		as_expr_slice_free(&slice);
		p->until[i] = n;
	}
	free(have);
}

static void plan_close(struct plan *p)
{
	free(p->nodes);
	free(p->until);
	free(p->terms);
}

/* Whether all terms hold; *work grows by what was computed. */
static bool try_one(struct solve_slice *s, const struct plan *p, const unsigned char *bytes,
		    uint64_t *work)
{
	size_t done = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct as_expr_slice part = { p->nodes + done, p->until[i] - done };

		as_expr_eval_slice(s->expr, &part, bytes, s->values);
		*work += part.n + 1;
		done = p->until[i];
		if (s->values[p->terms[i]] != 1)
			return false;
	}
	return true;
}

enum as_solved as_solve_tries(struct solve_slice *s, unsigned char *bytes)
{
	unsigned n = s->n_inputs == 1 ? 256 : s->n_inputs == 2 ? 65536 : 0;
	enum as_solved solved = AS_SOLVED_NONE;
	uint64_t work = 0;
	struct plan p;

	if (!n)
		return AS_SOLVED_LATE;
	plan_open(s, &p);
	for (unsigned v = 0; v < n; v++) {
		bytes[s->inputs[0]] = (unsigned char)(v ^ s->hint[s->inputs[0]]);
		if (s->n_inputs > 1)
			bytes[s->inputs[1]] = (unsigned char)(v >> 8 ^ s->hint[s->inputs[1]]);
		if (try_one(s, &p, bytes, &work)) {
			solved = AS_SOLVED;
			break;
		}
		if (work > WORK_MAX) {
			solved = AS_SOLVED_LATE;
			break;
		}
	}
	plan_close(&p);
	if (solved != AS_SOLVED)
		memcpy(bytes, s->hint, as_expr_inputs(s->expr));
	return solved;
}

bool as_solve_one_byte(struct solve_slice *s, unsigned char *bytes)
{
	bool found = false;
	uint64_t work = 0;
	struct plan p;

	plan_open(s, &p);
	memcpy(bytes, s->hint, as_expr_inputs(s->expr));
	for (uint32_t i = 0; !found && i < s->n_inputs && work < WORK_MAX; i++) {
		unsigned char *byte = &bytes[s->inputs[i]], was = *byte;

		for (unsigned v = 1; !found && v < 256; v++) {
			*byte = (unsigned char)(was ^ v);
			found = try_one(s, &p, bytes, &work);
		}
		if (!found)
			*byte = was;
	}
	plan_close(&p);
	return found;
}

/* ---- Which bytes keep their values ----------------------------------------------------------- */

struct use {
	uint32_t place; /* in slice->inputs */
	uint64_t count, first;
	bool arith;
};

static int by_first(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_count(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
				    : by_first(a, b);
}

static bool is_arith(enum as_expr_op op)
{
	return (op >= AS_EXPR_ADD && op <= AS_EXPR_SREM) || op == AS_EXPR_NEG;
}

static void note_uses(const struct solve_slice *s, struct use *uses)
{
	for (uint32_t k = 0; k < s->n_inputs; k++)
		uses[k] = (struct use){ .place = k, .first = UINT64_MAX };
	for (size_t i = 0; i < s->nodes.n; i++) {
		const struct as_expr_node *x = as_expr_at(s->expr, s->nodes.nodes[i]);
		uint32_t support = as_expr_support(s->expr, s->nodes.nodes[i]);

		for (uint32_t k = 0; k < s->n_inputs; k++) {
			if (!as_expr_set_has(s->expr, support, s->inputs[k]))
				continue;
			uses[k].count++;
			uses[k].first = uses[k].first < i ? uses[k].first : i;
			uses[k].arith = uses[k].arith || is_arith(x->op);
		}
	}
}

void as_solve_concretize(const struct solve_slice *s, enum as_concretize how, bool *fixed)
{
	struct use *uses = as_xcalloc(s->n_inputs + 1, sizeof(*uses));
	uint32_t half = (s->n_inputs + 1) / 2;

	note_uses(s, uses);
	qsort(uses, s->n_inputs, sizeof(*uses),
	      how == AS_CONCRETIZE_FREQUENT ? by_count : by_first);
	for (uint32_t k = 0; k < s->n_inputs; k++)
		fixed[uses[k].place] = how == AS_CONCRETIZE_ARITH ? uses[k].arith : k < half;
	free(uses);
}
