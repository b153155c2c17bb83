/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checker_words: see checker_words.h; the lines are in checker_words.def. */
#include "symptom/checker_words.h"

#include "base/finding.h"

#include <ctype.h>
#include <string.h>

#define PROBLEM_BYTES 160 /* of a line that is kept */

enum meaning { NOISE, HAS_NOISE, FOLLOWS, HAS_FOLLOWS, HAS_MILD, NAME };

static const struct row {
	const char *program;
	enum meaning meaning;
	const char *words;
} rows[] = {
#define WORDS(program, meaning, words) { program, meaning, words },
#include "symptom/checker_words.def"
#undef WORDS
};

#define NROWS (sizeof(rows) / sizeof(*rows))

/* "/sbin/e2fsck -fn" is e2fsck. */
static bool is_of(const struct row *row, const char *command)
{
	size_t len = strcspn(command, " ");

	while (memchr(command, '/', len)) {
		size_t skip = (size_t)((const char *)memchr(command, '/', len) - command) + 1;

		command += skip;
		len -= skip;
	}
	return !strcmp(row->program, "*") ||
	       (strlen(row->program) == len && !memcmp(row->program, command, len));
}

static bool fits(const struct row *row, const char *line, size_t len)
{
	size_t n = strlen(row->words);

	if (row->meaning == HAS_NOISE || row->meaning == HAS_FOLLOWS || row->meaning == HAS_MILD)
		return memmem(line, len, row->words, n);
	return row->meaning != NAME && n <= len && !memcmp(line, row->words, n);
}

enum rank { SAYS_NOTHING, SAYS_WHAT_IS_MILD, SAYS_WHAT_FOLLOWS, SAYS_A_PROBLEM };

static const enum rank ranks[] = {
	[NOISE] = SAYS_NOTHING,		[HAS_NOISE] = SAYS_NOTHING,
	[FOLLOWS] = SAYS_WHAT_FOLLOWS,	[HAS_FOLLOWS] = SAYS_WHAT_FOLLOWS,
	[HAS_MILD] = SAYS_WHAT_IS_MILD,
};

static enum rank rank_of(const char *command, const char *line, size_t len)
{
	bool has_letter = false;

	for (size_t i = 0; i < len; i++)
		has_letter = has_letter || isalpha((unsigned char)line[i]) ||
			     (unsigned char)line[i] >= 0x80;
	if (!has_letter)
		return SAYS_NOTHING;
	for (size_t i = 0; i < NROWS; i++)
		if (is_of(&rows[i], command) && fits(&rows[i], line, len))
			return ranks[rows[i].meaning];
	return SAYS_A_PROBLEM;
}

/* The length without "  Clear? no" or " FIXED.": what was done about it is not the problem. */
static size_t without_question(const char *line, size_t len)
{
	const char *mark = memrchr(line, '?', len);
	size_t at = mark ? (size_t)(mark - line) : 0;

	while (at > 1 && !(line[at] == ' ' && line[at - 1] == ' '))
		at--;
	if (at > 1)
		len = at;
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	return len;
}

bool as_checker_problem(const char *command, const char *output, struct as_buf *out)
{
	enum rank best = SAYS_NOTHING;
	const char *found = NULL;
	size_t found_len = 0;

	while (*output && best < SAYS_A_PROBLEM) {
		size_t len = strcspn(output, "\n"), blank = strspn(output, " ");
		const char *line = blank < len ? output + blank : output;
		size_t line_len = len - (size_t)(line - output);
		enum rank rank = rank_of(command, line, line_len);

		if (rank > best) {
			best = rank;
			found = line;
			found_len = without_question(line, line_len);
		}
		output += len + (output[len] == '\n');
	}
	if (found)
		as_buf_add(out, found, found_len < PROBLEM_BYTES ? found_len : PROBLEM_BYTES);
	return found;
}

/* Where a name begins that is not quoted; NULL: there is none. */
static const char *bare_name(const char *command, const char *text)
{
	const char *first = NULL;

	for (size_t i = 0; i < NROWS; i++) {
		const char *at = rows[i].meaning == NAME && is_of(&rows[i], command)
					 ? strstr(text, rows[i].words)
					 : NULL;

		if (at && (!first || at + strlen(rows[i].words) < first))
			first = at + strlen(rows[i].words);
	}
	return first && *first && *first != '"' && *first != '\'' ? first : NULL;
}

/* "[303 UNCONNECTED] inode 12 ...": a problem with a name of its own is known by it. */
static size_t tag_len(const char *text)
{
	size_t digits = *text == '[' ? strspn(text + 1, "0123456789") : 0;
	size_t word = digits && text[1 + digits] == ' '
			      ? strspn(text + 2 + digits, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
			      : 0;

	return word && text[2 + digits + word] == ']' ? 2 + digits : 0;
}

void as_checker_problem_sign(const char *command, const char *problem, struct as_buf *out)
{
	size_t tag = tag_len(problem);
	const char *name = bare_name(command, problem);
	struct as_buf head = { 0 };

	if (tag) {
		as_buf_add(out, problem + tag, strcspn(problem + tag, "]"));
		return;
	}
	if (name) {
		as_buf_add(&head, problem, (size_t)(name - problem));
		as_signature_add(out, as_buf_str(&head));
		as_buf_adds(out, "NAME");
		problem = name + strcspn(name, " ,");
	}
	as_signature_add(out, problem);
	as_buf_free(&head);
}
