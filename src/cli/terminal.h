/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terminal: what a terminal can do. */
#ifndef AS_CLI_TERMINAL_H
#define AS_CLI_TERMINAL_H

#include <stdbool.h>

/* A terminal that obeys sequences: not one of TERM=dumb. */
bool as_cli_is_terminal(int fd);
/* The same, and NO_COLOR (no-color.org) is not set. */
bool as_cli_has_colour(int fd);
/* How wide it is now; 80 where that is not known. */
unsigned as_cli_columns(int fd);

#endif
