/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fsck_symbolic: see fsck_symbolic.h. */
#include "cmd/fsck/fsck_symbolic.h"

#include "cli/hunts.h"
#include "os/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_BYTES ((size_t)16 << 20)
#define HINT_MS 500u
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

/* Many disks of a suite are tried that nobody solved: one that hangs costs as much as hundreds. */
unsigned as_symbolic_hint_ms(const struct as_args *args)
{
	return as_args_has(args, "symbolic") && as_args_has(args, "suite") ? HINT_MS : 0;
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

static int set_up(const struct as_args *args, struct as_places_setup *setup, int64_t *each_us,
		  struct as_err *err)
{
	const char *range = as_args_text(args, "range", NULL);
	const char *each = as_args_text(args, "each", NULL);
	unsigned at_once;
	int rc = as_symbolic_fields(args, &at_once, err);

	if (!rc && !at_once)
		setup->fields = as_args_text(args, "fields", NULL);
	if (!rc && range)
		rc = read_range(range, &setup->off, &setup->len, err);
	if (!rc && each)
		rc = as_cli_read_duration("each", each, each_us, err);
	return rc;
}

/* Whether there are Valgrind and Z3 is said before anything is run. */
static int look(struct as_err *err)
{
	struct as_solver *solver;
	int rc = as_sym_server_look(err);

	if (!rc)
		rc = as_solver_new(&(struct as_solver_setup){ 0 }, &solver, err);
	if (!rc)
		as_solver_free(solver);
	return rc;
}

/* A session that goes on adds to the curves of the one before. */
static int open_curve(const struct as_args *args, const struct as_dir *below, const char *name,
		      struct as_symbolic *s, struct as_err *err)
{
	const char *last;
	int rc = 0;

	as_buf_addf(&s->curve_name, "%s.csv", name);
	if (!as_args_has(args, "resume") || !as_dir_has(below, as_buf_str(&s->curve_name)))
		return 0;
	rc = as_dir_read(below, as_buf_str(&s->curve_name), CURVE_BYTES, &s->curve, err);
	if (rc || s->curve.len < 2)
		return rc;
	last = memrchr(s->curve.data, '\n', s->curve.len - 1);
	s->seconds = last ? strtod(last + 1, NULL) : 0;
	return 0;
}

int as_symbolic_open(const struct as_args *args, const struct as_fsck_subject *subject,
		     struct as_fsck_base *bases, size_t n, const struct as_damage *differs,
		     const struct as_dir *below, const char *name, struct as_symbolic *s,
		     struct as_err *err)
{
	const char *concretize = as_args_text(args, "concretize", "first");
	struct as_places_setup setup = { .bases = bases,
					 .n = n,
					 .type = as_subject_type(subject),
					 .books = as_subject_test(subject)->books,
					 .layout = as_args_text(args, "layout", NULL),
					 .suite = as_args_has(args, "suite"),
					 .differs = differs,
					 .whole = as_args_has(args, "range"),
					 .seal = !as_args_has(args, "no-reseal") };
	int64_t each_us = 0;
	int rc = set_up(args, &setup, &each_us, err);

	*s = (struct as_symbolic){ .source = as_search_source };
	if (!rc)
		rc = look(err);
	if (!rc)
		rc = as_places_find(&setup, &s->places, err);
	if (!rc && below->fd >= 0)
		rc = as_keep_open(below, name, (unsigned)as_args_number(args, "jobs", 1),
				  as_args_has(args, "resume"), &s->keep, err);
	if (!rc && below->fd >= 0)
		rc = open_curve(args, below, name, s, err);
	if (rc)
		return rc;
	if (as_args_has(args, "questions") && as_args_number(args, "jobs", 1) > 1)
		return as_fail(err, AS_EUSE, "--questions takes one process: no --jobs");
	s->setup = (struct as_search_setup){ .bases = bases,
					     .places = &s->places,
					     .deadline_ms = RUN_MS,
					     .each_us = each_us,
					     .suite = setup.suite,
					     .keep = s->keep,
					     .shared = as_shared_alloc(sizeof(*s->setup.shared)) };
	for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
		if (!strcmp(strategies[i].name, concretize))
			s->setup.solver.concretize = strategies[i].how;
	s->setup.solver.record = as_args_text(args, "questions", NULL);
	as_search_recall(&s->setup, as_subject_program(subject), s->before);
	s->source.ctx = &s->setup;
	return 0;
}

void as_symbolic_close(struct as_symbolic *s)
{
	as_places_free(&s->places);
	as_keep_free(s->keep);
	as_buf_free(&s->curve);
	as_buf_free(&s->curve_name);
	if (s->setup.shared)
		as_shared_free(s->setup.shared, sizeof(*s->setup.shared));
	*s = (struct as_symbolic){ 0 };
}

int as_symbolic_judge(const struct as_symbolic *s, struct as_err *err)
{
	const struct as_search_shared *shared = s->setup.shared;

	if (s->setup.shared->tallies[AS_SEARCH_PATHS] || s->before[AS_SEARCH_PATHS] ||
	    shared->told != 2)
		return 0;
	return as_fail(err, AS_EUSE, "%s", shared->why);
}

/* ---- Curves ---------------------------------------------------------------------------------- */

static unsigned long long tally(const struct as_symbolic *s, enum as_search_tally which)
{
	return s->before[which] + s->setup.shared->tallies[which];
}

int as_symbolic_save(struct as_symbolic *s, const struct as_dir *below,
		     const struct as_fsck_status *t, struct as_err *err)
{
	const struct as_blocks *blocks = &s->setup.shared->blocks;

	if (!s->curve.len)
		as_buf_adds(&s->curve, "seconds,paths,completed,saved,buggy,clusters,blocks,"
				       "percent\n");
	as_buf_addf(&s->curve, "%.1f,%llu,%llu,%llu,%llu,%llu,%llu,%.2f\n",
		    s->seconds + (double)t->wall_us / 1e6, tally(s, AS_SEARCH_PATHS),
		    tally(s, AS_SEARCH_DONE), tally(s, AS_SEARCH_SAVED), tally(s, AS_SEARCH_BUGGY),
		    (unsigned long long)t->clusters, (unsigned long long)blocks->n,
		    as_blocks_share(blocks));
	return below->fd < 0 ? 0 : as_dir_write(below, as_buf_str(&s->curve_name), &s->curve, err);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

static const struct {
	enum as_search_tally which;
	const char *words;
} unfollowed[] = {
	{ AS_SEARCH_THREADS, "runs had several threads: under Valgrind, one ran at a time" },
	{ AS_SEARCH_FORKS, "runs started processes, which were not followed" },
	{ AS_SEARCH_EXECS, "runs started another program in place of the checker, which was "
			   "not followed" },
	{ AS_SEARCH_ASYNC, "runs used aio or io_uring: what was read so is not unknown" },
	{ AS_SEARCH_DROPPED, "runs computed with unknown bytes in ways that are not followed, such "
			     "as floating point: there, these bytes kept their values" },
	{ AS_SEARCH_FELL, "runs died under Valgrind only: of an instruction that it does not "
			  "know, or for want of memory" },
};

static void say_unfollowed(const struct as_symbolic *s, struct as_sink *sinks)
{
	for (size_t i = 0; i < sizeof(unfollowed) / sizeof(unfollowed[0]); i++) {
		unsigned long long n = tally(s, unfollowed[i].which);

		if (n)
			as_emit_note(sinks, "%llu %s", n, unfollowed[i].words);
	}
}

static void say_trouble(const struct as_symbolic *s, struct as_sink *sinks)
{
	const struct as_search_shared *shared = s->setup.shared;

	if (shared->left_out)
		as_emit_note(sinks, "%u disks could not be explored: %s", shared->left_out,
			     shared->why);
	say_unfollowed(s, sinks);
	if (tally(s, AS_SEARCH_TOOL_DEATHS) || tally(s, AS_SEARCH_HANGS) ||
	    tally(s, AS_SEARCH_Z3_DEATHS))
		as_emit_note(
			sinks,
			"under Valgrind, %llu runs did not end in time, and the server died %llu "
			"times; Z3 died or was late %llu times",
			tally(s, AS_SEARCH_HANGS), tally(s, AS_SEARCH_TOOL_DEATHS),
			tally(s, AS_SEARCH_Z3_DEATHS));
	if (tally(s, AS_SEARCH_WRONG))
		as_emit_note(
			sinks,
			"%llu paths were not used, since values differed from those of the run: "
			"this is an error of assay",
			tally(s, AS_SEARCH_WRONG));
}

void as_symbolic_say(const struct as_symbolic *s, const struct as_fsck_status *t,
		     struct as_sink *sinks)
{
	uint64_t paths = s->setup.shared->tallies[AS_SEARCH_PATHS],
		 before = s->before[AS_SEARCH_PATHS];
	uint64_t followed = tally(s, AS_SEARCH_FOLLOWED);
	uint64_t strayed = tally(s, AS_SEARCH_STRAYED);
	const struct as_blocks *blocks = &s->setup.shared->blocks;

	if (before)
		as_emit_note(sinks,
			     "with %llu paths of earlier sessions:", (unsigned long long)before);
	as_emit_note(sinks,
		     "%zu places; %llu paths (%.1f/s), %llu of them with a problem; %llu blocks of "
		     "code, %.1f %% of the checker's own",
		     s->places.n, (unsigned long long)(paths + before),
		     t->search_us > 0 ? (double)paths * 1e6 / (double)t->search_us : 0,
		     tally(s, AS_SEARCH_BUGGY), (unsigned long long)blocks->n,
		     as_blocks_share(blocks));
	as_emit_note(
		sinks,
		"%llu questions: %llu answered, %llu without an answer, %llu late; by the "
		"cache %llu, backwards %llu, bounds %llu, all values %llu, Z3 %llu; %llu put off",
		tally(s, AS_SEARCH_QUESTIONS), tally(s, AS_SEARCH_SOLVED), tally(s, AS_SEARCH_NONE),
		tally(s, AS_SEARCH_LATE), tally(s, AS_SEARCH_BY_CACHE),
		tally(s, AS_SEARCH_BY_QUICK), tally(s, AS_SEARCH_BY_BOUNDS),
		tally(s, AS_SEARCH_BY_TRIES), tally(s, AS_SEARCH_BY_Z3),
		tally(s, AS_SEARCH_LEFT_OUT));
	as_emit_note(
		sinks,
		"%.1f %% of %llu solved disks took the path that was predicted; %llu paths were "
		"known already",
		percent(followed, followed + strayed), (unsigned long long)(followed + strayed),
		tally(s, AS_SEARCH_AGAIN));
	if (tally(s, AS_SEARCH_CROSSED))
		as_emit_note(sinks,
			     "%llu more disks by putting answers together, and by the next, least "
			     "and greatest numbers",
			     tally(s, AS_SEARCH_CROSSED));
	if (tally(s, AS_SEARCH_UNSEALED))
		as_emit_note(sinks,
			     "%llu of %llu that took another one compare a checksum, which no "
			     "description may seal",
			     tally(s, AS_SEARCH_UNSEALED), (unsigned long long)strayed);
	if (tally(s, AS_SEARCH_LATE))
		as_emit_note(sinks,
			     "concretized: %llu paths saved, %llu completed, %llu with a problem",
			     tally(s, AS_SEARCH_SAVED), tally(s, AS_SEARCH_SAVED_DONE),
			     tally(s, AS_SEARCH_SAVED_BUGGY));
	if (tally(s, AS_SEARCH_CUT))
		as_emit_note(sinks, "%llu places used up their time (--each)",
			     tally(s, AS_SEARCH_CUT));
	say_trouble(s, sinks);
}

void as_symbolic_json(const struct as_symbolic *s, struct as_json *j)
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
		[AS_SEARCH_DONE] = "completed",
		[AS_SEARCH_CUT] = "places_cut",
		[AS_SEARCH_UNSEALED] = "strayed_checksum",
		[AS_SEARCH_FELL] = "tool_died",
		[AS_SEARCH_ASYNC] = "async",
		[AS_SEARCH_THREADS] = "threads",
		[AS_SEARCH_FORKS] = "forks",
		[AS_SEARCH_EXECS] = "execs",
		[AS_SEARCH_Z3_US] = "z3_us",
		[AS_SEARCH_Z3_CPU_US] = "z3_cpu_us",
		[AS_SEARCH_Z3_ASKED] = "z3_asked",
		[AS_SEARCH_CROSSED] = "crossed",
		[AS_SEARCH_DROPPED] = "dropped",
	};

	for (unsigned i = 0; i < AS_SEARCH_TALLIES; i++)
		as_json_kuint(j, names[i], tally(s, i));
	as_json_kuint(j, "places", s->places.n);
	as_json_kuint(j, "all_blocks", s->setup.shared->blocks.n);
	as_json_key(j, "code_percent");
	as_json_num(j, as_blocks_share(&s->setup.shared->blocks));
}
