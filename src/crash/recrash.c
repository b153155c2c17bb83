/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recrash: see recrash.h. The crash states of a recovery are those of its record (perm.h), in the
 * same views, beginning with the easiest. Each is recovered by the same way; at depth 2, that
 * recovery is interrupted, too.
 *
 * A power cut after the checker's last write must leave a disk on which it finds nothing more: by
 * then it has said that all is well.
 */
#include "crash/recrash.h"

#include "crash/again.h"
#include "cuts/plan.h"
#include "recording/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct recrash {
	const struct as_recrash_args *args;
	struct as_tree *tree; /* where every recovery must end */
	struct as_problem *problem;
	uint64_t until; /* how much may have been spent; 0: anything */
	struct as_again_trial trial;
	bool excused; /* of the state: what would have been wrong after another workload */
	bool any_excused;
	struct as_err *err;
	int rc;
};

/* One recovery that is disturbed. */
struct recrash_level {
	unsigned depth; /* 0: the first recovery */
	struct as_disk *crashed;
	struct as_digest key;
	const struct as_recovered *done;
	struct as_perm *perm;
	struct as_readset *readset;
};

static bool check_level(struct recrash *a, struct recrash_level *level);

static void level_open(struct recrash *a, struct recrash_level *level)
{
	struct as_perm_options options = a->args->options->perm;

	options.start_key = level->key;
	level->perm = as_perm_new(level->done->log, level->crashed, &options);
	level->readset = as_readset_new(level->done->log, level->crashed);
}

static void level_close(struct recrash_level *level)
{
	as_perm_free(level->perm);
	as_readset_free(level->readset);
}

/* ---- One state ------------------------------------------------------------------------------- */

static bool complain(struct recrash *a, const struct recrash_level *level,
		     const struct as_perm_state *state, const char *what, const char *why,
		     bool of_tree)
{
	/* Each level above the one with the problem only adds its spot. */
	if (!a->problem->notice && of_tree)
		(void)as_problem_set_tree(a->problem, AS_FIND_RECOVERY, a->args->way, what, why);
	else if (!a->problem->notice)
		(void)as_problem_set(a->problem, AS_FIND_RECOVERY, a->args->way, what, why);
	as_spot_of_state(level->perm, state, &a->problem->then[level->depth]);
	return false;
}

/* A checker that makes /lost+found was interrupted while it did, or before: then a mount alone may
 * find none, if none had to be there. */
static bool only_found_differs(const struct recrash *a, const struct as_tree *tree)
{
	const struct as_recording *rec = a->args->recording;
	struct as_tree *was = as_legal_without_found(rec->history, a->tree, true);
	struct as_tree *is = as_legal_without_found(rec->history, tree, true);
	bool same = was && !as_tree_diff(was, "", is ? is : tree, "", NULL);
	struct as_legal verdict = { 0 };

	if (same && !is)
		same = as_recording_allows(rec, AS_WAY_MOUNT, a->args->moment, tree, &verdict);
	as_legal_free(&verdict);
	as_tree_put(was);
	as_tree_put(is);
	return same;
}

static bool judge_end(struct recrash *a, struct recrash_level *level,
		      const struct as_perm_state *state, const struct as_recovered *recovered,
		      const char *then)
{
	struct as_buf how = { 0 };
	char what[96];
	bool fine, same;

	snprintf(what, sizeof(what), "a power cut during recovery (%s%s)",
		 as_way_name(a->args->way), then);
	if (recovered->end != AS_RECOVERED)
		return complain(a, level, state, what, as_buf_str(&recovered->why), false);
	same = !as_tree_diff(a->tree, "undisturbed", recovered->tree, "after a second crash", &how);
	fine = same ||
	       as_recording_allows_redone(a->args->recording, a->args->moment, recovered->tree) ||
	       (a->args->way != AS_WAY_MOUNT && only_found_differs(a, recovered->tree));
	a->excused |= !same;
	if (!fine)
		complain(a, level, state, what, as_buf_str(&how), true);
	as_buf_free(&how);
	return fine;
}

/* After the checker has said that all is well, it must find nothing. */
static bool judge_peace(struct recrash *a, struct recrash_level *level,
			const struct as_perm_state *state, struct as_disk *disk)
{
	struct as_recoverer *recoverer = a->args->recoverer;
	struct as_perm_cut cut = as_perm_cut(level->perm, state->cut);
	struct as_buf why = { 0 };
	bool fine = true;

	if (a->args->way == AS_WAY_MOUNT || a->args->way == AS_WAY_QUICK ||
	    cut.at != level->done->checker_end)
		return true;
	a->args->flight->spent += AS_COST_CHECK;
	as_again_run(&a->trial);
	fine = as_recover_at_peace(recoverer, disk, &why);
	if (!fine)
		complain(a, level, state, "a power cut right after the checker's run",
			 as_buf_str(&why), false);
	as_buf_free(&why);
	return fine;
}

static void count(struct recrash *a, const struct as_recovered *recovered)
{
	a->args->counts->again_checked += !recovered->memoised;
	a->args->counts->again_memoised += recovered->memoised;
	a->args->flight->spent += recovered->memoised ? AS_COST_MEMO : AS_COST_RECOVERY;
}

/* The power failed during the checker's run, and the disk is mounted without another run. */
static bool judge_mount(struct recrash *a, struct recrash_level *level,
			const struct as_perm_state *state, struct as_disk *disk)
{
	struct as_recoverer *recoverer = a->args->recoverer;
	struct as_recovered recovered;
	bool fine = true;

	as_again_run(&a->trial);
	a->rc = as_recover(recoverer, AS_WAY_MOUNT, disk, AS_RECOVER_PROBE, &recovered, a->err);
	count(a, &recovered);
	if (!a->rc && recovered.end != AS_REFUSED)
		fine = judge_end(a, level, state, &recovered, ", then mount");
	as_recovered_free(&recovered);
	return fine;
}

static bool try_state(struct recrash *a, struct recrash_level *level,
		      const struct as_perm_state *state, struct as_disk *disk)
{
	unsigned deeper = level->depth + 1 < a->args->options->again;
	struct as_recovered recovered;
	bool fine;

	as_again_run(&a->trial);
	a->rc = as_recover(a->args->recoverer, a->args->way, disk,
			   AS_RECOVER_PROBE | (deeper ? AS_RECOVER_LOG : 0), &recovered, a->err);
	count(a, &recovered);
	fine = !a->rc && judge_end(a, level, state, &recovered, "") &&
	       judge_peace(a, level, state, disk);
	if (fine && deeper && recovered.log) {
		struct recrash_level next = { .depth = level->depth + 1,
					      .crashed = disk,
					      .key = state->key,
					      .done = &recovered };

		level_open(a, &next);
		fine = check_level(a, &next);
		if (!fine && !a->rc)
			complain(a, level, state, "", "", false);
		level_close(&next);
	}
	as_recovered_free(&recovered);
	return fine;
}

/* The rules by which the state is left out; 0: it must be tried. */
static unsigned prunes(struct recrash *a, struct recrash_level *level,
		       const struct as_perm_state *state, struct as_disk *disk)
{
	unsigned rules = as_readset_prunes(level->readset, level->perm, state, disk);
	unsigned on = a->args->options->prune;

	if (!rules || rules & ~on & AS_PRUNE_ALL)
		return 0;
	if (rules & AS_PRUNE_OWN)
		a->args->counts->pruned[2]++;
	else if (rules & AS_PRUNE_SAME)
		a->args->counts->pruned[1]++;
	else
		a->args->counts->pruned[0]++;
	return rules;
}

/* A checker that has not written anything yet cannot have done harm. */
static bool is_harmless(const struct recrash *a, const struct recrash_level *level,
			const struct as_perm_state *state)
{
	return a->args->way == AS_WAY_MOUNT || !as_recoverer_mounts_unchecked(a->args->recoverer) ||
	       as_digest_eq(state->key, level->key);
}

/* All that is asked of a state. */
static bool try_all(struct recrash *a, struct recrash_level *level,
		    const struct as_perm_state *state, struct as_disk *disk, bool left_out)
{
	/* Recovery cannot see the difference, but the checker must still find nothing. */
	bool fine = left_out && !(a->args->options->prune & AS_PRUNE_VERIFY)
			    ? judge_peace(a, level, state, disk)
			    : try_state(a, level, state, disk);

	if (fine && !a->rc && !is_harmless(a, level, state))
		fine = judge_mount(a, level, state, disk);
	return fine;
}

static bool visit(struct recrash *a, struct recrash_level *level, const struct as_perm_state *state)
{
	/* Where the checker has ended, more is asked of the disk. */
	bool ended = as_perm_cut(level->perm, state->cut).at == level->done->checker_end;
	struct as_digest judged = as_dedup_recrash(state->key, a->args->way, ended, a->tree);
	struct as_again_state of = { judged, level->readset, level->perm, state };
	struct as_flight *flight = a->args->flight;
	struct as_disk *disk;
	bool fine = true, left_out;
	unsigned how;

	a->args->counts->again++;
	a->args->flight->spent += AS_COST_LOOK;
	if (as_again_has(&a->trial, &of, as_dedup_has(a->args->dedup, judged)))
		return true;
	flight->then[level->depth].cut = state->cut;
	flight->then[level->depth].index = state->index;
	flight->then[level->depth].view = state->view;
	flight->alive++;
	disk = as_perm_disk(level->perm);
	left_out = prunes(a, level, state, disk);
	how = left_out | ended << 1 | is_harmless(a, level, state) << 2;
	/* With writes, whether it is harmless depends on what was there. */
	if (a->args->way != AS_WAY_MOUNT && as_digest_eq(state->key, level->key) &&
	    as_perm_cut(level->perm, state->cut).at)
		as_again_mind_writes(&a->trial, level->done->log);
	if (!as_again_knows(&a->trial, &of, disk, how)) {
		a->excused = false;
		fine = try_all(a, level, state, disk, left_out);
		if (fine && !a->rc)
			as_again_keep(&a->trial, &of, disk, how, a->excused);
		a->any_excused |= a->excused;
	}
	flight->then[level->depth].view = 0;
	as_disk_free(disk);
	if (fine && !a->rc)
		as_dedup_add(a->args->dedup, judged);
	return fine;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* Whether a cut is where the checker has ended: all states are tried there, as more is asked. */
static bool is_after_checker(const struct recrash_level *level, size_t cut)
{
	size_t at = as_perm_cut(level->perm, cut).at;

	return at && at == level->done->checker_end;
}

static bool plan_all(void *ctx, enum as_view view, size_t cut)
{
	(void)view;
	return is_after_checker(ctx, cut);
}

static bool is_used_up(const struct recrash *a)
{
	return a->until && a->args->flight->spent >= a->until;
}

static bool visit_turn(struct recrash *a, struct recrash_level *level,
		       const struct as_crash_turn *turn)
{
	struct as_perm_state state;
	bool fine = true;

	as_crash_turn_begin(turn, level->perm);
	while (fine && !a->rc && as_perm_next(level->perm, &state)) {
		if (is_used_up(a))
			return true;
		fine = visit(a, level, &state);
	}
	if (fine && !a->rc)
		a->args->counts->again_possible -= as_crash_turn_missing(turn, level->perm);
	return fine;
}

static bool check_level(struct recrash *a, struct recrash_level *level)
{
	uint64_t spent = a->args->flight->spent;
	struct as_crash_plan_of of = { .perm = level->perm,
				       .views = a->args->options->views,
				       .limit = a->until > spent ? a->until - spent
						: a->until	 ? 1
								 : 0,
				       .cost = AS_COST_RECOVERY,
				       .all = plan_all,
				       .ctx = level };
	struct as_crash_plan *plan = as_crash_plan_new(&of);
	struct as_crash_turn turn;
	bool fine = true;

	a->args->counts->again_possible += as_crash_plan_count(plan);
	while (fine && !a->rc && !is_used_up(a) && as_crash_plan_next(plan, &turn))
		fine = visit_turn(a, level, &turn);
	as_crash_plan_free(plan);
	return fine && !a->rc;
}

bool as_recrash(const struct as_recrash_args *args, struct as_disk *crashed, struct as_digest key,
		const struct as_recovered *first, struct as_problem *problem, int *rc,
		struct as_err *err)
{
	struct recrash a = { .args = args, .tree = first->tree, .problem = problem, .err = err };
	struct recrash_level level = { .crashed = crashed, .key = key, .done = first };
	struct as_digest twin = as_dedup_twin(args->way, first);
	bool fine;

	*rc = 0;
	a.until = args->limit ? args->flight->spent + args->limit : 0;
	if (args->options->prune & AS_PRUNE_TWIN && as_dedup_has(args->dedup, twin)) {
		args->counts->twins++;
		if (!(args->options->prune & AS_PRUNE_VERIFY))
			return true;
	}
	as_again_begin(&a.trial, args->again, args->way, crashed, first);
	level_open(&a, &level);
	fine = check_level(&a, &level);
	level_close(&level);
	if (fine)
		as_dedup_add(args->dedup, twin);
	if (!fine && !a.rc && as_again_erred(&a.trial))
		a.rc = as_fail(err, AS_EIO, "power cuts during recovery remembered wrongly: %s",
			       problem->notice->detail);
	as_again_end(&a.trial, crashed, first, fine && !a.any_excused && !a.until);
	*rc = a.rc;
	return fine;
}

static bool pick(struct recrash_level *level, const struct as_crash_spot *spot,
		 struct as_perm_state *state)
{
	if (spot->cut >= as_perm_cuts(level->perm))
		return false;
	return as_spot_pick(spot, level->perm, is_after_checker(level, spot->cut), state);
}

static bool at_spots(struct recrash *a, struct recrash_level *level,
		     const struct as_crash_spot *then)
{
	bool deeper = level->depth + 1 < AS_CRASH_AGAIN_MAX && then[1].view;
	struct as_recovered recovered = { 0 };
	struct as_perm_state state;
	struct as_disk *disk;
	bool fine = true;

	if (!pick(level, then, &state))
		return true;
	disk = as_perm_disk(level->perm);
	a->rc = as_recover(a->args->recoverer, a->args->way, disk,
			   AS_RECOVER_PROBE | (deeper ? AS_RECOVER_LOG : 0), &recovered, a->err);
	if (!a->rc)
		fine = judge_end(a, level, &state, &recovered, "") &&
		       judge_peace(a, level, &state, disk) &&
		       (is_harmless(a, level, &state) || judge_mount(a, level, &state, disk));
	if (fine && deeper && !a->rc && recovered.log) {
		struct recrash_level next = { .depth = level->depth + 1,
					      .crashed = disk,
					      .key = state.key,
					      .done = &recovered };

		level_open(a, &next);
		fine = at_spots(a, &next, then + 1);
		if (!fine)
			complain(a, level, &state, "", "", false);
		level_close(&next);
	}
	as_recovered_free(&recovered);
	as_disk_free(disk);
	return fine && !a->rc;
}

bool as_recrash_at(const struct as_recrash_args *args, struct as_disk *crashed,
		   struct as_digest key, const struct as_recovered *first,
		   const struct as_crash_spot *then, struct as_problem *problem, int *rc,
		   struct as_err *err)
{
	struct recrash a = { .args = args, .tree = first->tree, .problem = problem, .err = err };
	struct recrash_level level = { .crashed = crashed, .key = key, .done = first };
	bool fine;

	level_open(&a, &level);
	fine = at_spots(&a, &level, then);
	level_close(&level);
	*rc = a.rc;
	return fine;
}
