/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checkers: see checkers.h. This file holds the table, and says what statuses and lines mean. */
#include "target/checkers.h"

#include <stdlib.h>
#include <string.h>

#define MIB *(UINT64_C(1) << 20)
#define UNPACK(...) __VA_ARGS__

#define QUICK AS_CHECK_QUICK
#define DEFAULT AS_CHECK_DEFAULT
#define FULL AS_CHECK_FULL
#define LOOK AS_CHECK_LOOK
#define OTHER AS_CHECK_OTHER
#define NONE AS_CHECK_WAYS

/* What belongs to a row are arrays of their own; each ends with zeros. */
#define TEST(n, repair_way, again_way, look_way, ...) \
	{ .name = n, .repair = repair_way, .again = again_way, .look = look_way, __VA_ARGS__ },
#define LINE(word, words) { AS_LINE_##word, words },
#define CHECKER(id, program, how, testing, saying)                                  \
	static const struct as_checker_test tests_##id[] = { UNPACK testing{ 0 } }; \
	static const struct as_checker_line lines_##id[] = { UNPACK saying{ AS_LINE_NOISE, NULL } };
#include "target/checker.def"
#undef CHECKER

static const struct as_checker table[] = {
#define CHECKER(id, program, how, testing, saying) \
	{ .name = program, .tests = tests_##id, .lines = lines_##id, UNPACK how },
#include "target/checker.def"
#undef CHECKER
};

const struct as_checker *as_checker_at(unsigned i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct as_checker *as_checker_find(const char *command)
{
	size_t len = strcspn(command, " ");
	const char *slash = memrchr(command, '/', len);
	const char *name = slash ? slash + 1 : command;

	len -= (size_t)(name - command);
	for (unsigned i = 0; as_checker_at(i); i++)
		if (strlen(table[i].name) == len && !memcmp(table[i].name, name, len))
			return &table[i];
	return NULL;
}

const struct as_checker_test *as_checker_test_at(unsigned i, const struct as_checker **checker)
{
	for (unsigned k = 0; as_checker_at(k); k++)
		for (const struct as_checker_test *test = table[k].tests; test->name; test++) {
			if (i--)
				continue;
			if (checker)
				*checker = &table[k];
			return test;
		}
	return NULL;
}

const char *as_check_mode_name(enum as_check_mode mode)
{
	static const char *const names[AS_CHECK_MODES] = { "quick", "default", "full" };

	return names[mode];
}

/* ---- Exit statuses --------------------------------------------------------------------------- */

static const char *const answer_names[AS_CHECK_ANSWERS] = {
	[AS_CHECK_CLEAN] = "clean",
	[AS_CHECK_REPAIRED] = "repaired",
	[AS_CHECK_REPAIRED_LEFT] = "repaired+left",
	[AS_CHECK_LEFT] = "left",
	[AS_CHECK_FAILED] = "failed",
};

const char *as_check_answer_name(enum as_check_answer answer)
{
	return answer_names[answer];
}

/* Reads one word "N=MEANING" or "N-M=MEANING"; returns what follows it, NULL: it makes no sense. */
static const char *read_exit(const char *s, long *from, long *to, enum as_check_answer *answer)
{
	char *end;
	size_t len;

	*from = *to = strtol(s, &end, 10);
	if (end == s)
		return NULL;
	if (*end == '-') {
		s = end + 1;
		*to = strtol(s, &end, 10);
		if (end == s)
			return NULL;
	}
	if (*end != '=' || *from < 0 || *to > 255 || *to < *from)
		return NULL;
	s = end + 1;
	len = strcspn(s, " ");
	for (int i = 0; i < AS_CHECK_ANSWERS; i++) {
		const char *name = answer_names[i];

		if (strlen(name) == len && !memcmp(name, s, len)) {
			*answer = (enum as_check_answer)i;
			return s + len + strspn(s + len, " ");
		}
	}
	return NULL;
}

bool as_exits_find(const char *exits, int status, enum as_check_answer *answer)
{
	long from, to;

	while (exits && *exits) {
		exits = read_exit(exits, &from, &to, answer);
		if (exits && status >= from && status <= to)
			return true;
	}
	*answer = AS_CHECK_FAILED;
	return false;
}

int as_exits_vet(const char *exits, struct as_err *err)
{
	const char *s = exits + strspn(exits, " ");
	enum as_check_answer answer;
	bool named[256] = { false };
	long from, to;

	if (!*s)
		return as_fail(err, AS_EUSE, "--exits: no status is named");
	while (*s) {
		const char *word = s;

		s = read_exit(s, &from, &to, &answer);
		for (long i = from; s && i <= to; i++) {
			if (named[i])
				return as_fail(err, AS_EUSE,
					       "--exits: %.*s: %ld has a meaning already",
					       (int)strcspn(word, " "), word, i);
			named[i] = true;
		}
		if (!s)
			return as_fail(
				err, AS_EUSE,
				"--exits: %.*s: expected STATUS=MEANING or FIRST-LAST=MEANING, "
				"with clean, repaired, repaired+left, left or failed",
				(int)strcspn(word, " "), word);
	}
	return 0;
}

enum as_check_answer as_checker_answer(const struct as_checker *checker, bool looks,
				       int exit_status, const char *output, bool *documented)
{
	const char *exits = looks && checker->look_exits ? checker->look_exits : checker->exits;
	enum as_check_answer answer;
	bool found = as_exits_find(exits, exit_status, &answer);

	if (documented)
		*documented = found;
	return checker->done && !strstr(output, checker->done) ? AS_CHECK_FAILED : answer;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool begins(const char *line, size_t len, const char *text)
{
	size_t n = strlen(text);

	return n <= len && !memcmp(line, text, n);
}

/* The next line, without the blanks before it; *len is 0 for an empty one. NULL: there is none. */
static const char *next_line(const char **output, size_t *len)
{
	const char *line = *output;
	size_t n = strcspn(line, "\n"), blank = strspn(line, " ");

	if (!*line)
		return NULL;
	*output += n + (line[n] == '\n');
	blank = blank < n ? blank : n;
	*len = n - blank;
	return line + blank;
}

static bool has_line(const char *output, const char *text)
{
	const char *line;
	size_t len;

	while ((line = next_line(&output, &len)))
		if (len == strlen(text) && !memcmp(line, text, len))
			return true;
	return false;
}

/* "TEXT", "BEFORE>TEXT" or "TEXT<LINE". */
static bool fits_harmless(const char *text, const char *output, const char *line, size_t len)
{
	const char *before = strchr(text, '>'), *after = strchr(text, '<');

	if (before)
		return memmem(line, len, before + 1, strlen(before + 1)) &&
		       memmem(output, (size_t)(line - output), text, (size_t)(before - text));
	if (after)
		return memmem(line, len, text, (size_t)(after - text)) &&
		       has_line(line + len, after + 1);
	return memmem(line, len, text, strlen(text));
}

bool as_checker_line_fits(const struct as_checker_line *row, const char *output, const char *line,
			  size_t len)
{
	switch (row->meaning) {
	case AS_LINE_HAS_NOISE:
	case AS_LINE_HAS_FOLLOWS:
	case AS_LINE_HAS_MILD:
		return memmem(line, len, row->text, strlen(row->text));
	case AS_LINE_HARMLESS:
		return fits_harmless(row->text, output, line, len);
	case AS_LINE_NAME:
		return false;
	default:
		return begins(line, len, row->text);
	}
}

static bool is_harmless(const struct as_checker *checker, const char *output, const char *line,
			size_t len)
{
	for (const struct as_checker_line *row = checker->lines; row && row->text; row++)
		if (row->meaning == AS_LINE_HARMLESS &&
		    as_checker_line_fits(row, output, line, len))
			return true;
	return false;
}

static bool has_one(const char *line, size_t len, const char *texts)
{
	while (*texts) {
		size_t n = strcspn(texts, "|");

		if (memmem(line, len, texts, n))
			return true;
		texts += n + (texts[n] == '|');
	}
	return false;
}

static bool tells_of_repair(const struct as_checker *checker, const char *output, const char *line,
			    size_t len)
{
	if (checker->asks)
		return has_one(line, len, checker->asks);
	for (const struct as_checker_line *row = checker->lines; row && row->text; row++)
		if (as_checker_line_fits(row, output, line, len))
			return row->meaning != AS_LINE_NOISE && row->meaning != AS_LINE_HAS_NOISE &&
			       row->meaning != AS_LINE_TELLS;
	return len;
}

enum as_check_answer as_checker_judge(const struct as_checker *checker, bool looks, int exit_status,
				      const char *output)
{
	enum as_check_answer answer = as_checker_answer(checker, looks, exit_status, output, NULL);
	const char *rest = output, *line;
	bool harmless = false;
	size_t len;

	if (answer != AS_CHECK_REPAIRED)
		return answer;
	while ((line = next_line(&rest, &len))) {
		bool known = is_harmless(checker, output, line, len);

		if (!known && tells_of_repair(checker, output, line, len))
			return answer;
		harmless = harmless || known;
	}
	return harmless ? AS_CHECK_CLEAN : answer;
}
