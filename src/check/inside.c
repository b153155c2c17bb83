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
 *
 * With a start, a workload begins with the operations that make it, and its name says how many. The
 * first workload of a kernel has them carried out; the disk that they leave is kept for the others.
 */
#include "check/told.h"

#include "child/kcov.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "check:"
#define STATES_MAX (1u << 18)
#define PIECE_BYTES ((size_t)64 << 10) /* of the text of a start */

struct inside {
	struct as_check_args args;
	struct as_check_options options;
	struct as_run_options run;
	struct as_checking c;
	struct as_check_skip skip;
	char ops[AS_RUN_SCENARIO_MAX], start[AS_RUN_SCENARIO_MAX], opts[AS_RUN_SCENARIO_MAX];
	bool open; /* the check is */
	uint64_t given;
};

/* What the name of a workload says. */
struct given {
	bool start, fresh, foreign;
	size_t n_start; /* operations that make the start */
	const char *steps; /* NULL: none */
};

bool as_scenario_is_check(const char *text, const char **params)
{
	if (strncmp(text, PREFIX, strlen(PREFIX)))
		return false;
	*params = text + strlen(PREFIX);
	return true;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static void print_params(const struct as_checking *c, struct as_buf *out)
{
	const struct as_check_options *o = c->options;

	as_buf_addf(out, PREFIX "%u;%u;%d;%d;%u;%u;%u;%u;%u;%u;%d;%u;%s;%s;%s;", o->nodes, o->slots,
		    o->crash | o->falls << 1, o->wide | o->narrow << 1, o->faults, o->max_faults,
		    (unsigned)o->hash, o->shard, o->shards, o->max_cuts, c->unordered,
		    (unsigned)o->search, as_start_told(o->start), o->ops ? o->ops : "",
		    o->opts ? o->opts : "");
	as_crash_options_print(&c->crash, out);
}

int as_inside_set(const struct as_checking *c, struct as_run_options *options, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = 0;

	print_params(c, &text);
	if (text.len >= sizeof(options->scenario))
		rc = as_fail(err, AS_EUSE, "the options of the check are too long for a sandbox");
	else
		memcpy(options->scenario, as_buf_str(&text), text.len + 1);
	as_buf_free(&text);
	return rc;
}

/* What stands before the next semicolon; false: there is none, or it is too long. */
static bool take(const char *text, char out[AS_RUN_SCENARIO_MAX])
{
	size_t len = strcspn(text, ";");

	if (text[len] != ';' || len >= AS_RUN_SCENARIO_MAX)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static int parse_params(struct inside *s, const char *params, struct as_err *err)
{
	struct as_check_options *o = &s->options;
	int crash = 0, wide = 0, unordered = 0, at = 0;
	unsigned hash = 0, search = 0;
	const char *text;

	*o = (struct as_check_options){ .depth = 1, .jobs = 1, .max_states = STATES_MAX, .fd = -1 };
	if (sscanf(params, "%u;%u;%d;%d;%u;%u;%u;%u;%u;%u;%d;%u;%n", &o->nodes, &o->slots, &crash,
		   &wide, &o->faults, &o->max_faults, &hash, &o->shard, &o->shards, &o->max_cuts,
		   &unordered, &search, &at) < 12 ||
	    hash > AS_CHECK_HASH_LOG || search >= AS_SEARCHES || o->shard > o->shards ||
	    !o->shard != !o->shards || o->max_cuts >= AS_CRASH_ROUNDS_MAX || !at ||
	    !take(text = params + at, s->start) || !take(text += strlen(s->start) + 1, s->ops) ||
	    !take(text += strlen(s->ops) + 1, s->opts))
		return as_fail(err, AS_EUSE, "check: these are not its parameters: %s", params);
	o->start = s->start[0] ? s->start : NULL;
	o->ops = s->ops[0] ? s->ops : NULL;
	o->opts = s->opts[0] ? s->opts : NULL;
	o->wide = wide & 1;
	o->narrow = wide & 2;
	o->crash = crash & 1;
	o->falls = crash & 2;
	o->hash = (enum as_check_hash)hash;
	o->search = (enum as_search)search;
	s->c.unordered = unordered;
	return as_crash_options_parse(text + strlen(s->opts) + 1, &o->crashes, err);
}

/* ---- The scenario ---------------------------------------------------------------------------- */

static void inside_close(struct as_scenario *scenario)
{
	struct inside *s = (struct inside *)scenario;

	if (!s)
		return;
	if (s->open)
		as_checking_close(&s->c);
	if (s->c.reached)
		as_shared_free(s->c.reached, sizeof(*s->c.reached));
	free(s);
}

static int open_check(struct inside *s, struct as_err *err)
{
	s->open = true;
	return as_checking_open(&s->c, err);
}

static int inside_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		       struct as_err *err)
{
	struct inside *s = as_xcalloc(1, sizeof(*s));
	int rc;

	s->c = (struct as_checking){ .args = &s->args, .options = &s->options, .skip = &s->skip };
	rc = parse_params(s, args->params, err);
	s->run = *args->options;
	s->args = (struct as_check_args){ .target = args->targets[0],
					  .run = &s->run,
					  .options = &s->options,
					  .sinks = args->sinks };
	if (!rc && !s->options.start)
		rc = open_check(s, err);
	if (!rc)
		s->c.reached = as_shared_alloc(sizeof(*s->c.reached));
	*scenario = (struct as_scenario *)s;
	if (rc) {
		inside_close(*scenario);
		*scenario = NULL;
	}
	return rc;
}

/* "NAME! N N @N|...|...": the moves that are not tried, and the rest. */
static struct given read_name(const char *name, struct as_check_skip *skip)
{
	struct given given = {
		.start = !strncmp(name, AS_INSIDE_START, strlen(AS_INSIDE_START)),
		.fresh = !strncmp(name, AS_INSIDE_FRESH, strlen(AS_INSIDE_FRESH)),
		.foreign = name[strcspn(name, " !|")] == AS_INSIDE_FOREIGN,
		.steps = strchr(name, AS_INSIDE_STEP),
	};
	const char *at = strchr(name, ' ');

	skip->n = 0;
	for (; at && !(given.steps && at > given.steps); at = strchr(at + 1, ' ')) {
		if (at[1] == AS_INSIDE_AFTER)
			given.n_start = strtoul(at + 2, NULL, 10);
		else if (skip->n < AS_CHECK_SKIPS)
			skip->move[skip->n++] = (uint32_t)strtoul(at + 1, NULL, 10);
	}
	return given;
}

/* The line of an operation; *steps: what is left of them. */
static void print_line(const struct as_op *op, const char **steps, struct as_buf *text)
{
	size_t len;

	as_print_op(op, text);
	if (op->code != AS_OP_CRASH || !*steps)
		return;
	len = strcspn(++*steps, (char[]){ AS_INSIDE_STEP, '\0' });
	as_buf_addf(text, " #%.*s", (int)len, *steps);
	*steps = (*steps)[len] ? *steps + len : NULL;
}

/* Puts the state into the frontier, and nothing else is there. */
static void give(struct inside *s, const struct given *given, const struct as_seq *seq)
{
	const char *steps = given->steps;
	struct as_store *store = s->c.store;
	struct as_buf text = { 0 };
	struct as_digest key;
	uint32_t id;

	/* That is the one with which a store begins. */
	if (given->fresh)
		return;
	if (as_store_pop(store, &id))
		as_store_done(store, id);
	for (size_t i = given->n_start; i < seq->n; i++) {
		if (i > given->n_start)
			as_buf_addc(&text, '\n');
		print_line(&seq->ops[i], &steps, &text);
	}
	key = as_digest_bind(as_hash(as_buf_str(&text), text.len), ++s->given);
	if (as_store_add(store, key, AS_STORE_NONE, as_buf_str(&text), false, &id) == AS_STORE_NEW)
		(void)as_store_push(store, id, UINT64_MAX);
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
		sh->suspect[i].notice.is = false;
	sh->n_suspects = 0;
	s->c.reached->n = 0;
	memset(lane, 0, sizeof(*lane));
	lane->alive = alive + 1;
}

static void tell_state(struct inside *s, uint32_t i, struct as_buf *text)
{
	const struct as_reached_state *reached = &s->c.reached->state[i];
	struct as_told_state told = { .digest = as_store_at(s->c.store, reached->id).digest,
				      .fine = reached->fine,
				      .recovered = reached->recovered,
				      .wrote = reached->wrote,
				      .novel = reached->novel };
	struct as_buf line = { 0 };

	as_store_line(s->c.store, reached->id, &line);
	told.line = as_buf_str(&line);
	as_told_print_state(&told, text);
	as_buf_free(&line);
}

static void tell_all(struct inside *s)
{
	struct as_check_shared *sh = s->c.shared;
	struct as_buf text = { 0 };

	for (uint32_t i = 0; i < s->c.reached->n; i++, as_buf_clear(&text)) {
		if (!s->c.reached->state[i].recovered)
			as_check_code_tell(&s->c, s->c.reached->state[i].move);
		tell_state(s, i, &text);
		as_emit_told(s->args.sinks, as_buf_str(&text));
	}
	for (uint32_t i = 0; i < AS_SUSPECTS_MAX && sh->suspect[i].notice.is;
	     i++, as_buf_clear(&text)) {
		as_told_print_suspect(&sh->suspect[i], &text);
		as_emit_told(s->args.sinks, as_buf_str(&text));
	}
	as_check_code_tell(&s->c, AS_KCOV_NOBODY);
	as_told_print_counts(&sh->counts, &text);
	as_emit_told(s->args.sinks, as_buf_str(&text));
	as_buf_free(&text);
}

/* ---- A start --------------------------------------------------------------------------------- */

static void tell_start(struct inside *s, struct as_run_result *result)
{
	const struct as_start *start = s->c.start;
	size_t left = strlen(start->text);
	struct as_told_start told = { .wrong = start->wrong };
	struct as_buf text = { 0 };
	char *piece;

	result->runs = 1;
	result->ops = start->n_ops;
	do {
		size_t n = left < PIECE_BYTES ? left : PIECE_BYTES;

		piece = as_xstrndup(start->text + strlen(start->text) - left, n);
		left -= n;
		told.text = piece;
		told.last = !left;
		as_told_print_start(&told, &text);
		as_emit_told(s->args.sinks, as_buf_str(&text));
		as_buf_clear(&text);
		free(piece);
	} while (left);
	as_buf_free(&text);
}

/* The first workload says how a file system begins. The text of a start ends with a mount, and what
 * makes it does not. */
static int open_start(struct inside *s, const struct given *given, const struct as_seq *seq,
		      struct as_err *err)
{
	bool is_row = strcmp(s->start, AS_INSIDE_GIVEN);
	struct as_seq *start = NULL;
	int rc;

	if (s->open)
		return 0;
	if (!given->start || !is_row)
		start = as_seq_copy(seq);
	if (!given->start) {
		if (!given->n_start || given->n_start > seq->n) {
			as_seq_free(start);
			return as_fail(err, AS_EUSE, "check: a workload without its start");
		}
		start->n = given->n_start - 1;
	}
	s->c.given_start = start;
	rc = open_check(s, err);
	s->c.given_start = NULL;
	as_seq_free(start);
	if (!rc && s->c.start->wrong && !given->start)
		rc = as_fail(err, AS_EIO, "the start cannot be made again: %s", s->c.start->wrong);
	return rc;
}

static int inside_run(struct as_scenario *scenario, const struct as_work *work,
		      struct as_run_result *result, struct as_err *err)
{
	struct inside *s = (struct inside *)scenario;
	struct given given = read_name(work->names[0], &s->skip);
	int rc = 0;

	result->workloads = 1;
	if (s->options.start)
		rc = open_start(s, &given, work->seqs[0], err);
	if (rc)
		return rc;
	if (given.start) {
		tell_start(s, result);
		return 0;
	}
	begin(s);
	s->c.given_foreign = given.foreign;
	give(s, &given, work->seqs[0]);
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
