/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draw: see draw.h. */
#include "target/draw.h"

#include "target/fstype.h"
#include "target/variant.h"

#include <string.h>

static unsigned count_variants(const struct as_fstype *type)
{
	unsigned n = 0;

	for (unsigned i = 0; as_variant_at(i); i++)
		n += !strcmp(as_variant_at(i)->type, type->name);
	return n;
}

static unsigned count_words(const char *words)
{
	unsigned n = 0;

	for (const char *s = words ? words : ""; *s; s += strcspn(s, " "), s += *s == ' ')
		n++;
	return n;
}

bool as_draw_can(const struct as_target *target)
{
	const struct as_fstype *type = as_target_row(target);
	const char *spec = as_target_spec(target);

	return type && type->mkfs && !strcmp(spec, type->name) &&
	       count_variants(type) + count_words(type->draw);
}

/* Adds one that goes with those so far; none, if the one that was drawn does not. */
static void add_variant(const struct as_fstype *type, struct as_choice *choice,
			struct as_variants *variants, struct as_buf *spec)
{
	unsigned nth = as_choose(choice, count_variants(type)), i = 0;

	for (;; i++)
		if (!strcmp(as_variant_at(i)->type, type->name) && !nth--)
			break;
	if (as_variant_at(i)->undrawn || !as_variants_fit(variants, i))
		return;
	as_buf_addf(spec, "%s%s", as_variants_any(variants) ? "+" : ":" AS_VARIANT_KEY,
		    as_variant_at(i)->name);
	variants->bits[i / 64] |= UINT64_C(1) << i % 64;
}

static void add_option(const struct as_fstype *type, struct as_choice *choice,
		       const struct as_variants *variants, struct as_buf *spec)
{
	unsigned nth = as_choose(choice, count_words(type->draw));
	const char *s = type->draw;
	struct as_buf word = { 0 };

	while (nth--)
		s += strcspn(s, " ") + 1;
	as_buf_add(&word, s, strcspn(s, " "));
	if (as_variants_take(variants, as_buf_str(&word)))
		as_buf_addf(spec, "%c%s", as_variants_any(variants) ? ',' : ':', as_buf_str(&word));
	as_buf_free(&word);
}

void as_draw_spec(const struct as_target *target, struct as_choice *choice, struct as_buf *spec)
{
	const struct as_fstype *type = as_target_row(target);
	struct as_variants variants = { 0 };
	/* One variant mostly, so that what is found can be told from others; two often; options
	 * with half of them, and alone. */
	unsigned want = count_variants(type) ? (as_choose(choice, 8) + 2) / 4 : 0;

	as_buf_adds(spec, type->name);
	for (; want; want--)
		add_variant(type, choice, &variants, spec);
	if (count_words(type->draw) && (!as_variants_any(&variants) || as_choose(choice, 2)))
		add_option(type, choice, &variants, spec);
}
