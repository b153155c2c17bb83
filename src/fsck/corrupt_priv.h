/* SPDX-License-Identifier: GPL-2.0-or-later */
/* corrupt_priv: what the models share. */
#ifndef AS_FSCK_CORRUPT_PRIV_H
#define AS_FSCK_CORRUPT_PRIV_H

#include "fsck/corrupt.h"
#include "layout/field.h"

struct as_corrupt {
	const struct as_corrupt_row *row;
	struct as_corrupt_setup setup;
	struct as_fsck_subject *subject;
	void *own; /* of the model */
};

/* Adds an empty damage to a lot. It is good until the next one is added. */
struct as_damage *as_corrupt_add(struct as_corrupt_lot *lot, uint32_t base);
/* Takes over how `disk` differs from its base; an empty damage is removed again. Frees the disk. */
void as_corrupt_take(struct as_corrupt *c, struct as_corrupt_lot *lot, struct as_disk *disk);

/* The fields of a disk, by the description of the user's or of the type. */
AS_MUST_CHECK int as_corrupt_read_fields(const struct as_corrupt *c, struct as_disk *disk,
					 struct as_fields **out, struct as_err *err);

extern const struct as_corrupt_row as_corrupt_bits, as_corrupt_crash, as_corrupt_fields;
extern const struct as_corrupt_row as_corrupt_suite;

#endif
