/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree_cwd: see tree_cwd.h. */
#include "vfs/tree_cwd.h"

#include "base/err.h"
#include "model/mark.h"
#include "vfs/sys_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST_BYTES 32768
#define PROBE_NAME "assay.probe"

/* A path for a system call. One that is too long begins at a descriptor of a directory on its way.
 */
struct tree_cwd_name {
	const char *path;
	char *text; /* allocated, or NULL */
	int fd; /* -1: none */
};

static int open_part(int at, const char *path, size_t len)
{
	char part[PATH_MAX];
	int fd;

	memcpy(part, path, len);
	part[len] = '\0';
	fd = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at != AT_FDCWD)
		close(at);
	return fd;
}

static int name_of(const char *path, struct tree_cwd_name *name)
{
	size_t room = PATH_MAX - 33; /* less than what is left at every turn */
	int fd = AT_FDCWD;

	path += strspn(path, "/");
	*name = (struct tree_cwd_name){ .path = *path ? path : ".", .fd = -1 };
	if (strlen(path) < PATH_MAX)
		return 0;
	while (strlen(path) >= PATH_MAX - 32 && (fd == AT_FDCWD || fd >= 0)) {
		size_t len = room;

		while (path[len] != '/')
			len--;
		fd = open_part(fd, path, len);
		path += len + 1;
	}
	if (fd < 0)
		return -errno;
	name->fd = fd;
	name->text = as_xmalloc(PATH_MAX + 32);
	snprintf(name->text, PATH_MAX + 32, "/proc/self/fd/%d/%s", fd, path);
	name->path = name->text;
	return 0;
}

/* Passes `ret` on, as what the call returned or its errno. */
static int64_t done(struct tree_cwd_name *name, int64_t ret)
{
	if (ret < 0)
		ret = -errno;
	if (name->fd >= 0)
		close(name->fd);
	free(name->text);
	return ret;
}

static int cwd_stat(void *ctx, const char *path, struct as_stat *to)
{
	struct tree_cwd_name name;
	struct stat st;
	int rc = name_of(path, &name);

	(void)ctx;
	if (!rc)
		rc = (int)done(&name, fstatat(AT_FDCWD, name.path, &st, AT_SYMLINK_NOFOLLOW));
	if (rc)
		return rc;
	*to = (struct as_stat){
		.ino = st.st_ino,
		.mode = st.st_mode,
		.nlink = (uint32_t)st.st_nlink,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.rdev = S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode) ? st.st_rdev : 0,
		.size = (uint64_t)st.st_size,
		.blocks = (uint64_t)st.st_blocks,
		.atime_ns = st.st_atim.tv_sec * INT64_C(1000000000) + st.st_atim.tv_nsec,
		.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec,
		.ctime_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec,
	};
	return 0;
}

static int open_at(const char *path, int flags)
{
	struct tree_cwd_name name;
	int rc = name_of(path, &name);

	return rc ? rc
		  : (int)done(&name, open(name.path, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

/* Closes the descriptor, and passes on what a call on it returned, or its errno. */
static int64_t closed(int fd, int64_t ret)
{
	if (ret < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int fill_block(const char *block, ssize_t n, as_fill_fn fill, void *fill_ctx)
{
	int rc = 0;

	for (ssize_t at = 0; at < n && !rc;) {
		const struct dirent64 *entry = (const struct dirent64 *)(block + at);

		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			rc = fill(fill_ctx, entry->d_name, entry->d_ino, DTTOIF(entry->d_type));
		at += entry->d_reclen;
	}
	return rc;
}

static int cwd_list(void *ctx, const char *path, as_fill_fn fill, void *fill_ctx)
{
	_Alignas(struct dirent64) char block[LIST_BYTES];
	int fd = open_at(path, O_DIRECTORY), rc = 0;
	ssize_t n;

	(void)ctx;
	if (fd < 0)
		return fd;
	while (!rc && (n = getdents64(fd, block, sizeof(block))) != 0)
		rc = n < 0 ? -errno : fill_block(block, n, fill, fill_ctx);
	close(fd);
	return rc;
}

static int64_t cwd_readlink(void *ctx, const char *path, char *buf, size_t len)
{
	struct tree_cwd_name name;
	int rc = name_of(path, &name);

	(void)ctx;
	return rc ? rc : done(&name, readlink(name.path, buf, len));
}

static int64_t cwd_read(void *ctx, const char *path, void *buf, size_t len, uint64_t off)
{
	int fd = open_at(path, O_NONBLOCK);

	(void)ctx;
	return fd < 0 ? fd : closed(fd, pread(fd, buf, len, (off_t)off));
}

/* The end of the file counts as a hole, but is none. */
static int64_t find_holes(int fd, struct as_hole *hole, size_t max)
{
	off_t size = lseek(fd, 0, SEEK_END), at = 0;
	size_t n = 0;

	while (n < max && at < size) {
		off_t data;

		at = lseek(fd, at, SEEK_HOLE);
		if (at < 0 || at >= size)
			break;
		data = lseek(fd, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			data = size;
		if (data <= at)
			break;
		hole[n++] = (struct as_hole){ (uint64_t)at, (uint64_t)data };
		at = data;
	}
	return at < 0 ? -1 : (int64_t)n;
}

static int64_t cwd_holes(void *ctx, const char *path, struct as_hole *hole, size_t max)
{
	int fd = open_at(path, O_NONBLOCK);

	(void)ctx;
	return fd < 0 ? fd : closed(fd, find_holes(fd, hole, max));
}

/* The flags of a regular file or a directory: nothing else is opened. */
static int64_t marks(const char *path, bool projects, char *buf, size_t len)
{
	struct as_stat st;
	int64_t n;
	int fd;

	if (cwd_stat(NULL, path, &st) || !(S_ISREG(st.mode) || S_ISDIR(st.mode)))
		return 0;
	fd = open_at(path, O_NONBLOCK);
	if (fd < 0)
		return 0;
	n = as_sys_marks(fd, projects, buf, len);
	close(fd);
	return n;
}

static int64_t cwd_getxattr(void *ctx, const char *path, const char *attr, void *buf, size_t len)
{
	struct tree_cwd_name name;
	int rc = name_of(path, &name);

	(void)ctx;
	if (as_mark_is(attr))
		return rc ? rc : done(&name, 0);
	return rc ? rc : done(&name, lgetxattr(name.path, attr, buf, len));
}

static int64_t cwd_listxattr(void *ctx, const char *path, char *buf, size_t len)
{
	struct tree_cwd_name name;
	int rc = name_of(path, &name);
	int64_t n, more;

	if (rc)
		return rc;
	n = done(&name, llistxattr(name.path, buf, len));
	/* A type without attributes may have flags. */
	if (n == -EOPNOTSUPP)
		n = 0;
	n = as_sys_acl_marks(buf, n, len, cwd_getxattr, NULL, path);
	if (n < 0)
		return n;
	more = marks(path, ctx != NULL, buf + n, len - (size_t)n);
	return more < 0 ? more : n + more;
}

static int64_t cwd_quotas(void *ctx, struct as_quota_told *quota, size_t max)
{
	int fd = open_at("/", O_DIRECTORY);
	int64_t n;

	(void)ctx;
	if (fd < 0)
		return fd;
	n = as_sys_quotas(fd, quota, max);
	close(fd);
	return n;
}

const struct as_tree_ops as_tree_cwd_ops = {
	.stat = cwd_stat,
	.list = cwd_list,
	.readlink = cwd_readlink,
	.read = cwd_read,
	.listxattr = cwd_listxattr,
	.getxattr = cwd_getxattr,
	.holes = cwd_holes,
	.quotas = cwd_quotas,
};

int as_tree_cwd_probe(const char *dir)
{
	int fd = open_at(dir, O_DIRECTORY), own;

	if (fd < 0)
		return fd;
	/* In a directory with such a flag nothing can be made, or nothing removed. */
	if (as_sys_barred(fd))
		return (int)closed(fd, 0);
	own = openat(fd, PROBE_NAME, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	return (int)closed(fd, own < 0 || close(own) || unlinkat(fd, PROBE_NAME, 0) ? -1 : 0);
}
