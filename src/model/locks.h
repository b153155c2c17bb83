/* SPDX-License-Identifier: GPL-2.0-or-later */
/* locks: the locks of ranges that a model has (fcntl(2)); for the rules and for tree.c. */
#ifndef AS_MODEL_LOCKS_H
#define AS_MODEL_LOCKS_H

#include "model/state.h"

/* The owner of what F_SETLK locks; that of F_OFD_SETLK is what a slot has open. */
#define AS_LOCKS_PROCESS (-1)

struct as_record {
	uint32_t ino;
	int32_t owner; /* a slot, that of a mapping, or AS_LOCKS_PROCESS */
	int64_t type; /* AS_F_RDLCK, AS_F_WRLCK; as a wish also AS_F_UNLCK */
	int64_t start, end; /* the last byte; INT64_MAX: to the end */
	bool doubtful; /* it may be gone */
};

struct as_locks {
	uint32_t ref, n;
	struct as_record r[];
};

/* The owner has `want` from now on: what it had in that range is replaced. */
void as_locks_set(struct as_model *m, struct as_record want);
/* A descriptor or a mapping is closed; `mapped`: what was opened lives on in its mapping. */
void as_locks_close(struct as_model *m, const struct as_file *file, bool mapped);
/* The executor may have closed descriptors of its own. */
void as_locks_doubt(struct as_model *m);
/* The next lock that excludes `want`; of F_UNLCK: that the owner itself has. NULL: no more. */
const struct as_record *as_locks_next(const struct as_model *m, const struct as_record *want,
				      const struct as_record *after);

#endif
