/* SPDX-License-Identifier: GPL-2.0-or-later */
/* generic_priv: the ways to put the tree on a disk. */
#ifndef AS_DAMAGE_GENERIC_PRIV_H
#define AS_DAMAGE_GENERIC_PRIV_H

#include "base/buf.h"
#include "base/err.h"
#include "damage/generic.h"
#include "disk/cow.h"

#include <stdint.h>

struct as_fstype;

/* Runs a workload on a library; open_end: it is not unmounted. */
AS_MUST_CHECK int as_generic_by_library(struct as_chunks *store, const char *type, uint64_t size,
					const char *workload, bool open_end, struct as_generic *out,
					struct as_err *err);
AS_MUST_CHECK int as_generic_fill_minix(struct as_disk *disk, struct as_err *err);

/* generic_kernel.c: a workload on the file system itself, where a kernel knows it. The result is
 * kept, with the fresh disk that belongs to it. *note says why it could not be: then *disk is what
 * mkfs made. */
AS_MUST_CHECK int as_generic_by_kernel(struct as_chunks *store, const struct as_fstype *type,
				       struct as_disk **fresh, struct as_disk **disk,
				       struct as_buf *note, struct as_err *err);

#endif
