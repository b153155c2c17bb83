/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault: plans and the device that follows them (see fault.h).
 *
 * Method. Each call counts, finds the first rule of the plan that names it, and is carried out as
 * the rule says. Which action is allowed for which kind of call, and which actions go together, is
 * one table, used by the parser and asserted when a plan is set.
 *
 * Invariants
 *   1. A call with an invalid range is answered -EINVAL and counted, and no rule fires on it: a
 *      fault never hides a programming error of the file system above.
 *   2. A rule fires when it changes something: the answer, what reaches `inner`, or the bytes read.
 *      A tear beyond the end of the write, without an errno, changes nothing.
 *   3. The caller's buffer is never changed by a write.
 */
#include "disk/fault.h"

#include "base/array.h"
#include "os/stack.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct as_faulty {
	struct as_bd bd;
	struct as_bd *inner;
	struct as_fault_rule *rules;
	uint64_t *fired;
	size_t n;
	uint64_t calls[AS_CALL_KINDS];
};

/* ---- What a rule may say -------------------------------------------------------------------- */

static const struct {
	enum as_fault_action action;
	const char *word; /* NULL: an errno name */
	bool has_value;
	unsigned kinds; /* bits 1 << enum as_call */
	unsigned goes_with; /* actions */
} actions[] = {
	{ AS_FAULT_ERROR, NULL, false, 0x1f, AS_FAULT_TEAR },
	{ AS_FAULT_TEAR, "tear", true,
	  1u << AS_CALL_WRITE | 1u << AS_CALL_DISCARD | 1u << AS_CALL_ZERO,
	  AS_FAULT_ERROR | AS_FAULT_FLIP },
	{ AS_FAULT_DROP, "drop", false, 0x1f & ~(1u << AS_CALL_READ), 0 },
	{ AS_FAULT_FLIP, "flip", true, 1u << AS_CALL_READ | 1u << AS_CALL_WRITE, AS_FAULT_TEAR },
};

#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

static bool rule_is_valid(const struct as_fault_rule *rule)
{
	if ((unsigned)rule->kind >= AS_CALL_KINDS || !rule->actions || !rule->first ||
	    rule->first > rule->last)
		return false;
	if ((rule->actions & AS_FAULT_ERROR) && rule->errnum <= 0)
		return false;
	for (size_t i = 0; i < N_ACTIONS; i++) {
		if (!(rule->actions & actions[i].action))
			continue;
		if (!(actions[i].kinds & 1u << rule->kind) ||
		    (rule->actions & ~(actions[i].goes_with | actions[i].action)))
			return false;
	}
	return true;
}

/* ---- Text to plan --------------------------------------------------------------------------- */

struct parser {
	const char *at;
	const char *rule; /* start of the rule being read, for messages */
	struct as_err *err;
};

static size_t rule_len(const char *rule)
{
	return strcspn(rule, "; \t\n\r");
}

static int expected(const struct parser *p, const char *what)
{
	int len = (int)rule_len(p->rule);

	return as_fail(p->err, AS_EUSE, "fault rule '%.*s', column %d: expected %s",
		       len > 200 ? 200 : len, p->rule, (int)(p->at - p->rule) + 1, what);
}

/* Reads letters and digits at the current place, in lower case. 0: there are none, or too many. */
static size_t word(const struct parser *p, char *buf, size_t cap)
{
	size_t n = 0;

	while (isalnum((unsigned char)p->at[n])) {
		if (n + 1 >= cap)
			return 0;
		buf[n] = (char)tolower((unsigned char)p->at[n]);
		n++;
	}
	buf[n] = '\0';
	return n;
}

static int number(struct parser *p, const char *what, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*p->at))
		return expected(p, what);
	errno = 0;
	*value = strtoull(p->at, &end, 10);
	/* The largest value means "for ever" in a rule. */
	if (errno || *value == UINT64_MAX)
		return expected(p, "a smaller number");
	p->at = end;
	return AS_OK;
}

static int colon(struct parser *p)
{
	if (*p->at != ':')
		return expected(p, "':'");
	p->at++;
	return AS_OK;
}

static int parse_kind(struct parser *p, struct as_fault_rule *rule)
{
	char name[16];
	size_t len = word(p, name, sizeof(name));
	/* What flash calls them: disk/flash.c. */
	const char *asked = len && !strcmp(name, "program") ? as_call_name(AS_CALL_WRITE)
			    : len && !strcmp(name, "erase") ? as_call_name(AS_CALL_ZERO)
							    : name;

	for (unsigned kind = 0; len && kind < AS_CALL_KINDS; kind++) {
		if (strcmp(asked, as_call_name((enum as_call)kind)) != 0)
			continue;
		rule->kind = (enum as_call)kind;
		p->at += len; /* of the word as it was written */
		return colon(p);
	}
	return expected(p, "read, write, flush, discard or zero");
}

static int parse_when(struct parser *p, struct as_fault_rule *rule)
{
	static const char what[] = "the number of a call: N, N+ or N..M, from 1";
	int rc = number(p, what, &rule->first);

	if (rc)
		return rc;
	if (!rule->first)
		return expected(p, what);
	rule->last = rule->first;
	if (*p->at == '+') {
		rule->last = AS_FAULT_NEVER_ENDS;
		p->at++;
	} else if (!strncmp(p->at, "..", 2)) {
		p->at += 2;
		rc = number(p, "the number of the last call", &rule->last);
		if (!rc && rule->last < rule->first)
			rc = expected(p, "a last call that is not before the first");
	}
	return rc ? rc : colon(p);
}

/* Finds the row of the action at the current place and moves to the first character after its
 * name. */
static int parse_action_name(struct parser *p, struct as_fault_rule *rule, size_t *row)
{
	static const char what[] = "an errno name such as eio, or tear=N, drop or flip=N";
	char name[24];
	size_t len = word(p, name, sizeof(name));

	if (!len)
		return expected(p, what);
	for (*row = N_ACTIONS - 1; *row > 0; --*row)
		if (!strcmp(name, actions[*row].word))
			break;
	if (!actions[*row].word) {
		for (char *c = name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		rule->errnum = as_errno_value(name);
		if (rule->errnum <= 0)
			return expected(p, what);
	}
	if (!(actions[*row].kinds & 1u << rule->kind))
		return expected(p, "an action that fits this kind of call");
	if (rule->actions & ~actions[*row].goes_with)
		return expected(p, "an action that goes with the one before it");
	p->at += len;
	return AS_OK;
}

static int parse_action(struct parser *p, struct as_fault_rule *rule)
{
	size_t row = 0;
	int rc = parse_action_name(p, rule, &row);

	if (rc)
		return rc;
	rule->actions |= actions[row].action;
	if (!actions[row].has_value)
		return AS_OK;
	if (*p->at != '=')
		return expected(p, "'=' and a number");
	p->at++;
	return number(p, "a number",
		      actions[row].action == AS_FAULT_TEAR ? &rule->tear_sectors : &rule->flip_bit);
}

static int parse_rule(struct parser *p, struct as_fault_rule *rule)
{
	int rc = parse_kind(p, rule);

	if (!rc)
		rc = parse_when(p, rule);
	if (!rc)
		rc = parse_action(p, rule);
	while (!rc && *p->at == ',') {
		p->at++;
		rc = parse_action(p, rule);
	}
	if (!rc && rule_len(p->at))
		rc = expected(p, "',' and another action, or the end of the rule");
	return rc;
}

int as_fault_parse(const char *text, struct as_fault_rule **rules, size_t *n, struct as_err *err)
{
	struct parser p = { .at = text, .err = err };
	struct as_fault_rule *list = NULL;
	size_t len = 0, cap = 0;
	int rc = AS_OK;

	*rules = NULL;
	*n = 0;
	for (;;) {
		p.at += strspn(p.at, "; \t\n\r");
		if (!*p.at)
			break;
		p.rule = p.at;
		AS_ARRAY_ROOM(list, len, cap);
		list[len] = (struct as_fault_rule){ 0 };
		rc = parse_rule(&p, &list[len]);
		if (rc)
			goto out;
		as_assert(rule_is_valid(&list[len]));
		len++;
	}
	*rules = list;
	*n = len;
	list = NULL;
out:
	free(list);
	return rc;
}

/* ---- Plan to text --------------------------------------------------------------------------- */

static void print_errno(int errnum, struct as_buf *out)
{
	for (const char *c = as_errno_name(errnum); *c; c++)
		as_buf_addc(out, (char)tolower((unsigned char)*c));
}

void as_fault_print(const struct as_fault_rule *rules, size_t n, struct as_buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct as_fault_rule *rule = &rules[i];
		char sep = ':';

		as_buf_addf(out, "%s%s:%llu", i ? " " : "", as_call_name(rule->kind),
			    (unsigned long long)rule->first);
		if (rule->last == AS_FAULT_NEVER_ENDS)
			as_buf_addc(out, '+');
		else if (rule->last != rule->first)
			as_buf_addf(out, "..%llu", (unsigned long long)rule->last);
		/* The errno is printed last, as a person would write it. */
		for (size_t row = 1; row < N_ACTIONS; row++) {
			if (!(rule->actions & actions[row].action))
				continue;
			as_buf_addf(out, "%c%s", sep, actions[row].word);
			if (actions[row].has_value)
				as_buf_addf(out, "=%llu",
					    (unsigned long long)(actions[row].action ==
										 AS_FAULT_TEAR
									 ? rule->tear_sectors
									 : rule->flip_bit));
			sep = ',';
		}
		if (rule->actions & AS_FAULT_ERROR) {
			as_buf_addc(out, sep);
			print_errno(rule->errnum, out);
		}
	}
}

/* ---- The block device ----------------------------------------------------------------------- */

static struct as_faulty *faulty_of(struct as_bd *bd)
{
	return (struct as_faulty *)bd;
}

/* Counts the call. Returns the number of the rule that it meets, or n. */
static size_t meet(struct as_faulty *faulty, enum as_call kind)
{
	uint64_t call = ++faulty->calls[kind];
	size_t i = 0;

	while (i < faulty->n && (faulty->rules[i].kind != kind || call < faulty->rules[i].first ||
				 call > faulty->rules[i].last))
		i++;
	return i;
}

static void flip(unsigned char *data, size_t len, uint64_t bit)
{
	bit %= (uint64_t)len * 8;
	data[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

static int faulty_read(struct as_bd *bd, uint64_t off, void *buf, size_t len)
{
	struct as_faulty *faulty = faulty_of(bd);
	size_t i = meet(faulty, AS_CALL_READ);
	const struct as_fault_rule *rule = &faulty->rules[i];
	int rc = as_call_check(bd, off, len);

	if (rc)
		return rc;
	if (i < faulty->n && (rule->actions & AS_FAULT_ERROR)) {
		faulty->fired[i]++;
		as_stack_note_failure();
		return -rule->errnum;
	}
	rc = as_bd_read(faulty->inner, off, buf, len);
	if (!rc && i < faulty->n && len) {
		flip(buf, len, rule->flip_bit);
		faulty->fired[i]++;
	}
	return rc;
}

/* How many bytes of a changing call are done under a rule, and whether the rule changes
 * anything. */
static uint64_t part(const struct as_bd *bd, const struct as_fault_rule *rule, uint64_t len,
		     bool *fires)
{
	if (rule->actions & AS_FAULT_TEAR) {
		uint64_t sectors = len / bd->sector_bytes;

		*fires = rule->tear_sectors < sectors || (rule->actions & AS_FAULT_ERROR);
		return rule->tear_sectors < sectors ? rule->tear_sectors * bd->sector_bytes : len;
	}
	*fires = len || (rule->actions & AS_FAULT_ERROR);
	return rule->actions & (AS_FAULT_ERROR | AS_FAULT_DROP) ? 0 : len;
}

static int write_flipped(struct as_bd *inner, uint64_t off, const void *buf, size_t len,
			 uint64_t bit)
{
	unsigned char *copy = as_xmalloc(len);
	int rc;

	memcpy(copy, buf, len);
	flip(copy, len, bit);
	rc = as_bd_write(inner, off, copy, len);
	free(copy);
	return rc;
}

/* How a write was submitted, if it was. */
struct submitted {
	unsigned flags;
	uint64_t *ticket;
};

/* Carries out write, discard and zero under their rule; buf is NULL except for a write. */
static int change(struct as_faulty *faulty, enum as_call kind, uint64_t off, const void *buf,
		  uint64_t len, const struct submitted *submitted)
{
	size_t i = meet(faulty, kind);
	const struct as_fault_rule *rule = i < faulty->n ? &faulty->rules[i] : NULL;
	int rc = as_call_check(&faulty->bd, off, len);
	bool fires = false, flips;

	if (rc)
		return rc;
	if (rule)
		len = part(&faulty->bd, rule, len, &fires);
	flips = rule && (rule->actions & AS_FAULT_FLIP) && len;
	if (fires || flips) {
		faulty->fired[i]++;
		as_stack_note_failure();
	}
	if (rule && !len)
		rc = 0; /* nothing has to be done */
	else if (flips)
		rc = write_flipped(faulty->inner, off, buf, len, rule->flip_bit);
	else if (submitted)
		rc = as_bd_submit(faulty->inner, off, buf, len, submitted->flags,
				  submitted->ticket);
	else if (kind == AS_CALL_WRITE)
		rc = as_bd_write(faulty->inner, off, buf, len);
	else if (kind == AS_CALL_ZERO)
		rc = as_bd_zero(faulty->inner, off, len);
	else
		rc = as_bd_discard(faulty->inner, off, len);
	return rule && (rule->actions & AS_FAULT_ERROR) ? -rule->errnum : rc;
}

static int faulty_write(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	return change(faulty_of(bd), AS_CALL_WRITE, off, buf, len, NULL);
}

static int faulty_discard(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return change(faulty_of(bd), AS_CALL_DISCARD, off, NULL, len, NULL);
}

static int faulty_zero(struct as_bd *bd, uint64_t off, uint64_t len)
{
	return change(faulty_of(bd), AS_CALL_ZERO, off, NULL, len, NULL);
}

/* The error of a submitted write is told at once. */
static int faulty_submit(struct as_bd *bd, uint64_t off, const void *buf, size_t len,
			 unsigned flags, uint64_t *ticket)
{
	struct submitted submitted = { flags, ticket };

	*ticket = UINT64_MAX;
	return change(faulty_of(bd), AS_CALL_WRITE, off, buf, len, &submitted);
}

static int faulty_wait(struct as_bd *bd, uint64_t ticket)
{
	return as_bd_wait(faulty_of(bd)->inner, ticket);
}

/* A hint is no call: nobody would be told that it has failed. */
static void faulty_dirty(struct as_bd *bd, uint64_t off, const void *buf, size_t len)
{
	as_bd_dirty(faulty_of(bd)->inner, off, buf, len);
}

/* Whether a flush meets a fault; *rc is then its answer. */
static bool flush_fails(struct as_faulty *faulty, int *rc)
{
	size_t i = meet(faulty, AS_CALL_FLUSH);

	if (i == faulty->n)
		return false;
	faulty->fired[i]++;
	as_stack_note_failure();
	*rc = faulty->rules[i].actions & AS_FAULT_ERROR ? -faulty->rules[i].errnum : 0;
	return true;
}

static int faulty_flush(struct as_bd *bd)
{
	struct as_faulty *faulty = faulty_of(bd);
	int rc;

	return flush_fails(faulty, &rc) ? rc : as_bd_flush(faulty->inner);
}

static int faulty_flush_part(struct as_bd *bd, uint64_t off, uint64_t len)
{
	struct as_faulty *faulty = faulty_of(bd);
	int rc;

	return flush_fails(faulty, &rc) ? rc : as_bd_flush_part(faulty->inner, off, len);
}

static const struct as_bd_ops faulty_ops = {
	.api = AS_BD_API,
	.name = "faulty",
	.read = faulty_read,
	.write = faulty_write,
	.flush = faulty_flush,
	.discard = faulty_discard,
	.zero = faulty_zero,
	.submit = faulty_submit,
	.wait = faulty_wait,
	.dirty = faulty_dirty,
	.flush_part = faulty_flush_part,
};

struct as_faulty *as_faulty_new(struct as_bd *inner, const struct as_fault_rule *rules, size_t n)
{
	struct as_faulty *faulty = as_xcalloc(1, sizeof(*faulty));

	faulty->bd = (struct as_bd){ &faulty_ops, inner->size_bytes, inner->sector_bytes };
	faulty->inner = inner;
	as_faulty_plan(faulty, rules, n);
	return faulty;
}

void as_faulty_free(struct as_faulty *faulty)
{
	if (!faulty)
		return;
	free(faulty->rules);
	free(faulty->fired);
	free(faulty);
}

struct as_bd *as_faulty_bd(struct as_faulty *faulty)
{
	return &faulty->bd;
}

void as_faulty_plan(struct as_faulty *faulty, const struct as_fault_rule *rules, size_t n)
{
	free(faulty->rules);
	free(faulty->fired);
	/* One more than needed: for "no rule", meet() returns n, and the address of that element is
	 * taken. */
	faulty->rules = as_xcalloc(n + 1, sizeof(*rules));
	faulty->fired = as_xcalloc(n + 1, sizeof(*faulty->fired));
	faulty->n = n;
	for (size_t i = 0; i < n; i++) {
		as_assert(rule_is_valid(&rules[i]));
		faulty->rules[i] = rules[i];
	}
	memset(faulty->calls, 0, sizeof(faulty->calls));
}

uint64_t as_faulty_calls(const struct as_faulty *faulty, enum as_call kind)
{
	return faulty->calls[kind];
}

uint64_t as_faulty_fired(const struct as_faulty *faulty, size_t i)
{
	as_assert(i < faulty->n);
	return faulty->fired[i];
}

uint64_t as_faulty_fired_any(const struct as_faulty *faulty)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < faulty->n; i++)
		sum += faulty->fired[i];
	return sum;
}
