/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fs.h: the mounted file system, private to labfs.
 *
 * Layers, each using only those above it: cache (blocks, undo), journal, alloc, map, inode, dir,
 * then the operations (namespace, rename, file, space, xattr), and super (mount).
 *
 * Every change happens inside an operation (LAB_RUN). A function that changes a block calls
 * lab_dirty() on it first, which keeps a copy; when the operation fails, lab_op_end() puts all
 * copies back, so that callers just return their error.
 *
 * Buffers are evicted only between operations: a pointer from lab_bread() is valid until the
 * operation ends.
 */
#ifndef LABFS_FS_H
#define LABFS_FS_H

#include "bug.h"
#include "format.h"

#include <assay/target.h>

/* The state of a cached block; each state has its list. */
enum lab_state {
	LAB_S_CLEAN, /* as on disk */
	LAB_S_DATA, /* file data, to be written home before the next commit */
	LAB_S_META, /* changed in the running transaction */
	LAB_S_CKPT, /* committed, not yet home */
	LAB_STATES
};

/* What a block holds, for checksums. */
enum lab_kind { LAB_K_RAW, LAB_K_SUPER, LAB_K_INODES, LAB_K_XATTR };

struct lab_link {
	struct lab_link *prev, *next;
};

struct lab_buf {
	struct lab_link link; /* in the list of its state; clean and pinned: in none */
	struct lab_buf *hash_next;
	uint32_t block;
	uint8_t state, kind;
	uint8_t bad; /* LAB_K_INODES: slots whose checksum was wrong when read */
	bool valid; /* it has its contents */
	bool early; /* only with bug BACK_STALE: it was written back before the commit */
	uint32_t pins;
	uint64_t op; /* the operation that has a copy of it */
	uint8_t data[LAB_BLOCK] __attribute__((aligned(8)));
};

struct lab_undo {
	struct lab_buf *buf;
	uint8_t state, kind;
	bool fresh; /* was not cached before: undo drops it */
	uint8_t *copy; /* kept from operation to operation */
};

/* A cached inode; `raw` points into its pinned block. */
struct lab_node {
	struct lab_link lru;
	struct lab_node *hash_next;
	uint32_t ino, opens; /* opens: handles */
	bool linkable; /* an O_TMPFILE that may get a name */
	bool cut; /* listed as orphan: blocks past its size are still to be freed */
	uint8_t why; /* LAB_WHY_* changes in transaction why_seq */
	uint32_t why_seq;
	struct lab_buf *buf;
	struct lab_inode *raw;
	struct lab_dirindex *dir;
};

struct lab_kept { /* only with bug NAMES_KEPT */
	struct lab_kept *next;
	char name[];
};

struct lab_path { /* the parent directory of a path, and its last component */
	struct lab_node *dir; /* NULL for "/" */
	const char *name;
	size_t len;
	unsigned depth; /* components */
};

struct lab_where { /* a directory entry */
	uint32_t pos, ino;
};

#define LAB_HELD_META 0x80000000u
#define LAB_OP_DIRS 8

struct as_fs {
	const struct as_host *host;
	struct as_bd *bd;
	struct lab_opts opts;
	bool readonly, aborted, errors;
	struct lab_super geo; /* geometry as read at mount; state and counts live in *sb */
	struct lab_buf *sb_buf; /* pinned */
	struct lab_super *sb;
	uint32_t free_blocks, free_inodes;
	uint32_t block_hint, inode_hint; /* nothing below these numbers is free */
	uint32_t block_next; /* after the last block that was allocated: for next fit */

	/* cache */
	struct lab_buf **hash;
	uint32_t hash_mask;
	struct lab_link list[LAB_STATES];
	uint32_t count[LAB_STATES];
	struct lab_buf *spare;
	uint32_t nspare, nbufs;
	bool unflushed; /* data was written home since the last flush */
	const char *broken; /* the rule of cache.h that was broken first; NULL: none */

	/* the running operation */
	uint64_t op;
	struct lab_undo *undo;
	uint32_t nundo, undo_cap, nop_dirs;
	struct lab_node *op_dirs[LAB_OP_DIRS]; /* directories whose index is dropped if it fails */
	uint32_t locked[2]; /* directories that it has locked: inode numbers, 0 = none */
	uint32_t op_nheld, op_free_blocks, op_free_inodes, op_block_hint, op_inode_hint;
	bool op_sync; /* it is committed when it ends */
	uint32_t op_caller, callers; /* its thread; bit per thread that is in the transaction */
	bool finishing; /* lab_orphans_finish is running */
	bool unfinished; /* an orphan is left for further operations to free */

	/* the running transaction */
	uint32_t tx_limit; /* metadata blocks it may hold */
	uint32_t *held; /* freed blocks, LAB_HELD_META = to be revoked */
	uint32_t nheld, held_cap, nrevoke;
	uint64_t *held_map; /* bit per block: not to be used again before the commit */

	/* journal */
	uint32_t seq; /* of the running transaction */
	uint32_t ring, head, tail; /* blocks in the ring; positions 1..ring */
	uint32_t used;
	bool journal_empty; /* what the journal's superblock says */
	uint8_t *jbuf; /* one block */
	/* For seeded bugs, after a replay that came upon a transaction that was not whole: where
	 * the first and the last of several whole ones begin, the number of the first, and a block
	 * that a whole one took; 0: none. */
	struct {
		uint32_t tail, last, seq, block;
		bool half; /* there was such a transaction */
	} replayed;

	/* inodes */
	struct lab_node **nodes;
	uint32_t node_mask, nnodes;
	struct lab_link node_lru;
	char *walked; /* the path of the directory that was found last; empty = none */
	size_t walked_len, walked_cap;
	uint32_t walked_ino;
	unsigned walked_depth;
	uint32_t nwriters; /* handles open for writing */
	uint8_t *last_read; /* only with bug HOLE_STALE */
	struct lab_kept *kept; /* only with bug NAMES_KEPT */
	/* Only with bug PIPE_MERGE: reads of one file that go on after each write to another. */
	struct {
		uint64_t end; /* where the last read of it ended */
		uint32_t ino, block, turns;
		bool wrote;
	} stream;
};

struct as_handle {
	struct lab_node *node;
	unsigned flags;
	uint64_t size_seen; /* only for the bugs that trust it */
};

/* Runs `expr` as one operation, which is done completely or not at all. If space is short because
 * freed blocks wait for their commit, it commits and tries again. */
#define LAB_RUN(fs, credits, expr)                               \
	({                                                       \
		int run_rc;                                      \
		do {                                             \
			run_rc = lab_op_begin(fs, credits);      \
			if (!run_rc)                             \
				run_rc = lab_op_end(fs, (expr)); \
		} while (run_rc == -ENOSPC && lab_reclaim(fs));  \
		run_rc;                                          \
	})

void lab_nodes_trim(struct as_fs *fs);
void lab_cache_trim(struct as_fs *fs);

/* How many blocks an operation on names may change: two parents and their entries, four inodes, a
 * block for a growing directory, the orphan list, and the bitmaps. */
static inline uint32_t lab_ns_credits(const struct as_fs *fs)
{
	uint32_t maps = fs->geo.block_bitmap_blocks;

	return 16 + (maps < 8 ? maps : 8);
}

/* Called between operations that only read. */
static inline void lab_idle(struct as_fs *fs)
{
	lab_nodes_trim(fs);
	lab_cache_trim(fs);
}

/* journal.c */
int lab_op_begin(struct as_fs *fs, uint32_t credits);
int lab_op_end(struct as_fs *fs, int rc);
bool lab_reclaim(struct as_fs *fs);
/* Whether less than `slack` blocks are left in the running transaction. */
bool lab_tx_tight(const struct as_fs *fs, uint32_t slack);
/* Whether it would not fit the empty ring with `slack` blocks more: for an operation that cannot be
 * divided, and has a transaction of its own if it is that large. */
bool lab_tx_full(const struct as_fs *fs, uint32_t slack);
int lab_write_data(struct as_fs *fs);
int lab_commit(struct as_fs *fs);
int lab_checkpoint(struct as_fs *fs, enum lab_flush home_site, enum lab_flush tail_site,
		   bool empty);
void lab_note_dir(struct as_fs *fs, struct lab_node *dir);

/* replay.c: brings committed transactions into the cache, as LAB_S_CKPT. */
int lab_replay(struct as_fs *fs);

/* alloc.c */
int lab_balloc(struct as_fs *fs, uint32_t *block);
int lab_bfree(struct as_fs *fs, uint32_t block, bool meta);
int lab_ialloc(struct as_fs *fs, uint32_t *ino);
int lab_ifree(struct as_fs *fs, uint32_t ino);
int lab_count_free(struct as_fs *fs);
uint32_t lab_blocks_at_hand(const struct as_fs *fs);

/* map.c */
int lab_bmap(struct as_fs *fs, struct lab_node *node, uint64_t lblk, uint32_t *block);
/* The buffer of a file's block, which becomes dirty. A hole is allocated and zeroed. `whole`: the
 * caller overwrites all of it, so that it need not be read. */
int lab_bmap_get(struct as_fs *fs, struct lab_node *node, uint64_t lblk, enum lab_state state,
		 bool whole, struct lab_buf **buf);
/* Frees the blocks from..to-1; 1 = more to do, in another transaction. */
int lab_free_range(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to);
/* The same, all in this transaction: pointer blocks that are freed with all that they point to are
 * not changed first, so that it takes the inode, the bitmaps and the pointer blocks at the edges.
 * -ENOSPC: even that does not fit the journal, as on a disk of gigabytes. */
int lab_free_whole(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to);
/* How many blocks it takes to fill the holes of from..to-1. */
int lab_count_holes(struct as_fs *fs, struct lab_node *node, uint64_t from, uint64_t to,
		    uint64_t *need);

/* inode.c */
int lab_iget(struct as_fs *fs, uint32_t ino, struct lab_node **node);
int lab_inew(struct as_fs *fs, struct lab_node *parent, uint32_t mode, uint64_t rdev,
	     struct lab_node **node);
int lab_idirty(struct as_fs *fs, struct lab_node *node, uint8_t why);
/* Takes one link away. Without links and handles the inode is freed; with handles it becomes an
 * orphan. */
int lab_drop_link(struct as_fs *fs, struct lab_node *node, uint32_t links);
int lab_orphan_add(struct as_fs *fs, struct lab_node *node);
int lab_orphan_del(struct as_fs *fs, struct lab_node *node);
int lab_orphan_finish(struct as_fs *fs, struct lab_node *node);
/* Finishes the orphans that no handle uses. */
int lab_orphans_finish(struct as_fs *fs);
void lab_nodes_free(struct as_fs *fs);
void lab_fill_stat(const struct lab_node *node, struct as_stat *st);
uint64_t lab_now(const struct as_fs *fs);

/* dir.c */
void lab_dir_drop_index(struct as_fs *fs, struct lab_node *dir);
int lab_dir_find(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len,
		 struct lab_where *where); /* -ENOENT */
int lab_dir_add(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len, uint32_t ino,
		uint32_t mode);
int lab_dir_remove(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len);
/* Makes an entry (or ".") name another inode. */
int lab_dir_set(struct as_fs *fs, struct lab_node *dir, const char *name, size_t len, uint32_t ino,
		uint32_t mode);
int lab_dir_init(struct as_fs *fs, struct lab_node *dir, uint32_t parent_ino);
int lab_dir_set_parent(struct as_fs *fs, struct lab_node *dir, uint32_t parent_ino);
int lab_dir_check_empty(struct as_fs *fs, struct lab_node *dir); /* or -ENOTEMPTY */
int lab_dir_list(struct as_fs *fs, struct lab_node *dir, as_fill_fn fill, void *ctx);

/* path.c */
int lab_walk(struct as_fs *fs, const char *path, struct lab_node **node);
int lab_walk_parent(struct as_fs *fs, const char *path, struct lab_path *at);
/* Must be called when a directory may have another name now, or none. */
static inline void lab_walk_forget(struct as_fs *fs)
{
	fs->walked_len = 0;
}

/* namespace.c */
int lab_create(struct as_fs *fs, const struct lab_path *at, uint32_t mode, uint64_t rdev,
	       struct lab_node **node);

/* attr.c */
int lab_truncate(struct as_fs *fs, struct lab_node *node, uint64_t size);
/* Must be called before a size grows: the bytes after the old end in its block become zero. */
int lab_zero_tail(struct as_fs *fs, struct lab_node *node);
#include "cache.h"
#include "lock.h"
#include "opsdecl.h" /* the operations, as in struct as_target_ops */

#endif
