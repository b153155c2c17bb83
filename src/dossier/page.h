/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page: quotes texts from outside in a page of Markdown, so that they stay text: no markup, no
 * HTML, no early end of the quotation, no control characters for a terminal (base/show.h). */
#ifndef AS_DOSSIER_PAGE_H
#define AS_DOSSIER_PAGE_H

#include "base/buf.h"

/* `text`, on one line. */
void as_page_code(struct as_buf *out, const char *text);
/* Several lines between fences. */
void as_page_block(struct as_buf *out, const char *text);

#endif
