/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_raw: disks to and from raw image files, byte for byte (declared in image.h).
 *
 * Method. Export sets the length of a new file and writes only what is not zero; import asks the
 * file for its holes (SEEK_DATA) and skips them. Both need a buffer, whatever the size of the disk.
 * Export goes to a temporary name, is synced, and renamed.
 */
#include "disk/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_BYTES (256u * 1024)

/* ---- Export --------------------------------------------------------------------------------- */

struct export
{
	int fd;
	uint64_t size_bytes;
};

/* 0 or a negative errno. */
static int export_chunk(void *ctx, uint64_t index, const unsigned char *data)
{
	const struct export *to = ctx;
	uint64_t off = index * AS_CHUNK_BYTES, end = off + AS_CHUNK_BYTES;

	if (end > to->size_bytes)
		end = to->size_bytes;
	while (off < end) {
		ssize_t n = pwrite(to->fd, data + off % AS_CHUNK_BYTES, end - off, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		off += (uint64_t)n;
	}
	return 0;
}

static int export_to(struct as_disk *disk, int fd)
{
	struct export to = { fd, as_disk_size(disk) };
	int rc;

	if (ftruncate(fd, (off_t)to.size_bytes))
		return -errno;
	as_disk_digest(disk); /* seals: only then zeros written by hand are known as zeros */
	rc = as_disk_each(disk, export_chunk, &to);
	if (!rc && fsync(fd))
		rc = -errno;
	return rc;
}

/* A new file beside path, with the mode the umask gives. */
static int open_beside(const char *path, struct as_buf *name)
{
	int fd = -1;

	for (unsigned try = 0; fd < 0 && try < 1000; try++) {
		as_buf_clear(name);
		as_buf_addf(name, "%s.%ld.%u.tmp", path, (long)getpid(), try);
		fd = open(as_buf_str(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int as_image_export_raw(struct as_disk *disk, const char *path, struct as_err *err)
{
	struct as_buf name = { 0 };
	int fd = open_beside(path, &name), rc;

	if (fd < 0) {
		rc = as_fail_errno(err, -fd, "%s: cannot create", path);
		goto out;
	}
	rc = export_to(disk, fd);
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(as_buf_str(&name), path))
		rc = -errno;
	if (rc) {
		unlink(as_buf_str(&name));
		rc = as_fail_errno(err, -rc, "%s: cannot write", path);
	}
out:
	as_buf_free(&name);
	return rc;
}

/* ---- Import --------------------------------------------------------------------------------- */

/* Reads exactly len bytes; 0 or a negative errno, -ENODATA when the file is shorter than it was. */
static int read_exactly(int fd, unsigned char *buf, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pread(fd, buf, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		buf += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

/* Copies one range that may hold data, and nothing of it that is zero. */
static int import_range(int fd, struct as_disk *disk, uint64_t off, uint64_t end,
			unsigned char *buf)
{
	static const unsigned char zeros[AS_CHUNK_BYTES];
	struct as_bd *bd = as_disk_bd(disk);

	while (off < end) {
		size_t step = end - off < STEP_BYTES ? (size_t)(end - off) : STEP_BYTES;
		int rc = read_exactly(fd, buf, step, off);

		for (size_t at = 0; !rc && at < step; at += AS_CHUNK_BYTES) {
			size_t n = step - at < AS_CHUNK_BYTES ? step - at : AS_CHUNK_BYTES;

			if (memcmp(buf + at, zeros, n) != 0)
				rc = as_bd_write(bd, off + at, buf + at, n);
		}
		if (rc)
			return rc;
		off += step;
		as_disk_digest(disk); /* seals, so that equal chunks are kept once from the start */
	}
	return 0;
}

static int import_from(int fd, struct as_disk *disk)
{
	unsigned char *buf = as_xmalloc(STEP_BYTES);
	uint64_t size = as_disk_size(disk), off = 0;
	int rc = 0;

	while (!rc && off < size) {
		off_t data = lseek(fd, (off_t)off, SEEK_DATA), hole;
		uint64_t end = size;

		if (data < 0 && errno == ENXIO)
			break; /* a hole up to the end */
		/* A file that cannot tell its holes is all data. */
		hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
		if (data >= 0)
			off = (uint64_t)data / AS_CHUNK_BYTES * AS_CHUNK_BYTES;
		if (hole >= 0 && (uint64_t)hole < size)
			end = ((uint64_t)hole + AS_CHUNK_BYTES - 1) / AS_CHUNK_BYTES *
			      AS_CHUNK_BYTES;
		if (end > size)
			end = size;
		rc = off < end ? import_range(fd, disk, off, end, buf) : 0;
		off = end;
	}
	free(buf);
	return rc;
}

int as_image_import_raw(struct as_chunks *store, const char *path, struct as_disk **disk,
			struct as_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;
	off_t size;

	*disk = NULL;
	if (fd < 0)
		return as_fail_errno(err, errno, "%s: cannot open", path);
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))) {
		rc = as_fail(err, AS_EUSE, "%s: neither a regular file nor a block device", path);
		goto out;
	}
	size = lseek(fd, 0, SEEK_END);
	if (size < 0) {
		rc = as_fail_errno(err, errno, "%s: cannot tell its size", path);
		goto out;
	}
	rc = as_disk_new(store, (uint64_t)size, disk, err);
	if (rc) {
		rc = as_fail_in(err, "%s", path);
		goto out;
	}
	rc = import_from(fd, *disk);
	if (rc) {
		rc = rc == -ENODATA
			     ? as_fail(err, AS_EIO, "%s: became shorter while being read", path)
			     : as_fail_errno(err, -rc, "%s: cannot read", path);
		as_disk_free(*disk);
		*disk = NULL;
	}
out:
	close(fd);
	return rc;
}
