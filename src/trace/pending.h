/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pending: what is kept of each thread between the beginning of a call and its end. Bounded in
 * number and in bytes: when there are too many, those that have nothing pending are removed first,
 * then any.
 */
#ifndef AS_TRACE_PENDING_H
#define AS_TRACE_PENDING_H

#include "base/err.h"
#include "base/table.h"

#include <stddef.h>

struct as_pending {
	unsigned key;
	bool active; /* a call has begun */
	size_t len, cap;
	char *text;
};

struct as_pendings {
	struct as_pending *at;
	size_t n, cap;
	struct as_table table; /* of `at`, by key */
	size_t last; /* found last, + 1 */
	size_t bytes; /* of all texts */
	size_t hand; /* where room was made last */
	uint64_t dropped; /* calls that had begun */
};

void as_pendings_open(struct as_pendings *p);
void as_pendings_close(struct as_pendings *p);
/* Makes one if there is none. Valid until the next call of this or of as_pendings_end(). */
struct as_pending *as_pendings_get(struct as_pendings *p, unsigned key);
/* NULL: there is none. */
struct as_pending *as_pendings_find(struct as_pendings *p, unsigned key);
void as_pendings_end(struct as_pendings *p, unsigned key);
/* Makes room for len bytes in the text and keeps its contents. Other entries may be dropped for
 * that, but not this one. */
void as_pending_room(struct as_pendings *p, struct as_pending *pending, size_t len);
uint64_t as_pendings_active(const struct as_pendings *p);

#endif
