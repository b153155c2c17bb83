/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps: ranges of the disk that are mapped into a program's memory. Reading there cannot be seen,
 * so the whole range counts as read when it is mapped. Writing cannot be seen, either, but its
 * result can: each writable range has a copy, and at munmap, msync and every flush the sectors that
 * differ from it are added to the record. Assay finds the rest at the end by comparing
 * (head->mapped).
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <string.h>

#define MAX_MAPS 16
#define SECTOR 512u

static struct map {
	unsigned char *at, *copy; /* at NULL: free */
	size_t len;
	uint64_t off;
} maps[MAX_MAPS];

static void look(struct map *map)
{
	size_t at = 0;

	while (at < map->len) {
		size_t end = at, step;

		/* Adjacent sectors that differ are one write. */
		while (end < map->len) {
			step = map->len - end < SECTOR ? map->len - end : SECTOR;
			if (!memcmp(map->at + end, map->copy + end, step))
				break;
			end += step;
		}
		if (end > at) {
			memcpy(map->copy + at, map->at + at, end - at);
			shim_record_write(map->copy + at, map->off + at, end - at);
		}
		at = end > at ? end : at + SECTOR;
	}
}

void shim_maps_look(void)
{
	for (int i = 0; i < MAX_MAPS; i++)
		if (maps[i].at)
			look(&maps[i]);
}

/* The range is of the memfd, and on a disk. */
static void remember(void *at, size_t len, uint64_t off)
{
	struct map *map = maps;

	shim_lock();
	shim_head->mapped = 1;
	while (map < maps + MAX_MAPS && map->at)
		map++;
	if (map < maps + MAX_MAPS && len) {
		map->copy = shim_next()->mmap(NULL, len, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map->copy != MAP_FAILED) {
			memcpy(map->copy, at, len);
			map->at = at;
			map->len = len;
			map->off = off;
		}
	}
	shim_unlock();
}

SHIM_EXPORT void *mmap(void *want, size_t len, int prot, int flags, int fd, off_t off)
{
	struct shim_file *file = flags & MAP_ANONYMOUS ? NULL : shim_file(fd);
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	struct shim_part part;
	void *at;

	if (file && ((file->flags & O_ACCMODE) == O_WRONLY ||
		     (shared && prot & PROT_WRITE && (file->flags & O_ACCMODE) != O_RDWR))) {
		errno = EACCES;
		return MAP_FAILED;
	}
	if (!file)
		return shim_next()->mmap(want, len, prot, flags, fd, off);
	part = file->part;
	shim_stop_at((off_t)part.off + off, len);
	at = shim_next()->mmap(want, len, prot, flags, fd, (off_t)part.off + off);
	if (at == MAP_FAILED)
		return at;
	if ((uint64_t)off >= part.len)
		len = 0;
	else if (len > part.len - (uint64_t)off)
		len = (size_t)(part.len - (uint64_t)off);
	shim_lock();
	if (len) {
		shim_head->maps++;
		shim_record_read(part.off + (uint64_t)off, len);
	}
	shim_unlock();
	if (shared && (file->flags & O_ACCMODE) == O_RDWR) {
		if (prot & PROT_READ)
			remember(at, len, part.off + (uint64_t)off);
		else
			shim_head->mapped = 1;
	}
	return at;
}
SHIM_ALIAS(mmap64, mmap);

SHIM_EXPORT int munmap(void *at, size_t len)
{
	unsigned char *first = at;

	if (!shim_head)
		return shim_next()->munmap(at, len);
	for (struct map *map = maps; map < maps + MAX_MAPS; map++) {
		if (!map->at || map->at + map->len <= first || first + len <= map->at)
			continue;
		/* This is done also when only a part is unmapped: the comparison at the end finds
		 * the rest. */
		shim_lock();
		look(map);
		shim_next()->munmap(map->copy, map->len);
		map->at = NULL;
		shim_unlock();
	}
	return shim_next()->munmap(at, len);
}

SHIM_EXPORT int msync(void *at, size_t len, int flags)
{
	int rc = shim_next()->msync(at, len, flags);
	const unsigned char *first = at;

	for (struct map *map = maps; shim_head && map < maps + MAX_MAPS; map++)
		if (map->at && first < map->at + map->len && map->at < first + len && !rc) {
			if (flags & MS_SYNC)
				return shim_disk_flush(NULL);
			shim_lock();
			look(map);
			shim_unlock();
		}
	return rc;
}
