/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * console: what the kernel in a box prints. It is kept for findings, without its middle, and it is
 * searched for reports of crashes, warnings and corruption. A broken kernel may print any bytes.
 */
#include "supervise/boxed_priv.h"

#include "base/finding.h"
#include "trial/excuse.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES ((size_t)16 << 10)
#define TAIL_BYTES ((size_t)64 << 10)
#define SHOWN_BYTES ((size_t)200) /* of a line */
#define MAX_BYTES (2 * (HEAD_BYTES + TAIL_BYTES))

/* Whether a disk fails, or failed while the kernel printed what is read now, excuses that. */
static bool is_excused(const struct as_boxed_session *b)
{
	uint64_t faults = b->box->state->faults;
	bool faulty = faults & 1 || faults != b->faults_over;

	return as_excuses(AS_EXCUSED_LOG, faulty ? AS_CLUE_PLAN | AS_CLUE_HIT : 0);
}

static void on_report(void *ctx, const struct as_kmsg_report *report)
{
	struct as_boxed_session *b = ctx;

	if (report->cls <= b->weight || (report->cls == AS_KMSG_CORRUPTION && is_excused(b)))
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

/* ---- What it says again and again ------------------------------------------------------------ */

struct said_line {
	const char *text; /* as it was printed, */
	char *stable; /* and without its numbers */
};

static int by_stable(const void *a, const void *b)
{
	const struct said_line *x = a, *y = b;

	return strcmp(x->stable, y->stable);
}

/* Cuts the text into lines; some are left out: the last one, which may not be whole, and empty
 * ones. */
static size_t cut_lines(char *text, struct said_line **lines)
{
	size_t n = 0, cap = 0;

	*lines = NULL;
	for (char *end; (end = strchr(text, '\n')); text = end + 1) {
		struct as_buf stable = { 0 };
		const char *line;

		*end = '\0';
		line = as_kmsg_strip(text);
		if (!*line)
			continue;
		if (n == cap) {
			cap = cap ? 2 * cap : 256;
			*lines = as_xrealloc(*lines, cap * sizeof(**lines));
		}
		as_signature_add(&stable, line);
		(*lines)[n++] = (struct said_line){ line, as_xstrdup(as_buf_str(&stable)) };
		as_buf_free(&stable);
	}
	return n;
}

/*
 * Of lines that come about as often as each other, such as those of one stack, the gravest one is
 * taken, and the first by its letters: which of them the tail begins and ends with is chance.
 */
static const struct said_line *most_often(const struct said_line *lines, size_t n)
{
	const struct said_line *best = NULL;
	enum as_kmsg_class cls = AS_KMSG_INFO;
	size_t most = 0, len;

	for (size_t i = 0; i < n; i += len) {
		for (len = 1; i + len < n && !by_stable(&lines[i], &lines[i + len]);)
			len++;
		if (len > most)
			most = len;
	}
	for (size_t i = 0; i < n; i += len) {
		enum as_kmsg_class its = as_kmsg_classify(lines[i].text).cls;

		for (len = 1; i + len < n && !by_stable(&lines[i], &lines[i + len]);)
			len++;
		if (len * 4 < most * 3 || (best && its <= cls))
			continue;
		best = &lines[i];
		cls = its;
	}
	return best;
}

void as_boxed_add_repeated(const struct as_boxed_session *b, struct as_buf *out)
{
	size_t skip = b->console.len > TAIL_BYTES ? b->console.len - TAIL_BYTES : 0;
	const char *from = as_buf_str(&b->console) + skip;
	const struct said_line *line;
	struct said_line *lines;
	char *text;
	size_t n;

	/* The tail begins in the middle of a line. */
	if (skip)
		from += strcspn(from, "\n");
	text = as_xstrdup(from);
	n = cut_lines(text, &lines);
	if (n) {
		qsort(lines, n, sizeof(*lines), by_stable);
		line = most_often(lines, n);
		as_boxed_add_line(out, line->text, strnlen(line->text, SHOWN_BYTES));
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i].stable);
	free(lines);
	free(text);
}

bool as_boxed_lacked_memory(const struct as_boxed_session *b)
{
	return strstr(as_buf_str(&b->console), "Out of memory: Killed process");
}

void as_boxed_forget_console(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = as_kmsg_scan_new(NULL, on_report, b);
	b->weight = AS_KMSG_INFO;
	as_buf_clear(&b->console);
	as_buf_clear(&b->title);
	as_buf_clear(&b->signature);
}

void as_boxed_clear_console(struct as_boxed_session *b)
{
	as_boxed_forget_console(b);
	b->begun = false;
}

void as_boxed_free_console(struct as_boxed_session *b)
{
	as_kmsg_scan_free(b->scan);
	b->scan = NULL;
	as_buf_free(&b->console);
	as_buf_free(&b->title);
	as_buf_free(&b->signature);
}
