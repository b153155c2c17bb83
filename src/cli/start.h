/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start: what the program asks of its process before all else. Standard descriptors that are closed
 * are not taken by other files; a write beyond `ulimit -f`, or to a pipe that nobody reads, fails
 * instead of ending the process, so that the work comes to an orderly end.
 */
#ifndef AS_CLI_START_H
#define AS_CLI_START_H

#include <stdbool.h>

void as_cli_start(void);
/* Whether standard output has failed: there is no use in going on. */
bool as_cli_unheard(void);
/* Where that was because nobody reads any more: ends the process as that does by default. */
void as_cli_die_unheard(void);

#endif
