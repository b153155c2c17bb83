/* SPDX-License-Identifier: GPL-2.0-or-later */
/* model: what the tests of the model share. */
#ifndef AS_TESTS_LIB_MODEL_H
#define AS_TESTS_LIB_MODEL_H

#include "model/model.h"
#include "tests/lib/traits.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct as_seq *t_parse(const char *text);

/* Applies a workload; the errno of its last operation. */
int t_apply_text(struct as_model *m, const char *text);

/* Applies a workload but for its last operation, and judges this answer to that one. */
bool t_judges(const struct as_traits *traits, const char *text, int64_t ret, int err);
bool t_judges_outcome(const struct as_traits *traits, const char *text,
		      const struct as_outcome *got);

#endif
