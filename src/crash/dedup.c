/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dedup: see dedup.h. The set is a base/digests in shared memory. Its address space is reserved for
 * the largest size, and it takes memory only where it was touched.
 */
#include "crash/dedup.h"

#include "base/digests.h"
#include "base/err.h"
#include "os/memory.h"

#include <string.h>

#define MOST_SLOTS ((size_t)1 << 24)

struct as_dedup {
	struct as_digests set;
	struct as_table_slot place[];
};

#define PLACE_BYTES (MOST_SLOTS * sizeof(struct as_table_slot))
#define DEDUP_BYTES (sizeof(struct as_dedup) + PLACE_BYTES)

_Static_assert(AS_DEDUP_MAX == MOST_SLOTS / 4 * 3, "a table is full at three quarters");

struct as_dedup *as_dedup_new(void)
{
	struct as_dedup *dedup = as_memory_reserve(DEDUP_BYTES, -1);

	if (!dedup)
		as_out_of_memory(DEDUP_BYTES);
	as_table_place(&dedup->set.table, dedup->place, PLACE_BYTES);
	return dedup;
}

void as_dedup_free(struct as_dedup *dedup)
{
	as_memory_give_back(dedup, DEDUP_BYTES);
}

bool as_dedup_has(struct as_dedup *dedup, struct as_digest key)
{
	return as_digests_has(&dedup->set, key);
}

void as_dedup_add(struct as_dedup *dedup, struct as_digest key)
{
	as_digests_add(&dedup->set, key);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The small numbers bound into digests tell kinds of keys apart. */

struct as_digest as_dedup_state(const struct as_recording *rec, struct as_digest disk,
				struct as_moment moment)
{
	size_t begun = moment.begun < rec->n_ops ? moment.begun : rec->n_ops;
	struct as_digest window;

	if (rec->raced)
		window = as_digest_bind(as_digest_bind(rec->upto[0], moment.begun + 3),
					moment.done + 3);
	else
		window = as_digest_bind(rec->upto[begun], moment.done + 3);

	return as_digest_add(as_digest_bind(disk, 5), window);
}

struct as_digest as_dedup_recrash(struct as_digest disk, enum as_way way, bool after_checker,
				  const struct as_tree *tree)
{
	return as_digest_add(as_digest_bind(disk, 11 + way + (after_checker ? 100 : 0)),
			     as_digest_bind(as_tree_digest(tree), 13));
}

struct as_digest as_dedup_tree(const struct as_recording *rec, const struct as_tree *tree)
{
	return as_digest_add(as_digest_bind(as_tree_digest(tree), 23),
			     as_digest_bind(rec->upto[rec->raced ? 0 : rec->n_ops], 31));
}

struct as_digest as_dedup_problem(const char *signature)
{
	return as_digest_bind(as_hash(signature, strlen(signature)), 29);
}

struct as_digest as_dedup_twin(enum as_way way, const struct as_recovered *recovered)
{
	struct as_digest key = as_digest_bind(as_tree_digest(recovered->tree), 17 + way);

	for (size_t i = 0; i < as_reclog_len(recovered->log); i++) {
		const struct as_log_entry *e = as_reclog_at(recovered->log, i);

		if (e->kind == AS_CALL_READ)
			continue;
		key = as_digest_bind(key, e->off ^ e->len << 40 ^ (uint64_t)e->kind << 60);
		if (e->data)
			key = as_digest_add(key, as_hash(e->data, e->len));
	}
	return key;
}
