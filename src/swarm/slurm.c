/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm: see slurm.h. */
#include "swarm/slurm.h"

#include "base/json.h"
#include "os/spawn.h"
#include "swarm/allot.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_NAME "slurm.json"
#define CALL_MS 120000u
#define POLL_US 1000000u
#define TASKS_MAX 4000000u

/* ---- The script ------------------------------------------------------------------------------ */

static void add_self(struct as_buf *out)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n > 0 ? n : 0] = '\0';
	as_buf_add_word(out, n > 0 ? path : "assay");
}

/* A line that no line of the text is equal to. */
static void add_here(struct as_buf *out, const char *path, const char *text)
{
	char mark[48] = "END_OF_FILE";

	for (unsigned n = 0; strstr(text, mark); n++)
		snprintf(mark, sizeof(mark), "END_OF_FILE_%u", n);
	as_buf_addf(out, "cat >%s <<'%s'\n%s", path, mark, text);
	if (*text && text[strlen(text) - 1] != '\n')
		as_buf_addc(out, '\n');
	as_buf_addf(out, "%s\n", mark);
}

/* The script of the jobs of a round. cells: NAME SECONDS, a line for each task. */
static void slurm_script(const struct as_ledger *ledger, const struct as_slurm_options *options,
			 uint64_t round, const char *cells, struct as_buf *script)
{
	as_buf_adds(script, "#!/bin/bash\n# One task of a campaign: the cell of its number.\n"
			    "set -u\nassay=");
	add_self(script);
	if (!options->bring) {
		as_buf_adds(script, "\nfolder=");
		as_buf_add_word(script, ledger->run.dir.path);
		as_buf_addf(script, "\nlist=\"$folder/%s/round-%" PRIu64 "\"\n", AS_SWARM_FOLDER,
			    round);
	} else {
		as_buf_adds(script, "\nwork=$(mktemp -d) || exit 2\n"
				    "trap 'rm -rf \"$work\"' EXIT\n"
				    "folder=$work/campaign\nlist=$work/list\n");
		add_here(script, "\"$work/file\"", options->text);
		add_here(script, "\"$list\"", cells);
	}
	as_buf_adds(script, "read -r cell seconds < <(sed -n \"${SLURM_ARRAY_TASK_ID}p\" \"$list\")"
			    " || exit 2\n");
	as_buf_addf(script,
		    "trap 'kill -TERM $! 2>/dev/null' TERM\n"
		    "\"$assay\" swarm cell %s \"$cell\" --round %" PRIu64
		    " --seconds \"$seconds\" -o \"$folder\"%s &\n"
		    "wait $!; status=$?\n",
		    options->bring ? "\"$work/file\"" : "\"$folder/" AS_SWARM_FILE "\"", round,
		    options->trust ? " --trust" : "");
	if (options->bring) {
		as_buf_adds(script, "archive=$work/$cell.tar.gz\n"
				    "tar -czf \"$archive\" -C \"$folder\" swarm cells || exit 2\n"
				    "bring=");
		as_buf_add_word(script, options->bring);
		as_buf_adds(script, "\nbash -c \"${bring//\\{\\}/\\\"\\$1\\\"}\" bring "
				    "\"$archive\" || exit 2\n");
	}
	as_buf_adds(script, "exit $status\n");
}

/* ---- Calling Slurm --------------------------------------------------------------------------- */

static int call(char *const *argv, const char *input, struct as_buf *output, struct as_err *err)
{
	struct as_spawn spawn = { .argv = argv,
				  .envp = environ,
				  .deadline_ms = CALL_MS,
				  .output = output,
				  .input = input };
	struct as_ended ended;
	char path[512];
	int rc;

	if (!as_spawn_which(argv[0], path, sizeof(path)))
		return as_fail(err, AS_ELACK, "%s is missing: install the package slurm-client",
			       argv[0]);
	rc = as_spawn_run(&spawn, &ended, err);
	if (rc)
		return rc;
	if (ended.how != AS_END_EXIT || ended.status) {
		size_t len = strcspn(as_buf_str(output), "\n");

		return as_fail(err, AS_EIO, "%s failed: %.*s", argv[0], (int)len,
			       as_buf_str(output));
	}
	return 0;
}

/* "123" or "123;cluster": the number. */
static int job_number(const struct as_buf *output, uint64_t *job, struct as_err *err)
{
	const char *s = as_buf_str(output), *line = strrchr(s, '\n');

	/* Warnings come first. */
	while (line && !line[1] && line > s) {
		line--;
		while (line > s && *line != '\n')
			line--;
	}
	s = line ? line + (*line == '\n') : s;
	if (!isdigit((unsigned char)*s))
		return as_fail(err, AS_EIO, "sbatch did not name a job: %.80s", s);
	*job = strtoull(s, NULL, 10);
	return 0;
}

static void save_state(struct as_ledger *ledger, uint64_t round, uint64_t job)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	struct as_err err;

	as_json_object(&json);
	as_json_kuint(&json, "round", round);
	as_json_kuint(&json, "job", job);
	as_json_end(&json);
	if (as_dir_write(&ledger->swarm, STATE_NAME, &text, &err))
		as_buf_clear(&text);
	as_buf_free(&text);
}

static uint64_t saved_job(struct as_ledger *ledger)
{
	struct as_buf text = { 0 };
	struct as_err err;
	json_t *object = NULL;
	uint64_t job = 0;

	if (as_dir_has(&ledger->swarm, STATE_NAME) &&
	    !as_dir_read(&ledger->swarm, STATE_NAME, 4096, &text, &err))
		object = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (json_integer_value(json_object_get(object, "job")) > 0)
		job = (uint64_t)json_integer_value(json_object_get(object, "job"));
	json_decref(object);
	as_buf_free(&text);
	return job;
}

struct batch {
	uint64_t round, seconds, memory_bytes; /* the most that a task takes */
	size_t tasks;
	struct as_buf cells;
};

static int submit(struct as_ledger *ledger, const struct as_slurm_options *options,
		  const struct batch *b, uint64_t *job, struct as_err *err)
{
	struct as_buf script = { 0 }, output = { 0 };
	char array[64], time[32], memory[32];
	char *argv[] = { "sbatch",
			 "--parsable",
			 "--requeue",
			 "--open-mode=append",
			 array,
			 time,
			 memory,
			 "--ntasks=1",
			 "--cpus-per-task=1",
			 "--signal=B:TERM@30",
			 "--output=/dev/null",
			 "--job-name=assay",
			 NULL };
	int n = snprintf(array, sizeof(array), "--array=1-%zu", b->tasks), rc;

	if (options->swarm.jobs)
		snprintf(array + n, sizeof(array) - (size_t)n, "%%%u", options->swarm.jobs);
	/* Slurm counts in minutes. */
	snprintf(time, sizeof(time), "--time=%" PRIu64, b->seconds * 3 / 2 / 60 + 5);
	snprintf(memory, sizeof(memory), "--mem=%" PRIu64 "M", b->memory_bytes >> 20);
	slurm_script(ledger, options, b->round, as_buf_str(&b->cells), &script);
	rc = call(argv, as_buf_str(&script), &output, err);
	if (!rc)
		rc = job_number(&output, job, err);
	if (!rc)
		save_state(ledger, b->round, *job);
	as_buf_free(&script);
	as_buf_free(&output);
	return rc;
}

/* Waits until no task of the array is queued or runs. */
static int wait_for(uint64_t job, const struct as_slurm_options *options, struct as_err *err)
{
	char number[32];
	char *argv[] = { "squeue", "-h", "-r", "-j", number, "-o", "%i", NULL };
	bool busy = true;

	snprintf(number, sizeof(number), "%" PRIu64, job);
	while (busy && !(options->swarm.stop && *options->swarm.stop)) {
		struct as_buf output = { 0 };
		int rc = call(argv, NULL, &output, err);

		/* A job that has ended long ago is not known any more. */
		if (rc && !strstr(as_buf_str(&output), "Invalid job id")) {
			as_buf_free(&output);
			return rc;
		}
		busy = !rc && output.len > 0;
		as_buf_free(&output);
		if (busy)
			usleep(POLL_US);
	}
	return busy ? as_fail(err, AS_ESTOP, "stopped") : 0;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static int refresh(struct as_ledger *ledger, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < ledger->campaign->n_cells && !rc; i++)
		rc = as_ledger_refresh(ledger, i, err);
	return rc;
}

static void fill(struct as_ledger *ledger, const struct as_slurm_options *options, struct batch *b)
{
	const struct as_campaign *c = ledger->campaign;
	uint64_t *slices = as_xcalloc(c->n_cells, sizeof(*slices));

	as_allot(ledger, b->round, options->swarm.even || options->bring, slices);
	for (size_t i = 0; i < c->n_cells && b->tasks < TASKS_MAX; i++) {
		const struct as_swarm_tally *t = &ledger->tallies[i];
		uint64_t seconds;

		if (!slices[i] || (t->rounds >= b->round && !t->failures))
			continue;
		if (options->bring && c->cells[i].block->command->timed)
			slices[i] = as_cell_share(c, &c->cells[i]);
		as_buf_addf(&b->cells, "%s %" PRIu64 "\n", c->cells[i].name, slices[i]);
		b->tasks++;
		seconds = c->work ? c->cells[i].block->time_s : slices[i];
		if (seconds > b->seconds)
			b->seconds = seconds;
		if (c->cells[i].block->memory_bytes > b->memory_bytes)
			b->memory_bytes = c->cells[i].block->memory_bytes;
	}
	free(slices);
}

/* One array; *tasks: how many there were. */
static int run_array(struct as_ledger *ledger, const struct as_slurm_options *options,
		     uint64_t round, uint64_t *job, size_t *tasks, struct as_err *err)
{
	struct batch b = { .round = round };
	char name[48];
	int rc = 0;

	fill(ledger, options, &b);
	*tasks = b.tasks;
	snprintf(name, sizeof(name), "round-%" PRIu64, round);
	if (b.tasks) {
		rc = as_dir_write(&ledger->swarm, name, &b.cells, err);
		if (!rc)
			rc = submit(ledger, options, &b, job, err);
		if (!rc && options->swarm.began)
			options->swarm.began(options->swarm.ctx, round, b.tasks,
					     b.seconds * b.tasks);
		if (!rc)
			rc = wait_for(*job, options, err);
		if (!rc && options->bring)
			rc = as_swarm_inbox(ledger, err) < 0 ? err->code : 0;
		if (!rc)
			rc = refresh(ledger, err);
	}
	as_buf_free(&b.cells);
	return rc;
}

/* A task whose processes were killed is not queued again by Slurm, and its cell has no slice: such
 * cells are submitted again. */
static int run_round(struct as_ledger *ledger, const struct as_slurm_options *options,
		     uint64_t round, uint64_t *job, struct as_err *err)
{
	size_t tasks = 1;
	int rc = 0;

	for (unsigned i = 0; i < AS_SWARM_FAILURES && tasks && !rc; i++)
		rc = run_array(ledger, options, round, job, &tasks, err);
	return rc;
}

static int submit_merge(struct as_ledger *ledger, uint64_t job, struct as_err *err)
{
	struct as_buf script = { 0 }, output = { 0 };
	char after[64];
	char *argv[] = {
		"sbatch", "--parsable", after, "--job-name=assay-merge", "--output=/dev/null", NULL
	};
	int rc;

	snprintf(after, sizeof(after), "--dependency=afterany:%" PRIu64, job);
	as_buf_adds(&script, "#!/bin/bash\nexec ");
	add_self(&script);
	as_buf_adds(&script, " swarm merge ");
	as_buf_add_word(&script, ledger->run.dir.path);
	as_buf_addc(&script, '\n');
	rc = call(argv, as_buf_str(&script), &output, err);
	if (!rc)
		rc = job_number(&output, &job, err);
	if (!rc)
		rc = wait_for(job, &(struct as_slurm_options){ 0 }, err);
	as_buf_free(&script);
	as_buf_free(&output);
	return rc;
}

int as_swarm_slurm(struct as_ledger *ledger, const struct as_slurm_options *options,
		   struct as_err *err)
{
	uint64_t rounds = options->bring ? 1 : ledger->campaign->rounds, job = saved_job(ledger);
	int rc = 0;

	if (job)
		rc = wait_for(job, options, err);
	if (!rc && options->bring)
		rc = as_swarm_inbox(ledger, err) < 0 ? err->code : 0;
	if (!rc)
		rc = refresh(ledger, err);
	for (uint64_t round = 1; round <= rounds && !rc; round++)
		rc = run_round(ledger, options, round, &job, err);
	if (!rc && options->merge && !options->bring && job)
		rc = submit_merge(ledger, job, err);
	return rc;
}
