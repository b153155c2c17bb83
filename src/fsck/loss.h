/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loss: what a repair lost (SWIFT's completeness, by our own knowledge of what was there). Files
 * that the damage did not touch must be there after the repair, byte for byte, and under names that
 * the damage did not touch either.
 */
#ifndef AS_FSCK_LOSS_H
#define AS_FSCK_LOSS_H

#include "base/buf.h"
#include "damage/damage.h"
#include "disk/cow.h"

struct as_loss;

/* What a checker frees if it has no name left. */
enum as_loss_drops { AS_LOSS_DROPS_NOTHING, AS_LOSS_DROPS_EMPTY, AS_LOSS_DROPS_ALL };

/* The tree of a healthy disk. NULL: no description of the type reads it. */
struct as_loss *as_loss_new(const char *type, struct as_disk *disk, enum as_loss_drops drops);
void as_loss_free(struct as_loss *loss); /* takes NULL */

struct as_loss_found {
	unsigned files; /* files of which something is missing, those that were damaged, too */
	unsigned unexcused; /* of these: those that the damage did not touch, and are nowhere */
	unsigned moved; /* names that the damage did not touch, and that are not there any more */
	struct as_buf first; /* the first of those, in words */
	struct as_buf words; /* all, a line each */
};

void as_loss_found_free(struct as_loss_found *found);
/* Compares the tree of a repaired disk with the healthy one. */
void as_loss_look(struct as_loss *loss, const struct as_damage *damage, struct as_disk *repaired,
		  struct as_loss_found *found);

/* Finds out what the damage touches; then: whether it touches the name, what it leads to, or
 * another name of that. */
void as_loss_mark(struct as_loss *loss, const struct as_damage *damage);
enum as_loss_mark { AS_LOSS_UNKNOWN, AS_LOSS_TOUCHED, AS_LOSS_UNTOUCHED };
enum as_loss_mark as_loss_marked(const struct as_loss *loss, const char *path);

#endif
