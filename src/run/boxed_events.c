/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed_events: what comes out of a box. The engine's lines are JSON objects as the sinks of the
 * report room write them; the kernel's are text. Neither is trusted: a kernel under test may write
 * anything over anything.
 */
#include "run/boxed_inside.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CONSOLE_HEAD_BYTES ((size_t)16 << 10)
#define CONSOLE_TAIL_BYTES ((size_t)64 << 10)
#define CONSOLE_MAX_BYTES (2 * (CONSOLE_HEAD_BYTES + CONSOLE_TAIL_BYTES))
#define LINE_MAX_BYTES ((size_t)64 << 20)

/* ---- The engine ------------------------------------------------------------------------------ */

static const char *text_of(const json_t *event, const char *key)
{
	return json_string_value(json_object_get(event, key));
}

static int64_t number_of(const json_t *event, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(event, key));
}

static void on_finding(struct as_boxed_session *b, const json_t *event)
{
	static const char on_disk; /* its bytes are in the folder already */
	const char *kind = text_of(event, "kind"), *id = text_of(event, "id");
	struct as_finding f = {
		.target = text_of(event, "target"),
		.summary = text_of(event, "summary"),
		.detail = text_of(event, "detail"),
		.signature = text_of(event, "signature"),
		.workload = text_of(event, "workload"),
		.workload_name = text_of(event, "workload_name"),
		.options = text_of(event, "options"),
		.op_index = (long)number_of(event, "op") - 1,
		.op_line = (int)number_of(event, "line"),
		.log = text_of(event, "log"),
		.disk = json_is_true(json_object_get(event, "disk")) ? &on_disk : NULL,
	};
	int parsed = kind ? as_finding_kind_parse(kind) : -1;

	if (parsed < 0 || !id || !f.target || !f.summary || !f.signature || !f.workload)
		return;
	f.kind = (enum as_finding_kind)parsed;
	/* Of a recovery, what the kernel says of it is part of how it ended. */
	b->engine_saw =
		b->engine_saw || f.kind == AS_FIND_KERNEL || strstr(f.summary, "the kernel says: ");
	as_emit_finding(b->how->told, &f, id);
}

/* Several workloads at once; findings, if any, have been told. */
static void on_batch(struct as_boxed_session *b, const json_t *event)
{
	int64_t done = number_of(event, "done");

	for (int64_t i = 0; i < done && b->n_finished < b->n_list; i++) {
		b->done[b->list[b->n_finished++]] = true;
		b->stats->workloads++;
	}
	b->kills = 0;
	b->stats->ops += (uint64_t)number_of(event, "ops");
	b->stats->skipped += (uint64_t)number_of(event, "skipped");
	b->stats->unjudged += (uint64_t)number_of(event, "unjudged");
	b->stats->excused += (uint64_t)number_of(event, "excused");
	b->stats->findings += (uint64_t)number_of(event, "findings");
}

static void on_workload(struct as_boxed_session *b, const json_t *event)
{
	struct as_run_result r = { .runs = (uint64_t)number_of(event, "runs"),
				   .ops = (uint64_t)number_of(event, "ops"),
				   .findings = (uint64_t)number_of(event, "findings"),
				   .skipped = (uint64_t)number_of(event, "skipped"),
				   .unjudged = (uint64_t)number_of(event, "unjudged"),
				   .excused = (uint64_t)number_of(event, "excused"),
				   .wall_us = number_of(event, "wall_us") };
	const json_t *counts = json_object_get(event, "counts");
	size_t job;

	for (size_t i = 0; i < AS_RUN_COUNTS; i++)
		r.counts[i] = (uint64_t)json_integer_value(json_array_get(counts, i));

	if (b->n_finished == b->n_list)
		return;
	job = b->list[b->n_finished++];
	b->done[job] = true;
	b->kills = 0;
	b->stats->workloads++;
	b->stats->ops += r.ops;
	b->stats->skipped += r.skipped;
	b->stats->unjudged += r.unjudged;
	b->stats->excused += r.excused;
	b->stats->findings += r.findings;
	if (b->how->workload)
		b->how->workload(b->how->ctx, &b->jobs[job], &r);
}

/* Whether it was the end of a workload. */
static bool on_line(struct as_boxed_session *b, const char *line, size_t len)
{
	json_t *event = len && line[0] == '{' ? json_loadb(line, len, 0, NULL) : NULL;
	const char *what = text_of(event, "event");
	bool batch = what && !strcmp(what, "batch");
	bool workload = batch || (what && !strcmp(what, "workload"));

	if (!what) {
		/* What a program says before it gives up. */
		as_buf_clear(&b->complaint);
		as_buf_add(&b->complaint, line, len);
	} else if (batch) {
		on_batch(b, event);
	} else if (workload) {
		on_workload(b, event);
	} else if (!strcmp(what, "again") && text_of(event, "signature")) {
		b->engine_saw = true;
		as_emit_again(b->how->told, text_of(event, "signature"));
	} else if (!strcmp(what, "finding")) {
		on_finding(b, event);
	} else if (!strcmp(what, "note") && text_of(event, "text")) {
		as_emit_note(b->how->told, "%s", text_of(event, "text"));
	}
	json_decref(event);
	return workload;
}

int boxed_take_events(struct as_boxed_session *b, bool *one_done, struct as_err *err)
{
	size_t at = 0;

	*one_done = false;
	while (at < b->events.len && !*one_done) {
		const char *line = b->events.data + at;
		const char *end = memchr(line, '\n', b->events.len - at);
		bool done;

		if (!end)
			break;
		done = on_line(b, line, (size_t)(end - line) - (end > line && end[-1] == '\r'));
		at = (size_t)(end - b->events.data) + 1;
		/* All that the kernel said before that line has been read. */
		if (done)
			as_kmsg_scan_end(b->scan);
		*one_done = done && b->weight > AS_KMSG_INFO;
	}
	if (at) {
		memmove(b->events.data, b->events.data + at, b->events.len - at + 1);
		b->events.len -= at;
	}
	if (b->events.len > LINE_MAX_BYTES)
		return as_fail(err, AS_EIO, "the engine in the sandbox never ends its line");
	return 0;
}

/* ---- The kernel ------------------------------------------------------------------------------ */

static void on_report(void *ctx, const struct as_kmsg_report *report)
{
	struct as_boxed_session *b = ctx;

	if (report->cls <= b->weight)
		return;
	b->weight = report->cls;
	as_buf_clear(&b->title);
	as_buf_clear(&b->signature);
	as_buf_adds(&b->title, report->title);
	as_buf_adds(&b->signature, report->signature);
}

/* The beginning tells what kernel it was, the end what became of it. */
static void shorten(struct as_boxed_session *b)
{
	static const char cut[] = "\n[...]\n";
	size_t tail = b->console.len - CONSOLE_TAIL_BYTES;

	if (b->console.len <= CONSOLE_MAX_BYTES)
		return;
	memcpy(b->console.data + CONSOLE_HEAD_BYTES, cut, sizeof(cut) - 1);
	memmove(b->console.data + CONSOLE_HEAD_BYTES + sizeof(cut) - 1, b->console.data + tail,
		CONSOLE_TAIL_BYTES + 1);
	b->console.len = CONSOLE_HEAD_BYTES + sizeof(cut) - 1 + CONSOLE_TAIL_BYTES;
}

/* What a kernel that came up complained of on its way is nobody's workload. Returns where to read
 * on. */
static size_t end_of_boot(struct as_boxed_session *b, size_t start)
{
	const char *text = as_buf_str(&b->console), *mark = strstr(text, AS_GUEST_MARK);
	size_t end = mark ? (size_t)(mark - text) + strlen(AS_GUEST_MARK) : 0;

	if (!mark || end < start)
		return start;
	as_kmsg_scan_console(b->scan, text + start, end - start);
	as_kmsg_scan_end(b->scan);
	b->begun = true;
	b->weight = AS_KMSG_INFO;
	return end;
}

void boxed_take_console(struct as_boxed_session *b, const char *data, size_t len)
{
	size_t start = b->console.len;

	/* A log is text, whatever a broken kernel puts into it. */
	for (size_t i = 0; i < len; i++)
		if (data[i] != '\r')
			as_buf_addc(&b->console, data[i] ? data[i] : '?');
	if (!b->begun)
		start = end_of_boot(b, start);
	as_kmsg_scan_console(b->scan, as_buf_str(&b->console) + start, b->console.len - start);
	shorten(b);
}

void boxed_clear(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = as_kmsg_scan_new(NULL, on_report, b);
	b->weight = AS_KMSG_INFO;
	b->engine_saw = false;
	b->begun = false;
	as_buf_clear(&b->events);
	as_buf_clear(&b->complaint);
	as_buf_clear(&b->console);
	as_buf_clear(&b->title);
	as_buf_clear(&b->signature);
}

void boxed_free_texts(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = NULL;
	as_buf_free(&b->events);
	as_buf_free(&b->complaint);
	as_buf_free(&b->console);
	as_buf_free(&b->title);
	as_buf_free(&b->signature);
}
