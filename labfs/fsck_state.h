/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_state.h: what the passes of the checker share.
 *
 * Method. All repairs are made in an overlay of changed blocks in memory; the passes see the disk
 * through it. At the end the overlay is dropped (read only) or committed as one transaction of the
 * file system's own journal, so that after a power cut the repair is done or not done. The journal
 * itself is replayed first, directly to the disk.
 *
 * Invariants
 *   1. A block's claim count is the number of pointers to it that the passes still have to check or
 *      have accepted; pass 1 leaves no block with two.
 *   2. The content of a block is changed only by its sole owner.
 *   3. Every loop and every allocation is bounded by the size of the device.
 */
#ifndef LABFS_FSCK_STATE_H
#define LABFS_FSCK_STATE_H

#include "bug.h"
#include "format.h"
#include "fsck.h"

#define LAB_CK_MANY 255u /* a claim count that is no longer exact */
#define LAB_CK_RECS 128u /* more than a directory block can hold */
#define LAB_CK_PAGE 512u

enum {
	LAB_CK_ORPHAN = 1, /* on the orphan list */
	LAB_CK_GARBAGE = 2, /* pass 1 will clear it */
	LAB_CK_CONFIRMED = 4, /* the directory that it calls ".." has an entry for it */
	LAB_CK_REACHED = 8, /* a directory that can be reached from the root */
	LAB_CK_FULL = 16, /* a directory with names beside "." and ".." */
	LAB_CK_LEFT = 32, /* could not be connected */
	LAB_CK_TRAIL = 64, /* on the way up that is followed now */
	LAB_CK_DOUBT = 128, /* its checksum was wrong */
	LAB_CK_FREED = 256, /* an orphan that was freed: its bit may still be set */
};

/* What is known of an inode. */
struct lab_ck_ino {
	uint8_t type; /* (mode & S_IFMT) >> 12; 0 = not in use */
	uint8_t hint; /* the type that a directory entry says, for inodes in doubt */
	uint16_t flags;
	uint32_t links; /* names found; of directories, their subdirectories */
	uint32_t parent; /* of directories: the directory that has its name, 0 = none */
	uint32_t dotdot; /* of directories: what its ".." says */
};

#define LAB_CK_HELD 64u

struct lab_ck_held {
	uint32_t name; /* the block's number + 1; 0: it is empty */
	uint8_t data[LAB_BLOCK];
};

struct lab_ck {
	const struct as_host *host;
	struct as_bd *bd;
	struct lab_opts opts;
	bool readonly;
	uint32_t dev_blocks;

	/* The overlay: two levels of pointers to changed blocks. */
	uint8_t ***page;
	uint32_t pages, dirty;
	/* Blocks as they are on the disk; each block has only one place here. The passes read the
	 * inode table many times. */
	struct lab_ck_held *held;

	struct lab_super sb;
	struct lab_super disk_sb; /* as it was on the disk when the checks began */
	uint8_t label_slot; /* what find_slot() looked up */
	bool restored; /* it came from the backup */
	bool suspect; /* the superblock cannot be trusted: check everything */
	bool replayed; /* the journal had transactions */
	bool written; /* something went to the disk (or would have) */
	uint32_t j_tail, j_seq; /* where the next transaction goes */

	uint8_t *claims; /* by block */
	/* by block: it belonged to an orphan that was cut or freed, so its bit may still be set */
	uint8_t *freed;
	uint32_t next_block; /* where the search for a free block goes on */
	bool full;
	struct lab_ck_ino *ino; /* by number; [0] unused */

	uint32_t lost; /* the inode of /lost+found when it has been looked up, 0 = not yet */
	uint32_t lost_block; /* the first of its blocks that may have room */
	bool lost_hashes; /* it may already hold names such as "#12" */

	uint32_t problems, left;
	uint32_t early; /* problems that were found before the passes */
};

/* Arguments of the texts of problem.def. */
struct lab_ck_what {
	uint32_t ino, dir, block;
	uint64_t num, num2;
	const char *text;
	unsigned text_len; /* 0 = the text ends with a NUL */
};

enum lab_problem_id {
#define LAB_PROBLEM(code, id, text, fix, preen) LAB_P_##id,
#include "problem.def"
#undef LAB_PROBLEM
};

/* fsck_problem.c */
void lab_ck_say(struct lab_ck *ck, const char *format, ...) __attribute__((format(printf, 2, 3)));
void lab_ck_problem(struct lab_ck *ck, enum lab_problem_id id, const struct lab_ck_what *what);
#define LAB_CK_PROBLEM(ck, id, ...) \
	lab_ck_problem(ck, LAB_P_##id, &(struct lab_ck_what){ __VA_ARGS__ })

/* fsck_disk.c: the overlay */
int lab_ck_open(struct lab_ck *ck);
void lab_ck_close(struct lab_ck *ck);
int lab_ck_read(struct lab_ck *ck, uint32_t block, void *buf);
/* A write that changes nothing is not remembered. */
int lab_ck_write(struct lab_ck *ck, uint32_t block, const void *buf);
/* The first changed block >= from, or NULL; its number in *block. */
const uint8_t *lab_ck_dirty(const struct lab_ck *ck, uint32_t from, uint32_t *block);
/* Writes directly to the disk, not to the overlay; does nothing when read only. */
bool lab_ck_looks(const struct lab_ck *ck); /* it must write nothing */
int lab_ck_write_disk(struct lab_ck *ck, uint32_t block, const void *buf);
/* Writes the overlay home and empties it; block 0 only if asked to. Does nothing when read only. */
int lab_ck_write_home(struct lab_ck *ck, bool with_super);
int lab_ck_flush(struct lab_ck *ck, enum lab_flush site);
int lab_ck_get_inode(struct lab_ck *ck, uint32_t ino, struct lab_inode *node);
/* Sets the checksum, too. */
int lab_ck_put_inode(struct lab_ck *ck, uint32_t ino, const struct lab_inode *node);
uint32_t lab_ck_inode_csum(const struct lab_inode *node);

/* fsck_super.c */
int lab_ck_load_super(struct lab_ck *ck);
int lab_ck_put_super(struct lab_ck *ck);
int lab_ck_check_backup(struct lab_ck *ck);

/* fsck_journal.c, fsck_commit.c */
int lab_ck_replay(struct lab_ck *ck);
uint32_t lab_ck_j_csum(const uint8_t *block);
int lab_ck_put_j_super(struct lab_ck *ck, bool empty);
uint32_t lab_ck_ring_next(const struct lab_ck *ck, uint32_t pos);
int lab_ck_commit(struct lab_ck *ck);

/* fsck_map.c: blocks and the trees of pointers to them */
static inline bool lab_ck_in_data(const struct lab_ck *ck, uint32_t block)
{
	return block >= ck->sb.data_start && block < ck->sb.block_count - 1;
}
void lab_ck_unclaim(struct lab_ck *ck, uint32_t block);
int lab_ck_alloc_block(struct lab_ck *ck, uint32_t *block); /* -ENOSPC */
bool lab_ck_ind_garbage(const struct lab_ck *ck, const uint32_t *ptr);
enum lab_ck_step {
	LAB_CK_COUNT, /* only counts blocks */
	LAB_CK_CLAIM,
	LAB_CK_GIVE_UP,
	LAB_CK_FINISH, /* like GIVE_UP, for an orphan */
};
/* Does the step for `block`, to which a pointer of `depth` leads, and for each block below it. It
 * stops after *budget blocks. */
int lab_ck_walk(struct lab_ck *ck, uint32_t block, int depth, enum lab_ck_step step,
		uint32_t *budget);
int lab_ck_walk_inode(struct lab_ck *ck, const struct lab_inode *node, enum lab_ck_step step,
		      uint32_t *budget);
bool lab_ck_has_tree(const struct lab_inode *node, unsigned type);
int lab_ck_map(struct lab_ck *ck, const struct lab_inode *node, uint32_t index, uint32_t *block);
int lab_ck_map_set(struct lab_ck *ck, struct lab_inode *node, uint32_t index, uint32_t block);
/* Frees the blocks and the inode. */
int lab_ck_release(struct lab_ck *ck, uint32_t ino);

/* fsck_dir.c: directory blocks */
struct lab_ck_rec {
	uint32_t ino;
	uint16_t off; /* of the record in the block it was read from */
	uint8_t name_len, type;
	const char *name;
};
struct lab_ck_recs {
	unsigned count;
	bool damaged;
	struct lab_ck_rec rec[LAB_CK_RECS];
};
void lab_ck_parse_dir(const struct lab_ck *ck, const uint8_t *block, struct lab_ck_recs *recs);
/* Builds a block from the records (not in the block that holds their names); they must fit. */
void lab_ck_build_dir(uint8_t *block, const struct lab_ck_rec *rec, unsigned count);
bool lab_ck_name_ok(const char *name, unsigned len);
bool lab_ck_rec_is(const struct lab_ck_rec *rec, const char *name);
bool lab_ck_looks_dir(const struct lab_ck *ck, const uint8_t *block, uint32_t ino);
/* The inode of a name, 0 = none. */
int lab_ck_dir_find(struct lab_ck *ck, uint32_t dir, const char *name, uint32_t *ino);
/* -ENOSPC: there is no room. *hint: where the search begins, and where room was found. */
int lab_ck_dir_add(struct lab_ck *ck, uint32_t dir, const char *name, uint32_t ino, uint32_t *hint);
/* Removes the entry of inode `ino`, or the entry called `name`. */
int lab_ck_dir_drop(struct lab_ck *ck, uint32_t dir, uint32_t ino, const char *name);
int lab_ck_dir_set_dotdot(struct lab_ck *ck, uint32_t dir, uint32_t parent);
int lab_ck_dir_make(struct lab_ck *ck, uint32_t ino, uint32_t parent); /* -ENOSPC */

/* The passes. */
int lab_ck_pass1(struct lab_ck *ck);
int lab_ck_check_xattr(struct lab_ck *ck, uint32_t ino, struct lab_inode *node);
int lab_ck_pass2(struct lab_ck *ck);
int lab_ck_pass3(struct lab_ck *ck);
int lab_ck_pass4(struct lab_ck *ck);
int lab_ck_pass5(struct lab_ck *ck);

#endif
