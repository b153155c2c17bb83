/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_filter: which paths are asked for. The filter accepts a path if the expression matches the
 * beginning of the path, up to the end of a component. So it also accepts everything below such a
 * path. Most questions are answered without the expression, by the letters that a match must begin
 * with. Names remember the answer (world_names.c).
 */
#include "calls/world_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes at the beginning are plain characters, and whether the expression ends after them.
 * A character before a repetition, or an expression with alternatives, does not count. */
static size_t literal_part(const char *regex, bool *whole)
{
	size_t n = strcspn(regex, ".[]\\()*+?{}|^$");

	*whole = !regex[n];
	if (strchr(regex, '|')) {
		/* Inside of parentheses an alternative would not matter, but only the simple case
		 * is handled. */
		const char *open = strchr(regex, '('), *bar = strchr(regex, '|');
		const char *close = strrchr(regex, ')');

		if (!open || bar < open || !close || strchr(close, '|'))
			return 0;
		for (const char *s = regex, *depth = NULL; *s; s++) {
			if (*s == '\\' || *s == '[')
				return 0;
			if (*s == '(' && depth)
				return 0;
			if (*s == '(')
				depth = s;
			if (*s == '|' && !depth)
				return 0;
			if (*s == ')')
				depth = NULL;
		}
	}
	if (n && regex[n] && strchr("*?{+", regex[n]))
		n--;
	return n;
}

int as_filter_open(struct as_filter *filter, const char *under, struct as_err *err)
{
	const char *begin = under;
	char *anchored, why[200];
	size_t len;
	int rc;

	if (!under) {
		filter->any = true;
		return 0;
	}
	begin += *begin == '^';
	filter->text_len = literal_part(begin, &filter->literal);
	filter->text = as_xcalloc(1, filter->text_len + 1);
	memcpy(filter->text, begin, filter->text_len);
	/* "/mnt/test/" means what "/mnt/test" does. */
	while (filter->literal && filter->text_len && filter->text[filter->text_len - 1] == '/')
		filter->text[--filter->text_len] = 0;
	if (filter->literal)
		return 0;
	/* It is compiled alone first: parentheses around a wrong expression could make it right. */
	rc = regcomp(&filter->regex, begin, REG_EXTENDED | REG_NOSUB);
	if (!rc) {
		regfree(&filter->regex);
		len = strlen(begin) + sizeof("^()(/|$)");
		anchored = as_xmalloc(len);
		snprintf(anchored, len, "^(%s)(/|$)", begin);
		rc = regcomp(&filter->regex, anchored, REG_EXTENDED | REG_NOSUB);
		filter->compiled = !rc;
		free(anchored);
	}
	if (!rc)
		return 0;
	regerror(rc, &filter->regex, why, sizeof(why));
	return as_fail(err, AS_EUSE, "--under: '%s' is not a regular expression: %s", under, why);
}

void as_filter_close(struct as_filter *filter)
{
	free(filter->text);
	if (filter->compiled)
		regfree(&filter->regex);
}

bool as_filter_has(const struct as_filter *filter, const char *path, unsigned len)
{
	if (filter->any)
		return true;
	if (len < filter->text_len || memcmp(path, filter->text, filter->text_len) != 0)
		return false;
	if (filter->literal)
		return len == filter->text_len || path[filter->text_len] == '/';
	return !regexec(&filter->regex, path, 0, NULL, 0);
}
