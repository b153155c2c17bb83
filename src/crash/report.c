/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report: what the parent is told of a problem: a summary, the story, the options that bring the
 * state back, and the disk. */
#include "crash/child.h"
#include "crash/story.h"
#include "recording/orders.h"

#include "disk/image.h"
#include "host/trail.h"
#include "os/spawn.h"
#include "symptom/symptom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORY_DEADLINE_MS 10000u

bool as_crash_report_has(const struct as_crash_shared *sh, const char *signature)
{
	for (unsigned i = 0; i < sh->n_reports; i++)
		if (as_signature_same_symptom(sh->reports[i].signature, signature))
			return true;
	return false;
}

/* The operation that a finding names; -1: none. */
static int64_t guilty(const struct as_recording *rec, struct as_moment m)
{
	if (rec->raced)
		return rec->orders ? as_orders_guilty(rec->orders, m) : -1;
	if (m.begun > m.done && m.done < rec->n_ops)
		return (int64_t)m.done;
	return m.done ? (int64_t)m.done - 1 : -1;
}

void as_crash_report_mend(struct as_crash_shared *sh)
{
	if (sh->n_reports > AS_CRASH_REPORTS_MAX)
		sh->n_reports = AS_CRASH_REPORTS_MAX;
	for (unsigned i = 0; i < sh->n_reports; i++)
		(void)as_notice_mend(&sh->reports[i]);
}

/* ---- The state as parameters ----------------------------------------------------------------- */

void as_crash_report_options(struct as_notice *report, const struct as_crash_options *options)
{
	struct as_buf params = { 0 };

	as_crash_options_print(options, &params);
	/* What the options of a run have room for. */
	AS_NOTICE_SETF(report, options, "scenario=crash:%.*s", AS_RUN_SCENARIO_MAX - 9,
		       as_buf_str(&params));
	as_buf_free(&params);
}

static void say_params(const struct as_crash_args *args, struct as_perm *perm,
		       const struct as_perm_state *state, const struct as_problem *problem,
		       struct as_notice *report)
{
	struct as_crash_options o = *args->options;

	as_spot_of_state(perm, state, &o.spot);
	o.race.seed = args->race_seed;
	o.way = problem->way;
	o.sig = as_problem_sig(problem);
	memcpy(o.then, problem->then, sizeof(o.then));
	as_crash_report_options(report, &o);
}

/* ---- The state in words ---------------------------------------------------------------------- */

struct telling {
	struct as_story story;
	char *detail; /* in shared memory */
	size_t room;
};

static int tell(void *ctx)
{
	struct telling *t = ctx;
	struct as_buf text = { 0 };

	as_story_tell(&t->story, t->room - 2048, &text);
	snprintf(t->detail, t->room, "%s", as_buf_str(&text));
	as_buf_free(&text);
	return 0;
}

/* The story takes further recoveries, and a library may die of one: so a child tells it. */
static void tell_story(struct telling *t)
{
	struct as_ended ended = { 0 };

	if (!t->story.recoverer || !as_recoverer_in_process(t->story.recoverer)) {
		(void)tell(t);
		return;
	}
	if (as_spawn_fork(tell, t, STORY_DEADLINE_MS, NULL, &ended, NULL) != 0 ||
	    ended.how != AS_END_EXIT || ended.status != 0) {
		t->story.recoverer = NULL;
		(void)tell(t);
	}
}

static void print_summary(const struct as_recording *rec, const struct as_perm_state *state,
			  const struct as_problem *problem, struct as_buf *out)
{
	as_story_say_moment(rec, problem->moment, out);
	if (state->n_units)
		as_buf_addf(out, ", %zu of %zu %s lost", state->n_units - state->n_kept,
			    state->n_units, state->view == AS_VIEW_ATOMIC ? "writes" : "sectors");
	as_buf_addf(out, " (view %u), recovered by %s: %s", (unsigned)state->view,
		    as_way_name(problem->way), problem->notice->summary);
}

/* ---- Keeping it ------------------------------------------------------------------------------ */

static void keep_disk(const struct as_crash_args *args, struct as_perm *perm,
		      struct as_notice *report)
{
	struct as_crash_shared *sh = args->shared;
	struct as_disk *disk = as_perm_disk(perm);
	struct as_buf image = { 0 };

	if (!as_image_encode(disk, &image, NULL) &&
	    pwrite(args->disk_fd, image.data, image.len, (off_t)sh->disk_end) ==
		    (ssize_t)image.len) {
		report->disk_at = sh->disk_end;
		report->disk_len = image.len;
		sh->disk_end += image.len;
	}
	as_buf_free(&image);
	as_disk_free(disk);
}

/* A broken rule is known by the pair of the change that was lost and the promise that it broke;
 * without a promise by the operation under way. */
static void sign(const struct as_recording *rec, const struct as_problem *problem,
		 struct as_notice *report)
{
	struct as_buf text = { 0 };
	bool *failed = as_xcalloc(rec->seq->n + 1, sizeof(*failed));

	for (size_t i = 0; i < rec->n_ops; i++)
		failed[i] = rec->answers[i].ret < 0;
	as_buf_adds(&text, problem->notice->signature);
	if (problem->promise != AS_LEGAL_NO_OP && problem->promise < rec->seq->n)
		as_symptom_pair(rec->seq, failed, problem->promise, &text);
	else
		as_symptom_after_last(rec->seq, failed, report->op + 1, &text);
	AS_NOTICE_SET(report, signature, as_buf_str(&text));
	as_buf_free(&text);
	free(failed);
}

static unsigned round_of(const struct as_crash_options *o)
{
	unsigned n = 0;

	while (n < AS_CRASH_ROUNDS_MAX - 1 && o->from[n].view)
		n++;
	return n + 1;
}

/* What happened in earlier rounds comes first; the story has left room for it. */
static void put_before(const char *before, char *detail, size_t room)
{
	size_t len = strlen(before), there = strlen(detail);

	if (len + there >= room)
		there = room - len - 1;
	memmove(detail + len, detail, there);
	memcpy(detail, before, len);
	detail[len + there] = '\0';
}

bool as_crash_report_add(const struct as_crash_args *args, const struct as_recording *rec,
			 struct as_perm *perm, const struct as_perm_state *state,
			 const struct as_problem *problem, struct as_recoverer *recoverer)
{
	struct as_crash_shared *sh = args->shared;
	struct as_buf summary = { 0 };
	struct as_crash_options options = *args->options;
	struct as_notice *report = &sh->reports[sh->n_reports];
	struct telling t = { .story = { .target = args->target,
					.recording = rec,
					.options = args->options,
					.perm = perm,
					.state = state,
					.problem = problem,
					.recoverer = recoverer },
			     .detail = report->detail,
			     .room = sizeof(report->detail) };

	if (sh->n_reports == AS_CRASH_REPORTS_MAX)
		return false;
	as_trail_mark(as_target_trail(args->target), AS_TRAIL_FOUND, 0, NULL, 0);
	as_notice_begin(report, problem->notice->kind, guilty(rec, problem->moment));
	if (args->before)
		as_buf_addf(&summary, "in round %u, ", round_of(args->options));
	if (perm) {
		print_summary(rec, state, problem, &summary);
		tell_story(&t);
		say_params(args, perm, state, problem, report);
		keep_disk(args, perm, report);
	} else {
		report->op = rec->wrong_op;
		if (report->op >= 0)
			as_story_say_op(rec, (size_t)report->op, &summary);
		as_buf_addf(&summary, "%s%s",
			    report->op >= 0 ? ": " : "mount: ", problem->notice->summary);
		options.race.seed = args->race_seed;
		as_crash_report_options(report, &options);
	}
	if (args->before)
		put_before(args->before, report->detail, sizeof(report->detail));
	AS_NOTICE_SET(report, summary, as_buf_str(&summary));
	sign(rec, problem, report);
	if (report->op >= 0)
		report->op += (int64_t)args->first_op;
	as_notice_close(report);
	as_buf_free(&summary);
	sh->n_reports++;
	return sh->n_reports < AS_CRASH_REPORTS_MAX && !args->options->spot.view;
}
