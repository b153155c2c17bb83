/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ddmin: Zeller's delta debugging over a set of n elements. The caller's test says whether a subset
 * (kept[i]) still fails; the result is 1-minimal unless the budget ran out first, and always the
 * smallest failing subset seen.
 */
#ifndef AS_BASE_DDMIN_H
#define AS_BASE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns 1 if the subset still fails, else 0. The test may clear more of kept[] than asked (what
 * depends on a cleared element); what it leaves is what was tested. */
typedef int (*as_ddmin_test)(void *ctx, bool *kept, size_t n);

/* kept[] is all true (or a failing subset) on entry, the reduced subset on return. Returns the
 * number of tests run. budget 0: unbounded. */
size_t as_ddmin(bool *kept, size_t n, as_ddmin_test test, void *ctx, size_t budget);

#endif
