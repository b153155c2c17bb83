/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fstype: see fstype.h. This file holds the table, and finds out what this machine lacks for a
 * row. */
#include "target/fstype.h"

#include "base/array.h"
#include "os/spawn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MIB *(UINT64_C(1) << 20)
#define UNPACK(...) __VA_ARGS__
/* This file does not use the traits. */
#define FSTYPE(id, how, traits) { .name = #id, UNPACK how },

static const struct as_fstype table[] = {
#include "target/fstype.def"
};

#define NTYPES (sizeof(table) / sizeof(table[0]))

const struct as_fstype *as_fstype_at(unsigned i)
{
	return i < NTYPES ? &table[i] : NULL;
}

unsigned as_fstype_index(const struct as_fstype *type)
{
	return type >= table && type < table + NTYPES ? (unsigned)(type - table) : NTYPES;
}

const struct as_fstype *as_fstype_find(const char *name)
{
	for (size_t i = 0; i < NTYPES; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

const struct as_checker *as_fstype_checker(const struct as_fstype *type)
{
	if (type->own.exits)
		return &type->own;
	return type->checker ? as_checker_find(type->checker) : NULL;
}

const struct as_checker_way *as_fstype_check(const struct as_fstype *type, enum as_check_mode mode)
{
	static const struct as_checker_way none;
	const struct as_checker *checker = as_fstype_checker(type);

	return checker ? &checker->ways[mode] : &none;
}

enum as_check_mode as_fstype_strictest(const struct as_fstype *type)
{
	const struct as_checker *checker = as_fstype_checker(type);

	return checker && checker->full_rebuilds ? AS_CHECK_QUICK : AS_CHECK_FULL;
}

enum as_check_answer as_fstype_judge(const struct as_fstype *type, enum as_check_mode mode,
				     int exit_status, const char *output)
{
	const struct as_checker *checker = as_fstype_checker(type);

	return as_checker_judge(checker, checker->ways[mode].looks, exit_status, output);
}

/* ---- Commands ------------------------------------------------------------------------------ */

/* Words for execvp(3); there is a NULL after the last. */
struct words {
	char **word;
	size_t n, cap;
};

static void add_word(struct words *words, char *word)
{
	AS_ARRAY_ROOM_FOR(words->word, words->n, 2, words->cap);
	words->word[words->n++] = word;
	words->word[words->n] = NULL;
}

/* Adds what a place in a word stands for. Returns its length; 0: it is no such place. */
static size_t fill_place(const char *at, const struct as_fstype_disks *disks, struct as_buf *out)
{
	if (!strncmp(at, "{disk}", 6)) {
		as_buf_adds(out, disks->disk);
		return 6;
	}
	if (!strncmp(at, "{size}", 6)) {
		as_buf_addf(out, "%llu", (unsigned long long)disks->size_bytes);
		return 6;
	}
	if (disks->journal && !strncmp(at, "{journal}", 9)) {
		as_buf_adds(out, disks->journal);
		return 9;
	}
	return 0;
}

static char *fill_in(const char *word, size_t len, const struct as_fstype_disks *disks)
{
	struct as_buf out = { 0 };

	for (size_t i = 0; i < len;) {
		size_t n = disks ? fill_place(word + i, disks, &out) : 0;

		if (!n)
			as_buf_addc(&out, word[i]);
		i += n ? n : 1;
	}
	if (!out.data)
		as_buf_adds(&out, "");
	return out.data;
}

static void split(const char *text, const struct as_fstype_disks *disks, struct words *words)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (len)
			add_word(words, fill_in(text, len, disks));
		text += len + (text[len] == ' ');
	}
}

char **as_fstype_argv(const char *command, const struct as_fstype_disks *disks)
{
	struct words words = { 0 };

	split(command, disks, &words);
	return words.word;
}

char **as_fstype_envp(const struct as_fstype *type)
{
	struct words words = { 0 };

	split("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C TZ=UTC",
	      NULL, &words);
	if (type->env)
		split(type->env, NULL, &words);
	return words.word;
}

void as_fstype_free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

/* ---- Names --------------------------------------------------------------------------------- */

const char *as_guarantee_name(enum as_guarantee guarantee)
{
	static const char *const names[] = { "prefix", "object", "repair" };

	return names[guarantee];
}

/* ---- This machine -------------------------------------------------------------------------- */

static bool program_is_here(const char *command)
{
	char name[64], path[4096];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(command, " "), command);
	return as_spawn_which(name, path, sizeof(path));
}

bool as_fstype_lacks_tools(const struct as_fstype *type, struct as_buf *why)
{
	if (type->impossible) {
		as_buf_adds(why, type->impossible);
		return true;
	}
	for (int i = -2; i < AS_CHECK_MODES; i++) {
		const char *command =
			i == -2	  ? type->server
			: i == -1 ? type->mkfs
				  : as_fstype_check(type, (enum as_check_mode)i)->command;

		if (command && !program_is_here(command)) {
			as_buf_addf(why, "%.*s (package %s)", (int)strcspn(command, " "), command,
				    type->package);
			return true;
		}
	}
	return false;
}

/* Whether a file of the kernel holds `before`, the word and `after` in one piece. */
static bool file_has_line(const char *path, const char *before, const char *word, const char *after)
{
	struct as_buf text = { 0 }, line = { 0 };
	bool found = false;

	as_buf_addf(&line, "%s%s%s", before, word, after);
	/* Files of /proc have no size, so they are read to the end. */
	if (!as_buf_read_file(&text, path, 8u << 20, NULL))
		found = strstr(as_buf_str(&text), as_buf_str(&line));
	as_buf_free(&text);
	as_buf_free(&line);
	return found;
}

static bool kernel_has(const struct as_fstype *type)
{
	const char *module = strrchr(type->modules, ' ');
	struct utsname uts;
	struct as_buf path = { 0 };
	bool found;

	if (file_has_line("/proc/filesystems", "\t", type->type, "\n"))
		return true;
	if (uname(&uts))
		return false;
	as_buf_addf(&path, "/lib/modules/%s/modules.dep", uts.release);
	found = file_has_line(as_buf_str(&path), "/", module ? module + 1 : type->modules, ".ko");
	as_buf_free(&path);
	return found;
}

/* Mounts need disks that libfuse3 serves (disk/serve.h). */
#ifdef AS_HAVE_fuse3
#define CAN_SERVE true
#else
#define CAN_SERVE false
#endif

bool as_fstype_lacks_build(struct as_buf *why)
{
	if (!CAN_SERVE)
		as_buf_adds(why, "libfuse3 in this build (package libfuse3-dev)");
	return !CAN_SERVE;
}

bool as_fstype_lacks_host(const struct as_fstype *type, struct as_buf *why)
{
	if (as_fstype_lacks_tools(type, why) || as_fstype_lacks_build(why))
		return true;
	if (type->server && geteuid() && access("/dev/fuse", R_OK | W_OK))
		as_buf_adds(why, "the right to open /dev/fuse");
	else if (!kernel_has(type))
		as_buf_addf(why, "%s in this kernel", type->type);
	else if (access("/dev/fuse", F_OK))
		as_buf_adds(why, "/dev/fuse");
	else if (type->server)
		return false;
	else if (access("/dev/loop-control", F_OK))
		as_buf_adds(why, "/dev/loop-control");
	else if (geteuid())
		as_buf_adds(why, "root's rights");
	else
		return false;
	return true;
}
