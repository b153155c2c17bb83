/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk_f2fs: finds the structures of f2fs as its last checkpoint says: superblocks, checkpoints,
 * segment and node tables with their journals. Files are in walk_f2fs_file.c.
 *
 * Where node N is: the journal of node addresses in the checkpoint, if it has N; else the table, of
 * which each block is twice on the disk, and a bit in the checkpoint says which is valid.
 */
#include "layout/walk/walk_f2fs_priv.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC 0xf2f52010u
#define NAT_PER_BLOCK 455u
#define SIT_PER_BLOCK 55u
#define JOURNAL_BYTES 507u
#define ENTRIES_BYTES 3584u /* of a summary, before its journal */
#define NODES_MAX (1u << 22)

enum { CP_COMPACT = 4, CP_LARGE_NAT = 0x400 };

static uint32_t f2fs_seal(struct f2fs_walk *f, uint64_t off, uint64_t len, uint64_t at)
{
	struct as_seal seal = { .sum = AS_SUM_CRC32, .init = MAGIC };

	as_seal_disk(&seal, off, len);
	as_seal_store(&seal, at, 4, 0, false);
	return as_walk_seal(f->walk, &seal);
}

bool as_f2fs_block_ok(const struct f2fs_walk *f, uint64_t block)
{
	return block >= f->main && block < f->blocks && block != UINT32_MAX &&
	       (block + 1) * F2FS_BLOCK <= as_walk_disk_bytes(f->walk);
}

/* ---- Superblock and checkpoint ---- */

static int read_super(struct f2fs_walk *f, struct as_err *err)
{
	struct as_disk_walk *w = f->walk;
	uint64_t s = 1024, segments = as_walk_disk_bytes(w) / (F2FS_SEGMENT * F2FS_BLOCK);

	if (as_walk_le(w, s, 4) != MAGIC)
		return as_fail(err, AS_EUSE, "the disk has no superblock of f2fs");
	if (as_walk_le(w, s + 16, 4) != 12 || as_walk_le(w, s + 20, 4) != 9)
		return as_fail(err, AS_EUSE, "the superblock makes no sense");
	f->blocks = as_walk_le(w, s + 36, 8);
	f->sit_segments = as_walk_le(w, s + 56, 4);
	f->nat_segments = as_walk_le(w, s + 60, 4);
	f->main_segments = as_walk_le(w, s + 68, 4);
	f->cp = as_walk_le(w, s + 76, 4);
	f->sit = as_walk_le(w, s + 80, 4);
	f->nat = as_walk_le(w, s + 84, 4);
	f->main = as_walk_le(w, s + 92, 4);
	if (f->main_segments > segments || f->nat_segments > segments || f->sit_segments > segments)
		return as_fail(err, AS_EUSE, "the superblock names more segments than there are");
	f->payload = as_walk_le(w, s + 1664, 4);
	f->feature = (uint32_t)as_walk_le(w, s + 2180, 4);
	return 0;
}

static void emit_super(struct f2fs_walk *f, uint64_t off, const char *instance, const char *class)
{
	struct as_walk_at at = { .structure = "super",
				 .off = off,
				 .instance = instance,
				 .class = class };
	uint64_t sum_at = as_walk_le(f->walk, off + 32, 4);

	if (f->feature & 0x800 && sum_at <= 3068)
		at.seal = f2fs_seal(f, off, sum_at, off + sum_at);
	as_walk_emit(f->walk, &at);
}

static uint64_t emit_checkpoint(struct f2fs_walk *f, uint64_t block, const char *instance,
				const char *class)
{
	struct as_walk_at at = { .structure = "checkpoint",
				 .off = block * F2FS_BLOCK,
				 .instance = instance,
				 .class = class };
	uint64_t sum_at = as_walk_le(f->walk, at.off + 164, 4);

	if (sum_at >= 192 && sum_at <= 4092)
		at.seal = f2fs_seal(f, at.off, sum_at, at.off + sum_at);
	as_walk_emit(f->walk, &at);
	return as_walk_le(f->walk, at.off, 8);
}

/* Both packs; the newer one whose first and last block agree is the one that counts. */
static void checkpoints(struct f2fs_walk *f)
{
	uint64_t best = 0;

	for (unsigned pack = 0; pack < 2; pack++) {
		uint64_t first = f->cp + pack * F2FS_SEGMENT, off = first * F2FS_BLOCK;
		uint64_t n = as_walk_le(f->walk, off + 136, 4), version, last;

		if (off + F2FS_BLOCK > as_walk_disk_bytes(f->walk))
			return;
		version = emit_checkpoint(
			f, first, as_walk_text(f->walk, "checkpoint %u", pack + 1), "first");
		if (n < 2 || n > F2FS_SEGMENT)
			continue;
		last = emit_checkpoint(f, first + n - 1,
				       as_walk_text(f->walk, "end of checkpoint %u", pack + 1),
				       "last");
		as_walk_area(f->walk, off, n * F2FS_BLOCK,
			     as_walk_text(f->walk, "checkpoint %u", pack + 1), false, 0);
		if (version == last && version > best) {
			best = version;
			f->pack = off;
		}
	}
}

/* ---- Tables ---- */

static bool version_bit(const struct f2fs_walk *f, bool of_nat, uint64_t number)
{
	uint64_t sit_bytes = as_walk_le(f->walk, f->pack + 156, 4);
	uint64_t nat_bytes = as_walk_le(f->walk, f->pack + 160, 4), at = f->pack + 192;

	if (as_walk_le(f->walk, f->pack + 132, 4) & CP_LARGE_NAT)
		at += 4 + (of_nat ? 0 : nat_bytes);
	else if (f->payload)
		at += of_nat ? 0 : F2FS_BLOCK - 192;
	else
		at += of_nat ? sit_bytes : 0;
	/* The highest bit of a byte is its first. */
	return as_walk_le(f->walk, at + number / 8, 1) >> (7 - number % 8) & 1;
}

static uint64_t journal_at(const struct f2fs_walk *f, bool of_nat)
{
	uint64_t sums = f->pack + as_walk_le(f->walk, f->pack + 140, 4) * F2FS_BLOCK;

	if (as_walk_le(f->walk, f->pack + 132, 4) & CP_COMPACT)
		return sums + (of_nat ? 0 : JOURNAL_BYTES);
	return sums + (of_nat ? 0 : 2 * F2FS_BLOCK) + ENTRIES_BYTES;
}

static uint64_t nat_at(const struct f2fs_walk *f, uint64_t nid)
{
	uint64_t block = nid / NAT_PER_BLOCK;
	uint64_t at = f->nat + block / F2FS_SEGMENT * F2FS_SEGMENT * 2 + block % F2FS_SEGMENT;

	if (version_bit(f, true, block))
		at += F2FS_SEGMENT;
	return at * F2FS_BLOCK + nid % NAT_PER_BLOCK * 9;
}

uint64_t as_f2fs_node(const struct f2fs_walk *f, uint64_t nid)
{
	uint64_t journal = journal_at(f, true), n = as_walk_le(f->walk, journal, 2), block;

	for (uint64_t i = 0; i < n && 2 + (i + 1) * 13 <= JOURNAL_BYTES; i++)
		if (as_walk_le(f->walk, journal + 2 + i * 13, 4) == nid) {
			block = as_walk_le(f->walk, journal + 2 + i * 13 + 9, 4);
			return as_f2fs_block_ok(f, block) ? block : 0;
		}
	block = as_walk_le(f->walk, nat_at(f, nid) + 5, 4);
	return as_f2fs_block_ok(f, block) ? block : 0;
}

static void emit_journal(struct f2fs_walk *f, bool of_nat)
{
	uint64_t off = journal_at(f, of_nat), n = as_walk_le(f->walk, off, 2);
	uint64_t bytes = of_nat ? 13 : 78;
	const char *words = of_nat ? "node" : "segment";
	struct as_walk_at at = { .structure = "journal_count", .off = off };

	at.instance = as_walk_text(f->walk, "journal of %ss", words);
	as_walk_emit(f->walk, &at);
	at.structure = of_nat ? "nat_journal" : "sit_journal";
	for (uint64_t i = 0; i < n && 2 + (i + 1) * bytes <= JOURNAL_BYTES; i++) {
		at.off = off + 2 + i * bytes;
		at.self = as_walk_le(f->walk, at.off, 4);
		at.instance = as_walk_text(f->walk, "%s %llu in the journal", words,
					   (unsigned long long)at.self);
		as_walk_emit(f->walk, &at);
	}
}

static void emit_tables(struct f2fs_walk *f)
{
	uint64_t nodes = f->nat_segments / 2 * F2FS_SEGMENT * NAT_PER_BLOCK;
	struct as_walk_at at = { 0 };

	for (uint64_t segment = 0; segment < f->main_segments; segment++) {
		uint64_t block = segment / SIT_PER_BLOCK;

		at.structure = "sit_entry";
		at.off = (f->sit + block +
			  (version_bit(f, false, block) ? f->sit_segments / 2 * F2FS_SEGMENT : 0)) *
				 F2FS_BLOCK +
			 segment % SIT_PER_BLOCK * 74;
		at.self = segment;
		at.class = as_walk_le(f->walk, at.off, 2) & 0x3ff ? "used" : "unused";
		at.instance = as_walk_text(f->walk, "segment %llu", (unsigned long long)segment);
		as_walk_emit(f->walk, &at);
	}
	for (uint64_t nid = 0; nid < nodes && nid < NODES_MAX; nid++) {
		at.structure = "nat_entry";
		at.off = nat_at(f, nid);
		at.self = nid;
		if (!as_walk_le(f->walk, at.off + 5, 4))
			continue;
		at.class = nid <= 3 ? "reserved" : "used";
		at.instance =
			as_walk_text(f->walk, "node %llu in the table", (unsigned long long)nid);
		as_walk_emit(f->walk, &at);
	}
	as_walk_area(f->walk, f->sit * F2FS_BLOCK, f->sit_segments * F2FS_SEGMENT * F2FS_BLOCK,
		     "table of segments", false, 0);
	as_walk_area(f->walk, f->nat * F2FS_BLOCK, f->nat_segments * F2FS_SEGMENT * F2FS_BLOCK,
		     "table of nodes", false, 0);
}

static int walk_f2fs(struct as_disk_walk *walk, struct as_err *err)
{
	struct f2fs_walk f = { .walk = walk };
	int rc = read_super(&f, err);

	if (rc)
		return rc;
	emit_super(&f, 1024, "superblock", "");
	emit_super(&f, F2FS_BLOCK + 1024, "backup superblock", "backup");
	checkpoints(&f);
	if (!f.pack) {
		as_walk_complain(walk, "no checkpoint is whole");
		return 0;
	}
	emit_journal(&f, true);
	emit_journal(&f, false);
	emit_tables(&f);
	as_f2fs_inode(&f, as_walk_le(walk, 1024 + 96, 4), 0, "/", 0);
	return 0;
}

static const char *const structures[] = {
	"super",      "checkpoint",  "nat_entry", "nat_journal", "journal_count",
	"sit_entry",  "sit_journal", "inode",	  "direct_node", "indirect_node",
	"dir_bitmap", "dir_entry",   "dir_name",  "link_text",	 NULL,
};
static const char *const vars[] = { "extra", "addresses", "entries", NULL };

const struct as_walker as_walker_f2fs = { .name = "f2fs",
					  .structures = structures,
					  .vars = vars,
					  .walk = walk_f2fs };
