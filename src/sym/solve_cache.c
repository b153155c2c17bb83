/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solve_cache: answers to earlier questions. A question is a set of conditions, each known by its
 * digest, which is the same on every path.
 *
 * What follows from an answer:
 *   - a question that has all conditions of one without an answer has none either (superset);
 *     of such a one, only the conditions are kept that Z3 needed to see that;
 *   - bytes that answer a question answer all with fewer conditions (subset); and any bytes that
 *     were an answer once are tried, since that costs little (as KLEE does).
 */
#include "sym/solve_priv.h"

#include "base/array.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 8192u /* then all are forgotten */
#define TRIED 24u /* of the latest answers */
#define SCANNED 512u /* of the latest questions without an answer */

struct cached_byte {
	uint64_t off;
	unsigned char value;
};

struct cached {
	struct as_digest *terms; /* sorted */
	size_t n;
	uint64_t bloom; /* a bit for each term: a set that has another bit is no subset */
	bool solved;
	struct cached_byte *bytes;
	size_t n_bytes;
};

struct solve_cache {
	struct cached *items;
	size_t n, cap;
	struct as_table table; /* by the digest of the whole set */
	size_t *none; /* those without an answer */
	size_t n_none, cap_none;
	size_t *some; /* those with one */
	size_t n_some, cap_some;
};

struct solve_cache *as_solve_cache_new(void)
{
	return as_xcalloc(1, sizeof(struct solve_cache));
}

static void forget(struct solve_cache *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->items[i].terms);
		free(c->items[i].bytes);
	}
	c->n = c->n_none = c->n_some = 0;
	as_table_clear(&c->table);
}

void as_solve_cache_free(struct solve_cache *c)
{
	if (!c)
		return;
	forget(c);
	as_table_free(&c->table);
	free(c->items);
	free(c->none);
	free(c->some);
	free(c);
}

static int by_digest(const void *a, const void *b)
{
	const struct as_digest *x = a, *y = b;

	return x->hi != y->hi ? (x->hi > y->hi) - (x->hi < y->hi)
			      : (x->lo > y->lo) - (x->lo < y->lo);
}

static void key_open(const struct as_expr *e, const uint32_t *terms, size_t n, struct cached *key)
{
	*key = (struct cached){ .terms = as_xmalloc((n + 1) * sizeof(*key->terms)), .n = n };
	for (size_t i = 0; i < n; i++) {
		key->terms[i] = as_expr_digest(e, terms[i]);
		key->bloom |= UINT64_C(1) << key->terms[i].lo % 64;
	}
	qsort(key->terms, key->n, sizeof(*key->terms), by_digest);
}

static uint64_t hash_of(const struct cached *key)
{
	return as_hash64(key->terms, key->n * sizeof(*key->terms));
}

static bool is_subset(const struct cached *small, const struct cached *large)
{
	size_t k = 0;

	if (small->n > large->n || small->bloom & ~large->bloom)
		return false;
	for (size_t i = 0; i < small->n; i++, k++) {
		while (k < large->n && by_digest(&large->terms[k], &small->terms[i]) < 0)
			k++;
		if (k == large->n || by_digest(&large->terms[k], &small->terms[i]))
			return false;
	}
	return true;
}

struct asked {
	const struct solve_cache *c;
	const struct cached *key;
};

static bool is_same(const void *ctx, size_t i)
{
	const struct asked *a = ctx;
	const struct cached *x = &a->c->items[i];

	return x->n == a->key->n && !memcmp(x->terms, a->key->terms, x->n * sizeof(*x->terms));
}

static bool answers(const struct cached *x, struct solve_slice *s, unsigned char *bytes)
{
	memcpy(bytes, s->hint, as_expr_inputs(s->expr));
	for (size_t i = 0; i < x->n_bytes; i++) {
		uint32_t input = as_expr_input_of(s->expr, x->bytes[i].off);

		if (input != UINT32_MAX)
			bytes[input] = x->bytes[i].value;
	}
	/* Bytes outside of the slice are as they were. */
	for (uint32_t i = 0, k = 0; i < as_expr_inputs(s->expr); i++) {
		if (k < s->n_inputs && s->inputs[k] == i)
			k++;
		else
			bytes[i] = s->hint[i];
	}
	return as_slice_holds(s, bytes);
}

static enum as_solved look(struct solve_cache *c, const struct cached *key, struct solve_slice *s,
			   unsigned char *bytes)
{
	struct asked asked = { c, key };
	size_t i = as_table_find(&c->table, hash_of(key), is_same, &asked);

	if (i != AS_TABLE_NONE) {
		if (!c->items[i].solved)
			return AS_SOLVED_NONE;
		if (answers(&c->items[i], s, bytes))
			return AS_SOLVED;
	}
	for (size_t k = c->n_none, seen = 0; k-- > 0 && seen < SCANNED; seen++)
		if (is_subset(&c->items[c->none[k]], key))
			return AS_SOLVED_NONE;
	for (size_t k = c->n_some, seen = 0; k-- > 0 && seen < TRIED; seen++)
		if (answers(&c->items[c->some[k]], s, bytes))
			return AS_SOLVED;
	return AS_SOLVED_LATE;
}

enum as_solved as_solve_cache_find(struct solve_cache *c, struct solve_slice *s,
				   unsigned char *bytes)
{
	enum as_solved solved;
	struct cached key;

	key_open(s->expr, s->terms, s->n, &key);
	solved = look(c, &key, s, bytes);
	free(key.terms);
	if (solved != AS_SOLVED) {
		memcpy(bytes, s->hint, as_expr_inputs(s->expr));
		as_expr_eval_slice(s->expr, &s->nodes, s->hint, s->values);
	}
	return solved;
}

void as_solve_cache_add(struct solve_cache *c, const struct solve_slice *s, enum as_solved solved,
			const unsigned char *bytes)
{
	bool core = solved == AS_SOLVED_NONE && s->core;
	struct cached key;

	if (c->n >= ENTRIES_MAX)
		forget(c);
	key_open(s->expr, core ? s->core : s->terms, core ? s->n_core : s->n, &key);
	key.solved = solved == AS_SOLVED;
	if (key.solved) {
		key.n_bytes = s->n_inputs;
		key.bytes = as_xcalloc(s->n_inputs + 1, sizeof(*key.bytes));
		for (uint32_t i = 0; i < s->n_inputs; i++)
			key.bytes[i] =
				(struct cached_byte){ as_expr_input_off(s->expr, s->inputs[i]),
						      bytes[s->inputs[i]] };
		AS_ARRAY_ROOM(c->some, c->n_some, c->cap_some);
		c->some[c->n_some++] = c->n;
	} else {
		AS_ARRAY_ROOM(c->none, c->n_none, c->cap_none);
		c->none[c->n_none++] = c->n;
	}
	AS_ARRAY_ROOM(c->items, c->n, c->cap);
	c->items[c->n] = key;
	as_table_add(&c->table, hash_of(&key), c->n++);
}
