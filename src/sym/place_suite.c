/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place_suite: places of bytes that are no fields: those that a repair changes on an image of a
 * suite, or that a crash left different (SWIFT, section 5.3.2). After them, what lies next to them:
 * the rest of each inode, entry, descriptor or superblock that a repair changes, as far as the disk
 * is described. What is wrong with a structure is decided by its other fields, too.
 */
#include "sym/place_priv.h"

#include <string.h>

#define SUITE_BYTES 16u /* of what a repair changed */
#define SUITE_PLACES 64u /* of one image */
#define NEAR_PLACES 64u /* of one image */
#define NEAR_EACH 12u /* of one structure */

/* Some of these bytes at a time; those next to each other first. */
void as_place_add_bytes(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
			const struct as_damage *w, const char *how)
{
	unsigned made = 0;

	for (size_t i = 0; i < w->n && made < SUITE_PLACES;) {
		struct as_place *p;
		size_t first = i;

		if (as_subject_is_book(s->books, w->bytes[i].off)) {
			i++;
			continue;
		}
		p = as_place_add(ps, base);
		p->offs = as_xcalloc(SUITE_BYTES + 1, sizeof(*p->offs));
		while (i < w->n && p->n < SUITE_BYTES &&
		       w->bytes[i].off - w->bytes[first].off < AS_DISK_SECTOR_BYTES)
			p->offs[p->n++] = w->bytes[i++].off;
		as_buf_addf(&p->name, "%s: what %s at byte %llu", s->bases[base].name, how,
			    (unsigned long long)w->bytes[first].off);
		as_place_finish(p, s);
		made++;
	}
}

/* ---- What lies next to it -------------------------------------------------------------------- */

struct beside {
	struct as_places *ps;
	const struct as_places_setup *s;
	const struct as_damage *w;
	uint32_t base;
	struct as_place *place; /* that is being filled; NULL: none */
	unsigned made, each; /* places: of the image, of the structure */
};

/* Checksums are no bytes of it, so that sealing leaves all of them as they are. */
static void near_end(struct beside *x)
{
	for (unsigned i = 0; x->place && i < x->place->n; i++)
		as_place_add_range(x->place, x->place->offs[i], 1, true);
	x->place = NULL;
}

static void near_seal(struct beside *x, const struct as_field *f)
{
	struct as_place *p = x->place;
	unsigned k = 0;

	while (k < p->n_seals && p->seals[k] != f->seal)
		k++;
	if (f->seal && x->s->seal && k == p->n_seals && k < AS_PLACE_SEALS_MAX)
		p->seals[p->n_seals++] = f->seal;
}

static void near_begin(struct beside *x, const struct as_field *f)
{
	x->place = as_place_add(x->ps, x->base);
	x->place->later = true;
	x->place->offs = as_xcalloc(SUITE_BYTES + 1, sizeof(*x->place->offs));
	as_buf_addf(&x->place->name, "%s: %s next to what the repair changes",
		    x->s->bases[x->base].name, f->structure);
	x->made++;
	x->each++;
}

/* The bytes of a field that rise after those that are there. */
static void near_field(struct beside *x, const struct as_field *f)
{
	for (uint32_t i = 0; i < f->bytes && i < SUITE_BYTES; i++) {
		uint64_t off = f->off + i;
		struct as_place *p = x->place;

		if (as_subject_is_book(x->s->books, off))
			continue;
		if (p && off == p->offs[p->n - 1])
			continue; /* another part of the same byte */
		if (p && (p->n == SUITE_BYTES || off < p->offs[p->n - 1] ||
			  off - p->offs[0] >= AS_DISK_SECTOR_BYTES))
			near_end(x);
		if (!x->place) {
			if (x->made == NEAR_PLACES || x->each == NEAR_EACH)
				return;
			near_begin(x, f);
		}
		x->place->offs[x->place->n++] = off;
		near_seal(x, f);
	}
}

void as_place_add_near(struct as_places *ps, const struct as_places_setup *s, uint32_t base)
{
	struct beside x = { .ps = ps, .s = s, .w = &s->bases[base].writes, .base = base };
	const struct as_fields *fields = ps->of[base];
	size_t n = fields ? as_fields_n(fields) : 0;

	for (size_t i = 0, end; i < n; i = end) {
		const char *instance = as_fields_at(fields, i)->instance;
		bool touched = false;

		for (end = i; end < n && !strcmp(as_fields_at(fields, end)->instance, instance);
		     end++)
			touched = touched || as_place_is_touched(as_fields_at(fields, end), x.w);
		x.each = 0;
		for (size_t k = i; touched && k < end; k++) {
			const struct as_field *f = as_fields_at(fields, k);

			if (f->kind != AS_FIELD_CHECKSUM && f->kind != AS_FIELD_BITMAP &&
			    !as_place_is_touched(f, x.w))
				near_field(&x, f);
		}
		near_end(&x);
	}
}
