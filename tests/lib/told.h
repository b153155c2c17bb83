/* SPDX-License-Identifier: GPL-2.0-or-later */
/* told: a history of a workload as the model itself would have answered it. */
#ifndef AS_TESTS_LIB_TOLD_H
#define AS_TESTS_LIB_TOLD_H

#include "legal/legal.h"
#include "work/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct told {
	struct as_traits traits;
	struct as_model *model;
	struct as_seq *seq;
	struct as_history *history;
};

void t_told_begin(struct told *t, const struct as_policy *policy);

void t_told_add(struct told *t, const struct as_op *op);

void t_told_text(struct told *t, const struct as_policy *policy, const char *text);

void t_told_end(struct told *t);

/* "RULE: WHY" of a verdict, which is freed. */
void t_verdict_say(struct as_legal *verdict, struct as_buf *why);

#endif
