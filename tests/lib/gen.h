/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the generator's tests share: cmocka, and a target without limits. */
#ifndef AS_TESTS_LIB_GEN_H
#define AS_TESTS_LIB_GEN_H

#include "base/choice.h"
#include "gen/gen.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

extern const struct as_traits t_any_traits;

struct as_gen *t_gen_start(const struct as_profile *profile, const struct as_traits *traits,
			   struct as_chooser *chooser);

#endif
