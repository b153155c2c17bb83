/* SPDX-License-Identifier: GPL-2.0-or-later */
/* feedback: see feedback.h; the table is spec/feedback.def. What was never met is in it with 0. */
#include "cover/feedback.h"
#include "base/json.h"
#include "cover/counting.h"

#include <string.h>

enum kind { EACH_PART, WHOLE_SET, EXACT_SET };

static const struct {
	const char *name, *calls;
} operations[] = {
#define OPERATION(name, calls) { name, calls },
#define EACH(op, key, family, arg)
#define WHOLE(op, key, family, arg, prefix)
#define CALLED(name, other)
#define FLAGGED(op, family, arg, words)
#include "cover/spec/feedback.def"
#undef OPERATION
#undef EACH
#undef WHOLE
#undef CALLED
#undef FLAGGED
};

static const struct argument {
	enum kind kind;
	const char *op, *key, *family, *arg;
	const char *prefix; /* of EXACT_SET: the flags */
} arguments[] = {
#define OPERATION(name, calls)
#define EACH(op, key, family, arg) { EACH_PART, op, key, #family, #arg, "" },
#define WHOLE(op, key, family, arg, prefix) { WHOLE_SET, op, key, #family, #arg, prefix },
#define CALLED(name, other)
#define FLAGGED(op, family, arg, words) { EXACT_SET, op, NULL, #family, #arg, words },
#include "cover/spec/feedback.def"
#undef OPERATION
#undef EACH
#undef WHOLE
#undef CALLED
#undef FLAGGED
};

static const char *const called[][2] = {
#define OPERATION(name, calls)
#define EACH(op, key, family, arg)
#define WHOLE(op, key, family, arg, prefix)
#define CALLED(name, other) { name, other },
#define FLAGGED(op, family, arg, words)
#include "cover/spec/feedback.def"
#undef OPERATION
#undef EACH
#undef WHOLE
#undef CALLED
#undef FLAGGED
};

static void line(struct as_buf *out, const char *op, const char *key, const char *part, uint64_t n)
{
	struct as_json json = as_json_on(out);

	as_json_object(&json);
	as_json_kstr(&json, "op", op);
	if (key) {
		as_json_kstr(&json, "arg", key);
		as_json_kstr(&json, "partition", part);
	}
	/* The reader's numbers are signed. */
	as_json_kuint(&json, "count", n < INT64_MAX ? n : INT64_MAX);
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

		if (strcmp(arg->name, a->arg) != 0)
			continue;
		for (unsigned c = 0; c < combos->size; c++) {
			if (!combos->at[c].count)
				continue;
			as_buf_clear(&name);
			as_buf_clear(&kept);
			as_combo_print(arg->words, combos->at[c].value, &name);
			for (const char *s = as_buf_str(&name); *s; s++) {
				bool begins = s == name.data || s[-1] == '|';

				if (begins && !strncmp(s, a->prefix, strlen(a->prefix)))
					s += strlen(a->prefix);
				as_buf_addc(&kept, *s);
			}
			line(out, a->op, a->key, as_buf_str(&kept), combos->at[c].count);
		}
	}
	as_buf_free(&name);
	as_buf_free(&kept);
}

static void exact_set(const struct as_counts *counts, const struct argument *a, struct as_buf *out)
{
	const struct as_spec_family *family = as_spec_family(counts->spec, a->family);
	uint64_t value, sum = 0;

	for (unsigned i = 0; i < family->n_args; i++) {
		const struct as_spec_arg *arg = &family->args[i];
		const struct as_combos *combos = &counts->bits[arg->bits];

		if (strcmp(arg->name, a->arg) != 0)
			continue;
		as_assert(as_combo_parse(arg->words, a->prefix, strlen(a->prefix), &value));
		for (unsigned c = 0; c < combos->size; c++)
			if (combos->at[c].value == value)
				as_counting_add(&sum, combos->at[c].count);
	}
	line(out, a->op, NULL, NULL, sum);
}

void as_feedback_print(const struct as_counts *counts, struct as_buf *out)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		uint64_t sum = 0;

		for (const char *s = operations[i].calls; *s;
		     s += strcspn(s, " "), s += *s == ' ') {
			const struct as_spec_call *call =
				as_spec_find(counts->spec, s, strcspn(s, " "));

			as_assert(call);
			as_counting_add(&sum, counts->variants[call->index]);
		}
		line(out, operations[i].name, NULL, NULL, sum);
	}
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (arguments[i].kind == EACH_PART)
			each_part(counts, &arguments[i], out);
		else if (arguments[i].kind == EXACT_SET)
			exact_set(counts, &arguments[i], out);
		else
			whole_sets(counts, &arguments[i], out);
	}
}
