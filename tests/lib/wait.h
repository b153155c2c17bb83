/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait: a test never sleeps for a time that seems long enough; it waits for a condition. */
#ifndef AS_TESTS_LIB_WAIT_H
#define AS_TESTS_LIB_WAIT_H

#include <stdbool.h>

/* Asks every millisecond whether it has come true, for at most so many milliseconds; its last
 * answer. The bound is for what has gone wrong, so it can be generous. */
bool t_wait_until(bool (*is_true)(void *ctx), void *ctx, unsigned most_ms);

#endif
