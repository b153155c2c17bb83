/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fields: see field.h. */
#include "layout/walk/walk_in_priv.h"

#include <stdlib.h>
#include <string.h>

#define LAYOUT_FILE_MAX (1u << 20)
#define BLOCK_BYTES 4096u

/* ---- All of a disk ---- */

static bool has_magic(const struct as_desc *desc, struct as_disk *disk)
{
	unsigned char buf[8];

	for (size_t i = 0; i < desc->n_magics; i++) {
		const struct as_desc_magic *m = &desc->magics[i];

		if (as_disk_peek(disk, m->off, buf, m->bytes) &&
		    as_number_at(buf, m->bytes, m->big_endian) == m->value)
			return true;
	}
	return false;
}

static const struct as_desc *guess(struct as_disk *disk)
{
	const struct as_desc *desc;

	for (size_t i = 0; (desc = as_desc_at(i)); i++)
		if (has_magic(desc, disk))
			return desc;
	return NULL;
}

bool as_fields_know(const char *type)
{
	return as_desc_for(type) != NULL;
}

uint32_t as_fields_journal(const char *type)
{
	const struct as_desc *desc = as_desc_for(type);

	if (!desc || desc->journal.bytes != sizeof(uint32_t))
		return 0;
	return desc->journal.big_endian ? __builtin_bswap32((uint32_t)desc->journal.value)
					: (uint32_t)desc->journal.value;
}

static int walk_disk(const struct as_desc *desc, const struct as_geometry *geometry,
		     struct as_disk *disk, struct as_fields *out, struct as_err *err)
{
	struct as_err own = { 0 };
	struct as_disk_walk walk = {
		.disk = disk, .desc = desc, .out = out, .err = err ? err : &own
	};
	int rc;

	if (geometry)
		walk.geometry = *geometry;
	if (!walk.geometry.block_bytes)
		walk.geometry.block_bytes = BLOCK_BYTES;
	if (!walk.geometry.unit_bytes)
		walk.geometry.unit_bytes = 1;
	out->desc = desc;
	rc = desc->walker->walk(&walk, walk.err);
	if (!rc && !walk.rc)
		as_walk_placed(&walk);
	as_table_free(&walk.seen);
	as_buf_free(&walk.scratch);
	return rc ? rc : walk.rc;
}

static int read_with(const struct as_desc *desc, struct as_desc *own, bool tree,
		     const struct as_geometry *geometry, struct as_disk *disk,
		     struct as_fields **out, struct as_err *err)
{
	struct as_fields *fields = as_xcalloc(1, sizeof(*fields));
	int rc;

	fields->own = own;
	fields->tree = tree;
	rc = walk_disk(desc, geometry, disk, fields, err);
	if (rc) {
		as_fields_free(fields);
		return rc;
	}
	*out = fields;
	return 0;
}

static int read_type(const char *type, bool tree, struct as_disk *disk, struct as_fields **out,
		     struct as_err *err)
{
	const struct as_desc *desc = type ? as_desc_for(type) : guess(disk);

	*out = NULL;
	if (!desc && type)
		return as_fail(err, AS_EUSE, "the structures of %s are not described", type);
	if (!desc)
		return as_fail(err, AS_EUSE, "the disk has no magic of a type that is described");
	return read_with(desc, NULL, tree, NULL, disk, out, err);
}

int as_fields_read(const char *type, struct as_disk *disk, struct as_fields **out,
		   struct as_err *err)
{
	return read_type(type, false, disk, out, err);
}

int as_fields_read_tree(const char *type, struct as_disk *disk, struct as_fields **out,
			struct as_err *err)
{
	return read_type(type, true, disk, out, err);
}

int as_fields_read_text(const char *path, const char *text, size_t len,
			const struct as_geometry *geometry, struct as_disk *disk,
			struct as_fields **out, struct as_err *err)
{
	struct as_desc *desc = NULL;
	int rc = as_desc_parse(path, text, len, &desc, err);

	*out = NULL;
	return rc ? rc : read_with(desc, desc, false, geometry, disk, out, err);
}

int as_fields_read_by(const char *layout_path, const struct as_geometry *geometry,
		      struct as_disk *disk, struct as_fields **out, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, layout_path, LAYOUT_FILE_MAX, err);

	*out = NULL;
	if (!rc)
		rc = as_fields_read_text(layout_path, as_buf_str(&text), text.len, geometry, disk,
					 out, err);
	as_buf_free(&text);
	return rc;
}

void as_fields_free(struct as_fields *fields)
{
	if (!fields)
		return;
	free(fields->fields);
	free(fields->areas);
	free(fields->seals);
	free(fields->links);
	as_buf_free(&fields->complaint);
	as_arena_free(&fields->arena);
	as_desc_free(fields->own);
	free(fields);
}

const char *as_fields_layout(const struct as_fields *fields)
{
	return fields->desc->name;
}

const char *as_fields_complaint(const struct as_fields *fields)
{
	return as_buf_str(&fields->complaint);
}

size_t as_fields_n(const struct as_fields *fields)
{
	return fields->n;
}

const struct as_field *as_fields_at(const struct as_fields *fields, size_t i)
{
	as_assert(i < fields->n);
	return &fields->fields[i];
}

size_t as_fields_areas(const struct as_fields *fields)
{
	return fields->n_areas;
}

const struct as_disk_area *as_fields_area(const struct as_fields *fields, size_t i)
{
	as_assert(i < fields->n_areas);
	return &fields->areas[i];
}

const char *as_fields_path(const struct as_fields *fields, const char *path)
{
	uint64_t ino = 0;
	bool found = false;

	for (size_t i = 0; i < fields->n_links && !found; i++)
		if (strcmp(fields->links[i].path, path) == 0) {
			ino = fields->links[i].ino;
			found = true;
		}
	for (size_t i = 0; found && i < fields->n_links; i++)
		if (fields->links[i].ino == ino)
			return fields->links[i].path;
	return NULL;
}

uint32_t as_fields_seals(const struct as_fields *fields)
{
	return (uint32_t)fields->n_seals;
}

/* ---- One field ---- */

static unsigned number_bytes(const struct as_field *field)
{
	return field->bytes < 8 ? field->bytes : 8;
}

uint64_t as_field_max(const struct as_field *field)
{
	unsigned bits = field->bits ? field->bits : number_bytes(field) * 8;

	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

uint64_t as_field_get(const struct as_field *field, struct as_disk *disk)
{
	unsigned char buf[8];
	uint64_t value;

	if (!as_disk_peek(disk, field->off, buf, number_bytes(field)))
		return 0;
	value = as_number_at(buf, number_bytes(field), field->big_endian);
	return field->bits ? value >> field->shift & as_field_max(field) : value;
}

int as_field_set(const struct as_field *field, struct as_disk *disk, uint64_t value,
		 struct as_err *err)
{
	unsigned bytes = number_bytes(field);
	unsigned char buf[8];

	if (field->bits) {
		uint64_t mask = as_field_max(field) << field->shift, old;

		if (!as_disk_peek(disk, field->off, buf, bytes))
			return as_fail(err, AS_EUSE, "%s of %s is not on the disk", field->name,
				       field->instance);
		old = as_number_at(buf, bytes, field->big_endian);
		value = (old & ~mask) | (value << field->shift & mask);
	}
	as_number_put(buf, bytes, field->big_endian, value);
	return as_disk_poke(disk, field->off, buf, bytes, err);
}

size_t as_field_bytes(const struct as_field *field, struct as_disk *disk, void *out, size_t max)
{
	size_t n = field->bytes < max ? field->bytes : max;

	return as_disk_peek(disk, field->off, out, n) ? n : 0;
}

int as_field_set_bytes(const struct as_field *field, struct as_disk *disk, const void *data,
		       size_t len, struct as_err *err)
{
	as_assert(len <= field->bytes);
	return as_disk_poke(disk, field->off, data, len, err);
}

/* ---- Values worth trying ---- */

struct field_values {
	uint64_t *value;
	size_t n, max;
	uint64_t has, mask;
};

static void try_value(struct field_values *v, uint64_t value)
{
	value &= v->mask;
	if (value == v->has || v->n == v->max)
		return;
	for (size_t i = 0; i < v->n; i++)
		if (v->value[i] == value)
			return;
	v->value[v->n++] = value;
}

static bool points_alike(const struct as_field *a, const struct as_field *b)
{
	return a->points == b->points ||
	       (a->points && b->points && strcmp(a->points, b->points) == 0);
}

/* What the next other pointer holds, from i on, round and round; alike or not alike. */
static void try_pointer(const struct as_fields *fields, size_t i, struct as_disk *disk, bool alike,
			struct field_values *v)
{
	const struct as_field *field = &fields->fields[i];

	for (size_t k = 1; k < fields->n; k++) {
		const struct as_field *other = &fields->fields[(i + k) % fields->n];
		uint64_t value;

		if (other->kind != AS_FIELD_POINTER || points_alike(field, other) != alike)
			continue;
		value = as_field_get(other, disk);
		if (value && value != v->has) {
			try_value(v, value);
			return;
		}
	}
}

size_t as_field_values(const struct as_fields *fields, size_t i, struct as_disk *disk,
		       uint64_t *values, size_t max)
{
	const struct as_field *field = as_fields_at(fields, i);
	struct field_values v = { .value = values, .max = max };
	uint64_t sign;

	v.has = as_field_get(field, disk);
	v.mask = as_field_max(field);
	sign = v.mask ^ v.mask >> 1;
	try_value(&v, 0);
	try_value(&v, 1);
	try_value(&v, v.mask);
	try_value(&v, v.has + 1);
	try_value(&v, v.has - 1);
	try_value(&v, v.has ^ sign);
	try_value(&v, sign);
	try_value(&v, v.mask >> 1);
	if (field->kind == AS_FIELD_POINTER) {
		try_pointer(fields, i, disk, true, &v);
		try_pointer(fields, i, disk, false, &v);
		try_value(&v, field->self);
		try_value(&v, field->parent);
	}
	if (field->kind == AS_FIELD_MODE)
		for (uint64_t type = 0; type < 16; type++)
			try_value(&v, (v.has & 07777) | type << 12);
	if (field->kind == AS_FIELD_FLAGS || field->kind == AS_FIELD_MODE)
		for (uint64_t bit = 1; bit && bit <= v.mask; bit <<= 1)
			try_value(&v, v.has ^ bit);
	if (field->kind == AS_FIELD_COUNT || field->kind == AS_FIELD_SIZE) {
		try_value(&v, v.has * 2);
		try_value(&v, v.has / 2);
	}
	return v.n;
}
