/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subject_options: the options that a checker was opened with, as words in the options of a
 * finding. A text is put into single quotes, and a quote in it is written as %27, a percent sign
 * as %25.
 */
#include "fsck/subject_priv.h"

#include <stdlib.h>
#include <string.h>

#define N_TEXTS 3u

static void add_text(const char *key, const char *text, struct as_buf *out)
{
	if (!text)
		return;
	as_buf_addf(out, " %s='", key);
	for (; *text; text++)
		if (*text == '\'' || *text == '%')
			as_buf_addf(out, "%%%02x", (unsigned char)*text);
		else
			as_buf_addc(out, *text);
	as_buf_addc(out, '\'');
}

void as_subject_options(const struct as_fsck_subject *s, struct as_buf *out)
{
	if (s->own[3]) {
		add_text("type", s->type, out);
		add_text("exits", s->own[1], out);
		add_text("check", s->own[2], out);
	}
	if (s->told_ms && s->told_ms != AS_SUBJECT_DEADLINE_MS)
		as_buf_addf(out, " deadline=%u", s->told_ms / 1000);
}

/* Where the value of a key begins; NULL: it is not there. What is in quotes is no key. */
static const char *find(const char *options, const char *key)
{
	size_t len = strlen(key);
	bool quoted = false;

	for (const char *s = options; *s; s++) {
		if (*s == '\'')
			quoted = !quoted;
		if (!quoted && (s == options || s[-1] == ' ') && !strncmp(s, key, len) &&
		    s[len] == '=')
			return s + len + 1;
	}
	return NULL;
}

/* A text, with quotes or without; NULL: it is not there. */
static char *read_text(const char *options, const char *key)
{
	const char *s = find(options, key);
	struct as_buf text = { 0 };
	char stop = s && *s == '\'' ? '\'' : ' ', *copy;

	if (!s)
		return NULL;
	for (s += stop == '\''; *s && *s != stop; s++) {
		if (!strncmp(s, "%27", 3) || !strncmp(s, "%25", 3)) {
			as_buf_addc(&text, s[2] == '7' ? '\'' : '%');
			s += 2;
		} else {
			as_buf_addc(&text, *s);
		}
	}
	copy = as_xstrdup(as_buf_str(&text));
	as_buf_free(&text);
	return copy;
}

void as_subject_options_read(const char *options, struct as_subject_setup *setup, char ***own)
{
	static const char *const keys[N_TEXTS] = { "type", "exits", "check" };
	const char **to[N_TEXTS] = { &setup->type, &setup->exits, &setup->check };
	const char *deadline = find(options, "deadline");
	size_t n = 0;

	*own = as_xcalloc(N_TEXTS + 1, sizeof(**own));
	for (unsigned i = 0; i < N_TEXTS; i++) {
		char *text = read_text(options, keys[i]);

		if (!text)
			continue;
		(*own)[n++] = text;
		*to[i] = text;
	}
	if (deadline) {
		unsigned long seconds = strtoul(deadline, NULL, 10);

		setup->deadline_ms = seconds && seconds <= 3600 ? (unsigned)seconds * 1000 : 0;
	}
}
