/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed_events: what comes out of a box. The engine's lines are JSON objects as the sinks of the
 * report room write them; the kernel's are text. Neither is trusted: a kernel under test may write
 * anything over anything.
 */
#include "supervise/boxed_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CONSOLE_HEAD_BYTES ((size_t)16 << 10)
#define CONSOLE_TAIL_BYTES ((size_t)64 << 10)
#define CONSOLE_MAX_BYTES (2 * (CONSOLE_HEAD_BYTES + CONSOLE_TAIL_BYTES))
#define LINE_MAX_BYTES ((size_t)32 << 20)
#define COMPLAINT_BYTES ((size_t)1000)
#define NUMBER_MAX ((json_int_t)1 << 40)

/* ---- The engine ------------------------------------------------------------------------------ */

void as_boxed_add_line(struct as_buf *buf, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		as_buf_addc(buf, (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
}

static const char *text_of(const json_t *event, const char *key)
{
	return json_string_value(json_object_get(event, key));
}

/* Sums of them must not overflow, whatever is told. */
static uint64_t number(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n < 0 ? 0 : n > NUMBER_MAX ? NUMBER_MAX : (uint64_t)n;
}

static uint64_t number_of(const json_t *event, const char *key)
{
	return number(json_object_get(event, key));
}

static void on_finding(struct as_boxed_session *b, const json_t *event)
{
	if (!as_boxed_take_finding(b, event)) {
		as_emit_note(b->how->told, "the sandbox told of a finding that cannot be: it does "
					   "not count");
		return;
	}
	/* Of a recovery, what the kernel says of it is part of how it ended. */
	b->engine_saw = b->engine_saw ||
			as_finding_kind_parse(text_of(event, "kind")) == AS_FIND_KERNEL ||
			strstr(text_of(event, "summary"), "the kernel says: ");
}

/* Several workloads at once; findings, if any, have been told. */
static void on_batch(struct as_boxed_session *b, const json_t *event)
{
	uint64_t done = number_of(event, "done");

	for (uint64_t i = 0; i < done && b->n_finished < b->n_list; i++) {
		b->done[b->list[b->n_finished++]] = true;
		b->stats->workloads++;
	}
	b->kills = 0;
	b->stats->ops += number_of(event, "ops");
	b->stats->skipped += number_of(event, "skipped");
	b->stats->unjudged += number_of(event, "unjudged");
	b->stats->excused += number_of(event, "excused");
	b->stats->findings += number_of(event, "findings");
}

static void on_workload(struct as_boxed_session *b, const json_t *event)
{
	struct as_run_result r = { .runs = number_of(event, "runs"),
				   .ops = number_of(event, "ops"),
				   .findings = number_of(event, "findings"),
				   .again = number_of(event, "again"),
				   .skipped = number_of(event, "skipped"),
				   .unjudged = number_of(event, "unjudged"),
				   .excused = number_of(event, "excused"),
				   .wall_us = (int64_t)number_of(event, "wall_us") };
	const json_t *counts = json_object_get(event, "counts");
	size_t job;

	for (size_t i = 0; i < AS_RUN_COUNTS; i++)
		r.counts[i] = number(json_array_get(counts, i));

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
		as_boxed_add_line(&b->complaint, line,
				  len < COMPLAINT_BYTES ? len : COMPLAINT_BYTES);
	} else if (workload) {
		b->flood_bytes = 0;
		as_boxed_flush(b);
		if (batch)
			on_batch(b, event);
		else
			on_workload(b, event);
	} else if (!strcmp(what, "again") && text_of(event, "signature")) {
		b->engine_saw = true;
		as_emit_again(b->how->told, text_of(event, "signature"));
	} else if (!strcmp(what, "finding")) {
		on_finding(b, event);
	} else if (!strcmp(what, "note") && text_of(event, "text")) {
		as_emit_note(b->how->told, "%.2000s", text_of(event, "text"));
	}
	json_decref(event);
	return workload;
}

int as_boxed_take_events(struct as_boxed_session *b, bool *one_done, struct as_err *err)
{
	size_t at = 0, seen = b->events_seen;

	*one_done = false;
	while (at < b->events.len && !*one_done) {
		const char *line = b->events.data + at;
		const char *end = memchr(b->events.data + seen, '\n', b->events.len - seen);
		bool done;

		seen = end ? (size_t)(end - b->events.data) + 1 : b->events.len;
		if (!end)
			break;
		done = on_line(b, line, (size_t)(end - line) - (end > line && end[-1] == '\r'));
		at = seen;
		/* All that the kernel said before that line has been read. */
		if (done)
			as_kmsg_scan_end(b->scan);
		*one_done = done && b->weight > AS_KMSG_INFO;
	}
	if (at) {
		memmove(b->events.data, b->events.data + at, b->events.len - at + 1);
		b->events.len -= at;
	}
	b->events_seen = seen - at;
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

void as_boxed_take_console(struct as_boxed_session *b, const char *data, size_t len)
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

void as_boxed_clear(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = as_kmsg_scan_new(NULL, on_report, b);
	b->weight = AS_KMSG_INFO;
	b->engine_saw = false;
	b->begun = false;
	b->events_seen = 0;
	b->flood_bytes = 0;
	as_buf_clear(&b->events);
	as_buf_clear(&b->complaint);
	as_buf_clear(&b->console);
	as_buf_clear(&b->title);
	as_buf_clear(&b->signature);
}

void as_boxed_free_texts(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = NULL;
	as_buf_free(&b->events);
	as_buf_free(&b->complaint);
	as_buf_free(&b->console);
	as_buf_free(&b->title);
	as_buf_free(&b->signature);
}
