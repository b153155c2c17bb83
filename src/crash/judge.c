/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: see judge.h.
 *
 * Method. Views are gone through one after the other, beginning with the easiest, so that a problem
 * is found in the easiest view that shows it. In each view, cuts come in order, and at each cut its
 * states. With a budget the order is another one (plan.h). Then, and where a view was not asked
 * for, easier views are searched for a problem before it is reported.
 *
 * What was flushed stays (floor.h). The views that keep the order of writes come first, so the
 * states at flushes are known when the others are judged.
 * What rests on the order of writes. If a mount option takes this order away (nobarrier), any disk
 * can be left, and nothing follows from what recovery makes of it. Then only what no disk excuses
 * is reported: something that dies or hangs.
 *
 * What is left out. A state that was met before is not judged again if the same is allowed
 * (dedup.h). A disk that was met before at another moment is judged, but not recovered again.
 */
#include "crash/judge.h"

#include "crash/again.h"
#include "crash/ends.h"
#include "crash/faults.h"
#include "crash/floor.h"
#include "crash/recrash.h"
#include "crash/spending.h"
#include "cuts/plan.h"
#include "recording/orders.h"

#include <string.h>

struct judge {
	const struct as_judge_args *args;
	const struct as_crash_options *options;
	const struct as_recording *rec;
	struct as_perm *perm;
	uint32_t ways;
	uint64_t limit; /* what may be spent (plan.h); 0: anything */
	struct as_ends_known known; /* disks that were recovered */
	struct as_floor floor;
	uint64_t again; /* what a recovery may take for power cuts during it; 0: by the plan */
	struct as_legal legal;
	struct as_err *err;
	int rc;
};

/* ---- One state ------------------------------------------------------------------------------- */

/* One state while it is judged. */
struct judge_subject {
	struct as_digest key;
	struct as_disk *disk; /* made when it is needed */
	struct as_moment moment;
	size_t stable; /* entries of the record that were */
	bool ordered; /* as_legal_is_ordered() at this moment */
	const struct as_crash_spot *then; /* judge only these recrashes; NULL: all */
	struct as_recovered recovered[AS_WAYS]; /* with their records, for crashes during them */
	bool worked; /* some recovery was not taken from the memo */
	bool before; /* it is before all that is judged */
};

static struct as_disk *subject_disk(struct judge *j, struct judge_subject *s)
{
	if (!s->disk)
		s->disk = as_perm_disk(j->perm);
	return s->disk;
}

static void subject_done(struct judge_subject *s)
{
	for (unsigned w = 0; w < AS_WAYS; w++)
		as_recovered_free(&s->recovered[w]);
	as_disk_free(s->disk);
	s->disk = NULL;
}

/* What may be spent on power cuts during a recovery of the state in flight; 0: nothing, where there
 * is a limit. It only falls while a state is judged. */
static uint64_t recrash_limit(const struct judge *j)
{
	uint64_t part = as_share_part(&j->options->share, AS_SHARE_AGAIN, j->limit,
				      as_crash_plan_again_part(j->limit));

	return j->again ? j->again
			: as_crash_plan_again(part, j->args->flight->spent_again, j->ways, j->perm,
					      &j->args->flight->state);
}

/* Whether the record of a recovery is needed: without one, a kernel recovers faster. */
static bool is_recrashed(const struct judge *j, const struct judge_subject *s)
{
	return j->options->again && (s->then || !j->limit || recrash_limit(j));
}

/* Recovers by one way, unless its end is known. False: an error of ours. */
static bool go(struct judge *j, struct judge_subject *s, enum as_way way)
{
	struct as_ends *known = as_ends_get(&j->known, s->key);
	struct as_recovered *recovered = &s->recovered[way];
	unsigned flags = AS_RECOVER_PROBE | (is_recrashed(j, s) ? AS_RECOVER_LOG : 0);

	if (known->end[way].done && !s->then && !j->args->anew)
		return true;
	if (way == AS_WAY_COMMIT &&
	    as_ends_keep_commit(known, &s->recovered[AS_WAY_MOUNT], s->disk))
		return true;
	j->args->flight->way = way;
	j->args->flight->alive++;
	if (j->args->recovers)
		j->args->recovers(j->args->ctx, subject_disk(j, s), j->perm);
	j->rc = as_again_recover(j->args, way, subject_disk(j, s), way == AS_WAY_COMMIT ? 0 : flags,
				 recovered, j->err);
	if (j->rc)
		return false;
	if (j->args->recovered && !s->before)
		j->args->recovered(j->args->ctx, recovered);
	s->worked |= !recovered->memoised;
	j->args->flight->spent += recovered->memoised ? AS_COST_MEMO : as_crash_cost(1u << way);
	if (!known->end[way].done)
		as_ends_keep(&known->end[way], recovered);
	return true;
}

static bool faults(struct judge *j, struct judge_subject *s, enum as_way way,
		   const struct as_recovered *recovered, struct as_problem *problem)
{
	struct as_faults_args args = { .recoverer = j->args->recoverer,
				       .what = j->options->faults,
				       .recording = j->rec,
				       .moment = s->moment,
				       .way = way,
				       .flight = j->args->flight,
				       .counts = j->args->counts };

	return as_faults(&args, s->disk, recovered->tree, problem, &j->rc, j->err);
}

static bool recrash(struct judge *j, struct judge_subject *s, enum as_way way,
		    const struct as_recovered *recovered, struct as_problem *problem)
{
	struct as_recrash_args args = { .recoverer = j->args->recoverer,
					.recording = j->rec,
					.moment = s->moment,
					.options = j->options,
					.way = way,
					.dedup = j->args->dedup,
					.flight = j->args->flight,
					.counts = j->args->counts,
					.again = j->args->again };
	uint64_t before = j->args->flight->spent;
	bool fine;

	j->args->flight->way = way;
	if (s->then)
		return as_recrash_at(&args, s->disk, s->key, recovered, s->then, problem, &j->rc,
				     j->err);
	args.limit = recrash_limit(j);
	if (j->limit && !args.limit)
		return true;
	fine = as_recrash(&args, s->disk, s->key, recovered, problem, &j->rc, j->err);
	j->args->flight->spent_again += j->args->flight->spent - before;
	return fine;
}

/* Disturbs the recoveries that were carried out for this state: power cuts, reads that fail. */
static bool disturb(struct judge *j, struct judge_subject *s, struct as_problem *problem)
{
	bool fine = true;

	for (unsigned w = 0; w < AS_WAYS && fine && !j->rc; w++) {
		const struct as_recovered *first = &s->recovered[w];

		if (first->end != AS_RECOVERED || !first->tree)
			continue;
		if (first->log)
			fine = recrash(j, s, (enum as_way)w, first, problem);
		if (fine && !j->rc && j->options->faults && !first->memoised)
			fine = faults(j, s, (enum as_way)w, first, problem);
	}
	return fine;
}

/* Whether what recovery came to may be; j->legal says why not. */
static bool is_legal(struct judge *j, const struct judge_subject *s, enum as_way way,
		     const struct as_tree *tree)
{
	uint32_t floor = as_floor_at(&j->floor, way, s->stable);
	bool legal;

	legal = as_recording_allows(j->rec, way, s->moment, tree, &j->legal);
	j->args->counts->unjudged += legal && j->legal.unjudged;
	if (!legal)
		return false;
	if (j->legal.newest != AS_LEGAL_NO_POINT && j->legal.newest < floor)
		as_legal_say_older(j->rec->history, floor, &j->legal);
	return j->legal.legal;
}

/* An error was met while the workload ran, and the mount refuses or leaves work to the checker. */
static bool is_marked(const struct judge *j, const struct judge_subject *s, enum as_way way,
		      const struct as_ended_way *end)
{
	return (end->end == AS_REFUSED && s->moment.begun >= j->rec->refused_from) ||
	       (way == AS_WAY_MOUNT && end->end == AS_COMPLAINED && end->tree &&
		s->moment.begun >= j->rec->marked_from);
}

static bool judge_end(struct judge *j, const struct judge_subject *s, enum as_way way,
		      struct as_problem *problem)
{
	const struct as_ended_way *end = &as_ends_get(&j->known, s->key)->end[way];

	if (!s->ordered && end->end != AS_DIED && end->end != AS_HUNG)
		return true;
	/* A wrong tree says more than what fails after it. */
	if ((!end->tree || is_legal(j, s, way, end->tree)) &&
	    as_recording_allows_quotas(j->rec, s->moment, end->counted, &j->legal))
		return end->end == AS_RECOVERED || is_marked(j, s, way, end) ||
		       as_problem_set(problem, AS_FIND_CRASH, way, as_recovery_end_name(end->end),
				      end->why ? end->why : "");
	(void)as_problem_set(problem, AS_FIND_CRASH, way, as_rule_name(j->legal.rule),
			     as_buf_str(&j->legal.why));
	as_problem_sign(problem, as_buf_str(&j->legal.signature));
	problem->promise = j->legal.op;
	return false;
}

/* After an unmount that returned, there must be nothing to recover. */
static bool judge_peace(struct judge *j, struct judge_subject *s, struct as_problem *problem)
{
	struct as_recoverer *recoverer = j->args->recoverer;
	struct as_ends *known = as_ends_get(&j->known, s->key);
	struct as_buf why = { 0 };

	if (!as_recording_is_unmounted(j->rec, s->moment) || known->peace > 0)
		return true;
	j->args->flight->spent += AS_COST_CHECK;
	if (as_recover_at_peace(recoverer, subject_disk(j, s), &why))
		known->peace = 1;
	else
		(void)as_problem_set(problem, AS_FIND_CRASH, AS_WAY_FULL,
				     "after an unmount that returned", as_buf_str(&why));
	as_buf_free(&why);
	return !problem->notice;
}

/* True: there is no problem. */
static bool judge_state(struct judge *j, struct judge_subject *s, struct as_problem *problem)
{
	bool fine = true;

	as_problem_free(problem);
	problem->moment = s->moment;
	s->ordered = as_recording_is_ordered(j->rec, s->moment);
	for (unsigned w = 0; w < AS_WAYS && fine && !j->rc; w++)
		if (j->ways >> w & 1)
			fine = go(j, s, (enum as_way)w) && judge_end(j, s, (enum as_way)w, problem);
	if (fine && !j->rc && s->ordered)
		fine = (!j->args->ways_agree || as_ends_agree(as_ends_get(&j->known, s->key),
							      j->ways, j->rec->history, problem)) &&
		       judge_peace(j, s, problem) && disturb(j, s, problem);
	subject_done(s);
	return fine;
}

/* ---- All states ------------------------------------------------------------------------------ */

enum go_on { GO_ON, STOP };

static bool is_wanted(const struct judge *j, const struct as_problem *problem)
{
	return !j->options->spot.view || as_problem_sig(problem) == j->options->sig;
}

static void note_flight(struct judge *j, const struct as_perm_state *state)
{
	struct as_flight *flight = j->args->flight;

	flight->state.view = state->view;
	flight->state.cut = state->cut;
	flight->state.index = state->index;
	flight->then[0].view = flight->then[1].view = 0;
	flight->alive++;
}

static enum go_on tell(struct judge *j, const struct as_perm_state *state,
		       const struct as_problem *problem);
static struct judge_subject subject_of(const struct judge *j, const struct as_perm_state *state,
				       struct as_moment moment)
{
	return (struct judge_subject){ .key = state->key,
				       .moment = moment,
				       .stable = as_perm_cut(j->perm, state->cut).base_end };
}

/* At a flush: all that comes later must lead to what this disk leads to, or to more. With all
 * writes before it, the disk is that of the cut before. */
static void note_floor(struct judge *j, const struct as_perm_state *state, struct judge_subject *s)
{
	size_t k = state->cut + !as_perm_cut(j->perm, state->cut).flushed;
	const struct as_ends *known;
	struct as_perm_cut cut;

	if (state->view != AS_VIEW_SYNC_ATOMIC || k >= as_perm_cuts(j->perm) || j->rc)
		return;
	cut = as_perm_cut(j->perm, k);
	if (!cut.flushed || cut.base_end != cut.at || !as_recording_is_ordered(j->rec, s->moment))
		return;
	/* Another process may have judged it. */
	for (unsigned w = 0; w < AS_WAYS && !j->rc; w++)
		if (j->ways >> w & 1)
			(void)go(j, s, (enum as_way)w);
	subject_done(s);
	known = as_ends_get(&j->known, s->key);
	for (unsigned w = 0; w < AS_WAYS; w++)
		if (known->end[w].tree && is_legal(j, s, (enum as_way)w, known->end[w].tree) &&
		    j->legal.oldest != AS_LEGAL_NO_POINT)
			as_floor_note(&j->floor, (enum as_way)w, cut.at, j->legal.oldest);
}

/* Where the first operations are not judged, their last flush is a floor all the same. */
static void note_first_floor(struct judge *j)
{
	size_t flush = as_judge_last_flush(j->rec, j->perm, j->args->begun_min);
	struct as_perm_state state;
	struct judge_subject s;

	as_perm_begin(j->perm, AS_VIEW_SYNC_ATOMIC, flush, true);
	if (!flush || !as_perm_next(j->perm, &state))
		return;
	s = subject_of(j, &state, as_judge_moment(j->rec, j->perm, state.view, flush));
	s.before = true;
	note_flight(j, &state);
	note_floor(j, &state, &s);
}

/* Where traces are told apart by what is legal alone, they may have different floors. */
static struct as_digest key_of(const struct judge *j, const struct judge_subject *s)
{
	struct as_digest key = as_dedup_state(j->rec, s->key, s->moment);

	for (unsigned w = 0; w < AS_WAYS && j->args->begun_min; w++)
		key = as_digest_bind(key, as_floor_at(&j->floor, (enum as_way)w, s->stable) + 1);
	return key;
}

static enum go_on visit(struct judge *j, const struct as_perm_state *state, struct as_moment moment)
{
	struct as_crash_counts *counts = j->args->counts;
	struct judge_subject s = subject_of(j, state, moment);
	struct as_digest judged = key_of(j, &s);
	struct as_problem problem = { 0 };
	struct as_spending spending = as_spending_begin(j->args);
	enum go_on next = GO_ON;

	counts->generated++;
	j->args->flight->spent += AS_COST_LOOK;
	note_flight(j, state);
	if (as_dedup_has(j->args->dedup, judged)) {
		note_floor(j, state, &s);
		as_spending_end(&spending, j->args, state->view, NULL, &problem);
		return j->rc ? STOP : GO_ON;
	}
	counts->distinct++;
	if (judge_state(j, &s, &problem))
		as_dedup_add(j->args->dedup, judged);
	as_spending_end(&spending, j->args, state->view, as_ends_get(&j->known, s.key), &problem);
	if (problem.notice && !j->rc)
		next = tell(j, state, &problem);
	counts->checked += s.worked;
	counts->memoised += !s.worked;
	as_problem_free(&problem);
	note_floor(j, state, &s);
	return j->rc ? STOP : next;
}

static bool plan_all(void *ctx, enum as_view view, size_t k)
{
	const struct judge *j = ctx;

	return as_judge_is_stricter(j->rec, j->perm, view, k);
}

static bool plan_skips(void *ctx, enum as_view view, size_t k)
{
	const struct judge *j = ctx;
	struct as_moment moment = as_judge_moment(j->rec, j->perm, view, k);

	return !as_recording_knows(j->rec, moment) || moment.begun < j->args->begun_min;
}

static struct as_crash_plan *plan_of(struct judge *j, uint32_t views)
{
	struct as_crash_plan_of of = { .perm = j->perm,
				       .views = views,
				       .limit = j->limit,
				       .cost = as_crash_cost(j->ways),
				       .first = as_share_part(&j->options->share, AS_SHARE_VIEW_1,
							      j->limit, 0),
				       .all = plan_all,
				       .skip = plan_skips,
				       .ctx = j };

	return as_crash_plan_new(&of);
}

static bool is_over(const struct judge *j, uint64_t until)
{
	return until && j->args->flight->spent >= until;
}

/* Whether a view has had its share. */
static bool is_used_up(const struct judge *j, enum as_view view)
{
	enum as_share_row row = (enum as_share_row)(AS_SHARE_VIEW_1 + view - 1);

	return j->limit && j->args->flight->spent_view[view] >=
				   as_share_part(&j->options->share, row, j->limit, UINT64_MAX);
}

static enum go_on visit_turn(struct judge *j, const struct as_crash_turn *turn)
{
	struct as_crash_counts before;
	struct as_moment moment = as_judge_moment(j->rec, j->perm, turn->view, turn->cut);
	const struct as_judge_resume *resume = &j->args->resume;
	struct as_flight *flight = j->args->flight;
	struct as_perm_state state;
	enum go_on next = GO_ON;

	/* An earlier process has dealt with what came before. */
	if (turn->number < resume->turn)
		return GO_ON;
	flight->turn = turn->number;
	flight->all = turn->all;
	as_crash_turn_begin(turn, j->perm);
	while (next == GO_ON && as_perm_next(j->perm, &state)) {
		if (turn->number == resume->turn && state.index <= resume->index)
			continue;
		if (is_over(j, j->limit))
			return STOP;
		if (is_used_up(j, turn->view))
			return GO_ON;
		flight->index = state.index;
		before = *j->args->counts;
		next = visit(j, &state, moment);
		as_judge_seen(j->args, &before);
	}
	if (next == GO_ON)
		j->args->counts->possible -= as_crash_turn_missing(turn, j->perm);
	return next;
}

static void visit_all(struct judge *j, uint32_t views)
{
	struct as_crash_plan *plan = plan_of(j, views);
	enum go_on next = GO_ON;
	struct as_crash_turn turn;

	if (!j->args->resume.turn)
		j->args->counts->possible += as_crash_plan_count(plan);
	while (next == GO_ON && !is_over(j, j->limit) && as_crash_plan_next(plan, &turn))
		next = visit_turn(j, &turn);
	as_crash_plan_free(plan);
}

/* ---- The easiest view ------------------------------------------------------------------------ */

/* What part of the limit may be spent in addition to look for a problem in an easier view. */
#define LOOK_BACK_PART 8u

/* Looks in a view that was not gone through; true when it shows the same problem, which is then
 * reported. */
static bool shows_in(struct judge *j, enum as_view view, const struct as_problem *wanted,
		     enum go_on *next)
{
	struct as_flight *flight = j->args->flight;
	/* One that takes a power cut during recovery has more to be looked through. */
	unsigned part = wanted->then[0].view ? 1 : LOOK_BACK_PART;
	uint64_t until = j->limit ? flight->spent + j->limit / part : 0;
	uint64_t spent_again = flight->spent_again;
	struct as_problem problem = { 0 };
	struct as_perm_state state;
	bool found = false;

	j->again = j->limit / LOOK_BACK_PART;
	for (size_t k = 0; k < as_perm_cuts(j->perm) && !found && !j->rc && !is_over(j, until);
	     k++) {
		struct as_moment moment = as_judge_moment(j->rec, j->perm, view, k);

		if (!as_recording_knows(j->rec, moment))
			continue;
		flight->all = as_judge_is_stricter(j->rec, j->perm, view, k);
		as_perm_begin(j->perm, view, k, flight->all);
		while (!found && !j->rc && !is_over(j, until) && as_perm_next(j->perm, &state)) {
			struct judge_subject s = subject_of(j, &state, moment);

			note_flight(j, &state);
			found = !judge_state(j, &s, &problem) && !j->rc &&
				as_problem_sig(&problem) == as_problem_sig(wanted);
		}
	}
	j->again = 0;
	flight->spent_again = spent_again;
	if (found && !j->args->report(j->args->ctx, j->perm, &state, &problem))
		*next = STOP;
	as_problem_free(&problem);
	return found;
}

static enum go_on tell(struct judge *j, const struct as_perm_state *state,
		       const struct as_problem *problem)
{
	/* Without a limit, all milder views that were asked for have been tried already. */
	uint32_t done = j->limit ? 0 : j->options->views;
	uint32_t others = ((1u << state->view) - 1) & AS_VIEWS_ALL & ~done;
	bool easier = false, all = j->args->flight->all;
	struct as_perm *perm = j->perm;
	enum go_on next = GO_ON;

	if (!is_wanted(j, problem) || j->args->known(j->args->ctx, problem))
		return GO_ON;
	if (others)
		j->perm = as_perm_new(j->rec->log, j->rec->start, &j->options->perm);
	for (unsigned v = 1; v < state->view && !easier && !j->rc; v++)
		if (others >> v & 1)
			easier = shows_in(j, (enum as_view)v, problem, &next);
	if (others)
		as_perm_free(j->perm);
	j->perm = perm;
	j->args->flight->all = all;
	if (!easier && !j->rc && !j->args->report(j->args->ctx, perm, state, problem))
		next = STOP;
	return next;
}

/* ---- One state by name ----------------------------------------------------------------------- */
static bool pick(struct judge *j, struct as_perm_state *state)
{
	const struct as_crash_spot *spot = &j->options->spot;
	enum as_view view = (enum as_view)spot->view;

	return spot->cut < as_perm_cuts(j->perm) &&
	       as_spot_pick(spot, j->perm, as_judge_is_stricter(j->rec, j->perm, view, spot->cut),
			    state);
}

/* True: it shows the problem that is looked for, which was reported. */
static bool judge_spot(struct judge *j)
{
	struct as_problem problem = { 0 };
	struct as_perm_state state;
	struct judge_subject s;
	bool found = false;

	if (!pick(j, &state) ||
	    !as_recording_knows(j->rec, as_judge_moment(j->rec, j->perm, state.view, state.cut)))
		return false;
	s = subject_of(j, &state, as_judge_moment(j->rec, j->perm, state.view, state.cut));
	s.then = j->options->then[0].view ? j->options->then : NULL;
	j->args->counts->generated++;
	j->args->counts->distinct++;
	j->args->counts->checked++;
	note_flight(j, &state);
	if (!judge_state(j, &s, &problem) && !j->rc && is_wanted(j, &problem)) {
		found = true;
		(void)j->args->report(j->args->ctx, j->perm, &state, &problem);
	}
	as_problem_free(&problem);
	return found;
}

int as_judge_all(const struct as_judge_args *args, struct as_err *err)
{
	struct judge j = {
		.args = args, .options = args->options, .rec = args->recording, .err = err
	};
	uint32_t views = args->options->views;
	enum go_on next = GO_ON;

	if (args->options->budget != AS_BUDGET_UNSAID)
		j.limit = args->options->budget * AS_COST_RECOVERY;
	j.ways = as_crash_ways(as_recoverer_ways(args->recoverer), args->options->ways);
	j.ways = as_crash_ways_left(j.ways, args->began_with_replay, j.rec->unsure);
	j.perm = as_perm_new(j.rec->log, j.rec->start, &args->options->perm);
	if (args->options->spot.view) {
		views = ((1u << (args->options->spot.view + 1)) - 1) & AS_VIEWS_ALL;
		if (!args->resume.is && judge_spot(&j))
			next = STOP;
	}
	if (next == GO_ON && !j.rc)
		note_first_floor(&j);
	if (next == GO_ON && !j.rc)
		visit_all(&j, views);
	as_ends_free(&j.known);
	as_floor_free(&j.floor);
	as_perm_free(j.perm);
	as_legal_free(&j.legal);
	return j.rc;
}
