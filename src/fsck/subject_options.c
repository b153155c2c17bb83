/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subject_options: what the user says of a checker.
 *
 * The options that it was opened with are words in the options of a finding. A text is put into
 * single quotes, and a quote in it is written as %27, a percent sign as %25.
 *
 * A command of the user's runs in the root folder, and may be any program: also a shell that lets
 * others do the work, into which no shim comes (tool/tool.h).
 */
#include "fsck/subject_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define N_TEXTS 3u
#define PROBE_BYTES (UINT64_C(1) << 20)

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

/* ---- Commands -------------------------------------------------------------------------------- */

/* The word of a command, or its absolute path if it names a file from here: "./myfsck", "fsck.py".
 * A word without a slash or a dot may just be called like a file. */
static void add_word(const char *word, size_t len, bool first, struct as_buf *out)
{
	char *name = as_xstrndup(word, len), path[PATH_MAX];
	struct stat st;

	if (*name != '/' && *name != '-' && (strchr(name, '/') || (!first && strchr(name, '.'))) &&
	    !stat(name, &st) && S_ISREG(st.st_mode) && realpath(name, path) && !strchr(path, ' '))
		as_buf_adds(out, path);
	else
		as_buf_adds(out, name);
	free(name);
}

char *as_subject_absolute(const char *command)
{
	struct as_buf out = { 0 };
	char *text;

	for (const char *s = command; *s;) {
		size_t len = strcspn(s, " "), blanks = strspn(s + len, " ");

		if (len)
			add_word(s, len, s == command, &out);
		as_buf_add(&out, s + len, blanks);
		s += len + blanks;
	}
	text = as_xstrdup(as_buf_str(&out));
	as_buf_free(&out);
	return text;
}

/* Whether it looks at the disk that it is given. Who does not end does not say so. */
static bool reads(const char *program, char *const *argv, bool served, const struct as_halt *halt)
{
	const struct as_tool_setup how = { .deadline_ms = AS_SUBJECT_DEADLINE_MS,
					   .halt = halt,
					   .served = served };
	const struct as_tool_job job = { .argv = argv };
	struct as_chunks *store = as_chunks_new();
	struct as_tool_result got = { 0 };
	struct as_tool *tool = NULL;
	struct as_disk *disk = NULL;
	struct as_err ignored;
	bool reads;

	if (as_tool_start(program, &how, &tool, &ignored) ||
	    as_disk_new(store, PROBE_BYTES, &disk, &ignored) ||
	    as_tool_run(tool, &job, disk, &got, &ignored))
		reads = !served;
	else
		reads = got.reads || got.maps || got.changed || got.ended.how != AS_END_EXIT;
	as_tool_result_free(&got);
	as_tool_free(tool);
	as_disk_free(disk);
	as_chunks_free(store);
	return reads;
}

bool as_subject_is_served(const char *program, char *const *argv, const struct as_halt *halt)
{
	return !reads(program, argv, false, halt) && reads(program, argv, true, halt);
}
