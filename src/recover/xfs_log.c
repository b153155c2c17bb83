/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_log: see xfs_log.h. The layout is that of fs/xfs/libxfs/xfs_log_format.h.
 *
 * Method. A record is a sector with a header and the sectors with its data. In the data, headers of
 * operations stand one after the other, each followed by as many bytes as it says; each names its
 * transaction. The first word of each sector of the data is in the header, since the cycle of the
 * log stands in its place. The records that the mount wrote are those whose header has changed.
 * They are read in the order of the log, so that a transaction gets its number where it begins.
 *
 * Invariant. All records get new numbers, or none does: half a transaction with another number
 * would be lost. So all are read first, and one that is not plain (a checksum that does not match,
 * data that goes on at the start of the log, several headers) ends the attempt.
 */
#include "recover/xfs_log.h"

#include "base/array.h"
#include "base/crc.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR AS_DISK_SECTOR_BYTES
#define RECORD_MAGIC 0xfeedbabeu
#define TRANSACTION_MAGIC 0x5452414eu
#define DATA_MAX 32768u /* a longer record has more headers */
#define SUMMED 328u /* bytes of the header that the checksum covers */
#define OP_HEADER 12u
#define OPS_MAX (DATA_MAX / OP_HEADER)

/* Places in the header of a record. */
enum { H_CYCLE = 4, H_LEN = 12, H_LSN = 16, H_CRC = 32, H_OPS = 40, H_WORDS = 44, H_SIZE = 320 };
/* In that of an operation, and in that of a transaction, which follows it. */
enum { OP_TID = 0, OP_LEN = 4, T_MAGIC = 12, T_TID = 20, T_END = 28 };

struct xfs_record {
	uint64_t off, lsn;
	uint32_t len; /* of its data */
	unsigned char *was, *is; /* header and data */
};

struct xfs_tid {
	uint32_t was, is;
};

struct xfs_region {
	uint64_t start, end;
	struct xfs_record *records;
	size_t n, cap;
	struct xfs_tid *tids;
	size_t n_tids, tids_cap;
};

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint64_t be64(const unsigned char *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static void put_be32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* ---- Where the log is ------------------------------------------------------------------------ */

static bool find_region(struct as_disk *disk, uint64_t journal_bytes, struct xfs_region *region)
{
	unsigned char sb[SECTOR];
	uint64_t first, block_bytes, ag_blocks, blocks;
	unsigned ag_shift;

	if (as_bd_read(as_disk_bd(disk), 0, sb, sizeof(sb)) || memcmp(sb, "XFSB", 4))
		return false;
	block_bytes = be32(sb + 4);
	first = be64(sb + 48);
	ag_blocks = be32(sb + 84);
	blocks = be32(sb + 96);
	ag_shift = sb[124];
	/* Version 5 has checksums. A log that begins at 0 is on another device. */
	if ((sb[101] & 15) != 5 || !first != !!journal_bytes || ag_shift > 31)
		return false;
	if (journal_bytes) {
		region->end = as_disk_size(disk);
		region->start = region->end - journal_bytes;
		return blocks * block_bytes <= journal_bytes;
	}
	first = (first >> ag_shift) * ag_blocks + (first & ((UINT64_C(1) << ag_shift) - 1));
	region->start = first * block_bytes;
	region->end = region->start + blocks * block_bytes;
	return region->end <= as_disk_size(disk);
}

/* ---- Which records are new ------------------------------------------------------------------- */

static int note_records(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct xfs_region *r = ctx;

	for (size_t i = 0; i < AS_CHUNK_BYTES; i += SECTOR) {
		uint64_t off = index * AS_CHUNK_BYTES + i;
		const unsigned char *h = b + i;

		if (off < r->start || off >= r->end || be32(h) != RECORD_MAGIC ||
		    !memcmp(a + i, h, SECTOR))
			continue;
		/* A record without data only marks a sector as old. */
		if (!be32(h + H_LEN))
			continue;
		AS_ARRAY_ROOM(r->records, r->n, r->cap);
		r->records[r->n++] = (struct xfs_record){ .off = off,
							  .lsn = be64(h + H_LSN),
							  .len = be32(h + H_LEN) };
	}
	return 0;
}

static int by_lsn(const void *a, const void *b)
{
	const struct xfs_record *x = a, *y = b;

	return x->lsn < y->lsn ? -1 : x->lsn > y->lsn;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint32_t sum_up(const unsigned char *record, size_t len)
{
	static const unsigned char zeros[4];
	uint32_t crc = as_crc32c(~0u, record, H_CRC);

	crc = as_crc32c(crc, zeros, sizeof(zeros));
	crc = as_crc32c(crc, record + H_CRC + 4, SUMMED - H_CRC - 4);
	return ~as_crc32c(crc, record + SECTOR, len);
}

/* The words of the data take their places, or the cycle does. */
static void unpack(unsigned char *record, size_t len)
{
	for (size_t i = 0; i < len / SECTOR; i++)
		memcpy(record + SECTOR + i * SECTOR, record + H_WORDS + 4 * i, 4);
}

static void pack(unsigned char *record, size_t len)
{
	for (size_t i = 0; i < len / SECTOR; i++) {
		memcpy(record + H_WORDS + 4 * i, record + SECTOR + i * SECTOR, 4);
		memcpy(record + SECTOR + i * SECTOR, record + H_CYCLE, 4);
	}
}

static bool read_record(struct as_disk *disk, const struct xfs_region *r, struct xfs_record *record)
{
	size_t len = record->len;
	uint32_t crc;

	if (len > DATA_MAX || len % SECTOR || record->off + SECTOR + len > r->end)
		return false;
	record->was = as_xmalloc(SECTOR + len);
	record->is = as_xmalloc(SECTOR + len);
	if (as_bd_read(as_disk_bd(disk), record->off, record->was, SECTOR + len))
		return false;
	memcpy(&crc, record->was + H_CRC, sizeof(crc)); /* this one is little-endian */
	if (be32(record->was + H_SIZE) > DATA_MAX || crc != sum_up(record->was, len))
		return false;
	memcpy(record->is, record->was, SECTOR + len);
	unpack(record->is, len);
	return true;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The new number of a transaction, which it gets where it is met first. False: it is taken. */
static bool number_of(struct xfs_region *r, uint32_t was, uint64_t place, uint32_t *is)
{
	uint32_t new = (uint32_t)as_mix64(place);

	for (size_t i = 0; i < r->n_tids; i++)
		if (r->tids[i].was == was) {
			*is = r->tids[i].is;
			return true;
		}
	for (size_t i = 0; i < r->n_tids; i++)
		if (r->tids[i].is == new)
			return false;
	AS_ARRAY_ROOM(r->tids, r->n_tids, r->tids_cap);
	r->tids[r->n_tids++] = (struct xfs_tid){ was, new };
	*is = new;
	return true;
}

static void renumber_op(unsigned char *op, uint32_t len, uint32_t was, uint32_t is)
{
	uint32_t magic, tid;

	put_be32(op + OP_TID, is);
	if (len < T_END - OP_HEADER)
		return;
	/* The header of a transaction has the order of bytes of the machine. */
	memcpy(&magic, op + T_MAGIC, sizeof(magic));
	memcpy(&tid, op + T_TID, sizeof(tid));
	if (magic == TRANSACTION_MAGIC && tid == was)
		memcpy(op + T_TID, &is, sizeof(is));
}

static bool renumber(struct xfs_region *r, struct xfs_record *record)
{
	unsigned char *data = record->is + SECTOR;
	uint32_t ops = be32(record->is + H_OPS), crc;
	size_t at = 0;

	if (ops > OPS_MAX)
		return false;
	for (uint32_t i = 0; i < ops; i++) {
		uint32_t was, is, len;

		if (at + OP_HEADER > record->len)
			return false;
		was = be32(data + at + OP_TID);
		len = be32(data + at + OP_LEN);
		if (len > record->len - at - OP_HEADER ||
		    !number_of(r, was, record->lsn * OPS_MAX + i, &is))
			return false;
		renumber_op(data + at, len, was, is);
		at += OP_HEADER + len;
	}
	pack(record->is, record->len);
	crc = sum_up(record->is, record->len);
	memcpy(record->is + H_CRC, &crc, sizeof(crc));
	return true;
}

/* ---- As a whole ------------------------------------------------------------------------------ */

static bool prepare(struct xfs_region *r, struct as_disk *disk)
{
	if (r->n)
		qsort(r->records, r->n, sizeof(*r->records), by_lsn);
	for (size_t i = 0; i < r->n; i++)
		if (!read_record(disk, r, &r->records[i]) || !renumber(r, &r->records[i]))
			return false;
	return true;
}

void as_xfs_log_settle(struct as_disk *before, struct as_disk *after, struct as_reclog *log,
		       uint64_t journal_bytes)
{
	struct xfs_region r = { 0 };
	bool plain = find_region(after, journal_bytes, &r);

	if (plain) {
		as_disk_diff(before, after, note_records, &r);
		plain = prepare(&r, after);
	}
	for (size_t i = 0; i < r.n; i++) {
		struct xfs_record *record = &r.records[i];
		size_t len = SECTOR + record->len;

		if (plain) {
			as_assert(!as_bd_write(as_disk_bd(after), record->off, record->is, len));
			if (log)
				as_reclog_exchange(log, record->off, record->was, record->is, len);
		}
		free(record->was);
		free(record->is);
	}
	free(r.records);
	free(r.tids);
}
