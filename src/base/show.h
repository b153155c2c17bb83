/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * show: makes text from outside (names of files, what servers and kernels print, what others wrote
 * into a file) fit for a terminal and for reports. These become \xNN or \u{NNNN}: control
 * characters (C0, DEL, C1, also as UTF-8), characters that change the direction of writing, line
 * separators, and bytes that are not UTF-8. Everything else stays as it is, and the result is valid
 * UTF-8.
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
/* The length of a character that can be shown as it is; 0: it has to be escaped. */
size_t as_shown_len(const char *s, size_t len);

/* For one line: newlines and tabs are escaped, too. */
void as_show(struct as_buf *out, const char *text);
void as_shown(struct as_buf *out, const char *text, size_t len);
/* For several lines: newlines and tabs stay. */
void as_show_lines(struct as_buf *out, const char *text, size_t len);
/* As one word of a command that a person copies into a shell, in quotes where it needs them. What
 * cannot be shown is escaped, so that such a word is not the same any more. */
void as_show_word(struct as_buf *out, const char *text);

/* Gives the ending of a regular noun: printf("%u file%s", n, as_plural(n)). */
static inline const char *as_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
