/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * boxed_found: what a dead box leaves behind, as a finding. Where the engine was stands in the
 * shared memory, which outlived it: the workload, the phase, the operation in flight, the last
 * answers. It is copied and looked at with care: the kernel that could write to it is broken.
 */
#include "supervise/boxed_priv.h"

#include "os/spawn.h"
#include "run/child.h"
#include "work/print.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

size_t as_boxed_in_flight(const struct as_boxed_session *b)
{
	int64_t in_flight = b->box->state->job;

	/* What was told to be finished is. */
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
	sh->found_op = sh->phase == PHASE_OP ? sh->op : -1;
	return sh;
}

static enum as_finding_kind kind_of(const struct as_boxed_session *b, enum as_boxed_end end)
{
	if (b->weight > AS_KMSG_INFO)
		return AS_FIND_KERNEL;
	if (end == BOXED_SILENT || end == BOXED_STUCK)
		return AS_FIND_HANG;
	return b->box->state->ended ? AS_FIND_SIGNAL : AS_FIND_KERNEL;
}

/* What happened, in words; the same words for the same mistake. */
static void say(const struct as_boxed_session *b, enum as_boxed_end end, struct as_buf *out)
{
	const struct as_box *box = b->box;
	int status = box->state->ended ? box->state->status : box->status;

	if (b->weight > AS_KMSG_INFO) {
		as_buf_addf(out, "the kernel says: %s", as_buf_str(&b->title));
	} else if (end == BOXED_SILENT) {
		as_buf_adds(out, "the kernel fell silent");
	} else if (end == BOXED_STUCK) {
		as_buf_adds(out, "the engine's call did not come back, and it could not be killed");
	} else if (WIFSIGNALED(status)) {
		as_buf_addf(out, "the %s died of %s", box->state->ended ? "engine" : "kernel",
			    as_signal_name(WTERMSIG(status)));
	} else {
		as_buf_addf(out, "the kernel ended with status %d", WEXITSTATUS(status));
	}
}

/* The disk as it was when the box died, from what its witness wrote; NULL: it cannot be had. */
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

static void find_place(const struct as_boxed_session *b, const struct as_seq *seq,
		       struct as_child_shared *sh, enum as_boxed_end end,
		       struct as_boxed_place *place)
{
	bool gone = end == BOXED_COMPLAINED;

	*place = (struct as_boxed_place){ .op = -1, .options = b->how->options };
	if (b->how->where && b->how->where(b->how, b->box->state, seq, place)) {
		/* It went on behind what made the kernel complain: where it is by now says
		 * nothing. */
		if (gone) {
			free_place(place);
			*place = (struct as_boxed_place){ .op = -1, .options = b->how->options };
		}
		return;
	}
	/* As above. */
	if (gone) {
		sh->phase = PHASE_SETUP;
		sh->found_op = -1;
	}
	place->op = sh->found_op;
	place->ops = gone ? 0 : sh->ops;
	as_buf_adds(&place->about, place->op >= 0 ? as_op_table[seq->ops[place->op].code].name
						  : as_phase_name(sh->phase));
	as_shared_describe(sh, seq, b->how->options.faults, &place->detail);
	place->disk = last_disk(b, end);
}

static void emit(struct as_boxed_session *b, size_t job, const struct as_boxed_place *place,
		 enum as_boxed_end end)
{
	const struct as_seq *seq = b->jobs[job].seq;
	struct as_buf text = { 0 }, summary = { 0 }, signature = { 0 }, options = { 0 },
		      workload = { 0 }, op = { 0 }, name = { 0 };
	struct as_finding f = { .kind = kind_of(b, end) };
	char id[AS_FINDING_ID_MAX];

	say(b, end, &text);
	if (place->op >= 0) {
		as_print_op(&seq->ops[place->op], &op);
		as_buf_addf(&summary, "op %lld: %.512s: ", (long long)place->op + 1,
			    as_buf_str(&op));
	} else if (end != BOXED_COMPLAINED) {
		as_buf_addf(&summary, "%s: ", as_buf_str(&place->about));
	}
	as_buf_adds(&summary, as_buf_str(&text));
	if (b->weight > AS_KMSG_INFO) {
		as_buf_adds(&signature, as_buf_str(&b->signature));
	} else {
		as_buf_addf(&signature, "%s: %s: ", as_finding_kind_name(f.kind),
			    as_buf_str(&place->about));
		as_signature_add(&signature, as_buf_str(&text));
	}
	as_run_options_print(&place->options, &options);
	as_print_seq(seq, &workload);
	f.target = b->how->target;
	f.summary = as_buf_str(&summary);
	f.detail = as_buf_str(&place->detail);
	f.signature = as_buf_str(&signature);
	f.workload = as_buf_str(&workload);
	f.workload_name = b->jobs[job].name;
	f.options = as_buf_str(&options);
	f.op_index = (long)place->op;
	f.op_line = place->op >= 0 ? (int)(seq->n_meta + (size_t)place->op + 1) : 0;
	f.log = b->console.len ? as_buf_str(&b->console) : NULL;
	f.disk = place->disk ? as_medium_disk(place->disk) : NULL;
	as_buf_add(&name, f.target, strcspn(f.target, ":"));
	as_finding_id(&f, as_buf_str(&name), id);
	as_emit_finding(b->how->found, &f, id);
	as_buf_free(&text);
	as_buf_free(&summary);
	as_buf_free(&signature);
	as_buf_free(&options);
	as_buf_free(&workload);
	as_buf_free(&op);
	as_buf_free(&name);
}

/* Those that the same process has finished before it had nothing to tell. */
static void pass_over(struct as_boxed_session *b, size_t job, const struct as_child_shared *sh)
{
	size_t at = b->n_finished, first;

	while (b->list[at] != job)
		at++;
	first = sh->done < at ? at - (size_t)sh->done : 0;
	if (first < b->n_finished)
		return;
	for (size_t i = first; i < at; i++) {
		b->done[b->list[i]] = true;
		b->stats->workloads++;
	}
	b->stats->ops += sh->done_ops;
}

void as_boxed_found(struct as_boxed_session *b, size_t job, enum as_boxed_end end)
{
	const struct as_seq *seq = b->jobs[job].seq;
	struct as_child_shared *sh = copy_shared(b, seq->n);
	struct as_run_result r = { .runs = 1, .findings = 1 };
	struct as_boxed_place place;

	if (b->how->together && end != BOXED_COMPLAINED)
		pass_over(b, job, sh);
	find_place(b, seq, sh, end, &place);
	r.ops = place.ops;
	emit(b, job, &place, end);
	free_place(&place);
	free(sh);
	b->stats->findings++;
	b->stats->ops += r.ops;
	if (b->done[job])
		return;
	b->done[job] = true;
	b->stats->workloads++;
	if (b->how->workload)
		b->how->workload(b->how->ctx, &b->jobs[job], &r);
}
