/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * search_judge: what was found is judged by the checker as it is.
 *
 * Method. Values for several fields may differ from the disk in fields that have nothing to do with
 * what is wrong, and then each combination would be a cluster of its own. So fields are given their
 * healthy values again, one after the other, as long as the same is wrong without them; what is
 * told is the rest.
 */
#include "sym/search_priv.h"

#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>

#define JUDGED_LEAST 8u /* of what a path gave, even if the turn is over: a machine may be busy */

/* False: the field has its healthy value already. */
static bool heal(const struct sym_ground *g, const struct as_field *f, unsigned char *values)
{
	const struct as_place *p = g->place;
	bool differed = false;

	for (unsigned i = 0; i < p->n; i++) {
		if (p->offs[i] < f->off || p->offs[i] - f->off >= f->bytes)
			continue;
		differed = differed || values[i] != g->healthy[i];
		values[i] = g->healthy[i];
	}
	return differed;
}

/* Takes away fields without which the same is wrong. */
static int take_away(struct sym_search *s, const struct sym_ground *g, uint32_t problems,
		     unsigned char *values, struct as_err *err)
{
	const struct as_place *p = g->place;
	struct as_damage damage = { 0 };
	unsigned char *fewer = as_xcalloc(p->n + 1, 1);
	int rc = 0;

	for (unsigned i = 0; !rc && i < p->n_fields; i++) {
		uint32_t left = 0;

		memcpy(fewer, values, p->n);
		if (!heal(g, p->field[i], fewer) ||
		    !as_place_damage(p, &s->setup->bases[p->base], fewer, &damage))
			continue;
		rc = s->door->look(s->door->ctx, &damage, &left, err);
		if (!rc && (left & problems) == problems)
			memcpy(values, fewer, p->n);
	}
	free(fewer);
	as_damage_free(&damage);
	return rc;
}

static int judge_joined(struct sym_search *s, const struct sym_ground *g, struct sym_candidate *c,
			const struct as_damage *damage, struct as_err *err)
{
	const struct as_place *p = g->place;
	struct as_damage least = { 0 };
	unsigned char *values = as_xcalloc(p->n + 1, 1);
	uint32_t told;
	int rc = s->door->look(s->door->ctx, damage, &c->problems, err);

	memcpy(values, c->values, p->n);
	if (!rc && c->problems)
		rc = take_away(s, g, c->problems, values, err);
	if (!rc && c->problems && as_place_damage(p, &s->setup->bases[p->base], values, &least))
		rc = s->door->judge(s->door->ctx, &least, NULL, &told, err);
	free(values);
	as_damage_free(&least);
	return rc;
}

int as_search_judge(struct sym_search *s, const struct sym_ground *g, struct sym_candidate *c,
		    const struct as_damage *damage, struct as_err *err)
{
	int rc;

	c->judged = true;
	if (g->place->n_fields > 1)
		return judge_joined(s, g, c, damage, err);
	rc = s->door->judge(s->door->ctx, damage, NULL, &c->problems, err);
	if (!rc)
		as_search_hear(s, g, c, damage);
	return rc;
}

static void note_values(struct sym_search *s, const struct sym_ground *g,
			const struct sym_candidate *c)
{
	struct as_keep_values v = { .way = c->way,
				    .expect = c->expect,
				    .expect_at = c->expect_at,
				    .generation = c->generation,
				    .gain = c->gain,
				    .round = c->round,
				    .problems = c->problems,
				    .class = c->class,
				    .concrete = c->concrete,
				    .judged = c->judged,
				    .n = (uint16_t)g->place->n };

	if (!s->setup->keep)
		return;
	as_buf_add(&s->notes[AS_KEEP_VALUES], &v, sizeof(v));
	as_buf_add(&s->notes[AS_KEEP_VALUES], c->values, g->place->n);
}

/* What was found waits from now on. It is judged, most of it only if the turn is not over, and what
 * can wait for all others then. */
int as_search_take_in(struct sym_search *s, struct sym_ground *g, struct as_err *err)
{
	struct as_damage damage = { 0 };
	int rc = 0;

	for (size_t i = 0; i < s->n_fresh; i++) {
		struct sym_candidate *c = &s->fresh[i];
		bool now = s->door && (i < JUDGED_LEAST ||
				       (c->class != SYM_CLASS_LAST && as_now_us() < s->until));

		if (!rc && now && !c->round && !c->judged &&
		    as_place_damage(g->place, &s->setup->bases[g->place->base], c->values, &damage))
			rc = as_search_judge(s, g, c, &damage, err);
		note_values(s, g, c);
		as_heap_push(g, c);
	}
	s->n_fresh = 0;
	as_damage_free(&damage);
	return rc;
}
