/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bug.c: the tables that bug.h declares, and the parser of the options.
 */
#include "bug.h"

#include <errno.h>
#include <string.h>

_Static_assert(LAB_FLUSH_COUNT <= 32, "noflush is a 32-bit mask");

static const struct lab_bug_row bug_rows[] = {
#define LAB_BUG(number, id, class, what, ancestor, command, budget_s) \
	{ number, LAB_CLASS_##class, #id, what, ancestor, command, budget_s },
#include "bugs.def"
#undef LAB_BUG
};

static const struct lab_flush_row flush_rows[] = {
#define LAB_FLUSH_SITE(id, where, why) { #id, where, why },
#include "flush.def"
#undef LAB_FLUSH_SITE
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const struct lab_bug_row *lab_bug_row(unsigned i)
{
	return i < COUNT(bug_rows) ? &bug_rows[i] : NULL;
}

const struct lab_flush_row *lab_flush_row(unsigned i)
{
	return i < COUNT(flush_rows) ? &flush_rows[i] : NULL;
}

const char *lab_bug_class_name(enum lab_bug_class class)
{
	static const char *const names[] = {
		[LAB_CLASS_SEMANTICS] = "semantics", [LAB_CLASS_DOGFOOD] = "dogfood",
		[LAB_CLASS_LEAK] = "leak",	     [LAB_CLASS_FAULT] = "fault",
		[LAB_CLASS_CRASH] = "crash",	     [LAB_CLASS_RECOVERY] = "recovery",
		[LAB_CLASS_CHECKER] = "checker",     [LAB_CLASS_RULES] = "rules",
		[LAB_CLASS_LIMITS] = "limits",
	};

	return (unsigned)class < COUNT(names) ? names[class] : "unknown";
}

static int choose_bug(struct lab_opts *opts, const char *text, size_t len)
{
	unsigned number = 0;

	if (!len || len > 3)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		number = number * 10 + (unsigned)(text[i] - '0');
	}
	for (unsigned i = 0; i < COUNT(bug_rows); i++) {
		if (bug_rows[i].number == number) {
			opts->bugs[number / 64] |= (uint64_t)1 << number % 64;
			return 0;
		}
	}
	return -EINVAL;
}

static int choose_noflush(struct lab_opts *opts, const char *text, size_t len)
{
	for (unsigned i = 0; i < COUNT(flush_rows); i++) {
		if (strlen(flush_rows[i].id) == len && !memcmp(flush_rows[i].id, text, len)) {
			opts->noflush |= (uint32_t)1 << i;
			return 0;
		}
	}
	return -EINVAL;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(text, word, len);
}

static int choose(struct lab_opts *opts, const char *text, size_t len)
{
	if (!len)
		return 0;
	if (len > 4 && !memcmp(text, "bug=", 4))
		return choose_bug(opts, text + 4, len - 4);
	if (len > 8 && !memcmp(text, "noflush=", 8))
		return choose_noflush(opts, text + 8, len - 8);
	if (is_word(text, len, "nobarrier"))
		opts->noflush = UINT32_MAX;
	else if (is_word(text, len, "commit=every"))
		opts->commit_every = true;
	else if (is_word(text, len, "queue"))
		opts->queue = true;
	else if (is_word(text, len, "ro"))
		opts->readonly = true, opts->writable = false;
	else if (is_word(text, len, "rw"))
		opts->writable = true, opts->readonly = false;
	else
		return -EINVAL;
	return 0;
}

int lab_opts_parse(const char *text, struct lab_opts *opts)
{
	int rc = 0;

	while (text && *text && !rc) {
		size_t len = strcspn(text, ",");

		rc = choose(opts, text, len);
		text += len;
		if (*text)
			text++;
	}
	opts->queue |= lab_bug_chosen(opts, LAB_BUG_NO_WAIT) ||
		       lab_bug_chosen(opts, LAB_BUG_NO_FUA) ||
		       lab_bug_chosen(opts, LAB_BUG_FUA_ALONE);
	return rc;
}
