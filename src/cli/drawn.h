/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drawn: the sets of a hunt (hunt/sets.h): drawing them, opening them, and what people see of
 * them. */
#ifndef AS_CLI_DRAWN_H
#define AS_CLI_DRAWN_H

#include "cli/boxes.h"
#include "hunt/hunt.h"

/* What opens the sets of a hunt, one at a time. */
struct as_cli_drawn {
	const struct as_args *args;
	const struct as_hunt_state *state;
	bool boxed;
	const struct as_run_options *run;
	/* Of a plugin, one for each set, which all jobs share: so that it is known in the end what
	 * they used. The first is NULL, as it is the target itself. */
	struct as_target **kept;
	/* The last one that was opened. */
	struct as_target *target;
	const struct as_target *targets[1];
	bool has_box;
	struct as_cli_box box;
};

/* The disk that a box has ready: power cuts are tried on the smallest one (crash/crash.c). */
uint64_t as_cli_box_bytes(const struct as_target *target, const struct as_run_options *run);

/* clang-format off */
#define AS_CLI_DRAWN_OPT                                                                          \
	{ .name = "opts-matrix", .kind = AS_OPT_TEXT, .arg = "FILE",                              \
	  .help = "hunt on the target as it is named and, in turns, with the options of each "    \
		  "line of FILE added; lines with # are left out" }
/* clang-format on */

/* Adds the target and its sets to a new state: those of --opts-matrix, or some that are drawn, by
 * the seed. Nothing, if the target is NULL, is named with options or has none, or with --no-draw.
 */
AS_MUST_CHECK int as_cli_drawn_begin(const struct as_args *args, const struct as_target *target,
				     struct as_hunt_state *state, struct as_err *err);
/* Opens the sets of a plugin, before there are jobs. What cannot be opened is told by the job that
 * tries it. */
void as_cli_drawn_keep(struct as_cli_drawn *drawn);
/* Says what calls used and how often flash was erased, on the target and on each set. */
void as_cli_drawn_used(const struct as_cli_drawn *drawn, const struct as_target *target, bool json,
		       struct as_sink *talk);
/* Sets targets and box of the hunt to those of this set. The one before is closed. A set of a
 * stored hunt that names another target is refused. */
AS_MUST_CHECK int as_cli_drawn_open(struct as_cli_drawn *drawn, size_t set, struct as_hunt *hunt,
				    struct as_err *err);
void as_cli_drawn_free(struct as_cli_drawn *drawn);
/* How many workloads ran on which set. */
void as_cli_drawn_say(const struct as_hunt_state *state, bool json, struct as_sink *talk);

#endif
