/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain: see plain.h. */
#include "dossier/letter/plain.h"

#include "base/show.h"

#include <string.h>

#define BAR "  | "
#define MORE "  |   "

void as_plain_heading(struct as_buf *out, const char *name)
{
	as_buf_addf(out, "\n%s\n", name);
	for (size_t n = strlen(name); n; n--)
		as_buf_addc(out, '-');
	as_buf_addc(out, '\n');
}

void as_plain_text(struct as_buf *out, const char *first, const char *text)
{
	size_t indent = strlen(first), column = indent;
	bool begun = false;

	as_buf_adds(out, first);
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t len = strcspn(text, " \n");

		if (begun && column + 1 + len > AS_PLAIN_COLUMNS) {
			as_buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (begun) {
			as_buf_addc(out, ' ');
			column++;
		}
		as_buf_add(out, text, len);
		column += len;
		text += len;
		begun = true;
	}
	as_buf_addc(out, '\n');
}

/* How many bytes of a line go on this one: up to a blank, if there is one in its second half. */
static size_t piece(const char *s, size_t len, size_t columns)
{
	size_t at = 0, blank = 0, column = 0;

	while (at < len && column < columns) {
		size_t n = as_utf8_len(s + at, len - at);

		if (s[at] == ' ' && column > columns / 2)
			blank = at + 1;
		at += n ? n : 1;
		column++;
	}
	return at < len && blank ? blank : at;
}

/* One line that was made fit to be shown. A tab would end elsewhere after the bar. */
static void fold(struct as_buf *out, const char *s, size_t len)
{
	const char *bar = BAR;

	do {
		size_t n = piece(s, len, AS_PLAIN_COLUMNS - strlen(bar));

		as_buf_adds(out, bar);
		for (size_t i = 0; i < n && !(i + 1 == n && n < len && s[i] == ' '); i++)
			as_buf_addc(out, s[i] == '\t' ? ' ' : s[i]);
		as_buf_addc(out, '\n');
		s += n;
		len -= n;
		bar = MORE;
	} while (len);
}

void as_plain_quote(struct as_buf *out, const char *text)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	fold(out, as_buf_str(&shown), shown.len);
	as_buf_free(&shown);
}

void as_plain_quote_lines(struct as_buf *out, const char *text, size_t most)
{
	struct as_buf shown = { 0 };
	const char *s, *end;
	size_t lines = 0;

	as_show_lines(&shown, text, strlen(text));
	s = as_buf_str(&shown);
	end = s + shown.len;
	for (const char *p = s; p < end; p++)
		lines += *p == '\n' || p + 1 == end;
	if (lines > most)
		as_buf_addf(out, "  (the last %zu of %zu lines)\n", most, lines);
	for (; s < end; lines--) {
		size_t len = strcspn(s, "\n");

		if (lines <= most)
			fold(out, s, len);
		s += len + 1;
	}
	as_buf_free(&shown);
}
