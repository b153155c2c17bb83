/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain: plain text of at most 76 columns, for a mail. Texts from outside are quoted: each of their
 * lines begins with a bar, so that none of them can look like a line of ours, and control
 * characters are shown (base/show.h). */
#ifndef AS_DOSSIER_LETTER_PLAIN_H
#define AS_DOSSIER_LETTER_PLAIN_H

#include "base/buf.h"

#define AS_PLAIN_COLUMNS 76

/* A paragraph of ours. The first line begins with `first`, the others with as many blanks. */
void as_plain_text(struct as_buf *out, const char *first, const char *text);
/* "  | text": one line, or several if `lines`; long ones go on after "  |   ". Of more than `most`
 * lines, only the last ones are shown, after a line that says so. */
#define AS_PLAIN_ALL ((size_t)-1)
void as_plain_quote(struct as_buf *out, const char *text);
void as_plain_quote_lines(struct as_buf *out, const char *text, size_t most);
/* "NAME", and a line below it. */
void as_plain_heading(struct as_buf *out, const char *name);

#endif
