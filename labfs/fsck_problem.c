/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsck_problem.c: the messages of the checker. Every problem is one line made from problem.def:
 *
 *	[202 DIR_DOT_INO] directory 1: "." is inode 9: set to 1
 */
#include "fsck_state.h"

#include <stdarg.h>
#include <stdio.h>

const struct lab_problem lab_problem[] = {
#define LAB_PROBLEM(code, id, text, fix, preen) { code, #id, text, fix, preen },
#include "problem.def"
#undef LAB_PROBLEM
};
const unsigned lab_problem_count = sizeof(lab_problem) / sizeof(lab_problem[0]);

#define LINE_BYTES 512

struct line {
	char text[LINE_BYTES];
	size_t len;
};

static void put(struct line *line, char c)
{
	/* Names on a damaged disk may hold any byte; a log line holds only printable text. */
	if (line->len < LINE_BYTES - 1)
		line->text[line->len++] = c >= ' ' && c < 127 ? c : '?';
	line->text[line->len] = '\0';
}

static void put_number(struct line *line, uint64_t number, bool octal)
{
	char digits[24];

	snprintf(digits, sizeof(digits), octal ? "0%llo" : "%llu", (unsigned long long)number);
	for (const char *d = digits; *d; d++)
		put(line, *d);
}

static void put_text(struct line *line, const struct lab_ck_what *what)
{
	const char *text = what->text ? what->text : "";

	for (unsigned i = 0; what->text_len ? i < what->text_len : text[i]; i++)
		put(line, text[i]);
}

static void expand(struct line *line, const char *from, const struct lab_ck_what *what)
{
	for (; *from; from++) {
		if (*from != '%') {
			put(line, *from);
			continue;
		}
		switch (*++from) {
		case 'i':
			put_number(line, what->ino, false);
			break;
		case 'd':
			put_number(line, what->dir, false);
			break;
		case 'b':
			put_number(line, what->block, false);
			break;
		case 'n':
			put_number(line, what->num, false);
			break;
		case 'm':
			put_number(line, what->num2, false);
			break;
		case 'o':
			put_number(line, what->num, true);
			break;
		case 'p':
			put_number(line, what->num2, true);
			break;
		default:
			put_text(line, what);
		}
	}
}

void lab_ck_problem(struct lab_ck *ck, enum lab_problem_id id, const struct lab_ck_what *what)
{
	const struct lab_problem *row = &lab_problem[id];
	struct line line = { .len = 0 };

	ck->problems++;
	line.len = (size_t)snprintf(line.text, sizeof(line.text), "[%03d %s] ", row->code, row->id);
	expand(&line, row->text, what);
	expand(&line, ck->readonly ? " (" : ": ", what);
	expand(&line, row->fix, what);
	expand(&line, ck->readonly ? " if allowed to)" : "", what);
	ck->host->log(ck->host->ctx, line.text);
}

void lab_ck_say(struct lab_ck *ck, const char *format, ...)
{
	char text[LINE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ck->host->log(ck->host->ctx, text);
}
