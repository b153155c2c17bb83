/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cov: the parts of `assay cov`: one function for each of its commands, in cov_*.c. */
#ifndef AS_CMD_COV_COV_H
#define AS_CMD_COV_COV_H

#include "cli/cli.h"
#include "cover/counts.h"

struct as_json;

/* operands[0] is the name of the command, the others are its own. Exit status, or negative. */
int as_cov_read(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_show(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_untested(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_tcd(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_merge(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_diff(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_which(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_adds(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_rank(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_feedback(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_code(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
int as_cov_record(const struct as_spec *spec, const struct as_args *args, struct as_err *err);
/* Of `show`, with --svg or --html. */
int as_cov_figures(const struct as_spec *spec, const struct as_args *args, struct as_err *err);

/* ---- Test by test (cov_split.c) ---- */

struct as_split;

/* *out NULL: no option that counts tests apart is given. */
AS_MUST_CHECK int as_cov_split(const struct as_spec *spec, const struct as_args *args,
			       struct as_split **out, struct as_err *err);
/* The command that runs each line of a file; the caller frees it. */
char **as_cov_lines_argv(const char *file);
/* Writes all files, and says so. `counts` hold what belongs to no test, and become the total. */
AS_MUST_CHECK int as_cov_split_end(struct as_split *split, const struct as_args *args,
				   struct as_counts *counts, struct as_err *err);

/* What --syscall, --arg, --result and --spaces ask for. */
struct as_cov_choice {
	const char *family, *arg;
	const char *part; /* `which`: the value of --arg NAME=VALUE, or --result; wildcards */
	char arg_text[64];
	unsigned kinds; /* bits 1 << enum as_space_kind */
};

/* `kinds` when --spaces says nothing. A name that is not there is an error. */
AS_MUST_CHECK int as_cov_choose(const struct as_spec *spec, const struct as_args *args,
				unsigned kinds, struct as_cov_choice *out, struct as_err *err);
bool as_cov_chosen(const struct as_cov_choice *choice, const struct as_space *space);
/* "flags", "flags/pairs", "output" */
const char *as_cov_title(const struct as_space *space, char out[static 64]);

/* An option that is a percentage. */
AS_MUST_CHECK int as_cov_percent(const struct as_args *args, const char *name, double otherwise,
				 double *out, struct as_err *err);

/* ---- What CI asks (cov_judge.c): --fail-under, --baseline, --max-drop ---- */

/* AS_EUSE: a value is wrong, or the command does not take the option. */
AS_MUST_CHECK int as_cov_judge_check(const struct as_spec *spec, const struct as_args *args,
				     struct as_err *err);
/* 1 if the coverage is too low, with a line on stderr for each case; else 0. If `json` is not NULL,
 * the same is added to the object that is open. */
AS_MUST_CHECK int as_cov_judge(const struct as_spec *spec, const struct as_counts *counts,
			       const struct as_args *args, struct as_json *json,
			       struct as_err *err);

/* "runs/x.cov" is called x; to be freed. */
char *as_cov_suite_name(const char *path);
/* A file, or the folder of a suite that was split. */
AS_MUST_CHECK int as_cov_load(const struct as_spec *spec, const char *path, struct as_counts **out,
			      struct as_err *err);
/* To -o, or to stdout. */
AS_MUST_CHECK int as_cov_save(const struct as_counts *counts, const struct as_args *args,
			      struct as_err *err);
/* Says on stderr if the counts are partial. */
void as_cov_warn_partial(const struct as_counts *counts, const char *path);
/* Prints the warnings (cover/warn.h) on stderr. With json, also as `warnings` of the object that is
 * open. */
void as_cov_warn_counts(const struct as_counts *counts, const char *path, struct as_json *json);
/* Both. */
void as_cov_warn(const struct as_counts *counts, const char *path, struct as_json *json);
/* Prints where the counts are from, how many there are, and what could not be used. */
void as_cov_print_notes(const struct as_counts *counts, const char *path);

#endif
