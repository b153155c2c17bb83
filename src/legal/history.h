/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: all states that the model went through while a workload ran, in the form in which a
 * recovered tree is judged (legal.h): each inode and each name with its versions, and what each
 * operation made stable (stable.c).
 */
#ifndef AS_LEGAL_HISTORY_H
#define AS_LEGAL_HISTORY_H

#include "base/buf.h"
#include "legal/policy.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>

struct as_history;
struct as_tree;

/* Begins with the file system as mkfs and the first mount left it (the model is copied); all of it
 * is stable. The traits of the model must outlive it. */
struct as_history *as_history_new(const struct as_model *fresh, const struct as_policy *policy);
void as_history_free(struct as_history *history); /* takes NULL */

/* Adds the next operation and its answer. False: the model does not allow the answer, or can no
 * longer tell what the tree is (after a `crash` in the workload): nothing after this is judged. */
bool as_history_add(struct as_history *history, const struct as_op *op,
		    const struct as_outcome *outcome);
/* The same, but the operation has made nothing stable, whatever it answered: a disk had failed
 * before, and this call could not have told. */
bool as_history_add_unsure(struct as_history *history, const struct as_op *op,
			   const struct as_outcome *outcome);
/*
 * Adds an operation that failed because the disk or the memory did. It made nothing stable. After a
 * power cut it may have happened or not, and one of many calls may have stopped after each of them;
 * all these states are added. Then follows the state before it once more: there the workload goes
 * on, if the target undoes what fails.
 */
bool as_history_add_failed(struct as_history *history, const struct as_op *op,
			   const struct as_outcome *outcome);
/* One step of an order in which calls of several threads may have happened (race/graph.h). */
struct as_history_step {
	const struct as_op *op;
	const struct as_outcome *got;
	const struct as_model *after; /* the state that it leads to */
	size_t number; /* of the operation, in words */
	bool promises; /* it has ended: what it made stable is stable */
	bool late; /* what it made stable may be of a later moment, too */
};
void as_history_follow(struct as_history *history, const struct as_history_step *step);
/* After the last step: adds the promises that were late, as operations of their own after all
 * others, which have begun and have not ended: they excuse, and promise nothing. */
void as_history_end(struct as_history *history);
/* The number that operation i has in words, less one. */
size_t as_history_number(const struct as_history *history, size_t i);
/* Whether the tree has the names and attributes of the last state. */
bool as_history_is_last(const struct as_history *history, const struct as_tree *tree);

/* What stat(2) told of the file that the operation added last made stable, if that was an fsync:
 * when it answered. Without this, nothing is said of times and blocks. */
void as_history_saw(struct as_history *history, const struct as_stat *st);
/* Nobody knows which limits owners had at the beginning: nothing is said of limits. */
void as_history_doubt_limits(struct as_history *history);
size_t as_history_len(const struct as_history *history); /* operations */
/* Operations 0..n-1 can be judged. */
size_t as_history_known(const struct as_history *history);

/* What one operation made stable, in words: "fsync of /a/f at op 7"; false: nothing. Operations are
 * numbered from 0 here, from 1 in words. */
bool as_history_persists(const struct as_history *history, size_t op, struct as_buf *words);
/* The tree after operation n-1 (0: the fresh one), as a perfect file system would leave it. */
struct as_tree *as_history_tree(const struct as_history *history, size_t n);

#endif
