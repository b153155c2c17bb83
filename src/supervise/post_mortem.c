/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * post_mortem: a finding about a box that died, made from what it left. The shared memory outlives
 * the box and says where the engine was: the workload, the phase, the operation that was running,
 * the last answers. It is copied first, and nothing in it is believed: a broken kernel could write
 * to it.
 */
#include "supervise/boxed_priv.h"

#include "child/child.h"
#include "crew/ended.h"
#include "os/spawn.h"
#include "run/finding.h"
#include "symptom/symptom.h"
#include "work/print.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SWEEP_DEATHS_MAX 64 /* of boxes in the sweep of one workload */

struct as_sweep_at as_boxed_sweep_at(const struct as_boxed_session *b)
{
	const struct as_child_shared *sh = (const void *)b->box->state->engine;

	return sh->sweep_at;
}

size_t as_boxed_in_flight(const struct as_boxed_session *b)
{
	int64_t in_flight = b->box->state->job;

	/* Workloads whose events have come are done, whatever the box says. */
	if (in_flight < (int64_t)b->n_finished)
		in_flight = (int64_t)b->n_finished;
	if (in_flight >= (int64_t)b->n_list)
		in_flight = (int64_t)b->n_list - 1;
	return b->list[in_flight];
}

/* The engine's state, made safe to read. */
static struct as_child_shared *copy_shared(const struct as_boxed_session *b, size_t n_ops)
{
	struct as_child_shared *sh = as_xmalloc(sizeof(*sh));

	memcpy(sh, b->box->state->engine, sizeof(*sh));
	if ((unsigned)sh->phase >= PHASES)
		sh->phase = PHASE_SETUP;
	if (sh->phase == PHASE_OP && (sh->op < 0 || (uint64_t)sh->op >= n_ops))
		sh->phase = PHASE_SETUP;
	if (sh->ops > n_ops)
		sh->ops = n_ops;
	sh->sweep_plan[sizeof(sh->sweep_plan) - 1] = '\0';
	as_shared_mend(sh);
	/* What it says of a finding was told, or is lost with the box. */
	as_notice_begin(&sh->notice, AS_FIND_SIGNAL, sh->phase == PHASE_OP ? sh->op : -1);
	return sh;
}

static enum as_finding_kind kind_of(const struct as_boxed_session *b, enum as_boxed_end end)
{
	if (b->weight > AS_KMSG_INFO)
		return AS_FIND_KERNEL;
	if (end == BOXED_SILENT || end == BOXED_STUCK)
		return AS_FIND_HANG;
	if (end == BOXED_FLOODS)
		return AS_FIND_KERNEL;
	return b->box->state->ended ? AS_FIND_SIGNAL : AS_FIND_KERNEL;
}

/* The same mistake must give the same words, because they become part of the signature. */
static void describe_end(const struct as_boxed_session *b, enum as_boxed_end end,
			 struct as_buf *out)
{
	const struct as_box *box = b->box;
	int status = box->state->ended ? box->state->status : box->status;
	struct as_buf line = { 0 };

	if (end == BOXED_FLOODS)
		as_boxed_add_repeated(b, &line);
	if (b->weight > AS_KMSG_INFO) {
		as_buf_addf(out, "the kernel says: %s", as_buf_str(&b->title));
		if (end == BOXED_FLOODS)
			as_buf_adds(out, "; it says without an end: ");
	} else if (end == BOXED_FLOODS) {
		as_buf_adds(out, "the kernel says without an end: ");
	} else if (end == BOXED_SILENT) {
		as_buf_adds(out, "the kernel fell silent");
	} else if (end == BOXED_STUCK) {
		as_buf_adds(out, "the engine's call did not come back, and it could not be killed");
	} else if (WIFSIGNALED(status)) {
		struct as_ended ended = as_ended_of(status);

		as_buf_addf(out, "the %s ", box->state->ended ? "engine" : "kernel");
		as_ended_words(&ended, &(struct as_ended_say){ 0 }, out);
	} else {
		as_buf_addf(out, "the kernel ended with status %d", WEXITSTATUS(status));
	}
	as_buf_adds(out, as_buf_str(&line));
	as_buf_free(&line);
}

/* The disk as it was when the box died, from the writes that were recorded; NULL: unknown. */
static struct as_medium *last_disk(const struct as_boxed_session *b, enum as_boxed_end end)
{
	struct as_medium *disk;

	if (!b->how->fresh || end == BOXED_COMPLAINED)
		return NULL;
	disk = as_medium_copy(b->how->fresh);
	if (as_medium_repeat(disk, as_shared_witness(b->box->state), AS_RUN_WITNESS_BYTES))
		return disk;
	as_medium_free(disk);
	return NULL;
}

static void free_place(struct as_boxed_place *place)
{
	as_buf_free(&place->about);
	as_buf_free(&place->detail);
	as_medium_free(place->disk);
}

static bool is_plan(const char *text)
{
	struct as_plan *plan;
	bool is = *text && !as_plan_parse(text, &plan, NULL);

	if (is)
		as_plan_free(plan);
	return is;
}

static void find_place(const struct as_boxed_session *b, const struct as_seq *seq,
		       struct as_child_shared *sh, enum as_boxed_end end,
		       struct as_boxed_place *place)
{
	bool went_on = end == BOXED_COMPLAINED;

	*place = (struct as_boxed_place){ .op = -1, .options = b->how->options };
	if (b->how->where && b->how->where(b->how, b->box->state, seq, place)) {
		/* The engine continued after the kernel's report, so its present place says
		 * nothing. */
		if (went_on) {
			free_place(place);
			*place = (struct as_boxed_place){ .op = -1, .options = b->how->options };
		}
		return;
	}
	if (went_on) {
		sh->phase = PHASE_SETUP;
		sh->notice.op = -1;
	}
	place->op = sh->notice.op;
	place->ops = went_on ? 0 : sh->ops;
	as_buf_adds(&place->about, place->op >= 0 ? as_op_table[seq->ops[place->op].code].name
						  : as_phase_name(sh->phase));
	if (b->how->options.sweep && is_plan(sh->sweep_plan)) {
		place->options.sweep = AS_SWEEP_NONE;
		place->options.faults = sh->sweep_plan;
	}
	as_shared_describe(sh, seq, place->options.faults, &place->detail);
	place->disk = last_disk(b, end);
}

/* What is said of the end: as the notice of a child, had it come to write one. */
static void write_notice(const struct as_boxed_session *b, const struct as_seq *seq,
			 const struct as_boxed_place *place, enum as_boxed_end end,
			 struct as_notice *notice)
{
	struct as_buf text = { 0 }, signature = { 0 }, op = { 0 };
	struct as_symptom symptom = { .kind = kind_of(b, end), .op = -1 };

	describe_end(b, end, &text);
	symptom.about = as_buf_str(&place->about);
	symptom.why = as_buf_str(&text);
	as_notice_begin(notice, symptom.kind, place->op);
	if (place->op >= 0) {
		as_print_op(&seq->ops[place->op], &op);
		AS_NOTICE_SETF(notice, summary, "op %lld: %.512s: %s", (long long)place->op + 1,
			       as_buf_str(&op), symptom.why);
	} else if (end != BOXED_COMPLAINED) {
		AS_NOTICE_SETF(notice, summary, "%s: %s", symptom.about, symptom.why);
	} else {
		AS_NOTICE_SET(notice, summary, symptom.why);
	}
	if (b->weight > AS_KMSG_INFO)
		as_buf_adds(&signature, as_buf_str(&b->signature));
	else
		as_symptom_sign(&symptom, &signature);
	AS_NOTICE_SET(notice, signature, as_buf_str(&signature));
	AS_NOTICE_SET(notice, detail, as_buf_str(&place->detail));
	as_notice_close(notice);
	as_buf_free(&text);
	as_buf_free(&signature);
	as_buf_free(&op);
}

static void tell(struct as_boxed_session *b, size_t which, const struct as_boxed_place *place,
		 enum as_boxed_end end, struct as_notice *notice)
{
	const struct as_seq *seq = b->work->seqs[which];
	struct as_finding f;
	char id[AS_FINDING_ID_MAX];

	write_notice(b, seq, place, end, notice);
	f = as_notice_open(notice);
	f.target = b->how->target;
	f.workload_name = b->work->names[which];
	f.log = b->console.len ? as_buf_str(&b->console) : NULL;
	/* The one in the box is not ours to ask any more. */
	f.kernel = place->options.on_host ? NULL : "";
	f.disk = place->disk ? as_medium_disk(place->disk) : NULL;
	as_finding_tell(&f, NULL, seq, &place->options, b->how->findings, id);
}

/* Counts the workloads that the same process has finished before: they had no findings. */
static void count_earlier(struct as_boxed_session *b, size_t which,
			  const struct as_child_shared *sh)
{
	size_t at = b->n_finished, first;

	while (b->list[at] != which)
		at++;
	first = sh->done < at ? at - (size_t)sh->done : 0;
	if (first < b->n_finished)
		return;
	for (size_t i = first; i < at; i++) {
		b->done[b->list[i]] = true;
		b->sum->workloads++;
	}
	b->sum->ops += sh->done_ops;
}

/* A sweep continues with the next call, in another box. first: nothing had failed before. */
static bool sweep_goes_on(struct as_boxed_session *b, size_t which, const struct as_sweep_at *at,
			  bool first, enum as_boxed_end end)
{
	size_t n_ops = b->work->seqs[which]->n;
	bool goes_on = as_sweep_by_op(b->how->options.sweep) && end != BOXED_COMPLAINED && at->n &&
		       !as_sweep_before(at, &b->sweep_at) && at->op <= n_ops && at->op2 <= n_ops &&
		       !b->done[which];

	if (goes_on && ++b->sweep_deaths > SWEEP_DEATHS_MAX) {
		as_emit_note(b->how->notes,
			     "%s: its sweep is given up, since %d kernels have died in it",
			     b->work->names[which], SWEEP_DEATHS_MAX);
		goes_on = false;
	}
	if (!goes_on) {
		b->sweep_at = (struct as_sweep_at){ 0 };
		b->sweep_deaths = 0;
		return false;
	}
	b->sweep_at = *at;
	b->sweep_at.points++;
	if (at->op2 && !first) {
		b->sweep_at.n2++;
		return true;
	}
	/* No pair with the first one can be tried, since it dies of that one alone. */
	b->sweep_at.n++;
	b->sweep_at.op2 = at->op2 ? at->op + 1 : 0;
	b->sweep_at.n2 = at->op2 ? 1 : 0;
	return true;
}

static void find_in_run(struct as_boxed_session *b, size_t which, enum as_boxed_end end)
{
	const struct as_seq *seq = b->work->seqs[which];
	struct as_child_shared *sh = copy_shared(b, seq->n);
	struct as_run_result r = { .workloads = 1, .runs = 1, .findings = 1 };
	struct as_boxed_place place;
	struct as_sweep_at at = sh->sweep_at;
	bool first = !sh->kfired;

	if (b->how->together && end != BOXED_COMPLAINED)
		count_earlier(b, which, sh);
	find_place(b, seq, sh, end, &place);
	r.ops = place.ops;
	tell(b, which, &place, end, &sh->notice);
	free_place(&place);
	r.points = b->how->options.sweep ? at.points : 0;
	free(sh);
	b->sum->findings++;
	b->sum->ops += r.ops;
	if (sweep_goes_on(b, which, &at, first, end))
		return;
	if (b->done[which])
		return;
	b->done[which] = true;
	b->sum->workloads++;
	if (b->how->workload)
		b->how->workload(b->how->ctx, b->work->names[which], &r);
}

void as_boxed_post_mortem(struct as_boxed_session *b, size_t which, enum as_boxed_end end)
{
	if (!b->death) {
		find_in_run(b, which, end);
		return;
	}
	as_boxed_note_death(b, end);
	b->done[which] = true;
}
