/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: what excuse.def asks about an operation, its answer, the faults and the instance. Only
 * files of this room include it. */
#ifndef AS_TRIAL_FACTS_H
#define AS_TRIAL_FACTS_H

#include "trial/trial.h"

enum as_trial_fact {
	/* of the faults */
	AS_FACT_PLAN, /* some are planned */
	AS_FACT_HIT, /* one has hit, in this operation or before */
	AS_FACT_SILENT, /* they can lose or change bytes, and report nothing */
	AS_FACT_INSIDE, /* they are inside the kernel, */
	AS_FACT_MET, /* and this operation may have met one */
	/* of the instance */
	AS_FACT_STRICT, /* it undoes what fails, and its error says so (AS_INSTANCE_STRICT) */
	AS_FACT_OFF, /* it has turned itself off */
	/* of what is known */
	AS_FACT_BLIND, /* the model does not know the state */
	AS_FACT_UNSURE, /* an operation before may be on the disk, or not */
	AS_FACT_FULL_MIXED, /* after a full disk: it may carry unknown contents elsewhere, */
	AS_FACT_FULL_DATA, /* it asks for them alone, */
	AS_FACT_FULL_NAMED, /* it names a file that has them */
	/* of the operation */
	AS_FACT_MOUNTS, /* mount, umount, remount, crash */
	AS_FACT_REMOUNT,
	AS_FACT_CUT, /* crash */
	AS_FACT_CLOSES, /* the descriptor or the mapping is gone whatever it answers */
	AS_FACT_SYNCS, /* it writes, and then waits for the disk */
	AS_FACT_VIEW, /* a view may become its file's */
	AS_FACT_DOUBT, /* inside the kernel: its descriptor may have O_SYNC */
	AS_FACT_FORGETS, /* it makes something stable; the contract: one that failed forgets */
	/* of the answer */
	AS_FACT_ERROR,
	AS_FACT_TOLD, /* an error that a fault gives */
	AS_FACT_OFF_ERROR, /* one that says that it has turned itself off */
	AS_FACT_DAMAGED, /* one that says that what was read is damaged */
	AS_FACT_NOT_ONE, /* EINVAL of a mount: that is no file system */
	AS_FACT_NO_REMOUNT, /* of a mount that the kernel's log has said it would refuse */
	AS_FACT_IO_ERROR,
	AS_FACT_DROPS, /* ENOSPC of a type that then drops data */
	AS_FACT_EXCUSED, /* a row AS_EXCUSE explains the error */
	AS_FACT_MANY, /* it is many calls, and some of them were done */
	AS_FACT_SHORT, /* it wrote less than it was to */
	AS_FACT_PART, /* it transferred less than it was to, but something */
	AS_FACT_ROOM, /* ENOSPC though there is room */
	AS_FACTS
};

_Static_assert(AS_FACTS <= 64, "a mask has 64 bits");

/* What is true before the model is asked; few things are if nothing has failed. */
uint64_t as_facts_answered(struct as_trial *t, const struct as_op *op,
			   const struct as_outcome *got);
/* What is true besides after the model has allowed the answer. *why gets the words of ROOM. */
uint64_t as_facts_allowed(struct as_trial *t, const struct as_op *op, const struct as_outcome *got,
			  struct as_buf *why);
/* What is true besides after it has refused it. */
uint64_t as_facts_refused(struct as_trial *t, const struct as_op *op, const struct as_outcome *got);
/* What is true of an error that no operation answered. */
uint64_t as_facts_error(struct as_trial *t, int err, bool mounting);

/* full.c: FULL_MIXED, FULL_DATA, FULL_NAMED or 0. */
uint64_t as_facts_full(const struct as_trial *t, const struct as_op *op);

#define AS_FACT(name) (UINT64_C(1) << AS_FACT_##name)

#endif
