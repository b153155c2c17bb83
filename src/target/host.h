/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host: what a linked file system gets from us (struct as_host): memory that is counted and can be
 * made to fail, choices, a clock that only it moves, and a place to log to.
 */
#ifndef AS_TARGET_HOST_H
#define AS_TARGET_HOST_H

#include "base/buf.h"

#include <assay/target.h>
#include <stddef.h>
#include <stdint.h>

#define AS_HOST_LOG_BYTES 16384u
/* No target gets more memory than this at a time: a leak in a loop must not take the machine. */
#define AS_HOST_LIVE_MAX_BYTES ((uint64_t)1 << 31)

/* The last AS_HOST_LOG_BYTES that were logged. Plain memory, so that it can be shared with the
 * process that watches and outlive a crash of the one that logs. Zeroed is empty. */
struct as_host_log {
	uint64_t total_bytes;
	char data[AS_HOST_LOG_BYTES];
};

/* What is there, whole lines only, oldest first. */
void as_host_log_text(const struct as_host_log *log, struct as_buf *out);

/* Adds text as a target's own lines. */
void as_host_log_add(struct as_host_log *log, const char *text);

struct as_host_mem; /* the host with its books */

struct as_host_leaks {
	uint64_t count, bytes;
};

/* `choice` and `log` must outlive it. */
struct as_host_mem *as_host_new(struct as_choice *choice, struct as_host_log *log);
void as_host_free(struct as_host_mem *host); /* with all that is still allocated; takes NULL */
const struct as_host *as_host_seam(struct as_host_mem *host);

/* Fails the nth allocation from now (1 is the next), and only that; 0: none. */
void as_host_fail_nth(struct as_host_mem *host, uint64_t nth);
/* Whether that allocation was asked for. */
bool as_host_failed(const struct as_host_mem *host);
/* Allocations asked for so far. */
uint64_t as_host_calls(const struct as_host_mem *host);

/* What is allocated now. */
struct as_host_leaks as_host_live(const struct as_host_mem *host);
/* Frees all of it: the file system that held it is gone. */
void as_host_drop(struct as_host_mem *host);
/* The first thing seen that the target did wrong with its memory, or NULL. */
const char *as_host_misuse(const struct as_host_mem *host);
/* Looks at all that is live for writes past an end; else they are seen when a block is freed. */
void as_host_check(struct as_host_mem *host);

#endif
