/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_disk.c: the disk as the passes of the checker see it: an overlay of changed blocks in memory
 * over the device, and access to inodes.
 */
#include "crc.h"
#include "fsck_state.h"

#include <errno.h>
#include <string.h>

#define NOTHING UINT32_MAX /* no block has this number: there are fewer */

int lab_ck_open(struct lab_ck *ck)
{
	uint64_t blocks = ck->bd->size_bytes / LAB_BLOCK;

	if (!ck->bd->sector_bytes || LAB_BLOCK % ck->bd->sector_bytes)
		return -EINVAL;
	ck->dev_blocks = blocks < NOTHING ? (uint32_t)blocks : NOTHING;
	ck->pages = ck->dev_blocks / LAB_CK_PAGE + 1;
	ck->page = as_malloc(ck->host, ck->pages * sizeof(*ck->page));
	ck->held = as_malloc(ck->host, LAB_CK_HELD * sizeof(*ck->held));
	return ck->page && ck->held ? 0 : -ENOMEM;
}

static void forget_page(struct lab_ck *ck, uint32_t page)
{
	if (!ck->page[page])
		return;
	for (unsigned i = 0; i < LAB_CK_PAGE; i++)
		as_free(ck->host, ck->page[page][i]);
	as_free(ck->host, ck->page[page]);
	ck->page[page] = NULL;
}

void lab_ck_close(struct lab_ck *ck)
{
	for (uint32_t i = 0; ck->page && i < ck->pages; i++)
		forget_page(ck, i);
	as_free(ck->host, ck->page);
	as_free(ck->host, ck->held);
	as_free(ck->host, ck->claims);
	as_free(ck->host, ck->freed);
	as_free(ck->host, ck->ino);
}

static uint8_t *find(const struct lab_ck *ck, uint32_t block)
{
	uint8_t **page = ck->page[block / LAB_CK_PAGE];

	return page ? page[block % LAB_CK_PAGE] : NULL;
}

/* Gives the place of the block in memory, which is valid until the next call. */
static int peek(struct lab_ck *ck, uint32_t block, const uint8_t **data)
{
	struct lab_ck_held *held;
	int rc;

	if (block >= ck->dev_blocks)
		return -EIO;
	*data = find(ck, block);
	if (*data)
		return 0;
	held = &ck->held[block % LAB_CK_HELD];
	if (held->name != block + 1) {
		held->name = 0;
		rc = as_bd_read(ck->bd, (uint64_t)block * LAB_BLOCK, held->data, LAB_BLOCK);
		if (rc)
			return rc;
		held->name = block + 1;
	}
	*data = held->data;
	return 0;
}

int lab_ck_read(struct lab_ck *ck, uint32_t block, void *buf)
{
	const uint8_t *data;
	int rc = peek(ck, block, &data);

	if (!rc)
		memcpy(buf, data, LAB_BLOCK);
	return rc;
}

int lab_ck_write(struct lab_ck *ck, uint32_t block, const void *buf)
{
	uint8_t now[LAB_BLOCK], *data, ***page;
	int rc = lab_ck_read(ck, block, now);

	if (rc || !memcmp(now, buf, LAB_BLOCK))
		return rc;
	page = &ck->page[block / LAB_CK_PAGE];
	if (!*page)
		*page = as_malloc(ck->host, LAB_CK_PAGE * sizeof(**page));
	if (!*page)
		return -ENOMEM;
	data = (*page)[block % LAB_CK_PAGE];
	if (!data) {
		data = as_malloc(ck->host, LAB_BLOCK);
		if (!data)
			return -ENOMEM;
		(*page)[block % LAB_CK_PAGE] = data;
		ck->dirty++;
	}
	memcpy(data, buf, LAB_BLOCK);
	ck->written = true;
	return 0;
}

const uint8_t *lab_ck_dirty(const struct lab_ck *ck, uint32_t from, uint32_t *block)
{
	while (from < ck->dev_blocks) {
		if (!ck->page[from / LAB_CK_PAGE]) {
			from = (from / LAB_CK_PAGE + 1) * LAB_CK_PAGE;
		} else if (find(ck, from)) {
			*block = from;
			return find(ck, from);
		} else {
			from++;
		}
	}
	return NULL;
}

/* It was told to look only. */
bool lab_ck_looks(const struct lab_ck *ck)
{
	return ck->readonly && !LAB_BUG_ON(ck, CK_LOOK_WRITES);
}

int lab_ck_write_disk(struct lab_ck *ck, uint32_t block, const void *buf)
{
	if (lab_ck_looks(ck))
		return 0;
	if (ck->held[block % LAB_CK_HELD].name == block + 1)
		ck->held[block % LAB_CK_HELD].name = 0;
	return as_bd_write(ck->bd, (uint64_t)block * LAB_BLOCK, buf, LAB_BLOCK);
}

int lab_ck_write_home(struct lab_ck *ck, bool with_super)
{
	const uint8_t *data;
	uint32_t block = 0;

	if (lab_ck_looks(ck))
		return 0;
	for (uint32_t from = with_super ? 0 : 1; (data = lab_ck_dirty(ck, from, &block));
	     from = block + 1) {
		int rc = lab_ck_write_disk(ck, block, data);

		if (rc)
			return rc;
		as_free(ck->host, ck->page[block / LAB_CK_PAGE][block % LAB_CK_PAGE]);
		ck->page[block / LAB_CK_PAGE][block % LAB_CK_PAGE] = NULL;
		ck->dirty--;
	}
	return 0;
}

int lab_ck_flush(struct lab_ck *ck, enum lab_flush site)
{
	return ck->readonly ? 0 : lab_flush(ck->bd, &ck->opts, site);
}

uint32_t lab_ck_inode_csum(const struct lab_inode *node)
{
	return lab_crc_without(node, sizeof(*node), offsetof(struct lab_inode, csum));
}

static uint32_t inode_block(const struct lab_ck *ck, uint32_t ino)
{
	return ck->sb.inode_table_start + (ino - 1) / LAB_INODES_PER_BLOCK;
}

static size_t inode_off(uint32_t ino)
{
	return (size_t)((ino - 1) % LAB_INODES_PER_BLOCK) * LAB_INODE_BYTES;
}

int lab_ck_get_inode(struct lab_ck *ck, uint32_t ino, struct lab_inode *node)
{
	const uint8_t *data;
	int rc = peek(ck, inode_block(ck, ino), &data);

	if (!rc)
		memcpy(node, data + inode_off(ino), sizeof(*node));
	return rc;
}

int lab_ck_put_inode(struct lab_ck *ck, uint32_t ino, const struct lab_inode *node)
{
	uint8_t buf[LAB_BLOCK];
	struct lab_inode copy = *node;
	int rc = lab_ck_read(ck, inode_block(ck, ino), buf);

	if (rc)
		return rc;
	copy.csum = lab_ck_inode_csum(&copy);
	memcpy(buf + inode_off(ino), &copy, sizeof(copy));
	return lab_ck_write(ck, inode_block(ck, ino), buf);
}
