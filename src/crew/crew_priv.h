/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crew_priv: what crew.c (processes), crew_talk.c (frames) and crew_turns.c (order) share. */
#ifndef AS_CREW_CREW_PRIV_H
#define AS_CREW_CREW_PRIV_H

#include "crew/crew.h"
#include "crew/turns.h"
#include "os/patience.h"

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
	struct as_crew_lanes lanes;
	struct as_turns *turns; /* what waits; NULL: nobody asked for turns */
	char *taken; /* what was taken last */
};

struct as_mate {
	int fd;
	unsigned seat;
};

void as_crew_close(int *fd);
/* AS_EIO: nobody is there to hear it. */
AS_MUST_CHECK int as_crew_send(int fd, enum frame_kind kind, int rc, const void *data, size_t len);
/* The next frame of a mate, if all of it is here. */
bool as_crew_peek(const struct seat *seat, struct frame *head);
/* Whether there is something that is to be taken before more is read. */
bool as_crew_is_full(const struct seat *seat);
void as_crew_read(struct seat *seat); /* what is there, at most so much at a time */
void as_crew_read_rest(struct seat *seat); /* when its process is gone */
void as_crew_write(struct seat *seat); /* as much as there is room for */
void as_crew_turns_free(struct as_crew *crew);

#endif
