/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally: see tally.h. */
#include "cover/tally.h"
#include "cover/split.h"

#include <stdlib.h>

static struct as_tally *tally_of(struct as_receiver *to)
{
	return (struct as_tally *)(void *)to;
}

static void count_call(struct as_tally *tally, const struct as_syscall *call)
{
	static const enum as_cov_note notes[] = {
		[AS_WHERE_IN] = AS_NOTE_COUNTED,
		[AS_WHERE_OUT] = AS_NOTE_OUTSIDE,
		[AS_WHERE_UNKNOWN] = AS_NOTE_UNATTRIBUTED,
		[AS_WHERE_NONE] = AS_NOTE_NO_FILE,
	};
	struct as_counts *counts = tally->counts;
	struct as_about about;

	/* Before it takes effect: an exit belongs to the process that exits. */
	if (tally->split)
		counts = as_split_counts(tally->split, tally->to.world, call, counts);
	as_world_call(tally->to.world, call, &about);
	as_counts_note(counts, AS_NOTE_CALLS, 1);
	if (call->finished && call->err)
		as_counts_note(counts, AS_NOTE_FAILED, 1);
	if (as_spec_hides(call->spec))
		as_counts_note(counts, AS_NOTE_NOT_VISIBLE,
			       call->slots[0].state == AS_SLOT_VALUE ? call->slots[0].value : 1);
	if (call->spec->family < 0)
		return;
	if (!call->finished) {
		as_counts_note(counts, AS_NOTE_UNFINISHED, 1);
		return;
	}
	as_counts_note(counts, notes[about.where], 1);
	if (about.where == AS_WHERE_IN)
		as_counts_call(counts, call, &about);
}

static void on_sigreturn(struct as_receiver *to, unsigned tid, int64_t ret)
{
	struct as_syscall *call = as_world_sigreturn(to->world, tid, ret);

	if (!call)
		return;
	as_counts_unnote(tally_of(to)->counts, AS_NOTE_UNFINISHED, 1);
	to->call(to, call);
	as_world_answered(call);
}

static void on_call(struct as_receiver *to, const struct as_syscall *call)
{
	struct as_tally *tally = tally_of(to);
	struct as_interruption is;

	if (call->spec->act == AS_ACT_SIGRETURN) {
		on_sigreturn(to, call->tid, call->err ? -call->err : call->ret);
		return;
	}
	is = as_world_interruption(to->world, call);
	if (is.over)
		as_counts_unnote(tally->counts, AS_NOTE_UNFINISHED, 1);
	if (is.waits)
		as_counts_note(tally->counts, AS_NOTE_UNFINISHED, call->spec->family >= 0);
	else
		count_call(tally, call);
}

static void on_remark(struct as_receiver *to, enum as_remark remark, uint64_t n)
{
	static const enum as_cov_note notes[AS_REMARKS] = {
		[AS_REMARK_LINES] = AS_NOTE_LINES,
		[AS_REMARK_UNFINISHED] = AS_NOTE_UNFINISHED,
		[AS_REMARK_OTHER_ARCH] = AS_NOTE_OTHER_ARCH,
		[AS_REMARK_FORGOTTEN] = AS_NOTE_FORGOTTEN,
	};

	as_counts_note(tally_of(to)->counts, notes[remark], n);
}

static void on_unknown_call(struct as_receiver *to, const char *name, size_t len)
{
	as_counts_unknown_call(tally_of(to)->counts, name, len);
}

static void on_not_understood(struct as_receiver *to, const char *text, size_t len)
{
	as_counts_note(tally_of(to)->counts, AS_NOTE_NOT_UNDERSTOOD, 1);
	as_counts_example(tally_of(to)->counts, text, len);
}

static void on_lost(struct as_receiver *to, uint64_t n)
{
	if (!n)
		return;
	as_counts_note(tally_of(to)->counts, AS_NOTE_LOST, n);
	as_counts_partial(tally_of(to)->counts, "the source lost calls");
}

int as_tally_open(struct as_tally *tally, const struct as_spec *spec,
		  const struct as_world_options *options, struct as_counts *counts,
		  struct as_split *split, struct as_err *err)
{
	*tally = (struct as_tally){
		.to = { .spec = spec,
			.wants_commands = split != NULL,
			.call = on_call,
			.sigreturn = on_sigreturn,
			.remark = on_remark,
			.unknown_call = on_unknown_call,
			.not_understood = on_not_understood,
			.lost = on_lost },
		.counts = counts,
		.split = split,
	};
	return as_world_new(spec, options, &tally->to.world, err);
}

void as_tally_close(struct as_tally *tally)
{
	if (!tally->to.world)
		return;
	as_counts_note(tally->counts, AS_NOTE_FORGOTTEN, as_world_forgotten(tally->to.world));
	as_counts_note(tally->counts, AS_NOTE_NAMES_FORGOTTEN,
		       as_world_names_forgotten(tally->to.world));
	as_world_free(tally->to.world);
	tally->to.world = NULL;
}
