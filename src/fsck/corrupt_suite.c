/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * corrupt_suite: the model `suite` (SWIFT, section 5.3.2). The disks are the images of a checker's
 * own test suite, each damaged in a way that its authors thought of. The checker was run on each of
 * them (as_judge_base()); the bytes that it changed are where its repairs are decided. These bytes
 * get other values, a few at a time. The first lots are the images as they are, the next ones the
 * first places of all images, then their second places, and so on.
 */
#include "fsck/corrupt_priv.h"

#include "base/array.h"
#include "layout/field.h"

#include <stdlib.h>
#include <string.h>

#define PLACE_BYTES 4u /* that are damaged together */
#define LATER 1000000u /* places in the books of the checker come last */
#define PLACES_MAX 256u /* of one image; a repair that moves whole blocks changes many more */

struct suite_place {
	uint32_t base, nth;
	size_t first, n; /* bytes of base->writes; n 0: the image as it is */
};

struct suite_model {
	struct suite_place *places;
	size_t n, cap;
	struct as_fields **of; /* of each disk; NULL: it cannot be read */
};

static void add_places(struct suite_model *m, uint32_t base, const struct as_damage *writes,
		       const char *books)
{
	size_t runs = 0, n = 0, step;

	for (int pass = 0; pass < 2; pass++) {
		step = runs / PLACES_MAX + 1;
		n = 0;
		for (size_t i = 0; i < writes->n; n++) {
			size_t first = i++;

			while (i < writes->n && i - first < PLACE_BYTES &&
			       writes->bytes[i].off == writes->bytes[i - 1].off + 1 &&
			       writes->bytes[i].off % PLACE_BYTES)
				i++;
			if (!pass || n % step)
				continue;
			AS_ARRAY_ROOM(m->places, m->n, m->cap);
			m->places[m->n++] = (struct suite_place){
				.base = base,
				.nth = 1 + (uint32_t)(n / step) +
				       (as_subject_is_book(books, writes->bytes[first].off) ? LATER
											    : 0),
				.first = first,
				.n = i - first
			};
		}
		runs = n;
	}
}

static int by_turn(const void *a, const void *b)
{
	const struct suite_place *x = a, *y = b;

	return x->nth != y->nth ? (x->nth > y->nth) - (x->nth < y->nth)
				: (x->base > y->base) - (x->base < y->base);
}

static int open_suite(struct as_corrupt *c, struct as_err *err)
{
	struct suite_model *m = c->own = as_xcalloc(1, sizeof(*m));
	struct as_err ignored;
	bool repaired = false;

	m->of = as_xcalloc(c->setup.n, sizeof(struct as_fields *));
	for (size_t i = 0; i < c->setup.n; i++) {
		repaired |= c->setup.bases[i].called_damaged || c->setup.bases[i].writes.n;
		AS_ARRAY_ROOM(m->places, m->n, m->cap);
		m->places[m->n++] = (struct suite_place){ .base = (uint32_t)i };
		add_places(m, (uint32_t)i, &c->setup.bases[i].writes, c->setup.books);
		/* What cannot be read cannot be sealed, and is damaged all the same. */
		if (c->setup.seal &&
		    as_corrupt_read_fields(c, c->setup.bases[i].disk, &m->of[i], &ignored))
			m->of[i] = NULL;
	}
	if (!repaired)
		return as_fail(err, AS_EUSE,
			       "--model suite: the checker changes nothing on any of "
			       "these images");
	qsort(m->places, m->n, sizeof(*m->places), by_turn);
	return 0;
}

static void close_suite(struct as_corrupt *c)
{
	struct suite_model *m = c->own;

	if (!m)
		return;
	for (size_t i = 0; m->of && i < c->setup.n; i++)
		as_fields_free(m->of[i]);
	free(m->of);
	free(m->places);
	free(m);
}

static uint64_t suite_lots(const struct as_corrupt *c)
{
	const struct suite_model *m = c->own;

	return m->n;
}

/* The number that `n` bytes hold. */
static uint64_t number_of(const struct as_damaged_byte *bytes, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)bytes[i].was << 8 * i;
	return value;
}

static size_t values_of(const struct as_damaged_byte *bytes, size_t n, uint64_t *values)
{
	uint64_t was = number_of(bytes, n), max = n < 8 ? (UINT64_C(1) << 8 * n) - 1 : UINT64_MAX;
	size_t k = 0;

	values[k++] = 0;
	values[k++] = 1;
	values[k++] = max;
	values[k++] = max >> 1;
	values[k++] = max / 2 + 1;
	values[k++] = (was + 1) & max;
	values[k++] = (was - 1) & max;
	for (size_t i = 0; i < 8 * n; i++)
		values[k++] = was ^ UINT64_C(1) << i;
	return k;
}

static void seal(struct as_corrupt *c, const struct suite_place *p, struct as_disk *disk,
		 struct as_damage *d)
{
	const struct suite_model *m = c->own;
	uint64_t off = c->setup.bases[p->base].writes.bytes[p->first].off;
	struct as_err err;

	for (size_t i = 0; m->of[p->base] && i < as_fields_n(m->of[p->base]); i++) {
		const struct as_field *f = as_fields_at(m->of[p->base], i);

		if (f->off > off || off >= f->off + f->bytes || !f->seal ||
		    f->kind == AS_FIELD_CHECKSUM)
			continue;
		d->sealed = !as_fields_seal(m->of[p->base], disk, f->seal, &err);
		return;
	}
}

/* The bytes of one sector, or of two. */
static void set(struct as_disk *disk, uint64_t off, uint64_t value, size_t n)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	for (size_t i = 0; i < n; i++) {
		uint64_t at = (off + i) / sizeof(sector) * sizeof(sector);

		as_assert(!as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)));
		sector[off + i - at] = (unsigned char)(value >> 8 * i);
		as_assert(!as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)));
	}
}

static void suite_lot(struct as_corrupt *c, uint64_t i, struct as_corrupt_lot *lot)
{
	const struct suite_model *m = c->own;
	const struct suite_place *p = &m->places[i];
	const struct as_fsck_base *base = &c->setup.bases[p->base];
	const struct as_damaged_byte *bytes = &base->writes.bytes[p->first];
	uint64_t values[7 + 8 * PLACE_BYTES];
	size_t n = p->n ? values_of(bytes, p->n, values) : 0;

	if (!p->n)
		as_buf_addf(&as_corrupt_add(lot, p->base)->words, "%s: as it is", base->name);
	for (size_t k = 0; k < n; k++) {
		struct as_disk *disk = as_disk_snapshot(base->disk);
		struct as_damage *d = as_corrupt_add(lot, p->base);

		set(disk, bytes->off, values[k], p->n);
		seal(c, p, disk, d);
		as_buf_addf(&d->words, "%s: bytes %llu to %llu: %#llx becomes %#llx", base->name,
			    (unsigned long long)bytes->off,
			    (unsigned long long)(bytes->off + p->n - 1),
			    (unsigned long long)number_of(bytes, p->n),
			    (unsigned long long)values[k]);
		as_corrupt_take(c, lot, disk);
	}
}

const struct as_corrupt_row as_corrupt_suite = {
	.name = "suite",
	.help = "the images of a test suite, and bytes that the checker repairs on them",
	.open = open_suite,
	.lots = suite_lots,
	.lot = suite_lot,
	.close = close_suite,
};
