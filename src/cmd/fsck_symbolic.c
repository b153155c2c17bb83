/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_symbolic: see fsck_symbolic.h. */
#include "cmd/fsck_symbolic.h"

#include "os/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MS 20000u /* under Valgrind; a run takes 20 to 100 times as long there */

static const struct {
	const char *name;
	enum as_concretize how;
} strategies[] = {
	{ "first", AS_CONCRETIZE_FIRST }, { "frequent", AS_CONCRETIZE_FREQUENT },
	{ "arith", AS_CONCRETIZE_ARITH }, { "full", AS_CONCRETIZE_FULL },
	{ "none", AS_CONCRETIZE_NONE },
};

int as_symbolic_fields(const struct as_args *args, unsigned *at_once, struct as_err *err)
{
	const char *text = as_args_text(args, "fields", "1");
	bool number = !strcmp(text, "1") || !strcmp(text, "2");

	*at_once = number ? (unsigned)(*text - '0') : 0;
	if (!number && !as_args_has(args, "symbolic"))
		return as_fail(err, AS_EUSE,
			       "--fields: 1 or 2 fields at once; names of fields are for "
			       "--symbolic");
	return 0;
}

/* "OFFSET+LENGTH" */
static int read_range(const char *text, uint64_t *off, uint64_t *len, struct as_err *err)
{
	char *end;

	errno = 0;
	*off = strtoull(text, &end, 0);
	if (end == text || *end != '+' || errno || *text == '-')
		return as_fail(err, AS_EUSE, "--range: expected OFFSET+LENGTH, such as 1024+4");
	text = end + 1;
	*len = strtoull(text, &end, 0);
	if (end == text || *end || errno || *text == '-')
		return as_fail(err, AS_EUSE, "--range: expected OFFSET+LENGTH, such as 1024+4");
	return 0;
}

int as_symbolic_open(const struct as_args *args, const struct as_fsck_subject *subject,
		     struct as_fsck_base *bases, size_t n, struct as_symbolic *s,
		     struct as_err *err)
{
	const char *concretize = as_args_text(args, "concretize", "first");
	const char *range = as_args_text(args, "range", NULL);
	struct as_places_setup setup = { .bases = bases,
					 .n = n,
					 .type = as_subject_type(subject),
					 .books = as_subject_row_of(subject)->books,
					 .suite = as_args_has(args, "suite"),
					 .whole = range != NULL,
					 .seal = !as_args_has(args, "no-reseal") };
	struct as_solver *solver;
	unsigned at_once;
	int rc = as_symbolic_fields(args, &at_once, err);

	*s = (struct as_symbolic){ .source = as_search_source };
	if (!rc && !at_once)
		setup.fields = as_args_text(args, "fields", NULL);
	if (!rc && range)
		rc = read_range(range, &setup.off, &setup.len, err);
	if (!rc)
		rc = as_sym_server_look(err);
	/* Whether there is a Z3 is said before anything is run. */
	if (!rc)
		rc = as_solver_new(&(struct as_solver_setup){ 0 }, &solver, err);
	if (rc)
		return rc;
	as_solver_free(solver);
	rc = as_places_find(&setup, &s->places, err);
	if (rc)
		return rc;
	s->setup = (struct as_search_setup){ .bases = bases,
					     .places = &s->places,
					     .deadline_ms = RUN_MS,
					     .covered = as_shared_alloc(AS_SEARCH_COVER_BYTES) };
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
		if (!strcmp(strategies[i].name, concretize))
			s->setup.solver.concretize = strategies[i].how;
	s->source.ctx = &s->setup;
	return 0;
}

void as_symbolic_close(struct as_symbolic *s)
{
	as_places_free(&s->places);
	if (s->setup.covered)
		as_shared_free(s->setup.covered, AS_SEARCH_COVER_BYTES);
	*s = (struct as_symbolic){ 0 };
}

static unsigned long long tally(const struct as_fsck_status *status, enum as_search_tally which)
{
	return status->tallies[which];
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

void as_symbolic_say(const struct as_symbolic *s, const struct as_fsck_status *t,
		     struct as_sink *sinks)
{
	uint64_t paths = t->tallies[AS_SEARCH_PATHS], followed = t->tallies[AS_SEARCH_FOLLOWED];

	as_emit_note(sinks,
		     "%zu places; %llu paths (%.1f/s), %llu of them with a problem; %llu blocks of "
		     "code",
		     s->places.n, (unsigned long long)paths,
		     t->wall_us > 0 ? (double)paths * 1e6 / (double)t->wall_us : 0,
		     tally(t, AS_SEARCH_BUGGY), tally(t, AS_SEARCH_BLOCKS));
	as_emit_note(
		sinks,
		"%llu questions: %llu answered, %llu without an answer, %llu late; by the "
		"cache %llu, backwards %llu, bounds %llu, all values %llu, Z3 %llu; %llu left out",
		tally(t, AS_SEARCH_QUESTIONS), tally(t, AS_SEARCH_SOLVED), tally(t, AS_SEARCH_NONE),
		tally(t, AS_SEARCH_LATE), tally(t, AS_SEARCH_BY_CACHE),
		tally(t, AS_SEARCH_BY_QUICK), tally(t, AS_SEARCH_BY_BOUNDS),
		tally(t, AS_SEARCH_BY_TRIES), tally(t, AS_SEARCH_BY_Z3),
		tally(t, AS_SEARCH_LEFT_OUT));
	as_emit_note(
		sinks,
		"%.1f %% of %llu solved disks took the path that was predicted; %llu paths were "
		"known already",
		percent(followed, followed + t->tallies[AS_SEARCH_STRAYED]),
		(unsigned long long)(followed + t->tallies[AS_SEARCH_STRAYED]),
		tally(t, AS_SEARCH_AGAIN));
	if (t->tallies[AS_SEARCH_LATE])
		as_emit_note(sinks,
			     "concretized: %llu paths saved, %llu completed, %llu with a problem",
			     tally(t, AS_SEARCH_SAVED), tally(t, AS_SEARCH_SAVED_DONE),
			     tally(t, AS_SEARCH_SAVED_BUGGY));
	if (t->tallies[AS_SEARCH_TOOL_DEATHS] || t->tallies[AS_SEARCH_HANGS] ||
	    t->tallies[AS_SEARCH_Z3_DEATHS])
		as_emit_note(
			sinks,
			"under Valgrind, %llu runs did not end in time, and the server died %llu "
			"times; Z3 died or was late %llu times",
			tally(t, AS_SEARCH_HANGS), tally(t, AS_SEARCH_TOOL_DEATHS),
			tally(t, AS_SEARCH_Z3_DEATHS));
	if (t->tallies[AS_SEARCH_WRONG])
		as_emit_note(
			sinks,
			"%llu paths were not used, since values differed from those of the run: "
			"this is an error of assay",
			tally(t, AS_SEARCH_WRONG));
}

void as_symbolic_json(const struct as_fsck_status *t, struct as_json *j)
{
	static const char *const names[AS_SEARCH_TALLIES] = {
		[AS_SEARCH_PATHS] = "paths",
		[AS_SEARCH_AGAIN] = "paths_again",
		[AS_SEARCH_FOLLOWED] = "followed",
		[AS_SEARCH_STRAYED] = "strayed",
		[AS_SEARCH_QUESTIONS] = "questions",
		[AS_SEARCH_SOLVED] = "solved",
		[AS_SEARCH_NONE] = "none",
		[AS_SEARCH_LATE] = "late",
		[AS_SEARCH_SAVED] = "saved",
		[AS_SEARCH_SAVED_DONE] = "saved_done",
		[AS_SEARCH_SAVED_BUGGY] = "saved_buggy",
		[AS_SEARCH_LEFT_OUT] = "left_out",
		[AS_SEARCH_BY_CACHE] = "by_cache",
		[AS_SEARCH_BY_QUICK] = "by_quick",
		[AS_SEARCH_BY_BOUNDS] = "by_bounds",
		[AS_SEARCH_BY_TRIES] = "by_tries",
		[AS_SEARCH_BY_Z3] = "by_z3",
		[AS_SEARCH_Z3_DEATHS] = "z3_deaths",
		[AS_SEARCH_BLOCKS] = "blocks",
		[AS_SEARCH_HANGS] = "tool_late",
		[AS_SEARCH_TOOL_DEATHS] = "tool_deaths",
		[AS_SEARCH_WRONG] = "wrong",
		[AS_SEARCH_RUN_US] = "run_us",
		[AS_SEARCH_SOLVE_US] = "solve_us",
		[AS_SEARCH_BUGGY] = "buggy",
	};

	for (unsigned i = 0; i < AS_SEARCH_TALLIES; i++)
		as_json_kuint(j, names[i], t->tallies[i]);
}
