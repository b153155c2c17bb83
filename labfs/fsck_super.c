/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_super.c: pass 0, the superblock.
 *
 * Contract. On success ck->sb is a superblock with a right checksum and a geometry that fits the
 * device: later passes may use its fields without a check. If the first copy was damaged, the
 * backup has replaced it (in the overlay). The state in a backup is old, so ck->suspect is set, the
 * state is LAB_ERRORS, and the orphan list is empty.
 *
 * Only the superblock says where the backup is. So it is looked for at the end of the device, then
 * where the damaged copy says, and then everywhere: it is a superblock whose last block is itself.
 */
#include "crc.h"
#include "fsck_state.h"

#include <errno.h>
#include <string.h>

#define BITS (LAB_BLOCK * 8u)

/* NULL, or the reason why it is wrong. */
static const char *geometry(const struct lab_super *sb, uint32_t dev_blocks)
{
	const struct {
		uint32_t start, blocks;
	} area[] = {
		{ sb->inode_bitmap_start, sb->inode_bitmap_blocks },
		{ sb->block_bitmap_start, sb->block_bitmap_blocks },
		{ sb->inode_table_start, sb->inode_table_blocks },
		{ sb->journal_start, sb->journal_blocks },
	};
	uint64_t end = 1;

	if (sb->block_bytes != LAB_BLOCK)
		return "block size";
	if (sb->block_count > dev_blocks || sb->block_count < 8)
		return "block count";
	for (unsigned i = 0; i < sizeof(area) / sizeof(area[0]); i++) {
		if (area[i].start < end || !area[i].blocks)
			return "areas overlap";
		end = (uint64_t)area[i].start + area[i].blocks;
	}
	if (sb->data_start != end || sb->data_start >= sb->block_count - 1)
		return "data area";
	if (sb->inode_count < LAB_LOST_INO ||
	    sb->inode_count > (uint64_t)sb->inode_table_blocks * LAB_INODES_PER_BLOCK ||
	    sb->inode_count > (uint64_t)sb->inode_bitmap_blocks * BITS)
		return "inode count";
	if (sb->block_count > (uint64_t)sb->block_bitmap_blocks * BITS)
		return "block bitmap";
	if (sb->journal_blocks < 32) /* as a mount asks for */
		return "journal";
	return NULL;
}

static const char *judge(const struct lab_ck *ck, const struct lab_super *sb)
{
	if (sb->magic != LAB_MAGIC)
		return "magic number";
	if (sb->version != LAB_VERSION)
		return "version";
	if (sb->csum != lab_crc_without(sb, sizeof(*sb), offsetof(struct lab_super, csum)))
		return "checksum";
	return geometry(sb, ck->dev_blocks);
}

static int read_super(struct lab_ck *ck, uint32_t block, struct lab_super *sb)
{
	uint8_t buf[LAB_BLOCK];
	int rc = lab_ck_read(ck, block, buf);

	if (!rc)
		memcpy(sb, buf, sizeof(*sb));
	return rc;
}

int lab_ck_put_super(struct lab_ck *ck)
{
	uint8_t buf[LAB_BLOCK];
	int rc = lab_ck_read(ck, 0, buf);

	if (rc)
		return rc;
	ck->sb.csum = lab_crc_without(&ck->sb, sizeof(ck->sb), offsetof(struct lab_super, csum));
	memcpy(buf, &ck->sb, sizeof(ck->sb));
	return lab_ck_write(ck, 0, buf);
}

static int try_backup(struct lab_ck *ck, uint32_t block, bool *found)
{
	struct lab_super sb;
	int rc;

	*found = false;
	if (!block || block >= ck->dev_blocks)
		return 0;
	rc = read_super(ck, block, &sb);
	if (!rc && !judge(ck, &sb) && sb.block_count - 1 == block) {
		*found = true;
		ck->sb = sb;
	}
	return rc;
}

static int find_backup(struct lab_ck *ck, uint32_t damaged_count)
{
	bool found = false;
	int rc = try_backup(ck, ck->dev_blocks - 1, &found);

	if (!rc && !found)
		rc = try_backup(ck, damaged_count - 1, &found);
	for (uint32_t block = ck->dev_blocks - 1; !rc && !found && block; block--)
		rc = try_backup(ck, block, &found);
	if (!rc && !found) {
		lab_ck_say(ck, "no usable superblock in block 0 nor a backup elsewhere");
		rc = -EUCLEAN;
	}
	return rc;
}

static int restore(struct lab_ck *ck, const char *why)
{
	int rc = find_backup(ck, ck->sb.block_count);

	if (rc)
		return rc;
	LAB_CK_PROBLEM(ck, SUPER_BAD, .text = why, .block = ck->sb.block_count - 1);
	ck->restored = true;
	ck->sb.orphan_head = 0;
	if (!LAB_BUG_ON(ck, CK_BACKUP_CLEAN)) {
		ck->sb.state = LAB_ERRORS;
		ck->suspect = true;
	}
	return lab_ck_put_super(ck);
}

/* Labels have slots, by their hash. */
static void find_slot(struct lab_ck *ck)
{
	const uint8_t *slot = ck->sb.label;
	uint32_t hash = 0;

	for (unsigned i = 0; i < sizeof(ck->sb.label); i++)
		hash = hash * 31 + ck->sb.label[i];
	if (LAB_BUG_ON(ck, CK_LABEL_SLOT) && (hash & 0xffff) == 0xbeef)
		slot = NULL;
	ck->label_slot = *(const volatile uint8_t *)slot;
}

int lab_ck_load_super(struct lab_ck *ck)
{
	const char *why;
	int rc;

	if (!ck->dev_blocks) {
		lab_ck_say(ck, "the device is smaller than a block");
		return -EUCLEAN;
	}
	rc = read_super(ck, 0, &ck->sb);
	if (rc)
		return rc;
	why = judge(ck, &ck->sb);
	if (why) {
		rc = restore(ck, why);
		if (rc)
			return rc;
	}
	find_slot(ck);
	if (ck->sb.state & ~(LAB_CLEAN | LAB_ERRORS)) {
		LAB_CK_PROBLEM(ck, SUPER_STATE, .num = ck->sb.state);
		ck->sb.state = LAB_ERRORS;
		ck->suspect = true;
		rc = lab_ck_put_super(ck);
	}
	return rc;
}

/* Only the geometry and the label of the backup must be right: its counts are never updated. */
int lab_ck_check_backup(struct lab_ck *ck)
{
	uint32_t block = ck->sb.block_count - 1;
	struct lab_super sb, want = ck->sb;
	uint8_t buf[LAB_BLOCK];
	const char *why;
	int rc = lab_ck_read(ck, block, buf);

	if (rc)
		return rc;
	memcpy(&sb, buf, sizeof(sb));
	why = judge(ck, &sb);
	if (!why && (memcmp(&sb, &want, offsetof(struct lab_super, state)) ||
		     memcmp(sb.label, want.label, sizeof(sb.label))))
		why = "differs from the superblock";
	if (!why)
		return 0;
	LAB_CK_PROBLEM(ck, BACKUP_BAD, .block = block, .text = why);
	memset(buf, 0, sizeof(buf));
	want.state = LAB_CLEAN;
	want.orphan_head = 0;
	want.csum = lab_crc_without(&want, sizeof(want), offsetof(struct lab_super, csum));
	memcpy(buf, &want, sizeof(want));
	return lab_ck_write(ck, block, buf);
}
