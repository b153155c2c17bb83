/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * paths: calls that name a file. The disk's name leads to the disk. Other files may be read, except
 * devices. A call that would change a file is refused here, with a note of its name; where a call
 * does not come this way, the kernel refuses it (see filter.c).
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int shim_refuse(const char *what, const char *path)
{
	shim_lock();
	if (!shim_head->refused++)
		snprintf(shim_head->note, sizeof(shim_head->note), "%s %s", what,
			 path ? path : "(null)");
	shim_unlock();
	errno = EACCES;
	return -1;
}

/* Devices that tell nothing about this machine. Random numbers are zeros, so that two runs see the
 * same. */
static const struct {
	const char *name, *instead;
} devices[] = {
	{ "/dev/null", "/dev/null" },	 { "/dev/zero", "/dev/zero" },
	{ "/dev/full", "/dev/full" },	 { "/dev/tty", NULL },
	{ "/dev/urandom", "/dev/zero" }, { "/dev/random", "/dev/zero" },
};

static int open_device(const char *path, int flags)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (!strcmp(path, devices[i].name)) {
			if (!devices[i].instead)
				break;
			if ((flags & O_ACCMODE) == O_RDONLY)
				return shim_next()->open(devices[i].instead, flags & O_CLOEXEC);
			/* What is written there is lost anyway. */
			return shim_next()->fcntl(shim_null_fd,
						  flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
		}
	errno = ENXIO;
	return -1;
}

static bool is_random(const char *path)
{
	return !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/random");
}

/* What is mounted on this machine has nothing to do with the disk, and would differ between
 * machines. */
static bool is_mount_table(const char *path)
{
	static const char *const names[] = { "/proc/mounts", "/proc/self/mounts", "/etc/mtab",
					     "/proc/swaps", "/proc/self/mountinfo" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(path, names[i]))
			return true;
	return false;
}

int shim_vet_open(const char *path, int flags)
{
	if (!path)
		return 0;
	if (!shim_head)
		return shim_clock_on && is_random(path) ? open_device(path, O_RDONLY) : 0;
	if (shim_disk_of(path, NULL))
		return SHIM_OPEN_DISK;
	if (!strncmp(path, "/dev/", 5) && !(flags & O_DIRECTORY)) {
		int fd = open_device(path, flags);

		return fd < 0 ? -1 : fd;
	}
	if (is_mount_table(path) && (flags & O_ACCMODE) == O_RDONLY)
		return open_device("/dev/null", O_RDONLY);
	if ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC))
		return shim_refuse("open for writing:", path);
	return 0;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	int fd = shim_vet_open(path, flags);

	if (fd == SHIM_OPEN_DISK) {
		if (flags & O_CREAT && flags & O_EXCL) {
			errno = EEXIST;
			return -1;
		}
		if (flags & O_DIRECTORY) {
			errno = ENOTDIR;
			return -1;
		}
		return shim_disk_open(path, flags);
	}
	return fd ? fd : shim_next()->openat(dir, path, flags, mode);
}

/* The argument after the flags; there is one only where a file may be made. */
static mode_t take_mode(int flags, va_list ap)
{
	bool has_mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;

	return has_mode ? va_arg(ap, mode_t) : 0;
}

SHIM_EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = take_mode(flags, ap);
	va_end(ap);
	return open_at(AT_FDCWD, path, flags, mode);
}
SHIM_ALIAS(open64, open);

SHIM_EXPORT int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = take_mode(flags, ap);
	va_end(ap);
	return open_at(dir, path, flags, mode);
}
SHIM_ALIAS(openat64, openat);

SHIM_EXPORT int __open_2(const char *path, int flags);
SHIM_EXPORT int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}
SHIM_ALIAS(__open64_2, __open_2);

SHIM_EXPORT int __openat_2(int dir, const char *path, int flags);
SHIM_EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}
SHIM_ALIAS(__openat64_2, __openat_2);

SHIM_EXPORT int creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
SHIM_ALIAS(creat64, creat);

/* ---- Questions ---- */

/* Whether a path, or a descriptor if the path is empty, leads to a disk; *st is then its own. */
static bool stat_disk(int dir, const char *path, int flags, struct stat *st)
{
	bool empty = flags & AT_EMPTY_PATH && path && !*path;
	const struct shim_file *file = empty ? shim_file(dir) : NULL;
	struct shim_part part;

	if (file)
		part = file->part;
	else if (!shim_disk_of(path, &part))
		return false;
	shim_disk_stat(&part, st);
	return true;
}

SHIM_EXPORT int stat(const char *path, struct stat *st)
{
	return stat_disk(AT_FDCWD, path, 0, st) ? 0 : shim_next()->stat(path, st);
}
SHIM_ALIAS(stat64, stat);

SHIM_EXPORT int lstat(const char *path, struct stat *st)
{
	return stat_disk(AT_FDCWD, path, 0, st) ? 0 : shim_next()->lstat(path, st);
}
SHIM_ALIAS(lstat64, lstat);

SHIM_EXPORT int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	if (stat_disk(dir, path, flags, st))
		return 0;
	return shim_next()->fstatat(dir, path, st, flags);
}
SHIM_ALIAS(fstatat64, fstatat);

/* Programs that were linked against C libraries before 2.33 call these. */
SHIM_EXPORT int __xstat(int version, const char *path, struct stat *st);
SHIM_EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return stat(path, st);
}
SHIM_ALIAS(__xstat64, __xstat);

SHIM_EXPORT int __lxstat(int version, const char *path, struct stat *st);
SHIM_EXPORT int __lxstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return lstat(path, st);
}
SHIM_ALIAS(__lxstat64, __lxstat);

SHIM_EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags);
SHIM_EXPORT int __fxstatat(int version, int dir, const char *path, struct stat *st, int flags)
{
	(void)version;
	return fstatat(dir, path, st, flags);
}
SHIM_ALIAS(__fxstatat64, __fxstatat);

SHIM_EXPORT int statx(int dir, const char *path, int flags, unsigned mask, struct statx *stx)
{
	struct stat st;

	if (!stat_disk(dir, path, flags, &st))
		return shim_next()->statx(dir, path, flags, mask, stx);
	memset(stx, 0, sizeof(*stx));
	stx->stx_mask = STATX_BASIC_STATS;
	stx->stx_blksize = (uint32_t)st.st_blksize;
	stx->stx_nlink = (uint32_t)st.st_nlink;
	stx->stx_uid = st.st_uid;
	stx->stx_gid = st.st_gid;
	stx->stx_mode = (uint16_t)st.st_mode;
	stx->stx_ino = st.st_ino;
	stx->stx_size = (uint64_t)st.st_size;
	stx->stx_blocks = (uint64_t)st.st_blocks;
	stx->stx_atime.tv_sec = stx->stx_mtime.tv_sec = stx->stx_ctime.tv_sec = st.st_mtime;
	return 0;
}

SHIM_EXPORT int access(const char *path, int mode)
{
	if (!shim_disk_of(path, NULL))
		return shim_next()->access(path, mode);
	errno = EACCES;
	return mode & X_OK ? -1 : 0;
}

SHIM_EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	return shim_disk_of(path, NULL) ? access(path, mode)
					: shim_next()->faccessat(dir, path, mode, flags);
}

SHIM_EXPORT char *realpath(const char *path, char *to)
{
	if (!shim_disk_of(path, NULL))
		return shim_next()->realpath(path, to);
	if (!to)
		return strdup(path);
	return memcpy(to, path, strlen(path) + 1);
}

SHIM_EXPORT char *__realpath_chk(const char *path, char *to, size_t room);
SHIM_EXPORT char *__realpath_chk(const char *path, char *to, size_t room)
{
	(void)room;
	return realpath(path, to);
}

SHIM_EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

SHIM_EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	if (!shim_disk_of(path, NULL))
		return shim_next()->readlink(path, buf, len);
	errno = EINVAL;
	return -1;
}

SHIM_EXPORT ssize_t readlinkat(int dir, const char *path, char *buf, size_t len)
{
	return shim_disk_of(path, NULL) ? readlink(path, buf, len)
					: shim_next()->readlinkat(dir, path, buf, len);
}

/* ---- Changes by name: never ---- */

#define REFUSE(what, path, call) (shim_head ? shim_refuse(what, path) : (call))

SHIM_EXPORT int unlink(const char *path)
{
	return REFUSE("unlink:", path, unlinkat(AT_FDCWD, path, 0));
}

SHIM_EXPORT int rename(const char *from, const char *to)
{
	return REFUSE("rename:", from, renameat(AT_FDCWD, from, AT_FDCWD, to));
}

SHIM_EXPORT int mkdir(const char *path, mode_t mode)
{
	return REFUSE("mkdir:", path, mkdirat(AT_FDCWD, path, mode));
}

/* Some programs set the length of an image by its name. */
SHIM_EXPORT int truncate(const char *path, off_t len)
{
	int fd, rc;

	if (!shim_disk_of(path, NULL) && shim_head)
		return shim_refuse("truncate:", path);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	rc = ftruncate(fd, len);
	close(fd);
	return rc;
}
SHIM_ALIAS(truncate64, truncate);
