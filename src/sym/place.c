/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: see place.h. Of fields that are alike (the same structure, class and name), one is a
 * place; of a bitmap, its first byte that stands for something in use, and the last one.
 */
#include "sym/place.h"

#include "base/array.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_BYTES_MAX 16u /* of a name: the rest of it decides nothing more */
#define SUITE_BYTES 16u /* of what a repair changed */
#define SUITE_PLACES 64u /* of one image */
#define WORD 4u

static void place_free(struct as_place *p)
{
	free(p->offs);
	free(p->ranges);
	as_buf_free(&p->name);
}

void as_places_free(struct as_places *ps)
{
	for (size_t i = 0; i < ps->n; i++)
		place_free(&ps->items[i]);
	for (size_t i = 0; i < ps->n_of; i++)
		as_fields_free(ps->of[i]);
	free(ps->items);
	free(ps->of);
	*ps = (struct as_places){ 0 };
}

/* ---- Bytes of disks -------------------------------------------------------------------------- */

static unsigned char get_byte(struct as_disk *disk, uint64_t off)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	as_assert(!as_bd_read(as_disk_bd(disk), off / sizeof(sector) * sizeof(sector), sector,
			      sizeof(sector)));
	return sector[off % sizeof(sector)];
}

static void set_bytes(const struct as_place *p, const unsigned char *values, struct as_disk *disk)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	for (unsigned i = 0; i < p->n;) {
		uint64_t at = p->offs[i] / sizeof(sector) * sizeof(sector);

		as_assert(!as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)));
		for (; i < p->n && p->offs[i] < at + sizeof(sector); i++)
			sector[p->offs[i] - at] = values[i];
		as_assert(!as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)));
	}
}

static void seal(const struct as_place *p, struct as_disk *disk, struct as_damage *d)
{
	struct as_err ignored;

	for (unsigned i = 0; i < p->n_seals; i++)
		if (!as_fields_seal(p->fields, disk, p->seals[i], &ignored))
			d->sealed = true;
}

static void say_field(const struct as_place *p, struct as_disk *from, struct as_disk *to,
		      struct as_damage *d)
{
	const struct as_field *f = p->field;
	size_t len = f->kind == AS_FIELD_BITMAP ? strcspn(f->name, " ") : strcspn(f->name, "[");

	as_buf_addf(&d->words, "%s: %s: ", f->instance, f->name);
	as_field_say(f, from, &d->words);
	as_buf_adds(&d->words, " becomes ");
	as_field_say(f, to, &d->words);
	as_buf_addf(&d->field, "%s %.*s%s%s%s", f->structure, (int)len, f->name,
		    *f->class ? " (" : "", f->class, *f->class ? ")" : "");
}

bool as_place_damage(const struct as_place *p, const struct as_fsck_base *base,
		     const unsigned char *values, struct as_damage *d)
{
	struct as_disk *disk = as_disk_snapshot(base->disk);
	bool differs;

	as_damage_clear(d);
	d->base = p->base;
	set_bytes(p, values, disk);
	seal(p, disk, d);
	differs = as_damage_diff(d, base->disk, disk);
	if (p->field) {
		say_field(p, base->disk, disk, d);
	} else {
		as_buf_addf(&d->words, "%s: ", as_buf_str(&p->name));
		as_damage_say_bytes(d, &d->words);
		while (d->words.len && d->words.data[d->words.len - 1] == '\n')
			d->words.data[--d->words.len] = '\0';
		for (size_t i = 0; i < d->words.len; i++)
			if (d->words.data[i] == '\n')
				d->words.data[i] = ';';
	}
	as_disk_free(disk);
	return differs;
}

/* ---- Making one ------------------------------------------------------------------------------ */

static void add_range(struct as_place *p, uint64_t off, uint64_t len, bool symbolic)
{
	struct as_sym_range *last = p->n_ranges ? &p->ranges[p->n_ranges - 1] : NULL;

	if (last && last->symbolic == symbolic && last->off + last->len == off) {
		last->len += len;
		return;
	}
	AS_ARRAY_ROOM(p->ranges, p->n_ranges, p->cap_ranges);
	p->ranges[p->n_ranges++] = (struct as_sym_range){ off, len, symbolic };
}

static bool has_byte(const struct as_place *p, uint64_t off)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->offs[i] == off)
			return true;
	return false;
}

/* Where its checksums are: what sealing another value changes, by words of four bytes. */
static void find_watched(struct as_place *p, const struct as_fsck_base *base)
{
	unsigned char values[AS_PLACE_BYTES_MAX];
	struct as_damage d = { 0 };
	uint64_t done = UINT64_MAX;

	if (!p->n_seals)
		return;
	for (unsigned i = 0; i < p->n; i++)
		values[i] = (unsigned char)~get_byte(base->disk, p->offs[i]);
	as_place_damage(p, base, values, &d);
	for (size_t i = 0; i < d.n; i++) {
		uint64_t word = d.bytes[i].off / WORD * WORD;

		if (has_byte(p, d.bytes[i].off) || word == done)
			continue;
		done = word;
		for (unsigned k = 0; k < WORD; k++)
			if (!has_byte(p, word + k))
				add_range(p, word + k, 1, false);
	}
	as_damage_free(&d);
}

static void find_seals(struct as_place *p)
{
	for (size_t i = 0; p->fields && i < as_fields_n(p->fields); i++) {
		const struct as_field *f = as_fields_at(p->fields, i);
		unsigned k = 0;

		if (!f->seal || f->kind == AS_FIELD_CHECKSUM || f->off > p->offs[p->n - 1] ||
		    f->off + f->bytes <= p->offs[0])
			continue;
		while (k < p->n_seals && p->seals[k] != f->seal)
			k++;
		if (k == p->n_seals && k < AS_PLACE_SEALS_MAX)
			p->seals[p->n_seals++] = f->seal;
	}
}

static struct as_place *add_place(struct as_places *ps, uint32_t base)
{
	AS_ARRAY_ROOM(ps->items, ps->n, ps->cap);
	ps->items[ps->n] = (struct as_place){ .base = base, .fields = ps->of[base] };
	return &ps->items[ps->n++];
}

static void finish(struct as_place *p, const struct as_places_setup *s)
{
	for (unsigned i = 0; i < p->n; i++)
		add_range(p, p->offs[i], 1, true);
	if (s->seal) {
		find_seals(p);
		find_watched(p, &s->bases[p->base]);
	}
}

/* ---- Which ----------------------------------------------------------------------------------- */

/* Whether a list "a,b c.d" has the field by its name, its structure's, or both with a dot. */
static bool is_named(const char *list, const struct as_field *f)
{
	size_t name = strcspn(f->name, "[ ");

	if (!list)
		return true;
	while (*list) {
		size_t n = strcspn(list, ", "), s = strlen(f->structure);

		if ((n == name && !memcmp(list, f->name, n)) ||
		    (n == s && !memcmp(list, f->structure, n)) ||
		    (n == s + 1 + name && !memcmp(list, f->structure, s) && list[s] == '.' &&
		     !memcmp(list + s + 1, f->name, name)) ||
		    (n == strlen(f->name) && !memcmp(list, f->name, n)))
			return true;
		list += n + strspn(list + n, ", ");
	}
	return false;
}

static void add_field(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
		      const struct as_field *f)
{
	struct as_place *p = add_place(ps, base);
	unsigned n = f->bytes < FIELD_BYTES_MAX ? f->bytes : FIELD_BYTES_MAX;

	p->field = f;
	p->offs = as_xcalloc(n + 1, sizeof(*p->offs));
	while (p->n < n) {
		p->offs[p->n] = f->off + p->n;
		p->n++;
	}
	as_buf_addf(&p->name, "%s %s", f->structure, f->name);
	finish(p, s);
}

static void add_fields(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
		       struct as_table *seen)
{
	struct as_buf key = { 0 };

	for (size_t i = 0; i < as_fields_n(ps->of[base]); i++) {
		const struct as_field *f = as_fields_at(ps->of[base], i);
		bool bit = f->kind == AS_FIELD_BITMAP;
		uint64_t hash;

		if (f->kind == AS_FIELD_CHECKSUM || !is_named(s->fields, f) || !f->bytes)
			continue;
		as_buf_clear(&key);
		as_buf_addf(&key, "%u/%s/%s/%.*s", base, f->structure, f->class,
			    bit ? (int)strcspn(f->name, " ") : (int)strlen(f->name), f->name);
		/* One of the array's pointers behaves as the next one does. */
		hash = as_hash64(as_buf_str(&key), key.len);
		if (as_table_get(seen, hash) != AS_TABLE_NONE)
			continue;
		as_table_add(seen, hash, ps->n);
		add_field(ps, s, base, f);
	}
	as_buf_free(&key);
}

/* Bytes of a base that its repair changed, some at a time; those next to each other first. */
static void add_repairs(struct as_places *ps, const struct as_places_setup *s, uint32_t base)
{
	const struct as_damage *w = &s->bases[base].writes;
	unsigned made = 0;

	for (size_t i = 0; i < w->n && made < SUITE_PLACES;) {
		struct as_place *p;
		size_t first = i;

		if (as_subject_is_book(s->books, w->bytes[i].off)) {
			i++;
			continue;
		}
		p = add_place(ps, base);
		p->offs = as_xcalloc(SUITE_BYTES + 1, sizeof(*p->offs));
		while (i < w->n && p->n < SUITE_BYTES &&
		       w->bytes[i].off - w->bytes[first].off < AS_DISK_SECTOR_BYTES)
			p->offs[p->n++] = w->bytes[i++].off;
		as_buf_addf(&p->name, "%s: what the repair changes at byte %llu",
			    s->bases[base].name, (unsigned long long)w->bytes[first].off);
		finish(p, s);
		made++;
	}
}

static int add_whole(struct as_places *ps, const struct as_places_setup *s, struct as_err *err)
{
	uint64_t size = as_disk_size(s->bases[0].disk);
	struct as_place *p;

	if (!s->len || s->off >= size || s->len > size - s->off)
		return as_fail(err, AS_EUSE, "--range: it is not on the disk of %llu bytes",
			       (unsigned long long)size);
	if (s->len > AS_PLACE_BYTES_MAX)
		return as_fail(err, AS_EUSE, "--range: more than %u bytes", AS_PLACE_BYTES_MAX);
	p = add_place(ps, 0);
	p->offs = as_xcalloc(s->len + 1, sizeof(*p->offs));
	while (p->n < s->len) {
		p->offs[p->n] = s->off + p->n;
		p->n++;
	}
	as_buf_addf(&p->name, "bytes %llu to %llu", (unsigned long long)s->off,
		    (unsigned long long)(s->off + s->len - 1));
	finish(p, s);
	return 0;
}

int as_places_find(const struct as_places_setup *s, struct as_places *ps, struct as_err *err)
{
	struct as_table seen = { 0 };
	bool described = !s->suite && !s->whole;
	int rc = 0;

	*ps = (struct as_places){ .of = as_xcalloc(s->n + 1, sizeof(struct as_fields *)),
				  .n_of = s->n };
	for (size_t i = 0; !rc && i < s->n; i++) {
		struct as_err why;

		if (as_fields_read(s->type, s->bases[i].disk, &ps->of[i], &why)) {
			ps->of[i] = NULL;
			if (described)
				rc = as_fail(err, AS_EUSE, "--symbolic: %.600s", why.msg);
		}
		if (!rc && s->suite)
			add_repairs(ps, s, (uint32_t)i);
		else if (!rc && described)
			add_fields(ps, s, (uint32_t)i, &seen);
	}
	as_table_free(&seen);
	if (!rc && s->whole)
		rc = add_whole(ps, s, err);
	if (!rc && !ps->n)
		rc = as_fail(err, AS_EUSE,
			     s->suite	 ? "--symbolic: the checker changes nothing on any of "
					   "these images"
			     : s->fields ? "--fields: the disk has no field of that name"
					 : "--symbolic: no field was found");
	if (rc)
		as_places_free(ps);
	return rc;
}
