/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words: what is known of each kind of finding and of each rule, for readers who do not know
 * assay. */
#ifndef AS_DOSSIER_LETTER_WORDS_H
#define AS_DOSSIER_LETTER_WORDS_H

#include "base/finding.h"
#include "work/seq.h"

/* "An operation succeeded, but it returned the wrong data." */
const char *as_kind_meaning(enum as_finding_kind kind);
/* What a subject says of it: "wrong data". */
const char *as_kind_short(enum as_finding_kind kind);
/* Why it is wrong, by which rule; a sentence or more. */
const char *as_kind_rule(enum as_finding_kind kind);

/* The rule of power cuts that a signature names; NULL: it names none. */
const char *as_rule_of_signature(const char *signature);

/* One line: "ext4: wrong data: pread(2)". `op` is the operation that failed, may be NULL. */
void as_words_subject(const struct as_finding *finding, const struct as_op *op, struct as_buf *out);
/* A summary without the number of its operation, and without what was expected in its place; that
 * is put into `expected`, which stays empty if the summary does not say. */
void as_words_summary(const char *summary, struct as_buf *seen, struct as_buf *expected);

#endif
