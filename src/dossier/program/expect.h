/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expect: what the model says of a finding's workload, for who has no model: the answers that
 * repro.c compares, and the tree that repro.sh compares (expected.tree; expected.data and
 * expected.attrs, if it is about them). */
#ifndef AS_DOSSIER_PROGRAM_EXPECT_H
#define AS_DOSSIER_PROGRAM_EXPECT_H

#include "dossier/stored.h"
#include "os/dir.h"

/* Replaces repro.c by one that compares answers, and writes the tree. For a finding of calls that
 * a kernel or a server answers; for others nothing is done. */
AS_MUST_CHECK int as_expect_write(const struct as_dir *folder, const struct as_stored *stored,
				  struct as_err *err);

#endif
