/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay.c: how a mount reads the journal.
 *
 * Method. It walks the transactions from the tail as long as they are whole (sequence number, block
 * count, checksum) and collects their tags and revokes. Then it reads the newest copies that are
 * not revoked into the cache, as committed blocks that are not yet home. Nothing is written here: a
 * writable mount checkpoints afterwards, a read-only one uses its cache.
 */
#include "crc.h"
#include "fs.h"
#include "grow.h"

#include <errno.h>
#include <string.h>

struct tag {
	uint32_t block, pos, flags, seq;
};

struct revoke {
	uint32_t block, seq;
};

struct scan {
	struct as_fs *fs;
	struct tag *tags;
	uint32_t ntags, tags_whole; /* all that were found; those of whole transactions */
	struct revoke *revokes;
	uint32_t nrevokes, revokes_whole, revokes_cap;
	uint32_t pos, seq;
	bool begun; /* a transaction begins at pos, whole or not */
	uint8_t *block; /* payload */
};

static int read_ring(struct as_fs *fs, uint32_t pos, void *data)
{
	return as_bd_read(fs->bd, ((uint64_t)fs->geo.journal_start + pos) * LAB_BLOCK, data,
			  LAB_BLOCK);
}

static void step(struct scan *s)
{
	s->pos = s->pos == s->fs->ring ? 1 : s->pos + 1;
}

static int add_revoke(struct scan *s, uint32_t block)
{
	if (s->nrevokes == s->revokes_cap) {
		struct revoke *more =
			lab_grow(s->fs->host, s->revokes, &s->revokes_cap, 256, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->revokes = more;
	}
	s->revokes[s->nrevokes++] = (struct revoke){ block, s->seq };
	return 0;
}

/* Reads the blocks that a descriptor lists; 1 = the transaction is not whole. */
static int scan_desc(struct scan *s, uint32_t *blocks, uint32_t *csum)
{
	const struct lab_j_desc *desc = (const struct lab_j_desc *)s->fs->jbuf;

	if (desc->count > LAB_J_TAGS || *blocks + desc->count >= s->fs->ring)
		return 1;
	for (uint32_t i = 0; i < desc->count; i++) {
		int rc = read_ring(s->fs, s->pos, s->block);

		if (rc)
			return rc;
		*csum = lab_crc32c(*csum, s->block, LAB_BLOCK);
		if (s->ntags == s->fs->ring)
			return 1;
		s->tags[s->ntags++] =
			(struct tag){ desc->tag[i].block, s->pos, desc->tag[i].flags, s->seq };
		step(s);
	}
	*blocks += desc->count;
	return 0;
}

static int scan_revoke(struct scan *s)
{
	const struct lab_j_revoke *rev = (const struct lab_j_revoke *)s->fs->jbuf;
	int rc = 0;

	if (rev->count > LAB_J_REVOKES)
		return 1;
	for (uint32_t i = 0; i < rev->count && !rc; i++)
		rc = add_revoke(s, rev->block[i]);
	return rc;
}

/* Reads one transaction at s->pos: 0 = whole, 1 = not, negative = error. */
static int scan_tx(struct scan *s)
{
	struct as_fs *fs = s->fs;
	const struct lab_j_head *head = (const struct lab_j_head *)fs->jbuf;
	const struct lab_j_commit *commit = (const struct lab_j_commit *)fs->jbuf;
	uint32_t blocks = 0, csum = 0;
	int rc = 0;

	s->begun = false;
	while (!rc && blocks < fs->ring) {
		rc = read_ring(fs, s->pos, fs->jbuf);
		if (rc)
			return rc;
		if (head->magic != LAB_J_MAGIC || head->seq != s->seq ||
		    head->csum !=
			    lab_crc_without(fs->jbuf, LAB_BLOCK, offsetof(struct lab_j_head, csum)))
			return 1;
		s->begun = true;
		step(s);
		if (head->type == LAB_J_COMMIT) {
			if (commit->blocks != blocks || s->ntags == s->tags_whole)
				return 1;
			return commit->data_csum != csum && !LAB_BUG_ON(fs, COMMIT_TRUST);
		}
		csum = lab_crc32c(csum, fs->jbuf, LAB_BLOCK);
		blocks++;
		if (head->type == LAB_J_REVOKE)
			rc = scan_revoke(s);
		else if (head->type == LAB_J_DESC)
			rc = scan_desc(s, &blocks, &csum);
		else
			return 1;
	}
	return rc ? rc : 1;
}

static bool revoked(const struct scan *s, const struct tag *tag)
{
	if (LAB_BUG_ON(s->fs, REPLAY_REVOKED))
		return false;
	for (uint32_t i = 0; i < s->revokes_whole; i++) {
		if (s->revokes[i].block == tag->block &&
		    (int32_t)(s->revokes[i].seq - tag->seq) >= 0)
			return true;
	}
	return false;
}

static bool is_map(const struct lab_super *geo, uint32_t block)
{
	return block - geo->inode_bitmap_start < geo->inode_bitmap_blocks ||
	       block - geo->block_bitmap_start < geo->block_bitmap_blocks;
}

/* Notes a block that only the copy in the journal says is in use. */
static int note_taken(struct scan *s, uint32_t map_block)
{
	struct as_fs *fs = s->fs;
	uint32_t first = (map_block - fs->geo.block_bitmap_start) * LAB_BLOCK * 8;
	int rc = as_bd_read(fs->bd, (uint64_t)map_block * LAB_BLOCK, fs->jbuf, LAB_BLOCK);

	fs->replayed.block = 0;
	for (uint32_t bit = 0; bit < LAB_BLOCK * 8 && !rc && !fs->replayed.block; bit++)
		if ((s->block[bit / 8] & ~fs->jbuf[bit / 8]) >> bit % 8 & 1)
			fs->replayed.block = first + bit;
	return rc;
}

static int install(struct scan *s)
{
	struct as_fs *fs = s->fs;
	int rc = 0;

	for (uint32_t i = 0; i < s->tags_whole && !rc; i++) {
		const struct tag *tag = &s->tags[i];
		uint32_t magic = LAB_J_MAGIC;

		if (tag->block >= fs->geo.block_count - 1 ||
		    tag->block - fs->geo.journal_start < fs->geo.journal_blocks)
			return lab_corrupt(fs, "journal lists block", tag->block);
		if (revoked(s, tag) ||
		    (LAB_BUG_ON(fs, REPLAY_MAPS) && is_map(&fs->geo, tag->block)))
			continue;
		rc = read_ring(fs, tag->pos, s->block);
		if (rc)
			return rc;
		if (tag->flags & LAB_J_ESCAPED && !LAB_BUG_ON(fs, ESCAPE_KEPT))
			memcpy(s->block, &magic, 4);
		rc = lab_binstall(fs, tag->block, s->block);
		if (!rc && LAB_BUG_ON(fs, REPLAY_WINDOW) &&
		    tag->block - fs->geo.block_bitmap_start < fs->geo.block_bitmap_blocks)
			rc = note_taken(s, tag->block);
	}
	return rc;
}

int lab_replay(struct as_fs *fs)
{
	struct scan s = { .fs = fs, .pos = fs->tail, .seq = fs->seq };
	uint32_t end = fs->tail;
	int rc = -ENOMEM;

	s.tags = as_malloc(fs->host, fs->ring * sizeof(*s.tags));
	s.block = as_malloc(fs->host, LAB_BLOCK);
	if (!s.tags || !s.block)
		goto out;
	while (!(rc = scan_tx(&s))) {
		uint32_t blocks = s.pos > end ? s.pos - end : s.pos + fs->ring - end;

		/* it would belong to an old lap, which is impossible */
		if (fs->used + blocks > fs->ring)
			break;
		fs->used += blocks;
		fs->replayed.last = end;
		end = s.pos;
		s.tags_whole = s.ntags;
		s.revokes_whole = s.nrevokes;
		s.seq++;
	}
	if (rc >= 0 || LAB_BUG_ON(fs, SCAN_EIO))
		rc = install(&s);
	fs->head = end;
	if (s.begun && s.seq - fs->seq > 1) {
		fs->replayed.tail = fs->tail;
		fs->replayed.seq = fs->seq;
	}
	if (!s.begun)
		fs->replayed.block = 0;
	fs->replayed.half = s.begun;
	fs->seq = s.seq;
out:
	as_free(fs->host, s.tags);
	as_free(fs->host, s.block);
	as_free(fs->host, s.revokes);
	return rc;
}
