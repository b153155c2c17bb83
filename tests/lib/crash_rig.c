/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash_rig: see crash_rig.h. */
#include "tests/lib/crash_rig.h"

static void rig_hear(struct as_sink *sink, const struct as_finding *f)
{
	struct crash_rig *rig = (struct crash_rig *)sink;

	assert_true(*f->id);
	assert_true(rig->n < CAUGHT_MAX);
	rig->caught[rig->n++] = (struct caught){ strdup(f->signature), strdup(f->summary),
						 strdup(f->options), f->disk };
}

/* `params` are what follows "crash:". */
static void rig_open(struct crash_rig *rig, const char *spec, const char *params)
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

void t_crash_forget(struct crash_rig *rig)
{
	for (size_t i = 0; i < rig->n; i++) {
		free(rig->caught[i].signature);
		free(rig->caught[i].summary);
		free(rig->caught[i].options);
	}
	rig->n = 0;
}

static void rig_crash(struct crash_rig *rig, const char *workload)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("workload", workload, strlen(workload), &seq, &err) ||
	    as_crash_workload(rig->crasher, seq, "workload", &rig->result, &rig->counts, &err))
		fail_msg("%s", err.msg);
	as_seq_free(seq);
}

void t_crash_once(struct crash_rig *rig, const char *spec, const char *params, const char *workload)
{
	rig_open(rig, spec, params);
	rig_crash(rig, workload);
	as_crasher_free(rig->crasher);
	as_target_free(rig->target);
	rig->crasher = NULL;
	rig->target = NULL;
}

unsigned t_crash_number(const struct caught *c, const char *key)
{
	const char *at = strstr(c->options, key);

	return at ? (unsigned)strtoul(at + strlen(key), NULL, 10) : 0;
}

const char *t_crash_params(const struct caught *c)
{
	const char *at = strstr(c->options, "scenario=crash:");

	assert_non_null(at);
	return at + strlen("scenario=crash:");
}
