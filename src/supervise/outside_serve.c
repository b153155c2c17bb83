/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outside_serve: the loop of the process outside (outside.h). What it is asked came from a guest:
 * only the number is in the message, and instance/outside.c distrusts the rest. */
#include "supervise/outside.h"

#include "instance/outside.h"
#include "supervise/wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)4096) /* of a question */

/* False: nobody is there to hear it. */
static bool say(int fd, const struct as_wire_event *event)
{
	struct as_buf line = { 0 };
	size_t done = 0;
	bool all;

	as_wire_event_print(event, &line);
	while (done < line.len) {
		ssize_t n = write(fd, line.data + done, line.len - done);

		if (n <= 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	all = done == line.len;
	as_buf_free(&line);
	return all;
}

static int answer(struct as_outside_server *server, const char *line, size_t len, int out_fd,
		  struct as_err *err)
{
	struct as_wire_event event;
	bool asked = as_wire_event_parse(line, len, &event) == AS_WIRE_EVENT;
	uint64_t number = event.number;

	asked = asked && event.kind == AS_WIRE_CHECK && number;
	as_wire_event_free(&event);
	if (!asked)
		return as_fail(err, AS_EUSE, "the wire: this is no question about a disk");
	as_outside_answer(server, number);
	return say(out_fd, &(struct as_wire_event){ .kind = AS_WIRE_ANSWER, .number = number })
		       ? 0
		       : as_fail(err, AS_EIO, "nobody hears the answer");
}

/* All lines that are there. */
static int take(struct as_outside_server *server, struct as_buf *in, int out_fd, struct as_err *err)
{
	char *end;
	int rc = 0;

	while (!rc && in->len && (end = memchr(in->data, '\n', in->len))) {
		size_t len = (size_t)(end - in->data) + 1;

		rc = answer(server, in->data, len - 1, out_fd, err);
		memmove(in->data, in->data + len, in->len - len + 1);
		in->len -= len;
	}
	if (!rc && in->len > LINE_MAX_BYTES)
		rc = as_fail(err, AS_EUSE, "the wire: a question that does not end");
	return rc;
}

int as_outside_serve(struct as_box_state *state, size_t state_bytes, const struct as_fstype *type,
		     uint64_t size_bytes, unsigned deadline_ms, int in_fd, int out_fd,
		     struct as_err *err)
{
	struct as_outside_server *server = NULL;
	struct as_buf in = { 0 };
	char block[1024];
	ssize_t n = 1;
	int rc = as_outside_server_new(state, state_bytes, type, size_bytes, deadline_ms, &server,
				       err);

	if (!rc && !say(out_fd, &(struct as_wire_event){ .kind = AS_WIRE_HELLO,
							 .version = AS_WIRE_VERSION }))
		n = 0;
	while (!rc && n) {
		n = read(in_fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		n = n > 0 ? n : 0;
		as_buf_add(&in, block, (size_t)n);
		rc = take(server, &in, out_fd, err);
	}
	as_outside_server_free(server);
	as_buf_free(&in);
	return rc;
}
