/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_filter: which paths are asked for. A filter is a path, or a regular expression. It has a
 * path if it is, or matches, a beginning of it that ends at a component; so it has all that is
 * below a path that it has. Most questions about an expression are answered without it, by the
 * letters that a match must begin with. Names remember the answer (world_names.c).
 */
#include "calls/world_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes at the beginning stand for themselves. What a repetition or an alternative applies
 * to does not count. */
static size_t literal_part(const char *regex)
{
	size_t n = strcspn(regex, ".[]\\()*+?{}|^$");

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

/* The path without ".", ".." and double slashes, and without a slash at its end: "" is the root. It
 * is as the names of the world are (world_names.c): symbolic links are not followed. */
static char *plain(const char *path)
{
	char *out = as_xcalloc(1, strlen(path) + 1);
	size_t len = 0;

	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			while (len && out[--len] != '/')
				;
		} else if (n && !(n == 1 && *path == '.')) {
			out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		path += n + (path[n] == '/');
	}
	out[len] = 0;
	return out;
}

static int open_path(struct as_filter *filter, const char *under, struct as_err *err)
{
	if (*under != '/')
		return as_fail(err, AS_EUSE, "--under: '%s' is not an absolute path", under);
	filter->literal = true;
	filter->text = plain(under);
	filter->text_len = strlen(filter->text);
	return 0;
}

static int open_regex(struct as_filter *filter, const char *under, struct as_err *err)
{
	const char *begin = under + (*under == '^');
	char *anchored, why[200];
	size_t len;
	int rc;

	filter->text_len = literal_part(begin);
	filter->text = as_xstrndup(begin, filter->text_len);
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
	return as_fail(err, AS_EUSE, "--under-regex: '%s' is not a regular expression: %s", under,
		       why);
}

int as_filter_open(struct as_filter *filter, const struct as_world_options *options,
		   struct as_err *err)
{
	if (options->under && options->under_regex)
		return as_fail(err, AS_EUSE,
			       "--under and --under-regex exclude each other: give one of them");
	if (options->under)
		return open_path(filter, options->under, err);
	if (options->under_regex)
		return open_regex(filter, options->under_regex, err);
	filter->any = true;
	return 0;
}

char *as_world_under_text(const struct as_world_options *options)
{
	static const char what[] = " (regular expression)";
	size_t len;
	char *out;

	if (options->under)
		return as_xstrdup(options->under);
	if (!options->under_regex)
		return NULL;
	len = strlen(options->under_regex) + sizeof(what);
	out = as_xmalloc(len);
	snprintf(out, len, "%s%s", options->under_regex, what);
	return out;
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
