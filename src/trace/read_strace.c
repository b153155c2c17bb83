/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_strace: the text of strace -f, with any of -y -yy -Y -T -t -tt -ttt -r -i -k -n -s N -v -x
 * -xx -X -z -Z -C. Calls that were printed in two halves ("<unfinished ...>") are put together
 * again for each thread. A thread in fork or clone may have a child before it comes back.
 *
 * What is not understood is counted, with the first examples; a line that was cut (a megabyte long)
 * is not understood. Calls of 32 bit programs are printed in the same words as others, and are
 * counted with them. A trace that has addresses in place of names (-e raw) is refused.
 */
#include "trace/read_strace.h"
#include "base/buf.h"
#include "trace/pending.h"
#include "trace/strace_ids.h"
#include "trace/strace_value.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_FOR_END 8
#define BROKEN_MAX (1u << 16)

struct strace_reader {
	struct as_receiver *to;
	struct as_strace_now *now;
	struct as_spell *spell;
	struct as_pendings pendings;
	struct as_scan_room room;
	struct as_syscall call;
	struct as_strace_ids ids;
	struct as_buf broken; /* the first part of a line that a message of strace interrupted */
	uint64_t lines;
	uint64_t paths, addresses; /* calls that have a path; that show its address */
	bool summary; /* in the table of -C */
};

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Other names of calls that have their arguments in another order. */
static const struct as_spec_call *find_call(const struct as_spec *spec, struct as_scan *scan)
{
	static const struct {
		const char *name, *as;
		unsigned char order[4];
	} others[] = { { "_llseek", "lseek", { 0, 1, 3, 2 } },
		       { "sync_file_range2", "sync_file_range", { 0, 2, 3, 1 } },
		       { "arm_fadvise64_64", "fadvise64", { 0, 2, 3, 1 } } };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct as_span args[AS_SCAN_ARGS];

		if (strlen(others[i].name) != scan->name.len ||
		    memcmp(others[i].name, scan->name.at, scan->name.len) != 0 || scan->n_args < 4)
			continue;
		memcpy(args, scan->args, sizeof(args));
		for (unsigned k = 0; k < 4; k++)
			scan->args[k] = args[others[i].order[k]];
		return as_spec_find(spec, others[i].as, strlen(others[i].as));
	}
	return NULL;
}

/* If the call was successful and the address of a path is printed, strace did not read the path. */
static void look_for_addresses(struct strace_reader *r)
{
	bool any = false, address = false;

	for (unsigned i = 0; i < r->call.spec->n_slots; i++) {
		struct as_syscall_slot *slot = &r->call.slots[i];

		if (r->call.spec->slots[i].class != AS_CLASS_PATH)
			continue;
		any = true;
		if (slot->state != AS_SLOT_FAULT || !r->call.finished || r->call.err == EFAULT ||
		    (r->call.err && !r->addresses))
			continue;
		slot->state = AS_SLOT_UNSEEN;
		address = true;
	}
	r->paths += any;
	r->addresses += address;
}

static void report(struct strace_reader *r, struct as_scan *scan, unsigned tid)
{
	const struct as_spec_call *spec = as_spec_find(r->to->spec, scan->name.at, scan->name.len);

	r->now->scan = scan;
	if (!spec)
		spec = find_call(r->to->spec, scan);
	if (!spec) {
		r->to->unknown_call(r->to, scan->name.at, scan->name.len);
		return;
	}
	as_scan_fill(scan, spec, r->spell, &r->room, &r->call);
	r->call.pid = r->call.tid = tid;
	look_for_addresses(r);
	if (spec->act == AS_ACT_EXEC) {
		unsigned list = spec->slots[0].printed + 1u;

		as_scan_args(list < scan->n_args ? scan->args[list] : (struct as_span){ "", 0 },
			     &r->room, &r->call);
	}
	r->to->call(r->to, &r->call);
}

static bool forks(const struct as_spec_call *spec)
{
	return spec &&
	       (spec->act == AS_ACT_FORK || spec->act == AS_ACT_VFORK || spec->act == AS_ACT_CLONE);
}

/* Looks up the descriptors now, because other threads may change them until the call returns.
 * `pending` has room for the end that is added temporarily. */
static void enter(struct strace_reader *r, struct as_pending *pending,
		  const struct as_spec_call *spec, unsigned tid)
{
	static const char end[] = ") = ?";
	struct as_scan scan = { .tid = tid };

	if (!spec || !as_world_shares(r->to->world, tid))
		return;
	memcpy(pending->text + pending->len, end, sizeof(end));
	as_scan_call(pending->text, pending->len + sizeof(end) - 1, &scan);
	if (scan.kind != AS_SCAN_CALL)
		return;
	as_scan_fill(&scan, spec, r->spell, &r->room, &r->call);
	r->call.pid = r->call.tid = tid;
	as_world_enter(r->to->world, &r->call);
}

static void begin(struct strace_reader *r, const struct as_scan *scan, unsigned tid)
{
	const struct as_spec_call *spec = as_spec_find(r->to->spec, scan->name.at, scan->name.len);
	struct as_pending *pending = as_pendings_get(&r->pendings, tid);

	as_pending_room(&r->pendings, pending, scan->head.len + ROOM_FOR_END);
	memcpy(pending->text, scan->head.at, scan->head.len);
	pending->len = scan->head.len;
	if (pending->active)
		r->to->remark(r->to, AS_REMARK_UNFINISHED, 1);
	pending->active = true;
	enter(r, pending, spec, tid);
	if (forks(spec)) {
		/* The call is incomplete, so its arguments are searched as one text. */
		struct as_scan all = { .n_args = 1, .args = { scan->head } };
		uint64_t flags = 0;

		if (spec->act == AS_ACT_CLONE)
			flags = as_scan_clone_flags(&all, spec->slots[0].words, r->spell);
		as_world_forking(r->to->world, tid, flags);
	}
}

static bool is_of(const struct as_pending *pending, struct as_span name)
{
	return pending && pending->active && pending->len > name.len &&
	       !memcmp(pending->text, name.at, name.len) && pending->text[name.len] == '(';
}

/* It may have begun before the trace, or its beginning was dropped. */
static bool resume(struct strace_reader *r, const struct as_scan *scan, unsigned tid)
{
	struct as_pending *pending = as_pendings_find(&r->pendings, tid);
	struct as_scan whole = { .tid = tid };

	if (!is_of(pending, scan->name)) {
		r->to->remark(r->to, AS_REMARK_UNFINISHED, 1);
		return true;
	}
	pending->active = false;
	as_pending_room(&r->pendings, pending, pending->len + scan->tail.len + 1);
	memcpy(pending->text + pending->len, scan->tail.at, scan->tail.len);
	pending->len += scan->tail.len;
	pending->text[pending->len] = 0;
	as_scan_call(pending->text, pending->len, &whole);
	if (whole.kind == AS_SCAN_CALL)
		report(r, &whole, tid);
	else if (whole.kind == AS_SCAN_BEGIN)
		pending->active = true; /* interrupted again, or for good */
	return whole.kind == AS_SCAN_CALL || whole.kind == AS_SCAN_BEGIN;
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void end_pending(struct strace_reader *r, unsigned tid)
{
	const struct as_pending *pending = as_pendings_find(&r->pendings, tid);

	if (pending && pending->active)
		r->to->remark(r->to, AS_REMARK_UNFINISHED, 1);
	as_pendings_end(&r->pendings, tid);
}

static void ended(struct strace_reader *r, unsigned tid)
{
	end_pending(r, tid);
	as_world_exit(r->to->world, tid);
	as_strace_ids_ended(&r->ids, tid);
}

/* A thread that called exec continues with the number of the first thread. The same happens to the
 * process without a number when its number becomes known. */
static void takes_over(struct strace_reader *r, unsigned former, unsigned tid)
{
	const struct as_pending *was;
	struct as_pending *pending;
	char *text = NULL;
	size_t len = 0;

	end_pending(r, tid);
	was = as_pendings_find(&r->pendings, former);
	if (was && was->active) {
		len = was->len;
		text = as_xmalloc(len + 1);
		memcpy(text, was->text, len);
	}
	as_pendings_end(&r->pendings, former);
	if (text) {
		pending = as_pendings_get(&r->pendings, tid);
		as_pending_room(&r->pendings, pending, len + ROOM_FOR_END);
		memcpy(pending->text, text, len);
		pending->len = len;
		pending->active = true;
		free(text);
	}
	as_world_takes_over(r->to->world, former, tid);
}

/* Which thread a line is about that has no number, or a new one. */
static void identify(struct strace_reader *r, struct as_scan *scan)
{
	unsigned nameless = r->ids.nameless;
	bool same;

	if (!scan->tid) {
		scan->tid = as_strace_ids_only(&r->ids);
		return;
	}
	if (!scan->bracket || as_strace_ids_has(&r->ids, scan->tid))
		return;
	/* While there is only one thread, strace prints no numbers. The first number that no fork
	 * has returned is the number of that thread. */
	same = scan->kind == AS_SCAN_RESUME &&
	       is_of(as_pendings_find(&r->pendings, nameless), scan->name);
	if (nameless &&
	    (same || (!as_world_knows(r->to->world, scan->tid) && !as_world_forks(r->to->world)))) {
		takes_over(r, nameless, scan->tid);
		as_strace_ids_named(&r->ids, scan->tid);
	} else {
		as_strace_ids_add(&r->ids, scan->tid);
	}
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* "wait4(-1, strace: Process 12 attached": the rest is on the next line. True: wait for it. */
static bool is_broken(struct strace_reader *r, const char *line, size_t len)
{
	static const char said[] = "strace: Process ", attached[] = " attached";
	const size_t n = sizeof(attached) - 1;
	const char *at;

	if (len < sizeof(said) + n || memcmp(line + len - n, attached, n) != 0)
		return false;
	at = memmem(line, len, said, sizeof(said) - 1);
	if (!at)
		return false;
	as_strace_ids_add(&r->ids, (unsigned)strtoul(at + sizeof(said) - 1, NULL, 10));
	if (r->broken.len + (size_t)(at - line) <= BROKEN_MAX)
		as_buf_add(&r->broken, line, (size_t)(at - line));
	return true;
}

static bool take_scanned(struct strace_reader *r, struct as_scan *scan)
{
	switch (scan->kind) {
	case AS_SCAN_CALL:
		report(r, scan, scan->tid);
		return true;
	case AS_SCAN_BEGIN:
		begin(r, scan, scan->tid);
		return true;
	case AS_SCAN_RESUME:
		return resume(r, scan, scan->tid);
	case AS_SCAN_EXIT:
		ended(r, scan->tid);
		return true;
	case AS_SCAN_TAKEN:
		takes_over(r, scan->number, scan->tid);
		return true;
	case AS_SCAN_SUMMARY:
		r->summary = true;
		return true;
	case AS_SCAN_NOTHING:
		return true;
	case AS_SCAN_UNKNOWN:
		break;
	}
	/* The rows of the table, up to its last. */
	if (r->summary && scan->tail.len > 6 &&
	    !memcmp(scan->tail.at + scan->tail.len - 6, " total", 6))
		r->summary = false;
	else if (!r->summary)
		return false;
	return true;
}

static void take(struct strace_reader *r, const char *line, size_t len, bool cut)
{
	struct as_scan scan;

	if (!cut && is_broken(r, line, len))
		return;
	if (r->broken.len) {
		as_buf_add(&r->broken, line, len);
		line = as_buf_str(&r->broken);
		len = r->broken.len;
	}
	as_scan_line(line, len, &scan);
	identify(r, &scan);
	r->now->line = (unsigned)r->lines;
	r->now->scan = &scan;
	if (scan.kind == AS_SCAN_UNKNOWN)
		scan.tail = (struct as_span){ line, len };
	if (cut ? scan.kind != AS_SCAN_EXIT : !take_scanned(r, &scan))
		r->to->not_understood(r->to, line, len);
	r->now->scan = NULL;
	as_buf_clear(&r->broken);
}

/* "x.strace.123" of -ff is all of process 123. */
static unsigned tid_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	unsigned long tid = dot ? strtoul(dot + 1, NULL, 10) : 0;

	return tid && tid < 1000000000 ? (unsigned)tid : 1;
}

static int end_of_trace(struct strace_reader *r, const struct as_source_input *input,
			struct as_err *err)
{
	if (r->addresses > 2 && r->addresses * 100 > r->paths)
		return as_fail(err, AS_EUSE,
			       "%s: shows addresses in place of file names (strace -e raw): which "
			       "files its calls are about cannot be known",
			       input->path);
	if (r->broken.len)
		r->to->not_understood(r->to, as_buf_str(&r->broken), r->broken.len);
	r->to->remark(r->to, AS_REMARK_LINES, r->lines);
	r->to->remark(r->to, AS_REMARK_UNFINISHED, as_pendings_active(&r->pendings));
	r->to->remark(r->to, AS_REMARK_FORGOTTEN, r->pendings.dropped);
	return as_trace_status(input->trace, err);
}

int as_strace_read(const struct as_source_input *input, struct as_receiver *to,
		   struct as_strace_now *now, struct as_err *err)
{
	struct strace_reader r = { .to = to, .now = now };
	const char *line;
	size_t len;
	bool cut;
	int rc;

	r.spell = as_spell_new();
	r.room.at = as_xmalloc(AS_LINE_MAX + BROKEN_MAX + 1);
	as_pendings_open(&r.pendings);
	as_strace_ids_open(&r.ids, tid_of_name(input->path));
	while (as_trace_line(input->trace, &line, &len, &cut)) {
		r.lines++;
		take(&r, line, len, cut);
	}
	rc = end_of_trace(&r, input, err);
	as_strace_ids_close(&r.ids);
	as_pendings_close(&r.pendings);
	as_spell_free(r.spell);
	as_buf_free(&r.broken);
	free(r.room.at);
	return rc;
}

static int run(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	struct as_strace_now now = { 0 };

	return as_strace_read(input, to, &now, err);
}

/* How many of the first lines are lines of strace. One is not enough: nearly anything with
 * parentheses looks like one. What may come in between (stacks of -k) does not count. */
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
		all += scan.kind != AS_SCAN_NOTHING;
		good += scan.kind != AS_SCAN_UNKNOWN && scan.kind != AS_SCAN_NOTHING &&
			scan.kind != AS_SCAN_SUMMARY;
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
