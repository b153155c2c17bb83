/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * outside_log: questions about crashed disks, and the answers to them (outside.h).
 *
 * Method. Disks of one recoverer differ little from each other, so a disk is told by the chunks in
 * which it differs from the one that was told last: numbers and bytes, one after the other. The
 * answer is what as_tool_run() says of the run; of its log, reads without their bytes and writes
 * with them. The engine does again what is in the log, through a recorder, on a snapshot of the
 * disk: that gives the disk that the checker has left, since replaying a log gives its disk.
 *
 * Invariants
 *   1. `there` is the disk that the process outside has if its last question by difference was
 *      `there_as`. It knows that number, too, and refuses a difference to another disk; then all of
 *      the disk is told, as the difference to zeros.
 *   2. Neither side believes a length or an offset: whatever the area holds, nothing outside of it
 *      is read, and nothing outside of the disk is changed.
 */
#include "instance/outside.h"

#include "disk/log.h"
#include "os/spawn.h"

#include <string.h>

/* One chunk of a difference. */
struct told_chunk {
	uint64_t index;
	unsigned char data[AS_CHUNK_BYTES];
};

/* An answer; the output follows, and then the entries, each on a multiple of 8. */
struct told_run {
	int32_t how, status;
	int64_t wall_us;
	uint64_t reads, output_bytes, entries;
	uint32_t incomplete, changed, refused, confined;
	char first_refused[sizeof(((struct as_tool_result *)0)->first_refused)];
	char died[sizeof(((struct as_tool_result *)0)->died)];
};

/* An entry of a log; the bytes of a write follow. */
struct told_entry {
	uint64_t off, len_bytes;
	uint32_t kind;
	int32_t ret;
};

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* ---- The question ---------------------------------------------------------------------------- */

struct delta {
	struct as_outside *outside;
	size_t used;
};

static int put_chunk(void *ctx, uint64_t index, const unsigned char *a, const unsigned char *b)
{
	struct delta *d = ctx;
	struct told_chunk *to = (struct told_chunk *)(void *)(d->outside->area + d->used);

	(void)a;
	if (AS_OUTSIDE_AREA_BYTES - d->used < sizeof(*to))
		return AS_ELACK;
	to->index = index;
	memcpy(to->data, b, AS_CHUNK_BYTES);
	d->used += sizeof(*to);
	return 0;
}

static void forget(struct as_outside_link *link)
{
	as_disk_free(link->there);
	link->there = NULL;
	link->there_as = 0;
}

/* Nothing is there yet, or nobody knows what: zeros. */
static int begin_anew(struct as_outside_link *link, struct as_disk *disk)
{
	forget(link);
	return as_disk_new(as_disk_store(disk), as_disk_size(disk), &link->there, NULL);
}

static int ask(struct as_outside_link *link, enum as_check_mode mode, uint64_t fail_read,
	       struct as_disk *disk)
{
	struct as_outside *o = link->outside;
	struct delta delta = { .outside = o };
	uint64_t number = (uint64_t)as_now_us();
	int rc = as_disk_diff(link->there, disk, put_chunk, &delta);

	if (rc)
		return rc;
	o->mode = mode;
	o->dump_bytes = 0;
	o->base = link->there_as;
	o->delta_bytes = delta.used;
	o->size_bytes = as_disk_size(disk);
	o->fail_read = fail_read;
	if (!as_outside_ask(o, number, link->in_fd, link->out_fd))
		return AS_ELACK;
	as_disk_restore(link->there, disk);
	link->there_as = number;
	return o->rc;
}

/* Disks of another size are others: a crash run has smaller ones. */
static int make_room(struct as_disk **disk, uint64_t size, struct as_err *err)
{
	struct as_disk *other = NULL;
	int rc;

	if (size == as_disk_size(*disk))
		return 0;
	rc = as_disk_new(as_disk_store(*disk), size, &other, err);
	if (rc)
		return rc;
	as_disk_free(*disk);
	*disk = other;
	return 0;
}

int as_outside_load(const struct as_outside *o, uint64_t size_max, struct as_disk **disk,
		    uint64_t number, uint64_t *loaded, struct as_err *err)
{
	/* Read once: they may change at any time. */
	uint64_t base = *(const volatile uint64_t *)&o->base;
	uint64_t len = *(const volatile uint64_t *)&o->delta_bytes;
	uint64_t size = *(const volatile uint64_t *)&o->size_bytes;
	struct as_bd *bd;
	int rc;

	if (size > size_max || len > AS_OUTSIDE_AREA_BYTES || len % sizeof(struct told_chunk) ||
	    (base && (base != *loaded || size != as_disk_size(*disk))))
		return as_fail(err, AS_EUSE, "not the difference to a disk that is known");
	*loaded = 0;
	rc = make_room(disk, size, err);
	if (rc)
		return rc;
	bd = as_disk_bd(*disk);
	if (!base)
		as_assert(!as_bd_zero(bd, 0, size));
	for (size_t at = 0; at < len; at += sizeof(struct told_chunk)) {
		const struct told_chunk *from = (const void *)(o->area + at);
		uint64_t index = *(const volatile uint64_t *)&from->index, left;

		if (index > (size - 1) / AS_CHUNK_BYTES)
			return as_fail(err, AS_EUSE, "a chunk that the disk does not have");
		left = size - index * AS_CHUNK_BYTES;
		as_assert(!as_bd_write(bd, index * AS_CHUNK_BYTES, from->data,
				       left < AS_CHUNK_BYTES ? left : AS_CHUNK_BYTES));
	}
	*loaded = number;
	return 0;
}

/* ---- The answer ------------------------------------------------------------------------------ */

struct told_out {
	unsigned char *area;
	size_t used;
	bool full;
};

static void put(struct told_out *t, const void *data, size_t len)
{
	t->full |= AS_OUTSIDE_AREA_BYTES - t->used < padded(len);
	if (t->full || !len)
		return;
	memcpy(t->area + t->used, data, len);
	t->used += padded(len);
}

int as_outside_tell(struct as_outside *o, const struct as_tool_result *r)
{
	struct told_out t = { .area = o->area };
	struct told_run run = { .how = (int32_t)r->ended.how,
				.status = r->ended.status,
				.wall_us = r->ended.wall_us,
				.reads = r->reads,
				.output_bytes = r->output.len,
				.entries = as_reclog_len(r->log),
				.incomplete = r->incomplete,
				.changed = r->changed,
				.refused = r->refused,
				.confined = r->confined };

	memcpy(run.first_refused, r->first_refused, sizeof(run.first_refused));
	memcpy(run.died, r->died, sizeof(run.died));
	put(&t, &run, sizeof(run));
	put(&t, as_buf_str(&r->output), r->output.len);
	for (size_t i = 0; i < as_reclog_len(r->log) && !t.full; i++) {
		const struct as_log_entry *e = as_reclog_at(r->log, i);
		struct told_entry told = { e->off, e->len, (uint32_t)e->kind, e->ret };

		put(&t, &told, sizeof(told));
		if (e->kind == AS_CALL_WRITE)
			put(&t, e->data, e->len);
	}
	o->log_bytes = t.used;
	return t.full ? AS_ELACK : 0;
}

/* ---- What it says ---------------------------------------------------------------------------- */

struct told_in {
	const unsigned char *area;
	size_t used, len;
	bool bad;
};

/* NULL: it is not there. */
static const void *get(struct told_in *l, size_t len)
{
	const void *at = l->area + l->used;

	l->bad |= len > l->len - l->used || padded(len) > l->len - l->used;
	if (l->bad)
		return NULL;
	l->used += padded(len);
	return at;
}

/* Does again what the entry says; false: it makes no sense. */
static bool redo(struct told_in *l, struct as_bd *bd, struct as_buf *scratch)
{
	const struct told_entry *e = get(l, sizeof(*e));
	const unsigned char *data = NULL;
	bool empty = e && e->kind == AS_CALL_FLUSH && !e->off && !e->len_bytes;

	if (e && e->kind == AS_CALL_WRITE)
		data = get(l, e->len_bytes);
	if (l->bad || e->kind >= AS_CALL_KINDS || e->ret || e->off > bd->size_bytes ||
	    e->len_bytes > bd->size_bytes - e->off)
		return false;
	switch ((enum as_call)e->kind) {
	case AS_CALL_READ:
		return !as_bd_read(bd, e->off, as_buf_reserve(scratch, e->len_bytes), e->len_bytes);
	case AS_CALL_WRITE:
		return !as_bd_write(bd, e->off, data, e->len_bytes);
	case AS_CALL_FLUSH:
		return !(empty ? as_bd_flush(bd) : as_bd_flush_part(bd, e->off, e->len_bytes));
	case AS_CALL_DISCARD:
		return !as_bd_discard(bd, e->off, e->len_bytes);
	case AS_CALL_ZERO:
		return !as_bd_zero(bd, e->off, e->len_bytes);
	default:
		return false;
	}
}

int as_outside_hear(const struct as_outside *o, struct as_disk *disk, struct as_tool_result *r)
{
	struct told_in l = { .area = o->area, .len = o->log_bytes };
	const struct told_run *run;
	const char *output = NULL;
	struct as_buf scratch = { 0 };

	if (l.len > AS_OUTSIDE_AREA_BYTES)
		return AS_ELACK;
	run = get(&l, sizeof(*run));
	if (run)
		output = get(&l, run->output_bytes);
	if (l.bad)
		return AS_ELACK;
	r->ended = (struct as_ended){ (enum as_end)run->how, run->status, run->wall_us, 0 };
	as_buf_add(&r->output, output, run->output_bytes);
	r->reads = run->reads;
	r->incomplete = run->incomplete;
	r->changed = run->changed;
	r->refused = run->refused;
	r->confined = run->confined;
	memcpy(r->first_refused, run->first_refused, sizeof(r->first_refused));
	memcpy(r->died, run->died, sizeof(r->died));
	r->first_refused[sizeof(r->first_refused) - 1] = r->died[sizeof(r->died) - 1] = '\0';
	r->log_disk = as_disk_snapshot(disk);
	r->log = as_reclog_new(as_disk_bd(r->log_disk), AS_RECLOG_READS, 0);
	for (uint64_t i = 0; i < run->entries && !l.bad; i++)
		l.bad |= !redo(&l, as_reclog_bd(r->log), &scratch);
	as_buf_free(&scratch);
	r->disk = as_disk_snapshot(r->log_disk);
	return l.bad ? AS_ELACK : 0;
}

int as_outside_check(struct as_outside_link *link, enum as_check_mode mode, uint64_t fail_read,
		     struct as_disk *disk, struct as_tool_result *result)
{
	int rc = 0;

	memset(result, 0, sizeof(*result));
	if (!link->outside || !as_outside_is_offered(link->outside))
		return AS_ELACK;
	if (!link->there || as_disk_size(link->there) != as_disk_size(disk) ||
	    as_disk_store(link->there) != as_disk_store(disk))
		rc = begin_anew(link, disk);
	if (!rc)
		rc = ask(link, mode, fail_read, disk);
	/* The process outside may be another one by now. */
	if (rc && link->there_as && as_outside_is_offered(link->outside)) {
		rc = begin_anew(link, disk);
		if (!rc)
			rc = ask(link, mode, fail_read, disk);
	}
	if (!rc)
		rc = as_outside_hear(link->outside, disk, result);
	if (rc) {
		forget(link);
		as_tool_result_free(result);
	}
	return rc ? AS_ELACK : 0;
}

void as_outside_link_end(struct as_outside_link *link)
{
	forget(link);
}
