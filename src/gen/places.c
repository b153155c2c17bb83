/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * places: see finish.h.
 *
 * Method. Offsets and sizes are drawn one by one, so two operations hardly ever meet at one byte,
 * and none is further away than the distributions reach. But files go wrong at places: at their
 * end, at the end of what was written before, at the size from which on there is one more level of
 * pointers, at the largest size. So the workload is gone through once more when it is finished. Of
 * the operations with a place in a file,
 *   - `again` percent begin or end where an earlier one on the same descriptor began or ended (a
 *     truncate by path: one on any descriptor), or one byte beside it;
 *   - `far` percent begin or end at a place that only large files have. For libraries that tell how
 *     large a file may be; elsewhere the end of the range is not known well enough.
 *
 * Invariant: a profile with 0 for both gets the same workloads as without this file.
 */
#include "gen/finish.h"

#include "gen/dist.h"

#define SLOTS 64 /* as many as a profile can have */
#define PLACES 4u /* that are remembered of a descriptor */
#define SPAN_MAX (1 << 20) /* bytes of an operation that was made to end at a place */
#define FAR_BITS 17 /* further away than what profiles draw */
#define FAR_BLOCKS 17 /* after a power of two */

struct spots {
	int64_t at[PLACES];
	unsigned n;
};

struct mover {
	const struct as_profile *profile;
	const struct as_traits *traits;
	struct as_choice *choice;
	struct spots slot[SLOTS], any;
};

/* What a place of an operation is: a range of bytes, a size, or nothing. */
enum extent { EXTENT_NONE, EXTENT_RANGE, EXTENT_SIZE };

static enum extent extent_of(const struct as_op *op)
{
	switch (op->code) {
	case AS_OP_PREAD:
	case AS_OP_PWRITE:
	case AS_OP_FALLOCATE:
	case AS_OP_COPY_FILE_RANGE:
		return EXTENT_RANGE;
	case AS_OP_PREADV2:
	case AS_OP_PWRITEV2:
		return op->off >= 0 ? EXTENT_RANGE : EXTENT_NONE; /* -1: where the descriptor is */
	case AS_OP_TRUNCATE:
	case AS_OP_FTRUNCATE:
		return EXTENT_SIZE;
	default:
		return EXTENT_NONE;
	}
}

static struct spots *places_of(struct mover *m, const struct as_op *op)
{
	if (op->code == AS_OP_TRUNCATE || op->fd < 0 || op->fd >= SLOTS || !m->slot[op->fd].n)
		return &m->any;
	return &m->slot[op->fd];
}

static void remember(struct spots *p, int64_t at)
{
	p->at[p->n++ % PLACES] = at;
}

static void note(struct mover *m, const struct as_op *op, enum extent extent)
{
	int64_t end = extent == EXTENT_RANGE ? as_op_end(op) : (int64_t)op->len;
	bool known = op->code != AS_OP_TRUNCATE && op->fd >= 0 && op->fd < SLOTS;

	remember(&m->any, end);
	if (known)
		remember(&m->slot[op->fd], end);
	if (known && extent == EXTENT_RANGE)
		remember(&m->slot[op->fd], op->off);
}

static bool has_far(const struct as_traits *traits)
{
	return traits->features & AS_FEAT_LIBRARY && traits->size_max < INT64_MAX;
}

/* The largest size, or one from which on a file may have one more level of pointers: a power of two
 * and some blocks. */
static int64_t far_place(const struct mover *m)
{
	int64_t max = (int64_t)m->traits->size_max;
	unsigned bits = 63 - (unsigned)__builtin_clzll((uint64_t)max | 1);

	if (bits < FAR_BITS || !as_choose(m->choice, 4))
		return max;
	return ((int64_t)1 << (FAR_BITS + as_choose(m->choice, bits - FAR_BITS + 1))) +
	       (int64_t)(512u << as_choose(m->choice, 4)) * as_choose(m->choice, FAR_BLOCKS);
}

static void move_to(const struct mover *m, struct as_op *op, enum extent extent, int64_t at)
{
	int64_t len = (int64_t)op->len;

	if (__builtin_add_overflow(at, (int64_t)as_choose(m->choice, 3) - 1, &at))
		at = INT64_MAX;
	if (at < 0)
		at = 0;
	if (extent == EXTENT_SIZE) {
		op->len = (uint64_t)at;
		return;
	}
	switch (as_choose(m->choice, 3)) {
	case 0:
		op->off = at;
		break;
	case 1: /* it ends there, and is as long as it was */
		op->off = at > len ? at - len : 0;
		break;
	default: /* it ends there, and begins where it did */
		if (at > op->off && at - op->off <= SPAN_MAX)
			op->len = (uint64_t)(at - op->off);
		else
			op->off = at;
	}
}

static void move(struct mover *m, struct as_op *op)
{
	enum extent extent = extent_of(op);
	const struct spots *p;

	if (extent == EXTENT_NONE)
		return;
	p = places_of(m, op);
	if (has_far(m->traits) && as_draw_chance(m->choice, m->profile->far))
		move_to(m, op, extent, far_place(m));
	else if (p->n && as_draw_chance(m->choice, m->profile->again))
		move_to(m, op, extent, p->at[as_choose(m->choice, p->n < PLACES ? p->n : PLACES)]);
	note(m, op, extent);
}

void as_places_move(struct as_seq *seq, const struct as_profile *profile,
		    const struct as_traits *traits, struct as_choice *choice)
{
	struct mover m = { .profile = profile, .traits = traits, .choice = choice };

	if (!profile->again && !profile->far)
		return;
	for (size_t i = 0; i < seq->n; i++)
		move(&m, &seq->ops[i]);
}
