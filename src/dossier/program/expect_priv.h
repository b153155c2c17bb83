/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expect_priv: what the files of expect share. */
#ifndef AS_DOSSIER_PROGRAM_EXPECT_PRIV_H
#define AS_DOSSIER_PROGRAM_EXPECT_PRIV_H

#include "model/model.h"
#include "os/dir.h"

/* Writes expected.tree; with `inside`, what is in the files as well: expected.data, expected.attrs,
 * and the program look.c that prints such lines. */
AS_MUST_CHECK int as_expect_tree(const struct as_model *model, bool inside,
				 const struct as_dir *folder, struct as_err *err);

#endif
