/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.h: the block cache. fs.h includes it.
 *
 * Rules for the states of blocks, each looked at where it could be broken; assay asks after every
 * operation whether one was (as_invariant()):
 *   1. What is dirty has contents: they were read, or made.
 *   2. A block that changed in the running transaction is not written home before its commit.
 *   3. A pinned block stays in the cache.
 *   4. Each block is in one state, and counted there.
 */
#ifndef LABFS_CACHE_H
#define LABFS_CACHE_H

#include "fs.h"

int lab_cache_init(struct as_fs *fs);
void lab_cache_free(struct as_fs *fs);
int lab_bread(struct as_fs *fs, uint32_t block, enum lab_kind kind, struct lab_buf **buf);
/* A zeroed buffer for a newly allocated block, not read, dirty as `state`. */
int lab_bfresh(struct as_fs *fs, uint32_t block, enum lab_kind kind, enum lab_state state,
	       struct lab_buf **buf);
/* Must be called before the first change of a block, with LAB_S_META or LAB_S_DATA. */
int lab_dirty(struct as_fs *fs, struct lab_buf *buf, enum lab_state state);
/* Puts the committed contents of a block, found in the journal, into the cache. */
int lab_binstall(struct as_fs *fs, uint32_t block, const void *data);
void lab_pin(struct as_fs *fs, struct lab_buf *buf);
void lab_unpin(struct as_fs *fs, struct lab_buf *buf);
void lab_set_state(struct as_fs *fs, struct lab_buf *buf, enum lab_state state);
int lab_write_home(struct as_fs *fs, struct lab_buf *buf);
/* Sets the checksums that a block of its kind has. */
void lab_seal(struct lab_buf *buf);
/* Drops a freed block, dirty or not, from the cache. `committed`: the transaction that freed it is
 * committed. */
void lab_forget(struct as_fs *fs, uint32_t block, bool committed);
void lab_undo_all(struct as_fs *fs, int why); /* why: the error that the operation ended with */
/* Records that the disk is corrupt; returns -EUCLEAN. */
int lab_corrupt(struct as_fs *fs, const char *what, uint32_t number);

/* Notes the first rule that was broken. */
static inline void lab_rule(struct as_fs *fs, bool kept, const char *rule)
{
	if (__builtin_expect(!kept && !fs->broken, 0))
		fs->broken = rule;
}

/* For as_invariant(): `ctx` is the file system. */
const char *lab_cache_rules(void *ctx);

/* Bug 72: what the last operation changed is taken for committed, if another thread's commit comes
 * upon it. */
void lab_miss_last(struct as_fs *fs);

#endif
