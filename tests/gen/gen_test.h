/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the generator's tests share: cmocka, and a target without limits. */
#ifndef AS_TESTS_GEN_TEST_H
#define AS_TESTS_GEN_TEST_H

#include "base/choice.h"
#include "gen/gen.h"

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static const struct as_traits any_traits = {
	.name = "any",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.xattr_value_max = 65536,
	.block_bytes = 4096,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

static inline struct as_gen *gen_start(const struct as_profile *profile,
				       const struct as_traits *traits, struct as_chooser *chooser)
{
	struct as_gen *gen;
	struct as_err err = { 0 };

	if (as_gen_new(profile, traits, as_chooser_choice(chooser), &gen, &err))
		fail_msg("%s", err.msg);
	return gen;
}

#endif
