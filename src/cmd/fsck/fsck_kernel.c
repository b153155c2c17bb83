/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_kernel: mounts the disks that a sandbox is given (damage/kernel.h). Nobody but `assay fsck`
 * starts it, in a sandbox, so no help lists it.
 */
#include "cli/cli.h"
#include "damage/kernel.h"

static int run(const struct as_args *args, struct as_err *err)
{
	return as_fsck_kernel_serve(args->operands[0], args->operands[1], err);
}

const struct as_command as_cmd_fsck_kernel = {
	.hidden = true,
	.name = AS_FSCK_KERNEL_COMMAND,
	.operands = "TARGET FOLDER",
	.summary = "mount disks in a sandbox, as its supervisor says",
	.min_operands = 2,
	.max_operands = 2,
	.run = run,
};
