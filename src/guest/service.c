/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: see service.h. Shows that it is alive while it waits for work: what waits does not hang.
 */
#include "guest/service_priv.h"

#include "box/sandbox.h"
#include "os/patience.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define WAIT_MS 1000 /* between two signs of life while there is nothing to do */

/* Who carries out what (as_wire_requests). */
static int (*const rows[AS_WIRE_REQUESTS])(struct as_service *s, const struct as_wire_work *work,
					   size_t *at, struct as_err *err) = {
	[AS_WIRE_RUN] = as_service_run,
	[AS_WIRE_MAKE] = as_service_make,
	[AS_WIRE_MOUNT] = as_service_mount,
};

/* ---- Telling --------------------------------------------------------------------------------- */

/* Nobody may hear it any more: then the work can stop. */
void as_service_say(struct as_service *s, const struct as_wire_event *event)
{
	struct as_buf line = { 0 };
	size_t done = 0;

	as_wire_event_print(event, &line);
	while (done < line.len && !s->unheard) {
		ssize_t n = write(STDOUT_FILENO, line.data + done, line.len - done);

		if (n > 0)
			done += (size_t)n;
		else
			s->unheard = n == 0 || errno != EINTR;
	}
	as_buf_free(&line);
}

static void say_finding(struct as_sink *sink, const struct as_finding *f)
{
	as_service_keep((struct as_service *)sink, f);
	as_service_say((struct as_service *)sink,
		       &(struct as_wire_event){ .kind = AS_WIRE_FINDING, .finding = *f });
}

static void say_again(struct as_sink *sink, const char *signature)
{
	as_service_say((struct as_service *)sink,
		       &(struct as_wire_event){ .kind = AS_WIRE_AGAIN, .text = signature });
}

static void say_note(struct as_sink *sink, const char *line)
{
	as_service_say((struct as_service *)sink,
		       &(struct as_wire_event){ .kind = AS_WIRE_NOTE, .text = line });
}

static void say_told(struct as_sink *sink, const char *text)
{
	as_service_say((struct as_service *)sink,
		       &(struct as_wire_event){ .kind = AS_WIRE_TOLD, .text = text });
}

/* ---- Working --------------------------------------------------------------------------------- */

static int do_work(struct as_service *s, struct as_err *err)
{
	struct as_wire_work work = { 0 };
	struct as_buf text = { 0 };
	size_t at = 0;
	int rc = as_buf_read_file(&text, s->job.work, AS_WIRE_FILE_MAX_BYTES, err);

	if (!rc)
		rc = as_wire_work_parse(as_buf_str(&text), text.len, &work, err);
	as_buf_free(&text);
	while (at < work.n && !rc && !s->unheard) {
		s->state->job = (int64_t)at;
		rc = rows[work.items[at].request](s, &work, &at, err);
		if (!rc)
			rc = as_service_kept_failed(s, err);
	}
	as_wire_work_free(&work);
	return rc;
}

/* Waits until the supervisor says that there is work; false: there is no more. */
static bool await_work(struct as_service *s)
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

static int serve(struct as_service *s, struct as_err *err)
{
	int rc = as_box_state_open(s->job.state, &s->state, err);

	if (rc)
		return rc;
	as_patience_told(&s->state->waited_us);
	s->wire = (struct as_sink){
		.finding = say_finding, .again = say_again, .note = say_note, .told = say_told
	};
	rc = as_service_kept_open(s, err);
	if (!rc)
		rc = as_service_runs_open(s, err);
	if (!rc && s->job.once)
		rc = do_work(s, err);
	while (!rc && !s->job.once && await_work(s))
		rc = do_work(s, err);
	as_service_disks_close(s);
	as_service_runs_close(s);
	as_service_kept_close(s);
	rc = s->counter->close(s->counter->ctx, rc, err);
	as_box_state_close(s->state);
	return rc;
}

int as_guest_serve(const char *path, const struct as_guest_counter *counter, struct as_err *err)
{
	struct as_service s = { .counter = counter };
	struct as_buf text = { 0 };
	int rc;

	as_service_say(&s, &(struct as_wire_event){ .kind = AS_WIRE_HELLO,
						    .version = AS_WIRE_VERSION });
	rc = as_buf_read_file(&text, path, AS_WIRE_FILE_MAX_BYTES, err);
	if (!rc)
		rc = as_wire_job_parse(as_buf_str(&text), text.len, &s.job, err);
	if (!rc)
		rc = serve(&s, err);
	if (rc < 0)
		as_service_say(&s, &(struct as_wire_event){ .kind = AS_WIRE_ERROR,
							    .text = err->msg,
							    .lacks = rc == AS_ELACK });
	as_wire_job_free(&s.job);
	as_buf_free(&text);
	return rc;
}
