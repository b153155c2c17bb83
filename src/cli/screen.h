/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * screen: standard output and standard error of this program. Whatever is printed passes a filter
 * that escapes what a terminal would obey (base/show.h), but for newlines, tabs, and, on a
 * terminal, the few sequences that are our own. Who prints a single line from outside escapes its
 * newlines before (as_show(), as_cli_put()); the filter is there so that nothing is forgotten.
 */
#ifndef AS_CLI_SCREEN_H
#define AS_CLI_SCREEN_H

#include <stdio.h>

/* Puts the filter before stdout and stderr. */
void as_cli_screen(void);
/* What the filter still holds (the beginning of a character that never ended) goes out. */
void as_cli_screen_end(void);

/* A name or another text from outside, on one line. */
void as_cli_put(FILE *out, const char *text);

#endif
