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
 * Of what they did each for itself, this was no purpose and is gone: three did not ask whether their
 * parent had died before they could die with it (check, crash -j, and those of the last two without
 * a handler); only hunts told of memory that was used up; a mate that died was "a worker died" for
 * three of them, whatever had killed it, and an exit status of 0 for others; one was waited for
 * without an end in four of them.
 *
 * Invariants
 *   1. No mate outlives the leader, whenever that dies (as_spawn_child()).
 *   2. After as_crew_end(), as_crew_await() and as_crew_free(), no mate lives, and none is a zombie,
 *      unless the kernel does not let go of one that was killed (os/stuck.h).
 *   3. What a mate says is heard whole and in order, or not at all: a frame that was cut off by the
 *      death of the mate is dropped, and the death is told.
 *   4. The leader holds at most a frame, and what is read at a time, of each mate that it does not
 *      listen to. One that floods it waits, and does not keep it from the others.
 *   5. Every wait of the leader has an end, unless its caller gave it none.
 *   6. Whether one hangs is decided by its deadline, which counts only time in which it could run
 *      (os/patience.h).
 */
#include "crew/crew.h"

#include "crew/ended.h"
#include "os/limit.h"
#include "os/patience.h"
#include "os/stuck.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAGIC 0x77657263u
#define FRAME_MAX ((uint64_t)1 << 30)
#define READ_BYTES ((size_t)256 << 10) /* at a time */
#define LOOK_MS 50 /* a signal may come before we wait */
#define NAP_MS 2 /* where there are no pidfds */
#define KILL_MS 2000 /* how long one that was killed may take to end; then it is left alone */

enum frame_kind { FRAME_DATA, FRAME_FAIL, FRAME_END };

/* After it come `len` bytes and a zero. */
struct frame {
	uint32_t magic, kind;
	int64_t rc;
	uint64_t len;
};

struct seat {
	const char *who;
	pid_t pid; /* 0: nobody sits there */
	int fd, pidfd; /* -1: none */
	bool gone; /* the process has ended, and is reaped */
	bool cut, late, hush, garbled;
	bool ended; /* its last frame is here */
	int rc;
	struct as_err err;
	int status;
	struct as_buf in, out;
	size_t at, sent; /* what was taken of `in`, and sent of `out` */
	struct as_patience patience;
};

struct as_crew {
	struct as_crew_plan plan;
	unsigned n;
	struct seat *seats;
	volatile uint64_t *ooms; /* of each seat; shared */
};

struct as_mate {
	int fd;
	unsigned seat;
};

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

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- A mate ---------------------------------------------------------------------------------- */

static int send_frame(int fd, enum frame_kind kind, int rc, const void *data, size_t len)
{
	struct frame head = { MAGIC, kind, rc, len };
	struct iovec parts[3] = { { &head, sizeof(head) }, { (void *)data, len }, { "", 1 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 3 };

	while (parts[2].iov_len) {
		ssize_t n = sendmsg(fd, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return AS_EIO;
		for (unsigned i = 0; i < 3 && n > 0; i++) {
			size_t part = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			n -= (ssize_t)part;
		}
	}
	return 0;
}

unsigned as_mate_seat(const struct as_mate *mate)
{
	return mate->seat;
}

int as_mate_say(struct as_mate *mate, const void *data, size_t len)
{
	return send_frame(mate->fd, FRAME_DATA, 0, data, len);
}

static bool read_all(int fd, void *to, size_t len)
{
	char *at = to;

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (!n || (n < 0 && errno != EINTR))
			return false;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

bool as_mate_hear(struct as_mate *mate, struct as_buf *out)
{
	struct frame head;

	as_buf_clear(out);
	if (!read_all(mate->fd, &head, sizeof(head)) || head.magic != MAGIC)
		return false;
	if (!read_all(mate->fd, as_buf_reserve(out, head.len + 1), head.len + 1))
		return false;
	out->len = head.len;
	return true;
}

bool as_mate_is_hushed(const struct as_mate *mate)
{
	struct pollfd p = { .fd = mate->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLRDHUP);
}

_Noreturn static void be_mate(struct as_crew *c, unsigned seat, int fd, as_mate_work *work,
			      void *ctx)
{
	struct as_mate mate = { fd, seat };
	struct as_err err = { 0 };
	int rc;

	/* What is said to others is not for it; and their sockets would not close. */
	for (unsigned i = 0; i < c->n; i++) {
		close_fd(&c->seats[i].fd);
		close_fd(&c->seats[i].pidfd);
	}
	as_oom_tell(&c->ooms[seat]);
	if (c->plan.limited)
		as_limit_memory();
	rc = work(&mate, ctx, &err);
	if (rc)
		(void)!send_frame(fd, FRAME_FAIL, rc, err.msg, strlen(err.msg));
	else
		(void)!send_frame(fd, FRAME_END, 0, NULL, 0);
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

/* ---- Hearing --------------------------------------------------------------------------------- */

/* The next frame, if all of it is here. */
static bool peek(const struct seat *s, struct frame *head)
{
	size_t have = s->in.len - s->at;

	if (have < sizeof(*head))
		return false;
	memcpy(head, s->in.data + s->at, sizeof(*head));
	return have - sizeof(*head) > head->len;
}

/* What cannot be a frame is not read any further. */
static bool is_sane(struct seat *s)
{
	struct frame head;

	if (s->in.len - s->at >= sizeof(head)) {
		memcpy(&head, s->in.data + s->at, sizeof(head));
		s->garbled = s->garbled || head.magic != MAGIC || head.kind > FRAME_END ||
			     head.len > FRAME_MAX ||
			     (peek(s, &head) && s->in.data[s->at + sizeof(head) + head.len]);
	}
	return !s->garbled;
}

/* Whether there is something that is to be taken first. */
static bool is_full(const struct seat *s)
{
	struct frame head;

	return s->garbled || (peek(s, &head) && s->in.len - s->at > READ_BYTES);
}

static void read_some(struct seat *s)
{
	size_t left = s->in.len - s->at;
	ssize_t n;
	char *to;

	if (s->fd < 0 || is_full(s))
		return;
	if (s->at) {
		memmove(s->in.data, s->in.data + s->at, left);
		s->in.len = left;
		s->at = 0;
	}
	to = as_buf_reserve(&s->in, READ_BYTES);
	n = recv(s->fd, to, READ_BYTES, MSG_DONTWAIT);
	if (n > 0) {
		s->in.len += (size_t)n;
		if (s->patience.deadline_ms)
			as_patience_restart(&s->patience);
	}
	s->in.data[s->in.len] = '\0';
	/* Who closes its end without an end of its own has ended, or is about to. */
	if (!n || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(&s->fd);
	(void)is_sane(s);
}

/* All that is left when the process is gone: what fits into a socket. */
static void read_rest(struct seat *s)
{
	size_t before;

	do {
		before = s->in.len - s->at;
		read_some(s);
	} while (s->fd >= 0 && !is_full(s) && s->in.len - s->at != before);
}

static void write_some(struct seat *s)
{
	while (s->fd >= 0 && s->sent < s->out.len) {
		ssize_t n = send(s->fd, s->out.data + s->sent, s->out.len - s->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* Nobody hears it any more. */
		s->sent += n > 0 ? (size_t)n : s->out.len - s->sent;
	}
	as_buf_clear(&s->out);
	s->sent = 0;
	if (s->hush && s->fd >= 0)
		shutdown(s->fd, SHUT_WR);
	s->hush = false;
}

static void note_end(struct seat *s, int status)
{
	s->gone = true;
	s->status = status;
	close_fd(&s->pidfd);
	s->sent = s->out.len;
	read_rest(s);
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
		if (s->gone || peek(s, &head))
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
		short events = (short)((is_full(s) ? 0 : POLLIN) |
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
		read_some(s);
		write_some(s);
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

/* The last frame of a mate. */
static void take_end(struct seat *s, const struct frame *head)
{
	s->ended = true;
	s->rc = (int)head->rc;
	if (head->kind == FRAME_FAIL)
		(void)as_fail(&s->err, s->rc, "%.*s", (int)head->len,
			      s->in.data + s->at + sizeof(*head));
}

const char *as_crew_next(struct as_crew *c, unsigned seat, size_t *len)
{
	struct seat *s = &c->seats[seat];
	struct frame head;
	const char *data;

	if (!s->pid || s->garbled)
		return NULL;
	for (;;) {
		if (!is_sane(s) || !peek(s, &head)) {
			if (!s->gone || s->fd < 0 || s->garbled)
				return NULL;
			/* More may have been written than was read at a time. */
			read_rest(s);
			if (!peek(s, &head)) {
				close_fd(&s->fd);
				return NULL;
			}
		}
		if (head.kind == FRAME_DATA)
			break;
		take_end(s, &head);
		s->at += sizeof(head) + head.len + 1;
	}
	data = s->in.data + s->at + sizeof(head);
	s->at += sizeof(head) + head.len + 1;
	*len = head.len;
	return data;
}

/* ---- Telling and ending ---------------------------------------------------------------------- */

void as_crew_tell(struct as_crew *c, unsigned seat, const void *data, size_t len)
{
	struct frame head = { MAGIC, FRAME_DATA, 0, len };
	struct seat *s = &c->seats[seat];

	as_buf_add(&s->out, &head, sizeof(head));
	as_buf_add(&s->out, data, len);
	as_buf_addc(&s->out, '\0');
	write_some(s);
}

void as_crew_hush(struct as_crew *c, unsigned seat)
{
	c->seats[seat].hush = true;
	write_some(&c->seats[seat]);
}

void as_crew_within(struct as_crew *c, unsigned seat, unsigned ms)
{
	struct seat *s = &c->seats[seat];

	if (s->pid && !s->gone)
		s->patience = as_patience_of(s->pid, ms);
}

bool as_crew_sits(const struct as_crew *c, unsigned seat)
{
	return c->seats[seat].pid;
}

bool as_crew_is_over(const struct as_crew *c, unsigned seat)
{
	const struct seat *s = &c->seats[seat];
	struct frame head;

	return s->pid && s->gone && (s->garbled || !peek(s, &head) || head.kind != FRAME_DATA);
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
	close_fd(&s->fd);
	close_fd(&s->pidfd);
	as_buf_free(&s->in);
	as_buf_free(&s->out);
	*s = (struct seat){ .who = s->who, .fd = -1, .pidfd = -1 };
}

bool as_crew_returned(const struct as_crew *c, unsigned seat)
{
	const struct seat *s = &c->seats[seat];
	struct frame head;

	return s->ended || (!s->garbled && peek(s, &head) && head.kind != FRAME_DATA);
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
	free(c->seats);
	free(c);
}
