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

static int parse_number(const char *word, const char *value, uint64_t *number, struct as_err *err)
{
	char *end;

	errno = 0;
	*number = strtoull(value, &end, 10);
	if (!*value || *end || errno)
		return as_fail(err, AS_EUSE, "'%s': expected a number", word);
	return 0;
}

static const struct number_row {
	const char *name;
	size_t at, size;
	uint64_t standard; /* not worth saying */
} numbers[] = {
#define ROW(name, field, standard)                      \
	{ name, offsetof(struct as_run_options, field), \
	  sizeof(((struct as_run_options *)0)->field), standard },
	ROW("size", size_bytes, 0) ROW("seed", seed, 0) ROW("corrupt", corrupt, 0)
		ROW("fields", fields, 0) ROW("kmemleak", kmemleak, 0) ROW("max_heap", max_heap, 0)
			ROW("max_stack", max_stack, 0)
#define BOUND(field, standard, what) ROW(#field, field, standard)
#include "vfs/bounds.def"
#undef ROW
};

#define NNUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t get_number(const struct as_run_options *o, const struct number_row *row)
{
	const char *at = (const char *)o + row->at;

	return row->size == 4 ? *(const uint32_t *)at : *(const uint64_t *)at;
}

/* Blanks separate options: they and % are written as %XX. */
static void print_path(const char *path, struct as_buf *out)
{
	for (; *path; path++)
		as_buf_addf(out, (unsigned char)*path <= ' ' || *path == '%' ? "%%%02x" : "%c",
			    (unsigned char)*path);
}

static int parse_path(const char *text, char *path, size_t room, struct as_err *err)
{
	const char *all = text;
	size_t n = 0;

	for (; *text && n + 1 < room; n++) {
		unsigned byte;

		if (*text != '%') {
			path[n] = *text++;
			continue;
		}
		if (!isxdigit((unsigned char)text[1]) || !isxdigit((unsigned char)text[2]) ||
		    sscanf(text + 1, "%2x", &byte) != 1 || !byte)
			return as_fail(err, AS_EUSE, "'%.40s': expected %%XX", all);
		path[n] = (char)byte;
		text += 3;
	}
	path[n] = '\0';
	return *text ? as_fail(err, AS_EUSE, "'%.40s...': too long", all) : 0;
}

void as_run_options_print(const struct as_run_options *o, struct as_buf *out)
{
	as_buf_adds(out, o->check_every_op ? "check=op" : "check=end");
	if (o->on_host)
		as_buf_adds(out, " " AS_FINDING_ON_HOST);
	if (o->kernel[0])
		as_buf_addf(out, " " AS_FINDING_KERNEL "%s", o->kernel);
	for (size_t i = 0; i < NNUMBERS; i++) {
		unsigned long long number = get_number(o, &numbers[i]);

		if (number && number != numbers[i].standard)
			as_buf_addf(out, " %s=%llu", numbers[i].name, number);
	}
	if (o->layout[0]) {
		as_buf_adds(out, " layout=");
		print_path(o->layout, out);
	}
	if (o->alter[0]) {
		as_buf_adds(out, " alter=");
		print_path(o->alter, out);
	}
	if (o->choices[0])
		as_buf_addf(out, " choices=%s", o->choices);
	if (o->scenario[0])
		as_buf_addf(out, " scenario=%s", o->scenario);
	if (o->draw_faults)
		as_buf_adds(out, " faults=draw");
	for (const char *s = o->faults ? o->faults : ""; *s;) {
		size_t len = strcspn(s, " ;");

		if (len)
			as_buf_addf(out, " fault=%.*s", (int)len, s);
		s += len + (s[len] != '\0');
	}
}

static void set_number(struct as_run_options *o, const struct number_row *row, uint64_t number)
{
	char *at = (char *)o + row->at;

	if (row->size == 4)
		*(uint32_t *)at = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
	else
		*(uint64_t *)at = number;
}

int as_run_choices(const char *text, struct as_run_options *o, struct as_err *err)
{
	struct as_chooser *chooser = NULL;
	int rc = as_chooser_parse(text, &chooser, err);

	as_chooser_free(chooser);
	if (!rc && strlen(text) >= sizeof(o->choices))
		rc = as_fail(err, AS_EUSE, "choices \"%.20s...\": too long", text);
	if (!rc)
		memcpy(o->choices, text, strlen(text) + 1);
	return rc;
}

static int parse_kernel(const char *name, struct as_run_options *o, struct as_err *err)
{
	if (!as_kernel_name_ok(name))
		return as_fail(err, AS_EUSE, "'%.80s' is not the name of a kernel", name);
	memcpy(o->kernel, name, strlen(name) + 1);
	return 0;
}

static int parse_word(const char *word, struct as_run_options *o, struct as_buf *faults,
		      struct as_err *err)
{
	size_t len = strcspn(word, "=");
	uint64_t number = 0;
	int rc;

	if (!strcmp(word, "check=op") || !strcmp(word, "check=end")) {
		o->check_every_op = word[6] == 'o';
		return 0;
	}
	if (!strcmp(word, AS_FINDING_ON_HOST)) {
		o->on_host = true;
		return 0;
	}
	if (!strcmp(word, "faults=draw")) {
		o->draw_faults = true;
		return 0;
	}
	if (!strncmp(word, "fault=", 6)) {
		as_buf_addf(faults, "%s%s", faults->len ? " " : "", word + 6);
		return 0;
	}
	if (!strncmp(word, "layout=", 7))
		return parse_path(word + 7, o->layout, sizeof(o->layout), err);
	if (!strncmp(word, "alter=", 6))
		return parse_path(word + 6, o->alter, sizeof(o->alter), err);
	if (!strncmp(word, AS_FINDING_KERNEL, strlen(AS_FINDING_KERNEL)))
		return parse_kernel(word + strlen(AS_FINDING_KERNEL), o, err);
	if (!strncmp(word, "choices=", 8))
		return as_run_choices(word + 8, o, err);
	if (!strncmp(word, "scenario=", 9)) {
		if (strlen(word + 9) >= sizeof(o->scenario))
			return as_fail(err, AS_EUSE, "'%.40s...': too long", word);
		memcpy(o->scenario, word + 9, strlen(word + 9) + 1);
		return 0;
	}
	for (size_t i = 0; i < NNUMBERS && word[len]; i++) {
		if (strlen(numbers[i].name) != len || strncmp(numbers[i].name, word, len))
			continue;
		rc = parse_number(word, word + len + 1, &number, err);
		if (!rc)
			set_number(o, &numbers[i], number);
		return rc;
	}
	return as_fail(err, AS_EUSE, "unknown run option '%s'", word);
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
