/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filebd.c: a file as a block device. Discarded and zeroed ranges are written as zeros: that is
 * simple, and works on every file system.
 */
#include "filebd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECTOR_BYTES 512u

static int check(struct as_bd *bd, uint64_t off, uint64_t len)
{
	if (off % SECTOR_BYTES || len % SECTOR_BYTES)
		return -EINVAL;
	if (off > bd->size_bytes || len > bd->size_bytes - off)
		return -EINVAL;
	return 0;
}

static int file_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct lab_filebd *file = (struct lab_filebd *)bd;
	char *p = buf;
	int rc = check(bd, off, len);

	while (!rc && len) {
		ssize_t n = pread(file->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return rc;
}

static int file_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct lab_filebd *file = (struct lab_filebd *)bd;
	const char *p = buf;
	int rc = check(bd, off, len);

	while (!rc && len) {
		ssize_t n = pwrite(file->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return rc;
}

static int file_flush(struct as_bd *bd)
{
	struct lab_filebd *file = (struct lab_filebd *)bd;

	return fdatasync(file->fd) ? -errno : 0;
}

static int file_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	static const char zeros[64 * 1024];
	int rc = check(bd, off, len);

	while (!rc && len) {
		size_t n = len < sizeof(zeros) ? (size_t)len : sizeof(zeros);

		rc = file_write(bd, off, zeros, n);
		off += n;
		len -= n;
	}
	return rc;
}

static const struct as_bd_ops file_ops = {
	.api = 1, /* no queue */
	.name = "file",
	.read = file_read,
	.write = file_write,
	.flush = file_flush,
	.discard = file_zero,
	.zero = file_zero,
};

int lab_filebd_open(struct lab_filebd *file, const char *path, uint64_t size_bytes, bool readonly)
{
	int flags = readonly ? O_RDONLY : O_RDWR;
	struct stat st;
	int rc = 0;

	memset(file, 0, sizeof(*file));
	if (size_bytes)
		flags |= O_CREAT;
	file->fd = open(path, flags | O_CLOEXEC, 0666);
	if (file->fd < 0)
		return -errno;
	if (size_bytes && ftruncate(file->fd, (off_t)size_bytes))
		rc = -errno;
	if (!rc && fstat(file->fd, &st))
		rc = -errno;
	if (rc) {
		(void)lab_filebd_close(file);
		return rc;
	}
	file->bd.ops = &file_ops;
	file->bd.sector_bytes = SECTOR_BYTES;
	file->bd.size_bytes = (uint64_t)st.st_size / SECTOR_BYTES * SECTOR_BYTES;
	return 0;
}

int lab_filebd_close(struct lab_filebd *file)
{
	int fd = file->fd;

	file->fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

static void *host_alloc(void *ctx, size_t len)
{
	(void)ctx;
	return calloc(1, len ? len : 1);
}

static void host_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static uint64_t host_now(void *ctx)
{
	struct lab_filehost *fh = ctx;
	struct timespec ts = { 0 };
	uint64_t now;

	clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	fh->clock_ns = now > fh->clock_ns ? now : fh->clock_ns + 1;
	return fh->clock_ns;
}

static void host_log(void *ctx, const char *line)
{
	struct lab_filehost *fh = ctx;

	if (fh->log)
		fprintf(fh->log, "%s\n", line);
}

static unsigned pick_first(struct as_choice *choice, unsigned n)
{
	(void)choice;
	(void)n;
	return 0;
}

void lab_filehost_init(struct lab_filehost *fh, FILE *log)
{
	memset(fh, 0, sizeof(*fh));
	fh->choice.pick = pick_first;
	fh->log = log;
	fh->host = (struct as_host){
		.api = AS_TARGET_API,
		.ctx = fh,
		.alloc = host_alloc,
		.release = host_release,
		.choice = &fh->choice,
		.now_ns = host_now,
		.log = host_log,
	};
}
