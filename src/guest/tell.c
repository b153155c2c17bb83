/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tell: what the supervisor hears: all that scenarios tell their sinks, and what the service says
 * of its calls. There is one way out (as_service_say()). The disk of a finding goes into the folder
 * that is shared with the supervisor, and is complete before its finding is told. All else that a
 * person gets of a finding is made outside, from what is told.
 */
#include "guest/service_priv.h"

#include "disk/image.h"

#include <errno.h>
#include <unistd.h>

/* ---- Disks of findings ----------------------------------------------------------------------- */

int as_service_kept_open(struct as_service *s, struct as_err *err)
{
	struct as_dir out = AS_DIR_NONE;
	bool made;
	int rc;

	s->kept = AS_DIR_NONE;
	if (!s->call->out)
		return 0;
	rc = as_dir_open(s->call->out, &made, &out, err);
	if (!rc)
		rc = as_dir_below(&out, AS_WIRE_FINDINGS, true, &s->kept, err);
	as_dir_close(&out);
	return rc;
}

static int save(const struct as_disk *disk, const struct as_dir *dir, const char *name,
		struct as_err *err)
{
	return disk ? as_image_save_in((struct as_disk *)disk, dir, name, err) : 0;
}

static void keep(struct as_service *s, const struct as_finding *f)
{
	bool power = f->kind == AS_FIND_CRASH || f->kind == AS_FIND_RECOVERY;
	struct as_dir dir = AS_DIR_NONE;
	int rc;

	if (s->kept.fd < 0 || s->kept_rc || !f->disk)
		return;
	rc = as_dir_below(&s->kept, f->id, true, &dir, &s->kept_err);
	if (!rc)
		rc = save(f->disk, &dir, AS_WIRE_DISK, &s->kept_err);
	if (!rc && power)
		rc = save(f->healthy, &dir, AS_WIRE_BEFORE, &s->kept_err);
	as_dir_close(&dir);
	s->kept_rc = rc;
}

int as_service_kept_failed(const struct as_service *s, struct as_err *err)
{
	if (s->kept_rc && err)
		*err = s->kept_err;
	return s->kept_rc;
}

/* ---- Saying ---------------------------------------------------------------------------------- */

/* Nobody may hear it any more: then the work can stop. */
void as_service_say(struct as_service *s, const struct as_wire_event *event)
{
	struct as_buf line = { 0 };
	size_t done = 0;

	if (event->kind == AS_WIRE_FINDING)
		keep(s, &event->finding);
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

const struct as_sink as_service_wire = { .finding = say_finding,
					 .again = say_again,
					 .note = say_note,
					 .told = say_told };
