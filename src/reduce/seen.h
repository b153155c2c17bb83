/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seen: what the reduced workload of a finding shows, in its own numbers and names. The finding
 * itself keeps what the run showed that found it.
 */
#ifndef AS_REDUCE_SEEN_H
#define AS_REDUCE_SEEN_H

#include "base/finding.h"

struct as_seen {
	char *summary; /* NULL: it was not run again */
	char *detail, *log; /* may be NULL */
	long op_index; /* of the operation that failed, from 0; -1: none */
};

/* Keeps a copy of what this finding says, in place of an earlier one. */
void as_seen_set(struct as_seen *seen, const struct as_finding *finding);
void as_seen_free(struct as_seen *seen);

#endif
