/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * direct: see finish.h.
 *
 * Method. Offset, length and buffer of a transfer are drawn one by one, and three numbers are
 * hardly ever multiples of a block together: nearly all direct transfers would be refused. So the
 * workload is gone through once more when it is finished. A direct transfer gets
 *   - in `aligned` percent all three as multiples of one size, 512 to 4096 bytes;
 *   - else two of them so, and the third as it was drawn: a file system has to see each of the
 *     three; now and then all stay as they were drawn.
 * Other descriptors do not care where a buffer begins: theirs begins with its page.
 */
#include "gen/finish.h"

#include "gen/dist.h"
#include "work/arg.h"

#define SLOTS 64 /* as many as a profile can have */
#define GRAIN_MIN 512u
#define GRAINS 4 /* 512, 1024, 2048, 4096 */

enum spared { SPARE_OFF, SPARE_LEN, SPARE_MEM, SPARE_ALL, SPARES };

static bool is_transfer(const struct as_op *op)
{
	return as_op_table[op->code].moves == AS_MOVES_PLAIN;
}

static void align(struct as_op *op, uint64_t grain, enum spared spared)
{
	if (spared != SPARE_OFF && op->off > 0)
		op->off -= op->off % (int64_t)grain;
	if (spared != SPARE_LEN && op->len % grain)
		op->len += grain - op->len % grain;
	if (spared != SPARE_MEM)
		op->mem -= op->mem % grain;
}

static void draw(struct as_op *op, const struct as_profile *profile, struct as_choice *choice)
{
	bool whole = as_draw_chance(choice, profile->aligned);
	enum spared spared = whole ? SPARE_ALL : (enum spared)as_choose(choice, SPARES);

	if (whole || spared != SPARE_ALL)
		align(op, (uint64_t)GRAIN_MIN << as_choose(choice, GRAINS), spared);
}

void as_direct_align(struct as_seq *seq, const struct as_profile *profile, struct as_choice *choice)
{
	bool direct[SLOTS] = { false };

	for (size_t i = 0; i < seq->n; i++) {
		struct as_op *op = &seq->ops[i];

		if (op->code == AS_OP_OPEN && op->slot >= 0 && op->slot < SLOTS)
			direct[op->slot] = op->flags & AS_O_DIRECT;
		if (!is_transfer(op))
			continue;
		if (op->fd >= 0 && op->fd < SLOTS && direct[op->fd])
			draw(op, profile, choice);
		else
			op->mem = 0;
	}
}
