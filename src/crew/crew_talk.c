/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crew_talk: what leader and mates say to each other: frames over a socket (see crew.c). */
#include "crew/crew_priv.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAGIC 0x77657263u
#define FRAME_MAX ((uint64_t)1 << 30)
#define READ_BYTES ((size_t)256 << 10) /* at a time */

void as_crew_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- A mate ---------------------------------------------------------------------------------- */

int as_crew_send(int fd, enum frame_kind kind, int rc, const void *data, size_t len)
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
	return as_crew_send(mate->fd, FRAME_DATA, 0, data, len);
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

/* ---- Hearing --------------------------------------------------------------------------------- */

/* The next frame, if all of it is here. */
bool as_crew_peek(const struct seat *s, struct frame *head)
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
		s->garbled =
			s->garbled || head.magic != MAGIC || head.kind > FRAME_END ||
			head.len > FRAME_MAX ||
			(as_crew_peek(s, &head) && s->in.data[s->at + sizeof(head) + head.len]);
	}
	return !s->garbled;
}

/* Whether there is something that is to be taken first. */
bool as_crew_is_full(const struct seat *s)
{
	struct frame head;

	return s->garbled || (as_crew_peek(s, &head) && s->in.len - s->at > READ_BYTES);
}

void as_crew_read(struct seat *s)
{
	size_t left = s->in.len - s->at;
	ssize_t n;
	char *to;

	if (s->fd < 0 || as_crew_is_full(s))
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
		as_crew_close(&s->fd);
	(void)is_sane(s);
}

/* All that is left when the process is gone: what fits into a socket. */
void as_crew_read_rest(struct seat *s)
{
	size_t before;

	do {
		before = s->in.len - s->at;
		as_crew_read(s);
	} while (s->fd >= 0 && !as_crew_is_full(s) && s->in.len - s->at != before);
}

void as_crew_write(struct seat *s)
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
		if (!is_sane(s) || !as_crew_peek(s, &head)) {
			if (!s->gone || s->fd < 0 || s->garbled)
				return NULL;
			/* More may have been written than was read at a time. */
			as_crew_read_rest(s);
			if (!as_crew_peek(s, &head)) {
				as_crew_close(&s->fd);
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

/* ---- Telling -------------------------------------------------------------------------------- */

void as_crew_tell(struct as_crew *c, unsigned seat, const void *data, size_t len)
{
	struct frame head = { MAGIC, FRAME_DATA, 0, len };
	struct seat *s = &c->seats[seat];

	as_buf_add(&s->out, &head, sizeof(head));
	as_buf_add(&s->out, data, len);
	as_buf_addc(&s->out, '\0');
	as_crew_write(s);
}

void as_crew_hush(struct as_crew *c, unsigned seat)
{
	c->seats[seat].hush = true;
	as_crew_write(&c->seats[seat]);
}
