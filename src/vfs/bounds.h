/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bounds: a workload on a directory of the machine must not fill its disk. What an operation may
 * cost is known before it is carried out (op.def, COST). An operation that costs more than is left
 * is answered with AS_ERR_LIMIT and not carried out. What an operation has used stays used, also
 * when the workload removes it later.
 */
#ifndef AS_VFS_BOUNDS_H
#define AS_VFS_BOUNDS_H

#include "vfs/vfs.h"

/* What a workload may use of the machine, if nobody says otherwise: the time of one operation,
 * after which it hangs, and what it may write and make in a directory of the machine. */
#define AS_RUN_DEADLINE_MS 10000u
#define AS_BOUND_BYTES (UINT64_C(1) << 30)
#define AS_BOUND_ENTRIES UINT64_C(200000)

struct as_bounds {
	uint64_t bytes, entries; /* left */
	bool holes_cost; /* the file system fills holes: growing a file writes */
};

/* Hangs bounds (which must outlive it) on a vfs; NULL: none. */
void as_vfs_bind(struct as_vfs *vfs, struct as_bounds *bounds);

struct as_bounds_cost {
	uint64_t bytes, entries;
};

/* What the operation may cost; the vfs is asked for types and sizes where that matters. */
struct as_bounds_cost as_bounds_cost(struct as_vfs *vfs, const struct as_bounds *bounds,
				     const struct as_op *op);
bool as_bounds_allow(const struct as_bounds *bounds, const struct as_bounds_cost *cost);
void as_bounds_charge(struct as_bounds *bounds, const struct as_bounds_cost *cost,
		      const struct as_op *op, const struct as_outcome *out);

/* No more than a quarter of what is free on the file system of `path`. */
void as_bounds_spare(struct as_bounds *bounds, const char *path);

#endif
