/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symptom: the signature of a finding is made here, by the kind of it. Those of checkers under test
 * (fsck/judge.h) and of what a kernel says (klog/kmsg.h) are made where these words are read.
 *
 * Of what differs from the model, the signature is which side of which kind of object, and the last
 * operation that changed that side of it. Who noticed it, a read or a walk through the tree, is not
 * part of it.
 */
#ifndef AS_SYMPTOM_SYMPTOM_H
#define AS_SYMPTOM_SYMPTOM_H

#include "base/event.h"
#include "model/model.h"
#include "work/seq.h"

struct as_symptom {
	enum as_finding_kind kind;
	const struct as_model *model; /* as it was before the operation; NULL: it says nothing */
	/* NULL: the operations say nothing. */
	const struct as_seq *seq;
	const bool *failed; /* by operation: it answered with an error; NULL: not known */
	int64_t op; /* the one that disagreed; -1: the tree, after all of them */
	int64_t made; /* AS_FIND_LEAK: the one that asked for what is left; -1: not known */
	const char *about; /* where it happened: "rename", "unmount" */
	const char *why; /* "/a: size 4096, model says 0" */
};

/* Adds it by the kind, as the table at its head says: "state: size of a file; after open O_TRUNC",
 * "answer: rename: EEXIST, model says 0", "mount: fsck: ..." */
void as_symptom_sign(const struct as_symptom *symptom, struct as_buf *out);
/* Adds "KIND: ABOUT: WHAT", or without ABOUT if it is NULL, of what is the same in all runs. */
void as_symptom_sign_plain(enum as_finding_kind kind, const char *about, const char *what,
			   struct as_buf *out);

/* ---- Operations (symptom_op.c) ---- */

/* What this operation can change, with its flags: bits of enum as_changes. */
unsigned as_symptom_changes(const struct as_op *op);
/* The open of a slot that an operation uses; NULL: it is not in the workload. */
const struct as_op *as_symptom_open(const struct as_seq *seq, size_t op, int32_t slot);
/* Adds an operation without its objects: its name and the flags that decide what it does
 * ("fallocate PUNCH_HOLE", "write O_APPEND"). */
void as_symptom_op(const struct as_seq *seq, size_t op, struct as_buf *out);
/* Adds what a workload changes, step by step and without objects, in the words of groups:
 * "make,write,open O_TRUNC,". */
void as_symptom_steps(const struct as_seq *seq, struct as_buf *out);
/* Adds "; after OP" for findings that name no object: the last operation of a workload of a few.
 * In a longer one it says nothing. */
void as_symptom_after_last(const struct as_seq *seq, const bool *failed, int64_t end,
			   struct as_buf *out);
/* Adds "; after CHANGE, then PROMISE of a KIND": what an operation like fsync promised, and the
 * last change that it had to keep. */
void as_symptom_pair(const struct as_seq *seq, const bool *failed, size_t promise,
		     struct as_buf *out);

#endif
