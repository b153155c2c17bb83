/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: see place.h. Of fields that are alike (the same structure, class and name), one is a
 * place; of a bitmap, its first byte that stands for something in use, and the last one. After
 * that, the fields of one instance are places together: what a checker compares with each other
 * can be wrong in both.
 */
#include "sym/place_priv.h"

#include "base/array.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_BYTES_MAX 16u /* of a name: the rest of it decides nothing more */

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

unsigned char as_place_byte(struct as_disk *disk, uint64_t off)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	as_assert(!as_bd_read(as_disk_bd(disk), off / sizeof(sector) * sizeof(sector), sector,
			      sizeof(sector)));
	return sector[off % sizeof(sector)];
}

void as_place_set_byte(struct as_disk *disk, uint64_t off, unsigned char value)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	uint64_t at = off / sizeof(sector) * sizeof(sector);

	as_assert(!as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)));
	sector[off - at] = value;
	as_assert(!as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)));
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

static void say_field(const struct as_field *f, struct as_disk *from, struct as_disk *to,
		      struct as_damage *d)
{
	size_t len = f->kind == AS_FIELD_BITMAP ? strcspn(f->name, " ") : strcspn(f->name, "[");

	as_buf_addf(&d->words, "%s%s: %s: ", d->words.len ? "; " : "", f->instance, f->name);
	as_field_say(f, from, &d->words);
	as_buf_adds(&d->words, " becomes ");
	as_field_say(f, to, &d->words);
	as_buf_addf(&d->field, "%s%s %.*s%s%s%s", d->field.len ? " and " : "", f->structure,
		    (int)len, f->name, *f->class ? " (" : "", f->class, *f->class ? ")" : "");
}

/* Whether a field has one of the bytes that differ, whose offsets rise. */
bool as_place_is_touched(const struct as_field *f, const struct as_damage *d)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->bytes[mid].off < f->off)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n && d->bytes[low].off - f->off < f->bytes;
}

/* Of several fields, those that differ. */
static void say_fields(const struct as_place *p, struct as_disk *from, struct as_disk *to,
		       struct as_damage *d)
{
	for (unsigned i = 0; i < p->n_fields; i++)
		if (p->n_fields == 1 || as_place_is_touched(p->field[i], d))
			say_field(p->field[i], from, to, d);
}

/* The name of what is damaged, and its bytes in the same line. */
void as_place_say(const char *name, struct as_damage *d)
{
	as_buf_addf(&d->words, "%s: ", name);
	as_damage_say_bytes(d, &d->words);
	while (d->words.len && d->words.data[d->words.len - 1] == '\n')
		d->words.data[--d->words.len] = '\0';
	for (size_t i = 0; i < d->words.len; i++)
		if (d->words.data[i] == '\n')
			d->words.data[i] = ';';
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
	if (p->n_fields)
		say_fields(p, base->disk, disk, d);
	else
		as_place_say(as_buf_str(&p->name), d);
	as_disk_free(disk);
	return differs;
}

/* ---- Making one ------------------------------------------------------------------------------ */

void as_place_add_range(struct as_place *p, uint64_t off, uint64_t len, bool symbolic)
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

/* Values that differ from those of the disk in every byte. A checksum of them, and each byte of it,
 * may be what it was by chance: hence several. */
static const unsigned char others[] = { 0xff, 0x55, 0x29 };

static void other_values(const struct as_place *p, const struct as_fsck_base *base, size_t which,
			 unsigned char *values)
{
	for (unsigned i = 0; i < p->n; i++)
		values[i] = as_place_byte(base->disk, p->offs[i]) ^ others[which];
}

static bool has_range(const struct as_place *p, uint64_t off)
{
	for (size_t i = 0; i < p->n_ranges; i++)
		if (off >= p->ranges[i].off && off - p->ranges[i].off < p->ranges[i].len)
			return true;
	return false;
}

/* Where its checksums are: what sealing other values changes. */
static void find_watched(struct as_place *p, const struct as_fsck_base *base)
{
	unsigned char values[AS_PLACE_BYTES_MAX];
	struct as_damage d = { 0 };

	for (size_t t = 0; p->n_seals && t < sizeof(others); t++) {
		other_values(p, base, t, values);
		as_place_damage(p, base, values, &d);
		for (size_t i = 0; i < d.n; i++)
			if (!has_range(p, d.bytes[i].off))
				as_place_add_range(p, d.bytes[i].off, 1, false);
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

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct as_place *as_place_add(struct as_places *ps, uint32_t base)
{
	AS_ARRAY_ROOM(ps->items, ps->n, ps->cap);
	ps->items[ps->n] = (struct as_place){ .base = base, .fields = ps->of[base] };
	return &ps->items[ps->n++];
}

/*
 * Sealing overwrites checksums: if they are bytes of the place, no value for them lasts. They are
 * left out, or, if nothing else is left, nothing is sealed.
 */
static void drop_sealed(struct as_place *p, const struct as_fsck_base *base)
{
	unsigned char values[AS_PLACE_BYTES_MAX];
	bool lost[AS_PLACE_BYTES_MAX] = { false };
	struct as_damage ignored = { 0 };
	unsigned n = 0;

	for (size_t t = 0; p->n_seals && t < sizeof(others); t++) {
		struct as_disk *disk = as_disk_snapshot(base->disk);

		other_values(p, base, t, values);
		set_bytes(p, values, disk);
		seal(p, disk, &ignored);
		for (unsigned i = 0; i < p->n; i++)
			lost[i] = lost[i] || as_place_byte(disk, p->offs[i]) != values[i];
		as_disk_free(disk);
	}
	for (unsigned i = 0; i < p->n; i++)
		if (!lost[i])
			p->offs[n++] = p->offs[i];
	if (n)
		p->n = n;
	else
		p->n_seals = 0;
}

void as_place_finish(struct as_place *p, const struct as_places_setup *s)
{
	if (s->seal) {
		find_seals(p);
		drop_sealed(p, &s->bases[p->base]);
	}
	for (unsigned i = 0; i < p->n; i++)
		as_place_add_range(p, p->offs[i], 1, true);
}

void as_place_watch(struct as_place *p, const struct as_fsck_base *base)
{
	if (p->watched)
		return;
	p->watched = true;
	find_watched(p, base);
}

/* ---- Which ----------------------------------------------------------------------------------- */

/* Whether a name of n bytes means the field: by its name, its structure's, or both with a dot. */
static bool is_name(const char *list, size_t n, const struct as_field *f)
{
	size_t name = strcspn(f->name, "[ "), s = strlen(f->structure);

	return (n == name && !memcmp(list, f->name, n)) ||
	       (n == s && !memcmp(list, f->structure, n)) ||
	       (n == s + 1 + name && !memcmp(list, f->structure, s) && list[s] == '.' &&
		!memcmp(list + s + 1, f->name, name)) ||
	       (n == strlen(f->name) && !memcmp(list, f->name, n));
}

/* The next name of a list "a,b c+d", with those that are joined to it; 0: there is none. */
static size_t next_name(const char **list)
{
	*list += strspn(*list, ", ");
	return strcspn(*list, ", ");
}

/* Whether the list has the field, alone. */
static bool is_named(const char *list, const struct as_field *f)
{
	size_t n;

	for (; list && (n = next_name(&list)); list += n)
		if (is_name(list, n, f))
			return true;
	return !list;
}

/* Adds the first bytes of a field to a place. False: there is no room. */
static bool join_field(struct as_place *p, const struct as_field *f, unsigned max)
{
	unsigned n = f->bytes < max ? f->bytes : max;

	if (p->n_fields == AS_PLACE_FIELDS_MAX || p->n + n > AS_PLACE_BYTES_MAX)
		return false;
	if (!p->offs)
		p->offs = as_xcalloc(AS_PLACE_BYTES_MAX, sizeof(*p->offs));
	for (unsigned i = 0; i < n; i++)
		if (!has_byte(p, f->off + i))
			p->offs[p->n++] = f->off + i;
	as_buf_addf(&p->name, "%s%s %s", p->n_fields ? " and " : "", f->structure, f->name);
	p->field[p->n_fields++] = f;
	return true;
}

static void add_field(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
		      const struct as_field *f)
{
	struct as_place *p = as_place_add(ps, base);

	(void)join_field(p, f, FIELD_BYTES_MAX);
	as_place_finish(p, s);
}

/* Of fields that are alike, one. */
static void add_fields(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
		       struct as_table *seen)
{
	struct as_buf key = { 0 };

	for (size_t i = 0; i < as_fields_n(ps->of[base]); i++) {
		const struct as_field *f = as_fields_at(ps->of[base], i);
		bool bit = f->kind == AS_FIELD_BITMAP;
		uint64_t hash;

		if (f->kind == AS_FIELD_CHECKSUM || !is_named(s->fields, f) || !f->bytes ||
		    (s->differs && !s->fields && !as_place_is_touched(f, &s->differs[base])))
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

/* Fields of one instance that are places, as many together as there is room for. */
static void add_instances(struct as_places *ps, const struct as_places_setup *s)
{
	size_t n = ps->n;

	for (size_t i = 0, end; i < n; i = end) {
		const struct as_field *first = ps->items[i].field[0];
		uint32_t base = ps->items[i].base;
		size_t made = ps->n;

		as_place_add(ps, base)->later = true;
		for (end = i; end < n; end++) {
			const struct as_field *f = ps->items[end].field[0];

			if (ps->items[end].base != base || strcmp(f->instance, first->instance) ||
			    !join_field(&ps->items[made], f, FIELD_BYTES_MAX))
				break;
		}
		if (end - i < 2) {
			place_free(&ps->items[--ps->n]);
			continue;
		}
		qsort(ps->items[made].offs, ps->items[made].n, sizeof(*ps->items[made].offs),
		      by_number);
		as_place_finish(&ps->items[made], s);
	}
}

static const struct as_field *find_name(const struct as_fields *fields, const char *name, size_t n)
{
	for (size_t i = 0; i < as_fields_n(fields); i++)
		if (as_fields_at(fields, i)->bytes && is_name(name, n, as_fields_at(fields, i)))
			return as_fields_at(fields, i);
	return NULL;
}

/* Names that are joined by + are unknown together: the first field of each name. */
static int add_joined(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
		      struct as_err *err)
{
	const char *list = s->fields;
	size_t len;

	for (; list && (len = next_name(&list)); list += len) {
		struct as_place *p;
		size_t n;

		if (!memchr(list, '+', len))
			continue;
		p = as_place_add(ps, base);
		for (size_t at = 0; at < len; at += n + 1) {
			const struct as_field *f;

			for (n = 0; at + n < len && list[at + n] != '+';)
				n++;
			f = find_name(ps->of[base], list + at, n);
			if (!f)
				return as_fail(err, AS_EUSE,
					       "--fields: the disk has no field of that name: %.*s",
					       (int)n, list + at);
			if (!join_field(p, f, AS_PLACE_BYTES_MAX))
				return as_fail(err, AS_EUSE,
					       "--fields: %.*s: more than %u bytes or %u fields "
					       "together",
					       (int)len, list, AS_PLACE_BYTES_MAX,
					       AS_PLACE_FIELDS_MAX);
		}
		qsort(p->offs, p->n, sizeof(*p->offs), by_number);
		as_place_finish(p, s);
	}
	return 0;
}

/* What a crash left different: fields that have such bytes, then bytes that are in none. */
static void add_differs(struct as_places *ps, const struct as_places_setup *s, uint32_t base,
			struct as_table *seen)
{
	const struct as_damage *d = &s->differs[base];
	uint64_t size = as_disk_size(s->bases[base].disk);
	unsigned char *in = as_xcalloc(size / 8 + 1, 1);
	struct as_damage rest = { 0 };

	if (ps->of[base])
		add_fields(ps, s, base, seen);
	for (size_t i = 0; ps->of[base] && i < as_fields_n(ps->of[base]); i++) {
		const struct as_field *f = as_fields_at(ps->of[base], i);

		for (uint64_t at = f->off; at < f->off + f->bytes && at < size; at++)
			in[at / 8] |= (unsigned char)(1u << at % 8);
	}
	rest.bytes = as_xcalloc(d->n + 1, sizeof(*rest.bytes));
	for (size_t i = 0; i < d->n; i++)
		if (!(in[d->bytes[i].off / 8] >> d->bytes[i].off % 8 & 1))
			rest.bytes[rest.n++] = d->bytes[i];
	if (!s->fields)
		as_place_add_bytes(ps, s, base, &rest, "differs from the sound disk");
	free(rest.bytes);
	free(in);
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
	p = as_place_add(ps, 0);
	p->offs = as_xcalloc(s->len + 1, sizeof(*p->offs));
	while (p->n < s->len) {
		p->offs[p->n] = s->off + p->n;
		p->n++;
	}
	as_buf_addf(&p->name, "bytes %llu to %llu", (unsigned long long)s->off,
		    (unsigned long long)(s->off + s->len - 1));
	as_place_finish(p, s);
	return 0;
}

static int add_of_disk(struct as_places *ps, const struct as_places_setup *s, uint32_t i,
		       struct as_table *seen, struct as_err *err)
{
	struct as_err why;
	int rc = s->layout ? as_fields_read_by(s->layout, NULL, s->bases[i].disk, &ps->of[i], &why)
			   : as_fields_read(s->type, s->bases[i].disk, &ps->of[i], &why);

	/* What the user has written is not passed over. */
	if (rc && s->layout)
		return as_fail(err, rc, "%s", why.msg);
	if (rc) {
		ps->of[i] = NULL;
		if (!s->suite && !s->whole && !s->differs)
			return as_fail(err, AS_EUSE, "--symbolic: %.600s", why.msg);
	}
	if (s->whole)
		return i ? 0 : add_whole(ps, s, err);
	if (s->suite) {
		as_place_add_bytes(ps, s, i, &s->bases[i].writes, "the repair changes");
		return 0;
	}
	if (s->differs)
		add_differs(ps, s, i, seen);
	else
		add_fields(ps, s, i, seen);
	return ps->of[i] ? add_joined(ps, s, i, err) : 0;
}

int as_places_find(const struct as_places_setup *s, struct as_places *ps, struct as_err *err)
{
	struct as_table seen = { 0 };
	int rc = 0;

	*ps = (struct as_places){ .of = as_xcalloc(s->n + 1, sizeof(struct as_fields *)),
				  .n_of = s->n,
				  .seal = s->seal };
	for (size_t i = 0; !rc && i < s->n; i++)
		rc = add_of_disk(ps, s, (uint32_t)i, &seen, err);
	as_table_free(&seen);
	for (size_t i = 0; !rc && s->suite && i < s->n; i++)
		as_place_add_near(ps, s, (uint32_t)i);
	if (!rc && !s->whole && !s->suite && !s->fields && !s->differs)
		add_instances(ps, s);
	if (!rc && !ps->n)
		rc = as_fail(err, AS_EUSE,
			     s->suite	  ? "--symbolic: the checker changes nothing on any of "
					    "these images"
			     : s->fields  ? "--fields: the disk has no field of that name"
			     : s->differs ? "--symbolic: no disk differs from the sound one"
					  : "--symbolic: no field was found");
	if (rc)
		as_places_free(ps);
	return rc;
}
