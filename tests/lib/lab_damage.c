/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lab_damage: see lab_damage.h. */
#include "tests/lib/lab_damage.h"

uint32_t t_roll(struct dice *dice, uint32_t n)
{
	dice->state ^= dice->state << 13;
	dice->state ^= dice->state >> 7;
	dice->state ^= dice->state << 17;
	return (uint32_t)((dice->state >> 16) % n);
}

struct dice t_dice(uint64_t seed)
{
	struct dice d = { seed * 0x9e3779b97f4a7c15u + 1 };

	for (int i = 0; i < 8; i++)
		t_roll(&d, 2);
	return d;
}

/* Mostly where it hurts: the metadata, which is a small part of the disk. The image asked is the
 * undamaged one. */
static uint32_t pick_block(const struct img *img, struct dice *d)
{
	static const uint32_t dirs[] = { I_ROOT, I_LOST, I_A, I_B, I_C, I_MANY, I_EMPTY };
	const struct lab_inode *node;

	switch (t_roll(d, 8)) {
	case 0:
		return t_roll(d, img->blocks);
	case 1:
	case 2:
		return 3 + t_roll(d, 3); /* the inodes in use */
	case 3:
		return 1 + t_roll(d, 2);
	case 4:
		return t_roll(d, 8) ? 3 + 8 + t_roll(d, 3) : t_roll(d, 2) ? 0 : img->blocks - 1;
	case 5:
		node = t_img_inode(img, t_roll(d, 2) ? I_BIG : I_SPARSE);
		return node->ptr[LAB_DIRECT + (node == t_img_inode(img, I_SPARSE))];
	case 6:
		return t_img_inode(img, dirs[t_roll(d, 7)])->ptr[0];
	default:
		return 43 + t_roll(d, 70); /* data in use */
	}
}

uint32_t t_pick_number(const struct img *img, struct dice *d)
{
	switch (t_roll(d, 5)) {
	case 0:
		return t_roll(d, 4);
	case 1:
		return t_roll(d, SAMPLE_INODES + 2);
	case 2:
		return t_roll(d, img->blocks + 2);
	case 3:
		return 43 + t_roll(d, 70);
	default:
		return t_roll(d, UINT32_MAX);
	}
}

static void damage_once(struct img *img, const struct img *sound, struct dice *d)
{
	uint8_t *block = t_img_block(img, pick_block(sound, d));
	uint32_t number;

	switch (t_roll(d, 8)) {
	case 0:
		block[t_roll(d, LAB_BLOCK)] ^= (uint8_t)(1u << t_roll(d, 8));
		break;
	case 1:
		block[t_roll(d, LAB_BLOCK)] = (uint8_t)t_roll(d, 256);
		break;
	case 2:
	case 3:
	case 4:
		number = t_pick_number(img, d);
		memcpy(block + t_roll(d, LAB_BLOCK / 4) * 4, &number, 4);
		break;
	case 5:
		number = t_pick_number(img, d);
		memcpy(block + t_roll(d, LAB_BLOCK / 2) * 2, &number, 2);
		break;
	case 6:
		for (unsigned i = 0, n = t_roll(d, LAB_BLOCK); i < n; i++)
			block[i] = (uint8_t)t_roll(d, 256);
		break;
	default:
		if (t_roll(d, 2))
			memset(block, 0, LAB_BLOCK);
		else
			memmove(block, t_img_block(img, pick_block(sound, d)), LAB_BLOCK);
	}
}

void t_damage_randomly(struct img *img, const struct img *sound, uint64_t seed)
{
	struct lab_inode *table = t_img_block(img, t_img_super(sound)->inode_table_start);
	struct dice d = t_dice(seed);

	memcpy(img->data, sound->data, SAMPLE_BYTES);
	for (uint32_t n = 1 + t_roll(&d, 6); n; n--)
		damage_once(img, sound, &d);
	/* Half of the time by somebody who knows about checksums. */
	if (t_roll(&d, 2))
		for (struct lab_inode *node = table; node < table + I_FREE - 1; node++)
			node->csum = lab_crc_without(node, sizeof(*node),
						     offsetof(struct lab_inode, csum));
	if (!t_roll(&d, 4) && t_img_super(img)->magic == LAB_MAGIC)
		t_img_seal_super(img, 0);
}
