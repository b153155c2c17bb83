/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console: what the kernel in a box prints. It is kept for findings, without its middle, and it is
 * searched for reports of crashes, warnings and corruption. A broken kernel may print any bytes.
 */
#include "supervise/boxed_priv.h"

#include <string.h>

#define HEAD_BYTES ((size_t)16 << 10)
#define TAIL_BYTES ((size_t)64 << 10)
#define MAX_BYTES (2 * (HEAD_BYTES + TAIL_BYTES))

/* Whether a disk fails, or failed while the kernel printed what is read now. */
static bool is_faulty(const struct as_boxed_session *b)
{
	uint64_t faults = b->box->state->faults;

	return faults & 1 || faults != b->faults_over;
}

static void on_report(void *ctx, const struct as_kmsg_report *report)
{
	struct as_boxed_session *b = ctx;

	if (report->cls <= b->weight || (report->cls == AS_KMSG_CORRUPTION && is_faulty(b)))
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
	size_t tail = b->console.len - TAIL_BYTES;

	if (b->console.len <= MAX_BYTES)
		return;
	memcpy(b->console.data + HEAD_BYTES, cut, sizeof(cut) - 1);
	memmove(b->console.data + HEAD_BYTES + sizeof(cut) - 1, b->console.data + tail,
		TAIL_BYTES + 1);
	b->console.len = HEAD_BYTES + sizeof(cut) - 1 + TAIL_BYTES;
}

/* What the kernel reports while it boots belongs to no workload, so it is forgotten. Returns where
 * to continue reading. */
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

	/* A log is text without NUL bytes, whatever a broken kernel puts into it. */
	for (size_t i = 0; i < len; i++)
		if (data[i] != '\r')
			as_buf_addc(&b->console, data[i] ? data[i] : '?');
	if (!b->begun)
		start = end_of_boot(b, start);
	as_kmsg_scan_console(b->scan, as_buf_str(&b->console) + start, b->console.len - start);
	shorten(b);
}

void as_boxed_clear_console(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = as_kmsg_scan_new(NULL, on_report, b);
	b->weight = AS_KMSG_INFO;
	b->begun = false;
	as_buf_clear(&b->console);
	as_buf_clear(&b->title);
	as_buf_clear(&b->signature);
}

void as_boxed_free_console(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = NULL;
	as_buf_free(&b->console);
	as_buf_free(&b->title);
	as_buf_free(&b->signature);
}
