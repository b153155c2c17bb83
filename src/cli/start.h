/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start: how the process is set up before anything else. Standard descriptors that are closed are
 * filled, so that no other file gets their numbers. A write beyond `ulimit -f`, or to a pipe that
 * nobody reads, fails and does not kill the process, so that it can end in order.
 */
#ifndef AS_CLI_START_H
#define AS_CLI_START_H

#include <stdbool.h>

void as_cli_start(void);
/* Whether standard output has failed: then the work can stop. */
bool as_cli_unheard(void);
/* If it failed because nobody reads it any more: ends the process by SIGPIPE. */
void as_cli_die_unheard(void);

#endif
