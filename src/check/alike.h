/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alike: how much the power cuts of an operation are worth, by what was judged before. Only where
 * a budget bounds them anyway, and the user has not said which (struct as_check_options, `falls`).
 *
 * Two operations are the same to a power cut if their records make the same requests in the same
 * places and order, and the same may be left: then their crash states differ in times and random
 * numbers alone. A kernel puts both on its disks, so they are never the same bytes. `create /a` and
 * `open /a O_CREAT` are the same; so is the opening of a file after what came before it. The first
 * is judged, and of the others one in AS_ALIKE_SAMPLE. That rests on no proof: what is left out is
 * counted and told, and "all" is not said.
 *
 * Two operations are of one kind if they are the same operation, with any arguments, and their
 * records have as many flushes and about as many writes. The first AS_ALIKE_NEW of a kind may spend
 * the whole budget, and so may one in AS_ALIKE_SAMPLE of those after them; the others have
 * AS_ALIKE_LEAST recoveries. So all crash states of a kind are looked at now and then, and some of
 * every operation.
 *
 * The counters are in memory that all workers of a check share. They only choose what is spent, so
 * a worker that dies leaves nothing that is wrong.
 */
#ifndef AS_CHECK_ALIKE_H
#define AS_CHECK_ALIKE_H

#include "base/hash.h"
#include "recording/record.h"

#define AS_ALIKE_SLOTS (1u << 16)
#define AS_ALIKE_SAMPLE 8u
#define AS_ALIKE_NEW 2u
#define AS_ALIKE_LEAST 4u

/* All zeros: nothing was judged. When it is full, what is new stays new. */
struct as_alike {
	struct {
		uint64_t key; /* 0: free */
		uint64_t n;
	} slot[AS_ALIKE_SLOTS];
};

/* Counts, and tells how many there were before. */
uint64_t as_alike_count(struct as_alike *alike, uint64_t key);

/* What a record is known by; legal: what may be left after its last operation, exactly. */
uint64_t as_alike_same(const struct as_recording *recording, struct as_digest legal);
uint64_t as_alike_kind(const struct as_recording *recording);

/* What may be spent on a record, of `budget`; 0: nothing, it is the same as one before. */
uint64_t as_alike_budget(struct as_alike *alike, const struct as_recording *recording,
			 struct as_digest legal, uint64_t budget);

#endif
