/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: standard output and standard error of this program. Everything that is printed passes a
 * filter that escapes the characters a terminal would obey (base/show.h), except newlines, tabs,
 * and, on a terminal, the few sequences that are our own. Code that prints a text from outside on
 * one line escapes its newlines first (as_show(), as_cli_put()); the filter is the safety net.
 */
#ifndef AS_CLI_SCREEN_H
#define AS_CLI_SCREEN_H

#include <stdio.h>

/* Puts the filter before stdout and stderr. */
void as_cli_screen(void);
/* Prints what the filter still holds: the beginning of a character whose end never came. */
void as_cli_screen_end(void);

/* A name or another text from outside, on one line. */
void as_cli_put(FILE *out, const char *text);

#endif
