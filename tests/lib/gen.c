/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gen: see gen.h. */
#include "tests/lib/gen.h"

const struct as_traits t_any_traits = {
	.name = "any",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.xattr_value_max = 65536,
	.block_bytes = 4096,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

struct as_gen *t_gen_start(const struct as_profile *profile, const struct as_traits *traits,
			   struct as_chooser *chooser)
{
	struct as_gen *gen;
	struct as_err err = { 0 };

	if (as_gen_new(profile, traits, as_chooser_choice(chooser), &gen, &err))
		fail_msg("%s", err.msg);
	return gen;
}
