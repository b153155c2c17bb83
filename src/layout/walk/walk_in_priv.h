/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walk_in_priv: a walk from inside, for walk.c and fields.c. */
#ifndef AS_LAYOUT_WALK_WALK_IN_PRIV_H
#define AS_LAYOUT_WALK_WALK_IN_PRIV_H

#include "base/table.h"
#include "layout/walk/walk_priv.h"

#define WALK_COMPLAINTS_MAX 8u

struct as_disk_walk {
	struct as_disk *disk;
	const struct as_desc *desc;
	struct as_fields *out;
	struct as_err *err;
	int rc; /* an error of the description; nothing is emitted after it */
	uint64_t var[WALK_VARS_MAX];
	struct as_table seen;
	struct as_buf scratch;
	unsigned complaints;
};

/* Emits the structures whose description says where they are. */
void as_walk_placed(struct as_disk_walk *walk);

#endif
