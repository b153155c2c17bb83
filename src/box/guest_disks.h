/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_disks: the fresh disks that a guest finds in its root. They are made here, once, so that no
 * guest has to run mkfs. */
#ifndef AS_BOX_GUEST_DISKS_H
#define AS_BOX_GUEST_DISKS_H

#include "base/buf.h"
#include "base/err.h"
#include "box/initramfs.h"

struct as_medium;

/* All zero is an empty list. */
struct as_guest_disks {
	struct as_initramfs_file *files; /* with one after the last that is all zero */
	size_t n, cap;
};

/* Makes a disk for the target `spec`, which is of a type of the kernel; `size_bytes` 0: the
 * target's own size. *fresh is the disk, to be freed by the caller. */
AS_MUST_CHECK int as_guest_disks_add(struct as_guest_disks *disks, const char *spec,
				     uint64_t size_bytes, struct as_medium **fresh,
				     struct as_err *err);
void as_guest_disks_free(struct as_guest_disks *disks);

#endif
