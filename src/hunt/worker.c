/* SPDX-License-Identifier: GPL-2.0-or-later */
/* worker: see worker.h. The work of a job. */
#include "hunt/worker.h"

#include "base/array.h"
#include "base/finding_json.h"
#include "base/hash.h"
#include "base/json.h"
#include "hunt/breed.h"
#include "hunt/folders.h"
#include "hunt/lane.h"
#include "hunt/sets.h"
#include "hunt/stream.h"
#include "hunt/worker_priv.h"
#include "progress/result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_HERE 64
#define BATCH_BOXED 16

void as_worker_say(struct as_mate *mate, struct as_buf *text)
{
	if (as_mate_say(mate, text->data, text->len))
		_exit(1); /* the leader is gone */
	as_buf_free(text);
}

/* ---- The result of a batch ------------------------------------------------------------------- */

struct heard {
	struct as_sink sink;
	struct as_codeset *code; /* NULL: nobody asks what is reached */
	struct as_breed *breed; /* likewise */
	const struct as_work *work;
	uint64_t first; /* number of the first workload of the batch */
	struct as_buf found; /* elements of the array */
	struct again {
		char *signature;
		uint64_t count;
	} * again;
	size_t n_again, cap_again;
	uint64_t findings;
	size_t set, refused; /* the one they ran on, and one that was refused, or 0 */
	const char *why;
};

static void hear_finding(struct as_sink *sink, const struct as_finding *f)
{
	struct heard *h = (struct heard *)sink;
	struct as_json j;
	size_t i = 0;

	while (i + 1 < h->work->n &&
	       (!f->workload_name || strcmp(h->work->names[i], f->workload_name)))
		i++;
	if (h->found.len)
		as_buf_addc(&h->found, ',');
	j = as_json_on(&h->found);
	as_json_object(&j);
	as_json_kuint(&j, "number", h->first + i);
	as_json_kuint(&j, "ops", h->work->seqs[i]->n);
	as_finding_print(&j, f, AS_FINDING_WHOLE);
	as_json_end(&j);
	h->findings++;
}

static void hear_again(struct as_sink *sink, const char *signature)
{
	struct heard *h = (struct heard *)sink;
	size_t i = 0;

	h->findings++;
	while (i < h->n_again && strcmp(h->again[i].signature, signature))
		i++;
	if (i == h->n_again) {
		AS_ARRAY_ROOM(h->again, h->n_again, h->cap_again);
		h->again[h->n_again++] = (struct again){ as_xstrdup(signature), 0 };
	}
	h->again[i].count++;
}

/* Code that no job has reached before: the workload that did it is kept. */
static void hear_told(struct as_sink *sink, const char *text)
{
	struct heard *h = (struct heard *)sink;
	const char *name;
	uint64_t added;
	size_t len;

	if (!h->code || !as_codeset_hear(h->code, text, &name, &len, &added) || !added || !h->breed)
		return;
	for (size_t i = 0; i < h->work->n; i++)
		if (strlen(h->work->names[i]) == len && !memcmp(h->work->names[i], name, len)) {
			as_breed_keep(h->breed, h->work->seqs[i]);
			return;
		}
}

static void heard_clear(struct heard *h)
{
	for (size_t i = 0; i < h->n_again; i++)
		free(h->again[i].signature);
	free(h->again);
	as_buf_free(&h->found);
	h->again = NULL;
	h->n_again = h->cap_again = 0;
	h->findings = 0;
}

static void say_batch(struct as_mate *mate, const struct heard *h, uint64_t position, bool over,
		      const struct as_run_result *r)
{
	struct as_run_result result = *r;
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	/* This counts also findings that were met before. */
	result.findings = h->findings;
	as_json_object(&j);
	as_json_kuint(&j, "position", position);
	as_json_kbool(&j, "over", over);
	as_json_kuint(&j, "workloads", position - h->first);
	as_run_result_print(&j, &result);
	as_json_key(&j, "met_again");
	as_json_array(&j);
	for (size_t i = 0; i < h->n_again; i++) {
		as_json_object(&j);
		as_json_kstr(&j, "signature", h->again[i].signature);
		as_json_kuint(&j, "count", h->again[i].count);
		as_json_end(&j);
	}
	as_json_end(&j);
	as_json_kuint(&j, "set", h->set);
	if (h->refused) {
		as_json_kuint(&j, "refused", h->refused);
		as_json_kstr(&j, "why", h->why);
	}
	as_json_end(&j);
	/* The elements of `found` are printed already. */
	line.len--;
	as_buf_addf(&line, ",\"found\":[%s]}", as_buf_str(&h->found));
	as_worker_say(mate, &line);
}

/* ---- The work of a job ----------------------------------------------------------------------- */

struct worker_job {
	const struct as_hunt *hunt;
	const struct as_hunt_state *state;
	struct as_hunt_shared *shared;
	struct as_mate *mate;
	unsigned number;
	uint64_t position, end;
	struct as_stream *stream;
	/* The lane is that of one set; the hunt as it is on that set. */
	struct as_lane *lane;
	struct as_hunt now;
	size_t set, refused; /* refused: 0 if none has to be reported */
	bool *left_out; /* by set */
	struct as_err why;
	unsigned lanes; /* that were opened */
	struct as_known *known;
	struct as_shares so_far;
	struct as_buf scenario; /* with what is to be known of the workloads before */
	struct heard heard;
};

static uint64_t breed_seed(const struct worker_job *job, uint64_t number)
{
	return as_mix64(as_mix64(as_mix64(job->state->seed) + job->number) + number);
}

static size_t draw(struct worker_job *job, size_t want, struct as_seq **seqs, const char **names)
{
	size_t n = 0;

	while (n < want && job->position + n < job->end &&
	       (seqs[n] = as_stream_next(job->stream))) {
		if (job->heard.breed)
			seqs[n] = as_breed_next(job->heard.breed, seqs[n],
						breed_seed(job, job->position + n));
		names[n] = as_seq_meta(seqs[n], "workload");
		n++;
	}
	return n;
}

/* A scenario whose ways depend on the workloads before is told of them. */
static void say_so_far(struct worker_job *job)
{
	const struct as_scenario_ops *ops = job->hunt->scenario;
	size_t name;

	if (!ops->go_on || !as_shares_cost(&job->so_far))
		return;
	as_buf_clear(&job->scenario);
	as_buf_addf(&job->scenario, "%s:", ops->name);
	name = job->scenario.len;
	as_buf_addf(&job->scenario, "%s%s", job->hunt->params, *job->hunt->params ? "," : "");
	ops->go_on(&job->so_far, &job->scenario);
	/* Without room for it, the scenario begins as with the first workload. */
	if (job->scenario.len >= sizeof(job->now.run.scenario))
		return;
	memcpy(job->now.run.scenario, as_buf_str(&job->scenario), job->scenario.len + 1);
	job->now.params = job->scenario.data + name;
}

/* Opens the lane of this set, if it is not the one that is open. */
static int change_set(struct worker_job *job, size_t set, struct as_err *err)
{
	uint64_t bytes = as_sets_bytes(job->hunt, job->position);
	char folder[AS_HUNT_JOB_MAX];
	int rc;

	if (job->lane && job->set == set && job->now.run.size_bytes == bytes)
		return 0;
	as_lane_close(job->lane);
	job->lane = NULL;
	job->set = set;
	job->now = *job->hunt;
	job->now.run.stop = &job->shared->stop;
	job->now.run.size_bytes = bytes;
	job->now.lane = job->lanes++;
	say_so_far(job);
	as_folders_job(job->number, folder);
	rc = as_sets_use(&job->now, set, err);
	return rc ? rc
		  : as_lane_open(&job->now, folder, true, job->known, &job->heard.sink, &job->lane,
				 err);
}

/* Runs them on the set whose turn it is, or on set 0 if that one is refused. */
static int run_on_set(struct worker_job *job, const struct as_work *work,
		      struct as_run_result *result, struct as_err *err)
{
	size_t set = as_sets_at(job->hunt, job->state, job->number, job->position);
	int rc;

	if (job->left_out[set])
		set = 0;
	rc = change_set(job, set, err);
	if (!rc)
		rc = as_lane_run(job->lane, work, result, err);
	if (!set || result->workloads || (rc != AS_EUSE && rc != AS_ELACK))
		return rc;
	job->left_out[set] = true;
	job->refused = set;
	job->why = *err;
	rc = change_set(job, 0, err);
	return rc ? rc : as_lane_run(job->lane, work, result, err);
}

static int run_batch(struct worker_job *job, size_t want, bool *over, struct as_err *err)
{
	struct as_seq **seqs = as_xcalloc(want, sizeof(struct as_seq *));
	const char **names = as_xcalloc(want, sizeof(char *));
	struct as_work work = { (const struct as_seq *const *)seqs, names, 0, NULL };
	struct as_run_result result = { 0 };
	int rc = 0;

	work.n = draw(job, want, seqs, names);
	job->heard.work = &work;
	job->heard.first = job->position;
	*over = work.n < want;
	if (work.n)
		rc = run_on_set(job, &work, &result, err);
	/* It was stopped in the middle: the rest is done when the hunt is resumed. */
	if (result.workloads < work.n)
		*over = false;
	if (!rc && (result.workloads || *over)) {
		job->position += result.workloads;
		/* A target that is unfit comes to the same with every workload. */
		*over = *over || job->position == job->end || result.unfit;
		job->shared->ops[job->number] += result.ops;
		as_shares_add(&job->so_far, &result.shares);
		job->heard.set = job->set;
		job->heard.refused = job->refused;
		job->heard.why = job->why.msg;
		say_batch(job->mate, &job->heard, job->position, *over, &result);
		job->refused = 0;
	}
	heard_clear(&job->heard);
	for (size_t i = 0; i < work.n; i++)
		as_seq_free(seqs[i]);
	free(seqs);
	free(names);
	return rc;
}

size_t as_worker_batch(const struct as_hunt *h)
{
	size_t boxed = h->scenario->batch ? h->scenario->batch : BATCH_BOXED;
	size_t here = h->scenario->batch_here ? h->scenario->batch_here : BATCH_HERE;

	return h->batch ? h->batch : h->box ? boxed : here;
}

static int work_job(struct worker_job *job, const struct as_hunt_state *state, struct as_err *err)
{
	const struct as_hunt *h = job->hunt;
	size_t batch = as_worker_batch(h);
	bool over = false;
	int rc = as_stream_new(h->profile, h->traits, state->seed, job->number, &job->stream, err);

	job->known = as_known_new();
	job->so_far = state->jobs[job->number].shares;
	job->left_out = as_xcalloc(state->n_sets + 1, sizeof(*job->left_out));
	for (size_t i = 0; i < state->n_sets; i++)
		job->left_out[i] = state->sets[i].refused;
	for (size_t i = 0; i < state->n_signs; i++)
		as_known_add(job->known, state->signs[i].signature);
	job->heard.sink.finding = hear_finding;
	job->heard.sink.again = hear_again;
	job->heard.sink.told = hear_told;
	job->heard.code = h->code;
	job->heard.breed = h->code && !h->no_breed ? as_breed_new() : NULL;
	if (!rc && job->position)
		as_stream_seek(job->stream, job->position);
	while (!rc && !over && !job->shared->stop) {
		/* Batches begin at multiples of their length, wherever the job begins. */
		size_t want = batch - (size_t)(job->position % batch);

		rc = run_batch(job, want, &over, err);
	}
	as_lane_close(job->lane);
	as_stream_free(job->stream);
	as_known_free(job->known);
	as_breed_free(job->heard.breed);
	as_buf_free(&job->scenario);
	free(job->left_out);
	if (!job->shared->stop && (rc ? rc == AS_ESTOP : !over))
		return as_fail(err, AS_EIO, "a job of the hunt ended before its work was done");
	return rc == AS_ESTOP ? 0 : rc;
}

static int be_job(struct as_mate *mate, void *ctx, struct as_err *err)
{
	struct worker_job *job = ctx;

	job->mate = mate;
	return work_job(job, job->state, err);
}

int as_worker_start_job(const struct as_hunt *hunt, const struct as_hunt_state *state,
			unsigned number, uint64_t end, struct as_hunt_shared *shared,
			struct as_crew *crew, struct as_err *err)
{
	struct worker_job job = { .hunt = hunt,
				  .state = state,
				  .shared = shared,
				  .number = number,
				  .position = state->jobs[number].position,
				  .end = end };

	return as_crew_start(crew, number, be_job, &job, err);
}
