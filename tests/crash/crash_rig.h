/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_rig.h: a crash run from a few lines of text, and what it found. */
#ifndef TESTS_CRASH_CRASH_RIG_H
#define TESTS_CRASH_CRASH_RIG_H

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

#define UNUSED __attribute__((unused))
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

static void rig_hear(struct as_sink *sink, const struct as_finding *f, const char *id)
{
	struct crash_rig *rig = (struct crash_rig *)sink;

	assert_true(*id);
	assert_true(rig->n < CAUGHT_MAX);
	rig->caught[rig->n++] = (struct caught){ strdup(f->signature), strdup(f->summary),
						 strdup(f->options), f->disk };
}

/* `params`: as after "crash:". */
UNUSED static void rig_open(struct crash_rig *rig, const char *spec, const char *params)
{
	struct as_run_options run = { .deadline_ms = 30000 };
	struct as_crash_options options;
	struct as_err err = { 0 };

	memset(rig, 0, sizeof(*rig));
	rig->sink.finding = rig_hear;
	if (as_crash_options_parse(params, &options, &err) ||
	    as_target_open(spec, &rig->target, &err) ||
	    as_crasher_new(rig->target, &run, &options, &rig->sink, &rig->crasher, &err))
		fail_msg("%s: %s", spec, err.msg);
}

UNUSED static void rig_forget(struct crash_rig *rig)
{
	for (size_t i = 0; i < rig->n; i++) {
		free(rig->caught[i].signature);
		free(rig->caught[i].summary);
		free(rig->caught[i].options);
	}
	rig->n = 0;
}

UNUSED static void rig_close(struct crash_rig *rig)
{
	rig_forget(rig);
	as_crasher_free(rig->crasher);
	as_target_free(rig->target);
}

UNUSED static void rig_crash(struct crash_rig *rig, const char *workload)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("workload", workload, strlen(workload), &seq, &err) ||
	    as_crash_workload(rig->crasher, seq, "workload", &rig->result, &rig->counts, &err))
		fail_msg("%s", err.msg);
	as_seq_free(seq);
}

/* Opens, runs and closes; what was found stays until rig_forget(). */
UNUSED static void rig_once(struct crash_rig *rig, const char *spec, const char *params,
			    const char *workload)
{
	rig_open(rig, spec, params);
	rig_crash(rig, workload);
	as_crasher_free(rig->crasher);
	as_target_free(rig->target);
	rig->crasher = NULL;
	rig->target = NULL;
}

/* A number of the options of a finding: "view=", "then=". 0: not there. */
UNUSED static unsigned rig_number(const struct caught *c, const char *key)
{
	const char *at = strstr(c->options, key);

	return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

/* What stands after "crash:" in them. */
UNUSED static const char *rig_params(const struct caught *c)
{
	const char *at = strstr(c->options, "scenario=crash:");

	assert_non_null(at);
	return at + strlen("scenario=crash:");
}

#endif
