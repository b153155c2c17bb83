/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kcov: which code of the kernel the calls of a workload reach, by the kernel's own KCOV
 * (CONFIG_KCOV). Only what the thread of the workload does in the kernel is seen: threads of the
 * kernel that write back later, and other threads of a race, are not.
 */
#ifndef AS_CHILD_KCOV_H
#define AS_CHILD_KCOV_H

#include "base/codeset.h"
#include "base/err.h"
#include "base/event.h"

#define AS_KCOV_NOBODY UINT64_MAX /* in place of a workload */
#define AS_KCOV_NEW_MAX ((size_t)1 << 18)

/* In memory that the children share with the process that starts them (as_shared_alloc()). */
struct as_kcov_area {
	struct as_codeset all; /* what any child has reached */
	/* What the last child reached first, and by which workload of its batch. */
	_Atomic uint64_t n_new;
	struct as_kcov_new {
		uint64_t pc, workload;
	} fresh[AS_KCOV_NEW_MAX];
};

struct as_kcov;

/* In the thread that makes the calls. AS_ELACK: this kernel cannot do it. */
AS_MUST_CHECK int as_kcov_open(struct as_kcov_area *area, struct as_kcov **kcov,
			       struct as_err *err);
/* Takes what was reached since the last time; it is this workload's. */
void as_kcov_take(struct as_kcov *kcov, uint64_t workload);
void as_kcov_close(struct as_kcov *kcov); /* takes NULL */
/* Tells what the workload of that name reached first, and was not told yet (base/codeset.h).
 * AS_KCOV_NOBODY: all that is left. */
void as_kcov_tell(struct as_kcov_area *area, uint64_t workload, const char *name,
		  struct as_sink *sinks);

#endif
