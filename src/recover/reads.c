/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reads: see reads.h. */
#include "recover/reads.h"

#include "base/array.h"
#include "disk/cow.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR AS_DISK_SECTOR_BYTES

bool as_disk_reads_is_whole(const struct as_reclog *log)
{
	if (as_reclog_overflowed(log))
		return false;
	for (size_t i = 0; i < as_reclog_len(log); i++)
		if (as_reclog_at(log, i)->ret)
			return false;
	return true;
}

static size_t bits_bytes(const struct as_disk_reads *reads)
{
	return reads->size_bytes / SECTOR / 8 + 1;
}

void as_disk_reads_init(struct as_disk_reads *reads, uint64_t size_bytes)
{
	*reads = (struct as_disk_reads){ .size_bytes = size_bytes };
	reads->own = as_xcalloc(1, bits_bytes(reads));
	reads->asked = as_xcalloc(1, bits_bytes(reads));
}

void as_disk_reads_begin(struct as_disk_reads *reads)
{
	memset(reads->own, 0, bits_bytes(reads));
}

void as_disk_reads_clear(struct as_disk_reads *reads)
{
	as_disk_reads_begin(reads);
	memset(reads->asked, 0, bits_bytes(reads));
	reads->n = 0;
	reads->lost = false;
}

void as_disk_reads_own(struct as_disk_reads *reads, uint64_t off, uint64_t len)
{
	for (uint64_t s = off / SECTOR; s < (off + len) / SECTOR; s++)
		reads->own[s / 8] |= (unsigned char)(1u << s % 8);
}

static bool is_asked(const struct as_disk_reads *reads, uint64_t s)
{
	return (reads->own[s / 8] | reads->asked[s / 8]) & 1u << s % 8;
}

void as_disk_reads_add(struct as_disk_reads *reads, uint64_t off, uint64_t len)
{
	uint64_t end = (off + len) / SECTOR;

	for (uint64_t s = off / SECTOR, first; s < end; s++) {
		for (first = s; s < end && !is_asked(reads, s); s++)
			reads->asked[s / 8] |= (unsigned char)(1u << s % 8);
		if (s == first)
			continue;
		AS_ARRAY_ROOM(reads->span, reads->n, reads->cap);
		reads->span[reads->n++] =
			(struct as_sector_span){ first * SECTOR, (s - first) * SECTOR };
	}
}

void as_disk_reads_call(struct as_disk_reads *reads, enum as_call kind, uint64_t off, uint64_t len)
{
	if (kind == AS_CALL_READ)
		as_disk_reads_add(reads, off, len);
	else if (kind != AS_CALL_FLUSH)
		as_disk_reads_own(reads, off, len);
}

void as_disk_reads_log(struct as_disk_reads *reads, const struct as_reclog *log)
{
	reads->lost |= !log || !as_disk_reads_is_whole(log);
	for (size_t i = 0; log && i < as_reclog_len(log); i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);

		as_disk_reads_call(reads, e->kind, e->off, e->len);
	}
}

void as_disk_reads_free(struct as_disk_reads *reads)
{
	free(reads->span);
	free(reads->own);
	free(reads->asked);
	*reads = (struct as_disk_reads){ 0 };
}
