/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * image_raw: disks to and from raw image files, byte for byte (declared in image.h).
 *
 * Method. Export sets the length of a new file and writes only what is not zero; to what is no
 * regular file (a device, a pipe) it writes all of it in order. Import asks the file for its holes
 * (SEEK_DATA) and skips them. Both need a buffer, whatever the size of the disk.
 */
#include "disk/image.h"

#include "os/out.h"

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
	struct as_out *out;
	uint64_t size_bytes, at; /* at: what comes next, where all of it must be written */
};

/* 0 or a negative errno. */
static int export_sparse(void *ctx, uint64_t index, const unsigned char *data)
{
	const struct export *to = ctx;
	uint64_t off = index * AS_CHUNK_BYTES, end = off + AS_CHUNK_BYTES;

	if (end > to->size_bytes)
		end = to->size_bytes;
	while (off < end) {
		ssize_t n = pwrite(as_out_fd(to->out), data + off % AS_CHUNK_BYTES, end - off,
				   (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		off += (uint64_t)n;
	}
	return 0;
}

static int export_zeros(struct export *to, uint64_t end)
{
	static const unsigned char zeros[STEP_BYTES];
	int rc = 0;

	while (!rc && to->at < end) {
		size_t step = end - to->at < STEP_BYTES ? (size_t)(end - to->at) : STEP_BYTES;

		rc = as_out_write(to->out, zeros, step);
		to->at += step;
	}
	return rc;
}

/* Chunks come in order. */
static int export_whole(void *ctx, uint64_t index, const unsigned char *data)
{
	struct export *to = ctx;
	uint64_t off = index * AS_CHUNK_BYTES, len = AS_CHUNK_BYTES;
	int rc = export_zeros(to, off);

	if (len > to->size_bytes - off)
		len = to->size_bytes - off;
	to->at = off + len;
	return rc ? rc : as_out_write(to->out, data, len);
}

static int export_to(struct as_disk *disk, struct as_out *out)
{
	struct export to = { .out = out, .size_bytes = as_disk_size(disk) };
	int rc;

	as_disk_digest(disk); /* seals: only then zeros written by hand are known as zeros */
	if (as_out_is_new(out)) {
		if (ftruncate(as_out_fd(out), (off_t)to.size_bytes))
			return -errno;
		return as_disk_each(disk, export_sparse, &to);
	}
	rc = as_disk_each(disk, export_whole, &to);
	return rc ? rc : export_zeros(&to, to.size_bytes);
}

int as_image_export_raw(struct as_disk *disk, const char *path, struct as_err *err)
{
	struct as_out *out;
	int rc = as_out_open(path, &out, err);

	return rc ? rc : as_out_end(out, export_to(disk, out), err);
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
