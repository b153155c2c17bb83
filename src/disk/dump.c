/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump: see dump.h. Short holes between extents are dumped as zeros: in a guest, two calls that
 * look for the next extent cost more than the copy of a few zeros.
 */
#include "disk/dump.h"

#include "disk/chunk.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SHORT_HOLE_BYTES ((off_t)64 << 10)

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The next extent from `at` on; false: there is none. */
static bool next_extent(int fd, off_t at, struct as_dump_extent *extent)
{
	off_t first = lseek(fd, at, SEEK_DATA), end, next = first;

	if (first < 0)
		return false;
	do {
		end = lseek(fd, next, SEEK_HOLE);
		next = lseek(fd, end, SEEK_DATA);
	} while (next >= 0 && next - end <= SHORT_HOLE_BYTES);
	first -= first % (off_t)AS_CHUNK_BYTES;
	*extent = (struct as_dump_extent){ (uint64_t)first, (uint64_t)(end - first) };
	return true;
}

static bool read_all(int fd, char *to, uint64_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pread(fd, to, len, (off_t)off);

		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		to += n > 0 ? n : 0;
		off += n > 0 ? (uint64_t)n : 0;
		len -= n > 0 ? (uint64_t)n : 0;
	}
	return true;
}

int as_dump_file(int fd, void *area, size_t room, size_t *len, struct as_err *err)
{
	struct as_dump_extent extent;
	char *to = area;
	size_t used = 0;

	*len = 0;
	for (off_t at = 0; next_extent(fd, at, &extent);
	     at = (off_t)(extent.off + extent.len_bytes)) {
		if (room - used < sizeof(extent) ||
		    room - used - sizeof(extent) < padded(extent.len_bytes))
			return as_fail(err, AS_ELACK, "the disk is larger than the shared memory");
		memcpy(to + used, &extent, sizeof(extent));
		used += sizeof(extent);
		if (!read_all(fd, to + used, extent.len_bytes, extent.off))
			return as_fail_errno(err, errno, "cannot read a disk in memory");
		used += padded(extent.len_bytes);
	}
	*len = used;
	return 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* One chunk, or the part of it that the disk has. It is copied first: what was compared is what is
 * written, whatever happens to the dump meanwhile. */
static void load_chunk(struct as_bd *bd, uint64_t off, const unsigned char *data, uint64_t len)
{
	unsigned char chunk[AS_CHUNK_BYTES], now[AS_CHUNK_BYTES];

	memcpy(chunk, data, len);
	as_assert(!as_bd_read(bd, off, now, len));
	if (memcmp(chunk, now, len))
		as_assert(!as_bd_write(bd, off, chunk, len));
}

static bool fits(const struct as_dump_extent *e, uint64_t end, uint64_t size, size_t left)
{
	return e->len_bytes && e->off >= end && e->off % AS_CHUNK_BYTES == 0 && e->off < size &&
	       e->len_bytes <= size - e->off && e->len_bytes <= left &&
	       (e->len_bytes % AS_CHUNK_BYTES == 0 || e->off + e->len_bytes == size);
}

int as_dump_load(const void *area, size_t len, struct as_disk *disk, struct as_err *err)
{
	struct as_bd *bd = as_disk_bd(disk);
	const unsigned char *from = area;
	struct as_dump_extent e;
	uint64_t end = 0;
	size_t at = 0;

	while (at < len) {
		if (len - at < sizeof(e))
			return as_fail(err, AS_EUSE, "a dump of a disk ends too early");
		memcpy(&e, from + at, sizeof(e));
		at += sizeof(e);
		if (!fits(&e, end, bd->size_bytes, len - at) || padded(e.len_bytes) > len - at)
			return as_fail(err, AS_EUSE, "a dump of a disk makes no sense");
		if (e.off > end)
			as_assert(!as_bd_zero(bd, end, e.off - end));
		for (uint64_t i = 0; i < e.len_bytes; i += AS_CHUNK_BYTES)
			load_chunk(bd, e.off + i, from + at + i,
				   e.len_bytes - i < AS_CHUNK_BYTES ? e.len_bytes - i
								    : AS_CHUNK_BYTES);
		end = e.off + e.len_bytes;
		at += padded(e.len_bytes);
	}
	if (end < bd->size_bytes)
		as_assert(!as_bd_zero(bd, end, bd->size_bytes - end));
	return 0;
}
