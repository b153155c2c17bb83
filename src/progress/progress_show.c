/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress_show: progress for people.
 *
 * Method. The block is made of items ("states 1,204, 310/s"), which are laid out like words of a
 * paragraph. Items are plain text without control characters, whatever was in names; colours are
 * added around whole lines and the head, so that the width of a line is that of its text.
 *
 * Invariants. (1) No line is wider than `columns`, if a character that is not ASCII takes two
 * columns or less. (2) A block has at most BLOCK_LINES lines.
 */
#include "progress/progress.h"

#include "base/show.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_LINES 8u
#define COLUMNS_MIN 20u
#define COLUMNS_MAX 200u

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

enum counter_show {
	AS_SHOW_NOT, /* in no block */
	AS_SHOW_ALWAYS,
	AS_SHOW_NUMBER, /* if it is not 0 */
	AS_SHOW_RATE, /* and how many a second */
	AS_SHOW_SHARE, /* percent of itself and the counter before it */
	AS_SHOW_BYTES,
};

static const struct {
	const char *word;
	enum counter_show how;
} shows[AS_COUNTERS] = {
#define AS_COUNTER(name, word, how) [AS_COUNT_##name] = { word, how },
#include "progress/progress.def"
};

bool as_counter_has_rate(enum as_counter counter)
{
	return shows[counter].how == AS_SHOW_RATE;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* Columns of a shown text, at most. */
static unsigned width_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		n += c < 0x80 ? 1 : c >= 0xc0 ? 2 : 0;
	}
	return n;
}

/* The longest beginning of `columns` or less; its bytes. */
static size_t head_bytes(const char *text, unsigned columns)
{
	size_t at = 0;

	while (text[at]) {
		size_t next = at + 1;
		unsigned wide = (unsigned char)text[at] < 0x80 ? 1 : 2;

		while (((unsigned char)text[next] & 0xc0) == 0x80)
			next++;
		if (wide > columns)
			break;
		columns -= wide;
		at = next;
	}
	return at;
}

void as_progress_fit(const char *text, unsigned columns, struct as_buf *out)
{
	struct as_buf shown = { 0 };
	const char *s, *tail;
	unsigned width, half;

	as_show(&shown, text);
	s = as_buf_str(&shown);
	width = width_of(s);
	if (width <= columns) {
		as_buf_adds(out, s);
	} else if (columns < 5) {
		as_buf_add(out, s, head_bytes(s, columns));
	} else {
		half = (columns - 3) / 2;
		tail = s;
		while (width_of(tail) > columns - 3 - half) {
			tail++;
			while (((unsigned char)*tail & 0xc0) == 0x80)
				tail++;
		}
		as_buf_add(out, s, head_bytes(s, half));
		as_buf_addf(out, "...%s", tail);
	}
	as_buf_free(&shown);
}

/* 1,234,567 */
static void add_number(uint64_t n, struct as_buf *out)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			as_buf_addc(out, ',');
		as_buf_addc(out, digits[i]);
	}
}

static void add_rate(double rate, struct as_buf *out)
{
	if (rate >= 10)
		add_number((uint64_t)(rate + 0.5), out);
	else
		as_buf_addf(out, "%.1f", rate);
	as_buf_adds(out, "/s");
}

static void add_bytes(uint64_t n, struct as_buf *out)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
	double size = (double)n / 1024;
	unsigned u = 0;

	while (size >= 1000 && u < 3) {
		size /= 1024;
		u++;
	}
	as_buf_addf(out, size < 10 ? "%.1f %s" : "%.0f %s", size, units[u]);
}

/* 0:07, 12:34, 1:02:03, 2d 03:04 */
static void add_time(int64_t seconds, struct as_buf *out)
{
	long long s = seconds, m = s / 60, h = m / 60, d = h / 24;

	if (d)
		as_buf_addf(out, "%lldd %02lld:%02lld", d, h % 24, m % 60);
	else if (h)
		as_buf_addf(out, "%lld:%02lld:%02lld", h, m % 60, s % 60);
	else
		as_buf_addf(out, "%lld:%02lld", m, s % 60);
}

/* ---- Items ----------------------------------------------------------------------------------- */

/* Whether there is something to tell. */
static bool add_counter(const struct as_progress *p, enum as_counter c, struct as_buf *out)
{
	enum counter_show how = shows[c].how;
	uint64_t n = p->n[c];

	if (!as_progress_has(p, c) || how == AS_SHOW_NOT || (!n && how != AS_SHOW_ALWAYS))
		return false;
	as_buf_addf(out, "%s ", shows[c].word);
	if (how == AS_SHOW_BYTES)
		add_bytes(n, out);
	else
		add_number(n, out);
	if (how == AS_SHOW_SHARE && c)
		as_buf_addf(out, " (%.0f %%)",
			    100.0 * (double)n / ((double)n + (double)p->n[c - 1]));
	if (how == AS_SHOW_RATE && p->rate[c] > 0) {
		as_buf_adds(out, ", ");
		add_rate(p->rate[c], out);
	}
	return true;
}

/* Adds nothing for a command that looks for none. */
static void add_kinds(const struct as_progress *p, struct as_buf *out)
{
	const char *between = ": ";
	uint64_t n = 0;

	for (unsigned k = 0; k < AS_FIND_KINDS; k++)
		n += p->kinds[k];
	if (!n && !as_progress_has(p, AS_COUNT_findings))
		return;
	/* What a command counts itself may be more: it goes on with an earlier run. */
	if (as_progress_has(p, AS_COUNT_findings) && p->n[AS_COUNT_findings] > n)
		n = p->n[AS_COUNT_findings];
	as_buf_adds(out, "findings ");
	add_number(n, out);
	for (unsigned k = 0; k < AS_FIND_KINDS; k++)
		if (p->kinds[k]) {
			as_buf_addf(out, "%s%s ", between, as_finding_kind_name(k));
			add_number(p->kinds[k], out);
			between = ", ";
		}
	if (p->again) {
		as_buf_adds(out, "; met again ");
		add_number(p->again, out);
	}
}

/* How much is done: of the time if that ends it, otherwise of the work. It fits what is left. */
static double share_of(const struct as_progress *p, bool by_time)
{
	double share =
		by_time ? (double)p->wall_us / (double)p->for_us : (double)p->done / (double)p->all;

	return share < 1 ? share : 1;
}

static void add_clock(const struct as_progress *p, struct as_buf *out)
{
	bool about;
	int64_t left = as_progress_left(p, &about);

	add_time(p->wall_us / 1000000, out);
	if (p->all && p->state == AS_RUN_RUNNING)
		as_buf_addf(out, ", %.0f %% done", 100 * share_of(p, p->for_us && !about));
	if (left >= 0 && p->state == AS_RUN_RUNNING) {
		as_buf_adds(out, about ? ", about " : ", ");
		add_time(left, out);
		as_buf_adds(out, " left");
	}
}

static void add_place(const struct as_progress *p, struct as_buf *out)
{
	if (p->jobs > 1)
		as_buf_addf(out, "  %llu jobs", (unsigned long long)p->jobs);
	if (*p->where) {
		as_buf_adds(out, "  ");
		as_progress_fit(p->where, 24, out);
	}
}

/* ---- The block ------------------------------------------------------------------------------- */

struct page {
	struct as_buf *out, line;
	unsigned columns, lines;
	bool colour;
};

static void put_line(struct page *page, const char *colour, const char *text)
{
	if (page->lines++ >= BLOCK_LINES)
		return;
	as_buf_addf(page->out, "%s%s%s\n", page->colour ? colour : "", text,
		    page->colour && *colour ? PLAIN : "");
}

static void end_line(struct page *page)
{
	if (page->line.len)
		put_line(page, "", as_buf_str(&page->line));
	as_buf_clear(&page->line);
}

/* Adds an item, on the next line if this one is full. */
static void put_item(struct page *page, const char *text)
{
	struct as_buf item = { 0 };

	as_progress_fit(text, page->columns - 2, &item);
	if (page->line.len &&
	    width_of(as_buf_str(&page->line)) + 2 + width_of(as_buf_str(&item)) > page->columns)
		end_line(page);
	as_buf_addf(&page->line, "  %s", as_buf_str(&item));
	as_buf_free(&item);
}

/* "assay hunt  lab:bug=3  4 jobs        0:12, 0:48 left" */
static void put_head(struct page *page, const struct as_progress *p)
{
	struct as_buf line = { 0 }, clock = { 0 }, place = { 0 };
	unsigned used, room;

	add_clock(p, &clock);
	add_place(p, &place);
	as_buf_adds(&line, "assay ");
	as_progress_fit(p->command, 12, &line);
	used = width_of(as_buf_str(&line)) + 4 + width_of(as_buf_str(&place)) +
	       width_of(as_buf_str(&clock));
	room = used + 8 < page->columns ? page->columns - used : 8;
	if (*p->target) {
		as_buf_adds(&line, "  ");
		as_progress_fit(p->target, room, &line);
	}
	if (width_of(as_buf_str(&line)) + used < page->columns + 20)
		as_buf_adds(&line, as_buf_str(&place));
	while (width_of(as_buf_str(&line)) + width_of(as_buf_str(&clock)) < page->columns)
		as_buf_addc(&line, ' ');
	if (width_of(as_buf_str(&line)) + width_of(as_buf_str(&clock)) <= page->columns) {
		as_buf_adds(&line, as_buf_str(&clock));
		put_line(page, BOLD, as_buf_str(&line));
	} else {
		struct as_buf fit = { 0 };

		as_progress_fit(as_buf_str(&line), page->columns, &fit);
		put_line(page, BOLD, as_buf_str(&fit));
		put_item(page, as_buf_str(&clock));
		as_buf_free(&fit);
	}
	as_buf_free(&line);
	as_buf_free(&clock);
	as_buf_free(&place);
}

static void put_newest(struct page *page, const struct as_progress *p)
{
	struct as_buf text = { 0 }, fit = { 0 };

	if (!*p->newest)
		return;
	as_buf_adds(&text, "newest ");
	add_time((p->wall_us - p->newest_us) / 1000000, &text);
	as_buf_addf(&text, " ago  %s  ", p->newest);
	as_buf_adds(&fit, "  ");
	as_progress_fit(as_buf_str(&text), page->columns - 2, &fit);
	if (width_of(as_buf_str(&fit)) + 20 < page->columns)
		as_progress_fit(p->newest_words, page->columns - width_of(as_buf_str(&fit)), &fit);
	put_line(page, "", as_buf_str(&fit));
	as_buf_free(&text);
	as_buf_free(&fit);
}

void as_progress_block(const struct as_progress *p, unsigned columns, bool colour,
		       struct as_buf *out)
{
	struct page page = { .out = out, .colour = colour };
	struct as_buf text = { 0 };
	bool found = *p->newest;

	page.columns = columns < COLUMNS_MIN   ? COLUMNS_MIN
		       : columns > COLUMNS_MAX ? COLUMNS_MAX
					       : columns;
	put_head(&page, p);
	for (unsigned c = 0; c < AS_COUNTERS; c++) {
		if (add_counter(p, c, &text))
			put_item(&page, as_buf_str(&text));
		as_buf_clear(&text);
	}
	end_line(&page);
	if (*p->phase) {
		put_item(&page, p->phase);
		end_line(&page);
	}
	add_kinds(p, &text);
	if (text.len) {
		as_buf_adds(&page.line, "  ");
		as_progress_fit(as_buf_str(&text), page.columns - 2, &page.line);
		put_line(&page, found ? RED : DIM, as_buf_str(&page.line));
		as_buf_clear(&page.line);
	}
	put_newest(&page, p);
	as_buf_free(&text);
	as_buf_free(&page.line);
}

/* ---- One line -------------------------------------------------------------------------------- */

void as_progress_line(const struct as_progress *p, struct as_buf *out)
{
	struct as_buf item = { 0 };
	const char *between = ": ";

	add_clock(p, out);
	/* The counters, then the phase, then the findings. */
	for (unsigned c = 0; c < AS_COUNTERS + 2; c++) {
		as_buf_clear(&item);
		if (c < AS_COUNTERS)
			add_counter(p, c, &item);
		else if (c == AS_COUNTERS)
			as_show(&item, p->phase);
		else
			add_kinds(p, &item);
		if (!item.len)
			continue;
		as_buf_addf(out, "%s%s", between, as_buf_str(&item));
		between = "; ";
	}
	as_buf_free(&item);
}

void as_progress_end_words(const struct as_progress *p, struct as_buf *out)
{
	static const char *const words[AS_RUN_STATES] = {
		[AS_RUN_RUNNING] = "",	    [AS_RUN_ENDED] = "ended", [AS_RUN_STOPPED] = "stopped",
		[AS_RUN_FAILED] = "failed", [AS_RUN_DIED] = "died",
	};

	if (p->state == AS_RUN_RUNNING)
		return;
	as_buf_addf(out, "%s after ", words[p->state]);
	add_time(p->wall_us / 1000000, out);
	if (p->signal) {
		const char *name = sigabbrev_np(p->signal);

		as_buf_addf(out, ", by SIG%s", name ? name : "?");
	}
	if (*p->why) {
		as_buf_adds(out, ": ");
		as_show(out, p->why);
	}
}
