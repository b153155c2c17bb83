/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * universe: all operations that may follow in a state, within bounds. What a path can be comes from
 * the state: each name that exists, and in each directory one that does not, the first of a list
 * that is free. So states differ less by names alone. Every second name of the list is long: a few
 * of them fill a block of a directory.
 */
#ifndef AS_CHECK_UNIVERSE_H
#define AS_CHECK_UNIVERSE_H

#include "base/err.h"
#include "model/model.h"
#include "work/seq.h"

struct as_universe {
	unsigned nodes; /* at most so many files and directories, besides those of a fresh one */
	unsigned fresh; /* those of a fresh one */
	unsigned slots; /* descriptors that may be open at once */
	unsigned long_bytes; /* of the long names */
	bool wide; /* more values of arguments */
	bool narrow; /* one value of each argument */
	const char *opts; /* that a remount tries, separated by blanks; NULL: none */
	bool has[AS_OP_COUNT];
	/* Inodes that are not named, by their number (start.h); NULL: all are. */
	const uint8_t *hidden;
	uint32_t n_hidden;
};

#define AS_UNIVERSE_NODES_MAX 16u
#define AS_UNIVERSE_SLOTS_MAX 8u

/* The usual operations on up to so many nodes of that file system; NULL: of any, and then only the
 * names of operations are right. */
struct as_universe as_universe_of(const struct as_model *fresh, unsigned nodes);
/* "mkdir,rename": only these; "all": all that can be tried. */
AS_MUST_CHECK int as_universe_choose(struct as_universe *universe, const char *ops,
				     struct as_err *err);
/* These, too. */
AS_MUST_CHECK int as_universe_add(struct as_universe *universe, const char *ops,
				  struct as_err *err);
/* Adds the names of the operations, and whether it is wide, with commas. */
void as_universe_print(const struct as_universe *universe, struct as_buf *out);

/* The operations that may follow, always in the same order; the caller frees them. */
struct as_seq *as_universe_moves(const struct as_universe *universe, const struct as_model *model);

#endif
