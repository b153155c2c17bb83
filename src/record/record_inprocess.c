/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record_inprocess: see record_ptrace_priv.h. Here: the pool, its slots, and how they are read.
 * record_enter.c puts the code into processes.
 *
 *  1. Only its thread writes to a slot. Only the recorder empties it, when the thread is stopped in
 *     a call that it made without the code.
 *  2. What is in the pool was written by programs that are not ours: it is copied before it is
 *     looked at, and each length is checked. Rubbish is counted as lost.
 *  3. Calls are reported in the order in which they ended. At each stop of a task, all calls before
 *     the stop are there already: a call is in the pool before the program learns of its
 *     result.
 */
#include "base/array.h"
#include "base/embed.h"
#include "record/record_inprocess_priv.h"

#include "calls/pieces.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#ifndef AS_INSIDE_BIN
#error "AS_INSIDE_BIN names the code to be put in; the Makefile says it"
#endif

AS_EMBED(as_inside_image, AS_INSIDE_BIN);

#define HWCAP2_FSGSBASE_BIT 2
#define PATIENCE 200 /* how often we look again at a record that is being written */
#define BEGUN_SEEN 1u
#define ENDED_SEEN 2u

/* ---- The image ------------------------------------------------------------------------------- */

/* Rows are shared by the calls that want the same. */
static void fill_rows(struct as_inside *in, const struct as_spec *spec)
{
	struct as_inside_image *image = (void *)in->image;
	unsigned n = 1;

	for (unsigned nr = 0; nr < AS_INSIDE_NRS && nr < AS_SPEC_NR_MAX; nr++) {
		const struct as_spec_call *call = spec->by_nr[nr];
		struct as_bpf_want want;
		unsigned row = 1;

		/* The return from a handler is left to the tracer, because it uses the stack as the
		 * kernel left it. */
		if (!call || as_record_by_event(call) || call->act == AS_ACT_SIGRETURN)
			continue;
		want = as_pieces_wanted(call);
		while (row < n && memcmp(&image->rows[row], &want, sizeof(want)))
			row++;
		as_assert(row < AS_INSIDE_ROWS);
		image->rows[row] = want;
		image->row[nr] = (unsigned char)row;
		n = row == n ? n + 1 : n;
	}
}

static int attach(struct as_inside *in, struct as_err *err)
{
	struct as_inside_image *image = (void *)in->image;
	void *at;

	in->pool_id = shmget(IPC_PRIVATE, AS_INSIDE_POOL_BYTES, IPC_CREAT | 0600);
	if (in->pool_id < 0)
		return as_fail(err, AS_ELACK, "no shared memory is available: %s", strerror(errno));
	at = shmat(in->pool_id, NULL, 0);
	in->pool = at == (void *)-1 ? NULL : at;
	/* It is freed when the last process detaches it. */
	shmctl(in->pool_id, IPC_RMID, NULL);
	if (!in->pool)
		return as_fail(err, AS_ELACK, "shared memory cannot be attached: %s",
			       strerror(errno));
	image->pool_id = (unsigned)in->pool_id;
	return 0;
}

struct as_inside *as_inside_new(const struct as_spec *spec, struct as_err *err)
{
	size_t len = (size_t)(as_inside_image_end - as_inside_image_first);
	struct as_inside *in;

	if (!(getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT)) {
		as_fail(err, AS_ELACK, "this machine does not let programs set the gs register");
		return NULL;
	}
	in = as_xcalloc(1, sizeof(*in));
	as_assert(len <= sizeof(in->image) && len >= sizeof(struct as_inside_image));
	memcpy(in->image, as_inside_image_first, len);
	in->image_bytes = (unsigned)len;
	in->mem_fd = -1;
	in->next_slot = 1;
	fill_rows(in, spec);
	if (attach(in, err) || as_text_new(in, err)) {
		as_inside_free(in);
		return NULL;
	}
	return in;
}

void as_inside_free(struct as_inside *in)
{
	if (!in)
		return;
	as_text_free(in);
	if (in->pool)
		shmdt(in->pool);
	free(in->events);
	free(in);
}

uint64_t as_inside_allowed(const struct as_inside *in)
{
	return ((const struct as_inside_image *)in->image)->allowed;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static struct as_inside_slot *slot_at(const struct as_inside *in, unsigned slot)
{
	return (void *)(in->pool + (size_t)slot * AS_INSIDE_SLOT);
}

static void clean_slot(struct as_inside *in, unsigned slot)
{
	struct as_inside_slot *s = slot_at(in, slot);
	uint64_t used = s->write;

	in->slots[slot].scan = sizeof(*s);
	in->slots[slot].broken = false;
	memset(s, 0, used < AS_INSIDE_SLOT ? used : AS_INSIDE_SLOT);
	s->write = sizeof(*s);
}

unsigned as_inside_take_slot(struct as_inside *in, pid_t tid, pid_t tgid)
{
	unsigned slot = 0;

	if (in->n_free)
		slot = in->free_slots[--in->n_free];
	else if (in->next_slot < AS_INSIDE_SLOTS)
		slot = in->next_slot++;
	if (!slot)
		return 0;
	in->slots[slot].tid = tid;
	in->slots[slot].tgid = tgid;
	/* What is after `write` may hold anything: some program may have written there. */
	slot_at(in, slot)->write = AS_INSIDE_SLOT;
	clean_slot(in, slot);
	return slot;
}

/* The length of the record at `at`; 0: it is not filled in, or rubbish. */
static unsigned record_len(struct as_slot *own, const struct as_inside_record *record, unsigned at)
{
	unsigned len;

	if (at + sizeof(*record) > AS_INSIDE_SLOT ||
	    !__atomic_load_n(&record->begun, __ATOMIC_ACQUIRE))
		return 0;
	len = *(const volatile __u32 *)&record->len;
	if (len >= sizeof(*record) && len % 8 == 0 && len <= AS_INSIDE_SLOT - at)
		return len;
	own->broken = true;
	return 0;
}

unsigned as_inside_give_slot(struct as_inside *in, unsigned slot)
{
	struct as_slot *own = &in->slots[slot];
	const char *base = (char *)slot_at(in, slot);
	unsigned open = 0, len;

	if (!slot)
		return 0;
	for (unsigned at = own->scan;
	     (len = record_len(own, (const struct as_inside_record *)(base + at), at)); at += len)
		open += !((const struct as_inside_record *)(base + at))->ended;
	own->tid = 0;
	in->free_slots[in->n_free++] = (unsigned short)slot;
	return open;
}

/* The task of the slot is stopped in a call that it made by itself, because there was no room.
 * Records of calls that have not returned stay where they are: a signal handler may be running.
 * When they take half of the room, their calls were left by longjmp. */
void as_inside_set_back(struct as_inside *in, unsigned slot)
{
	struct as_inside_slot *s = slot_at(in, slot);
	struct as_slot *own = &in->slots[slot];
	uint64_t keep = own->pinned_end;

	if (s->write <= AS_INSIDE_SLOT && !s->full_at)
		return;
	/* A record is incomplete. */
	if (!own->broken && own->filled < s->full_at)
		return;
	if (own->broken || own->scan == own->filled || keep > AS_INSIDE_SLOT / 2) {
		clean_slot(in, slot);
		return;
	}
	memset((char *)s + keep, 0, AS_INSIDE_SLOT - keep);
	s->full_at = 0;
	s->write = keep;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void note_event(struct as_inside *in, uint64_t moment, unsigned slot, unsigned at, bool end)
{
	AS_ARRAY_ROOM(in->events, in->n_events, in->cap_events);
	in->events[in->n_events++] = (struct as_inside_event){
		.moment = moment, .slot = (unsigned short)slot, .at = (unsigned short)at, .end = end
	};
}

/* Notes the new records of a slot, up to the moment `now`. Returns how many moments these
 * explain. */
static uint64_t look(struct as_inside *in, unsigned slot, uint64_t now)
{
	struct as_slot *own = &in->slots[slot];
	char *base = (char *)slot_at(in, slot);
	unsigned at = own->scan, len;
	bool all = true; /* all calls before this have returned */
	uint64_t seen = 0;

	own->pinned_end = at;
	while (!own->broken &&
	       (len = record_len(own, (struct as_inside_record *)(base + at), at))) {
		struct as_inside_record *record = (void *)(base + at);
		uint64_t ended = __atomic_load_n(&record->ended, __ATOMIC_ACQUIRE);
		unsigned taken = record->taken;

		if (!(taken & BEGUN_SEEN) && record->begun <= now) {
			note_event(in, record->begun, slot, at, false);
			taken |= BEGUN_SEEN;
			seen++;
		}
		if (!(taken & ENDED_SEEN) && ended && ended <= now) {
			note_event(in, ended, slot, at, true);
			taken |= ENDED_SEEN;
			seen++;
		}
		record->taken = taken;
		all &= taken == (BEGUN_SEEN | ENDED_SEEN);
		at += len;
		if (all)
			own->scan = at;
		else if (taken != (BEGUN_SEEN | ENDED_SEEN))
			own->pinned_end = at;
	}
	own->filled = at;
	return seen;
}

static int by_moment(const void *a, const void *b)
{
	const struct as_inside_event *x = a, *y = b;

	return x->moment < y->moment ? -1 : x->moment > y->moment;
}

/* Copies a record; false: it is rubbish. */
static bool copy_record(struct as_inside *in, const struct as_inside_event *event,
			struct as_inside_record *out)
{
	const char *from = (char *)slot_at(in, event->slot) + event->at;

	memcpy(out, from, sizeof(*out));
	if (out->len < sizeof(*out) || out->len > (unsigned)AS_INSIDE_SLOT - event->at ||
	    out->piece_bytes > out->len - sizeof(*out) || out->piece_bytes > AS_PIECES_ROOM ||
	    out->nr >= AS_SPEC_NR_MAX)
		return false;
	memcpy(in->pieces, from + sizeof(*out), out->piece_bytes);
	return true;
}

static void tell(struct as_inside *in, struct as_receiver *to, const struct as_inside_event *event)
{
	const struct as_slot *own = &in->slots[event->slot];
	struct as_inside_record record;
	struct as_pieces pieces = { .data = in->pieces };
	struct as_memory memory = { .read = as_pieces_read, .sum = as_pieces_sum, .ctx = &pieces };
	const struct as_spec_call *spec;
	struct as_syscall call;

	if (!copy_record(in, event, &record) || !(spec = to->spec->by_nr[record.nr]) ||
	    as_record_by_event(spec)) {
		if (event->end)
			to->lost(to, 1);
		return;
	}
	/* Only the beginning of a close matters: another thread may get the number soon. */
	if (!event->end &&
	    !(as_world_closes(spec) && as_world_shares(to->world, (unsigned)own->tid)))
		return;
	pieces.len = record.piece_bytes;
	as_syscall_fill(&call, spec, (const uint64_t *)record.regs, &memory, in->room);
	call.pid = (unsigned)own->tgid;
	call.tid = (unsigned)own->tid;
	if (!event->end) {
		as_world_enter(to->world, &call);
		return;
	}
	as_syscall_return(&call, record.ret, (const uint64_t *)record.regs, &memory);
	to->call(to, &call);
}

void as_inside_drain(struct as_inside *in, struct as_receiver *to)
{
	struct as_inside_pool *pool = (void *)in->pool;
	uint64_t now = __atomic_load_n(&pool->moment, __ATOMIC_SEQ_CST);

	if (now == in->told)
		return;
	in->n_events = 0;
	for (int i = 0; i < PATIENCE && (!i || in->accounted < now); i++) {
		if (i)
			sched_yield();
		for (unsigned slot = 1; slot < in->next_slot; slot++)
			if (in->slots[slot].tid)
				in->accounted += look(in, slot, now);
	}
	/* The thread that should have written the rest is dead, or stopped. */
	in->accounted = now;
	in->told = now;
	if (in->n_events)
		qsort(in->events, in->n_events, sizeof(*in->events), by_moment);
	for (size_t i = 0; i < in->n_events; i++)
		tell(in, to, &in->events[i]);
	for (unsigned slot = 1; slot < in->next_slot; slot++) {
		struct as_inside_slot *s = slot_at(in, slot);

		if (in->slots[slot].tid && s->lost)
			to->lost(to, __atomic_exchange_n(&s->lost, 0, __ATOMIC_RELAXED));
	}
}
