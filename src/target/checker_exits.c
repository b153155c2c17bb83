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

/* Whether a line has one of several words, which are separated by '|'. */
static bool has_one(const char *line, size_t len, const char *words)
{
	while (*words) {
		size_t n = strcspn(words, "|");

		if (memmem(line, len, words, n))
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
	bool harmless = false;

	if (answer != AS_CHECK_REPAIRED || !checker->harmless)
		return answer;
	while (*output) {
		size_t len = strcspn(output, "\n");
		bool known = has_one(output, len, checker->harmless);

		if (!known && tells_of_repair(checker, output, len))
			return answer;
		harmless = harmless || known;
		output += len + (output[len] == '\n');
	}
	return harmless ? AS_CHECK_CLEAN : answer;
}
