/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show: see show.h. The difference of two disks is in show_diff.c. */
#include "layout/show_priv.h"

#include "base/show.h"

#include <string.h>

bool as_fields_picked(const struct as_field *field, const struct as_fields_filter *filter)
{
	if (filter->structure && strcmp(field->structure, filter->structure) != 0)
		return false;
	return !filter->path || (field->path && strcmp(field->path, filter->path) == 0);
}

bool as_field_is_bit(const struct as_field *field)
{
	return field->kind == AS_FIELD_BITMAP && field->bits == 1;
}

void as_field_json_head(struct as_json *json, const struct as_field *field)
{
	as_json_object(json);
	as_json_kstr(json, "structure", field->structure);
	as_json_kstr(json, "instance", field->instance);
	as_json_kstr(json, "field", field->name);
}

void as_field_json_value(struct as_json *json, const char *key, const struct as_field *field,
			 struct as_disk *disk)
{
	struct as_buf text = { 0 };

	as_json_key(json, key);
	if (field->bytes <= 8) {
		as_json_uint(json, as_field_get(field, disk));
	} else {
		as_field_say(field, disk, &text);
		as_json_str(json, as_buf_str(&text));
	}
	as_buf_free(&text);
}

static void show_json(const struct as_field *field, struct as_disk *disk, struct as_buf *out)
{
	struct as_json json = as_json_on(out);
	struct as_buf words = { 0 };

	as_field_json_head(&json, field);
	as_json_kstr(&json, "kind", as_field_kind_name(field->kind));
	as_json_kstr(&json, "role", field->role);
	as_json_kstr(&json, "class", field->class);
	as_json_kstr(&json, "path", field->path);
	as_json_kuint(&json, "offset", field->off);
	as_json_kuint(&json, "bytes", field->bytes);
	if (field->bits) {
		as_json_kuint(&json, "shift", field->shift);
		as_json_kuint(&json, "bits", field->bits);
	}
	as_json_kbool(&json, "sealed", field->seal != 0);
	as_field_json_value(&json, "value", field, disk);
	as_field_say(field, disk, &words);
	as_json_kstr(&json, "words", as_buf_str(&words));
	as_json_end(&json);
	as_buf_addc(out, '\n');
	as_buf_free(&words);
}

static bool same_instance(const struct as_field *a, const struct as_field *b)
{
	return strcmp(a->structure, b->structure) == 0 && strcmp(a->instance, b->instance) == 0;
}

/* Bits of a bitmap from i on, as runs in one line. Returns the number after the last. */
static size_t show_bits(const struct as_fields *fields, size_t i, struct as_disk *disk,
			struct as_buf *out)
{
	const struct as_field *first = as_fields_at(fields, i);
	size_t end = i;
	bool comma = false;

	as_buf_addf(out, "  %.*s in use:", (int)strcspn(first->name, " "), first->name);
	while (end < as_fields_n(fields)) {
		const struct as_field *from = as_fields_at(fields, end), *last = from;

		if (!as_field_is_bit(from) || !same_instance(first, from))
			break;
		end++;
		if (!as_field_get(from, disk))
			continue;
		while (end < as_fields_n(fields) && as_field_is_bit(as_fields_at(fields, end)) &&
		       same_instance(first, as_fields_at(fields, end)) &&
		       as_fields_at(fields, end)->self == last->self + 1 &&
		       as_field_get(as_fields_at(fields, end), disk))
			last = as_fields_at(fields, end++);
		as_buf_addf(out, "%s %llu", comma ? "," : "", (unsigned long long)from->self);
		if (last != from)
			as_buf_addf(out, "-%llu", (unsigned long long)last->self);
		comma = true;
	}
	as_buf_adds(out, comma ? "\n" : " none\n");
	return end;
}

size_t as_fields_show(const struct as_fields *fields, struct as_disk *disk,
		      const struct as_fields_filter *filter, bool json, struct as_buf *out)
{
	const struct as_field *before = NULL;
	size_t n = 0;

	for (size_t i = 0; i < as_fields_n(fields); i++) {
		const struct as_field *field = as_fields_at(fields, i);

		if (!as_fields_picked(field, filter))
			continue;
		n++;
		if (json) {
			show_json(field, disk, out);
			continue;
		}
		if (!before || !same_instance(before, field))
			as_buf_addf(out, "%s (%s at byte %llu%s%s)\n", field->instance,
				    field->structure, (unsigned long long)field->off,
				    field->class[0] ? ", " : "", field->class);
		before = field;
		if (as_field_is_bit(field)) {
			size_t next = show_bits(fields, i, disk, out);

			n += next - i - 1;
			i = next - 1;
			continue;
		}
		as_buf_addf(out, "  %-24s ", field->name);
		as_field_say(field, disk, out);
		as_buf_addc(out, '\n');
	}
	return n;
}
