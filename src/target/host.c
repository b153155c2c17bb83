/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: see host.h.
 *
 * Method. Live blocks are kept in a table keyed by address, with linear probing and deletion by
 * shifting back, so that a free of something that is not ours (or no longer) is told without
 * touching it. Behind each block stands a guard word that is looked at when the block is freed and
 * when it is found leaked: a write past the end is seen there.
 *
 * Invariants: table.n * 2 <= table.cap; each entry is reachable from its home slot without meeting
 * an empty one.
 *
 * The clock starts at a fixed day and moves a microsecond each time it is asked, so the same
 * workload sees the same times in every run.
 */
#include "target/host.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0xa55a5aa5c33c3cc3)
#define EPOCH_NS (INT64_C(1600000000) * 1000000000)
#define TICK_NS 1000

struct host_block {
	unsigned char *ptr; /* NULL: empty slot */
	size_t len;
};

struct as_host_mem {
	struct as_host seam;
	struct as_host_log *log;
	struct host_block *table;
	size_t n, cap; /* cap is a power of two */
	uint64_t live_bytes, calls, fail_at, now_ns;
	bool failed;
	char misuse[160]; /* the first, or "" */
};

/* ---- The table of live blocks ---------------------------------------------------------------- */

static size_t home(const struct as_host_mem *h, const void *ptr)
{
	return as_mix64((uintptr_t)ptr) & (h->cap - 1);
}

/* The slot of ptr, or the empty slot where it would go. */
static size_t slot_of(const struct as_host_mem *h, const void *ptr)
{
	size_t i = home(h, ptr);

	while (h->table[i].ptr && h->table[i].ptr != ptr)
		i = (i + 1) & (h->cap - 1);
	return i;
}

static void table_grow(struct as_host_mem *h)
{
	struct host_block *old = h->table;
	size_t old_cap = h->cap;

	h->cap = old_cap ? old_cap * 2 : 256;
	h->table = as_xcalloc(h->cap, sizeof(*h->table));
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].ptr)
			h->table[slot_of(h, old[i].ptr)] = old[i];
	free(old);
}

static void table_add(struct as_host_mem *h, void *ptr, size_t len)
{
	if ((h->n + 1) * 2 > h->cap)
		table_grow(h);
	h->table[slot_of(h, ptr)] = (struct host_block){ ptr, len };
	h->n++;
	h->live_bytes += len;
}

static void table_remove(struct as_host_mem *h, size_t gap)
{
	size_t mask = h->cap - 1;

	h->live_bytes -= h->table[gap].len;
	h->n--;
	/* Whoever lies behind the gap and could not reach home across it moves into it. */
	for (size_t i = (gap + 1) & mask; h->table[i].ptr; i = (i + 1) & mask) {
		if (((i - home(h, h->table[i].ptr)) & mask) < ((i - gap) & mask))
			continue;
		h->table[gap] = h->table[i];
		gap = i;
	}
	h->table[gap].ptr = NULL;
}

/* ---- The seam -------------------------------------------------------------------------------- */

static void note_misuse(struct as_host_mem *h, const char *fmt, ...) AS_PRINTF(2, 3);
static void note_misuse(struct as_host_mem *h, const char *fmt, ...)
{
	va_list ap;

	if (h->misuse[0])
		return;
	va_start(ap, fmt);
	vsnprintf(h->misuse, sizeof(h->misuse), fmt, ap);
	va_end(ap);
}

static void check_guard(struct as_host_mem *h, const struct host_block *block)
{
	uint64_t guard = GUARD;

	if (memcmp(block->ptr + block->len, &guard, sizeof(guard)))
		note_misuse(h, "wrote past the end of an allocation of %zu bytes", block->len);
}

static void *host_alloc(void *ctx, size_t len)
{
	struct as_host_mem *h = ctx;
	uint64_t guard = GUARD;
	unsigned char *ptr;

	if (++h->calls == h->fail_at) {
		h->failed = true;
		return NULL;
	}
	if (len > AS_HOST_LIVE_MAX_BYTES || h->live_bytes + len > AS_HOST_LIVE_MAX_BYTES)
		return NULL;
	ptr = calloc(1, len + sizeof(guard));
	if (!ptr)
		return NULL;
	memcpy(ptr + len, &guard, sizeof(guard));
	table_add(h, ptr, len);
	return ptr;
}

static void host_release(void *ctx, void *ptr)
{
	struct as_host_mem *h = ctx;
	size_t i;

	if (!ptr)
		return;
	i = h->cap ? slot_of(h, ptr) : 0;
	if (!h->cap || !h->table[i].ptr) {
		note_misuse(h,
			    "freed memory that is not allocated (a second free, or not its own)");
		return;
	}
	check_guard(h, &h->table[i]);
	table_remove(h, i);
	free(ptr);
}

static uint64_t host_now(void *ctx)
{
	struct as_host_mem *h = ctx;

	h->now_ns += TICK_NS;
	return h->now_ns;
}

static void log_bytes(struct as_host_log *log, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		log->data[log->total_bytes++ % AS_HOST_LOG_BYTES] = data[i];
}

static void host_log(void *ctx, const char *line)
{
	struct as_host_mem *h = ctx;

	log_bytes(h->log, line, strnlen(line, 512));
	log_bytes(h->log, "\n", 1);
}

void as_host_log_add(struct as_host_log *log, const char *text)
{
	log_bytes(log, text, strlen(text));
}

void as_host_log_text(const struct as_host_log *log, struct as_buf *out)
{
	uint64_t total = log->total_bytes, i = 0;

	if (total > AS_HOST_LOG_BYTES) {
		i = total - AS_HOST_LOG_BYTES;
		while (i < total && log->data[i % AS_HOST_LOG_BYTES] != '\n')
			i++;
		i += i < total;
	}
	for (; i < total; i++)
		as_buf_addc(out, log->data[i % AS_HOST_LOG_BYTES]);
}

/* ---- Books ----------------------------------------------------------------------------------- */

struct as_host_mem *as_host_new(struct as_choice *choice, struct as_host_log *log)
{
	struct as_host_mem *h = as_xcalloc(1, sizeof(*h));

	h->log = log;
	h->now_ns = EPOCH_NS;
	h->seam = (struct as_host){
		.api = AS_TARGET_API,
		.ctx = h,
		.alloc = host_alloc,
		.release = host_release,
		.choice = choice,
		.now_ns = host_now,
		.log = host_log,
	};
	return h;
}

void as_host_free(struct as_host_mem *h)
{
	if (!h)
		return;
	as_host_drop(h);
	free(h->table);
	free(h);
}

const struct as_host *as_host_seam(struct as_host_mem *h)
{
	return &h->seam;
}

void as_host_fail_nth(struct as_host_mem *h, uint64_t nth)
{
	h->fail_at = nth ? h->calls + nth : 0;
	h->failed = false;
}

bool as_host_failed(const struct as_host_mem *h)
{
	return h->failed;
}

uint64_t as_host_calls(const struct as_host_mem *h)
{
	return h->calls;
}

struct as_host_leaks as_host_live(const struct as_host_mem *h)
{
	return (struct as_host_leaks){ h->n, h->live_bytes };
}

void as_host_drop(struct as_host_mem *h)
{
	for (size_t i = 0; i < h->cap; i++)
		free(h->table[i].ptr);
	if (h->cap)
		memset(h->table, 0, h->cap * sizeof(*h->table));
	h->n = 0;
	h->live_bytes = 0;
}

const char *as_host_misuse(const struct as_host_mem *h)
{
	return h->misuse[0] ? h->misuse : NULL;
}

void as_host_check(struct as_host_mem *h)
{
	for (size_t i = 0; i < h->cap && h->n; i++)
		if (h->table[i].ptr)
			check_guard(h, &h->table[i]);
}
