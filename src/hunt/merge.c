/* SPDX-License-Identifier: GPL-2.0-or-later */
/* merge: merges the results of the workers into the state, always in the same order (see
 * hunt.c). */
#include "base/array.h"
#include "base/finding_json.h"
#include "base/show.h"
#include "hunt/folders.h"
#include "hunt/hunt_priv.h"
#include "progress/result.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static int not_understood(struct as_err *err)
{
	return as_fail(err, AS_EIO, "a job of the hunt sent an invalid message");
}

static int take_finding(struct as_hunt_leader *l, size_t job, json_t *object, struct as_err *err)
{
	struct as_hunt_state *s = l->state;
	struct as_finding f;
	struct as_hunt_sign *sign;
	int rc;

	if (as_finding_parse(object, AS_FINDING_WHOLE, &f, NULL))
		return not_understood(err);
	sign = as_hunt_state_find(s, f.signature);
	rc = as_folders_take(l->hunt, (unsigned)job, f.id, !sign, err);
	if (!rc && !sign) {
		sign = as_hunt_state_add(s, f.signature);
		sign->id = as_xstrdup(f.id);
		sign->summary = as_xstrdup(f.summary);
		sign->job = (unsigned)job;
		sign->number = number_of(object, "number");
		sign->ops = number_of(object, "ops");
		sign->first_us = s->used_us;
		AS_ARRAY_ROOM(l->tried, s->n_signs, l->tried_cap);
		l->tried[s->n_signs - 1] = false;
		l->saved_us = 0;
		as_emit_finding(l->hunt->sinks, &f);
	}
	if (!rc)
		sign->count++;
	as_finding_free(&f);
	return rc;
}

/* Counts the workloads of a set, and tells once of one that was refused. */
static void take_set(struct as_hunt_leader *l, const json_t *object)
{
	struct as_hunt_state *s = l->state;
	uint64_t set = number_of(object, "set"), refused = number_of(object, "refused");
	const char *why = text_of(object, "why");

	if (set < s->n_sets)
		s->sets[set].workloads += number_of(object, "workloads");
	if (!refused || refused >= s->n_sets || s->sets[refused].refused)
		return;
	s->sets[refused].refused = as_xstrdup(why ? why : "?");
	as_emit_note(l->hunt->sinks, "%s is left out: %s", s->sets[refused].target,
		     s->sets[refused].refused);
}

static int take_batch(struct as_hunt_leader *l, size_t job, const char *line, struct as_err *err)
{
	struct as_hunt_state *s = l->state;
	json_t *object = json_loads(line, 0, NULL);
	const json_t *found = json_object_get(object, "found");
	const json_t *again = json_object_get(object, "met_again");
	struct as_run_result r;
	int rc = object ? 0 : not_understood(err);

	for (size_t i = 0; i < json_array_size(found) && !rc; i++)
		rc = take_finding(l, job, json_array_get(found, i), err);
	for (size_t i = 0; i < json_array_size(again) && !rc; i++) {
		const char *signature = text_of(json_array_get(again, i), "signature");
		struct as_hunt_sign *sign = signature ? as_hunt_state_find(s, signature) : NULL;

		if (sign)
			sign->count += number_of(json_array_get(again, i), "count");
	}
	if (!rc) {
		s->jobs[job].position = number_of(object, "position");
		s->jobs[job].over = json_is_true(json_object_get(object, "over"));
		as_run_result_parse(object, &r);
		s->workloads += number_of(object, "workloads");
		s->ops += r.ops;
		s->skipped += r.skipped;
		s->unjudged += r.unjudged;
		s->excused += r.excused;
		s->failures += r.failures;
		s->looked += r.looked;
		s->possible += r.possible;
		s->findings += r.findings;
		as_raced_add(&s->raced, &r.raced);
		as_shares_add(&s->jobs[job].shares, &r.shares);
		take_set(l, object);
		l->changed = true;
	}
	json_decref(object);
	return rc;
}

/* The first of the jobs that have done the fewest batches is next. Positions decide, so that the
 * order is the same after a hunt was resumed. */
static void set_turn(struct as_hunt_leader *l, size_t job)
{
	const struct as_hunt_job *j = &l->state->jobs[job];

	as_crew_set_turn(l->crew, job,
			 j->over ? AS_CREW_NO_TURN : j->position / as_worker_batch(l->hunt));
}

void as_leader_begin(struct as_hunt_leader *l)
{
	as_crew_in_turns(l->crew, &(struct as_crew_lanes){ .n = l->state->n_jobs });
	for (size_t i = 0; i < l->state->n_jobs; i++)
		set_turn(l, i);
}

int as_leader_merge(struct as_hunt_leader *l, bool rest, struct as_err *err)
{
	const char *text;
	size_t job, len;
	int rc = 0;

	while (!rc && !as_hunt_state_enough(l->state)) {
		rc = as_crew_take(l->crew, rest, &job, &text, &len, err);
		if (rc || !text)
			break;
		rc = take_batch(l, job, text, err);
		set_turn(l, job);
	}
	return rc;
}

int as_leader_reduced(struct as_hunt_leader *l, const char *text, struct as_err *err)
{
	json_t *object = json_loads(text, 0, NULL);
	const char *signature = text_of(object, "signature"), *how = text_of(object, "reduced");
	struct as_hunt_sign *sign = signature ? as_hunt_state_find(l->state, signature) : NULL;
	int rc = object ? 0 : not_understood(err);

	if (!rc && sign && how) {
		as_hunt_sign_set_cause(sign, text_of(object, "cause"), text_of(object, "steps"));
		sign->reduced = !strcmp(how, "yes")	   ? AS_HUNT_REDUCED
				: !strcmp(how, "vanished") ? AS_HUNT_VANISHED
							   : AS_HUNT_SHORTENED;
		/* One that was interrupted is reduced when the hunt is resumed. */
		if (sign->reduced == AS_HUNT_SHORTENED && l->shared->stop)
			sign->reduced = AS_HUNT_UNREDUCED;
		sign->ops_reduced =
			sign->reduced == AS_HUNT_VANISHED ? 0 : number_of(object, "ops");
		sign->runs = (unsigned)number_of(object, "runs");
		sign->failed = (unsigned)number_of(object, "failed");
		l->changed = true;
		l->saved_us = 0;
		if (sign->reduced == AS_HUNT_VANISHED)
			as_emit_note(l->hunt->sinks, "%s: did not reproduce when it was run alone",
				     sign->id);
		else if (sign->reduced != AS_HUNT_UNREDUCED)
			as_emit_note(l->hunt->sinks,
				     "%s: reduced from %llu to %llu operation%s, %.1f s", sign->id,
				     (unsigned long long)sign->ops,
				     (unsigned long long)sign->ops_reduced,
				     as_plural(sign->ops_reduced),
				     json_number_value(json_object_get(object, "seconds")));
	}
	json_decref(object);
	return rc;
}
