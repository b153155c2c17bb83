/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hunts: what a hunt needs from the command: the store of findings, and the summary for people. */
#ifndef AS_CLI_HUNTS_H
#define AS_CLI_HUNTS_H

#include "hunt/hunt.h"
#include "report/sinks.h"

extern const struct as_hunt_store as_cli_hunt_store;

/* The end of a hunt, as a table or as JSON lines. */
void as_cli_hunt_summary(const struct as_hunt_state *state, const char *folder, bool json,
			 bool stopped, struct as_sink *talk);

#endif
