/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handed: what a call that succeeds has to hand over besides its value: bytes, names or attributes.
 * Bytes are runs of patterns, as workloads write them, however many they are. */
#ifndef AS_WORK_HANDED_H
#define AS_WORK_HANDED_H

#include "work/outcome.h"

/* Bytes at, at + 1, ... of the answer are bytes from, from + 1, ... of a pattern. */
struct as_handed_run {
	uint64_t at, len, pattern, from;
};

/* Attributes that nobody can say are -1. */
struct as_handed_stat {
	uint32_t type; /* S_IFMT bits */
	int64_t mode, uid, gid, nlink, size, rdev;
};

struct as_handed {
	enum as_payload payload; /* NONE: nothing, or it is not known */
	/* BYTES */
	uint64_t len, off; /* off: where in the file the first of them is */
	struct as_handed_run *run; /* sorted; what is in no run is 0 */
	size_t n_runs, cap_runs;
	bool is_text; /* the bytes are `text`, and not those of runs */
	/* BYTES: as it is; NAMES: as struct as_outcome has them */
	struct as_buf text;
	bool typed; /* NAMES: each has a letter before it */
	bool others; /* NAMES: there may be more of them */
	struct as_handed_stat st; /* STAT */
};

void as_handed_run(struct as_handed *told, uint64_t at, uint64_t len, uint64_t pattern,
		   uint64_t from);
/* Ready for the next call. */
void as_handed_clear(struct as_handed *told);
void as_handed_free(struct as_handed *told);

#endif
