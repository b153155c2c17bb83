/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desc_check: what is wrong with a description can mostly be told without a disk. */
#include "layout/walk/walk_priv.h"

#include <string.h>

static bool is_number(enum as_field_kind kind)
{
	return kind != AS_FIELD_NAME && kind != AS_FIELD_ID && kind != AS_FIELD_OTHER &&
	       kind != AS_FIELD_MAGIC && kind != AS_FIELD_BITMAP && kind != AS_FIELD_CHECKSUM;
}

struct as_desc_span as_desc_span(const struct as_desc *desc, const struct as_desc_field *field)
{
	struct as_desc_span span = { .known = false };
	uint64_t bytes, times = 1, step;

	if (field->off == DESC_NONE || !as_desc_is_constant(desc, field->off) ||
	    !as_desc_is_constant(desc, field->bytes) ||
	    (field->times != DESC_NONE && !as_desc_is_constant(desc, field->times)))
		return span;
	span.off = as_desc_eval(desc, field->off, NULL, NULL, NULL);
	bytes = as_desc_eval(desc, field->bytes, NULL, NULL, NULL);
	if (field->times != DESC_NONE)
		times = as_desc_eval(desc, field->times, NULL, NULL, NULL);
	step = field->step ? field->step : bytes;
	if (span.off > AS_DISK_MAX_BYTES || bytes > DESC_FIELD_BYTES_MAX || times > DESC_TIMES_MAX)
		return span;
	span.known = true;
	span.end = span.off + (times ? (times - 1) * step + bytes : 0);
	return span;
}

static bool bits_meet(const struct as_desc_field *a, struct as_desc_span at_a,
		      const struct as_desc_field *b, struct as_desc_span at_b)
{
	if (at_a.off >= at_b.end || at_b.off >= at_a.end)
		return false;
	/* Bit fields of the same bytes. */
	if (a->bits && b->bits && at_a.off == at_b.off && at_a.end == at_b.end)
		return a->shift < b->shift + b->bits && b->shift < a->shift + a->bits;
	/* Fields with steps may lie between each other. */
	return !(a->step && b->step);
}

static const char *check_bytes(const struct as_desc *desc, const struct as_desc_field *field)
{
	uint64_t bytes;

	if (!as_desc_is_constant(desc, field->bytes))
		return field->bits ? "a bit field has a fixed number of bytes" : NULL;
	bytes = as_desc_eval(desc, field->bytes, NULL, NULL, NULL);
	if (!bytes)
		return "the field has no bytes";
	if (bytes > DESC_FIELD_BYTES_MAX)
		return "the field is too large";
	if (bytes > 8 && (is_number(field->kind) || field->bits || field->is != DESC_NONE))
		return "a number has at most 8 bytes";
	if (bytes > 4 && field->sum != DESC_NONE)
		return "a checksum that is computed has at most 4 bytes";
	if (field->bits && field->shift + field->bits > bytes * 8)
		return "the bit field does not lie within its bytes";
	return NULL;
}

const char *as_desc_check_field(const struct as_desc *desc, const struct as_desc_field *field,
				const struct as_desc_field **other)
{
	const struct as_desc_struct *s = &desc->structs[desc->n_structs - 1];
	struct as_desc_span span = as_desc_span(desc, field);
	const char *what = check_bytes(desc, field);

	if (what)
		return what;
	if ((field->sum == DESC_NONE) != (field->from == DESC_NONE))
		return "sum= and over= belong together";
	if (field->sum != DESC_NONE && (field->bits || field->times != DESC_NONE))
		return "a checksum that is computed is one number of whole bytes";
	if (!span.known)
		return NULL;
	if (s->size != DESC_NONE && as_desc_is_constant(desc, s->size) &&
	    span.end > as_desc_eval(desc, s->size, NULL, NULL, NULL))
		return "the field lies outside of its structure";
	for (size_t i = s->first; i < desc->n_fields; i++) {
		struct as_desc_span there = as_desc_span(desc, &desc->fields[i]);

		if (there.known && bits_meet(field, span, &desc->fields[i], there) &&
		    (field->cond == DESC_NONE || desc->fields[i].cond == DESC_NONE)) {
			*other = &desc->fields[i];
			return NULL;
		}
	}
	return NULL;
}

/* ---- The whole ---- */

static bool is_held(const struct as_desc *desc, const char *name)
{
	for (size_t i = 0; i < desc->n_holds; i++)
		if (!strcmp(desc->holds[i].name, name))
			return true;
	return false;
}

static bool is_walked(const struct as_desc *desc, const char *name)
{
	for (size_t i = 0; desc->walker->structures[i]; i++)
		if (!strcmp(desc->walker->structures[i], name))
			return true;
	return false;
}

static bool is_described(const struct as_desc *desc, const char *name)
{
	for (size_t i = 0; i < desc->n_structs; i++)
		if (!strcmp(desc->structs[i].name, name))
			return true;
	return false;
}

const char *as_desc_check_whole(const struct as_desc *desc, uint32_t *line, uint32_t *col)
{
	for (size_t i = 0; i < desc->n_structs; i++) {
		const struct as_desc_struct *s = &desc->structs[i];

		*line = s->line;
		*col = s->col;
		if (s->at == DESC_NONE && !is_walked(desc, s->name) && !is_held(desc, s->name))
			return "no walker finds this structure, none holds it, and at= does not "
			       "say where it is";
	}
	for (size_t i = 0; i < desc->n_holds; i++) {
		*line = desc->holds[i].line;
		*col = desc->holds[i].col;
		if (!is_described(desc, desc->holds[i].name))
			return "there is no structure of this name";
	}
	return NULL;
}
