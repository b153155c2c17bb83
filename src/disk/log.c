/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: the recording block device (see log.h).
 *
 * Method. A call is passed on first and recorded when it has returned, with its answer. Entries are
 * an array; the bytes of writes are copied one after the other into blocks of 64 KiB (a longer
 * write gets a block of its own). Copying costs a tenth of hashing the bytes into the chunk store,
 * and most logs live for one workload. Each record remembers how full the blocks were after it, so
 * that truncating the log truncates the blocks without a search.
 *
 * Invariants
 *   1. The entries are the calls of the kinds asked for that reached `inner`, in order and without
 *      a gap, from the beginning (or the last clear) on, except those made while paused. Once the
 *      limit has stopped the record, nothing more is added before a clear or truncate: the log is a
 *      true prefix of what happened.
 *   2. Replaying all entries onto a copy of the disk as it was at the beginning makes it equal to
 *      the disk as it is: recorded data are copies, and calls that failed changed nothing. (That
 *      holds for every device of this room; a wrapper that breaks it, tearing a write and reporting
 *      an error, belongs above the recorder.)
 *   3. Calls of length 0 and calls with an invalid range change nothing; the first are not
 *      recorded, the second are, with -EINVAL, and without data.
 *   4. Sequence numbers rise by one with each recorded or overflowed call and are never given
 *      twice, so that an entry can be told from its successor at the same index after a truncate.
 *   5. Pointers to data stay valid until their entry goes: blocks never move. Pointers to entries
 *      stay valid until the next call is recorded.
 *   6. flying[] has the entries with done == AS_RECLOG_IN_FLIGHT, and no others, in order. A call
 *      that cannot be in flight is complete when it is recorded: its `done` is its index + 1.
 *   7. memory = capacity of the entries + capacity of the blocks. It never exceeds the limit, which
 *      is checked before anything is allocated.
 */
#include "disk/log.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536u
#define FIRST_READS 256u /* records that there is room for at first, of a log with reads */

struct log_block {
	unsigned char *data;
	size_t used, cap;
};

struct record {
	struct as_log_entry entry;
	/* the number of blocks after this entry, and how full the last one is */
	size_t n_blocks, used;
};

/* A write that is not complete yet. */
struct flight {
	size_t entry;
	uint64_t ticket;
	unsigned calls; /* that came after it */
};

struct as_reclog {
	struct as_bd bd;
	struct as_bd *inner;
	unsigned flags;
	bool paused, overflowed, uncached;
	uint32_t op;
	uint64_t seq, limit_bytes, block_bytes;
	struct record *records;
	size_t n, cap;
	struct log_block *blocks;
	size_t n_blocks, blocks_cap;
	struct flight *flying;
	size_t n_flying, flying_cap;
	unsigned hold; /* as_reclog_hold() */
	struct as_choice *early; /* NULL: what is hinted at is not written */
	unsigned early_one_in;
};

static struct as_reclog *log_of(struct as_bd *bd)
{
	return (struct as_reclog *)bd;
}

/* ---- Keeping -------------------------------------------------------------------------------- */

uint64_t as_reclog_memory(const struct as_reclog *log)
{
	return log->block_bytes + log->cap * sizeof(*log->records) +
	       log->blocks_cap * sizeof(*log->blocks);
}

static bool block_fits(const struct as_reclog *log, size_t len)
{
	const struct log_block *last = log->n_blocks ? &log->blocks[log->n_blocks - 1] : NULL;

	return last && len <= last->cap - last->used;
}

/* What a record with len bytes of data would add to the memory in use. */
static uint64_t cost(const struct as_reclog *log, size_t len)
{
	uint64_t bytes = 0;

	if (log->n == log->cap)
		bytes += (log->cap ? log->cap : AS_ARRAY_FIRST) * sizeof(*log->records);
	if (len && !block_fits(log, len)) {
		bytes += len > BLOCK_BYTES ? len : BLOCK_BYTES;
		if (log->n_blocks == log->blocks_cap)
			bytes += (log->blocks_cap ? log->blocks_cap : AS_ARRAY_FIRST) *
				 sizeof(*log->blocks);
	}
	return bytes;
}

static unsigned char *keep(struct as_reclog *log, const void *data, size_t len)
{
	struct log_block *last;
	unsigned char *to;

	if (!block_fits(log, len)) {
		AS_ARRAY_ROOM(log->blocks, log->n_blocks, log->blocks_cap);
		last = &log->blocks[log->n_blocks++];
		last->cap = len > BLOCK_BYTES ? len : BLOCK_BYTES;
		last->used = 0;
		last->data = as_xmalloc(last->cap);
		log->block_bytes += last->cap;
	}
	last = &log->blocks[log->n_blocks - 1];
	to = last->data + last->used;
	memcpy(to, data, len);
	last->used += len;
	return to;
}

/* Reads come by the hundred, when a mount looks at a whole disk. */
static void make_room(struct as_reclog *log)
{
	size_t more =
		log->flags & AS_RECLOG_READS && !log->limit_bytes && !log->cap ? FIRST_READS : 1;

	AS_ARRAY_ROOM_FOR(log->records, log->n, more, log->cap);
}

/* False: it is not in the record. */
static bool record(struct as_reclog *log, struct as_log_entry entry, const void *data)
{
	size_t len = data && !entry.ret ? (size_t)entry.len : 0;
	struct record *rec;

	if (log->paused)
		return false;
	entry.fua = entry.fua || (log->uncached && as_log_entry_changes(&entry));
	entry.seq = log->seq++;
	entry.op = log->op;
	if (!log->overflowed && log->limit_bytes &&
	    as_reclog_memory(log) + cost(log, len) > log->limit_bytes)
		log->overflowed = true;
	if (log->overflowed)
		return false;
	entry.data = len ? keep(log, data, len) : NULL;
	if (log->n == log->cap)
		make_room(log);
	rec = &log->records[log->n++];
	rec->entry = entry;
	rec->entry.done = log->n;
	rec->n_blocks = log->n_blocks;
	rec->used = log->n_blocks ? log->blocks[log->n_blocks - 1].used : 0;
	return true;
}

/* ---- In flight ------------------------------------------------------------------------------ */

/* Completes those that are in flight and have this ticket; 0: all. */
static void complete(struct as_reclog *log, uint64_t ticket)
{
	size_t n = 0;

	for (size_t i = 0; i < log->n_flying; i++) {
		if (ticket && log->flying[i].ticket != ticket)
			log->flying[n++] = log->flying[i];
		else
			log->records[log->flying[i].entry].entry.done = log->n;
	}
	log->n_flying = n;
}

/* Before each call: it may be the one that a write in flight has waited for. */
static void tick(struct as_reclog *log)
{
	size_t i = 0;

	if (log->hold == AS_RECLOG_UNTIL_WAIT)
		return;
	while (i < log->n_flying) {
		if (++log->flying[i].calls > log->hold)
			complete(log, log->flying[i].ticket);
		else
			i++;
	}
}

void as_reclog_hold(struct as_reclog *log, unsigned after)
{
	complete(log, 0);
	log->hold = after;
}

void as_reclog_uncached(struct as_reclog *log)
{
	log->uncached = true;
}

unsigned as_reclog_held(const struct as_reclog *log)
{
	return log->hold;
}

void as_reclog_write_early(struct as_reclog *log, struct as_choice *choice, unsigned one_in)
{
	log->early = choice;
	log->early_one_in = one_in;
}

/* What comes back after a power cut has nothing in flight. */
static void land(struct as_reclog *log, size_t n)
{
	complete(log, 0);
	for (size_t i = n; i > 0; i--)
		if (log->records[i - 1].entry.done > n)
			log->records[i - 1].entry.done = n;
}

void as_reclog_truncate(struct as_reclog *log, size_t n)
{
	size_t n_blocks;

	as_assert(n <= log->n);
	land(log, n);
	n_blocks = n ? log->records[n - 1].n_blocks : 0;
	while (log->n_blocks > n_blocks) {
		struct log_block *last = &log->blocks[--log->n_blocks];

		log->block_bytes -= last->cap;
		free(last->data);
	}
	if (n_blocks)
		log->blocks[n_blocks - 1].used = log->records[n - 1].used;
	if (n < log->n)
		log->overflowed = false;
	log->n = n;
}

void as_reclog_clear(struct as_reclog *log)
{
	as_reclog_truncate(log, 0);
	log->overflowed = false;
}

void as_reclog_exchange(struct as_reclog *log, uint64_t off, const unsigned char *was,
			const unsigned char *is, size_t len)
{
	for (size_t i = 0; i < log->n; i++) {
		const struct as_log_entry *e = &log->records[i].entry;
		uint64_t from = e->off > off ? e->off : off;
		uint64_t end = e->off + e->len < off + len ? e->off + e->len : off + len;
		/* In a block of ours. */
		unsigned char *data = (unsigned char *)e->data + (from - e->off);

		if (e->kind == AS_CALL_WRITE && from < end &&
		    !memcmp(data, was + (from - off), end - from))
			memcpy(data, is + (from - off), end - from);
	}
}

/* ---- The block device ----------------------------------------------------------------------- */

/* The same as record() of a read without data. A mount of flash reads hundreds of times, and is
 * tried for each crash state. */
static void note_read(struct as_reclog *log, uint64_t off, uint64_t len, int ret)
{
	struct record *rec;

	if (log->n == log->cap)
		make_room(log);
	rec = &log->records[log->n++];
	rec->entry = (struct as_log_entry){ .kind = AS_CALL_READ,
					    .off = off,
					    .len = len,
					    .ret = ret,
					    .seq = log->seq++,
					    .op = log->op,
					    .done = log->n };
	rec->n_blocks = log->n_blocks;
	rec->used = log->n_blocks ? log->blocks[log->n_blocks - 1].used : 0;
}

static int log_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_read(log->inner, off, buf, len);
	bool with_data = (log->flags & AS_RECLOG_READ_DATA) == AS_RECLOG_READ_DATA;

	if (log->n_flying)
		tick(log);
	if (!len || !(log->flags & AS_RECLOG_READS))
		return ret;
	if (!with_data && !log->paused && !log->limit_bytes && !log->overflowed)
		note_read(log, off, len, ret);
	else
		(void)record(log,
			     (struct as_log_entry){
				     .kind = AS_CALL_READ, .off = off, .len = len, .ret = ret },
			     with_data ? buf : NULL);
	return ret;
}

static int log_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_write(log->inner, off, buf, len);
	struct as_log_entry entry = { .kind = AS_CALL_WRITE, .off = off, .len = len, .ret = ret };

	if (log->n_flying)
		tick(log);
	if (len)
		(void)record(log, entry, buf);
	return ret;
}

static int log_flush(struct as_bd *bd)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_flush(log->inner);

	if (log->n_flying)
		tick(log);
	(void)record(log, (struct as_log_entry){ .kind = AS_CALL_FLUSH, .ret = ret }, NULL);
	return ret;
}

static int log_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_flush_part(log->inner, off, len);
	struct as_log_entry entry = { .kind = AS_CALL_FLUSH, .off = off, .len = len, .ret = ret };

	if (log->n_flying)
		tick(log);
	(void)record(log, entry, NULL);
	return ret;
}

static int log_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_discard(log->inner, off, len);
	struct as_log_entry entry = { .kind = AS_CALL_DISCARD, .off = off, .len = len, .ret = ret };

	if (log->n_flying)
		tick(log);
	if (len)
		(void)record(log, entry, NULL);
	return ret;
}

static int log_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_zero(log->inner, off, len);
	struct as_log_entry entry = { .kind = AS_CALL_ZERO, .off = off, .len = len, .ret = ret };

	if (log->n_flying)
		tick(log);
	if (len)
		(void)record(log, entry, NULL);
	return ret;
}

static int log_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len, unsigned flags,
		      uint64_t *ticket)
{
	struct as_reclog *log = log_of(bd);
	int ret = as_bd_write(log->inner, off, buf, len);
	struct as_log_entry entry = {
		.kind = AS_CALL_WRITE, .off = off, .len = len, .ret = ret, .fua = flags & AS_BD_FUA
	};

	*ticket = UINT64_MAX;
	if (log->n_flying)
		tick(log);
	if (!len || !record(log, entry, buf) || ret || !log->hold)
		return ret;
	*ticket = log->seq;
	log->records[log->n - 1].entry.done = AS_RECLOG_IN_FLIGHT;
	AS_ARRAY_ROOM(log->flying, log->n_flying, log->flying_cap);
	log->flying[log->n_flying++] = (struct flight){ .entry = log->n - 1, .ticket = *ticket };
	return 0;
}

static int log_wait(struct as_bd *bd, uint64_t ticket)
{
	complete(log_of(bd), ticket);
	return 0;
}

static void log_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	struct as_log_entry entry = { .kind = AS_CALL_WRITE, .off = off, .len = len };
	struct as_reclog *log = log_of(bd);

	if (!log->early || log->paused || log->overflowed || !len ||
	    as_choose(log->early, log->early_one_in))
		return;
	entry.early = true;
	entry.ret = as_bd_write(log->inner, off, buf, len);
	(void)record(log, entry, buf);
}

static const struct as_bd_ops log_ops = {
	.api = AS_BD_API,
	.name = "recorded",
	.read = log_read,
	.write = log_write,
	.flush = log_flush,
	.discard = log_discard,
	.zero = log_zero,
	.submit = log_submit,
	.wait = log_wait,
	.dirty = log_dirty,
	.flush_part = log_flush_part,
};

struct as_reclog *as_reclog_new(struct as_bd *inner, unsigned flags, uint64_t limit_bytes)
{
	struct as_reclog *log = as_xcalloc(1, sizeof(*log));

	log->bd = (struct as_bd){ &log_ops, inner->size_bytes, inner->sector_bytes };
	log->inner = inner;
	log->flags = flags;
	log->limit_bytes = limit_bytes;
	log->op = AS_RECLOG_NO_OP;
	return log;
}

void as_reclog_free(struct as_reclog *log)
{
	if (!log)
		return;
	as_reclog_clear(log);
	free(log->records);
	free(log->blocks);
	free(log->flying);
	free(log);
}

struct as_bd *as_reclog_bd(struct as_reclog *log)
{
	return &log->bd;
}

void as_reclog_set_op(struct as_reclog *log, uint32_t op)
{
	log->op = op;
}

void as_reclog_pause(struct as_reclog *log, bool paused)
{
	log->paused = paused;
}

/* ---- Reading and replaying ------------------------------------------------------------------ */

size_t as_reclog_len(const struct as_reclog *log)
{
	return log->n;
}

const struct as_log_entry *as_reclog_at(const struct as_reclog *log, size_t i)
{
	as_assert(i < log->n);
	return &log->records[i].entry;
}

bool as_reclog_overflowed(const struct as_reclog *log)
{
	return log->overflowed;
}

bool as_log_entry_changes(const struct as_log_entry *entry)
{
	return !entry->ret && (entry->kind == AS_CALL_WRITE || entry->kind == AS_CALL_DISCARD ||
			       entry->kind == AS_CALL_ZERO);
}

int as_log_entry_apply(const struct as_log_entry *entry, struct as_bd *bd)
{
	if (entry->ret)
		return 0;
	switch (entry->kind) {
	case AS_CALL_READ:
		return 0;
	case AS_CALL_WRITE:
		return as_bd_write(bd, entry->off, entry->data, entry->len);
	case AS_CALL_FLUSH:
		return entry->len ? as_bd_flush_part(bd, entry->off, entry->len) : as_bd_flush(bd);
	case AS_CALL_DISCARD:
		return as_bd_discard(bd, entry->off, entry->len);
	case AS_CALL_ZERO:
		return as_bd_zero(bd, entry->off, entry->len);
	}
	as_assert(!"a kind of call");
	return -EINVAL;
}

int as_reclog_replay(const struct as_reclog *log, size_t first, size_t end, struct as_bd *bd,
		     struct as_err *err)
{
	as_assert(first <= end && end <= log->n);
	for (size_t i = first; i < end; i++) {
		const struct as_log_entry *entry = as_reclog_at(log, i);
		int rc = as_log_entry_apply(entry, bd);

		if (rc)
			return as_fail_errno(err, -rc,
					     "replaying log entry %zu (%s of %llu bytes at %llu)",
					     i, as_call_name(entry->kind),
					     (unsigned long long)entry->len,
					     (unsigned long long)entry->off);
	}
	return AS_OK;
}
