/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial: one operation, done and judged. It is the one place that decides whether an answer is
 * right, wrong, explained by a fault, or cannot be judged; a plain run, a hunt, a recording that
 * power cuts are made of, a check of all states and the making of a start all come here.
 *
 * Method. as_trial_op() brings the clock, carries the operation out, asks for trouble, asks the
 * model, and where the model does not allow the answer, asks trial/excuse.def what explains it.
 * What really differs between the ways is in a struct of functions: each is told what became of the
 * operation, and keeps its own book (the history of a record, the past of a state, the line of a
 * start).
 *
 * Invariants
 *   1. Without a fault, a full disk and trouble, every way says the same of the same answer.
 *   2. With them, ways differ only where a row of excuse.def has different columns.
 *   3. After AS_TRIAL_AGREED and AS_TRIAL_FOLLOWED the model is in the state of the file system.
 *   4. Once `blind` is set, nothing is judged until as_trial_begin().
 *   5. Nothing is found by a trial: it tells the way, which tells the finding.
 */
#ifndef AS_TRIAL_TRIAL_H
#define AS_TRIAL_TRIAL_H

#include "instance/instance.h"
#include "model/model.h"
#include "trial/excuse.h"

struct as_plan;
struct as_target;

/* Columns of excuse.def. */
enum as_trial_way {
	AS_TRIAL_RUN,
	AS_TRIAL_CRASH,
	AS_TRIAL_CHECK,
	AS_TRIAL_START,
};

/* What became of an operation. */
enum as_trial_did {
	AS_TRIAL_AGREED, /* the model allows the answer, and is in the state after it */
	AS_TRIAL_FOLLOWED, /* it is explained that it failed, and the model follows */
	AS_TRIAL_BLIND, /* it was not judged, or what follows will not be */
	AS_TRIAL_ENDED, /* nothing is to be done after it */
	AS_TRIAL_WRONG, /* it is a finding, which was told */
};

struct as_trial;

/* Who observes. Each gets the ctx of the trial; NULL: there is nothing to do. Where one returns
 * bool, false ends the way (AS_TRIAL_ENDED). */
struct as_trial_ops {
	/* Before it is carried out; false: it is not carried out at all. */
	bool (*before)(void *ctx, uint32_t i, const struct as_op *op);
	/* In place of as_instance_do(). */
	void (*carry_out)(void *ctx, uint32_t i, const struct as_op *op, struct as_outcome *got);
	/* It came back, and is not judged yet. */
	void (*answered)(void *ctx, uint32_t i, const struct as_op *op,
			 const struct as_outcome *got);
	/* In place of as_trial_trouble(): whether there is trouble, which was told. */
	bool (*troubled)(void *ctx, uint32_t i, const struct as_op *op);
	/* It can be judged, and is right. */
	bool (*agreed)(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got);
	/* It failed, and that is explained; `closed`: the model has closed the descriptor all the
	 * same. The way may end here: as_trial_did says so. */
	bool (*excused)(void *ctx, uint32_t i, const struct as_op *op, const struct as_outcome *got,
			bool closed);
	/* It is wrong, or there was trouble. noted: it is no reason to end. */
	void (*wrong)(void *ctx, uint32_t i, const struct as_op *op, enum as_finding_kind kind,
		      const char *why, bool noted);
	/* Of faults inside the kernel: whether its log has said that the disk needs a check. */
	bool (*warned)(void *ctx);
};

/* Which rows of excuse.def have decided something, each a bit, in their order. */
struct as_decided {
	uint64_t rows; /* AS_DECIDE */
	uint64_t excuses; /* AS_EXCUSE */
};

/*
 * It is open, since each way holds it as a member, with nothing to allocate for each of many
 * workloads. Who owns it sets the first part, and may change model, plan and observers between two
 * operations. What is known everybody may read. It is set here, with three exceptions of those who
 * see what a trial does not: who makes the inside of a kernel fail sets `met` and `hit`, who asks a
 * file system whether it is still on sets `off`, and who can no longer follow (after a race, or
 * after closes that he has judged himself) sets `blind`.
 */
struct as_trial {
	/* Set by who owns it. */
	const struct as_trial_ops *ops;
	void *ctx;
	enum as_trial_way way;
	const struct as_target *target;
	const struct as_traits *traits;
	struct as_instance *instance;
	struct as_model *model;
	const struct as_plan *plan; /* what fails; NULL: nothing */
	bool inside; /* it fails inside the kernel, */
	bool met; /* and the operation in flight may have met it */

	/* What is known of it since as_trial_begin(): */
	bool hit; /* a fault has hit */
	bool unsure; /* an operation that a fault made fail may be on the disk, or not */
	bool blind; /* the model no longer knows the state: answers are not judged */
	bool half_done; /* a fault stopped an operation of a library that undoes nothing */
	bool full; /* ENOSPC has perhaps lost contents (facts.c) */
	bool off; /* the file system has turned itself off because of a fault */
	/* The disk is not as a file system leaves it at an unmount: the power was cut and it could
	 * not be mounted since, or the unmount failed. */
	bool unclean;
	bool noticed; /* it said that it read damage, and may have noted that on the disk */
	bool over; /* what is planned fails no more */
	bool lost; /* inside the kernel: what an operation had to make stable is lost */

	struct as_verdict verdict; /* of the operation that was judged last */
	struct as_buf why;
	/* Of excuse.def, that decided last: "REFUSED.FAILED"; NULL: there was trouble, or it was
	 * not carried out. */
	const char *row;
	struct as_decided decided; /* so far; never forgotten */
};

/* A workload begins; what was known is forgotten. */
void as_trial_begin(struct as_trial *trial);
/* What it has of its own is freed; not what was set. All zero is fine, too. */
void as_trial_end(struct as_trial *trial);

/* Carries operation `i` out and judges it. */
enum as_trial_did as_trial_op(struct as_trial *trial, uint32_t i, const struct as_op *op,
			      struct as_outcome *got);
/* Whether something may be done after it. */
bool as_trial_goes_on(enum as_trial_did did);

/* From now on nothing fails. What has failed still explains what it left. */
void as_trial_end_faults(struct as_trial *trial);
/* Whether a fault has hit, so far. */
bool as_trial_hit(struct as_trial *trial);
/* Whether such an error says that the file system has turned itself off. */
bool as_trial_says_off(int err);
/* Whether what was noticed is explained: of the kernel's log, of a tree, of a checker, of what a
 * mount after it shows, of space. Who asks about a tree or a checker asks before he looks. */
bool as_trial_excuses(struct as_trial *trial, enum as_excused what);

/* The same of a race in which a call has answered this error (positive). */
bool as_trial_excuses_order(struct as_trial *trial, int err);

/* Our own mount, which is no operation of the workload; *rc is its answer. AGREED: it is mounted;
 * ENDED: it is not, and that is explained; WRONG: it is not, and nobody was told. */
enum as_trial_did as_trial_mount(struct as_trial *trial, int *rc);
/* The same of our own unmount. It is unmounted in any case. */
enum as_trial_did as_trial_unmount(struct as_trial *trial, int *rc);
/* What an unmount that has answered so (0 or a negative errno) is. */
enum as_trial_did as_trial_closed(struct as_trial *trial, int rc);
/* What was open has been closed, and all was synced: rc is 0 or a negative errno. */
void as_trial_written(struct as_trial *trial, int rc);

/* What the target did wrong besides its answers, with the kind of finding that it is, also calls
 * outside of its disk; NULL: nothing that no fault explains. */
const char *as_trial_trouble(struct as_trial *trial, enum as_finding_kind *kind);

/* Whether the tree is as the model says; otherwise *why says what differs. A fault that hits while
 * the tree is read says nothing about it, so it is read once more; when it still cannot be read,
 * nothing is said. *alive counts up to that moment (as_now_us()) while it is read; NULL: nobody
 * asks. */
bool as_trial_tree_agrees(struct as_trial *trial, volatile uint64_t *alive, int64_t until_us,
			  struct as_buf *why);

#endif
