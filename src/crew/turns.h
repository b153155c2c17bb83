/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns: messages of several lanes, taken in an order that does not depend on which lane was
 * faster. Each lane has a number, its turn; the message that is taken next is one of the lane with
 * the least turn, and of several of these, of the first lane. If that one has said nothing yet, the
 * others wait.
 */
#ifndef AS_CREW_TURNS_H
#define AS_CREW_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct as_turns;

/* Turns begin with 0. */
struct as_turns *as_turns_new(size_t lanes);
void as_turns_free(struct as_turns *turns); /* takes NULL */
void as_turns_set(struct as_turns *turns, size_t lane, uint64_t turn);
/* It has no turn any more: what it still says is not taken. */
void as_turns_end(struct as_turns *turns, size_t lane);
/* Queues a message of a lane. */
void as_turns_put(struct as_turns *turns, size_t lane, const void *data, size_t len);
/* Drops what the lane has queued. */
void as_turns_drop(struct as_turns *turns, size_t lane);
/* Whether the lane has something queued. */
bool as_turns_has(const struct as_turns *turns, size_t lane);
/* Whose turn it is. False: that one has not spoken, or nobody has a turn. `rest`: nobody will say
 * any more, so that lanes without a message are passed over. */
bool as_turns_next(const struct as_turns *turns, bool rest, size_t *lane);
/* The first message of the lane, with a zero after it, to be freed. There must be one. */
char *as_turns_take(struct as_turns *turns, size_t lane, size_t *len);

#endif
