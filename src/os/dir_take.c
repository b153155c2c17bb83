/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir_take: folders that are handed over as a whole (see dir.h).
 *
 * Method. A folder is moved by rename(2), which can replace only an empty folder: when two get the
 * same name, the first one has it, and the second one is told. What others wrote is moved to a name
 * that they cannot reach before it is looked at.
 */
#include "os/dir.h"
#include "os/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int as_dir_place(const struct as_dir *dir, const char *temp, const char *name, bool *again,
		 struct as_err *err)
{
	*again = false;
	if (!renameat(dir->fd, temp, dir->fd, name))
		return 0;
	*again = errno == EEXIST || errno == ENOTEMPTY;
	if (!*again)
		as_fail_errno(err, errno, "%s/%s", dir->path, name);
	as_dir_remove(dir, temp);
	return *again ? 0 : AS_EIO;
}

/* Keeps only plain files, and takes rights away from them that they should not have. */
static int purge(void *ctx, const char *name)
{
	const struct as_dir *dir = ctx;
	int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink > 1) {
		as_dir_remove(dir, name);
	} else {
		if (st.st_uid != geteuid())
			(void)!fchown(fd, geteuid(), getegid());
		(void)!fchmod(fd, st.st_mode & 0755 & ~(mode_t)0111);
	}
	if (fd >= 0)
		close(fd);
	return 0;
}

static int make_ours(const struct as_dir *to, const char *temp, struct as_err *err)
{
	struct as_dir dir;
	struct stat st;
	int rc = as_dir_below(to, temp, false, &dir, err);

	if (rc)
		return rc;
	if (!fstat(dir.fd, &st) && st.st_uid != geteuid())
		(void)!fchown(dir.fd, geteuid(), getegid());
	(void)!fchmod(dir.fd, 0755);
	as_dir_each(&dir, purge, &dir);
	as_dir_close(&dir);
	return 0;
}

int as_dir_take(const struct as_dir *from, const char *name, const struct as_dir *to, bool *again,
		struct as_err *err)
{
	struct as_buf temp = { 0 };
	struct as_dir place;
	int rc;

	*again = false;
	if (!as_dir_is_plain(name))
		return as_fail(err, AS_EIO, "%s: '%s' is no name of a finding", from->path, name);
	rc = as_dir_temp(to, AS_RUN_PART, &temp, &place, err);
	as_dir_close(&place);
	if (!rc && renameat(from->fd, name, to->fd, as_buf_str(&temp)))
		rc = as_fail_errno(err, errno, "%s/%s", from->path, name);
	if (!rc)
		rc = make_ours(to, as_buf_str(&temp), err);
	if (!rc)
		rc = as_dir_place(to, as_buf_str(&temp), name, again, err);
	else if (temp.len)
		as_dir_remove(to, as_buf_str(&temp));
	as_buf_free(&temp);
	return rc;
}
