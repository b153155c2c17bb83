/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jbd2: see jbd2.h.
 *
 * Method. We do what fs/jbd2/recovery.c does in its first pass. It walks header by header from the
 * start of the log, which the journal's superblock gives. A descriptor says how many blocks belong
 * to it; a commit block says that they are valid. The log ends at the first block that is not a
 * header of the next transaction. Blocks of transactions with a commit block are read in the third
 * pass.
 *
 * We give up on everything that is not plain: a checksum that does not match, an unknown feature, a
 * journal that is mapped in an unusual way. There the kernel decides by rules that are not repeated
 * here, and as_jbd2_look() returns false.
 */
#include "recover/jbd2.h"

#include "base/array.h"
#include "base/crc.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define EXT_MAGIC 0xef53u
#define HAS_JOURNAL 4u /* s_feature_compat */
#define EXTENT_MAGIC 0xf30au
#define EXTENTS_FLAG 0x80000u /* i_flags */
#define JOURNAL_MAGIC 0xc03b3998u
#define BLOCK_MAX 65536u
#define AHEAD_BYTES ((uint64_t)128 << 10)

enum { DESCRIPTOR = 1, COMMIT = 2, SUPERBLOCK_V2 = 4, REVOKE = 5 };
enum { F_REVOKE = 1, F_64BIT = 2, F_CSUM_V2 = 8, F_CSUM_V3 = 16 };
#define F_KNOWN (F_REVOKE | F_64BIT | F_CSUM_V2 | F_CSUM_V3)
enum { TAG_SAME_UUID = 2, TAG_LAST = 8 };

struct journal {
	struct as_jbd2 *out;
	struct as_bd *bd;
	uint32_t block_bytes;
	uint64_t apart; /* where the disk begins that it has for itself; 0: it has none */
	unsigned char map[60]; /* i_block of its inode */
	bool extents;
	uint32_t max_len, first, start, sequence, features, seed;
	unsigned char *block; /* the current header */
	unsigned char *seen; /* for each block of the journal: a replay looks at it */
};

static uint32_t le16(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t le32(const unsigned char *p)
{
	return le16(p) | le16(p + 2) << 16;
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* ---- Checksums ------------------------------------------------------------------------------- */

/* Whether the checksum of the current block is right; it stands at `at`. */
static bool is_sound(struct journal *j, size_t at)
{
	static const unsigned char zeros[4];
	uint32_t crc;

	if (!(j->features & (F_CSUM_V2 | F_CSUM_V3)))
		return true;
	crc = as_crc32c(j->seed, j->block, at);
	crc = as_crc32c(crc, zeros, 4);
	crc = as_crc32c(crc, j->block + at + 4, j->block_bytes - at - 4);
	return crc == be32(j->block + at);
}

/* ---- Where things are ------------------------------------------------------------------------ */

static void add_span(struct as_sector_span **spans, size_t *n, size_t *cap, uint64_t off,
		     uint64_t len)
{
	struct as_sector_span *last = *n ? &(*spans)[*n - 1] : NULL;

	if (last && last->off + last->len == off) {
		last->len += len;
		return;
	}
	AS_ARRAY_ROOM(*spans, *n, *cap);
	(*spans)[(*n)++] = (struct as_sector_span){ off, len };
}

/* Reads whole sectors, and adds them to what was looked at. */
static bool read_at(struct journal *j, uint64_t off, void *buf, size_t len)
{
	struct as_jbd2 *out = j->out;

	if (off > j->bd->size_bytes || len > j->bd->size_bytes - off ||
	    as_bd_read(j->bd, off, buf, len))
		return false;
	add_span(&out->looked, &out->n_looked, &out->looked_cap, off, len);
	return true;
}

/* The block of the disk that holds block n of the journal; 0: not known. */
static uint64_t by_extents(const struct journal *j, uint32_t n)
{
	for (uint32_t i = 0; i < le16(j->map + 2) && i < 4; i++) {
		const unsigned char *e = j->map + 12 + 12 * (size_t)i;
		uint32_t first = le32(e), len = le16(e + 4);

		if (len <= 32768 && n >= first && n - first < len)
			return ((uint64_t)le16(e + 6) << 32 | le32(e + 8)) + (n - first);
	}
	return 0;
}

static uint64_t through(struct journal *j, uint64_t table, uint32_t index)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	uint64_t at = table * j->block_bytes + (uint64_t)index * 4;

	if (!table || !read_at(j, at & ~(uint64_t)511, sector, sizeof(sector)))
		return 0;
	return le32(sector + at % 512);
}

static uint64_t by_table(struct journal *j, uint32_t n)
{
	uint32_t per = j->block_bytes / 4;

	if (n < 12)
		return le32(j->map + 4 * (size_t)n);
	n -= 12;
	if (n < per)
		return through(j, le32(j->map + 48), n);
	n -= per;
	if (n < per * per)
		return through(j, through(j, le32(j->map + 52), n / per), n % per);
	return 0;
}

static uint64_t block_at(struct journal *j, uint32_t n)
{
	uint64_t block = j->apart     ? j->apart / j->block_bytes + n
			 : j->extents ? by_extents(j, n)
				      : by_table(j, n);

	return block < j->bd->size_bytes / j->block_bytes ? block : 0;
}

static bool find_inode(struct journal *j)
{
	unsigned char sb[1024], sector[AS_DISK_SECTOR_BYTES];
	uint64_t groups, at;
	uint32_t inode_bytes;

	if (!read_at(j, 1024, sb, sizeof(sb)) || le16(sb + 0x38) != EXT_MAGIC ||
	    !(le32(sb + 0x5c) & HAS_JOURNAL) || le32(sb + 0x18) > 6 ||
	    le32(sb + 0xe0) != (j->apart ? 0 : 8))
		return false;
	j->block_bytes = 1024u << le32(sb + 0x18);
	if (j->apart)
		return true;
	inode_bytes = le16(sb + 0x58);
	/* No inode may span two sectors. */
	if (!inode_bytes || 512 % inode_bytes)
		return false;
	groups = j->block_bytes == 1024 ? 2 : 1;
	if (!read_at(j, groups * j->block_bytes, sector, sizeof(sector)))
		return false;
	at = (uint64_t)le32(sector + 8) * j->block_bytes + UINT64_C(7) * inode_bytes;
	if (!read_at(j, at & ~(uint64_t)511, sector, sizeof(sector)))
		return false;
	memcpy(j->map, sector + at % 512 + 0x28, sizeof(j->map));
	j->extents = le32(sector + at % 512 + 0x20) & EXTENTS_FLAG;
	return !j->extents || (le16(j->map) == EXTENT_MAGIC && !le16(j->map + 6));
}

static bool read_superblock(struct journal *j)
{
	unsigned char sb[1024];
	/* On a disk of its own, the blocks of the log have the numbers of the disk, and the
	 * superblock of a disk comes first. */
	uint64_t block = block_at(j, !j->apart ? 0 : j->block_bytes == 1024 ? 2 : 1);

	if (!block || !read_at(j, block * j->block_bytes, sb, sizeof(sb)))
		return false;
	j->max_len = be32(sb + 16);
	j->first = be32(sb + 20);
	j->sequence = be32(sb + 24);
	j->start = be32(sb + 28);
	j->features = be32(sb + 40);
	j->seed = as_crc32c(~0u, sb + 48, 16);
	/* Compatible feature 1: checksums for which the first pass reads the data. */
	return be32(sb) == JOURNAL_MAGIC && be32(sb + 4) == SUPERBLOCK_V2 &&
	       be32(sb + 12) == j->block_bytes && !(be32(sb + 36) & 1) &&
	       !(j->features & ~(uint32_t)F_KNOWN) && j->first && j->first < j->max_len &&
	       j->max_len <= j->bd->size_bytes / j->block_bytes && j->start < j->max_len;
}

/* ---- The log --------------------------------------------------------------------------------- */

static uint32_t count_tags(const struct journal *j)
{
	size_t size = j->block_bytes - (j->features & (F_CSUM_V2 | F_CSUM_V3) ? 4 : 0), at = 12;
	size_t tag = j->features & F_CSUM_V3 ? 16
					     : 8 + (j->features & F_CSUM_V2 ? 2 : 0) +
						       (j->features & F_64BIT ? 4 : 0);
	uint32_t n = 0, flags = 0;

	while (at + tag <= size && !(flags & TAG_LAST)) {
		flags = (uint32_t)j->block[at + 6] << 8 | j->block[at + 7];
		n++;
		at += tag + (flags & TAG_SAME_UUID ? 0 : 16);
	}
	return n;
}

static uint32_t step(const struct journal *j, uint32_t at, uint32_t n)
{
	uint32_t len = j->max_len - j->first;

	return j->first + (at - j->first + n) % len;
}

static bool read_header(struct journal *j, uint32_t at)
{
	uint64_t block = block_at(j, at);

	j->seen[at] = 1;
	return block && read_at(j, block * j->block_bytes, j->block, j->block_bytes);
}

/* Blocks from..to-1 of the log belong to a transaction that has a commit block. */
static void see(struct journal *j, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at != to; at = step(j, at, 1))
		j->seen[at] = 1;
}

/* False: give up. */
static bool scan(struct journal *j)
{
	uint32_t at = j->start, sequence = j->sequence, begin = at, done = 0, n;

	if (at < j->first)
		return false;
	while (done < j->max_len - j->first) {
		if (!read_header(j, at))
			return false;
		if (be32(j->block) != JOURNAL_MAGIC || be32(j->block + 8) != sequence)
			return true;
		n = 1;
		switch (be32(j->block + 4)) {
		case DESCRIPTOR:
			if (!is_sound(j, j->block_bytes - 4))
				return false;
			n += count_tags(j);
			break;
		case COMMIT:
			if (!is_sound(j, 16))
				return false;
			see(j, begin, at);
			sequence++;
			begin = step(j, at, 1);
			break;
		case REVOKE:
			if (!is_sound(j, j->block_bytes - 4))
				return false;
			break;
		default:
			return true;
		}
		at = step(j, at, n);
		done += n;
	}
	return false; /* the log fills the journal, so its end cannot be seen */
}

static bool list_unseen(struct journal *j)
{
	struct as_jbd2 *out = j->out;

	for (uint32_t n = j->first; n < j->max_len; n++) {
		uint64_t block = j->seen[n] ? 0 : block_at(j, n);

		if (!j->seen[n] && !block)
			return false;
		if (block)
			add_span(&out->unseen, &out->n_unseen, &out->unseen_cap,
				 block * j->block_bytes, j->block_bytes);
	}
	return true;
}

/* As do_readahead() of fs/jbd2/recovery.c does at the first block of the log. */
static void list_ahead(struct journal *j)
{
	struct as_jbd2 *out = j->out;
	uint32_t n = (uint32_t)(AHEAD_BYTES / j->block_bytes);

	for (uint32_t at = j->start; at && n && at < j->max_len; at++, n--) {
		uint64_t block = block_at(j, at);

		if (block)
			add_span(&out->ahead, &out->n_ahead, &out->ahead_cap,
				 block * j->block_bytes, j->block_bytes);
	}
}

bool as_jbd2_look(struct as_jbd2 *out, struct as_disk *disk, uint64_t journal_bytes)
{
	struct journal j = { .out = out, .bd = as_disk_bd(disk) };
	bool known;

	j.apart = journal_bytes ? as_disk_size(disk) - journal_bytes : 0;
	out->n_looked = out->n_unseen = out->n_ahead = 0;
	if (!find_inode(&j) || !read_superblock(&j))
		return false;
	list_ahead(&j);
	j.block = as_xmalloc(BLOCK_MAX);
	j.seen = as_xcalloc(j.max_len, 1);
	known = (!j.start || scan(&j)) && list_unseen(&j);
	free(j.block);
	free(j.seen);
	return known;
}

void as_jbd2_free(struct as_jbd2 *out)
{
	free(out->looked);
	free(out->unseen);
	free(out->ahead);
	*out = (struct as_jbd2){ 0 };
}
