/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sarif: see forms.h. A rule is a kind of finding, a result is a finding. Its location is the place
 * in source code that the log, the summary or the detail names (report/place.h): an assertion of a
 * library, a report of a sanitizer, a warning of a kernel. A finding that names none has no
 * location.
 */
#include "base/json.h"
#include "base/show.h"
#include "base/version.h"
#include "dossier/letter/words.h"
#include "report/forms.h"
#include "report/place.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void put_message(struct as_json *json, const char *key, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	as_json_key(json, key);
	as_json_object(json);
	as_json_kstr(json, "text", shown.len ? as_buf_str(&shown) : "no words");
	as_json_end(json);
	as_buf_free(&shown);
}

static void put_rules(struct as_json *json)
{
	as_json_key(json, "rules");
	as_json_array(json);
	for (int kind = 0; kind < AS_FIND_KINDS; kind++) {
		as_json_object(json);
		as_json_kstr(json, "id", as_finding_kind_name((enum as_finding_kind)kind));
		put_message(json, "shortDescription", as_kind_short((enum as_finding_kind)kind));
		put_message(json, "fullDescription", as_kind_meaning((enum as_finding_kind)kind));
		put_message(json, "help", as_kind_rule((enum as_finding_kind)kind));
		as_json_end(json);
	}
	as_json_end(json);
}

/* A reference of a URI: what is not plain is written as %XX. */
static void put_uri(struct as_buf *out, const struct as_code_place *place)
{
	as_buf_adds(out, place->file[0] == '/' ? "file://" : "");
	for (size_t i = 0; i < place->len; i++) {
		unsigned char c = (unsigned char)place->file[i];

		if (isalnum(c) || strchr("/._-~+@", c))
			as_buf_addc(out, (char)c);
		else
			as_buf_addf(out, "%%%02X", c);
	}
}

static void put_location(struct as_json *json, const json_t *f)
{
	static const char *const members[] = { "log", "summary", "detail" };
	struct as_code_place place = { 0 };
	struct as_buf uri = { 0 };
	bool known = false;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && !known; i++)
		known = as_place_find(text_of(f, members[i]), &place);
	if (!known)
		return;
	put_uri(&uri, &place);
	as_json_key(json, "locations");
	as_json_array(json);
	as_json_object(json);
	as_json_key(json, "physicalLocation");
	as_json_object(json);
	as_json_key(json, "artifactLocation");
	as_json_object(json);
	as_json_kstr(json, "uri", as_buf_str(&uri));
	as_json_end(json);
	as_json_key(json, "region");
	as_json_object(json);
	as_json_kuint(json, "startLine", place.line);
	if (place.column)
		as_json_kuint(json, "startColumn", place.column);
	as_json_end(json);
	as_json_end(json);
	as_json_end(json);
	as_json_end(json);
	as_buf_free(&uri);
}

static void put_result(struct as_json *json, const json_t *f)
{
	int kind = as_finding_kind_parse(text_of(f, "kind"));
	json_int_t count = json_integer_value(json_object_get(f, "count"));

	as_json_object(json);
	as_json_kstr(json, "ruleId", text_of(f, "kind"));
	if (kind >= 0)
		as_json_kint(json, "ruleIndex", kind);
	as_json_kstr(json, "level", "error");
	put_message(json, "message", text_of(f, "summary"));
	put_location(json, f);
	as_json_key(json, "partialFingerprints");
	as_json_object(json);
	as_json_kstr(json, "assaySignature/v1", text_of(f, "signature"));
	as_json_end(json);
	as_json_kint(json, "occurrenceCount", count > 0 ? count : 1);
	as_json_key(json, "properties");
	as_json_object(json);
	as_json_kstr(json, "id", text_of(f, "id"));
	as_json_kstr(json, "target", text_of(f, "target"));
	as_json_kstr(json, "options", text_of(f, "options"));
	as_json_end(json);
	as_json_end(json);
}

/* What could not be read is a failure of the tool, not a result. */
static void put_invocation(struct as_json *json, size_t damaged)
{
	as_json_key(json, "invocations");
	as_json_array(json);
	as_json_object(json);
	as_json_kbool(json, "executionSuccessful", !damaged);
	if (damaged) {
		as_json_key(json, "toolExecutionNotifications");
		as_json_array(json);
		as_json_object(json);
		as_json_kstr(json, "level", "error");
		put_message(json, "message", "findings could not be read");
		as_json_end(json);
		as_json_end(json);
	}
	as_json_end(json);
	as_json_end(json);
}

static void put_run(struct as_json *json, const json_t *findings, size_t damaged)
{
	json_t *f;
	size_t i;

	as_json_object(json);
	as_json_key(json, "tool");
	as_json_object(json);
	as_json_key(json, "driver");
	as_json_object(json);
	as_json_kstr(json, "name", "assay");
	as_json_kstr(json, "version", AS_VERSION);
	put_rules(json);
	as_json_end(json);
	as_json_end(json);
	put_invocation(json, damaged);
	as_json_key(json, "results");
	as_json_array(json);
	json_array_foreach(findings, i, f) put_result(json, f);
	as_json_end(json);
	as_json_end(json);
}

int as_report_sarif(const struct as_buf *json, size_t damaged, struct as_buf *out,
		    struct as_err *err)
{
	json_t *root = json_loadb(as_buf_str(json), json->len, 0, NULL);
	struct as_json to = as_json_on(out);

	if (!root)
		return as_fail(err, AS_EUSE, "the data of the report cannot be read");
	as_json_object(&to);
	as_json_kstr(&to, "$schema", SCHEMA);
	as_json_kstr(&to, "version", "2.1.0");
	as_json_key(&to, "runs");
	as_json_array(&to);
	put_run(&to, json_object_get(root, "findings"), damaged);
	as_json_end(&to);
	as_json_end(&to);
	as_buf_addc(out, '\n');
	json_decref(root);
	return 0;
}
