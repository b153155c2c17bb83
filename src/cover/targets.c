/* SPDX-License-Identifier: GPL-2.0-or-later */
/* targets: how often each partition should be tested; see metric.h. */
#include "base/array.h"
#include "cover/metric.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define TARGETS_MAX (1u << 20) /* bytes of a file */

struct rule {
	char *words[3]; /* call, argument, partition; all NULL: the default */
	uint64_t target;
};

struct as_targets {
	struct rule *rules;
	size_t n, cap;
};

static void add(struct as_targets *targets, char *const words[3], uint64_t target)
{
	struct rule *rule;

	AS_ARRAY_ROOM(targets->rules, targets->n, targets->cap);
	rule = &targets->rules[targets->n++];
	*rule = (struct rule){ .target = target };
	for (int i = 0; words && i < 3; i++)
		rule->words[i] = as_xstrdup(words[i]);
}

struct as_targets *as_targets_uniform(uint64_t target)
{
	struct as_targets *targets = as_xcalloc(1, sizeof(*targets));

	add(targets, NULL, target);
	return targets;
}

void as_targets_free(struct as_targets *targets)
{
	for (size_t i = 0; targets && i < targets->n; i++)
		for (int w = 0; w < 3; w++)
			free(targets->rules[i].words[w]);
	if (targets)
		free(targets->rules);
	free(targets);
}

static bool number(const char *s, uint64_t *out)
{
	*out = 0;
	if (!*s || strlen(s) > 18)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		*out = *out * 10 + (uint64_t)(*s - '0');
	}
	return true;
}

/* One line, cut at its blanks in place. */
static int take_line(struct as_targets *targets, const char *file, unsigned line, char *text,
		     struct as_err *err)
{
	char *words[5], *save = NULL, *comment = strchr(text, '#');
	uint64_t target;
	int n = 0;

	if (comment)
		*comment = 0;
	for (char *w = strtok_r(text, " \t\r", &save); w && n < 5;
	     w = strtok_r(NULL, " \t\r", &save))
		words[n++] = w;
	if (!n)
		return 0;
	if ((n != 4 && !(n == 2 && !strcmp(words[0], "default"))) || !number(words[n - 1], &target))
		return as_fail(err, AS_EUSE,
			       "%s:%u: expected 'CALL ARGUMENT PARTITION N' or 'default N'", file,
			       line);
	add(targets, n == 4 ? words : NULL, target);
	return 0;
}

int as_targets_parse(const char *file, const char *text, size_t len, struct as_targets **out,
		     struct as_err *err)
{
	struct as_targets *targets = as_xcalloc(1, sizeof(*targets));
	unsigned line = 0;
	int rc = 0;

	for (const char *end = text + len, *eol; text < end && !rc; text = eol + 1) {
		char *copy;

		eol = memchr(text, '\n', (size_t)(end - text));
		eol = eol ? eol : end;
		copy = as_xcalloc(1, (size_t)(eol - text) + 1);
		memcpy(copy, text, (size_t)(eol - text));
		rc = memchr(copy, 0, (size_t)(eol - text))
			     ? as_fail(err, AS_EUSE, "%s:%u: a NUL byte", file, line + 1)
			     : take_line(targets, file, line + 1, copy, err);
		line++;
		free(copy);
	}
	if (!rc && !targets->n)
		rc = as_fail(err, AS_EUSE, "%s: no targets in it", file);
	if (rc)
		as_targets_free(targets);
	else
		*out = targets;
	return rc;
}

int as_targets_load(const char *path, struct as_targets **out, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, TARGETS_MAX, err);

	if (!rc)
		rc = as_targets_parse(path, as_buf_str(&text), text.len, out, err);
	as_buf_free(&text);
	return rc;
}

bool as_targets_get(const struct as_targets *targets, const struct as_space *space,
		    const struct as_part *part, uint64_t *target)
{
	const char *arg = space->arg ? space->arg->name : as_space_kind_name(space->kind);

	for (size_t i = targets->n; i--;) {
		const struct rule *rule = &targets->rules[i];

		if (rule->words[0] && (fnmatch(rule->words[0], space->family->name, 0) != 0 ||
				       fnmatch(rule->words[1], arg, 0) != 0 ||
				       fnmatch(rule->words[2], part->name, 0) != 0))
			continue;
		*target = rule->target;
		return true;
	}
	return false;
}
