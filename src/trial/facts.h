/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: what excuse.def asks about an operation, its answer, the faults and the instance. Only
 * files of this room include it. */
#ifndef AS_TRIAL_FACTS_H
#define AS_TRIAL_FACTS_H

#include "trial/excuse.h"
#include "trial/trial.h"

enum as_trial_fact {
	/* of the faults */
	AS_FACT_PLAN, /* some are planned */
	AS_FACT_HIT, /* one has hit, in this operation or before */
	AS_FACT_OVER, /* none fails any more, and nothing is left of those that did */
	AS_FACT_SILENT, /* they can lose or change bytes, and report nothing */
	AS_FACT_INSIDE, /* they are inside the kernel, */
	AS_FACT_MET, /* and this operation may have met one, */
	AS_FACT_REQUESTS, /* which is a request to the disk */
	AS_FACT_UNWRITTEN, /* writes that were acknowledged may be missing from the disk */
	/* of the instance */
	AS_FACT_STRICT, /* it undoes what fails, and its error says so (AS_INSTANCE_STRICT) */
	AS_FACT_OFF, /* it has turned itself off */
	AS_FACT_WARNED, /* the kernel's log says that something on its disk is wrong */
	AS_FACT_LEAVES_HALF, /* the contract: what failed half-way is left to its checker */
	AS_FACT_REPAIRS, /* it has no journal */
	AS_FACT_KEEPS, /* the contract: names are stable at once, and contents when it is closed */
	AS_FACT_OWN_VIEWS, /* what is written becomes the file's when it is closed */
	/* of what is known */
	AS_FACT_BLIND, /* the model does not know the state */
	AS_FACT_UNSURE, /* an operation before may be on the disk, or not */
	AS_FACT_UNCLEAN, /* its disk is not as an unmount leaves it */
	AS_FACT_NOTICED, /* it has said that it read damage */
	AS_FACT_HALF_DONE, /* an operation stopped half-way, or the unmount did */
	AS_FACT_LOST, /* what an operation had to make stable inside the kernel is lost */
	AS_FACT_RECORDED, /* of the way: it went on after answers that agreed */
	AS_FACT_FULL_MIXED, /* after a full disk: it may carry unknown contents elsewhere, */
	AS_FACT_FULL_DATA, /* it asks for them alone, */
	AS_FACT_FULL_NAMED, /* it names a file that has them */
	/* of the operation */
	AS_FACT_MOUNTS, /* mount, umount, remount, crash */
	AS_FACT_REMOUNT,
	AS_FACT_CUT, /* crash */
	AS_FACT_UNMOUNTS, /* umount, and remount, which begins with it */
	AS_FACT_MUTE, /* it tells nobody of what it could not write */
	AS_FACT_STABLE, /* it has to make something stable, or may have to */
	AS_FACT_MAKES, /* it makes a file */
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
	/* of a call outside of the disk */
	AS_FACT_UNERASED, /* it programs flash that is not erased */
	/* of who has no trial (excuse.h) */
	AS_FACT_DIED,
	AS_FACT_STUCK,
	AS_FACT_GAVE_UP,
	AS_FACT_REPAIRED,
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

/* What is true of a state, while nothing is asked. */
uint64_t as_facts_state(struct as_trial *t);
/* What is true after an operation was judged that may have met a failure inside the kernel. */
uint64_t as_facts_after(struct as_trial *t, const struct as_op *op, const struct as_outcome *got);

#define AS_FACT(name) (UINT64_C(1) << AS_FACT_##name)

/* ---- excuse.c ---- */

enum as_when {
	AS_WHEN_ANSWERED,
	AS_WHEN_ALLOWED,
	AS_WHEN_REFUSED,
	AS_WHEN_AFTER,
	AS_WHEN_MOUNTED,
	AS_WHEN_UNMOUNTED,
	AS_WHEN_WRITTEN,
};

enum as_do {
	AS_DO_JUDGE,
	AS_DO_AGREE,
	AS_DO_UNSURE,
	AS_DO_FOLLOW,
	AS_DO_LOSE,
	AS_DO_BLIND,
	AS_DO_SKIP,
	AS_DO_LOOSEN,
	AS_DO_PART,
	AS_DO_OFF,
	AS_DO_LOOK,
	AS_DO_LOST,
	AS_DO_END,
	AS_DO_WRONG,
	AS_DO_NEXT,
	AS_DO_NEVER,
};

struct as_decision {
	enum as_when when;
	const char *name;
	uint64_t all, any, none;
	enum as_do what[AS_TRIAL_START + 1];
};

/* The first row that holds, of those after `after` (NULL: of all). The last row of each moment
 * holds always. */
const struct as_decision *as_decide(struct as_trial *t, enum as_when when, uint64_t facts,
				    const struct as_decision *after);
/* Whether a row AS_EXCUSE holds; its bit is set in *rows. */
bool as_facts_excuse(enum as_excused what, uint64_t facts, uint64_t *rows);

#endif
