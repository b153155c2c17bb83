/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_xattr.c: the part of pass 1 that looks into attribute blocks. A block with a sound structure
 * and a wrong checksum gets a new checksum. Any other damaged block is dropped, because a list that
 * ends at the damage could look complete and be wrong.
 */
#include "crc.h"
#include "fsck_state.h"

#include <string.h>

static bool seen_before(const uint8_t *buf, uint32_t end, const struct lab_xattr *entry)
{
	for (uint32_t off = sizeof(struct lab_xattr_head); off < end;) {
		const struct lab_xattr *other = (const struct lab_xattr *)(buf + off);

		if (other->name_len == entry->name_len &&
		    !memcmp(other->data, entry->data, entry->name_len))
			return true;
		off += LAB_XATTR_LEN(other->name_len, other->value_len);
	}
	return false;
}

/* NULL, or the reason why it is wrong. */
static const char *judge(const uint8_t *buf, uint32_t ino)
{
	const struct lab_xattr_head *head = (const struct lab_xattr_head *)buf;
	uint32_t off = sizeof(*head);

	if (head->magic != LAB_XATTR_MAGIC)
		return "magic number";
	if (head->ino != ino)
		return "of another inode";
	while (off + sizeof(struct lab_xattr) <= LAB_BLOCK) {
		const struct lab_xattr *entry = (const struct lab_xattr *)(buf + off);

		if (!entry->name_len)
			break;
		if (off + LAB_XATTR_LEN(entry->name_len, entry->value_len) > LAB_BLOCK)
			return "entry past the end";
		if (memchr(entry->data, 0, entry->name_len))
			return "impossible name";
		if (seen_before(buf, off, entry))
			return "a name twice";
		off += LAB_XATTR_LEN(entry->name_len, entry->value_len);
	}
	return head->used_bytes == off ? NULL : "length";
}

int lab_ck_check_xattr(struct lab_ck *ck, uint32_t ino, struct lab_inode *node)
{
	uint8_t buf[LAB_BLOCK] __attribute__((aligned(8)));
	struct lab_xattr_head *head = (struct lab_xattr_head *)buf;
	uint32_t block = node->xattr_block, csum;
	const char *why;
	int rc = lab_ck_read(ck, block, buf);

	if (rc)
		return rc;
	why = judge(buf, ino);
	if (why) {
		LAB_CK_PROBLEM(ck, XATTR_BAD, .ino = ino, .block = block, .text = why);
		lab_ck_unclaim(ck, block);
		node->xattr_block = 0;
		return 0;
	}
	csum = lab_crc_without(buf, LAB_BLOCK, offsetof(struct lab_xattr_head, csum));
	if (csum == head->csum)
		return 0;
	LAB_CK_PROBLEM(ck, XATTR_CSUM, .ino = ino, .block = block);
	head->csum = csum;
	return lab_ck_write(ck, block, buf);
}
