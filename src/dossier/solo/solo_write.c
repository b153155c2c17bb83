/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * solo_write: a trail as a C program.
 *
 * Method. Of the trail, these parts are of interest: how the file system was made, the workload,
 * and, if the power was cut, what was done with the disk afterwards. Calls that only look are left
 * out, unless they show what is wrong, or met a fault, or a fault counts calls. What is wrong is
 * shown by the last operation, by the last call, or by the tree.
 */
#include "dossier/solo/solo_priv.h"

#include "base/array.h"
#include "base/show.h"
#include "disk/flash.h"
#include "work/print.h"

#include <assay/solo.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is of interest --------------------------------------------------------------------- */

/* Up to the event that ends it: something was found, or a call did not come back. */
static void collect(struct repro_writer *w, const struct as_trail *trail)
{
	const struct as_trail_event *e = NULL, *call = NULL;
	size_t made = 0;

	while ((e = as_trail_next(trail, e)) && e->what != AS_TRAIL_FOUND) {
		/* Something follows a call that has not come back: the process has died in it. */
		if (call && !call->done && e->what != AS_TRAIL_IO)
			break;
		AS_ARRAY_ROOM(w->events, w->n, w->cap);
		w->events[w->n++] = (struct repro_event){ .e = e };
		if (e->what == AS_TRAIL_CALL)
			call = e;
		if (e->what == AS_TRAIL_CALL && e->fn == AS_TRAIL_mkfs)
			made = w->n;
	}
	w->start = made;
	w->cut = w->n;
	for (size_t i = made; i < w->n; i++) {
		if (w->events[i].e->what == AS_TRAIL_HOST && w->cut == w->n)
			w->start = i;
		if (w->events[i].e->what == AS_TRAIL_CUT && w->cut == w->n)
			w->cut = i;
	}
}

static bool only_looks(const struct as_trail_event *e)
{
	switch (e->fn) {
	case AS_TRAIL_getattr:
	case AS_TRAIL_fgetattr:
	case AS_TRAIL_readdir:
	case AS_TRAIL_read:
	case AS_TRAIL_readlink:
	case AS_TRAIL_getxattr:
	case AS_TRAIL_listxattr:
	case AS_TRAIL_statfs:
		return true;
	case AS_TRAIL_open: /* with close: if the handle is not used otherwise */
		return (e->n[0] & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
	default:
		return false;
	}
}

static bool met_fault(const struct repro_writer *w, size_t call)
{
	for (size_t i = call + 1; i < w->n && w->events[i].e->what == AS_TRAIL_IO; i++) {
		const struct as_trail_event *e = w->events[i].e;

		if (e->ret || e->data_len > (e->fn == AS_SOLO_WRITE ? e->n[1] : 0))
			return true;
	}
	return false;
}

static bool is_call(const struct repro_writer *w, size_t i)
{
	return w->events[i].e->what == AS_TRAIL_CALL;
}

/* The last event of this kind that satisfies; n: none. */
static size_t last_of(const struct repro_writer *w, enum as_trail_what what)
{
	for (size_t i = w->n; i-- > w->start;)
		if (w->events[i].e->what == what)
			return i;
	return w->n;
}

/* After a power cut: a call that fails, memory that is left, or the tree that each way of recovery
 * has read first. */
static bool mark_crash(struct repro_writer *w, size_t call)
{
	bool wanted = true, any = false;

	if (w->cut == w->n && !w->repro->again)
		return false;
	if (w->events[call].e->ret) {
		w->events[call].role = REPRO_WRONG;
		return true;
	}
	if (strstr(w->repro->summary, " left after "))
		return w->leaks = true;
	for (size_t i = w->repro->again ? last_of(w, AS_TRAIL_DISK) : w->cut; i < w->n; i++) {
		wanted |= w->events[i].e->what == AS_TRAIL_CUT;
		if (wanted && w->events[i].e->what == AS_TRAIL_TREE) {
			w->events[i].role = REPRO_WRONG;
			wanted = false;
			any = true;
			call = i;
		}
	}
	/* What comes after the last one shows nothing more. */
	w->n = any ? call + 1 : w->n;
	return any;
}

/* The bound that it went over, of memory; 0: it is no finding of that. */
static uint64_t heap_bound(const struct repro_writer *w)
{
	const struct as_finding *f = w->repro->finding;
	const char *at = f->options ? strstr(f->options, "max_heap=") : NULL;

	if (f->kind != AS_FIND_LIMIT || !at || !strstr(f->summary, "--max-heap"))
		return 0;
	return strtoull(at + strlen("max_heap="), NULL, 10);
}

/* Of an operation that makes several calls, and whose error is wrong, the call that gave the error.
 * Those before it answered as they should. */
static size_t first_wrong(const struct repro_writer *w, size_t op)
{
	const char *said = strstr(w->repro->summary, "returned -1 ");
	size_t first = op;

	for (size_t i = op; said && i < w->n; i++) {
		const char *name = is_call(w, i) && w->events[i].e->ret < 0
					   ? as_errno_name((int)-w->events[i].e->ret)
					   : "";
		size_t len = strlen(name);

		if (len && !strncmp(said + 12, name, len) && !strchr(name, ' '))
			first = i;
	}
	return first;
}

/* What shows what is wrong. False: nothing on the trail does. */
static bool mark_wrong(struct repro_writer *w)
{
	size_t call = last_of(w, AS_TRAIL_CALL), op = last_of(w, AS_TRAIL_OP);
	size_t tree = last_of(w, AS_TRAIL_TREE);

	if (call == w->n)
		return false;
	if (!w->events[call].e->done) {
		w->events[call].role = REPRO_DIES;
		return true;
	}
	switch (w->repro->finding->kind) {
	case AS_FIND_OUTCOME:
	case AS_FIND_DATA:
	case AS_FIND_SILENT:
		for (size_t i = first_wrong(w, op < call ? op : call); i < w->n; i++)
			if (is_call(w, i))
				w->events[i].role = REPRO_WRONG;
		return true;
	case AS_FIND_TREE:
		w->events[tree < w->n ? tree : call].role = REPRO_WRONG;
		return true;
	case AS_FIND_CRASH:
	case AS_FIND_RECOVERY:
		return mark_crash(w, call);
	case AS_FIND_CHECKER:
	case AS_FIND_MOUNT:
		w->events[call].role = REPRO_WRONG;
		return true;
	case AS_FIND_LEAK:
	case AS_FIND_MISUSE:
	case AS_FIND_PAIR:
	case AS_FIND_INVARIANT:
		/* The end of the program looks. What a recovery does wrong in this way is judged
		 * with what assay knows of the disk before. */
		return w->cut == w->n;
	case AS_FIND_LIMIT:
		return w->cut == w->n && heap_bound(w);
	default:
		return false;
	}
}

/* Whether a later call that is kept uses this handle otherwise than to close it. */
static bool is_used(const struct repro_writer *w, size_t open)
{
	int32_t handle = w->events[open].e->handle;

	for (size_t i = open + 1; i < w->n; i++) {
		const struct as_trail_event *e = w->events[i].e;

		if (e->what == AS_TRAIL_HOST || e->what == AS_TRAIL_DISK)
			return false;
		if (is_call(w, i) && e->handle == handle)
			if (e->fn != AS_TRAIL_close || w->events[i].role == REPRO_WRONG)
				if (w->events[i].role >= REPRO_KEEP)
					return true;
	}
	return false;
}

/* Operations of the workload count, also those that look; but not how their paths were walked. The
 * last call of an operation is the operation. */
static void mark_ops(struct repro_writer *w)
{
	size_t last = w->n;
	bool inside = false;

	for (size_t i = w->start; i < w->cut; i++) {
		const struct as_trail_event *e = w->events[i].e;

		if (e->what == AS_TRAIL_OP || e->what == AS_TRAIL_END) {
			if (inside && last < w->n && !w->events[last].role)
				w->events[last].role = REPRO_KEEP;
			inside = e->what == AS_TRAIL_OP;
			last = w->n;
		}
		if (!inside || !is_call(w, i))
			continue;
		last = i;
		if (!w->events[i].role && e->fn != AS_TRAIL_getattr && e->fn != AS_TRAIL_fgetattr &&
		    e->fn != AS_TRAIL_open && e->fn != AS_TRAIL_close)
			w->events[i].role = REPRO_KEEP;
	}
}

static void mark_kept(struct repro_writer *w)
{
	mark_ops(w);
	for (size_t i = 0; i < w->n; i++)
		if (is_call(w, i) && w->events[i].role == REPRO_DROP &&
		    !only_looks(w->events[i].e) && w->events[i].e->fn != AS_TRAIL_close)
			w->events[i].role = REPRO_KEEP;
		else if (is_call(w, i) && !w->events[i].role && (w->every || met_fault(w, i)))
			w->events[i].role = REPRO_KEEP;
	for (size_t i = 0; i < w->n; i++) {
		const struct as_trail_event *open = w->events[i].e;

		if (!is_call(w, i) || open->fn != AS_TRAIL_open)
			continue;
		if (!w->events[i].role && is_used(w, i))
			w->events[i].role = REPRO_KEEP;
		for (size_t k = i + 1; w->events[i].role >= REPRO_KEEP && k < w->n; k++) {
			const struct as_trail_event *e = w->events[k].e;

			if (e->what == AS_TRAIL_HOST || e->what == AS_TRAIL_DISK)
				break;
			if (is_call(w, k) && e->fn == AS_TRAIL_close && e->handle == open->handle &&
			    !w->events[k].role)
				w->events[k].role = REPRO_KEEP;
		}
	}
}

/* What was called after the power cut had come: after the operation that the finding names, and
 * after the last write that had begun. */
static void drop_after_cut(struct repro_writer *w)
{
	size_t last = w->start, op = 0;
	bool named = false;

	if (w->cut == w->n || w->repro->again)
		return;
	for (size_t i = w->start; i < w->cut; i++) {
		const struct as_trail_event *e = w->events[i].e;

		if (e->what == AS_TRAIL_OP)
			op = e->n[0];
		named |= e->what == AS_TRAIL_OP;
		if (e->what == AS_TRAIL_IO && e->n[4] > e->n[2] &&
		    e->n[2] < w->events[w->cut].e->n[0])
			last = i;
		if (named && (int64_t)op <= w->repro->finding->op_index)
			last = i;
	}
	for (size_t i = last + 1; i < w->cut; i++)
		if (is_call(w, i) || w->events[i].e->what == AS_TRAIL_OP)
			w->events[i].role = REPRO_GONE;
}

/* ---- The text -------------------------------------------------------------------------------- */

/* A text from outside, in a comment. */
static void put_quoted(const char *text, struct as_buf *out)
{
	struct as_buf shown = { 0 };

	as_show(&shown, text);
	for (const char *s = as_buf_str(&shown); *s; s++)
		as_buf_addc(out, *s == '*' && s[1] == '/' ? '+' : *s);
	as_buf_free(&shown);
}

static void put_head(const struct repro_writer *w)
{
	const struct as_repro *r = w->repro;

	as_buf_addf(w->out, "/* SPDX-License-Identifier: MIT */\n/*\n * %s\n * ", r->id);
	put_quoted(r->summary, w->out);
	as_buf_addf(w->out,
		    "\n *\n * Compile it with the sources of the file system:\n"
		    " *\tcc $(pkg-config --cflags assay) repro.c %s -o repro && ./repro\n"
		    " * (in a checkout of assay: cc -Iinclude ...). It says REPRODUCED, with exit "
		    "status 0, or NOT\n * REPRODUCED, with 1.\n */\n"
		    "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include <assay/solo.h>\n\n"
		    "extern const struct as_target_ops %s;\n\n",
		    r->link, r->symbol);
}

static void put_flash(const struct repro_writer *w)
{
	const struct as_flash_setup *f = w->repro->flash;

	if (!f)
		return;
	as_buf_addf(
		w->out,
		"\ts.flash.geometry = (struct as_flash_geometry){ %llu, %u, %u, %u, %u, %u };\n",
		(unsigned long long)w->repro->size_bytes, f->geometry.erase_bytes,
		f->geometry.program_bytes, f->geometry.read_bytes, f->geometry.erased,
		f->geometry.flags);
	if (f->wear || f->spread)
		as_buf_addf(w->out, "\ts.wear = %u;\n\ts.spread = %u;\n", f->wear, f->spread);
}

static void put_op(struct repro_writer *w, const struct as_trail_event *e)
{
	struct as_buf line = { 0 };

	w->op = (int64_t)e->n[0];
	if (e->n[0] >= w->repro->seq->n)
		return;
	as_print_op(&w->repro->seq->ops[e->n[0]], &line);
	as_buf_addf(w->out, "\n\t/* %llu: ", (unsigned long long)e->n[0] + 1);
	put_quoted(as_buf_str(&line), w->out);
	as_buf_adds(w->out, " */\n");
	as_buf_free(&line);
}

static void put_tree(struct repro_writer *w, const struct as_trail_event *e)
{
	const char *text = (const char *)as_trail_data(e);

	as_buf_addf(w->out, "\tas_solo_tree_wrong(&s, &%s, fs,", w->repro->symbol);
	while (*text) {
		size_t len = strcspn(text, "\n") + 1;

		as_buf_adds(w->out, "\n\t\t");
		as_repro_literal((const unsigned char *)text, len, w->out);
		text += len;
	}
	as_buf_adds(w->out, ");\n");
}

static bool put_event(struct repro_writer *w, size_t i)
{
	const struct as_trail_event *e = w->events[i].e;
	bool good = true;

	if (w->events[i].role == REPRO_GONE)
		return true;
	if (e->what == AS_TRAIL_OP && (int64_t)e->n[0] != w->op)
		put_op(w, e);
	else if (e->what == AS_TRAIL_CUT && !w->repro->again) {
		as_buf_adds(w->out, "\n\t/* The power cut. */\n");
		good = as_repro_cut(w, i);
	} else if (e->what == AS_TRAIL_DISK) {
		as_buf_adds(w->out, "\n\t/* Memory is empty, and the clock begins again. */\n"
				    "\tas_solo_forget(&s);\n");
		w->clock_ns = AS_SOLO_EPOCH_NS;
		if (w->repro->again)
			good = as_repro_disk(w, i);
	} else if (e->what == AS_TRAIL_TREE && w->events[i].role == REPRO_WRONG)
		put_tree(w, e);
	else if (e->what == AS_TRAIL_CALL && w->events[i].role)
		as_repro_call(w, i);
	return good;
}

/* Handles are numbered anew: only those that are kept count. */
static size_t number_handles(struct repro_writer *w)
{
	size_t n = 0, most = 1;

	for (size_t i = 0; i < w->n; i++) {
		struct as_trail_event *open = (struct as_trail_event *)w->events[i].e;
		int32_t was = open->handle;

		if (open->what == AS_TRAIL_HOST || open->what == AS_TRAIL_DISK)
			n = 0;
		if (!is_call(w, i) || open->fn != AS_TRAIL_open || w->events[i].role < REPRO_KEEP)
			continue;
		open->handle = (int32_t)n++;
		most = n > most ? n : most;
		for (size_t k = i + 1; k < w->n && w->events[k].e->what != AS_TRAIL_HOST &&
				       w->events[k].e->what != AS_TRAIL_DISK;
		     k++) {
			struct as_trail_event *e = (struct as_trail_event *)w->events[k].e;

			if (is_call(w, k) && e->fn != AS_TRAIL_open && e->handle == was)
				e->handle = -2 - open->handle;
		}
	}
	for (size_t i = 0; i < w->n; i++) {
		struct as_trail_event *e = (struct as_trail_event *)w->events[i].e;

		if (is_call(w, i) && e->handle < -1)
			e->handle = -2 - e->handle;
	}
	return most;
}

/* "fault=alloc:7": counted from the beginning of the workload. */
static void put_failing_memory(const struct repro_writer *w)
{
	const char *at = w->repro->finding->options;

	while (at && (at = strstr(at, "alloc:"))) {
		at += 6;
		as_buf_addf(w->out, "\tas_solo_fail(&s, AS_SOLO_ALLOC, %llu, ENOMEM);\n",
			    strtoull(at, NULL, 10));
	}
}

/* Only what the program uses. */
static void put_variables(const struct repro_writer *w, size_t handles, const char *body)
{
	static const struct {
		const char *used, *declared;
	} rows[] = { { "fs", "\tstruct as_fs *fs = NULL;\n" },
		     { "&st)", "\tstruct as_stat st = { 0 };\n" },
		     { "&set,", "\tstruct as_stat set;\n" },
		     { "&sfs)", "\tstruct as_statfs sfs = { 0 };\n" },
		     { "&names)", "\tuint32_t names;\n" } };

	as_buf_adds(w->out, "int main(void)\n{\n\tstatic struct as_solo s;\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(body, rows[i].used))
			as_buf_adds(w->out, rows[i].declared);
	if (strstr(body, "h["))
		as_buf_addf(w->out, "\tstruct as_handle *h[%zu] = { 0 };\n", handles);
	as_buf_addf(w->out, "\n\tas_solo_start(&s, &%s, %llu, ", w->repro->symbol,
		    (unsigned long long)w->repro->size_bytes);
	as_repro_literal((const unsigned char *)w->repro->opts, strlen(w->repro->opts), w->out);
	as_buf_adds(w->out, ");\n");
	put_flash(w);
}

static bool put_body(struct repro_writer *w)
{
	enum as_finding_kind kind = w->repro->finding->kind;
	size_t first = w->repro->again ? last_of(w, AS_TRAIL_DISK) : w->start;
	bool good = true;

	for (size_t i = 0; i < w->start && !w->repro->again; i++)
		if (is_call(w, i) && w->events[i].e->fn == AS_TRAIL_mkfs)
			as_repro_call(w, i);
	if (w->cut < w->n && !w->repro->again)
		as_buf_adds(w->out, "\tas_solo_record(&s);\n");
	if (*w->repro->choices) {
		as_buf_adds(w->out, "\ts.answers = ");
		as_repro_literal((const unsigned char *)w->repro->choices,
				 strlen(w->repro->choices), w->out);
		as_buf_adds(w->out, ";\n");
	}
	put_failing_memory(w);
	if (heap_bound(w))
		as_buf_addf(w->out, "\ts.max_heap = %llu;\n", (unsigned long long)heap_bound(w));
	for (size_t i = first; i < w->n && good; i++) {
		size_t last = as_repro_fold(w, i);

		good = (last > i || put_event(w, i)) && w->out->len <= REPRO_MAX_BYTES;
		i = last;
	}
	if (kind == AS_FIND_LEAK || w->leaks)
		as_buf_adds(w->out, "\tas_solo_leak_wrong(&s);\n");
	else if (kind == AS_FIND_MISUSE || kind == AS_FIND_PAIR || kind == AS_FIND_INVARIANT ||
		 kind == AS_FIND_LIMIT)
		as_buf_adds(w->out, "\tas_solo_trouble_wrong(&s);\n");
	as_buf_adds(w->out, "\treturn as_solo_end(&s);\n}\n");
	return good;
}

static bool put_main(struct repro_writer *w)
{
	struct as_buf body = { 0 }, *whole = w->out;
	size_t handles = number_handles(w);
	bool good;

	w->opts = w->repro->opts;
	w->out = &body;
	good = put_body(w);
	w->out = whole;
	put_variables(w, handles, as_buf_str(&body));
	as_buf_adds(whole, as_buf_str(&body));
	as_buf_free(&body);
	return good;
}

bool as_repro_write(const struct as_repro *repro, const struct as_trail *trail, struct as_buf *out)
{
	struct repro_writer w = {
		.repro = repro, .out = out, .op = -1, .clock_ns = AS_SOLO_EPOCH_NS
	};
	const char *options = repro->finding->options;
	bool good = false;

	w.every = options && (strstr(options, "fault=") || strstr(options, "choices="));
	if (as_trail_is_full(trail))
		return false;
	collect(&w, trail);
	if (w.n && mark_wrong(&w)) {
		drop_after_cut(&w);
		mark_kept(&w);
		put_head(&w);
		good = put_main(&w);
	}
	free(w.events);
	return good;
}
