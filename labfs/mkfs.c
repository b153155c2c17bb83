/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mkfs.c: makes an empty file system: the root, /lost+found, an empty journal. Everything up to the
 * first data block is written, whatever was on the disk before. The superblock is written last,
 * after a flush, so that an unfinished file system is not taken for one.
 */
#include "crc.h"
#include "format.h"
#include "labfs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define BITS (LAB_BLOCK * 8u)

struct maker {
	const struct as_host *host;
	struct as_bd *bd;
	struct lab_super sb;
	uint8_t *block;
};

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

static uint32_t journal_size(uint32_t block_count)
{
	uint32_t want = block_count / 32;

	return want < 32 ? 32 : want > 512 ? 512 : want;
}

static void lay_out(struct lab_super *sb, uint32_t block_count)
{
	uint32_t at = 1;

	sb->magic = LAB_MAGIC;
	sb->version = LAB_VERSION;
	sb->block_bytes = LAB_BLOCK;
	sb->block_count = block_count;
	sb->inode_count = div_up(block_count / 4, LAB_INODES_PER_BLOCK) * LAB_INODES_PER_BLOCK;
	sb->inode_bitmap_start = at;
	sb->inode_bitmap_blocks = div_up(sb->inode_count, BITS);
	at += sb->inode_bitmap_blocks;
	sb->block_bitmap_start = at;
	sb->block_bitmap_blocks = div_up(block_count, BITS);
	at += sb->block_bitmap_blocks;
	sb->inode_table_start = at;
	sb->inode_table_blocks = sb->inode_count / LAB_INODES_PER_BLOCK;
	at += sb->inode_table_blocks;
	sb->journal_start = at;
	sb->journal_blocks = journal_size(block_count);
	at += sb->journal_blocks;
	sb->data_start = at;
	sb->state = LAB_CLEAN;
	sb->free_blocks = block_count - 1 - at - 2; /* the two directories */
	sb->free_inodes = sb->inode_count - 2;
}

static int put(struct maker *mk, uint32_t block)
{
	return as_bd_write(mk->bd, (uint64_t)block * LAB_BLOCK, mk->block, LAB_BLOCK);
}

/* A bitmap of `blocks` blocks in which the first `low` bits and all from `high` on are set. */
static int put_bitmap(struct maker *mk, uint32_t start, uint32_t blocks, uint32_t low,
		      uint32_t high)
{
	int rc = 0;

	for (uint32_t i = 0; i < blocks && !rc; i++) {
		memset(mk->block, 0, LAB_BLOCK);
		for (uint32_t bit = 0; bit < BITS; bit++) {
			uint32_t number = i * BITS + bit;

			if (number < low || number >= high)
				mk->block[bit / 8] |= (uint8_t)(1u << bit % 8);
		}
		rc = put(mk, start + i);
	}
	return rc;
}

static struct lab_dirent *put_entry(uint8_t *at, uint32_t ino, const char *name, uint32_t rec_len)
{
	struct lab_dirent *de = (struct lab_dirent *)at;

	de->ino = ino;
	de->rec_len = (uint16_t)rec_len;
	de->name_len = (uint8_t)strlen(name);
	de->type = S_IFDIR >> 12;
	memcpy(de->name, name, de->name_len);
	return de;
}

static int put_dirs(struct maker *mk)
{
	static const char lost[] = "lost+found";
	uint32_t root = mk->sb.data_start;
	int rc;

	memset(mk->block, 0, LAB_BLOCK);
	put_entry(mk->block, LAB_ROOT_INO, ".", 12);
	put_entry(mk->block + 12, LAB_ROOT_INO, "..", 12);
	put_entry(mk->block + 24, LAB_LOST_INO, lost, LAB_BLOCK - 24);
	rc = put(mk, root);
	memset(mk->block, 0, LAB_BLOCK);
	put_entry(mk->block, LAB_LOST_INO, ".", 12);
	put_entry(mk->block + 12, LAB_ROOT_INO, "..", LAB_BLOCK - 12);
	return rc ? rc : put(mk, root + 1);
}

static void set_dir(struct maker *mk, struct lab_inode *in, uint32_t mode, uint32_t nlink,
		    uint32_t block)
{
	in->mode = S_IFDIR | mode;
	in->nlink = nlink;
	in->size = LAB_BLOCK;
	in->atime_ns = in->mtime_ns = in->ctime_ns = (int64_t)mk->host->now_ns(mk->host->ctx);
	in->blocks = 1;
	in->ptr[0] = block;
	in->csum = lab_crc_without(in, sizeof(*in), offsetof(struct lab_inode, csum));
}

static int put_inodes(struct maker *mk)
{
	struct lab_inode *in = (struct lab_inode *)mk->block;
	int rc;

	memset(mk->block, 0, LAB_BLOCK);
	set_dir(mk, &in[LAB_ROOT_INO - 1], 0755, 3, mk->sb.data_start);
	set_dir(mk, &in[LAB_LOST_INO - 1], 0700, 2, mk->sb.data_start + 1);
	rc = put(mk, mk->sb.inode_table_start);
	if (!rc && mk->sb.inode_table_blocks > 1)
		rc = as_bd_zero(mk->bd, (uint64_t)(mk->sb.inode_table_start + 1) * LAB_BLOCK,
				(uint64_t)(mk->sb.inode_table_blocks - 1) * LAB_BLOCK);
	return rc;
}

static int put_journal(struct maker *mk)
{
	struct lab_j_super *js = (struct lab_j_super *)mk->block;
	int rc = as_bd_zero(mk->bd, (uint64_t)mk->sb.journal_start * LAB_BLOCK,
			    (uint64_t)mk->sb.journal_blocks * LAB_BLOCK);

	memset(mk->block, 0, LAB_BLOCK);
	js->head = (struct lab_j_head){ .magic = LAB_J_MAGIC, .type = LAB_J_SUPER, .seq = 1 };
	js->tail = 1;
	js->empty = 1;
	js->head.csum = lab_crc_without(mk->block, LAB_BLOCK, offsetof(struct lab_j_head, csum));
	return rc ? rc : put(mk, mk->sb.journal_start);
}

static int put_super(struct maker *mk)
{
	struct lab_super *sb = &mk->sb;
	int rc;

	memset(mk->block, 0, LAB_BLOCK);
	sb->csum = lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum));
	memcpy(mk->block, sb, sizeof(*sb));
	rc = put(mk, sb->block_count - 1);
	if (!rc)
		rc = as_bd_flush(mk->bd);
	if (!rc)
		rc = put(mk, 0);
	return rc ? rc : as_bd_flush(mk->bd);
}

int lab_mkfs(const struct as_host *host, struct as_bd *bd, uint64_t size_bytes)
{
	struct maker mk = { .host = host, .bd = bd };
	int rc;

	if (!size_bytes || size_bytes > bd->size_bytes)
		size_bytes = bd->size_bytes;
	if (size_bytes < LABFS_MIN_BYTES)
		return -ENOSPC;
	if (size_bytes > LABFS_MAX_BYTES)
		return -EFBIG;
	mk.block = as_malloc(host, LAB_BLOCK);
	if (!mk.block)
		return -ENOMEM;
	lay_out(&mk.sb, (uint32_t)(size_bytes / LAB_BLOCK));
	/* Until the new superblock is written, the old one must not be taken for it. */
	rc = put(&mk, 0);
	if (!rc)
		rc = as_bd_flush(bd);
	if (!rc)
		rc = put_bitmap(&mk, mk.sb.inode_bitmap_start, mk.sb.inode_bitmap_blocks,
				LAB_LOST_INO, mk.sb.inode_count);
	if (!rc)
		rc = put_bitmap(&mk, mk.sb.block_bitmap_start, mk.sb.block_bitmap_blocks,
				mk.sb.data_start + 2, mk.sb.block_count - 1);
	if (!rc)
		rc = put_inodes(&mk);
	if (!rc)
		rc = put_dirs(&mk);
	if (!rc)
		rc = put_journal(&mk);
	if (!rc)
		rc = put_super(&mk);
	as_free(host, mk.block);
	return rc;
}
