/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random_damage.h: damage of many kinds to an image, chosen by a seed.
 */
#ifndef TESTS_LABFS_RANDOM_DAMAGE_H
#define TESTS_LABFS_RANDOM_DAMAGE_H

#include "sample_image.h"

struct dice {
	uint64_t state;
};

static inline uint32_t roll(struct dice *dice, uint32_t n)
{
	dice->state ^= dice->state << 13;
	dice->state ^= dice->state >> 7;
	dice->state ^= dice->state << 17;
	return (uint32_t)((dice->state >> 16) % n);
}

static inline struct dice dice(uint64_t seed)
{
	struct dice d = { seed * 0x9e3779b97f4a7c15u + 1 };

	for (int i = 0; i < 8; i++)
		roll(&d, 2);
	return d;
}

/* Mostly blocks of metadata, which is a small part of the disk, because damage there matters most.
 * The image is the undamaged one. */
static inline uint32_t pick_block(const struct img *img, struct dice *d)
{
	static const uint32_t dirs[] = { I_ROOT, I_LOST, I_A, I_B, I_C, I_MANY, I_EMPTY };
	const struct lab_inode *node;

	switch (roll(d, 8)) {
	case 0:
		return roll(d, img->blocks);
	case 1:
	case 2:
		return 3 + roll(d, 3); /* the inodes in use */
	case 3:
		return 1 + roll(d, 2);
	case 4:
		return roll(d, 8) ? 3 + 8 + roll(d, 3) : roll(d, 2) ? 0 : img->blocks - 1;
	case 5:
		node = img_inode(img, roll(d, 2) ? I_BIG : I_SPARSE);
		return node->ptr[LAB_DIRECT + (node == img_inode(img, I_SPARSE))];
	case 6:
		return img_inode(img, dirs[roll(d, 7)])->ptr[0];
	default:
		return 43 + roll(d, 70); /* data in use */
	}
}

/* A number that may have a meaning here. */
static inline uint32_t pick_number(const struct img *img, struct dice *d)
{
	switch (roll(d, 5)) {
	case 0:
		return roll(d, 4);
	case 1:
		return roll(d, SAMPLE_INODES + 2);
	case 2:
		return roll(d, img->blocks + 2);
	case 3:
		return 43 + roll(d, 70);
	default:
		return roll(d, UINT32_MAX);
	}
}

static inline void damage_once(struct img *img, const struct img *sound, struct dice *d)
{
	uint8_t *block = img_block(img, pick_block(sound, d));
	uint32_t number;

	switch (roll(d, 8)) {
	case 0:
		block[roll(d, LAB_BLOCK)] ^= (uint8_t)(1u << roll(d, 8));
		break;
	case 1:
		block[roll(d, LAB_BLOCK)] = (uint8_t)roll(d, 256);
		break;
	case 2:
	case 3:
	case 4:
		number = pick_number(img, d);
		memcpy(block + roll(d, LAB_BLOCK / 4) * 4, &number, 4);
		break;
	case 5:
		number = pick_number(img, d);
		memcpy(block + roll(d, LAB_BLOCK / 2) * 2, &number, 2);
		break;
	case 6:
		for (unsigned i = 0, n = roll(d, LAB_BLOCK); i < n; i++)
			block[i] = (uint8_t)roll(d, 256);
		break;
	default:
		if (roll(d, 2))
			memset(block, 0, LAB_BLOCK);
		else
			memmove(block, img_block(img, pick_block(sound, d)), LAB_BLOCK);
	}
}

/* Makes `img` a damaged copy of `sound`. The same seed does the same damage. */
static inline void damage_randomly(struct img *img, const struct img *sound, uint64_t seed)
{
	struct lab_inode *table = img_block(img, img_super(sound)->inode_table_start);
	struct dice d = dice(seed);

	memcpy(img->data, sound->data, SAMPLE_BYTES);
	for (uint32_t n = 1 + roll(&d, 6); n; n--)
		damage_once(img, sound, &d);
	/* In half of the cases the checksums are right again. */
	if (roll(&d, 2))
		for (struct lab_inode *node = table; node < table + I_FREE - 1; node++)
			node->csum = lab_crc_without(node, sizeof(*node),
						     offsetof(struct lab_inode, csum));
	if (!roll(&d, 4) && img_super(img)->magic == LAB_MAGIC)
		img_seal_super(img, 0);
}

#endif
