/* SPDX-License-Identifier: GPL-2.0-or-later */
/* generic_priv: what is on the generic disk, for those who put it there. */
#ifndef AS_FSCK_GENERIC_PRIV_H
#define AS_FSCK_GENERIC_PRIV_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "fsck/generic.h"

#include <stdint.h>

struct as_generic_row {
	/* b, c, p, d, f, l (symbolic link), h (hard link), n (as many empty files as `n` says,
	 * whose names end in a number); 0 after the last */
	char kind;
	const char *path, *to;
	uint64_t n; /* of f: its size */
};

/* Longer than what an inode can hold. */
#define AS_GENERIC_LONG                                                                        \
	"/a-symbolic-link/that-is-too-long/to-be-kept-in-an-inode/and-has-a-block-of-its-own/" \
	"which-makes-it-another-kind"

extern const struct as_generic_row as_generic_tree[];
/* Adds the workload that makes the rows. */
void as_generic_tree_work(struct as_buf *out);
/* Byte `at` of every file. */
unsigned char as_generic_byte(uint64_t at);

/* Runs a workload on a library; open_end: it is not unmounted. */
AS_MUST_CHECK int as_generic_by_library(struct as_chunks *store, const char *type, uint64_t size,
					const char *workload, bool open_end, struct as_generic *out,
					struct as_err *err);
AS_MUST_CHECK int as_generic_fill_minix(struct as_disk *disk, struct as_err *err);

#endif
