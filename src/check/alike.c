/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alike: see alike.h. */
#include "check/alike.h"

#define PROBES 64u /* slots that a key may be in */
#define MANY 8u /* writes: as many more are of another kind */

uint64_t as_alike_count(struct as_alike *alike, uint64_t key)
{
	key = key ? key : 1;
	for (unsigned i = 0; i < PROBES; i++) {
		unsigned at = (unsigned)((as_mix64(key) + i) % AS_ALIKE_SLOTS);
		uint64_t was = 0;

		if (__atomic_compare_exchange_n(&alike->slot[at].key, &was, key, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    was == key)
			return __atomic_fetch_add(&alike->slot[at].n, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Of each request, as far as a power cut can tell it from others. */
static struct as_digest requests(const struct as_recording *rec)
{
	struct as_digest digest = { 0 };

	for (size_t i = 0; i < as_reclog_len(rec->log); i++) {
		const struct as_log_entry *e = as_reclog_at(rec->log, i);
		bool last = e->op != AS_RECLOG_NO_OP && e->op + 1 >= rec->n_ops;

		if (e->kind == AS_CALL_READ)
			continue;
		digest = as_digest_bind(digest, (uint64_t)e->kind << 8 | (uint64_t)e->fua << 2 |
							(uint64_t)(e->ret != 0) << 1 | last);
		digest = as_digest_bind(digest, e->len);
		digest = as_digest_bind(digest, e->off);
	}
	return digest;
}

uint64_t as_alike_same(const struct as_recording *rec, struct as_digest legal)
{
	struct as_digest digest =
		as_digest_add(as_digest_bind(requests(rec), 3), as_digest_bind(legal, 5));

	return digest.lo ^ digest.hi;
}

uint64_t as_alike_kind(const struct as_recording *rec)
{
	uint64_t of[3] = { 0, 0, rec->n_ops ? rec->seq->ops[rec->n_ops - 1].code : AS_OP_COUNT };

	for (size_t i = 0; i < as_reclog_len(rec->log); i++) {
		const struct as_log_entry *e = as_reclog_at(rec->log, i);

		of[0] += as_log_entry_changes(e);
		of[1] += e->kind == AS_CALL_FLUSH;
	}
	of[0] /= MANY;
	return as_hash64(of, sizeof(of));
}

uint64_t as_alike_budget(struct as_alike *alike, const struct as_recording *rec,
			 struct as_digest legal, uint64_t budget)
{
	uint64_t before;

	if (as_alike_count(alike, as_alike_same(rec, legal)) % AS_ALIKE_SAMPLE)
		return 0;
	before = as_alike_count(alike, as_alike_kind(rec));
	return before < AS_ALIKE_NEW || before % AS_ALIKE_SAMPLE == 0 || budget < AS_ALIKE_LEAST
		       ? budget
		       : AS_ALIKE_LEAST;
}
