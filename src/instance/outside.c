/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside: see outside.h.
 *
 * Method. The disk is dumped (disk/dump.h) into the memory in which a watched disk has its witness:
 * a disk that is checked here is not watched. The question has a number. A byte on the engine's
 * standard input only wakes it up; the answer is there when the number of the answer is that of the
 * question. So a byte that comes late, or twice, or for an engine's child that was killed while it
 * waited, does no harm. Disks of recoveries are told and answered by outside_log.c.
 */
#include "instance/outside.h"

#include "disk/dump.h"
#include "os/spawn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After the head of the witness, which says that it is of no use, and after the state of a scenario
 * that has more of it than a run. */
#define DUMP_AT ((size_t)1 << 20)
#define DUMP_BYTES (AS_RUN_WITNESS_BYTES - DUMP_AT)
#define WAIT_MS 1000

size_t as_outside_bytes(void)
{
	return sizeof(struct as_outside);
}

void as_outside_offer(struct as_outside *o, bool offered)
{
	o->offered = offered ? AS_OUTSIDE_MARK : 0;
}

bool as_outside_is_offered(const struct as_outside *o)
{
	return o->offered == AS_OUTSIDE_MARK;
}

void *as_outside_dump(struct as_box_state *state, size_t *room_bytes)
{
	*room_bytes = DUMP_BYTES;
	return (char *)as_shared_witness(state) + DUMP_AT;
}

int as_outside_run(struct as_checkers *checkers, const struct as_fstype *type,
		   enum as_check_mode mode, struct as_disk *disk, enum as_check_answer *answer,
		   struct as_buf *output, struct as_err *err)
{
	struct as_checked checked = { 0 };
	int rc = as_checker_run(checkers, type, mode, disk, 0, &checked, err);

	*answer = checked.answer;
	if (!rc) {
		as_buf_adds(output, as_buf_str(&checked.run.output));
		if (checked.run.ended.how == AS_END_EXIT)
			*answer = as_fstype_judge(type, mode, checked.run.ended.status,
						  as_buf_str(output));
		else
			as_checker_describe(&checked, output);
	}
	as_checked_free(&checked);
	return rc;
}

/* ---- The engine ------------------------------------------------------------------------------ */

static bool await(const struct as_outside *o, uint64_t number, int in_fd)
{
	struct pollfd in = { .fd = in_fd, .events = POLLIN };
	char block[64];

	while (__atomic_load_n(&o->answered, __ATOMIC_ACQUIRE) != number) {
		if (!as_outside_is_offered(o))
			return false;
		if (poll(&in, 1, WAIT_MS) > 0 && read(in_fd, block, sizeof(block)) == 0)
			return false;
	}
	return true;
}

bool as_outside_ask(struct as_outside *o, uint64_t number, int in_fd, int out_fd)
{
	char line[64];
	int len = snprintf(line, sizeof(line), AS_OUTSIDE_ASK, (unsigned long long)number);

	__atomic_thread_fence(__ATOMIC_RELEASE);
	return write(out_fd, line, (size_t)len) == len && await(o, number, in_fd);
}

/* AS_ELACK: there is no answer. */
static int ask(struct as_outside *o, struct as_mount *mount, enum as_check_mode mode)
{
	char *dump = (char *)o - AS_RUN_WITNESS_BYTES + DUMP_AT;
	uint64_t number = (uint64_t)as_now_us();
	size_t len;
	int rc;

	if (!as_outside_is_offered(o))
		return AS_ELACK;
	rc = as_mount_dump(mount, dump, DUMP_BYTES, &len, NULL);
	if (rc)
		return rc;
	if (!len)
		return AS_ELACK;
	o->mode = mode;
	o->dump_bytes = len;
	return as_outside_ask(o, number, STDIN_FILENO, STDOUT_FILENO) ? o->rc : AS_ELACK;
}

bool as_outside_is_clean(struct as_outside *o, struct as_mount *mount, enum as_check_mode mode)
{
	o->doubted = false;
	if (ask(o, mount, mode))
		return false;
	o->doubted = o->answer != AS_CHECK_CLEAN;
	return !o->doubted;
}

void as_outside_compare(struct as_outside *o, enum as_check_answer answer)
{
	if (o->doubted && answer == AS_CHECK_CLEAN)
		as_outside_offer(o, false);
}

/* ---- Outside --------------------------------------------------------------------------------- */

struct as_outside_server {
	struct as_box_state *state;
	const struct as_fstype *type;
	struct as_checkers *checkers;
	struct as_chunks *store;
	struct as_disk *disk; /* that was checked last */
	struct as_disk *crashed; /* the same, of those that are told by their difference */
	uint64_t loaded; /* the question that told it */
};

static int check(struct as_outside_server *s, enum as_check_answer *answer, struct as_buf *output,
		 struct as_err *err)
{
	struct as_outside *o = as_outside_of(s->state);
	/* Read once: they may change at any time. */
	uint32_t mode = *(volatile uint32_t *)&o->mode;
	uint64_t len = *(volatile uint64_t *)&o->dump_bytes;
	size_t room;
	const void *dump = as_outside_dump(s->state, &room);
	int rc;

	*answer = AS_CHECK_FAILED;
	if (mode >= AS_CHECK_MODES || !as_fstype_check(s->type, mode)->command || len > room)
		return as_fail(err, AS_EUSE, "a question that makes no sense");
	rc = as_dump_load(dump, len, s->disk, err);
	if (!rc)
		rc = as_outside_run(s->checkers, s->type, (enum as_check_mode)mode, s->disk, answer,
				    output, err);
	return rc;
}

static int recover(struct as_outside_server *s, uint64_t number, struct as_err *err)
{
	struct as_outside *o = as_outside_of(s->state);
	uint32_t mode = *(volatile uint32_t *)&o->mode;
	struct as_checked checked = { 0 };
	int rc;

	if (mode >= AS_CHECK_MODES || !as_fstype_check(s->type, mode)->command)
		return as_fail(err, AS_EUSE, "a question that makes no sense");
	rc = as_outside_load(o, as_disk_size(s->disk), &s->crashed, number, &s->loaded, err);
	if (rc)
		return rc;
	as_checkers_fail_read(s->checkers, *(volatile uint64_t *)&o->fail_read);
	rc = as_checker_run(s->checkers, s->type, (enum as_check_mode)mode, s->crashed,
			    AS_TOOL_READS, &checked, err);
	if (!rc)
		rc = as_outside_tell(o, &checked.run);
	as_checked_free(&checked);
	return rc;
}

void as_outside_answer(struct as_outside_server *s, uint64_t number)
{
	struct as_outside *o = as_outside_of(s->state);
	enum as_check_answer answer = AS_CHECK_FAILED;
	struct as_buf output = { 0 };
	struct as_err err = { 0 };
	int rc = AS_ELACK;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!as_outside_is_offered(o))
		; /* nobody of ours wrote this */
	else if (*(volatile uint64_t *)&o->dump_bytes)
		rc = check(s, &answer, &output, &err);
	else
		rc = recover(s, number, &err);
	o->rc = rc ? AS_ELACK : 0;
	o->answer = answer;
	__atomic_store_n(&o->answered, number, __ATOMIC_RELEASE);
	as_buf_free(&output);
}

int as_outside_server_new(struct as_box_state *state, size_t state_bytes,
			  const struct as_fstype *type, uint64_t size_bytes, unsigned deadline_ms,
			  struct as_outside_server **server, struct as_err *err)
{
	struct as_tool_setup setup = { .deadline_ms = deadline_ms };
	struct as_outside_server *s;
	int rc;

	*server = NULL;
	if (state_bytes < sizeof(*state) + as_run_state_bytes())
		return as_fail(err, AS_EUSE, "not the state of a box of this program");
	s = as_xcalloc(1, sizeof(*s));
	s->state = state;
	s->type = type;
	s->store = as_chunks_new();
	s->checkers = as_checkers_new(&setup);
	rc = as_disk_new(s->store, size_bytes, &s->disk, err);
	if (!rc)
		rc = as_disk_new(s->store, size_bytes, &s->crashed, err);
	if (rc) {
		as_outside_server_free(s);
		s = NULL;
	}
	*server = s;
	return rc;
}

void as_outside_server_free(struct as_outside_server *s)
{
	if (!s)
		return;
	as_checkers_free(s->checkers);
	as_disk_free(s->disk);
	as_disk_free(s->crashed);
	as_chunks_free(s->store);
	free(s);
}
