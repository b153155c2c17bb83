/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: how a run was asked for, as text: what a finding keeps, so that replay does the same. */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const sweeps[] = {
	[AS_SWEEP_NONE] = "none",
	[AS_SWEEP_ALLOC] = "alloc",
	[AS_SWEEP_READ] = "read",
	[AS_SWEEP_WRITE] = "write",
};

#define NSWEEPS (sizeof(sweeps) / sizeof(sweeps[0]))

const char *as_sweep_name(enum as_sweep sweep)
{
	return sweeps[sweep];
}

int as_sweep_parse(const char *name, enum as_sweep *sweep, struct as_err *err)
{
	for (size_t i = 0; i < NSWEEPS; i++)
		if (!strcmp(name, sweeps[i])) {
			*sweep = (enum as_sweep)i;
			return 0;
		}
	return as_fail(err, AS_EUSE, "unknown sweep '%s': expected alloc, read or write", name);
}

void as_run_options_print(const struct as_run_options *o, struct as_buf *out)
{
	as_buf_adds(out, o->check_every_op ? "check=op" : "check=end");
	if (o->size_bytes)
		as_buf_addf(out, " size=%llu", (unsigned long long)o->size_bytes);
	if (o->seed)
		as_buf_addf(out, " seed=%llu", (unsigned long long)o->seed);
	if (o->deadline_ms && o->deadline_ms != AS_RUN_DEADLINE_MS)
		as_buf_addf(out, " deadline_ms=%u", o->deadline_ms);
	for (const char *s = o->faults ? o->faults : ""; *s;) {
		size_t len = strcspn(s, " ;");

		if (len)
			as_buf_addf(out, " fault=%.*s", (int)len, s);
		s += len + (s[len] != '\0');
	}
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

static int parse_word(const char *word, struct as_run_options *o, struct as_buf *faults,
		      struct as_err *err)
{
	const char *value = strchr(word, '=');
	uint64_t number = 0;
	int rc;

	if (!strcmp(word, "check=op") || !strcmp(word, "check=end")) {
		o->check_every_op = word[6] == 'o';
		return 0;
	}
	if (!strncmp(word, "fault=", 6)) {
		as_buf_addf(faults, "%s%s", faults->len ? " " : "", value + 1);
		return 0;
	}
	if (!value || (strncmp(word, "size=", 5) && strncmp(word, "seed=", 5) &&
		       strncmp(word, "deadline_ms=", 12)))
		return as_fail(err, AS_EUSE, "unknown run option '%s'", word);
	rc = parse_number(word, value + 1, &number, err);
	if (!rc && !strncmp(word, "size=", 5))
		o->size_bytes = number;
	else if (!rc && !strncmp(word, "seed=", 5))
		o->seed = number;
	else if (!rc)
		o->deadline_ms = number > 3600000 ? 3600000 : (unsigned)number;
	return rc;
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
