/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subject_own: commands of the user's. A checker runs in the root folder, and may be any program:
 * also a shell that lets others do the work, into which no shim comes (tool/tool.h).
 */
#include "fsck/subject_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PROBE_BYTES (UINT64_C(1) << 20)

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
static bool reads(const char *program, char *const *argv, bool served)
{
	const struct as_tool_setup how = { .deadline_ms = AS_SUBJECT_DEADLINE_MS,
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

bool as_subject_is_served(const char *program, char *const *argv)
{
	return !reads(program, argv, false) && reads(program, argv, true);
}
