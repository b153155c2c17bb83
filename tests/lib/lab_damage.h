/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_damage: damage of many kinds to an image, chosen by a seed.
 */
#ifndef AS_TESTS_LIB_LAB_DAMAGE_H
#define AS_TESTS_LIB_LAB_DAMAGE_H

#include "tests/lib/lab_sample.h"

struct dice {
	uint64_t state;
};

uint32_t t_roll(struct dice *dice, uint32_t n);

struct dice t_dice(uint64_t seed);

/* A number that may mean something here. */
uint32_t t_pick_number(const struct img *img, struct dice *d);

/* Makes `img` a damaged copy of `sound`. The same seed does the same damage. */
void t_damage_randomly(struct img *img, const struct img *sound, uint64_t seed);

#endif
