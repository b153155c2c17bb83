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
	t->limits = *t->ops->limits;
	return as_target_vet(t->ops, "target lab", err);
}
