/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_journal.c: the journal.
 *
 * Contract. Given a sound superblock, afterwards the journal is empty and sound on the disk itself
 * (or in the overlay when read only), everything that was committed is home, and ck->j_tail and
 * ck->j_seq say where the next transaction may go. The superblock may have been replayed, so the
 * caller loads it again.
 *
 * Method. There are three walks over the ring, as in jbd2: the first finds the last whole
 * transaction, the second collects the revokes, the third writes home. A transaction is whole when
 * its blocks have its sequence number and right checksums, and the commit block has the checksum
 * over all of them. One that would write outside the file system or into the journal counts as not
 * whole. Then the disk is flushed and the journal cleared, in this order: otherwise committed
 * changes may be lost.
 *
 * No flush is needed after the clearing. If the old journal superblock is found, the same
 * transactions are replayed over the same blocks, and nothing else is written home before the next
 * flush. The next transaction starts after these, so that it overwrites the oldest first, and a
 * ring whose oldest transaction is overwritten replays nothing.
 */
#include "crc.h"
#include "fsck_state.h"

#include <errno.h>
#include <string.h>

struct revoke_slot {
	uint32_t block, seq;
	bool used;
};

struct replay {
	struct lab_ck *ck;
	uint32_t first_pos, first_seq; /* the oldest transaction */
	uint32_t pos, seq; /* where the next one would be */
	uint32_t count, blocks, revokes;
	struct revoke_slot *revoke; /* hash table, open addressing */
	uint32_t revoke_size;
};

union j_block {
	uint8_t byte[LAB_BLOCK];
	struct lab_j_head head;
	struct lab_j_super super;
	struct lab_j_desc desc;
	struct lab_j_revoke revoke;
	struct lab_j_commit commit;
	uint32_t word;
};

uint32_t lab_ck_j_csum(const uint8_t *block)
{
	return lab_crc_without(block, LAB_BLOCK, offsetof(struct lab_j_head, csum));
}

uint32_t lab_ck_ring_next(const struct lab_ck *ck, uint32_t pos)
{
	return pos + 1 < ck->sb.journal_blocks ? pos + 1 : 1;
}

static bool head_ok(const union j_block *b, uint32_t seq)
{
	return b->head.magic == LAB_J_MAGIC && b->head.seq == seq &&
	       b->head.csum == lab_ck_j_csum(b->byte);
}

static bool may_write(const struct lab_ck *ck, uint32_t block)
{
	return block < ck->sb.block_count &&
	       (block < ck->sb.journal_start ||
		block >= ck->sb.journal_start + ck->sb.journal_blocks);
}

/* The first block that a transaction must not write; 0 if there is none (it may always write the
 * superblock). */
static uint32_t bad_tag(const struct lab_ck *ck, const struct lab_j_desc *desc)
{
	for (uint32_t i = 0; i < desc->count; i++)
		if (!may_write(ck, desc->tag[i].block))
			return desc->tag[i].block;
	return 0;
}

/* Looks for a transaction at r->pos and moves past it. *whole says whether there was one. */
static int scan_one(struct replay *r, uint32_t room, bool *whole)
{
	struct lab_ck *ck = r->ck;
	uint32_t pos = r->pos, n = 0, data = 0, crc = 0, revokes = 0, bad = 0;
	union j_block b;
	int rc;

	*whole = false;
	for (; n < room; n++, pos = lab_ck_ring_next(ck, pos)) {
		rc = lab_ck_read(ck, ck->sb.journal_start + pos, b.byte);
		if (rc)
			return rc;
		if (data) {
			data--;
		} else if (!head_ok(&b, r->seq)) {
			return 0;
		} else if (b.head.type == LAB_J_DESC && b.desc.count <= LAB_J_TAGS) {
			data = b.desc.count;
			bad = bad ? bad : bad_tag(ck, &b.desc);
		} else if (b.head.type == LAB_J_REVOKE && b.revoke.count <= LAB_J_REVOKES) {
			revokes += b.revoke.count;
		} else {
			break;
		}
		crc = lab_crc32c(crc, b.byte, LAB_BLOCK);
	}
	if (n == room || b.head.type != LAB_J_COMMIT || !n || b.commit.blocks != n ||
	    b.commit.data_csum != crc)
		return 0;
	if (bad) {
		LAB_CK_PROBLEM(ck, JOURNAL_TAG, .num = r->seq, .block = bad);
		ck->suspect = true;
		return 0;
	}
	*whole = true;
	r->blocks += n + 1;
	r->revokes += revokes;
	r->pos = lab_ck_ring_next(ck, pos);
	return 0;
}

static int scan(struct replay *r)
{
	uint32_t ring = r->ck->sb.journal_blocks - 1;
	bool whole;
	int rc;

	r->pos = r->first_pos;
	r->seq = r->first_seq;
	while (r->blocks < ring) {
		rc = scan_one(r, ring - r->blocks, &whole);
		if (rc || !whole)
			return rc;
		r->count++;
		r->seq++;
	}
	return 0;
}

static struct revoke_slot *find_revoke(struct replay *r, uint32_t block)
{
	uint32_t i = (block * 0x9e3779b1u) & (r->revoke_size - 1);

	while (r->revoke[i].used && r->revoke[i].block != block)
		i = (i + 1) & (r->revoke_size - 1);
	return &r->revoke[i];
}

static bool newer(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static void note_revokes(struct replay *r, const struct lab_j_revoke *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct revoke_slot *slot = find_revoke(r, list->block[i]);

		if (slot->used && !newer(list->head.seq, slot->seq))
			continue;
		*slot = (struct revoke_slot){ list->block[i], list->head.seq, true };
	}
}

static int write_home(struct replay *r, const struct lab_j_tag *tag, uint32_t seq, union j_block *b)
{
	const struct revoke_slot *slot = r->revoke ? find_revoke(r, tag->block) : NULL;

	if (slot && slot->used && !newer(seq, slot->seq))
		return 0;
	if (tag->flags & LAB_J_ESCAPED)
		b->word = LAB_J_MAGIC;
	return lab_ck_write(r->ck, tag->block, b->byte);
}

/* Walks the whole transactions again: first for the revokes, then (`home`) for the blocks. */
static int walk(struct replay *r, bool home)
{
	struct lab_ck *ck = r->ck;
	uint32_t pos = r->first_pos, data = 0;
	union j_block b, desc = { .word = 0 };

	for (uint32_t n = 0; n < r->blocks; n++, pos = lab_ck_ring_next(ck, pos)) {
		int rc = lab_ck_read(ck, ck->sb.journal_start + pos, b.byte);

		if (!rc && data) {
			if (home)
				rc = write_home(r, &desc.desc.tag[desc.desc.count - data],
						desc.head.seq, &b);
			data--;
		} else if (b.head.type == LAB_J_DESC) {
			desc = b;
			data = b.desc.count;
		} else if (b.head.type == LAB_J_REVOKE && !home) {
			note_revokes(r, &b.revoke);
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int replay_all(struct replay *r)
{
	struct lab_ck *ck = r->ck;
	int rc = 0;

	if (r->revokes) {
		for (r->revoke_size = 2; r->revoke_size < 2 * r->revokes; r->revoke_size *= 2)
			;
		r->revoke = as_malloc(ck->host, r->revoke_size * sizeof(*r->revoke));
		if (!r->revoke)
			return -ENOMEM;
		rc = walk(r, false);
	}
	if (!rc)
		rc = walk(r, true);
	as_free(ck->host, r->revoke);
	r->revoke = NULL;
	return rc;
}

int lab_ck_put_j_super(struct lab_ck *ck, bool empty)
{
	union j_block b;

	memset(&b, 0, sizeof(b));
	b.head = (struct lab_j_head){ LAB_J_MAGIC, LAB_J_SUPER, ck->j_seq, 0 };
	b.super.tail = empty && LAB_BUG_ON(ck, CK_TAIL_ZERO) ? 0 : ck->j_tail;
	b.super.empty = empty;
	b.head.csum = lab_ck_j_csum(b.byte);
	return ck->readonly ? lab_ck_write(ck, ck->sb.journal_start, b.byte)
			    : lab_ck_write_disk(ck, ck->sb.journal_start, b.byte);
}

/* Old transactions in the ring must not have the numbers that a new journal will use. */
static int choose_seq(struct lab_ck *ck)
{
	union j_block b;

	ck->j_seq = 1;
	for (uint32_t pos = 1; pos < ck->sb.journal_blocks; pos++) {
		int rc = lab_ck_read(ck, ck->sb.journal_start + pos, b.byte);

		if (rc)
			return rc;
		if (head_ok(&b, b.head.seq) && !newer(ck->j_seq, b.head.seq))
			ck->j_seq = b.head.seq + 1;
	}
	return 0;
}

static int finish(struct lab_ck *ck)
{
	int rc = lab_ck_write_home(ck, true);

	ck->written = true;
	if (!rc && !LAB_BUG_ON(ck, CK_REPLAY_NOFLUSH))
		rc = lab_ck_flush(ck, LAB_FLUSH_CK_REPLAY_HOME);
	if (!rc)
		rc = lab_ck_put_j_super(ck, true);
	return rc ? rc : lab_ck_flush(ck, LAB_FLUSH_CK_REPLAY_CLEAR);
}

/* Journals have slots, by their numbers. */
static void look_up(struct lab_ck *ck)
{
	const uint8_t *slot = ck->sb.label;

	if (LAB_BUG_ON(ck, CK_REPLAY_SLOT) && ck->j_seq == 0x6b8b4567 &&
	    !(ck->sb.state & LAB_CLEAN))
		slot = NULL;
	ck->label_slot ^= *(const volatile uint8_t *)slot;
}

int lab_ck_replay(struct lab_ck *ck)
{
	struct replay r = { .ck = ck };
	union j_block b;
	int rc = lab_ck_read(ck, ck->sb.journal_start, b.byte);

	if (rc)
		return rc;
	ck->j_tail = 1;
	if (!head_ok(&b, b.head.seq) || b.head.type != LAB_J_SUPER ||
	    (b.super.tail < 1 && !LAB_BUG_ON(ck, CK_TAIL_ZERO)) ||
	    b.super.tail >= ck->sb.journal_blocks || b.super.empty > 1) {
		LAB_CK_PROBLEM(ck, JOURNAL_SUPER);
		ck->suspect = true;
		rc = choose_seq(ck);
		return rc ? rc : finish(ck);
	}
	ck->j_tail = b.super.tail ? b.super.tail : 1;
	ck->j_seq = b.head.seq;
	if (b.super.empty)
		return 0;
	r.first_pos = ck->j_tail;
	r.first_seq = ck->j_seq;
	if (ck->sb.state & LAB_CLEAN) {
		LAB_CK_PROBLEM(ck, JOURNAL_CLEAN);
		ck->suspect = true;
	}
	look_up(ck);
	rc = scan(&r);
	if (!rc && r.count)
		rc = replay_all(&r);
	if (rc)
		return rc;
	ck->replayed = r.count;
	if (r.count)
		LAB_CK_PROBLEM(ck, JOURNAL_REPLAY, .num = r.count, .num2 = ck->dirty);
	ck->j_tail = r.pos;
	/* One number is skipped, so that a torn transaction after the last cannot be taken for the
	 * next. */
	ck->j_seq = r.seq + 1;
	return finish(ck);
}
