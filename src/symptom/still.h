/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * still: whether something still fails in the same way: a workload that was made shorter, a damage
 * that was made smaller, a finding that is run again. This is the one place that decides it.
 */
#ifndef AS_SYMPTOM_STILL_H
#define AS_SYMPTOM_STILL_H

#include <stdbool.h>

enum as_still {
#define STILL(how, compares, why) AS_STILL_##how,
#include "symptom/still.def"
#undef STILL
};

/* `before` is the signature of what failed, `now` that of what is wrong now; NULL: nothing is. */
bool as_still_fails(enum as_still how, const char *before, const char *now);

#endif
