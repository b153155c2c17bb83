/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share: see share.h, and openat2(2). */
#include "os/share.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_beneath(int folder, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	long fd;

	do
		fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
	while (fd < 0 && (errno == EINTR || errno == EAGAIN));
	return fd < 0 ? -errno : (int)fd;
}

/* For kernels before 5.6: opens one component after the other. */
static int open_by_parts(int folder, const char *path, int flags)
{
	char name[256];
	int at = fcntl(folder, F_DUPFD_CLOEXEC, 3);

	while (at >= 0) {
		size_t len = strcspn(path, "/");
		bool last = !path[len];
		int next;

		if (!len || len >= sizeof(name) || (len <= 2 && !strncmp(path, "..", len))) {
			close(at);
			return -EXDEV;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		next = openat(at, name,
			      (last ? flags : O_DIRECTORY | O_RDONLY) | O_NOFOLLOW | O_CLOEXEC |
				      O_NOCTTY);
		if (next < 0)
			next = -errno;
		close(at);
		if (last || next < 0)
			return next;
		at = next;
		path += len + 1;
	}
	return -EMFILE;
}

static int open_in(int folder, const char *path, int flags)
{
	int fd = open_beneath(folder, path, flags);

	return fd == -ENOSYS || fd == -EPERM ? open_by_parts(folder, path, flags) : fd;
}

int as_share_open(int folder, const char *path, uint64_t max)
{
	/* Opening must not wait for a writer of a pipe. */
	int fd = open_in(folder, path, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	if ((uint64_t)st.st_size > max) {
		close(fd);
		return -EFBIG;
	}
	return fd;
}

int as_share_read(int folder, const char *path, uint64_t max, struct as_buf *text,
		  struct as_err *err)
{
	int fd = as_share_open(folder, path, max), rc;
	struct as_buf name = { 0 };

	if (fd < 0)
		return as_fail_errno(err, -fd, "%s of the sandbox", path);
	as_buf_addf(&name, "%s of the sandbox", path);
	rc = as_buf_read_fd(text, fd, as_buf_str(&name), max, err);
	as_buf_free(&name);
	close(fd);
	return rc;
}

int as_share_folder(int folder, const char *name, uid_t uid)
{
	int made = mkdirat(folder, name, 0755), fd;

	if (made && errno != EEXIST)
		return -errno;
	fd = open_in(folder, name, O_DIRECTORY | O_RDONLY);
	/* Another user must be able to enter it, whatever the umask says. */
	if (fd >= 0 && !made && (fchmod(fd, 0755) || (uid != geteuid() && fchown(fd, uid, uid)))) {
		made = -errno;
		close(fd);
		return made;
	}
	return fd;
}

int as_share_write(int folder, const char *name, const void *data, size_t len, struct as_err *err)
{
	const char *at = data;
	int fd;

	unlinkat(folder, name, 0);
	fd = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return as_fail_errno(err, errno, "cannot give %s to the sandbox", name);
	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			break;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	/* Another user must be able to read it, whatever the umask says. */
	if (len || fchmod(fd, 0644)) {
		as_fail_errno(err, errno, "cannot give %s to the sandbox", name);
		close(fd);
		return AS_EIO;
	}
	close(fd);
	return 0;
}

bool as_share_is_name(const char *name)
{
	size_t len = strlen(name);

	if (!len || len > 200 || name[0] == '.')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	return true;
}
