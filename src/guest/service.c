/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: see service.h. Shows that it is alive while it waits for work: what waits does not hang.
 */
#include "guest/service_priv.h"

#include "box/sandbox.h"
#include "os/patience.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define WAIT_MS 1000 /* between two signs of life while there is nothing to do */

/* Who carries out what (as_wire_requests). */
static int (*const rows[AS_WIRE_REQUESTS])(struct as_service *s, struct as_err *err) = {
	[AS_WIRE_RUN] = as_service_run,
	[AS_WIRE_MAKE] = as_service_make,
	[AS_WIRE_MOUNT] = as_service_mount,
};

static int read_call(struct as_service *s, const char *path, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc;

	s->call = as_xcalloc(1, sizeof(*s->call));
	rc = as_buf_read_file(&text, path, AS_WIRE_FILE_MAX_BYTES, err);
	if (!rc)
		rc = as_wire_call_parse(as_buf_str(&text), text.len, s->call, err);
	as_buf_free(&text);
	return rc;
}

static void forget(struct as_wire_call **call)
{
	if (*call)
		as_wire_call_free(*call);
	free(*call);
	*call = NULL;
}

/* What is open is of use to a call like that it was opened for. */
static int close_others(struct as_service *s, struct as_err *err)
{
	int rc = 0;

	if (s->opened && !as_wire_call_alike(s->opened, s->call)) {
		rc = as_service_runs_close(s, 0, err);
		as_service_disks_close(s);
		forget(&s->opened);
	}
	if (!s->opened)
		s->opened = s->call;
	return rc;
}

/* *last: there is none after it. */
static int serve_call(struct as_service *s, const char *path, bool *last, struct as_err *err)
{
	int rc = read_call(s, path, err);

	if (!rc) {
		*last = s->call->last;
		rc = close_others(s, err);
	}
	if (!rc) {
		s->state->job = 0;
		rc = rows[s->call->request](s, err);
	}
	if (s->call != s->opened)
		forget(&s->call);
	s->call = NULL;
	return rc;
}

/* Waits until the supervisor says that there is a call; false: there is none any more. */
static bool await_call(struct as_service *s)
{
	volatile uint64_t *alive = (volatile uint64_t *)(void *)s->state->engine;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	const char *expected = AS_WIRE_GO;
	char c;

	while (*expected) {
		int ready = poll(&in, 1, WAIT_MS);

		++*alive;
		if (ready <= 0)
			continue;
		if (read(STDIN_FILENO, &c, 1) != 1)
			return false;
		/* It was meant for a child that has ended. */
		if (c == AS_BOX_WAKE)
			continue;
		if (c != *expected)
			return false;
		expected++;
	}
	return true;
}

int as_guest_serve(const char *state, const char *path, const struct as_guest_counter *counter,
		   struct as_err *err)
{
	struct as_service s = { .wire = as_service_wire, .counter = counter, .kept = AS_DIR_NONE };
	bool last = false;
	int rc;

	as_service_say(&s, &(struct as_wire_event){ .kind = AS_WIRE_HELLO,
						    .version = AS_WIRE_VERSION });
	rc = as_box_state_open(state, &s.state, err);
	if (!rc)
		as_patience_told(&s.state->waited_us);
	while (!rc && !last && !s.unheard && await_call(&s))
		rc = serve_call(&s, path, &last, err);
	as_service_disks_close(&s);
	rc = as_service_runs_close(&s, rc, err);
	as_known_free(s.known);
	forget(&s.opened);
	if (s.state)
		as_box_state_close(s.state);
	if (rc < 0)
		as_service_say(&s, &(struct as_wire_event){ .kind = AS_WIRE_ERROR,
							    .text = err->msg,
							    .lacks = rc == AS_ELACK });
	return rc;
}
