/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asks: questions of the target (as_ask(), as_choose()), and an operation with other answers to
 * them (FiSC section 3.3, "expose choice points"). All questions are answered 0, but for one: that
 * one gets each of its other answers in turn. It may be one of the operation that is tried, or of
 * those that led to the state: what another answer has spoiled may show only later.
 *
 * Questions are counted from the mount on. So the answers can be written as `assay run --choices`
 * takes them: "0.0.1" is answer 1 to the third question. Questions that a start (start.h) has asked
 * come first: "0*200.0.0.1".
 */
#include "check/worker_priv.h"

#include <assay/choice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More questions than can be written down are answered 0. */
#define BEFORE_BYTES 32
#define ASKS_MAX ((AS_RUN_CHOICES_MAX - BEFORE_BYTES) / 2 - 1)

struct as_asks {
	struct as_choice choice;
	unsigned n; /* so far */
	unsigned room[ASKS_MAX]; /* of each: how many answers it has */
	unsigned other, answer; /* which of them gets which answer; answer 0: none does */
};

static unsigned pick(struct as_choice *choice, unsigned n)
{
	struct as_asks *asks = (struct as_asks *)choice;
	unsigned i = asks->n++;

	if (i >= ASKS_MAX)
		return 0;
	asks->room[i] = n;
	return asks->answer && i == asks->other && asks->answer < n ? asks->answer : 0;
}

struct as_asks *as_asks_new(void)
{
	struct as_asks *asks = as_xcalloc(1, sizeof(*asks));

	asks->choice.pick = pick;
	return asks;
}

void as_asks_free(struct as_asks *asks)
{
	free(asks);
}

struct as_choice *as_asks_choice(struct as_asks *asks)
{
	return &asks->choice;
}

void as_asks_begin(struct as_asks *asks)
{
	asks->n = 0;
}

/* "0.0.1": all answers up to the one that is not 0. */
static void print(const struct as_asks *asks, uint64_t before, char text[AS_RUN_CHOICES_MAX])
{
	if (before)
		text += snprintf(text, BEFORE_BYTES, "0*%llu.", (unsigned long long)before);
	for (unsigned i = 0; i <= asks->other; i++) {
		text[2 * i] = (char)('0' + (i == asks->other ? asks->answer : 0));
		text[2 * i + 1] = i < asks->other ? '.' : '\0';
	}
}

const char *as_asks_own(const char *choices)
{
	return strncmp(choices, "0*", 2) ? choices : strchr(choices, '.') + 1;
}

static int try_answer(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	enum as_trial_did did;
	int rc;

	print(w->asks, w->c->start ? w->c->start->calls[AS_START_ASK] : 0, w->lane->tried.choices);
	rc = as_worker_try(w, op, &did, err);
	if (!rc && did == AS_TRIAL_AGREED)
		rc = as_failing_judge(w, op, NULL, true, err);
	w->back = false;
	w->lane->tried.choices[0] = '\0';
	return rc;
}

/* How many questions there are from the mount to the end of the operation; 0: it went wrong, which
 * was told. */
static int learn(struct as_expander *w, const struct as_op *op, unsigned *n, struct as_err *err)
{
	struct as_outcome got;
	int rc = as_worker_bring_back(w, err);

	*n = 0;
	if (rc || !w->back)
		return rc;
	w->lane->phase = AS_CHECK_MOVE;
	if (as_worker_do(w, op, (uint32_t)w->seq->n, &got) != AS_TRIAL_WRONG)
		*n = w->asks->n < ASKS_MAX ? w->asks->n : ASKS_MAX;
	w->back = false;
	return 0;
}

int as_asks_try(struct as_expander *w, const struct as_op *op, struct as_err *err)
{
	struct as_asks *asks = w->asks;
	unsigned room[ASKS_MAX], n;
	int rc = learn(w, op, &n, err);

	memcpy(room, asks->room, sizeof(room));
	for (unsigned i = 0; i < n && !rc; i++)
		for (unsigned a = 1; a < room[i] && a < 10 && !rc && !w->c->shared->stop; a++) {
			asks->other = i;
			asks->answer = a;
			rc = try_answer(w, op, err);
			asks->answer = 0;
		}
	return rc;
}
