/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: a directory of a file system that is already mounted. Each workload gets a fresh folder
 * below it, which is removed afterwards; there is no disk, so no faults and no crashes.
 */
#include "target/kinds.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

int as_target_open_dir(struct as_target *t, const char *rest, struct as_err *err)
{
	struct stat st;

	if (!*rest)
		return as_fail(err, AS_EUSE, "target dir: expected dir:PATH");
	if (stat(rest, &st)) {
		as_fail_errno(err, errno, "target dir:%s", rest);
		return AS_EUSE;
	}
	if (!S_ISDIR(st.st_mode))
		return as_fail(err, AS_EUSE, "target dir:%s: not a directory", rest);
	t->name = as_xstrdup("dir");
	t->dir = realpath(rest, NULL);
	if (!t->dir)
		return as_fail_errno(err, errno, "target dir:%s", rest);
	t->limits = (struct as_limits){ .name_max = NAME_MAX };
	return 0;
}
