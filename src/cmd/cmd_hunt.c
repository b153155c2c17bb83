/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_hunt: the hunt from its options, and what people see of it. With --resume the options are
 * those that the hunt was begun with, from its state; profile and feedback are read from the copies
 * in its folder.
 */
#include "base/choice.h"
#include "cli/accepted.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/code.h"
#include "cli/drawn.h"
#include "cli/hunts.h"
#include "cli/live/live.h"
#include "cli/output.h"
#include "cli/own_cov.h"
#include "cli/pages.h"
#include "cli/profiles.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "cli/scenarios.h"
#include "cli/start.h"
#include "cli/stopping.h"
#include "cli/trust.h"
#include "gen/gen.h"
#include "hunt/folders.h"
#include "hunt/hunt.h"
#include "layout/field.h"
#include "os/spawn.h"
#include "target/facts.h"
#include "vfs/traits.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDUCE_DEFAULT_SECONDS 60
#define RACE_BATCH 2
/* Of a library with sets of options, so that a short hunt comes to all of them. */
#define SETS_BATCH 8
/* Files in the folder of the hunt. */
#define PROFILE_COPY "profile"
#define FEEDBACK_COPY "feedback"
#define PROFILE_MAX_BYTES ((size_t)1 << 20)

/* ---- The options ----------------------------------------------------------------------------- */

static void remember(const struct as_args *args, struct as_hunt_state *state)
{
	state->words = as_xcalloc(args->n_given + 1, sizeof(*state->words));
	for (size_t i = 0; i < args->n_given; i++) {
		struct as_buf word = { 0 };

		if (args->given[i].opt->resume == AS_OPT_ANEW)
			continue;
		as_buf_addf(&word, "--%s", args->given[i].opt->name);
		if (args->given[i].value)
			as_buf_addf(&word, "=%s", args->given[i].value);
		state->words[state->n_words++] = word.data;
	}
}

/* Whether the hunt was begun with this option and value. */
static bool was_given(const struct as_args *then, const char *name, const char *value)
{
	const char *was = as_args_text(then, name, NULL);

	return as_args_has(then, name) && (was == value || (was && value && !strcmp(was, value)));
}

/* The options that are given now, and after them those with which the hunt was begun. */
static int recall(const struct as_args *now, const struct as_hunt_state *state,
		  struct as_args *both, struct as_err *err)
{
	struct as_args then;
	int rc = as_args_parse(now->command, (int)state->n_words, state->words, &then, err);

	if (rc)
		return as_fail_in(err, "the state of the hunt");
	*both = *now;
	for (size_t i = 0; i < now->n_given; i++) {
		const char *name = now->given[i].opt->name, *value = now->given[i].value;

		if (now->given[i].opt->resume != AS_OPT_KEPT || was_given(&then, name, value))
			continue;
		if (!strcmp(name, "target"))
			return as_fail(err, AS_EUSE, "--resume: the hunt in %s is on %s, not on %s",
				       as_args_text(now, "out", AS_OUT_DEFAULT), state->target,
				       value);
		return as_fail(err, AS_EUSE,
			       "--resume goes on with the options that the hunt was begun with: "
			       "--%s cannot be changed",
			       name);
	}
	for (size_t i = 0; i < then.n_given && both->n_given < AS_GIVEN_MAX; i++)
		if (!as_args_has(now, then.given[i].opt->name) &&
		    !as_cli_box_replaced(now, then.given[i].opt->name) &&
		    then.given[i].opt->resume != AS_OPT_ANEW)
			both->given[both->n_given++] = then.given[i];
	return 0;
}

/* ---- The session ----------------------------------------------------------------------------- */

struct hunt_session {
	const char *folder;
	struct as_folders folders;
	bool resume, json;
	struct as_hunt hunt;
	struct as_hunt_state state;
	struct as_profile *profile;
	struct as_traits traits;
	struct as_target *target;
	struct as_cli_specs specs;
	struct as_cli_box box;
	bool boxed;
	struct as_cli_drawn drawn;
	struct as_live *live;
	struct as_sink *talk;
	struct as_cli_cov cov;
	struct as_cli_code code;
	int64_t start_us;
};

/* A copy of a file, for a hunt that is resumed. */
static int copy_feedback(const char *from, struct hunt_session *s, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, from, AS_CLI_FEEDBACK_MAX_BYTES, err);

	if (!rc)
		rc = as_dir_write(&s->folders.hunt, FEEDBACK_COPY, &text, err);
	as_buf_free(&text);
	return rc;
}

static int recall_profile(struct hunt_session *s, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_dir_read(&s->folders.hunt, PROFILE_COPY, PROFILE_MAX_BYTES, &text, err);

	if (!rc)
		rc = as_profile_parse(PROFILE_COPY, as_buf_str(&text), text.len, s->profile, err);
	as_buf_free(&text);
	return rc;
}

static int read_profile(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	const char *name = as_args_text(args, "profile", s->hunt.scenario->profile);
	uint64_t length = as_args_number(args, "length", 0);
	int rc;

	s->profile = as_profile_new();
	if (s->resume)
		return recall_profile(s, err);
	rc = as_cli_read_profile(name, s->profile, err);
	if (!rc && length) {
		s->profile->length_max = length;
		s->profile->length_min = (length + 1) / 2;
	}
	if (!rc && as_args_has(args, "seed"))
		s->profile->seed = as_args_number(args, "seed", 0);
	return rc;
}

/* This comes after the profile was copied: feedback is no part of the profile. */
static int read_feedback(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	const char *file = as_args_text(args, "feedback", NULL);
	struct as_buf text = { 0 };
	int rc = 0;

	if (!file)
		return 0;
	if (!s->resume)
		rc = copy_feedback(file, s, err);
	if (!rc)
		rc = as_dir_read(&s->folders.hunt, FEEDBACK_COPY, AS_CLI_FEEDBACK_MAX_BYTES, &text,
				 err);
	if (!rc)
		rc = as_gen_feedback(s->profile, file, as_buf_str(&text), text.len, err);
	as_buf_free(&text);
	return rc;
}

static int read_target(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	const char *spec = s->state.target;
	struct as_gen *gen = NULL;
	struct as_chooser *chooser;
	bool boxed = false;
	int rc = as_cli_specs_box(args, &s->specs, &boxed, err);

	if (!rc)
		rc = as_target_open(spec, &s->target, err);
	if (!rc)
		rc = as_cli_specs_traits(&s->specs, &s->traits, err);
	if (rc)
		return rc;
	if (!s->resume)
		as_cli_fit_hunt(args, s->specs.n, s->target, s->profile);
	/* Data that begins as a block of the journal does has to be told from one (gen/mark.c). */
	if (!s->resume && s->specs.n == 1 && !s->profile->magic)
		s->profile->magic = as_fields_journal(as_target_name(s->target));
	s->boxed = boxed;
	/* In a box, the engine runs as root. */
	if (s->boxed)
		s->traits.features &= ~(uint64_t)AS_FEAT_UNPRIVILEGED;
	/* A profile that allows nothing is refused before anything is made. */
	chooser = as_chooser_seeded(1);
	rc = as_gen_new(s->profile, &s->traits, as_chooser_choice(chooser), &gen, err);
	as_gen_free(gen);
	as_chooser_free(chooser);
	return rc;
}

static void say_left_out(struct hunt_session *s)
{
	struct as_buf list = { 0 };
	unsigned n = as_cli_left_out(s->profile, &s->traits, &list);

	if (n)
		as_emit_note(s->talk, "%u commands left out, as %s cannot do them: %s", n,
			     s->traits.name, as_buf_str(&list));
	as_buf_free(&list);
}

/* A new hunt must not replace one that can be resumed. */
static int begin(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	const char *target = as_args_text(args, "target", NULL);
	struct as_hunt_state old = { 0 };
	struct as_buf scenario = { 0 };
	bool open = false;
	char *begun;
	int rc;

	if (target && as_args_has(args, "diff"))
		return as_fail(err, AS_EUSE, "--diff names the targets: leave out --target");
	rc = as_cli_scenario(args, &scenario, err);
	s->state.scenario = as_xstrdup(as_buf_str(&scenario));
	as_buf_free(&scenario);
	if (!rc && (target || !strncmp(s->state.scenario, "diff:", 5)))
		rc = as_cli_specs(s->state.scenario, target, &s->specs, err);
	if (!rc)
		rc = as_cli_specs_wear(args, &s->specs, err);
	if (rc)
		return rc;
	target = s->specs.n ? s->specs.spec[0] : NULL;
	if (!target)
		return as_fail(err, AS_EUSE,
			       "hunt: --target is needed; `assay targets` lists them");
	if (!as_hunt_state_load(&s->folders.hunt, &old, NULL))
		open = !as_hunt_state_over(&old);
	as_hunt_state_free(&old);
	if (open)
		return as_fail(err, AS_EUSE,
			       "%s holds a hunt that is not over: --resume goes on with it, "
			       "-o names another folder",
			       s->folder);
	begun = s->state.scenario;
	as_hunt_state_init(&s->state, (size_t)as_args_number(args, "jobs", 1));
	s->state.target = as_xstrdup(target);
	s->state.scenario = begun;
	remember(args, &s->state);
	as_cli_typed_hunt(args, &s->specs);
	return 0;
}

static int read_bounds(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	s->hunt.reduce_seconds =
		as_args_has(args, "no-reduce")
			? 0
			: (unsigned)as_args_number(args, "reduce-for", REDUCE_DEFAULT_SECONDS);
	return as_cli_hunt_bounds(args, s->resume, &s->state, err);
}

static int prepare(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	struct as_run_options *o = &s->hunt.run;
	int rc = as_scenario_find(s->state.scenario, &s->hunt.scenario, &s->hunt.params, err);

	/* Each of its workloads is run many times. */
	if (!rc && !strcmp(s->hunt.scenario->name, "race"))
		s->hunt.batch = RACE_BATCH;
	if (!rc)
		rc = read_bounds(args, s, err);
	if (!rc)
		rc = read_profile(args, s, err);
	if (!rc)
		rc = read_target(args, s, err);
	/* Only a profile that was given can name mount options that need trust. */
	for (size_t i = 0; i < s->specs.n && !rc && as_args_has(args, "profile"); i++)
		rc = as_cli_trust_profile(args, s->specs.spec[i], s->profile, err);
	if (!rc && !s->resume) {
		s->state.seed = s->profile->seed;
		rc = as_cli_drawn_begin(args, s->specs.n == 1 ? s->target : NULL, &s->state, err);
	}
	if (!rc && s->state.n_sets > 1 && !s->boxed && !s->hunt.batch &&
	    !s->hunt.scenario->batch_here)
		s->hunt.batch = SETS_BATCH;
	if (!rc)
		rc = as_cli_hunt_options(args, s->hunt.scenario->name, o, err);
	for (size_t i = 0; i < s->specs.n && !rc; i++)
		rc = as_cli_check_kernel(args, s->specs.spec[i], err);
	if (!rc && strcmp(s->state.scenario, "sequential")) {
		if (strlen(s->state.scenario) >= sizeof(o->scenario))
			return as_fail(err, AS_EUSE, "--scenario: too long");
		memcpy(o->scenario, s->state.scenario, strlen(s->state.scenario) + 1);
	}
	if (!rc && !s->resume)
		rc = as_cli_write_profile(s->profile, &s->folders.hunt, PROFILE_COPY, err);
	if (!rc)
		rc = read_feedback(args, s, err);
	if (rc || !s->boxed)
		return rc;
	rc = as_cli_specs_open_box(args, &s->specs, as_cli_box_bytes(s->target, o), &s->box, err);
	s->boxed = !rc;
	return rc;
}

/* ---- What people see ------------------------------------------------------------------------- */

static bool stop(void *ctx)
{
	(void)ctx;
	return as_cli_stopped() || as_cli_unheard();
}

static void progress(void *ctx, const struct as_hunt_state *state, uint64_t ops)
{
	struct hunt_session *s = ctx;
	const struct {
		enum as_counter counter;
		uint64_t n;
	} rows[] = {
		{ AS_COUNT_workloads, state->workloads },
		{ AS_COUNT_ops, ops > state->ops ? ops : state->ops },
		{ AS_COUNT_skipped, state->skipped },
		{ AS_COUNT_failures, state->failures },
		{ AS_COUNT_findings, state->n_signs },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		as_live_set(s->live, rows[i].counter, rows[i].n);
	if (s->code.set)
		as_live_set(s->live, AS_COUNT_covered_blocks, s->code.set->n);
	as_cli_code_keep(&s->code, &s->folders.run.dir);
	if (state->possible)
		as_live_set(s->live, AS_COUNT_crash_states, state->looked);
	as_live_done(s->live, state->workloads);
}

/* What is shown while it runs. */
static void open_live(const struct as_args *args, struct hunt_session *s)
{
	s->live = as_live_open(&(struct as_live_setup){ .command = "hunt",
							.folder = &s->folders.run.dir,
							.json = s->json,
							.quiet = as_args_has(args, "quiet"),
							.before_us = s->state.used_us });
	as_cli_show_where(s->live, args, s->state.target, s->state.n_jobs);
	as_cli_show_scenario(s->live, s->state.scenario);
	as_live_goal(s->live, s->state.for_us, s->state.max_workloads);
	as_live_sink(s->live)->next = s->talk;
}

static int open_cov(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	int rc = as_cli_cov_open(args, &s->folders.run.dir, &s->cov, err);

	s->hunt.run.watch = as_cli_cov_watch(&s->cov);
	s->hunt.cov = s->cov.own ? as_buf_str(&s->cov.folder) : NULL;
	return rc;
}

static int open_code(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	as_cli_code_open(args, &s->code, &s->hunt.run);
	s->hunt.code = s->code.set;
	s->hunt.no_breed = as_args_has(args, "no-breed");
	return s->resume ? as_cli_code_recall(&s->code, &s->folders.run.dir, err) : 0;
}

static int open_set(void *ctx, size_t set, struct as_hunt *on, struct as_err *err)
{
	return as_cli_drawn_open(&((struct hunt_session *)ctx)->drawn, set, on, err);
}

static int hunt(const struct as_args *args, struct hunt_session *s, struct as_err *err)
{
	const struct as_target *targets[] = { s->target };

	as_cli_stop_catch();
	s->drawn = (struct as_cli_drawn){
		.args = args, .state = &s->state, .boxed = s->boxed, .run = &s->hunt.run
	};
	as_cli_drawn_keep(&s->drawn);
	s->hunt.open_set = open_set;
	s->hunt.targets = targets;
	s->hunt.n_targets = 1;
	s->hunt.cheap_sets = as_target_traits(s->target).source == AS_TRAITS_CAPS;
	/* Power cuts are tried on small disks anyway. */
	if (!s->hunt.run.size_bytes && !strcmp(s->hunt.scenario->name, "sequential"))
		s->hunt.small_bytes = as_target_full_bytes(s->target);
	s->hunt.profile = s->profile;
	s->hunt.traits = &s->traits;
	s->hunt.box = s->boxed ? &s->box.boxed : NULL;
	s->hunt.folders = &s->folders;
	s->hunt.store = &as_cli_hunt_store;
	s->hunt.sinks = as_live_sink(s->live);
	s->hunt.stop = stop;
	s->hunt.progress = progress;
	s->hunt.ctx = s;
	s->hunt.start_us = s->start_us;
	return as_hunt(&s->hunt, &s->state, err);
}

static int run(const struct as_args *given, struct as_err *err)
{
	struct hunt_session s = { .folder = as_args_text(given, "out", AS_OUT_DEFAULT),
				  .resume = as_args_has(given, "resume"),
				  .json = as_args_has(given, "json"),
				  .start_us = as_now_us() };
	struct as_args args = *given;
	bool fails;
	int rc;

	s.talk = as_cli_talk_new(given, as_args_has(given, "quiet"));
	rc = as_folders_open(s.folder, !s.resume, &s.folders, err);
	if (!rc && s.resume)
		rc = as_hunt_state_load(&s.folders.hunt, &s.state, err);
	if (!rc)
		rc = s.resume ? recall(given, &s.state, &args, err) : begin(given, &s, err);
	if (!rc && s.resume)
		rc = as_cli_specs(s.state.scenario, s.state.target, &s.specs, err);
	if (!rc && s.resume)
		rc = as_cli_trust_hunt(given, &args, s.folder, s.state.target, &s.specs, err);
	if (!rc)
		rc = prepare(&args, &s, err);
	if (!rc)
		rc = open_cov(given, &s, err);
	if (!rc)
		rc = open_code(&args, &s, err);
	if (!rc) {
		say_left_out(&s);
		open_live(given, &s);
		rc = hunt(&args, &s, err);
		as_live_close(s.live, true, rc, err);
		as_cli_drawn_used(&s.drawn, s.target, s.json, s.talk);
		rc = as_cli_code_close(&s.code, &s.folders.run.dir, s.talk, s.json, rc, err);
		as_cli_hunt_summary(
			&s.state, s.folder, s.json,
			(as_cli_stopped() || rc) && as_hunt_state_exists(&s.folders.hunt), s.talk);
		if (!rc && s.live && s.state.n_signs && !s.json)
			as_cli_page_say(given, s.folder, s.talk);
		if (!rc && !s.state.workloads && !as_cli_stopped())
			rc = as_cli_hunt_nothing(&s.state, err);
		if (!rc && !(rc = as_cli_accepted(given, &s.state, s.talk, &fails, err)))
			rc = fails ? AS_EXIT_FOUND : AS_EXIT_CLEAN;
	}
	if (s.boxed)
		as_cli_box_close(&s.box);
	rc = as_cli_cov_close(&s.cov, rc, err);
	as_folders_close(&s.folders);
	/* After an error, `assay report` can still make one. */
	if (s.live && rc >= 0)
		as_cli_page_write(given, s.folder, as_args_text(given, "cov", NULL));
	as_cli_drawn_free(&s.drawn);
	as_target_free(s.target);
	as_cli_specs_free(&s.specs);
	free(s.profile);
	as_hunt_state_free(&s.state);
	as_cli_talk_free(s.talk, s.json);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "what to test; `assay targets` lists them" },
	{ .name = "for",
	  .resume = AS_OPT_ANEW,
	  .kind = AS_OPT_TEXT,
	  .arg = "TIME",
	  .help = "how long to hunt, such as 90s, 10m, 1h (with --resume: how much longer); "
		  "default " AS_CLI_HUNT_FOR "; with --known, --fail-on or --junit: 200 workloads "
		  "in at most " AS_CLI_HUNT_FOR_CI },
	{ .name = "max-workloads",
	  .resume = AS_OPT_ANEW,
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "end after N workloads of all jobs together, instead of after a time; the "
		  "findings then depend only on the seed and --jobs" },
	AS_CLI_MAX_FINDINGS_OPT,
	AS_CLI_SCENARIO_OPTS,
	{ .name = "crash",
	  .help = "cut the power at every point of each workload; the same as --scenario crash" },
	AS_CLI_HUNT_CRASH_OPTS,
	AS_CLI_HUNT_FAULTS_OPT,
	AS_CLI_PROFILE_OPT("generate workloads with this profile (docs/PROFILE.md); default: that "
			   "of the scenario"),
	{ .name = "length",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = 100000,
	  .help = "give each workload N/2 to N core commands; default: as the profile says" },
	AS_CLI_FEEDBACK_OPT,
	AS_CLI_SEED_OPT,
	AS_CLI_RUN_OPT(choices),
	AS_CLI_JOBS_OPT(AS_HUNT_JOBS_MAX,
			"hunt in N processes at once, each with workloads of its own"),
	{ .name = "no-reduce", .resume = AS_OPT_FREE, .help = "do not reduce findings" },
	{ .name = "resume",
	  .resume = AS_OPT_ANEW,
	  .help = "continue the hunt in the folder, however it was stopped" },
	{ .name = "reduce-for",
	  .resume = AS_OPT_FREE,
	  .kind = AS_OPT_NUMBER,
	  .arg = "SECONDS",
	  .min = 1,
	  .max = 1000000,
	  .help = "how long to reduce each kind of finding; default 60" },
	AS_CLI_NO_BREED_OPT,
	{ .name = "no-draw",
	  .help = "always make and mount the target in the same way; default: a type named without "
		  "options also gets drawn options of mkfs (`assay targets --mkfs`) and mount" },
	AS_CLI_DRAWN_OPT,
	AS_CLI_RUN_OPT(size_bytes),
	AS_CLI_DEADLINE_OPT("how long one operation may take before it is a hang"),
	AS_CLI_BOUND_OPTS,
	AS_CLI_COV_OPT,
	AS_CLI_RUN_OPT(kcov),
	AS_CLI_TRUST_OPT,
	AS_CLI_BOX_OPTS,
	{ .name = "out",
	  .resume = AS_OPT_ANEW,
	  .letter = 'o',
	  .kind = AS_OPT_TEXT,
	  .arg = "DIR",
	  .help = "keep the hunt and its findings in this folder; default " AS_OUT_DEFAULT },
	AS_CLI_ACCEPTED_OPTS,
	{ .name = "json", .resume = AS_OPT_ANEW, .help = "print everything as JSON lines" },
	AS_CLI_QUIET_OPT,
	AS_CLI_REPORT_OPT,
	{ 0 },
};

const struct as_command as_cmd_hunt = {
	.name = "hunt",
	.operands = "",
	.summary = "generate workloads, run and judge them, and reduce findings, for a given time",
	.text = "Generated workloads run on the target, each on a fresh file system, with every "
		"check on: each answer against the model, the tree at the end, the kernel's log, "
		"the unmount, the full checker, and the tree after a second mount. Findings with "
		"the same signature are of one kind: the first is kept in DIR/findings and "
		"reduced, all are counted, and the hunt continues. At the end kinds of one likely "
		"cause are listed as one group. It ends within a second or two when its time is "
		"used up, or at SIGINT, SIGTERM or SIGHUP. --resume continues a hunt, also one "
		"that was killed, and reduces findings that are not reduced yet. A type of the "
		"kernel that is named without options, such as ext4, is made and mounted in "
		"several ways in turns, as the seed draws them; a finding names the way it was "
		"found on, such as ext4:mkfs=4k+inline_data,data=journal. The same seed, --jobs "
		"and --max-workloads give the same findings.",
	.opts = opts,
	.max_operands = 0,
	.run = run,
};
