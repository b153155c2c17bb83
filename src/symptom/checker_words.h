/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checker_words: the problem that a checker names. Of all that it prints, the first problem that is
 * a cause counts; what only follows from others (bitmaps, counts) counts when no cause is named,
 * and what is in order by itself (a lost+found that was removed) when nothing else is said.
 */
#ifndef AS_SYMPTOM_CHECKER_WORDS_H
#define AS_SYMPTOM_CHECKER_WORDS_H

#include "base/buf.h"

#include <stdbool.h>

/* Adds the line that names the problem, without the question that the checker asked about it.
 * `command` begins with the checker's program ("e2fsck -fn {disk}"); "" is a library's checker.
 * False: the output names none, and nothing is added. */
bool as_checker_problem(const char *command, const char *output, struct as_buf *out);
/* Adds the same problem to a signature: equal for the same problem of other objects. */
void as_checker_problem_sign(const char *command, const char *problem, struct as_buf *out);

#endif
