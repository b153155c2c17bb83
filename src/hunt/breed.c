/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * breed: see breed.h.
 *
 * Method. The last KEPT_MAX workloads that reached something new are kept. A new workload takes one
 * of them, every second time one of the last RECENT, and changes it in one of four ways (the table
 * `ways`). An operation may stand anywhere in a workload: one on a slot that is empty, or on a path
 * that is not there, has an answer that the model knows. So nothing has to be repaired.
 *
 *   1. A new workload has at most LENGTH_MAX operations, however often it was bred.
 *   2. Of two workloads in turn, one is as it was drawn: the hunt goes on to explore what has
 *      nothing to do with what it knows.
 */
#include "hunt/breed.h"

#include "base/choice.h"

#include <stdlib.h>

#define KEPT_MAX 512
#define RECENT 16
#define LENGTH_MAX 400
#define BLOCK_MAX 12 /* operations that are moved at once */

struct as_breed {
	struct as_seq *kept[KEPT_MAX];
	uint64_t n; /* that were ever kept; the last ones are there */
};

struct as_breed *as_breed_new(void)
{
	return as_xcalloc(1, sizeof(struct as_breed));
}

void as_breed_free(struct as_breed *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < KEPT_MAX; i++)
		as_seq_free(b->kept[i]);
	free(b);
}

void as_breed_keep(struct as_breed *b, const struct as_seq *seq)
{
	struct as_seq **place = &b->kept[b->n++ % KEPT_MAX];

	as_seq_free(*place);
	*place = as_seq_copy(seq);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

struct breeding {
	const struct as_seq *old, *fresh;
	struct as_choice *choice;
	struct as_seq *out;
};

static size_t below(struct breeding *b, size_t n)
{
	return n > 1 ? as_choose(b->choice, (unsigned)n) : 0;
}

static void add(struct breeding *b, const struct as_seq *from, size_t first, size_t end)
{
	for (size_t i = first; i < end && i < from->n && b->out->n < LENGTH_MAX; i++)
		as_seq_add(b->out, &from->ops[i]);
}

/* Where the old one has brought the file system, the fresh one goes on. */
static void go_on(struct breeding *b)
{
	add(b, b->old, 0, 1 + below(b, b->old->n));
	add(b, b->fresh, below(b, b->fresh->n), b->fresh->n);
}

/* A block of the fresh one comes in between. */
static void insert(struct breeding *b)
{
	size_t at = below(b, b->old->n), from = below(b, b->fresh->n);

	add(b, b->old, 0, at);
	add(b, b->fresh, from, from + 1 + below(b, BLOCK_MAX));
	add(b, b->old, at, b->old->n);
}

static void leave_out(struct breeding *b)
{
	size_t at = below(b, b->old->n);

	add(b, b->old, 0, at);
	add(b, b->old, at + 1 + below(b, BLOCK_MAX), b->old->n);
}

static void repeat(struct breeding *b)
{
	size_t at = below(b, b->old->n), end = at + 1 + below(b, BLOCK_MAX);

	add(b, b->old, 0, end);
	add(b, b->old, at, b->old->n);
}

static void (*const ways[])(struct breeding *b) = { go_on, insert, leave_out, repeat };

#define NWAYS (sizeof(ways) / sizeof(ways[0]))

static const struct as_seq *choose_old(const struct as_breed *b, struct breeding *how)
{
	uint64_t n = b->n < KEPT_MAX ? b->n : KEPT_MAX;
	bool recent = below(how, 2);

	if (recent && n > RECENT)
		n = RECENT;
	return b->kept[(b->n - 1 - below(how, n)) % KEPT_MAX];
}

struct as_seq *as_breed_next(struct as_breed *b, struct as_seq *fresh, uint64_t seed)
{
	struct as_chooser *chooser = as_chooser_seeded(seed);
	struct breeding how = { .fresh = fresh, .choice = as_chooser_choice(chooser) };

	if (b->n && below(&how, 2)) {
		how.old = choose_old(b, &how);
		how.out = as_seq_new();
		for (size_t i = 0; i < fresh->n_meta; i++)
			as_seq_set_meta(how.out, fresh->meta[i].key, fresh->meta[i].value);
		ways[below(&how, NWAYS)](&how);
	}
	as_chooser_free(chooser);
	if (!how.out || !how.out->n) {
		as_seq_free(how.out);
		return fresh;
	}
	as_seq_free(fresh);
	return how.out;
}
