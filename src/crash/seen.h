/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seen: a set of digests in memory that is shared with the children forked later, so that what one
 * of them has dealt with is known to those after it. One process at a time may use it.
 */
#ifndef AS_CRASH_SEEN_H
#define AS_CRASH_SEEN_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

/* More than this many are not kept: all further ones are new. */
#define AS_SEEN_MAX ((uint64_t)3 << 22)

struct as_seen;

struct as_seen *as_seen_new(void);
void as_seen_free(struct as_seen *seen); /* takes NULL */
bool as_seen_has(struct as_seen *seen, struct as_digest digest);
/* True: it was not there. */
bool as_seen_add(struct as_seen *seen, struct as_digest digest);

#endif
