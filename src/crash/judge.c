/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: see judge.h.
 *
 * Method. Views are gone through one after the other, beginning with the easiest, so that a problem
 * is found in the easiest view that shows it. In each view, cuts come in order, and at each cut its
 * states.
 *
 * When the power failed. A cut lies between two entries of the record, and the power may have
 * failed at any time between them. What must be there only grows with time, when an operation that
 * makes something stable returns. So the strictest moment is the last one, just before the next
 * entry was issued, and that one is judged. In the views that tear the last write the power failed
 * during that write, while the operation that issued it was under way.
 *
 * What is left out. A state that was met before is not judged again if the same is allowed
 * (dedup.h). A disk that was met before at another moment is judged, but not recovered again.
 */
#include "crash/judge.h"

#include "base/array.h"
#include "base/table.h"
#include "crash/faults.h"
#include "crash/recrash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How recovery by one way ended, kept for when the same disk comes up again. */
struct end {
	enum as_recovery_end end;
	char *why;
	struct as_tree *tree;
	bool done;
};

struct disk_known {
	struct as_digest key;
	struct end end[AS_WAYS];
	int8_t peace; /* as_recover_at_peace(); 0: not asked, 1: yes */
};

struct judge {
	const struct as_judge_args *args;
	const struct as_crash_options *options;
	const struct as_recording *rec;
	struct as_perm *perm;
	uint32_t ways;
	struct disk_known *known;
	size_t n_known, known_cap;
	struct as_table index; /* of known, by key */
	struct as_legal legal;
	struct as_buf text;
	struct as_err *err;
	int rc;
};

/* ---- Moments --------------------------------------------------------------------------------- */

struct as_moment as_judge_moment(const struct as_recording *rec, const struct as_perm *perm,
				 enum as_view view, size_t k)
{
	struct as_perm_cut cut = as_perm_cut(perm, k);
	size_t n = rec->n_ops;

	if (view == AS_VIEW_SYNC_LEFT || view == AS_VIEW_SYNC_SECTORS) {
		size_t op = cut.op == AS_RECLOG_NO_OP ? 0 : cut.op;

		return (struct as_moment){ op, op + (cut.op != AS_RECLOG_NO_OP) };
	}
	if (cut.at == as_reclog_len(rec->log)) {
		if (cut.op != AS_RECLOG_NO_OP && cut.op >= n)
			n = cut.op + 1;
		return (struct as_moment){ n, n };
	}
	if (cut.next_op == AS_RECLOG_NO_OP)
		return (struct as_moment){ 0, 0 };
	return (struct as_moment){ cut.next_op, cut.next_op + (cut.op == cut.next_op) };
}

/* Whether less is allowed at a cut than at the one before. */
static bool is_stricter(struct judge *j, enum as_view view, size_t k)
{
	struct as_moment now = as_judge_moment(j->rec, j->perm, view, k), was = { 0 };

	if (!k)
		return true;
	was = as_judge_moment(j->rec, j->perm, view, k - 1);
	for (size_t op = was.done; op < now.done; op++) {
		as_buf_clear(&j->text);
		if (as_history_persists(j->rec->history, op, &j->text))
			return true;
	}
	return false;
}

/* ---- Disks that were recovered --------------------------------------------------------------- */

struct known_key {
	const struct judge *judge;
	struct as_digest key;
};

static bool is_known(const void *ctx, size_t index)
{
	const struct known_key *k = ctx;

	return as_digest_eq(k->judge->known[index].key, k->key);
}

static struct disk_known *known_get(struct judge *j, struct as_digest key)
{
	struct known_key k = { j, key };
	uint64_t hash = as_mix64(key.lo ^ key.hi);
	size_t at = as_table_find(&j->index, hash, is_known, &k);

	if (at == AS_TABLE_NONE) {
		at = j->n_known;
		AS_ARRAY_ROOM(j->known, j->n_known, j->known_cap);
		j->known[j->n_known++] = (struct disk_known){ .key = key };
		as_table_add(&j->index, hash, at);
	}
	return &j->known[at];
}

static void keep_end(struct end *end, struct as_recovered *recovered)
{
	end->done = true;
	end->end = recovered->end;
	end->why = recovered->why.len ? as_xstrdup(as_buf_str(&recovered->why)) : NULL;
	end->tree = recovered->tree ? as_tree_get(recovered->tree) : NULL;
}

/* ---- One state ------------------------------------------------------------------------------- */

/* One state while it is judged. */
struct judge_subject {
	struct as_digest key;
	struct as_disk *disk; /* made when it is needed */
	struct as_moment moment;
	const struct as_crash_spot *then; /* judge only these recrashes; NULL: all */
	struct as_recovered recovered[AS_WAYS]; /* with their records, for crashes during them */
	bool worked; /* some recovery was not taken from the memo */
};

static struct as_disk *subject_disk(struct judge *j, struct judge_subject *s)
{
	if (!s->disk)
		s->disk = as_perm_disk(j->perm);
	return s->disk;
}

/* Recovers by one way, unless its end is known. False: an error of ours. */
static bool go(struct judge *j, struct judge_subject *s, enum as_way way)
{
	struct disk_known *known = known_get(j, s->key);
	struct as_recovered *recovered = &s->recovered[way];
	unsigned flags = AS_RECOVER_PROBE | (j->options->again ? AS_RECOVER_LOG : 0);

	if (known->end[way].done && !s->then)
		return true;
	j->args->flight->way = way;
	j->args->flight->alive++;
	if (j->args->recovers)
		j->args->recovers(j->args->ctx, subject_disk(j, s));
	j->rc = as_recover(j->args->recoverer, way, subject_disk(j, s), flags, recovered, j->err);
	if (j->rc)
		return false;
	s->worked |= !recovered->memoised;
	if (!known->end[way].done)
		keep_end(&known->end[way], recovered);
	return true;
}

static bool faults(struct judge *j, struct judge_subject *s, enum as_way way,
		   const struct as_recovered *recovered, struct as_problem *problem)
{
	struct as_faults_args args = { .recoverer = j->args->recoverer,
				       .way = way,
				       .flight = j->args->flight,
				       .counts = j->args->counts };

	return as_faults(&args, s->disk, recovered->tree, problem, &j->rc, j->err);
}

static bool recrash(struct judge *j, struct judge_subject *s, enum as_way way,
		    const struct as_recovered *recovered, struct as_problem *problem)
{
	struct as_recrash_args args = { .recoverer = j->args->recoverer,
					.options = j->options,
					.way = way,
					.dedup = j->args->dedup,
					.flight = j->args->flight,
					.counts = j->args->counts };

	j->args->flight->way = way;
	if (s->then)
		return as_recrash_at(&args, s->disk, s->key, recovered, s->then, problem, &j->rc,
				     j->err);
	return as_recrash(&args, s->disk, s->key, recovered, problem, &j->rc, j->err);
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

static bool judge_end(struct judge *j, const struct judge_subject *s, enum as_way way,
		      struct as_problem *problem)
{
	const struct end *end = &known_get(j, s->key)->end[way];

	/* A wrong tree says more than what fails after it. */
	if (!end->tree || as_legal_judge(j->rec->history, s->moment, end->tree, &j->legal))
		return end->end == AS_RECOVERED ||
		       as_problem_set(problem, AS_FIND_CRASH, way, as_recovery_end_name(end->end),
				      end->why ? end->why : "");
	(void)as_problem_set(problem, AS_FIND_CRASH, way, as_rule_name(j->legal.rule),
			     as_buf_str(&j->legal.why));
	as_buf_clear(&problem->signature);
	as_buf_addf(&problem->signature, "crash: %s", as_buf_str(&j->legal.signature));
	problem->promise = j->legal.op;
	return false;
}

/* All ways must come to the same tree (FiSC's double fsck). */
static bool judge_agreement(struct judge *j, const struct judge_subject *s,
			    struct as_problem *problem)
{
	const struct disk_known *known = known_get(j, s->key);
	enum as_way first = AS_WAYS;
	struct as_buf how = { 0 };
	char what[64];

	if (!j->args->ways_agree)
		return true;
	for (unsigned w = 0; w < AS_WAYS && !problem->is; w++) {
		if (!(j->ways >> w & 1) || !known->end[w].tree)
			continue;
		if (first == AS_WAYS)
			first = (enum as_way)w;
		else if (as_tree_diff(known->end[first].tree, as_way_name(first),
				      known->end[w].tree, as_way_name((enum as_way)w), &how)) {
			snprintf(what, sizeof(what), "%s and %s do not agree", as_way_name(first),
				 as_way_name((enum as_way)w));
			(void)as_problem_set_tree(problem, AS_FIND_RECOVERY, (enum as_way)w, what,
						  as_buf_str(&how));
		}
	}
	as_buf_free(&how);
	return !problem->is;
}

/* After an unmount that returned, there must be nothing to recover. */
static bool judge_peace(struct judge *j, struct judge_subject *s, struct as_problem *problem)
{
	struct as_recoverer *recoverer = j->args->recoverer;
	struct disk_known *known = known_get(j, s->key);
	size_t done = s->moment.done;
	struct as_buf why = { 0 };

	if (!done || s->moment.begun != done)
		return true;
	if (j->rec->seq->ops[done - 1].code != AS_OP_UMOUNT || j->rec->answers[done - 1].ret < 0)
		return true;
	if (known->peace > 0)
		return true;
	if (as_recover_at_peace(recoverer, subject_disk(j, s), &why))
		known->peace = 1;
	else
		(void)as_problem_set(problem, AS_FIND_CRASH, AS_WAY_FULL,
				     "after an unmount that returned", as_buf_str(&why));
	as_buf_free(&why);
	return !problem->is;
}

/* True: there is no problem. */
static bool judge_state(struct judge *j, struct judge_subject *s, struct as_problem *problem)
{
	bool fine = true;

	as_problem_free(problem);
	problem->moment = s->moment;
	for (unsigned w = 0; w < AS_WAYS && fine && !j->rc; w++)
		if (j->ways >> w & 1)
			fine = go(j, s, (enum as_way)w) && judge_end(j, s, (enum as_way)w, problem);
	if (fine && !j->rc)
		fine = judge_agreement(j, s, problem) && judge_peace(j, s, problem) &&
		       disturb(j, s, problem);
	for (unsigned w = 0; w < AS_WAYS; w++)
		as_recovered_free(&s->recovered[w]);
	as_disk_free(s->disk);
	s->disk = NULL;
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

static enum go_on visit(struct judge *j, const struct as_perm_state *state, struct as_moment moment)
{
	struct as_crash_counts *counts = j->args->counts;
	struct as_digest judged = as_dedup_state(j->rec, state->key, moment);
	struct judge_subject s = { .key = state->key, .moment = moment };
	struct as_problem problem = { 0 };
	enum go_on next = GO_ON;

	counts->generated++;
	if (as_dedup_has(j->args->dedup, judged))
		return GO_ON;
	counts->distinct++;
	note_flight(j, state);
	if (judge_state(j, &s, &problem))
		as_dedup_add(j->args->dedup, judged);
	else if (!j->rc)
		next = tell(j, state, &problem);
	counts->checked += s.worked;
	counts->memoised += !s.worked;
	as_problem_free(&problem);
	return j->rc ? STOP : next;
}

/* Whether an earlier process has dealt with this state. */
static bool is_passed(const struct judge *j, unsigned view, size_t k, uint64_t index)
{
	const struct as_flight_spot *b = &j->args->resume_after;

	if (view != b->view)
		return view < b->view;
	return k != b->cut ? k < b->cut : index <= b->index;
}

/* After an answer that the model did not allow, it is not known what must be there. */
static bool can_be_judged(const struct judge *j, struct as_moment moment)
{
	return moment.done <= j->rec->n_ops && moment.begun <= j->rec->n_ops;
}

static enum go_on visit_cut(struct judge *j, enum as_view view, size_t k)
{
	struct as_moment moment = as_judge_moment(j->rec, j->perm, view, k);
	struct as_perm_state state;
	enum go_on next = GO_ON;
	bool all;

	if (is_passed(j, view, k, UINT64_MAX) || !can_be_judged(j, moment))
		return GO_ON;
	all = is_stricter(j, view, k);
	j->args->flight->all = all;
	as_perm_begin(j->perm, view, k, all);
	while (next == GO_ON && as_perm_next(j->perm, &state))
		if (!is_passed(j, view, k, state.index))
			next = visit(j, &state, moment);
	return next;
}

static enum go_on visit_view(struct judge *j, enum as_view view)
{
	enum go_on next = GO_ON;

	for (size_t k = 0; k < as_perm_cuts(j->perm) && next == GO_ON; k++)
		next = visit_cut(j, view, k);
	return next;
}

/* ---- The easiest view ------------------------------------------------------------------------ */

/* Looks in a view that was not asked for; true when it shows the same problem, which is reported.
 */
static bool shows_in(struct judge *j, enum as_view view, const struct as_problem *wanted,
		     enum go_on *next)
{
	struct as_problem problem = { 0 };
	struct as_perm_state state;
	bool found = false;

	for (size_t k = 0; k < as_perm_cuts(j->perm) && !found && !j->rc; k++) {
		struct as_moment moment = as_judge_moment(j->rec, j->perm, view, k);

		if (!can_be_judged(j, moment))
			continue;
		as_perm_begin(j->perm, view, k, is_stricter(j, view, k));
		while (!found && !j->rc && as_perm_next(j->perm, &state)) {
			struct judge_subject s = { .key = state.key, .moment = moment };

			note_flight(j, &state);
			found = !judge_state(j, &s, &problem) && !j->rc &&
				as_problem_sig(&problem) == as_problem_sig(wanted);
		}
	}
	if (found && !j->args->report(j->args->ctx, j->perm, &state, &problem))
		*next = STOP;
	as_problem_free(&problem);
	return found;
}

/* A problem is reported in the easiest view in which it shows. */
static enum go_on tell(struct judge *j, const struct as_perm_state *state,
		       const struct as_problem *problem)
{
	/* The views that were asked for have been gone through already. */
	uint32_t others = ((1u << state->view) - 1) & AS_VIEWS_ALL & ~j->options->views;
	struct as_perm *perm = j->perm;
	enum go_on next = GO_ON;
	bool easier = false;

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
	if (!easier && !j->rc && !j->args->report(j->args->ctx, perm, state, problem))
		next = STOP;
	return next;
}

/* ---- One state by name ----------------------------------------------------------------------- */

static bool pick(struct judge *j, struct as_perm_state *state)
{
	const struct as_crash_spot *spot = &j->options->spot;

	if (spot->cut >= as_perm_cuts(j->perm))
		return false;
	return as_spot_pick(spot, j->perm, is_stricter(j, (enum as_view)spot->view, spot->cut),
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
	    !can_be_judged(j, as_judge_moment(j->rec, j->perm, state.view, state.cut)))
		return false;
	s = (struct judge_subject){ .key = state.key,
				    .moment =
					    as_judge_moment(j->rec, j->perm, state.view, state.cut),
				    .then = j->options->then[0].view ? j->options->then : NULL };
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

/* The ways that were asked for and exist; by default, the two that have least in common. */
static uint32_t choose_ways(const struct as_recoverer *recoverer, uint32_t asked)
{
	uint32_t ways = as_recoverer_ways(recoverer);
	uint32_t usual = ways & (1u << AS_WAY_MOUNT | 1u << AS_WAY_FULL);
	uint32_t replays = 1u << (ways >> AS_WAY_MOUNT & 1 ? AS_WAY_MOUNT : AS_WAY_DEFAULT);

	if (asked)
		return ways & asked;
	/* One that replays the log, and one that looks at everything. */
	usual |= ways & replays;
	return usual ? usual : ways;
}

int as_judge_all(const struct as_judge_args *args, struct as_err *err)
{
	struct judge j = {
		.args = args, .options = args->options, .rec = args->recording, .err = err
	};
	uint32_t views = args->options->views;
	enum go_on next = GO_ON;

	j.ways = choose_ways(args->recoverer, args->options->ways);
	j.perm = as_perm_new(j.rec->log, j.rec->start, &args->options->perm);
	if (args->options->spot.view) {
		views = ((1u << (args->options->spot.view + 1)) - 1) & AS_VIEWS_ALL;
		if (!args->resume_after.view && judge_spot(&j))
			next = STOP;
	}
	for (unsigned v = 1; v < AS_VIEWS && next == GO_ON && !j.rc; v++)
		if (views >> v & 1)
			next = visit_view(&j, (enum as_view)v);
	for (size_t i = 0; i < j.n_known; i++)
		for (unsigned w = 0; w < AS_WAYS; w++) {
			free(j.known[i].end[w].why);
			as_tree_put(j.known[i].end[w].tree);
		}
	free(j.known);
	as_table_free(&j.index);
	as_perm_free(j.perm);
	as_legal_free(&j.legal);
	as_buf_free(&j.text);
	return j.rc;
}
