/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mail: a finding as plain text for the maintainer of the file system, who need not know assay
 * (report.txt in its folder), and as a story for whoever has just met it. */
#ifndef AS_DOSSIER_LETTER_MAIL_H
#define AS_DOSSIER_LETTER_MAIL_H

#include "dossier/stored.h"
#include "os/dir.h"

#define AS_MAIL_NAME "report.txt"

/* `folder` is the finding's own: the texts say which of its files are there. */
AS_MUST_CHECK int as_mail_print(const struct as_dir *folder, struct as_buf *out,
				struct as_err *err);
/* The same of a finding that was read. */
struct as_letter;
void as_mail_put(const struct as_letter *letter);
/* A few paragraphs: what was done, expected and seen, why it is wrong, how sure that is. */
AS_MUST_CHECK int as_explain_print(const struct as_dir *folder, struct as_buf *out,
				   struct as_err *err);

#endif
