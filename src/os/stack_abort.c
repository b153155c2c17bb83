/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_abort: the assertion that a process has died of: its text, file and line. See stack.h.
 *
 * Two sources. glibc keeps the text of its own assert(), and of what it says of a damaged heap,
 * where a debugger finds it (__abort_msg). Others print a line and abort; then the last line that
 * names an assertion counts. Of both, the same is read: FILE:LINE, and what was to hold.
 */
#include "os/stack.h"

#include "base/buf.h"

#include <ctype.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define WORDS_MAX 120

void as_stack_catch_abort(void)
{
	as_stack_catch_text((struct as_abort_text *const *)dlvsym(RTLD_DEFAULT, "__abort_msg",
								  "GLIBC_PRIVATE"));
}

/* "FILE:LINE:" in a text: where the file begins, without its folders, and its length with the
 * line. NULL: there is none. */
static const char *find_place(const char *text, size_t *len)
{
	for (const char *s = strchr(text, ':'); s; s = strchr(s + 1, ':')) {
		const char *from = s, *end = s + 1;

		while (from > text && !isspace((unsigned char)from[-1]) && from[-1] != '/' &&
		       from[-1] != ':' && from[-1] != '(')
			from--;
		while (isdigit((unsigned char)*end))
			end++;
		if (end == s + 1 || (*end && !strchr(":, )\n", *end)) ||
		    !memchr(from, '.', (size_t)(s - from)))
			continue;
		*len = (size_t)(end - from);
		return from;
	}
	return NULL;
}

static bool is_assertion(const char *line)
{
	return strstr(line, "ssert") || strstr(line, "ASSERT") || strstr(line, "panic") ||
	       strstr(line, "BUG");
}

void as_stack_hear(struct as_stack *stack, const char *printed)
{
	char line[AS_STACK_ABORT_BYTES];
	size_t len, place;

	if (stack->abort[0] || (stack->signal != SIGABRT && stack->signal != SIGTRAP &&
				stack->signal != SIGILL && stack->signal != SIGSEGV))
		return;
	for (const char *at = printed; *at; at += len + (at[len] == '\n')) {
		len = strcspn(at, "\n");
		place = len < sizeof(line) - 1 ? len : sizeof(line) - 1;
		memcpy(line, at, place);
		line[place] = '\0';
		if (is_assertion(line) && find_place(line, &place))
			memcpy(stack->abort, line, sizeof(line));
	}
}

/* What was to hold, as far as the line says it. */
static void add_condition(const char *text, const char *after, struct as_buf *out)
{
	const char *from = strstr(text, "Assertion `"), *end;

	if (from) {
		from += strlen("Assertion ");
		end = strstr(from, "' failed");
		end = end ? end + 1 : from + strlen(from);
	} else {
		from = after + strspn(after, ": \t");
		end = from + strlen(from);
	}
	if (end > from + WORDS_MAX)
		end = from + WORDS_MAX;
	for (const char *s = from; s < end; s++) {
		bool digit = isdigit((unsigned char)*s);

		/* Values differ from run to run; what stands in quotes is the program's text. */
		if (!digit || *from == '`')
			as_buf_addc(out, *s);
		else if (s == from || !isdigit((unsigned char)s[-1]))
			as_buf_addc(out, '#');
	}
}

/* How what glibc says of a heap begins. */
static const char *const heap_words[] = {
	"malloc(): ",
	"malloc_consolidate(): ",
	"calloc(): ",
	"realloc(): ",
	"free(): ",
	"munmap_chunk(): ",
	"sysmalloc: ",
	"mremap_chunk(): ",
	"corrupted size",
	"corrupted double-linked list",
	"break adjusted to free malloc space",
	"invalid fastbin entry",
	"Fatal glibc error: malloc", /* its own assertions, since 2.37 */
};

bool as_stack_is_heap(const struct as_stack *stack)
{
	char text[AS_STACK_ABORT_BYTES];

	memcpy(text, stack->abort, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	if (stack->signal != SIGABRT || strstr(text, "double free"))
		return false;
	for (size_t i = 0; i < sizeof(heap_words) / sizeof(heap_words[0]); i++)
		if (!strncmp(text, heap_words[i], strlen(heap_words[i])))
			return true;
	/* malloc() has assertions, too. */
	return is_assertion(text) && strstr(text, "malloc.c:");
}

void as_stack_assertion(const struct as_stack *stack, struct as_buf *out)
{
	char text[AS_STACK_ABORT_BYTES];
	const char *place;
	size_t len;

	memcpy(text, stack->abort, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (char *s = text; *s; s++)
		*s = (unsigned char)*s < ' ' ? ' ' : *s;
	len = strlen(text);
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
	if (!len)
		return;
	place = is_assertion(text) ? find_place(text, &len) : NULL;
	if (!place) {
		as_buf_addf(out, ": %.*s", WORDS_MAX, text);
		return;
	}
	as_buf_adds(out, ": assertion ");
	add_condition(text, place + len, out);
	as_buf_addf(out, " at %.*s", (int)len, place);
}
