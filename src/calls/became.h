/* SPDX-License-Identifier: GPL-2.0-or-later */
/* became: what a process runs after an exec: program and arguments, and a name for it. */
#ifndef AS_CALLS_BECAME_H
#define AS_CALLS_BECAME_H

#include "calls/syscall.h"

#include <regex.h>

#define AS_BECAME_MAX 16384u

/* The program and the arguments of an exec, as texts that end with a NUL. */
struct as_became {
	char program[AS_BECAME_MAX];
	char line[AS_BECAME_MAX]; /* the arguments, separated by blanks */
	char args[AS_BECAME_MAX];
	unsigned args_len;
	bool cut; /* there are more or longer arguments */
};

/* From a call that is an exec. */
void as_became_look(const struct as_syscall *call, struct as_became *out);
/* The name that an expression finds in the text: the first group that took part in the match, or
 * the whole match. False: it does not match. If the text was cut, a match that reaches its end does
 * not count. */
bool as_became_match(const regex_t *regex, const char *text, bool cut, const char **name,
		     size_t *len);
/* "open01", "tests/a.sh" of `bash -x tests/a.sh`, or the text after -c. */
const char *as_became_name(const struct as_became *b);

#endif
