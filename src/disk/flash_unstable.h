/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flash_unstable: bits of a flash that read now so and now otherwise, after a power cut within a
 * program or an erase.
 *
 * Method. Which bytes are being changed is noted on the device itself, in a sector that the flash
 * does not use. So the note is a part of every crash state, and needs no way of its own from the
 * record to the recovery. Of the bits of those bytes that are programmed, about every second one
 * reads as erased in some of the reads. In which of them is a question of the phase: what checks
 * bytes in one read and uses those of a later one meets a phase in which they differ.
 *
 * Invariants
 *   1. The answers follow from the bytes of the device and from the calls: a recovery that is
 *      repeated reads the same.
 *   2. The first programmed bit of the range always reads as programmed: whoever looks at all of
 *      it sees that it is not erased.
 *   3. What is programmed or erased as a whole afterwards is stable.
 */
#ifndef AS_DISK_FLASH_UNSTABLE_H
#define AS_DISK_FLASH_UNSTABLE_H

#include "base/err.h"

#include <assay/bd.h>
#include <stdbool.h>
#include <stdint.h>

#define AS_UNSTABLE_PHASES 4u

struct as_unstable {
	struct as_bd *bd;
	uint64_t note_at; /* a sector */
	bool known; /* the note was read */
	uint64_t off, len; /* len 0: nothing is unstable */
	unsigned phase;
	uint32_t reads; /* of them, so far */
};

/* From now on these bytes are unstable, in this phase. */
AS_MUST_CHECK int as_unstable_set(struct as_unstable *u, uint64_t off, uint64_t len,
				  unsigned phase);
/* These bytes are what they are, if any of them was not. */
AS_MUST_CHECK int as_unstable_end(struct as_unstable *u, uint64_t off, uint64_t len);
/* Bytes as they are beneath (programmed bits are 1), which become what is read. */
AS_MUST_CHECK int as_unstable_read(struct as_unstable *u, uint64_t off, unsigned char *buf,
				   uint64_t len);
/* The device has other contents. */
void as_unstable_forget(struct as_unstable *u);

#endif
