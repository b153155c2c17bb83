/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answers: the answers of a run, operation by operation, in memory that outlives its child, so
 * that runs can be compared. Only what can be compared between file systems is kept. */
#ifndef AS_CHILD_ANSWERS_H
#define AS_CHILD_ANSWERS_H

#include "model/model.h"
#include "trial/trial.h"
#include "work/seq.h"

#define AS_ANSWERS_MAX 8192u /* operations; later ones are not kept */

struct as_answer {
	int64_t ret; /* as in struct as_outcome; names that a fresh disk has do not count */
	int err;
	uint64_t done;
	enum as_payload payload;
	uint64_t digest; /* of bytes or names */
	struct as_stat st;
	struct as_allowed allowed; /* what the model allowed at that point */
	bool agrees; /* what the model said of the answer */
	bool unjudged;
	char why[128]; /* if it does not agree: in words */
	enum as_trial_did did; /* what became of it */
};

struct as_answers {
	uint32_t n; /* operations that came back */
	struct as_decided decided; /* by which rows of trial/excuse.def, also after the last one */
	struct as_answer ops[AS_ANSWERS_MAX];
};

/* Which rows have decided something. */
void as_answers_note(struct as_answers *answers, const struct as_trial *trial);
/* After as_trial_op(). `fresh` is what the file system held at first. */
void as_answers_add(struct as_answers *answers, const struct as_trial *trial, enum as_trial_did did,
		    const struct as_outcome *got, const struct as_model *fresh);

#endif
