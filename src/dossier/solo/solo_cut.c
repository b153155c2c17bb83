/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solo_cut: what a power cut has left, as C.
 *
 * Method. The writes of the workload are numbered, and the program loses those that the power cut
 * has lost, or of which only a part is there. Then the disk that this makes is compared with the
 * one that assay has judged, where something was written; what differs is put there byte by byte.
 * So the program's disk is the right one, whatever the view and the kind of memory.
 */
#include "dossier/solo/solo_priv.h"

#include "disk/flash.h"

#include <assay/solo.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_MAX_BYTES ((size_t)1 << 20) /* of literals */
#define GAP_BYTES 16u /* equal bytes within one literal */

/* The disk of the program, and where the workload has written. */
struct repro_disk {
	unsigned char *is, *was, *touched; /* as the program has it; as assay had it */
	size_t size;
	unsigned char erased;
};

static void disk_new(const struct repro_writer *w, struct repro_disk *d)
{
	d->size = (size_t)w->repro->size_bytes;
	d->erased = w->repro->flash ? w->repro->flash->geometry.erased : 0;
	d->is = as_xmalloc(d->size + 1);
	d->was = as_xmalloc(d->size + 1);
	d->touched = as_xcalloc(d->size + 1, 1);
	memset(d->is, d->erased, d->size);
	memset(d->was, d->erased, d->size);
}

static void disk_free(struct repro_disk *d)
{
	free(d->is);
	free(d->was);
	free(d->touched);
}

static bool is_change(const struct as_trail_event *e)
{
	return e->what == AS_TRAIL_IO && (e->fn == AS_SOLO_WRITE || e->fn == AS_SOLO_ERASE) &&
	       !e->ret;
}

static void disk_change(struct repro_disk *d, const struct as_trail_event *e, bool kept)
{
	size_t off = (size_t)e->n[0], len = (size_t)e->n[1];

	if (off > d->size || len > d->size - off)
		return;
	memset(d->touched + off, 1, len);
	if (!kept)
		return;
	if (e->fn == AS_SOLO_WRITE)
		memcpy(d->is + off, as_trail_data(e), len);
	else
		memset(d->is + off, d->erased, len);
}

/* The disk that was given to the library after event i. */
static void disk_judged(const struct repro_writer *w, size_t i, struct repro_disk *d)
{
	while (i < w->n && w->events[i].e->what != AS_TRAIL_DISK)
		i++;
	for (i++; i < w->n && w->events[i].e->what == AS_TRAIL_LEFT; i++) {
		const struct as_trail_event *e = w->events[i].e;
		size_t off = (size_t)e->n[0];

		for (size_t k = 0; k < e->data_len && off + k < d->size; k++)
			d->was[off + k] = as_trail_data(e)[k] ^ d->erased;
	}
}

/* Whether an entry of the record that belongs to this change is missing at the cut. */
static bool is_lost(const struct repro_writer *w, size_t cut, const struct as_trail_event *e)
{
	if (e->n[4] > w->events[cut].e->n[0])
		return true;
	for (size_t i = cut + 1; i < w->n && w->events[i].e->what == AS_TRAIL_LOST; i++)
		if (w->events[i].e->n[0] >= e->n[2] && w->events[i].e->n[0] < e->n[4])
			return true;
	return false;
}

static bool put_left(struct repro_writer *w, const struct repro_disk *d)
{
	size_t total = 0;

	for (size_t at = 0, end; at < d->size; at = end) {
		size_t last;

		for (end = at + 1;
		     d->touched[at] && d->is[at] != d->was[at] && end < d->size && end - at < 4096;
		     end++) {
			for (last = end; last < d->size && last < end + GAP_BYTES; last++)
				if (d->touched[last] && d->is[last] != d->was[last])
					break;
			if (last == d->size || last == end + GAP_BYTES)
				break;
		}
		if (!d->touched[at] || d->is[at] == d->was[at])
			continue;
		as_buf_addf(w->out, "\tas_solo_left(&s, %zu,\n\t\t", at);
		as_repro_literal(d->was + at, end - at, w->out);
		as_buf_addf(w->out, ", %zu);\n", end - at);
		total += end - at;
	}
	return total <= LEFT_MAX_BYTES;
}

bool as_repro_cut(struct repro_writer *w, size_t cut)
{
	struct repro_disk d;
	size_t number = 0, begun = 0;
	bool good;

	disk_new(w, &d);
	disk_judged(w, cut, &d);
	for (size_t i = 0; i < cut; i++) {
		const struct as_trail_event *e = w->events[i].e;

		if (!is_change(e))
			continue;
		if (i < w->start) {
			disk_change(&d, e, true);
			continue;
		}
		if (e->n[2] >= w->events[cut].e->n[0])
			break;
		begun = ++number;
		disk_change(&d, e, !is_lost(w, cut, e));
		if (is_lost(w, cut, e))
			as_buf_addf(w->out,
				    "\tas_solo_lose(&s, %zu); /* %s of %llu bytes at %llu */\n",
				    number, e->fn == AS_SOLO_ERASE ? "an erase" : "a write",
				    (unsigned long long)e->n[1], (unsigned long long)e->n[0]);
	}
	as_buf_addf(w->out, "\tas_solo_cut(&s, %zu);\n", begun);
	/* What mkfs wrote is as it was. */
	good = put_left(w, &d);
	disk_free(&d);
	return good;
}

bool as_repro_disk(struct repro_writer *w, size_t i)
{
	struct repro_disk d;
	bool good;

	disk_new(w, &d);
	disk_judged(w, i, &d);
	memset(d.touched, 1, d.size);
	as_buf_adds(w->out, "\t/* The disk that the power cuts have left. */\n"
			    "\tmemset(s.bytes, s.flash.geometry.erased, s.size_bytes);\n");
	good = put_left(w, &d);
	disk_free(&d);
	return good;
}
