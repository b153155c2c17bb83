/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perm: crash states (see perm.h).
 *
 * Method. A state is a base disk and a set of kept units that are laid over it in the order of
 * issue. The base is the disk as it was, all writes in order, at some cut: at the one before for
 * the synchronous views, behind the last flush for the others. Those disks are snapshots, made as
 * they are needed, one from the other.
 *
 * Keys. The key of a disk is that of the start disk plus, for each sector that ever changed, the
 * digest of what is there minus the digest of what was (as sums of a multiset, each bound to the
 * sector's number). So the key of a state is the base's plus the differences of the kept units.
 * Where two units of a state touch one sector the later kept one wins: such sectors are kept apart
 * (`shared`), all others are summed up per unit beforehand, and a key costs an addition a unit.
 *
 * Invariants
 *   1. writes[] is strictly rising; those pending at a cut are a slice of it.
 *   2. keys[k] is the key of disks[k], for every k below n_made.
 *   3. sums[] holds, sector by sector of 512 bytes, the bound digest of every write in writes[].
 *   4. Each slot is one sector that some write of the current base's span touches; slot_of[] is
 *      parallel to sums[] and valid for the writes span_first..span_end-1.
 */
#include "crash/perm.h"

#include "base/choice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SECTOR 512u

struct cut {
	size_t at;
	size_t first, end; /* of writes[]: pending */
	uint32_t op, next_op;
	size_t base; /* the cut whose disk is stable here */
	bool flushed;
};

struct unit {
	size_t write; /* of writes[] */
	uint64_t off, len;
	struct as_digest delta; /* of the sectors that no other unit touches */
};

/* A unit that touches a slot, and the one before it that does. */
struct touch {
	struct as_digest sum;
	uint32_t unit, before; /* UINT32_MAX: none */
};

struct slot {
	uint64_t sector;
	struct as_digest base; /* what is there without any unit */
	uint32_t last; /* of touches[], UINT32_MAX: none */
	uint32_t count;
};

enum stage { STAGE_MASKS, STAGE_SEVERAL, STAGE_TRIALS, STAGE_END };

struct as_perm {
	const struct as_reclog *log;
	struct as_perm_options options;
	size_t *writes, n_writes;
	size_t *sum_at; /* where the digests of a write begin */
	struct as_digest *sums;
	uint32_t *slot_of;
	struct cut *cuts;
	size_t n_cuts;
	struct as_disk **disks; /* as all writes in order leave it at that cut */
	struct as_digest *keys;
	size_t n_made;

	struct slot *slots;
	size_t n_slots, slots_cap;
	size_t span_base, span_first, span_end; /* what the slots are of */
	struct touch *touches;
	size_t touches_cap;
	uint32_t *shared; /* slots that several units touch */
	size_t n_shared, shared_cap;

	/* The states that follow. */
	enum as_view view;
	size_t cut, base;
	bool all;
	struct unit *units;
	size_t n_units, units_cap;
	size_t last_first; /* the first unit of the last write */
	bool *keep;
	size_t keep_cap;
	enum stage stage;
	uint64_t step, index;
	struct as_chooser *chooser;
};

/* ---- Views ----------------------------------------------------------------------------------- */

const char *as_view_name(enum as_view view)
{
	static const char *const names[AS_VIEWS] = {
		[AS_VIEW_SYNC_ATOMIC] = "writes in order, each whole",
		[AS_VIEW_SYNC_LEFT] = "writes in order, the last one torn from the left",
		[AS_VIEW_ATOMIC] = "writes reordered, each whole",
		[AS_VIEW_SYNC_SECTORS] = "writes in order, the last one torn anyhow",
		[AS_VIEW_SECTORS] = "sectors reordered",
	};

	return view >= 1 && view < AS_VIEWS ? names[view] : "?";
}

int as_views_parse(const char *text, uint32_t *views, struct as_err *err)
{
	*views = 0;
	if (!strcmp(text, "all")) {
		*views = AS_VIEWS_ALL;
		return 0;
	}
	for (const char *s = text; *s; s += s[1] ? 2 : 1) {
		if (*s < '1' || *s >= '0' + AS_VIEWS || (s[1] && (s[1] != ',' || !s[2])))
			return as_fail(err, AS_EUSE,
				       "'%.40s' is no view: 1 to 5, several with commas, or all",
				       text);
		*views |= 1u << (*s - '0');
	}
	return *views ? 0 : as_fail(err, AS_EUSE, "no view was given: 1 to 5, or all");
}

/* ---- The record ------------------------------------------------------------------------------ */

static struct as_digest sum_of(const void *data, uint64_t sector)
{
	return as_digest_bind(as_hash(data, KEY_SECTOR), sector);
}

static const unsigned char zeros[KEY_SECTOR];

static void sum_write(struct as_perm *p, size_t w)
{
	const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);
	struct as_digest zero = as_hash(zeros, KEY_SECTOR);
	uint64_t first = e->off / KEY_SECTOR;

	for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
		p->sums[p->sum_at[w] + i] = e->kind == AS_CALL_WRITE
						    ? sum_of(e->data + i * KEY_SECTOR, first + i)
						    : as_digest_bind(zero, first + i);
}

static void add_cut(struct as_perm *p, size_t at, bool flushed)
{
	size_t len = as_reclog_len(p->log), k = p->n_cuts++;
	struct cut *cut = &p->cuts[k];
	bool stable = flushed && !p->options.lying_flush;

	cut->at = at;
	cut->end = p->n_writes;
	cut->flushed = flushed;
	cut->first = k && !stable ? p->cuts[k - 1].first : p->n_writes;
	cut->base = k && !stable ? p->cuts[k - 1].base : k;
	cut->op = at ? as_reclog_at(p->log, at - 1)->op : AS_RECLOG_NO_OP;
	cut->next_op = at < len ? as_reclog_at(p->log, at)->op : AS_RECLOG_NO_OP;
}

static void read_log(struct as_perm *p)
{
	size_t len = as_reclog_len(p->log), n_sums = 0;

	p->writes = as_xcalloc(len + 1, sizeof(*p->writes));
	p->sum_at = as_xcalloc(len + 1, sizeof(*p->sum_at));
	p->cuts = as_xcalloc(len + 1, sizeof(*p->cuts));
	add_cut(p, 0, false);
	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *e = as_reclog_at(p->log, i);
		bool flush = e->kind == AS_CALL_FLUSH && !e->ret;

		if (as_log_entry_changes(e)) {
			p->sum_at[p->n_writes] = n_sums;
			p->writes[p->n_writes++] = i;
			n_sums += e->len / KEY_SECTOR;
		} else if (!flush) {
			continue;
		}
		add_cut(p, i + 1, flush);
	}
	p->sum_at[p->n_writes] = n_sums;
	p->sums = as_xcalloc(n_sums + 1, sizeof(*p->sums));
	p->slot_of = as_xcalloc(n_sums + 1, sizeof(*p->slot_of));
	for (size_t w = 0; w < p->n_writes; w++)
		sum_write(p, w);
}

struct as_perm *as_perm_new(const struct as_reclog *log, struct as_disk *start,
			    const struct as_perm_options *options)
{
	struct as_perm *p = as_xcalloc(1, sizeof(*p));

	as_assert(options->t <= AS_PERM_T_MAX);
	as_assert(options->sector_bytes && options->sector_bytes % KEY_SECTOR == 0);
	p->log = log;
	p->options = *options;
	p->span_base = SIZE_MAX;
	p->stage = STAGE_END;
	read_log(p);
	p->disks = as_xcalloc(p->n_cuts, sizeof(*p->disks));
	p->keys = as_xcalloc(p->n_cuts, sizeof(*p->keys));
	p->disks[0] = as_disk_snapshot(start);
	p->keys[0] = options->start_key;
	if (as_digest_eq(p->keys[0], AS_DIGEST_ZERO))
		p->keys[0] = as_disk_digest(start);
	p->n_made = 1;
	return p;
}

void as_perm_free(struct as_perm *p)
{
	if (!p)
		return;
	for (size_t k = 0; k < p->n_made; k++)
		as_disk_free(p->disks[k]);
	free(p->disks);
	free(p->keys);
	free(p->writes);
	free(p->sum_at);
	free(p->sums);
	free(p->slot_of);
	free(p->cuts);
	free(p->slots);
	free(p->touches);
	free(p->shared);
	free(p->units);
	free(p->keep);
	as_chooser_free(p->chooser);
	free(p);
}

size_t as_perm_cuts(const struct as_perm *p)
{
	return p->n_cuts;
}

struct as_perm_cut as_perm_cut(const struct as_perm *p, size_t k)
{
	const struct cut *cut = &p->cuts[k];

	as_assert(k < p->n_cuts);
	return (struct as_perm_cut){
		.at = cut->at,
		.base_end = p->cuts[cut->base].at,
		.n_pending = cut->end - cut->first,
		.op = cut->op,
		.next_op = cut->next_op,
		.flushed = cut->flushed,
	};
}

/* ---- Disks ----------------------------------------------------------------------------------- */

static struct as_digest sum_on_disk(struct as_disk *disk, uint64_t sector)
{
	unsigned char data[KEY_SECTOR];
	int rc = as_bd_read(as_disk_bd(disk), sector * KEY_SECTOR, data, sizeof(data));

	as_assert(!rc);
	return sum_of(data, sector);
}

static void make_next(struct as_perm *p)
{
	size_t k = p->n_made++, w = p->cuts[k].end - 1;
	const struct as_log_entry *e;
	int rc;

	p->disks[k] = as_disk_snapshot(p->disks[k - 1]);
	p->keys[k] = p->keys[k - 1];
	if (p->cuts[k].flushed)
		return;
	e = as_reclog_at(p->log, p->writes[w]);
	for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++) {
		struct as_digest was = sum_on_disk(p->disks[k], e->off / KEY_SECTOR + i);

		p->keys[k] =
			as_digest_add(p->keys[k], as_digest_sub(p->sums[p->sum_at[w] + i], was));
	}
	rc = as_log_entry_apply(e, as_disk_bd(p->disks[k]));
	as_assert(!rc);
}

static struct as_disk *disk_at(struct as_perm *p, size_t k)
{
	while (p->n_made <= k)
		make_next(p);
	return p->disks[k];
}

struct as_disk *as_perm_disk(struct as_perm *p)
{
	struct as_disk *disk = as_disk_snapshot(disk_at(p, p->base));

	for (size_t u = 0; u < p->n_units; u++) {
		const struct unit *unit = &p->units[u];
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[unit->write]);
		struct as_log_entry part = *e;
		int rc;

		if (!p->keep[u])
			continue;
		part.off = unit->off;
		part.len = unit->len;
		part.data = e->data ? e->data + (unit->off - e->off) : NULL;
		rc = as_log_entry_apply(&part, as_disk_bd(disk));
		as_assert(!rc);
	}
	return disk;
}

/* ---- Slots: what the units of a span touch --------------------------------------------------- */

static int by_sector(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

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

/* Of writes first..end-1 over the disk at cut `base`. */
static void make_slots(struct as_perm *p, size_t base, size_t first, size_t end)
{
	size_t n = p->sum_at[end] - p->sum_at[first], kept = 0;

	if (p->span_base == base && p->span_first == first && p->span_end == end)
		return;
	p->span_base = base;
	p->span_first = first;
	p->span_end = end;
	if (n > p->slots_cap) {
		p->slots_cap = n * 2;
		p->slots = as_xrealloc(p->slots, p->slots_cap * sizeof(*p->slots));
	}
	n = 0;
	for (size_t w = first; w < end; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);

		for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
			p->slots[n++] = (struct slot){ .sector = e->off / KEY_SECTOR + i };
	}
	qsort(p->slots, n, sizeof(*p->slots), by_sector);
	for (size_t i = 0; i < n; i++)
		if (!kept || p->slots[kept - 1].sector != p->slots[i].sector)
			p->slots[kept++] = p->slots[i];
	p->n_slots = kept;
	for (size_t i = 0; i < kept; i++)
		p->slots[i].base = sum_on_disk(disk_at(p, base), p->slots[i].sector);
	for (size_t w = first; w < end; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);

		for (uint64_t i = 0; i < e->len / KEY_SECTOR; i++)
			p->slot_of[p->sum_at[w] + i] = slot_find(p, e->off / KEY_SECTOR + i);
	}
}

/* Who touches what; the sectors that are one unit's alone are summed up in it. */
static void make_touches(struct as_perm *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_slots; i++) {
		p->slots[i].last = UINT32_MAX;
		p->slots[i].count = 0;
	}
	for (size_t u = 0; u < p->n_units; u++) {
		const struct unit *unit = &p->units[u];
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[unit->write]);
		size_t at = p->sum_at[unit->write] + (unit->off - e->off) / KEY_SECTOR;

		for (uint64_t i = 0; i < unit->len / KEY_SECTOR; i++, n++) {
			struct slot *slot = &p->slots[p->slot_of[at + i]];

			if (n == p->touches_cap) {
				p->touches_cap = p->touches_cap ? p->touches_cap * 2 : 256;
				p->touches = as_xrealloc(p->touches,
							 p->touches_cap * sizeof(*p->touches));
			}
			p->touches[n] = (struct touch){ p->sums[at + i], (uint32_t)u, slot->last };
			slot->last = (uint32_t)n;
			slot->count++;
		}
	}
	if (p->shared_cap < p->n_slots) {
		p->shared_cap = p->n_slots * 2;
		p->shared = as_xrealloc(p->shared, p->shared_cap * sizeof(*p->shared));
	}
	p->n_shared = 0;
	for (size_t i = 0; i < p->n_slots; i++) {
		const struct slot *slot = &p->slots[i];
		const struct touch *touch = slot->count ? &p->touches[slot->last] : NULL;

		if (slot->count > 1)
			p->shared[p->n_shared++] = (uint32_t)i;
		else if (touch)
			p->units[touch->unit].delta = as_digest_add(
				p->units[touch->unit].delta, as_digest_sub(touch->sum, slot->base));
	}
}

static struct as_digest state_key(const struct as_perm *p)
{
	struct as_digest key = p->keys[p->base];

	for (size_t u = 0; u < p->n_units; u++)
		if (p->keep[u])
			key = as_digest_add(key, p->units[u].delta);
	for (size_t i = 0; i < p->n_shared; i++) {
		const struct slot *slot = &p->slots[p->shared[i]];
		uint32_t t = slot->last;

		while (t != UINT32_MAX && !p->keep[p->touches[t].unit])
			t = p->touches[t].before;
		if (t != UINT32_MAX)
			key = as_digest_add(key, as_digest_sub(p->touches[t].sum, slot->base));
	}
	return key;
}

/* ---- Units ----------------------------------------------------------------------------------- */

static void add_unit(struct as_perm *p, size_t write, uint64_t off, uint64_t len)
{
	if (p->n_units == p->units_cap) {
		p->units_cap = p->units_cap ? p->units_cap * 2 : 64;
		p->units = as_xrealloc(p->units, p->units_cap * sizeof(*p->units));
	}
	p->units[p->n_units++] = (struct unit){ .write = write, .off = off, .len = len };
}

static void add_write(struct as_perm *p, size_t write, bool torn)
{
	const struct as_log_entry *e = as_reclog_at(p->log, p->writes[write]);
	uint64_t off = e->off, end = e->off + e->len, sector = p->options.sector_bytes;

	p->last_first = p->n_units;
	while (torn && off / sector < (end - 1) / sector) {
		uint64_t next = (off / sector + 1) * sector;

		add_unit(p, write, off, next - off);
		off = next;
	}
	add_unit(p, write, off, end - off);
}

static bool is_synchronous(enum as_view view)
{
	return view != AS_VIEW_ATOMIC && view != AS_VIEW_SECTORS;
}

/* The writes of the whole group: slots are made once for all its cuts. */
static size_t group_end(const struct as_perm *p, size_t k)
{
	size_t base = p->cuts[k].base;

	while (k + 1 < p->n_cuts && p->cuts[k + 1].base == base)
		k++;
	return p->cuts[k].end;
}

static void make_units(struct as_perm *p, enum as_view view, size_t k)
{
	const struct cut *cut = &p->cuts[k];
	bool torn = view != AS_VIEW_ATOMIC;

	p->view = view;
	p->cut = k;
	p->n_units = p->last_first = 0;
	if (!is_synchronous(view)) {
		p->base = cut->base;
		make_slots(p, cut->base, cut->first, group_end(p, k));
		for (size_t w = cut->first; w < cut->end; w++)
			add_write(p, w, torn);
	} else if (view == AS_VIEW_SYNC_ATOMIC || !k || cut->flushed) {
		p->base = k;
		p->n_slots = 0;
		p->span_base = SIZE_MAX;
	} else {
		p->base = k - 1;
		make_slots(p, k - 1, cut->end - 1, cut->end);
		add_write(p, cut->end - 1, true);
	}
	(void)disk_at(p, p->base);
	make_touches(p);
	if (p->n_units > p->keep_cap || !p->keep) {
		p->keep_cap = p->n_units * 2 + 64;
		p->keep = as_xrealloc(p->keep, p->keep_cap * sizeof(*p->keep));
	}
	memset(p->keep, 0, p->keep_cap * sizeof(*p->keep));
}

/* ---- The states of a cut --------------------------------------------------------------------- */

/* Of the sectors involved, so that the trials are the same every time. */
static uint64_t seed_of(const struct as_perm *p)
{
	uint64_t seed = p->n_units;

	for (size_t u = 0; u < p->n_units; u++)
		seed = as_mix64(seed ^ p->units[u].off) + p->units[u].len;
	return seed;
}

void as_perm_begin(struct as_perm *p, enum as_view view, size_t k, bool all)
{
	as_assert(k < p->n_cuts && view >= 1 && view < AS_VIEWS);
	make_units(p, view, k);
	p->all = all;
	p->step = p->index = 0;
	if (view == AS_VIEW_SYNC_LEFT)
		p->stage = p->n_units ? STAGE_SEVERAL : STAGE_END;
	else if (view == AS_VIEW_SYNC_SECTORS && !p->n_units)
		p->stage = STAGE_END;
	else
		p->stage = p->n_units <= p->options.t ? STAGE_MASKS : STAGE_SEVERAL;
}

/* Whether a subset was not there at an earlier cut. */
static bool is_new(const struct as_perm *p)
{
	if (is_synchronous(p->view) && p->n_units) {
		/* Without any part of the last write: the cut before. */
		for (size_t u = 0; u < p->n_units; u++)
			if (p->keep[u])
				return true;
		return false;
	}
	if (p->all)
		return true;
	if (!p->cut || p->cuts[p->cut].flushed)
		return !p->cut;
	if (!p->n_units)
		return true;
	for (size_t u = p->last_first; u < p->n_units; u++)
		if (p->keep[u])
			return true;
	return false;
}

static bool next_mask(struct as_perm *p)
{
	uint64_t mask = p->step++;

	if (mask >> p->n_units) {
		p->stage = STAGE_END;
		return false;
	}
	for (size_t u = 0; u < p->n_units; u++)
		p->keep[u] = mask >> u & 1;
	return true;
}

/* Steps 0..n: prefixes, the empty and the full one with them. Then all but one; that without the
 * last is a prefix. */
static bool next_several(struct as_perm *p)
{
	uint64_t n = p->n_units, step = p->step++;

	if (step > n && p->view == AS_VIEW_SYNC_LEFT) {
		p->stage = STAGE_END;
		return false;
	}
	if (step >= 2 * n) {
		p->stage = STAGE_TRIALS;
		p->step = 0;
		as_chooser_free(p->chooser);
		p->chooser = as_chooser_seeded(seed_of(p));
		return false;
	}
	for (size_t u = 0; u < n; u++)
		p->keep[u] = step <= n ? u < step : u != step - n - 1;
	return true;
}

/* A random subset of a random size. */
static bool next_trial(struct as_perm *p)
{
	struct as_choice *choice = as_chooser_choice(p->chooser);
	size_t n = p->n_units, left;

	if (p->step++ >= p->options.trials) {
		p->stage = STAGE_END;
		return false;
	}
	left = 1 + as_choose(choice, (unsigned)n - 1);
	for (size_t u = 0; u < n; u++) {
		p->keep[u] = as_choose(choice, (unsigned)(n - u)) < left;
		left -= p->keep[u];
	}
	return true;
}

static void fill_state(const struct as_perm *p, struct as_perm_state *state)
{
	*state = (struct as_perm_state){
		.view = p->view,
		.cut = p->cut,
		.index = p->index,
		.key = state_key(p),
		.n_units = p->n_units,
	};
	for (size_t u = 0; u < p->n_units; u++)
		state->n_kept += p->keep[u];
}

bool as_perm_next(struct as_perm *p, struct as_perm_state *state)
{
	while (p->stage != STAGE_END) {
		bool made = p->stage == STAGE_MASKS	? next_mask(p)
			    : p->stage == STAGE_SEVERAL ? next_several(p)
							: next_trial(p);

		if (!made || !is_new(p))
			continue;
		fill_state(p, state);
		p->index++;
		return true;
	}
	return false;
}

/* ---- States by name -------------------------------------------------------------------------- */

void as_perm_print_units(const struct as_perm *p, struct as_buf *out)
{
	size_t kept = 0, len = out->len;

	for (size_t u = 0; u < p->n_units; u++)
		kept += p->keep[u];
	if (!kept || kept == p->n_units) {
		as_buf_adds(out, !p->n_units || kept ? "all" : "none");
		return;
	}
	for (size_t u = 0; u < p->n_units; u++) {
		size_t end = u;

		if (!p->keep[u])
			continue;
		while (end + 1 < p->n_units && p->keep[end + 1])
			end++;
		as_buf_addf(out, "%s%zu", out->len > len ? "," : "", u + 1);
		if (end > u)
			as_buf_addf(out, "-%zu", end + 1);
		u = end;
	}
}

static bool take_number(const char **s, size_t *n)
{
	char *end;

	if (!isdigit((unsigned char)**s))
		return false;
	*n = strtoul(*s, &end, 10);
	*s = end;
	return *n > 0;
}

static bool take_units(struct as_perm *p, const char *s)
{
	if (!strcmp(s, "none") || !strcmp(s, "all")) {
		memset(p->keep, *s == 'a', p->n_units * sizeof(*p->keep));
		return true;
	}
	while (*s) {
		size_t from, to;

		if (!take_number(&s, &from))
			return false;
		to = from;
		if (*s == '-' && (s++, !take_number(&s, &to)))
			return false;
		if (to > p->n_units || to < from || (*s && *s != ','))
			return false;
		for (size_t u = from; u <= to; u++)
			p->keep[u - 1] = true;
		s += *s == ',';
	}
	return true;
}

bool as_perm_pick(struct as_perm *p, enum as_view view, size_t k, const char *units,
		  struct as_perm_state *state)
{
	if (k >= p->n_cuts || view < 1 || view >= AS_VIEWS)
		return false;
	make_units(p, view, k);
	p->stage = STAGE_END;
	p->index = 0;
	if (!take_units(p, units))
		return false;
	fill_state(p, state);
	return true;
}

struct as_perm_unit as_perm_unit(const struct as_perm *p, size_t i)
{
	const struct unit *unit = &p->units[i];

	as_assert(i < p->n_units);
	return (struct as_perm_unit){ .entry = p->writes[unit->write],
				      .off = unit->off,
				      .len = unit->len,
				      .kept = p->keep[i] };
}
