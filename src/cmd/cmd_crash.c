/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_crash: workloads on a target whose power fails at every point that matters. */
#include "base/json.h"
#include "base/show.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/output.h"
#include "cli/pages.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "cli/scenarios.h"
#include "cli/start.h"
#include "cli/trust.h"
#include "cmd/crash_words.h"
#include "crash/crash.h"
#include "crew/crew.h"
#include "os/spawn.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_MAX 256

static int read_prune(const char *text, unsigned *prune, struct as_err *err)
{
	static const struct {
		const char *name;
		unsigned rules;
	} rows[] = { { "all", AS_PRUNE_ALL },	    { "none", 0 },
		     { "unread", AS_PRUNE_UNREAD }, { "same", AS_PRUNE_SAME },
		     { "own", AS_PRUNE_OWN },	    { "twin", AS_PRUNE_TWIN },
		     { "proved", AS_PRUNE_PROVED }, { "verify", AS_PRUNE_ALL | AS_PRUNE_VERIFY } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(text, rows[i].name)) {
			*prune = rows[i].rules;
			return 0;
		}
	return as_fail(
		err, AS_EUSE,
		"--again-prune %s: expected proved, all, none, unread, same, own, twin or verify",
		text);
}

static void join_faults(const struct as_args *args, struct as_buf *faults)
{
	for (size_t i = 0; i < args->n_given; i++)
		if (!strcmp(args->given[i].opt->name, "fault"))
			as_buf_addf(faults, "%s%s", faults->len ? " " : "", args->given[i].value);
}

/* Where errors are tried: while the workload runs, or during recovery. */
static void read_faults(const char *where, struct as_crash_options *o)
{
	o->faults = strcmp(where, "") && strcmp(where, "record") ? AS_CRASH_FAIL_READ : 0;
	o->record = strcmp(where, "") && strcmp(where, "disk") ? AS_RECORD_SWEEP : AS_RECORD_SOUND;
}

static int read_options(const struct as_args *args, struct as_run_options *run,
			struct as_crash_options *o, struct as_err *err)
{
	const char *memo = as_args_text(args, "memo", "on"), *ways;
	int rc;

	*o = as_crash_options_default();
	o->perm.t = (unsigned)as_args_number(args, "t", o->perm.t);
	o->perm.trials = (unsigned)as_args_number(args, "trials", o->perm.trials);
	if (as_args_has(args, "sector"))
		o->perm.sector_bytes =
			!strcmp(as_args_text(args, "sector", ""), "512") ? 512 : 4096;
	read_faults(as_args_text(args, "faults", ""), o);
	o->perm.lying_flush = as_args_has(args, "lying-flush");
	o->hold = (unsigned)as_args_number(args, "hold", 0);
	o->early = as_args_number(args, "early", 0);
	o->again = (unsigned)as_args_number(args, "again", o->again);
	o->budget = as_args_number(args, "budget", o->budget);
	o->rounds = (unsigned)as_args_number(args, "rounds", o->rounds);
	o->memo = !strcmp(memo, "off")	    ? AS_MEMO_OFF
		  : !strcmp(memo, "verify") ? AS_MEMO_VERIFY
					    : AS_MEMO_ON;
	rc = as_cli_run_options(args, run, err);
	if (!rc)
		rc = as_views_parse(as_args_text(args, "view", "all"), &o->views, err);
	ways = as_args_text(args, "recover", NULL);
	if (!rc && ways)
		rc = as_ways_parse(ways, &o->ways, err);
	if (!rc)
		rc = read_prune(as_args_text(args, "again-prune", "all"), &o->prune, err);
	if (!rc)
		rc = as_cli_race(args, &o->race, err);
	if (!rc && run->faults && o->record)
		rc = as_fail(err, AS_EUSE, "--fault and --faults %s exclude each other",
			     as_args_text(args, "faults", ""));
	return rc;
}

/* ---- Running --------------------------------------------------------------------------------- */

struct crash_session {
	const struct as_args *args;
	struct as_run_options run;
	struct as_crash_options options;
	struct as_target *target;
	struct as_crasher *crasher;
	const struct as_cli_job *current; /* whose target is loaded */
	struct as_cli_output out;
	struct as_run_result stats;
	struct as_crash_counts counts;
};

/* ---- What is shown meanwhile ---- */

/* Also called in the process that judges. */
static void show_grown(void *live, const struct as_crash_counts *a, const struct as_crash_counts *b)
{
	as_live_add(live, AS_COUNT_crash_states, b->generated - a->generated);
	as_live_add(live, AS_COUNT_crash_distinct, b->distinct - a->distinct);
	as_live_add(live, AS_COUNT_recoveries,
		    b->checked + b->again_checked - a->checked - a->again_checked);
	as_live_add(live, AS_COUNT_memoised,
		    b->memoised + b->again_memoised - a->memoised - a->again_memoised);
	as_live_add(live, AS_COUNT_during_recovery, b->again - a->again);
}

static void show_workload(const struct crash_session *s, const struct as_run_result *r)
{
	as_live_add(s->out.live, AS_COUNT_workloads, 1);
	as_live_add(s->out.live, AS_COUNT_ops, r->ops);
	as_live_add(s->out.live, AS_COUNT_findings, r->findings);
	/* Several processes may work on them. */
	as_live_add_done(s->out.live, 1);
}

static uint64_t budget_of(const struct crash_session *s, const struct as_target *target)
{
	return s->options.budget != AS_BUDGET_UNSAID ? s->options.budget
						     : as_crash_budget(target, false);
}

static int get_ready(struct crash_session *s, const struct as_cli_job *job, struct as_err *err)
{
	struct as_crash_options options = s->options;
	int rc;

	if (s->current && as_cli_job_alike(s->current, job))
		return 0;
	as_crasher_free(s->crasher);
	as_cli_wear_say(s->target, false, s->out.json, s->out.chain);
	as_target_free(s->target);
	s->crasher = NULL;
	s->target = NULL;
	s->current = NULL;
	rc = as_target_open(as_buf_str(&job->spec), &s->target, err);
	if (rc)
		return rc;
	s->run.size_bytes = job->size_bytes;
	options.budget = budget_of(s, s->target);
	options.seen = show_grown;
	options.seen_ctx = s->out.live;
	rc = as_crasher_new(s->target, &s->run, &options, s->out.chain, &s->crasher, err);
	if (!rc)
		s->current = job;
	return rc;
}

/* What the budget left out. */
static void say_share(const struct crash_session *s, const struct as_crash_counts *c)
{
	unsigned long long looked = c->generated + c->again;
	unsigned long long possible = c->possible + c->again_possible;

	if (looked < possible && !s->out.json)
		as_emit_note(
			s->out.chain,
			"looked at %llu of %llu states (%.3g %%), %llu of %llu before and %llu "
			"of %llu during recovery; --budget 0 for all",
			looked, possible, 100.0 * (double)looked / (double)possible,
			(unsigned long long)c->generated, (unsigned long long)c->possible,
			(unsigned long long)c->again, (unsigned long long)c->again_possible);
}

static void say_workload(const struct crash_session *s, const char *name, const char *spec,
			 const struct as_run_result *r, const struct as_crash_counts *c)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	if (s->out.json) {
		as_json_object(&j);
		as_json_kstr(&j, "event", "workload");
		as_json_kstr(&j, "name", name);
		as_json_kstr(&j, "target", spec);
		as_json_kuint(&j, "ops", r->ops);
		as_json_kuint(&j, "findings", r->findings);
		as_json_kuint(&j, "again", r->again);
		as_crash_words_json(&j, c);
		as_json_kint(&j, "wall_us", r->wall_us);
		as_json_end(&j);
		printf("%s\n", as_buf_str(&line));
		fflush(stdout);
	} else {
		as_buf_addf(&line, "%s  %s  %s  %llu operation%s, ",
			    r->findings ? "FOUND"
			    : r->again	? "again"
					: "ok   ",
			    name, spec, (unsigned long long)r->ops, as_plural(r->ops));
		as_crash_words(&line, c);
		as_buf_addf(&line, ", %.1f ms", (double)r->wall_us / 1e3);
		as_emit_note(s->out.chain, "%s", as_buf_str(&line));
		say_share(s, c);
	}
	as_buf_free(&line);
}

static void say_all(const struct crash_session *s)
{
	struct as_buf line = { 0 };

	if (s->out.json || s->stats.workloads < 2)
		return;
	as_buf_adds(&line, "in all ");
	as_crash_words(&line, &s->counts);
	as_emit_note(s->out.chain, "%s", as_buf_str(&line));
	say_share(s, &s->counts);
	as_buf_free(&line);
}

static int crash_one(struct crash_session *s, const struct as_cli_job *job, struct as_err *err)
{
	struct as_crash_counts counts = { 0 };
	struct as_run_result result = { 0 };
	int rc = get_ready(s, job, err);

	if (!rc)
		rc = as_crash_workload(s->crasher, job->seq, job->name, &result, &counts, err);
	if (rc)
		return rc;
	show_workload(s, &result);
	say_workload(s, job->name, as_buf_str(&job->spec), &result, &counts);
	as_crash_counts_add(&s->counts, &counts);
	s->stats.workloads++;
	s->stats.ops += result.ops;
	s->stats.findings += result.findings;
	s->stats.looked += result.looked;
	s->stats.possible += result.possible;
	return 0;
}

struct crash_talk {
	struct crash_session *s;
	const char *spec;
};

static void boxed_workload(void *ctx, const char *name, const struct as_run_result *result)
{
	struct crash_talk *talk = ctx;
	struct as_crash_counts counts;

	memcpy(&counts, result->counts, sizeof(counts));
	show_workload(talk->s, result);
	show_grown(talk->s->out.live, &(struct as_crash_counts){ 0 }, &counts);
	say_workload(talk->s, name, talk->spec, result, &counts);
	as_crash_counts_add(&talk->s->counts, &counts);
}

/* The box has a disk of the size that crash runs use. */
static int box_size(const struct crash_session *s, const char *spec, uint64_t *size_bytes,
		    uint64_t *budget, struct as_err *err)
{
	struct as_target *target = NULL;
	int rc = as_target_open(spec, &target, err);

	if (!rc && !*size_bytes)
		*size_bytes = as_target_small_bytes(target);
	if (!rc)
		*budget = budget_of(s, target);
	as_target_free(target);
	return rc;
}

/* Those from *first on that have the same target, in one box, one after the other. */
static int crash_boxed(struct crash_session *s, const struct as_cli_jobs *all, size_t *first,
		       struct as_err *err)
{
	const struct as_cli_job *job = &all->jobs[*first];
	struct crash_talk talk = { s, as_buf_str(&job->spec) };
	struct as_work work = as_cli_jobs_work(all, *first);
	uint64_t size_bytes = job->size_bytes;
	struct as_buf params = { 0 };
	struct as_cli_box box;
	struct as_crash_options options = s->options;
	int rc = box_size(s, talk.spec, &size_bytes, &options.budget, err);

	*first += work.n;
	if (!rc)
		rc = as_cli_box_open(s->args, talk.spec, size_bytes, &box, err);
	if (!rc) {
		as_crash_options_print(&options, &params);
		box.boxed.options = s->run;
		box.boxed.options.size_bytes = size_bytes;
		snprintf(box.boxed.options.scenario, sizeof(box.boxed.options.scenario), "crash:%s",
			 as_buf_str(&params));
		box.boxed.out = s->out.store ? s->out.folder : NULL;
		box.boxed.notes = s->out.chain;
		box.boxed.findings = s->out.chain;
		box.boxed.workload = boxed_workload;
		box.boxed.ctx = &talk;
		rc = as_boxed_run(&box.boxed, &work, &s->stats, err);
		as_cli_box_close(&box);
	}
	as_buf_free(&params);
	as_cli_work_free(&work);
	return rc;
}

/* Each `every`th from `first` on. */
static int crash_some(struct crash_session *s, const struct as_cli_jobs *all, size_t first,
		      size_t every, struct as_err *err)
{
	struct as_cli_jobs mine = { .jobs = as_xcalloc(all->n, sizeof(*mine.jobs)) };
	int rc = 0;

	for (size_t i = first; i < all->n; i += every)
		mine.jobs[mine.n++] = all->jobs[i];
	for (size_t i = 0; i < mine.n && !rc && !as_cli_unheard();) {
		as_cli_show_where(s->out.live, s->args, as_buf_str(&mine.jobs[i].spec), every);
		as_live_phase(s->out.live, mine.jobs[i].name);
		rc = as_cli_wants_box(s->args, as_buf_str(&mine.jobs[i].spec))
			     ? crash_boxed(s, &mine, &i, err)
			     : crash_one(s, &mine.jobs[i++], err);
		if (!rc)
			rc = as_cli_output_failed(&s->out, err);
		fflush(stdout);
	}
	as_crasher_free(s->crasher);
	as_cli_wear_say(s->target, false, s->out.json, s->out.chain);
	as_target_free(s->target);
	free(mine.jobs);
	return rc;
}

/* ---- Several at a time ----------------------------------------------------------------------- */

/* What a process that does a part of the workloads has to know, and what it says at its end. */
struct share {
	struct crash_session *s;
	const struct as_cli_jobs *all;
	size_t n;
};

struct part {
	struct as_run_result stats;
	struct as_crash_counts counts;
};

/* Whole workloads are written at once, so that lines of two processes do not mix. */
#define OUT_BYTES ((size_t)1 << 20)

/* What was done before an error counts. */
static int do_part(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct share *share = ctx;
	struct part part = { 0 };
	int rc, said;

	setvbuf(stdout, NULL, _IOFBF, OUT_BYTES);
	rc = crash_some(share->s, share->all, as_mate_seat(mate), share->n, err);
	part.stats = share->s->stats;
	part.counts = share->s->counts;
	fflush(stdout);
	said = as_mate_say(mate, &part, sizeof(part));
	return rc ? rc : said;
}

static void add_part(struct crash_session *s, const struct part *part)
{
	as_crash_counts_add(&s->counts, &part->counts);
	s->stats.workloads += part->stats.workloads;
	s->stats.ops += part->stats.ops;
	s->stats.findings += part->stats.findings;
	s->stats.skipped += part->stats.skipped;
	s->stats.looked += part->stats.looked;
	s->stats.possible += part->stats.possible;
}

/* Waits for the part and adds it. */
static int take_part(struct crash_session *s, struct as_crew *crew, unsigned i, struct as_err *err)
{
	struct part part;
	const char *data;
	size_t len;

	while (!as_crew_is_over(crew, i)) {
		data = as_crew_next(crew, i, &len);
		if (data && len == sizeof(part)) {
			memcpy(&part, data, sizeof(part));
			add_part(s, &part);
		} else if (!data) {
			as_crew_wait(crew, -1);
		}
	}
	return as_crew_ended(crew, i, err);
}

static int crash_many(struct crash_session *s, const struct as_cli_jobs *all, size_t n,
		      struct as_err *err)
{
	static const struct as_crew_plan plan = { .who = "a process that was to crash workloads" };
	struct as_crew *crew = as_crew_new(&plan, (unsigned)n);
	struct share share = { s, all, n };
	unsigned started = 0;
	int rc = 0, one;

	fflush(stdout);
	for (; started < n && !rc; started += !rc)
		rc = as_crew_start(crew, started, do_part, &share, err);
	for (unsigned i = 0; i < started; i++) {
		one = take_part(s, crew, i, rc ? NULL : err);
		rc = rc ? rc : one;
	}
	as_crew_free(crew);
	return rc;
}

static int crash_all(const struct as_args *args, const struct as_cli_jobs *all, struct as_err *err)
{
	struct crash_session s = { .args = args };
	int64_t start_us = as_now_us();
	size_t n = (size_t)as_args_number(args, "jobs", 1);
	struct as_buf faults = { 0 };
	int rc;

	join_faults(args, &faults);
	s.run.faults = faults.len ? as_buf_str(&faults) : NULL;
	rc = read_options(args, &s.run, &s.options, err);
	if (!rc)
		rc = as_cli_output_open(args, &s.out, err);
	if (rc) {
		as_buf_free(&faults);
		return rc;
	}
	n = n < all->n ? n : all->n;
	s.out.reports = args;
	as_live_goal(s.out.live, 0, all->n);
	rc = n > 1 ? crash_many(&s, all, n, err) : crash_some(&s, all, 0, 1, err);
	s.stats.wall_us = as_now_us() - start_us;
	say_all(&s);
	as_buf_free(&faults);
	rc = as_cli_output_close(&s.out, &s.stats, rc, err);
	/* An exit status of 0 would mean that something was tried. */
	return rc || s.counts.generated
		       ? rc
		       : as_fail(err, AS_EUSE,
				 "nothing was tried: no workload has a moment at which a power "
				 "cut could change anything");
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct as_cli_jobs all = { 0 };
	int rc = as_cli_jobs_read(args, NULL, &all, err);

	if (!rc)
		rc = crash_all(args, &all, err);
	as_cli_jobs_free(&all);
	return rc;
}

static const struct as_opt opts[] = {
	AS_CLI_FILES_TARGET_OPT,
	AS_CLI_TRUST_OPT,
	{ .name = "view",
	  .kind = AS_OPT_TEXT,
	  .arg = "VIEWS",
	  .help = "how the disk may lose writes, from mild to severe: 1 the last ones, 2 the last "
		  "ones and the end of one more, 3 any of them, 4 the last ones and any sectors of "
		  "one more, 5 any sectors of any of them; several with commas; default: all" },
	{ .name = "t",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = AS_PERM_T_MAX,
	  .help = "try every subset of the pending writes if they are N or fewer; default 5" },
	{ .name = "trials",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = AS_PERM_TRIALS_MAX,
	  .help = "how many random subsets to try when there are more, besides the systematic "
		  "ones; default 7" },
	{ .name = "recover",
	  .kind = AS_OPT_TEXT,
	  .arg = "WAYS",
	  .help = "how each crash state is recovered: mount, quick, fsck, full; several with "
		  "commas; default: mount,full" },
	AS_CLI_AGAIN_OPT,
	{ .name = "again-prune",
	  .kind = AS_OPT_TEXT,
	  .arg = "RULES",
	  .help = "the rules by which a power cut during recovery is skipped: none, unread, same, "
		  "own, twin, proved (the first three) or all of them; verify: try the skipped "
		  "ones and report where they make a difference; default: all" },
	AS_CLI_ROUNDS_OPT("default 1"),
	AS_CLI_BUDGET_OPT("workload", "default: 4096 for file systems of the kernel, else 0"),
	{ .name = "memo",
	  .kind = AS_OPT_CHOICE,
	  .choices = "on|off|verify",
	  .help = "reuse the result of a recovery for disks that are the same wherever recovery "
		  "reads; verify: also recover a sample of them and compare; default on" },
	AS_CLI_MATRIX_OPT,
	AS_CLI_WEAR_OPT,
	{ .name = "faults",
	  .kind = AS_OPT_CHOICE,
	  .choices = "disk|record|all",
	  .help = "disk: also recover with a read that fails, once for each read: recovery must "
		  "not crash, hang, or lose something silently; record: also run the workload "
		  "with a write, flush, read or allocation that fails, once for each of them: "
		  "what an operation that answered success has promised must still hold; all: "
		  "both" },
	{ .name = "fault",
	  .kind = AS_OPT_TEXT,
	  .arg = "RULE",
	  .many = true,
	  .help = "make a call fail while the workload runs: read:3:eio, write:2+:eio, "
		  "flush:1:eio, alloc:7" },
	{ .name = "sector",
	  .kind = AS_OPT_CHOICE,
	  .choices = "512|4096",
	  .help = "how many bytes the disk writes atomically; default 4096 for file systems of "
		  "the kernel, else 512" },
	{ .name = "race",
	  .help = "run each workload in several threads, with random delays; what some order of "
		  "the calls allows is right" },
	AS_CLI_RACE_OPTS,
	{ .name = "lying-flush",
	  .help = "use a disk whose flush does nothing; shows which promises depend on flushes" },
	AS_CLI_QUEUE_OPTS,
	AS_CLI_JOBS_OPT(JOBS_MAX,
			"how many workloads to crash at the same time, each in its own processes"),
	AS_CLI_RUN_OPT(size_bytes),
	AS_CLI_DEADLINE_OPT("how long one operation or one recovery may take before it is a hang"),
	AS_CLI_RUN_OPT(seed),
	AS_CLI_RUN_OPT(choices),
	AS_CLI_BOX_OPTS,
	AS_CLI_OUTPUT_OPTS,
	AS_CLI_REPORT_OPT,
	{ 0 },
};

const struct as_command as_cmd_crash = {
	.name = "crash",
	.operands = "WORKLOAD...",
	.summary = "cut the power at every point of a workload, recover, and judge the result",
	.text = "Each workload runs once, on a disk that records its writes. Then the power fails "
		"at every point between two writes: a write that was not flushed is on the disk "
		"or not, in every combination that the view allows. Each such crash state is "
		"recovered, by mounting it and by the checkers. The recovered tree must be one "
		"that the file system promised; all ways of recovery must give the same tree, and "
		"so must a recovery that is interrupted by another power cut. A failure is "
		"reported in the mildest view that shows it. WORKLOAD may be - for standard "
		"input; a line `@workload NAME` in it begins another workload.",
	.opts = opts,
	.min_operands = 1,
	.max_operands = -1,
	.run = run,
};
