/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child: see child.h. */
#include "crash/child.h"

#include "crash/boxed.h"
#include "os/spawn.h"
#include "recover/recover_kernel.h"
#include "run/child.h"
#include "target/fstype.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

struct child_judging {
	const struct as_crash_args *args;
	const struct as_recording *recording;
	struct as_crash_keeper *keeper; /* NULL: nobody watches from outside */
	struct as_flight_spot behind;
	struct as_recoverer *recoverer; /* in the process that judges */
};

/* ---- Judging, in a process of its own -------------------------------------------------------- */

static bool found(void *ctx, struct as_perm *perm, const struct as_perm_state *state,
		  const struct as_problem *wrong)
{
	struct child_judging *j = ctx;

	return as_crash_found(j->args, j->recording, perm, state, wrong, j->recoverer);
}

static bool known(void *ctx, const struct as_problem *wrong)
{
	struct child_judging *j = ctx;

	return as_crash_found_already(j->args->shared, as_buf_str(&wrong->signature));
}

static void recovers(void *ctx, struct as_disk *disk)
{
	struct child_judging *j = ctx;

	/* What the target says belongs to one disk. */
	j->args->shared->log.total_bytes = 0;
	if (j->keeper)
		as_crash_keep(j->keeper, disk);
}

static int make_recoverer(const struct as_crash_args *args, struct as_recoverer **recoverer,
			  struct as_err *err)
{
	const struct as_fstype *type = as_target_fstype(args->target);
	unsigned deadline = args->run->deadline_ms ? args->run->deadline_ms : AS_RUN_DEADLINE_MS;
	/* A checker that hangs is to be told from a kernel that does: it comes first. */
	struct as_steps_options steps = { .mount_opts = as_target_opts(args->target),
					  .deadline_ms = deadline / 2,
					  .memo = args->options->memo };

	*recoverer = NULL;
	if (type && type->server)
		return as_fail(
			err, AS_EUSE,
			"target %s: the kernel tells a FUSE server nothing of sync, so there "
			"is nothing to be promised",
			as_target_spec(args->target));
	*recoverer = type ? as_recoverer_kernel(type, &steps)
			  : as_recoverer_lib(args->target, args->run->seed, args->options->memo,
					     &args->shared->log);
	return 0;
}

/* Those that were asked for and are not there would be left out without a word. */
static int check_ways(const struct as_crash_args *args, const struct as_recoverer *recoverer,
		      struct as_err *err)
{
	struct as_buf there = { 0 }, asked = { 0 };
	uint32_t missing = args->options->ways & ~recoverer->ways;
	int rc = 0;

	if (missing) {
		as_ways_print(missing, &asked);
		as_ways_print(recoverer->ways, &there);
		rc = as_fail(err, AS_EUSE, "target %s: it cannot be recovered by %s, only by %s",
			     as_target_spec(args->target), as_buf_str(&asked), as_buf_str(&there));
	}
	as_buf_free(&there);
	as_buf_free(&asked);
	return rc;
}

static bool ways_agree(const struct as_target *target)
{
	const struct as_fstype *type = as_target_fstype(target);

	return !type || type->guarantee != AS_GUARANTEE_REPAIR;
}

/* Thousands of recoveries take and give back the same memory: it is not handed to the kernel in
 * between. */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 4 << 20);
}

static int judge_inside(void *ctx)
{
	struct child_judging *j = ctx;
	struct as_crash_shared *sh = j->args->shared;
	struct as_recoverer *recoverer;
	struct as_judge_args args = { .recording = j->recording,
				      .options = j->args->options,
				      .ways_agree = ways_agree(j->args->target),
				      .seen = j->args->seen,
				      .flight = &sh->flight,
				      .counts = &sh->counts,
				      .found = found,
				      .known = known,
				      .recovers = recovers,
				      .ctx = j,
				      .behind = j->behind };

	as_child_begin();
	keep_memory();
	sh->tool_rc = make_recoverer(j->args, &recoverer, &sh->tool_err);
	if (!sh->tool_rc)
		sh->tool_rc = check_ways(j->args, recoverer, &sh->tool_err);
	if (!sh->tool_rc && j->args->run->state)
		j->keeper = as_crash_keeper_new(j->args->run->state, j->recording->start);
	if (!sh->tool_rc) {
		args.recoverer = j->recoverer = recoverer;
		sh->tool_rc = as_judge_all(&args, &sh->tool_err);
	}
	as_crash_keeper_free(j->keeper);
	j->keeper = NULL;
	as_recoverer_free(recoverer);
	sh->judged = true;
	return 0;
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

/* The state in flight, made again from its numbers. */
static bool perm_at_flight(struct child_judging *j, struct as_perm *perm,
			   struct as_perm_state *state)
{
	const struct as_flight *flight = &j->args->shared->flight;

	if (!flight->state.view || flight->state.cut >= as_perm_cuts(perm))
		return false;
	as_perm_begin(perm, (enum as_view)flight->state.view, flight->state.cut, flight->all);
	while (as_perm_next(perm, state))
		if (state->index == flight->state.index)
			return true;
	return false;
}

static void note_then(const struct as_flight *flight, struct as_problem *wrong)
{
	for (unsigned i = 0; i < AS_CRASH_AGAIN_MAX && flight->then[i].view; i++) {
		struct as_crash_spot *spot = &wrong->then[i];

		spot->view = flight->then[i].view;
		spot->cut = flight->then[i].cut;
		snprintf(spot->units, sizeof(spot->units), "#%llu",
			 (unsigned long long)flight->then[i].index);
	}
}

/* False: nobody was in flight; it is no use to go on. */
static bool found_dead(struct child_judging *j, const struct as_ended *ended)
{
	const struct as_crash_args *args = j->args;
	struct as_flight *flight = &args->shared->flight;
	struct as_perm *perm =
		as_perm_new(j->recording->log, j->recording->start, &args->options->perm);
	struct as_problem wrong = { 0 };
	struct as_perm_state state;
	char why[96];
	bool at = perm_at_flight(j, perm, &state);

	if (ended->how == AS_END_SIGNAL)
		snprintf(why, sizeof(why), "died of %s", as_signal_name(ended->status));
	else if (ended->how == AS_END_EXIT)
		snprintf(why, sizeof(why), "called exit");
	else
		snprintf(why, sizeof(why), "did not come back");
	if (at) {
		(void)as_problem_set(&wrong,
				     ended->how == AS_END_DEADLINE ? AS_FIND_HANG : AS_FIND_SIGNAL,
				     (enum as_way)flight->way, "recovery", why);
		wrong.moment = as_judge_moment(j->recording, perm, state.view, state.cut);
		note_then(flight, &wrong);
		if (!as_crash_found_already(args->shared, as_buf_str(&wrong.signature)))
			at = as_crash_found(args, j->recording, perm, &state, &wrong, NULL);
		j->behind = flight->state;
	}
	as_problem_free(&wrong);
	as_perm_free(perm);
	return at;
}

static int judge_all(const struct as_crash_args *args, const struct as_recording *recording,
		     struct as_err *err)
{
	struct child_judging j = { .args = args, .recording = recording };
	unsigned deadline = args->run->deadline_ms ? args->run->deadline_ms : AS_RUN_DEADLINE_MS;
	struct as_crash_shared *sh = args->shared;
	struct as_ended ended;
	int rc = 0;

	for (unsigned deaths = 0; deaths < AS_CRASH_DEATHS_MAX && !sh->judged && !rc; deaths++) {
		sh->flight.state.view = 0;
		rc = as_spawn_fork(judge_inside, &j, deadline, &sh->flight.alive, &ended, err);
		if (!rc && !sh->judged && !found_dead(&j, &ended))
			break;
	}
	if (!rc && !sh->judged && !sh->n_found)
		rc = as_fail(err, AS_EIO, "the process that judges crash states ended early");
	return rc ? rc : sh->tool_rc;
}

/* ---- Recording ------------------------------------------------------------------------------- */

static void step(void *ctx, int64_t op)
{
	struct as_crash_shared *sh = ctx;

	sh->op = op;
	sh->flight.alive++;
}

static void found_wrong_answer(const struct as_crash_args *args,
			       const struct as_recording *recording)
{
	struct as_problem wrong = { 0 };

	(void)as_problem_set(&wrong, recording->kind, AS_WAY_MOUNT, "without a power cut",
			     as_buf_str(&recording->why));
	(void)as_crash_found(args, recording, NULL, NULL, &wrong, NULL);
	as_problem_free(&wrong);
}

int as_crash_inside(void *ctx)
{
	const struct as_crash_args *args = ctx;
	struct as_crash_shared *sh = args->shared;
	struct as_record_args record = { .target = args->target,
					 .fresh = args->fresh,
					 .seq = args->seq,
					 .seed = args->run->seed,
					 .log = &sh->log,
					 .step = step,
					 .ctx = sh };
	struct as_recording recording = { 0 };

	as_child_begin();
	sh->op = -1;
	sh->tool_rc = as_target_load(args->target, &sh->tool_err);
	if (!sh->tool_rc)
		sh->tool_rc = as_record(&record, &recording, &sh->tool_err);
	sh->ops = recording.n_ops;
	if (!sh->tool_rc) {
		sh->recorded = true;
		if (recording.wrong)
			found_wrong_answer(args, &recording);
		sh->tool_rc = judge_all(args, &recording, &sh->tool_err);
	}
	as_recording_free(&recording);
	sh->finished = true;
	return 0;
}
