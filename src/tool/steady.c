/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steady: see steady.h. */
#include "tool/steady.h"

#include "disk/cow.h"
#include "target/fresh.h"
#include "tool/checker.h"

static int make(const struct as_fstype *type, struct as_medium *medium, struct as_err *err)
{
	struct as_checkers *checkers = as_checkers_new(NULL);
	struct as_tool_result result;
	int rc = as_checker_mkfs(checkers, type, as_medium_disk(medium), &result, err);

	if (!rc)
		as_disk_restore(as_medium_disk(medium), result.disk);
	as_tool_result_free(&result);
	as_checkers_free(checkers);
	return rc;
}

int as_steady_disk(const struct as_fstype *type, const char *folder, struct as_medium *medium,
		   struct as_err *err)
{
	int rc;

	if (folder && as_fresh_find(type, folder, medium))
		return 0;
	rc = make(type, medium, err);
	if (rc == AS_ELACK)
		return as_fresh_disk(type, folder, medium, NULL, err);
	if (!rc && folder)
		as_fresh_keep(type, folder, medium);
	return rc;
}
