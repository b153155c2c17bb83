/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal: see legal.h. What a moment allows depends on a few numbers only: how many promises had
 * been given, with and without the operation that was under way, how often mount options had
 * changed and inodes were touched, and the last point that can have been reached. So verdicts are
 * remembered by these numbers and the digests of the tree: most crash states of a workload are
 * recovered to a few trees.
 */
#include "legal/legal.h"

#include "base/array.h"
#include "base/table.h"
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

/* All that a verdict depends on. */
struct moment_key {
	uint32_t n_promises, n_begun, n_alone, n_policies, n_touches, hi, commit;
};

struct remembered {
	struct as_digest tree, rest; /* of what is compared, and of the rest */
	struct moment_key moment;
	uint32_t said; /* what was said of it, from 1; 0: it is legal */
	uint32_t oldest, newest;
	bool unjudged;
};

struct said {
	enum as_rule rule;
	size_t op;
	char *why, *signature;
};

struct legal_cache {
	struct remembered *item;
	size_t n, cap;
	struct as_table table; /* of items */
	struct said *said;
	uint32_t n_said;
	size_t cap_said;
	uint32_t *scratch;
	size_t cap_scratch;
	size_t ops; /* of the history when it was made */
};

static void cache_clear(struct legal_cache *c)
{
	for (uint32_t i = 0; i < c->n_said; i++) {
		free(c->said[i].why);
		free(c->said[i].signature);
	}
	as_table_free(&c->table);
	c->n = c->n_said = 0;
}

static void cache_free(struct legal_cache *c)
{
	cache_clear(c);
	free(c->item);
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
	/* Operations that were added since may allow more at a moment that was the last one. */
	if (h->cache->ops != h->ops->n) {
		cache_clear(h->cache);
		h->cache->ops = h->ops->n;
	}
	return h->cache;
}

struct cache_key {
	const struct legal_cache *cache;
	const struct remembered *key;
};

static bool is_item(const void *ctx, size_t index)
{
	const struct cache_key *k = ctx;
	const struct remembered *item = &k->cache->item[index];

	return as_digest_eq(item->tree, k->key->tree) && as_digest_eq(item->rest, k->key->rest) &&
	       memcmp(&item->moment, &k->key->moment, sizeof(item->moment)) == 0;
}

static uint64_t hash_of(const struct remembered *key)
{
	return as_mix64(key->tree.lo ^ key->rest.lo ^ as_hash64(&key->moment, sizeof(key->moment)));
}

static void remember(struct legal_cache *c, struct remembered key, const struct as_legal *verdict)
{
	if (c->n >= CACHE_MAX)
		cache_clear(c);
	key.unjudged = verdict->unjudged;
	key.oldest = verdict->oldest;
	key.newest = verdict->newest;
	if (!verdict->legal) {
		AS_ARRAY_ROOM(c->said, c->n_said, c->cap_said);
		c->said[c->n_said++] = (struct said){
			.rule = verdict->rule,
			.op = verdict->op,
			.why = as_xstrdup(as_buf_str(&verdict->why)),
			.signature = as_xstrdup(as_buf_str(&verdict->signature)),
		};
		key.said = c->n_said;
	}
	AS_ARRAY_ROOM(c->item, c->n, c->cap);
	c->item[c->n] = key;
	as_table_add(&c->table, hash_of(&key), c->n++);
}

static bool recall(const struct legal_cache *c, const struct remembered *key,
		   struct as_legal *verdict)
{
	struct cache_key k = { c, key };
	size_t at = as_table_find(&c->table, hash_of(key), is_item, &k);
	uint32_t n_said;

	if (at == AS_TABLE_NONE)
		return false;
	n_said = c->item[at].said;
	verdict->legal = !n_said;
	verdict->unjudged = c->item[at].unjudged;
	verdict->oldest = c->item[at].oldest;
	verdict->newest = c->item[at].newest;
	if (n_said) {
		const struct said *said = &c->said[n_said - 1];

		verdict->rule = said->rule;
		verdict->op = said->op;
		as_buf_adds(&verdict->why, said->why);
		as_buf_adds(&verdict->signature, said->signature);
	}
	return true;
}

/* ---- Judging ---- */

#define FOUND "lost+found"

/* How many policies operations 0..begun-1 have brought. */
static uint32_t policies_until(const struct as_history *h, size_t begun)
{
	uint32_t n = 1;

	while (n < h->n_policies && h->policy[n].op < begun)
		n++;
	return n;
}

/* Mount options may have changed: the weakest policy since everything was stable last. */
static struct as_policy policy_for(const struct as_legal_judge *j)
{
	const struct as_history *h = j->h;
	size_t since = j->synced_by ? j->synced_by->op : 0;
	struct as_policy weakest;
	uint32_t first = 0;

	for (uint32_t i = 0; i < h->n_policies; i++)
		if (j->synced_by && h->policy[i].op <= since)
			first = i;
	weakest = h->policy[first].policy;
	for (uint32_t i = first + 1; i < policies_until(h, j->moment.begun); i++) {
		const struct as_policy *policy = &h->policy[i].policy;

		weakest.none |= policy->none;
		weakest.light_fsync |= policy->light_fsync;
		weakest.whole_data &= policy->whole_data;
		weakest.in_place |= policy->in_place;
		weakest.replaces &= policy->replaces;
		if (policy->data > weakest.data)
			weakest.data = policy->data;
	}
	return weakest;
}

/* What had been promised at the moment, and what can have been reached. */
static void set_moment(struct as_legal_judge *j)
{
	const struct as_history *h = j->h;

	j->n_promises = as_stable_promises(h, j->moment.done);
	j->n_begun = as_stable_promises(h, j->moment.begun);
	j->n_touches = as_stable_touches(h, j->moment.wrote && j->moment.wrote < j->moment.begun
						    ? j->moment.wrote
						    : j->moment.begun);
	j->hi = h->after[j->moment.begun];
	j->synced_by = as_stable_last_sync(h, j->n_promises);
	j->synced = j->synced_by ? j->synced_by->point : 0;
	j->policy = policy_for(j);
	if (j->commit) {
		/* Promises that a sync repeats are kept by it; the later ones are those of logs. */
		j->n_promises = j->synced_by ? (uint32_t)(j->synced_by - h->promise) + 1 : 0;
		j->n_begun = j->n_promises;
		j->policy.guarantee = AS_GUARANTEE_PREFIX;
	}
}

bool as_legal_is_ordered(const struct as_history *h, struct as_moment moment)
{
	struct as_legal_judge j = { .h = h, .moment = moment };

	if (moment.begun > as_history_known(h))
		return true;
	set_moment(&j);
	return !j.policy.none;
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

enum way_to { MOUNTED, COMMIT, CHECKED };

static bool judge_at(struct as_history *h, struct as_moment moment, const struct as_tree *tree,
		     enum way_to way, struct as_legal *verdict)
{
	struct as_legal_judge j = { .h = h,
				    .moment = moment,
				    .tree = tree,
				    .commit = way == COMMIT,
				    .checked = way == CHECKED,
				    .verdict = verdict };
	struct legal_cache *cache = cache_of(h);
	struct remembered key;

	as_assert(moment.done <= moment.begun && moment.begun <= h->ops->n);
	as_buf_clear(&verdict->why);
	as_buf_clear(&verdict->signature);
	verdict->op = AS_LEGAL_NO_OP;
	verdict->rule = AS_RULE_PREFIX;
	verdict->oldest = verdict->newest = AS_LEGAL_NO_POINT;
	if (moment.begun > as_history_known(h) || as_tree_is_cut(tree))
		return as_it_is(verdict, true);
	verdict->unjudged = false;
	set_moment(&j);
	key = (struct remembered){
		.tree = as_tree_digest(tree),
		.rest = as_tree_digest_of_rest(tree),
		.moment = { j.n_promises, j.n_begun, as_stable_alone(h, moment.begun),
			    policies_until(h, moment.begun), j.n_touches, j.hi, way },
	};
	if (j.policy.none)
		return as_it_is(verdict, true);
	if (recall(cache, &key, verdict))
		return verdict->legal;
	AS_ARRAY_ROOM_FOR(cache->scratch, 0, as_tree_len(tree), cache->cap_scratch);
	j.ino = cache->scratch;
	verdict->legal = judge(&j);
	remember(cache, key, verdict);
	return verdict->legal;
}

bool as_legal_judge(struct as_history *h, struct as_moment moment, const struct as_tree *tree,
		    struct as_legal *verdict)
{
	return judge_at(h, moment, tree, MOUNTED, verdict);
}

bool as_legal_judge_commit(struct as_history *h, struct as_moment moment,
			   const struct as_tree *tree, struct as_legal *verdict)
{
	return judge_at(h, moment, tree, COMMIT, verdict);
}

bool as_legal_judge_quotas(struct as_history *h, struct as_moment moment,
			   const struct as_tree *tree, struct as_legal *verdict)
{
	struct as_legal_judge j = { .h = h, .moment = moment, .tree = tree, .verdict = verdict };

	if (moment.begun > as_history_known(h) || as_tree_is_cut(tree))
		return true;
	set_moment(&j);
	return verdict->legal = j.policy.none || as_legal_quotas(&j);
}

bool as_legal_judge_redone(struct as_history *h, struct as_moment moment,
			   const struct as_tree *tree)
{
	struct as_legal verdict = { 0 };
	bool legal = h->policy[0].policy.redo_differs && as_legal_judge(h, moment, tree, &verdict);

	as_legal_free(&verdict);
	return legal;
}

struct as_tree *as_legal_without_found(const struct as_history *h, const struct as_tree *tree,
				       bool again)
{
	/* e2fsck/pass3.c, e2fsck_reconnect_file(): what has no name is called "#11". */
	const char *litter = again ? "#" : NULL;

	return h->policy[0].policy.makes_found ? as_tree_without(tree, FOUND, litter) : NULL;
}

bool as_legal_judge_checked(struct as_history *h, struct as_moment moment,
			    const struct as_tree *tree, struct as_legal *verdict)
{
	struct as_tree *without;

	if (judge_at(h, moment, tree, CHECKED, verdict))
		return true;
	without = as_legal_without_found(h, tree, false);
	/* If it has to be there, the first verdict says more. */
	if (without && !judge_at(h, moment, without, CHECKED, verdict) &&
	    as_history_child_at(h, ROOT_INO, FOUND, h->after[moment.begun]))
		(void)judge_at(h, moment, tree, CHECKED, verdict);
	as_tree_put(without);
	return verdict->legal;
}

void as_legal_free(struct as_legal *verdict)
{
	as_buf_free(&verdict->why);
	as_buf_free(&verdict->signature);
	memset(verdict, 0, sizeof(*verdict));
}
