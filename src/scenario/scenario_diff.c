/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scenario_diff: the same workload on several file systems ("diff:ext4,xfs,btrfs"), compared answer
 * by answer (scenario/diff.h).
 *
 * Each runs as it would alone, all oracles on. What one of them does wrong by itself (it dies, its
 * tree or its checker complains) is reported as it would be alone. A wrong answer is reported as a
 * difference if others gave another answer.
 */
#include "os/spawn.h"
#include "run/finding.h"
#include "scenario/diff.h"
#include "scenario/scenario.h"
#include "symptom/ids.h"
#include "symptom/symptom.h"
#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEFORE_SHOWN 4 /* operations shown before the one that differs */

/* Notes what one target does wrong by itself. */
struct ear {
	struct as_sink sink;
	struct as_sink *sinks; /* of the scenario: what is told goes on to them */
	bool heard;
	enum as_finding_kind kind;
};

struct scenario_diff_subject {
	char *spec;
	struct as_target *target;
	struct as_runner *runner; /* heard by `ear` */
	struct ear ear;
	struct as_answers *answers;
};

struct diff_scenario {
	struct as_run_options options;
	char params[AS_RUN_SCENARIO_MAX - sizeof("diff:") + 1];
	struct as_sink *sinks;
	struct scenario_diff_subject subjects[AS_DIFF_MAX];
	size_t n;
	uint64_t documented, hints, undecided; /* so far */
	bool said_undecided;
	struct as_ids ids; /* of what was found before */
};

static void hear(struct as_sink *sink, const struct as_finding *finding)
{
	struct ear *ear = (struct ear *)sink;

	ear->kind = finding->kind;
	ear->heard = true;
}

static void hear_told(struct as_sink *sink, const char *text)
{
	as_emit_told(((struct ear *)sink)->sinks, text);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_subject(struct diff_scenario *s, struct scenario_diff_subject *subject,
			struct as_err *err)
{
	struct as_run_options options = s->options;
	int rc = as_target_open(subject->spec, &subject->target, err);

	if (rc)
		return rc;
	subject->answers = as_shared_alloc(sizeof(*subject->answers));
	subject->ear =
		(struct ear){ .sink = { .finding = hear, .told = hear_told }, .sinks = s->sinks };
	options.answers = subject->answers;
	/* All targets do the same: it is enough to watch one. */
	if (subject != s->subjects)
		options.watch = NULL;
	options.scenario[0] = '\0';
	return as_runner_new(subject->target, &options, &subject->ear.sink, &subject->runner, err);
}

static void close_all(struct diff_scenario *s)
{
	for (size_t i = 0; i < s->n; i++) {
		as_runner_free(s->subjects[i].runner);
		as_target_free(s->subjects[i].target);
		if (s->subjects[i].answers)
			as_shared_free(s->subjects[i].answers, sizeof(struct as_answers));
		free(s->subjects[i].spec);
	}
	if (s->documented || s->hints || s->undecided)
		as_emit_note(s->sinks,
			     "diff: different answers that are no findings: %llu documented, "
			     "%llu hints, %llu allowed and without a majority",
			     (unsigned long long)s->documented, (unsigned long long)s->hints,
			     (unsigned long long)s->undecided);
	as_ids_free(&s->ids);
	free(s);
}

static int diff_open(const struct as_scenario_args *args, struct as_scenario **scenario,
		     struct as_err *err)
{
	struct diff_scenario *s = as_xcalloc(1, sizeof(*s));
	char *specs[AS_DIFF_MAX];
	int rc;

	*scenario = NULL;
	s->options = *args->options;
	s->sinks = args->sinks;
	if (s->options.sweep || s->options.faults)
		rc = as_fail(err, AS_EUSE, "diff: faults hit every target at another place");
	else if (strlen(args->params) >= sizeof(s->params) || strchr(args->params, ' '))
		/* A finding keeps them in one word. */
		rc = as_fail(err, AS_EUSE,
			     "diff: names of targets must be shorter than %zu bytes together, and "
			     "without blanks",
			     sizeof(s->params));
	else
		rc = as_diff_parse(args->params, specs, &s->n, err);
	snprintf(s->params, sizeof(s->params), "%s", args->params);
	for (size_t i = 0; i < s->n; i++)
		s->subjects[i].spec = specs[i];
	for (size_t i = 0; i < s->n && !rc; i++)
		rc = open_subject(s, &s->subjects[i], err);
	if (rc)
		close_all(s);
	else
		*scenario = (struct as_scenario *)s;
	return rc;
}

static void diff_close(struct as_scenario *scenario)
{
	if (scenario)
		close_all((struct diff_scenario *)scenario);
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void say_answers(const struct diff_scenario *s, size_t op, struct as_buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct as_answers *answers = s->subjects[i].answers;
		const struct as_answer *t = &answers->ops[op];
		struct as_outcome got;

		as_buf_addf(out, "        %-20s ", s->subjects[i].spec);
		if (op >= answers->n) {
			as_buf_adds(out, "(ended before)\n");
			continue;
		}
		got = (struct as_outcome){ .ret = t->ret, .err = t->err, .done = t->done };
		as_outcome_print(&got, out);
		if (t->payload == AS_PAYLOAD_STAT)
			as_buf_addf(out, " mode 0%o, %u links, size %llu", t->st.mode, t->st.nlink,
				    (unsigned long long)t->st.size);
		as_buf_addf(out, "%s%s\n", t->agrees ? "" : "   the model: ", t->why);
	}
}

static void describe(const struct diff_scenario *s, const struct as_seq *seq, size_t op,
		     struct as_buf *out)
{
	for (size_t i = op > BEFORE_SHOWN ? op - BEFORE_SHOWN : 0; i <= op; i++) {
		struct as_buf text = { 0 };

		as_print_op(&seq->ops[i], &text);
		as_buf_addf(out, "%6zu  %.120s\n", i + 1, as_buf_str(&text));
		if (i == op)
			say_answers(s, i, out);
		as_buf_free(&text);
	}
}

static void tell(struct diff_scenario *s, const struct as_seq *seq, const char *name,
		 const struct as_diff *d, struct as_run_result *result)
{
	const struct scenario_diff_subject *odd = &s->subjects[d->odd];
	const struct as_answer *t = &odd->answers->ops[d->op];
	struct as_run_options options = s->options;
	struct as_buf op = { 0 }, summary = { 0 }, pair = { 0 }, signature = { 0 }, detail = { 0 };
	struct as_symptom symptom = { .kind = AS_FIND_DIFF, .op = (int64_t)d->op };
	struct as_finding f = { .kind = AS_FIND_DIFF, .target = odd->spec };
	char id[AS_FINDING_ID_MAX];

	as_print_op(&seq->ops[d->op], &op);
	as_buf_addf(&pair, "%s, others %s", as_buf_str(&d->says), as_buf_str(&d->others_say));
	as_buf_addf(&summary, "op %zu: %.120s: %s %s, %s %s%s%s", d->op + 1, as_buf_str(&op),
		    odd->spec, as_buf_str(&d->says), s->subjects[d->other].spec,
		    as_buf_str(&d->others_say),
		    t->agrees ? ", as most do; the model allows both" : "; the model: ", t->why);
	symptom.about = as_op_table[seq->ops[d->op].code].name;
	symptom.why = as_buf_str(&pair);
	as_symptom_sign(&symptom, &signature);
	describe(s, seq, d->op, &detail);
	snprintf(options.scenario, sizeof(options.scenario), "diff:%s", s->params);
	f.summary = as_buf_str(&summary);
	f.detail = as_buf_str(&detail);
	f.signature = as_buf_str(&signature);
	f.workload_name = name;
	f.op_index = (long)d->op;
	as_finding_tell(&f, as_target_name(odd->target), seq, &options, s->sinks, id);
	*(as_ids_add(&s->ids, id) ? &result->findings : &result->again) += 1;
	as_buf_free(&op);
	as_buf_free(&summary);
	as_buf_free(&pair);
	as_buf_free(&signature);
	as_buf_free(&detail);
}

/* ---- Running --------------------------------------------------------------------------------- */

static void count(struct diff_scenario *s, const struct as_diff *d, const char *name)
{
	s->documented += d->documented;
	s->hints += d->hints;
	s->undecided += d->undecided;
	if (d->undecided && !s->said_undecided)
		as_emit_note(s->sinks, "%s: op %zu: %s", name, d->undecided_op + 1,
			     as_buf_str(&d->undecided_first));
	s->said_undecided = s->said_undecided || d->undecided;
}

/* Runs it once more, alone: now the sinks hear what it does wrong by itself, with its disk and
 * log. */
static int tell_alone(struct diff_scenario *s, struct scenario_diff_subject *subject,
		      const struct as_seq *seq, const char *name, struct as_run_result *result,
		      struct as_err *err)
{
	struct as_run_options options = s->options;
	struct as_runner *runner = NULL;
	struct as_run_result alone = { 0 };
	int rc;

	options.scenario[0] = '\0';
	options.watch = NULL;
	rc = as_runner_new(subject->target, &options, s->sinks, &runner, err);
	if (!rc)
		rc = as_run_workload(runner, seq, name, &alone, err);
	result->findings += alone.findings;
	result->again += alone.again;
	as_runner_free(runner);
	return rc;
}

static bool is_answer(enum as_finding_kind kind)
{
	return kind == AS_FIND_OUTCOME || kind == AS_FIND_DATA;
}

static int run_subjects(struct diff_scenario *s, const struct as_seq *seq, const char *name,
			struct as_run_result *result, struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++) {
		struct scenario_diff_subject *subject = &s->subjects[i];
		struct as_run_result one = { 0 };

		subject->answers->n = 0;
		subject->ear.heard = false;
		rc = as_run_workload(subject->runner, seq, name, &one, err);
		result->runs += one.runs;
		result->ops += one.ops;
		result->skipped += one.skipped;
	}
	return rc;
}

static int diff_run(struct as_scenario *scenario, const struct as_work *work,
		    struct as_run_result *result, struct as_err *err)
{
	struct diff_scenario *s = (struct diff_scenario *)scenario;
	struct as_diff_subject subjects[AS_DIFF_MAX];
	const struct as_seq *seq = work->seqs[0];
	int64_t start_us = as_now_us();
	struct as_diff diff;
	int rc;

	*result = (struct as_run_result){ .workloads = 1 };
	rc = run_subjects(s, seq, work->names[0], result, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s->n; i++)
		subjects[i] = (struct as_diff_subject){
			.name = s->subjects[i].spec,
			.traits = as_runner_fresh(s->subjects[i].runner).traits,
			.answers = s->subjects[i].answers,
			.fresh = as_model_inodes(as_runner_fresh(s->subjects[i].runner).model),
		};
	as_diff_judge(seq, subjects, s->n, &diff);
	count(s, &diff, work->names[0]);
	result->excused = diff.documented + diff.hints + diff.undecided;
	if (diff.answer != AS_DIFF_NONE)
		tell(s, seq, work->names[0], &diff, result);
	for (size_t i = 0; i < s->n && !rc; i++)
		if (s->subjects[i].ear.heard &&
		    (!is_answer(s->subjects[i].ear.kind) || diff.answer == AS_DIFF_NONE))
			rc = tell_alone(s, &s->subjects[i], seq, work->names[0], result, err);
	as_diff_free(&diff);
	result->wall_us = as_now_us() - start_us;
	return rc;
}

const struct as_scenario_ops as_scenario_diff = {
	.api = AS_SCENARIO_API,
	.name = "diff",
	.help = "the same workload on several targets (diff:T1,T2,...); answers that differ are "
		"told apart by the model, then by the majority",
	.profile = "coverage",
	.open = diff_open,
	.run = diff_run,
	.close = diff_close,
};
