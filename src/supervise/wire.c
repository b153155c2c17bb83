/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: see wire.h. A message is a JSON object on a line. The members of a call are rows of tables
 * that both print and parse go through: those of its options are the rows of child/run_option.def.
 */
#include "supervise/wire.h"

#include "base/show.h"
#include "progress/result.h"
#include "work/parse.h"
#include "work/print.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- A call ---------------------------------------------------------------------------------- */

const struct as_wire_row as_wire_requests[AS_WIRE_REQUESTS] = {
	[AS_WIRE_RUN] = { .name = "run", .work_min = 1, .work_max = SIZE_MAX },
	[AS_WIRE_MAKE] = { .name = "make",
			   .work_min = 1,
			   .work_max = 1,
			   .image = true,
			   .answer = true },
	[AS_WIRE_MOUNT] = { .name = "mount", .image = true, .answer = true },
};

static const struct text_row {
	const char *key;
	size_t at;
} call_texts[] = {
#define ROW(field)                                            \
	{                                                     \
#field, offsetof(struct as_wire_call, field), \
	}
	ROW(target), ROW(out), ROW(cov), ROW(image), ROW(answer),
#undef ROW
};

static const struct {
	const char *key;
	size_t at;
} call_flags[] = {
	{ "together", offsetof(struct as_wire_call, together) },
	{ "last", offsetof(struct as_wire_call, last) },
};

struct as_wire_own {
	json_t *object;
	struct as_seq **seqs;
	const char **names;
};

#define NROWS(rows) (sizeof(rows) / sizeof(rows[0]))

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is_utf8(const char *text)
{
	size_t len = strlen(text);

	while (len) {
		size_t step = as_utf8_len(text, len);

		if (!step)
			return false;
		text += step;
		len -= step;
	}
	return true;
}

static int print_text(struct as_json *json, const char *key, const char *text, struct as_err *err)
{
	if (!text || !*text)
		return 0;
	if (!is_utf8(text) || strlen(text) > AS_WIRE_PATH_MAX_BYTES)
		return as_fail(err, AS_EUSE, "a sandbox cannot be told of this %s: it is %s", key,
			       is_utf8(text) ? "too long" : "not UTF-8");
	as_json_kstr(json, key, text);
	return 0;
}

static int print_option(struct as_json *json, const struct as_run_options *o,
			const struct as_run_row *row, struct as_err *err)
{
	switch (row->form) {
	case AS_RUN_FLAG:
		as_json_kbool(json, row->field, as_run_number(o, row));
		return 0;
	case AS_RUN_SWEEP:
		as_json_kstr(json, row->field, as_sweep_name(o->sweep));
		return 0;
	case AS_RUN_WORD:
	case AS_RUN_TEXT:
		return print_text(json, row->field, as_run_text(o, row), err);
	default:
		as_json_kuint(json, row->field, as_run_number(o, row));
		return 0;
	}
}

static const char **text_at(const struct as_wire_call *call, const struct text_row *row)
{
	return (const char **)(void *)((char *)call + row->at);
}

static void print_known(struct as_json *json, const struct as_known *known)
{
	struct as_buf text = { 0 };

	if (!known)
		return;
	as_known_print(known, &text);
	as_json_kstr(json, "known", as_buf_str(&text));
	as_buf_free(&text);
}

static void print_work(struct as_json *json, const struct as_work *work)
{
	struct as_buf text = { 0 };

	as_json_key(json, "work");
	as_json_array(json);
	for (size_t i = 0; i < work->n; i++) {
		as_buf_clear(&text);
		as_print_seq(work->seqs[i], &text);
		as_json_object(json);
		as_json_kstr(json, "name", work->names[i]);
		as_json_kstr(json, "text", as_buf_str(&text));
		as_json_end(json);
	}
	as_json_end(json);
	as_buf_free(&text);
}

int as_wire_call_print(const struct as_wire_call *call, struct as_buf *out, struct as_err *err)
{
	struct as_json json = as_json_on(out);
	int rc = 0;

	as_json_object(&json);
	as_json_kuint(&json, "wire", AS_WIRE_VERSION);
	as_json_kstr(&json, "request", as_wire_requests[call->request].name);
	for (size_t i = 0; i < NROWS(call_texts) && !rc; i++)
		rc = print_text(&json, call_texts[i].key, *text_at(call, &call_texts[i]), err);
	as_json_kuint(&json, "number", call->number);
	for (size_t i = 0; i < NROWS(call_flags); i++)
		as_json_kbool(&json, call_flags[i].key,
			      *(const bool *)((const char *)call + call_flags[i].at));
	for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
		if (as_run_rows[i].sent)
			rc = print_option(&json, &call->options, &as_run_rows[i], err);
	print_known(&json, call->known);
	print_work(&json, &call->work);
	as_json_end(&json);
	as_buf_addc(out, '\n');
	return rc;
}

/* A message of our version. */
static int open_call(const char *text, size_t len, json_t **object, struct as_err *err)
{
	const json_t *version;

	*object = len <= AS_WIRE_FILE_MAX_BYTES ? json_loadb(text, len, 0, NULL) : NULL;
	version = json_object_get(*object, "wire");
	if (!json_is_object(*object) || !json_is_integer(version))
		return as_fail(err, AS_EUSE, "the wire: this is no call");
	if (json_integer_value(version) != AS_WIRE_VERSION)
		return as_fail(err, AS_EUSE,
			       "the wire: the supervisor speaks version %lld, this engine %u",
			       (long long)json_integer_value(version), AS_WIRE_VERSION);
	return 0;
}

static int parse_request(const json_t *object, struct as_wire_call *call, struct as_err *err)
{
	const char *name = text_of(object, "request");
	unsigned i = 0;

	while (name && i < AS_WIRE_REQUESTS && strcmp(name, as_wire_requests[i].name))
		i++;
	if (!name || i == AS_WIRE_REQUESTS)
		return as_fail(err, AS_EUSE, "the wire: call: there is no such request");
	call->request = (enum as_wire_request)i;
	return 0;
}

static int parse_texts(const json_t *object, struct as_wire_call *call, struct as_err *err)
{
	const struct as_wire_row *row = &as_wire_requests[call->request];
	json_int_t number = json_integer_value(json_object_get(object, "number"));

	for (size_t i = 0; i < NROWS(call_texts); i++) {
		const char *text = text_of(object, call_texts[i].key);

		if (text && strlen(text) > AS_WIRE_PATH_MAX_BYTES)
			return as_fail(err, AS_EUSE, "the wire: call: its %s is too long",
				       call_texts[i].key);
		*text_at(call, &call_texts[i]) = text;
	}
	for (size_t i = 0; i < NROWS(call_flags); i++)
		*(bool *)((char *)call + call_flags[i].at) =
			json_is_true(json_object_get(object, call_flags[i].key));
	call->number = number > 0 ? (uint64_t)number : 0;
	if (!call->target || (row->image && !call->image) || (row->answer && !call->answer))
		return as_fail(err, AS_EUSE, "the wire: call: its %s is missing",
			       !call->target		    ? "target"
			       : row->image && !call->image ? "image"
							    : "answer");
	return 0;
}

static int parse_option_text(const json_t *object, const struct as_run_row *row,
			     struct as_wire_call *call, struct as_err *err)
{
	const char *text = text_of(object, row->field);

	if (!text || !*text)
		return 0;
	if (strlen(text) >= (row->form == AS_RUN_WORD ? row->size : AS_WIRE_PATH_MAX_BYTES + 1))
		return as_fail(err, AS_EUSE, "the wire: call: its %s is too long", row->field);
	if (row->form == AS_RUN_WORD)
		memcpy((char *)&call->options + row->at, text, strlen(text) + 1);
	else
		*(const char **)(void *)((char *)&call->options + row->at) = text;
	return 0;
}

/* What is not there keeps its default. Numbers of 64 bits are written as JSON has them; jansson
 * reads those up to INT64_MAX. */
static int parse_option(const json_t *object, const struct as_run_row *row,
			struct as_wire_call *call, struct as_err *err)
{
	const json_t *value = json_object_get(object, row->field);
	json_int_t n = json_integer_value(value);
	const char *sweep = json_string_value(value);

	if (!value)
		return 0;
	switch (row->form) {
	case AS_RUN_FLAG:
		as_run_set_number(&call->options, row, json_is_true(value));
		return 0;
	case AS_RUN_SWEEP:
		return as_sweep_parse(sweep ? sweep : "", &call->options.sweep, err);
	case AS_RUN_WORD:
	case AS_RUN_TEXT:
		return parse_option_text(object, row, call, err);
	default:
		if (!json_is_integer(value) || n < 0 || (row->form == AS_RUN_U32 && n > UINT32_MAX))
			return as_fail(err, AS_EUSE, "the wire: call: its %s is not a valid number",
				       row->field);
		as_run_set_number(&call->options, row, (uint64_t)n);
		return 0;
	}
}

static int parse_known(const json_t *object, struct as_wire_call *call, struct as_err *err)
{
	const char *text = text_of(object, "known");

	if (!text)
		return 0;
	call->known = as_known_new();
	return as_known_parse(call->known, "the wire", text, err);
}

static int parse_work(const json_t *object, struct as_wire_call *call, struct as_err *err)
{
	const struct as_wire_row *row = &as_wire_requests[call->request];
	const json_t *work = json_object_get(object, "work"), *item;
	struct as_wire_own *own = call->own;
	size_t n = json_array_size(work), i;

	if (!json_is_array(work) || n < row->work_min || n > row->work_max)
		return as_fail(err, AS_EUSE, "the wire: call: this is no work for the request %s",
			       row->name);
	own->seqs = as_xcalloc(n + 1, sizeof(*own->seqs));
	own->names = as_xcalloc(n + 1, sizeof(*own->names));
	call->work.seqs = (const struct as_seq *const *)own->seqs;
	call->work.names = own->names;
	json_array_foreach(work, i, item)
	{
		const char *name = text_of(item, "name"), *text = text_of(item, "text");
		int rc;

		if (!name || !text)
			return as_fail(err, AS_EUSE, "the wire: call: workload %zu is not valid",
				       i);
		rc = as_parse_text(name, text, strlen(text), &own->seqs[i], err);
		if (rc)
			return rc;
		own->names[i] = name;
		call->work.n = i + 1;
	}
	return 0;
}

int as_wire_call_parse(const char *text, size_t len, struct as_wire_call *call, struct as_err *err)
{
	const json_t *object;
	int rc;

	*call = (struct as_wire_call){ .own = as_xcalloc(1, sizeof(*call->own)) };
	rc = open_call(text, len, &call->own->object, err);
	object = call->own->object;
	if (!rc)
		rc = parse_request(object, call, err);
	if (!rc)
		rc = parse_texts(object, call, err);
	for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
		if (as_run_rows[i].sent)
			rc = parse_option(object, &as_run_rows[i], call, err);
	if (!rc)
		rc = parse_known(object, call, err);
	if (!rc)
		rc = parse_work(object, call, err);
	if (rc)
		as_wire_call_free(call);
	return rc;
}

static bool same_text(const char *a, const char *b)
{
	return !a || !b ? a == b : !strcmp(a, b);
}

static bool same_option(const struct as_run_options *a, const struct as_run_options *b,
			const struct as_run_row *row)
{
	if (row->form == AS_RUN_SWEEP)
		return a->sweep == b->sweep;
	return row->form == AS_RUN_WORD || row->form == AS_RUN_TEXT
		       ? !strcmp(as_run_text(a, row), as_run_text(b, row))
		       : as_run_number(a, row) == as_run_number(b, row);
}

bool as_wire_call_alike(const struct as_wire_call *a, const struct as_wire_call *b)
{
	bool alike = a->together == b->together && same_text(a->target, b->target) &&
		     same_text(a->out, b->out) && same_text(a->cov, b->cov);

	for (size_t i = 0; i < AS_RUN_OPTIONS && alike; i++)
		alike = !as_run_rows[i].sent ||
			same_option(&a->options, &b->options, &as_run_rows[i]);
	return alike;
}

void as_wire_call_free(struct as_wire_call *call)
{
	for (size_t i = 0; i < call->work.n; i++)
		as_seq_free(call->own->seqs[i]);
	if (call->own) {
		json_decref(call->own->object);
		free(call->own->seqs);
		free(call->own->names);
		free(call->own);
	}
	as_known_free(call->known);
	*call = (struct as_wire_call){ 0 };
}

/* ---- Events ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *text; /* the member that is the event's text; NULL: it has none */
} kinds[AS_WIRE_KINDS] = {
	[AS_WIRE_HELLO] = { "hello", NULL },	    [AS_WIRE_FINDING] = { "finding", NULL },
	[AS_WIRE_AGAIN] = { "again", "signature" }, [AS_WIRE_NOTE] = { "note", "text" },
	[AS_WIRE_WORKLOAD] = { "workload", NULL },  [AS_WIRE_BATCH] = { "batch", NULL },
	[AS_WIRE_ERROR] = { "error", "text" },	    [AS_WIRE_CHECK] = { "check", NULL },
	[AS_WIRE_ANSWER] = { "answer", NULL },	    [AS_WIRE_TOLD] = { "told", "text" },
};

void as_wire_event_print(const struct as_wire_event *event, struct as_buf *out)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "event", kinds[event->kind].name);
	if (kinds[event->kind].text)
		as_json_kstr(&json, kinds[event->kind].text, event->text);
	switch (event->kind) {
	case AS_WIRE_HELLO:
		as_json_kuint(&json, "wire", event->version);
		break;
	case AS_WIRE_FINDING:
		as_finding_print(&json, &event->finding, AS_FINDING_WHOLE);
		break;
	case AS_WIRE_BATCH:
		as_json_kuint(&json, "done", event->result.workloads);
		as_run_result_print(&json, &event->result);
		break;
	case AS_WIRE_CHECK:
	case AS_WIRE_ANSWER:
		as_json_kuint(&json, "number", event->number);
		break;
	case AS_WIRE_WORKLOAD:
		as_run_result_print(&json, &event->result);
		break;
	case AS_WIRE_ERROR:
		as_json_kbool(&json, "lacks", event->lacks);
		break;
	default:
		break;
	}
	as_json_end(&json);
	as_buf_addc(out, '\n');
}

/* What the sandbox says is cut off here, so that a note fills no screen. */
static const char *bounded_text(json_t *object, const char *key)
{
	json_t *text = json_object_get(object, key);

	if (json_string_length(text) > AS_WIRE_TEXT_MAX_BYTES) {
		size_t len = AS_WIRE_TEXT_MAX_BYTES;
		const char *whole = json_string_value(text);
		char *head;

		while (len && ((unsigned char)whole[len] & 0xc0) == 0x80)
			len--;
		head = as_xstrndup(whole, len);
		json_string_set(text, head);
		free(head);
	}
	return json_string_value(text);
}

static enum as_wire_parsed parse_members(struct as_wire_event *event)
{
	json_t *object = event->object;
	json_int_t n;

	if (kinds[event->kind].text) {
		event->text = event->kind == AS_WIRE_AGAIN || event->kind == AS_WIRE_TOLD
				      ? text_of(object, kinds[event->kind].text)
				      : bounded_text(object, kinds[event->kind].text);
		if (!event->text)
			return AS_WIRE_OTHER;
	}
	switch (event->kind) {
	case AS_WIRE_HELLO:
		n = json_integer_value(json_object_get(object, "wire"));
		event->version = n > 0 && n <= UINT32_MAX ? (unsigned)n : 0;
		break;
	case AS_WIRE_FINDING:
		if (as_finding_parse(object, AS_FINDING_FROM_GUEST, &event->finding, NULL))
			return AS_WIRE_BAD_FINDING;
		break;
	case AS_WIRE_BATCH:
		as_run_result_parse(object, &event->result);
		event->result.workloads = as_count_parse(json_object_get(object, "done"));
		break;
	case AS_WIRE_CHECK:
	case AS_WIRE_ANSWER:
		n = json_integer_value(json_object_get(object, "number"));
		event->number = n > 0 ? (uint64_t)n : 0;
		break;
	case AS_WIRE_WORKLOAD:
		as_run_result_parse(object, &event->result);
		event->result.workloads = 1;
		break;
	case AS_WIRE_TOLD:
		if (strlen(event->text) > AS_WIRE_TOLD_MAX_BYTES)
			return AS_WIRE_OTHER;
		break;
	case AS_WIRE_ERROR:
		event->lacks = json_is_true(json_object_get(object, "lacks"));
		break;
	default:
		break;
	}
	return AS_WIRE_EVENT;
}

enum as_wire_parsed as_wire_event_parse(const char *line, size_t len, struct as_wire_event *event)
{
	enum as_wire_parsed parsed = AS_WIRE_OTHER;
	const char *name;

	*event = (struct as_wire_event){ .kind = AS_WIRE_KINDS };
	if (len && line[0] == '{' && len <= AS_WIRE_LINE_MAX_BYTES)
		event->object = json_loadb(line, len, 0, NULL);
	name = text_of(event->object, "event");
	for (int i = 0; name && i < AS_WIRE_KINDS; i++)
		if (!strcmp(name, kinds[i].name))
			event->kind = (enum as_wire_kind)i;
	if (!name)
		parsed = AS_WIRE_NO_EVENT;
	else if (event->kind != AS_WIRE_KINDS)
		parsed = parse_members(event);
	if (parsed != AS_WIRE_EVENT)
		as_wire_event_free(event);
	return parsed;
}

void as_wire_event_free(struct as_wire_event *event)
{
	as_finding_free(&event->finding);
	json_decref(event->object);
	*event = (struct as_wire_event){ .kind = AS_WIRE_KINDS };
}
