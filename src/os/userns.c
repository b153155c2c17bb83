/* SPDX-License-Identifier: GPL-2.0-or-later */
/* userns: see userns.h. */
#include "os/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, len) == (ssize_t)len;
	close(fd);
	return ok;
}

static bool map(const char *path, unsigned inside, unsigned outside)
{
	char text[64];

	snprintf(text, sizeof(text), "%u %u 1", inside, outside);
	return write_text(path, text);
}

int as_userns_unshare(int spaces, uid_t uid, gid_t gid, bool *entered)
{
	uid_t own_uid = geteuid();
	gid_t own_gid = getegid();

	*entered = !unshare(CLONE_NEWUSER | spaces);
	if (!*entered)
		return -1;
	/* Only who cannot change his groups may map them. */
	return write_text("/proc/self/setgroups", "deny") &&
			       map("/proc/self/uid_map", uid, own_uid) &&
			       map("/proc/self/gid_map", gid, own_gid)
		       ? 0
		       : -1;
}

int as_userns_enter(const char *what, struct as_err *err)
{
	bool entered;

	if (!as_userns_unshare(CLONE_NEWNS, 0, 0, &entered))
		return 0;
	if (entered)
		return as_fail_errno(err, errno, "cannot set up a user namespace");
	return as_fail(err, AS_ELACK,
		       "%s by root, or where user namespaces are allowed "
		       "(sysctl kernel.unprivileged_userns_clone=1): %s",
		       what, strerror(errno));
}
