/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gen: see gen.h. */
#include "tests/lib/gen.h"

struct as_gen *t_gen_start(const struct as_profile *profile, const struct as_traits *traits,
			   struct as_chooser *chooser)
{
	struct as_gen *gen;
	struct as_err err = { 0 };

	if (as_gen_new(profile, traits, as_chooser_choice(chooser), &gen, &err))
		fail_msg("%s", err.msg);
	return gen;
}
