/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_word: who is asked about repaired disks (damage/kernel.h), by the options of a command. */
#ifndef AS_CMD_FSCK_FSCK_WORD_H
#define AS_CMD_FSCK_FSCK_WORD_H

#include "cli/cli.h"
#include "damage/kernel.h"

/* What --kernel, --sandbox and the others say. *asks false: nobody is asked. A library is always
 * asked, since that costs little. */
AS_MUST_CHECK int as_fsck_word_setup(const struct as_args *args, const char *type,
				     struct as_fsck_kernel_setup *setup, bool *asks,
				     struct as_err *err);
/* The sandbox of the options, for any type. */
AS_MUST_CHECK int as_fsck_word_box(const struct as_args *args, const char *type,
				   struct as_fsck_kernel_setup *setup, struct as_err *err);

#endif
