/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * read_syzkaller: programs as syzkaller logs them:
 *
 *   12:00:00 executing program 3:
 *   r0 = openat$dir(0xffffffffffffff9c, &(0x7f0000000040)='./file0\x00', 0x42, 0x1ff)
 *   pwritev(r0, &(0x7f0000000100)=[{&(0x7f0000000140)="6162", 0x2}], 0x1, 0x8)
 *
 * Such a log has no results: inputs are counted, outputs are not, and every call is taken as
 * successful for the descriptor tables. Each program is a process of its own, with the results r0,
 * r1, ... as its descriptors.
 */
#include "calls/spell.h"
#include "trace/source.h"
#include "trace/strace_scan.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

#define RESULTS 4096
#define FIRST_FD 3

struct syzkaller_reader {
	struct as_receiver *to;
	struct as_syscall call;
	unsigned tid;
	bool begun; /* the program has a call */
	char *room;
	size_t used;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

/* ---- Taking apart ---------------------------------------------------------------------------- */

/* What follows the closing quote of the text at p, or end. */
static const char *skip_quoted(const char *p, const char *end)
{
	char quote = *p;

	for (p++; p < end && *p != quote; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

/* The parts between commas, from after an opening bracket. Returns what closes it, or NULL. */
static const char *split(const char *p, const char *end, struct as_span *parts, unsigned max,
			 unsigned *n)
{
	const char *start = p;
	unsigned depth = 0;

	for (*n = 0; p < end;) {
		if (*p == '\'' || *p == '"') {
			p = skip_quoted(p, end);
			continue;
		}
		if (!depth && (*p == ',' || *p == ')' || *p == ']' || *p == '}')) {
			while (start < p && *start == ' ')
				start++;
			if (*n < max && (p > start || *n || *p == ','))
				parts[(*n)++] = (struct as_span){ start, (size_t)(p - start) };
			start = p + 1;
			if (*p != ',')
				return p;
		}
		depth += *p == '(' || *p == '[' || *p == '{';
		if (depth && (*p == ')' || *p == ']' || *p == '}'))
			depth--;
		p++;
	}
	return NULL;
}

/* What a pointer leads to: after "&(0x7f...)=" and names "@x="; len 0: it is not said. */
static struct as_span pointed_to(struct as_span s)
{
	const char *p = s.at, *end = s.at + s.len;

	if (!s.len || *p != '&')
		return (struct as_span){ s.at, 0 };
	p++;
	if (p < end && *p == '(') {
		p = memchr(p, ')', (size_t)(end - p));
		p = p ? p + 1 : end;
	} else {
		while (p < end && is_name(*p))
			p++; /* AUTO */
	}
	while (p < end && *p == '=') {
		p++;
		if (p < end && (*p == '@' || (*p >= 'A' && *p <= 'Z')))
			while (p < end && *p != '=')
				p++;
	}
	return (struct as_span){ p, (size_t)(end - p) };
}

/* Number i of "{a, b, c}"; those that are left out at the end are zero. */
static struct as_span member(struct as_span s, unsigned i)
{
	struct as_span parts[8];
	unsigned n = 0;

	if (s.len && (*s.at == '{' || *s.at == '['))
		split(s.at + 1, s.at + s.len, parts, 8, &n);
	return i < n ? parts[i] : (struct as_span){ "0x0", 3 };
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* "0x42", "r3", "r3+0x10", "AUTO" */
static bool number(struct as_span s, uint64_t *out)
{
	const char *stop = s.at, *end = s.at + s.len;

	*out = 0;
	if (s.len > 1 && *s.at == 'r' && is_digit(s.at[1])) {
		unsigned r = (unsigned)strtoul(s.at + 1, NULL, 10);

		*out = FIRST_FD + r % RESULTS;
		return true;
	}
	while (stop < end && (is_name(*stop) || *stop == '-'))
		stop++;
	return as_spell_number(s.at, (size_t)(stop - s.at), false, out);
}

static int hex_of(char c)
{
	return is_digit(c)			    ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* 'text\x00' or "68657800"; ends at its first NUL, as the kernel sees it. */
static bool text(struct syzkaller_reader *r, struct as_span s, struct as_syscall_slot *slot)
{
	char *out = r->room + r->used;
	const char *p = s.at + 1, *end = s.at + s.len;
	size_t n = 0;
	bool hex = s.len && *s.at == '"';

	if (s.len < 2 || (*s.at != '\'' && *s.at != '"') || r->used + s.len > AS_LINE_MAX ||
	    (hex && *p == '$'))
		return false;
	while (p < end && *p != *s.at) {
		int c = (unsigned char)*p++;

		if (hex) {
			c = p < end && hex_of((char)c) >= 0 && hex_of(*p) >= 0
				    ? hex_of((char)c) * 16 + hex_of(*p)
				    : -1;
			p++;
		} else if (c == '\\' && p + 2 < end && *p == 'x' && hex_of(p[1]) >= 0 &&
			   hex_of(p[2]) >= 0) {
			c = hex_of(p[1]) * 16 + hex_of(p[2]);
			p += 3;
		} else if (c == '\\' && p < end) {
			c = (unsigned char)*p++;
		}
		if (c < 0)
			return false;
		if (!c)
			break;
		out[n++] = (char)c;
	}
	slot->state = AS_SLOT_TEXT;
	slot->text = out;
	slot->len = (unsigned)n;
	r->used += n;
	return true;
}

static void iov(struct as_span s, struct as_syscall_slot *slot)
{
	struct as_span parts[64];
	unsigned n = 0;
	uint64_t sum = 0, one;

	if (!s.len || *s.at != '[')
		return;
	split(s.at + 1, s.at + s.len, parts, 64, &n);
	for (unsigned i = 0; i < n; i++)
		if (number(member(parts[i], 1), &one))
			sum += one;
	slot->state = n < 64 ? AS_SLOT_VALUE : AS_SLOT_UNSEEN;
	slot->value = sum;
}

static void when(struct as_span s, const struct as_spec_slot *spec, struct as_syscall_slot *slot)
{
	bool buf = spec->how == AS_HOW_UTIMBUF;
	struct as_span one = member(s, spec->offset);
	uint64_t nsec = 0;

	if (!s.len || *s.at != '{')
		return;
	slot->state = AS_SLOT_TIME;
	if (!number(buf ? one : member(one, 0), &slot->value) ||
	    (!buf && !number(member(one, 1), &nsec)))
		slot->state = AS_SLOT_UNSEEN;
	slot->nsec = (int64_t)nsec;
	if (spec->how == AS_HOW_TIMEVAL)
		slot->nsec = slot->nsec >= 0 && slot->nsec < 1000000 ? slot->nsec * 1000 : -1;
}

static void fill(struct syzkaller_reader *r, const struct as_spec_slot *spec, struct as_span s,
		 struct as_syscall_slot *slot)
{
	struct as_span there = pointed_to(s);
	uint64_t value;
	bool is_number = number(s, &value);

	*slot = (struct as_syscall_slot){ .state = AS_SLOT_UNSEEN };
	switch (spec->how) {
	case AS_HOW_VALUE:
	case AS_HOW_INT:
	case AS_HOW_UINT:
		if (!is_number)
			return;
		slot->state = AS_SLOT_VALUE;
		slot->value = as_syscall_value(spec, value);
		return;
	default:
		break;
	}
	if (is_number || (there.len == 3 && !memcmp(there.at, "nil", 3))) {
		slot->state = is_number && value ? AS_SLOT_FAULT : AS_SLOT_NULL;
		return;
	}
	if (spec->how == AS_HOW_TEXT) {
		text(r, there, slot);
	} else if (spec->how == AS_HOW_U64) {
		if (there.len && *there.at == '{')
			there = member(there, spec->offset / 8);
		if (there.len && number(there, &slot->value))
			slot->state = AS_SLOT_VALUE;
	} else if (spec->how == AS_HOW_IOV) {
		iov(there, slot);
	} else {
		when(there, spec, slot);
	}
}

/* ---- Lines ----------------------------------------------------------------------------------- */

struct parsed {
	struct as_span name;
	struct as_span args[AS_SCAN_ARGS];
	unsigned n_args;
	int result; /* -1: not kept */
};

/* "r0 = name$variant(args) (async)" */
static bool parse(const char *p, const char *end, struct parsed *out)
{
	out->result = -1;
	if (end - p > 5 && *p == 'r' && is_digit(p[1])) {
		const char *s = p + 1;

		while (s < end && is_digit(*s))
			s++;
		if (end - s > 3 && !memcmp(s, " = ", 3)) {
			out->result = (int)(strtoul(p + 1, NULL, 10) % RESULTS);
			p = s + 3;
		}
	}
	out->name.at = p;
	while (p < end && is_name(*p))
		p++;
	out->name.len = (size_t)(p - out->name.at);
	if (p < end && *p == '$')
		for (p++; p < end && is_name(*p);)
			p++;
	if (!out->name.len || is_digit(*out->name.at) || p >= end || *p != '(')
		return false;
	p = split(p + 1, end, out->args, AS_SCAN_ARGS, &out->n_args);
	if (!p || *p != ')')
		return false;
	/* strace has a result here; syzkaller at most "(async)" and the like. */
	for (p++; p < end && *p == ' ';)
		p++;
	return p == end || *p == '(';
}

static void report(struct syzkaller_reader *r, const struct parsed *parsed)
{
	const struct as_spec_call *spec =
		as_spec_find(r->to->spec, parsed->name.at, parsed->name.len);
	struct as_syscall *call = &r->call;

	if (!spec) {
		r->to->unknown_call(r->to, parsed->name.at, parsed->name.len);
		return;
	}
	r->used = 0;
	*call = (struct as_syscall){ .spec = spec,
				     .pid = r->tid,
				     .tid = r->tid,
				     .finished = true,
				     .no_result = true,
				     .made = { -1, -1 } };
	for (unsigned i = 0; i < spec->n_slots; i++) {
		const struct as_spec_slot *slot = &spec->slots[i];

		if (slot->how == AS_HOW_CONST) {
			call->slots[i].state = AS_SLOT_VALUE;
			call->slots[i].value = slot->constant;
		} else if (slot->reg < parsed->n_args) {
			fill(r, slot, parsed->args[slot->reg], &call->slots[i]);
		}
	}
	/* A result that is not kept gets a number above all that are. */
	call->ret = FIRST_FD + (parsed->result >= 0 ? parsed->result : RESULTS);
	/* Children are not followed: a program is one process. */
	if (spec->act == AS_ACT_FORK || spec->act == AS_ACT_VFORK || spec->act == AS_ACT_CLONE)
		call->ret = 0;
	r->to->call(r->to, call);
	r->begun = true;
}

static void next_program(struct syzkaller_reader *r)
{
	if (!r->begun)
		return;
	as_world_exit(r->to->world, r->tid);
	r->tid = r->tid < 1000000 ? r->tid + 1 : 1;
	r->begun = false;
}

/* Anything else in the log (times, the kernel's messages) ends a program and means nothing. */
static bool is_header(const char *p, const char *end)
{
	static const char executing[] = "executing program";

	return memmem(p, (size_t)(end - p), executing, sizeof(executing) - 1) != NULL;
}

static int run(const struct as_source_input *input, struct as_receiver *to, struct as_err *err)
{
	struct syzkaller_reader r = { .to = to, .tid = 1 };
	const char *line;
	uint64_t lines = 0;
	size_t len;
	bool cut;

	r.room = as_xmalloc(AS_LINE_MAX + 1);
	while (as_trace_line(input->trace, &line, &len, &cut)) {
		const char *end = line + len;
		struct parsed parsed;

		lines++;
		while (end > line && (end[-1] == '\r' || end[-1] == ' '))
			end--;
		if (line == end || *line == '#' || is_header(line, end))
			next_program(&r);
		else if (!cut && parse(line, end, &parsed))
			report(&r, &parsed);
		else
			to->not_understood(to, line, len);
	}
	to->remark(to, AS_REMARK_LINES, lines);
	free(r.room);
	return as_trace_status(input->trace, err);
}

static int recognise(const char *head, size_t len)
{
	const char *end = head + len;
	int good = 0, all = 0;

	for (const char *eol; head < end && all < 30; head = eol + 1) {
		struct parsed parsed;

		eol = memchr(head, '\n', (size_t)(end - head));
		if (!eol)
			break;
		if (eol == head || *head == '#')
			continue;
		all++;
		good += is_header(head, eol) || parse(head, eol, &parsed);
	}
	return all ? 80 * good / all : 0;
}

const struct as_source_ops as_source_syzkaller = {
	.name = "syzkaller",
	.about = "programs as syzkaller logs them: inputs only",
	.version = AS_SOURCE_VERSION,
	.recognise = recognise,
	.run = run,
};
