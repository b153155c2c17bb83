/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * generic: the healthy disk that damages begin with (SWIFT, Table 4 and Figure 4): every kind of
 * inode, a file of 278 KiB, a hard and a symbolic link, a directory with 100 files.
 */
#ifndef AS_DAMAGE_GENERIC_H
#define AS_DAMAGE_GENERIC_H

#include "base/buf.h"
#include "base/err.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stdint.h>

struct as_generic {
	struct as_disk *disk;
	struct as_disk *fresh; /* as mkfs left it */
	struct as_buf note; /* why the tree is not on it; "": it is */
};

/* AS_EUSE: nobody knows how to make one of that type. AS_ELACK: a program for it is missing. */
AS_MUST_CHECK int as_generic_make(struct as_chunks *store, const char *type, uint64_t size_bytes,
				  struct as_generic *out, struct as_err *err);

enum as_generic_kind {
	AS_GENERIC_PLAIN, /* as_generic_make() */
	AS_GENERIC_RICH, /* deep trees, extended attributes, trees of extents, large directories */
	AS_GENERIC_DIRTY, /* the same, with a journal that is to be replayed, and orphans */
	AS_GENERIC_KINDS
};
const char *as_generic_kind_name(enum as_generic_kind kind);
bool as_generic_kind_find(const char *name, enum as_generic_kind *kind);
/* AS_EUSE: nobody knows how to make that kind of that type. */
AS_MUST_CHECK int as_generic_make_kind(struct as_chunks *store, const char *type, uint64_t size,
				       enum as_generic_kind kind, struct as_generic *out,
				       struct as_err *err);
void as_generic_free(struct as_generic *generic);

/* Adds the workload that makes it, as text. */
void as_generic_workload(struct as_buf *out);

/* ---- What is on it --------------------------------------------------------------------------- */

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

#endif
