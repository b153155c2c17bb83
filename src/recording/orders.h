/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * orders: what a power cut may leave of a workload that several threads have run.
 *
 * The rule: a recovered tree is legal if some order of the calls makes it legal (legal.h). The
 * order must explain what the calls had answered when the power failed (race/graph.h): calls that
 * did not overlap keep their order. A call that was under way may have happened or not, in any
 * place that the others leave it. What a call has made stable counts once it has ended.
 *
 * Moments (struct as_moment) are those of the clock of the race: calls that ended before `done` had
 * answered, and calls that began before `begun` had begun.
 *
 * If there are too many orders, nothing is said: the tree is legal and `unjudged`.
 */
#ifndef AS_RECORDING_ORDERS_H
#define AS_RECORDING_ORDERS_H

#include "legal/legal.h"
#include "race/race.h"
#include "recording/record.h"
#include "recover/recover.h"

struct as_orders;

/* Takes the calls of the history, which is empty then. `first` is the model before the first call,
 * and is copied. */
struct as_orders *as_orders_new(const struct as_model *first, const struct as_policy *policy,
				struct as_race_history *history);
void as_orders_free(struct as_orders *orders); /* takes NULL */

/* Adds a call that was made after all others, alone. */
void as_orders_add(struct as_orders *orders, const struct as_op *op, const struct as_outcome *got,
		   uint64_t begin, uint64_t end);
/* By all calls, their answers and their moments. */
struct as_digest as_orders_digest(const struct as_orders *orders);

/* Whether what recovery by this way has led to may be; as as_legal_judge(). */
bool as_orders_judge(struct as_orders *orders, enum as_way way, struct as_moment moment,
		     const struct as_tree *tree, struct as_legal *verdict);

/* The call that a finding names: one that was under way, or the last that had ended; -1: none. */
int64_t as_orders_guilty(const struct as_orders *orders, struct as_moment moment);
/* "power cut while thread 1 was in op 4 `fsync $1`" */
void as_orders_say_moment(const struct as_orders *orders, struct as_moment moment,
			  struct as_buf *out);
/* The calls that had begun, in at most max_lines lines. */
void as_orders_describe(const struct as_orders *orders, struct as_moment moment, size_t max_lines,
			struct as_buf *out);
/* Whether a call that ends in this time can have made something stable. */
bool as_orders_ended_between(const struct as_orders *orders, uint64_t from, uint64_t to);

/* ---- Of any recording ---- */

/* Whether it is known what must be there at this moment. */
bool as_recording_knows(const struct as_recording *recording, struct as_moment moment);
/* Whether what recovery by this way has led to may be; by the orders of a race, or by the one
 * order of a workload that one thread has run. */
bool as_recording_allows(const struct as_recording *recording, enum as_way way,
			 struct as_moment moment, const struct as_tree *tree,
			 struct as_legal *verdict);
/* Whether quotas are what they must be. True if there are none (NULL), and in a race, in which
 * setquota has no order. */
bool as_recording_allows_quotas(const struct as_recording *recording, struct as_moment moment,
				const struct as_tree *counted, struct as_legal *verdict);
/* As as_legal_judge_redone() and as_legal_is_ordered(). */
bool as_recording_allows_redone(const struct as_recording *recording, struct as_moment moment,
				const struct as_tree *tree);
bool as_recording_is_ordered(const struct as_recording *recording, struct as_moment moment);
/* Whether the unmount at the end has returned, with nothing under way. */
bool as_recording_is_unmounted(const struct as_recording *recording, struct as_moment moment);

#endif
