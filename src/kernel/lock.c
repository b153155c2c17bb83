/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock: one build at a time in a folder; and whether there is room for it. */
#include "kernel/kernel_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOK_MS 200

int as_kernel_lock(const struct as_kernel_job *job, const char *folder, int *fd, struct as_err *err)
{
	struct as_buf path = { 0 };
	bool told = false;
	int rc = 0;

	as_buf_addf(&path, "%s/lock", folder);
	/* Programs that we start hold it, too: what survives us there must end first. */
	*fd = open(as_buf_str(&path), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (*fd < 0)
		rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
	while (!rc && flock(*fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
		else if (job->want->stop && *job->want->stop)
			rc = as_fail(err, AS_ESTOP, "stopped by a signal");
		else if (!told)
			as_kernel_say(job, "waits for another build in the same folder", 0, 0);
		told = true;
		poll(NULL, 0, LOOK_MS);
	}
	if (rc && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	as_buf_free(&path);
	return rc;
}

int as_kernel_space(const char *folder, uint64_t bytes, const char *what_for, struct as_err *err)
{
	struct statvfs st;
	uint64_t there;

	if (statvfs(folder, &st))
		return as_fail_errno(err, errno, "%s", folder);
	there = (uint64_t)st.f_bavail * st.f_frsize;
	if (there >= bytes)
		return 0;
	return as_fail(err, AS_ELACK, "%s: %llu MiB free, and %s takes about %llu", folder,
		       (unsigned long long)there >> 20, what_for, (unsigned long long)bytes >> 20);
}
