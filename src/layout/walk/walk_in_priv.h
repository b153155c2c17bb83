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
	struct as_geometry geometry;
	unsigned depth; /* of structures that hold others */
};

/* One instance, while its fields are added. */
struct as_walk_instance {
	struct as_disk_walk *walk;
	const struct as_desc_struct *s;
	uint64_t off, len;
	struct as_field *base; /* what its fields have in common */
	size_t first; /* of its fields in the result */
	uint64_t end; /* of the field before, for "." */
	uint64_t *place; /* of each described field in the result plus 1; 0: it is not there */
};

uint64_t as_walk_eval(const struct as_walk_instance *in, int node);

/* ---- walk_plain.c ---- */

/* Emits the structures whose description says where they are. */
void as_walk_placed(struct as_disk_walk *walk);
/* After the fields. False: a field does not have the value that makes it an instance. */
bool as_walk_is_there(const struct as_walk_instance *in);
/* The checksums that the description tells how to compute. */
void as_walk_sums(struct as_walk_instance *in);
/* Emits what it holds. */
void as_walk_holds(const struct as_walk_instance *in);

#endif
