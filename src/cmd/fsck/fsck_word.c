/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_word: see fsck_word.h. */
#include "cmd/fsck/fsck_word.h"

#include "cli/boxes.h"

#include <string.h>

int as_fsck_word_box(const struct as_args *args, const char *type,
		     struct as_fsck_kernel_setup *setup, struct as_err *err)
{
	const char *asked = as_args_text(args, "sandbox", NULL);
	int rc;

	*setup = (struct as_fsck_kernel_setup){ .target = type };
	if (asked)
		setup->sandbox = as_sandbox_find(asked);
	rc = as_cli_check_box(args, type, err);
	/* Most trees are read without a kernel. Who needs one after all is told so then. */
	if (rc == AS_ELACK && !as_args_has(args, "kernel"))
		rc = 0;
	return rc ? rc : as_cli_box_options(args, &setup->box, err);
}

int as_fsck_word_setup(const struct as_args *args, const char *type,
		       struct as_fsck_kernel_setup *setup, bool *asks, struct as_err *err)
{
	bool wanted = as_args_has(args, "kernel"), library = type && !strncmp(type, "lab", 3);

	*setup = (struct as_fsck_kernel_setup){ .target = library ? "lab" : type,
						.box.core = AS_CORE_HERE };
	*asks = library;
	if (!wanted || library)
		return 0;
	if (!type || !as_cli_fstype(type))
		return as_fail(err, AS_EUSE, "--kernel: no kernel is known for %s",
			       type ? type : "disks of an unknown type: --type T");
	*asks = true;
	return as_fsck_word_box(args, type, setup, err);
}
