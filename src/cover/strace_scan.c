/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strace_scan: see strace_scan.h.
 *
 * The inner loops run over bytes that mean nothing without looking where the line ends: every line
 * is followed by a byte that means something (its newline, or the NUL behind the buffer), and what
 * is found is compared with the end then.
 */
#include "cover/strace_scan.h"

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

static bool starts(const char *p, const char *end, const char *with, size_t len)
{
	return (size_t)(end - p) >= len && !memcmp(p, with, len);
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Behind the closing quote of what opens at p, or NULL. */
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

/* "<path>" behind a descriptor, perhaps with "<char 1:3>" in it; "->" is in names of sockets. */
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

static void add_arg(struct as_scan *scan, const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	if (scan->n_args < AS_SCAN_ARGS && (from < to || scan->n_args))
		scan->args[scan->n_args++] = (struct as_span){ from, (size_t)(to - from) };
}

/* From behind the opening parenthesis to behind the closing one, or NULL. */
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
			p = is_digit(p[-1]) || p[-1] == 'D' ? skip_angle(p, end) : p + 1;
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
	if (*p == '?')
		return true;
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
	if (minus && v == 1 && starts(p, end, " E", 2)) {
		scan->error.at = ++p;
		while (p < end && (is_digit(*p) || *p == '_' || (*p >= 'A' && *p <= 'Z')))
			p++;
		scan->error.len = (size_t)(p - scan->error.at);
	}
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

void as_scan_call(const char *p, size_t len, struct as_scan *scan)
{
	static const char unfinished[] = "<unfinished ...>";
	const size_t tail = sizeof(unfinished) - 1;
	const char *end = p + len, *name = p, *args;

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
	} else if (len > tail && !memcmp(end - tail, unfinished, tail)) {
		/* Arguments may be whole already: "close(3 <unfinished ...>" has no ')'. */
		scan->kind = AS_SCAN_BEGIN;
		scan->head = (struct as_span){ name, len - tail };
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

/* "[pid 12] ", "12 ", then times, "[00007f...] " of -i, "[ 257] " of -n. */
static const char *scan_prefix(const char *p, const char *end, struct as_scan *scan)
{
	bool bracket = starts(p, end, "[pid", 4);
	const char *s = bracket ? p + 4 : p;
	unsigned tid = 0;

	while (s < end && *s == ' ')
		s++;
	if (s < end && is_digit(*s)) {
		const char *digits = s;

		for (; s < end && is_digit(*s) && s - digits < 9; s++)
			tid = tid * 10 + (unsigned)(*s - '0');
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
	while (p + 2 < end && *p == '[' && (is_digit(p[1]) || (p[1] == ' ' && is_digit(p[2])))) {
		const char *close = memchr(p, ']', (size_t)(end - p));

		if (!close)
			break;
		for (p = close + 1; p < end && *p == ' ';)
			p++;
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

/* "[ Process PID=123 runs in 32 bit mode. ]" */
static void scan_mode(const char *p, const char *end, struct as_scan *scan)
{
	static const char process[] = "[ Process PID=";
	unsigned tid = 0;

	if (!starts(p, end, process, sizeof(process) - 1))
		return;
	for (p += sizeof(process) - 1; p < end && is_digit(*p) && tid < 100000000; p++)
		tid = tid * 10 + (unsigned)(*p - '0');
	scan->kind = AS_SCAN_MODE;
	scan->tid = tid;
	scan->number = memmem(p, (size_t)(end - p), " 64 bit", 7) ? 64 : 32;
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
		scan_mode(p, end, scan);
	} else if (starts(p, end, "+++ ", 4)) {
		bool ended = starts(p, end, "+++ exited ", 11) || starts(p, end, "+++ killed ", 11);

		scan->kind = ended ? AS_SCAN_EXIT : AS_SCAN_NOTHING;
	} else if (starts(p, end, "--- ", 4) || starts(p, end, "> ", 2) ||
		   starts(p, end, "?\?\?(", 4)) {
		scan->kind = AS_SCAN_NOTHING;
	}
}
