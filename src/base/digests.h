/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * digests: a set of digests, 16 bytes a slot. A set that is all zero is empty. A set that processes
 * share has its table in a fixed place (as_table_place()), and takes no more when that is full.
 */
#ifndef AS_BASE_DIGESTS_H
#define AS_BASE_DIGESTS_H

#include "base/hash.h"
#include "base/table.h"

struct as_digests {
	struct as_table table;
};

bool as_digests_has(const struct as_digests *set, struct as_digest digest);
/* False: it was there, or the set is full. */
bool as_digests_add(struct as_digests *set, struct as_digest digest);
size_t as_digests_n(const struct as_digests *set);
void as_digests_free(struct as_digests *set);

#endif
