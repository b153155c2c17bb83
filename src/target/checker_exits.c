/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checker_exits: see checker_exits.h. */
#include "target/checker_exits.h"

#include "target/fstype.h"

#include <stdlib.h>
#include <string.h>

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

enum as_check_answer as_fstype_answer(const struct as_checker *checker, int exit_status)
{
	const char *s = checker->exits;

	while (s && *s) {
		char *end;
		long status = strtol(s, &end, 10);
		size_t len = strcspn(end, " ");

		for (int i = 0; status == exit_status && i < AS_CHECK_ANSWERS; i++)
			if (strlen(answer_names[i]) == len - 1 &&
			    !memcmp(answer_names[i], end + 1, len - 1))
				return (enum as_check_answer)i;
		s = end + len + (end[len] == ' ');
	}
	return AS_CHECK_FAILED;
}

static bool has_word(const char *line, size_t len, const char *word)
{
	return memmem(line, len, word, strlen(word));
}

/* Whether a line has one of several words, which are separated by '|'. One of the form
 * BEFORE>WORD counts if a line before had the first half. */
static bool has_one(const char *output, const char *line, size_t len, const char *words)
{
	while (*words) {
		size_t n = strcspn(words, "|"), before = strcspn(words, ">|");
		const char *word = before < n ? words + before + 1 : words;

		if (memmem(line, len, word, (size_t)(words + n - word)) &&
		    (word == words || memmem(output, (size_t)(line - output), words, before)))
			return true;
		words += n + (words[n] == '|');
	}
	return false;
}

static bool tells_of_repair(const struct as_checker *checker, const char *line, size_t len)
{
	const char *start = checker->progress;

	if (!start)
		return has_word(line, len, "? yes") || has_word(line, len, "FIXED");
	while (*start && len) {
		size_t n = strcspn(start, "|");

		if (n <= len && !memcmp(line, start, n))
			return false;
		start += n + (start[n] == '|');
	}
	return len;
}

enum as_check_answer as_fstype_judge(const struct as_checker *checker, int exit_status,
				     const char *output)
{
	enum as_check_answer answer = as_fstype_answer(checker, exit_status);
	const char *line = output;
	bool harmless = false;

	if (answer != AS_CHECK_REPAIRED || !checker->harmless)
		return answer;
	while (*line) {
		size_t len = strcspn(line, "\n");
		bool known = has_one(output, line, len, checker->harmless);

		if (!known && tells_of_repair(checker, line, len))
			return answer;
		harmless = harmless || known;
		line += len + (line[len] == '\n');
	}
	return harmless ? AS_CHECK_CLEAN : answer;
}
