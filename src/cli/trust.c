/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust: see trust.h. */
#include "cli/trust.h"

#include "base/show.h"
#include "cli/boxes.h"
#include "gen/profile.h"
#include "target/trust.h"

#include <string.h>

static bool is_trusted(const struct as_args *args, const char *text)
{
	return as_args_has(args, "trust") || as_trust_remembers(text);
}

static int refuse(const char *where, const char *what, struct as_err *err)
{
	struct as_buf shown = { 0 };
	int rc;

	as_show(&shown, where);
	rc = as_fail(err, AS_EUSE,
		     "%.200s would make assay %s; if it is yours, or you trust who made it, give "
		     "--trust, or name a target of your own with --target",
		     as_buf_str(&shown), what);
	as_buf_free(&shown);
	return rc;
}

int as_cli_trust(const struct as_args *args, const char *where, const char *spec,
		 struct as_err *err)
{
	struct as_buf what = { 0 };
	int rc = 0;

	if (as_trust_reaches(spec, as_cli_wants_box(args, spec), &what) && !is_trusted(args, spec))
		rc = refuse(where, as_buf_str(&what), err);
	as_buf_free(&what);
	return rc;
}

int as_cli_trust_seq(const struct as_args *args, const char *where, const char *spec,
		     const struct as_seq *seq, struct as_err *err)
{
	bool boxed = as_cli_wants_box(args, spec);
	struct as_buf what = { 0 };
	int rc = 0;

	for (size_t i = 0; i < seq->n && !rc; i++) {
		const struct as_op *op = &seq->ops[i];

		if (op->opts && *op->opts && as_trust_options_reach(spec, boxed, op->opts, &what) &&
		    !is_trusted(args, as_buf_str(&what)))
			rc = refuse(where, as_buf_str(&what), err);
		as_buf_clear(&what);
	}
	as_buf_free(&what);
	return rc;
}

int as_cli_trust_text(const struct as_args *args, const char *where, const char *does,
		      const char *text, struct as_err *err)
{
	struct as_buf what = { 0 };
	int rc = 0;

	if (!is_trusted(args, text)) {
		as_buf_addf(&what, "%s ", does);
		as_show(&what, text);
		rc = refuse(where, as_buf_str(&what), err);
	}
	as_buf_free(&what);
	return rc;
}

void as_cli_typed(const struct as_args *args, const char *spec)
{
	if (as_trust_reaches(spec, as_cli_wants_box(args, spec), NULL))
		as_trust_remember(spec);
}

int as_cli_trust_profile(const struct as_args *args, const char *spec,
			 const struct as_profile *profile, struct as_err *err)
{
	static const unsigned draws[] = { AS_DRAW_REMOUNT_OPTS, AS_DRAW_MOUNT_OPTS };
	bool boxed = as_cli_wants_box(args, spec);
	struct as_buf what = { 0 };
	int rc = 0;

	for (size_t d = 0; d < sizeof(draws) / sizeof(draws[0]); d++) {
		const struct as_dist *dist = &profile->dist[draws[d]];

		for (size_t i = 0; i < dist->n && !rc; i++) {
			as_buf_clear(&what);
			if (as_trust_options_reach(spec, boxed, dist->word[i], &what) &&
			    !is_trusted(args, as_buf_str(&what)))
				rc = refuse("the profile", as_buf_str(&what), err);
		}
	}
	as_buf_free(&what);
	return rc;
}

/* ---- Hunts ----------------------------------------------------------------------------------- */

static bool runs_outside(const struct as_args *args, const char *spec)
{
	return !as_cli_wants_box(args, spec) && as_cli_fstype(spec);
}

int as_cli_trust_hunt(const struct as_args *now, const struct as_args *both, const char *folder,
		      const char *target, const struct as_cli_specs *specs, struct as_err *err)
{
	const char *kernel = as_args_text(both, "uml", NULL);
	struct as_buf where = { 0 };
	int rc = 0;

	as_buf_addf(&where, "the hunt in %s", folder);
	/* The target should be one of those that are compared, but a state file may say
	 * otherwise. */
	if (!as_args_has(now, "target"))
		rc = as_cli_trust(both, as_buf_str(&where), target, err);
	for (size_t i = 0; i < specs->n && !rc && !as_args_has(now, "target"); i++) {
		rc = as_cli_trust(both, as_buf_str(&where), specs->spec[i], err);
		if (!rc && runs_outside(both, specs->spec[i]))
			rc = as_cli_trust_text(both, as_buf_str(&where),
					       "run its workloads, outside of a sandbox, on",
					       specs->spec[i], err);
	}
	if (!rc && kernel && !as_args_has(now, "uml"))
		rc = as_cli_trust_text(both, as_buf_str(&where), "run the kernel", kernel, err);
	as_buf_free(&where);
	return rc;
}

void as_cli_typed_scenario(const struct as_args *args, const char *scenario)
{
	struct as_cli_specs specs = { .n = 0 };

	if (!strncmp(scenario, "diff:", 5) && !as_cli_specs(scenario, "", &specs, NULL))
		for (size_t i = 0; i < specs.n; i++)
			as_cli_typed(args, specs.spec[i]);
	as_cli_specs_free(&specs);
}

void as_cli_typed_hunt(const struct as_args *args, const struct as_cli_specs *specs)
{
	for (size_t i = 0; i < specs->n; i++) {
		as_cli_typed(args, specs->spec[i]);
		if (runs_outside(args, specs->spec[i]))
			as_trust_remember(specs->spec[i]);
	}
	if (as_args_has(args, "uml"))
		as_trust_remember(as_args_text(args, "uml", ""));
}
