/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_commit.c: how repairs reach the disk.
 *
 * Contract. The overlay holds every repair and the final superblock; the journal is empty. After
 * success all of it is home and stable. A power cut meanwhile leaves the disk as it was, or
 * repaired (the next mount or check replays what is in the journal): the overlay is one
 * transaction. If it does not fit the ring, it is written in place; before that the superblock is
 * marked LAB_ERRORS, so that the next run checks everything again. LAB_CLEAN, which says that the
 * journal is empty, is cleared before the first write and set after the last.
 */
#include "crc.h"
#include "fsck_state.h"

#include <string.h>

struct log {
	struct lab_ck *ck;
	uint32_t pos, blocks, crc;
};

static int log_block(struct log *log, const uint8_t *data)
{
	struct lab_ck *ck = log->ck;
	int rc = lab_ck_write_disk(ck, ck->sb.journal_start + log->pos, data);

	log->pos = lab_ck_ring_next(ck, log->pos);
	log->crc = lab_crc32c(log->crc, data, LAB_BLOCK);
	log->blocks++;
	return rc;
}

/* Writes one descriptor and its blocks, from home block *from on. *from becomes the next block to
 * write. */
static int log_some(struct log *log, uint32_t *from)
{
	struct lab_ck *ck = log->ck;
	uint8_t buf[LAB_BLOCK] __attribute__((aligned(8))) = { 0 };
	struct lab_j_desc *desc = (struct lab_j_desc *)buf;
	uint32_t block, next = *from, magic = LAB_J_MAGIC;
	const uint8_t *data;
	int rc;

	desc->head = (struct lab_j_head){ LAB_J_MAGIC, LAB_J_DESC, ck->j_seq, 0 };
	while (desc->count < LAB_J_TAGS && (data = lab_ck_dirty(ck, next, &block))) {
		desc->tag[desc->count].block = block;
		desc->tag[desc->count++].flags = memcmp(data, &magic, 4) ? 0 : LAB_J_ESCAPED;
		next = block + 1;
	}
	desc->head.csum = lab_ck_j_csum(buf);
	rc = log_block(log, buf);
	for (uint32_t i = 0; !rc && i < desc->count; i++) {
		uint8_t copy[LAB_BLOCK];

		memcpy(copy, lab_ck_dirty(ck, desc->tag[i].block, &block), LAB_BLOCK);
		if (desc->tag[i].flags & LAB_J_ESCAPED)
			memset(copy, 0, 4);
		rc = log_block(log, copy);
	}
	*from = next;
	return rc;
}

static int log_all(struct lab_ck *ck)
{
	struct log log = { .ck = ck, .pos = ck->j_tail };
	uint8_t buf[LAB_BLOCK] __attribute__((aligned(8))) = { 0 };
	struct lab_j_commit *commit = (struct lab_j_commit *)buf;
	uint32_t from = 0, block;
	int rc = 0;

	while (!rc && lab_ck_dirty(ck, from, &block))
		rc = log_some(&log, &from);
	if (rc)
		return rc;
	commit->head = (struct lab_j_head){ LAB_J_MAGIC, LAB_J_COMMIT, ck->j_seq, 0 };
	commit->blocks = log.blocks;
	commit->data_csum = log.crc;
	commit->head.csum = lab_ck_j_csum(buf);
	rc = log_block(&log, buf);
	if (!rc)
		rc = lab_ck_put_j_super(ck, false);
	if (!rc)
		rc = lab_ck_flush(ck, LAB_FLUSH_CK_COMMIT);
	if (!rc)
		rc = lab_ck_write_home(ck, true);
	if (!rc)
		rc = lab_ck_flush(ck, LAB_FLUSH_CK_HOME);
	ck->j_tail = log.pos;
	ck->j_seq++;
	if (!rc)
		rc = lab_ck_put_j_super(ck, !ck->replayed || !LAB_BUG_ON(ck, CK_REPLAY_FULL));
	return rc ? rc : lab_ck_flush(ck, LAB_FLUSH_CK_CLEAR);
}

static int put_raw_super(struct lab_ck *ck, const struct lab_super *from, uint32_t state)
{
	struct lab_super sb = *from;
	uint8_t buf[LAB_BLOCK] = { 0 };

	sb.state = state;
	sb.csum = lab_crc_without(&sb, sizeof(sb), offsetof(struct lab_super, csum));
	memcpy(buf, &sb, sizeof(sb));
	return lab_ck_write_disk(ck, 0, buf);
}

int lab_ck_commit(struct lab_ck *ck)
{
	uint32_t state = ck->sb.state, need;
	bool fits;
	int rc;

	if (!ck->dirty || lab_ck_looks(ck))
		return 0;
	/* LAB_CLEAN means an empty journal, so it must be clear while the journal is not empty. */
	ck->sb.state &= ~LAB_CLEAN;
	rc = lab_ck_put_super(ck);
	need = ck->dirty + ck->dirty / LAB_J_TAGS + 2;
	fits = need <= ck->sb.journal_blocks - 1;
	if (!rc && (!fits || ck->restored || ck->disk_sb.state & LAB_CLEAN)) {
		rc = put_raw_super(ck, &ck->disk_sb, LAB_ERRORS);
		if (!rc)
			rc = lab_ck_flush(ck, LAB_FLUSH_CK_MARK);
	}
	if (!rc && fits)
		rc = log_all(ck);
	if (!rc && !fits) {
		rc = lab_ck_write_home(ck, false);
		if (!rc)
			rc = lab_ck_flush(ck, LAB_FLUSH_CK_IN_PLACE);
	}
	if (!rc)
		rc = put_raw_super(ck, &ck->sb, state);
	return rc ? rc : lab_ck_flush(ck, LAB_FLUSH_CK_FINAL);
}
