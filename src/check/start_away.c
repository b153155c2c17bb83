/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * start_away: see start.h. A sandbox is started for the start alone. The engine there makes it and
 * tells the workload that it took (inside.c). That workload goes to each sandbox later,
 * before the trace of a state, and is carried out there once more.
 *
 * The guest is not believed: what it tells must be operations, and no more of them than a start
 * may have.
 */
#include "check/start_priv.h"
#include "check/told.h"

#include "work/parse.h"
#include "work/print.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct away {
	const struct as_checking *c;
	struct as_sink sink;
	struct as_buf text, wrong, died;
	bool whole;
};

static struct away *of(struct as_sink *sink)
{
	return (struct away *)(void *)((char *)sink - offsetof(struct away, sink));
}

static void on_told(struct as_sink *sink, const char *text)
{
	struct away *a = of(sink);
	struct as_told told;

	as_told_parse(text, &told);
	if (told.kind == AS_TOLD_START && !a->whole &&
	    a->text.len + strlen(told.start.text) < AS_START_TEXT_MAX) {
		as_buf_adds(&a->text, told.start.text);
		a->whole = told.start.last;
		as_buf_clear(&a->wrong);
		as_buf_adds(&a->wrong, told.start.wrong ? told.start.wrong : "");
	}
	as_told_free(&told);
}

/* By the supervisor: the kernel died, or complained. */
static void on_finding(struct as_sink *sink, const struct as_finding *finding)
{
	struct away *a = of(sink);

	as_buf_clear(&a->died);
	as_buf_adds(&a->died, finding->summary);
}

static void on_note(struct as_sink *sink, const char *line)
{
	as_emit_note(of(sink)->c->args->sinks, "%s", line);
}

static bool must_stop(void *ctx)
{
	const struct away *a = ctx;

	return a->c->args->run->stop && *a->c->args->run->stop;
}

/* given: a workload of the user; NULL: a row. */
static int make(struct away *a, const struct as_seq *given, struct as_err *err)
{
	struct as_run_options options = *a->c->args->run;
	struct as_inbox *inbox = NULL;
	struct as_seq *any = NULL;
	bool found = false;
	int rc = as_inside_set(a->c, &options, err);

	/* A sandbox takes no workload without an operation. */
	if (!rc && !given)
		rc = as_parse_text("start", "sync\n", strlen("sync\n"), &any, err);
	if (!rc)
		rc = as_inbox_open(a->c, &options, &a->sink, must_stop, a, &inbox, err);
	if (!rc)
		rc = as_inbox_run(inbox, AS_INSIDE_START, given ? given : any, &found, err);
	as_inbox_close(inbox);
	as_seq_free(any);
	return rc;
}

/* A kernel that dies of it takes along how far a row had come; a workload of the user is known. */
static int take_over(struct as_start *s, struct away *a, const char *given, struct as_err *err)
{
	struct as_seq *seq = NULL;
	int rc;

	if (!a->whole && a->died.len && given) {
		s->text = as_xstrdup(given);
		s->wrong = as_xstrdup(as_buf_str(&a->died));
		return 0;
	}
	if (!a->whole)
		return as_fail(err, AS_EIO, "start %s was not made: %s", s->name,
			       a->died.len ? as_buf_str(&a->died) : "the sandbox did not tell it");
	rc = as_parse_text("start", as_buf_str(&a->text), a->text.len, &seq, err);
	if (!rc && (!seq->n || seq->n > AS_START_OPS_MAX || seq->n_meta))
		rc = as_fail(err, AS_EIO, "the sandbox told a start that is none");
	s->text = as_xstrdup(as_buf_str(&a->text));
	s->n_ops = rc ? 0 : seq->n;
	if (a->wrong.len)
		s->wrong = as_xstrdup(as_buf_str(&a->wrong));
	as_seq_free(seq);
	return rc;
}

int as_start_away(const struct as_checking *c, const char *name, struct as_start **out,
		  struct as_err *err)
{
	const struct as_start_row *row = as_start_row(name);
	struct as_start *s = as_xcalloc(1, sizeof(*s));
	struct away a = { .c = c };
	struct as_seq *given = NULL;
	struct as_buf text = { 0 };
	int rc = 0;

	*out = s;
	s->name = as_xstrdup(name);
	s->ops = row ? row->ops : "";
	if (!row && (rc = as_parse_file(name, &given, err)))
		return as_fail_in(err, "--start");
	if (given)
		as_print_seq(given, &text);
	a.sink = (struct as_sink){ .told = on_told, .finding = on_finding, .note = on_note };
	rc = make(&a, given, err);
	if (!rc)
		rc = take_over(s, &a, given ? as_buf_str(&text) : NULL, err);
	as_seq_free(given);
	as_buf_free(&text);
	as_buf_free(&a.text);
	as_buf_free(&a.wrong);
	as_buf_free(&a.died);
	return rc;
}
