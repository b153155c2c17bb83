/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * groups: see groups.h.
 *
 * Method
 *   1. Kinds whose reduced workloads have the same likely cause (as_signature_group()) are one
 *      group. Its example is the kind with the shortest workload.
 *   2. A group explains another if what its example changes, step by step, is found in the same
 *      order among the steps of the other's example: a workload in which that already goes wrong
 *      goes wrong in more ways later. Every step of a reduced workload is needed, so chance seldom
 *      does this. A group whose last step is what nearly every workload does (plain steps, below)
 *      explains nothing. One whose last step has a flag that few workloads need ("open O_TRUNC")
 *      explains every longer one that needs that step, too, and a write without a flag explains
 *      the same with one.
 *   3. A kind that is not reduced yet joins a group with the same symptom: the operation in its
 *      signature may have nothing to do with it.
 *   4. A group that is explained joins the one that explains it; the shortest is asked first.
 *
 * Invariants
 *   1. Every kind is in one group.
 *   2. The result depends on the state alone, and not on the order in which workers answered.
 */
#include "hunt/groups.h"

#include "base/finding.h"

#include <stdlib.h>
#include <string.h>

static const char *const plain_steps[] = { "make", "write", "remove" };

static uint64_t length_of(const struct as_hunt_sign *sign)
{
	return sign->ops_reduced ? sign->ops_reduced : sign->ops;
}

/* Whether the first is the better example of a group. */
static bool is_smaller(const struct as_hunt_sign *a, const struct as_hunt_sign *b)
{
	if (!a->steps != !b->steps)
		return a->steps;
	if (length_of(a) != length_of(b))
		return length_of(a) < length_of(b);
	return strcmp(a->id, b->id) < 0;
}

/* ---- Explanations ---------------------------------------------------------------------------- */

/* The last step, with its comma. */
static const char *last_step(const char *steps)
{
	const char *last = steps;

	for (const char *s = steps; *s; s++)
		if (*s == ',' && s[1])
			last = s + 1;
	return last;
}

static bool is_plain(const char *step)
{
	size_t len = strcspn(step, ",");

	for (size_t i = 0; i < sizeof(plain_steps) / sizeof(*plain_steps); i++)
		if (strlen(plain_steps[i]) == len && !strncmp(step, plain_steps[i], len))
			return true;
	return false;
}

static bool has_flag(const char *step)
{
	return strcspn(step, " ") < strcspn(step, ",");
}

/* Whether the steps of `a` are among those of `b`, in their order. */
static bool steps_within(const char *a, const char *b)
{
	while (*a) {
		size_t len = strcspn(a, ",") + 1;

		while (*b && strncmp(a, b, len))
			b += strcspn(b, ",") + 1;
		if (!*b)
			return false;
		a += len;
		b += len;
	}
	return true;
}

/* A size that is old, and not because of an append that went to the wrong place. */
static bool is_older(const struct as_hunt_sign *sign)
{
	return strstr(sign->cause, AS_SIGNATURE_OLDER) && sign->steps &&
	       !strstr(sign->steps, "O_APPEND");
}

/* A write that stores wrong bytes stores them with a flag, too. */
static bool same_without_flag(const struct as_hunt_sign *a, const struct as_hunt_sign *b)
{
	const char *la = a->steps ? last_step(a->steps) : "",
		   *lb = b->steps ? last_step(b->steps) : "";
	size_t len = strcspn(la, ",");

	return len && strstr(a->cause, "content of a file") && !strstr(a->steps, lb) &&
	       !has_flag(la) && has_flag(lb) && !strncmp(la, lb, len) && lb[len] == ' ';
}

static bool explains(const struct as_hunt_sign *a, const struct as_hunt_sign *b)
{
	const char *last = a->steps ? last_step(a->steps) : "";

	/* Before it is reduced, a kind is only known by its symptom. */
	if (!b->steps)
		return as_signature_same_symptom(a->cause, b->cause) &&
		       (a->steps || is_smaller(a, b));
	/* Who has an old size appends in the wrong place, and not the other way round. */
	if (is_older(a) && strstr(b->cause, "O_APPEND"))
		return true;
	if (is_older(b))
		return false;
	if (same_without_flag(a, b))
		return true;
	if (!*last || !b->steps || !is_smaller(a, b) || is_plain(last))
		return false;
	return (has_flag(last) && steps_within(last, b->steps)) || steps_within(a->steps, b->steps);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static size_t find_group(struct as_hunt_groups *g, const char *name)
{
	size_t i = 0;

	while (i < g->n && strcmp(g->groups[i].name, name))
		i++;
	if (i == g->n)
		g->groups[g->n++] = (struct as_hunt_group){ .name = as_xstrdup(name) };
	return i;
}

static void add_kind(struct as_hunt_groups *g, const struct as_hunt_state *s, size_t kind)
{
	struct as_buf name = { 0 };
	struct as_hunt_group *group;

	as_signature_group(&name, s->signs[kind].cause);
	g->of[kind] = find_group(g, as_buf_str(&name));
	group = &g->groups[g->of[kind]];
	if (!group->kinds || is_smaller(&s->signs[kind], &s->signs[group->example]))
		group->example = kind;
	group->kinds++;
	group->count += s->signs[kind].count;
	as_buf_free(&name);
}

/* The shortest group that explains this one; itself: none. */
static size_t explained_by(const struct as_hunt_groups *g, const struct as_hunt_state *s, size_t i)
{
	size_t best = i;

	for (size_t k = 0; k < g->n; k++)
		if (k != i &&
		    explains(&s->signs[g->groups[k].example], &s->signs[g->groups[i].example]) &&
		    (best == i || is_smaller(&s->signs[g->groups[k].example],
					     &s->signs[g->groups[best].example])))
			best = k;
	return best;
}

static void join(struct as_hunt_groups *g, const struct as_hunt_state *s)
{
	size_t *by = as_xcalloc(g->n + 1, sizeof(*by));

	for (size_t i = 0; i < g->n; i++)
		by[i] = i;
	for (size_t i = 0; i < g->n; i++) {
		size_t to = explained_by(g, s, i), end = to;

		/* Two that would explain each other stay apart. */
		while (end != i && by[end] != end)
			end = by[end];
		if (end != i)
			by[i] = to;
	}
	for (size_t i = 0; i < g->n; i++) {
		size_t to = i;

		while (by[to] != to)
			to = by[to];
		if (to == i)
			continue;
		g->groups[to].kinds += g->groups[i].kinds;
		g->groups[to].count += g->groups[i].count;
		g->groups[i].kinds = 0;
		for (size_t k = 0; k < s->n_signs; k++)
			if (g->of[k] == i)
				g->of[k] = to;
	}
	free(by);
}

static int by_count(const void *a, const void *b)
{
	const struct as_hunt_group *x = a, *y = b;

	if (!x->kinds != !y->kinds)
		return x->kinds ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

void as_hunt_groups(const struct as_hunt_state *s, struct as_hunt_groups *g)
{
	const char **names = as_xcalloc(s->n_signs + 1, sizeof(*names));

	*g = (struct as_hunt_groups){
		.groups = as_xcalloc(s->n_signs + 1, sizeof(*g->groups)),
		.of = as_xcalloc(s->n_signs + 1, sizeof(*g->of)),
	};
	for (size_t i = 0; i < s->n_signs; i++)
		add_kind(g, s, i);
	join(g, s);
	for (size_t i = 0; i < s->n_signs; i++)
		names[i] = g->groups[g->of[i]].name;
	qsort(g->groups, g->n, sizeof(*g->groups), by_count);
	for (size_t i = 0; i < s->n_signs; i++)
		for (size_t k = 0; k < g->n; k++)
			if (g->groups[k].name == names[i])
				g->of[i] = k;
	while (g->n && !g->groups[g->n - 1].kinds)
		free(g->groups[--g->n].name);
	free(names);
}

void as_hunt_groups_free(struct as_hunt_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->groups[i].name);
	free(g->groups);
	free(g->of);
	*g = (struct as_hunt_groups){ 0 };
}
