/* SPDX-License-Identifier: GPL-2.0-or-later */
/* traits: see traits.h. */
#include "tests/lib/traits.h"

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

const struct as_traits t_full_traits = {
	.name = "full",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.xattr_value_max = 60000,
	.block_bytes = 4096,
	.size_max = (uint64_t)1 << 44,
	.time_granularity_ns = 1,
};
