/* SPDX-License-Identifier: GPL-2.0-or-later */
/* generic_priv: what is on the generic disk, for those who put it there. */
#ifndef AS_FSCK_GENERIC_PRIV_H
#define AS_FSCK_GENERIC_PRIV_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"
#include "fsck/generic.h"

#include <stdint.h>

struct as_fstype;

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
/* The data of a file: the pattern that the workload writes. Its row, and the byte to begin with. */
void as_generic_data(const struct as_generic_row *row, uint64_t at, void *out, size_t len);
/* Adds the workload that makes the rows. */
void as_generic_tree_work(struct as_buf *out);

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
