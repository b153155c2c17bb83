/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: the tally that all sources report to. */
#include "cover/source.h"
#include "cover/split.h"

void as_tally_call(struct as_tally *tally, const struct as_syscall *call)
{
	static const enum as_cov_note notes[] = {
		[AS_WHERE_IN] = AS_NOTE_COUNTED,
		[AS_WHERE_OUT] = AS_NOTE_OUTSIDE,
		[AS_WHERE_UNKNOWN] = AS_NOTE_UNATTRIBUTED,
		[AS_WHERE_NONE] = AS_NOTE_NO_FILE,
	};
	struct as_counts *counts = tally->counts;
	struct as_about about;

	if (as_tally_interrupt(tally, call))
		return;
	/* Before it takes effect: an exit is its process's own. */
	if (tally->split)
		counts = as_split_counts(tally->split, tally->world, call, counts);
	as_world_call(tally->world, call, &about);
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

void as_tally_not_understood(struct as_tally *tally, const char *text, size_t len)
{
	as_counts_note(tally->counts, AS_NOTE_NOT_UNDERSTOOD, 1);
	as_counts_example(tally->counts, text, len);
}

void as_tally_lost(struct as_tally *tally, uint64_t n)
{
	if (!n)
		return;
	as_counts_note(tally->counts, AS_NOTE_LOST, n);
	as_counts_partial(tally->counts, "the source lost calls");
}

void as_tally_ended(struct as_tally *tally)
{
	as_counts_note(tally->counts, AS_NOTE_FORGOTTEN, as_world_forgotten(tally->world));
	as_counts_note(tally->counts, AS_NOTE_NAMES_FORGOTTEN,
		       as_world_names_forgotten(tally->world));
}
