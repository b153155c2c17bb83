/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz entry of profiles: what is accepted prints to a text that reads back as the same profile,
 * and workloads can be generated from it. Feedback is read from the same bytes. */
#include "base/choice.h"
#include "gen/gen.h"
#include "tests/lib/traits.h"

#include <stdlib.h>
#include <string.h>

/* Goals of somebody else's making are written out, too, where that does not take long. */
static bool is_short(const struct as_profile *p)
{
	return p->n_goals && p->length_min < 20 && p->length_max < 60 && p->walk_max < 100 &&
	       p->extend <= 50;
}

static void generate(const struct as_profile *profile)
{
	struct as_chooser *chooser = as_chooser_seeded(profile->seed);
	struct as_err err = { 0 };
	struct as_gen *gen;

	if (!as_gen_new(profile, &t_any_traits, as_chooser_choice(chooser), &gen, &err)) {
		for (int i = 0; i < 5 && as_gen_step(gen); i++)
			;
		if (is_short(profile))
			as_seq_free(as_gen_next(gen, AS_GEN_SYNTAX));
		as_gen_free(gen);
	} else {
		as_assert(err.msg[0]);
	}
	as_chooser_free(chooser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct as_profile *profile = as_profile_new(), *again = as_profile_new();
	struct as_buf text = { 0 }, printed = { 0 };
	struct as_err err = { 0 };

	if (!as_profile_parse("fuzz", (const char *)data, len, profile, &err)) {
		as_profile_print(profile, &text);
		as_assert(!as_profile_parse("again", as_buf_str(&text), text.len, again, &err));
		as_profile_print(again, &printed);
		as_assert(!strcmp(as_buf_str(&text), as_buf_str(&printed)));
		generate(profile);
	} else {
		as_assert(err.msg[0]);
	}
	if (!as_gen_feedback(again, "fuzz", (const char *)data, len, &err))
		generate(again);
	as_buf_free(&text);
	as_buf_free(&printed);
	free(profile);
	free(again);
	return 0;
}
