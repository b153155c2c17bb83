/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed: a lane whose workers are in a sandbox, because the file system is one of a kernel. The
 * states are here. One after the other is given to the engine in the sandbox (inside.c), as a
 * workload that leads there, and it tells what follows (told.h).
 *
 * A kernel that dies or hangs costs one transition: the shared memory, which outlives it, says
 * which operation was in flight. That is a suspect, and the same state is given to the next kernel,
 * without that operation. What the dead one had found of that state is found once more.
 *
 * What looks wrong is confirmed as ever (confirm.c), in a sandbox of its own.
 */
#include "check/told.h"

#include "supervise/boxed.h"
#include "work/parse.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILED_MAX 8u

struct boxed_lane {
	const struct as_checking *c;
	struct as_check_lane *lane; /* of suspects */
	struct as_boxed how;
	struct as_sink sink;
	struct as_boxed_session *session;
	uint32_t id; /* the state that is given */
	struct as_check_skip skip;
	struct as_check_lane *left; /* what a dead kernel left */
	bool died; /* before it was done with the state */
	struct as_buf said; /* of the kernel that died, or that complained; "": it did not */
	uint64_t told; /* suspects, of this state */
	uint64_t places; /* of the kernel's code: new, and told before the state that is next */
	uint32_t from; /* the state that was told last, if a step may follow it; AS_STORE_NONE */
	unsigned failed; /* times in a row that the sandbox could not be used */
};

static struct boxed_lane *of(struct as_sink *sink)
{
	return (struct boxed_lane *)(void *)((char *)sink - offsetof(struct boxed_lane, sink));
}

/* ---- What the engine tells ------------------------------------------------------------------- */

/* What is recovered after a power cut is named by the writes of a trace. A state that is known by
 * another trace has its own; one that is known by this trace may have been told before a kill. */
static bool may_go_on(const struct boxed_lane *b, const struct as_told_state *told,
		      enum as_store_added added, uint32_t id)
{
	const struct as_check_options *o = b->c->options;
	struct as_buf line = { 0 };
	bool same;

	if (added == AS_STORE_FULL || added == AS_STORE_LATER || !told->fine ||
	    (o->depth && as_store_at(b->c->store, id).depth >= o->depth))
		return false;
	as_store_line(b->c->store, id, &line);
	same = as_store_at(b->c->store, id).parent == b->id &&
	       !strcmp(as_buf_str(&line), told->line);
	as_buf_free(&line);
	return same;
}

static void add_state(struct boxed_lane *b, const struct as_told_state *told)
{
	const struct as_checking *c = b->c;
	const struct as_check_options *o = c->options;
	struct as_novel novel = told->novel;
	struct as_search_of of = { .seed = c->args->run->seed, .recovery = told->wrote };
	struct as_store_state state = { .digest = told->digest,
					.parent = told->recovered ? b->from : b->id };
	enum as_store_added added;
	uint32_t id;

	if (!told->recovered) {
		novel.places = b->places;
		b->places = 0;
	}
	if (state.parent == AS_STORE_NONE)
		return;
	added = as_check_add(c, b->lane, &state, told->line, &id);
	if (!told->recovered)
		b->from = may_go_on(b, told, added, id) ? id : AS_STORE_NONE;
	if (added != AS_STORE_NEW && added != AS_STORE_SHORTER)
		return;
	of.id = id;
	of.depth = as_store_at(c->store, id).depth;
	if (o->search == AS_SEARCH_novelty)
		of.novelty = as_novelty_of(&c->shared->novelty, &novel);
	if (told->fine && !(o->depth && as_store_at(c->store, id).depth >= o->depth))
		as_check_push(c, id, as_search_rank(o->search, &of));
	else
		as_store_stop(c->store, id, !told->fine);
}

static void add_suspect(struct boxed_lane *b, const struct as_told *told)
{
	struct as_try *tried = &b->lane->tried;

	b->told++;
	tried->state = b->id;
	as_try_begin(tried, told->state.line);
	tried->since_len = strlen(told->since);
	memcpy(tried->since, told->since, tried->since_len + 1);
	snprintf(tried->faults, sizeof(tried->faults), "%s", told->faults);
	snprintf(tried->choices, sizeof(tried->choices), "%s", told->choices);
	as_suspect_pass_on(b->c, b->lane, &told->notice);
}

static void add_counts(const struct boxed_lane *b, struct as_check_counts counts)
{
	uint64_t *sum = (uint64_t *)&b->c->shared->counts;

	/* What was left out there is left out; so is what others do not expect. */
	if (counts.unlooked || counts.alike || counts.strayed || counts.lost || counts.missed)
		as_store_gap(b->c->store, 1);
	/* They are counted as they come. */
	counts.suspects = counts.discarded = counts.shorter = 0;
	for (size_t i = 0; i < sizeof(counts) / sizeof(uint64_t); i++)
		__atomic_fetch_add(&sum[i], ((uint64_t *)&counts)[i], __ATOMIC_RELAXED);
}

/* False: the text is of something else. */
static bool add_places(struct boxed_lane *b, const char *text)
{
	const char *name;
	uint64_t added;
	size_t len;
	bool heard =
		b->c->args->code && as_codeset_hear(b->c->args->code, text, &name, &len, &added);

	if (heard)
		b->places += added;
	return heard;
}

static void on_told(struct as_sink *sink, const char *text)
{
	struct boxed_lane *b = of(sink);
	struct as_told told;

	if (add_places(b, text))
		return;
	as_told_parse(text, &told);
	switch (told.kind) {
	case AS_TOLD_STATE:
		add_state(b, &told.state);
		break;
	case AS_TOLD_SUSPECT:
		add_suspect(b, &told);
		break;
	case AS_TOLD_COUNTS:
		add_counts(b, told.counts);
		break;
	default:
		as_emit_note(b->c->args->sinks,
			     "the sandbox told something that cannot be true: it does not count");
		break;
	}
	as_told_free(&told);
}

/* ---- Kernels that die ------------------------------------------------------------------------ */

static void on_finding(struct as_sink *sink, const struct as_finding *finding)
{
	struct boxed_lane *b = of(sink);

	as_buf_clear(&b->said);
	as_buf_adds(&b->said, finding->summary);
}

static void on_note(struct as_sink *sink, const char *line)
{
	as_emit_note(of(sink)->c->args->sinks, "%s", line);
}

/* The memory is that of a dead kernel, so it may hold anything. */
static bool where(const struct as_boxed *how, struct as_box_state *state, const struct as_seq *seq,
		  struct as_boxed_place *place)
{
	struct boxed_lane *b = how->ctx;
	struct as_try *tried = &b->left->tried;

	(void)seq;
	memcpy(b->left, state->engine, sizeof(*b->left));
	tried->line[sizeof(tried->line) - 1] = '\0';
	tried->since[sizeof(tried->since) - 1] = '\0';
	tried->since_len = strlen(tried->since);
	tried->faults[sizeof(tried->faults) - 1] = '\0';
	tried->choices[sizeof(tried->choices) - 1] = '\0';
	as_buf_adds(&place->about, "check");
	return true;
}

static void on_workload(void *ctx, const char *name, const struct as_run_result *result)
{
	struct boxed_lane *b = ctx;

	(void)name;
	/* The engine tells none: a finding is one of the supervisor. */
	b->died = result->findings;
}

/* False: the state is left. */
static bool go_on_without(struct boxed_lane *b)
{
	struct as_try *tried = &b->left->tried;
	enum as_check_phase phase = b->left->phase;
	bool at_move = phase == AS_CHECK_MOVE || phase == AS_CHECK_CRASH;

	AS_CHECK_ADD(b->c, deaths, 1);
	if (at_move && as_told_is_try(tried)) {
		tried->state = b->id;
		as_suspect_add(b->c, b->left, phase == AS_CHECK_CRASH, AS_FIND_KERNEL,
			       as_suspect_key(AS_FIND_KERNEL, 0, as_buf_str(&b->said)),
			       as_buf_str(&b->said));
	} else {
		as_emit_note(b->c->args->sinks, "state %u was left: %s", b->id,
			     as_buf_str(&b->said));
	}
	/* Without an operation, it was what is looked at once in each state. */
	if (!at_move || !*tried->line || b->skip.n == AS_CHECK_SKIPS)
		return false;
	as_store_gap(b->c->store, 1);
	b->skip.move[b->skip.n++] = b->left->move;
	return true;
}

/* ---- The lane -------------------------------------------------------------------------------- */

static int give(struct boxed_lane *b, const struct as_seq *seq, const char *steps,
		struct as_err *err)
{
	struct as_run_result stats = { 0 };
	struct as_buf name = { 0 };
	struct as_work work = { .seqs = &seq, .n = 1 };
	const char *text;
	int rc;

	as_buf_adds(&name, b->id ? AS_INSIDE_STATE : AS_INSIDE_FRESH);
	if (!as_shard_owns(b->c, as_store_at(b->c->store, b->id).digest))
		as_buf_addc(&name, AS_INSIDE_FOREIGN);
	for (unsigned i = 0; i < b->skip.n; i++)
		as_buf_addf(&name, " %u", b->skip.move[i]);
	if (b->c->start)
		as_buf_addf(&name, " %c%zu", AS_INSIDE_AFTER, b->c->start->n_ops);
	as_buf_adds(&name, steps);
	text = as_buf_str(&name);
	work.names = &text;
	b->died = false;
	as_buf_clear(&b->said);
	b->told = b->places = 0;
	b->from = AS_STORE_NONE;
	rc = as_boxed_give(b->session, &work, &stats, err);
	as_buf_free(&name);
	return rc;
}

/* A sandbox that floods its console, or cannot be judged otherwise, is given up with the state. */
static int start_again(struct boxed_lane *b, int rc, struct as_err *err)
{
	if (rc != AS_EIO || ++b->failed > FAILED_MAX)
		return rc;
	as_emit_note(b->c->args->sinks, "state %u was left: %s", b->id, err->msg);
	as_boxed_close(b->session);
	b->session = NULL;
	b->died = true;
	return as_boxed_open(&b->how, &b->session, err);
}

/* A workload has operations and nothing else, so what a power cut left goes with its name. */
static void print_steps(const char *trace, struct as_buf *steps)
{
	for (const char *at = trace; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *mark = strchr(at, '#');
		size_t len = strcspn(at, "\n");

		if (!strncmp(at, "crash ", strlen("crash ")) && mark && mark < at + len)
			as_buf_addf(steps, "%c%.*s", AS_INSIDE_STEP, (int)(at + len - mark - 1),
				    mark + 1);
	}
}

static int expand(struct boxed_lane *b, struct as_err *err)
{
	struct as_store *store = b->c->store;
	struct as_buf text = { 0 }, steps = { 0 };
	struct as_seq *seq = NULL;
	bool going = true;
	int rc;

	b->skip.n = 0;
	if (b->c->start)
		as_buf_adds(&text, b->c->start->text);
	as_store_trace(store, b->id, &text);
	if (!text.len)
		as_buf_adds(&text, "sync\n");
	print_steps(as_buf_str(&text), &steps);
	rc = as_parse_text("trace", as_buf_str(&text), text.len, &seq, err);
	do {
		if (!rc)
			rc = give(b, seq, as_buf_str(&steps), err);
		if (rc) {
			rc = start_again(b, rc, err);
			break;
		}
		b->failed = 0;
		going = b->died && !b->c->shared->stop && go_on_without(b);
	} while (going);
	if (!rc && b->died) {
		AS_CHECK_ADD(b->c, lost, 1);
		as_store_gap(store, 1);
		as_store_leave(store, b->id);
	} else if (!rc) {
		if (b->said.len && !b->told)
			as_emit_note(b->c->args->sinks, "while state %u was expanded: %s", b->id,
				     as_buf_str(&b->said));
		as_store_done(store, b->id);
	}
	as_seq_free(seq);
	as_buf_free(&text);
	as_buf_free(&steps);
	return rc;
}

static int work(struct boxed_lane *b, struct as_err *err)
{
	const struct as_checking *c = b->c;
	uint64_t most = c->options->max_transitions;
	int rc = 0;

	while (!rc && !c->shared->stop) {
		/* Those of a state are told together, so there may be some more. */
		if (most && c->shared->counts.transitions >= most)
			c->shared->stop = 1;
		else if (as_store_pop(c->store, &b->id))
			rc = expand(b, err);
		else if (!as_store_in_work(c->store))
			break;
		else
			usleep(AS_CHECK_IDLE_US);
	}
	return rc;
}

int as_check_lane_boxed(const struct as_checking *c, unsigned i, struct as_err *err)
{
	struct boxed_lane b = { .c = c, .lane = &c->lane[i], .how = *c->args->box };
	int rc = as_inside_set(c, &b.how.options, err);

	b.sink = (struct as_sink){ .told = on_told, .finding = on_finding, .note = on_note };
	b.how.notes = b.how.findings = &b.sink;
	b.how.out = NULL;
	b.how.where = where;
	as_boxed_spread(&b.how, i, c->options->jobs);
	b.how.outside = true; /* what looks wrong is confirmed without that */
	b.how.workload = on_workload;
	b.how.ctx = &b;
	b.left = as_xcalloc(1, sizeof(*b.left));
	if (!rc)
		rc = as_boxed_open(&b.how, &b.session, err);
	if (!rc)
		rc = work(&b, err);
	as_boxed_close(b.session);
	as_buf_free(&b.said);
	free(b.left);
	return rc;
}

/* ---- To confirm ------------------------------------------------------------------------------ */

struct as_inbox {
	struct as_boxed how;
	struct as_boxed_session *session;
};

int as_inbox_open(const struct as_checking *c, const struct as_run_options *options,
		  struct as_sink *sinks, bool (*must_stop)(void *ctx), void *ctx,
		  struct as_inbox **out, struct as_err *err)
{
	struct as_inbox *inbox = as_xcalloc(1, sizeof(*inbox));
	int rc;

	inbox->how = *c->args->box;
	inbox->how.options = *options;
	inbox->how.notes = inbox->how.findings = sinks;
	inbox->how.must_stop = must_stop;
	inbox->how.ctx = ctx;
	rc = as_boxed_open(&inbox->how, &inbox->session, err);
	*out = inbox;
	return rc;
}

int as_inbox_run(struct as_inbox *inbox, const char *name, const struct as_seq *seq, bool *found,
		 struct as_err *err)
{
	const struct as_work work = { .seqs = &seq, .names = &name, .n = 1 };
	struct as_run_result stats = { 0 };
	int rc = as_boxed_give(inbox->session, &work, &stats, err);

	*found = stats.findings;
	return rc;
}

void as_inbox_close(struct as_inbox *inbox)
{
	if (!inbox)
		return;
	as_boxed_close(inbox->session);
	free(inbox);
}
