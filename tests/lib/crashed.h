/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crashed: a short workload on a kernel's file system, recorded, and the disks that a power cut can
 * leave of it. For children (mounted.h). */
#ifndef AS_TESTS_LIB_CRASHED_H
#define AS_TESTS_LIB_CRASHED_H

#include "tests/lib/mounted.h"

#include "cuts/perm.h"

#include <fcntl.h>
#include <sys/stat.h>

struct crashed {
	struct as_target *target;
	const struct as_fstype *type;
	struct as_medium *medium;
	struct as_disk *start;
	struct as_perm *perm;
};

void t_put_file(const char *path, size_t len, int fill, bool sync);

/* The smallest disk of that target, "ext4:mkfs=4k"; everything is recorded, the mount and the
 * unmount too. */
struct crashed t_crash_type(const char *spec);

void t_crashed_free(struct crashed *c);

/* Every `step`th state of a view; false from fn ends it. */
unsigned t_each_state(struct crashed *c, enum as_view view, unsigned step,
		      bool (*fn)(void *ctx, struct as_disk *disk, size_t cut), void *ctx);

#endif
