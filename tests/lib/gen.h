/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gen: what the tests of the generator share. */
#ifndef AS_TESTS_LIB_GEN_H
#define AS_TESTS_LIB_GEN_H

#include "base/choice.h"
#include "gen/gen.h"
#include "tests/lib/traits.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

struct as_gen *t_gen_start(const struct as_profile *profile, const struct as_traits *traits,
			   struct as_chooser *chooser);

#endif
