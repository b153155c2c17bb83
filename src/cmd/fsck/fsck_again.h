/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_again: a finding of a checker, once more. */
#ifndef AS_CMD_FSCK_FSCK_AGAIN_H
#define AS_CMD_FSCK_FSCK_AGAIN_H

#include "base/event.h"
#include "cli/cli.h"
#include "dossier/stored.h"
#include "os/dir.h"

/* Whether a stored finding is about a checker. */
bool as_fsck_is_stored(const struct as_stored *stored);
/* Runs the checker on the disk of the finding. The exit status, or a negative error. */
AS_MUST_CHECK int as_fsck_again(const struct as_args *args, const struct as_dir *folder,
				const struct as_stored *stored, struct as_sink *talk,
				struct as_err *err);

#endif
