/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: the states that were found, and the frontier: those that are still to be expanded. It is
 * in memory that processes share, and all functions may be called by several of them at once.
 *
 * A state is its digest, the state it was reached from, and the line of the workload that led here;
 * it may be several lines, one for each operation, with newlines between them.
 * So the trace to a state is the lines from the first state on, and a state is brought back by
 * running them. The states may be kept in a file: a process that is killed leaves there what it
 * knew, and as_store_open() goes on with it. Pages of the file for which memory has no room are
 * written to it and read again by the kernel. What stays in memory is 16 bytes for a state of the
 * frontier, and 32 to 64 for each state in the table of digests.
 *
 * The frontier may be bounded: then, for each state that is too many, one of all that are in it is
 * discarded at random, as in FiSC section 5.1.
 */
#ifndef AS_CHECK_STORE_H
#define AS_CHECK_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define AS_STORE_NONE UINT32_MAX
#define AS_STORE_MAX (1u << 24)
#define AS_STORE_LINE_MAX (1u << 24) /* bytes of one line, and one */

enum as_store_flag {
	AS_STATE_EXPANDED = 1, /* all that may follow was tried */
	AS_STATE_STOPPED = 2, /* not to be expanded: as deep as is allowed, or something is wrong */
	AS_STATE_JUDGED = 4, /* the power cuts that lead there were tried */
	AS_STATE_AGAIN = 8, /* who was to judge it was killed: the next one who comes here does */
	AS_STATE_WRONG = 16, /* a power cut on the way there is a finding, or it was left */
	AS_STATE_REPLACED = 32, /* by a state with the same digest and a shorter trace */
	AS_STATE_DISCARDED = 64, /* the frontier had no room for it */
};

struct as_store_state {
	struct as_digest digest;
	uint32_t parent; /* AS_STORE_NONE: the first */
	uint32_t line; /* where its line begins */
	union {
		struct {
			uint64_t depth : 16;
			uint64_t flags : 8;
			uint64_t line_bytes : 24;
			uint64_t sum : 16; /* of the whole state, and of its line */
		};
		uint64_t word; /* the same */
	};
};

struct as_store;

/* fd: the file to keep them in; -1: none. ident: what the states depend on, in words; a file that
 * was made with another one is refused. `max` states at most. */
AS_MUST_CHECK int as_store_open(int fd, const char *ident, uint32_t max, struct as_store **store,
				struct as_err *err);
void as_store_close(struct as_store *store); /* takes NULL */

enum as_store_added {
	AS_STORE_NEW,
	AS_STORE_SHORTER,
	AS_STORE_LATER,
	AS_STORE_KNOWN,
	AS_STORE_FULL
};

/* Adds a state, unless there is one with this digest. The new one's number is *id. It is to be
 * judged now, and then pushed or stopped. shorter: a state that is known, but was met at the end of
 * a longer trace, is added again, and takes the place of the other one (AS_STORE_SHORTER); but not
 * if something is wrong there. While another process judges it, nothing is added, and it is to be
 * asked for again (AS_STORE_LATER). */
enum as_store_added as_store_add(struct as_store *store, struct as_digest digest, uint32_t parent,
				 const char *line, bool shorter, uint32_t *id);
/* At most so many states are in the frontier from now on; 0: any number. Nobody else may have the
 * store yet. It returns how many states are discarded at once. */
unsigned as_store_bound(struct as_store *store, size_t most, uint64_t seed);
/* Puts it into the frontier. It returns how many states are discarded for it; they are gaps. */
unsigned as_store_push(struct as_store *store, uint32_t id, uint64_t rank);
/* Takes the state with the largest rank; it is in work until as_store_done(). */
bool as_store_pop(struct as_store *store, uint32_t *id);
void as_store_done(struct as_store *store, uint32_t id);
/* Of a state in work: nothing more can be tried there. */
void as_store_leave(struct as_store *store, uint32_t id);
/* It is not to be expanded; wrong: AS_STATE_WRONG. */
void as_store_stop(struct as_store *store, uint32_t id, bool wrong);

uint32_t as_store_n(const struct as_store *store); /* with those that were replaced */
uint32_t as_store_distinct(const struct as_store *store); /* without them */
size_t as_store_frontier(const struct as_store *store);
/* The state that would be popped next; false: there is none. */
bool as_store_first(struct as_store *store, uint32_t *id);
size_t as_store_in_work(const struct as_store *store);
struct as_store_state as_store_at(const struct as_store *store, uint32_t id);
/* Adds the line that led to a state, without a newline. */
void as_store_line(const struct as_store *store, uint32_t id, struct as_buf *out);
/* Adds the lines that lead to a state. */
void as_store_trace(const struct as_store *store, uint32_t id, struct as_buf *out);
/*
 * Gaps: how much was left out that belongs to the states within the bounds. A file keeps them, so
 * that who goes on later does not say that all was explored. What waits for its confirmation is a
 * gap meanwhile.
 */
void as_store_gap(struct as_store *store, int more);
int64_t as_store_gaps(const struct as_store *store);
/* Memory that is in use, all in all. */
uint64_t as_store_bytes(const struct as_store *store);

#endif
