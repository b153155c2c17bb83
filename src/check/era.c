/* SPDX-License-Identifier: GPL-2.0-or-later */
/* era: see era.h. */
#include "check/era.h"

#include "legal/past.h"

const char *const as_check_hash_names[] = { "model", "log", "disk" };

struct as_era as_era_first(enum as_check_hash hash)
{
	return (struct as_era){ .counts = hash == AS_CHECK_HASH_LOG };
}

struct as_era as_era_cut(struct as_era era, bool fuller)
{
	return (struct as_era){ .counts = era.counts,
				.fuller = fuller,
				.cuts = (uint8_t)(era.cuts + 1),
				.before = era.syncs };
}

bool as_era_makes_stable(const struct as_op *op)
{
	if (as_op_makes_all_stable(op))
		return true;
	switch (as_op_table[op->code].persists) {
	case AS_PERSISTS_FILE:
	case AS_PERSISTS_DATA:
		return true;
	default:
		return false;
	}
}

void as_era_step(struct as_era *era, const struct as_op *op, const struct as_past *before,
		 const struct as_past *after)
{
	if (!era->counts || as_digest_eq(as_past_exact(before), as_past_exact(after)))
		return;
	/* A log is empty after an unmount. */
	if (op->code == AS_OP_UMOUNT || op->code == AS_OP_MOUNT)
		era->syncs = 0;
	else if (as_era_makes_stable(op) && era->syncs < AS_ERA_SYNCS)
		era->syncs++;
}

struct as_digest as_check_key(const struct as_model *model, const struct as_past *past,
			      struct as_era era)
{
	uint64_t since =
		(uint64_t)era.syncs << 16 | (uint64_t)era.before << 24 | (uint64_t)era.fuller << 32;

	return as_digest_add(as_digest_bind(as_model_digest_canonical(model),
					    (era.cuts + 1u) | since),
			     as_past_digest(past));
}
