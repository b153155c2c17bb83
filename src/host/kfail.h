/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfail: what is to fail inside a kernel (child/kfault.h does it), as text:
 *
 *	kalloc:OP:N	in operation OP (counted from 1; `mount`: the mount before the first one),
 *			the Nth slab allocation fails
 *	kpage:OP:N	the same for pages
 *	kio:OP:N	the same for requests to the disk
 *	kalloc:all	in each operation the first one fails, then the second, and so on until
 *			it succeeds; kpage:all and kio:all likewise
 *	kalloc:all:K	the same, but some operations begin with a later one than the first; which
 *			ones these are, and where they begin, depends on the operation and K
 *
 * Two of one kind may fail in one run, in different operations: the kernel counts the calls of one
 * system call, and forgets them when one has failed.
 */
#ifndef AS_HOST_KFAIL_H
#define AS_HOST_KFAIL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum as_kfail { AS_KFAIL_NONE, AS_KFAIL_ALLOC, AS_KFAIL_PAGE, AS_KFAIL_IO, AS_KFAIL_KINDS };

struct as_kfail_rule {
	enum as_kfail kind;
	uint64_t op; /* 0: the mount; AS_KFAIL_EVERY: each operation */
	uint64_t nth; /* AS_KFAIL_EVERY: K, or 0 */
};

#define AS_KFAIL_MAX 2 /* in one run */
#define AS_KFAIL_EVERY (UINT64_MAX - 1)

struct as_kfail_rules {
	struct as_kfail_rule rule[AS_KFAIL_MAX];
	unsigned n;
};

/* AS_KFAIL_NONE: it is no such rule. */
enum as_kfail as_kfail_kind(const char *rule);
/* Adds the rule. */
AS_MUST_CHECK int as_kfail_parse(const char *text, struct as_kfail_rules *rules,
				 struct as_err *err);
/* Whether each operation meets them all. */
bool as_kfail_every(const struct as_kfail_rules *rules);
/* With a blank between two. */
void as_kfail_print(const struct as_kfail_rules *rules, struct as_buf *out);

#endif
