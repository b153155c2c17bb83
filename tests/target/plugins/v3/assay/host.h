/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This is include/assay/host.h of version 3 of the interface, kept as it was. */
/*
 * host.h: what assay provides to a file system (memory, a clock, a log, answers to questions), and
 * what a file system may tell assay of itself, so that assay can check it. target.h includes it.
 */
#ifndef ASSAY_HOST_H
#define ASSAY_HOST_H

#include <assay/choice.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct as_checks;

struct as_host {
	uint32_t api; /* AS_TARGET_API of this assay */
	void *ctx;
	void *(*alloc)(void *ctx, size_t len); /* zeroed; NULL when the host decides to fail it */
	void (*release)(void *ctx, void *ptr); /* takes NULL */
	struct as_choice *choice; /* of version 1: as_choose(host->choice, n); better: as_ask() */
	uint64_t (*now_ns)(void *ctx); /* strictly increasing */
	/* One line of text, no newline; shown with findings. */
	void (*log)(void *ctx, const char *line);

	/* Since AS_HOST_CHECKS; may be NULL. Call it by the functions below. */
	const struct as_checks *checks;
};

/* The version of struct as_host that has `checks`. */
#define AS_HOST_CHECKS 2u

/* ---- What a file system may ask -------------------------------------------------------------- */

static inline void *as_malloc(const struct as_host *host, size_t len)
{
	return host->alloc(host->ctx, len);
}

static inline void as_free(const struct as_host *host, void *ptr)
{
	host->release(host->ctx, ptr);
}

/* Memory of another length that begins with the same bytes; what is new is zero. NULL: there is
 * none, and `ptr` is still there. */
static inline void *as_realloc(const struct as_host *host, void *ptr, size_t old_len, size_t len)
{
	void *moved = as_malloc(host, len);

	if (moved && ptr) {
		memcpy(moved, ptr, old_len < len ? old_len : len);
		as_free(host, ptr);
	}
	return moved;
}

/* ---- What a file system may tell ------------------------------------------------------------- */

/*
 * None of this is required, and without a host that listens none of it does anything. An operation
 * is one line of a workload: one call of your functions, or several. Names are texts that live as
 * long as your code; `why` and `name` are shown to people.
 */

/* When a pair must be balanced. */
enum as_pair_until {
	AS_PAIR_OPERATION, /* at the end of each operation */
	AS_PAIR_UNMOUNT, /* at the end of the unmount */
};

/* Looks at the file system, and changes nothing: NULL, or what is wrong in words. */
typedef const char *(*as_invariant_fn)(void *ctx);

struct as_checks {
	/* NULL: the answer is 0. */
	unsigned (*ask)(void *ctx, unsigned n, const char *why);
	void (*lock)(void *ctx, const char *name, uint64_t which);
	void (*unlock)(void *ctx, const char *name, uint64_t which);
	void (*pair)(void *ctx, enum as_pair_until until, const char *name, int by);
	void (*invariant)(void *ctx, const char *name, as_invariant_fn fn, void *fn_ctx);
	void (*forgive)(void *ctx);
	/* NULL: there is one thread. */
	uint32_t (*caller)(void *ctx);
};

static inline const struct as_checks *as_checks_of(const struct as_host *host)
{
	return host->api >= AS_HOST_CHECKS ? host->checks : NULL;
}

/* One of 0..n-1, where several ways are right: where to allocate, whether to commit now. 0 is what
 * you would do by yourself, and the answer unless somebody wants to see the others. */
static inline unsigned as_ask(const struct as_host *host, unsigned n, const char *why)
{
	const struct as_checks *checks = as_checks_of(host);

	return checks && checks->ask ? checks->ask(host->ctx, n, why) : 0;
}

/* For which thread of the workload this call is made, from 0. Calls never overlap, whoever makes
 * them. */
static inline uint32_t as_caller(const struct as_host *host)
{
	const struct as_checks *checks = as_checks_of(host);

	return checks && checks->caller ? checks->caller(host->ctx) : 0;
}

/* A lock is taken, or given back; the lock itself is yours. Locks of one name are of one class, and
 * `which` tells them apart (an inode number; 0 where there is only one). These are findings: to
 * take a lock that is held, to give back one that is not, to hold one when an operation ends, and
 * to take locks of two classes now in one order and now in the other. Of two locks of one class the
 * one with the lower number is taken first. */
static inline void as_lock(const struct as_host *host, const char *name, uint64_t which)
{
	const struct as_checks *checks = as_checks_of(host);

	if (checks)
		checks->lock(host->ctx, name, which);
}

static inline void as_unlock(const struct as_host *host, const char *name, uint64_t which)
{
	const struct as_checks *checks = as_checks_of(host);

	if (checks)
		checks->unlock(host->ctx, name, which);
}

/* Something that is taken (by 1) and given back (by -1): references, pins, reservations. */
static inline void as_pair(const struct as_host *host, enum as_pair_until until, const char *name,
			   int by)
{
	const struct as_checks *checks = as_checks_of(host);

	if (checks)
		checks->pair(host->ctx, until, name, by);
}

/* From now until the unmount, or until the mount fails, `fn` is called after every operation. */
static inline void as_invariant(const struct as_host *host, const char *name, as_invariant_fn fn,
				void *ctx)
{
	const struct as_checks *checks = as_checks_of(host);

	if (checks)
		checks->invariant(host->ctx, name, fn, ctx);
}

/* What has failed so far in this call of your function (an allocation, a read, a write) does not
 * keep it from success: it was tried again, or it was not needed, such as a read-ahead. */
static inline void as_forgive(const struct as_host *host)
{
	const struct as_checks *checks = as_checks_of(host);

	if (checks)
		checks->forgive(host->ctx);
}

#endif
