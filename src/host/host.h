/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: what a linked file system gets from us (struct as_host): memory that is counted and can be
 * made to fail, choices, a clock that moves only when it is asked, and a log. And what it tells us
 * of itself: locks, pairs, invariants.
 */
#ifndef AS_HOST_HOST_H
#define AS_HOST_HOST_H

#include "base/buf.h"
#include "base/finding.h"
#include "host/usage.h"

#include <assay/target.h>
#include <stddef.h>
#include <stdint.h>

#define AS_HOST_LOG_BYTES 16384u
/* No target gets more memory than this at a time: a leak in a loop must not use up the
 * machine's. */
#define AS_HOST_LIVE_MAX_BYTES ((uint64_t)1 << 31)

/* The last AS_HOST_LOG_BYTES that were logged. It is plain memory, so that it can be shared with
 * the process that watches, and survives a crash of the process that logs. All zeros is empty. */
struct as_host_log {
	uint64_t total_bytes;
	char data[AS_HOST_LOG_BYTES];
};

/* The contents, in whole lines, oldest first. */
void as_host_log_text(const struct as_host_log *log, struct as_buf *out);
/* The same of what came after the first `from` bytes of all. */
void as_host_log_since(const struct as_host_log *log, uint64_t from, struct as_buf *out);

struct as_stack;
/* Adds where the target died, or what a sanitizer said of it (os/stack.h). */
void as_host_log_stack(struct as_host_log *log, const struct as_stack *stack);
/* Adds text as if the target had logged it. */
void as_host_log_add(struct as_host_log *log, const char *text);

struct as_host_mem; /* the host with its books */

struct as_host_leaks {
	uint64_t count, bytes;
};

#define AS_HOST_NO_OP UINT32_MAX
#define AS_HOST_FAILS 4u /* allocations that can be made to fail */

/* `choice` and `log` must outlive it. */
struct as_host_mem *as_host_new(struct as_choice *choice, struct as_host_log *log);
/* frees all that is still allocated, too; takes NULL */
void as_host_free(struct as_host_mem *host);
const struct as_host *as_host_seam(struct as_host_mem *host);

/* The last time that it told. */
uint64_t as_host_clock(const struct as_host_mem *host);
/* Calls are made for this thread of a workload from now on. */
void as_host_set_caller(struct as_host_mem *host, uint32_t thread);
/* From now on it tells later times than this. */
void as_host_clock_after(struct as_host_mem *host, uint64_t now_ns);

/* From now on it tells the same time. */
void as_host_clock_still(struct as_host_mem *host);

/* Makes the nth allocation from now fail (1 is the next), and only that one; 0: none. */
void as_host_fail_nth(struct as_host_mem *host, uint64_t nth);
/* The same for several of them, the first one first; AS_HOST_FAILS at most. */
void as_host_fail_several(struct as_host_mem *host, const uint64_t *nth, unsigned n);
/* How many of these allocations have failed. */
unsigned as_host_failed(const struct as_host_mem *host);
/* Allocations asked for so far. */
uint64_t as_host_calls(const struct as_host_mem *host);

/* What is allocated now. */
struct as_host_leaks as_host_live(const struct as_host_mem *host);
/* The first operation of those that allocated it; AS_HOST_NO_OP: none did. */
uint32_t as_host_live_op(const struct as_host_mem *host);
/* Frees everything: the file system that used it has ended. */
void as_host_drop(struct as_host_mem *host);
/* A mistake of another kind, which was seen from outside. */
void as_host_blame(struct as_host_mem *host, const char *what);
/* The first mistake that the target made with its memory, or of another kind; or NULL. */
const char *as_host_misuse(const struct as_host_mem *host);
/* Looks for writes past the end of live blocks. Without this they are seen when a block is
 * freed. */
void as_host_check(struct as_host_mem *host);

/* ---- What the file system tells of itself (host_checks.c) ---- */

/* Who answers as_ask() from now on; NULL: the answer is 0. */
void as_host_set_choice(struct as_host_mem *host, struct as_choice *choice);
/* Adds what was answered other than 0, with what was asked: "op 3: commit now: 1 of 2\n". */
void as_host_answers(const struct as_host_mem *host, struct as_buf *out);

/* What follows belongs to operation number `op`; AS_HOST_NO_OP: to none. */
void as_host_begin_op(struct as_host_mem *host, uint32_t op);
/* The operation has ended: looks for locks that are held and pairs that are not balanced, and asks
 * the invariants. */
void as_host_end_op(struct as_host_mem *host);
/* An unmount begins: that was the last look at the invariants. */
void as_host_leaving(struct as_host_mem *host);
/* The file system is gone, as its own functions wanted: nothing of it may be left. */
void as_host_left(struct as_host_mem *host);

/* One call of a function of the file system. It is a finding if it answers success although
 * something that it asked for has failed: memory, or a call of this disk. */
struct as_medium;
void as_host_watch_disk(struct as_host_mem *host, const struct as_medium *disk);
void as_host_begin_call(struct as_host_mem *host);
void as_host_end_call(struct as_host_mem *host, const char *function, int64_t answer);

/* What its calls use is measured there from now on (host_usage.c). */
void as_host_measure(struct as_host_mem *host, struct as_usage *usage);
/* Around each call then. More than is allowed is a finding. */
void as_host_enter(struct as_host_mem *host);
void as_host_exit(struct as_host_mem *host, enum as_use use);

/* The first rule that it broke, in words; NULL: none. */
const char *as_host_trouble(const struct as_host_mem *host, enum as_finding_kind *kind);

#endif
