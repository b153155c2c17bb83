/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wire: see wire.h. A message is a JSON object on a line. The members of a job are rows of tables
 * that both print and parse go through: those of its options are the rows of child/run_option.def.
 */
#include "supervise/wire.h"

#include "base/array.h"
#include "base/show.h"
#include "run/result.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- All messages ---------------------------------------------------------------------------- */

static void begin(struct as_json *json, struct as_buf *out)
{
	*json = as_json_on(out);
	as_json_object(json);
	as_json_kuint(json, "wire", AS_WIRE_VERSION);
}

static void end(struct as_json *json)
{
	as_json_end(json);
	as_buf_addc(json->out, '\n');
}

/* A message from a file; `what` is its name for people. */
static int open_message(const char *text, size_t len, const char *what, json_t **object,
			struct as_err *err)
{
	const json_t *version;
	int rc = 0;

	*object = len <= AS_WIRE_FILE_MAX_BYTES ? json_loadb(text, len, 0, NULL) : NULL;
	version = json_object_get(*object, "wire");
	if (!json_is_object(*object) || !json_is_integer(version))
		rc = as_fail(err, AS_EUSE, "the wire: this is no %s", what);
	else if (json_integer_value(version) != AS_WIRE_VERSION)
		rc = as_fail(err, AS_EUSE,
			     "the wire: the supervisor speaks version %lld, this engine %u",
			     (long long)json_integer_value(version), AS_WIRE_VERSION);
	if (rc) {
		json_decref(*object);
		*object = NULL;
	}
	return rc;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* ---- A job ----------------------------------------------------------------------------------- */

static const struct text_row {
	const char *key;
	size_t at;
	bool needed;
} job_texts[] = {
#define ROW(name, field, needed)                                  \
	{                                                         \
		name, offsetof(struct as_wire_job, field), needed \
	}
	ROW("target", target, true), ROW("state", state, true),	 ROW("work", work, true),
	ROW("out", out, false),	     ROW("known", known, false), ROW("cov", cov, false),
#undef ROW
};

static const struct {
	const char *key;
	size_t at;
} job_flags[] = {
	{ "together", offsetof(struct as_wire_job, together) },
	{ "once", offsetof(struct as_wire_job, once) },
};

#define NROWS(rows) (sizeof(rows) / sizeof(rows[0]))

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

int as_wire_job_print(const struct as_wire_job *job, struct as_buf *out, struct as_err *err)
{
	const char *all = (const char *)job;
	struct as_json json;
	int rc = 0;

	begin(&json, out);
	for (size_t i = 0; i < NROWS(job_texts) && !rc; i++)
		rc = print_text(&json, job_texts[i].key,
				*(const char *const *)(const void *)(all + job_texts[i].at), err);
	for (size_t i = 0; i < NROWS(job_flags); i++)
		as_json_kbool(&json, job_flags[i].key, *(const bool *)(all + job_flags[i].at));
	for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
		if (as_run_rows[i].sent)
			rc = print_option(&json, &job->options, &as_run_rows[i], err);
	end(&json);
	return rc;
}

static int parse_texts(struct as_wire_job *job, struct as_err *err)
{
	for (size_t i = 0; i < NROWS(job_texts); i++) {
		const struct text_row *row = &job_texts[i];
		const char *text = text_of(job->object, row->key);

		if ((row->needed && !text) || (text && strlen(text) > AS_WIRE_PATH_MAX_BYTES))
			return as_fail(err, AS_EUSE, "the wire: job: its %s is %s", row->key,
				       text ? "too long" : "missing");
		*(const char **)(void *)((char *)job + row->at) = text;
	}
	for (size_t i = 0; i < NROWS(job_flags); i++)
		*(bool *)((char *)job + job_flags[i].at) =
			json_is_true(json_object_get(job->object, job_flags[i].key));
	return 0;
}

static int parse_option_text(struct as_wire_job *job, const struct as_run_row *row,
			     struct as_err *err)
{
	const char *text = text_of(job->object, row->field);

	if (!text || !*text)
		return 0;
	if (strlen(text) >= (row->form == AS_RUN_WORD ? row->size : AS_WIRE_PATH_MAX_BYTES + 1))
		return as_fail(err, AS_EUSE, "the wire: job: its %s is too long", row->field);
	if (row->form == AS_RUN_WORD)
		memcpy((char *)&job->options + row->at, text, strlen(text) + 1);
	else
		*(const char **)(void *)((char *)&job->options + row->at) = text;
	return 0;
}

/* What is not there keeps its default. Numbers of 64 bits are written as JSON has them; jansson
 * reads those up to INT64_MAX. */
static int parse_option(struct as_wire_job *job, const struct as_run_row *row, struct as_err *err)
{
	const json_t *value = json_object_get(job->object, row->field);
	json_int_t n = json_integer_value(value);
	const char *sweep = json_string_value(value);

	if (!value)
		return 0;
	switch (row->form) {
	case AS_RUN_FLAG:
		as_run_set_number(&job->options, row, json_is_true(value));
		return 0;
	case AS_RUN_SWEEP:
		return as_sweep_parse(sweep ? sweep : "", &job->options.sweep, err);
	case AS_RUN_WORD:
	case AS_RUN_TEXT:
		return parse_option_text(job, row, err);
	default:
		if (!json_is_integer(value) || n < 0 || (row->form == AS_RUN_U32 && n > UINT32_MAX))
			return as_fail(err, AS_EUSE, "the wire: job: its %s is not a valid number",
				       row->field);
		as_run_set_number(&job->options, row, (uint64_t)n);
		return 0;
	}
}

int as_wire_job_parse(const char *text, size_t len, struct as_wire_job *job, struct as_err *err)
{
	int rc;

	*job = (struct as_wire_job){ 0 };
	rc = open_message(text, len, "job", &job->object, err);
	if (!rc)
		rc = parse_texts(job, err);
	for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
		if (as_run_rows[i].sent)
			rc = parse_option(job, &as_run_rows[i], err);
	if (rc)
		as_wire_job_free(job);
	return rc;
}

void as_wire_job_free(struct as_wire_job *job)
{
	json_decref(job->object);
	*job = (struct as_wire_job){ 0 };
}

/* ---- Work ------------------------------------------------------------------------------------ */

const struct as_wire_row as_wire_requests[AS_WIRE_REQUESTS] = {
	[AS_WIRE_RUN] = { .name = "run", .text = true },
	[AS_WIRE_MAKE] = { .name = "make", .text = true, .image = true, .answer = true },
	[AS_WIRE_MOUNT] = { .name = "mount", .image = true, .answer = true },
};

void as_wire_work_print(const struct as_wire_work *work, struct as_buf *out)
{
	struct as_json json;

	begin(&json, out);
	as_json_key(&json, "work");
	as_json_array(&json);
	for (size_t i = 0; i < work->n; i++) {
		const struct as_wire_item *item = &work->items[i];
		const struct as_wire_row *row = &as_wire_requests[item->request];

		as_json_object(&json);
		as_json_kstr(&json, "request", row->name);
		as_json_kstr(&json, "name", item->name);
		if (row->text)
			as_json_kstr(&json, "path", item->path);
		if (row->image)
			as_json_kstr(&json, "image", item->image);
		if (row->answer) {
			as_json_kstr(&json, "answer", item->answer);
			as_json_kuint(&json, "number", item->number);
		}
		as_json_end(&json);
	}
	as_json_end(&json);
	end(&json);
}

/* False: it is no request of ours, or lacks a file of its row. */
static bool parse_item(const json_t *object, struct as_wire_item *item)
{
	const char *request = text_of(object, "request");
	json_int_t number = json_integer_value(json_object_get(object, "number"));
	const struct as_wire_row *row;
	unsigned i = 0;

	*item = (struct as_wire_item){ .path = text_of(object, "path"),
				       .name = text_of(object, "name"),
				       .image = text_of(object, "image"),
				       .answer = text_of(object, "answer"),
				       .number = number > 0 ? (uint64_t)number : 0 };
	while (request && i < AS_WIRE_REQUESTS && strcmp(request, as_wire_requests[i].name))
		i++;
	if (!request || i == AS_WIRE_REQUESTS || !item->name)
		return false;
	item->request = (enum as_wire_request)i;
	row = &as_wire_requests[i];
	return (item->path || !row->text) && (item->image || !row->image) &&
	       (item->answer || !row->answer);
}

int as_wire_work_parse(const char *text, size_t len, struct as_wire_work *work, struct as_err *err)
{
	const json_t *items, *item;
	size_t i;
	int rc;

	*work = (struct as_wire_work){ 0 };
	rc = open_message(text, len, "work", &work->object, err);
	items = json_object_get(work->object, "work");
	if (!rc && !json_is_array(items))
		rc = as_fail(err, AS_EUSE, "the wire: this is not a work message");
	json_array_foreach(items, i, item)
	{
		struct as_wire_item got;

		if (!parse_item(item, &got))
			rc = as_fail(err, AS_EUSE, "the wire: work: item %zu is not valid", i);
		if (rc)
			break;
		AS_ARRAY_ROOM(work->items, work->n, work->cap);
		work->items[work->n++] = got;
	}
	if (rc)
		as_wire_work_free(work);
	return rc;
}

void as_wire_work_free(struct as_wire_work *work)
{
	json_decref(work->object);
	free(work->items);
	*work = (struct as_wire_work){ 0 };
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
		as_json_kuint(&json, "done", event->done);
		as_run_result_print(&json, &event->result);
		break;
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
	end(&json);
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
		n = json_integer_value(json_object_get(object, "done"));
		event->done = n > 0 ? (uint64_t)n : 0;
		as_run_result_parse(object, &event->result);
		break;
	case AS_WIRE_ANSWER:
		n = json_integer_value(json_object_get(object, "number"));
		event->number = n > 0 ? (uint64_t)n : 0;
		break;
	case AS_WIRE_WORKLOAD:
		as_run_result_parse(object, &event->result);
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
