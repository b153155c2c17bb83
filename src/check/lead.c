/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lead: the process that starts the lanes, confirms what their workers find, tells the progress and
 * says when to end. Each lane is a process that starts one worker after the other: the next one
 * goes on after the operation with which the last one died.
 */
#include "check/check_priv.h"

#include "crash/board.h"
#include "crash/dedup.h"
#include "crew/crew.h"
#include "crew/ended.h"
#include "instance/instance.h"
#include "instance/outside.h"
#include "legal/past.h"
#include "os/spawn.h"
#include "target/facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 20
#define TELL_US 200000
#define GRACE_US 1000000 /* for a lane to end by itself */
#define LATER_US 60000000 /* for another process to judge a state, all in all */

/* ---- A lane ---------------------------------------------------------------------------------- */

void as_check_died(const struct as_checking *c, struct as_check_lane *lane,
		   const struct as_ended *ended)
{
	const struct as_ended_say say = { .stack = &lane->stack };
	struct as_buf why = { 0 };

	AS_CHECK_ADD(c, deaths, 1);
	as_ended_words(ended, &say, &why);
	as_suspect_add(c, lane, lane->phase == AS_CHECK_CRASH, as_ended_kind(ended),
		       as_suspect_key(AS_FIND_SIGNAL, 0, as_buf_str(&why)), as_buf_str(&why));
	as_buf_free(&why);
}

void as_check_excuse(const struct as_checking *c, struct as_check_lane *lane, bool excuse)
{
	struct as_box_state *state = c->args->run->state;

	lane->excused += excuse ? 1 : -1u;
	if (state && lane->excused == excuse)
		state->faults++;
}

/* A state that was met at the end of a longer trace may have been too deep to be expanded. So it is
 * expanded again, by the shorter one. */
enum as_store_added as_check_add(const struct as_checking *c, struct as_check_lane *lane,
				 const struct as_store_state *state, const char *line, uint32_t *id)
{
	int64_t until_us = 0;
	enum as_store_added added;

	while ((added = as_store_add(c->store, state->digest, state->parent, line,
				     c->options->depth, id)) == AS_STORE_LATER &&
	       !c->shared->stop && (!until_us || as_now_us() < until_us)) {
		until_us = until_us ? until_us : as_now_us() + LATER_US;
		lane->alive++;
		usleep(AS_CHECK_IDLE_US);
	}
	if (added == AS_STORE_SHORTER)
		AS_CHECK_ADD(c, shorter, 1);
	if (added == AS_STORE_FULL)
		AS_CHECK_ADD(c, discarded, 1);
	if (added == AS_STORE_LATER)
		AS_CHECK_ADD(c, missed, 1);
	if (added == AS_STORE_FULL || added == AS_STORE_LATER)
		as_store_gap(c->store, 1);
	return added;
}

void as_check_push(const struct as_checking *c, uint32_t id, uint64_t rank)
{
	AS_CHECK_ADD(c, forgotten, as_store_push(c->store, id, rank));
}

/* After the death of a worker: where the next one goes on. Its number is that of the first move. */
static uint32_t go_on_after(const struct as_checking *c, struct as_check_lane *lane)
{
	struct as_try *tried = &lane->tried;
	bool special = *tried->faults || *tried->choices;

	if (lane->fresh != AS_STORE_NONE) {
		as_store_stop(c->store, lane->fresh, true);
		AS_CHECK_ADD(c, wrong, 1);
		lane->fresh = AS_STORE_NONE;
	}
	tried->faults[0] = tried->choices[0] = '\0';
	if (lane->excused) {
		lane->excused = 1;
		as_check_excuse(c, lane, false);
	}
	/* The other faults and answers of this operation are not tried. */
	if (special)
		as_store_gap(c->store, 1);
	if (special || lane->phase != AS_CHECK_BACK)
		return lane->move + 1;
	/* The state cannot even be brought back. */
	AS_CHECK_ADD(c, lost, 1);
	as_store_gap(c->store, 1);
	as_store_leave(c->store, tried->state);
	tried->state = AS_STORE_NONE;
	return 0;
}

int as_check_lane_run(const struct as_checking *c, unsigned i, struct as_err *err)
{
	struct as_check_lane *lane = &c->lane[i];
	struct as_worker_args args = { .checking = c,
				       .lane = lane,
				       .dedup = c->dedup[i],
				       .code = c->code ? c->code[i] : NULL,
				       .skip = c->skip };
	bool kernel = !(as_instance_caps(c->args->target) & AS_INSTANCE_IN_PROCESS);
	/* A kernel takes long for what a library does in a moment. */
	struct as_spawn_limits limits = { .deadline_ms = c->args->run->deadline_ms,
					  .alive = &lane->alive,
					  .stop = kernel ? &c->shared->stop : NULL };
	struct as_ended ended;
	int rc = 0;

	lane->tried.state = lane->fresh = AS_STORE_NONE;
	while (!rc && !c->shared->stop) {
		lane->ended = false;
		rc = as_spawn_fork_limited(as_check_worker, &args, &limits, &ended, err);
		if (rc || lane->ended || (kernel && c->shared->stop))
			break;
		if (lane->phase == AS_CHECK_START)
			return as_fail(err, AS_EIO, "a worker ended before it began: %d %d",
				       ended.how, ended.status);
		as_check_died(c, lane, &ended);
		args.first = go_on_after(c, lane);
	}
	if (!rc && lane->tool_rc) {
		*err = lane->tool_err;
		rc = lane->tool_rc;
	}
	return rc;
}

static int be_lane(struct as_mate *mate, void *ctx, struct as_err *err)
{
	const struct as_checking *c = ctx;
	unsigned i = as_mate_seat(mate);

	return c->args->box ? as_check_lane_boxed(c, i, err) : as_check_lane_run(c, i, err);
}

/* ---- The leader ------------------------------------------------------------------------------ */

struct lead {
	struct as_checking *c;
	struct as_confirm *confirm;
	struct as_crew *crew; /* the lanes */
	struct lane_end {
		int rc;
		struct as_err err;
		bool cut; /* by us */
	} * end; /* of each lane */
	int64_t start_us, told_us, stop_us; /* stop_us 0: it goes on */
};

/* Whether there is no fresh file system because of a mistake of the target. */
static bool is_unfit(const struct as_checking *c)
{
	return c->runner && as_runner_unfit(c->runner);
}

/* Breadth-first search comes to the deepest states that are to be expanded at last: then no more
 * are found. The first of the frontier is one of the least depth. */
static int percent_of(const struct as_checking *c)
{
	const struct as_check_options *o = c->options;
	size_t left = as_store_frontier(c->store) + as_store_in_work(c->store);
	uint64_t done = c->shared->counts.expanded;
	uint32_t first;

	if (!left)
		return 100;
	if (o->search != AS_SEARCH_bfs || !o->depth || !as_store_first(c->store, &first) ||
	    as_store_at(c->store, first).depth + 1u < o->depth)
		return -1;
	return (int)(done * 100 / (done + left));
}

static unsigned count_answers(const struct as_checking *c)
{
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(c->shared->answers); i++)
		n += c->shared->answers[i];
	return n;
}

static void fill_status(const struct lead *l, struct as_check_status *status)
{
	const struct as_checking *c = l->c;
	uint32_t n = as_store_n(c->store);

	*status = (struct as_check_status){
		.counts = c->shared->counts,
		.states = as_store_distinct(c->store),
		.frontier = as_store_frontier(c->store),
		.bytes = as_store_bytes(c->store),
		.gaps = (uint64_t)as_store_gaps(c->store),
		.depth = n ? as_store_at(c->store, n - 1).depth : 0,
		.percent = percent_of(c),
		.answers = count_answers(c),
		.places = c->args->code ? c->args->code->n : 0,
		.wall_us = as_now_us() - l->start_us,
		.unfit = is_unfit(c),
	};
	status->all = !status->frontier && !as_store_in_work(c->store) && !c->shared->stop &&
		      !status->gaps;
}

static void tell(struct lead *l)
{
	struct as_check_status status;
	int64_t now = as_now_us();

	if (!l->c->args->progress || now - l->told_us < TELL_US)
		return;
	l->told_us = now;
	fill_status(l, &status);
	l->c->args->progress(l->c->args->ctx, &status);
}

static bool is_time_to_stop(const struct lead *l)
{
	const struct as_check_args *args = l->c->args;
	int64_t for_us = args->options->for_us;

	return (args->run->stop && *args->run->stop) ||
	       (args->options->max_findings &&
		l->c->shared->counts.findings >= args->options->max_findings) ||
	       (for_us && as_now_us() - l->start_us >= for_us);
}

/* How many lanes still work. */
static unsigned reap(struct lead *l)
{
	unsigned alive = 0;

	as_crew_wait(l->crew, TICK_MS);
	for (unsigned i = 0; i < l->c->options->jobs; i++) {
		struct lane_end *end = &l->end[i];
		size_t len;

		(void)!as_crew_next(l->crew, i, &len);
		if (as_crew_is_over(l->crew, i))
			end->rc = as_crew_ended(l->crew, i, &end->err);
		alive += as_crew_sits(l->crew, i);
	}
	return alive;
}

static int start(struct lead *l, struct as_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < l->c->options->jobs && !rc; i++)
		rc = as_crew_start(l->crew, i, be_lane, l->c, err);
	return rc;
}

/* A sandbox may take long for what it is doing. What is lost will be done again. */
static void end_boxes(struct lead *l)
{
	if (!l->c->args->box || !l->c->shared->stop)
		return;
	if (!l->stop_us)
		l->stop_us = as_now_us();
	for (unsigned i = 0; i < l->c->options->jobs && as_now_us() - l->stop_us > GRACE_US; i++)
		if (as_crew_sits(l->crew, i)) {
			as_crew_cut(l->crew, i);
			l->end[i].cut = true;
		}
}

/* While something is confirmed. */
static void meanwhile(void *ctx)
{
	struct lead *l = ctx;

	if (is_time_to_stop(l))
		l->c->shared->stop = 1;
	end_boxes(l);
	tell(l);
}

static int begin(struct lead *l, struct as_err *err)
{
	struct as_checking *c = l->c;
	int rc;

	if (is_unfit(c)) {
		as_store_gap(c->store, 1);
		return as_confirm_unfit(l->confirm, err);
	}
	rc = as_confirm_empty(l->confirm, err);
	return rc ? rc : start(l, err);
}

static int lead(struct lead *l, struct as_err *err)
{
	int rc = begin(l, err), one;

	while (reap(l)) {
		one = as_confirm_all(l->confirm, rc ? NULL : err);
		rc = rc ? rc : one;
		if (rc || is_time_to_stop(l))
			l->c->shared->stop = 1;
		end_boxes(l);
		tell(l);
	}
	one = as_confirm_all(l->confirm, rc ? NULL : err);
	rc = rc ? rc : one;
	if (!rc)
		rc = as_confirm_held(l->confirm, err);
	for (unsigned i = 0; i < l->c->options->jobs && !rc && !is_unfit(l->c); i++) {
		if (!l->end[i].rc || l->end[i].cut)
			continue;
		*err = l->end[i].err;
		rc = l->end[i].rc;
	}
	return rc;
}

/* ---- The beginning --------------------------------------------------------------------------- */

/* What the states depend on. */
static void print_ident(const struct as_checking *c, struct as_buf *out)
{
	const struct as_check_options *o = c->options;

	as_buf_addf(out,
		    "target %s, size %llu, nodes %u, slots %u, depth %u, crash %d, "
		    "crashes %u, hash %s, seed %llu, faults %u of %x, operations ",
		    as_target_spec(c->args->target), (unsigned long long)c->args->run->size_bytes,
		    c->universe.nodes, c->universe.slots, o->depth, o->crash, o->max_cuts,
		    as_check_hash_names[o->hash], (unsigned long long)c->args->run->seed,
		    o->max_faults, o->faults);
	as_universe_print(&c->universe, out);
	if (o->crash) {
		as_buf_adds(out, ", ");
		as_crash_options_print(&c->crash, out);
	}
	if (o->shards)
		as_buf_addf(out, ", shard %u/%u", o->shard, o->shards);
	if (c->args->run->kernel[0])
		as_buf_addf(out, ", kernel %s", c->args->run->kernel);
	if (as_target_build(c->args->target))
		as_buf_addf(out, ", library %016llx",
			    (unsigned long long)as_target_build(c->args->target));
	if (c->start) {
		struct as_digest text = as_hash(c->start->text, strlen(c->start->text));

		as_buf_addf(out, ", start %.200s %016llx", c->start->name,
			    (unsigned long long)text.lo);
	}
}

/* What a remount tries. Those of a type are for --wide: some are refused, which other shards do not
 * expect. */
static void choose_opts(struct as_checking *c)
{
	const struct as_check_options *o = c->options;

	c->universe.opts = o->opts ? o->opts : o->wide ? as_target_draw(c->args->target) : NULL;
	c->universe.has[AS_OP_REMOUNT] |= o->opts != NULL;
}

static int choose_ops(struct as_checking *c, struct as_err *err)
{
	const struct as_check_options *o = c->options;
	int rc = 0;

	if (o->ops) {
		rc = as_universe_choose(&c->universe, o->ops, err);
		if (rc)
			return as_fail_in(err, "--ops");
	} else if (c->start) {
		rc = as_universe_add(&c->universe, c->start->ops, err);
	}
	choose_opts(c);
	return rc;
}

/* The file system that it begins with, if it is known here, and what may be done with it. */
static int begin_with(struct as_checking *c, struct as_err *err)
{
	const struct as_check_options *o = c->options;
	struct as_box_state *state = c->args->run->state;
	struct as_start_args args = { c->args->target, c->args->run, c->fresh, c->given_start,
				      NULL };
	int rc = 0;

	if (state)
		args.alive = &((struct as_check_lane *)(void *)state->engine)->alive;
	if (o->start && !is_unfit(c))
		rc = c->args->box ? as_start_away(c, o->start, &c->start, err)
				  : as_start_make(&args, o->start, &c->start, err);
	if (!rc && c->start && !c->start->wrong)
		c->fresh = c->start->aged;
	if (rc)
		return rc;
	c->universe = as_universe_of(c->fresh.model, o->nodes);
	c->universe.wide = o->wide;
	c->universe.narrow = o->narrow;
	if (o->slots)
		c->universe.slots = o->slots;
	if (c->start) {
		c->universe.hidden = c->start->hidden;
		c->universe.n_hidden = c->start->n_hidden;
	}
	return choose_ops(c, err);
}

/* What went wrong while the start was made is a finding, and there is nothing to explore. */
static void blame_start(struct as_checking *c)
{
	c->shared->lane[0].tried.state = AS_STORE_NONE;
	as_suspect_add(c, &c->shared->lane[0], false, AS_FIND_OUTCOME, 0, c->start->wrong);
	AS_CHECK_ADD(c, lost, 1);
	as_store_gap(c->store, 1);
}

/* The state of a fresh file system. */
static int add_first(struct as_checking *c, struct as_err *err)
{
	const struct as_check_options *o = c->options;
	struct as_policy policy = as_policy_of(c->args->target);
	struct as_digest key = as_hash("fresh", 5);
	struct as_past *past = NULL;
	uint32_t id;

	if (c->fresh.model) {
		past = as_past_new(c->fresh.model, &policy);
		key = as_check_key(c->fresh.model, past, as_era_first(o->hash));
		as_past_put(past);
	}
	switch (as_store_add(c->store, key, AS_STORE_NONE, "", false, &id)) {
	case AS_STORE_FULL:
		return as_fail_errno(err, ENOSPC, "cannot keep a single state");
	case AS_STORE_NEW:
		(void)as_store_push(c->store, id, UINT64_MAX);
		return 0;
	default:
		return 0;
	}
}

/* Where the file system needs a sandbox, only those in it have a fresh one. */
static int make_fresh(struct as_checking *c, struct as_err *err)
{
	const struct as_check_options *o = c->options;
	int rc = 0;

	if (!(as_instance_caps(c->args->target) & AS_INSTANCE_IN_PROCESS) &&
	    o->hash == AS_CHECK_HASH_DISK)
		return as_fail(
			err, AS_EUSE,
			"target %s: --hash disk is for libraries: the clock of a kernel goes "
			"on, so no two disks are the same; --hash log works",
			as_target_spec(c->args->target));
	if (c->args->box)
		return begin_with(c, err);
	rc = as_runner_new(c->args->target, c->args->run, c->args->sinks, &c->runner, err);
	if (rc)
		return rc;
	c->fresh = as_runner_fresh(c->runner);
	if (!c->fresh.disk)
		return as_fail(err, AS_EUSE,
			       "target %s: states cannot be brought back without a disk of ours",
			       as_target_spec(c->args->target));
	return begin_with(c, err);
}

int as_checking_open(struct as_checking *c, struct as_err *err)
{
	const struct as_check_options *o = c->options;
	struct as_buf ident = { 0 };
	size_t room;
	int rc;

	c->crash = o->crashes;
	c->crash.faults = as_failing_of_recovery(o->faults);
	if (!c->crash.perm.sector_bytes)
		c->crash.perm.sector_bytes = as_target_sector_bytes(c->args->target);
	/* In a sandbox, whoever is outside has said so. */
	if (!c->skip && o->depth && (o->search != AS_SEARCH_bfs || o->jobs > 1))
		c->unordered = true;
	rc = make_fresh(c, err);
	if (rc)
		return rc;
	print_ident(c, &ident);
	rc = as_store_open(o->fd, as_buf_str(&ident), o->max_states, &c->store, err);
	as_buf_free(&ident);
	if (rc)
		return o->fd >= 0 ? as_fail_in(err, "the file of states of the folder") : rc;
	if (!c->start || !c->start->wrong)
		rc = add_first(c, err);
	if (rc)
		return rc;
	c->shared_bytes = sizeof(*c->shared) + o->jobs * sizeof(*c->shared->lane);
	c->shared = as_shared_alloc(c->shared_bytes);
	AS_CHECK_ADD(c, forgotten, as_store_bound(c->store, o->max_frontier, c->args->run->seed));
	/* What is in flight outlives the kernel of a sandbox; a disk that is checked outside of it
	 * has the memory after it. */
	as_assert(!c->args->run->state || (uint8_t *)as_outside_dump(c->args->run->state, &room) -
							  c->args->run->state->engine >=
						  (ptrdiff_t)(o->jobs * sizeof(*c->lane)));
	c->lane = c->args->run->state ? (struct as_check_lane *)(void *)c->args->run->state->engine
				      : c->shared->lane;
	c->dedup = as_xcalloc(o->jobs, sizeof(struct as_dedup *));
	for (unsigned i = 0; i < o->jobs; i++)
		c->dedup[i] = as_dedup_new();
	if (o->crash && as_instance_caps(c->args->target) & AS_INSTANCE_IN_PROCESS)
		c->board = as_board_new();
	as_check_code_open(c);
	if (c->start && c->start->wrong)
		blame_start(c);
	return 0;
}

void as_checking_close(struct as_checking *c)
{
	for (unsigned i = 0; c->dedup && i < c->options->jobs; i++)
		as_dedup_free(c->dedup[i]);
	free(c->dedup);
	as_check_code_close(c);
	as_board_free(c->board);
	if (c->shared)
		as_shared_free(c->shared, c->shared_bytes);
	as_store_close(c->store);
	as_start_free(c->start);
	as_runner_free(c->runner);
}

int as_check(const struct as_check_args *args, struct as_check_status *status, struct as_err *err)
{
	/* The leader says when to stop. */
	static const struct as_crew_plan plan = { .who = "a lane of the check",
						  .how = AS_BIRTH_DEAF };
	struct as_checking c = { .args = args, .options = args->options };
	struct lead l = { .c = &c, .start_us = as_now_us() };
	unsigned jobs = args->options->jobs;
	int rc = as_checking_open(&c, err);

	*status = (struct as_check_status){ 0 };
	if (!rc) {
		l.end = as_xcalloc(jobs, sizeof(*l.end));
		l.crew = as_crew_new(&plan, jobs);
		l.confirm = as_confirm_new(&c, meanwhile, &l);
		rc = lead(&l, err);
		fill_status(&l, status);
		as_shard_sum(&c, status);
		as_confirm_free(l.confirm);
		as_crew_free(l.crew);
		free(l.end);
	}
	as_checking_close(&c);
	return rc;
}
