/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cov_judge: is the coverage enough? --fail-under wants percentages: of everything, of calls, of
 * arguments. --baseline wants all partitions that another file has met. Only partitions that are
 * expected to be tested count, as in `cov show`.
 */
#include "base/json.h"
#include "cmd/cov/cov.h"
#include "cover/metric.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COVERAGE (1u << AS_SPACE_PLAIN | 1u << AS_SPACE_OUTPUT)

/* ---- --fail-under ---------------------------------------------------------------------------- */

struct wish {
	const char *text; /* name of the scope */
	size_t len;
	const struct as_spec_family *family; /* NULL: all */
	const struct as_spec_arg *arg; /* NULL: all */
	unsigned kinds;
	double percent;
};

static bool is(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

static bool take_percent(const char *text, size_t len, double *out)
{
	char copy[32], *end;

	if (len && text[len - 1] == '%')
		len--;
	if (!len || len >= sizeof(copy) || strspn(text, "0123456789.") < len)
		return false;
	memcpy(copy, text, len);
	copy[len] = 0;
	*out = strtod(copy, &end);
	return !*end && isdigit((unsigned char)copy[0]) && *out <= 100;
}

/* "inputs", "outputs", an argument. */
static bool take_part(const char *text, size_t len, struct wish *out)
{
	if (is(text, len, "inputs") || is(text, len, "input")) {
		out->kinds = 1u << AS_SPACE_PLAIN;
		return true;
	}
	if (is(text, len, "outputs") || is(text, len, "output")) {
		out->kinds = 1u << AS_SPACE_OUTPUT;
		return true;
	}
	for (unsigned i = 0; out->family && i < out->family->n_args; i++)
		if (is(text, len, out->family->args[i].name)) {
			out->arg = &out->family->args[i];
			out->kinds = 1u << AS_SPACE_PLAIN;
			return true;
		}
	return false;
}

/* "open.flags", "write:outputs", "outputs", "open" */
static bool take_scope(const struct as_spec *spec, struct wish *out)
{
	size_t call = 0;
	const struct as_spec_call *found;

	while (call < out->len && out->text[call] != '.' && out->text[call] != ':')
		call++;
	if (call == out->len && take_part(out->text, out->len, out))
		return true;
	for (unsigned i = 0; i < spec->n_families && !out->family; i++)
		if (is(out->text, call, spec->families[i].name))
			out->family = &spec->families[i];
	found = as_spec_find(spec, out->text, call);
	if (!out->family && found && found->family >= 0)
		out->family = &spec->families[found->family];
	if (!out->family)
		return false;
	return call == out->len || take_part(out->text + call + 1, out->len - call - 1, out);
}

/* The next one of the list; *list is then what is left. */
static int take_wish(const struct as_spec *spec, const char **list, struct wish *out,
		     struct as_err *err)
{
	const char *text = *list, *equals;
	size_t len = strcspn(text, ",");

	*out = (struct wish){ .text = text, .kinds = COVERAGE };
	equals = memchr(text, '=', len);
	*list = text + len + (text[len] == ',');
	if (equals)
		out->len = (size_t)(equals - text);
	if (!take_percent(equals ? equals + 1 : text, equals ? len - out->len - 1 : len,
			  &out->percent))
		return as_fail(err, AS_EUSE, "--fail-under: '%.*s' is not a percentage", (int)len,
			       text);
	if (equals && !take_scope(spec, out))
		return as_fail(err, AS_EUSE,
			       "--fail-under: '%.*s' is neither a call, nor CALL.ARGUMENT, "
			       "CALL:inputs or CALL:outputs",
			       (int)out->len, text);
	if (!equals)
		out->text = "everything";
	if (!equals)
		out->len = strlen(out->text);
	return 0;
}

static struct as_coverage measure(const struct as_counts *counts, const struct wish *wish)
{
	struct as_coverage sum = { 0 };

	for (unsigned i = 0; i < as_counts_spaces(counts); i++) {
		struct as_space space;
		struct as_coverage c;

		as_counts_space(counts, i, &space);
		c = as_coverage_space(&space, 1);
		if ((wish->kinds >> space.kind & 1) &&
		    (!wish->family || wish->family == space.family) &&
		    (!wish->arg || wish->arg == space.arg)) {
			sum.met += c.met;
			sum.of += c.of;
		}
		as_space_free(&space);
	}
	return sum;
}

static bool judge_wish(const struct as_counts *counts, const struct wish *wish,
		       struct as_json *json)
{
	struct as_coverage c = measure(counts, wish);
	bool enough = as_coverage_percent(c) >= wish->percent;

	if (json) {
		as_json_object(json);
		as_json_key(json, "scope");
		as_json_strn(json, wish->text, wish->len);
		as_json_kuint(json, "met", c.met);
		as_json_kuint(json, "of", c.of);
		as_json_key(json, "wanted_percent");
		as_json_num(json, wish->percent);
		as_json_kbool(json, "enough", enough);
		as_json_end(json);
	}
	if (!enough)
		fprintf(stderr, "assay: coverage of %.*s is %.1f %% (%llu of %llu), below %g %%\n",
			(int)wish->len, wish->text, as_coverage_percent(c),
			(unsigned long long)c.met, (unsigned long long)c.of, wish->percent);
	return enough;
}

/* ---- --baseline ------------------------------------------------------------------------------ */

struct losing {
	const struct as_cov_choice *choice;
	struct as_json *json;
	struct as_coverage before, now;
	bool told; /* a line for each */
};

static void lose(void *ctx, const struct as_space *space, const struct as_part *part, uint64_t a,
		 uint64_t b)
{
	struct losing *l = ctx;
	char title[64];

	if (!part->expected || !as_cov_chosen(l->choice, space))
		return;
	l->before.of++;
	l->now.of++;
	l->before.met += a > 0;
	l->now.met += b > 0;
	if (!a || b)
		return;
	if (l->json) {
		as_json_object(l->json);
		as_json_kstr(l->json, "call", space->family->name);
		as_json_kstr(l->json, "space", as_cov_title(space, title));
		as_json_kstr(l->json, "partition", part->name);
		as_json_kuint(l->json, "baseline", a);
		as_json_end(l->json);
	}
	fprintf(stderr, "assay: no longer met: %s %s %s (%llu times in the baseline)\n",
		space->family->name, as_cov_title(space, title), part->name, (unsigned long long)a);
	l->told = true;
}

static void warn_filter(const struct as_counts *base, const struct as_counts *counts)
{
	const char *a = as_counts_get_under(base), *b = as_counts_get_under(counts);

	if (!a != !b || (a && strcmp(a, b) != 0))
		fprintf(stderr,
			"assay: the baseline was counted with another filter: %s, here it is %s\n",
			a ? a : "none", b ? b : "none");
}

static int judge_baseline(const struct as_spec *spec, const struct as_counts *counts,
			  const struct as_args *args, struct as_json *json, struct as_err *err)
{
	const char *path = as_args_text(args, "baseline", NULL);
	struct as_cov_choice choice;
	struct losing l = { .choice = &choice, .json = json };
	struct as_counts *base = NULL;
	double most, drop;
	bool lower;
	int rc = as_cov_choose(spec, args, COVERAGE, &choice, err);

	if (!rc)
		rc = as_cov_percent(args, "max-drop", 0, &most, err);
	if (!rc)
		rc = as_cov_load(spec, path, &base, err);
	if (rc)
		return rc;
	as_cov_warn_partial(base, path);
	warn_filter(base, counts);
	if (json) {
		as_json_key(json, "lost");
		as_json_array(json);
	}
	as_counts_compare(base, counts, choice.kinds, lose, &l);
	drop = as_coverage_percent(l.before) - as_coverage_percent(l.now);
	/* Rounding errors must not make equal shares differ. */
	lower = drop > most + 1e-9;
	if (json) {
		as_json_end(json);
		as_json_kuint(json, "baseline_met", l.before.met);
	}
	if (as_args_has(args, "max-drop") && lower)
		fprintf(stderr,
			"assay: coverage is %.1f %%, in the baseline it is %.1f %%: lower by "
			"%.2f, more than %g\n",
			as_coverage_percent(l.now), as_coverage_percent(l.before), drop, most);
	as_counts_free(base);
	return (as_args_has(args, "max-drop") ? lower : l.told) ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
}

/* ---- Both ------------------------------------------------------------------------------------ */

int as_cov_judge_check(const struct as_spec *spec, const struct as_args *args, struct as_err *err)
{
	static const char *const names[] = { "fail-under", "baseline", "max-drop" };
	static const char *const users[] = { "show", "untested", "tcd", "merge", "read" };
	const char *list = as_args_text(args, "fail-under", NULL);
	double unused;
	bool useful = false;
	struct wish wish;
	int rc = 0;

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		useful |= !strcmp(args->operands[0], users[i]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !useful; i++)
		if (as_args_has(args, names[i]))
			return as_fail(err, AS_EUSE,
				       "cov %s: --%s is for show, untested, tcd, merge and read",
				       args->operands[0], names[i]);
	if (list && !*list)
		return as_fail(err, AS_EUSE, "--fail-under: '' is not a percentage");
	while (list && *list && !rc)
		rc = take_wish(spec, &list, &wish, err);
	if (!rc && as_args_has(args, "max-drop") && !as_args_has(args, "baseline"))
		rc = as_fail(err, AS_EUSE, "--max-drop: lower than what? Give --baseline FILE.cov");
	return rc ? rc : as_cov_percent(args, "max-drop", 0, &unused, err);
}

int as_cov_judge(const struct as_spec *spec, const struct as_counts *counts,
		 const struct as_args *args, struct as_json *json, struct as_err *err)
{
	const char *list = as_args_text(args, "fail-under", NULL);
	int status = AS_EXIT_CLEAN, rc = 0;
	struct wish wish;

	fflush(stdout);
	if (list && json) {
		as_json_key(json, "fail_under");
		as_json_array(json);
	}
	while (list && *list && !rc) {
		rc = take_wish(spec, &list, &wish, err);
		if (!rc && !judge_wish(counts, &wish, json))
			status = AS_EXIT_FOUND;
	}
	if (as_args_has(args, "fail-under") && json)
		as_json_end(json);
	if (!rc && as_args_has(args, "baseline")) {
		rc = judge_baseline(spec, counts, args, json, err);
		if (rc > 0) {
			status = AS_EXIT_FOUND;
			rc = 0;
		}
	}
	return rc ? rc : status;
}
