/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_json: see finding_json.h. The texts are rows of one table, for the writer and the
 * reader. */
#include "base/finding_json.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* In this order they are written; the id and the kind stand before them. */
static const struct text_row {
	const char *key;
	size_t at;
	bool one_line;
	bool always; /* required, also in a file */
	bool whole; /* it must be there unless it stands in a file of its own */
} texts[] = {
#define ROW(name, ...)                                                \
	{                                                             \
#name, offsetof(struct as_finding, name), __VA_ARGS__ \
	}
	ROW(target, .one_line = true, .always = true),
	ROW(summary, .one_line = true, .whole = true),
	ROW(detail, .one_line = false),
	ROW(signature, .one_line = true, .always = true),
	ROW(group, .one_line = true),
	ROW(workload_name, .one_line = true),
	ROW(options, .one_line = true, .always = true),
	ROW(log, .one_line = false),
	ROW(kernel, .one_line = true),
	ROW(workload, .whole = true),
#undef ROW
};

#define NTEXTS (sizeof(texts) / sizeof(texts[0]))

static const char **text_at(struct as_finding *f, const struct text_row *row)
{
	return (const char **)(void *)((char *)f + row->at);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* For whoever sorts findings. */
static void print_group(struct as_json *json, const struct as_finding *f)
{
	struct as_buf group = { 0 };

	if (f->group && *f->group)
		as_buf_adds(&group, f->group);
	else
		as_signature_group(&group, f->signature ? f->signature : "");
	as_json_kstr(json, "group", as_buf_str(&group));
	as_buf_free(&group);
}

void as_finding_print(struct as_json *json, const struct as_finding *f, const char *id)
{
	as_json_kstr(json, "id", id);
	as_json_kstr(json, "kind", as_finding_kind_name(f->kind));
	for (size_t i = 0; i < NTEXTS; i++) {
		const char *const *text =
			(const char *const *)(const void *)((const char *)f + texts[i].at);

		if (texts[i].at == offsetof(struct as_finding, workload))
			continue;
		if (texts[i].at == offsetof(struct as_finding, group)) {
			print_group(json, f);
			continue;
		}
		/* The numbers keep their old places among the members. */
		if (texts[i].at == offsetof(struct as_finding, log)) {
			as_json_kint(json, "op", f->op_index < 0 ? 0 : f->op_index + 1);
			as_json_kint(json, "line", f->op_line);
		}
		as_json_kstr(json, texts[i].key, *text);
	}
	as_json_kbool(json, "disk", f->disk);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int64_t number(const json_t *object, const char *key, int64_t max)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n < 0 ? 0 : n > max ? max : (int64_t)n;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static void make_line(json_t *text)
{
	char *line = as_xstrdup(json_string_value(text));
	bool changed = false;

	for (char *s = line; *s; s++)
		if (is_control(*s)) {
			*s = '?';
			changed = true;
		}
	if (changed)
		json_string_set(text, line);
	free(line);
}

static int read_texts(json_t *object, enum as_finding_source source, struct as_finding *f,
		      struct as_err *err)
{
	for (size_t i = 0; i < NTEXTS; i++) {
		const struct text_row *row = &texts[i];
		json_t *text = json_object_get(object, row->key);

		if (row->always && !json_is_string(text))
			return as_fail(err, AS_EUSE, "it lacks id, target, signature or options");
		if (row->whole && source != AS_FINDING_STORED && !json_is_string(text))
			return as_fail(err, AS_EUSE, "it lacks its %s", row->key);
		if (text && !json_is_string(text) && !json_is_null(text))
			return as_fail(err, AS_EUSE, "its %s is not a text", row->key);
		if (json_is_string(text) && row->one_line && source == AS_FINDING_FROM_GUEST)
			make_line(text);
		*text_at(f, row) = json_string_value(text);
	}
	return 0;
}

static int read_record(json_t *object, enum as_finding_source source, struct as_finding_record *r,
		       struct as_err *err)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	int parsed, rc;

	r->id = json_string_value(json_object_get(object, "id"));
	if (!r->id)
		return as_fail(err, AS_EUSE, "it lacks id, target, signature or options");
	if (!as_finding_is_id(r->id))
		return as_fail(err, AS_EUSE, "its id is not one");
	rc = read_texts(object, source, &r->finding, err);
	if (rc)
		return rc;
	parsed = kind ? as_finding_kind_parse(kind) : -1;
	if (parsed < 0)
		return as_fail(err, AS_EUSE, "its kind is unknown");
	r->finding.kind = (enum as_finding_kind)parsed;
	r->finding.op_index = (long)number(object, "op", INT32_MAX) - 1;
	r->finding.op_line = (int)number(object, "line", INT32_MAX);
	r->count = (uint64_t)number(object, "count", INT64_MAX);
	r->has_disk = json_is_true(json_object_get(object, "disk"));
	return 0;
}

int as_finding_parse(struct json_t *object, enum as_finding_source source,
		     struct as_finding_record *record, struct as_err *err)
{
	int rc;

	*record = (struct as_finding_record){ 0 };
	if (!json_is_object(object))
		return as_fail(err, AS_EUSE, "expected an object");
	rc = read_record(object, source, record, err);
	if (rc)
		*record = (struct as_finding_record){ 0 };
	else
		record->object = json_incref(object);
	return rc;
}

void as_finding_record_free(struct as_finding_record *record)
{
	json_decref(record->object);
	*record = (struct as_finding_record){ 0 };
}
