/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * journal.c: operations, the running transaction, its commit, and the checkpoint.
 *
 * Method. Operations add their changed blocks to the one running transaction. A commit writes, in
 * this order:
 *	file data home, and revokes, descriptors and changed blocks into the ring;	flush
 *	the commit block;								flush
 * With the option "queue" the blocks of the ring are in flight together, and are waited for before
 * the first flush. The commit block is written with FUA, which makes it stable without a flush.
 * After that the changed blocks may be written home at any time. When the ring has no room for the
 * next transaction, a checkpoint writes home what is not there yet, flushes, empties the ring,
 * which then starts again at its first block, and flushes.
 *
 * Invariants
 *   1. An operation is in one transaction, whole, or not at all (lab_op_begin reserves its blocks).
 *   2. A transaction always fits the empty ring (tx_limit).
 *   3. A block freed in a transaction is not allocated before that has been committed: until then a
 *      power cut brings its old owner back. A freed metadata block is revoked, so that the replay
 *      of an older transaction does not overwrite its next owner.
 *   4. Whoever may write the cache's blocks is told of them when they may be written: of file data
 *      at the end of the operation, of changed blocks when they are committed (as_bd_dirty()).
 *   5. When a journal write fails, nothing more is written: the file system turns read-only and the
 *      disk stays at the last commit.
 */
#include "crc.h"
#include "fs.h"

#include <errno.h>
#include <string.h>

#define DATA_LIMIT 4096u /* dirty data blocks kept between operations */

/* ---- Operations ---- */

int lab_op_begin(struct as_fs *fs, uint32_t credits)
{
	int rc;

	if (fs->readonly || fs->aborted)
		return -EROFS;
	as_lock(fs->host, LAB_LOCK_OP, 0);
	if (fs->count[LAB_S_META] + credits > fs->tx_limit || fs->nrevoke > LAB_J_REVOKES) {
		rc = lab_commit(fs);
		if (rc) {
			as_unlock(fs->host, LAB_LOCK_OP, 0);
			return rc;
		}
	}
	fs->op++;
	fs->op_caller = as_caller(fs->host);
	fs->callers |= 1u << fs->op_caller % 32;
	fs->nundo = 0;
	fs->nop_dirs = 0;
	fs->op_nheld = fs->nheld;
	fs->op_free_blocks = fs->free_blocks;
	fs->op_free_inodes = fs->free_inodes;
	fs->op_block_hint = fs->block_hint;
	fs->op_inode_hint = fs->inode_hint;
	return 0;
}

static void fail_op(struct as_fs *fs, int rc)
{
	for (uint32_t i = 0; i < fs->nop_dirs; i++)
		lab_dir_drop_index(fs, fs->op_dirs[i]);
	while (fs->nheld > fs->op_nheld && !LAB_BUG_ON(fs, UNDO_HELD)) {
		uint32_t entry = fs->held[--fs->nheld], block = entry & ~LAB_HELD_META;

		fs->held_map[block / 64] &= ~((uint64_t)1 << block % 64);
		fs->nrevoke -= !!(entry & LAB_HELD_META);
	}
	if (rc == -ENOMEM && LAB_BUG_ON(fs, UNDO_NOMEM))
		fs->nundo = 0;
	lab_undo_all(fs, rc);
	lab_walk_forget(fs);
	fs->free_blocks = fs->op_free_blocks;
	if (!LAB_BUG_ON(fs, UNDO_COUNT))
		fs->free_inodes = fs->op_free_inodes;
	fs->block_hint = fs->op_block_hint;
	fs->inode_hint = fs->op_inode_hint;
	fs->unfinished = false;
}

/* Freed blocks may be allocated now; none of them may be written home any more. */
static void release_held(struct as_fs *fs)
{
	for (uint32_t i = 0; i < fs->nheld; i++) {
		uint32_t block = fs->held[i] & ~LAB_HELD_META;

		lab_forget(fs, block, true);
		fs->held_map[block / 64] &= ~((uint64_t)1 << block % 64);
		if (block < fs->block_hint)
			fs->block_hint = block;
	}
	fs->nheld = fs->nrevoke = 0;
}

static void hint(struct as_fs *fs, const struct lab_buf *b)
{
	as_bd_dirty(fs->bd, (uint64_t)b->block * LAB_BLOCK, b->data, LAB_BLOCK);
}

/* The data that the operation has changed may be written from now on. */
static void hint_data(struct as_fs *fs)
{
	for (uint32_t i = 0; i < fs->nundo; i++) {
		struct lab_buf *b = fs->undo[i].buf;

		if (fs->held_map[b->block / 64] >> b->block % 64 & 1)
			continue;
		if (b->state == LAB_S_META && LAB_BUG_ON(fs, DIRTY_EARLY)) {
			lab_seal(b);
			hint(fs, b);
		} else if (b->state == LAB_S_DATA) {
			hint(fs, b);
		}
	}
}

static void finish_op(struct as_fs *fs)
{
	hint_data(fs);
	fs->nundo = 0;
	for (uint32_t i = fs->op_nheld; i < fs->nheld; i++)
		lab_forget(fs, fs->held[i] & ~LAB_HELD_META, false);
	if (LAB_BUG_ON(fs, NO_HOLD))
		release_held(fs);
}

static int write_data(struct as_fs *fs, bool early);
static int write_one_home(struct as_fs *fs);

/* What is left to do after an operation, by way of further ones: if that fails, the operation is
 * done all the same. */
static void follow_up(struct as_fs *fs)
{
	if (fs->unfinished) {
		fs->unfinished = false;
		/* The rest is on the orphan list. */
		if (lab_orphans_finish(fs))
			as_forgive(fs->host);
	}
	if (fs->count[LAB_S_DATA] > DATA_LIMIT ||
	    (fs->count[LAB_S_DATA] && as_ask(fs->host, 2, "write data back: later or now"))) {
		/* The commit tries again. */
		if (write_data(fs, LAB_BUG_ON(fs, BACK_STALE)))
			as_forgive(fs->host);
	}
	if (fs->count[LAB_S_CKPT] &&
	    as_ask(fs->host, 2, "write a committed block home: later or now") && write_one_home(fs))
		as_forgive(fs->host); /* the checkpoint tries again */
}

static int commit(struct as_fs *fs, bool taken_back);

/* Whether the transaction is committed with the operation. */
static bool commits_now(struct as_fs *fs)
{
	return fs->op_sync || fs->opts.commit_every ||
	       (fs->count[LAB_S_META] &&
		as_ask(fs->host, 2, "commit at the end of the operation: no or yes"));
}

static void unlock_all(struct as_fs *fs, int rc)
{
	for (unsigned i = 0; i < 2; i++) {
		if (fs->locked[i] && !(rc == -ENOTEMPTY && LAB_BUG_ON(fs, LOCK_KEPT)))
			as_unlock(fs->host, LAB_LOCK_DIR, fs->locked[i]);
		fs->locked[i] = 0;
	}
	as_unlock(fs->host, LAB_LOCK_OP, 0);
}

int lab_op_end(struct as_fs *fs, int rc)
{
	/* If the caller is promised stable storage, the operation fails when its commit fails. So
	 * the commit comes while the operation can still be undone. */
	if (rc >= 0 && commits_now(fs)) {
		int commit_rc = lab_commit(fs);

		rc = commit_rc ? commit_rc : rc;
		/* All is written, and blocks that were freed have no buffers any more. */
		if (!commit_rc)
			fs->nundo = 0;
	} else if (rc >= 0 && LAB_BUG_ON(fs, TAKEN_BACK)) {
		(void)commit(fs, true);
	}
	if (rc < 0)
		fail_op(fs, rc);
	else
		finish_op(fs);
	unlock_all(fs, rc);
	if (rc >= 0)
		follow_up(fs);
	lab_nodes_trim(fs);
	lab_cache_trim(fs);
	return rc;
}

bool lab_reclaim(struct as_fs *fs)
{
	if (!fs->nheld)
		return false;
	/* It may have been the disk that had no space: what it kept from is tried again. */
	as_forgive(fs->host);
	return !lab_commit(fs);
}

bool lab_tx_tight(const struct as_fs *fs, uint32_t slack)
{
	return fs->count[LAB_S_META] + slack > fs->tx_limit;
}

/* The blocks that it takes in the ring with `slack` blocks more. */
static uint32_t tx_blocks(const struct as_fs *fs, uint32_t slack)
{
	uint32_t meta = fs->count[LAB_S_META] + slack;

	return meta + (meta + LAB_J_TAGS - 1) / LAB_J_TAGS +
	       (fs->nrevoke + LAB_J_REVOKES - 1) / LAB_J_REVOKES + 1;
}

bool lab_tx_full(const struct as_fs *fs, uint32_t slack)
{
	return tx_blocks(fs, slack) > fs->ring;
}

void lab_note_dir(struct as_fs *fs, struct lab_node *dir)
{
	for (uint32_t i = 0; i < fs->nop_dirs; i++) {
		if (fs->op_dirs[i] == dir)
			return;
	}
	if (fs->nop_dirs < LAB_OP_DIRS)
		fs->op_dirs[fs->nop_dirs++] = dir;
}

/* ---- Writing ---- */

static int write_data(struct as_fs *fs, bool early)
{
	struct lab_link *list = &fs->list[LAB_S_DATA];

	while (list->next != list) {
		struct lab_buf *b = (struct lab_buf *)list->next;
		int rc = lab_write_home(fs, b);

		if (rc && LAB_BUG_ON(fs, EIO_ONCE))
			lab_set_state(fs, b, LAB_S_CLEAN);
		if (rc && !LAB_BUG_ON(fs, DATA_EIO))
			return rc;
		fs->unflushed = true;
		lab_set_state(fs, b, LAB_S_CLEAN);
		b->early = early;
	}
	return 0;
}

int lab_write_data(struct as_fs *fs)
{
	return write_data(fs, false);
}

/* One of those that a checkpoint would write, which flushes all of them. */
static int write_one_home(struct as_fs *fs)
{
	struct lab_buf *b = (struct lab_buf *)fs->list[LAB_S_CKPT].next;
	int rc = lab_write_home(fs, b);

	if (!rc)
		lab_set_state(fs, b, LAB_S_CLEAN);
	return rc;
}

static int write_ring(struct as_fs *fs, uint32_t pos, const void *data)
{
	return as_bd_write(fs->bd, ((uint64_t)fs->geo.journal_start + pos) * LAB_BLOCK, data,
			   LAB_BLOCK);
}

static int write_jsuper(struct as_fs *fs, uint32_t tail, uint32_t seq, bool empty)
{
	struct lab_j_super *js = (struct lab_j_super *)fs->jbuf;

	memset(fs->jbuf, 0, LAB_BLOCK);
	js->head = (struct lab_j_head){ .magic = LAB_J_MAGIC, .type = LAB_J_SUPER, .seq = seq };
	js->tail = tail;
	js->empty = empty;
	js->head.csum = lab_crc_without(fs->jbuf, LAB_BLOCK, offsetof(struct lab_j_head, csum));
	return write_ring(fs, 0, fs->jbuf);
}

static int give_up(struct as_fs *fs, int rc)
{
	fs->aborted = true;
	if (LAB_BUG_ON(fs, ABORT_EMPTIES))
		(void)write_jsuper(fs, 1, fs->seq, true);
	if (fs->host->log)
		fs->host->log(fs->host->ctx, "labfs: journal error, now read-only");
	return rc;
}

/* The state of writing a transaction. */
struct tx_writer {
	uint32_t pos, blocks, csum;
};

/* A block of the body, which may be in flight until it is waited for. */
static int submit_ring(struct as_fs *fs, uint32_t pos, const void *data)
{
	uint64_t ticket;

	return as_bd_submit(fs->bd, ((uint64_t)fs->geo.journal_start + pos) * LAB_BLOCK, data,
			    LAB_BLOCK, 0, &ticket);
}

static int put_block(struct as_fs *fs, struct tx_writer *writer, const void *data)
{
	int rc = fs->opts.queue ? submit_ring(fs, writer->pos, data)
				: write_ring(fs, writer->pos, data);

	writer->csum = lab_crc32c(writer->csum, data, LAB_BLOCK);
	writer->pos++;
	writer->blocks++;
	return LAB_BUG_ON(fs, COMMIT_EIO) ? 0 : rc;
}

/* Starts a block of the given type in jbuf. */
static struct lab_j_head *start_block(struct as_fs *fs, enum lab_j_type type)
{
	struct lab_j_head *head = (struct lab_j_head *)fs->jbuf;

	memset(fs->jbuf, 0, LAB_BLOCK);
	*head = (struct lab_j_head){ .magic = LAB_J_MAGIC, .type = type, .seq = fs->seq };
	return head;
}

static void sum_block(struct as_fs *fs)
{
	struct lab_j_head *head = (struct lab_j_head *)fs->jbuf;

	head->csum = lab_crc_without(fs->jbuf, LAB_BLOCK, offsetof(struct lab_j_head, csum));
}

static int finish_block(struct as_fs *fs, struct tx_writer *writer)
{
	sum_block(fs);
	return put_block(fs, writer, fs->jbuf);
}

static int write_revokes(struct as_fs *fs, struct tx_writer *writer)
{
	uint32_t left = fs->nrevoke, at = 0;
	int rc = 0;

	while (left && !rc) {
		struct lab_j_revoke *rev = (struct lab_j_revoke *)start_block(fs, LAB_J_REVOKE);

		for (; at < fs->nheld && rev->count < LAB_J_REVOKES; at++) {
			if (fs->held[at] & LAB_HELD_META)
				rev->block[rev->count++] = fs->held[at] & ~LAB_HELD_META;
		}
		left -= rev->count;
		rc = finish_block(fs, writer);
	}
	return rc;
}

/* Whether it begins as a block of the journal does. */
static bool is_escaped(const struct lab_buf *b)
{
	uint32_t first;

	memcpy(&first, b->data, 4);
	return first == LAB_J_MAGIC;
}

static int write_copy(struct as_fs *fs, struct tx_writer *writer, const struct lab_buf *b)
{
	if (!is_escaped(b))
		return put_block(fs, writer, b->data);
	memcpy(fs->jbuf, b->data, LAB_BLOCK);
	memset(fs->jbuf, 0, 4);
	return put_block(fs, writer, fs->jbuf);
}

static int write_body(struct as_fs *fs, struct tx_writer *writer)
{
	struct lab_link *list = &fs->list[LAB_S_META], *at = list->next;
	int rc = write_revokes(fs, writer);

	while (at != list && !rc) {
		struct lab_j_desc *desc = (struct lab_j_desc *)start_block(fs, LAB_J_DESC);
		struct lab_link *from = at;

		for (; at != list && desc->count < LAB_J_TAGS; at = at->next) {
			struct lab_buf *b = (struct lab_buf *)at;
			struct lab_j_tag *tag = &desc->tag[desc->count++];
			lab_seal(b);
			tag->block = b->block;
			if (is_escaped(b) && !LAB_BUG_ON(fs, ESCAPE_UNTOLD))
				tag->flags = LAB_J_ESCAPED;
		}
		rc = finish_block(fs, writer);
		for (; from != at && !rc; from = from->next)
			rc = write_copy(fs, writer, (struct lab_buf *)from);
	}
	return rc;
}

static int flush_commit(struct as_fs *fs)
{
	int rc = LAB_FLUSH(fs, COMMIT);

	return LAB_BUG_ON(fs, FLUSH_EIO) ? 0 : rc;
}

/* The commit block may be written only after this. */
static int settle_body(struct as_fs *fs)
{
	int rc = 0;

	if (fs->opts.queue && !LAB_BUG_ON(fs, NO_WAIT))
		rc = as_bd_wait(fs->bd, 0);
	if (rc || LAB_BUG_ON(fs, COMMIT_EARLY) || LAB_BUG_ON(fs, COMMIT_TRUST) ||
	    LAB_BUG_ON(fs, FUA_ALONE))
		return rc;
	return LAB_FLUSH(fs, COMMIT_BODY);
}

/* Writes the commit block, which is in jbuf, and makes it stable. */
static int write_commit(struct as_fs *fs, struct tx_writer *writer)
{
	uint64_t at = ((uint64_t)fs->geo.journal_start + writer->pos) * LAB_BLOCK;
	int rc;

	if (!fs->opts.queue) {
		rc = finish_block(fs, writer);
		return rc ? rc : flush_commit(fs);
	}
	sum_block(fs);
	writer->pos++;
	writer->blocks++;
	return LAB_BUG_ON(fs, NO_FUA) ? as_bd_write(fs->bd, at, fs->jbuf, LAB_BLOCK)
				      : as_bd_write_fua(fs->bd, at, fs->jbuf, LAB_BLOCK);
}

static int write_tx(struct as_fs *fs, struct tx_writer *writer)
{
	struct lab_j_commit *commit;
	uint32_t blocks, csum;
	int rc = 0;

	if (fs->journal_empty) {
		fs->tail = fs->replayed.tail ? fs->replayed.tail : fs->head;
		rc = write_jsuper(fs, fs->tail, fs->replayed.tail ? fs->replayed.seq : fs->seq,
				  false);
		fs->replayed.tail = 0;
		fs->journal_empty = false;
	}
	if (!rc)
		rc = write_body(fs, writer);
	if (!rc)
		rc = settle_body(fs);
	if (rc)
		return rc;
	blocks = writer->blocks;
	csum = writer->csum;
	commit = (struct lab_j_commit *)start_block(fs, LAB_J_COMMIT);
	commit->blocks = blocks;
	commit->data_csum = csum;
	return write_commit(fs, writer);
}

static void tx_done(struct as_fs *fs, const struct tx_writer *writer)
{
	struct lab_link *list = &fs->list[LAB_S_META];

	while (list->next != list) {
		struct lab_buf *b = (struct lab_buf *)list->next;

		lab_set_state(fs, b, LAB_S_CKPT);
		hint(fs, b);
	}
	release_held(fs);
	fs->callers = 0;
	fs->used += writer->blocks;
	fs->head = writer->pos;
	fs->seq++;
	fs->unflushed = false;
}

/* A corruption that was found goes into the superblock with the next commit. */
static int note_errors(struct as_fs *fs)
{
	int rc = 0;

	if (!fs->errors || fs->sb->state & LAB_ERRORS)
		return 0;
	if (fs->sb_buf->state == LAB_S_CKPT)
		rc = lab_write_home(fs, fs->sb_buf);
	if (rc)
		return rc;
	lab_set_state(fs, fs->sb_buf, LAB_S_META);
	fs->sb->state |= LAB_ERRORS;
	return 0;
}

int lab_commit(struct as_fs *fs)
{
	int rc;

	if (LAB_BUG_ON(fs, COMMIT_MISSES) && fs->op_caller != as_caller(fs->host))
		lab_miss_last(fs);
	as_lock(fs->host, LAB_LOCK_JOURNAL, 0);
	rc = commit(fs, false);
	as_unlock(fs->host, LAB_LOCK_JOURNAL, 0);
	return rc;
}

/* taken_back: the transaction stays the running one, so that the next commit has its blocks, too,
 * and is written over it. */
static int commit(struct as_fs *fs, bool taken_back)
{
	struct tx_writer writer = { 0 };
	int rc;

	if (fs->readonly)
		return LAB_BUG_ON(fs, RO_SYNC) ? lab_write_home(fs, fs->sb_buf) : 0;
	if (fs->aborted)
		return -EROFS;
	rc = note_errors(fs);
	if (!rc)
		rc = lab_write_data(fs);
	if (rc)
		return rc;
	if (!fs->count[LAB_S_META]) {
		if (fs->unflushed)
			rc = flush_commit(fs);
		if (!rc)
			fs->unflushed = false;
		return rc;
	}
	/* invariant 2 is broken: it is better to stop than to overrun the ring */
	if (tx_blocks(fs, 0) > fs->ring)
		return give_up(fs, -EIO);
	if (fs->used + tx_blocks(fs, 0) > fs->ring) {
		rc = lab_checkpoint(fs, LAB_FLUSH_CKPT_HOME, LAB_FLUSH_CKPT_TAIL, false);
		if (rc)
			return rc;
	}
	writer.pos = fs->head;
	rc = write_tx(fs, &writer);
	if (rc)
		return give_up(fs, rc);
	if (!taken_back)
		tx_done(fs, &writer);
	return 0;
}

int lab_checkpoint(struct as_fs *fs, enum lab_flush home_site, enum lab_flush tail_site, bool empty)
{
	struct lab_link *list = &fs->list[LAB_S_CKPT];
	int rc = 0;

	while (list->next != list && !rc) {
		struct lab_buf *b = (struct lab_buf *)list->next;

		rc = lab_write_home(fs, b);
		if (LAB_BUG_ON(fs, CKPT_EIO) ||
		    (home_site == LAB_FLUSH_REPLAY_HOME && LAB_BUG_ON(fs, REPLAY_EIO)))
			rc = 0;
		if (!rc)
			lab_set_state(fs, b, LAB_S_CLEAN);
	}
	if (!rc && !(home_site == LAB_FLUSH_REPLAY_HOME && LAB_BUG_ON(fs, REPLAY_NOFLUSH)))
		rc = lab_flush(fs->bd, &fs->opts, home_site);
	fs->head = 1;
	if (!rc)
		rc = write_jsuper(fs, fs->head, fs->seq, empty);
	if (!rc)
		rc = lab_flush(fs->bd, &fs->opts, tail_site);
	if (rc)
		return give_up(fs, rc);
	fs->tail = fs->head;
	fs->used = 0;
	if (home_site != LAB_FLUSH_REPLAY_HOME ||
	    !(LAB_BUG_ON(fs, REPLAY_MARK) || (LAB_BUG_ON(fs, HALF_MARK) && fs->replayed.half)))
		fs->journal_empty = empty;
	return 0;
}
