/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checker_words: see checker_words.h; what lines mean is in target/checker.def. */
#include "symptom/checker_words.h"

#include "base/finding.h"
#include "target/checkers.h"

#include <ctype.h>
#include <string.h>

#define PROBLEM_BYTES 160 /* of a line that is kept */

enum rank { SAYS_NOTHING, SAYS_WHAT_IS_MILD, SAYS_WHAT_FOLLOWS, SAYS_A_PROBLEM };

static const enum rank ranks[] = {
	[AS_LINE_NOISE] = SAYS_NOTHING,
	[AS_LINE_HAS_NOISE] = SAYS_NOTHING,
	[AS_LINE_DID] = SAYS_NOTHING,
	[AS_LINE_FOLLOWS] = SAYS_WHAT_FOLLOWS,
	[AS_LINE_HAS_FOLLOWS] = SAYS_WHAT_FOLLOWS,
	[AS_LINE_TELLS] = SAYS_WHAT_FOLLOWS,
	[AS_LINE_HAS_MILD] = SAYS_WHAT_IS_MILD,
	[AS_LINE_HARMLESS] = SAYS_WHAT_IS_MILD,
};

/* What we say of a checker that could not end its own output (mount/mount_check.c). */
static const struct as_checker_line ours[] = {
	{ AS_LINE_HAS_FOLLOWS, "the checker did not end within" },
	{ AS_LINE_HAS_FOLLOWS, "the checker died of" },
	{ AS_LINE_NOISE, NULL },
};

/* What is known of the lines of a checker, "" for a library's; NULL: nothing. */
static const struct as_checker_line *lines_of(const char *command)
{
	const struct as_checker *checker = as_checker_find(command);

	return checker ? checker->lines : NULL;
}

/* What is harmless after something else need not be in order by itself. */
static bool ranks_by(const struct as_checker_line *row)
{
	return row->meaning != AS_LINE_HARMLESS || !strchr(row->text, '>');
}

static enum rank rank_of(const struct as_checker_line *rows, const char *output, const char *line,
			 size_t len)
{
	bool has_letter = false;

	for (size_t i = 0; i < len; i++)
		has_letter = has_letter || isalpha((unsigned char)line[i]) ||
			     (unsigned char)line[i] >= 0x80;
	if (!has_letter)
		return SAYS_NOTHING;
	for (; rows && rows->text; rows++)
		if (ranks_by(rows) && as_checker_line_fits(rows, output, line, len))
			return ranks[rows->meaning];
	for (rows = ours; rows->text; rows++)
		if (as_checker_line_fits(rows, output, line, len))
			return ranks[rows->meaning];
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
	const struct as_checker_line *rows = lines_of(command);
	const char *all = output, *found = NULL;
	enum rank best = SAYS_NOTHING;
	size_t found_len = 0;

	while (*output && best < SAYS_A_PROBLEM) {
		size_t len = strcspn(output, "\n"), blank = strspn(output, " ");
		const char *line = blank < len ? output + blank : output;
		size_t line_len = len - (size_t)(line - output);
		enum rank rank = rank_of(rows, all, line, line_len);

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

	for (const struct as_checker_line *row = lines_of(command); row && row->text; row++) {
		const char *at = row->meaning == AS_LINE_NAME ? strstr(text, row->text) : NULL;

		if (at && (!first || at + strlen(row->text) < first))
			first = at + strlen(row->text);
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
