/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: any directory that is already mounted. It has to be there and to be empty: what a workload
 * does below it is not undone.
 */
#include "target/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* lost+found is no reason to refuse the root of a fresh file system. */
static bool is_empty(const char *path, struct as_err *err, int *rc)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	if (!dir) {
		*rc = as_fail_errno(err, errno, "target dir:%s", path);
		(*rc) = AS_EUSE;
		return false;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    strcmp(entry->d_name, "lost+found"))
			empty = false;
	closedir(dir);
	return empty;
}

int as_target_open_dir(struct as_target *t, const char *rest, struct as_err *err)
{
	int rc = 0;

	if (!*rest)
		return as_fail(err, AS_EUSE, "target dir: expected dir:PATH");
	if (!is_empty(rest, err, &rc))
		return rc ? rc
			  : as_fail(err, AS_EUSE, "target dir:%s: the directory is not empty",
				    rest);
	t->name = as_xstrdup("dir");
	t->dir = realpath(rest, NULL);
	if (!t->dir)
		return as_fail_errno(err, errno, "target dir:%s", rest);
	t->limits = (struct as_limits){ .name_max = NAME_MAX };
	return 0;
}
