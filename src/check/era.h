/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * era: what tells a state apart besides its tree and what is legal: how many power cuts were
 * before it and, with --hash log, what a log may hold.
 *
 * A file system with a log, or with copies on write, keeps what it made stable since the mount,
 * also what is gone from the tree: `mkdir /a; sync; rmdir /a; sync` leaves the empty tree, and two
 * transactions. So with --hash log:
 *   - it counts how many operations made something stable since the mount, up to AS_ERA_SYNCS;
 *   - of the disks that a power cut leaves and that are recovered to the same tree, two are gone on
 *     from: that with the fewest writes on it, and the fuller one, with half a transaction perhaps;
 *   - what was gone on from is told apart by those, and by how often something was made stable
 *     before the power cut.
 */
#ifndef AS_CHECK_ERA_H
#define AS_CHECK_ERA_H

#include "check/check.h"

struct as_past;

#define AS_ERA_SYNCS 4u

struct as_era {
	bool counts; /* --hash log; else nothing but cuts is ever set */
	bool fuller; /* it begins with the fuller disk of two */
	uint8_t cuts; /* power cuts before it */
	uint8_t before; /* what `syncs` was at the last one */
	uint8_t syncs; /* operations that made something stable since the mount */
};

struct as_era as_era_first(enum as_check_hash hash);
/* After a power cut while the operation ran that has led there. */
struct as_era as_era_cut(struct as_era era, bool fuller);
/* Whether it is there to make something stable. */
bool as_era_makes_stable(const struct as_op *op);
/* After an operation; before, after: what is legal. A sync of nothing does not count. */
void as_era_step(struct as_era *era, const struct as_op *op, const struct as_past *before,
		 const struct as_past *after);

/* What a state is known by. */
struct as_digest as_check_key(const struct as_model *model, const struct as_past *past,
			      struct as_era era);

#endif
