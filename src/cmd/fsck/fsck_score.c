/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_score: `assay fsck --score` (cross/score.h), and `--table N`: Tables 7 to 11 of the SWIFT
 * paper for the checkers of this machine. Tables 8, 9 and 11 are made of sessions, which are
 * commands of this program like those that a user types, so that their findings are kept as usual.
 */
#include "cli/hunts.h"
#include "cli/output.h"
#include "cli/stopping.h"
#include "cmd/fsck/fsck_cross.h"
#include "cmd/fsck/fsck_keep.h"
#include "cmd/fsck/fsck_word.h"
#include "cross/cross.h"
#include "cross/score.h"
#include "fsck/state.h"
#include "fsck/subject.h"
#include "os/dir.h"
#include "os/rundir.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH_US ((int64_t)60 * 1000000) /* for each checker, if nobody says otherwise */
#define STATE_BYTES ((size_t)64 << 20)
#define CHECKERS_MAX 64u
#define SHOWN_BYTES 110
#define SAID_BYTES ((size_t)64 << 20)

/* ---- Which checkers -------------------------------------------------------------------------- */

struct checkers {
	const char *spec[CHECKERS_MAX];
	size_t n;
	bool chosen; /* by the user: then one that is missing is an error */
};

static bool is_there(const char *spec)
{
	struct as_subject_setup setup = { .spec = spec };
	struct as_fsck_subject *subject = NULL;
	struct as_err ignored;
	bool there = !as_subject_open(&setup, &subject, &ignored);

	as_subject_free(subject);
	return there;
}

static struct checkers checkers_of(const struct as_args *args)
{
	struct checkers list = { .chosen = args->n_operands };
	const struct as_checker_test *test;

	for (int i = 0; i < args->n_operands && list.n < CHECKERS_MAX; i++)
		list.spec[list.n++] = args->operands[i];
	for (unsigned i = 0;
	     !list.chosen && (test = as_checker_test_at(i, NULL)) && list.n < CHECKERS_MAX; i++)
		if (!test->trusts && is_there(test->name))
			list.spec[list.n++] = test->name;
	return list;
}

static int time_for(const struct as_args *args, int64_t *us, struct as_err *err)
{
	const char *time = as_args_text(args, "for", NULL);

	*us = EACH_US;
	return time ? as_cli_read_duration("for", time, us, err) : 0;
}

/* ---- The score ------------------------------------------------------------------------------- */

static void print_sum(struct as_json *j, const char *key, const struct as_score_sum *s)
{
	as_json_key(j, key);
	as_json_object(j);
	as_json_kuint(j, "disks", s->disks);
	as_json_kuint(j, "content", s->content);
	as_json_kuint(j, "unread", s->unread);
	as_json_kuint(j, "whole", s->whole);
	as_json_kuint(j, "unjudged", s->unjudged);
	as_json_kuint(j, "touched_files", s->touched.files);
	as_json_kuint(j, "touched_bytes", s->touched.bytes);
	as_json_kuint(j, "touched_names", s->touched.names);
	as_json_kuint(j, "touched_metadata", s->touched.metadata);
	as_json_kuint(j, "untouched_files", s->untouched.files);
	as_json_kuint(j, "untouched_bytes", s->untouched.bytes);
	as_json_kuint(j, "untouched_names", s->untouched.names);
	as_json_kuint(j, "untouched_metadata", s->untouched.metadata);
	as_json_end(j);
}

static void print_json(const struct as_score *s)
{
	struct as_buf line = { 0 };
	struct as_json j = as_json_on(&line);

	as_json_object(&j);
	as_json_kstr(&j, "event", "score");
	as_json_kstr(&j, "checker", s->checker);
	as_json_kbool(&j, "complete", s->complete);
	for (int k = 0; k < AS_SCORE_N; k++)
		print_sum(&j, as_score_kind_name((enum as_score_kind)k), &s->of[k]);
	print_sum(&j, "all", &s->all);
	as_json_end(&j);
	printf("%s\n", as_buf_str(&line));
	fflush(stdout);
	as_buf_free(&line);
}

static void print_table(const struct as_score *scores, size_t n)
{
	const struct as_score **list = as_xcalloc(n + 1, sizeof(const struct as_score *));
	struct as_buf text = { 0 };

	for (size_t i = 0; i < n; i++)
		list[i] = &scores[i];
	as_score_tell(list, n, &text);
	printf("%s", as_buf_str(&text));
	printf("\n");
	for (size_t i = 0; i < n; i++) {
		printf("%s: %s damaged, trees were read by %s", scores[i].checker,
		       scores[i].complete ? "every field was" : "not every field was",
		       scores[i].by_kernel ? "the kernel" : "the description of the type");
		if (scores[i].all.unjudged)
			printf("; %llu disks were not judged, since the sandbox failed",
			       (unsigned long long)scores[i].all.unjudged);
		printf("%s%s\n", scores[i].note.len ? "; " : "", as_buf_str(&scores[i].note));
	}
	as_buf_free(&text);
	free(list);
}

int as_fsck_score(const struct as_args *args, struct as_err *err)
{
	struct as_halt halt = { .stop = as_cli_stop_catch() };
	struct as_cross_setup setup = {
		.halt = &halt,
		.by_kernel = as_args_has(args, "kernel"),
		.deadline_ms = (unsigned)as_args_number(args, "deadline", 5) * 1000,
	};
	struct checkers list = checkers_of(args);
	struct as_score *scores = as_xcalloc(list.n + 1, sizeof(*scores));
	struct as_live *live =
		as_live_open(&(struct as_live_setup){ .command = "fsck --score",
						      .json = as_args_has(args, "json"),
						      .quiet = as_args_has(args, "quiet") });
	struct as_fsck_keep keep = { .folder.dir = AS_DIR_NONE, .below = AS_DIR_NONE };
	size_t n = 0;
	int64_t us;
	int rc = time_for(args, &us, err);

	if (!rc)
		rc = as_fsck_word_box(args, "ext4", &setup.kernel, err);
	if (!rc)
		rc = as_fsck_keep_open(args, "score", AS_SCORE_HEAD, &keep, err);
	as_live_goal(live, 0, list.n);
	for (size_t i = 0; !rc && i < list.n && !*halt.stop; i++) {
		struct as_score_args how = {
			.checker = list.spec[i],
			.setup = &setup,
			.jobs = (unsigned)as_args_number(args, "jobs", 1),
			.for_us = us,
			.keep = keep.frames,
			.halt = &halt,
			.opened = as_cli_opened,
		};

		as_cli_opens(us);
		as_live_target(live, list.spec[i], "", how.jobs);
		as_live_done(live, i);
		rc = as_score_run(&how, &scores[n], err);
		as_cli_opened();
		as_live_add(live, AS_COUNT_disks, scores[n].all.disks);
		if (rc && !list.chosen) {
			fprintf(stderr, "assay: %s is left out: %s\n", list.spec[i], err->msg);
			as_score_free(&scores[n]);
			rc = 0;
			continue;
		}
		n++;
		if (!rc && as_args_has(args, "json"))
			print_json(&scores[n - 1]);
	}
	as_live_close(live, false, rc, err);
	if (!rc && !as_args_has(args, "json"))
		print_table(scores, n);
	for (size_t i = 0; i < n; i++)
		as_score_free(&scores[i]);
	free(scores);
	as_fsck_keep_close(&keep);
	return rc;
}

/* ---- Table 7 --------------------------------------------------------------------------------- */

static void table_7(const struct checkers *list)
{
	static const char *const words[] = { "repairs", "the second run",
					     "looks, changes nothing" };

	printf("%-60s  %-24s  %s\n", "command", "what it does", "checker");
	for (size_t i = 0; i < list->n; i++) {
		struct as_subject_setup setup = { .spec = list->spec[i] };
		struct as_fsck_subject *s = NULL;
		struct as_err ignored;

		if (as_subject_open(&setup, &s, &ignored))
			continue;
		for (int m = 0; m < AS_SUBJECT_MODES; m++) {
			bool again = m == AS_SUBJECT_AGAIN &&
				     !strcmp(as_subject_command(s, AS_SUBJECT_AGAIN),
					     as_subject_command(s, AS_SUBJECT_REPAIR));

			if (as_subject_has(s, (enum as_subject_mode)m) && !again)
				printf("%-60s  %-24s  %s\n",
				       as_subject_command(s, (enum as_subject_mode)m), words[m],
				       list->spec[i]);
		}
		as_subject_free(s);
	}
}

/* ---- Tables 8 and 9 -------------------------------------------------------------------------- */

/* "assay fsck CHECKER --model M ...", as a user would type it. model NULL: --symbolic. *said is
 * what it printed, in lines of JSON. */
static int run_session(const struct as_args *args, const char *spec, const char *model,
		       int64_t for_us, struct as_buf *said, struct as_err *err)
{
	char time[32], jobs[32];
	const char *suite = as_args_text(args, "suite", NULL);
	const char *argv[20] = { "/proc/self/exe",
				 "fsck",
				 spec,
				 "--json",
				 "--for",
				 time,
				 "--jobs",
				 jobs,
				 "-o",
				 as_args_text(args, "out", AS_OUT_DEFAULT) };
	int n = 10;
	const struct as_halt halt = { .stop = as_cli_stop_catch() };
	struct as_spawn spawn = {
		.argv = (char *const *)argv, .halt = &halt, .output = said, .output_max = SAID_BYTES
	};
	struct as_ended ended;
	int rc;

	as_buf_clear(said);
	argv[n++] = model ? "--model" : "--symbolic";
	if (model)
		argv[n++] = model;
	if (suite) {
		argv[n++] = "--suite";
		argv[n++] = suite;
	}
	snprintf(time, sizeof(time), "%llds", (long long)(for_us / 1000000));
	snprintf(jobs, sizeof(jobs), "%llu", (unsigned long long)as_args_number(args, "jobs", 1));
	rc = as_spawn_run(&spawn, &ended, err);
	if (!rc && ended.how == AS_END_STOPPED)
		return 1;
	if (!rc && (ended.how != AS_END_EXIT || ended.status > AS_EXIT_FOUND)) {
		size_t skip = said->len > 300 ? said->len - 300 : 0;

		fprintf(stderr, "assay: %s is left out: %s\n", spec, as_buf_str(said) + skip);
		rc = 1;
	}
	return rc;
}

/* "fsck: twice: repaired then repaired; field super s_wtime" */
static void print_cluster(const char *checker, const struct as_fsck_cluster *c)
{
	const char *kind = strncmp(c->signature, "fsck: ", 6) ? c->signature : c->signature + 6;
	size_t len = strcspn(kind, ":;");
	const char *rest = kind + len + strspn(kind + len, ":; ");

	printf("%-26.26s %-11.*s %6llu  %.*s\n", checker, (int)len, kind,
	       (unsigned long long)c->count, SHOWN_BYTES, *rest ? rest : "-");
}

static int print_session(const struct as_args *args, const char *spec, const char *model,
			 struct as_err *err)
{
	struct as_subject_setup setup = { .spec = spec };
	struct as_buf name = { 0 }, text = { 0 };
	struct as_fsck_subject *subject = NULL;
	struct as_rundir folder = { .dir = AS_DIR_NONE };
	struct as_dir below = AS_DIR_NONE;
	struct as_fsck_state state = { 0 };
	int rc = as_subject_open(&setup, &subject, err);

	if (!rc)
		rc = as_rundir_open(as_args_text(args, "out", AS_OUT_DEFAULT), AS_RUNDIR_MAKE,
				    &folder, err);
	if (!rc)
		rc = as_dir_below(&folder.dir, "fsck", false, &below, err);
	if (!rc) {
		as_buf_addf(&name, "%s-%s", as_subject_name(subject), model);
		rc = as_dir_read(&below, as_buf_str(&name), STATE_BYTES, &text, err);
	}
	if (!rc)
		rc = as_fsck_state_parse(as_buf_str(&name), as_buf_str(&text), &state, err);
	for (size_t i = 0; !rc && i < state.known.n; i++)
		print_cluster(spec, &state.known.items[i]);
	if (!rc && !state.known.n)
		printf("%-26.26s %-11s\n", spec, "nothing");
	fflush(stdout);
	as_fsck_state_free(&state);
	as_subject_free(subject);
	as_dir_close(&below);
	if (folder.dir.fd >= 0)
		as_rundir_close(&folder);
	as_buf_free(&name);
	as_buf_free(&text);
	return rc;
}

static int table_of_sessions(const struct as_args *args, const struct checkers *list,
			     const char *model, struct as_err *err)
{
	const volatile int *stop = as_cli_stop_catch();
	struct as_buf said = { 0 };
	int64_t us;
	int rc = time_for(args, &us, err);

	printf("%-26s %-11s %6s  %s\n", "checker", "bug type", "times", "what it says; field");
	for (size_t i = 0; rc >= 0 && i < list->n && !*stop; i++) {
		rc = run_session(args, list->spec[i], model, us, &said, err);
		if (!rc)
			rc = print_session(args, list->spec[i], model, err);
	}
	as_buf_free(&said);
	return rc < 0 ? rc : 0;
}

/* ---- Table 11 -------------------------------------------------------------------------------- */

/* A number of the last line of a session. */
static double number_of(const struct as_buf *said, const char *name)
{
	const char *line = as_buf_str(said), *at = line, *next;
	char key[64];

	while ((next = strstr(at, "{\"event\":\"fsck\"")))
		line = next, at = next + 1;
	snprintf(key, sizeof(key), "\"%s\":", name);
	at = strstr(line, key);
	return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Paths that would have been dropped for want of time are those of concretization (section 6.4). */
static const struct {
	const char *title, *name;
	double unit;
	int width, digits;
} columns_11[] = {
	{ "seconds", "wall_us", 1e-6, 8, 0 },
	{ "places", "places", 1, 7, 0 },
	{ "paths", "paths", 1, 7, 0 },
	{ "completed", "completed", 1, 10, 0 },
	{ "buggy", "buggy", 1, 6, 0 },
	{ "clusters", "clusters", 1, 9, 0 },
	{ "saved", "saved", 1, 6, 0 },
	{ "done", "saved_done", 1, 5, 0 },
	{ "buggy", "saved_buggy", 1, 6, 0 },
	{ "blocks", "all_blocks", 1, 7, 0 },
	{ "% of code", "code_percent", 1, 10, 1 },
};

static int table_11(const struct as_args *args, const struct checkers *list, struct as_err *err)
{
	const volatile int *stop = as_cli_stop_catch();
	const size_t n = sizeof(columns_11) / sizeof(columns_11[0]);
	struct as_buf said = { 0 };
	int64_t us;
	int rc = time_for(args, &us, err);

	printf("%-20s", "checker");
	for (size_t k = 0; k < n; k++)
		printf(" %*s", columns_11[k].width, columns_11[k].title);
	printf("\n");
	for (size_t i = 0; rc >= 0 && i < list->n && !*stop; i++) {
		rc = run_session(args, list->spec[i], NULL, us, &said, err);
		if (rc)
			continue;
		printf("%-20.20s", list->spec[i]);
		for (size_t k = 0; k < n; k++)
			printf(" %*.*f", columns_11[k].width, columns_11[k].digits,
			       number_of(&said, columns_11[k].name) * columns_11[k].unit);
		printf("\n");
		fflush(stdout);
	}
	as_buf_free(&said);
	return rc < 0 ? rc : 0;
}

/* ---- Table 10 -------------------------------------------------------------------------------- */

static int table_10(const struct as_args *args, struct as_err *err)
{
	struct as_cross_setup setup = { .list = as_args_text(args, "compare", "ext4,reiserfs") };
	struct as_cross *cross = NULL;
	struct as_buf text = { 0 };
	int rc = as_fsck_word_box(args, "ext4", &setup.kernel, err);

	if (!rc)
		rc = as_cross_open(&setup, &cross, err);
	if (!rc) {
		as_cross_table(cross, &text);
		printf("%s", as_buf_str(&text));
	}
	as_cross_free(cross);
	as_buf_free(&text);
	return rc;
}

int as_fsck_table(const struct as_args *args, struct as_err *err)
{
	struct checkers list = checkers_of(args);

	switch (as_args_number(args, "table", 0)) {
	case 7:
		table_7(&list);
		return 0;
	case 8:
		return table_of_sessions(args, &list, "fields", err);
	case 9:
		if (!as_args_has(args, "suite"))
			return as_fail(err, AS_EUSE, "--table 9 needs --suite DIR");
		if (!list.chosen)
			list = (struct checkers){ .spec = { "e2fsck" }, .n = 1 };
		return table_of_sessions(args, &list, "suite", err);
	case 11:
		return table_11(args, &list, err);
	default:
		return table_10(args, err);
	}
}
