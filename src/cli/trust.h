/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trust: whether files that name targets are obeyed (target/trust.h). A command that takes a target
 * from anywhere but its own command line has to ask here. */
#ifndef AS_CLI_TRUST_H
#define AS_CLI_TRUST_H

#include "cli/cli.h"
#include "cli/scenarios.h"
#include "work/seq.h"

struct as_profile;

/* clang-format off */
#define AS_CLI_TRUST_OPT                                                                    \
	{ .name = "trust", .resume = AS_OPT_ANEW,                                           \
	  .help = "obey files that name a plugin, a command, a folder or a kernel to use; " \
		  "default: refuse them, unless you typed the same words in this folder before" }
/* clang-format on */

/* `where` names the target: AS_EUSE, with what it would do, unless the user trusts it. */
AS_MUST_CHECK int as_cli_trust(const struct as_args *args, const char *where, const char *spec,
			       struct as_err *err);
/* The same for the mount options in a workload that runs on that target. */
AS_MUST_CHECK int as_cli_trust_seq(const struct as_args *args, const char *where, const char *spec,
				   const struct as_seq *seq, struct as_err *err);
/* The same for anything else a file names: `does` says what it would make us do. */
AS_MUST_CHECK int as_cli_trust_text(const struct as_args *args, const char *where, const char *does,
				    const char *text, struct as_err *err);
/* The same for the mount options that a profile draws. */
AS_MUST_CHECK int as_cli_trust_profile(const struct as_args *args, const char *spec,
				       const struct as_profile *profile, struct as_err *err);
/* The user typed it; from now on, files in this folder may name it, too. */
void as_cli_typed(const struct as_args *args, const char *spec);

/* A hunt that is resumed: `now` is what was typed, `both` also has the options of the hunt so far.
 * Everything that runs outside of a sandbox needs trust, since the folder contains workloads. */
AS_MUST_CHECK int as_cli_trust_hunt(const struct as_args *now, const struct as_args *both,
				    const char *folder, const char *target,
				    const struct as_cli_specs *specs, struct as_err *err);
/* A hunt that is begun. */
void as_cli_typed_hunt(const struct as_args *args, const struct as_cli_specs *specs);
/* A scenario that may name targets. */
void as_cli_typed_scenario(const struct as_args *args, const char *scenario);

#endif
