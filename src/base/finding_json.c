/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_json: see finding_json.h. The texts are rows of one table, for the writer and the
 * reader. */
#include "base/finding_json.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PACKED_MAX_BYTES ((size_t)256 << 20)

/* In this order they are written; the id and the kind stand before them. */
static const struct text_row {
	const char *key;
	size_t at;
	bool said, one_line, always, whole; /* as notice.def says */
} texts[] = {
#define SAID(name, bytes, ...) \
	{ #name, offsetof(struct as_finding, name), .said = true, __VA_ARGS__ },
#define ADDED(name, ...) { #name, offsetof(struct as_finding, name), .said = false, __VA_ARGS__ },
#include "base/notice.def"
#undef SAID
#undef ADDED
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

static void print_members(struct as_json *json, const struct as_finding *f)
{
	as_json_kstr(json, "id", f->id);
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

static void print_files(struct as_json *json, const struct as_finding *f)
{
	as_json_key(json, "files");
	as_json_array(json);
	for (size_t i = 0; i < f->n_files; i++) {
		as_json_object(json);
		as_json_kstr(json, "name", f->files[i].name);
		as_json_kstr(json, "text", f->files[i].text);
		as_json_kbool(json, "program", f->files[i].program);
		as_json_end(json);
	}
	as_json_end(json);
}

void as_finding_print(struct as_json *json, const struct as_finding *f, enum as_finding_form form)
{
	if (form != AS_FINDING_STORED)
		as_json_kint(json, "form", AS_FINDING_VERSION);
	print_members(json, f);
	if (form == AS_FINDING_STORED)
		return;
	as_json_kstr(json, "workload", f->workload);
	if (f->n_files)
		print_files(json, f);
}

void as_finding_pack(const struct as_finding *finding, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_finding_print(&json, finding, AS_FINDING_WHOLE);
	as_json_end(&json);
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

static bool is_guest(enum as_finding_form form)
{
	return form == AS_FINDING_FROM_GUEST || form == AS_FINDING_SAID;
}

static int read_texts(json_t *object, enum as_finding_form form, struct as_finding *f,
		      struct as_err *err)
{
	for (size_t i = 0; i < NTEXTS; i++) {
		const struct text_row *row = &texts[i];
		json_t *text = json_object_get(object, row->key);
		bool due = row->said || form != AS_FINDING_SAID;

		if (row->always && due && !json_is_string(text))
			return as_fail(err, AS_EUSE, "it lacks id, target, signature or options");
		if (row->whole && due && form != AS_FINDING_STORED && !json_is_string(text))
			return as_fail(err, AS_EUSE, "it lacks its %s", row->key);
		if (text && !json_is_string(text) && !json_is_null(text))
			return as_fail(err, AS_EUSE, "its %s is not a text", row->key);
		if (json_is_string(text) && row->one_line && is_guest(form))
			make_line(text);
		*text_at(f, row) = json_string_value(text);
	}
	return 0;
}

static int read_id(const json_t *object, enum as_finding_form form, const char **id,
		   struct as_err *err)
{
	*id = json_string_value(json_object_get(object, "id"));
	if (!*id && form != AS_FINDING_SAID)
		return as_fail(err, AS_EUSE, "it lacks id, target, signature or options");
	if (*id && !as_finding_is_id(*id))
		return as_fail(err, AS_EUSE, "its id is not one");
	return 0;
}

static int read_file(const json_t *object, struct as_finding_file *file, struct as_err *err)
{
	file->name = json_string_value(json_object_get(object, "name"));
	file->text = json_string_value(json_object_get(object, "text"));
	file->program = json_is_true(json_object_get(object, "program"));
	if (!file->name || !file->text || !as_finding_is_id(file->name))
		return as_fail(err, AS_EUSE, "one of its files is not one");
	return 0;
}

/* Files stand beside the finding: a guest has none to give, and a folder has its own. */
static int read_files(const json_t *object, enum as_finding_form form, struct as_finding *f,
		      struct as_err *err)
{
	const json_t *array = json_object_get(object, "files");
	struct as_finding_file *files;
	size_t n = json_array_size(array);
	int rc = 0;

	if (!array || form == AS_FINDING_STORED)
		return 0;
	if (is_guest(form) || !json_is_array(array) || n > AS_FINDING_FILES_MAX)
		return as_fail(err, AS_EUSE, "its files are none");
	if (!n)
		return 0;
	f->files = files = as_xcalloc(n, sizeof(*files));
	f->n_files = n;
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_file(json_array_get(array, i), &files[i], err);
	return rc;
}

static int read_finding(json_t *object, enum as_finding_form form, struct as_finding *f,
			struct as_err *err)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	int parsed, rc;

	if (form != AS_FINDING_STORED &&
	    json_integer_value(json_object_get(object, "form")) != AS_FINDING_VERSION)
		return as_fail(err, AS_EUSE, "its form is of another version");
	rc = read_id(object, form, &f->id, err);
	if (!rc)
		rc = read_texts(object, form, f, err);
	if (!rc)
		rc = read_files(object, form, f, err);
	if (rc)
		return rc;
	parsed = kind ? as_finding_kind_parse(kind) : -1;
	if (parsed < 0)
		return as_fail(err, AS_EUSE, "its kind is unknown");
	f->kind = (enum as_finding_kind)parsed;
	f->op_index = (long)number(object, "op", INT32_MAX) - 1;
	f->op_line = (int)number(object, "line", INT32_MAX);
	f->count = (uint64_t)number(object, "count", INT64_MAX);
	f->has_disk = json_is_true(json_object_get(object, "disk"));
	return 0;
}

int as_finding_parse(struct json_t *object, enum as_finding_form form, struct as_finding *finding,
		     struct as_err *err)
{
	int rc;

	*finding = (struct as_finding){ 0 };
	if (!json_is_object(object))
		return as_fail(err, AS_EUSE, "expected an object");
	finding->own = json_incref(object);
	rc = read_finding(object, form, finding, err);
	if (rc)
		as_finding_free(finding);
	return rc;
}

int as_finding_unpack(const char *text, size_t len, enum as_finding_form form,
		      struct as_finding *finding, struct as_err *err)
{
	json_error_t error;
	json_t *object = len <= PACKED_MAX_BYTES ? json_loadb(text, len, 0, &error) : NULL;
	int rc = as_finding_parse(object, form, finding, err);

	json_decref(object);
	return rc;
}

void as_finding_free(struct as_finding *finding)
{
	if (finding->own)
		free((void *)(uintptr_t)finding->files);
	json_decref(finding->own);
	*finding = (struct as_finding){ 0 };
}
