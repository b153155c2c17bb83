/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readset: which sectors a recovery read before it wrote them, and what follows for power cuts
 * during it.
 *
 * Claim. Let a recovery begin on disk d and make the writes W, and let S be a part of W that a
 * crash left on the disk. If every sector that S changed (d + S differs from d there) is one that
 * recovery did not read before its own first write there, then recovery of d + S ends with the
 * same disk as that of d.
 * Proof. Step by step both do the same: a read could only differ where S changed a sector that
 * recovery has not yet written, and such a read would come before the first write there. At the
 * end both have made all of W, in order, and S wrote nowhere else.
 *
 * The three rules are the parts of that condition, sector by sector (see recrash.h).
 */
#include "crash/recrash.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR 512u

struct readset_place {
	uint64_t sector;
	uint32_t first_read, first_write; /* entries; UINT32_MAX: never */
};

struct as_readset {
	const struct as_reclog *log;
	struct as_disk *start;
	struct readset_place *places; /* sorted */
	size_t n, cap;
};

static int by_sector(const void *a, const void *b)
{
	const struct readset_place *x = a, *y = b;

	if (x->sector != y->sector)
		return x->sector < y->sector ? -1 : 1;
	return 0;
}

static uint32_t earlier(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

struct as_readset *as_readset_new(const struct as_reclog *log, struct as_disk *start)
{
	struct as_readset *set = as_xcalloc(1, sizeof(*set));
	size_t kept = 0;

	set->log = log;
	set->start = start;
	for (size_t i = 0; i < as_reclog_len(log); i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);
		bool read = e->kind == AS_CALL_READ && !e->ret;

		if (!read && !as_log_entry_changes(e))
			continue;
		AS_ARRAY_ROOM_FOR(set->places, set->n, e->len / SECTOR + 1, set->cap);
		for (uint64_t s = e->off / SECTOR; s < (e->off + e->len) / SECTOR; s++)
			set->places[set->n++] =
				(struct readset_place){ s, read ? (uint32_t)i : UINT32_MAX,
							read ? UINT32_MAX : (uint32_t)i };
	}
	if (set->n)
		qsort(set->places, set->n, sizeof(*set->places), by_sector);
	for (size_t i = 0; i < set->n; i++) {
		struct readset_place *p = &set->places[i],
				     *last = kept ? &set->places[kept - 1] : NULL;

		if (last && last->sector == p->sector) {
			last->first_read = earlier(last->first_read, p->first_read);
			last->first_write = earlier(last->first_write, p->first_write);
		} else {
			set->places[kept++] = *p;
		}
	}
	set->n = kept;
	return set;
}

void as_readset_free(struct as_readset *set)
{
	if (!set)
		return;
	free(set->places);
	free(set);
}

static const struct readset_place *place_of(const struct as_readset *set, uint64_t sector)
{
	struct readset_place key = { .sector = sector };

	if (!set->n)
		return NULL;
	return bsearch(&key, set->places, set->n, sizeof(*set->places), by_sector);
}

static bool is_same(struct as_readset *set, struct as_disk *disk, uint64_t sector)
{
	unsigned char a[SECTOR], b[SECTOR];
	int rc = as_bd_read(as_disk_bd(set->start), sector * SECTOR, a, SECTOR);

	if (!rc)
		rc = as_bd_read(as_disk_bd(disk), sector * SECTOR, b, SECTOR);
	return !rc && !memcmp(a, b, SECTOR);
}

#define MUST_BE_TRIED 0x100u

/* The rules that cover a range written by entry `entry`. */
static unsigned rules_of(struct as_readset *set, size_t entry, uint64_t off, uint64_t len,
			 struct as_disk *disk)
{
	unsigned rules = 0;

	for (uint64_t s = off / SECTOR; s < (off + len) / SECTOR; s++) {
		const struct readset_place *p = place_of(set, s);

		if (p->first_read < p->first_write)
			rules |= is_same(set, disk, s) ? AS_PRUNE_SAME : MUST_BE_TRIED;
		else
			rules |= p->first_read < entry ? AS_PRUNE_OWN : AS_PRUNE_UNREAD;
	}
	return rules;
}

/* Entries 0..n-1 are on the disk of a state, besides its units. */
static size_t whole_entries(struct as_perm *perm, const struct as_perm_state *state)
{
	struct as_perm_cut cut = as_perm_cut(perm, state->cut);
	bool in_order = state->view != AS_VIEW_ATOMIC && state->view != AS_VIEW_SECTORS;

	/* The parts of a torn last write are units. */
	return !in_order ? cut.base_end : cut.at - !!state->n_units;
}

void as_readset_own(const struct as_readset *set, struct as_perm *perm,
		    const struct as_perm_state *state, struct as_disk_reads *reads)
{
	size_t n = whole_entries(perm, state);

	for (size_t i = 0; i < n; i++) {
		const struct as_log_entry *e = as_reclog_at(set->log, i);

		if (as_log_entry_changes(e))
			as_disk_reads_own(reads, e->off, e->len);
	}
	for (size_t u = 0; u < state->n_units + state->n_fixed; u++) {
		struct as_perm_unit unit = as_perm_unit(perm, u);

		if (unit.kept)
			as_disk_reads_own(reads, unit.off, unit.len);
	}
}

unsigned as_readset_prunes(struct as_readset *set, struct as_perm *perm,
			   const struct as_perm_state *state, struct as_disk *disk)
{
	size_t base_end = whole_entries(perm, state);
	unsigned rules = 0;

	for (size_t i = 0; i < base_end; i++) {
		const struct as_log_entry *e = as_reclog_at(set->log, i);

		if (as_log_entry_changes(e))
			rules |= rules_of(set, i, e->off, e->len, disk);
	}
	for (size_t u = 0; u < state->n_units + state->n_fixed; u++) {
		struct as_perm_unit unit = as_perm_unit(perm, u);

		if (unit.kept)
			rules |= rules_of(set, unit.entry, unit.off, unit.len, disk);
	}
	/* Nothing was written at all: this is the recovery that was judged already. */
	if (!rules)
		return AS_PRUNE_SAME;
	return rules & MUST_BE_TRIED ? 0 : rules;
}
