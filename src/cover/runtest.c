/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtest: see runtest.h. Commands are compared in one form: single blanks, no folder. */
#include "cover/runtest.h"
#include "base/buf.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define FILE_MAX (16u << 20)

struct runtest_line {
	char *command, *tag;
	UT_hash_handle hh;
};

struct as_runtest {
	struct runtest_line *entries;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* A command as text, without the folder of its first word. */
static void normal_line(const char *text, size_t len, struct as_buf *out)
{
	const char *end = text + len, *word;
	bool first = true;

	while (text < end) {
		while (text < end && is_blank(*text))
			text++;
		word = text;
		while (text < end && !is_blank(*text))
			text++;
		for (const char *s = word; first && s < text; s++)
			if (*s == '/' && s + 1 < text)
				word = s + 1;
		if (text == word)
			break;
		if (!first)
			as_buf_addc(out, ' ');
		as_buf_add(out, word, (size_t)(text - word));
		first = false;
	}
}

static void add_line(struct as_runtest *runtest, const char *line, size_t len)
{
	const char *end = line + len, *tag;
	struct as_buf command = { 0 };
	struct runtest_line *e;

	while (line < end && is_blank(*line))
		line++;
	tag = line;
	while (line < end && !is_blank(*line))
		line++;
	if (line == tag || *tag == '#')
		return;
	normal_line(line, (size_t)(end - line), &command);
	HASH_FIND_STR(runtest->entries, as_buf_str(&command), e);
	/* If a command has several tags, the first counts. */
	if (!e && command.len) {
		e = as_xcalloc(1, sizeof(*e));
		e->command = as_xstrdup(as_buf_str(&command));
		e->tag = as_xcalloc(1, (size_t)(line - tag) + 1);
		memcpy(e->tag, tag, (size_t)(line - tag));
		HASH_ADD_KEYPTR(hh, runtest->entries, e->command, strlen(e->command), e);
	}
	as_buf_free(&command);
}

int as_runtest_load(const char *path, struct as_runtest **out, struct as_err *err)
{
	struct as_buf text = { 0 };
	int rc = as_buf_read_file(&text, path, FILE_MAX, err);
	struct as_runtest *runtest;
	const char *at, *end;

	if (rc) {
		as_buf_free(&text);
		return rc;
	}
	runtest = as_xcalloc(1, sizeof(*runtest));
	at = as_buf_str(&text);
	for (end = at + text.len; at < end;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		eol = eol ? eol : end;
		add_line(runtest, at, (size_t)(eol - at));
		at = eol + 1;
	}
	as_buf_free(&text);
	if (!runtest->entries) {
		as_runtest_free(runtest);
		return as_fail(err, AS_EUSE, "%s: no line is 'TAG COMMAND'", path);
	}
	*out = runtest;
	return 0;
}

void as_runtest_free(struct as_runtest *runtest)
{
	struct runtest_line *e, *next;

	if (!runtest)
		return;
	HASH_ITER(hh, runtest->entries, e, next) {
		HASH_DEL(runtest->entries, e);
		free(e->command);
		free(e->tag);
		free(e);
	}
	free(runtest);
}

unsigned as_runtest_n(const struct as_runtest *runtest)
{
	return HASH_COUNT(runtest->entries);
}

static const char *look_up(const struct as_runtest *runtest, const struct as_buf *command)
{
	struct runtest_line *e = NULL;

	if (command->len)
		HASH_FIND_STR(runtest->entries, as_buf_str(command), e);
	return e ? e->tag : NULL;
}

/* The arguments from `from` on, as a line. */
static void join(const char *from, const char *end, struct as_buf *out)
{
	struct as_buf line = { 0 };

	for (; from < end; from += strlen(from) + 1)
		as_buf_addf(&line, "%s%s", line.len ? " " : "", from);
	normal_line(as_buf_str(&line), line.len, out);
	as_buf_free(&line);
}

const char *as_runtest_find(const struct as_runtest *runtest, const char *program, const char *args,
			    size_t len)
{
	/* This copies the arguments, so that the last one has a NUL. */
	char *copy = as_xcalloc(1, len + 1), *end = copy + len, *arg = copy;
	struct as_buf command = { 0 };
	const char *tag = NULL;

	if (len)
		memcpy(copy, args, len);
	/* The command as it is; from the name of a script on; after the -c of a shell. */
	for (unsigned i = 0; i < 4 && arg < end && !tag; i++) {
		bool dash_c = !strcmp(arg, "-c");

		as_buf_clear(&command);
		if (!i || !strcmp(arg, program))
			join(arg, end, &command);
		else if (dash_c && arg + 3 < end)
			normal_line(arg + 3, strlen(arg + 3), &command);
		tag = look_up(runtest, &command);
		arg += strlen(arg) + 1;
	}
	as_buf_free(&command);
	free(copy);
	return tag;
}
