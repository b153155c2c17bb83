/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of what is written for other programs. The input is a text from outside (summary and
 * log of a finding), and once more the whole of a report. No form has a control character that the
 * text brought, JUnit has one failure, TAP has one test, SARIF is JSON, and a place in source code
 * lies in the text.
 */
#include "base/json.h"
#include "report/forms.h"
#include "report/place.h"

#include <jansson.h>
#include <string.h>

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *s = text; (s = strstr(s, what)); s++)
		n++;
	return n;
}

static void look(const char *name, const struct as_buf *out)
{
	const char *text = as_buf_str(out);

	for (size_t i = 0; i < out->len; i++)
		as_assert((unsigned char)text[i] >= ' ' || text[i] == '\n' || text[i] == '\t');
	if (!strcmp(name, "junit"))
		as_assert(times(text, "<failure") == 1 && times(text, "</failure>") == 1 &&
			  times(text, "<system-err>") <= 1);
	if (!strcmp(name, "tap"))
		as_assert(times(text, "\nnot ok ") == 1 && times(text, "\nok ") == 0);
	if (!strcmp(name, "sarif")) {
		json_t *root = json_loadb(text, out->len, 0, NULL);

		as_assert(root);
		json_decref(root);
	}
}

static void report_of(const char *text, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_key(&json, "runs");
	as_json_array(&json);
	as_json_object(&json);
	as_json_kstr(&json, "folder", text);
	as_json_end(&json);
	as_json_end(&json);
	as_json_key(&json, "findings");
	as_json_array(&json);
	as_json_object(&json);
	as_json_kstr(&json, "id", "lab-data-00000000");
	as_json_kstr(&json, "kind", "data");
	as_json_kstr(&json, "target", text);
	as_json_kstr(&json, "summary", text);
	as_json_kstr(&json, "signature", text);
	as_json_kstr(&json, "log", text);
	as_json_kuint(&json, "run", 0);
	as_json_end(&json);
	as_json_end(&json);
	as_json_end(&json);
}

static void print_all(const struct as_buf *json, bool looked_at)
{
	for (const struct as_report_form *f = as_report_forms; f->name; f++) {
		struct as_buf out = { 0 };
		struct as_err err;

		if (!f->print(json, 0, &out, &err) && looked_at)
			look(f->name, &out);
		as_buf_free(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_buf text = { 0 }, json = { 0 }, whole = { 0 };
	struct as_code_place place;

	as_buf_add(&text, data, len);
	if (as_place_find(as_buf_str(&text), &place)) {
		as_assert(place.file >= as_buf_str(&text) && place.len && place.line);
		as_assert(place.file + place.len < as_buf_str(&text) + text.len);
	}
	report_of(as_buf_str(&text), &json);
	print_all(&json, true);
	as_buf_add(&whole, data, len);
	print_all(&whole, false);
	as_buf_free(&text);
	as_buf_free(&json);
	as_buf_free(&whole);
	return 0;
}
