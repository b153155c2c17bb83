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
	uint64_t size_bytes;
	bool small; /* the disk is the smallest one that the target takes: of hunts with power cuts */
	/* The last one that was opened. */
	struct as_target *target;
	const struct as_target *targets[1];
	bool has_box;
	struct as_cli_box box;
};

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
/* Sets targets and box of the hunt to those of this set. The one before is closed. A set of a
 * stored hunt that names another target is refused. */
AS_MUST_CHECK int as_cli_drawn_open(struct as_cli_drawn *drawn, size_t set, struct as_hunt *hunt,
				    struct as_err *err);
void as_cli_drawn_close(struct as_cli_drawn *drawn);
/* How many workloads ran on which set. */
void as_cli_drawn_say(const struct as_hunt_state *state, bool json, struct as_sink *talk);

#endif
