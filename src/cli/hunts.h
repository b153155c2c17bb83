/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hunts: what a hunt needs from the command: the store of findings, and the summary for people. */
#ifndef AS_CLI_HUNTS_H
#define AS_CLI_HUNTS_H

#include "base/event.h"
#include "cli/cli.h"
#include "hunt/hunt.h"

/* Reads "90", "90s", "10m", "1h", "2d". */
AS_MUST_CHECK int as_cli_read_duration(const char *option, const char *text, int64_t *us,
				       struct as_err *err);
/* Reads --for, 0 if it is not given, and from now on the command opens what it needs for so long
 * (cli/stopping.h). */
AS_MUST_CHECK int as_cli_begin_time(const struct as_args *args, int64_t *for_us,
				    struct as_err *err);
/* How long a hunt takes by default, and one with options that only a CI has. */
#define AS_CLI_HUNT_FOR "10m"
#define AS_CLI_HUNT_FOR_CI "50s"
/* --for, --max-workloads, --max-findings: the state gets its bounds, in addition to what it has
 * used if it is resumed. */
AS_MUST_CHECK int as_cli_hunt_bounds(const struct as_args *args, bool resume,
				     struct as_hunt_state *state, struct as_err *err);
/* The options of a run. */
AS_MUST_CHECK int as_cli_hunt_options(const struct as_args *args, const char *scenario,
				      struct as_run_options *options, struct as_err *err);

extern const struct as_hunt_store as_cli_hunt_store;

/* The end of a hunt, as a table or as JSON lines. */
void as_cli_hunt_summary(const struct as_hunt_state *state, const char *folder, bool json,
			 bool stopped, struct as_sink *talk);

/* The error of a hunt that has run nothing. */
int as_cli_hunt_nothing(const struct as_hunt_state *state, struct as_err *err);

#endif
