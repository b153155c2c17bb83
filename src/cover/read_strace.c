/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_strace: the text of strace -f, with any of -y -yy -T -t -tt -ttt -r -i -n -s N. Calls that
 * others interrupted ("<unfinished ...>") are put together again for each thread; one that has
 * entered fork or clone may have a child before it comes back.
 *
 * What is not understood is counted, with the first examples; a line that was cut (a megabyte long)
 * is not understood. Calls of threads that run in another mode (32 bit) are counted apart: their
 * numbers and structures are others.
 */
#include "cover/pending.h"
#include "cover/source.h"
#include "cover/strace_value.h"
#include "cover/trace.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct as_tally *tally;
	struct as_spell *spell;
	struct as_pendings pendings;
	struct as_scan_room room;
	struct as_syscall call;
	unsigned tid; /* of lines that name none */
	uint64_t lines, foreign;
	bool any_foreign;
};

static void report(struct reader *r, const struct as_scan *scan, unsigned tid)
{
	const struct as_spec_call *spec =
		as_spec_find(r->tally->spec, scan->name.at, scan->name.len);

	if (!spec) {
		as_counts_unknown_call(r->tally->counts, scan->name.at, scan->name.len);
		return;
	}
	as_scan_fill(scan, spec, r->spell, &r->room, &r->call);
	r->call.pid = r->call.tid = tid;
	if (spec->act == AS_ACT_EXEC) {
		unsigned list = spec->slots[0].printed + 1u;

		as_scan_args(list < scan->n_args ? scan->args[list] : (struct as_span){ "", 0 },
			     &r->room, &r->call);
	}
	as_tally_call(r->tally, &r->call);
}

static bool forks(const struct as_spec_call *spec)
{
	return spec &&
	       (spec->act == AS_ACT_FORK || spec->act == AS_ACT_VFORK || spec->act == AS_ACT_CLONE);
}

static void begin(struct reader *r, const struct as_scan *scan, unsigned tid)
{
	const struct as_spec_call *spec =
		as_spec_find(r->tally->spec, scan->name.at, scan->name.len);
	struct as_pending *pending = as_pendings_get(&r->pendings, tid);

	as_pending_room(pending, scan->head.len);
	memcpy(pending->text, scan->head.at, scan->head.len);
	pending->len = scan->head.len;
	if (pending->active)
		as_counts_note(r->tally->counts, AS_NOTE_UNFINISHED, 1);
	pending->active = true;
	if (forks(spec)) {
		/* The last argument was not closed by a comma: look at all of them. */
		struct as_scan all = { .n_args = 1, .args = { scan->head } };
		uint64_t flags = 0;

		if (spec->act == AS_ACT_CLONE)
			flags = as_scan_clone_flags(&all, spec->slots[0].words, r->spell);
		as_world_forking(r->tally->world, tid, flags);
	}
}

/* Its beginning may be before the trace, or beyond what is kept. */
static bool resume(struct reader *r, const struct as_scan *scan, unsigned tid)
{
	struct as_pending *pending = as_pendings_find(&r->pendings, tid);
	struct as_scan whole = { .tid = tid };

	if (!pending || !pending->active || pending->len < scan->name.len ||
	    memcmp(pending->text, scan->name.at, scan->name.len) != 0) {
		as_counts_note(r->tally->counts, AS_NOTE_UNFINISHED, 1);
		return true;
	}
	pending->active = false;
	as_pending_room(pending, pending->len + scan->tail.len + 1);
	memcpy(pending->text + pending->len, scan->tail.at, scan->tail.len);
	pending->len += scan->tail.len;
	pending->text[pending->len] = 0;
	as_scan_call(pending->text, pending->len, &whole);
	if (whole.kind != AS_SCAN_CALL)
		return false;
	report(r, &whole, tid);
	return true;
}

static void ended(struct reader *r, unsigned tid)
{
	const struct as_pending *pending = as_pendings_find(&r->pendings, tid);

	if (pending && pending->active)
		as_counts_note(r->tally->counts, AS_NOTE_UNFINISHED, 1);
	as_pendings_end(&r->pendings, tid);
	as_world_exit(r->tally->world, tid);
}

static bool is_foreign(struct reader *r, unsigned tid)
{
	const struct as_pending *pending =
		r->any_foreign ? as_pendings_find(&r->pendings, tid) : NULL;

	return pending && pending->foreign;
}

static void take(struct reader *r, const char *line, size_t len, bool cut)
{
	struct as_scan scan;
	bool ok = !cut;

	as_scan_line(line, len, &scan);
	if (!scan.tid)
		scan.tid = r->tid;
	if (scan.kind == AS_SCAN_MODE) {
		as_pendings_get(&r->pendings, scan.tid)->foreign = scan.number != 64;
		r->any_foreign = true;
	} else if (scan.kind == AS_SCAN_CALL && is_foreign(r, scan.tid)) {
		as_counts_note(r->tally->counts, AS_NOTE_OTHER_ARCH, 1);
	} else if (scan.kind == AS_SCAN_CALL && ok) {
		report(r, &scan, scan.tid);
	} else if (scan.kind == AS_SCAN_BEGIN && ok) {
		begin(r, &scan, scan.tid);
	} else if (scan.kind == AS_SCAN_RESUME && ok) {
		ok = resume(r, &scan, scan.tid);
	} else if (scan.kind == AS_SCAN_EXIT) {
		ended(r, scan.tid);
	} else if (scan.kind != AS_SCAN_NOTHING) {
		ok = false;
	}
	if (!ok)
		as_tally_not_understood(r->tally, line, len);
}

/* "x.strace.123" of -ff is all of process 123. */
static unsigned tid_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	unsigned long tid = dot ? strtoul(dot + 1, NULL, 10) : 0;

	return tid && tid < 1000000000 ? (unsigned)tid : 1;
}

static int run(const struct as_source_input *input, struct as_tally *tally, struct as_err *err)
{
	struct reader r = { .tally = tally, .tid = tid_of_name(input->path) };
	const char *line;
	size_t len;
	bool cut;

	r.spell = as_spell_new();
	r.room.at = as_xmalloc(AS_LINE_MAX + 1);
	as_pendings_open(&r.pendings);
	while (as_trace_line(input->trace, &line, &len, &cut)) {
		r.lines++;
		take(&r, line, len, cut);
	}
	as_counts_note(tally->counts, AS_NOTE_LINES, r.lines);
	as_counts_note(tally->counts, AS_NOTE_UNFINISHED, as_pendings_active(&r.pendings));
	as_pendings_close(&r.pendings);
	as_spell_free(r.spell);
	free(r.room.at);
	return as_trace_status(input->trace, err);
}

/* By how many of the first lines are lines of strace; one is not enough, nearly anything with
 * parentheses could be. */
static int recognise(const char *head, size_t len)
{
	const char *end = head + len;
	int good = 0, all = 0;

	for (const char *eol; head < end && all < 20; head = eol + 1) {
		struct as_scan scan;

		eol = memchr(head, '\n', (size_t)(end - head));
		if (!eol)
			break;
		as_scan_line(head, (size_t)(eol - head), &scan);
		all++;
		good += scan.kind != AS_SCAN_UNKNOWN && scan.kind != AS_SCAN_NOTHING;
	}
	return all ? 90 * good / all : 0;
}

const struct as_source_ops as_source_strace = {
	.name = "strace",
	.about = "text of strace -f",
	.version = AS_SOURCE_VERSION,
	.recognise = recognise,
	.run = run,
};
