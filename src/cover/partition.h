/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * partition: the partitions of an argument and of a result, as places in the dense table of counts.
 * Flags have none here: their combinations are kept whole (combo.h).
 */
#ifndef AS_COVER_PARTITION_H
#define AS_COVER_PARTITION_H

#include "calls/spec.h"

/* Places of numbers: not seen, negative, zero, none, 2^0 ... 2^63, then the boundaries, three for
 * each k from 1. 0 and 1 are already partitions; 2^1-1, and 2^1+1 = 2^2-1, would be counted
 * twice. */
enum {
	AS_NUM_UNSEEN,
	AS_NUM_NEGATIVE,
	AS_NUM_ZERO,
	AS_NUM_NULL, /* a number by reference: none */
	AS_NUM_LOG2, /* + k */
	AS_NUM_BOUND = AS_NUM_LOG2 + 64, /* + 3 * k + (0: -1, 1: exactly, 2: +1) */
	AS_NUM_PARTS = AS_NUM_BOUND + 3 * 64,
};

/* Places of results: success (or no byte), bytes by powers of two, errors by row of errno.def. */
enum { AS_OUT_OK, AS_OUT_LOG2, AS_OUT_ERRNO = AS_OUT_LOG2 + 64 };

enum as_time_part {
	AS_TIME_UNSEEN,
	AS_TIME_PART_NULL,
	AS_TIME_PART_NOW,
	AS_TIME_PART_OMIT,
	AS_TIME_PART_NEGATIVE,
	AS_TIME_PART_ZERO,
	AS_TIME_PART_32BIT, /* until 2038 */
	AS_TIME_PART_34BIT, /* until 2446, where ext4 ends */
	AS_TIME_PART_LARGE,
	AS_TIME_PART_BAD_NSEC,
	AS_TIME_PARTS,
};

enum as_name_part {
	AS_NAME_UNSEEN,
	AS_NAME_USER,
	AS_NAME_TRUSTED,
	AS_NAME_SECURITY,
	AS_NAME_SYSTEM,
	AS_NAME_OTHER,
	AS_NAME_EMPTY,
	AS_NAME_LONG,
	AS_NAME_PARTS,
};

enum as_id_part {
	AS_ID_UNSEEN,
	AS_ID_KEEP,
	AS_ID_ROOT,
	AS_ID_16BIT,
	AS_ID_32BIT,
	AS_ID_PARTS,
};

#define AS_FD_PARTS 8 /* enum as_fd_kind, and not seen */
#define AS_PATH_PARTS 8 /* bits of enum as_path_bits, and not seen */

unsigned as_partition_places(const struct as_spec_arg *arg);
unsigned as_partition_out_places(void);
/* Name of a place; false: it is not in use. *expected: see struct as_part; *bound: it belongs to
 * the space of boundaries. */
bool as_partition_name(const struct as_spec_arg *arg, unsigned place, char name[static 64],
		       bool *expected, bool *bound);
bool as_partition_out_name(const struct as_spec_family *family, unsigned place,
			   char name[static 64], bool *expected);

/* The row of errno.def; the last place is for errors that have no row. */
unsigned as_partition_errno(int err);

#endif
