/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * witness: a wrapper that also writes every change of a disk into memory which outlives the process
 * (and the kernel) that makes it. When these changes are applied to the disk as it was in the
 * beginning, the result is the disk at the moment of death.
 */
#ifndef AS_DISK_WITNESS_H
#define AS_DISK_WITNESS_H

#include <assay/target.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain memory. A record counts when `len` includes it. All zeros is empty. */
struct as_witness_area {
	volatile uint64_t len;
	volatile uint32_t full; /* something did not fit: the contents are of no use */
	uint8_t data[] __attribute__((aligned(8)));
};

struct as_witness;

/* `room_bytes` is the size of the whole area, which is emptied. `inner` must outlive it. */
struct as_witness *as_witness_new(struct as_bd *inner, struct as_witness_area *area,
				  size_t room_bytes);
void as_witness_free(struct as_witness *witness); /* takes NULL */
struct as_bd *as_witness_bd(struct as_witness *witness);

/* The memory for what the next writes leave here is touched, so that they do not wait for it: to
 * touch a page of it may need a lock of the process (serve_pipe.h). Any thread may call this. */
void as_witness_expect(struct as_witness *witness);

/* When the disk goes back to an earlier state, so must its record. */
uint64_t as_witness_len(const struct as_witness *witness);
void as_witness_truncate(struct as_witness *witness, uint64_t len);

/* Applies all changes to another disk. False: the record is not complete, or somebody has
 * overwritten it. */
bool as_witness_apply(const struct as_witness_area *area, size_t room_bytes, struct as_bd *to);

#endif
