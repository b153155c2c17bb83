/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_cross: `assay fsck --compare`, `--score` and `--table`. */
#ifndef AS_CMD_FSCK_FSCK_CROSS_H
#define AS_CMD_FSCK_FSCK_CROSS_H

#include "cli/cli.h"
#include "cli/stored.h"
#include "dossier/stored.h"

AS_MUST_CHECK int as_fsck_compare(const struct as_args *args, struct as_err *err);
/* The table of losses, and those of the paper. */
AS_MUST_CHECK int as_fsck_score(const struct as_args *args, struct as_err *err);
AS_MUST_CHECK int as_fsck_table(const struct as_args *args, struct as_err *err);
/* Runs one damage of a comparison again, for `assay replay`. */
AS_MUST_CHECK int as_fsck_compare_again(const struct as_args *args, const struct as_stored *stored,
					struct as_sink *talk, struct as_err *err);

#endif
