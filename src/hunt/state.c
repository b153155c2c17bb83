/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: see state.h. Numbers that are missing are 0; what does not fit together is refused. */
#include "hunt/state.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/json.h"
#include "hunt/hunt.h"
#include "progress/result.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define STATE_VERSION 2 /* 1: signatures without causes */
#define STATE_MAX_BYTES ((size_t)256 << 20)

static const char *const reduced_names[] = {
	[AS_HUNT_UNREDUCED] = "no",
	[AS_HUNT_REDUCED] = "yes",
	[AS_HUNT_SHORTENED] = "shortened",
	[AS_HUNT_VANISHED] = "vanished",
};

#define NREDUCED (sizeof(reduced_names) / sizeof(reduced_names[0]))

void as_hunt_state_init(struct as_hunt_state *state, size_t n_jobs)
{
	*state = (struct as_hunt_state){ .n_jobs = n_jobs };
	state->jobs = as_xcalloc(n_jobs, sizeof(*state->jobs));
}

void as_hunt_state_free(struct as_hunt_state *s)
{
	for (size_t i = 0; i < s->n_signs; i++) {
		free(s->signs[i].signature);
		free(s->signs[i].cause);
		free(s->signs[i].steps);
		free(s->signs[i].id);
		free(s->signs[i].summary);
	}
	for (size_t i = 0; i < s->n_sets; i++) {
		free(s->sets[i].target);
		free(s->sets[i].refused);
	}
	free(s->sets);
	for (size_t i = 0; i < s->n_words; i++)
		free(s->words[i]);
	free(s->words);
	free(s->signs);
	free(s->jobs);
	free(s->target);
	free(s->scenario);
	*s = (struct as_hunt_state){ 0 };
}

struct as_hunt_sign *as_hunt_state_find(const struct as_hunt_state *s, const char *signature)
{
	for (size_t i = 0; i < s->n_signs; i++)
		if (!strcmp(s->signs[i].signature, signature))
			return &s->signs[i];
	return NULL;
}

struct as_hunt_sign *as_hunt_state_add(struct as_hunt_state *s, const char *signature)
{
	struct as_hunt_sign *sign;

	AS_ARRAY_ROOM(s->signs, s->n_signs, s->cap_signs);
	sign = &s->signs[s->n_signs++];
	*sign = (struct as_hunt_sign){ .signature = as_xstrdup(signature),
				       .cause = as_xstrdup(signature) };
	return sign;
}

void as_hunt_state_add_set(struct as_hunt_state *s, const char *target)
{
	AS_ARRAY_ROOM(s->sets, s->n_sets, s->cap_sets);
	s->sets[s->n_sets++] = (struct as_hunt_drawn){ .target = as_xstrdup(target) };
}

void as_hunt_sign_set_cause(struct as_hunt_sign *sign, const char *cause, const char *steps)
{
	if (!cause || !steps)
		return;
	free(sign->cause);
	free(sign->steps);
	sign->cause = as_xstrdup(cause);
	sign->steps = *steps ? as_xstrdup(steps) : NULL;
}

struct as_shares as_hunt_state_shares(const struct as_hunt_state *s)
{
	struct as_shares sum = { 0 };

	for (size_t i = 0; i < s->n_jobs; i++)
		as_shares_add(&sum, &s->jobs[i].shares);
	return sum;
}

bool as_hunt_state_enough(const struct as_hunt_state *s)
{
	return s->max_signs && s->n_signs >= s->max_signs;
}

bool as_hunt_state_over(const struct as_hunt_state *s)
{
	bool all = true;

	for (size_t i = 0; i < s->n_jobs; i++)
		all = all && s->jobs[i].over;
	return all || (s->for_us && s->used_us >= s->for_us) ||
	       (s->max_workloads && s->workloads >= s->max_workloads) ||
	       (s->max_signs && s->n_signs >= s->max_signs);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_sign(struct as_json *j, const struct as_hunt_sign *sign)
{
	as_json_object(j);
	as_json_kstr(j, "signature", sign->signature);
	as_json_kstr(j, "cause", sign->cause);
	as_json_kstr(j, "steps", sign->steps ? sign->steps : "");
	as_json_kstr(j, "id", sign->id);
	as_json_kstr(j, "summary", sign->summary);
	as_json_kuint(j, "count", sign->count);
	as_json_kuint(j, "job", sign->job);
	as_json_kuint(j, "number", sign->number);
	as_json_kint(j, "first_us", sign->first_us);
	as_json_kuint(j, "ops", sign->ops);
	as_json_kstr(j, "reduced", reduced_names[sign->reduced]);
	as_json_kuint(j, "ops_reduced", sign->ops_reduced);
	as_json_kuint(j, "runs", sign->runs);
	as_json_kuint(j, "failed", sign->failed);
	as_json_end(j);
}

static void put_set(struct as_json *j, const struct as_hunt_drawn *set)
{
	as_json_object(j);
	as_json_kstr(j, "target", set->target);
	as_json_kuint(j, "workloads", set->workloads);
	if (set->refused)
		as_json_kstr(j, "refused", set->refused);
	as_json_end(j);
}

static void put_state(struct as_json *j, const struct as_hunt_state *s)
{
	as_json_object(j);
	as_json_kuint(j, "version", STATE_VERSION);
	as_json_kstr(j, "target", s->target);
	as_json_kstr(j, "scenario", s->scenario);
	as_json_key(j, "words");
	as_json_array(j);
	for (size_t i = 0; i < s->n_words; i++)
		as_json_str(j, s->words[i]);
	as_json_end(j);
	as_json_kuint(j, "seed", s->seed);
	as_json_kuint(j, "max_workloads", s->max_workloads);
	as_json_kint(j, "for_us", s->for_us);
	as_json_kuint(j, "max_signatures", s->max_signs);
	as_json_kint(j, "used_us", s->used_us);
	as_json_kuint(j, "workloads", s->workloads);
	as_json_kuint(j, "ops", s->ops);
	as_json_kuint(j, "skipped", s->skipped);
	as_json_kuint(j, "unjudged", s->unjudged);
	as_json_kuint(j, "excused", s->excused);
	as_json_kuint(j, "failures", s->failures);
	as_json_kuint(j, "looked", s->looked);
	as_json_kuint(j, "possible", s->possible);
	as_json_kuint(j, "findings", s->findings);
	as_raced_print(j, &s->raced);
	as_json_key(j, "jobs");
	as_json_array(j);
	for (size_t i = 0; i < s->n_jobs; i++) {
		as_json_object(j);
		as_json_kuint(j, "position", s->jobs[i].position);
		as_json_kbool(j, "over", s->jobs[i].over);
		as_shares_print(j, &s->jobs[i].shares);
		as_json_end(j);
	}
	as_json_end(j);
	as_json_key(j, "sets");
	as_json_array(j);
	for (size_t i = 0; i < s->n_sets; i++)
		put_set(j, &s->sets[i]);
	as_json_end(j);
	as_json_key(j, "signatures");
	as_json_array(j);
	for (size_t i = 0; i < s->n_signs; i++)
		put_sign(j, &s->signs[i]);
	as_json_end(j);
	as_json_end(j);
}

int as_hunt_state_save(const struct as_dir *folder, const struct as_hunt_state *s,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	struct as_json json = as_json_on(&text);
	int rc;

	put_state(&json, s);
	as_buf_addc(&text, '\n');
	rc = as_dir_write(folder, AS_RUN_STATE, &text, err);
	as_buf_free(&text);
	return rc;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint64_t number_of(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? as_xstrdup(text) : NULL;
}

static bool get_sign(const json_t *object, struct as_hunt_state *s)
{
	const char *signature = json_string_value(json_object_get(object, "signature"));
	const char *id = json_string_value(json_object_get(object, "id"));
	const char *reduced = json_string_value(json_object_get(object, "reduced"));
	struct as_hunt_sign *sign;

	if (!signature || !id || !as_dir_is_plain(id) || as_hunt_state_find(s, signature))
		return false;
	sign = as_hunt_state_add(s, signature);
	as_hunt_sign_set_cause(sign, json_string_value(json_object_get(object, "cause")),
			       json_string_value(json_object_get(object, "steps")));
	sign->id = as_xstrdup(id);
	sign->summary = text_of(object, "summary");
	if (!sign->summary)
		sign->summary = as_xstrdup("");
	sign->count = number_of(object, "count");
	sign->job = (unsigned)number_of(object, "job");
	sign->number = number_of(object, "number");
	sign->first_us = (int64_t)number_of(object, "first_us");
	sign->ops = number_of(object, "ops");
	sign->ops_reduced = number_of(object, "ops_reduced");
	sign->runs = (unsigned)number_of(object, "runs");
	sign->failed = (unsigned)number_of(object, "failed");
	for (size_t i = 0; reduced && i < NREDUCED; i++)
		if (!strcmp(reduced, reduced_names[i]))
			sign->reduced = (enum as_hunt_reduced)i;
	return true;
}

static bool get_jobs(const json_t *root, struct as_hunt_state *s)
{
	const json_t *jobs = json_object_get(root, "jobs");
	size_t n = json_array_size(jobs);

	if (!n || n > AS_HUNT_JOBS_MAX)
		return false;
	as_hunt_state_init(s, n);
	for (size_t i = 0; i < n; i++) {
		s->jobs[i].position = number_of(json_array_get(jobs, i), "position");
		s->jobs[i].over = json_is_true(json_object_get(json_array_get(jobs, i), "over"));
		as_shares_parse(json_array_get(jobs, i), &s->jobs[i].shares);
	}
	return true;
}

static void get_sets(const json_t *root, struct as_hunt_state *s)
{
	const json_t *sets = json_object_get(root, "sets");

	for (size_t i = 0; i < json_array_size(sets); i++) {
		const json_t *set = json_array_get(sets, i);
		const char *target = json_string_value(json_object_get(set, "target"));

		as_hunt_state_add_set(s, target ? target : "");
		s->sets[i].workloads = number_of(set, "workloads");
		s->sets[i].refused = text_of(set, "refused");
	}
}

static bool get_state(const json_t *root, struct as_hunt_state *s)
{
	const json_t *words = json_object_get(root, "words");
	const json_t *signs = json_object_get(root, "signatures");

	if (number_of(root, "version") != STATE_VERSION || !get_jobs(root, s))
		return false;
	s->target = text_of(root, "target");
	s->scenario = text_of(root, "scenario");
	s->words = as_xcalloc(json_array_size(words) + 1, sizeof(*s->words));
	for (size_t i = 0; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if (word)
			s->words[s->n_words++] = as_xstrdup(word);
	}
	s->seed = number_of(root, "seed");
	s->max_workloads = number_of(root, "max_workloads");
	s->for_us = (int64_t)number_of(root, "for_us");
	s->max_signs = number_of(root, "max_signatures");
	s->used_us = (int64_t)number_of(root, "used_us");
	s->workloads = number_of(root, "workloads");
	s->ops = number_of(root, "ops");
	s->skipped = number_of(root, "skipped");
	s->unjudged = number_of(root, "unjudged");
	s->excused = number_of(root, "excused");
	s->failures = number_of(root, "failures");
	s->looked = number_of(root, "looked");
	s->possible = number_of(root, "possible");
	s->findings = number_of(root, "findings");
	as_raced_parse(root, &s->raced);
	get_sets(root, s);
	for (size_t i = 0; i < json_array_size(signs); i++)
		if (!get_sign(json_array_get(signs, i), s))
			return false;
	return s->target && s->scenario;
}

bool as_hunt_state_exists(const struct as_dir *folder)
{
	return as_dir_has(folder, AS_RUN_STATE);
}

int as_hunt_state_load(const struct as_dir *folder, struct as_hunt_state *s, struct as_err *err)
{
	struct as_buf text = { 0 };
	json_t *root = NULL;
	int rc = 0;

	*s = (struct as_hunt_state){ 0 };
	if (!as_hunt_state_exists(folder))
		rc = as_fail(err, AS_EUSE, "--resume: there is no hunt in %s", folder->path);
	if (!rc)
		rc = as_dir_read(folder, AS_RUN_STATE, STATE_MAX_BYTES, &text, err);
	if (!rc)
		root = json_loadb(as_buf_str(&text), text.len, 0, NULL);
	if (!rc && number_of(root, "version") && number_of(root, "version") < STATE_VERSION)
		rc = as_fail(err, AS_EUSE,
			     "%s/" AS_RUN_STATE ": the state of a hunt of an older assay, whose "
			     "signatures were other ones: it cannot be continued",
			     folder->path);
	else if (!rc && (!json_is_object(root) || !get_state(root, s)))
		rc = as_fail(err, AS_EUSE, "%s/" AS_RUN_STATE ": not the state of a hunt",
			     folder->path);
	json_decref(root);
	as_buf_free(&text);
	if (rc)
		as_hunt_state_free(s);
	return rc;
}
