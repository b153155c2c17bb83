/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This is include/assay/choice.h of version 3 of the interface, kept as it was. */
/*
 * choice.h: the one source of nondeterminism. Code that has several ways to go asks as_choose(). It
 * need not know who answers: a seed, an odometer that enumerates every combination, or a recorded
 * list.
 */
#ifndef ASSAY_CHOICE_H
#define ASSAY_CHOICE_H

struct as_choice {
	unsigned (*pick)(struct as_choice *choice, unsigned n);
};

/* One of 0..n-1; n >= 1. */
static inline unsigned as_choose(struct as_choice *choice, unsigned n)
{
	return choice->pick(choice, n);
}

#endif
