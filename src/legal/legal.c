/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal: see legal.h. What a moment allows depends on two numbers only: how many promises had been
 * given, and the last point that can have been reached. So verdicts are remembered under these and
 * the digest of the tree: most crash states of a workload recover to a few trees.
 */
#include "legal/legal.h"

#include "legal/legal_priv.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *help;
} rules[AS_RULES] = {
#define RULE(id, name, help) [AS_RULE_##id] = { name, help },
#include "legal/rule.def"
#undef RULE
};

const char *as_rule_name(enum as_rule rule)
{
	return rules[rule].name;
}

/* ---- Remembered verdicts ---- */

#define CACHE_MAX (1u << 20) /* entries, before all are forgotten */

struct remembered {
	struct as_digest tree;
	uint32_t n_promises, hi;
	uint32_t bad; /* 0: empty; 1: legal; else 2 + index of what was said */
};

struct said {
	enum as_rule rule;
	size_t op;
	char *why, *signature;
};

struct legal_cache {
	struct remembered *slot;
	uint32_t mask, n;
	struct said *said;
	uint32_t n_said, cap_said;
	uint32_t *scratch, cap_scratch;
	size_t ops; /* of the history when it was made: it must not have grown */
};

static void cache_clear(struct legal_cache *c)
{
	for (uint32_t i = 0; i < c->n_said; i++) {
		free(c->said[i].why);
		free(c->said[i].signature);
	}
	free(c->slot);
	c->slot = NULL;
	c->mask = c->n = c->n_said = 0;
}

static void cache_free(struct legal_cache *c)
{
	cache_clear(c);
	free(c->said);
	free(c->scratch);
	free(c);
}

static struct legal_cache *cache_of(struct as_history *h)
{
	if (!h->cache) {
		h->cache = as_xcalloc(1, sizeof(*h->cache));
		h->cache_free = cache_free;
	}
	/* Operations added since may widen a window that ended with the last of them. */
	if (h->cache->ops != h->ops->n) {
		cache_clear(h->cache);
		h->cache->ops = h->ops->n;
	}
	return h->cache;
}

static uint32_t place(const struct legal_cache *c, const struct remembered *key)
{
	uint64_t hash =
		as_mix64(key->tree.lo ^ as_mix64((uint64_t)key->n_promises << 32 | key->hi));
	uint32_t at = (uint32_t)hash & c->mask;

	while (c->slot[at].bad &&
	       (!as_digest_eq(c->slot[at].tree, key->tree) ||
		c->slot[at].n_promises != key->n_promises || c->slot[at].hi != key->hi))
		at = (at + 1) & c->mask;
	return at;
}

static void cache_grow(struct legal_cache *c)
{
	struct remembered *old = c->slot;
	uint32_t n = old ? c->mask + 1 : 0;

	c->mask = old ? c->mask * 2 + 1 : 255;
	c->slot = as_xcalloc(c->mask + 1, sizeof(*c->slot));
	for (uint32_t i = 0; i < n; i++)
		if (old[i].bad)
			c->slot[place(c, &old[i])] = old[i];
	free(old);
}

static void remember(struct legal_cache *c, struct remembered key, const struct as_legal *verdict)
{
	if (c->n >= CACHE_MAX)
		cache_clear(c);
	if (!c->slot || c->n * 2 > c->mask)
		cache_grow(c);
	key.bad = 1;
	if (!verdict->legal) {
		if (c->n_said == c->cap_said) {
			c->cap_said = c->cap_said ? c->cap_said * 2 : 16;
			c->said = as_xrealloc(c->said, c->cap_said * sizeof(*c->said));
		}
		key.bad = 2 + c->n_said;
		c->said[c->n_said++] = (struct said){
			.rule = verdict->rule,
			.op = verdict->op,
			.why = as_xstrdup(as_buf_str(&verdict->why)),
			.signature = as_xstrdup(as_buf_str(&verdict->signature)),
		};
	}
	c->slot[place(c, &key)] = key;
	c->n++;
}

static bool recall(const struct legal_cache *c, const struct remembered *key,
		   struct as_legal *verdict)
{
	uint32_t at, bad;

	if (!c->slot)
		return false;
	at = place(c, key);
	bad = c->slot[at].bad;
	if (!bad)
		return false;
	verdict->legal = bad == 1;
	if (bad > 1) {
		const struct said *said = &c->said[bad - 2];

		verdict->rule = said->rule;
		verdict->op = said->op;
		as_buf_adds(&verdict->why, said->why);
		as_buf_adds(&verdict->signature, said->signature);
	}
	return true;
}

/* ---- Judging ---- */

/* Promises of operations 0..done-1. */
static uint32_t promises_by(const struct as_history *h, size_t done)
{
	uint32_t lo = 0, hi = h->n_promises;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (h->promise[mid].op < done)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Options may have changed on the way: of those since everything was stable last, the weakest. */
static struct as_policy policy_for(const struct as_legal_judge *j)
{
	const struct as_history *h = j->h;
	size_t since = 0;
	struct as_policy weakest;
	uint32_t first = 0;

	for (uint32_t i = 0; i < j->n_promises; i++)
		if (h->promise[i].what.kind == AS_PERSIST_ALL)
			since = h->promise[i].op;
	for (uint32_t i = 0; i < h->n_policies; i++)
		if (h->policy[i].op <= since)
			first = i;
	weakest = h->policy[first].policy;
	for (uint32_t i = first + 1; i < h->n_policies && h->policy[i].op < j->moment.begun; i++) {
		const struct as_policy *policy = &h->policy[i].policy;

		weakest.none |= policy->none;
		if (policy->data > weakest.data)
			weakest.data = policy->data;
	}
	return weakest;
}

static bool judge(struct as_legal_judge *j)
{
	switch (j->policy.guarantee) {
	case AS_GUARANTEE_PREFIX:
		return as_legal_prefix(j);
	case AS_GUARANTEE_OBJECT:
		return as_legal_object(j);
	case AS_GUARANTEE_REPAIR:
		return as_legal_repair(j);
	}
	return true;
}

static bool as_it_is(struct as_legal *verdict, bool unjudged)
{
	verdict->unjudged = unjudged;
	return verdict->legal = true;
}

bool as_legal_judge(struct as_history *h, struct as_moment moment, const struct as_tree *tree,
		    struct as_legal *verdict)
{
	struct as_legal_judge j = { .h = h, .moment = moment, .tree = tree, .verdict = verdict };
	struct legal_cache *cache = cache_of(h);
	struct remembered key;

	as_assert(moment.done <= moment.begun && moment.begun <= moment.done + 1 &&
		  moment.begun <= h->ops->n);
	as_buf_clear(&verdict->why);
	as_buf_clear(&verdict->signature);
	verdict->op = AS_LEGAL_NO_OP;
	verdict->rule = AS_RULE_PREFIX;
	if (moment.begun > as_history_known(h) || as_tree_is_cut(tree))
		return as_it_is(verdict, true);
	verdict->unjudged = false;
	j.n_promises = promises_by(h, moment.done);
	j.hi = h->after[moment.begun];
	key = (struct remembered){ as_tree_digest(tree), j.n_promises, j.hi, 0 };
	if (recall(cache, &key, verdict))
		return verdict->legal;
	j.policy = policy_for(&j);
	if (j.policy.none)
		return as_it_is(verdict, true);
	if (cache->cap_scratch < as_tree_len(tree)) {
		cache->cap_scratch = as_tree_len(tree) * 2;
		cache->scratch = as_xrealloc(cache->scratch, cache->cap_scratch * sizeof(uint32_t));
	}
	j.ino = cache->scratch;
	verdict->legal = judge(&j);
	remember(cache, key, verdict);
	return verdict->legal;
}

void as_legal_free(struct as_legal *verdict)
{
	as_buf_free(&verdict->why);
	as_buf_free(&verdict->signature);
	memset(verdict, 0, sizeof(*verdict));
}
