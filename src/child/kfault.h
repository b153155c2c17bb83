/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kfault: failures inside the kernel, by its own fault injection. The nth allocation (or request to
 * the disk) that this thread makes in the kernel fails: /proc/thread-self/fail-nth. Only what this
 * thread does is hit; threads of the kernel that work for it are not.
 */
#ifndef AS_CHILD_KFAULT_H
#define AS_CHILD_KFAULT_H

#include "base/err.h"
#include "host/medium.h"

#include <stdbool.h>
#include <stdint.h>

struct as_kfault;

/* For the calling thread: what is of the kind of these rules may fail. `device` is that of the disk
 * ("loop7"). AS_ELACK: the kernel cannot do it; the message says which one can. */
AS_MUST_CHECK int as_kfault_open(const struct as_kfail_rules *rules, const char *device,
				 struct as_kfault **fault, struct as_err *err);
void as_kfault_close(struct as_kfault *fault); /* takes NULL */
/* The nth one from now on fails. */
void as_kfault_arm(struct as_kfault *fault, uint64_t nth);
/* None fails any more. Whether one did. */
bool as_kfault_disarm(struct as_kfault *fault);

#endif
