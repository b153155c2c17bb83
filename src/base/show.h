/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show: text from outside (names of files, what servers and kernels print, what others wrote into a
 * file), made fit for a person's terminal and for reports. Control characters (C0, DEL, C1, also as
 * UTF-8), characters that turn the direction of writing around, line separators, and bytes that are
 * not UTF-8 become \xNN or \u{NNNN}; all else stays as it is. What comes out is valid UTF-8.
 */
#ifndef AS_BASE_SHOW_H
#define AS_BASE_SHOW_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed UTF-8 sequence at s (no overlong forms, no surrogates, at most
 * U+10FFFF: Unicode table 3-7), 0 if there is none; len must not be 0. */
size_t as_utf8_len(const char *s, size_t len);
/* The code point of such a sequence. */
uint32_t as_utf8_code(const char *s, size_t len);
/* The length where the character can also be shown as it is; 0: it has to be escaped. */
size_t as_shown_len(const char *s, size_t len);

/* One line: newlines and tabs are escaped, too. */
void as_show(struct as_buf *out, const char *text);
void as_shown(struct as_buf *out, const char *text, size_t len);
/* Several lines: newlines and tabs stay. */
void as_show_lines(struct as_buf *out, const char *text, size_t len);

/* What makes a plural of a regular noun: printf("%u file%s", n, as_plural(n)). */
static inline const char *as_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
