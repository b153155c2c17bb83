/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strace_scan: see strace_scan.h.
 *
 * The inner loops skip plain bytes without checking for the end of the line. They stop in time,
 * because every line is followed by a byte that is not plain (its newline, or the NUL after the
 * buffer). Only then the position is compared with the end.
 */
#include "trace/strace_scan.h"

#include <string.h>

enum { PLAIN, STOP, QUOTE, OPEN, CLOSE, COMMA, ANGLE, SLASH };

static const unsigned char class_of[256] = {
	[0] = STOP,    ['\n'] = STOP, ['"'] = QUOTE, ['('] = OPEN,  ['['] = OPEN,  ['{'] = OPEN,
	[')'] = CLOSE, [']'] = CLOSE, ['}'] = CLOSE, [','] = COMMA, ['<'] = ANGLE, ['/'] = SLASH,
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A character of the numbers, addresses and contexts that strace puts into brackets. */
static bool is_plain(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c && strchr("_:.,-?! ", c));
}

static bool starts(const char *p, const char *end, const char *with, size_t len)
{
	return (size_t)(end - p) >= len && !memcmp(p, with, len);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* What follows the closing quote of the string at p, or NULL. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		const char *quote = memchr(p, '"', (size_t)(end - p));
		const char *back;

		if (!quote)
			return NULL;
		for (back = quote; back > p && back[-1] == '\\'; back--)
			;
		if (!((quote - back) & 1))
			return quote + 1;
		p = quote;
	}
	return NULL;
}

/* "<path>" after a descriptor, perhaps with "<char 1:3>" in it; "->" is in names of sockets. */
static const char *skip_angle(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && p[-1] != '-' && !--depth)
			return p + 1;
	}
	return NULL;
}

static const char *skip_comment(const char *p, const char *end)
{
	const char *close;

	if (!starts(p, end, "/*", 2))
		return p + 1;
	close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
	return close ? close + 2 : NULL;
}

/* -X verbose prints a comment after a number. It is removed, since the number says the same. An
 * argument that is only a comment stays. */
static const char *before_comment(const char *from, const char *to)
{
	const char *at = to;

	if (to - from < 5 || to[-1] != '/' || to[-2] != '*')
		return to;
	for (at = to - 4; at > from && (at[0] != '/' || at[1] != '*');)
		at--;
	while (at > from && at[-1] == ' ')
		at--;
	return at > from ? at : to;
}

static void add_arg(struct as_scan *scan, const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	to = before_comment(from, to);
	if (scan->n_args < AS_SCAN_ARGS && (from < to || scan->n_args))
		scan->args[scan->n_args++] = (struct as_span){ from, (size_t)(to - from) };
}

/* p is after the opening parenthesis. Returns what follows the closing one, or NULL. */
static const char *scan_args(const char *p, const char *end, struct as_scan *scan)
{
	const char *start = p;
	unsigned depth = 0;

	scan->n_args = 0;
	for (;;) {
		unsigned char class;

		while (!(class = class_of[(unsigned char)*p]))
			p++;
		if (p >= end)
			return NULL;
		switch (class) {
		case QUOTE:
			p = skip_string(p, end);
			break;
		case OPEN:
			depth++;
			p++;
			break;
		case CLOSE:
			if (!depth) {
				add_arg(scan, start, p);
				return p + 1;
			}
			depth--;
			p++;
			break;
		case COMMA:
			if (!depth) {
				add_arg(scan, start, p);
				start = p + 1;
			}
			p++;
			break;
		case ANGLE:
			p = is_digit(p[-1]) || p[-1] == 'D' || p[-1] == '/' ? skip_angle(p, end)
									    : p + 1;
			break;
		case SLASH:
			p = skip_comment(p, end);
			break;
		default:
			p++; /* a NUL or newline in the middle */
			break;
		}
		if (!p)
			return NULL;
	}
}

/* ---- The result ------------------------------------------------------------------------------ */

/* " ENOENT (No such file or directory)" */
static void scan_error(const char *p, const char *end, struct as_scan *scan)
{
	if (!starts(p, end, " E", 2))
		return;
	scan->error.at = ++p;
	while (p < end && (is_digit(*p) || *p == '_' || (*p >= 'A' && *p <= 'Z')))
		p++;
	scan->error.len = (size_t)(p - scan->error.at);
}

static bool scan_result(const char *p, const char *end, struct as_scan *scan)
{
	bool minus = false;
	uint64_t v = 0;

	while (p < end && *p == ' ')
		p++;
	if (p >= end || *p != '=')
		return false;
	for (p++; p < end && *p == ' ';)
		p++;
	if (p >= end)
		return false;
	scan->has_result = *p != '?';
	if (*p == '?') {
		scan_error(p + 1, end, scan);
		return true;
	}
	if (*p == '-') {
		minus = true;
		p++;
	}
	if (p >= end || !is_digit(*p))
		return false;
	if (starts(p, end, "0x", 2)) {
		for (p += 2; p < end && (is_digit(*p) || ((*p | 32) >= 'a' && (*p | 32) <= 'f'));
		     p++)
			v = v * 16 + (unsigned)(is_digit(*p) ? *p - '0' : (*p | 32) - 'a' + 10);
	} else {
		for (; p < end && is_digit(*p); p++)
			v = v * 10 + (unsigned)(*p - '0');
	}
	scan->result = minus ? -v : v;
	if (minus && v == 1)
		scan_error(p, end, scan);
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

/* Where the mark begins that is at the end of a line in place of a result; NULL: there is none. */
static const char *cut_off(const char *name, const char *end)
{
	static const char *const marks[] = { "<unfinished ...>", "<detached ...>",
					     "<pid changed to ", "<ptrace(" };
	const char *at = end;

	if (end[-1] != '>')
		return NULL;
	while (at > name && *at != '<')
		at--;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (starts(at, end, marks[i], strlen(marks[i])))
			return at;
	return NULL;
}

void as_scan_call(const char *p, size_t len, struct as_scan *scan)
{
	const char *end = p + len, *name = p, *args, *cut;

	scan->kind = AS_SCAN_UNKNOWN;
	scan->error.len = 0;
	while (p < end && is_name(*p))
		p++;
	if (p == name || p >= end || *p != '(')
		return;
	scan->name = (struct as_span){ name, (size_t)(p - name) };
	args = scan_args(p + 1, end, scan);
	if (args && scan_result(args, end, scan)) {
		scan->kind = AS_SCAN_CALL;
	} else if ((cut = cut_off(name, end))) {
		/* Arguments may be whole already: "close(3 <unfinished ...>" has no ')'. */
		scan->kind = AS_SCAN_BEGIN;
		scan->head = (struct as_span){ name, (size_t)(cut - name) };
	}
}

/* ---- The line -------------------------------------------------------------------------------- */

/* A time: digits, colons and dots up to a blank. */
static const char *skip_time(const char *p, const char *end)
{
	const char *s = p;

	while (s < end && (is_digit(*s) || *s == ':' || *s == '.'))
		s++;
	if (s == p || s >= end || *s != ' ')
		return p;
	while (s < end && *s == ' ')
		s++;
	return s;
}

/* What -Y ("<name>") and --decode-pids=pidns (a comment) say after the number of a process. */
static const char *skip_decoded(const char *p, const char *end)
{
	const char *close;

	if (p < end && *p == '<') {
		close = memchr(p, '>', (size_t)(end - p));
		p = close ? close + 1 : p;
	}
	if (starts(p, end, " /* ", 4)) {
		close = memmem(p, (size_t)(end - p), "*/", 2);
		p = close ? close + 2 : p;
	}
	return p;
}

/* "[00007f...] " and "[????????] " of -i, "[ 257] " of -n, "[user:role:type] " of --secontext; not
 * what strace itself says, "[ Process PID=1 runs in ...". */
static const char *skip_group(const char *p, const char *end)
{
	const char *s = p + 1;

	while (s < end && is_plain(*s))
		s++;
	if (s >= end || *s != ']' || s == p + 1)
		return p;
	for (s++; s < end && *s == ' ';)
		s++;
	return s;
}

/* "[pid 12] ", "12 ", then times, then groups in brackets. */
static const char *scan_prefix(const char *p, const char *end, struct as_scan *scan)
{
	bool bracket = starts(p, end, "[pid", 4);
	const char *s = bracket ? p + 4 : p;
	unsigned tid = 0;

	scan->bracket = bracket;
	while (s < end && *s == ' ')
		s++;
	if (s < end && is_digit(*s)) {
		const char *digits = s;

		for (; s < end && is_digit(*s) && s - digits < 9; s++)
			tid = tid * 10 + (unsigned)(*s - '0');
		s = skip_decoded(s, end);
		if (s < end && *s == (bracket ? ']' : ' ')) {
			scan->tid = tid;
			for (s++; s < end && *s == ' ';)
				s++;
			p = s;
		} else {
			p = digits; /* a time */
		}
	}
	if (p < end && (is_digit(*p) || *p == ' ')) {
		while (p < end && *p == ' ')
			p++;
		p = skip_time(p, end);
	}
	while (p < end && *p == '[') {
		const char *after = skip_group(p, end);

		if (after == p)
			break;
		p = after;
	}
	return p;
}

static void scan_resume(const char *p, const char *end, struct as_scan *scan)
{
	static const char resumed[] = " resumed>";
	const char *name = p + 5, *at;

	if (!starts(p, end, "<... ", 5))
		return;
	at = memmem(name, (size_t)(end - name), resumed, sizeof(resumed) - 1);
	if (!at)
		return;
	scan->kind = AS_SCAN_RESUME;
	scan->name = (struct as_span){ name, (size_t)(at - name) };
	at += sizeof(resumed) - 1;
	scan->tail = (struct as_span){ at, (size_t)(end - at) };
}

/* The head of the table of -C, or the rule under it. */
static bool is_summary(const char *p, const char *end)
{
	const char *s = p;

	if (starts(p, end, "% time ", 7))
		return true;
	while (s < end && (*s == '-' || *s == ' '))
		s++;
	return s == end && end - p > 10;
}

/* "+++ exited with 0 +++", "+++ superseded by execve in pid 12 +++" */
static void scan_end(const char *p, const char *end, struct as_scan *scan)
{
	static const char superseded[] = "+++ superseded by execve in pid ";

	scan->kind = AS_SCAN_NOTHING;
	if (starts(p, end, "+++ exited ", 11) || starts(p, end, "+++ killed ", 11))
		scan->kind = AS_SCAN_EXIT;
	if (!starts(p, end, superseded, sizeof(superseded) - 1))
		return;
	scan->kind = AS_SCAN_TAKEN;
	scan->number = 0;
	for (p += sizeof(superseded) - 1; p < end && is_digit(*p) && scan->number < 100000000; p++)
		scan->number = scan->number * 10 + (unsigned)(*p - '0');
}

void as_scan_line(const char *line, size_t len, struct as_scan *scan)
{
	const char *end = line + len, *p;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	scan->tid = 0;
	scan->kind = AS_SCAN_UNKNOWN;
	p = scan_prefix(line, end, scan);
	if (p == end) {
		scan->kind = len ? AS_SCAN_UNKNOWN : AS_SCAN_NOTHING;
		return;
	}
	if (is_name(*p)) {
		as_scan_call(p, (size_t)(end - p), scan);
		if (scan->kind == AS_SCAN_UNKNOWN && starts(line, end, "strace: ", 8))
			scan->kind = AS_SCAN_NOTHING;
	} else if (*p == '<') {
		scan_resume(p, end, scan);
	} else if (*p == '[') {
		/* "[ Process PID=123 runs in 32 bit mode. ]": what it calls is printed in the same
		 * words, under names that the tables know. */
		if (starts(p, end, "[ Process PID=", 14))
			scan->kind = AS_SCAN_NOTHING;
	} else if (starts(p, end, "+++ ", 4)) {
		scan_end(p, end, scan);
	} else if (is_summary(p, end)) {
		scan->kind = AS_SCAN_SUMMARY;
	} else if (starts(p, end, "--- ", 4) || starts(p, end, "> ", 2) ||
		   starts(p, end, "?\?\?(", 4)) {
		scan->kind = AS_SCAN_NOTHING;
	}
}
