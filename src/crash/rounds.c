/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rounds: see rounds.h. */
#include "crash/rounds.h"

#include "base/choice.h"
#include "crash/story.h"
#include "legal/legal.h"
#include "legal/policy.h"

#include <stdlib.h>
#include <string.h>

/* How many states of a recording the next round begins with. */
#define TRIES 12u
#define TRIES_FEW 3u
#define FEW_BUDGET 512u /* with less than this, TRIES_FEW */
/* What a search for a finding may spend on each of them, where there is no budget. */
#define SEARCH_BUDGET 256u
#define REDRAWS 8u
#define MILD_OF 4u /* states of view 1: all but one in so many */
/* Data of a part that is run again: its patterns are moved by this for each time. */
#define FILL_STEP 1000003u

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Where part `part` begins and ends; false: there are not so many. */
static bool find_part(const struct as_seq *whole, unsigned part, size_t *begin, size_t *end)
{
	*begin = 0;
	for (size_t i = 0; i < whole->n; i++) {
		if (whole->ops[i].code != AS_OP_CRASH)
			continue;
		*end = i;
		if (!part--)
			return true;
		*begin = i + 1;
	}
	*end = whole->n;
	return !part;
}

struct as_seq *as_round_part(const struct as_seq *whole, unsigned rounds, unsigned round,
			     size_t *first)
{
	size_t begin = 0, end = whole->n;
	unsigned part = round;
	struct as_seq *seq;
	bool *keep;

	if (first)
		*first = 0;
	if (rounds < 2)
		return as_seq_copy(whole);
	while (!find_part(whole, part, &begin, &end))
		part--;
	keep = as_xcalloc(whole->n + 1, sizeof(*keep));
	memset(keep + begin, true, end - begin);
	seq = as_seq_subset(whole, keep);
	free(keep);
	for (size_t i = 0; i < seq->n; i++)
		if (seq->ops[i].fill)
			seq->ops[i].fill += (uint64_t)(round - part) * FILL_STEP;
	if (first)
		*first = begin;
	return seq;
}

/* ---- The budget ------------------------------------------------------------------------------ */

static bool is_limited(const struct as_crash_options *o)
{
	return o->budget && o->budget != AS_BUDGET_UNSAID;
}

static unsigned tries_of(const struct as_crash_options *o)
{
	return is_limited(o) && o->budget < FEW_BUDGET ? TRIES_FEW : TRIES;
}

int as_rounds_judge(const struct as_crash_args *args, const struct as_recording *recording,
		    unsigned parts, struct as_err *err)
{
	struct as_crash_options options = *args->options;
	struct as_crash_args with = *args;

	if (is_limited(&options))
		options.budget = options.budget > parts ? options.budget / parts : 1;
	else if (args->before && options.spot.view)
		options.budget = SEARCH_BUDGET;
	/* What is left for a later round is too little to be divided into parts. */
	if (args->before)
		options.share = (struct as_share){ 0 };
	with.options = &options;
	return as_crash_judge(&with, recording, err);
}

/* ---- Drawing --------------------------------------------------------------------------------- */

/* The judgement of the round before. */
struct round_before {
	const struct as_recording *rec;
	struct as_moment moment;
	bool checked; /* a checker has run */
	struct as_legal legal;
};

static bool can_begin(const struct as_recording *rec, struct as_moment m)
{
	/* After the last unmount there is nothing to recover. */
	return m.begun <= rec->n_ops && m.done < rec->n_ops && as_legal_is_ordered(rec->history, m);
}

static enum as_view draw_view(struct as_choice *choice, uint32_t views)
{
	unsigned n = (unsigned)__builtin_popcount(views), at;

	if ((views >> AS_VIEW_SYNC_ATOMIC & 1) && as_choose(choice, MILD_OF))
		return AS_VIEW_SYNC_ATOMIC;
	at = as_choose(choice, n);
	for (unsigned v = 1; v < AS_VIEWS; v++)
		if ((views >> v & 1) && !at--)
			return (enum as_view)v;
	return AS_VIEW_SYNC_ATOMIC;
}

/* False: the state that was drawn is none from which to go on. */
static bool draw_once(struct as_choice *choice, const struct as_recording *rec,
		      const struct as_crash_options *o, struct as_perm *perm,
		      struct as_flight_spot *spot)
{
	uint32_t views = o->views ? o->views & AS_VIEWS_ALL : AS_VIEWS_ALL;
	enum as_view view = draw_view(choice, views);
	size_t cut = as_choose(choice, (unsigned)as_perm_cuts(perm));
	bool all = as_judge_is_stricter(rec, perm, view, cut);
	uint64_t count = as_perm_count(perm, view, cut, all);

	if (!count || !can_begin(rec, as_judge_moment(rec, perm, view, cut)))
		return false;
	spot->view = view;
	spot->cut = cut;
	spot->index = as_choose(choice, count < UINT32_MAX ? (unsigned)count : UINT32_MAX);
	return true;
}

static bool draw(struct as_choice *choice, const struct as_recording *rec,
		 const struct as_crash_options *o, struct as_flight_spot *spot)
{
	struct as_perm *perm = as_perm_new(rec->log, rec->start, &o->perm);
	bool drawn = false;

	for (unsigned i = 0; i < REDRAWS && !drawn; i++)
		drawn = draw_once(choice, rec, o, perm, spot);
	as_perm_free(perm);
	return drawn;
}

/* ---- One round ------------------------------------------------------------------------------- */

struct rounds {
	const struct as_crash_args *args;
	const struct as_seq *whole;
	struct as_crash_options options; /* with the states from which rounds went on */
	unsigned parts; /* of the budget, for each recording */
	struct as_choice *choice;
	struct as_buf before; /* in words */
	struct as_digest *done; /* disks that were begun with */
	size_t n_done;
};

static bool may_begin(void *ctx, const struct as_tree *tree, struct as_buf *why)
{
	struct round_before *b = ctx;
	bool legal = b->checked
			     ? as_legal_judge_checked(b->rec->history, b->moment, tree, &b->legal)
			     : as_legal_judge(b->rec->history, b->moment, tree, &b->legal);

	if (!legal)
		as_buf_addf(why, "after the power cut: %s", as_buf_str(&b->legal.why));
	return legal;
}

/* The disk with which the next round begins; NULL: none. */
static struct as_disk *recover(struct rounds *r, struct as_disk *crashed, struct as_err *err)
{
	struct as_recovered recovered = { 0 };
	struct as_recoverer *recoverer = NULL;
	struct as_disk *disk = NULL;
	int rc = as_crash_recoverer(r->args, &recoverer, err);

	if (!rc && as_recoverer_ways(recoverer) >> AS_WAY_FULL & 1)
		rc = as_recover(recoverer, AS_WAY_FULL, crashed, 0, &recovered, err);
	if (!rc && recovered.end == AS_RECOVERED && recovered.disk)
		disk = as_disk_snapshot(recovered.disk);
	as_recovered_free(&recovered);
	as_recoverer_free(recoverer);
	return disk;
}

static void tell_before(struct rounds *r, const struct as_recording *rec,
			const struct round_before *b, unsigned round,
			const struct as_perm_state *state)
{
	as_buf_addf(&r->before, "  round %u: ", round);
	as_story_say_moment(rec, b->moment, &r->before);
	as_buf_addf(&r->before,
		    " (view %u, cut %zu, state %llu); then it was recovered by %s, and round %u "
		    "began, whose operations are counted from 1\n",
		    (unsigned)state->view, state->cut, (unsigned long long)state->index,
		    b->checked ? "the full checker and a mount" : "a mount", round + 1);
}

static bool is_known(struct rounds *r, struct as_digest key)
{
	for (size_t i = 0; i < r->n_done; i++)
		if (as_digest_eq(r->done[i], key))
			return true;
	r->done = as_xrealloc(r->done, (r->n_done + 1) * sizeof(*r->done));
	r->done[r->n_done++] = key;
	return false;
}

static int run_round(struct rounds *r, struct round_before *b, unsigned round,
		     struct as_disk *crashed, struct as_err *err);

/* Whoever is left when this process is not knows by it how the round came about. */
static void note_from(struct as_flight_spot *flight, const struct as_perm_state *state)
{
	flight->cut = state->cut;
	flight->index = state->index;
	flight->view = state->view;
}

/* Makes the state of the spot and goes on from it. `round` (from 1) is that of the recording. */
static int go_on(struct rounds *r, const struct as_recording *rec, unsigned round,
		 const struct as_crash_spot *spot, struct as_err *err)
{
	struct as_perm *perm = as_perm_new(rec->log, rec->start, &r->options.perm);
	struct round_before b = { .rec = rec };
	struct as_flight_spot *flight = &r->args->shared->flight.from[round - 1];
	struct as_perm_state state;
	int rc = 0;
	bool all = spot->cut < as_perm_cuts(perm) &&
		   as_judge_is_stricter(rec, perm, (enum as_view)spot->view, spot->cut);

	if (as_spot_pick(spot, perm, all, &state)) {
		b.moment = as_judge_moment(rec, perm, state.view, state.cut);
		b.checked = as_policy_of(r->args->target).guarantee == AS_GUARANTEE_REPAIR;
		if (can_begin(rec, b.moment) && !is_known(r, state.key)) {
			struct as_disk *crashed = as_perm_disk(perm);
			char *told = as_xstrdup(as_buf_str(&r->before));

			note_from(flight, &state);
			(void)as_spot_of_flight(flight, &r->options.from[round - 1]);
			tell_before(r, rec, &b, round, &state);
			rc = run_round(r, &b, round, crashed, err);
			memset(&r->options.from[round - 1], 0, sizeof(r->options.from[0]));
			flight->view = 0;
			as_buf_clear(&r->before);
			as_buf_adds(&r->before, told);
			free(told);
			as_disk_free(crashed);
		}
	}
	as_legal_free(&b.legal);
	as_perm_free(perm);
	return rc;
}

static int go_on_from_drawn(struct rounds *r, const struct as_recording *rec, unsigned round,
			    struct as_err *err)
{
	struct as_flight_spot drawn = { 0 };
	struct as_crash_spot spot;

	if (!draw(r->choice, rec, &r->options, &drawn))
		return 0;
	(void)as_spot_of_flight(&drawn, &spot);
	return go_on(r, rec, round, &spot, err);
}

/* Runs the next part on a disk that the round before left, judges it, and goes on from there. */
static int run_round(struct rounds *r, struct round_before *b, unsigned round,
		     struct as_disk *crashed, struct as_err *err)
{
	const struct as_crash_options *named = r->args->options;
	struct as_disk *checked = b->checked ? recover(r, crashed, err) : NULL;
	struct as_crash_args args = *r->args;
	struct as_recording rec = { 0 };
	struct as_seq *seq = as_round_part(r->whole, r->options.rounds, round, &args.first_op);
	int rc = 0;

	args.options = &r->options;
	args.seq = seq;
	args.before = as_buf_str(&r->before);
	args.after_ns = b->rec->until_ns;
	if (!b->checked || checked) {
		args.shared->counts.rounds++;
		rc = as_crash_record(&args, checked ? checked : crashed, may_begin, b, &rec, err);
	}
	if (!rc && rec.history && !args.shared->n_reports) {
		bool last = round + 1 >= r->options.rounds;

		/* A finding of a later round is looked for there. */
		if (last || !named->from[round].view)
			rc = as_rounds_judge(&args, &rec, r->parts, err);
		if (!rc && !last && !args.shared->n_reports)
			rc = named->from[round].view
				     ? go_on(r, &rec, round + 1, &named->from[round], err)
				     : go_on_from_drawn(r, &rec, round + 1, err);
	}
	as_recording_free(&rec);
	as_seq_free(seq);
	as_disk_free(checked);
	return rc;
}

/* ---- All rounds ------------------------------------------------------------------------------ */

int as_rounds(const struct as_crash_args *args, const struct as_seq *whole,
	      const struct as_recording *first, struct as_err *err)
{
	struct as_chooser *chooser;
	struct rounds r = { .args = args, .whole = whole, .options = *args->options };
	unsigned tries = tries_of(args->options);
	int rc = 0;

	if (args->options->rounds < 2 || args->plan || args->shared->n_reports)
		return 0;
	/* What the first round has shown is not looked for in others. */
	if (args->options->spot.view && !args->options->from[0].view)
		return 0;
	chooser = as_chooser_seeded(as_seq_digest(whole).hi ^ args->run->seed);
	r.choice = as_chooser_choice(chooser);
	r.parts = 2 * tries * (args->options->rounds - 1);
	memset(r.options.from, 0, sizeof(r.options.from));
	if (args->options->from[0].view)
		rc = go_on(&r, first, 1, &args->options->from[0], err);
	for (unsigned i = 0; i < tries && !rc && !args->shared->n_reports; i++)
		rc = go_on_from_drawn(&r, first, 1, err);
	as_chooser_free(chooser);
	as_buf_free(&r.before);
	free(r.done);
	return rc;
}
