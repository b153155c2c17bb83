/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calls: calls on a descriptor. Calls on the disk are answered here, all others are passed on. */
#include "tool/shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

/* ---- Reading and writing ---- */

SHIM_EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	struct shim_file *file = shim_file(fd);

	return file ? shim_disk_read(file, buf, len, off) : shim_next()->pread(fd, buf, len, off);
}
SHIM_ALIAS(pread64, pread);

SHIM_EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	struct shim_file *file = shim_file(fd);

	return file ? shim_disk_write(file, buf, len, off) : shim_next()->pwrite(fd, buf, len, off);
}
SHIM_ALIAS(pwrite64, pwrite);

SHIM_EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	struct shim_file *file = shim_file(fd);
	ssize_t n;

	if (!file)
		return shim_next()->read(fd, buf, len);
	n = shim_disk_read(file, buf, len, file->off);
	if (n > 0)
		file->off += n;
	return n;
}

SHIM_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	struct shim_file *file = shim_file(fd);
	ssize_t n;

	if (!file)
		return shim_next()->write(fd, buf, len);
	if (file->flags & O_APPEND)
		file->off = (int64_t)file->part.len;
	n = shim_disk_write(file, buf, len, file->off);
	if (n > 0)
		file->off += n;
	return n;
}

/* The fortified forms: the C library would only have checked the size of the buffer. */
SHIM_EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
SHIM_EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	return read(fd, buf, len < room ? len : room);
}

SHIM_EXPORT ssize_t __pread_chk(int fd, void *buf, size_t len, off_t off, size_t room);
SHIM_EXPORT ssize_t __pread_chk(int fd, void *buf, size_t len, off_t off, size_t room)
{
	return pread(fd, buf, len < room ? len : room, off);
}
SHIM_ALIAS(__pread64_chk, __pread_chk);

/* One piece after the other, until one of them is short. */
static ssize_t each(struct shim_file *file, const struct iovec *iov, int n, int64_t off, bool write)
{
	ssize_t total = 0;

	if (n < 0 || n > IOV_MAX) {
		errno = EINVAL;
		return -1;
	}
	for (int i = 0; i < n; i++) {
		ssize_t got =
			write ? shim_disk_write(file, iov[i].iov_base, iov[i].iov_len, off + total)
			      : shim_disk_read(file, iov[i].iov_base, iov[i].iov_len, off + total);

		if (got < 0)
			return total ? total : -1;
		total += got;
		if ((size_t)got < iov[i].iov_len)
			break;
	}
	return total;
}

SHIM_EXPORT ssize_t preadv(int fd, const struct iovec *iov, int n, off_t off)
{
	struct shim_file *file = shim_file(fd);

	return file ? each(file, iov, n, off, false) : shim_next()->preadv(fd, iov, n, off);
}
SHIM_ALIAS(preadv64, preadv);

SHIM_EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	struct shim_file *file = shim_file(fd);

	return file ? each(file, iov, n, off, true) : shim_next()->pwritev(fd, iov, n, off);
}
SHIM_ALIAS(pwritev64, pwritev);

SHIM_EXPORT ssize_t readv(int fd, const struct iovec *iov, int n)
{
	struct shim_file *file = shim_file(fd);
	ssize_t got;

	if (!file)
		return shim_next()->readv(fd, iov, n);
	got = each(file, iov, n, file->off, false);
	file->off += got > 0 ? got : 0;
	return got;
}

SHIM_EXPORT ssize_t writev(int fd, const struct iovec *iov, int n)
{
	struct shim_file *file = shim_file(fd);
	ssize_t got;

	if (!file)
		return shim_next()->writev(fd, iov, n);
	got = each(file, iov, n, file->off, true);
	file->off += got > 0 ? got : 0;
	return got;
}

/* Offset -1 means the file's own offset. The flags are hints, except RWF_DSYNC and RWF_SYNC. */
SHIM_EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	(void)flags;
	return off == -1 ? readv(fd, iov, n) : preadv(fd, iov, n, off);
}
SHIM_ALIAS(preadv64v2, preadv2);

SHIM_EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	ssize_t got = off == -1 ? writev(fd, iov, n) : pwritev(fd, iov, n, off);

	if (got > 0 && flags & (RWF_DSYNC | RWF_SYNC) && shim_file(fd))
		shim_disk_flush(&shim_file(fd)->part);
	return got;
}
SHIM_ALIAS(pwritev64v2, pwritev2);

static bool touches_disk(int a, int b)
{
	if (!shim_file(a) && !shim_file(b))
		return false;
	errno = EINVAL; /* as a file system that cannot do it: callers then read and write */
	return true;
}

SHIM_EXPORT ssize_t sendfile(int out, int in, off_t *off, size_t len)
{
	return touches_disk(out, in) ? -1 : shim_next()->sendfile(out, in, off, len);
}
SHIM_ALIAS(sendfile64, sendfile);

SHIM_EXPORT ssize_t copy_file_range(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
				    unsigned flags)
{
	return touches_disk(out, in)
		       ? -1
		       : shim_next()->copy_file_range(in, in_off, out, out_off, len, flags);
}

SHIM_EXPORT ssize_t splice(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
			   unsigned flags)
{
	return touches_disk(out, in) ? -1
				     : shim_next()->splice(in, in_off, out, out_off, len, flags);
}

/* ---- Where ---- */

static int64_t seek_data(const struct shim_file *file, int64_t off, int whence)
{
	int64_t base = (int64_t)file->part.off, len = (int64_t)file->part.len, to;

	if (off < 0 || off >= len) {
		errno = ENXIO;
		return -1;
	}
	to = shim_next()->lseek(shim_disk_fd, base + off, whence);
	if (to < base + len)
		return to < 0 ? -1 : to - base;
	errno = ENXIO;
	return whence == SEEK_HOLE ? len : -1;
}

SHIM_EXPORT off_t lseek(int fd, off_t off, int whence)
{
	struct shim_file *file = shim_file(fd);
	int64_t to;

	if (!file)
		return shim_next()->lseek(fd, off, whence);
	if (whence == SEEK_DATA || whence == SEEK_HOLE)
		to = seek_data(file, off, whence);
	else if (whence > SEEK_END || whence < 0)
		to = -1;
	else if (__builtin_add_overflow(whence == SEEK_SET   ? 0
					: whence == SEEK_CUR ? file->off
							     : (int64_t)file->part.len,
					off, &to))
		to = -1;
	if (to < 0) {
		errno = whence == SEEK_DATA || whence == SEEK_HOLE ? errno : EINVAL;
		return -1;
	}
	return file->off = to;
}
SHIM_ALIAS(lseek64, lseek);

SHIM_EXPORT int fstat(int fd, struct stat *st)
{
	if (!shim_file(fd))
		return shim_next()->fstat(fd, st);
	shim_disk_stat(&shim_file(fd)->part, st);
	return 0;
}
SHIM_ALIAS(fstat64, fstat);

/* Programs that were linked against C libraries before 2.33 call these. */
SHIM_EXPORT int __fxstat(int version, int fd, struct stat *st);
SHIM_EXPORT int __fxstat(int version, int fd, struct stat *st)
{
	(void)version;
	return fstat(fd, st);
}
SHIM_ALIAS(__fxstat64, __fxstat);

/* ---- Stability, space ---- */

SHIM_EXPORT int fsync(int fd)
{
	return shim_file(fd) ? shim_disk_flush(&shim_file(fd)->part) : shim_next()->fsync(fd);
}

SHIM_EXPORT int fdatasync(int fd)
{
	return shim_file(fd) ? shim_disk_flush(&shim_file(fd)->part) : shim_next()->fdatasync(fd);
}

SHIM_EXPORT int syncfs(int fd)
{
	return shim_file(fd) ? shim_disk_flush(&shim_file(fd)->part) : shim_next()->syncfs(fd);
}

/* sync() is for the whole machine. For the disk it is a flush; the rest is not for this program. */
SHIM_EXPORT void sync(void)
{
	if (shim_head)
		shim_disk_flush(NULL);
	else
		syscall(SYS_sync);
}

/* This starts writing and promises nothing, so it is no flush. */
SHIM_EXPORT int sync_file_range(int fd, off64_t off, off64_t len, unsigned flags)
{
	return shim_file(fd) ? 0 : shim_next()->sync_file_range(fd, off, len, flags);
}

SHIM_EXPORT int fallocate(int fd, int mode, off_t off, off_t len)
{
	struct shim_file *file = shim_file(fd);

	if (!file)
		return shim_next()->fallocate(fd, mode, off, len);
	if (off < 0 || len <= 0) {
		errno = EINVAL;
		return -1;
	}
	if ((file->flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return shim_disk_zero(file, off, len, false);
	if (mode & FALLOC_FL_ZERO_RANGE && (uint64_t)off + (uint64_t)len <= file->part.len)
		return shim_disk_zero(file, off, len, false);
	if (mode & ~FALLOC_FL_KEEP_SIZE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if ((uint64_t)off + (uint64_t)len <= file->part.len)
		return 0;
	errno = ENOSPC;
	return -1;
}
SHIM_ALIAS(fallocate64, fallocate);

SHIM_EXPORT int posix_fallocate(int fd, off_t off, off_t len)
{
	if (!shim_file(fd))
		return shim_next()->posix_fallocate(fd, off, len);
	return fallocate(fd, 0, off, len) ? errno : 0;
}
SHIM_ALIAS(posix_fallocate64, posix_fallocate);

/* The size of a disk cannot be changed. */
SHIM_EXPORT int ftruncate(int fd, off_t len)
{
	struct shim_file *file = shim_file(fd);

	if (!file)
		return shim_next()->ftruncate(fd, len);
	if ((uint64_t)len == file->part.len && (file->flags & O_ACCMODE) != O_RDONLY)
		return 0;
	errno = EINVAL;
	return -1;
}
SHIM_ALIAS(ftruncate64, ftruncate);

SHIM_EXPORT int posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	return shim_file(fd) ? 0 : shim_next()->posix_fadvise(fd, off, len, advice);
}
SHIM_ALIAS(posix_fadvise64, posix_fadvise);

SHIM_EXPORT ssize_t readahead(int fd, off64_t off, size_t len)
{
	return shim_file(fd) ? 0 : shim_next()->readahead(fd, off, len);
}

/* ---- Locks: nobody else has the disk open ---- */

SHIM_EXPORT int flock(int fd, int op)
{
	return shim_file(fd) ? 0 : shim_next()->flock(fd, op);
}

SHIM_EXPORT int lockf(int fd, int cmd, off_t len)
{
	return shim_file(fd) ? 0 : shim_next()->lockf(fd, cmd, len);
}
SHIM_ALIAS(lockf64, lockf);

/* ---- Descriptors ---- */

SHIM_EXPORT int close(int fd)
{
	/* Some programs close all descriptors that they do not know. They must not close the
	 * disk. */
	if (shim_head && (fd == shim_disk_fd || fd == shim_null_fd || shim_rewind_is_ours(fd))) {
		errno = EBADF;
		return -1;
	}
	shim_file_drop(fd);
	return shim_next()->close(fd);
}

static int duplicated(int from, int to)
{
	struct shim_file *file = shim_file(from);

	if (to >= 0 && to != from) {
		shim_file_drop(to);
		if (file)
			shim_file_share(file, to);
	}
	return to;
}

SHIM_EXPORT int dup(int fd)
{
	return duplicated(fd, shim_next()->dup(fd));
}

SHIM_EXPORT int dup2(int fd, int to)
{
	return duplicated(fd, shim_next()->dup2(fd, to));
}

SHIM_EXPORT int dup3(int fd, int to, int flags)
{
	return duplicated(fd, shim_next()->dup3(fd, to, flags));
}

static int disk_fcntl(struct shim_file *file, int fd, int cmd, void *arg)
{
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return duplicated(fd, shim_next()->fcntl(fd, cmd, arg));
	case F_GETFL:
		return file->flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY | O_CLOEXEC);
	case F_SETFL:
		file->flags = (file->flags & (O_ACCMODE | O_SYNC | O_DSYNC)) |
			      ((int)(intptr_t)arg & (O_APPEND | O_DIRECT | O_NOATIME | O_NONBLOCK));
		return 0;
	case F_GETLK:
	case F_OFD_GETLK:
		((struct flock *)arg)->l_type = F_UNLCK;
		return 0;
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return 0;
	default:
		return shim_next()->fcntl(fd, cmd, arg);
	}
}

SHIM_EXPORT int fcntl(int fd, int cmd, ...)
{
	struct shim_file *file = shim_file(fd);
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return file ? disk_fcntl(file, fd, cmd, arg) : shim_next()->fcntl(fd, cmd, arg);
}
SHIM_ALIAS(fcntl64, fcntl);

/* ---- Questions to a block device ---- */

static int disk_ioctl(struct shim_file *file, unsigned long request, void *arg)
{
	const uint64_t *range = arg;

	switch (request) {
	case BLKGETSIZE:
		*(unsigned long *)arg = file->part.len / 512;
		return 0;
	case BLKGETSIZE64:
		*(uint64_t *)arg = file->part.len;
		return 0;
	case BLKSSZGET:
	case BLKPBSZGET:
	case BLKBSZGET:
	case BLKIOMIN:
		*(unsigned *)arg = 512;
		return 0;
	case BLKROGET:
	case BLKIOOPT:
	case BLKALIGNOFF:
	case BLKDISCARDZEROES:
		*(unsigned *)arg = 0;
		return 0;
	case BLKROTATIONAL:
		*(unsigned short *)arg = 0;
		return 0;
	case BLKFLSBUF: /* this writes caches out, but is no flush */
	case BLKBSZSET:
		return 0;
	case BLKDISCARD:
	case BLKZEROOUT:
		if ((file->flags & O_ACCMODE) == O_RDONLY) {
			errno = EBADF;
			return -1;
		}
		return shim_disk_zero(file, (int64_t)range[0], (int64_t)range[1],
				      request == BLKDISCARD);
	default:
		errno = ENOTTY;
		return -1;
	}
}

SHIM_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct shim_file *file = shim_file(fd);
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!file)
		return shim_next()->ioctl(fd, request, arg);
	if (shim_head->flags & AS_SHIM_BLOCK)
		return disk_ioctl(file, request, arg);
	errno = ENOTTY; /* as a regular file answers */
	return -1;
}
