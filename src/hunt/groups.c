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
 *   3. After a power cut, steps are changes and promises. A group explains another if it needs no
 *      more freedom of the disk, if the harm of the other can follow from its own (may_explain),
 *      and if its steps are among those of the other. A change that can be half there, in order,
 *      explains whatever shows at the same change. If one change alone leaves a tree that recovery
 *      damages, it explains all that the same freedom shows.
 *   4. A kind that is not reduced yet joins a group with the same symptom: the operation in its
 *      signature may have nothing to do with it. After a power cut, it joins no group if several
 *      have the symptom. Such kinds, and those with a symptom of their own, are one group that
 *      says so.
 *   5. A group that is explained joins the one that explains it: one with the same symptom, or
 *      else the shortest.
 *
 * Invariants
 *   1. Every kind is in one group.
 *   2. The result depends on the state alone, and not on the order in which workers answered.
 */
#include "hunt/groups.h"

#include "base/finding.h"

#include <stdlib.h>
#include <string.h>

#define BOTH_NAMES "both names" /* after a rename: the opposite of "neither name" */
#define UNREADABLE "crash: unreadable: "
#define CUT_STEPS_MAX 8

static const char *const plain_steps[] = { "make", "write", "remove" };

/* How much freedom the disk needs to show it. */
enum freedom {
	NO_POWER_CUT,
	IN_ORDER, /* writes arrive in order: views 1 and 2 */
	REORDERED, /* views 3 to 5 */
	AGAIN, /* the power fails once more, during recovery */
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static enum freedom freedom_of(const struct as_hunt_sign *sign)
{
	const char *view = strstr(sign->summary, "(view ");

	if (begins(sign->signature, AS_SIGNATURE_AGAIN))
		return AGAIN;
	if (!view || !(begins(sign->signature, "crash: ") || begins(sign->signature, "recovery: ")))
		return NO_POWER_CUT;
	return view[6] <= '2' ? IN_ORDER : REORDERED;
}

static uint64_t length_of(const struct as_hunt_sign *sign)
{
	return sign->ops_reduced ? sign->ops_reduced : sign->ops;
}

static unsigned count_steps(const char *steps)
{
	unsigned n = 0;

	for (; *steps; steps++)
		n += *steps == ',';
	return n;
}

/* A workload of a power cut that is still long shows nothing by what it contains. */
static bool is_reduced(const struct as_hunt_sign *sign)
{
	unsigned n = sign->steps ? count_steps(sign->steps) : 0;

	return n && (n <= CUT_STEPS_MAX || !freedom_of(sign));
}

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

/* Whether the first is the better example of a group. */
static bool is_smaller(const struct as_hunt_sign *a, const struct as_hunt_sign *b)
{
	if (!a->steps != !b->steps)
		return a->steps;
	if (length_of(a) != length_of(b))
		return length_of(a) < length_of(b);
	/* One that ends with a plain step would explain nothing. */
	if (a->steps && is_plain(last_step(a->steps)) != is_plain(last_step(b->steps)))
		return is_plain(last_step(b->steps));
	return strcmp(a->id, b->id) < 0;
}

/* ---- Explanations ---------------------------------------------------------------------------- */

static bool has_flag(const char *step)
{
	return strcspn(step, " ") < strcspn(step, ",");
}

typedef bool same_step_fn(const char *a, const char *b);

static bool is_same_step(const char *a, const char *b)
{
	return !strncmp(a, b, strcspn(a, ",") + 1);
}

/* Whether the steps of `a` are among those of `b`, in their order. */
static bool steps_within(const char *a, const char *b, same_step_fn *same)
{
	while (*a) {
		while (*b && !same(a, b))
			b += strcspn(b, ",") + 1;
		if (!*b)
			return false;
		a += strcspn(a, ",") + 1;
		b += strcspn(b, ",") + 1;
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

/* ---- Power cuts ------------------------------------------------------------------------------ */

/* All renames are one step: their flags change little of what is written. */
static bool is_same_cut_step(const char *a, const char *b)
{
	return is_same_step(a, b) || (begins(a, "rename") && begins(b, "rename"));
}

/* What is wrong after it. */
enum harm {
	HALF, /* of a change is there */
	LOST, /* a promise was broken */
	DAMAGED, /* the tree cannot be read, has bytes of others, or differs from way to way */
	UNTIDY, /* the tree is right, but a checker finds something */
	NOTED, /* the checker finds only a note that something was wrong */
	HARMS
};

/* The first row that fits decides. */
static const struct {
	const char *begins; /* the name of the group */
	const char *has; /* also in it; NULL: anything */
	enum harm harm;
} harms[] = {
	{ "crash: rename: ", NULL, HALF },	 { "crash: atomic: ", NULL, HALF },
	{ "crash: prefix: ", NULL, HALF },	 { "crash: links: ", NULL, HALF },
	{ "crash: not kept: ", NULL, LOST },	 { "crash: complained: ", "SUPER_ERRORS", NOTED },
	{ "crash: complained: ", NULL, UNTIDY },
};

/* May a kind of the row explain one of the column? A change that is half there loses no promise. */
static const bool may_explain[HARMS][HARMS] = {
	[HALF] = { [HALF] = true, [DAMAGED] = true, [UNTIDY] = true, [NOTED] = true },
	[LOST] = { [LOST] = true },
	[DAMAGED] = { [HALF] = true, [DAMAGED] = true, [UNTIDY] = true, [NOTED] = true },
	[UNTIDY] = { [UNTIDY] = true, [NOTED] = true },
	[NOTED] = { [NOTED] = true },
};

static enum harm harm_of(const char *name)
{
	for (size_t i = 0; i < sizeof(harms) / sizeof(*harms); i++)
		if (begins(name, harms[i].begins) && (!harms[i].has || strstr(name, harms[i].has)))
			return harms[i].harm;
	return DAMAGED;
}

/* Whether one change alone is enough, and nobody promised anything. */
static bool is_single(const char *steps)
{
	return *steps && last_step(steps) == steps;
}

/* Of two that are equally long, the worse one explains the other. */
static bool comes_first(const struct as_hunt_sign *a, enum harm a_harm,
			const struct as_hunt_sign *b, enum harm b_harm)
{
	if (length_of(a) == length_of(b) && (a_harm >= UNTIDY) != (b_harm >= UNTIDY))
		return b_harm >= UNTIDY;
	return is_smaller(a, b);
}

static bool is_promise(const char *step)
{
	return begins(step, "fsync") || begins(step, "sync") || begins(step, "umount");
}

/* What was promised before a change that is half there is lost with it. */
static bool loses_older(enum harm a_harm, const struct as_hunt_sign *b, enum harm b_harm)
{
	return a_harm == HALF && b_harm == LOST && !is_promise(last_step(b->steps));
}

/* The last step that changes something, with its comma; "": there is none. */
static const char *last_change(const char *steps)
{
	const char *last = "";

	for (; *steps; steps += strcspn(steps, ",") + 1)
		if (!is_promise(steps))
			last = steps;
	return last;
}

/* A change that can be half there, in order, explains whatever else shows at such a change. What
 * was reduced further does not matter then: a half is the nearest to what went wrong. */
static bool is_half_of_same(const struct as_hunt_sign *a, enum harm a_harm,
			    const struct as_hunt_sign *b, enum harm b_harm)
{
	const char *change = last_change(a->steps);

	if (a_harm != HALF || freedom_of(a) != IN_ORDER || (b_harm == HALF && !is_smaller(a, b)) ||
	    (b_harm == LOST && !loses_older(a_harm, b, b_harm)))
		return false;
	return *change && is_same_cut_step(change, last_change(b->steps));
}

/* A change that few workloads have breaks the promise after it, whatever else came before. A
 * promise that does not even hold after one plain change holds after none. */
static bool breaks_promise(const char *a, const char *b)
{
	const char *change = last_change(a), *promise = last_step(a);

	if (!*change || promise == change)
		return false;
	if (is_plain(change))
		return count_steps(a) == 2 && steps_within(promise, b, is_same_step);
	return steps_within(change, b, is_same_cut_step);
}

/* If recovery is wrong after one single change, it is wrong after others, too. But that one object
 * cannot be read breaks no promise about others that can be. */
static bool is_wrong_always(const struct as_hunt_sign *a, const char *a_name, enum harm b_harm)
{
	return a->steps && is_single(a->steps) && harm_of(a_name) == DAMAGED &&
	       freedom_of(a) == IN_ORDER && !(begins(a_name, UNREADABLE) && b_harm == LOST);
}

/* Promises are among the steps, so even "make,sync," is not what every workload does: where that is
 * lost, all that contains it is lost, too. If single changes of several kinds go wrong, none of
 * them is to blame. What needs less freedom explains what needs more. */
static bool explains_cut(const struct as_hunt_sign *a, const char *a_name,
			 const struct as_hunt_sign *b, const char *b_name)
{
	enum harm a_harm = harm_of(a_name), b_harm = harm_of(b_name);
	bool total = a->steps && is_single(a->steps) && a_harm < UNTIDY &&
		     !(begins(a_name, UNREADABLE) && b_harm == LOST);
	bool both = strstr(a_name, BOTH_NAMES), other = strstr(b_name, BOTH_NAMES);

	if (!is_reduced(a) || !freedom_of(a) || freedom_of(a) > freedom_of(b))
		return false;
	if (freedom_of(b) != AGAIN && both == other && is_half_of_same(a, a_harm, b, b_harm))
		return true;
	if (!comes_first(a, a_harm, b, b_harm))
		return false;
	/* A recovery that is not safe is one by itself, unless what it leaves is there without a
	 * second power cut, too. */
	if (freedom_of(b) == AGAIN)
		return freedom_of(a) == IN_ORDER && strstr(b->cause, "full check") &&
		       (a_harm >= UNTIDY || total);
	if (is_wrong_always(a, a_name, b_harm) || (a_harm == UNTIDY && b_harm == NOTED))
		return true;
	/* The problem that a checker named says more than the operation that led to it. */
	if (a_harm == UNTIDY && b_harm == UNTIDY && as_signature_same_symptom(a_name, b_name))
		return true;
	if (!total &&
	    (!(may_explain[a_harm][b_harm] || loses_older(a_harm, b, b_harm)) || both != other))
		return false;
	if (is_single(a->steps) && is_single(b->steps))
		return total;
	if (a_harm == LOST && b_harm == LOST && breaks_promise(a->steps, b->steps))
		return true;
	return steps_within(a->steps, b->steps, is_same_cut_step);
}

/* What a checker finds after a power cut during recovery, it finds without that one, too. */
static bool explains_unreduced(const struct as_hunt_sign *a, const char *a_name,
			       const struct as_hunt_sign *b, const char *b_name)
{
	enum harm a_harm = harm_of(a_name);

	if (!is_reduced(a) || freedom_of(a) != IN_ORDER || !freedom_of(b))
		return false;
	if (freedom_of(b) == AGAIN)
		return strstr(b->cause, "full check") && a_harm >= UNTIDY;
	return is_wrong_always(a, a_name, harm_of(b_name));
}

/* The names of their groups are given, too. */
static bool explains(const struct as_hunt_sign *a, const char *a_name, const struct as_hunt_sign *b,
		     const char *b_name)
{
	const char *last = a->steps ? last_step(a->steps) : "";

	/* Before it is reduced, a kind is only known by its symptom. */
	if (!is_reduced(b))
		return (as_signature_same_symptom(a_name, b_name) &&
			(is_reduced(a) || is_smaller(a, b))) ||
		       explains_unreduced(a, a_name, b, b_name);
	if (freedom_of(b))
		return explains_cut(a, a_name, b, b_name);
	/* Who has an old size appends in the wrong place, and not the other way round. */
	if (is_older(a) && strstr(b->cause, "O_APPEND"))
		return true;
	if (is_older(b))
		return false;
	if (same_without_flag(a, b))
		return true;
	if (!*last || !b->steps || !is_smaller(a, b) || is_plain(last))
		return false;
	return (has_flag(last) && steps_within(last, b->steps, is_same_step)) ||
	       steps_within(a->steps, b->steps, is_same_step);
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
	if (freedom_of(&s->signs[kind]) == REORDERED)
		as_buf_adds(&name, "; writes reordered");
	g->of[kind] = find_group(g, as_buf_str(&name));
	group = &g->groups[g->of[kind]];
	if (!group->kinds || is_smaller(&s->signs[kind], &s->signs[group->example]))
		group->example = kind;
	group->kinds++;
	group->count += s->signs[kind].count;
	as_buf_free(&name);
}

/* Kinds that are not reduced, of a hunt that cuts the power: where others are, it is not known
 * whether they are more of the same. So they are not listed as causes of their own. */
static void pool_unreduced(struct as_hunt_groups *g, const struct as_hunt_state *s, size_t *by)
{
	size_t pool = g->n;
	bool reduced = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct as_hunt_sign *sign = &s->signs[g->groups[i].example];

		reduced = reduced || (freedom_of(sign) && sign->reduced != AS_HUNT_UNREDUCED);
	}
	for (size_t i = 0; i < g->n && reduced; i++) {
		const struct as_hunt_sign *sign = &s->signs[g->groups[i].example];

		if (by[i] != i || is_reduced(sign))
			continue;
		if (pool == g->n) {
			pool = i;
			free(g->groups[i].name);
			g->groups[i].name = as_xstrdup(AS_HUNT_UNREDUCED_NAME);
		}
		by[i] = pool;
	}
}

/* Whether group a explains group i better than group b: it has its symptom, or is the shorter. */
static bool is_nearer(const struct as_hunt_groups *g, const struct as_hunt_state *s, size_t a,
		      size_t b, size_t i)
{
	bool same_a = as_signature_same_symptom(g->groups[a].name, g->groups[i].name);
	bool same_b = as_signature_same_symptom(g->groups[b].name, g->groups[i].name);

	if (same_a != same_b)
		return same_a;
	return is_smaller(&s->signs[g->groups[a].example], &s->signs[g->groups[b].example]);
}

/* The group that explains this one; itself: none. */
static size_t explained_by(const struct as_hunt_groups *g, const struct as_hunt_state *s, size_t i)
{
	const struct as_hunt_sign *sign = &s->signs[g->groups[i].example];
	size_t best = i;

	for (size_t k = 0; k < g->n; k++)
		if (k != i &&
		    explains(&s->signs[g->groups[k].example], g->groups[k].name, sign,
			     g->groups[i].name) &&
		    (best == i || is_nearer(g, s, k, best, i)))
			best = k;
	return best;
}

static size_t root_of(const size_t *by, size_t i)
{
	while (by[i] != i)
		i = by[i];
	return i;
}

/* Several causes have this symptom, and nobody knows which of them it is. */
static bool is_ambiguous(const struct as_hunt_groups *g, const struct as_hunt_state *s,
			 const size_t *by, size_t i)
{
	size_t only = g->n;

	for (size_t k = 0; k < g->n; k++) {
		if (!is_reduced(&s->signs[g->groups[k].example]) ||
		    !as_signature_same_symptom(g->groups[k].name, g->groups[i].name))
			continue;
		if (only != g->n && only != root_of(by, k))
			return true;
		only = root_of(by, k);
	}
	return false;
}

/* Finds out who is explained by whom: those that are reduced first, then those that are not. */
static void explain_all(const struct as_hunt_groups *g, const struct as_hunt_state *s, size_t *by)
{
	for (size_t i = 0; i < g->n; i++)
		by[i] = i;
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < g->n; i++) {
			const struct as_hunt_sign *sign = &s->signs[g->groups[i].example];
			size_t to;

			if (is_reduced(sign) != !turn ||
			    (turn && freedom_of(sign) && is_ambiguous(g, s, by, i)))
				continue;
			to = explained_by(g, s, i);
			/* Two that would explain each other stay apart. */
			if (root_of(by, to) != i)
				by[i] = to;
		}
}

static void join(struct as_hunt_groups *g, const struct as_hunt_state *s)
{
	size_t *by = as_xcalloc(g->n + 1, sizeof(*by));

	explain_all(g, s, by);
	pool_unreduced(g, s, by);
	for (size_t i = 0; i < g->n; i++) {
		size_t to = root_of(by, i);

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
