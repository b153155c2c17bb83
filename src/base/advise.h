/* SPDX-License-Identifier: GPL-2.0-or-later */
/* advise: what to do about a tool error, after what is wrong (err.h). */
#ifndef AS_BASE_ADVISE_H
#define AS_BASE_ADVISE_H

#include "base/err.h"

/* Puts ": advice" after what *err already says (it may be NULL), and returns its code. */
int as_fail_advise(struct as_err *err, const char *fmt, ...) AS_PRINTF(2, 3);

#endif
