/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lex: see lex.h. A correct line is read in one pass. What a message needs is found out only after
 * an error, from the place where it happened.
 */
#include "work/lex.h"

#include "base/buf.h"
#include "work/parse.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MAX 40 /* bytes of the offending text that a message repeats */

#define C AS_BYTE_CONTROL
#define L AS_BYTE_BLANK
#define B AS_BYTE_BARE
#define Q AS_BYTE_QUOTE
#define B8 B, B, B, B, B, B, B, B
#define B32 B8, B8, B8, B8
const unsigned char as_byte_class[256] = {
	C,   C,	  C,   C,   C, C, C, C, C,  L, C, C, C, C, C, C, /* 0x00: only the tab */
	C,   C,	  C,   C,   C, C, C, C, C,  C, C, C, C, C, C, C, /* 0x10 */
	L,   B,	  Q,   B,   B, B, B, B, B8, /* 0x20: blank, the double quote */
	B8,  B8, /* 0x30 */
	B8,  B8, /* 0x40 */
	B8,  B,	  B,   B,   B, Q, B, B, B, /* 0x50: the backslash */
	B8,  B8, /* 0x60 */
	B8,  B,	  B,   B,   B, B, B, B, C, /* 0x70: DEL */
	B32, B32, B32, B32, /* 0x80: UTF-8, or whatever else the name holds */
};
#undef C
#undef L
#undef B
#undef Q

static void say_byte(struct as_buf *out, unsigned char c)
{
	if (c == 0)
		as_buf_adds(out, "a NUL byte");
	else if (c == '\r')
		as_buf_adds(out, "a carriage return");
	else
		as_buf_addf(out, "control byte 0x%02x", c);
}

/* What is found at a place, in words for a message. */
static void say_found(const struct as_lex *lex, const char *at, struct as_buf *out)
{
	const char *p = at;

	if (at == lex->end) {
		as_buf_adds(out, "end of line");
		return;
	}
	if (*at == '#' &&
	    (at == lex->start || as_byte_class[(unsigned char)at[-1]] == AS_BYTE_BLANK)) {
		as_buf_adds(out, "a comment");
		return;
	}
	if (as_byte_class[(unsigned char)*at] == AS_BYTE_BLANK) {
		as_buf_adds(out, "a blank");
		return;
	}
	if (as_byte_class[(unsigned char)*at] == AS_BYTE_CONTROL) {
		say_byte(out, (unsigned char)*at);
		return;
	}
	as_buf_addc(out, '\'');
	for (; p < lex->end && as_byte_class[(unsigned char)*p] >= AS_BYTE_BARE; p++) {
		if (p - at == FOUND_MAX) {
			as_buf_adds(out, "...");
			break;
		}
		as_buf_addc(out, *p);
	}
	as_buf_addc(out, '\'');
}

int as_lex_fail(struct as_lex *lex, const char *at, const char *fmt, ...)
{
	struct as_buf text = { 0 };
	va_list ap;
	int rc;

	va_start(ap, fmt);
	as_buf_vaddf(&text, fmt, ap);
	va_end(ap);
	rc = as_fail(lex->err, AS_EUSE, "%s:%u:%zu: %s", lex->file, lex->line,
		     (size_t)(at - lex->start) + 1, as_buf_str(&text));
	as_buf_free(&text);
	return rc;
}

int as_lex_expected(struct as_lex *lex, const char *at, const char *fmt, ...)
{
	struct as_buf text = { 0 }, found = { 0 };
	va_list ap;
	int rc;

	va_start(ap, fmt);
	as_buf_vaddf(&text, fmt, ap);
	va_end(ap);
	say_found(lex, at, &found);
	rc = as_lex_fail(lex, at, "expected %s, found %s", as_buf_str(&text), as_buf_str(&found));
	as_buf_free(&text);
	as_buf_free(&found);
	return rc;
}

int as_lex_finish(struct as_lex *lex)
{
	if (!as_lex_at_end(lex))
		return as_lex_expected(lex, lex->p, "end of line");
	for (const char *p = lex->p; p < lex->end; p++) {
		if (as_byte_class[(unsigned char)*p] == AS_BYTE_CONTROL)
			return as_lex_expected(lex, p, "text");
	}
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What a backslash and the bytes after it mean; p points to the backslash. */
static int read_escape(struct as_lex *lex, char *c)
{
	static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
	const char *p = lex->p + 1, *known;
	int hi, lo;

	if (p < lex->end && *p && (known = strchr(from, *p))) {
		*c = to[known - from];
		lex->p += 2;
		return 0;
	}
	if (lex->end - p < 3 || *p != 'x' || (hi = hex_digit(p[1])) < 0 ||
	    (lo = hex_digit(p[2])) < 0)
		return as_lex_expected(lex, lex->p, "\\\" \\\\ \\n \\t or \\xHH");
	if (hi == 0 && lo == 0)
		return as_lex_expected(lex, lex->p, "a byte other than NUL");
	*c = (char)(hi << 4 | lo);
	lex->p += 4;
	return 0;
}

static int read_quoted(struct as_lex *lex)
{
	char *out = lex->scratch;

	for (lex->p++;;) {
		unsigned char c;

		if (lex->p == lex->end)
			return as_lex_expected(lex, lex->p, "a closing double quote");
		c = (unsigned char)*lex->p;
		if (c == '"')
			break;
		if (as_byte_class[c] == AS_BYTE_CONTROL)
			return as_lex_expected(lex, lex->p, "text or an escape such as \\x%02x", c);
		if (c == '\\') {
			int rc = read_escape(lex, out++);

			if (rc)
				return rc;
		} else {
			*out++ = (char)c;
			lex->p++;
		}
	}
	lex->p++;
	*out++ = 0;
	lex->scratch = out;
	return 0;
}

int as_lex_string(struct as_lex *lex, const char *expected, size_t max, const char **string)
{
	const char *start = lex->p, *p = start;
	char *out = lex->scratch;
	size_t len;

	if (p < lex->end && *p == '"') {
		int rc = read_quoted(lex);

		if (rc)
			return rc;
		len = (size_t)(lex->scratch - out) - 1;
	} else {
		while (p < lex->end && as_byte_class[(unsigned char)*p] == AS_BYTE_BARE)
			*lex->scratch++ = *p++;
		*lex->scratch++ = 0;
		len = (size_t)(p - start);
		lex->p = p;
		if (p < lex->end && as_byte_class[(unsigned char)*p] == AS_BYTE_QUOTE)
			return as_lex_fail(
				lex, p,
				"expected the whole string in double quotes, as it holds %c", *p);
	}
	if (!as_lex_at_gap(lex))
		return as_lex_expected(lex, lex->p, "a blank after %s", expected);
	if (len > max)
		return as_lex_fail(lex, start, "expected %s of at most %zu bytes, found %zu bytes",
				   expected, max, len);
	*string = out;
	return 0;
}

/* Digits with 0x or a K, M, G suffix. False when there is no number or it exceeds 64 bits. */
static bool read_unsigned(struct as_lex *lex, uint64_t *value)
{
	const char *p = lex->p, *end = lex->end, *digits;
	uint64_t v = 0;
	int d;

	if (end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x') {
		for (p += 2, digits = p; p < end && (d = hex_digit(*p)) >= 0; p++) {
			if (v >> 60)
				return false;
			v = v << 4 | (unsigned)d;
		}
	} else {
		unsigned shift;

		for (digits = p; p < end && (d = *p - '0') >= 0 && d <= 9; p++) {
			if (__builtin_mul_overflow(v, 10u, &v) ||
			    __builtin_add_overflow(v, (unsigned)d, &v))
				return false;
		}
		shift = p == end || p == digits ? 0
			: *p == 'K'		? 10
			: *p == 'M'		? 20
			: *p == 'G'		? 30
						: 0;
		if (shift) {
			if (v >> (64 - shift))
				return false;
			v <<= shift;
			p++;
		}
	}
	if (p == digits)
		return false;
	lex->p = p;
	*value = v;
	return true;
}

static bool read_signed(struct as_lex *lex, int64_t *value)
{
	bool minus = lex->p < lex->end && *lex->p == '-';
	uint64_t v;

	lex->p += minus;
	if (!read_unsigned(lex, &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*value = (int64_t)(minus ? 0 - v : v);
	return true;
}

/* Is it a number that is merely too big, or no number at all? Decides the message. */
static bool looks_numeric(const struct as_lex *lex, const char *p)
{
	if (p < lex->end && *p == '-')
		p++;
	return p < lex->end && *p >= '0' && *p <= '9';
}

static int read_ranged(struct as_lex *lex, const struct as_arg_info *arg, int64_t min, int64_t max,
		       int64_t *value)
{
	const char *start = lex->p;

	if (read_signed(lex, value) && as_lex_at_gap(lex) && *value >= min && *value <= max)
		return 0;
	if (!looks_numeric(lex, start) || arg->type == AS_TYPE_BOOL)
		return as_lex_expected(lex, start, "%s", arg->expected);
	return as_lex_expected(lex, start, "%s (%lld to %lld)", arg->expected, (long long)min,
			       (long long)max);
}

static int read_num(struct as_lex *lex, const struct as_arg_info *arg, uint64_t *value)
{
	const char *start = lex->p;

	if (read_unsigned(lex, value) && as_lex_at_gap(lex))
		return 0;
	if (!looks_numeric(lex, start))
		return as_lex_expected(lex, start, "%s", arg->expected);
	return as_lex_expected(lex, start, "%s (0 to %llu)", arg->expected,
			       (unsigned long long)UINT64_MAX);
}

static int read_octal(struct as_lex *lex, const struct as_arg_info *arg, uint32_t *mode)
{
	const char *start = lex->p;
	uint32_t v = 0;

	for (; lex->p < lex->end && *lex->p >= '0' && *lex->p <= '7'; lex->p++) {
		v = v << 3 | (uint32_t)(*lex->p - '0');
		if (v > AS_MODE_MAX)
			return as_lex_expected(lex, start, "a mode between 0000 and 07777");
	}
	if (lex->p == start || !as_lex_at_gap(lex))
		return as_lex_expected(lex, start, "%s", arg->expected);
	*mode = v;
	return 0;
}

int as_lex_slot(struct as_lex *lex, const char *expected, int32_t *slot)
{
	const char *start = lex->p, *p = start + 1;
	uint32_t v = 0;

	if (start == lex->end || *start != '$' || p == lex->end || *p < '0' || *p > '9')
		return as_lex_expected(lex, start, "%s", expected);
	for (; p < lex->end && *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint32_t)(*p - '0');
		if (v > AS_SLOT_MAX)
			return as_lex_expected(lex, start, "a slot between $0 and $%d",
					       AS_SLOT_MAX);
	}
	lex->p = p;
	*slot = (int32_t)v;
	return 0;
}

static int read_devno(struct as_lex *lex, const struct as_arg_info *arg, uint64_t *dev)
{
	const char *start = lex->p;
	uint64_t major, minor;

	if (!read_unsigned(lex, &major) || major > UINT32_MAX || lex->p == lex->end ||
	    *lex->p++ != ':' || !read_unsigned(lex, &minor) || minor > UINT32_MAX ||
	    !as_lex_at_gap(lex))
		return as_lex_expected(lex, start, "%s", arg->expected);
	*dev = AS_DEV(major, minor);
	return 0;
}

static bool read_word(struct as_lex *lex, const char *word, size_t len)
{
	if ((size_t)(lex->end - lex->p) < len || memcmp(lex->p, word, len))
		return false;
	lex->p += len;
	return true;
}

static int read_time(struct as_lex *lex, const struct as_arg_info *arg, int64_t *time_ns)
{
	const char *start = lex->p;
	bool minus;
	uint64_t sec = 0, ns = 0;

	if (read_word(lex, "now", 3)) {
		*time_ns = AS_TIME_NOW;
	} else if (read_word(lex, "omit", 4)) {
		*time_ns = AS_TIME_OMIT;
	} else {
		minus = read_word(lex, "-", 1);
		if (!read_unsigned(lex, &sec))
			return as_lex_expected(lex, start, "%s", arg->expected);
		if (read_word(lex, ".", 1)) {
			const char *frac = lex->p;
			uint64_t unit = 100000000;

			for (; lex->p < lex->end && *lex->p >= '0' && *lex->p <= '9'; lex->p++) {
				ns += unit * (unsigned)(*lex->p - '0');
				unit /= 10;
			}
			if (lex->p == frac || lex->p - frac > 9)
				return as_lex_expected(lex, frac, "one to nine digits");
		}
		if (sec > AS_TIME_SEC_MAX)
			return as_lex_expected(lex, start, "at most %llu seconds",
					       (unsigned long long)AS_TIME_SEC_MAX);
		*time_ns = (int64_t)(sec * 1000000000 + ns);
		*time_ns = minus ? -*time_ns : *time_ns;
	}
	if (!as_lex_at_gap(lex))
		return as_lex_expected(lex, start, "%s", arg->expected);
	return 0;
}

/* Words and numbers joined by '|'. */
static int read_flags(struct as_lex *lex, const struct as_arg_info *arg, int64_t *flags)
{
	size_t n;
	int64_t exclusive, v = 0;
	bool taken = false; /* a word of the exclusive field was seen */
	const struct as_flag_word *words =
		as_flag_words((enum as_flag_table)(arg->type - AS_TYPE_FLAGS), &n, &exclusive);

	for (;;) {
		const char *start = lex->p, *p = start;
		uint64_t bits = 0;
		bool alone;
		size_t i;

		while (p < lex->end && *p != '|' && *p != ' ' && *p != '\t')
			p++;
		for (i = 0; i < n; i++) {
			if (words[i].len == (size_t)(p - start) &&
			    !memcmp(words[i].word, start, words[i].len))
				break;
		}
		if (i < n) {
			bits = (uint64_t)words[i].value;
			lex->p = p;
		} else if (!read_unsigned(lex, &bits) || lex->p != p || bits > AS_FLAGS_MAX) {
			return as_lex_expected(lex, start, "%s", arg->expected);
		}
		alone = i < n ? exclusive && ((int64_t)bits & ~exclusive) == 0
			      : (bits & (uint64_t)exclusive) != 0;
		if (alone && taken)
			return as_lex_fail(lex, start,
					   "expected %s, found one that excludes an earlier one",
					   arg->expected);
		taken |= alone;
		v |= (int64_t)bits;
		if (as_lex_at_gap(lex))
			break;
		lex->p++;
	}
	*flags = v;
	return 0;
}

int as_lex_value(struct as_lex *lex, const struct as_arg_info *arg, struct as_op *op)
{
	void *field = as_arg_field(op, arg);
	int rc;

	switch (arg->type) {
	case AS_TYPE_STR:
		return as_lex_string(lex, arg->expected, AS_STR_MAX, field);
	case AS_TYPE_SLOT:
		rc = as_lex_slot(lex, arg->expected, field);
		return rc || as_lex_at_gap(lex)
			       ? rc
			       : as_lex_expected(lex, lex->p, "a blank after the slot");
	case AS_TYPE_NUM:
		return read_num(lex, arg, field);
	case AS_TYPE_SNUM:
		return read_ranged(lex, arg, INT64_MIN, INT64_MAX, field);
	case AS_TYPE_LEN:
		return read_ranged(lex, arg, 0, AS_DATA_MAX, field);
	case AS_TYPE_COUNT:
		return read_ranged(lex, arg, 0, AS_COUNT_MAX, field);
	case AS_TYPE_MEM:
		return read_ranged(lex, arg, 0, AS_MEM_MAX, field);
	case AS_TYPE_ID:
		return read_ranged(lex, arg, -1, AS_ID_MAX, field);
	case AS_TYPE_BOOL:
		return read_ranged(lex, arg, 0, 1, field);
	case AS_TYPE_OCT:
	case AS_TYPE_OCT_OPT:
		return read_octal(lex, arg, field);
	case AS_TYPE_DEVNO:
		return read_devno(lex, arg, field);
	case AS_TYPE_TIME:
		return read_time(lex, arg, field);
	default:
		return read_flags(lex, arg, field);
	}
}

#define LINE_BYTES_MAX 65536

int as_lex_lines(const char *file, const char *text, size_t len,
		 int (*read)(struct as_lex *lex, void *ctx), void *ctx, struct as_err *err)
{
	struct as_lex lex = { .file = file, .err = err };
	char *scratch = NULL;
	int rc = 0;

	for (const char *at = text, *end; at < text + len && !rc; at = end + 1) {
		end = memchr(at, '\n', (size_t)(text + len - at));
		if (!end)
			end = text + len;
		lex.line++;
		lex.start = lex.p = at;
		lex.end = end > at && end[-1] == '\r' ? end - 1 : end;
		if (end - at > LINE_BYTES_MAX) {
			rc = as_lex_fail(&lex, at, "line of more than %d bytes", LINE_BYTES_MAX);
			break;
		}
		/* Each string needs its bytes and a NUL. */
		scratch = as_xrealloc(scratch, 2 * (uint64_t)(end - at) + 2);
		lex.scratch = scratch;
		rc = read(&lex, ctx);
	}
	free(scratch);
	return rc;
}
