/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_rig: a crash run from a few lines of text, and what it found. */
#ifndef AS_TESTS_LIB_CRASH_RIG_H
#define AS_TESTS_LIB_CRASH_RIG_H

#include "base/buf.h"
#include "base/event.h"
#include "crash/crash.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

#define CAUGHT_MAX 64

/* What was found: its signature, summary, and the options that bring it back. */
struct caught {
	char *signature, *summary, *options;
	bool disk;
};

struct crash_rig {
	struct as_sink sink;
	struct as_target *target;
	struct as_crasher *crasher;
	struct as_crash_counts counts;
	struct as_run_result result;
	struct caught caught[CAUGHT_MAX];
	size_t n;
};

void t_crash_forget(struct crash_rig *rig);

/* One run from nothing to nothing; what it found stays to be looked at. */
void t_crash_once(struct crash_rig *rig, const char *spec, const char *params,
		  const char *workload);

/* A number of the options of a finding: "view=", "then=". 0: not there. */
unsigned t_crash_number(const struct caught *c, const char *key);

/* What follows "crash:" in them. */
const char *t_crash_params(const struct caught *c);

#endif
