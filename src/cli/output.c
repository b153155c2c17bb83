/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output: see output.h. */
#include "cli/output.h"

#include "cli/live/screen.h"
#include "cli/pages.h"
#include "cli/repro.h"
#include "dossier/store.h"
#include "os/rundir.h"
#include "report/groups.h"
#include "report/sinks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct as_sink *as_cli_talk_new(const struct as_args *args, bool quiet)
{
	const char *folder = as_args_text(args, "out", AS_OUT_DEFAULT);
	struct as_sink *talk;

	if (as_args_has(args, "json"))
		talk = as_jsonl_sink_new(stdout);
	else
		talk = as_term_sink_new(stdout, as_cli_has_colour(STDOUT_FILENO),
					strcmp(folder, AS_OUT_DEFAULT) != 0 ? folder : NULL);
	if (quiet) {
		talk->note = NULL;
		talk->done = NULL;
	}
	return talk;
}

void as_cli_talk_free(struct as_sink *talk, bool json)
{
	if (json)
		as_jsonl_sink_free(talk);
	else
		as_term_sink_free(talk);
}

/* ---- First kept, then printed ---------------------------------------------------------------- */

struct both {
	struct as_sink sink;
	struct as_sink *talk, *store;
	struct as_sink *repro; /* hands to the store; NULL: there is none */
	struct as_report_groups *groups;
	struct as_cli_forms *forms;
	struct as_live *live;
	struct as_sink kept; /* after `talk`, which then knows that findings are kept */
};

static void both_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct both *b = (struct both *)sink;

	as_report_groups_add(b->groups, f);
	as_cli_forms_add(b->forms, f);
	as_live_finding(b->live, f);
	if (b->repro)
		b->repro->finding(b->repro, f);
	b->talk->next = b->store && !as_store_sink_failed(b->store, NULL) ? &b->kept : NULL;
	b->talk->finding(b->talk, f);
}

static void both_again(struct as_sink *sink, const char *signature)
{
	as_report_groups_again(((struct both *)sink)->groups, signature);
	as_live_again(((struct both *)sink)->live);
	as_emit_again(((struct both *)sink)->talk, signature);
}

static void both_note(struct as_sink *sink, const char *line)
{
	as_emit_note(((struct both *)sink)->talk, "%s", line);
}

static void both_told(struct as_sink *sink, const char *text)
{
	as_emit_told(((struct both *)sink)->talk, text);
}

static void both_done(struct as_sink *sink, const struct as_run_result *stats)
{
	as_emit_done(((struct both *)sink)->talk, stats);
}

/* Makes one chain of `talk` and `store`. */
static void join(struct as_cli_output *out)
{
	struct both *both = as_xcalloc(1, sizeof(*both));

	*both = (struct both){ .sink = { .finding = both_finding,
					 .again = both_again,
					 .note = both_note,
					 .told = both_told,
					 .done = both_done },
			       .talk = out->talk,
			       .store = out->store,
			       .forms = out->forms,
			       .live = out->live,
			       .groups = as_report_groups_new() };
	if (out->store) {
		out->talk->next = &both->kept;
		both->repro = as_cli_repro_sink(out->store, as_store_sink_folder(out->store));
	}
	out->chain = &both->sink;
}

int as_cli_output_open(const struct as_args *args, struct as_cli_output *out, struct as_err *err)
{
	int rc = 0;

	*out = (struct as_cli_output){ .folder = as_args_text(args, "out", AS_OUT_DEFAULT),
				       .json = as_args_has(args, "json") };
	rc = as_cli_forms_open(args, args->command->name, &out->forms, err);
	if (!rc && !as_args_has(args, "no-store"))
		rc = as_store_sink_new(out->folder, &out->store, err);
	if (rc)
		return rc;
	out->talk = as_cli_talk_new(args, as_args_has(args, "quiet"));
	out->live = as_live_open(&(struct as_live_setup){
		.command = args->command->name,
		.folder = out->store ? as_store_sink_folder(out->store) : NULL,
		.json = out->json,
		/* The output of `together` is for a program. */
		.quiet = as_args_has(args, "quiet") || as_args_has(args, "together"),
	});
	join(out);
	return 0;
}

void as_cli_output_goes_on(struct as_cli_output *out)
{
	if (out->store)
		as_store_sink_goes_on(out->store);
}

int as_cli_output_failed(const struct as_cli_output *out, struct as_err *err)
{
	return out->store ? as_store_sink_failed(out->store, err) : 0;
}

void as_cli_output_quiet(struct as_cli_output *out, int rc, const struct as_err *err)
{
	as_live_close(out->live, out->lasting, rc, err);
	out->live = NULL;
	if (out->chain)
		((struct both *)out->chain)->live = NULL;
}

int as_cli_output_close(struct as_cli_output *out, const struct as_run_result *stats, int rc,
			struct as_err *err)
{
	int failed = as_cli_output_failed(out, rc ? NULL : err);
	bool kept = out->store;

	out->lasting |= stats->findings > 0;
	as_cli_output_quiet(out, rc ? rc : failed, err);
	if (out->chain && !out->json)
		as_report_groups_tell(((struct both *)out->chain)->groups, out->chain);
	/* Findings are reported even if an error of ours follows them. */
	if (stats->findings && out->store && !out->json && !failed)
		as_emit_note(out->chain, "findings are kept in %s/findings", out->folder);
	if (stats->findings && out->store && !out->json && !failed && !rc && out->reports)
		as_cli_page_say(out->reports, out->folder, out->chain);
	if (!rc || stats->workloads)
		as_emit_done(out->chain, stats);
	rc = rc ? rc : failed;
	failed = as_cli_forms_close(out->forms, rc ? NULL : err);
	rc = rc ? rc : failed;
	as_store_sink_free(out->store);
	as_cli_talk_free(out->talk, out->json);
	if (out->chain) {
		as_report_groups_free(((struct both *)out->chain)->groups);
		free(((struct both *)out->chain)->repro);
	}
	free(out->chain);
	if (out->reports && out->lasting && kept && rc >= 0)
		as_cli_page_write(out->reports, out->folder, NULL);
	return rc ? rc : stats->findings ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
}

/* ---- From a sandbox -------------------------------------------------------------------------- */

int as_cli_share_open(struct as_cli_output *out, struct as_cli_share *share, struct as_err *err)
{
	*share = (struct as_cli_share){ .out = out, .dir = AS_DIR_NONE };
	if (!out->store)
		return 0;
	return as_dir_temp(as_store_sink_folder(out->store), AS_RUN_PART, &share->name, &share->dir,
			   err);
}

void as_cli_share_close(struct as_cli_share *share)
{
	if (share->dir.fd >= 0)
		as_dir_remove(as_store_sink_folder(share->out->store), as_buf_str(&share->name));
	as_dir_close(&share->dir);
	as_buf_free(&share->name);
}
