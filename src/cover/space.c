/* SPDX-License-Identifier: GPL-2.0-or-later */
/* space: the counts as spaces of partitions, by name. All output is made from them. */
#include "base/array.h"
#include "cover/combo.h"
#include "cover/counts.h"
#include "cover/counts_priv.h"
#include "cover/partition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many at once as the paper's Table 1 has. */
#define TOGETHER_MAX 6

static unsigned kinds_of(const struct as_spec_arg *arg)
{
	return arg->class == AS_CLASS_BITS ? 3 : arg->class == AS_CLASS_NUMBER ? 2 : 1;
}

unsigned as_counts_spaces(const struct as_counts *counts)
{
	unsigned n = 0;

	for (unsigned f = 0; f < counts->spec->n_families; f++) {
		const struct as_spec_family *family = &counts->spec->families[f];

		for (unsigned a = 0; a < family->n_args; a++)
			n += kinds_of(&family->args[a]);
		n += 2;
	}
	return n;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static struct as_part *add_part(struct as_space *space)
{
	AS_ARRAY_ROOM(space->parts, space->n, space->cap);
	space->parts[space->n] = (struct as_part){ .expected = true };
	return &space->parts[space->n++];
}

/* What was not expected is listed only when it was met. */
static void keep_if_met(struct as_space *space)
{
	if (!space->parts[space->n - 1].expected && !space->parts[space->n - 1].count)
		space->n--;
}

static void dense(const struct as_counts *counts, struct as_space *space)
{
	for (unsigned i = 0; i < space->arg->n; i++) {
		struct as_part *part = add_part(space);
		bool bound;

		if (!as_partition_name(space->arg, i, part->name, &part->expected, &bound) ||
		    bound != (space->kind == AS_SPACE_BOUNDS)) {
			space->n--;
			continue;
		}
		part->count = counts->parts[space->arg->first + i];
		keep_if_met(space);
	}
}

static void output(const struct as_counts *counts, struct as_space *space)
{
	for (unsigned i = 0; i < space->family->ret_n; i++) {
		struct as_part *part = add_part(space);

		if (!as_partition_out_name(space->family, i, part->name, &part->expected)) {
			space->n--;
			continue;
		}
		part->count = counts->parts[space->family->ret_first + i];
		keep_if_met(space);
	}
}

static void variants(const struct as_counts *counts, struct as_space *space)
{
	for (unsigned i = 0; i < counts->spec->n_calls; i++) {
		const struct as_spec_call *call = &counts->spec->calls[i];
		struct as_part *part;

		if (call->family != space->family - counts->spec->families)
			continue;
		part = add_part(space);
		snprintf(part->name, sizeof(part->name), "%s", call->name);
		part->count = counts->variants[i];
	}
}

/* ---- Flags ----------------------------------------------------------------------------------- */

static bool has_zero_word(const struct as_spec_words *words)
{
	for (unsigned i = 0; i < words->n; i++)
		if (!words->words[i].value)
			return true;
	return false;
}

/* How many words can be set at once: of those that exclude each other, one. */
static unsigned most_words(const struct as_spec_words *words)
{
	uint64_t taken = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < words->n; i++) {
		n += !(taken & words->words[i].mask);
		taken |= words->words[i].mask;
	}
	return n;
}

static void each_flag(const struct as_counts *counts, struct as_space *space)
{
	const struct as_spec_words *words = space->arg->words;
	const struct as_combos *combos = &counts->bits[space->arg->bits];
	uint64_t sums[AS_SPEC_BITS] = { 0 }, none = 0, odd = 0;
	bool unknown;

	for (size_t i = 0; i < combos->n; i++) {
		uint64_t n = combos->at[i].count;
		uint64_t set = as_combo_words(words, combos->at[i].value, &unknown);

		if (!set && !unknown)
			as_counting_add(&none, n);
		if (unknown)
			as_counting_add(&odd, n);
		for (; set; set &= set - 1)
			as_counting_add(&sums[__builtin_ctzll(set)], n);
	}
	for (unsigned i = 0; i < words->n; i++) {
		struct as_part *part = add_part(space);

		snprintf(part->name, sizeof(part->name), "%s", words->words[i].name);
		part->count = sums[i];
	}
	if (!has_zero_word(words))
		*add_part(space) = (struct as_part){ "0", none, true };
	*add_part(space) = (struct as_part){ "unknown", odd, false };
	keep_if_met(space);
	*add_part(space) =
		(struct as_part){ "(not-shown)", counts->bits_unseen[space->arg->bits], false };
	keep_if_met(space);
}

void as_counts_together(const struct as_counts *counts, const struct as_spec_arg *arg,
			const char *flag, uint64_t by_n[static AS_SPEC_BITS + 1])
{
	const struct as_combos *combos = &counts->bits[arg->bits];
	unsigned want = 0;
	bool unknown;

	memset(by_n, 0, (AS_SPEC_BITS + 1) * sizeof(*by_n));
	while (flag && want < arg->words->n && strcmp(arg->words->words[want].name, flag) != 0)
		want++;
	for (size_t i = 0; i < combos->n; i++) {
		uint64_t set = as_combo_words(arg->words, combos->at[i].value, &unknown);

		if (!flag || (want < arg->words->n && set >> want & 1))
			as_counting_add(&by_n[__builtin_popcountll(set)], combos->at[i].count);
	}
}

static void together(const struct as_counts *counts, struct as_space *space)
{
	uint64_t by_n[AS_SPEC_BITS + 1];
	unsigned most = most_words(space->arg->words);

	as_counts_together(counts, space->arg, NULL, by_n);
	for (unsigned i = has_zero_word(space->arg->words); i <= AS_SPEC_BITS; i++) {
		struct as_part *part = add_part(space);

		snprintf(part->name, sizeof(part->name), "%u", i);
		part->count = by_n[i];
		part->expected = i <= most && i <= TOGETHER_MAX;
		keep_if_met(space);
	}
}

static void pairs(const struct as_counts *counts, struct as_space *space)
{
	const struct as_spec_words *words = space->arg->words;
	const struct as_combos *combos = &counts->bits[space->arg->bits];
	uint64_t(*sums)[AS_SPEC_BITS] = as_xcalloc(AS_SPEC_BITS, sizeof(*sums));
	bool unknown;

	for (size_t c = 0; c < combos->n; c++) {
		uint64_t set = as_combo_words(words, combos->at[c].value, &unknown);

		for (; set; set &= set - 1)
			for (uint64_t rest = set & (set - 1); rest; rest &= rest - 1)
				as_counting_add(&sums[__builtin_ctzll(set)][__builtin_ctzll(rest)],
						combos->at[c].count);
	}
	for (unsigned i = 0; i < words->n; i++)
		for (unsigned j = i + 1; j < words->n; j++) {
			struct as_part *part;

			if (!as_combo_possible(&words->words[i], &words->words[j]))
				continue;
			part = add_part(space);
			snprintf(part->name, sizeof(part->name), "%s|%s", words->words[i].name,
				 words->words[j].name);
			part->count = sums[i][j];
		}
	free(sums);
}

/* ---- t at once ------------------------------------------------------------------------------- */

struct choosing {
	const struct as_spec_words *words;
	const struct as_combos *combos;
	void (*fn)(void *ctx, const char *name, uint64_t count);
	void *ctx;
};

static void report(const struct choosing *c, uint64_t chosen)
{
	struct as_buf name = { 0 };
	uint64_t sum = 0;
	bool unknown;

	for (size_t i = 0; i < c->combos->n; i++)
		if ((as_combo_words(c->words, c->combos->at[i].value, &unknown) & chosen) == chosen)
			as_counting_add(&sum, c->combos->at[i].count);
	for (unsigned i = 0; i < c->words->n; i++)
		if (chosen >> i & 1)
			as_buf_addf(&name, "%s%s", name.len ? "|" : "", c->words->words[i].name);
	c->fn(c->ctx, as_buf_str(&name), sum);
	as_buf_free(&name);
}

static void choose(const struct choosing *c, unsigned from, unsigned t, uint64_t chosen,
		   uint64_t taken)
{
	if (!t) {
		report(c, chosen);
		return;
	}
	for (unsigned i = from; i < c->words->n; i++)
		if (!(taken & c->words->words[i].mask))
			choose(c, i + 1, t - 1, chosen | 1ull << i,
			       taken | c->words->words[i].mask);
}

void as_counts_combinations(const struct as_counts *counts, const struct as_spec_arg *arg,
			    unsigned t, void (*fn)(void *ctx, const char *name, uint64_t count),
			    void *ctx)
{
	struct choosing c = { arg->words, &counts->bits[arg->bits], fn, ctx };

	choose(&c, 0, t, 0, 0);
}

/* ---- One space ------------------------------------------------------------------------------- */

static void fill(const struct as_counts *counts, struct as_space *space)
{
	switch (space->kind) {
	case AS_SPACE_PLAIN:
		if (space->arg->class == AS_CLASS_BITS)
			each_flag(counts, space);
		else
			dense(counts, space);
		break;
	case AS_SPACE_BOUNDS:
		dense(counts, space);
		break;
	case AS_SPACE_TOGETHER:
		together(counts, space);
		break;
	case AS_SPACE_PAIRS:
		pairs(counts, space);
		break;
	case AS_SPACE_OUTPUT:
		output(counts, space);
		break;
	case AS_SPACE_VARIANTS:
		variants(counts, space);
		break;
	}
}

static enum as_space_kind kind_at(const struct as_spec_arg *arg, unsigned i)
{
	static const enum as_space_kind flags[] = { AS_SPACE_PLAIN, AS_SPACE_TOGETHER,
						    AS_SPACE_PAIRS };

	return arg->class == AS_CLASS_BITS ? flags[i] : i ? AS_SPACE_BOUNDS : AS_SPACE_PLAIN;
}

void as_counts_space(const struct as_counts *counts, unsigned i, struct as_space *out)
{
	*out = (struct as_space){ 0 };
	for (unsigned f = 0; f < counts->spec->n_families; f++) {
		const struct as_spec_family *family = &counts->spec->families[f];

		out->family = family;
		if (i-- == 0) {
			out->kind = AS_SPACE_VARIANTS;
			fill(counts, out);
			return;
		}
		for (unsigned a = 0; a < family->n_args; a++) {
			unsigned n = kinds_of(&family->args[a]);

			if (i < n) {
				out->arg = &family->args[a];
				out->kind = kind_at(out->arg, i);
				fill(counts, out);
				return;
			}
			i -= n;
		}
		if (i-- == 0) {
			out->kind = AS_SPACE_OUTPUT;
			fill(counts, out);
			return;
		}
	}
	as_assert(!"as_counts_space: there are not as many");
}

void as_space_free(struct as_space *space)
{
	free(space->parts);
	*space = (struct as_space){ 0 };
}

bool as_counts_find(const struct as_counts *counts, const char *family, const char *arg,
		    enum as_space_kind kind, struct as_space *out)
{
	*out = (struct as_space){ .family = as_spec_family(counts->spec, family), .kind = kind };
	if (!out->family)
		return false;
	if (!arg != (kind == AS_SPACE_OUTPUT || kind == AS_SPACE_VARIANTS))
		return false;
	for (unsigned a = 0; arg && a < out->family->n_args; a++)
		if (!strcmp(out->family->args[a].name, arg))
			out->arg = &out->family->args[a];
	if (arg && (!out->arg || (kind == AS_SPACE_BOUNDS && out->arg->class != AS_CLASS_NUMBER) ||
		    ((kind == AS_SPACE_TOGETHER || kind == AS_SPACE_PAIRS) &&
		     out->arg->class != AS_CLASS_BITS)))
		return false;
	fill(counts, out);
	return true;
}

const char *as_space_kind_name(enum as_space_kind kind)
{
	static const char *const names[] = {
		[AS_SPACE_PLAIN] = "values",	  [AS_SPACE_BOUNDS] = "boundaries",
		[AS_SPACE_TOGETHER] = "together", [AS_SPACE_PAIRS] = "pairs",
		[AS_SPACE_OUTPUT] = "output",	  [AS_SPACE_VARIANTS] = "variants",
	};

	return names[kind];
}

const char *as_space_favourite(const struct as_space *space)
{
	const char *name = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < space->n; i++)
		if (space->parts[i].expected && space->parts[i].count > most) {
			most = space->parts[i].count;
			name = space->parts[i].name;
		}
	return name;
}
