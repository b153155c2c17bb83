/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfail: what is to fail inside a kernel (child/kfault.h does it), as text:
 *
 *	kalloc:OP:N	in operation OP (counted from 1; `mount`: the mount before the first one),
 *			the Nth slab allocation fails
 *	kpage:OP:N	the same for pages
 *	kio:OP:N	the same for requests to the disk
 */
#ifndef AS_HOST_KFAIL_H
#define AS_HOST_KFAIL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

enum as_kfail { AS_KFAIL_NONE, AS_KFAIL_ALLOC, AS_KFAIL_PAGE, AS_KFAIL_IO, AS_KFAIL_KINDS };

struct as_kfail_rule {
	enum as_kfail kind;
	uint64_t op; /* 0: the mount */
	uint64_t nth;
};

/* AS_KFAIL_NONE: it is no such rule. */
enum as_kfail as_kfail_kind(const char *rule);
AS_MUST_CHECK int as_kfail_parse(const char *text, struct as_kfail_rule *rule, struct as_err *err);
/* Nothing for a rule of kind AS_KFAIL_NONE. */
void as_kfail_print(const struct as_kfail_rule *rule, struct as_buf *out);

#endif
