/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored: see stored.h. */
#include "cli/stored.h"

#include "base/show.h"
#include "cli/output.h"
#include "cli/repro.h"
#include "cli/scenarios.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "dossier/dossier.h"
#include "os/rundir.h"
#include "os/spawn.h"
#include "symptom/still.h"
#include "work/parse.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int as_cli_stored_find(const struct as_args *args, struct as_dir *folder, struct as_err *err)
{
	const char *what = args->operands[0], *out = as_args_text(args, "out", AS_OUT_DEFAULT);
	struct as_dir run = AS_DIR_NONE, findings = AS_DIR_NONE;
	struct stat st;
	int rc;

	*folder = AS_DIR_NONE;
	if (strchr(what, '/') || !stat(what, &st)) {
		if (stat(what, &st) || !S_ISDIR(st.st_mode))
			return as_fail(err, AS_EUSE, "%s: not the folder of a finding", what);
		return as_dir_open(what, NULL, folder, err);
	}
	rc = as_dir_open(out, NULL, &run, err);
	if (!rc)
		rc = as_dir_below(&run, AS_RUN_FINDINGS, false, &findings, err);
	if (rc || !as_dir_is_plain(what) || !as_dir_has(&findings, what))
		rc = as_fail(err, AS_EUSE, "no finding %s in %s/findings: -o names another folder",
			     what, out);
	else
		rc = as_dir_below(&findings, what, false, folder, err);
	as_dir_close(&findings);
	as_dir_close(&run);
	return rc;
}

/* Whether the id was made of this workload, though it holds no operation. */
static bool is_of_id(const struct as_stored *stored, const char *text)
{
	struct as_finding f = stored->finding;
	char id[AS_FINDING_ID_MAX];
	const char *hash = strrchr(stored->finding.id, '-');

	if (!hash)
		return false;
	f.workload = text;
	as_finding_id(&f, "", id);
	return !strcmp(strrchr(id, '-'), hash);
}

int as_cli_stored_parse(const struct as_stored *stored, const char *name, const char *text,
			struct as_seq **seq, struct as_err *err)
{
	int rc = as_parse_text(name, text, strlen(text), seq, err);

	if (!rc && !(*seq)->n && !is_of_id(stored, text)) {
		as_seq_free(*seq);
		*seq = NULL;
		rc = as_fail(err, AS_EUSE, "%s: %s holds no operations", stored->finding.id, name);
	}
	return rc;
}

int as_cli_stored_keep(const struct as_dir *folder, const struct as_seq *best,
		       const struct as_reduced *result, const struct as_seen *seen, double seconds,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_dossier_reduction r = {
		.ops_before = result->ops_before,
		.ops_after = result->ops_after,
		.executions = result->executions,
		.runs = result->runs,
		.failed = result->failed,
		.flaky = result->flaky,
		.complete = result->complete,
		.seconds = seconds,
		.summary = seen->summary,
		.detail = seen->detail,
		.log = seen->log,
		.op_index = seen->op_index,
	};
	const struct as_dossier_news news = { .event = AS_DOSSIER_REDUCED, .reduction = &r };
	int rc;

	as_print_seq(best, &text);
	r.workload = as_buf_str(&text);
	rc = as_dossier_write(folder, &news, err);
	as_buf_free(&text);
	return rc;
}

static int open_box(const struct as_args *args, const struct as_cli_specs *specs,
		    struct as_sink *sinks, struct as_cli_again *again, struct as_err *err)
{
	int rc = as_cli_specs_open_box(args, specs, again->options.size_bytes, &again->box, err);

	if (rc)
		return rc;
	again->boxed = true;
	again->box.boxed.target = again->spec;
	again->box.boxed.options = again->options;
	again->box.boxed.notes = sinks;
	again->box.boxed.findings = sinks;
	return 0;
}

static int open_here(struct as_sink *sinks, struct as_trail *trail, struct as_cli_again *again,
		     struct as_err *err)
{
	struct as_scenario_args args = { .targets = (const struct as_target *const *)&again->target,
					 .n_targets = 1,
					 .options = &again->options,
					 .sinks = sinks };
	int rc = as_target_open(again->spec, &again->target, err);

	if (rc)
		return rc;
	as_target_set_trail(again->target, trail);
	if (!again->options.scenario[0])
		return as_runner_new(again->target, &again->options, sinks, &again->runner, err);
	rc = as_scenario_find(again->options.scenario, &again->ops, &args.params, err);
	return rc ? rc : again->ops->open(&args, &again->scenario, err);
}

/* A finding may come from somebody else: it names no plugin or command to run without trust. */
static int choose_targets(const struct as_args *args, struct as_cli_again *again,
			  struct as_cli_specs *specs, struct as_err *err)
{
	const struct as_stored *stored = again->stored;
	const char *asked = as_args_text(args, "target", NULL);
	bool compares = !strncmp(again->options.scenario, "diff:", 5);
	int rc;

	if (asked && compares)
		return as_fail(err, AS_EUSE,
			       "%s compares several targets: --target cannot take their place",
			       stored->finding.id);
	again->spec = asked ? asked : stored->finding.target;
	rc = as_cli_specs(again->options.scenario, again->spec, specs, err);
	if (asked)
		as_cli_typed(args, asked);
	else if (!rc)
		rc = as_cli_trust(args, stored->finding.id, stored->finding.target, err);
	for (size_t i = 0; i < specs->n && compares && !rc; i++)
		rc = as_cli_trust(args, stored->finding.id, specs->spec[i], err);
	return rc;
}

static const struct as_opt *option(const struct as_args *args, const char *name)
{
	const struct as_opt *opt;

	for (size_t i = 0; (opt = as_opt_at(args->command->opts, i, NULL)); i++)
		if (!strcmp(opt->name, name))
			return opt;
	return NULL;
}

/* The options with the kernel of the finding, unless another one, or none, is asked for. */
static struct as_args in_its_kernel(const struct as_args *args, const char *name,
				    const struct as_cli_specs *specs)
{
	struct as_args with = *args;
	bool boxed = false;

	for (size_t i = 0; i < specs->n; i++)
		boxed = boxed || as_cli_wants_box(args, specs->spec[i]);
	if (boxed && *name && !as_cli_kernel(args) && !as_args_has(args, "uml") &&
	    with.n_given < AS_GIVEN_MAX) {
		with.given[with.n_given].opt = option(args, "kernel");
		with.given[with.n_given++].value = name;
	}
	return with;
}

static int explain_kernel(const struct as_args *args, const struct as_stored *stored, int rc,
			  struct as_err *err)
{
	char name[AS_KERNEL_NAME_MAX];

	if (rc != AS_ELACK || as_cli_kernel(args) || as_args_has(args, "uml") ||
	    !as_finding_kernel(&stored->finding, name))
		return rc;
	return as_fail_in(err,
			  "%s was found with --kernel %s (another one can be given by --kernel or "
			  "--uml)",
			  stored->finding.id, name);
}

/* As it was found, but with the finding's own copy of the description of its disk. */
static int parse_options(const struct as_stored *stored, struct as_cli_again *again,
			 struct as_err *err)
{
	struct as_run_options *o = &again->options;
	int rc = as_run_options_parse(stored->finding.options, o, &again->faults, err);

	if (!rc && stored->layout && o->layout[0] && strlen(stored->layout) < sizeof(o->layout))
		memcpy(o->layout, stored->layout, strlen(stored->layout) + 1);
	return rc;
}

int as_cli_again_open(const struct as_args *args, const struct as_stored *stored,
		      const struct as_seq *seq, struct as_sink *sinks, struct as_cli_again *again,
		      struct as_err *err)
{
	struct as_cli_specs specs = { .n = 0 };
	char kernel[AS_KERNEL_NAME_MAX];
	struct as_args with;
	bool boxed = false;
	int rc;

	*again = (struct as_cli_again){ .stored = stored };
	rc = parse_options(stored, again, err);
	again->options.near = stored->finding.signature;
	if (!rc)
		rc = choose_targets(args, again, &specs, err);
	for (size_t i = 0; i < specs.n && !rc; i++)
		rc = as_cli_trust_seq(args, stored->finding.id, specs.spec[i], seq, err);
	memcpy(kernel, again->options.kernel, sizeof(kernel));
	with = in_its_kernel(args, kernel, &specs);
	as_cli_where(&with, &again->options);
	if (!rc)
		rc = as_cli_specs_box(&with, &specs, &boxed, err);
	if (!rc)
		rc = boxed ? open_box(&with, &specs, sinks, again, err)
			   : open_here(sinks, NULL, again, err);
	rc = explain_kernel(args, stored, rc, err);
	as_cli_specs_free(&specs);
	if (rc)
		as_cli_again_close(again);
	return rc;
}

int as_cli_again_trail(const struct as_stored *stored, struct as_trail *trail,
		       struct as_sink *sinks, struct as_cli_again *again, struct as_err *err)
{
	int rc;

	*again = (struct as_cli_again){ .stored = stored, .spec = stored->finding.target };
	rc = parse_options(stored, again, err);
	return rc ? rc : open_here(sinks, trail, again, err);
}

int as_cli_again_run(struct as_cli_again *again, const struct as_seq *seq, struct as_err *err)
{
	const char *name = again->stored->finding.workload_name
				   ? again->stored->finding.workload_name
				   : "workload.txt";
	struct as_run_result stats = { 0 };
	struct as_work work = { .seqs = &seq, .names = &name, .n = 1 };
	struct as_run_result result = { 0 };

	if (again->boxed)
		return as_boxed_run(&again->box.boxed, &work, &stats, err);
	if (again->scenario)
		return again->ops->run(again->scenario, &work, &result, err);
	return as_run_workload(again->runner, seq, name, &result, err);
}

/* The user asks for the running kernel, never a file. */
const char *as_cli_again_differs(const struct as_args *args, const struct as_stored *stored)
{
	char name[AS_KERNEL_NAME_MAX];

	if (as_finding_kernel(&stored->finding, name) &&
	    (!strcmp(as_args_text(args, "sandbox", ""), "host") || as_args_has(args, "uml") ||
	     (as_cli_kernel(args) && strcmp(as_cli_kernel(args), name))))
		return ": it was found in another kernel (see `run with` in its README.md)";
	return as_finding_is_on_host(&stored->finding) && !as_args_has(args, "sandbox")
		       ? ": it was found with --sandbox host, and was run in a sandbox now"
		       : "";
}

void as_cli_again_close(struct as_cli_again *again)
{
	if (again->boxed)
		as_cli_box_close(&again->box);
	as_runner_free(again->runner);
	if (again->ops)
		again->ops->close(again->scenario);
	as_target_free(again->target);
	free(again->faults);
	*again = (struct as_cli_again){ 0 };
}

static void ear_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct as_cli_ear *ear = (struct as_cli_ear *)sink;

	ear->heard = true;
	if (ear->same || !as_still_fails(AS_STILL_SYMPTOM, ear->wanted, f->signature))
		return;
	ear->same = true;
	if (ear->seen)
		as_seen_set(ear->seen, f);
}

struct as_cli_ear as_cli_ear_new(void)
{
	return (struct as_cli_ear){ .sink = { .finding = ear_finding } };
}

int as_cli_again_fails(struct as_cli_again *again, struct as_cli_ear *ear, const struct as_seq *seq,
		       struct as_err *err)
{
	int rc;

	ear->same = false;
	rc = as_cli_again_run(again, seq, err);
	return rc ? rc : ear->same;
}

void as_cli_again_look(struct as_cli_again *again, struct as_cli_ear *ear,
		       const struct as_seq *best, const struct as_reduced *result,
		       struct as_seen *seen)
{
	ear->seen = seen;
	for (unsigned i = 0; result->failed && i < result->runs && !seen->summary; i++)
		if (as_cli_again_fails(again, ear, best, NULL) < 0)
			break;
	ear->seen = NULL;
}

/* ---- What a command has found ---------------------------------------------------------------- */

static void found_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct as_cli_found *found = (struct as_cli_found *)sink;

	(void)f;
	if (f->id && found->n < AS_CLI_FOUND_MAX)
		snprintf(found->id[found->n++], AS_FINDING_ID_MAX, "%s", f->id);
}

struct as_cli_found as_cli_found_new(struct as_sink *next)
{
	return (struct as_cli_found){ .sink = { .finding = found_finding, .next = next } };
}

struct found_reduction {
	struct as_cli_again again;
	struct as_cli_ear ear;
	int64_t until_us; /* to look for something shorter */
	int64_t last_us; /* to confirm it */
};

/* A sandbox may take minutes for one run. */
static bool found_late(void *ctx)
{
	const struct found_reduction *r = ctx;

	return as_cli_stopped() || as_now_us() > r->last_us;
}

static int found_fails(void *ctx, const struct as_seq *seq, struct as_err *err)
{
	struct found_reduction *r = ctx;

	return as_cli_again_fails(&r->again, &r->ear, seq, err);
}

static enum as_reduce_stop found_stop(void *ctx)
{
	const struct found_reduction *r = ctx;

	return found_late(ctx)		   ? AS_REDUCE_INTERRUPTED
	       : as_now_us() > r->until_us ? AS_REDUCE_TIME_UP
					   : AS_REDUCE_GO_ON;
}

static int reduce_in_time(struct found_reduction *r, const struct as_reducer *reducer,
			  const struct as_seq *seq, struct as_seq **best, struct as_reduced *result,
			  struct as_err *err)
{
	int rc;

	if (r->again.boxed) {
		r->again.box.boxed.must_stop = found_late;
		r->again.box.boxed.ctx = r;
	}
	rc = as_reduce(seq, reducer, best, result, err);
	/* What is neither shorter nor confirmed is worth nothing. */
	if (*best && !result->runs && result->ops_after == result->ops_before) {
		as_seq_free(*best);
		*best = NULL;
	}
	return rc == AS_ESTOP ? 0 : rc;
}

static int reduce_one(const struct as_args *args, const struct as_dir *folder, int64_t for_us,
		      int64_t until_us, struct as_seq **best, struct as_reduced *result,
		      struct as_err *err)
{
	struct found_reduction r = { .ear = as_cli_ear_new(),
				     .until_us = until_us,
				     .last_us = until_us + for_us };
	struct as_reducer reducer = { .fails = found_fails, .stop = found_stop, .ctx = &r };
	int64_t start_us = as_now_us();
	struct as_stored stored = { 0 };
	struct as_seen seen = { .op_index = -1 };
	struct as_seq *seq = NULL;
	int rc = as_stored_load(folder, &stored, err);

	if (!rc)
		rc = as_cli_stored_parse(&stored, "workload.txt", stored.workload, &seq, err);
	if (!rc && seq->n) {
		r.ear.wanted = stored.finding.signature;
		reducer.op_index = stored.finding.op_index;
		/* This command has run it already. */
		as_cli_typed(args, stored.finding.target);
		rc = as_cli_again_open(args, &stored, seq, &r.ear.sink, &r.again, err);
		if (!rc)
			rc = reduce_in_time(&r, &reducer, seq, best, result, err);
		if (!rc && *best && !found_late(&r))
			as_cli_again_look(&r.again, &r.ear, *best, result, &seen);
		if (!rc && *best)
			rc = as_cli_stored_keep(folder, *best, result, &seen,
						(double)(as_now_us() - start_us) / 1e6, err);
		if (!rc && *best)
			(void)!as_cli_repro(folder, r.again.spec, NULL);
		as_cli_again_close(&r.again);
	}
	as_seq_free(seq);
	as_seen_free(&seen);
	as_stored_free(&stored);
	return rc;
}

static void say_reduced(struct as_sink *notes, const char *id, const struct as_seq *best,
			const struct as_reduced *result)
{
	if (best && result->ops_after < result->ops_before)
		as_emit_note(notes, "%s: reduced from %zu to %zu operation%s%s", id,
			     result->ops_before, result->ops_after, as_plural(result->ops_after),
			     result->complete ? "" : "; the time was up");
}

/* The target of a finding may be a variant of the one that was asked for. */
static struct as_args without_target(const struct as_args *args)
{
	struct as_args with = *args;

	with.n_given = 0;
	for (size_t i = 0; i < args->n_given; i++)
		if (strcmp(args->given[i].opt->name, "target"))
			with.given[with.n_given++] = args->given[i];
	return with;
}

void as_cli_found_reduce(const struct as_cli_found *found, const struct as_args *args,
			 const char *folder, int64_t for_us, struct as_sink *notes)
{
	struct as_args own = without_target(args);
	int64_t until_us = as_now_us() + for_us;

	for (unsigned i = 0; i < found->n; i++) {
		struct as_buf path = { 0 };
		struct as_dir dir = AS_DIR_NONE;
		struct as_seq *best = NULL;
		struct as_reduced result = { 0 };
		struct as_err err = { 0 };
		int rc;

		if (as_cli_stopped() || as_now_us() > until_us) {
			as_emit_note(notes,
				     "%u of %u findings were not reduced for want of time; `assay "
				     "reduce ID` does it",
				     found->n - i, found->n);
			return;
		}
		as_buf_addf(&path, "%s/" AS_RUN_FINDINGS "/%s", folder, found->id[i]);
		rc = as_dir_open(as_buf_str(&path), NULL, &dir, &err);
		if (!rc)
			rc = reduce_one(&own, &dir, for_us, until_us, &best, &result, &err);
		if (rc)
			as_emit_note(notes, "%s: could not be reduced: %s", found->id[i], err.msg);
		else
			say_reduced(notes, found->id[i], best, &result);
		as_seq_free(best);
		as_dir_close(&dir);
		as_buf_free(&path);
	}
}
