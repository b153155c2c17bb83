/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state: see state.h. */
#include "fsck/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "assay-fsck"
#define VERSION 1

void as_fsck_state_free(struct as_fsck_state *s)
{
	free(s->checker);
	free(s->model);
	as_fsck_known_free(&s->known);
	*s = (struct as_fsck_state){ 0 };
}

void as_fsck_state_print(const struct as_fsck_state *s, struct as_buf *out)
{
	as_buf_addf(out, MAGIC " %d\nchecker %s\nmodel %s\nseed %llu\nnext %llu\n", VERSION,
		    s->checker, s->model, (unsigned long long)s->seed, (unsigned long long)s->next);
	/* What did not come back is no cluster; if it is met again, it is judged again. */
	for (size_t i = 0; i < s->known.n; i++)
		if (!s->known.items[i].doubts)
			as_buf_addf(out, "cluster %llu %s\n",
				    (unsigned long long)s->known.items[i].count,
				    s->known.items[i].signature);
}

static bool read_number(const char *text, uint64_t *n, const char **rest)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (end == text || errno || *text == '-' || (*end && (*end != ' ' || !rest)))
		return false;
	if (rest)
		*rest = end + (*end == ' ');
	return true;
}

static void set(char **text, const char *value)
{
	free(*text);
	*text = as_xstrdup(value);
}

/* One line without its end. */
static bool read_line(struct as_fsck_state *s, const char *word, const char *value, bool first)
{
	const char *signature = NULL;
	uint64_t n;

	if (first)
		return !strcmp(word, MAGIC) && read_number(value, &n, NULL) && n == VERSION;
	if (!strcmp(word, "checker"))
		set(&s->checker, value);
	else if (!strcmp(word, "model"))
		set(&s->model, value);
	else if (!strcmp(word, "seed"))
		return read_number(value, &s->seed, NULL);
	else if (!strcmp(word, "next"))
		return read_number(value, &s->next, NULL);
	else if (!strcmp(word, "cluster")) {
		if (!read_number(value, &n, &signature) || !*signature)
			return false;
		as_fsck_known_add(&s->known, signature, n);
	} else {
		return false;
	}
	return true;
}

int as_fsck_state_parse(const char *name, const char *text, struct as_fsck_state *s,
			struct as_err *err)
{
	unsigned number = 1;
	int rc = 0;

	*s = (struct as_fsck_state){ 0 };
	for (; !rc && *text; number++) {
		size_t len = strcspn(text, "\n");
		char *line = as_xstrndup(text, len), *value = line + strcspn(line, " ");

		if (*value)
			*value++ = '\0';
		if (!read_line(s, line, value, number == 1))
			rc = as_fail(err, AS_EUSE, "%s:%u: this is no session of assay fsck", name,
				     number);
		free(line);
		text += len + (text[len] == '\n');
	}
	if (!rc && (!s->checker || !s->model))
		rc = as_fail(err, AS_EUSE, "%s:%u: it ends before the session is told", name,
			     number);
	if (rc)
		as_fsck_state_free(s);
	return rc;
}
