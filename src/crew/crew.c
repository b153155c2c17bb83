/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * crew: see crew.h.
 *
 * Method. Leader and mate have the ends of a socket. A frame is a head and bytes. The mate writes
 * and waits; the leader never waits for a mate: it reads what is there, and keeps what it has to
 * say until there is room. The end of a mate is seen by its process, not by its socket, since
 * processes that it left may have the socket, too; what it wrote before is read then. The last
 * frame of a mate says that its function has returned. Without it, something else has ended the
 * process, and that is an error whatever the exit status.
 *
 * Where the pools of this program differ, and why. What is not in this table is the same for all.
 *
 *   pool           signals  grace  told      why
 *   fsck, lead     deaf     1 s *  numbers   * with a source, which has files and servers of its
 *                                            own; else nothing is lost with a worker
 *   fsck, hang     deaf     -      -         one at a time: a disk on which a checker may hang
 *   hunt, jobs     plain    1 s    -         it counts what is done up to there. Each has a group
 *                                            of its own, so that a terminal does not reach it
 *   hunt, reducer  plain    1 s    -         the same; it writes down what it has reached
 *   check, lanes   deaf     1 s *  -         * boxed; of a library, a lane ends after its operation
 *   cross, jobs    deaf     -      -         what is done is kept in a file
 *   cross, score   deaf     1 s    -         the leader is one of the workers; the sums of what is
 *                                            done are sent at the end
 *   run, tracks    hears    2 s    -         a signal reaches the tracks through the terminal, too:
 *                                            then they count what is done
 *   crash, tracks  hears    2 s    -         the same
 *   crash -j       hears    -      -         a signal ends leader and parts where they are
 *
 * This was no purpose, and is the same for all now: two did not ask whether their parent had died
 * before they could die with it; only one told of memory that was used up, or which signal had
 * killed a mate; an exit status of 0 was success to some, though nothing had been said; five waited
 * without an end for one that does not die.
 *
 * Invariants
 *   1. No mate outlives the leader, whenever that dies (as_spawn_child()).
 *   2. After as_crew_end(), as_crew_await() and as_crew_free(), no mate lives, and none is a
 *      zombie, unless the kernel does not let go of one that was killed (os/stuck.h).
 *   3. What a mate says is heard whole and in order, or not at all: a frame that was cut off by the
 *      death of the mate is dropped, and the death is told.
 *   4. The leader holds at most a frame, and what is read at a time, of each mate that it does not
 *      listen to. One that floods it waits, and does not keep it from the others. Who takes
 *      messages in turns listens to all, and holds what waits.
 *   5. Every wait of the leader has an end, unless its caller gave it none.
 *   6. Whether one hangs is decided by its deadline, which counts only time in which it could run
 *      (os/patience.h).
 */
#include "crew/crew_priv.h"

#include "crew/ended.h"
#include "os/limit.h"
#include "os/stuck.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 50 /* a signal may come before we wait */
#define NAP_MS 2 /* where there are no pidfds */
#define KILL_MS 2000 /* how long one that was killed may take to end; then it is left alone */

struct as_crew *as_crew_new(const struct as_crew_plan *plan, unsigned seats)
{
	struct as_crew *c = as_xcalloc(1, sizeof(*c));

	c->plan = *plan;
	c->n = seats;
	c->seats = as_xcalloc(seats + 1, sizeof(*c->seats));
	c->ooms = as_shared_alloc(seats * sizeof(*c->ooms));
	for (unsigned i = 0; i < seats; i++)
		c->seats[i] = (struct seat){ .who = plan->who, .fd = -1, .pidfd = -1 };
	return c;
}

void as_crew_name(struct as_crew *c, unsigned seat, const char *who)
{
	c->seats[seat].who = who;
}

_Noreturn static void be_mate(struct as_crew *c, unsigned seat, int fd, as_mate_work *work,
			      void *ctx)
{
	struct as_mate mate = { fd, seat };
	struct as_err err = { 0 };
	int rc;

	/* What is said to others is not for it; and their sockets would not close. */
	for (unsigned i = 0; i < c->n; i++) {
		as_crew_close(&c->seats[i].fd);
		as_crew_close(&c->seats[i].pidfd);
	}
	as_oom_tell(&c->ooms[seat]);
	if (c->plan.limited)
		as_limit_memory();
	rc = work(&mate, ctx, &err);
	if (rc)
		(void)!as_crew_send(fd, FRAME_FAIL, rc, err.msg, strlen(err.msg));
	else
		(void)!as_crew_send(fd, FRAME_END, 0, NULL, 0);
	_exit(rc ? 1 : 0);
}

int as_crew_start(struct as_crew *c, unsigned seat, as_mate_work *work, void *ctx,
		  struct as_err *err)
{
	struct seat *s = &c->seats[seat];
	int pair[2], rc;

	as_assert(!s->pid);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return as_fail_errno(err, errno, "cannot start %s", s->who);
	c->ooms[seat] = 0;
	s->pid = as_spawn_child(c->plan.how);
	if (!s->pid) {
		close(pair[0]);
		be_mate(c, seat, pair[1], work, ctx);
	}
	close(pair[1]);
	if (s->pid < 0) {
		rc = as_fail_errno(err, errno, "cannot start %s", s->who);
		close(pair[0]);
		s->pid = 0;
		return rc;
	}
	s->fd = pair[0];
	s->pidfd = pidfd_open(s->pid, 0);
	return 0;
}

static void note_end(struct seat *s, int status)
{
	s->gone = true;
	s->status = status;
	as_crew_close(&s->pidfd);
	s->sent = s->out.len;
	as_crew_read_rest(s);
}

/* Whether the process has ended; it is reaped then. */
static void look(struct seat *s)
{
	int status = 0;
	pid_t got;

	if (!s->pid || s->gone)
		return;
	got = waitpid(s->pid, &status, WNOHANG);
	if (got == s->pid || (got < 0 && errno == ECHILD))
		note_end(s, status);
	else if (s->patience.deadline_ms && !as_patience_left(&s->patience)) {
		s->late = true;
		s->patience.deadline_ms = 0;
		kill(s->pid, SIGKILL);
	}
}

/* How long may be slept: 0 if there is news already. */
static int sleep_ms(const struct as_crew *c, int timeout_ms)
{
	int most = timeout_ms < 0 || timeout_ms > LOOK_MS ? LOOK_MS : timeout_ms;

	for (unsigned i = 0; i < c->n; i++) {
		const struct seat *s = &c->seats[i];
		struct frame head;

		if (!s->pid)
			continue;
		if (s->gone || as_crew_peek(s, &head))
			return 0;
		if (s->pidfd < 0 && most > NAP_MS)
			most = NAP_MS;
	}
	return most;
}

static bool has_news(const struct as_crew *c)
{
	return sleep_ms(c, LOOK_MS) == 0;
}

static bool any_sits(const struct as_crew *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->seats[i].pid)
			return true;
	return false;
}

/* One look at all, after a sleep of at most so long. True: a signal came. */
static bool turn(struct as_crew *c, int ms)
{
	struct pollfd *fds = as_xcalloc(2 * c->n + 1, sizeof(*fds));
	nfds_t n = 0;
	bool signalled;

	for (unsigned i = 0; i < c->n; i++) {
		struct seat *s = &c->seats[i];
		short events = (short)((as_crew_is_full(s) ? 0 : POLLIN) |
				       (s->sent < s->out.len ? POLLOUT : 0));

		if (!s->pid || s->gone)
			continue;
		if (s->fd >= 0 && events)
			fds[n++] = (struct pollfd){ .fd = s->fd, .events = events };
		if (s->pidfd >= 0)
			fds[n++] = (struct pollfd){ .fd = s->pidfd, .events = POLLIN };
	}
	signalled = poll(fds, n, ms) < 0 && errno == EINTR;
	for (unsigned i = 0; i < c->n; i++) {
		struct seat *s = &c->seats[i];

		if (!s->pid)
			continue;
		as_crew_read(s);
		as_crew_write(s);
		look(s);
	}
	free(fds);
	return signalled;
}

void as_crew_wait(struct as_crew *c, int timeout_ms)
{
	int64_t until = as_now_us() + (int64_t)timeout_ms * 1000;

	for (;;) {
		int64_t left_ms = timeout_ms < 0 ? LOOK_MS : (until - as_now_us()) / 1000;

		if (turn(c, sleep_ms(c, left_ms < 0 ? 0 : (int)left_ms)) || has_news(c))
			return;
		if (timeout_ms >= 0 ? as_now_us() >= until : !any_sits(c))
			return;
	}
}

/* ---- Ending ---------------------------------------------------------------------------------- */

void as_crew_within(struct as_crew *c, unsigned seat, unsigned ms)
{
	struct seat *s = &c->seats[seat];

	if (s->pid && !s->gone)
		s->patience = as_patience_of(AS_PATIENCE_MATE, s->pid, ms);
}

bool as_crew_sits(const struct as_crew *c, unsigned seat)
{
	return c->seats[seat].pid;
}

bool as_crew_is_over(const struct as_crew *c, unsigned seat)
{
	const struct seat *s = &c->seats[seat];
	struct frame head;

	return s->pid && s->gone &&
	       (s->garbled || !as_crew_peek(s, &head) || head.kind != FRAME_DATA);
}

/* It did not say that it was done. */
static int say_how(const struct seat *s, uint64_t oom, struct as_err *err)
{
	const struct as_ended_say say = { .status = true };
	struct as_ended ended = as_ended_of(s->status);
	struct as_buf how = { 0 };
	int rc;

	if (oom)
		return as_fail_oom(err, oom);
	if (s->garbled)
		return as_fail(err, AS_EIO, "%s sent a wrong message", s->who);
	if (s->late)
		ended.how = AS_END_DEADLINE;
	as_ended_words(&ended, &say, &how);
	/* Nobody here has killed it. */
	if (!s->late && ended.how == AS_END_SIGNAL && ended.status == SIGKILL)
		as_buf_adds(&how, ", as when the machine has no memory left");
	rc = as_fail(err, AS_EIO, "%s %s%s", s->who, as_buf_str(&how),
		     s->in.len > s->at ? ", in the middle of a message" : "");
	as_buf_free(&how);
	return rc;
}

static void empty(struct seat *s)
{
	as_crew_close(&s->fd);
	as_crew_close(&s->pidfd);
	as_buf_free(&s->in);
	as_buf_free(&s->out);
	*s = (struct seat){ .who = s->who, .fd = -1, .pidfd = -1 };
}

bool as_crew_returned(const struct as_crew *c, unsigned seat)
{
	const struct seat *s = &c->seats[seat];
	struct frame head;

	return s->ended || (!s->garbled && as_crew_peek(s, &head) && head.kind != FRAME_DATA);
}

int as_crew_ended(struct as_crew *c, unsigned seat, struct as_err *err)
{
	struct seat *s = &c->seats[seat];
	size_t len;
	int rc;

	as_assert(as_crew_is_over(c, seat));
	(void)!as_crew_next(c, seat, &len);
	rc = s->rc;
	if (s->ended && rc && err)
		*err = s->err;
	if (!s->ended)
		rc = s->cut && !c->ooms[seat] ? as_fail(err, AS_ESTOP, "%s was ended", s->who)
					      : say_how(s, c->ooms[seat], err);
	empty(s);
	return rc;
}

static void hurt(const struct as_crew *c, struct seat *s)
{
	/* A process that has ended by itself was not cut. */
	look(s);
	if (!s->pid || s->gone)
		return;
	s->cut = true;
	if (c->plan.how & AS_BIRTH_GROUP)
		kill(-s->pid, SIGKILL);
	kill(s->pid, SIGKILL);
}

static void bury(struct seat *s)
{
	int status = 0;

	if (!s->pid || s->gone)
		return;
	if (!as_stuck_reap(s->pid, KILL_MS, &status)) {
		as_stuck_cut(s->pid);
		(void)as_stuck_reap(s->pid, KILL_MS, &status);
	}
	note_end(s, status);
}

void as_crew_cut(struct as_crew *c, unsigned seat)
{
	hurt(c, &c->seats[seat]);
	bury(&c->seats[seat]);
}

void as_crew_drop(struct as_crew *c, unsigned seat)
{
	as_crew_cut(c, seat);
	empty(&c->seats[seat]);
}

static bool any_works(const struct as_crew *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (c->seats[i].pid && !c->seats[i].gone)
			return true;
	return false;
}

void as_crew_end(struct as_crew *c, unsigned grace_ms)
{
	int64_t until = as_now_us() + (int64_t)grace_ms * 1000;

	for (unsigned i = 0; i < c->n; i++)
		as_crew_hush(c, i);
	while (any_works(c) && as_now_us() < until)
		(void)turn(c, LOOK_MS);
	/* All are killed before the first is waited for. */
	for (unsigned i = 0; i < c->n; i++)
		hurt(c, &c->seats[i]);
	for (unsigned i = 0; i < c->n; i++)
		bury(&c->seats[i]);
}

void as_crew_await(struct as_crew *c, const struct as_halt *halt, unsigned grace_ms)
{
	while (any_works(c) && !as_halted(halt))
		(void)turn(c, as_halt_wait_ms(halt, 1000));
	as_crew_end(c, grace_ms);
}

void as_crew_free(struct as_crew *c)
{
	if (!c)
		return;
	as_crew_end(c, c->plan.grace_ms);
	for (unsigned i = 0; i < c->n; i++)
		empty(&c->seats[i]);
	as_shared_free((void *)c->ooms, c->n * sizeof(*c->ooms));
	as_crew_turns_free(c);
	free(c->seats);
	free(c);
}
