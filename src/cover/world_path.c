/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * world_path: paths made absolute, and the filter.
 *
 * A path is taken as it is written: "." and "..", double and trailing slashes go, symbolic links
 * are not followed (a trace does not say where they lead).
 *
 * The filter has a path if the expression matches a beginning of it that ends at a component. Most
 * questions are answered without the expression: by the letters it must begin with, by the answers
 * given before (a table that forgets), by the answer for the directory.
 */
#include "base/hash.h"
#include "cover/world_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

/* ---- The filter ------------------------------------------------------------------------------ */

/* How many bytes stand for themselves, and whether nothing else comes behind them. What a
 * repetition or an alternative applies to does not count. */
static size_t literal_part(const char *regex, bool *whole)
{
	size_t n = strcspn(regex, ".[]\\()*+?{}|^$");

	*whole = !regex[n];
	if (strchr(regex, '|')) {
		/* Only inside of parentheses may it be ignored; keep to the simple case. */
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
	/* By itself first: parentheses around a wrong one could make it right. */
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

static bool begins(const struct as_filter *filter, const char *path, unsigned len)
{
	return len >= filter->text_len && !memcmp(path, filter->text, filter->text_len);
}

static bool ask(struct as_filter *filter, const char *path, unsigned len, uint64_t hash)
{
	uint64_t *slot = &filter->verdicts[(hash >> 8) % AS_WORLD_VERDICTS];
	bool in;

	if ((*slot | 1) == (hash | 1) && *slot)
		return *slot & 1;
	if (path[len]) {
		/* A directory out of a longer path. */
		char copy[AS_WORLD_PATH_MAX + 1];

		if (len > AS_WORLD_PATH_MAX)
			return false;
		memcpy(copy, path, len);
		copy[len] = 0;
		in = !regexec(&filter->regex, copy, 0, NULL, 0);
	} else {
		in = !regexec(&filter->regex, path, 0, NULL, 0);
	}
	*slot = (hash & ~1ull) | in;
	return in;
}

bool as_filter_has(struct as_filter *filter, const char *path, unsigned len, uint64_t hash)
{
	unsigned dir = len;

	if (filter->any)
		return true;
	if (!begins(filter, path, len))
		return false;
	if (filter->literal)
		return len == filter->text_len || path[filter->text_len] == '/';
	while (dir && path[dir - 1] != '/')
		dir--;
	if (dir > 1 && ask(filter, path, dir - 1, XXH3_64bits(path, dir - 1)))
		return true;
	return ask(filter, path, len, hash);
}

/* ---- Places ---------------------------------------------------------------------------------- */

struct as_place *as_place_of(const struct as_resolved *path)
{
	struct as_place *place;

	if (!path->known)
		return NULL;
	place = as_xmalloc(sizeof(*place) + path->len + 1);
	place->refs = 1;
	place->len = path->len;
	place->in = path->in;
	memcpy(place->text, path->text, path->len);
	place->text[path->len] = 0;
	return place;
}

struct as_place *as_place_new(struct as_world *w, const char *path, unsigned len)
{
	struct as_resolved out;

	as_world_resolve(w, NULL, NULL, path, len, 0, &out);
	return as_place_of(&out);
}

void as_place_drop(struct as_place *place)
{
	if (place && !--place->refs)
		free(place);
}

/* ---- Absolute paths -------------------------------------------------------------------------- */

/* Appends the components of `path`; *at is the length so far, 0 is the root. */
static void append(char *text, unsigned *at, const char *path, unsigned len)
{
	const char *end = path + len;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		unsigned n = (unsigned)((slash ? slash : end) - path);

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			while (*at && text[*at - 1] != '/')
				--*at;
			*at -= *at > 0;
		} else if (n && !(n == 1 && path[0] == '.')) {
			if (*at + n + 1 > 2 * AS_WORLD_PATH_MAX)
				return;
			text[(*at)++] = '/';
			memcpy(text + *at, path, n);
			*at += n;
		}
		path += n + 1;
	}
}

/* Nothing in it that append() would change. */
static bool is_plain(const char *path, unsigned len)
{
	const char *end = path + len;

	if (path[len - 1] == '/')
		return false;
	for (const char *s = path; s && s < end; s = memchr(s + 1, '/', (size_t)(end - s - 1)))
		if (s + 1 < end && (s[1] == '/' || s[1] == '.'))
			return false;
	return true;
}

void as_world_resolve(struct as_world *w, const struct as_process *p, const struct as_place *base,
		      const char *path, unsigned len, unsigned which, struct as_resolved *out)
{
	char *text = w->text[which];
	unsigned at = 0;

	*out = (struct as_resolved){ .text = text };
	if (!len)
		path = "";
	if (len && *path == '/')
		base = p ? p->now->root : NULL;
	else if (!base)
		return;
	if (len > AS_WORLD_PATH_MAX)
		len = AS_WORLD_PATH_MAX;
	out->known = true;
	if (base && base->len > 1) {
		memcpy(text, base->text, base->len);
		at = base->len;
	}
	if (!at && len > 1 && is_plain(path, len)) {
		memcpy(text, path, len);
		at = len;
	} else {
		append(text, &at, path, len);
	}
	if (!at)
		text[at++] = '/';
	text[at] = 0;
	out->len = at;
	out->hash = XXH3_64bits(text, at);
	out->in = as_filter_has(&w->filter, text, at, out->hash);
}

/* ---- What is known of names ------------------------------------------------------------------ */

enum as_known as_world_known(const struct as_world *w, uint64_t hash)
{
	uint64_t slot = w->known[(hash >> 8) % AS_WORLD_KNOWN];

	return slot && (slot | 3) == (hash | 3) ? (enum as_known)(slot & 3) : AS_KNOWN_NOT;
}

void as_world_learn(struct as_world *w, uint64_t hash, enum as_known kind)
{
	uint64_t *slot = &w->known[(hash >> 8) % AS_WORLD_KNOWN];

	if (kind != AS_KNOWN_NOT)
		*slot = (hash & ~3ull) | kind;
	else if ((*slot | 3) == (hash | 3))
		*slot = 0;
}
