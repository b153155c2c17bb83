/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perm_keys: the keys of crash states; see perm.c. */
#include "cuts/perm_priv.h"

#include "base/array.h"

#include <stdlib.h>

static struct as_digest perm_sum(const void *data, uint64_t sector)
{
	return as_digest_bind(as_hash(data, KEY_SECTOR), sector);
}

static const unsigned char zeros[KEY_SECTOR];

void as_perm_sum_write(struct as_perm *p, size_t w)
{
	const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);
	struct as_digest zero = as_hash(zeros, KEY_SECTOR);
	uint64_t first = e->off / KEY_SECTOR;

	for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
		p->sums[p->sum_at[w] + i] = e->kind == AS_CALL_WRITE
						    ? perm_sum(e->data + i * KEY_SECTOR, first + i)
						    : as_digest_bind(zero, first + i);
}

struct as_digest as_perm_sum_on_disk(struct as_disk *disk, uint64_t sector)
{
	unsigned char data[KEY_SECTOR];
	int rc = as_bd_read(as_disk_bd(disk), sector * KEY_SECTOR, data, sizeof(data));

	as_assert(!rc);
	return perm_sum(data, sector);
}

/* ---- Slots: what the units of a span touch --------------------------------------------------- */

static int by_sector(const void *a, const void *b)
{
	const struct as_perm_slot *x = a, *y = b;

	return x->sector < y->sector ? -1 : x->sector > y->sector;
}

static uint32_t slot_find(const struct as_perm *p, uint64_t sector)
{
	size_t lo = 0, hi = p->n_slots;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->slots[mid].sector <= sector)
			lo = mid;
		else
			hi = mid;
	}
	return (uint32_t)lo;
}

void as_perm_make_slots(struct as_perm *p, size_t base, size_t first, size_t end)
{
	size_t n = p->sum_at[end] - p->sum_at[first], kept = 0;

	if (p->span_base == base && p->span_first == first && p->span_end == end)
		return;
	p->span_base = base;
	p->span_first = first;
	p->span_end = end;
	AS_ARRAY_ROOM_FOR(p->slots, 0, n, p->slots_cap);
	n = 0;
	for (size_t w = first; w < end; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);

		for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
			p->slots[n++] = (struct as_perm_slot){ .sector = e->off / KEY_SECTOR + i };
	}
	if (n)
		qsort(p->slots, n, sizeof(*p->slots), by_sector);
	for (size_t i = 0; i < n; i++)
		if (!kept || p->slots[kept - 1].sector != p->slots[i].sector)
			p->slots[kept++] = p->slots[i];
	p->n_slots = kept;
	for (size_t i = 0; i < kept; i++)
		p->slots[i].base =
			as_perm_sum_on_disk(as_perm_disk_at(p, base), p->slots[i].sector);
	for (size_t w = first; w < end; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);

		for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
			p->slot_of[p->sum_at[w] + i] = slot_find(p, e->off / KEY_SECTOR + i);
	}
}

void as_perm_make_touches(struct as_perm *p)
{
	size_t n = 0, unit = 0, fixed = p->n_units;

	for (size_t i = 0; i < p->n_slots; i++) {
		p->slots[i].last = UINT32_MAX;
		p->slots[i].count = 0;
	}
	while (unit + fixed < 2 * p->n_units + p->n_fixed) {
		size_t u = as_perm_in_order(p, &unit, &fixed);
		const struct as_perm_write *part = &p->units[u];
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[part->write]);
		size_t at = p->sum_at[part->write] + (part->off - e->off) / KEY_SECTOR;

		for (uint64_t i = 0; i < part->len / KEY_SECTOR; i++, n++) {
			struct as_perm_slot *slot = &p->slots[p->slot_of[at + i]];

			AS_ARRAY_ROOM(p->touches, n, p->touches_cap);
			p->touches[n] =
				(struct as_perm_touch){ p->sums[at + i], (uint32_t)u, slot->last };
			slot->last = (uint32_t)n;
			slot->count++;
		}
	}
	AS_ARRAY_ROOM_FOR(p->shared, 0, p->n_slots, p->shared_cap);
	p->n_shared = 0;
	for (size_t i = 0; i < p->n_slots; i++) {
		const struct as_perm_slot *slot = &p->slots[i];
		const struct as_perm_touch *touch = slot->count ? &p->touches[slot->last] : NULL;

		if (slot->count > 1)
			p->shared[p->n_shared++] = (uint32_t)i;
		else if (touch)
			p->units[touch->unit].delta = as_digest_add(
				p->units[touch->unit].delta, as_digest_sub(touch->sum, slot->base));
	}
}

struct as_digest as_perm_key(const struct as_perm *p)
{
	struct as_digest key = p->keys[p->base];

	for (size_t u = 0; u < p->n_units + p->n_fixed; u++)
		if (p->keep[u])
			key = as_digest_add(key, p->units[u].delta);
	for (size_t i = 0; i < p->n_shared; i++) {
		const struct as_perm_slot *slot = &p->slots[p->shared[i]];
		uint32_t t = slot->last;

		while (t != UINT32_MAX && !p->keep[p->touches[t].unit])
			t = p->touches[t].before;
		if (t != UINT32_MAX)
			key = as_digest_add(key, as_digest_sub(p->touches[t].sum, slot->base));
	}
	return key;
}
