/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_swarm: campaigns: planned, run on this machine or by Slurm, watched, merged. */
#include "base/json.h"
#include "base/show.h"
#include "cli/cli.h"
#include "cli/live/live.h"
#include "cli/start.h"
#include "cli/stopping.h"
#include "cmd/swarm.h"
#include "os/out.h"
#include "swarm/allot.h"
#include "swarm/campaign.h"
#include "swarm/local.h"
#include "swarm/picture.h"
#include "swarm/slurm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_DEFAULT "assay.swarm"

/* ---- What was asked for ---------------------------------------------------------------------- */

struct swarm_asked {
	const struct as_args *args;
	struct as_buf text; /* of the campaign's file */
	struct as_campaign *campaign;
	const char *folder;
	unsigned jobs;
};

static int read_file(struct swarm_asked *a, const char *path, struct as_err *err)
{
	const char *scale = as_args_text(a->args, "scale", NULL);
	struct as_buf whole = { 0 };
	int rc = as_buf_read_file(&a->text, path, AS_CAMPAIGN_FILE_MAX, err);

	if (!rc)
		rc = as_campaign_parse(path, as_buf_str(&a->text), a->text.len, &a->campaign, err);
	if (!rc)
		rc = as_cmd_swarm_check_tables(a->campaign, err);
	if (rc || !scale)
		return rc;
	/* The factor is a line of the copy in the folder, so that whoever goes on there has it. */
	if (strpbrk(scale, " \t\r\n#\""))
		return as_fail(err, AS_EUSE, "--scale is a factor such as 1/60");
	as_campaign_free(a->campaign);
	as_buf_addf(&whole, "scale %s\n%s", scale, as_buf_str(&a->text));
	as_buf_free(&a->text);
	a->text = whole;
	return as_campaign_parse("--scale", as_buf_str(&a->text), a->text.len, &a->campaign, err);
}

/* A folder has a copy of its campaign's file. */
static int read_copy(struct swarm_asked *a, const char *folder, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc;

	if (as_args_has(a->args, "scale"))
		return as_fail(err, AS_EUSE, "--scale goes with plan, run and cell");
	as_buf_addf(&path, "%s/%s", folder, AS_SWARM_FILE);
	rc = read_file(a, as_buf_str(&path), err);
	as_buf_free(&path);
	a->folder = folder;
	return rc;
}

static void asked_free(struct swarm_asked *a)
{
	as_campaign_free(a->campaign);
	as_buf_free(&a->text);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static int plan(struct swarm_asked *a, struct as_err *err)
{
	struct as_buf out = { 0 };
	int rc = read_file(a, a->args->operands[1], err);

	if (!rc && as_args_has(a->args, "json"))
		as_swarm_plan_json(a->campaign, &out);
	else if (!rc)
		as_swarm_plan_text(a->campaign, a->jobs, as_args_has(a->args, "all"), &out);
	if (!rc)
		rc = as_out_save("-", &out, err);
	as_buf_free(&out);
	return rc ? rc : AS_EXIT_CLEAN;
}

/* ---- run ------------------------------------------------------------------------------------- */

struct talk {
	const struct as_campaign *campaign;
	struct as_live *live;
	bool json, quiet;
	size_t done, cells, slices;
};

static void slice_json(const struct as_swarm_cell *cell, const struct as_slice *slice)
{
	struct as_buf line = { 0 };
	struct as_json json = as_json_on(&line);

	as_json_object(&json);
	as_json_kstr(&json, "event", "slice");
	as_json_kstr(&json, "cell", cell->name);
	as_json_kuint(&json, "round", slice->round);
	as_json_kint(&json, "wall_us", slice->wall_us);
	as_json_kint(&json, "status", slice->status);
	as_json_kuint(&json, "ops", slice->ops);
	as_json_kuint(&json, "states", slice->states);
	as_json_kuint(&json, "kinds", slice->kinds);
	as_json_kbool(&json, "complete", slice->complete);
	as_json_end(&json);
	printf("%s\n", as_buf_str(&line));
	as_buf_free(&line);
}

static void on_began(void *ctx, uint64_t round, size_t cells, uint64_t seconds)
{
	struct talk *talk = ctx;
	struct as_buf line = { 0 };

	talk->cells = cells;
	talk->done = 0;
	as_live_goal(talk->live, 0,
		     talk->slices + cells +
			     (talk->campaign->rounds - round) * talk->campaign->n_cells);
	as_buf_addf(&line, "round %" PRIu64 " of %" PRIu64, round, talk->campaign->rounds);
	as_live_phase(talk->live, as_buf_str(&line));
	as_buf_clear(&line);
	if (talk->json || talk->quiet) {
		as_buf_free(&line);
		return;
	}
	as_buf_addf(&line, "round %" PRIu64 ": %zu cell%s, ", round, cells, as_plural(cells));
	as_swarm_amount(&line, talk->campaign, seconds);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

static void on_ended(void *ctx, const struct as_ledger *ledger, size_t cell,
		     const struct as_slice *slice)
{
	const struct as_swarm_cell *c = &ledger->campaign->cells[cell];
	struct talk *talk = ctx;
	struct as_buf line = { 0 };

	talk->done++;
	talk->slices++;
	as_live_add_done(talk->live, 1);
	as_live_add(talk->live, AS_COUNT_workloads, slice->workloads);
	as_live_add(talk->live, AS_COUNT_ops, slice->ops);
	as_live_add(talk->live, AS_COUNT_states, slice->states);
	as_live_set(talk->live, AS_COUNT_findings, as_digests_n(&ledger->kinds));
	if (talk->json) {
		slice_json(c, slice);
	} else if (!talk->quiet) {
		as_buf_addf(&line, "%zu/%zu  %s  %.1f s  ", talk->done, talk->cells, c->name,
			    (double)slice->wall_us / 1e6);
		if (slice->status > 1)
			as_buf_addf(&line, "FAILED (%d)  ", slice->status);
		as_buf_addf(&line, "%" PRIu64 " ops  %" PRIu64 " kind%s%s  ", slice->ops,
			    slice->kinds, as_plural(slice->kinds),
			    slice->complete ? "  all explored" : "");
		as_swarm_words(&line, c);
		if (slice->said[0]) {
			as_buf_adds(&line, "\n      ");
			as_show(&line, slice->said);
		}
		printf("%s\n", as_buf_str(&line));
	}
	fflush(stdout);
	as_buf_free(&line);
}

static int check_trust(const struct swarm_asked *a, struct as_err *err)
{
	struct as_buf what = { 0 };
	int rc = 0;

	if (as_args_has(a->args, "trust"))
		return 0;
	for (size_t i = 0; i < a->campaign->n_cells && !rc; i++)
		if (as_cell_reaches(&a->campaign->cells[i], &what))
			rc = as_fail(err, AS_EUSE,
				     "%s: cell %s would %s. --trust allows what the file names",
				     a->campaign->file, a->campaign->cells[i].name,
				     as_buf_str(&what));
	as_buf_free(&what);
	return rc;
}

static uint64_t found(const struct as_ledger *ledger, size_t *given_up)
{
	uint64_t cells = 0;

	*given_up = 0;
	for (size_t i = 0; i < ledger->campaign->n_cells; i++) {
		cells += ledger->tallies[i].kinds > 0;
		*given_up += ledger->tallies[i].given_up;
	}
	return cells;
}

static int finish(const struct swarm_asked *a, const struct as_ledger *ledger, int rc)
{
	size_t given_up, kinds = as_digests_n(&ledger->kinds);
	uint64_t cells = found(ledger, &given_up);

	if (!as_args_has(a->args, "json") && !as_args_has(a->args, "quiet")) {
		printf("%zu kind%s of findings in %" PRIu64 " of %zu cells", kinds,
		       as_plural(kinds), cells, ledger->campaign->n_cells);
		if (given_up)
			printf("; %zu cell%s failed and %s given up", given_up, as_plural(given_up),
			       given_up == 1 ? "was" : "were");
		printf("\n`assay swarm status %s` shows each, `assay swarm merge %s` joins them\n",
		       a->folder, a->folder);
	}
	if (rc)
		return rc;
	return cells ? AS_EXIT_FOUND : given_up ? AS_EXIT_WRONG : AS_EXIT_CLEAN;
}

/* Slurm needs absolute paths: jobs begin in other folders. */
static int run_slurm(struct swarm_asked *a, struct as_ledger *ledger,
		     const struct as_swarm_options *options, struct as_err *err)
{
	struct as_slurm_options slurm = {
		.swarm = *options,
		.bring = as_args_text(a->args, "bring", NULL),
		.text = as_buf_str(&a->text),
		.trust = as_args_has(a->args, "trust"),
		.merge = true,
	};

	slurm.swarm.jobs = (unsigned)as_args_number(a->args, "jobs", 0);
	return as_swarm_slurm(ledger, &slurm, err);
}

/* What is shown begins with what the cells did before. */
static void talk_open(struct talk *talk, const struct as_ledger *ledger, const char *where,
		      unsigned jobs)
{
	struct as_swarm_tally sum = { 0 };

	for (size_t i = 0; i < talk->campaign->n_cells; i++) {
		const struct as_swarm_tally *t = &ledger->tallies[i];

		sum.used_us += t->used_us;
		sum.slices += t->slices;
		sum.workloads += t->workloads;
		sum.ops += t->ops;
		sum.states += t->states;
	}
	talk->slices = sum.slices;
	talk->live = as_live_open(&(struct as_live_setup){ .command = "swarm",
							   .folder = &ledger->run.dir,
							   .json = talk->json,
							   .quiet = talk->quiet,
							   .before_us = sum.used_us / jobs });
	as_live_target(talk->live, talk->campaign->name, where, jobs);
	as_live_goal(talk->live, 0, sum.slices);
	as_live_done(talk->live, sum.slices);
	as_live_set(talk->live, AS_COUNT_workloads, sum.workloads);
	as_live_set(talk->live, AS_COUNT_ops, sum.ops);
	as_live_set(talk->live, AS_COUNT_states, sum.states);
	as_live_set(talk->live, AS_COUNT_findings, as_digests_n(&ledger->kinds));
}

static int run_all(struct swarm_asked *a, struct as_err *err)
{
	struct talk talk = { .campaign = a->campaign,
			     .json = as_args_has(a->args, "json"),
			     .quiet = as_args_has(a->args, "quiet") };
	struct as_swarm_options options = {
		.jobs = a->jobs,
		.even = as_args_has(a->args, "static"),
		.stop = as_cli_stop_catch(),
		.began = on_began,
		.ended = on_ended,
		.ctx = &talk,
	};
	bool slurm = as_args_has(a->args, "slurm");
	struct as_ledger ledger;
	int rc = slurm && as_args_has(a->args, "local")
			 ? as_fail(err, AS_EUSE, "--local does not go with --slurm")
			 : as_ledger_open(a->folder, AS_LEDGER_WRITE, as_buf_str(&a->text),
					  a->campaign, &ledger, err);

	if (rc)
		return rc;
	talk_open(&talk, &ledger, slurm ? "by Slurm" : "", a->jobs);
	rc = slurm ? run_slurm(a, &ledger, &options, err) : as_swarm_local(&ledger, &options, err);
	as_live_close(talk.live, true, rc, err);
	if (rc == AS_ESTOP)
		rc = AS_EXIT_SIGNAL + as_cli_stopped();
	if (rc >= 0)
		rc = finish(a, &ledger, rc);
	as_ledger_close(&ledger);
	return rc;
}

static int run_verb(struct swarm_asked *a, struct as_err *err)
{
	int rc = read_file(a, a->args->operands[1], err);

	if (!rc)
		rc = check_trust(a, err);
	return rc ? rc : run_all(a, err);
}

/* ---- cell ------------------------------------------------------------------------------------ */

/* One slice of one cell: what a task of Slurm runs. Its exit status says whether that worked. */
static int cell_verb(struct swarm_asked *a, struct as_err *err)
{
	const volatile int *stop = as_cli_stop_catch();
	const struct as_swarm_cell *cell;
	struct as_ledger ledger;
	struct as_slice slice;
	int rc = read_file(a, a->args->operands[1], err);

	if (rc)
		return rc;
	cell = as_campaign_find(a->campaign, a->args->operands[2]);
	if (!cell)
		return as_fail(err, AS_EUSE, "%s: there is no cell '%s'", a->campaign->file,
			       a->args->operands[2]);
	rc = check_trust(a, err);
	if (!rc)
		rc = as_ledger_open(a->folder, AS_LEDGER_ONE, as_buf_str(&a->text), a->campaign,
				    &ledger, err);
	if (rc)
		return rc;
	rc = as_slice_whole(&ledger, (size_t)(cell - a->campaign->cells),
			    as_args_number(a->args, "round", 1),
			    as_args_number(a->args, "seconds", as_cell_share(a->campaign, cell)),
			    stop, &slice, err);
	if (!rc && as_args_has(a->args, "json"))
		slice_json(cell, &slice);
	as_ledger_close(&ledger);
	return rc;
}

/* ---- status ---------------------------------------------------------------------------------- */

/* Of the verbs that look at what there is. */
static int open_folder(struct swarm_asked *a, struct as_ledger *ledger, struct as_err *err)
{
	int rc = read_copy(a, a->args->operands[1], err);

	return rc ? rc : as_ledger_open(a->folder, AS_LEDGER_READ, NULL, a->campaign, ledger, err);
}

static int merge(struct swarm_asked *a, struct as_err *err)
{
	struct as_ledger ledger;
	int rc = open_folder(a, &ledger, err);

	if (rc)
		return rc;
	rc = as_cmd_swarm_merge(a->folder, &ledger, err);
	as_ledger_close(&ledger);
	return rc ? rc : AS_EXIT_CLEAN;
}

static int table(struct swarm_asked *a, struct as_err *err)
{
	struct as_ledger ledger;
	int rc = open_folder(a, &ledger, err);

	if (rc)
		return rc;
	rc = as_cmd_swarm_table(&ledger, err);
	as_ledger_close(&ledger);
	return rc ? rc : AS_EXIT_CLEAN;
}

static int status(struct swarm_asked *a, struct as_err *err)
{
	struct as_ledger ledger;
	struct as_buf out = { 0 };
	int rc = open_folder(a, &ledger, err);

	if (rc)
		return rc;
	if (as_args_has(a->args, "json"))
		as_swarm_status_json(&ledger, &out);
	else
		as_swarm_status_text(&ledger, &out);
	rc = as_out_save("-", &out, err);
	as_ledger_close(&ledger);
	as_buf_free(&out);
	return rc ? rc : AS_EXIT_CLEAN;
}

/* ---- The command ----------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*run)(struct swarm_asked *a, struct as_err *err);
	int operands;
	const char *takes;
} verbs[] = {
	{ "plan", plan, 2, "the file of a campaign" },
	{ "run", run_verb, 2, "the file of a campaign" },
	{ "status", status, 2, "the folder of a campaign" },
	{ "merge", merge, 2, "the folder of a campaign" },
	{ "table", table, 2, "the folder of a campaign" },
	{ "cell", cell_verb, 3, "the file of a campaign and the name of a cell" },
};

static int run(const struct as_args *args, struct as_err *err)
{
	struct swarm_asked a = { .args = args,
				 .folder = as_args_text(args, "out", FOLDER_DEFAULT) };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int rc = AS_EUSE;

	a.jobs = (unsigned)as_args_number(args, "jobs", cores > 0 ? (uint64_t)cores : 1);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(args->operands[0], verbs[i].name)) {
			if (args->n_operands != verbs[i].operands)
				return as_fail(err, AS_EUSE, "swarm %s takes %s", verbs[i].name,
					       verbs[i].takes);
			rc = verbs[i].run(&a, err);
			asked_free(&a);
			return rc;
		}
	return as_fail(err, AS_EUSE, "swarm: '%s' is not plan, run, status, merge, table or cell",
		       args->operands[0]);
}

static const struct as_opt opts[] = {
	{ .name = "jobs",
	  .letter = 'j',
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 1024,
	  .help = "run: so many cells at once, each on a core of its own; default: as many as "
		  "there are cores" },
	{ .name = "local", .help = "run: on this machine, as without --slurm" },
	{ .name = "scale",
	  .kind = AS_OPT_TEXT,
	  .arg = "A/B",
	  .help = "plan, run: multiply all times of the file by this factor, such as 1/60; rounds "
		  "that would be shorter than ten seconds are fewer" },
	{ .name = "static",
	  .help = "run: each cell keeps its own time; default: time moves to cells that still find "
		  "something new" },
	{ .name = "slurm",
	  .help = "run: on the machines of a Slurm cluster, with an array of jobs for each round" },
	{ .name = "bring",
	  .kind = AS_OPT_TEXT,
	  .arg = "COMMAND",
	  .help = "run --slurm: machines do not share the folder; this command brings the archive "
		  "{} of a cell to DIR/inbox, such as 'scp {} head:DIR/inbox/'" },
	{ .name = "round",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 1000,
	  .help = "cell: the round that the slice belongs to; default 1" },
	{ .name = "seconds",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 31536000,
	  .help = "cell: how long; default: the time of the cell" },
	{ .name = "all", .help = "plan: list all cells; default: the first 20" },
	{ .name = "trust",
	  .help = "run: allow plugins, commands, folders and kernels that the file names" },
	{ .name = "out",
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "run, cell: keep the campaign in this folder, or go on with the one in it; "
		  "default " FOLDER_DEFAULT },
	{ .name = "json", .help = "print everything as JSON lines" },
	AS_CLI_QUIET_OPT,
	{ 0 },
};

const struct as_command as_cmd_swarm = {
	.name = "swarm",
	.operands = "plan FILE | run FILE | status DIR | merge DIR | table DIR | cell FILE NAME",
	.summary = "run many commands with many settings, on many cores",
	.text = "A campaign is a file: commands, the values that are put into them, and how "
		"much time each cell, a command with its values, may take (docs/SCALE.md). "
		"`plan` prints the cells and what they cost, and runs nothing. `run` runs "
		"them in rounds; it goes on where it was stopped or killed. Each cell has a "
		"run folder of its own. `status` shows what each cell has done. `merge` joins "
		"them: DIR/merged has each finding once, with an index for SQLite, and "
		"DIR/report.html shows all of it. `table` prints what a paper says beside what was "
		"measured, as Markdown, if the file says it. `cell` runs one cell: jobs of "
		"Slurm do.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = 3,
	.run = run,
};
