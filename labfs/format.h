/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format.h: labfs on disk. Everything is little-endian; every block is LAB_BLOCK bytes.
 *
 *	block 0             superblock
 *	inode_bitmap_start  inode bitmap: bit i = inode i+1 in use; bits past the end are set
 *	block_bitmap_start  block bitmap: bit b = block b in use; covers the whole disk; all blocks
 *	                    before data_start, the backup, and bits past the end are set
 *	inode_table_start   inode table: LAB_INODES_PER_BLOCK a block; inode numbers from 1
 *	journal_start       journal: its superblock, then a ring of blocks
 *	data_start          data
 *	block_count - 1     backup superblock
 *
 * Checksums are CRC-32C over the structure with its csum field zero.
 *
 * The journal. Its superblock names the first live block of the ring and the sequence number
 * expected there. A transaction is: zero or more revoke blocks, one or more descriptors each
 * followed by the blocks it lists, one commit block. A commit holds a checksum over every block of
 * the transaction before it, in order. Replay walks transactions with consecutive sequence numbers
 * until one is not whole. A block revoked in transaction s is not replayed from transactions <= s.
 * A journaled block whose first four bytes happen to equal LAB_J_MAGIC is stored with them zeroed,
 * and its tag carries LAB_J_ESCAPED.
 *
 * File data is not journaled; inodes, bitmaps, the superblock, directories, pointer blocks,
 * attributes and the texts of long symbolic links are. Bytes of a file's last block past its size
 * mean nothing; a regular file may own blocks past its size (fallocate with KEEP_SIZE).
 *
 * Orphans: inodes removed while open, or being truncated, are chained from the superblock's
 * orphan_head through next_orphan; mount and the checker finish them.
 */
#ifndef LABFS_FORMAT_H
#define LABFS_FORMAT_H

#include <stdint.h>

#define LAB_BLOCK 1024u
#define LAB_MAGIC 0x6c616266u /* "fbal" on disk */
#define LAB_VERSION 1u
#define LAB_ROOT_INO 1u
#define LAB_LOST_INO 2u /* /lost+found, made by mkfs; everybody can see it */

#define LAB_INODE_BYTES 128u
#define LAB_INODES_PER_BLOCK (LAB_BLOCK / LAB_INODE_BYTES)
#define LAB_DIRECT 10u
#define LAB_PTRS (LAB_BLOCK / 4u)
#define LAB_MAX_BLOCKS ((uint64_t)LAB_DIRECT + LAB_PTRS + (uint64_t)LAB_PTRS * LAB_PTRS)
#define LAB_MAX_SIZE (LAB_MAX_BLOCKS * LAB_BLOCK)
#define LAB_NAME_MAX 255u
#define LAB_LINK_MAX 32000u
#define LAB_SYMLINK_MAX (LAB_BLOCK - 1) /* in the block ptr[0], no NUL; up to 40 bytes inline */
#define LAB_INLINE_SYMLINK 40u

/* Superblock state. */
#define LAB_CLEAN 1u /* unmounted properly: no journal to replay, no orphans */
#define LAB_ERRORS 2u /* the running file system met a corruption; fsck must look */

struct lab_super {
	uint32_t magic, version;
	uint32_t block_bytes, block_count;
	uint32_t inode_count;
	uint32_t inode_bitmap_start, inode_bitmap_blocks;
	uint32_t block_bitmap_start, block_bitmap_blocks;
	uint32_t inode_table_start, inode_table_blocks;
	uint32_t journal_start, journal_blocks;
	uint32_t data_start;
	uint32_t state; /* LAB_CLEAN, LAB_ERRORS */
	uint32_t orphan_head; /* inode number, 0 = none */
	uint32_t free_blocks, free_inodes; /* exact when LAB_CLEAN; else recomputed at mount */
	uint32_t mount_count;
	uint32_t csum;
	uint8_t label[16];
};

struct lab_inode {
	uint32_t mode; /* as st_mode; 0 = never used or freed */
	uint32_t nlink;
	uint32_t uid, gid;
	uint64_t size;
	int64_t atime_ns, mtime_ns, ctime_ns;
	uint64_t rdev;
	uint32_t xattr_block; /* 0 = none */
	uint32_t next_orphan; /* 0 = last or not an orphan */
	uint32_t blocks; /* blocks in use: data, indirect and xattr */
	uint32_t generation;
	union {
		uint32_t ptr[LAB_DIRECT + 2]; /* direct, indirect, double indirect; 0 = hole */
		char text[LAB_INLINE_SYMLINK]; /* symbolic links of at most 40 bytes; blocks == 0 */
	};
	uint32_t flags; /* 0 for now; anything else is corruption */
	uint32_t csum; /* over this structure; not looked at while mode == 0 */
};
_Static_assert(sizeof(struct lab_inode) <= LAB_INODE_BYTES, "an inode fits its slot");

/* Directory blocks are filled by records without gaps; rec_len is a multiple of 4. The first two
 * records of a directory's first block are "." and "..". ino 0 = free record. No record crosses a
 * block. Directories have no holes. */
struct lab_dirent {
	uint32_t ino;
	uint16_t rec_len;
	uint8_t name_len;
	uint8_t type; /* (mode & S_IFMT) >> 12 */
	char name[];
};
#define LAB_DIRENT_HEAD 8u
#define LAB_DIRENT_LEN(name_len) ((LAB_DIRENT_HEAD + (name_len) + 3u) & ~3u)

/* One block of extended attributes. The entries are packed after the header; the first one with
 * name_len 0 (or the end of the block) ends the list. */
#define LAB_XATTR_MAGIC 0x72747461u
struct lab_xattr_head {
	uint32_t magic;
	uint32_t ino; /* the inode that it belongs to */
	uint32_t used_bytes; /* header and entries */
	uint32_t csum; /* over the whole block */
};
struct lab_xattr {
	uint8_t name_len;
	uint8_t pad;
	uint16_t value_len;
	char data[]; /* name, then value; the next entry starts at a multiple of 4 */
};
#define LAB_XATTR_LEN(name_len, value_len) ((4u + (name_len) + (value_len) + 3u) & ~3u)

/* ---- Journal ---- */
#define LAB_J_MAGIC 0x6c6a726eu
enum lab_j_type { LAB_J_SUPER = 1, LAB_J_DESC = 2, LAB_J_REVOKE = 3, LAB_J_COMMIT = 4 };
#define LAB_J_ESCAPED 1u

struct lab_j_head {
	uint32_t magic, type;
	uint32_t seq;
	uint32_t csum; /* over the whole block */
};

struct lab_j_super {
	struct lab_j_head head; /* type LAB_J_SUPER; seq = the one expected at `tail` */
	uint32_t tail; /* ring index (1 .. journal_blocks-1) of the first live block */
	uint32_t empty; /* 1 = nothing to replay */
};

struct lab_j_tag {
	uint32_t block; /* where it belongs on the disk */
	uint32_t flags;
};
#define LAB_J_TAGS ((LAB_BLOCK - sizeof(struct lab_j_head) - 4u) / sizeof(struct lab_j_tag))
struct lab_j_desc {
	struct lab_j_head head;
	uint32_t count;
	struct lab_j_tag tag[];
};

#define LAB_J_REVOKES ((LAB_BLOCK - sizeof(struct lab_j_head) - 4u) / 4u)
struct lab_j_revoke {
	struct lab_j_head head;
	uint32_t count;
	uint32_t block[];
};

struct lab_j_commit {
	struct lab_j_head head;
	uint32_t blocks; /* of the transaction, without this one */
	uint32_t data_csum; /* CRC-32C over them, in ring order */
};

#endif
