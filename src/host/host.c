/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: see host.h.
 *
 * Method. Every live block is in a table by its address: when something is freed that is not a live
 * block of ours, that is known without touching it. There is a guard word after the last byte of
 * each block. It is looked at when the block is freed and when it is found to be leaked, and shows
 * a write past the end.
 *
 * The clock starts at a fixed day and moves a microsecond each time it is asked, so the same
 * workload sees the same times in every run.
 */
#include "host/host_priv.h"

#include "base/array.h"
#include "os/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD UINT64_C(0xa55a5aa5c33c3cc3)
#define EPOCH_NS (INT64_C(1600000000) * 1000000000)
#define TICK_NS 1000

/* ---- The live blocks ------------------------------------------------------------------------- */

struct host_key {
	const struct as_host_mem *host;
	const void *ptr;
};

static bool is_block(const void *ctx, size_t index)
{
	const struct host_key *key = ctx;

	return key->host->blocks[index].ptr == key->ptr;
}

/* The index of a live block, or AS_TABLE_NONE. */
static size_t find_block(const struct as_host_mem *h, const void *ptr)
{
	const struct host_key key = { h, ptr };

	return as_table_find(&h->table, (uintptr_t)ptr, is_block, &key);
}

static void add_block(struct as_host_mem *h, void *ptr, size_t len)
{
	size_t i = h->free_block;

	if (i == AS_TABLE_NONE) {
		AS_ARRAY_ROOM(h->blocks, h->n_blocks, h->cap);
		i = h->n_blocks++;
	} else {
		h->free_block = h->blocks[i].len;
	}
	h->blocks[i] = (struct host_block){ ptr, len, h->op };
	as_table_add(&h->table, (uintptr_t)ptr, i);
	h->live_bytes += len;
	if (h->live_bytes > h->peak_bytes)
		h->peak_bytes = h->live_bytes;
}

static void remove_block(struct as_host_mem *h, size_t i)
{
	as_table_remove(&h->table, (uintptr_t)h->blocks[i].ptr, i);
	h->live_bytes -= h->blocks[i].len;
	h->blocks[i] = (struct host_block){ .len = h->free_block };
	h->free_block = i;
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

	if (++h->calls == h->fail_at[h->failed]) {
		h->failed++;
		h->told.failed_allocs++;
		as_stack_note_failure();
		return NULL;
	}
	if (len > AS_HOST_LIVE_MAX_BYTES || h->live_bytes + len > AS_HOST_LIVE_MAX_BYTES)
		return NULL;
	as_paint_hold();
	ptr = calloc(1, len + sizeof(guard));
	as_paint_release();
	if (!ptr)
		return NULL;
	memcpy(ptr + len, &guard, sizeof(guard));
	add_block(h, ptr, len);
	return ptr;
}

static void host_release(void *ctx, void *ptr)
{
	struct as_host_mem *h = ctx;
	size_t i;

	if (!ptr)
		return;
	i = find_block(h, ptr);
	if (i == AS_TABLE_NONE) {
		note_misuse(h,
			    "freed memory that is not allocated (a second free, or not its own)");
		return;
	}
	check_guard(h, &h->blocks[i]);
	as_paint_hold();
	remove_block(h, i);
	free(ptr);
	as_paint_release();
}

static uint64_t host_now(void *ctx)
{
	struct as_host_mem *h = ctx;

	if (!h->still)
		h->now_ns += TICK_NS;
	return h->now_ns;
}

uint64_t as_host_clock(const struct as_host_mem *host)
{
	return host->now_ns;
}

void as_host_clock_still(struct as_host_mem *host)
{
	host->still = true;
}

void as_host_clock_after(struct as_host_mem *host, uint64_t now_ns)
{
	if (host->now_ns < now_ns)
		host->now_ns = now_ns;
}

void as_host_set_caller(struct as_host_mem *host, uint32_t thread)
{
	host->caller = thread;
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

void as_host_log_stack(struct as_host_log *log, const struct as_stack *stack)
{
	struct as_buf report = { 0 };

	as_stack_report(stack, &report);
	if (!report.len) {
		as_buf_adds(&report, "where it died:\n");
		as_stack_trace(stack, &report);
	}
	as_host_log_add(log, as_buf_str(&report));
	as_buf_free(&report);
}

void as_host_log_text(const struct as_host_log *log, struct as_buf *out)
{
	as_host_log_since(log, 0, out);
}

void as_host_log_since(const struct as_host_log *log, uint64_t from, struct as_buf *out)
{
	uint64_t total = log->total_bytes, i = from;

	if (total > from + AS_HOST_LOG_BYTES) {
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
	h->free_block = AS_TABLE_NONE;
	h->op = AS_HOST_NO_OP;
	h->seam = (struct as_host){
		.api = AS_TARGET_API,
		.ctx = h,
		.alloc = host_alloc,
		.release = host_release,
		.choice = choice,
		.now_ns = host_now,
		.log = host_log,
		.checks = &as_host_checks,
	};
	return h;
}

void as_host_free(struct as_host_mem *h)
{
	if (!h)
		return;
	as_host_drop(h);
	free(h->blocks);
	free(h->told.answers);
	as_table_free(&h->table);
	free(h);
}

const struct as_host *as_host_seam(struct as_host_mem *h)
{
	return &h->seam;
}

void as_host_fail_nth(struct as_host_mem *h, uint64_t nth)
{
	as_host_fail_several(h, &nth, nth != 0);
}

void as_host_fail_several(struct as_host_mem *h, const uint64_t *nth, unsigned n)
{
	as_assert(n <= AS_HOST_FAILS);
	memset(h->fail_at, 0, sizeof(h->fail_at));
	for (unsigned i = 0; i < n; i++)
		h->fail_at[i] = h->calls + nth[i];
	h->failed = 0;
}

unsigned as_host_failed(const struct as_host_mem *h)
{
	return h->failed;
}

uint64_t as_host_calls(const struct as_host_mem *h)
{
	return h->calls;
}

struct as_host_leaks as_host_live(const struct as_host_mem *h)
{
	return (struct as_host_leaks){ h->table.n, h->live_bytes };
}

uint32_t as_host_live_op(const struct as_host_mem *h)
{
	uint32_t first = AS_HOST_NO_OP;

	for (size_t i = 0; i < h->n_blocks; i++)
		if (h->blocks[i].ptr && h->blocks[i].op < first)
			first = h->blocks[i].op;
	return first;
}

void as_host_drop(struct as_host_mem *h)
{
	as_host_forget(h);
	for (size_t i = 0; i < h->n_blocks; i++)
		free(h->blocks[i].ptr);
	as_table_clear(&h->table);
	h->n_blocks = 0;
	h->free_block = AS_TABLE_NONE;
	h->live_bytes = 0;
}

void as_host_blame(struct as_host_mem *h, const char *what)
{
	note_misuse(h, "%s", what);
}

const char *as_host_misuse(const struct as_host_mem *h)
{
	return h->misuse[0] ? h->misuse : NULL;
}

void as_host_check(struct as_host_mem *h)
{
	for (size_t i = 0; i < h->n_blocks; i++)
		if (h->blocks[i].ptr)
			check_guard(h, &h->blocks[i]);
}
