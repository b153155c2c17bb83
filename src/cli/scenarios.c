/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scenarios: see scenarios.h. */
#include "cli/scenarios.h"

#include "cli/jobs.h"
#include "race/race.h"
#include "scenario/diff.h"
#include "vfs/traits.h"

#include <stdlib.h>
#include <string.h>

static const char *const of_race[] = { "threads", "repeat", "delay" };

#define NRACE (sizeof(of_race) / sizeof(of_race[0]))

static void add_param(const struct as_args *args, const char *name, struct as_buf *text)
{
	if (as_args_has(args, name))
		as_buf_addf(text, "%s%s=%llu", text->data[text->len - 1] == ':' ? "" : ",", name,
			    (unsigned long long)as_args_number(args, name, 0));
}

int as_cli_race(const struct as_args *args, struct as_race_options *race, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = 0;

	*race = (struct as_race_options){ 0 };
	for (size_t i = 0; i < NRACE && !as_args_has(args, "race") && !rc; i++)
		if (as_args_has(args, of_race[i]))
			rc = as_fail(err, AS_EUSE, "--%s needs --race", of_race[i]);
	if (rc || !as_args_has(args, "race"))
		return rc;
	as_buf_addf(&text, "repeat=1");
	for (size_t i = 0; i < NRACE; i++)
		add_param(args, of_race[i], &text);
	rc = as_race_parse(as_buf_str(&text), race, err);
	as_buf_free(&text);
	return rc;
}

int as_cli_scenario(const struct as_args *args, struct as_buf *text, struct as_err *err)
{
	static const char *const of_crash[] = { "budget", "rounds" };
	const char *name = as_args_text(args, "scenario", NULL);
	const char *diff = as_args_text(args, "diff", NULL);
	struct as_race_options checked;
	bool race = as_args_has(args, "race"), crash = as_args_has(args, "crash");

	if ((name != NULL) + (race || crash) + (diff != NULL) > 1)
		return as_fail(err, AS_EUSE,
			       "--scenario, --diff, and --race or --crash exclude each other");
	for (size_t i = 0; i < NRACE; i++)
		if (as_args_has(args, of_race[i]) && !race)
			return as_fail(err, AS_EUSE, "--%s needs --race", of_race[i]);
	if (diff)
		as_buf_addf(text, "diff:%s", diff);
	else if (!race)
		as_buf_adds(text, name ? name : crash ? "crash" : "sequential");
	else
		as_buf_adds(text, crash ? "crash:threads=3" : "race:");
	for (size_t i = 0; i < sizeof(of_crash) / sizeof(of_crash[0]); i++)
		if (as_args_has(args, of_crash[i]) && !crash)
			return as_fail(err, AS_EUSE, "--%s needs --crash", of_crash[i]);
	if ((as_args_has(args, "budget") || as_args_has(args, "rounds")) && !race)
		as_buf_addc(text, ':');
	for (size_t i = 0; crash && i < sizeof(of_crash) / sizeof(of_crash[0]); i++)
		add_param(args, of_crash[i], text);
	for (size_t i = 0; race && i < NRACE; i++)
		add_param(args, of_race[i], text);
	/* Wrong parameters are refused before anything is made. */
	return strncmp(as_buf_str(text), "race:", 5)
		       ? 0
		       : as_race_parse(as_buf_str(text) + 5, &checked, err);
}

void as_cli_show_scenario(struct as_live *live, const char *scenario)
{
	size_t len = strlen(scenario);
	struct as_buf words = { 0 };

	/* Without the colon of one that has no parameters. */
	if (strcmp(scenario, "sequential") != 0)
		as_buf_add(&words, scenario, len - (len && scenario[len - 1] == ':'));
	as_live_phase(live, as_buf_str(&words));
	as_buf_free(&words);
}

int as_cli_specs(const char *scenario, const char *target, struct as_cli_specs *specs,
		 struct as_err *err)
{
	_Static_assert(AS_DIFF_MAX == sizeof(specs->spec) / sizeof(specs->spec[0]),
		       "as many as can be compared");
	*specs = (struct as_cli_specs){ .n = 0 };
	if (!strncmp(scenario, "diff:", 5))
		return as_diff_parse(scenario + 5, specs->spec, &specs->n, err);
	specs->spec[specs->n++] = as_xstrdup(target);
	return 0;
}

int as_cli_specs_wear(const struct as_args *args, struct as_cli_specs *specs, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < specs->n && !rc; i++) {
		struct as_buf text = { 0 };

		as_buf_adds(&text, specs->spec[i]);
		rc = as_cli_join_wear(args, &text, err);
		free(specs->spec[i]);
		specs->spec[i] = as_xstrdup(as_buf_str(&text));
		as_buf_free(&text);
	}
	return rc;
}

void as_cli_specs_free(struct as_cli_specs *specs)
{
	for (size_t i = 0; i < specs->n; i++)
		free(specs->spec[i]);
	specs->n = 0;
}

int as_cli_specs_box(const struct as_args *args, const struct as_cli_specs *specs, bool *boxed,
		     struct as_err *err)
{
	int rc = 0;

	*boxed = false;
	for (size_t i = 0; i < specs->n; i++)
		*boxed = *boxed || as_cli_wants_box(args, specs->spec[i]);
	for (size_t i = 0; i < specs->n && !rc; i++) {
		const char *spec = specs->spec[i];

		/* All that are compared run in the same place. */
		if (*boxed && !as_cli_wants_box(args, spec) && strcmp(spec, "lab") &&
		    strncmp(spec, "lab:", 4))
			rc = as_fail(err, AS_EUSE,
				     "target %s cannot be compared in a sandbox: --sandbox host "
				     "runs all of them here",
				     spec);
		else if (as_cli_wants_box(args, spec) || !*boxed)
			rc = as_cli_check_box(args, spec, err);
	}
	return rc;
}

int as_cli_specs_open_box(const struct as_args *args, const struct as_cli_specs *specs,
			  uint64_t size_bytes, struct as_cli_box *box, struct as_err *err)
{
	int rc = as_cli_box_open(args, specs->spec[0], size_bytes, box, err);

	if (rc)
		return rc;
	for (size_t i = 1; i < specs->n && !rc; i++)
		rc = as_cli_box_add(box, specs->spec[i], size_bytes, err);
	if (rc)
		as_cli_box_close(box);
	return rc;
}

int as_cli_specs_traits(const struct as_cli_specs *specs, struct as_traits *traits,
			struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < specs->n && !rc; i++) {
		struct as_target *target;
		struct as_traits own;

		rc = as_target_open(specs->spec[i], &target, err);
		if (rc)
			break;
		as_run_traits(target, &own);
		as_target_free(target);
		own.name = specs->n > 1 ? "one of them" : specs->spec[i];
		if (!i)
			*traits = own;
		traits->features &= own.features;
		if (own.name_max < traits->name_max)
			traits->name_max = own.name_max;
		if (own.size_max < traits->size_max)
			traits->size_max = own.size_max;
	}
	return rc;
}
