/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cross_vote: where recovered trees do not agree, and who is the odd one.
 *
 * A name and an attribute of it is compared between those whose healthy disks have the same value
 * there: what a type cannot represent is so left out. A voter is odd if it lost what was there and
 * most of three or more voters have it, or the other one of two. To keep more than others is no
 * mistake, nor is to lose what most of them lose.
 */
#include "cross/cross_member.h"

#include "base/array.h"

static bool votes(const struct as_cross_member *m)
{
	return m->came == AS_CROSS_REPAIRED;
}

static unsigned count(uint32_t mask)
{
	return (unsigned)__builtin_popcount(mask);
}

/* Who has the name, with the same value as most of them. */
static uint32_t find_voters(const struct as_cross *c, const char *path, enum as_cross_facet facet,
			    uint64_t *healthy)
{
	uint32_t best = 0;

	for (unsigned i = 0; i < c->n; i++) {
		const struct as_cross_row *a = as_cross_view_find(&c->m[i].was, path);
		uint32_t same = 0;

		if (!a || !votes(&c->m[i]))
			continue;
		for (unsigned k = 0; k < c->n; k++) {
			const struct as_cross_row *b = as_cross_view_find(&c->m[k].was, path);

			if (b && votes(&c->m[k]) && b->v[facet] == a->v[facet])
				same |= 1u << k;
		}
		if (count(same) > count(best)) {
			best = same;
			*healthy = a->v[facet];
		}
	}
	return best;
}

/* What most of them have; false: no value has a majority. */
static bool majority(const struct as_cross *c, const struct as_cross_split *s, uint64_t *value)
{
	for (unsigned i = 0; i < c->n; i++) {
		unsigned same = 0;

		if (!(s->voters >> i & 1))
			continue;
		for (unsigned k = 0; k < c->n; k++)
			same += s->voters >> k & 1 && s->value[k] == s->value[i];
		if (2 * same > count(s->voters)) {
			*value = s->value[i];
			return true;
		}
	}
	return false;
}

static uint32_t find_odd(const struct as_cross *c, const struct as_cross_split *s)
{
	uint64_t right = s->healthy;
	bool kept = false;
	uint32_t odd = 0;

	for (unsigned i = 0; i < c->n; i++)
		kept = kept || (s->voters >> i & 1 && s->value[i] == s->healthy);
	if (count(s->voters) > 2 ? !majority(c, s, &right) : !kept)
		return 0;
	/* What most of them could not recover either is nobody's loss; but a file that they found
	 * elsewhere is better than none. */
	if (right != s->healthy && !(s->facet == AS_CROSS_NAME && right == AS_CROSS_MOVED))
		return 0;
	for (unsigned i = 0; i < c->n; i++)
		if (s->voters >> i & 1 && s->value[i] != right && s->value[i] != s->healthy)
			odd |= 1u << i;
	return odd;
}

static void look(struct as_cross *c, const char *path, enum as_cross_facet facet)
{
	struct as_cross_split s = { .path = path, .facet = facet };
	uint64_t first = 0;
	bool any = false, differ = false;

	s.voters = find_voters(c, path, facet, &s.healthy);
	if (count(s.voters) < 2)
		return;
	for (unsigned i = 0; i < c->n; i++) {
		const struct as_cross_member *m = &c->m[i];

		if (!(s.voters >> i & 1))
			continue;
		s.value[i] =
			as_cross_value(&m->was, &m->now, as_cross_view_find(&m->was, path), facet);
		/* That the name is gone is said once. */
		if (s.value[i] == AS_CROSS_NOTHING) {
			s.voters &= ~(1u << i);
			continue;
		}
		differ = differ || (any && s.value[i] != first);
		first = any ? first : s.value[i];
		any = true;
	}
	if (!differ || count(s.voters) < 2)
		return;
	s.odd = find_odd(c, &s);
	AS_ARRAY_ROOM(c->splits, c->n_splits, c->cap_splits);
	c->splits[c->n_splits++] = s;
}

/* The first that has a name speaks for it. */
static bool is_first(const struct as_cross *c, unsigned i, const char *path)
{
	for (unsigned k = 0; k < i; k++)
		if (votes(&c->m[k]) && as_cross_view_find(&c->m[k].was, path))
			return false;
	return true;
}

void as_cross_vote(struct as_cross *c)
{
	c->n_splits = 0;
	for (unsigned i = 0; i < c->n; i++)
		for (size_t r = 0; votes(&c->m[i]) && r < c->m[i].was.n; r++)
			for (int f = 0; f < AS_CROSS_N; f++)
				if (is_first(c, i, c->m[i].was.rows[r].path))
					look(c, c->m[i].was.rows[r].path, (enum as_cross_facet)f);
}
