/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accepted: findings of a hunt that are known and accepted, and what a CI makes of the others.
 *
 * The file of --known has one kind on each line: its signature, a tab, and the reason why it is
 * accepted. Lines that begin with # and empty lines are left out.
 */
#ifndef AS_CLI_ACCEPTED_H
#define AS_CLI_ACCEPTED_H

#include "cli/cli.h"
#include "cli/forms.h"
#include "hunt/state.h"

/* clang-format off */
#define AS_CLI_ACCEPTED_OPTS                                                                   \
	{ .name = "known", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW,          \
	  .help = "kinds of findings that are accepted: each line of FILE has a signature, a " \
		  "tab, and a reason; if nothing else was found, the exit status is 0" },      \
	{ .name = "fail-on", .kind = AS_OPT_CHOICE, .choices = "new|any",                      \
	  .resume = AS_OPT_ANEW,                                                               \
	  .help = "which findings make the exit status 1: those that --known does not list "   \
		  "(new), or all of them (any); default new" },                                \
	{ .name = "junit", .kind = AS_OPT_TEXT, .arg = "FILE", .resume = AS_OPT_ANEW,          \
	  .help = "also write the kinds of findings to FILE, in the format of JUnit" },        \
	AS_CLI_FORM_OPTS
#define AS_CLI_MAX_FINDINGS_OPT                                                                  \
	{ .name = "max-findings", .kind = AS_OPT_NUMBER, .arg = "N", .min = 1, .max = INT64_MAX, \
	  .resume = AS_OPT_ANEW,                                                                 \
	  .help = "end when N kinds of findings were found and reduced; default: no limit" }
/* clang-format on */

/* Says at the end of a hunt which kinds are accepted, and writes the files that --junit and its
 * like ask for.
 * *fails: whether there is a kind that is not. The sinks hear of what is in the file and was not
 * met. */
AS_MUST_CHECK int as_cli_accepted(const struct as_args *args, const struct as_hunt_state *state,
				  struct as_sink *sinks, bool *fails, struct as_err *err);

#endif
