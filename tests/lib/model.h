/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subject: traits and helpers that the tests of the model share. */
#ifndef AS_TESTS_LIB_MODEL_H
#define AS_TESTS_LIB_MODEL_H

#include "model/model.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Everything Linux can do, on a file system that never fills. */
extern const struct as_traits t_full_traits;

struct as_seq *t_parse(const char *text);

/* Applies a workload; the errno of its last operation. */
int t_apply_text(struct as_model *m, const char *text);

#endif
