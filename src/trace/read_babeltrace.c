/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_babeltrace: LTTng's kernel traces as babeltrace prints them:
 *
 *   [13:53:21.899920952] (+0.000002118) host syscall_entry_openat: { cpu_id = 3 }, { procname =
 *   "x", pid = 1, tid = 1 }, { dfd = -100, filename = "/mnt/a", flags = 577, mode = 438 }
 *
 * in one line. The groups in front of the last are contexts; the last is the event's own.
 *
 * Each group is read once, as if it were the last: if another follows, its ids were a context and
 * what the slots took from it is forgotten.
 */
#include "trace/lttng.h"
#include "trace/trace.h"

#include <string.h>

struct field {
	const char *name;
	size_t name_len;
	enum { NUMBER, TEXT, LIST, OTHER } kind;
	uint64_t number;
	const char *text; /* a text without its quotes; a list from after its bracket */
	size_t text_len;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static const char *end_of_text(const char *p, const char *end)
{
	while (p < end) {
		const char *quote = memchr(p, '"', (size_t)(end - p)), *back;

		if (!quote)
			return NULL;
		for (back = quote; back > p && back[-1] == '\\'; back--)
			;
		if (!((quote - back) & 1))
			return quote;
		p = quote + 1;
	}
	return NULL;
}

/* What follows the list, structure or enumeration at p; NULL: it does not close. */
static const char *end_of_nest(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			p = end_of_text(p + 1, end);
			if (!p)
				return NULL;
		} else if (*p == '[' || *p == '{' || *p == '(') {
			depth++;
		} else if (*p == ']' || *p == '}' || *p == ')') {
			if (!--depth)
				return p + 1;
		}
	}
	return NULL;
}

static const char *read_number(const char *p, const char *end, uint64_t *out)
{
	bool minus = p < end && *p == '-';
	uint64_t v = 0;

	p += minus;
	if (p >= end || !is_digit(*p))
		return NULL;
	if (end - p > 2 && p[0] == '0' && p[1] == 'x') {
		for (p += 2; p < end; p++) {
			unsigned d = (unsigned)(*p - '0');

			if (d > 9)
				d = (unsigned)((*p | 32) - 'a') + 10;
			if (d > 15)
				break;
			v = v * 16 + d;
		}
	} else {
		for (; p < end && is_digit(*p); p++)
			v = v * 10 + (unsigned)(*p - '0');
	}
	*out = minus ? -v : v;
	return p;
}

/* ( "O_RDWR" | "O_CREAT" : container = 66 ) */
static const char *read_enum(const char *p, const char *end, struct field *f)
{
	static const char container[] = "container = ";
	const char *close = end_of_nest(p, end), *at;

	if (!close)
		return NULL;
	at = memmem(p, (size_t)(close - p), container, sizeof(container) - 1);
	f->kind = OTHER;
	if (at && read_number(at + sizeof(container) - 1, close, &f->number))
		f->kind = NUMBER;
	return close;
}

/* "name = value". Returns what follows, or NULL. */
static const char *read_field(const char *p, const char *end, struct field *f)
{
	const char *blank = p, *close;

	/* Names are short. */
	while (blank < end && *blank != ' ')
		blank++;
	if (end - blank < 4 || blank[1] != '=' || blank[2] != ' ')
		return NULL;
	f->name = p;
	f->name_len = (size_t)(blank - p);
	p = blank + 3;
	if (*p == '"') {
		close = end_of_text(p + 1, end);
		f->kind = TEXT;
		f->text = p + 1;
		f->text_len = close ? (size_t)(close - p - 1) : 0;
		return close ? close + 1 : NULL;
	}
	if (*p == '[' || *p == '{') {
		close = end_of_nest(p, end);
		f->kind = LIST;
		f->text = p + 1;
		f->text_len = close ? (size_t)(close - p - 1) : 0;
		return close;
	}
	if (*p == '(')
		return read_enum(p, end, f);
	f->kind = NUMBER;
	p = read_number(p, end, &f->number);
	/* Characters and reals are not of interest. */
	if (!p || p >= end || (*p != ',' && *p != ' ')) {
		f->kind = OTHER;
		for (p = f->name + f->name_len + 3; p < end && *p != ',' && *p != ' ';)
			p++;
	}
	return p;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

struct event {
	enum as_lttng_kind kind;
	struct as_lttng_ids ids;
	int64_t ret;
	bool has_ret;
	int made[2];
	unsigned parent, child; /* of a fork */
};

static bool is(const struct field *f, const char *name, size_t len)
{
	return f->name_len == len && !memcmp(f->name, name, len);
}

static void take_id(struct as_lttng_ids *ids, const struct field *f)
{
	unsigned value = (unsigned)f->number;

	if (f->kind != NUMBER)
		return;
	if (is(f, "cpu_id", 6)) {
		ids->cpu = value;
	} else if (is(f, "tid", 3) || (is(f, "vtid", 4) && !ids->has_tid)) {
		ids->tid = value;
		ids->has_tid = true;
	} else if (is(f, "pid", 3) || (is(f, "vpid", 4) && !ids->has_pid)) {
		ids->pid = value;
		ids->has_pid = true;
	}
}

/* [ [0] = 3, [1] = 4 ] */
static void take_pair(struct event *e, const struct field *f)
{
	const char *p = f->text, *end = p + f->text_len;

	for (int i = 0; i < 2; i++) {
		uint64_t fd;

		p = p < end ? memmem(p, (size_t)(end - p), "] = ", 4) : NULL;
		if (!p || !read_number(p + 4, end, &fd))
			return;
		e->made[i] = (int)fd;
		p += 4;
	}
}

static void take_field(struct as_lttng *lttng, struct event *e, const struct field *f)
{
	switch (e->kind) {
	case AS_LTTNG_ENTRY:
		if (f->kind == NUMBER)
			as_lttng_number(lttng, f->name, f->name_len, f->number);
		else if (f->kind == TEXT)
			as_lttng_text(lttng, f->name, f->name_len, f->text, f->text_len);
		break;
	case AS_LTTNG_EXIT:
		if (f->kind == NUMBER && is(f, "ret", 3)) {
			e->ret = (int64_t)f->number;
			e->has_ret = true;
		} else if (f->kind == LIST) {
			take_pair(e, f);
		}
		break;
	case AS_LTTNG_FORK:
		if (is(f, "parent_tid", 10))
			e->parent = (unsigned)f->number;
		else if (is(f, "child_tid", 9))
			e->child = (unsigned)f->number;
		break;
	case AS_LTTNG_END:
		if (is(f, "tid", 3))
			e->child = (unsigned)f->number;
		break;
	default:
		break;
	}
}

/* "{ a = 1, b = 2 }" or "{ }". Returns what follows, or NULL. */
static const char *read_group(struct as_lttng *lttng, const char *p, const char *end,
			      struct event *e, struct as_lttng_ids *ids)
{
	struct field f;

	if (end - p < 3 || p[0] != '{' || p[1] != ' ')
		return NULL;
	p += 2;
	while (p < end && *p == ' ')
		p++;
	while (*p != '}') {
		p = read_field(p, end, &f);
		if (!p || end - p < 2)
			return NULL;
		take_id(ids, &f);
		take_field(lttng, e, &f);
		if (*p == ',')
			p++;
		if (*p != ' ')
			return NULL;
		p++;
		if (p >= end)
			return NULL;
	}
	return p + 1;
}

/* All groups; the ids of the last are the event's own fields. */
static bool read_groups(struct as_lttng *lttng, const char *p, const char *end, struct event *e)
{
	const struct as_spec_call *spec = lttng->call.spec;

	for (;;) {
		struct as_lttng_ids ids = e->ids;

		p = read_group(lttng, p, end, e, &ids);
		if (!p)
			return false;
		if (end - p < 3 || memcmp(p, ", {", 3) != 0)
			return p == end;
		e->ids = ids;
		if (e->kind == AS_LTTNG_ENTRY)
			as_lttng_begin(lttng, spec);
		p += 2;
	}
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* "[time] (+delta) host name: {"; *name is the last word before the colon. */
static const char *find_name(const char *p, const char *end, const char **name, size_t *len)
{
	const char *colon, *start;

	if (p < end && *p == '[') {
		p = memchr(p, ']', (size_t)(end - p));
		if (!p)
			return NULL;
		p++;
	}
	if (end - p > 2 && p[1] == '(') {
		p = memchr(p, ')', (size_t)(end - p));
		if (!p)
			return NULL;
	}
	for (colon = p; (colon = memchr(colon, ':', (size_t)(end - colon))); colon++)
		if (end - colon > 2 && colon[1] == ' ' && colon[2] == '{')
			break;
	if (!colon)
		return NULL;
	for (start = colon; start > p && start[-1] != ' ' && start[-1] != ':';)
		start--;
	*name = start;
	*len = (size_t)(colon - start);
	return *len ? colon + 2 : NULL;
}

/* "[warning] Tracer discarded 120 events between ..." */
static bool take_loss(struct as_receiver *to, const char *line, size_t len)
{
	static const char discarded[] = "discarded ";
	const char *at = memmem(line, len, discarded, sizeof(discarded) - 1);
	uint64_t n;

	if (!at || !memmem(line, len, " event", 6) ||
	    !read_number(at + sizeof(discarded) - 1, line + len, &n))
		return false;
	to->lost(to, n);
	return true;
}

/* Calls that are in no table are counted when they begin. */
static bool take_entry(struct as_lttng *lttng, const char *groups, const char *end,
		       const char *name, size_t len, struct event *e)
{
	const struct as_spec_call *spec = as_spec_find(lttng->to->spec, name, len);

	if (!spec) {
		lttng->to->unknown_call(lttng->to, name, len);
		return true;
	}
	as_lttng_begin(lttng, spec);
	if (!read_groups(lttng, groups, end, e))
		return false;
	as_lttng_enter(lttng, &e->ids);
	return true;
}

static bool take_exit(struct as_lttng *lttng, const char *groups, const char *end, const char *name,
		      size_t len, struct event *e)
{
	const struct as_spec_call *spec = len ? as_spec_find(lttng->to->spec, name, len) : NULL;

	if (len && !spec && !as_lttng_is_unknown(name, len))
		return true;
	if (!read_groups(lttng, groups, end, e) || !e->has_ret)
		return false;
	if (len && !spec && !as_lttng_in_sigreturn(lttng, &e->ids))
		return true;
	as_lttng_leave(lttng, &e->ids, spec, e->ret, e->made);
	return true;
}

static bool take(struct as_lttng *lttng, const char *line, size_t len)
{
	struct event e = { .made = { -1, -1 } };
	const char *end = line + len, *name, *call, *groups;
	size_t name_len, call_len;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	groups = find_name(line, end, &name, &name_len);
	if (!groups)
		return false;
	e.kind = as_lttng_kind(name, name_len, &call, &call_len);
	switch (e.kind) {
	case AS_LTTNG_ENTRY:
		return take_entry(lttng, groups, end, call, call_len, &e);
	case AS_LTTNG_EXIT:
		return take_exit(lttng, groups, end, call, call_len, &e);
	case AS_LTTNG_FOREIGN:
		/* Entry and exit are one call. */
		if (memmem(name, name_len, "_entry_", 7))
			lttng->to->remark(lttng->to, AS_REMARK_OTHER_ARCH, 1);
		return true;
	case AS_LTTNG_FORK:
		if (!read_groups(lttng, groups, end, &e))
			return false;
		if (e.parent && e.child)
			as_lttng_forked(lttng, e.parent, e.child);
		return true;
	case AS_LTTNG_END:
		if (!read_groups(lttng, groups, end, &e))
			return false;
		as_world_exit(lttng->to->world, e.child);
		return true;
	case AS_LTTNG_OTHER:
		break;
	}
	return true;
}

static int run(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	struct as_lttng lttng;
	const char *line;
	uint64_t lines = 0;
	size_t len;
	bool cut;

	as_lttng_open(&lttng, to);
	while (as_trace_line(input->trace, &line, &len, &cut)) {
		lines++;
		if (!len)
			continue;
		if ((cut || !take(&lttng, line, len)) && !take_loss(to, line, len))
			to->not_understood(to, line, len);
	}
	to->remark(to, AS_REMARK_LINES, lines);
	as_lttng_close(&lttng);
	return as_trace_status(input->trace, err);
}

static int recognise(const char *head, size_t len)
{
	const char *end = head + len;
	int good = 0, all = 0;

	for (const char *eol; head < end && all < 20; head = eol + 1) {
		const char *name;
		size_t name_len;

		eol = memchr(head, '\n', (size_t)(end - head));
		if (!eol)
			break;
		all++;
		good += *head == '[' && find_name(head, eol, &name, &name_len);
	}
	return all ? 95 * good / all : 0;
}

const struct as_source_ops as_source_babeltrace = {
	.name = "babeltrace",
	.about = "LTTng kernel traces as babeltrace prints them",
	.version = AS_SOURCE_VERSION,
	.recognise = recognise,
	.run = run,
};
