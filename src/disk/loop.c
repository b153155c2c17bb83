/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop: see loop.h.
 *
 * Method. LOOP_CTL_GET_FREE names a device that was free a moment ago: LOOP_CONFIGURE answers EBUSY
 * when another process was faster, and we ask again. The device is configured through a descriptor
 * that is open for writing (else it would be read-only). That one is closed when there is one for
 * reading: kernels may refuse to mount a device that somebody has open for writing.
 *
 * A loop in memory uses a memfd that is mapped here, too: what the kernel writes to the device is
 * in the mapping, and what we write to the mapping is in the file. Loading compares only what may
 * differ: if the device's statistics show no write since the last load, it compares only the two
 * disks.
 */
#include "disk/loop.h"

#include "base/buf.h"
#include "disk/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define ATTEMPTS 256 /* each one lost to another process */

struct as_loop {
	char path[32];
	int fd; /* on the device, for reading */
	int stat_fd; /* its statistics in /sys; -1: there are none */
	struct as_loop *second; /* NULL: there is none */

	/* These are only for a loop in memory. */
	int memory_fd;
	unsigned char *map;
	uint64_t size_bytes;
	struct as_disk *loaded;
	unsigned char *touched; /* scratch: a byte for each chunk */
	uint64_t writes; /* writes of the device up to the last load */
	uint64_t n_loaded;
};

/* ---- Attaching ----------------------------------------------------------------------------- */

static int cannot(int errnum, const char *what, struct as_err *err)
{
	bool lacks = errnum == ENOENT || errnum == EPERM || errnum == EACCES || errnum == ENODEV ||
		     errnum == ENXIO;

	return as_fail(err, lacks ? AS_ELACK : AS_EIO, "%s: %s", what, strerror(errnum));
}

/* Opens a free device for writing; returns a descriptor or a negative errno. Where /dev is not kept
 * by the kernel, the node of a device may be missing. */
static int open_free(int control_fd, char path[32])
{
	int number = ioctl(control_fd, LOOP_CTL_GET_FREE);
	int fd;

	if (number < 0)
		return -errno;
	snprintf(path, 32, "/dev/loop%d", number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A range of a file; len_bytes 0: all of it. */
struct loop_range {
	uint64_t off, len_bytes;
};

static int configure(struct as_loop *loop, int file_fd, struct loop_range range, unsigned flags,
		     struct as_err *err)
{
	struct loop_config config = {
		.fd = (__u32)file_fd,
		.block_size = AS_DISK_SECTOR_BYTES,
		.info.lo_offset = range.off,
		.info.lo_sizelimit = range.len_bytes,
		.info.lo_flags =
			LO_FLAGS_AUTOCLEAR | (flags & AS_LOOP_DIRECT ? LO_FLAGS_DIRECT_IO : 0),
	};
	int control_fd = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	int fd = -1, errnum = EBUSY;

	if (control_fd < 0)
		return cannot(errno, "/dev/loop-control", err);
	for (int i = 0; i < ATTEMPTS && errnum == EBUSY; i++) {
		fd = open_free(control_fd, loop->path);
		if (fd < 0) {
			/* Its last user is about to close it. */
			errnum = fd == -ENXIO ? EBUSY : -fd;
			continue;
		}
		errnum = ioctl(fd, LOOP_CONFIGURE, &config) ? errno : 0;
		if (!errnum)
			break;
		close(fd);
	}
	close(control_fd);
	if (errnum)
		return cannot(errnum, "cannot attach a loop device", err);
	loop->fd = open(loop->path, O_RDONLY | O_CLOEXEC);
	errnum = errno;
	close(fd);
	return loop->fd < 0 ? cannot(errnum, loop->path, err) : 0;
}

static int open_sys(const struct as_loop *loop, const char *name, int flags)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/block/%s/%s", loop->path + strlen("/dev/"), name);
	return open(path, flags | O_CLOEXEC);
}

/* This may fail: without /sys, requests come merged, which is not wrong. */
static void stop_merges(const struct as_loop *loop)
{
	int fd = open_sys(loop, "queue/nomerges", O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, "2", 1) != 1)
		errno = 0;
	close(fd);
}

static struct as_loop *new_loop(void)
{
	struct as_loop *loop = as_xcalloc(1, sizeof(*loop));

	loop->fd = loop->stat_fd = loop->memory_fd = -1;
	loop->map = MAP_FAILED;
	return loop;
}

int as_loop_new(const char *path, unsigned flags, struct as_loop **out, struct as_err *err)
{
	struct as_loop *loop = new_loop();
	int fd = open(path, O_RDWR | O_CLOEXEC | (flags & AS_LOOP_DIRECT ? O_DIRECT : 0));
	int rc = fd < 0 ? as_fail_errno(err, errno, "%s", path)
			: configure(loop, fd, (struct loop_range){ 0 }, flags, err);

	if (fd >= 0)
		close(fd);
	if (!rc && flags & AS_LOOP_NO_MERGES)
		stop_merges(loop);
	if (rc) {
		as_loop_free(loop);
		loop = NULL;
	}
	*out = loop;
	return rc;
}

void as_loop_free(struct as_loop *loop)
{
	if (!loop)
		return;
	as_loop_free(loop->second);
	/* The device detaches itself when its last descriptor is closed. */
	if (loop->fd >= 0)
		close(loop->fd);
	if (loop->stat_fd >= 0)
		close(loop->stat_fd);
	if (loop->map != MAP_FAILED)
		munmap(loop->map, loop->size_bytes);
	if (loop->memory_fd >= 0)
		close(loop->memory_fd);
	as_disk_free(loop->loaded);
	free(loop->touched);
	free(loop);
}

const char *as_loop_path(const struct as_loop *loop)
{
	return loop->path;
}

int as_loop_fd(const struct as_loop *loop)
{
	return loop->fd;
}

int as_loop_add(struct as_loop *loop, const char *path, unsigned flags, struct as_err *err)
{
	as_assert(!loop->second);
	return as_loop_new(path, flags, &loop->second, err);
}

struct as_loop *as_loop_second(const struct as_loop *loop)
{
	return loop->second;
}

void as_loop_read_ahead(struct as_loop *loop, uint64_t off, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = (off + page - 1) / page * page, end = (off + len) / page * page;
	char last[512];

	if (end <= first ||
	    posix_fadvise(loop->fd, (off_t)first, (off_t)(end - first), POSIX_FADV_WILLNEED))
		return;
	/* It is one request, as far as the device allows: all is there when its end is. */
	(void)!pread(loop->fd, last, sizeof(last), (off_t)(end - sizeof(last)));
}

int as_loop_forget(struct as_loop *loop, struct as_err *err)
{
	if (ioctl(loop->fd, BLKFLSBUF, 0))
		return as_fail_errno(err, errno, "%s", loop->path);
	return loop->second ? as_loop_forget(loop->second, err) : 0;
}

/* ---- In memory ----------------------------------------------------------------------------- */

/* Counts the writes and discards of the devices so far. If they cannot be counted, no two answers
 * are the same. */
static uint64_t count_writes(const struct as_loop *loop)
{
	unsigned long long n[12] = { 0 };
	char text[256];
	ssize_t len = loop->stat_fd < 0 ? -1 : pread(loop->stat_fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return loop->writes + 1;
	text[len] = '\0';
	/* Documentation/block/stat.rst: the 5th number counts writes, the 12th discards. */
	sscanf(text, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &n[0], &n[1],
	       &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9], &n[10], &n[11]);
	return n[4] + n[11] + (loop->second ? count_writes(loop->second) : 0);
}

static uint64_t chunk_len(const struct as_loop *loop, uint64_t index)
{
	uint64_t left = loop->size_bytes - index * AS_CHUNK_BYTES;

	return left < AS_CHUNK_BYTES ? left : AS_CHUNK_BYTES;
}

static void put_chunk(struct as_loop *loop, uint64_t index, const unsigned char *data)
{
	memcpy(loop->map + index * AS_CHUNK_BYTES, data, chunk_len(loop, index));
	loop->n_loaded++;
}

static int put_differing(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	(void)a;
	put_chunk(ctx, index, b);
	return 0;
}

static int put_if_other(void *ctx, uint64_t index, const unsigned char *data)
{
	struct as_loop *loop = ctx;

	loop->touched[index] = 1;
	if (memcmp(loop->map + index * AS_CHUNK_BYTES, data, chunk_len(loop, index)))
		put_chunk(loop, index, data);
	return 0;
}

/* Clears chunks that are zeros on the disk but hold something in the file. Holes are not read: that
 * would fill them. */
static void clear_the_rest(struct as_loop *loop)
{
	static const unsigned char zeros[AS_CHUNK_BYTES];
	off_t at = 0, hole;

	while ((at = lseek(loop->memory_fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(loop->memory_fd, at, SEEK_HOLE);
		for (; at < hole; at += (off_t)AS_CHUNK_BYTES - at % (off_t)AS_CHUNK_BYTES) {
			uint64_t index = (uint64_t)at / AS_CHUNK_BYTES;

			if (!loop->touched[index] && memcmp(loop->map + index * AS_CHUNK_BYTES,
							    zeros, chunk_len(loop, index)))
				put_chunk(loop, index, zeros);
		}
	}
}

int as_loop_load(struct as_loop *loop, struct as_disk *disk, struct as_err *err)
{
	uint64_t chunks = (loop->size_bytes + AS_CHUNK_BYTES - 1) / AS_CHUNK_BYTES;

	as_assert(loop->loaded && as_disk_size(disk) == loop->size_bytes);
	loop->n_loaded = 0;
	/* What the kernel has cached reaches the file now, so that it cannot come later. */
	if (as_loop_forget(loop, err))
		return AS_EIO;
	if (count_writes(loop) == loop->writes) {
		as_disk_diff(loop->loaded, disk, put_differing, loop);
	} else {
		memset(loop->touched, 0, chunks);
		as_disk_each(disk, put_if_other, loop);
		clear_the_rest(loop);
	}
	as_disk_restore(loop->loaded, disk);
	loop->writes = count_writes(loop);
	/* Somebody may have read the device meanwhile. */
	return as_loop_forget(loop, err);
}

struct saving {
	struct as_loop *loop;
	struct as_bd *to;
};

static void save_chunk(const struct saving *s, uint64_t index)
{
	as_assert(!as_bd_write(s->to, index * AS_CHUNK_BYTES, s->loop->map + index * AS_CHUNK_BYTES,
			       chunk_len(s->loop, index)));
}

static int save_if_other(void *ctx, uint64_t index, const unsigned char *data)
{
	const struct saving *s = ctx;

	s->loop->touched[index] = 1;
	if (memcmp(s->loop->map + index * AS_CHUNK_BYTES, data, chunk_len(s->loop, index)))
		save_chunk(s, index);
	return 0;
}

/* Saves chunks that were zeros; holes still are. */
static void save_the_rest(const struct saving *s)
{
	struct as_loop *loop = s->loop;
	off_t at = 0, hole;

	while ((at = lseek(loop->memory_fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(loop->memory_fd, at, SEEK_HOLE);
		for (; at < hole; at += (off_t)AS_CHUNK_BYTES - at % (off_t)AS_CHUNK_BYTES)
			if (!loop->touched[(uint64_t)at / AS_CHUNK_BYTES])
				save_chunk(s, (uint64_t)at / AS_CHUNK_BYTES);
	}
}

int as_loop_save(struct as_loop *loop, struct as_disk **out, struct as_err *err)
{
	uint64_t chunks = (loop->size_bytes + AS_CHUNK_BYTES - 1) / AS_CHUNK_BYTES, writes;
	struct as_disk *disk = as_disk_snapshot(loop->loaded);
	struct saving saving = { loop, as_disk_bd(disk) };

	*out = NULL;
	if (as_loop_forget(loop, err)) {
		as_disk_free(disk);
		return AS_EIO;
	}
	writes = count_writes(loop);
	if (writes != loop->writes) {
		memset(loop->touched, 0, chunks);
		as_disk_each(loop->loaded, save_if_other, &saving);
		save_the_rest(&saving);
		as_disk_restore(loop->loaded, disk);
		loop->writes = writes;
	}
	*out = disk;
	return 0;
}

int as_loop_dump(struct as_loop *loop, void *area, size_t room_bytes, size_t *len_bytes,
		 struct as_err *err)
{
	if (as_loop_forget(loop, err))
		return AS_EIO;
	return as_dump_file(loop->memory_fd, area, room_bytes, len_bytes, err);
}

uint64_t as_loop_loaded(const struct as_loop *loop)
{
	return loop->n_loaded;
}

static int put_first(void *ctx, uint64_t index, const unsigned char *data)
{
	put_chunk(ctx, index, data);
	return 0;
}

/* The devices on a file in memory. */
static int attach_memory(struct as_loop *loop, uint64_t second_bytes, struct as_err *err)
{
	struct loop_range first = { 0, loop->size_bytes - second_bytes };
	struct loop_range second = { first.len_bytes, second_bytes };
	int rc;

	as_assert(second_bytes < loop->size_bytes);
	rc = configure(loop, loop->memory_fd, first, 0, err);
	if (rc)
		return rc;
	loop->stat_fd = open_sys(loop, "stat", O_RDONLY);
	if (!second_bytes)
		return 0;
	loop->second = new_loop();
	rc = configure(loop->second, loop->memory_fd, second, 0, err);
	if (!rc)
		loop->second->stat_fd = open_sys(loop->second, "stat", O_RDONLY);
	return rc;
}

int as_loop_new_memory(struct as_disk *disk, uint64_t second_bytes, struct as_loop **out,
		       struct as_err *err)
{
	struct as_loop *loop = new_loop();
	int rc = 0;

	loop->size_bytes = as_disk_size(disk);
	loop->touched = as_xcalloc(loop->size_bytes / AS_CHUNK_BYTES + 1, 1);
	loop->memory_fd = memfd_create("assay-loop", MFD_CLOEXEC);
	if (loop->memory_fd < 0 || ftruncate(loop->memory_fd, (off_t)loop->size_bytes))
		rc = as_fail_errno(err, errno, "cannot make a file in memory");
	if (!rc) {
		loop->map = mmap(NULL, loop->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				 loop->memory_fd, 0);
		if (loop->map == MAP_FAILED)
			rc = as_fail_errno(err, errno, "cannot map a file in memory");
	}
	if (!rc) {
		as_disk_each(disk, put_first, loop);
		loop->loaded = as_disk_snapshot(disk);
		rc = attach_memory(loop, second_bytes, err);
	}
	if (!rc) {
		loop->writes = count_writes(loop);
	} else {
		as_loop_free(loop);
		loop = NULL;
	}
	*out = loop;
	return rc;
}
