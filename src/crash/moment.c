/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moment: when the power failed. A cut lies between two entries of the record, and the power may
 * have failed at any time between them. What must be there only grows with time, when an operation
 * that makes something stable returns. So the strictest moment is the last one, just before the
 * next entry was issued, and that one is judged. In the views that tear the last write the power
 * failed during that write, while the operation that issued it was under way. So it did if a write
 * is in flight that becomes stable by being complete.
 */
#include "crash/judge.h"
#include "recording/orders.h"

/* By the clock of a race. */
static struct as_moment moment_of_race(const struct as_recording *rec, struct as_perm_cut cut,
				       bool torn)
{
	uint64_t at = torn ? cut.op : cut.at == as_reclog_len(rec->log) ? rec->until : cut.next_op;

	/* Of the first mount. */
	if (at == AS_RECLOG_NO_OP)
		at = 0;
	return (struct as_moment){ .done = at, .begun = at };
}

struct as_moment as_judge_moment(const struct as_recording *rec, const struct as_perm *perm,
				 enum as_view view, size_t k)
{
	struct as_perm_cut cut = as_perm_cut(perm, k);
	size_t n = rec->n_ops, wrote = cut.op == AS_RECLOG_NO_OP ? 0 : cut.op + 1;
	bool torn = view == AS_VIEW_SYNC_LEFT || view == AS_VIEW_SYNC_SECTORS || cut.in_flight;

	if (rec->raced)
		return moment_of_race(rec, cut, torn);
	if (torn) {
		size_t op = cut.op == AS_RECLOG_NO_OP ? 0 : cut.op;

		return (struct as_moment){ .done = op, .begun = op + (cut.op != AS_RECLOG_NO_OP) };
	}
	if (cut.at == as_reclog_len(rec->log)) {
		if (cut.op != AS_RECLOG_NO_OP && cut.op >= n)
			n = cut.op + 1;
		return (struct as_moment){ n, n, wrote };
	}
	if (cut.next_op == AS_RECLOG_NO_OP)
		return (struct as_moment){ 0 };
	return (struct as_moment){ cut.next_op, cut.next_op + (cut.op == cut.next_op), wrote };
}

size_t as_judge_last_flush(const struct as_recording *rec, const struct as_perm *perm, size_t begun)
{
	size_t flush = 0;

	for (size_t k = 1; k < as_perm_cuts(perm); k++) {
		struct as_moment moment = as_judge_moment(rec, perm, AS_VIEW_SYNC_ATOMIC, k);
		struct as_perm_cut cut = as_perm_cut(perm, k);

		if (moment.begun >= begun)
			break;
		if (cut.flushed && cut.base_end == cut.at && as_recording_knows(rec, moment))
			flush = k;
	}
	return flush;
}

bool as_judge_is_stricter(const struct as_recording *rec, const struct as_perm *perm,
			  enum as_view view, size_t k)
{
	struct as_moment now = as_judge_moment(rec, perm, view, k), was = { 0 };

	struct as_buf text = { 0 };
	bool stricter = !k;

	if (!k)
		return true;
	was = as_judge_moment(rec, perm, view, k - 1);
	if (rec->raced)
		return rec->orders && as_orders_ended_between(rec->orders, was.done, now.done);
	for (size_t op = was.done; op < now.done && !stricter; op++) {
		as_buf_clear(&text);
		stricter = as_history_persists(rec->history, op, &text);
	}
	as_buf_free(&text);
	return stricter;
}
