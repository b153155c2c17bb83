/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path: one run of a checker as its log tells it (sym/vg/log.h): what it computed from the bytes of
 * the disk, and which way it went at each branch that depends on them.
 */
#ifndef AS_SYM_PATH_H
#define AS_SYM_PATH_H

#include "base/buf.h"
#include "base/err.h"
#include "sym/expr.h"

enum as_path_kind {
	AS_PATH_BRANCH, /* it could go the other way */
	AS_PATH_PLACE, /* an address, a jump's target, a call's argument: others are paths, too */
	AS_PATH_HOLDS, /* holds on this path; nothing is gained by negating it */
};

struct as_path_step {
	/* Where: the file's own address of the instruction, mixed with the file's name, so that it
	 * is the same in every run. */
	uint64_t site;
	uint32_t node; /* of 1 bit for a branch */
	uint32_t holds; /* a node that is 1 exactly where `node` has this value */
	as_u128 value; /* that it had */
	enum as_path_kind kind;
};

struct as_path_cover {
	uint64_t at; /* like a site */
	uint32_t bytes;
	uint64_t file; /* hash of the file's name; 0: it is in none */
	uint64_t off, text_bytes; /* in the file's code, which has so many bytes */
};

struct as_path {
	struct as_expr *expr;
	struct as_path_step *steps; /* in the order of the run */
	size_t n, cap;
	struct as_path_cover *cover;
	size_t n_cover, cap_cover;
	unsigned char *inputs; /* what each input was in this run */
	struct as_digest digest; /* of the sites and the ways taken: equal paths have equal ones */
	/* From the log. */
	uint64_t branches, pins, seals, drops, capped, mismatches, instructions;
	bool ended, full;
	bool async, threads, forks, execs; /* what the checker did that is not followed */
	/* Nodes that do not have the value that the log says: an error of the tool or of expr. */
	uint64_t wrong;
};

/* Reads a log of `len` bytes. It need not make sense: AS_EIO, and the message says where. */
AS_MUST_CHECK int as_path_read(const void *log, size_t len, struct as_path *path,
			       struct as_err *err);
void as_path_free(struct as_path *path);

/* How many operations were dropped, by name: "Iop_CmpEQ8x16 12", a line for each. */
void as_path_drops(const void *log, size_t len, struct as_buf *out);

#endif
