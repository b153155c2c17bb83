/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_words: see check_words.h. */
#include "cmd/check_words.h"

#include "base/json.h"
#include "base/show.h"

#include <stdio.h>
#include <string.h>

static double per_second(uint64_t n, int64_t us)
{
	return us > 0 ? (double)n * 1e6 / (double)us : 0;
}

static void print_json(const struct as_check_words *s, const struct as_check_status *status)
{
	const struct as_check_counts *c = &status->counts;
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "event", "check");
	as_json_kstr(&j, "target", as_target_spec(s->target));
	as_json_kuint(&j, "states", status->states);
	as_json_kuint(&j, "expanded", c->expanded);
	as_json_kuint(&j, "frontier", status->frontier);
	as_json_kuint(&j, "depth", status->depth);
	as_json_kuint(&j, "transitions", c->transitions);
	as_json_kuint(&j, "changing", c->changing);
	as_json_kuint(&j, "restores", c->restores);
	as_json_kuint(&j, "replayed", c->replayed);
	as_json_kuint(&j, "crash_states", c->crash.generated);
	as_json_kuint(&j, "crash_distinct", c->crash.distinct);
	as_json_kuint(&j, "recoveries", c->crash.checked);
	as_json_kuint(&j, "memoised", c->crash.memoised);
	as_json_kuint(&j, "during_recovery", c->crash.again);
	as_json_kuint(&j, "recovered", c->recovered);
	as_json_kuint(&j, "discarded", c->discarded);
	as_json_kuint(&j, "forgotten", c->forgotten);
	as_json_kuint(&j, "lost", c->lost);
	as_json_kuint(&j, "wrong", c->wrong);
	as_json_kuint(&j, "deaths", c->deaths);
	as_json_kuint(&j, "failures", c->failures);
	as_json_kuint(&j, "findings", c->findings);
	as_json_kuint(&j, "suspects", c->suspects);
	as_json_kuint(&j, "confirmed", c->confirmed);
	as_json_kuint(&j, "unconfirmed", c->unconfirmed);
	as_json_kuint(&j, "dropped", c->dropped);
	as_json_kuint(&j, "unlooked", c->unlooked);
	as_json_kuint(&j, "alike", c->alike);
	as_json_kuint(&j, "shorter", c->shorter);
	as_json_kuint(&j, "missed", c->missed);
	as_json_kuint(&j, "gaps", status->gaps);
	as_json_kuint(&j, "bytes", status->bytes);
	as_json_kuint(&j, "answers", status->answers);
	if (status->places)
		as_json_kuint(&j, "places", status->places);
	if (status->percent >= 0)
		as_json_kuint(&j, "percent", (uint64_t)status->percent);
	as_json_kuint(&j, "recoveries_known", c->crash.again_known);
	as_json_kuint(&j, "recoveries_told", c->told);
	if (s->options->shards) {
		as_json_kuint(&j, "foreign", c->foreign);
		as_json_kuint(&j, "followed", c->followed);
		as_json_kuint(&j, "follow_us", c->follow_us);
		as_json_kuint(&j, "strayed", c->strayed);
	}
	as_json_kuint(&j, "owned", status->owned);
	as_json_kuint(&j, "owned_sum", status->owned_sum);
	as_json_kbool(&j, "all", status->all);
	as_json_kint(&j, "wall_us", status->wall_us);
	as_json_end(&j);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

void as_check_words_progress(void *ctx, const struct as_check_status *status)
{
	struct as_check_words *s = ctx;
	const struct as_check_counts *c = &status->counts;
	const struct {
		enum as_counter counter;
		uint64_t n;
	} rows[] = {
		{ AS_COUNT_states, status->states },
		{ AS_COUNT_expanded, c->expanded },
		{ AS_COUNT_frontier, status->frontier },
		{ AS_COUNT_depth, status->depth },
		{ AS_COUNT_transitions, c->transitions },
		{ AS_COUNT_answers, status->answers },
		{ AS_COUNT_crash_states, c->crash.generated },
		{ AS_COUNT_crash_distinct, c->crash.distinct },
		{ AS_COUNT_recoveries, c->crash.checked },
		{ AS_COUNT_memoised, c->crash.memoised },
		{ AS_COUNT_during_recovery, c->crash.again },
		{ AS_COUNT_unconfirmed, c->unconfirmed },
		{ AS_COUNT_store_bytes, status->bytes },
		{ AS_COUNT_findings, c->findings },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		as_live_set(s->live, rows[i].counter, rows[i].n);
	if (status->percent >= 0) {
		as_live_goal(s->live, s->options->for_us, 100);
		as_live_done(s->live, (uint64_t)status->percent);
	}
}

/* As Table 1 of the paper. */
static void print_table(const struct as_check_words *s, const struct as_check_status *status)
{
	const struct as_check_counts *c = &status->counts;
	struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{ "states", status->states },
		{ "states expanded", c->expanded },
		{ "states to go", status->frontier },
		{ "transitions", c->transitions },
		{ "transitions to another state", c->changing },
		{ "states brought back", c->restores },
		{ "operations to bring them back", c->replayed },
		{ "transitions with a fault or choice", c->failures },
		{ "trees compared", c->compared },
		{ "answers, each with its operation", status->answers },
		{ "crash states", c->crash.generated },
		{ "crash states judged", c->crash.distinct },
		{ "crash states recovered", c->crash.checked },
		{ "recoveries from the memo", c->crash.memoised },
		{ "crash states during recovery", c->crash.again },
		{ "recoveries known to stand them", c->crash.again_known },
		{ "of these, from other processes", c->told },
		{ "recovered trees to go on from", c->recovered },
		{ "operations the same to a power cut", c->alike },
		{ "bytes of the states", status->bytes },
		{ "milliseconds", (uint64_t)status->wall_us / 1000 },
		{ "transitions a second", (uint64_t)per_second(c->transitions, status->wall_us) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		as_emit_note(s->sinks, "%-35s %12llu", rows[i].name, (unsigned long long)rows[i].n);
}

/* Whether a part of the crash states was drawn at random, and not all were tried. */
static bool is_sampled(const struct as_check_status *status)
{
	return status->counts.crash.generated < status->counts.crash.possible;
}

/* Why not all was explored. */
static const char *gap_words(const struct as_check_status *status)
{
	const struct as_check_counts *c = &status->counts;

	return status->unfit			   ? "there is no file system to begin with"
	       : c->discarded			   ? "there was no room for some states"
	       : c->forgotten			   ? "states were discarded (--max-frontier)"
	       : c->lost			   ? "some states could not be brought back"
	       : status->frontier || !status->gaps ? "it was stopped before the end"
	       : c->unlooked || c->alike	   ? "crash states were left out (--budget)"
	       : c->missed
		       ? "states were met by longer traces first; --search bfs and one job do not"
	       : c->strayed		      ? "answers were not those that other shards expect"
	       : c->unconfirmed || c->dropped ? "some of what was found was not confirmed"
	       : c->deaths ? "an operation died with one fault, so others were not tried with it"
			   : "the check that this one goes on with has left something out";
}

static void say_bounds(const struct as_check_words *s, const struct as_check_status *status)
{
	const struct as_check_options *o = s->options;
	const char *but = status->counts.findings || status->counts.wrong
				  ? ", but for what only follows after a mistake"
				  : "";
	char shard[64] = "";

	if (o->shards)
		snprintf(shard, sizeof(shard), "of shard %u/%u ", o->shard, o->shards);
	if (!status->all)
		as_emit_note(s->sinks, "not all states were explored: %s", gap_words(status));
	else if (o->depth)
		as_emit_note(s->sinks,
			     "all %llu states %swithin bounds explored%s: %u node%s, traces of "
			     "up to %u operation%s",
			     (unsigned long long)status->owned, shard, but, o->nodes,
			     as_plural(o->nodes), o->depth, as_plural(o->depth));
	else
		as_emit_note(s->sinks,
			     "all %llu states %swithin bounds explored%s: %u node%s, any number "
			     "of operations, of which %u are needed at most",
			     (unsigned long long)status->owned, shard, but, o->nodes,
			     as_plural(o->nodes), status->depth);
	if (status->counts.findings && !status->all)
		as_emit_note(s->sinks, "what follows after a mistake was not tried");
}

/* Which crash states were left out. */
static void say_crashes(const struct as_check_words *s, const struct as_check_status *status)
{
	const struct as_check_counts *c = &status->counts;
	const struct as_check_options *o = s->options;

	if (o->crashes.budget && is_sampled(status))
		as_emit_note(
			s->sinks,
			"at most about %llu recoveries were spent on an operation%s (--budget): "
			"%llu of %llu crash states were looked at",
			(unsigned long long)o->crashes.budget,
			o->falls ? ", and fewer on one like others before it" : "",
			(unsigned long long)c->crash.generated,
			(unsigned long long)c->crash.possible);
	else if (is_sampled(status))
		as_emit_note(s->sinks,
			     "where more than %u writes were pending, a sample of the crash "
			     "states was tried",
			     o->crashes.perm.t);
	if (o->crash && o->max_cuts && (o->shards || o->start))
		as_emit_note(s->sinks,
			     "no trace went on after a power cut: with %s none does (--crashes 0)",
			     o->shards ? "--shard" : "--start");
	if (c->alike)
		as_emit_note(s->sinks,
			     "%llu operations made the same requests as others that may leave the "
			     "same, and had no power cuts of their own; --budget 32 cuts them, too",
			     (unsigned long long)c->alike);
}

static void say_end(const struct as_check_words *s, const struct as_check_status *status)
{
	const struct as_check_counts *c = &status->counts;
	const struct as_check_options *o = s->options;

	say_bounds(s, status);
	if (c->wrong)
		as_emit_note(s->sinks,
			     "%llu states were not expanded: a power cut is a finding there",
			     (unsigned long long)c->wrong);
	if (o->shards)
		as_emit_note(s->sinks,
			     "overlap: %llu states of other shards, with %llu transitions, were "
			     "followed, in the model alone for %.1f s of %.1f",
			     (unsigned long long)c->foreign, (unsigned long long)c->followed,
			     (double)c->follow_us / 1e6, (double)status->wall_us * o->jobs / 1e6);
	if (c->discarded)
		as_emit_note(
			s->sinks,
			"%llu states were discarded for want of room: --max-states, or a full disk",
			(unsigned long long)c->discarded);
	if (c->forgotten)
		as_emit_note(s->sinks,
			     "%llu states were discarded at random: more than %u were to go "
			     "(--max-frontier); --resume takes them up again where there is room",
			     (unsigned long long)c->forgotten, o->max_frontier);
	if (o->crash)
		say_crashes(s, status);
	if (c->unconfirmed)
		as_emit_note(s->sinks,
			     "%llu of what was found did not come back when it was run alone, or "
			     "there was no time for it",
			     (unsigned long long)c->unconfirmed);
	if (c->dropped)
		as_emit_note(s->sinks,
			     "%llu more of what was found were not looked at: there were too many",
			     (unsigned long long)c->dropped);
}

void as_check_words_end(struct as_check_words *s, const struct as_check_status *status)
{
	if (s->json) {
		print_json(s, status);
		return;
	}
	print_table(s, status);
	say_end(s, status);
}
