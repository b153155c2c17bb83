/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: see options.h. */
#include "child/options.h"

#include "base/buf.h"
#include "base/choice.h"
#include "base/finding.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What --sweep takes, and the rule of the plan around the number of a call. */
static const struct {
	const char *name, *kind, *action;
} sweeps[] = {
	[AS_SWEEP_NONE] = { "none", "", "" },
	[AS_SWEEP_ALLOC] = { "alloc", "alloc", "" },
	[AS_SWEEP_READ] = { "read", "read", ":eio" },
	[AS_SWEEP_WRITE] = { "write", "write", ":eio" },
	[AS_SWEEP_ERASE] = { "erase", "zero", ":eio" },
	[AS_SWEEP_READ_EILSEQ] = { "read:eilseq", "read", ":eilseq" },
	[AS_SWEEP_READ_FLIP] = { "read:flip", "read", ":flip=300" },
	[AS_SWEEP_WRITE_ENOSPC] = { "write:enospc", "write", ":enospc" },
	[AS_SWEEP_WRITE_EILSEQ] = { "write:eilseq", "write", ":eilseq" },
	[AS_SWEEP_WRITE_DROP] = { "write:drop", "write", ":drop" },
	[AS_SWEEP_WRITE_FLIP] = { "write:flip", "write", ":flip=300" },
	[AS_SWEEP_ERASE_DROP] = { "erase:drop", "zero", ":drop" },
	[AS_SWEEP_KALLOC] = { "kalloc", "kalloc", "" },
	[AS_SWEEP_KPAGE] = { "kpage", "kpage", "" },
	[AS_SWEEP_KIO] = { "kio", "kio", "" },
};

#define NSWEEPS (sizeof(sweeps) / sizeof(sweeps[0]))

const char *as_sweep_name(enum as_sweep sweep)
{
	return sweeps[sweep].name;
}

bool as_sweep_by_op(enum as_sweep sweep)
{
	return sweep >= AS_SWEEP_KALLOC;
}

void as_sweep_plan(enum as_sweep sweep, const struct as_sweep_at *at, char *text, size_t len)
{
	const char *kind = sweeps[sweep].kind;
	struct as_buf plan = { 0 };

	if (!as_sweep_by_op(sweep))
		as_buf_addf(&plan, "%s:%llu%s", kind, (unsigned long long)at->n,
			    sweeps[sweep].action);
	else if (!at->op)
		as_buf_addf(&plan, "%s:mount:%llu", kind, (unsigned long long)at->n);
	else
		as_buf_addf(&plan, "%s:%llu:%llu", kind, (unsigned long long)at->op,
			    (unsigned long long)at->n);
	if (at->op2)
		as_buf_addf(&plan, " %s:%llu:%llu", kind, (unsigned long long)at->op2,
			    (unsigned long long)at->n2);
	snprintf(text, len, "%s", as_buf_str(&plan));
	as_buf_free(&plan);
}

bool as_sweep_before(const struct as_sweep_at *a, const struct as_sweep_at *b)
{
	/* Of single failures, those of the mount come last. */
	const uint64_t x[] = { a->op2 != 0, !a->op2 && !a->op && a->n, a->op, a->n, a->op2, a->n2 };
	const uint64_t y[] = { b->op2 != 0, !b->op2 && !b->op && b->n, b->op, b->n, b->op2, b->n2 };

	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		if (x[i] != y[i])
			return x[i] < y[i];
	return false;
}

/* `program` is flash's word for a write, and EIO may be said. */
static bool is_named(const char *name, size_t i)
{
	const char *is = sweeps[i].name;
	size_t len = strlen(is);

	if (!strncmp(name, "program", 7) && (!name[7] || name[7] == ':') &&
	    !strncmp(is, "write", 5))
		return !strcmp(name + 7, is + 5) || (!strcmp(name + 7, ":eio") && !is[5]);
	return !strncmp(name, is, len) &&
	       (!name[len] || (!strcmp(name + len, ":eio") && !strcmp(sweeps[i].action, ":eio")));
}

int as_sweep_parse(const char *name, enum as_sweep *sweep, struct as_err *err)
{
	struct as_buf known = { 0 };
	int rc;

	for (size_t i = 0; i < NSWEEPS; i++)
		if (is_named(name, i)) {
			*sweep = (enum as_sweep)i;
			return 0;
		}
	for (size_t i = AS_SWEEP_ALLOC; i < NSWEEPS; i++)
		as_buf_addf(&known, "%s%s",
			    i == AS_SWEEP_ALLOC ? ""
			    : i + 1 < NSWEEPS	? ", "
						: " or ",
			    sweeps[i].name);
	rc = as_fail(err, AS_EUSE, "unknown sweep '%s': expected %s", name, as_buf_str(&known));
	as_buf_free(&known);
	return rc;
}

/* ---- The table ------------------------------------------------------------------------------- */

static int any_text(const char *text, struct as_err *err)
{
	(void)text;
	(void)err;
	return 0;
}

static int kernel_name(const char *text, struct as_err *err)
{
	return as_kernel_name_ok(text)
		       ? 0
		       : as_fail(err, AS_EUSE, "'%.80s' is not the name of a kernel", text);
}

static int choice_list(const char *text, struct as_err *err)
{
	struct as_chooser *chooser = NULL;
	int rc = as_chooser_parse(text, &chooser, err);

	as_chooser_free(chooser);
	return rc;
}

/* The columns of run_option.def. */
#define IS_FLAG AS_RUN_FLAG
#define IS_U32 AS_RUN_U32
#define IS_U64 AS_RUN_U64
#define IS_WORD(bytes) AS_RUN_WORD
#define IS_TEXT AS_RUN_TEXT
#define IS_SWEEP AS_RUN_SWEEP
#define IF(set) .said = AS_SAID_IF, .word = (set)
#define EITHER(set, not_set) .said = AS_SAID_EITHER, .word = (set), .unset = (not_set)
#define NUMBER(name, usual) .said = AS_SAID_NUMBER, .word = (name), .standard = (usual)
#define NAMED(name, is) .said = AS_SAID_NAMED, .word = (name), .check = (is)
#define PATH(name) .said = AS_SAID_PATH, .word = (name), .check = any_text
#define EACH(name) .said = AS_SAID_EACH, .word = (name)
#define UNSAID(reason) .said = AS_SAID_NOWHERE, .why = (reason)
#define SENT .sent = true
#define UNSENT(reason) .sent = false, .why = (reason)

const struct as_run_row as_run_rows[AS_RUN_OPTIONS] = {
#define ROW(member, name, is, ...)                              \
	{ .field = (name),                                      \
	  .form = (is),                                         \
	  .at = offsetof(struct as_run_options, member),        \
	  .size = sizeof(((struct as_run_options *)0)->member), \
	  __VA_ARGS__ },
#define RUN_OPTION(member, is, how, to_engine, given, what) \
	ROW(member, #member, IS_##is, how, to_engine)
#define RUN_PART(whole, part, is, how, to_engine, given, what) \
	ROW(whole.part, #whole "." #part, IS_##is, how, to_engine)
#include "child/run_option.def"
#undef ROW
};

uint64_t as_run_number(const struct as_run_options *o, const struct as_run_row *row)
{
	const char *at = (const char *)o + row->at;

	switch (row->form) {
	case AS_RUN_FLAG:
		return *(const bool *)at;
	case AS_RUN_U32:
		return *(const uint32_t *)(const void *)at;
	default:
		as_assert(row->form == AS_RUN_U64);
		return *(const uint64_t *)(const void *)at;
	}
}

void as_run_set_number(struct as_run_options *o, const struct as_run_row *row, uint64_t number)
{
	void *at = (char *)o + row->at;

	switch (row->form) {
	case AS_RUN_FLAG:
		*(bool *)at = number;
		break;
	case AS_RUN_U32:
		*(uint32_t *)at = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
		break;
	default:
		as_assert(row->form == AS_RUN_U64);
		*(uint64_t *)at = number;
	}
}

const char *as_run_text(const struct as_run_options *o, const struct as_run_row *row)
{
	const void *at = (const char *)o + row->at;
	const char *text = row->form == AS_RUN_TEXT ? *(const char *const *)at : at;

	as_assert(row->form == AS_RUN_TEXT || row->form == AS_RUN_WORD);
	return text ? text : "";
}

int as_run_set_word(struct as_run_options *o, const struct as_run_row *row, const char *text,
		    struct as_err *err)
{
	int rc = row->check ? row->check(text, err) : 0;

	as_assert(row->form == AS_RUN_WORD);
	if (!rc && strlen(text) >= row->size)
		rc = as_fail(err, AS_EUSE, "%s \"%.40s...\": too long", row->field, text);
	if (!rc)
		memcpy((char *)o + row->at, text, strlen(text) + 1);
	return rc;
}

/* ---- As text --------------------------------------------------------------------------------- */

/* Blanks separate options: they and % are written as %XX. */
static void print_path(const char *text, struct as_buf *out)
{
	for (; *text; text++)
		as_buf_addf(out, (unsigned char)*text <= ' ' || *text == '%' ? "%%%02x" : "%c",
			    (unsigned char)*text);
}

/* In place: it does not grow. */
static int parse_path(char *text, struct as_err *err)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		unsigned byte = (unsigned char)*from;

		if (*from == '%') {
			if (!isxdigit((unsigned char)from[1]) ||
			    !isxdigit((unsigned char)from[2]) ||
			    sscanf(from + 1, "%2x", &byte) != 1 || !byte)
				return as_fail(err, AS_EUSE, "'%.40s': expected %%XX", from);
			from += 2;
		}
		*to++ = (char)byte;
	}
	*to = '\0';
	return 0;
}

static void print_each(const char *name, const char *list, struct as_buf *out)
{
	while (*list) {
		size_t len = strcspn(list, " ;");

		if (len)
			as_buf_addf(out, " %s=%.*s", name, (int)len, list);
		list += len + (list[len] != '\0');
	}
}

static void print_row(const struct as_run_options *o, const struct as_run_row *row,
		      struct as_buf *out)
{
	const char *blank = out->len ? " " : "";
	uint64_t n;

	switch (row->said) {
	case AS_SAID_IF:
	case AS_SAID_EITHER:
		if (as_run_number(o, row) || row->unset)
			as_buf_addf(out, "%s%s", blank,
				    as_run_number(o, row) ? row->word : row->unset);
		break;
	case AS_SAID_NUMBER:
		n = as_run_number(o, row);
		if (n && n != row->standard)
			as_buf_addf(out, "%s%s=%llu", blank, row->word, (unsigned long long)n);
		break;
	case AS_SAID_NAMED:
		if (*as_run_text(o, row))
			as_buf_addf(out, "%s%s=%s", blank, row->word, as_run_text(o, row));
		break;
	case AS_SAID_PATH:
		if (!*as_run_text(o, row))
			break;
		as_buf_addf(out, "%s%s=", blank, row->word);
		print_path(as_run_text(o, row), out);
		break;
	case AS_SAID_EACH:
		print_each(row->word, as_run_text(o, row), out);
		break;
	case AS_SAID_NOWHERE:
		break;
	}
}

void as_run_options_print(const struct as_run_options *o, struct as_buf *out)
{
	struct as_buf text = { 0 };

	for (size_t i = 0; i < AS_RUN_OPTIONS; i++)
		print_row(o, &as_run_rows[i], &text);
	as_buf_adds(out, as_buf_str(&text));
	as_buf_free(&text);
}

static int parse_number(const char *word, const char *value, uint64_t *number, struct as_err *err)
{
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	if (!*value || *end || errno)
		return as_fail(err, AS_EUSE, "'%s': expected a number", word);
	return 0;
}

/* The value of "name=value"; NULL: it is another word. */
static char *value_of(char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) || word[len] != '=' ? NULL : word + len + 1;
}

/* 1: it is a word of that row. */
static int parse_as(const struct as_run_row *row, char *word, struct as_run_options *o,
		    struct as_buf *list, struct as_err *err)
{
	char *value = NULL;
	uint64_t number = 0;
	int rc = 0;

	if (row->said == AS_SAID_NOWHERE)
		return 0;
	if (row->said == AS_SAID_IF || row->said == AS_SAID_EITHER) {
		number = !strcmp(word, row->word);
		if (!number && (!row->unset || strcmp(word, row->unset)))
			return 0;
		as_run_set_number(o, row, number);
		return 1;
	}
	value = value_of(word, row->word);
	if (!value)
		return 0;
	switch (row->said) {
	case AS_SAID_NUMBER:
		rc = parse_number(word, value, &number, err);
		if (!rc)
			as_run_set_number(o, row, number);
		break;
	case AS_SAID_PATH:
		rc = parse_path(value, err);
		if (!rc)
			rc = as_run_set_word(o, row, value, err);
		break;
	case AS_SAID_NAMED:
		rc = as_run_set_word(o, row, value, err);
		break;
	default:
		as_buf_addf(list, "%s%s", list->len ? " " : "", value);
	}
	return rc ? rc : 1;
}

static int parse_word(char *word, struct as_run_options *o, struct as_buf *faults,
		      struct as_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < AS_RUN_OPTIONS && !rc; i++)
		rc = parse_as(&as_run_rows[i], word, o, faults, err);
	if (!rc)
		return as_fail(err, AS_EUSE, "unknown run option '%s'", word);
	return rc < 0 ? rc : 0;
}

int as_run_options_parse(const char *text, struct as_run_options *o, char **faults,
			 struct as_err *err)
{
	char *copy = as_xstrdup(text), *save = NULL, *word;
	struct as_buf plan = { 0 };
	int rc = 0;

	*o = (struct as_run_options){ 0 };
	*faults = NULL;
	for (word = strtok_r(copy, " ", &save); word && !rc; word = strtok_r(NULL, " ", &save))
		rc = parse_word(word, o, &plan, err);
	if (!rc && plan.len) {
		*faults = as_xstrdup(as_buf_str(&plan));
		o->faults = *faults;
	}
	as_buf_free(&plan);
	free(copy);
	return rc;
}
