/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crew: one pool of processes. Whoever has work for several processes of this program starts them
 * here, hears them here, and ends them here.
 *
 * A crew has seats. In a seat sits a mate: a process that was forked from this one, the leader, and
 * does one function. Leader and mate send each other messages, in order and whole. A mate ends with
 * what its function returns, or with an error, whose words the leader gets. Whatever else happens
 * to it (a signal, exit() in the middle, no memory, no answer) is an error, too, in words
 * (crew/ended.h).
 *
 * A leader can have what is said in turns: in an order that does not depend on which mate was
 * faster.
 */
#ifndef AS_CREW_CREW_H
#define AS_CREW_CREW_H

#include "base/buf.h"
#include "base/err.h"
#include "os/spawn.h"

struct as_crew;
struct as_mate;

/* How the mates of one crew are. */
struct as_crew_plan {
	const char *who; /* "a worker of the session": messages begin with it */
	unsigned how; /* AS_BIRTH_*, os/spawn.h */
	/* Those that hold something that has to be put away get so long when they are to end. */
	unsigned grace_ms;
	bool limited; /* their memory is limited (os/limit.h) */
};

/* In the mate's process; what it returns is as of as_crew_ended(). */
typedef int as_mate_work(struct as_mate *mate, void *ctx, struct as_err *err);

struct as_crew *as_crew_new(const struct as_crew_plan *plan, unsigned seats);
/* Ends all mates, after their grace. Takes NULL. */
void as_crew_free(struct as_crew *crew);
/* The seat must be empty. */
AS_MUST_CHECK int as_crew_start(struct as_crew *crew, unsigned seat, as_mate_work *work, void *ctx,
				struct as_err *err);

/* Messages about the mate of this seat begin with something else than those about the others. */
void as_crew_name(struct as_crew *crew, unsigned seat, const char *who);

/* ---- The leader's side ----------------------------------------------------------------------- */

/* Waits until a mate says something or ends, at most so long (-1: for ever); a signal ends the
 * wait, too. */
void as_crew_wait(struct as_crew *crew, int timeout_ms);
/* The next message, which lives until the next call for this seat; NULL: there is none yet. It ends
 * with a zero that does not count. */
const char *as_crew_next(struct as_crew *crew, unsigned seat, size_t *len);
/* Nothing is lost if the mate has no time to listen; it waits here. */
void as_crew_tell(struct as_crew *crew, unsigned seat, const void *data, size_t len);
/* The mate is told nothing any more. */
void as_crew_hush(struct as_crew *crew, unsigned seat);
/* From now on, the mate has to say something within so long, or end. One that does not is killed,
 * and has not come back. 0: it may be silent. */
void as_crew_within(struct as_crew *crew, unsigned seat, unsigned ms);

/* Whether somebody sits there; also one who has ended, until as_crew_ended() was asked. */
bool as_crew_sits(const struct as_crew *crew, unsigned seat);
/* Whether the mate has ended and all that it said was heard. */
bool as_crew_is_over(const struct as_crew *crew, unsigned seat);
/* Whether that was the end of its function. */
bool as_crew_returned(const struct as_crew *crew, unsigned seat);
/* How it came to its end; the seat is empty then. 0, or what its function returned. AS_ESTOP: it
 * was ended here. */
AS_MUST_CHECK int as_crew_ended(struct as_crew *crew, unsigned seat, struct as_err *err);
/* Kills the mate. What it has said can still be heard. */
void as_crew_cut(struct as_crew *crew, unsigned seat);
/* Kills the mate, and forgets what it has said. The seat is empty then. */
void as_crew_drop(struct as_crew *crew, unsigned seat);
/* Ends all: they are told nothing any more, have so long to end, and are killed then. What they
 * have said can still be heard. */
void as_crew_end(struct as_crew *crew, unsigned grace_ms);
/* Waits until all have ended. When the time is over, those that still work have so long to end. */
void as_crew_await(struct as_crew *crew, const struct as_halt *halt, unsigned grace_ms);

/* ---- In turns -------------------------------------------------------------------------------- */

/*
 * What mates say is kept in lanes until it is its turn. Each lane has a number, its turn; the
 * message that is taken next is one of the lane with the least turn, and of several of these, of
 * the first lane. If that one has said nothing yet, the others wait.
 */
struct as_crew_lanes {
	size_t n;
	/* Hears what has come, and says of which lane it is. NULL: the first seats are the lanes,
	 * and what the others say is heard by as_crew_next(). */
	int (*of)(void *ctx, const char *data, size_t len, size_t *lane, struct as_err *err);
	void *ctx;
};
#define AS_CREW_NO_TURN UINT64_MAX

/* Turns begin with 0. */
void as_crew_in_turns(struct as_crew *crew, const struct as_crew_lanes *lanes);
/* AS_CREW_NO_TURN: there is none any more, and what is still said there is not taken. */
void as_crew_set_turn(struct as_crew *crew, size_t lane, uint64_t turn);
/* What was said there before, such as to an earlier leader; it takes the place of what waits. */
void as_crew_recall(struct as_crew *crew, size_t lane, const void *data, size_t len);
/* Whether something waits there; a mate sees what was there when it was started. */
bool as_crew_waits(const struct as_crew *crew, size_t lane);
/* The next message whose turn it is; it lives until the next call, and ends with a zero that does
 * not count. *data is NULL: there is none yet. `rest`: nobody will say any more, so that lanes in
 * which nothing waits are passed over. */
AS_MUST_CHECK int as_crew_take(struct as_crew *crew, bool rest, size_t *lane, const char **data,
			       size_t *len, struct as_err *err);

/* ---- The mate's side ------------------------------------------------------------------------- */

unsigned as_mate_seat(const struct as_mate *mate);
/* AS_EIO: the leader is gone. */
AS_MUST_CHECK int as_mate_say(struct as_mate *mate, const void *data, size_t len);
/* The next message of the leader. False: there will be none. */
AS_MUST_CHECK bool as_mate_hear(struct as_mate *mate, struct as_buf *out);
/* Whether the leader has hushed; messages from before may still be there. */
bool as_mate_is_hushed(const struct as_mate *mate);

#endif
