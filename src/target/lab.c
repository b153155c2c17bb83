/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab: labfs as a target. This file holds what the table of labfs cannot say. */
#include "target/kinds_priv.h"

#include "labfs/bug.h"
#include "labfs/format.h"
#include "labfs/labfs.h"

int as_target_open_lab(struct as_target *t, const char *rest, struct as_err *err)
{
	struct lab_opts opts = { 0 };

	if (lab_opts_parse(rest, &opts))
		return as_fail(
			err, AS_EUSE,
			"target lab: unknown option in '%s'; `assay targets --bugs` lists bug=N",
			rest);
	t->name = as_xstrdup("lab");
	t->opts = as_xstrdup(rest);
	t->ops = &lab_target;
	t->remounts = t->ops->remount;
	t->contract = as_target_contract_of(t->ops);
	t->block_bytes = LAB_BLOCK;
	t->limits = (struct as_limits){
		.name_max = LAB_NAME_MAX,
		.link_max = LAB_LINK_MAX,
		.dir_link_max = LAB_LINK_MAX,
		.symlink_max = LAB_SYMLINK_MAX,
		.xattr_bytes = LAB_BLOCK - sizeof(struct lab_xattr_head),
		.file_bytes = LAB_MAX_SIZE,
	};
	return as_target_vet(t->ops, "target lab", err);
}
