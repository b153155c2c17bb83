/* SPDX-License-Identifier: GPL-2.0-or-later */
/* out: see out.h. An existing file is checked through descriptors: first that of its folder, and
 * its own as soon as it is open. */
#include "os/out.h"

#include "os/dir.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READER_WAIT_US 10000000 /* how long we wait for a reader of a FIFO */
#define READER_LOOK_MS 50

struct as_out {
	int fd, dir_fd;
	char *path; /* for messages */
	/* What the new file in dir_fd is called at the end; NULL: an existing file is written. */
	char *name;
	struct as_buf temp; /* what it is called until then */
};

static void free_out(struct as_out *out)
{
	if (out->fd >= 0)
		close(out->fd);
	if (out->dir_fd >= 0)
		close(out->dir_fd);
	as_buf_free(&out->temp);
	free(out->path);
	free(out->name);
	free(out);
}

/* ---- A new file ------------------------------------------------------------------------------ */

/* The name begins with a dot, so that patterns such as *.json do not match it. */
static int open_beside(struct as_out *out)
{
	for (unsigned try = 0; try < 1000; try++) {
		as_buf_clear(&out->temp);
		as_buf_addf(&out->temp, ".%.200s.%ld.%u.tmp", out->name, (long)getpid(), try);
		out->fd = openat(out->dir_fd, as_buf_str(&out->temp),
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (out->fd >= 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

bool as_out_is_unfinished(const char *name)
{
	size_t len = strlen(name);

	return name[0] == '.' && len > 4 && !strcmp(name + len - 4, ".tmp");
}

/* The new file gets the mode and the owner of the old one, but no set-id bits: they were meant for
 * other contents. */
static void inherit(const struct as_out *out, const struct stat *old)
{
	struct stat now;

	if (fstat(out->fd, &now))
		return;
	/* If we may not give it away, it stays ours, and its group gets no more rights than
	 * others. */
	if ((now.st_uid != old->st_uid || now.st_gid != old->st_gid) &&
	    fchown(out->fd, old->st_uid, old->st_gid) && fchown(out->fd, (uid_t)-1, old->st_gid)) {
		(void)!fchmod(out->fd, old->st_mode & 0707);
		return;
	}
	(void)!fchmod(out->fd, old->st_mode & 0777);
}

/* A file may be writable though nothing can be made in its folder. It may have been replaced
 * meanwhile: it is truncated only when it is known to be the file that was checked. */
static int open_in_place(struct as_out *out, const struct stat *old)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat now;

	out->fd = openat(out->dir_fd, out->name, flags);
	free(out->name);
	out->name = NULL;
	if (out->fd < 0 || fstat(out->fd, &now))
		return -errno;
	if (now.st_dev != old->st_dev || now.st_ino != old->st_ino)
		return -ESTALE;
	return fcntl(out->fd, F_SETFL, 0) || ftruncate(out->fd, 0) ? -errno : 0;
}

/* A file can be a mount point (containers are given files in this way): nothing can take its
 * name. */
static bool is_mounted(const struct as_out *out)
{
	struct statx sx;

	return !statx(out->dir_fd, out->name, AT_SYMLINK_NOFOLLOW, STATX_INO, &sx) &&
	       sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static int open_new(struct as_out *out, const struct stat *old)
{
	int rc;

	/* A file that we may not write is not replaced. */
	if (old && faccessat(out->dir_fd, out->name, W_OK, AT_EACCESS))
		return -errno;
	if (old && is_mounted(out))
		return open_in_place(out, old);
	rc = open_beside(out);
	if (!rc && old)
		inherit(out, old);
	if (old && (rc == -EACCES || rc == -EPERM || rc == -EROFS))
		rc = open_in_place(out, old);
	return rc;
}

/* ---- What is there --------------------------------------------------------------------------- */

/* Opening does not wait: a FIFO that nobody reads, or a line that is down, would block forever. */
static int open_special(struct as_out *out, const char *name, bool wait)
{
	const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int64_t until_us = as_now_us() + READER_WAIT_US;

	do {
		out->fd = openat(out->dir_fd, name, flags);
		if (out->fd >= 0)
			return fcntl(out->fd, F_SETFL, 0) ? -errno : 0;
	} while (wait && errno == ENXIO && as_now_us() < until_us &&
		 poll(NULL, 0, READER_LOOK_MS) == 0);
	return -errno;
}

static int check_type(const char *path, mode_t type, struct as_err *err)
{
	if (S_ISDIR(type))
		return as_fail(err, AS_EIO, "%s: is a folder, expected the name of a file", path);
	if (S_ISSOCK(type))
		return as_fail(err, AS_EIO, "%s: is a socket, nothing can be written to it", path);
	return 0;
}

/* Another user may have put a file where everybody may, in the hope that we write to it: that user
 * would own what we write. The kernel refuses such a file, too, when it is opened with O_CREAT
 * (fs.protected_regular, fs.protected_fifos). */
static int check_planted(const char *path, int folder, const struct stat *st, struct as_err *err)
{
	struct stat in;

	if ((!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode)) || st->st_uid == geteuid() ||
	    st->st_uid == 0)
		return 0;
	if (fstat(folder, &in))
		return as_fail_errno(err, errno, "%s", path);
	if (!(in.st_mode & S_IWOTH) || st->st_uid == in.st_uid)
		return 0;
	return as_fail(err, AS_EUSE,
		       "%s: belongs to another user, in a folder that all can write to: refused",
		       path);
}

static int open_there(struct as_out *out, const char *name, mode_t type, struct as_err *err)
{
	struct stat st;
	int rc = check_type(out->path, type, err);

	if (rc)
		return rc;
	rc = open_special(out, name, S_ISFIFO(type));
	if (rc == -ENXIO && S_ISFIFO(type))
		return as_fail(err, AS_EIO, "%s: is a FIFO, and nobody reads from it", out->path);
	if (rc)
		return as_fail_errno(err, -rc, "%s: cannot open", out->path);
	if (fstat(out->fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return as_fail(err, AS_EIO, "%s: was replaced while it was being opened",
			       out->path);
	return 0;
}

/* A descriptor of ours that is named by its number goes on at its file offset, as standard output
 * does. */
static int open_number(struct as_out *out, int number)
{
	/* What was printed before must come first. */
	fflush(NULL);
	out->fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	return out->fd < 0 ? -errno : 0;
}

/* A link of /proc leads to a descriptor of ours, as /dev/stdout does, or to one of another
 * process. */
static int open_magic(struct as_out *out, const char *name)
{
	struct stat here, own;

	if (!fstat(out->dir_fd, &here) && !stat("/proc/self/fd", &own) &&
	    here.st_ino == own.st_ino && here.st_dev == own.st_dev)
		return open_number(out, atoi(name));
	return open_special(out, name, false);
}

/* ---- The interface --------------------------------------------------------------------------- */

static struct as_out *new_out(const char *path)
{
	struct as_out *out = as_xcalloc(1, sizeof(*out));

	out->fd = out->dir_fd = -1;
	out->path = as_xstrdup(path);
	return out;
}

static int open_at_end(struct as_out *out, const struct as_route *way, struct as_err *err)
{
	const char *name = as_buf_str(&way->name), *path = out->path;
	bool exists, folder = path[strlen(path) - 1] == '/';
	struct stat st;
	int rc;

	out->dir_fd = fcntl(way->fd, F_DUPFD_CLOEXEC, 3);
	if (out->dir_fd < 0)
		return as_fail_errno(err, errno, "%s", path);
	if (way->is_magic) {
		rc = open_magic(out, name);
		return rc ? as_fail_errno(err, -rc, "%s: cannot open", path) : 0;
	}
	exists = !fstatat(out->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW);
	if (!exists && errno != ENOENT)
		return as_fail_errno(err, errno, "%s", path);
	rc = exists ? check_planted(path, out->dir_fd, &st, err) : 0;
	if (rc)
		return rc;
	if (exists && !S_ISREG(st.st_mode))
		return open_there(out, name, st.st_mode, err);
	if (folder)
		return as_fail(err, AS_EUSE, "%s: is a folder's name, expected that of a file",
			       path);
	out->name = as_xstrdup(name);
	rc = open_new(out, exists ? &st : NULL);
	return rc ? as_fail_errno(err, -rc, "%s: cannot create", path) : 0;
}

int as_out_open(const char *path, struct as_out **result, struct as_err *err)
{
	bool standard = !strcmp(path, "-");
	struct as_out *out = new_out(standard ? "standard output" : path);
	struct as_route way;
	int rc;

	*result = NULL;
	if (standard) {
		rc = open_number(out, STDOUT_FILENO);
		if (rc)
			rc = as_fail_errno(err, -rc, "%s", out->path);
	} else {
		rc = as_route_find(path, &way, err);
		if (!rc) {
			rc = open_at_end(out, &way, err);
			as_route_free(&way);
		}
	}
	if (rc)
		free_out(out);
	else
		*result = out;
	return rc;
}

int as_out_check(const char *path, struct as_err *err)
{
	struct as_route route;
	const char *name;
	struct stat st;
	int rc;

	if (!strcmp(path, "-"))
		return 0;
	rc = as_route_find(path, &route, err);
	if (rc)
		return rc;
	name = as_buf_str(&route.name);
	if (route.is_magic)
		rc = 0;
	else if (fstatat(route.fd, name, &st, AT_SYMLINK_NOFOLLOW))
		rc = faccessat(route.fd, ".", W_OK | X_OK, AT_EACCESS)
			     ? as_fail_errno(err, errno, "%s: cannot create", path)
			     : 0;
	else if (!(rc = check_type(path, st.st_mode, err)) &&
		 !(rc = check_planted(path, route.fd, &st, err)) &&
		 faccessat(route.fd, name, W_OK, AT_EACCESS))
		rc = as_fail_errno(err, errno, "%s: cannot open", path);
	as_route_free(&route);
	return rc;
}

int as_out_open_at(const struct as_dir *dir, const char *name, struct as_out **result,
		   struct as_err *err)
{
	struct as_buf path = { 0 };
	struct as_out *out;
	struct stat st;
	bool exists;
	int rc;

	as_assert(!strchr(name, '/'));
	*result = NULL;
	as_buf_addf(&path, "%s/%s", dir->path, name);
	out = new_out(as_buf_str(&path));
	as_buf_free(&path);
	out->name = as_xstrdup(name);
	out->dir_fd = fcntl(dir->fd, F_DUPFD_CLOEXEC, 3);
	exists = !fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW);
	if (out->dir_fd < 0)
		rc = as_fail_errno(err, errno, "%s", out->path);
	else if (exists && !S_ISREG(st.st_mode))
		rc = as_fail(err, AS_EUSE, "%s: a link, or no file, where assay keeps a file",
			     out->path);
	else if ((rc = open_beside(out)))
		rc = as_fail_errno(err, -rc, "%s: cannot create", out->path);
	if (rc)
		free_out(out);
	else
		*result = out;
	return rc;
}

int as_out_fd(const struct as_out *out)
{
	return out->fd;
}

bool as_out_is_new(const struct as_out *out)
{
	return out->name;
}

int as_out_write(struct as_out *out, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(out->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int as_out_end(struct as_out *out, int failed, struct as_err *err)
{
	int rc = failed;

	/* It is synced before the rename: otherwise a power cut could leave the new name without
	 * data. Pipes and devices that have nothing to sync answer EINVAL. */
	if (!rc && fsync(out->fd) && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		rc = -errno;
	if (close(out->fd) && !rc)
		rc = -errno;
	out->fd = -1;
	if (!rc && out->name &&
	    renameat(out->dir_fd, as_buf_str(&out->temp), out->dir_fd, out->name))
		rc = -errno;
	if (rc && out->name)
		unlinkat(out->dir_fd, as_buf_str(&out->temp), 0);
	if (rc)
		rc = as_fail_errno(err, -rc, "%s: cannot write", out->path);
	free_out(out);
	return rc;
}

int as_out_save(const char *path, const struct as_buf *text, struct as_err *err)
{
	struct as_out *out;
	int rc = as_out_open(path, &out, err);

	return rc ? rc : as_out_end(out, as_out_write(out, as_buf_str(text), text->len), err);
}
