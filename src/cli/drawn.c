/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drawn: see drawn.h. */
#include "cli/drawn.h"

#include "base/choice.h"
#include "base/hash.h"
#include "base/json.h"
#include "cli/runs.h"
#include "target/draw.h"
#include "target/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 24
#define MATRIX_MAX_BYTES ((size_t)1 << 20)
#define TRIES (SETS * 4)

static bool has(const struct as_hunt_state *state, const char *spec)
{
	for (size_t i = 0; i < state->n_sets; i++)
		if (!strcmp(state->sets[i].target, spec))
			return true;
	return false;
}

static void draw(const struct as_target *target, struct as_hunt_state *state)
{
	struct as_chooser *chooser;

	if (!as_draw_can(target))
		return;
	/* Not the choices of the first workload. */
	chooser = as_chooser_seeded(as_mix64(state->seed + 1));
	as_hunt_state_add_set(state, as_target_spec(target));
	for (unsigned i = 0; i < TRIES && state->n_sets <= SETS; i++) {
		struct as_buf spec = { 0 };

		as_draw_spec(target, as_chooser_choice(chooser), &spec);
		if (!has(state, as_buf_str(&spec)))
			as_hunt_state_add_set(state, as_buf_str(&spec));
		as_buf_free(&spec);
	}
	as_chooser_free(chooser);
}

static int read_matrix(const char *path, const char *spec, struct as_hunt_state *state,
		       struct as_err *err)
{
	struct as_buf text = { 0 };
	char *save = NULL, *line;
	int rc = as_buf_read_file(&text, path, MATRIX_MAX_BYTES, err);

	if (rc)
		return rc;
	as_hunt_state_add_set(state, spec);
	for (line = text.len ? strtok_r(text.data, "\n", &save) : NULL; line && !rc;
	     line = strtok_r(NULL, "\n", &save)) {
		struct as_buf joined = { 0 };
		struct as_target *target = NULL;

		line += strspn(line, " \t");
		line[strcspn(line, " \t\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		as_buf_adds(&joined, spec);
		as_target_join_opts(&joined, strcmp(line, "-") ? line : "");
		/* A word that nobody knows is told now, and not found by every job. */
		rc = as_target_open(as_buf_str(&joined), &target, err);
		as_target_free(target);
		if (!rc && !has(state, as_buf_str(&joined)))
			as_hunt_state_add_set(state, as_buf_str(&joined));
		as_buf_free(&joined);
	}
	as_buf_free(&text);
	if (!rc && state->n_sets < 2)
		rc = as_fail(err, AS_EUSE, "%s: has no line of options", path);
	return rc;
}

int as_cli_drawn_begin(const struct as_args *args, const struct as_target *target,
		       struct as_hunt_state *state, struct as_err *err)
{
	const char *matrix = as_args_text(args, "opts-matrix", NULL);

	if (matrix && !target)
		return as_fail(err, AS_EUSE, "--opts-matrix needs one target");
	if (matrix)
		return read_matrix(matrix, as_target_spec(target), state, err);
	if (target && !as_args_has(args, "no-draw"))
		draw(target, state);
	return 0;
}

static void close_last(struct as_cli_drawn *d)
{
	if (d->has_box)
		as_cli_box_close(&d->box);
	as_target_free(d->target);
	d->target = NULL;
	d->has_box = false;
}

void as_cli_drawn_free(struct as_cli_drawn *d)
{
	close_last(d);
	for (size_t i = 0; d->kept && i < d->state->n_sets; i++)
		as_target_free(d->kept[i]);
	free(d->kept);
	d->kept = NULL;
}

/* A state may come from somebody else. */
static bool is_of(const struct as_cli_drawn *d, const char *spec)
{
	const char *plain = d->state->target;
	size_t len = strlen(plain);

	/* The same plugin with more options. */
	if (!as_cli_fstype(plain) && !as_cli_fstype(spec))
		return !strncmp(spec, plain, len) && (spec[len] == ':' || spec[len] == ',');
	return as_cli_fstype(spec) && as_cli_fstype(spec) == as_cli_fstype(plain) &&
	       !as_trust_reaches(spec, d->boxed, NULL);
}

uint64_t as_cli_box_bytes(const struct as_target *target, const struct as_run_options *run)
{
	bool small = !run->size_bytes && !strncmp(run->scenario, "crash", 5);

	return small ? as_target_small_bytes(target) : run->size_bytes;
}

void as_cli_drawn_keep(struct as_cli_drawn *d)
{
	const struct as_hunt_state *state = d->state;
	struct as_err err = { 0 };

	if (d->boxed || as_cli_fstype(state->target) || !state->n_sets)
		return;
	d->kept = as_xcalloc(state->n_sets, sizeof(struct as_target *));
	for (size_t i = 1; i < state->n_sets; i++)
		if (!is_of(d, state->sets[i].target) ||
		    as_target_open(state->sets[i].target, &d->kept[i], &err))
			d->kept[i] = NULL;
}

void as_cli_drawn_used(const struct as_cli_drawn *d, const struct as_target *target, bool json,
		       struct as_sink *talk)
{
	size_t n = d->kept ? d->state->n_sets : 1;

	for (size_t i = 0; i < n; i++) {
		const struct as_target *t = i ? d->kept[i] : target;

		if (i && !d->state->sets[i].workloads)
			continue;
		as_cli_usage_say(t, json, talk);
		as_cli_wear_say(t, n > 1, json, talk);
	}
}

int as_cli_drawn_open(struct as_cli_drawn *d, size_t set, struct as_hunt *hunt, struct as_err *err)
{
	const char *spec = d->state->sets[set].target;
	bool kept = d->kept && d->kept[set];
	int rc = 0;

	close_last(d);
	if (!is_of(d, spec))
		return as_fail(err, AS_EUSE, "the state of the hunt: '%s' was not drawn for %s",
			       spec, d->state->target);
	if (!kept)
		rc = as_target_open(spec, &d->target, err);
	d->targets[0] = kept ? d->kept[set] : d->target;
	hunt->targets = d->targets;
	if (!rc && d->boxed) {
		rc = as_cli_box_open(d->args, spec, as_cli_box_bytes(d->target, d->run), &d->box,
				     err);
		d->has_box = !rc;
		hunt->box = &d->box.boxed;
	}
	return rc;
}

void as_cli_drawn_say(const struct as_hunt_state *state, bool json, struct as_sink *talk)
{
	for (size_t i = 0; i < state->n_sets; i++) {
		const struct as_hunt_drawn *set = &state->sets[i];
		struct as_buf line = { 0 };
		struct as_json j = as_json_on(&line);

		if (!set->workloads)
			continue;
		as_json_object(&j);
		as_json_kstr(&j, "event", "set");
		as_json_kstr(&j, "target", set->target);
		as_json_kuint(&j, "workloads", set->workloads);
		as_json_end(&j);
		if (json)
			printf("%s\n", as_buf_str(&line));
		else
			as_emit_note(talk, "%7llu workloads on %s",
				     (unsigned long long)set->workloads, set->target);
		as_buf_free(&line);
	}
}
