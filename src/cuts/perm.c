/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perm: crash states (see perm.h).
 *
 * Method. A state is a base disk and a set of kept units that are applied to it in the order of
 * issue. The base is the disk at some cut, with all writes before it: at the previous cut for the
 * views that keep the order of writes, after the last flush for the others. Those disks are
 * snapshots, each made from the one before when it is needed.
 *
 * Keys. The key of a disk is that of the start disk plus, for each sector that ever changed, the
 * digest of what is there minus the digest of what was there (each bound to the sector's number).
 * So the key of a state is the base's plus the differences of the kept units. Where two units of a
 * state touch one sector, the later kept one counts: such sectors are kept apart (`shared`). All
 * others are summed up for each unit beforehand, so that a key costs one addition for each unit.
 *
 * Invariants
 *   1. writes[] is strictly rising; those pending at a cut are a slice of it.
 *   2. keys[k] is the key of disks[k], for every k below n_made.
 *   3. sums[] holds, sector by sector of 512 bytes, the bound digest of every write in writes[].
 *   4. Each slot is one sector that some write of the current base's span touches; slot_of[] is
 *      parallel to sums[] and valid for the writes span_first..span_end-1.
 */
#include "cuts/perm_priv.h"

#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether a write is in the range of a flush. */
static bool is_within(const struct as_log_entry *e, const struct as_log_entry *flush)
{
	return !flush->len || (e->off >= flush->off && e->off + e->len <= flush->off + flush->len);
}

/* Of writes that are complete, a flush makes those in its range stable, and FUA the one that has
 * it. */
static void make_stable(struct as_perm *p, const struct as_perm_window *was, size_t k, size_t flush)
{
	const struct as_log_entry *by = flush == SIZE_MAX ? NULL : as_reclog_at(p->log, flush);

	for (size_t w = was->first; w < p->n_writes; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);
		bool covered = by ? e->done <= flush && is_within(e, by)
				  : e->fua && e->done <= p->cuts[k].at;

		if (p->stable_from[w] == SIZE_MAX && covered)
			p->stable_from[w] = k;
	}
}

/* The last of writes[], which is pending, or what has become stable. */
static void count_pending(struct as_perm *p, struct as_perm_window *cut,
			  const struct as_perm_window *was)
{
	if (!cut->flushed) {
		cut->first = was->first;
		cut->n_pending = was->n_pending + 1;
		cut->n_sectors = was->n_sectors + p->units_at[cut->end] - p->units_at[cut->end - 1];
		return;
	}
	cut->first = was->first;
	while (cut->first < cut->end && p->stable_from[cut->first] != SIZE_MAX)
		cut->first++;
	for (size_t w = cut->first; w < cut->end; w++)
		if (p->stable_from[w] == SIZE_MAX) {
			cut->n_pending++;
			cut->n_sectors += p->units_at[w + 1] - p->units_at[w];
		}
}

/* What is stable here, but for what is after the first write that is not. */
static size_t base_of(const struct as_perm *p, size_t k)
{
	const struct as_perm_window *cut = &p->cuts[k];

	if (cut->first == cut->end && !p->options.lying_flush)
		return k;
	if (cut->first == p->cuts[k - 1].first)
		return p->cuts[k - 1].base;
	while (p->cuts[k].end > cut->first)
		k--;
	return k;
}

enum cut_kind { CUT_WRITE, CUT_FLUSH, CUT_FUA };

/* at: entries 0..at-1 were issued. */
static void add_cut(struct as_perm *p, size_t at, enum cut_kind kind)
{
	size_t len = as_reclog_len(p->log), k = p->n_cuts++;
	struct as_perm_window *cut = &p->cuts[k];

	cut->at = at;
	cut->end = p->n_writes;
	cut->flushed = kind != CUT_WRITE;
	cut->op = at ? as_reclog_at(p->log, at - 1)->op : AS_RECLOG_NO_OP;
	cut->next_op = at < len ? as_reclog_at(p->log, at)->op : AS_RECLOG_NO_OP;
	if (!k)
		return;
	if (cut->flushed && !p->options.lying_flush)
		make_stable(p, cut - 1, k, kind == CUT_FLUSH ? at - 1 : SIZE_MAX);
	count_pending(p, cut, cut - 1);
	cut->base = base_of(p, k);
}

/* As many units as add_write() makes of a write that may be torn. */
static size_t sectors_of(const struct as_perm *p, const struct as_log_entry *e)
{
	uint64_t sector = p->options.sector_bytes;

	return (size_t)((e->off + e->len - 1) / sector - e->off / sector + 1);
}

static void make_room(struct as_perm *p)
{
	size_t len = as_reclog_len(p->log), n_fua = 0;

	for (size_t i = 0; i < len; i++)
		n_fua += as_reclog_at(p->log, i)->fua;
	p->writes = as_xcalloc(len + 1, sizeof(*p->writes));
	p->stable_from = as_xcalloc(len + 1, sizeof(*p->stable_from));
	p->sum_at = as_xcalloc(len + 1, sizeof(*p->sum_at));
	p->units_at = as_xcalloc(len + 1, sizeof(*p->units_at));
	p->cuts = as_xcalloc(len + n_fua + 1, sizeof(*p->cuts));
}

/* Whether a FUA write was completed after entry i was issued and before the next was. */
static bool fua_completes(const struct as_perm *p, size_t i, size_t *n_fua)
{
	size_t was = *n_fua;

	for (size_t w = p->cuts[p->n_cuts - 1].first; *n_fua && w < p->n_writes; w++) {
		const struct as_log_entry *e = as_reclog_at(p->log, p->writes[w]);

		*n_fua -= e->fua && e->done == i + 1;
	}
	return *n_fua < was;
}

static void read_log(struct as_perm *p)
{
	size_t len = as_reclog_len(p->log), n_sums = 0, n_fua = 0;

	make_room(p);
	add_cut(p, 0, CUT_WRITE);
	for (size_t i = 0; i < len; i++) {
		const struct as_log_entry *e = as_reclog_at(p->log, i);
		bool flush = e->kind == AS_CALL_FLUSH && !e->ret;

		if (as_log_entry_changes(e)) {
			p->sum_at[p->n_writes] = n_sums;
			p->units_at[p->n_writes + 1] = p->units_at[p->n_writes] + sectors_of(p, e);
			p->stable_from[p->n_writes] = SIZE_MAX;
			p->writes[p->n_writes++] = i;
			n_sums += e->len / KEY_SECTOR;
			n_fua += e->fua;
			add_cut(p, i + 1, CUT_WRITE);
		} else if (flush) {
			add_cut(p, i + 1, CUT_FLUSH);
		}
		if (n_fua && fua_completes(p, i, &n_fua))
			add_cut(p, i + 1, CUT_FUA);
	}
	p->sum_at[p->n_writes] = n_sums;
	p->sums = as_xcalloc(n_sums + 1, sizeof(*p->sums));
	p->slot_of = as_xcalloc(n_sums + 1, sizeof(*p->slot_of));
	for (size_t w = 0; w < p->n_writes; w++)
		as_perm_sum_write(p, w);
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
	free(p->stable_from);
	free(p->sum_at);
	free(p->units_at);
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

/* Only what has no cache is programmed by steps. */
static bool is_step(const struct as_perm *p, size_t at)
{
	const struct as_log_entry *e, *next;

	if (!at || at == as_reclog_len(p->log))
		return false;
	e = as_reclog_at(p->log, at - 1);
	next = as_reclog_at(p->log, at);
	return e->kind == AS_CALL_WRITE && next->kind == AS_CALL_WRITE && e->fua && next->fua &&
	       e->op == next->op && e->off == next->off && e->len == next->len;
}

struct as_perm_cut as_perm_cut(const struct as_perm *p, size_t k)
{
	const struct as_perm_window *cut = &p->cuts[k];

	as_assert(k < p->n_cuts);
	return (struct as_perm_cut){
		.at = cut->at,
		.base_end = p->cuts[cut->base].at,
		.n_pending = cut->n_pending,
		.op = cut->op,
		.next_op = cut->next_op,
		.flushed = cut->flushed,
		.in_flight = k + 1 < p->n_cuts && p->cuts[k + 1].at == cut->at,
		.step = is_step(p, cut->at),
	};
}

/* ---- Disks ----------------------------------------------------------------------------------- */

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
		struct as_digest was = as_perm_sum_on_disk(p->disks[k], e->off / KEY_SECTOR + i);

		p->keys[k] =
			as_digest_add(p->keys[k], as_digest_sub(p->sums[p->sum_at[w] + i], was));
	}
	rc = as_log_entry_apply(e, as_disk_bd(p->disks[k]));
	as_assert(!rc);
}

struct as_disk *as_perm_disk_at(struct as_perm *p, size_t k)
{
	while (p->n_made <= k)
		make_next(p);
	return p->disks[k];
}

struct as_disk *as_perm_disk(struct as_perm *p)
{
	struct as_disk *disk = as_disk_snapshot(as_perm_disk_at(p, p->base));
	size_t unit_at = 0, fixed_at = p->n_units;

	while (unit_at + fixed_at < 2 * p->n_units + p->n_fixed) {
		size_t u = as_perm_in_order(p, &unit_at, &fixed_at);
		const struct as_perm_write *unit = &p->units[u];
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

/* ---- Units ----------------------------------------------------------------------------------- */

static void add_unit(struct as_perm *p, size_t write, uint64_t off, uint64_t len)
{
	AS_ARRAY_ROOM(p->units, p->n_units, p->units_cap);
	p->units[p->n_units++] = (struct as_perm_write){ .write = write, .off = off, .len = len };
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

static void add_fixed(struct as_perm *p, const struct as_perm_window *cut, size_t k)
{
	size_t n = p->n_units, last_first = p->last_first;

	for (size_t w = cut->first; w < cut->end; w++)
		if (p->stable_from[w] <= k)
			add_write(p, w, false);
	p->n_fixed = p->n_units - n;
	p->n_units = n;
	p->last_first = last_first;
}

bool as_perm_is_synchronous(enum as_view view)
{
	return view != AS_VIEW_ATOMIC && view != AS_VIEW_SECTORS;
}

/* The end of the writes of all cuts with the same base: slots are made once for all of them. */
static size_t group_end(const struct as_perm *p, size_t k)
{
	size_t base = p->cuts[k].base;

	while (k + 1 < p->n_cuts && p->cuts[k + 1].base == base)
		k++;
	return p->cuts[k].end;
}

void as_perm_make_units(struct as_perm *p, enum as_view view, size_t k)
{
	const struct as_perm_window *cut = &p->cuts[k];
	bool torn = view != AS_VIEW_ATOMIC;

	p->view = view;
	p->cut = k;
	p->n_units = p->n_fixed = p->last_first = 0;
	if (!as_perm_is_synchronous(view)) {
		p->base = cut->base;
		as_perm_make_slots(p, cut->base, cut->first, group_end(p, k));
		for (size_t w = cut->first; w < cut->end; w++)
			if (p->stable_from[w] > k)
				add_write(p, w, torn);
		if (cut->n_pending < cut->end - cut->first)
			add_fixed(p, cut, k);
	} else if (view == AS_VIEW_SYNC_ATOMIC || !k || cut->flushed) {
		p->base = k;
		p->n_slots = 0;
		p->span_base = SIZE_MAX;
	} else {
		p->base = k - 1;
		as_perm_make_slots(p, k - 1, cut->end - 1, cut->end);
		add_write(p, cut->end - 1, true);
	}
	(void)as_perm_disk_at(p, p->base);
	as_perm_make_touches(p);
	AS_ARRAY_ROOM_FOR(p->keep, 0, p->n_units + p->n_fixed + 1, p->keep_cap);
	memset(p->keep, 0, p->keep_cap * sizeof(*p->keep));
	for (size_t u = 0; u < p->n_fixed; u++)
		p->keep[p->n_units + u] = true;
}

void as_perm_fill_state(const struct as_perm *p, struct as_perm_state *state)
{
	*state = (struct as_perm_state){
		.view = p->view,
		.cut = p->cut,
		.index = p->index,
		.key = as_perm_key(p),
		.n_units = p->n_units,
		.n_fixed = p->n_fixed,
	};
	for (size_t u = 0; u < p->n_units; u++)
		state->n_kept += p->keep[u];
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
	as_perm_make_units(p, view, k);
	p->stage = STAGE_END;
	p->index = 0;
	if (!take_units(p, units))
		return false;
	as_perm_fill_state(p, state);
	return true;
}

size_t as_perm_units(const struct as_perm *p)
{
	return p->n_units + p->n_fixed;
}

struct as_perm_unit as_perm_unit(const struct as_perm *p, size_t i)
{
	const struct as_perm_write *unit = &p->units[i];

	as_assert(i < p->n_units + p->n_fixed);
	return (struct as_perm_unit){ .entry = p->writes[unit->write],
				      .off = unit->off,
				      .len = unit->len,
				      .kept = p->keep[i] };
}
