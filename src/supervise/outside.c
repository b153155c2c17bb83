/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: see outside.h; the process as the supervisor sees it. It is started when the engine
 * first asks, and ends with the guest, whose memory it shares. If it cannot be started, dies, or
 * says what makes no sense, the engine is told so and runs its checkers itself: it reads what a
 * guest has made, and is trusted no more than that.
 *
 * One question at a time. Whoever asked last waits: a child of the engine that was killed while it
 * waited does not any more. So of the questions that come meanwhile, only the last is asked, too.
 */
#include "supervise/outside.h"

#include "supervise/boxed_priv.h"

#include "instance/outside.h"
#include "os/spawn.h"
#include "target/facts.h"
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define SAID_MAX_BYTES ((size_t)4096) /* longest line of the process */

void as_boxed_outside_offer(struct as_boxed_session *b, struct as_box *box)
{
	bool own_kernel = b->how->sandbox->caps & AS_SANDBOX_OWN_KERNEL;

	as_outside_offer(as_outside_of(box->state),
			 own_kernel && (b->how->together || b->how->outside));
}

void as_boxed_outside_end(struct as_boxed_session *b)
{
	as_box_free(b->outside);
	b->outside = NULL;
	b->outside_asked = b->outside_next = 0;
	b->outside_greeted = false;
	as_buf_free(&b->outside_said);
}

/* The engine must not wait for an answer. */
static void withdraw(struct as_boxed_session *b)
{
	as_boxed_outside_end(b);
	as_outside_offer(as_outside_of(b->box->state), false);
	(void)as_box_wake(b->box);
}

static bool contains(const char *const *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], path))
			return true;
	return false;
}

/* The paths of its checkers, as this process finds them: it must not find others. */
static void find_programs(const struct as_fstype *type, char paths[AS_CHECK_MODES][PATH_BYTES],
			  const char *list[AS_CHECK_MODES + 1])
{
	const struct as_fstype_disks none = { .disk = "", .journal = "" };
	size_t n = 0;

	for (int i = 0; i < AS_CHECK_MODES; i++) {
		const char *command = as_fstype_check(type, (enum as_check_mode)i)->command;
		char **words = command ? as_fstype_argv(command, &none) : NULL;

		if (words && as_spawn_which(words[0], paths[n], PATH_BYTES) &&
		    !contains(list, n, paths[n])) {
			list[n] = paths[n];
			n++;
		}
		as_fstype_free_words(words);
	}
	list[n] = NULL;
}

static int start(struct as_boxed_session *b, struct as_err *err)
{
	unsigned deadline_ms = b->how->options.deadline_ms;
	char paths[AS_CHECK_MODES][PATH_BYTES], size[32], deadline[32];
	const char *programs[AS_CHECK_MODES + 1];
	const char *args[] = { AS_OUTSIDE_COMMAND, b->how->target, size, deadline, NULL };
	const struct as_fstype *type = NULL;
	struct as_target *target = NULL;
	uint64_t size_bytes;
	int rc = as_target_open(b->how->target, &target, err);

	if (!rc)
		rc = as_target_disk_bytes(target, b->how->options.size_bytes, &size_bytes, err);
	if (!rc)
		type = as_target_recovery(target).programs;
	if (!rc && !type)
		rc = as_fail(err, AS_EUSE, "%s: has no checker", b->how->target);
	if (!rc) {
		find_programs(type, paths, programs);
		snprintf(size, sizeof(size), "%llu", (unsigned long long)size_bytes);
		/* The shorter one: so that its hang is not taken for the engine's. */
		snprintf(deadline, sizeof(deadline), "%u",
			 (deadline_ms ? deadline_ms : AS_RUN_DEADLINE_MS) / 2);
		rc = as_box_start_confined(args, programs, b->box->state_fd, &b->outside, err);
	}
	as_target_free(target);
	return rc;
}

static bool ask(struct as_boxed_session *b, uint64_t number)
{
	struct as_buf line = { 0 };
	bool heard;

	as_wire_event_print(&(struct as_wire_event){ .kind = AS_WIRE_CHECK, .number = number },
			    &line);
	heard = as_box_say(b->outside, as_buf_str(&line));
	as_buf_free(&line);
	b->outside_asked = number;
	return heard;
}

void as_boxed_outside_asked(struct as_boxed_session *b, uint64_t number)
{
	struct as_err err;

	if (!number)
		return;
	if (b->outside_asked)
		b->outside_next = number;
	else if ((!b->outside && start(b, &err)) || !ask(b, number))
		withdraw(b);
}

/* *answered: it is the answer. False: it makes no sense. */
static bool on_line(struct as_boxed_session *b, const char *line, size_t len, bool *answered)
{
	struct as_wire_event event;
	bool sane = as_wire_event_parse(line, len, &event) == AS_WIRE_EVENT;

	*answered = sane && event.kind == AS_WIRE_ANSWER;
	if (*answered)
		sane = b->outside_greeted && b->outside_asked && event.number == b->outside_asked;
	else if (sane)
		sane = b->outside_greeted =
			event.kind == AS_WIRE_HELLO && event.version == AS_WIRE_VERSION;
	as_wire_event_free(&event);
	return sane;
}

bool as_boxed_outside_take(struct as_boxed_session *b, const char *data, size_t len)
{
	struct as_buf *said = &b->outside_said;
	bool sane = true, answered;
	char *end;

	as_buf_add(said, data, len);
	while (sane && said->len && (end = memchr(said->data, '\n', said->len))) {
		size_t whole = (size_t)(end - said->data) + 1;

		sane = on_line(b, said->data, whole - 1, &answered);
		memmove(said->data, said->data + whole, said->len - whole + 1);
		said->len -= whole;
		if (!sane || !answered)
			continue;
		(void)as_box_wake(b->box);
		b->outside_asked = 0;
		if (b->outside_next)
			sane = ask(b, b->outside_next);
		b->outside_next = 0;
	}
	return sane && said->len <= SAID_MAX_BYTES;
}

void as_boxed_outside_look(struct as_boxed_session *b)
{
	char block[1024];
	ssize_t n;

	if (!b->outside)
		return;
	n = read(b->outside->events_fd, block, sizeof(block));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || !as_boxed_outside_take(b, block, (size_t)n))
		withdraw(b);
}
