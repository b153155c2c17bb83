/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtest: see runtest.h. Commands are compared in one form: single blanks, no folder. */
#include "cover/runtest.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MAX (16u << 20)

struct runtest_line {
	char *command, *tag;
};

struct as_runtest {
	struct runtest_line *lines;
	size_t n, cap;
	struct as_table table; /* of the lines, by command */
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

struct line_key {
	const struct runtest_line *lines;
	const char *command;
};

static bool is_line(const void *ctx, size_t index)
{
	const struct line_key *key = ctx;

	return !strcmp(key->lines[index].command, key->command);
}

static uint64_t hash_of(const struct as_buf *command)
{
	return as_hash64(as_buf_str(command), command->len);
}

/* NULL: there is none. */
static const struct runtest_line *look_up(const struct as_runtest *runtest,
					  const struct as_buf *command)
{
	struct line_key key = { runtest->lines, as_buf_str(command) };
	size_t i = as_table_find(&runtest->table, hash_of(command), is_line, &key);

	return i == AS_TABLE_NONE ? NULL : &runtest->lines[i];
}

static void add_line(struct as_runtest *runtest, const char *line, size_t len)
{
	const char *end = line + len, *tag;
	struct as_buf command = { 0 };

	while (line < end && is_blank(*line))
		line++;
	tag = line;
	while (line < end && !is_blank(*line))
		line++;
	if (line == tag || *tag == '#')
		return;
	normal_line(line, (size_t)(end - line), &command);
	/* If a command has several tags, the first counts. */
	if (command.len && !look_up(runtest, &command)) {
		struct runtest_line *e;

		AS_ARRAY_ROOM(runtest->lines, runtest->n, runtest->cap);
		as_table_add(&runtest->table, hash_of(&command), runtest->n);
		e = &runtest->lines[runtest->n++];
		e->command = as_xstrdup(as_buf_str(&command));
		e->tag = as_xcalloc(1, (size_t)(line - tag) + 1);
		memcpy(e->tag, tag, (size_t)(line - tag));
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
	if (!runtest->n) {
		as_runtest_free(runtest);
		return as_fail(err, AS_EUSE, "%s: no line is 'TAG COMMAND'", path);
	}
	*out = runtest;
	return 0;
}

void as_runtest_free(struct as_runtest *runtest)
{
	if (!runtest)
		return;
	for (size_t i = 0; i < runtest->n; i++) {
		free(runtest->lines[i].command);
		free(runtest->lines[i].tag);
	}
	free(runtest->lines);
	as_table_free(&runtest->table);
	free(runtest);
}

unsigned as_runtest_n(const struct as_runtest *runtest)
{
	return (unsigned)runtest->n;
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
	const struct runtest_line *found = NULL;
	const char *tag;

	if (len)
		memcpy(copy, args, len);
	/* The command as it is; from the name of a script on; after the -c of a shell. */
	for (unsigned i = 0; i < 4 && arg < end && !found; i++) {
		bool dash_c = !strcmp(arg, "-c");

		as_buf_clear(&command);
		if (!i || !strcmp(arg, program))
			join(arg, end, &command);
		else if (dash_c && arg + 3 < end)
			normal_line(arg + 3, strlen(arg + 3), &command);
		found = command.len ? look_up(runtest, &command) : NULL;
		arg += strlen(arg) + 1;
	}
	tag = found ? found->tag : NULL;
	as_buf_free(&command);
	free(copy);
	return tag;
}
