/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expect: what the model says of a finding's workload, for who has no model: the answers that
 * repro.c compares, and the tree that repro.sh compares (expected.tree; expected.data and
 * expected.attrs, if it is about them). */
#ifndef AS_DOSSIER_PROGRAM_EXPECT_H
#define AS_DOSSIER_PROGRAM_EXPECT_H

#include "dossier/letter/letter.h"
#include "dossier/program/emit_c.h"

struct as_expect;

/* Of the workload `seq` of a finding. NULL: there is nothing to compare. It takes calls that a
 * kernel or a server answers, one after the other, without faults. */
struct as_expect *as_expect_new(const struct as_letter *letter, const struct as_seq *seq);
const struct as_emit_plan *as_expect_plan(const struct as_expect *expect);
/* Nothing is written if the model does not know the tree. */
AS_MUST_CHECK int as_expect_write_tree(const struct as_expect *expect, const struct as_dir *folder,
				       struct as_err *err);
void as_expect_free(struct as_expect *expect); /* takes NULL */

#endif
