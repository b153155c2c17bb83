/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtest: LTP's lists of tests (runtest/syscalls): "TAG COMMAND" a line. The tag is the name of
 * the test; in a tree of processes, only the command is visible. A process is the test if its
 * command is the same but for the folder of the program, or if a shell was given it by -c.
 */
#ifndef AS_COVER_RUNTEST_H
#define AS_COVER_RUNTEST_H

#include "base/err.h"

#include <stddef.h>

struct as_runtest;

AS_MUST_CHECK int as_runtest_load(const char *path, struct as_runtest **out, struct as_err *err);
void as_runtest_free(struct as_runtest *runtest);
unsigned as_runtest_n(const struct as_runtest *runtest);
/* The tag, or NULL. `program` is what exec was given; args: a NUL after each. */
const char *as_runtest_find(const struct as_runtest *runtest, const char *program, const char *args,
			    size_t len);

#endif
