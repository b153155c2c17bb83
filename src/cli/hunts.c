/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hunts: see hunts.h. */
#include "cli/hunts.h"

#include "base/json.h"
#include "cli/drawn.h"
#include "cli/output.h"
#include "cli/repro.h"
#include "cli/runs.h"
#include "cli/stopping.h"
#include "cli/stored.h"
#include "dossier/dossier.h"
#include "dossier/store.h"
#include "dossier/stored.h"
#include "host/kfail.h"
#include "hunt/groups.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define PLAYED_MAX 16u /* findings, at the end */
#define WORKLOADS_CI 200

/* ---- Times --------------------------------------------------------------------------------- */

int as_cli_read_duration(const char *option, const char *text, int64_t *us, struct as_err *err)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (text[0] >= '0' && text[0] <= '9' && !strcmp(end, units[i].unit) && n &&
		    n <= 1000000) {
			*us = (int64_t)n * units[i].seconds * 1000000;
			return 0;
		}
	return as_fail(err, AS_EUSE, "--%s: '%s' is not a time such as 90s, 10m or 1h", option,
		       text);
}

int as_cli_begin_time(const struct as_args *args, int64_t *for_us, struct as_err *err)
{
	const char *time = as_args_text(args, "for", NULL);
	int rc = 0;

	*for_us = 0;
	if (time)
		rc = as_cli_read_duration("for", time, for_us, err);
	as_cli_opens(*for_us);
	return rc;
}

static bool is_ci(const struct as_args *args)
{
	return as_args_has(args, "known") || as_args_has(args, "junit") ||
	       as_args_has(args, "fail-on");
}

int as_cli_hunt_bounds(const struct as_args *args, bool resume, struct as_hunt_state *state,
		       struct as_err *err)
{
	const char *time = as_args_text(args, "for", NULL);
	uint64_t max = as_args_number(args, "max-workloads", 0);
	int64_t us = 0;
	int rc = 0;

	if (!time && !max && !resume) {
		time = is_ci(args) ? AS_CLI_HUNT_FOR_CI : AS_CLI_HUNT_FOR;
		max = is_ci(args) ? WORKLOADS_CI : 0;
	}
	if (time)
		rc = as_cli_read_duration("for", time, &us, err);
	/* A hunt that is resumed gets the time in addition. */
	if (us)
		state->for_us = state->used_us + us;
	if (max)
		state->max_workloads = state->workloads + max;
	if (as_args_has(args, "max-findings"))
		state->max_signs = state->n_signs + as_args_number(args, "max-findings", 0);
	for (size_t i = 0; i < state->n_jobs && max; i++)
		state->jobs[i].over = false;
	if (time && !max && resume)
		state->max_workloads = 0;
	if (max && !time && resume)
		state->for_us = 0;
	return rc;
}

/* ---- Options --------------------------------------------------------------------------------- */

/* The rule for all workloads of a hunt (host/kfail.h). */
static int take_sweep(const struct as_args *args, const char *scenario,
		      struct as_run_options *options, struct as_err *err)
{
	static char rule[64]; /* the options name it for as long as the hunt lives */
	const char *kind = as_args_text(args, "sweep", NULL);
	uint64_t seed = as_args_number(args, "seed", 0);

	if (!kind)
		return 0;
	snprintf(rule, sizeof(rule), "%.20s:all:%llu", kind,
		 (unsigned long long)(seed % 1000000 + 1));
	if (as_kfail_kind(rule) == AS_KFAIL_NONE || strchr(kind, ':'))
		return as_fail(err, AS_EUSE,
			       "--sweep of a hunt: expected kalloc, kpage or kio, not '%.40s'",
			       kind);
	options->faults = rule;
	if (as_args_has(args, "faults"))
		return as_fail(err, AS_EUSE, "--sweep cannot be combined with --faults");
	return strcmp(scenario, "sequential")
		       ? as_fail(err, AS_EUSE, "--sweep cannot be combined with --scenario %s",
				 scenario)
		       : 0;
}

int as_cli_hunt_options(const struct as_args *args, const char *scenario,
			struct as_run_options *options, struct as_err *err)
{
	int rc = take_sweep(args, scenario, options, err);

	if (rc)
		return rc;
	options->draw_faults = as_args_has(args, "faults");
	if (!options->draw_faults || !strcmp(scenario, "sequential") || !strcmp(scenario, "crash"))
		return as_cli_run_options(args, options, err);
	return as_fail(err, AS_EUSE, "--faults cannot be combined with --scenario %s", scenario);
}

/* ---- The store ------------------------------------------------------------------------------- */

static int set_count(const struct as_dir *folder, uint64_t count, const char *group,
		     struct as_err *err)
{
	const struct as_dossier_news news = { .event = AS_DOSSIER_COUNTED,
					      .count = count,
					      .group = group };

	return as_dossier_write(folder, &news, err);
}

static int load(const struct as_dir *folder, struct as_hunt_found *found, struct as_err *err)
{
	struct as_run_options options;
	struct as_stored stored;
	char *faults = NULL;
	int rc = as_stored_load(folder, &stored, err);

	if (rc)
		return rc;
	found->op_index = stored.finding.op_index;
	rc = as_cli_stored_parse(&stored, "workload.txt", stored.workload, &found->seq, err);
	if (!rc)
		rc = as_run_options_parse(stored.finding.options, &options, &faults, err);
	if (!rc) {
		memcpy(found->scenario, options.scenario, sizeof(found->scenario));
		memcpy(found->alter, options.alter, sizeof(found->alter));
		found->size_bytes = options.size_bytes;
		as_buf_adds(&found->target, stored.finding.target);
		as_buf_adds(&found->faults, faults ? faults : "");
	}
	free(faults);
	as_stored_free(&stored);
	return rc;
}

const struct as_hunt_store as_cli_hunt_store = {
	.open = as_store_sink_in,
	.failed = as_store_sink_failed,
	.close = as_store_sink_free,
	.load = load,
	.set_reduced = as_cli_stored_keep,
	.set_count = set_count,
};

/* ---- The end --------------------------------------------------------------------------------- */

int as_cli_hunt_nothing(const struct as_hunt_state *state, struct as_err *err)
{
	return as_fail(
		err, AS_EUSE,
		"no workload was run: the time was up before the first was done; --for "
		"gives it more%s",
		strncmp(state->scenario, "crash", 5) ? "" : ", and a smaller --budget needs less");
}

static void say_json(const struct as_hunt_state *s, const struct as_hunt_groups *g)
{
	for (size_t i = 0; i < s->n_signs; i++) {
		const struct as_hunt_sign *sign = &s->signs[i];
		struct as_buf line = { 0 };
		struct as_json j = as_json_on(&line);

		as_json_object(&j);
		as_json_kstr(&j, "event", "signature");
		as_json_kstr(&j, "signature", sign->signature);
		as_json_kstr(&j, "cause", sign->cause);
		as_json_kstr(&j, "group", g->groups[g->of[i]].name);
		as_json_kstr(&j, "id", sign->id);
		as_json_kuint(&j, "count", sign->count);
		as_json_kuint(&j, "ops", sign->ops);
		as_json_kuint(&j, "ops_reduced", sign->ops_reduced);
		as_json_kuint(&j, "runs", sign->runs);
		as_json_kuint(&j, "failed", sign->failed);
		as_json_kuint(&j, "job", sign->job);
		as_json_kuint(&j, "number", sign->number);
		as_json_kint(&j, "first_us", sign->first_us);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		as_buf_free(&line);
	}
}

static const char *reduced_text(const struct as_hunt_sign *sign, char *text, size_t cap)
{
	switch (sign->reduced) {
	case AS_HUNT_UNREDUCED:
		return "-";
	case AS_HUNT_VANISHED:
		return "gone";
	default:
		snprintf(text, cap, "%llu%s%s", (unsigned long long)sign->ops_reduced,
			 sign->reduced == AS_HUNT_SHORTENED ? "+" : "",
			 sign->failed < sign->runs ? "?" : "");
		return text;
	}
}

/* A line for each likely cause, with its smallest example. */
static void say_groups(const struct as_hunt_state *s, const struct as_hunt_groups *g,
		       struct as_sink *talk)
{
	char text[32];

	as_emit_note(talk, "%7s  %7s  %7s  %-32s  %s", "count", "kinds", "reduced", "example",
		     "likely cause");
	for (size_t i = 0; i < g->n; i++) {
		const struct as_hunt_group *group = &g->groups[i];
		const struct as_hunt_sign *sign = &s->signs[group->example];

		as_emit_note(talk, "%7llu  %7zu  %7s  %-32s  %.160s",
			     (unsigned long long)group->count, group->kinds,
			     reduced_text(sign, text, sizeof(text)), sign->id, group->name);
	}
}

static void say_table(const struct as_hunt_state *s, struct as_sink *talk)
{
	char text[32];

	as_emit_note(talk, "%7s  %7s  %7s  %8s  %-32s  %s", "count", "ops", "reduced", "first",
		     "id", "signature");
	for (size_t i = 0; i < s->n_signs; i++) {
		const struct as_hunt_sign *sign = &s->signs[i];

		as_emit_note(talk, "%7llu  %7llu  %7s  %6.1f s  %-32s  %.160s",
			     (unsigned long long)sign->count, (unsigned long long)sign->ops,
			     reduced_text(sign, text, sizeof(text)), (double)sign->first_us / 1e6,
			     sign->id, sign->signature);
	}
}

/* For what the budgets of the workloads were spent, and what came of it. */
static void say_shares(const struct as_shares *shares, struct as_sink *talk)
{
	double all = (double)as_shares_cost(shares);

	if (!as_shares_cost(shares))
		return;
	as_emit_note(talk, "%-8s  %9s  %6s  %9s  %8s", "states", "number", "share", "new trees",
		     "findings");
	for (unsigned r = 0; r < AS_SHARE_ROWS; r++) {
		const uint64_t *n = shares->n[r];

		as_emit_note(talk, "%-8s  %9llu  %4.0f %%  %9llu  %8llu", as_share_names[r],
			     (unsigned long long)n[AS_SHARE_STATES],
			     100.0 * (double)n[AS_SHARE_COST] / all,
			     (unsigned long long)n[AS_SHARE_TREES],
			     (unsigned long long)n[AS_SHARE_FOUND]);
	}
}

/* The programs of a library's findings (cli/repro.h). */
static void play(const struct as_hunt_state *s, const char *folder)
{
	struct as_dir run = AS_DIR_NONE, findings = AS_DIR_NONE;
	unsigned n = 0;

	if (!as_dir_open(folder, NULL, &run, NULL) &&
	    !as_dir_below(&run, AS_RUN_FINDINGS, false, &findings, NULL))
		for (size_t i = 0; i < s->n_signs && n < PLAYED_MAX; i++) {
			struct as_dir dir = AS_DIR_NONE;

			n++;
			if (!as_dir_below(&findings, s->signs[i].id, false, &dir, NULL))
				(void)!as_cli_repro(&dir, s->target, NULL);
			as_dir_close(&dir);
		}
	as_dir_close(&findings);
	as_dir_close(&run);
}

void as_cli_hunt_summary(const struct as_hunt_state *s, const char *folder, bool json, bool stopped,
			 struct as_sink *talk)
{
	struct as_run_result stats = { .workloads = s->workloads,
				       .ops = s->ops,
				       .findings = s->n_signs,
				       .skipped = s->skipped,
				       .unjudged = s->unjudged,
				       .excused = s->excused,
				       .failures = s->failures,
				       .raced = s->raced,
				       .looked = s->looked,
				       .possible = s->possible,
				       .shares = as_hunt_state_shares(s),
				       .wall_us = s->used_us };
	struct as_hunt_groups groups;
	const char *first = NULL;
	size_t left = 0;

	for (size_t i = s->n_signs; i-- > 0;)
		if (s->signs[i].reduced == AS_HUNT_UNREDUCED) {
			left++;
			first = s->signs[i].id;
		}
	if (!stopped)
		play(s, folder);
	as_hunt_groups(s, &groups);
	if (json) {
		say_json(s, &groups);
	} else if (s->n_signs) {
		say_table(s, talk);
		say_groups(s, &groups, talk);
	}
	as_hunt_groups_free(&groups);
	if (s->n_signs && !json)
		as_emit_note(talk, "findings are kept in %s/findings", folder);
	as_cli_drawn_say(s, json, talk);
	if (!json)
		say_shares(&stats.shares, talk);
	if (left)
		as_emit_note(
			talk,
			"%zu finding%s not reduced yet: `assay hunt --resume -o %s` continues, "
			"`assay reduce -o %s %s` reduces one",
			left, left == 1 ? " is" : "s are", folder, folder, first);
	if (stopped)
		as_emit_note(talk, "stopped; to continue: assay hunt --resume -o %s", folder);
	as_emit_done(talk, &stats);
}
