/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alter: another value in a field of a disk, with checksums that fit or not, and words for it. */
#ifndef AS_LAYOUT_ALTER_H
#define AS_LAYOUT_ALTER_H

#include "layout/field.h"

/* How many ways there are to alter field i: the values worth trying (as_field_values()), and of a
 * name some others. */
size_t as_field_ways(const struct as_fields *fields, size_t i, struct as_disk *disk);
/* Alters the field in one of these ways, and adds words: "inode 12: i_mode: 0100644 becomes 0".
 * With `seal`, the checksums that cover it are computed anew, unless it is a checksum itself.
 * Returns whether they were. */
bool as_field_alter(const struct as_fields *fields, size_t i, size_t way, bool seal,
		    struct as_disk *disk, struct as_buf *words);
/* The same with this number. */
bool as_field_alter_to(const struct as_fields *fields, size_t i, uint64_t value, bool seal,
		       struct as_disk *disk, struct as_buf *words);

/* Every byte exclusive-or'ed with this one: raw flash is kept so, with its erased value. */
void as_disk_turn_over(struct as_disk *disk, unsigned char erased);

#endif
