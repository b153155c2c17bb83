/* SPDX-License-Identifier: GPL-2.0-or-later */
/* show: the fields of a disk, and the difference of two disks, in words or as JSON lines. */
#ifndef AS_LAYOUT_SHOW_H
#define AS_LAYOUT_SHOW_H

#include "layout/field.h"

/* Which fields; NULL: all. */
struct as_fields_filter {
	const char *structure; /* "inode" */
	const char *path; /* of the file that they belong to */
};

/* Returns how many fields were shown. */
size_t as_fields_show(const struct as_fields *fields, struct as_disk *disk,
		      const struct as_fields_filter *filter, bool json, struct as_buf *out);

/* A disk with its fields. */
struct as_fielded {
	const struct as_fields *fields;
	struct as_disk *disk;
};

/* "inode 12 of /d/f1: i_mode was 0100644 (regular file), is 040644 (directory)": one line for each
 * field that differs, for each instance that only one of them has, and for other bytes that differ.
 * Returns the number of lines. */
size_t as_fields_diff(struct as_fielded a, struct as_fielded b,
		      const struct as_fields_filter *filter, bool json, struct as_buf *out);

#endif
