/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show_diff: the difference of two disks. Fields are the same if structure, instance and name are,
 * wherever they lie. Bits of bitmaps are compared place by place, since a bit that is not in use
 * need not be a field. Bytes that no field of either disk covers are named by the area they are in.
 */
#include "layout/show_priv.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/show.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct show_range {
	uint64_t off, end;
};

struct show_diff {
	struct as_fielded a, b;
	const struct as_fields_filter *filter;
	bool json;
	struct as_buf *out;
	size_t lines;
	struct as_table in_a, in_b; /* fields by key */
	struct show_range *covered; /* by fields, sorted, apart */
	size_t n_covered, cap_covered;
	uint64_t from, to; /* bytes that differ, not told yet */
};

/* ---- The same field on the other disk ---- */

static uint64_t key_of(const struct as_field *f)
{
	struct as_buf key = { 0 };
	uint64_t hash;

	as_buf_addf(&key, "%s/%s/%s", f->structure, f->instance, f->name);
	hash = as_hash64(key.data, key.len);
	as_buf_free(&key);
	return hash;
}

struct show_key {
	const struct as_fields *fields;
	const struct as_field *field;
};

static bool same_key(const void *ctx, size_t item)
{
	const struct show_key *key = ctx;
	const struct as_field *f = as_fields_at(key->fields, item);

	return strcmp(f->name, key->field->name) == 0 &&
	       strcmp(f->instance, key->field->instance) == 0 &&
	       strcmp(f->structure, key->field->structure) == 0;
}

static void index_fields(const struct as_fields *fields, struct as_table *table)
{
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		struct show_key key = { fields, as_fields_at(fields, i) };
		uint64_t hash = key_of(key.field);

		if (as_table_find(table, hash, same_key, &key) == AS_TABLE_NONE)
			as_table_add(table, hash, i);
	}
}

static const struct as_field *other(const struct as_fields *fields, const struct as_table *table,
				    const struct as_field *field)
{
	struct show_key key = { fields, field };
	size_t i = as_table_find(table, key_of(field), same_key, &key);

	return i == AS_TABLE_NONE ? NULL : as_fields_at(fields, i);
}

static bool differ(const struct show_diff *d, const struct as_field *a, const struct as_field *b)
{
	unsigned char x[256], y[256];

	if (a->bytes <= 8 && b->bytes <= 8)
		return as_field_get(a, d->a.disk) != as_field_get(b, d->b.disk);
	if (a->bytes != b->bytes)
		return true;
	return as_field_bytes(a, d->a.disk, x, sizeof(x)) !=
		       as_field_bytes(b, d->b.disk, y, sizeof(y)) ||
	       memcmp(x, y, a->bytes < sizeof(x) ? a->bytes : sizeof(x)) != 0;
}

/* ---- Lines ---- */

static void tell_change(struct show_diff *d, const struct as_field *a, const struct as_field *b)
{
	struct as_json json = as_json_on(d->out);

	d->lines++;
	if (d->json) {
		as_field_json_head(&json, a);
		as_json_kuint(&json, "offset", a->off);
		as_field_json_value(&json, "before", a, d->a.disk);
		as_field_json_value(&json, "after", b, d->b.disk);
		as_json_end(&json);
		as_buf_addc(d->out, '\n');
		return;
	}
	as_buf_addf(d->out, "%s: %s was ", a->instance, a->name);
	as_field_say(a, d->a.disk, d->out);
	as_buf_adds(d->out, ", is ");
	as_field_say(b, d->b.disk, d->out);
	as_buf_addc(d->out, '\n');
}

static void tell_alone(struct show_diff *d, const struct as_field *field, bool first)
{
	struct as_json json = as_json_on(d->out);

	d->lines++;
	if (!d->json) {
		as_buf_addf(d->out, "%s: only on the %s disk (%s at byte %llu)\n", field->instance,
			    first ? "first" : "second", field->structure,
			    (unsigned long long)field->off);
		return;
	}
	as_json_object(&json);
	as_json_kstr(&json, "structure", field->structure);
	as_json_kstr(&json, "instance", field->instance);
	as_json_kuint(&json, "only_on", first ? 1 : 2);
	as_json_end(&json);
	as_buf_addc(d->out, '\n');
}

/* ---- Fields ---- */

/* Instances are told once: their fields follow each other. */
static void fields_alone(struct show_diff *d, struct as_fielded x, const struct as_fields *there,
			 const struct as_table *table, bool first)
{
	const struct as_field *told = NULL;

	for (size_t i = 0; i < as_fields_n(x.fields); i++) {
		const struct as_field *f = as_fields_at(x.fields, i);

		if (as_field_is_bit(f) || !as_fields_picked(f, d->filter) || other(there, table, f))
			continue;
		if (!told || strcmp(told->instance, f->instance) != 0 ||
		    strcmp(told->structure, f->structure) != 0)
			tell_alone(d, f, first);
		told = f;
	}
}

static void changes(struct show_diff *d)
{
	for (size_t i = 0; i < as_fields_n(d->a.fields); i++) {
		const struct as_field *a = as_fields_at(d->a.fields, i), *b;

		if (as_field_is_bit(a) || !as_fields_picked(a, d->filter))
			continue;
		b = other(d->b.fields, &d->in_b, a);
		if (b && differ(d, a, b))
			tell_change(d, a, b);
	}
}

/* ---- Bits ---- */

static void tell_bits(struct show_diff *d, const struct as_field *from, const struct as_field *last,
		      bool used)
{
	struct as_json json = as_json_on(d->out);

	if (!from)
		return;
	d->lines++;
	if (d->json) {
		as_json_object(&json);
		as_json_kstr(&json, "structure", from->structure);
		as_json_kstr(&json, "instance", from->instance);
		as_json_kuint(&json, "first", from->self);
		as_json_kuint(&json, "last", last->self);
		as_json_kbool(&json, "used", used);
		as_json_end(&json);
		as_buf_addc(d->out, '\n');
		return;
	}
	as_buf_addf(d->out, "%s: %s", from->instance, from->name);
	if (last != from)
		as_buf_addf(d->out, " to %llu", (unsigned long long)last->self);
	as_buf_addf(d->out, " %s %s, %s %s\n", last != from ? "were" : "was",
		    used ? "free" : "used", last != from ? "are" : "is", used ? "used" : "free");
}

/* Those that are used in x and not in y; both see the same places. */
static void bits_of(struct show_diff *d, struct as_fielded x, struct as_disk *y, bool used)
{
	const struct as_field *from = NULL, *last = NULL;

	for (size_t i = 0; i < as_fields_n(x.fields); i++) {
		const struct as_field *f = as_fields_at(x.fields, i);

		if (!as_field_is_bit(f) || !as_fields_picked(f, d->filter) ||
		    !as_field_get(f, x.disk) || as_field_get(f, y))
			continue;
		if (last && (last->self + 1 != f->self || strcmp(last->instance, f->instance))) {
			tell_bits(d, from, last, used);
			from = NULL;
		}
		if (!from)
			from = f;
		last = f;
	}
	tell_bits(d, from, last, used);
}

/* ---- Other bytes ---- */

static int by_place(const void *x, const void *y)
{
	const struct show_range *a = x, *b = y;

	return a->off < b->off ? -1 : a->off > b->off;
}

static void cover(struct show_diff *d, const struct as_fields *fields)
{
	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *f = as_fields_at(fields, i);
		struct show_range *last = d->n_covered ? &d->covered[d->n_covered - 1] : NULL;

		if (last && f->off >= last->off && f->off <= last->end) {
			if (f->off + f->bytes > last->end)
				last->end = f->off + f->bytes;
			continue;
		}
		AS_ARRAY_ROOM(d->covered, d->n_covered, d->cap_covered);
		d->covered[d->n_covered++] = (struct show_range){ f->off, f->off + f->bytes };
	}
}

static void sort_covered(struct show_diff *d)
{
	size_t n = 0;

	if (!d->n_covered)
		return;
	qsort(d->covered, d->n_covered, sizeof(*d->covered), by_place);
	for (size_t i = 1; i < d->n_covered; i++) {
		if (d->covered[i].off <= d->covered[n].end) {
			if (d->covered[i].end > d->covered[n].end)
				d->covered[n].end = d->covered[i].end;
		} else {
			d->covered[++n] = d->covered[i];
		}
	}
	d->n_covered = n + 1;
}

static bool is_covered(const struct show_diff *d, uint64_t off)
{
	size_t low = 0, high = d->n_covered;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->covered[mid].end <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->n_covered && d->covered[low].off <= off;
}

static const struct as_disk_area *area_at(const struct as_fields *fields, uint64_t off)
{
	for (size_t i = 0; i < as_fields_areas(fields); i++) {
		const struct as_disk_area *area = as_fields_area(fields, i);

		if (off >= area->off && off - area->off < area->len)
			return area;
	}
	return NULL;
}

static void tell_bytes(struct show_diff *d)
{
	const struct as_disk_area *area;
	struct as_json json = as_json_on(d->out);
	struct as_buf what = { 0 };

	if (d->from == d->to)
		return;
	area = area_at(d->b.fields, d->from);
	if (!area)
		area = area_at(d->a.fields, d->from);
	if (area && area->is_data)
		as_buf_addf(&what, "%s, from byte %llu on", area->what,
			    (unsigned long long)(area->at + (d->from - area->off)));
	else
		as_buf_adds(&what, area ? area->what : "nothing known");
	d->lines++;
	if (d->json) {
		as_json_object(&json);
		as_json_kuint(&json, "offset", d->from);
		as_json_kuint(&json, "bytes", d->to - d->from);
		as_json_kstr(&json, "what", area ? as_buf_str(&what) : NULL);
		as_json_end(&json);
		as_buf_addc(d->out, '\n');
	} else {
		as_buf_addf(d->out, "bytes %llu to %llu differ (%s)\n", (unsigned long long)d->from,
			    (unsigned long long)(d->to - 1), as_buf_str(&what));
	}
	as_buf_free(&what);
	d->from = d->to = 0;
}

#define BYTES_APART 16u /* equal bytes between two that differ, told as one */

static int diff_chunk(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct show_diff *d = ctx;

	for (uint64_t i = 0; i < AS_CHUNK_BYTES; i++) {
		uint64_t off = index * AS_CHUNK_BYTES + i;

		if (a[i] == b[i] || is_covered(d, off))
			continue;
		if (d->from != d->to &&
		    (off > d->to + BYTES_APART ||
		     area_at(d->b.fields, off) != area_at(d->b.fields, d->from)))
			tell_bytes(d);
		if (d->from == d->to)
			d->from = off;
		d->to = off + 1;
	}
	return 0;
}

size_t as_fields_diff(struct as_fielded a, struct as_fielded b,
		      const struct as_fields_filter *filter, bool json, struct as_buf *out)
{
	struct show_diff d = { .a = a, .b = b, .filter = filter, .json = json, .out = out };

	index_fields(a.fields, &d.in_a);
	index_fields(b.fields, &d.in_b);
	changes(&d);
	bits_of(&d, a, b.disk, false);
	bits_of(&d, b, a.disk, true);
	fields_alone(&d, a, b.fields, &d.in_b, true);
	fields_alone(&d, b, a.fields, &d.in_a, false);
	if (!filter->structure && !filter->path && as_disk_size(a.disk) == as_disk_size(b.disk)) {
		cover(&d, a.fields);
		cover(&d, b.fields);
		sort_covered(&d);
		(void)as_disk_diff(a.disk, b.disk, diff_chunk, &d);
		tell_bytes(&d);
	}
	as_table_free(&d.in_a);
	as_table_free(&d.in_b);
	free(d.covered);
	return d.lines;
}
