/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events: what the engine in a box says, line by line (wire.h). Lines may arrive in pieces. */
#include "supervise/boxed_priv.h"

#include "progress/result.h"

#include <stdlib.h>
#include <string.h>

#define COMPLAINT_BYTES ((size_t)1000)

void as_boxed_add_line(struct as_buf *buf, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		as_buf_addc(buf, (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
}

static void complain(struct as_boxed_session *b, const char *text, size_t len)
{
	as_buf_clear(&b->complaint);
	as_boxed_add_line(&b->complaint, text, len < COMPLAINT_BYTES ? len : COMPLAINT_BYTES);
}

static void on_bad_finding(const struct as_boxed_session *b)
{
	as_emit_note(b->how->notes,
		     "the sandbox reported a finding that cannot be true: it does not count");
}

static void on_finding(struct as_boxed_session *b, struct as_finding *f)
{
	/* After a recovery, what the kernel reported is a part of the summary. */
	bool saw = f->kind == AS_FIND_KERNEL || strstr(f->summary, "the kernel says: ");

	if (as_boxed_take_finding(b, f))
		b->engine_saw |= saw;
	else
		on_bad_finding(b);
}

/* The next result->workloads are done; their findings, if any, were told before. */
static void on_done(struct as_boxed_session *b, const struct as_run_result *result, bool tell)
{
	struct as_run_result believed = *result;
	uint64_t done = 0;

	b->events_bytes = b->console_bytes = 0;
	b->n_findings = 0;
	for (; done < result->workloads && b->n_finished < b->n_list; done++)
		b->done[b->list[b->n_finished++]] = true;
	if (done) {
		b->sweep_at = (struct as_sweep_at){ 0 };
		b->sweep_deaths = 0;
	}
	/* There are no more workloads, so this event cannot be true. */
	if (tell && !done)
		return;
	b->kills = 0;
	believed.workloads = done;
	as_run_result_add(b->sum, &believed);
	if (tell && b->how->workload)
		b->how->workload(b->how->ctx, b->work->names[b->list[b->n_finished - 1]], result);
}

static int on_hello(struct as_boxed_session *b, unsigned version, struct as_err *err)
{
	b->greeted = version == AS_WIRE_VERSION;
	return b->greeted ? 0
			  : as_fail(err, AS_EUSE,
				    "the engine in the sandbox speaks version %u of the wire, this "
				    "program version %u",
				    version, AS_WIRE_VERSION);
}

/* Whether it can be of what the engine was given: of a disk nothing is told but the answer. */
static bool is_due(const struct as_boxed_session *b, enum as_wire_kind kind)
{
	return !b->death || kind == AS_WIRE_HELLO || kind == AS_WIRE_NOTE ||
	       kind == AS_WIRE_ANSWER || kind == AS_WIRE_ERROR;
}

/* *done: it ends a workload. */
static int on_event(struct as_boxed_session *b, struct as_wire_event *event, bool *done,
		    struct as_err *err)
{
	if (event->kind != AS_WIRE_HELLO && event->kind != AS_WIRE_ERROR && !b->greeted)
		return as_fail(err, AS_EUSE,
			       "the engine in the sandbox did not say its version of the wire");
	if (!is_due(b, event->kind))
		return 0;
	switch (event->kind) {
	case AS_WIRE_HELLO:
		return on_hello(b, event->version, err);
	case AS_WIRE_FINDING:
		on_finding(b, &event->finding);
		break;
	case AS_WIRE_AGAIN:
		b->engine_saw = true;
		as_emit_again(b->how->notes, event->text);
		break;
	case AS_WIRE_NOTE:
		as_emit_note(b->how->notes, "%s", event->text);
		break;
	case AS_WIRE_WORKLOAD:
		on_done(b, &event->result, true);
		*done = true;
		break;
	case AS_WIRE_BATCH:
		on_done(b, &event->result, false);
		*done = true;
		break;
	case AS_WIRE_ANSWER:
		return as_boxed_take_answer(b, event->number, done, err);
	case AS_WIRE_TOLD:
		as_emit_told(b->how->notes, event->text);
		break;
	case AS_WIRE_CHECK:
		as_boxed_outside_asked(b, event->number);
		break;
	default:
		complain(b, event->text, strlen(event->text));
		b->gave_up = true;
		b->lacks = event->lacks;
		break;
	}
	return 0;
}

static int on_line(struct as_boxed_session *b, const char *line, size_t len, bool *done,
		   struct as_err *err)
{
	struct as_wire_event event;
	int rc = 0;

	*done = false;
	switch (as_wire_event_parse(line, len, &event)) {
	case AS_WIRE_EVENT:
		rc = on_event(b, &event, done, err);
		as_wire_event_free(&event);
		break;
	case AS_WIRE_BAD_FINDING:
		on_bad_finding(b);
		break;
	case AS_WIRE_NO_EVENT:
		if (!b->gave_up)
			complain(b, line, len);
		break;
	case AS_WIRE_OTHER:
		break;
	}
	return rc;
}

int as_boxed_take_events(struct as_boxed_session *b, bool *reported, struct as_err *err)
{
	size_t at = 0, seen = b->events_seen;
	int rc = 0;

	*reported = false;
	while (at < b->events.len && !*reported && !rc) {
		const char *line = b->events.data + at;
		const char *end = memchr(b->events.data + seen, '\n', b->events.len - seen);
		bool done;

		seen = end ? (size_t)(end - b->events.data) + 1 : b->events.len;
		if (!end)
			break;
		rc = on_line(b, line, (size_t)(end - line) - (end > line && end[-1] == '\r'), &done,
			     err);
		at = seen;
		/* All that the kernel printed before that line has been read. */
		if (done)
			as_kmsg_scan_end(b->scan);
		*reported = done && b->weight > AS_KMSG_INFO;
	}
	if (at) {
		memmove(b->events.data, b->events.data + at, b->events.len - at + 1);
		b->events.len -= at;
	}
	b->events_seen = seen - at;
	if (!rc && b->events.len > AS_WIRE_LINE_MAX_BYTES)
		rc = as_fail(err, AS_EIO, "the engine in the sandbox never ends its line");
	return rc;
}

void as_boxed_clear(struct as_boxed_session *b)
{
	as_boxed_clear_console(b);
	b->engine_saw = false;
	b->greeted = false;
	b->gave_up = b->lacks = false;
	b->events_seen = 0;
	b->events_bytes = b->console_bytes = 0;
	b->n_findings = 0;
	as_buf_clear(&b->events);
	as_buf_clear(&b->complaint);
}

void as_boxed_free_texts(struct as_boxed_session *b)
{
	as_boxed_free_console(b);
	as_buf_free(&b->events);
	as_buf_free(&b->complaint);
}
