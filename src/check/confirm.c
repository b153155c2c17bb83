/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confirm: what workers found is run again, as `assay run` and `assay crash` would: so each finding
 * is told in the same words, has an id, and comes back with `assay replay`. What was found while
 * calls failed, or the target was answered in another way, is run without that first: what shows
 * all the same is told without it. What does not come back with the trace alone is run with the
 * operations that were tried in between, too. What does not come back then either is told in a
 * note, since it may be a mistake of ours. So is that for which there is no time left: a sandbox
 * may take minutes for one.
 */
#include "check/cuts.h"

#include "scenario/scenario.h"
#include "symptom/known.h"
#include "work/parse.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BY_RUN, BY_CRASH, WAYS };

#define CONFIRM_TIMES 4u /* the budget of one operation */
/* How long a sandbox may take for one suspect, and all of them after the end of the check. */
#define CONFIRM_US 120000000 /* unless the options say so */
#define LATE_US 20000000

struct as_confirm {
	const struct as_checking *c;
	uint32_t next; /* suspect */
	struct as_known *known;
	struct as_known_filter filter;
	struct as_sink counter; /* of new findings; it passes them on */
	struct as_sink sieve; /* of findings of the empty workload */
	bool held; /* it has held one back */
	struct as_run_options options;
	struct as_buf params;
	struct as_buf text; /* of the workload that is run */
	const struct as_scenario_ops *ops[WAYS];
	struct as_scenario *open[WAYS]; /* without faults */
	struct as_inbox *inbox[WAYS]; /* the same, in a sandbox */
	void (*meanwhile)(void *ctx); /* called now and then while a sandbox runs */
	void *ctx;
	int64_t most_us; /* for one suspect */
	bool gave_up; /* this suspect has taken longer */
	int64_t begun_us, end_us; /* of this suspect; of the check, 0: it has not ended */
};

static void count_finding(struct as_sink *sink, const struct as_finding *finding)
{
	struct as_confirm *f =
		(struct as_confirm *)(void *)((char *)sink - offsetof(struct as_confirm, counter));

	(void)finding;
	AS_CHECK_ADD(f->c, findings, 1);
}

/* All but memory that grows is found with a trace, too, which says more than the empty workload. So
 * it is told later, if nothing else was found. */
static void hold_back(struct as_sink *sink, const struct as_finding *finding)
{
	struct as_confirm *f =
		(struct as_confirm *)(void *)((char *)sink - offsetof(struct as_confirm, sieve));

	if (finding->kind == AS_FIND_LEAK)
		as_emit_finding(&f->filter.sink, finding);
	else
		f->held = true;
}

struct as_confirm *as_confirm_new(const struct as_checking *c, void (*meanwhile)(void *ctx),
				  void *ctx)
{
	struct as_crash_options crash = c->crash;
	struct as_confirm *f = as_xcalloc(1, sizeof(*f));

	f->c = c;
	f->meanwhile = meanwhile;
	f->ctx = ctx;
	f->most_us = c->options->confirm_us ? c->options->confirm_us : CONFIRM_US;
	f->known = as_known_new();
	f->counter = (struct as_sink){ .finding = count_finding, .next = c->args->sinks };
	f->filter = as_known_filter(f->known, &f->counter, false);
	f->sieve = (struct as_sink){ .finding = hold_back };
	f->options = *c->args->run;
	f->options.check_every_op = true;
	f->options.kcov = false;
	/* Nobody else answers the target then, either. */
	if (c->options->faults & AS_CHECK_CHOICE)
		memcpy(f->options.choices, "0", 2);
	crash.since_mount = c->start; /* what makes the start is another workload */
	/* What was found at one operation must not be missed among all of them. */
	crash.budget *= CONFIRM_TIMES;
	as_crash_options_print(&crash, &f->params);
	f->ops[BY_RUN] = &as_scenario_sequential;
	f->ops[BY_CRASH] = &as_scenario_crash;
	return f;
}

void as_confirm_free(struct as_confirm *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < WAYS; i++)
		if (f->open[i])
			f->ops[i]->close(f->open[i]);
	for (unsigned i = 0; i < WAYS; i++)
		as_inbox_close(f->inbox[i]);
	as_known_free(f->known);
	as_buf_free(&f->params);
	as_buf_free(&f->text);
	free(f);
}

static int open_way(struct as_confirm *f, unsigned way, const struct as_run_options *options,
		    const char *cuts, struct as_scenario **open, struct as_err *err)
{
	struct as_buf params = { 0 };
	struct as_scenario_args args = { .targets = &f->c->args->target,
					 .n_targets = 1,
					 .options = options,
					 .sinks = &f->filter.sink };
	int rc;

	if (way == BY_CRASH)
		as_buf_addf(&params, "%s%s", as_buf_str(&f->params), cuts);
	args.params = as_buf_str(&params);
	rc = f->ops[way]->open(&args, open, err);
	as_buf_free(&params);
	return rc;
}

static int run_seq(struct as_confirm *f, unsigned way, struct as_scenario *scenario,
		   const struct as_seq *seq, bool *found, struct as_err *err)
{
	const char *name = "check";
	struct as_work work = { .seqs = &seq, .names = &name, .n = 1 };
	struct as_run_result result = { 0 };
	int rc = f->ops[way]->run(scenario, &work, &result, err);

	*found = result.findings || result.again;
	return rc;
}

/* The workload that shows it; with all: with the operations in between, too. */
static const char *print_text(struct as_confirm *f, const struct as_try *tried, bool all)
{
	as_buf_clear(&f->text);
	if (f->c->start)
		as_buf_adds(&f->text, f->c->start->text);
	if (tried->state != AS_STORE_NONE)
		as_store_trace(f->c->store, tried->state, &f->text);
	as_buf_addf(&f->text, "%s%s\n", all ? tried->since : "", tried->line);
	return as_buf_str(&f->text);
}

/* Whether there is no time for more, of what takes a sandbox. */
static bool is_late(struct as_confirm *f)
{
	if (!f->end_us && f->c->shared->stop)
		f->end_us = as_now_us();
	return f->c->args->box && f->end_us && as_now_us() - f->end_us > LATE_US;
}

static bool must_stop(void *ctx)
{
	struct as_confirm *f = ctx;
	const volatile int *stop = f->c->args->run->stop;

	f->meanwhile(f->ctx);
	return is_late(f) || (stop && *stop) || as_now_us() - f->begun_us > f->most_us;
}

/* The same where the target needs a sandbox. */
static int run_boxed(struct as_confirm *f, unsigned way, struct as_run_options *options,
		     const char *cuts, const struct as_seq *seq, bool *found, struct as_err *err)
{
	bool special = *cuts || options->faults != f->options.faults || options->choices[0];
	struct as_inbox *own = NULL, **inbox = special ? &own : &f->inbox[way];
	int rc = 0;

	if (way == BY_CRASH)
		snprintf(options->scenario, sizeof(options->scenario), "crash:%s%s",
			 as_buf_str(&f->params), cuts);
	if (!*inbox)
		rc = as_inbox_open(f->c, options, &f->filter.sink, must_stop, f, inbox, err);
	if (!rc)
		rc = as_inbox_run(*inbox, "check", seq, found, err);
	/* A sandbox that floods its console, say, or for which there is no more time: what was to
	 * be shown did not come back. */
	if (rc == AS_EIO || rc == AS_ESTOP) {
		as_emit_note(f->c->args->sinks, "a sandbox was given up: %s",
			     rc == AS_ESTOP ? "there was no more time for it"
			     : err	    ? err->msg
					    : "an error came before");
		f->gave_up = f->gave_up || rc == AS_ESTOP;
		as_inbox_close(*inbox);
		*inbox = own = NULL;
		rc = 0;
	}
	as_inbox_close(own);
	return rc;
}

enum with { WITH_TRACE, WITH_SINCE, PLAIN }; /* PLAIN: nothing fails, and it is answered as ever */

/* *found: it has shown something, new or known. */
static int run_text(struct as_confirm *f, const struct as_suspect *suspect, enum with with,
		    bool *found, struct as_err *err)
{
	const char *text = print_text(f, &suspect->tried, with == WITH_SINCE);
	const char *faults = with == PLAIN ? "" : suspect->tried.faults;
	const char *choices = with == PLAIN ? "" : suspect->tried.choices;
	struct as_buf cuts = { 0 };
	bool goes_on = as_cuts_options(text, &cuts);
	unsigned way = as_suspect_is_crash(&suspect->notice) || goes_on ? BY_CRASH : BY_RUN;
	struct as_run_options options = f->options;
	bool special = *faults || *choices || goes_on;
	struct as_scenario *own = NULL, **scenario = special ? &own : &f->open[way];
	struct as_seq *seq = NULL;
	int rc = as_parse_text("trace", text, strlen(text), &seq, err);

	*found = false;
	/* Reading the tree after each operation makes calls, too: then another one would fail. */
	if (*faults) {
		as_buf_adds(&cuts, ",faults=0");
		options.faults = faults;
		options.check_every_op = false;
	}
	if (*choices)
		memcpy(options.choices, choices, sizeof(options.choices));
	if (!rc && f->c->args->box)
		rc = run_boxed(f, way, &options, as_buf_str(&cuts), seq, found, err);
	else if (!rc && !*scenario)
		rc = open_way(f, way, special ? &options : &f->options, as_buf_str(&cuts), scenario,
			      err);
	if (!rc && !f->c->args->box)
		rc = run_seq(f, way, *scenario, seq, found, err);
	if (own)
		f->ops[way]->close(own);
	as_seq_free(seq);
	as_buf_free(&cuts);
	return rc;
}

static void say_unconfirmed(struct as_confirm *f, const struct as_suspect *suspect, const char *how)
{
	const struct as_try *tried = &suspect->tried;
	struct as_sink *sinks = f->c->args->sinks;

	as_emit_note(sinks, "not confirmed %s: %s%s%s%s%s", how, suspect->notice.summary,
		     *tried->faults ? "; with --fault " : "", tried->faults,
		     *tried->choices ? "; with --choices " : "", tried->choices);
	for (const char *at = print_text(f, tried, true); *at;) {
		size_t len = strcspn(at, "\n");

		as_emit_note(sinks, "    %.*s", (int)len, at);
		at += len + (at[len] == '\n');
	}
}

/* Whether less than what was tried may show it; a sandbox takes too long to find out. */
static bool may_be_plain(const struct as_confirm *f, const struct as_try *tried)
{
	return (*tried->faults || *tried->choices) && !f->c->args->box;
}

static int confirm(struct as_confirm *f, const struct as_suspect *suspect, struct as_err *err)
{
	bool found = false, late = is_late(f);
	int rc = 0;

	f->begun_us = as_now_us();
	f->gave_up = false;
	if (!late && may_be_plain(f, &suspect->tried))
		rc = run_text(f, suspect, PLAIN, &found, err);
	if (!rc && !late)
		rc = run_text(f, suspect, WITH_TRACE, &found, err);
	if (!rc && !found && !late && suspect->tried.since_len)
		rc = run_text(f, suspect, WITH_SINCE, &found, err);
	if (rc)
		return rc;
	if (found) {
		AS_CHECK_ADD(f->c, confirmed, 1);
		as_store_gap(f->c->store, -1);
		return 0;
	}
	AS_CHECK_ADD(f->c, unconfirmed, 1);
	say_unconfirmed(f, suspect,
			late || f->gave_up || is_late(f) ? "for want of time"
							 : "when it was run alone");
	return 0;
}

int as_confirm_all(struct as_confirm *f, struct as_err *err)
{
	const struct as_check_shared *shared = f->c->shared;
	int rc = 0;

	for (; !rc && f->next < AS_SUSPECTS_MAX &&
	       __atomic_load_n(&shared->suspect[f->next].notice.is, __ATOMIC_ACQUIRE);
	     f->next += !rc)
		rc = confirm(f, &shared->suspect[f->next], err);
	return rc == AS_ESTOP ? 0 : rc;
}

static int run_empty(struct as_confirm *f, struct as_sink *sinks, struct as_err *err)
{
	struct as_scenario_args args = { .targets = &f->c->args->target,
					 .n_targets = 1,
					 .options = &f->options,
					 .params = "",
					 .sinks = sinks };
	struct as_seq *seq = as_seq_new();
	struct as_scenario *scenario = NULL;
	bool found;
	int rc = f->ops[BY_RUN]->open(&args, &scenario, err);

	if (!rc)
		rc = run_seq(f, BY_RUN, scenario, seq, &found, err);
	if (scenario)
		f->ops[BY_RUN]->close(scenario);
	as_seq_free(seq);
	return rc == AS_ESTOP ? 0 : rc;
}

int as_confirm_empty(struct as_confirm *f, struct as_err *err)
{
	/* A sandbox takes no workload without an operation. The first state that it is given there
	 * shows the same. */
	return f->c->args->box ? 0 : run_empty(f, &f->sieve, err);
}

int as_confirm_unfit(struct as_confirm *f, struct as_err *err)
{
	return run_empty(f, &f->filter.sink, err);
}

int as_confirm_held(struct as_confirm *f, struct as_err *err)
{
	/* With a finding, it was one that has a trace. */
	return f->held && !f->c->shared->counts.findings ? run_empty(f, &f->filter.sink, err) : 0;
}
