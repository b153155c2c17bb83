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

int as_userns_enter(const char *what, struct as_err *err)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return as_fail(err, AS_ELACK,
			       "%s by root, or where user namespaces are allowed "
			       "(sysctl kernel.unprivileged_userns_clone=1): %s",
			       what, strerror(errno));
	if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", uid) ||
	    !write_text("/proc/self/gid_map", gid))
		return as_fail_errno(err, errno, "cannot set up a user namespace");
	return 0;
}
