/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build_image.h: makes labfs images in memory directly from format.h, without any code of the file
 * system or mkfs. It is a second implementation of the format, and makes images of any shape for
 * tests.
 *
 * img_new() makes an empty file system, the other functions add to it, img_seal() computes
 * checksums, bitmaps and counts. Between, csum fields are not kept.
 */
#ifndef TESTS_LABFS_BUILD_IMAGE_H
#define TESTS_LABFS_BUILD_IMAGE_H

#include "labfs/crc.h"
#include "labfs/format.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct img {
	uint8_t *data;
	uint32_t blocks;
	uint32_t next_block, next_ino;
};

static inline void *img_block(const struct img *img, uint32_t block)
{
	assert(block < img->blocks);
	return img->data + (size_t)block * LAB_BLOCK;
}

static inline struct lab_super *img_super(const struct img *img)
{
	return (struct lab_super *)img->data;
}

static inline struct lab_inode *img_inode(const struct img *img, uint32_t ino)
{
	struct lab_inode *table = img_block(img, img_super(img)->inode_table_start);

	assert(ino && ino <= img_super(img)->inode_count);
	return table + (ino - 1);
}

static inline uint32_t img_alloc(struct img *img)
{
	assert(img->next_block < img->blocks - 1);
	return img->next_block++;
}

/* Where the pointer to block `index` of an inode is kept; missing indirect blocks are made. */
static inline uint32_t *img_ptr(struct img *img, uint32_t ino, uint32_t index)
{
	struct lab_inode *node = img_inode(img, ino);
	uint32_t *at = &node->ptr[index < LAB_DIRECT ? index : LAB_DIRECT], way[2], depth = 0;

	if (index >= LAB_DIRECT + LAB_PTRS) {
		index -= LAB_DIRECT + LAB_PTRS;
		at = &node->ptr[LAB_DIRECT + 1];
		way[depth++] = index / LAB_PTRS;
		way[depth++] = index % LAB_PTRS;
	} else if (index >= LAB_DIRECT) {
		way[depth++] = index - LAB_DIRECT;
	}
	for (uint32_t i = 0; i < depth; i++) {
		if (!*at) {
			*at = img_alloc(img);
			node->blocks++;
		}
		at = (uint32_t *)img_block(img, *at) + way[i];
	}
	return at;
}

static inline uint32_t img_append(struct img *img, uint32_t ino, uint32_t index)
{
	uint32_t *ptr = img_ptr(img, ino, index);

	*ptr = img_alloc(img);
	img_inode(img, ino)->blocks++;
	return *ptr;
}

static inline void img_rec(uint8_t *at, uint32_t ino, unsigned rec_len, const char *name,
			   uint32_t mode)
{
	struct lab_dirent *rec = (struct lab_dirent *)at;

	rec->ino = ino;
	rec->rec_len = (uint16_t)rec_len;
	rec->name_len = (uint8_t)strlen(name);
	rec->type = (uint8_t)((mode & S_IFMT) >> 12);
	memcpy(rec->name, name, strlen(name));
}

/* Adds an entry after the last of the directory; it counts no links. */
static inline void img_entry(struct img *img, uint32_t dir, const char *name, uint32_t ino)
{
	uint32_t mode = img_inode(img, ino)->mode, last;
	unsigned need = LAB_DIRENT_LEN((unsigned)strlen(name)), off = 0, used;
	struct lab_dirent *rec;
	uint8_t *block;

	last = (uint32_t)(img_inode(img, dir)->size / LAB_BLOCK) - 1;
	block = img_block(img, *img_ptr(img, dir, last));
	for (rec = (void *)block; off + rec->rec_len < LAB_BLOCK; rec = (void *)(block + off))
		off += rec->rec_len;
	used = LAB_DIRENT_LEN(rec->name_len);
	if (rec->rec_len - used >= need) {
		img_rec(block + off + used, ino, rec->rec_len - used, name, mode);
		rec->rec_len = (uint16_t)used;
		return;
	}
	block = img_block(img, img_append(img, dir, last + 1));
	img_inode(img, dir)->size += LAB_BLOCK;
	img_rec(block, ino, LAB_BLOCK, name, mode);
}

static inline uint32_t img_node(struct img *img, uint32_t dir, const char *name, uint32_t mode)
{
	uint32_t ino = img->next_ino++;
	struct lab_inode *node = img_inode(img, ino);

	*node = (struct lab_inode){ .mode = mode,
				    .nlink = 1,
				    .uid = 7,
				    .gid = 8,
				    .atime_ns = 1,
				    .mtime_ns = 2,
				    .ctime_ns = 3,
				    .generation = ino };
	if (name)
		img_entry(img, dir, name, ino);
	return ino;
}

static inline uint32_t img_dir(struct img *img, uint32_t dir, const char *name)
{
	uint32_t ino = img_node(img, dir, name, S_IFDIR | 0755), block;

	img_inode(img, ino)->nlink = 2;
	img_inode(img, ino)->size = LAB_BLOCK;
	block = img_append(img, ino, 0);
	img_rec(img_block(img, block), ino, LAB_DIRENT_LEN(1), ".", S_IFDIR);
	img_rec((uint8_t *)img_block(img, block) + LAB_DIRENT_LEN(1), dir ? dir : ino,
		LAB_BLOCK - LAB_DIRENT_LEN(1), "..", S_IFDIR);
	if (dir)
		img_inode(img, dir)->nlink++;
	return ino;
}

/* Block `index` of a file, filled with a pattern that depends on the file and the place. */
static inline void img_fill(struct img *img, uint32_t ino, uint32_t index)
{
	uint8_t *block = img_block(img, img_append(img, ino, index));

	for (unsigned i = 0; i < LAB_BLOCK; i++)
		block[i] = (uint8_t)(ino * 31 + index * 7 + i);
}

static inline uint32_t img_file(struct img *img, uint32_t dir, const char *name, uint32_t size)
{
	uint32_t ino = img_node(img, dir, name, S_IFREG | 0644);

	img_inode(img, ino)->size = size;
	for (uint32_t i = 0; i * LAB_BLOCK < size; i++)
		img_fill(img, ino, i);
	return ino;
}

static inline uint32_t img_symlink(struct img *img, uint32_t dir, const char *name,
				   const char *text)
{
	uint32_t ino = img_node(img, dir, name, S_IFLNK | 0777);
	size_t len = strlen(text);

	img_inode(img, ino)->size = len;
	memcpy(len > LAB_INLINE_SYMLINK ? img_block(img, img_append(img, ino, 0))
					: img_inode(img, ino)->text,
	       text, len);
	return ino;
}

static inline void img_xattr(struct img *img, uint32_t ino, const char *name, const char *value)
{
	struct lab_inode *node = img_inode(img, ino);
	struct lab_xattr_head *head;
	struct lab_xattr *entry;

	if (!node->xattr_block) {
		node->xattr_block = img_alloc(img);
		node->blocks++;
		head = img_block(img, node->xattr_block);
		*head = (struct lab_xattr_head){ LAB_XATTR_MAGIC, ino, sizeof(*head), 0 };
	}
	head = img_block(img, node->xattr_block);
	entry = (struct lab_xattr *)((uint8_t *)head + head->used_bytes);
	entry->name_len = (uint8_t)strlen(name);
	entry->value_len = (uint16_t)strlen(value);
	memcpy(entry->data, name, strlen(name));
	memcpy(entry->data + strlen(name), value, strlen(value));
	head->used_bytes += LAB_XATTR_LEN(entry->name_len, entry->value_len);
}

/* ---- Checksums ---- */

static inline void img_seal_inode(const struct img *img, uint32_t ino)
{
	struct lab_inode *node = img_inode(img, ino);

	node->csum = lab_crc_without(node, sizeof(*node), offsetof(struct lab_inode, csum));
}

static inline void img_seal_super(const struct img *img, uint32_t block)
{
	struct lab_super *sb = img_block(img, block);

	sb->csum = lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum));
}

/* Any journal block, with its head. */
static inline void img_seal_j(const struct img *img, uint32_t block)
{
	struct lab_j_head *head = img_block(img, block);

	head->csum = lab_crc_without(head, LAB_BLOCK, offsetof(struct lab_j_head, csum));
}

static inline void img_set_bits(uint8_t *map, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		map[from / 8] |= (uint8_t)(1u << from % 8);
}

static inline void img_seal(struct img *img)
{
	struct lab_super *sb = img_super(img);
	uint8_t *map = img_block(img, sb->block_bitmap_start);

	memset(map, 0, LAB_BLOCK);
	img_set_bits(map, 0, img->next_block);
	img_set_bits(map, img->blocks - 1, LAB_BLOCK * 8);
	map = img_block(img, sb->inode_bitmap_start);
	memset(map, 0, LAB_BLOCK);
	img_set_bits(map, 0, img->next_ino - 1);
	img_set_bits(map, sb->inode_count, LAB_BLOCK * 8);
	for (uint32_t ino = 1; ino < img->next_ino; ino++) {
		struct lab_xattr_head *head;

		if (img_inode(img, ino)->xattr_block) {
			head = img_block(img, img_inode(img, ino)->xattr_block);
			head->csum = lab_crc_without(head, LAB_BLOCK,
						     offsetof(struct lab_xattr_head, csum));
		}
		img_seal_inode(img, ino);
	}
	sb->free_blocks = img->blocks - 1 - img->next_block;
	sb->free_inodes = sb->inode_count - (img->next_ino - 1);
	img_seal_super(img, 0);
	memcpy(img_block(img, img->blocks - 1), sb, sizeof(*sb));
}

/* An empty file system of up to 8192 blocks around memory of the caller. */
static inline struct img img_new(uint8_t *data, uint32_t blocks, uint32_t inodes, uint32_t journal)
{
	struct img img = { .data = data, .blocks = blocks, .next_ino = 1 };
	struct lab_super *sb = img_super(&img);
	struct lab_j_super *j;

	memset(data, 0, (size_t)blocks * LAB_BLOCK);
	*sb = (struct lab_super){ .magic = LAB_MAGIC,
				  .version = LAB_VERSION,
				  .block_bytes = LAB_BLOCK,
				  .block_count = blocks,
				  .inode_count = inodes,
				  .inode_bitmap_start = 1,
				  .inode_bitmap_blocks = 1,
				  .block_bitmap_start = 2,
				  .block_bitmap_blocks = 1,
				  .inode_table_start = 3,
				  .inode_table_blocks = (inodes + 7) / 8,
				  .state = LAB_CLEAN,
				  .journal_blocks = journal,
				  .label = "built by hand" };
	sb->journal_start = sb->inode_table_start + sb->inode_table_blocks;
	sb->data_start = img.next_block = sb->journal_start + journal;
	j = img_block(&img, sb->journal_start);
	*j = (struct lab_j_super){ { LAB_J_MAGIC, LAB_J_SUPER, 5, 0 }, 1, 1 };
	img_seal_j(&img, sb->journal_start);
	img_dir(&img, 0, NULL);
	img_dir(&img, LAB_ROOT_INO, "lost+found");
	return img;
}

#endif
