/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * inside: the part of a check that runs in a sandbox, as a scenario of its engine. A workload is
 * the trace of a state. It is expanded as by any lane (lead.c), and what follows it is told
 * (told.h), with what looks wrong. Nothing is confirmed here: the lane outside does that, and it
 * has the states (boxed.c).
 *
 * The store here only knows what was met since this kernel has started, so that the power is not
 * cut again on the way to a state that is known. The state that is given is one without a parent,
 * and the depth is bounded by 1: so those that follow are not expanded.
 */
#include "check/told.h"

#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "check:"
#define STATES_MAX (1u << 18)

struct inside {
	struct as_check_args args;
	struct as_check_options options;
	struct as_run_options run;
	struct as_checking c;
	struct as_check_skip skip;
	char ops[AS_RUN_SCENARIO_MAX];
	uint64_t given;
};

bool as_scenario_is_check(const char *text, const char **params)
{
	if (strncmp(text, PREFIX, strlen(PREFIX)))
		return false;
	*params = text + strlen(PREFIX);
	return true;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

void as_inside_print_params(const struct as_checking *c, struct as_buf *out)
{
	const struct as_check_options *o = c->options;

	as_buf_addf(out, PREFIX "%u;%u;%d;%d;%u;%u;%u;%u;%u;%s;", o->nodes, o->slots, o->crash,
		    o->wide | o->narrow << 1, o->faults, o->max_faults, (unsigned)o->hash, o->shard,
		    o->shards, o->ops ? o->ops : "");
	as_crash_options_print(&c->crash, out);
}

static int parse_params(struct inside *s, const char *params, struct as_err *err)
{
	struct as_check_options *o = &s->options;
	int crash = 0, wide = 0, at = 0;
	unsigned hash = 0;
	const char *ops, *end;

	*o = (struct as_check_options){ .depth = 1, .jobs = 1, .max_states = STATES_MAX, .fd = -1 };
	if (sscanf(params, "%u;%u;%d;%d;%u;%u;%u;%u;%u;%n", &o->nodes, &o->slots, &crash, &wide,
		   &o->faults, &o->max_faults, &hash, &o->shard, &o->shards, &at) < 9 ||
	    hash > AS_CHECK_HASH_LOG || o->shard > o->shards || !o->shard != !o->shards || !at ||
	    !(end = strchr(ops = params + at, ';')) || (size_t)(end - ops) >= sizeof(s->ops))
		return as_fail(err, AS_EUSE, "check: these are not its parameters: %s", params);
	memcpy(s->ops, ops, (size_t)(end - ops));
	s->ops[end - ops] = '\0';
	o->ops = s->ops[0] ? s->ops : NULL;
	o->wide = wide & 1;
	o->narrow = wide & 2;
	o->crash = crash;
	o->hash = (enum as_check_hash)hash;
	return as_crash_options_parse(end + 1, &o->crashes, err);
}

/* ---- The scenario ---------------------------------------------------------------------------- */

static void inside_close(struct as_scenario *scenario)
{
	struct inside *s = (struct inside *)scenario;

	if (!s)
		return;
	as_checking_close(&s->c);
	if (s->c.reached)
		as_shared_free(s->c.reached, sizeof(*s->c.reached));
	free(s);
}

static int inside_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		       struct as_err *err)
{
	struct inside *s = as_xcalloc(1, sizeof(*s));
	int rc = parse_params(s, args->params, err);

	s->run = *args->options;
	s->args = (struct as_check_args){ .target = args->targets[0],
					  .run = &s->run,
					  .options = &s->options,
					  .sinks = args->sinks };
	s->c = (struct as_checking){ .args = &s->args, .options = &s->options, .skip = &s->skip };
	if (!rc)
		rc = as_checking_open(&s->c, err);
	if (!rc)
		s->c.reached = as_shared_alloc(sizeof(*s->c.reached));
	*scenario = (struct as_scenario *)s;
	if (rc) {
		inside_close(*scenario);
		*scenario = NULL;
	}
	return rc;
}

/* "NAME N N": the moves that are not tried. */
static void read_skip(struct as_check_skip *skip, const char *name)
{
	const char *at = strchr(name, ' ');

	for (skip->n = 0; at && skip->n < AS_CHECK_SKIPS; at = strchr(at + 1, ' '))
		skip->move[skip->n++] = (uint32_t)strtoul(at + 1, NULL, 10);
}

/* Puts the state into the frontier, and nothing else is there. */
static void give(struct inside *s, const char *name, const struct as_seq *seq)
{
	struct as_store *store = s->c.store;
	struct as_buf text = { 0 };
	struct as_digest key;
	uint32_t id;

	/* That is the one with which a store begins. */
	if (!strncmp(name, AS_INSIDE_FRESH, strlen(AS_INSIDE_FRESH)))
		return;
	if (as_store_pop(store, &id))
		as_store_done(store, id);
	for (size_t i = 0; i < seq->n; i++) {
		if (i)
			as_buf_addc(&text, '\n');
		as_print_op(&seq->ops[i], &text);
	}
	key = as_digest_bind(as_hash(as_buf_str(&text), text.len), ++s->given);
	if (as_store_add(store, key, AS_STORE_NONE, as_buf_str(&text), false, &id) == AS_STORE_NEW)
		as_store_push(store, id, UINT64_MAX);
	as_buf_free(&text);
}

/* What this process knew of the state before is over. */
static void begin(struct inside *s)
{
	struct as_check_shared *sh = s->c.shared;
	struct as_check_lane *lane = s->c.lane;
	uint64_t alive = lane->alive;

	memset(&sh->counts, 0, sizeof(sh->counts));
	for (uint32_t i = 0; i < AS_SUSPECTS_MAX; i++)
		sh->suspect[i].ready = false;
	sh->n_suspects = 0;
	s->c.reached->n = 0;
	memset(lane, 0, sizeof(*lane));
	lane->alive = alive + 1;
}

static void tell_state(struct inside *s, uint32_t i, struct as_buf *text)
{
	struct as_store_state state = as_store_at(s->c.store, s->c.reached->state[i].id);
	struct as_told_state told = { state.digest, s->c.reached->state[i].fine,
				      s->c.reached->state[i].wrote, NULL };
	struct as_buf line = { 0 };

	as_store_line(s->c.store, s->c.reached->state[i].id, &line);
	told.line = as_buf_str(&line);
	as_told_print_state(&told, text);
	as_buf_free(&line);
}

static void tell_all(struct inside *s)
{
	struct as_check_shared *sh = s->c.shared;
	struct as_buf text = { 0 };

	for (uint32_t i = 0; i < s->c.reached->n; i++, as_buf_clear(&text)) {
		tell_state(s, i, &text);
		as_emit_told(s->args.sinks, as_buf_str(&text));
	}
	for (uint32_t i = 0; i < AS_SUSPECTS_MAX && sh->suspect[i].ready;
	     i++, as_buf_clear(&text)) {
		as_told_print_suspect(&sh->suspect[i], &text);
		as_emit_told(s->args.sinks, as_buf_str(&text));
	}
	as_told_print_counts(&sh->counts, &text);
	as_emit_told(s->args.sinks, as_buf_str(&text));
	as_buf_free(&text);
}

static int inside_run(struct as_scenario *scenario, const struct as_scenario_work *work,
		      size_t *done, struct as_run_result *result, struct as_err *err)
{
	struct inside *s = (struct inside *)scenario;
	int rc;

	*done = 1;
	begin(s);
	read_skip(&s->skip, work->names[0]);
	s->c.given_foreign = work->names[0][strcspn(work->names[0], " !")] == '!';
	give(s, work->names[0], work->seqs[0]);
	rc = as_check_lane_run(&s->c, 0, err);
	if (rc)
		return rc;
	tell_all(s);
	result->runs = 1;
	result->ops = s->c.shared->counts.transitions;
	return 0;
}

const struct as_scenario_ops as_scenario_check = {
	.api = AS_SCENARIO_API,
	.name = "check",
	.help = "what follows a state; only for the engine of a sandbox",
	.batch = 1,
	.batch_here = 1,
	.open = inside_open,
	.run = inside_run,
	.close = inside_close,
};
