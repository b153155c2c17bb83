/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.c: the block cache and the undo of failed operations.
 *
 * Method. Blocks are in a hash by number and in one list for each state. The first lab_dirty() of a
 * block in an operation keeps a copy of it; lab_undo_all() copies back, in reverse order, and puts
 * the block into the list it came from.
 *
 * Invariants
 *   1. A block in LAB_S_CKPT holds exactly its last committed contents. Before it changes again it
 *      is written home (its journal copy is stable, so that is always allowed); so a checkpoint
 *      never meets a block whose committed contents are lost.
 *   2. Clean, unpinned blocks, and only those, may be evicted, and only between operations.
 *   3. A pinned block is never dropped.
 */
#include "crc.h"
#include "fs.h"
#include "grow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CACHE_LIMIT 8192u /* blocks kept between operations */
#define SPARE_LIMIT 256u
#define UNDO_KEEP 64u /* copies kept between operations */

static void list_init(struct lab_link *list)
{
	list->prev = list->next = list;
}

static void link_out(struct lab_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->prev = link->next = link;
}

static void link_front(struct lab_link *list, struct lab_link *link)
{
	link->next = list->next;
	link->prev = list;
	list->next->prev = link;
	list->next = link;
}

static void link_back(struct lab_link *list, struct lab_link *link)
{
	link_front(list->prev, link);
}

int lab_corrupt(struct as_fs *fs, const char *what, uint32_t number)
{
	char line[128];

	fs->errors = true;
	if (fs->host->log) {
		snprintf(line, sizeof(line), "labfs: corruption: %s %u", what, number);
		fs->host->log(fs->host->ctx, line);
	}
	return -EUCLEAN;
}

int lab_cache_init(struct as_fs *fs)
{
	uint32_t buckets = 64;

	while (buckets < CACHE_LIMIT && buckets < fs->geo.block_count)
		buckets *= 2;
	fs->hash = as_malloc(fs->host, buckets * sizeof(*fs->hash));
	if (!fs->hash)
		return -ENOMEM;
	fs->hash_mask = buckets - 1;
	for (int i = 0; i < LAB_STATES; i++)
		list_init(&fs->list[i]);
	return 0;
}

static struct lab_buf *find(const struct as_fs *fs, uint32_t block)
{
	struct lab_buf *b = fs->hash[block & fs->hash_mask];

	while (b && b->block != block)
		b = b->hash_next;
	return b;
}

static int take(struct as_fs *fs, uint32_t block, enum lab_kind kind, struct lab_buf **buf)
{
	struct lab_buf **bucket = &fs->hash[block & fs->hash_mask];
	struct lab_buf *b = fs->spare;

	if (b) {
		fs->spare = b->hash_next;
		fs->nspare--;
	} else {
		b = as_malloc(fs->host, sizeof(*b));
		if (!b)
			return -ENOMEM;
	}
	b->block = block;
	b->state = LAB_S_CLEAN;
	b->kind = kind;
	b->bad = 0;
	b->valid = b->early = false;
	b->pins = 0;
	b->op = 0;
	link_front(&fs->list[LAB_S_CLEAN], &b->link);
	fs->count[LAB_S_CLEAN]++;
	b->hash_next = *bucket;
	*bucket = b;
	fs->nbufs++;
	*buf = b;
	return 0;
}

static void drop(struct as_fs *fs, struct lab_buf *b)
{
	struct lab_buf **at = &fs->hash[b->block & fs->hash_mask];

	lab_rule(fs, !b->pins, "a pinned block is dropped from the cache");
	while (*at != b)
		at = &(*at)->hash_next;
	*at = b->hash_next;
	link_out(&b->link);
	fs->count[b->state]--;
	fs->nbufs--;
	if (fs->nspare < SPARE_LIMIT) {
		b->hash_next = fs->spare;
		fs->spare = b;
		fs->nspare++;
	} else {
		as_free(fs->host, b);
	}
}

void lab_cache_free(struct as_fs *fs)
{
	for (uint32_t i = 0; fs->hash && i <= fs->hash_mask; i++) {
		while (fs->hash[i]) {
			struct lab_buf *b = fs->hash[i];

			fs->hash[i] = b->hash_next;
			as_free(fs->host, b);
		}
	}
	while (fs->spare) {
		struct lab_buf *b = fs->spare;

		fs->spare = b->hash_next;
		as_free(fs->host, b);
	}
	for (uint32_t i = 0; i < fs->undo_cap; i++)
		as_free(fs->host, fs->undo[i].copy);
	as_free(fs->host, fs->undo);
	as_free(fs->host, fs->hash);
}

/* The checks of a block that need nothing but the block itself. */
static int verify(struct as_fs *fs, struct lab_buf *b)
{
	if (b->kind == LAB_K_INODES) {
		const struct lab_inode *in = (const struct lab_inode *)b->data;

		for (unsigned i = 0; i < LAB_INODES_PER_BLOCK; i++, in++) {
			if (in->mode &&
			    in->csum != lab_crc_without(in, sizeof(*in),
							offsetof(struct lab_inode, csum)))
				b->bad |= (uint8_t)(1u << i);
		}
	} else if (b->kind == LAB_K_XATTR) {
		const struct lab_xattr_head *head = (const struct lab_xattr_head *)b->data;

		if (head->magic != LAB_XATTR_MAGIC || head->used_bytes < sizeof(*head) ||
		    head->used_bytes > LAB_BLOCK ||
		    head->csum != lab_crc_without(b->data, LAB_BLOCK,
						  offsetof(struct lab_xattr_head, csum)))
			return lab_corrupt(fs, "attribute block", b->block);
	}
	return 0;
}

void lab_seal(struct lab_buf *b)
{
	if (b->kind == LAB_K_INODES) {
		struct lab_inode *in = (struct lab_inode *)b->data;

		for (unsigned i = 0; i < LAB_INODES_PER_BLOCK; i++, in++) {
			if (in->mode && !(b->bad >> i & 1))
				in->csum = lab_crc_without(in, sizeof(*in),
							   offsetof(struct lab_inode, csum));
		}
	} else if (b->kind == LAB_K_XATTR) {
		struct lab_xattr_head *head = (struct lab_xattr_head *)b->data;

		head->csum =
			lab_crc_without(b->data, LAB_BLOCK, offsetof(struct lab_xattr_head, csum));
	} else if (b->kind == LAB_K_SUPER) {
		struct lab_super *sb = (struct lab_super *)b->data;

		sb->csum = lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum));
	}
}

int lab_bread(struct as_fs *fs, uint32_t block, enum lab_kind kind, struct lab_buf **buf)
{
	struct lab_buf *b = find(fs, block);
	int rc;

	if (b) {
		if (b->state == LAB_S_CLEAN && !b->pins && fs->list[LAB_S_CLEAN].next != &b->link) {
			link_out(&b->link);
			link_front(&fs->list[LAB_S_CLEAN], &b->link);
		}
		/* Replay did not know the kind of this block. */
		if (kind == LAB_K_XATTR && b->kind != LAB_K_XATTR) {
			b->kind = LAB_K_XATTR;
			rc = verify(fs, b);
			if (rc) {
				b->kind = LAB_K_RAW;
				return rc;
			}
		}
		*buf = b;
		return 0;
	}
	if (block >= fs->geo.block_count)
		return lab_corrupt(fs, "pointer to block", block);
	rc = take(fs, block, kind, &b);
	if (rc)
		return rc;
	rc = as_bd_read(fs->bd, (uint64_t)block * LAB_BLOCK, b->data, LAB_BLOCK);
	b->valid = !rc;
	if (!rc)
		rc = verify(fs, b);
	if (rc) {
		drop(fs, b);
		return rc;
	}
	*buf = b;
	return 0;
}

int lab_binstall(struct as_fs *fs, uint32_t block, const void *data)
{
	const struct lab_super *geo = &fs->geo;
	enum lab_kind kind = LAB_K_RAW;
	struct lab_buf *b = find(fs, block);
	int rc;

	if (!block)
		kind = LAB_K_SUPER;
	else if (block - geo->inode_table_start < geo->inode_table_blocks)
		kind = LAB_K_INODES;
	if (!b) {
		rc = take(fs, block, kind, &b);
		if (rc)
			return rc;
	}
	memcpy(b->data, data, LAB_BLOCK);
	b->bad = 0;
	b->valid = true;
	lab_set_state(fs, b, LAB_S_CKPT);
	return kind == LAB_K_INODES ? verify(fs, b) : 0;
}

void lab_set_state(struct as_fs *fs, struct lab_buf *b, enum lab_state state)
{
	lab_rule(fs, b->valid || state == LAB_S_CLEAN, "a block without contents is dirty");
	link_out(&b->link);
	fs->count[b->state]--;
	fs->count[state]++;
	b->state = state;
	if (state != LAB_S_CLEAN)
		link_back(&fs->list[state], &b->link);
	else if (!b->pins)
		link_front(&fs->list[state], &b->link);
}

void lab_pin(struct as_fs *fs, struct lab_buf *b)
{
	(void)fs;
	if (!b->pins++ && b->state == LAB_S_CLEAN)
		link_out(&b->link);
}

void lab_unpin(struct as_fs *fs, struct lab_buf *b)
{
	if (!--b->pins && b->state == LAB_S_CLEAN)
		link_front(&fs->list[LAB_S_CLEAN], &b->link);
}

int lab_write_home(struct as_fs *fs, struct lab_buf *b)
{
	lab_rule(fs, b->state != LAB_S_META,
		 "a block is written home before its transaction is committed");
	return as_bd_write(fs->bd, (uint64_t)b->block * LAB_BLOCK, b->data, LAB_BLOCK);
}

static int grow_undo(struct as_fs *fs)
{
	struct lab_undo *undo = lab_grow(fs->host, fs->undo, &fs->undo_cap, 32, sizeof(*undo));

	if (!undo)
		return -ENOMEM;
	fs->undo = undo;
	return 0;
}

static int keep(struct as_fs *fs, struct lab_buf *b, bool fresh)
{
	struct lab_undo *u;

	if (fs->nundo == fs->undo_cap && grow_undo(fs))
		return -ENOMEM;
	u = &fs->undo[fs->nundo];
	if (!fresh) {
		if (!u->copy)
			u->copy = as_malloc(fs->host, LAB_BLOCK);
		if (!u->copy)
			return -ENOMEM;
		memcpy(u->copy, b->data, LAB_BLOCK);
	}
	u->buf = b;
	u->state = b->state;
	u->kind = b->kind;
	u->fresh = fresh;
	b->op = fs->op;
	fs->nundo++;
	return 0;
}

int lab_dirty(struct as_fs *fs, struct lab_buf *b, enum lab_state state)
{
	int rc = 0;

	if (b->op == fs->op && b->state == state)
		return 0;
	if (b->op != fs->op)
		rc = keep(fs, b, false);
	if (rc || b->state == state)
		return rc;
	if (b->state == LAB_S_CKPT)
		rc = lab_write_home(fs, b);
	if (!rc && !(b->early && state == LAB_S_DATA))
		lab_set_state(fs, b, state);
	return rc;
}

int lab_bfresh(struct as_fs *fs, uint32_t block, enum lab_kind kind, enum lab_state state,
	       struct lab_buf **buf)
{
	struct lab_buf *b = find(fs, block);
	int rc;

	if (b) {
		rc = lab_dirty(fs, b, state);
		if (rc)
			return rc;
	} else {
		rc = take(fs, block, kind, &b);
		if (rc)
			return rc;
		rc = keep(fs, b, true);
		if (rc) {
			drop(fs, b);
			return rc;
		}
		b->valid = !(kind == LAB_K_XATTR && LAB_BUG_ON(fs, DIRTY_EMPTY));
		lab_set_state(fs, b, state);
	}
	b->kind = kind;
	b->bad = 0;
	memset(b->data, 0, LAB_BLOCK);
	*buf = b;
	return 0;
}

void lab_forget(struct as_fs *fs, uint32_t block, bool committed)
{
	struct lab_buf *b = find(fs, block);

	/* Until the commit, the block may go back to its old owner: a checkpoint must still write
	 * it home. */
	if (!b || (b->state == LAB_S_CKPT && !committed))
		return;
	if (b->pins || LAB_BUG_ON(fs, STALE_DATA))
		lab_set_state(fs, b, LAB_S_CLEAN);
	else
		drop(fs, b);
}

/* A list that the undo does without. */
static bool has_memory(struct as_fs *fs)
{
	void *list = as_malloc(fs->host, LAB_BLOCK);

	as_free(fs->host, list);
	return list;
}

void lab_undo_all(struct as_fs *fs, int why)
{
	if (why == -ENOMEM && LAB_BUG_ON(fs, UNDO_ALLOC) && !has_memory(fs))
		fs->nundo = 0;
	while (fs->nundo) {
		struct lab_undo *u = &fs->undo[--fs->nundo];

		if (u->fresh) {
			drop(fs, u->buf);
			continue;
		}
		memcpy(u->buf->data, u->copy, LAB_BLOCK);
		u->buf->kind = u->kind;
		u->buf->op = 0;
		/* A failing commit has written this data home: it must be overwritten there. */
		if (u->buf->state == LAB_S_CLEAN)
			lab_set_state(fs, u->buf, LAB_S_DATA);
		else if (u->buf->state != u->state)
			lab_set_state(fs, u->buf, u->state);
	}
}

const char *lab_cache_rules(void *ctx)
{
	struct as_fs *fs = ctx;
	uint32_t sum = 0;

	for (int i = 0; i < LAB_STATES; i++)
		sum += fs->count[i];
	lab_rule(fs, sum == fs->nbufs, "a block is counted in no state, or in two");
	return fs->broken;
}

void lab_cache_trim(struct as_fs *fs)
{
	while (fs->nbufs > CACHE_LIMIT && fs->list[LAB_S_CLEAN].prev != &fs->list[LAB_S_CLEAN])
		drop(fs, (struct lab_buf *)fs->list[LAB_S_CLEAN].prev);
	for (uint32_t i = UNDO_KEEP; i < fs->undo_cap && fs->undo[i].copy; i++) {
		as_free(fs->host, fs->undo[i].copy);
		fs->undo[i].copy = NULL;
	}
}

void lab_miss_last(struct as_fs *fs)
{
	struct lab_link *list = &fs->list[LAB_S_META], *at = list->next;

	while (at != list) {
		struct lab_buf *b = (struct lab_buf *)at;

		at = at->next;
		if (b->op != fs->op || b == fs->sb_buf)
			continue;
		lab_seal(b);
		lab_set_state(fs, b, LAB_S_CKPT);
	}
}
