/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * feedback: see feedback.h; the table is feedback.def. Partitions that were never met are in it
 * with 0.
 *
 * It does not say how often an operation was carried out: one operation may make many calls
 * (deepen, prune), so the calls do not show this.
 */
#include "cover/feedback.h"
#include "base/json.h"
#include "cover/counts_priv.h"

#include <stdlib.h>
#include <string.h>

enum argument_kind { EACH_PART, WHOLE_SET };

static const struct argument {
	enum argument_kind kind;
	const char *op, *key, *family, *arg;
	const char *prefix;
} arguments[] = {
#define EACH(op, key, family, arg) { EACH_PART, op, key, #family, #arg, "" },
#define WHOLE(op, key, family, arg, prefix) { WHOLE_SET, op, key, #family, #arg, prefix },
#define CALLED(name, other)
#include "cover/feedback.def"
#undef EACH
#undef WHOLE
#undef CALLED
};

static const char *const called[][2] = {
#define EACH(op, key, family, arg)
#define WHOLE(op, key, family, arg, prefix)
#define CALLED(name, other) { name, other },
#include "cover/feedback.def"
#undef EACH
#undef WHOLE
#undef CALLED
};

/* The reader's numbers are signed. */
static uint64_t signed_count(uint64_t n)
{
	return n < INT64_MAX ? n : INT64_MAX;
}

static void line(struct as_buf *out, const char *op, const char *key, const char *part, uint64_t n)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "op", op);
	as_json_kstr(&json, "arg", key);
	as_json_kstr(&json, "partition", part);
	as_json_kuint(&json, "count", signed_count(n));
	as_json_end(&json);
	as_buf_addc(out, '\n');
}

static const char *rename_part(const char *part)
{
	for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++)
		if (!strcmp(called[i][0], part))
			return called[i][1];
	return part;
}

static void each_part(const struct as_counts *counts, const struct argument *a, struct as_buf *out)
{
	struct as_space space;

	as_assert(as_counts_find(counts, a->family, a->arg, AS_SPACE_PLAIN, &space));
	for (unsigned i = 0; i < space.n; i++)
		line(out, a->op, a->key, rename_part(space.parts[i].name), space.parts[i].count);
	as_space_free(&space);
}

/* "FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE" is "KEEP_SIZE|PUNCH_HOLE". */
static void whole_sets(const struct as_counts *counts, const struct argument *a, struct as_buf *out)
{
	const struct as_spec_family *family = as_spec_family(counts->spec, a->family);
	struct as_buf name = { 0 }, kept = { 0 };

	for (unsigned i = 0; i < family->n_args; i++) {
		const struct as_spec_arg *arg = &family->args[i];
		const struct as_combos *combos = &counts->bits[arg->bits];
		struct as_combo *sorted;

		if (strcmp(arg->name, a->arg) != 0)
			continue;
		sorted = as_combos_sorted(combos);
		for (size_t c = 0; c < combos->n; c++) {
			as_buf_clear(&name);
			as_buf_clear(&kept);
			as_combo_print(arg->words, sorted[c].value, &name);
			for (const char *s = as_buf_str(&name); *s; s++) {
				bool begins = s == name.data || s[-1] == '|';

				if (begins && !strncmp(s, a->prefix, strlen(a->prefix)))
					s += strlen(a->prefix);
				as_buf_addc(&kept, *s);
			}
			line(out, a->op, a->key, as_buf_str(&kept), sorted[c].count);
		}
		free(sorted);
	}
	as_buf_free(&name);
	as_buf_free(&kept);
}

/* Every partition that is expected to be tested, by the names of coverage. */
static void call_parts(const struct as_space *space, struct as_buf *out)
{
	for (unsigned i = 0; i < space->n; i++) {
		const struct as_part *part = &space->parts[i];
		struct as_json json = as_json_on(out);

		if (!part->expected)
			continue;
		as_json_object(&json);
		as_json_kstr(&json, "call", space->family->name);
		if (space->arg)
			as_json_kstr(&json, "arg", space->arg->name);
		as_json_kstr(&json, space->arg ? "partition" : "output", part->name);
		as_json_kuint(&json, "count", signed_count(part->count));
		as_json_end(&json);
		as_buf_addc(out, '\n');
	}
}

void as_feedback_print(const struct as_counts *counts, struct as_buf *out)
{
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (arguments[i].kind == EACH_PART)
			each_part(counts, &arguments[i], out);
		else
			whole_sets(counts, &arguments[i], out);
	}
	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;

		as_counts_space(counts, i, &space);
		if (space.kind == AS_SPACE_PLAIN || space.kind == AS_SPACE_OUTPUT)
			call_parts(&space, out);
		as_space_free(&space);
	}
}
