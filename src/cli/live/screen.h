/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: standard output and standard error of this program. Everything that is printed passes a
 * filter that escapes the characters a terminal would obey (base/show.h), except newlines, tabs,
 * and, on a terminal, the few sequences that are our own. Code that prints a text from outside on
 * one line escapes its newlines first (as_show(), as_cli_put()); the filter is the safety net.
 */
#ifndef AS_CLI_LIVE_SCREEN_H
#define AS_CLI_LIVE_SCREEN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- What a terminal can do ---- */

/* A terminal that obeys sequences: not one of TERM=dumb. */
bool as_cli_is_terminal(int fd);
/* The same, and NO_COLOR (no-color.org) is not set. */
bool as_cli_has_colour(int fd);
/* How wide it is now; 80 where that is not known. */
unsigned as_cli_columns(int fd);

/* ---- The streams ---- */

/* Puts the filter before stdout and stderr. */
void as_cli_screen(void);
/* Prints what the filter still holds: the beginning of a character whose end never came. */
void as_cli_screen_end(void);

/* ---- What live.c draws below the rest: it may be called in other processes of the program ---- */

/* Draws whole lines in place of those drawn before; what is printed later appears above them.
 * False: not now, since a line is begun. */
bool as_cli_screen_block(const struct as_buf *block);
bool as_cli_screen_has_block(void);
void as_cli_screen_clear(void);
/* It stays where it is: somebody else uses the terminal now. */
void as_cli_screen_forget(void);
/* Whole lines to a descriptor as they are, but never into a line that is begun: then false. */
bool as_cli_screen_line(int fd, const struct as_buf *line);

/* A name or another text from outside, on one line. */
void as_cli_put(FILE *out, const char *text);

#endif
