/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_check: explores all states of a file system within bounds. */
#include "check/check.h"
#include "check/store.h"
#include "cli/boxes.h"
#include "cli/cli.h"
#include "cli/code.h"
#include "cli/hunts.h"
#include "cli/output.h"
#include "cli/pages.h"
#include "cli/rows.h"
#include "cli/runs.h"
#include "cli/stopping.h"
#include "cli/stored.h"
#include "cli/trust.h"
#include "cmd/check_words.h"
#include "os/rundir.h"
#include "os/spawn.h"
#include "target/variant.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FOLDER "check"
#define STATES "states"
#define NODES 3
#define CRASHES 1
#define FOR_DEFAULT "5m"
#define STATES_DEFAULT (1u << 22)
#define REDUCE_SECONDS 20

struct check_session {
	const struct as_args *args;
	struct as_run_options run;
	struct as_check_options options;
	struct as_target *target;
	struct as_cli_output out;
	struct as_rundir folder;
	struct as_dir below;
	struct as_cli_box box;
	bool boxed; /* the target runs in it */
	struct as_cli_code code;
	struct as_check_words words;
};

/* ---- Options --------------------------------------------------------------------------------- */

static int read_faults(const char *text, unsigned *faults, struct as_err *err)
{
	static const struct {
		const char *name;
		unsigned fault;
	} rows[] = { { "alloc", AS_CHECK_FAIL_ALLOC },
		     { "read", AS_CHECK_FAIL_READ },
		     { "write", AS_CHECK_FAIL_WRITE },
		     { "choice", AS_CHECK_CHOICE },
		     { "all", ~0u } };

	do {
		size_t len = strcspn(text, ","), i = 0;

		while (i < sizeof(rows) / sizeof(rows[0]) &&
		       (strncmp(rows[i].name, text, len) || rows[i].name[len]))
			i++;
		if (i == sizeof(rows) / sizeof(rows[0]))
			return as_fail(err, AS_EUSE,
				       "--faults '%.*s': expected alloc, read, write, choice or "
				       "all",
				       (int)len, text);
		*faults |= rows[i].fault;
		text += len;
	} while (*text++);
	return 0;
}

/* "2/4" */
static int read_shard(const char *text, struct as_check_options *o, struct as_err *err)
{
	char *end = NULL;
	unsigned long k = strtoul(text, &end, 10), n = 0;

	if (isdigit((unsigned char)*text) && *end == '/' && isdigit((unsigned char)end[1]))
		n = strtoul(end + 1, &end, 10);
	if (*end || !k || k > n || n > AS_CHECK_SHARDS_MAX)
		return as_fail(err, AS_EUSE, "--shard %s: expected K/N, such as 1/4, up to %u",
			       text, AS_CHECK_SHARDS_MAX);
	o->shard = (unsigned)k;
	o->shards = (unsigned)n;
	return 0;
}

static enum as_check_hash read_hash(const char *name)
{
	enum as_check_hash hash = AS_CHECK_HASH_DISK;

	while (hash && strcmp(as_check_hash_names[hash], name))
		hash--;
	return hash;
}

static int read_options(struct check_session *s, struct as_err *err)
{
	const struct as_args *args = s->args;
	struct as_check_options *o = &s->options;
	/* Without a limit to its traces it may go on for ever. */
	const char *time =
		as_args_text(args, "for", as_args_number(args, "depth", 0) ? NULL : FOR_DEFAULT);
	int rc = 0;

	*o = (struct as_check_options){
		.nodes = (unsigned)as_args_number(args, "nodes", NODES),
		.slots = (unsigned)as_args_number(args, "slots", 0),
		.ops = as_args_text(args, "ops", NULL),
		.wide = as_args_has(args, "wide"),
		.narrow = as_args_has(args, "narrow"),
		.opts = as_args_text(args, "remount", NULL),
		.start = as_args_text(args, "start", NULL),
		.depth = (unsigned)as_args_number(args, "depth", 0),
		.crash = !as_args_has(args, "no-crash"),
		.hash = read_hash(as_args_text(args, "hash", "model")),
		.max_cuts = (unsigned)as_args_number(args, "crashes", CRASHES),
		.crashes = as_crash_options_default(),
		.jobs = (unsigned)as_args_number(args, "jobs", 1),
		.max_states = (uint32_t)as_args_number(args, "max-states", STATES_DEFAULT),
		.max_frontier = (uint32_t)as_args_number(args, "max-frontier", 0),
		.max_findings = as_args_number(args, "max-findings", 0),
		.max_transitions = as_args_number(args, "max-transitions", 0),
		.max_faults = (unsigned)as_args_number(args, "max-faults", 1),
		.fd = -1,
	};
	/* What is left out without a proof must not count as explored. */
	o->crashes.prune = AS_PRUNE_PROVED;
	o->crashes.budget = as_args_number(args, "budget", AS_BUDGET_UNSAID);
	o->crashes.again = (unsigned)as_args_number(args, "again", o->crashes.again);
	o->crashes.hold = (unsigned)as_args_number(args, "hold", 0);
	o->crashes.early = as_args_number(args, "early", 0);
	s->run.stop = as_cli_stop_catch();
	rc = as_cli_run_options(args, &s->run, err);
	if (!rc)
		rc = as_search_parse(as_args_text(args, "search", "bfs"), &o->search, err);
	if (!rc && time)
		rc = as_cli_read_duration("for", time, &o->for_us, err);
	if (!rc)
		rc = as_views_parse(as_args_text(args, "view", "all"), &o->crashes.views, err);
	if (!rc && as_args_has(args, "faults"))
		rc = read_faults(as_args_text(args, "faults", ""), &o->faults, err);
	if (!rc && as_args_has(args, "shard"))
		rc = read_shard(as_args_text(args, "shard", ""), o, err);
	if (!rc && o->opts && (!*o->opts || strpbrk(o->opts, ";\n#")))
		rc = as_fail(err, AS_EUSE, "--remount %s: expected mount options", o->opts);
	if (!rc && o->wide && o->narrow)
		rc = as_fail(err, AS_EUSE, "--wide and --narrow exclude each other");
	if (!rc && as_args_has(args, "crashes") && o->max_cuts && (o->shards || o->start))
		rc = as_fail(err, AS_EUSE,
			     "--crashes %u: with %s, no trace goes on after a power "
			     "cut",
			     o->max_cuts, o->shards ? "--shard" : "--start");
	if (!rc && as_args_has(args, "max-faults") && !o->faults)
		rc = as_fail(err, AS_EUSE, "--max-faults needs --faults");
	return rc;
}

/* ---- The file of states ---------------------------------------------------------------------- */

/* The workers of a check that was killed hold the lock until they die, a moment later. */
#define DYING_US 5000000
#define DYING_LOOK_MS 20

static bool lock_states(int fd)
{
	int64_t until_us = as_now_us() + DYING_US;
	int rc;

	while ((rc = flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK &&
	       as_now_us() < until_us)
		poll(NULL, 0, DYING_LOOK_MS);
	return !rc;
}

static int open_states(struct check_session *s, struct as_err *err)
{
	bool resume = as_args_has(s->args, "resume");
	int rc;

	if (as_args_has(s->args, "no-store"))
		return resume ? as_fail(err, AS_EUSE, "--resume needs a folder: no --no-store") : 0;
	rc = as_rundir_open(s->out.folder, AS_RUNDIR_MAKE, &s->folder, err);
	if (!rc)
		rc = as_dir_below(&s->folder.dir, FOLDER, true, &s->below, err);
	if (rc)
		return rc;
	if (resume && !as_dir_has(&s->below, STATES))
		return as_fail(err, AS_EUSE, "%s: there is no check to go on with", s->below.path);
	s->options.fd = openat(s->below.fd, STATES,
			       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (s->options.fd < 0)
		return as_fail_errno(err, errno, "%s/" STATES, s->below.path);
	if (!lock_states(s->options.fd))
		return as_fail(err, AS_EUSE, "%s: another check uses this folder", s->below.path);
	if (!resume && ftruncate(s->options.fd, 0))
		return as_fail_errno(err, errno, "%s/" STATES, s->below.path);
	return 0;
}

static void close_states(struct check_session *s)
{
	if (s->options.fd >= 0)
		close(s->options.fd);
	as_dir_close(&s->below);
	if (s->folder.dir.fd >= 0)
		as_rundir_close(&s->folder);
}

static int open_code(struct check_session *s, struct as_err *err)
{
	int rc = 0;

	as_cli_code_open(s->args, &s->code, &s->run);
	if (as_args_has(s->args, "resume"))
		rc = as_cli_code_recall(&s->code, &s->folder.dir, err);
	return rc ? as_cli_code_close(&s->code, NULL, s->out.chain, s->out.json, rc, err) : 0;
}

/* ---- Running --------------------------------------------------------------------------------- */

static const struct as_dir *folder_of(const struct check_session *s)
{
	return s->folder.dir.fd >= 0 ? &s->folder.dir : NULL;
}

static void progress(void *ctx, const struct as_check_status *status)
{
	struct check_session *s = ctx;

	as_check_words_progress(&s->words, status);
	if (s->code.set)
		as_live_set(s->out.live, AS_COUNT_covered_blocks, status->places);
	if (folder_of(s))
		as_cli_code_keep(&s->code, folder_of(s));
}

static int check(struct check_session *s, struct as_err *err)
{
	struct as_check_args args = { .target = s->target,
				      .run = &s->run,
				      .options = &s->options,
				      .progress = progress,
				      .ctx = s };
	struct as_cli_found found = as_cli_found_new(s->out.chain);
	uint64_t reduce_s = as_args_number(s->args, "reduce-for", REDUCE_SECONDS);
	struct as_check_status status;
	struct as_run_result stats = { 0 };
	int rc;

	s->words = (struct as_check_words){ .target = s->target,
					    .options = &s->options,
					    .sinks = s->out.chain,
					    .json = s->out.json,
					    .live = s->out.live };
	args.sinks = &found.sink;
	args.code = s->code.set;
	if (s->boxed) {
		s->box.boxed.options = s->run;
		s->box.boxed.out = s->out.store ? s->out.folder : NULL;
		args.box = &s->box.boxed;
	}
	rc = as_check(&args, &status, err);
	progress(s, &status);
	as_cli_output_quiet(&s->out, rc, err);
	if (!rc && s->out.store && !as_args_has(s->args, "no-reduce"))
		as_cli_found_reduce(&found, s->args, s->out.folder, (int64_t)reduce_s * 1000000,
				    s->out.chain);
	if (!rc)
		as_check_words_end(&s->words, &status);
	as_cli_usage_say(s->target, s->out.json, s->out.chain);
	as_cli_wear_say(s->target, false, s->out.json, s->out.chain);
	rc = as_cli_code_close(&s->code, folder_of(s), s->out.chain, s->out.json, rc, err);
	stats.workloads = status.counts.expanded;
	stats.ops = status.counts.transitions;
	stats.findings = status.counts.findings;
	stats.wall_us = status.wall_us;
	return as_cli_output_close(&s->out, &stats, rc, err);
}

/* Only the disk of a kernel can be made to fail. */
static int take_disk_faults(unsigned *faults, struct as_err *err)
{
	unsigned disk = AS_CHECK_FAIL_READ | AS_CHECK_FAIL_WRITE;

	if (*faults == ~0u)
		*faults = disk;
	return *faults & ~disk ? as_fail(err, AS_EUSE,
					 "--faults: of a file system of the kernel, only "
					 "read and write can fail")
			       : 0;
}

static int open_target(struct check_session *s, const char *spec, struct as_err *err)
{
	bool boxed = as_cli_wants_box(s->args, spec);
	int rc = as_cli_check_box(s->args, spec, err);

	if (!rc)
		rc = as_cli_check_kernel(s->args, spec, err);
	if (!rc)
		rc = as_target_open(spec, &s->target, err);
	if (!rc && as_cli_fstype(spec) && s->options.faults)
		rc = take_disk_faults(&s->options.faults, err);
	if (!rc && s->options.crashes.budget == AS_BUDGET_UNSAID) {
		s->options.falls = as_cli_fstype(spec);
		s->options.crashes.budget = s->options.falls ? AS_CHECK_BUDGET_KERNEL : 0;
	}
	if (!rc && !s->run.size_bytes)
		s->run.size_bytes = as_target_small_bytes(s->target);
	if (!rc && boxed) {
		rc = as_cli_box_open(s->args, spec, s->run.size_bytes, &s->box, err);
		s->boxed = !rc;
	}
	return rc;
}

static int run(const struct as_args *args, struct as_err *err)
{
	struct check_session s = { .args = args, .folder.dir = AS_DIR_NONE, .below = AS_DIR_NONE };
	struct as_buf small = { 0 };
	const char *spec;
	int rc;

	/* The fewer blocks and chances there are, the more states are the same. */
	as_variants_print_small(as_args_text(args, "target", "lab"), &small);
	rc = as_cli_join_wear(args, &small, err);
	spec = as_buf_str(&small);
	if (!rc)
		rc = read_options(&s, err);
	if (!rc)
		rc = open_target(&s, spec, err);
	if (!rc)
		rc = as_cli_output_open(args, &s.out, err);
	if (!rc) {
		s.out.lasting = true;
		s.out.reports = args;
		as_cli_show_where(s.out.live, args, spec, s.options.jobs);
		as_live_goal(s.out.live, s.options.for_us, 0);
		rc = open_states(&s, err);
		if (!rc)
			rc = open_code(&s, err);
		if (!rc)
			rc = check(&s, err);
		else
			rc = as_cli_output_close(&s.out, &(struct as_run_result){ 0 }, rc, err);
	}
	close_states(&s);
	if (s.boxed)
		as_cli_box_close(&s.box);
	as_target_free(s.target);
	as_buf_free(&small);
	return rc;
}

static const struct as_opt opts[] = {
	{ .name = "target",
	  .letter = 't',
	  .kind = AS_OPT_TEXT,
	  .arg = "T",
	  .help = "what to test: lab, lab:bug=N, plugin:PATH.so, or a file system of the kernel, "
		  "such as ext4; default lab" },
	{ .name = "for",
	  .kind = AS_OPT_TEXT,
	  .arg = "TIME",
	  .help = "stop after this time, such as 90s or 10m; default 5m, and with --depth when all "
		  "is explored" },
	{ .name = "nodes",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = AS_UNIVERSE_NODES_MAX,
	  .help = "how many files and directories there may be at once; default 3" },
	{ .name = "depth",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = AS_CHECK_DEPTH_MAX,
	  .help = "how many operations that change something may follow each other; default 0: "
		  "any number" },
	{ .name = "slots",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = AS_UNIVERSE_SLOTS_MAX,
	  .help = "how many descriptors may be open at once; default 1" },
	{ .name = "ops",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAMES",
	  .help = "the operations to try, with commas, or `all`; default: mkdir, create, hardlink, "
		  "rename, unlink, rmdir, open, close, pwrite, truncate, fsync, sync, umount, "
		  "mount" },
	{ .name = "wide",
	  .help = "try more values of arguments, such as O_APPEND, O_SYNC, ranges that are "
		  "inserted or collapsed, large writes, a size within a block, the largest one, "
		  "links of lengths at which they are kept in another way, a second "
		  "attribute, and a new name that begins with a dot" },
	{ .name = "narrow",
	  .help = "try one value of each argument: fewer states, so longer traces in the same "
		  "time" },
	{ .name = "remount",
	  .kind = AS_OPT_TEXT,
	  .arg = "OPTIONS",
	  .help = "also remount with each of these options, separated by blanks; with --wide and "
		  "`remount` in --ops, the default is those that the type of the kernel "
		  "knows" },
	{ .name = "start",
	  .kind = AS_OPT_TEXT,
	  .arg = "NAME|FILE",
	  .help = "begin with a file system that has been used: names or large (a directory that "
		  "the next name makes grow, or gives another form), sparse, written, spread, "
		  "deep, full, fragments, links, attributes, or the one that this workload makes; "
		  "default: an empty one" },
	{ .name = "search",
	  .kind = AS_OPT_CHOICE,
	  .choices = "bfs|dfs|random|recovery|novelty",
	  .help = "which state to expand next: the first that was found (bfs), the last (dfs), any "
		  "(random), the one whose parent's recovery has written most, or the one least "
		  "like those before; default bfs" },
	{ .name = "hash",
	  .kind = AS_OPT_CHOICE,
	  .choices = "model|log|disk",
	  .help = "what tells states apart: the tree, open files and what a power cut may leave "
		  "(model); also how often something was made stable since the mount, so what a "
		  "log may hold (log); or also the bytes of the disk and the writes that were not "
		  "flushed (disk); default model" },
	{ .name = "no-crash", .help = "do not cut the power: check answers and trees only" },
	{ .name = "crashes",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .max = AS_CRASH_ROUNDS_MAX - 1,
	  .help = "after how many power cuts a trace may go on with what was recovered; "
		  "default 1" },
	{ .name = "view",
	  .kind = AS_OPT_TEXT,
	  .arg = "VIEWS",
	  .help = "how the disk may lose writes, as in `assay crash`; default: all" },
	AS_CLI_AGAIN_OPT,
	AS_CLI_QUEUE_OPTS,
	AS_CLI_BUDGET_OPT("operation", "default 0, and for types of the kernel 32, with fewer for "
				       "operations like others before"),
	{ .name = "faults",
	  .kind = AS_OPT_TEXT,
	  .arg = "KINDS",
	  .help = "try each operation again with each call of it that can fail: alloc, read, write "
		  "(which includes flushes); or with each answer to what it asks (choice); or all; "
		  "several with commas; default: none" },
	{ .name = "max-faults",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = AS_CHECK_FAULTS_MAX,
	  .help = "how many calls of one operation may fail; first every single one is tried, then "
		  "every two, and so on; default 1" },
	{ .name = "max-transitions",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "stop when N operations were tried; default: go on" },
	{ .name = "max-findings",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = INT64_MAX,
	  .help = "stop after N different findings; default: go on" },
	{ .name = "no-reduce", .help = "do not reduce findings" },
	{ .name = "reduce-for",
	  .kind = AS_OPT_NUMBER,
	  .arg = "SECONDS",
	  .min = 1,
	  .max = 1000000,
	  .help = "how long to reduce what was found, all of it together, after the end; "
		  "default 20" },
	{ .name = "shard",
	  .kind = AS_OPT_TEXT,
	  .arg = "K/N",
	  .help = "look only at part K of N of the states; N such checks, on any machines, visit "
		  "together the states that one check visits alone" },
	AS_CLI_JOBS_OPT(AS_CHECK_JOBS_MAX, "how many processes explore the states together"),
	{ .name = "max-states",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = AS_STORE_MAX,
	  .help = "how many states to keep; further ones are discarded; default 4194304" },
	{ .name = "max-frontier",
	  .kind = AS_OPT_NUMBER,
	  .arg = "N",
	  .min = 1,
	  .max = AS_STORE_MAX,
	  .help = "how many states may wait to be expanded; of more, some are discarded at random; "
		  "default: any number" },
	{ .name = "resume", .help = "go on with the check whose states are in the folder" },
	AS_CLI_RUN_OPT(size_bytes),
	AS_CLI_DEADLINE_OPT("how long one operation or one recovery may take before it is a hang"),
	AS_CLI_RUN_OPT(seed),
	AS_CLI_RUN_OPT(kcov),
	AS_CLI_USAGE_OPTS,
	AS_CLI_WEAR_OPT,
	AS_CLI_BOX_OPTS,
	AS_CLI_OUTPUT_OPTS,
	AS_CLI_REPORT_OPT,
	{ 0 },
};

const struct as_command as_cmd_check = {
	.name = "check",
	.operands = "",
	.summary = "explore all states of a file system within bounds, each once",
	.text = "Begins with an empty file system and tries every operation, with each argument of "
		"a small set, in every state that is reached. Each answer is judged by the model, "
		"and the whole tree is compared with it. The power is cut at every point of each "
		"operation that changes something, and every recovery must end in a tree that was "
		"promised; then operations and a second power cut follow. States that differ only "
		"in names are one state. When nothing is left to be tried, it says so: within "
		"these bounds, no operation and no power cut leads to a mistake that this program "
		"can see.",
	.opts = opts,
	.max_operands = 0,
	.run = run,
};
