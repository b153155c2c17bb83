/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz entry of the memory in which an engine and the process that runs its checkers outside tell
 * each other disks and logs (instance/outside.h). Whatever it holds, nothing outside of it is read,
 * and what is taken is a disk of the size that was asked for, or a run whose log was done again on
 * such a disk.
 */
#include "disk/log.h"
#include "instance/outside.h"

#include <stdlib.h>
#include <string.h>

#define DISK_BYTES ((uint64_t)8 * AS_CHUNK_BYTES)

/* As of a guest: a difference to a disk that the process knows as question 5. */
static void load(const struct as_outside *o, struct as_chunks *store)
{
	struct as_disk *disk = NULL;
	uint64_t loaded = 5;
	int rc;

	as_assert(!as_disk_new(store, DISK_BYTES, &disk, NULL));
	rc = as_outside_load(o, DISK_BYTES, &disk, 6, &loaded, NULL);
	as_assert(as_disk_size(disk) <= DISK_BYTES);
	as_assert(rc ? loaded == 0 || loaded == 5 : loaded == 6);
	as_assert(rc || as_disk_size(disk) == o->size_bytes);
	as_disk_free(disk);
}

/* As of the process outside. */
static void hear(const struct as_outside *o, struct as_chunks *store)
{
	struct as_tool_result result = { 0 };
	struct as_disk *disk = NULL, *before;

	as_assert(!as_disk_new(store, DISK_BYTES, &disk, NULL));
	before = as_disk_snapshot(disk);
	if (!as_outside_hear(o, disk, &result)) {
		as_assert(result.output.len <= AS_OUTSIDE_AREA_BYTES);
		as_assert(as_disk_size(result.disk) == DISK_BYTES);
	}
	as_assert(as_disk_eq(disk, before));
	as_tool_result_free(&result);
	as_disk_free(before);
	as_disk_free(disk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct as_outside
		*o; /* it is large: zeroed once, and after each use as far as needed */
	struct as_chunks *store = as_chunks_new();
	uint64_t head[4] = { 0 };
	size_t used = len < sizeof(head) ? len : sizeof(head), left;

	if (!o)
		o = as_xcalloc(1, sizeof(*o));
	memcpy(head, data, used);
	left = len - used < AS_OUTSIDE_AREA_BYTES ? len - used : AS_OUTSIDE_AREA_BYTES;
	o->base = head[0];
	o->size_bytes = head[1];
	o->delta_bytes = head[2];
	o->log_bytes = head[3];
	memcpy(o->area, data + used, left);
	load(o, store);
	hear(o, store);
	/* What a guest most often means: all of it. */
	o->base = 0;
	o->size_bytes = DISK_BYTES;
	o->delta_bytes = left - left % (sizeof(uint64_t) + AS_CHUNK_BYTES);
	o->log_bytes = left;
	load(o, store);
	hear(o, store);
	memset(o->area, 0, left);
	as_chunks_free(store);
	return 0;
}
