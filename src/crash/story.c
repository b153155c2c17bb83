/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story: see story.h.
 *
 * What a block is changes while a workload runs: blocks of a removed file become another file's. So
 * the writes of an operation are looked up on the disk as it was after that operation. That disk is
 * recovered first, since a journal may hold what is not in its place yet. The writes of a recovery
 * are looked up on the disk that it left. Where there is no such disk, the disk at the end of the
 * workload is used, on which everything is in its place.
 */
#include "crash/story.h"

#include "host/medium.h"
#include "layout/layout.h"
#include "recording/orders.h"
#include "target/facts.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>

#define OP_SHOWN_BYTES 80u
#define LINES_MAX 40u /* of one list of writes */
#define RACE_LINES 60u /* of calls */
#define TREES_BYTES ((size_t)3072)
#define LAYOUTS_MAX 24u /* operations whose disks are looked at: the last ones */

struct teller {
	const struct as_story *story;
	struct as_layout *end, *start;
	struct as_layout **after; /* by operation; NULL: not made yet, or cannot be made */
	bool *tried; /* by operation: after[] was made, or cannot be */
	size_t n_ops;
	struct as_layout *now; /* of the recovery that is being told; NULL: none is */
	struct as_buf *out;
};

/* ---- What blocks are ---- */

static struct as_layout *recovered_layout(const struct teller *t, struct as_disk *disk)
{
	const struct as_story *s = t->story;
	struct as_layout *layout = NULL;
	struct as_recovered got = { 0 };
	struct as_err err = { 0 };
	/* Some types cannot be mounted without a checker's run. */
	enum as_way way = as_recoverer_ways(s->recoverer) >> AS_WAY_MOUNT & 1 ? AS_WAY_MOUNT
									      : s->problem->way;

	if (as_recover(s->recoverer, way, disk, AS_RECOVER_LOG, &got, &err) == 0 && got.disk)
		layout = as_layout_new(s->target, got.disk);
	as_recovered_free(&got);
	return layout;
}

/* After operation `op`, with all of its writes made. */
static struct as_layout *layout_after(struct teller *t, size_t op)
{
	const struct as_recording *rec = t->story->recording;
	struct as_disk *disk;
	struct as_err err = { 0 };
	size_t end = 0;

	if (!t->end || !t->story->recoverer || op >= t->n_ops || op + LAYOUTS_MAX < t->n_ops)
		return NULL;
	if (t->tried[op])
		return t->after[op];
	t->tried[op] = true;
	while (end < as_reclog_len(rec->log) &&
	       (as_reclog_at(rec->log, end)->op == AS_RECLOG_NO_OP ||
		as_reclog_at(rec->log, end)->op <= op))
		end++;
	disk = as_disk_snapshot(rec->start);
	if (as_reclog_replay(rec->log, 0, end, as_disk_bd(disk), &err) == 0)
		t->after[op] = recovered_layout(t, disk);
	as_disk_free(disk);
	return t->after[op];
}

/* ---- Pieces ---- */

void as_story_say_op(const struct as_recording *rec, size_t op, struct as_buf *out)
{
	struct as_buf text = { 0 };

	as_print_op(&rec->seq->ops[op], &text);
	as_buf_addf(out, "op %zu `%.*s%s`", op + 1, (int)OP_SHOWN_BYTES, as_buf_str(&text),
		    text.len > OP_SHOWN_BYTES ? "..." : "");
	as_buf_free(&text);
}

void as_story_say_moment(const struct as_recording *rec, struct as_moment m, struct as_buf *out)
{
	if (rec->raced && rec->orders) {
		as_orders_say_moment(rec->orders, m, out);
	} else if (m.begun > m.done && m.done < rec->n_ops) {
		as_buf_adds(out, "power cut during ");
		as_story_say_op(rec, m.done, out);
	} else if (m.done && m.done <= rec->n_ops) {
		as_buf_adds(out, "power cut after ");
		as_story_say_op(rec, m.done - 1, out);
	} else {
		as_buf_adds(out, "power cut before the first operation");
	}
}

/* What the place was before, where data was written over something else. */
static void say_before(struct teller *t, size_t op, uint64_t off, uint64_t len, size_t said_at,
		       struct as_buf *out)
{
	struct as_layout *layout = op ? layout_after(t, op - 1) : NULL;
	const char *now = as_buf_str(out) + said_at;
	struct as_buf before = { 0 };

	if (layout && strncmp(now, "data of ", 8) == 0 &&
	    as_layout_say(layout, off, len, NULL, &before) && strcmp(now, as_buf_str(&before)) != 0)
		as_buf_addf(out, " (which was %s)", as_buf_str(&before));
	as_buf_free(&before);
}

/* Where the disk of the journal begins, if it has one. */
static uint64_t journal_at(const struct teller *t)
{
	uint64_t bytes = as_target_recovery(t->story->target).journal_bytes;

	return bytes ? as_disk_size(t->story->recording->start) - bytes : UINT64_MAX;
}

/* What the bytes are; else where they are. */
static void say_place(struct teller *t, const struct as_log_entry *e, uint64_t off, uint64_t len,
		      struct as_buf *out)
{
	const unsigned char *data = e->data ? e->data + (off - e->off) : NULL;
	uint64_t apart = journal_at(t);
	size_t len_before;

	if (as_target_flash(t->story->target))
		as_buf_adds(out, e->kind == AS_CALL_ZERO ? "erase of " : "program of ");
	else if (e->kind == AS_CALL_DISCARD)
		as_buf_adds(out, "discard of ");
	else if (e->kind == AS_CALL_ZERO)
		as_buf_adds(out, "zeros over ");
	if (t->now && as_layout_say(t->now, off, len, data, out))
		return;
	len_before = out->len;
	if (!t->now && e->op != AS_RECLOG_NO_OP && layout_after(t, e->op) &&
	    as_layout_say(t->after[e->op], off, len, data, out)) {
		say_before(t, e->op, off, len, len_before, out);
		return;
	}
	if (t->end && as_layout_say(t->end, off, len, data, out))
		return;
	if (t->start && as_layout_say(t->start, off, len, NULL, out))
		return;
	as_buf_addf(out, "%llu bytes at %llu%s", (unsigned long long)len,
		    (unsigned long long)(off < apart ? off : off - apart),
		    off < apart ? "" : " of the journal's disk");
}

/* On a disk without a cache, all writes are recorded as with FUA. */
static bool is_uncached(const struct teller *t)
{
	return as_target_promise(t->story->target).crash & AS_CRASH_NO_FLUSH;
}

static bool is_step(const struct teller *t, const struct as_log_entry *e,
		    const struct as_log_entry *next)
{
	return as_target_flash(t->story->target) && e->kind == AS_CALL_WRITE &&
	       next->kind == e->kind && next->off == e->off && next->len == e->len;
}

/* A journal may have a disk, and so flushes, of its own. */
static const char *say_flush(const struct teller *t, const struct as_log_entry *e)
{
	if (!e->len)
		return "flush";
	return e->off < journal_at(t) ? "flush of the file system's disk"
				      : "flush of the journal's disk";
}

/* "inode table (/) (512 bytes at 2048 of it)": a part of a write. */
static void say_unit(struct teller *t, const struct as_reclog *log, const struct as_perm_unit *unit,
		     struct as_buf *out)
{
	const struct as_log_entry *e = as_reclog_at(log, unit->entry);

	say_place(t, e, unit->off, unit->len, out);
	if (unit->len != e->len)
		as_buf_addf(out, " (%llu bytes at %llu of it)", (unsigned long long)unit->len,
			    (unsigned long long)(unit->off - e->off));
}

/* Writes and flushes of entries first..end-1, each on a line. */
static void say_entries(struct teller *t, const struct as_reclog *log, size_t first, size_t end,
			struct as_buf *out)
{
	const char *wrote = as_target_flash(t->story->target) ? "" : "wrote ";
	unsigned lines = 0, more = 0;

	for (size_t i = first; i < end; i++) {
		const struct as_log_entry *e = as_reclog_at(log, i);
		bool flush = e->kind == AS_CALL_FLUSH;
		struct as_buf what = { 0 };

		if (!flush && !as_log_entry_changes(e))
			continue;
		/* A program of flash goes by steps, of which the last one is told. */
		if (i + 1 < end && is_step(t, e, as_reclog_at(log, i + 1)))
			continue;
		if (!flush) {
			say_place(t, e, e->off, e->len, &what);
			as_buf_adds(&what, e->fua && !is_uncached(t) ? ", with FUA" : "");
			as_buf_adds(&what, e->early ? ", early, from the cache" : "");
			as_buf_adds(&what, e->done > i + 1 ? ", in flight for a while" : "");
		}
		if (lines < LINES_MAX)
			as_buf_addf(out, "      %s%s\n", flush ? say_flush(t, e) : wrote,
				    as_buf_str(&what));
		else
			more++;
		lines++;
		as_buf_free(&what);
	}
	if (more)
		as_buf_addf(out, "      and %u more writes and flushes\n", more);
}

static size_t count(const struct as_reclog *log, size_t first, size_t end)
{
	size_t n = 0;

	for (size_t i = first; i < end; i++)
		n += as_reclog_at(log, i)->kind == AS_CALL_FLUSH ||
		     as_log_entry_changes(as_reclog_at(log, i));
	return n;
}

/* ---- The workload ---- */

/* The entries of one operation (AS_RECLOG_NO_OP: of the first mount) before the cut. */
static void entries_of(const struct teller *t, uint32_t op, size_t cut_at, size_t *first,
		       size_t *end)
{
	const struct as_reclog *log = t->story->recording->log;

	*first = *end = 0;
	for (size_t i = 0; i < cut_at; i++) {
		if (as_reclog_at(log, i)->op != op)
			continue;
		if (*first == *end)
			*first = i;
		*end = i + 1;
	}
}

/* Each operation is a text of its own, so that the oldest can be left out. */
static void tell_ops(struct teller *t, size_t cut_at, size_t n_ops, size_t max_bytes)
{
	const struct as_reclog *log = t->story->recording->log;
	struct as_buf *text = as_xcalloc(n_ops + 1, sizeof(*text));
	size_t first, end, total = 0, from;

	entries_of(t, AS_RECLOG_NO_OP, cut_at, &first, &end);
	if (count(log, first, end)) {
		as_buf_adds(&text[0], "  the first mount:\n");
		say_entries(t, log, first, end, &text[0]);
	}
	for (size_t op = 0; op < n_ops; op++) {
		entries_of(t, (uint32_t)op, cut_at, &first, &end);
		as_buf_adds(&text[op + 1], "  ");
		as_story_say_op(t->story->recording, op, &text[op + 1]);
		as_buf_adds(&text[op + 1], count(log, first, end) ? ":\n" : ": nothing written\n");
		say_entries(t, log, first, end, &text[op + 1]);
	}
	for (from = n_ops + 1; from > 0 && total + text[from - 1].len <= max_bytes; from--)
		total += text[from - 1].len;
	if (from > 1)
		as_buf_addf(t->out, "  (ops 1 to %zu are left out)\n", from - 1);
	for (size_t i = from; i <= n_ops; i++)
		as_buf_adds(t->out, as_buf_str(&text[i]));
	for (size_t i = 0; i <= n_ops; i++)
		as_buf_free(&text[i]);
	free(text);
}

/* ---- A power cut ---- */

static void tell_list(struct teller *t, const struct as_reclog *log, const struct as_perm *perm,
		      size_t n_units, bool kept)
{
	unsigned lines = 0, more = 0;

	for (size_t u = 0; u < n_units; u++) {
		struct as_perm_unit unit = as_perm_unit(perm, u);
		struct as_buf what = { 0 };

		if (unit.kept != kept)
			continue;
		say_unit(t, log, &unit, &what);
		if (lines++ < LINES_MAX)
			as_buf_addf(t->out, "      %s %s\n",
				    kept ? "there: " : "lost:  ", as_buf_str(&what));
		else
			more++;
		as_buf_free(&what);
	}
	if (more)
		as_buf_addf(t->out, "      %s %u more\n", kept ? "there: " : "lost:  ", more);
}

/* Why nothing kept two writes in order. */
static const char *say_between(const struct teller *t, const struct as_reclog *log, size_t a,
			       size_t b)
{
	bool other = false;

	if (t->story->options->perm.lying_flush)
		return "the disk lied about any flush between them";
	for (size_t i = a + 1; i < b; i++) {
		const struct as_log_entry *e = as_reclog_at(log, i), *lost = as_reclog_at(log, a);

		if (e->kind != AS_CALL_FLUSH || e->ret)
			continue;
		if (!e->len || (lost->off >= e->off && lost->off - e->off < e->len))
			return "when the flush between them was issued, it was still in flight";
		other = true;
	}
	return other ? "the flush between them was one of the other disk"
		     : "no flush came between them";
}

/* If something is on the disk that was written after something lost, nothing kept them in order.
 * Names the last such write, since the others were usually made for it. */
static void tell_order(struct teller *t, const struct as_reclog *log, const struct as_perm *perm,
		       const struct as_perm_state *state)
{
	struct as_perm_unit a = { .entry = SIZE_MAX }, b = { .entry = 0 };
	struct as_buf what = { 0 };

	for (size_t u = 0; u < state->n_units && a.entry == SIZE_MAX; u++)
		if (!as_perm_unit(perm, u).kept)
			a = as_perm_unit(perm, u);
	for (size_t u = 0; a.entry != SIZE_MAX && u < state->n_units + state->n_fixed; u++) {
		struct as_perm_unit unit = as_perm_unit(perm, u);

		if (unit.kept && unit.entry > a.entry && unit.entry >= b.entry)
			b = unit;
	}
	if (!b.kept)
		return;
	say_unit(t, log, &b, &what);
	as_buf_addf(t->out, "      So on the disk was %s, but not ", as_buf_str(&what));
	say_unit(t, log, &a, t->out);
	as_buf_addf(t->out, ", which had been written before it: %s.\n",
		    say_between(t, log, a.entry, b.entry));
	if (strstr(as_buf_str(&what), AS_LAYOUT_EMPTY))
		as_buf_adds(t->out, "      The journal was emptied before what it held was in its "
				    "place on the disk.\n");
	as_buf_free(&what);
}

static void tell_units(struct teller *t, const struct as_reclog *log, const struct as_perm *perm,
		       const struct as_perm_state *state)
{
	bool whole;

	if (!state->n_units) {
		as_buf_adds(t->out, "      All that was written was on the disk.\n");
		return;
	}
	whole = state->view == AS_VIEW_SYNC_ATOMIC || state->view == AS_VIEW_ATOMIC;
	as_buf_addf(t->out,
		    "      %zu %s not flushed yet; %zu of them %s on the disk (view %u: %s).\n",
		    state->n_units,
		    whole ? state->n_units == 1 ? "write was" : "writes were" : "sectors were",
		    state->n_kept, state->n_kept == 1 ? "was" : "were", (unsigned)state->view,
		    as_view_name(state->view));
	tell_list(t, log, perm, state->n_units, true);
	tell_list(t, log, perm, state->n_units, false);
	tell_order(t, log, perm, state);
}

/* ---- Recovery ---- */

static const char *const ways[AS_WAYS] = {
	[AS_WAY_MOUNT] = "a mount",
	[AS_WAY_QUICK] = "the quick checker and a mount",
	[AS_WAY_DEFAULT] = "the checker and a mount",
	[AS_WAY_FULL] = "the full checker and a mount",
	[AS_WAY_COMMIT] = "a mount that replays nothing",
};

static void tell_end(struct teller *t, const struct as_recovered *got)
{
	if (got->end == AS_RECOVERED)
		return;
	as_buf_addf(t->out, "      and %s%s%s\n", as_recovery_end_name(got->end),
		    got->why.len ? ": " : "", as_buf_str(&got->why));
}

/* What the tree was when the power failed, and what recovery made of it. */
static void tell_trees(struct teller *t, const struct as_recovered *got)
{
	const struct as_recording *rec = t->story->recording;
	size_t done = t->story->problem->moment.done;
	struct as_tree *before;

	if (!got->tree || rec->raced || !rec->history || done > as_history_known(rec->history))
		return;
	before = as_history_tree(rec->history, done);
	as_story_trees(before, got->tree, TREES_BYTES, t->out);
	as_tree_put(before);
}

/* Recovers `disk` and tells of it. Where the problem takes a power cut during this recovery, it
 * tells of the recovery up to that, and of the next recovery. */
static void tell_recovery(struct teller *t, struct as_disk *disk, unsigned depth)
{
	const struct as_story *s = t->story;
	const struct as_crash_spot *then =
		depth < AS_CRASH_AGAIN_MAX && s->problem->then[depth].view
			? &s->problem->then[depth]
			: NULL;
	struct as_recovered got = { 0 };
	struct as_err err = { 0 };
	struct as_perm *perm = NULL;
	struct as_perm_state state;
	size_t end;

	as_buf_addf(t->out, "  recovery%s, by %s:\n", depth ? " is begun again" : "",
		    ways[s->problem->way]);
	if (as_recover(s->recoverer, s->problem->way, disk, AS_RECOVER_LOG, &got, &err) ||
	    !got.log) {
		as_recovered_free(&got);
		return;
	}
	end = as_reclog_len(got.log);
	if (then) {
		struct as_perm_options options = s->options->perm;

		memset(&options.start_key, 0, sizeof(options.start_key));
		perm = as_perm_new(got.log, disk, &options);
		if (*then->units != '#' && as_spot_pick(then, perm, false, &state))
			end = as_perm_cut(perm, then->cut).at;
		else
			then = NULL;
	}
	t->now = got.disk ? as_layout_new(s->target, got.disk) : NULL;
	if (!count(got.log, 0, end))
		as_buf_adds(t->out, "      wrote nothing\n");
	say_entries(t, got.log, 0, end, t->out);
	if (then) {
		struct as_disk *next = as_perm_disk(perm);

		as_buf_adds(t->out, "  power cut during recovery\n");
		tell_units(t, got.log, perm, &state);
		as_layout_free(t->now);
		t->now = NULL;
		tell_recovery(t, next, depth + 1);
		as_disk_free(next);
	} else {
		tell_end(t, &got);
		tell_trees(t, &got);
		as_layout_free(t->now);
		t->now = NULL;
	}
	as_perm_free(perm);
	as_recovered_free(&got);
}

/* ---- All of it ---- */

void as_story_tell(const struct as_story *story, size_t max_bytes, struct as_buf *out)
{
	const struct as_recording *rec = story->recording;
	struct as_disk *end = (struct as_disk *)as_medium_disk(rec->medium), *crashed;
	struct as_perm_cut cut = as_perm_cut(story->perm, story->state->cut);
	struct as_moment moment = story->problem->moment;
	struct as_buf rest = { 0 };
	struct teller t = {
		.story = story,
		.end = as_layout_new(story->target, end),
		.start = as_layout_new(story->target, rec->start),
	};
	size_t n_ops = moment.begun < rec->n_ops ? moment.begun : rec->n_ops;

	/* What is written in a race belongs to no single operation. */
	if (rec->raced)
		n_ops = 0;
	t.n_ops = n_ops;
	t.after = as_xcalloc(n_ops + 1, sizeof(*t.after));
	t.tried = as_xcalloc(n_ops + 1, sizeof(*t.tried));
	/* The operations get half of the room; the oldest are left out where it does not suffice.
	 */
	t.out = out;
	if (max_bytes < 4096)
		max_bytes = 4096;
	if (rec->raced)
		as_orders_describe(rec->orders, moment, RACE_LINES, out);
	else
		tell_ops(&t, cut.at, n_ops, max_bytes / 2);
	t.out = &rest;
	as_buf_adds(&rest, "  ");
	as_story_say_moment(rec, moment, &rest);
	as_buf_addc(&rest, '\n');
	tell_units(&t, rec->log, story->perm, story->state);
	if (story->recoverer) {
		crashed = as_perm_disk(story->perm);
		tell_recovery(&t, crashed, 0);
		as_disk_free(crashed);
	} else {
		as_buf_addf(&rest, "  recovery, by %s\n", ways[story->problem->way]);
	}
	if (rest.len > max_bytes / 2)
		as_buf_addf(out, "%.*s\n  (shortened)\n", (int)(max_bytes / 2), as_buf_str(&rest));
	else
		as_buf_adds(out, as_buf_str(&rest));
	as_buf_addf(out, "  what is wrong: %s\n", story->problem->notice->detail);
	for (size_t i = 0; i < n_ops; i++)
		as_layout_free(t.after[i]);
	free(t.after);
	free(t.tried);
	as_layout_free(t.end);
	as_layout_free(t.start);
	as_buf_free(&rest);
}
