/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trust: see trust.h.
 *
 * Method. What was typed is kept as text, not as a hash: a line is the folder it was typed in (or /
 * where that makes no difference), a blank, and the text, both with everything but plain characters
 * escaped, so that no two texts give the same line. A finding can therefore make assay do only what
 * its user has done himself, from the same folder, with the same words. The file grows by
 * appending. When it has become large, it starts again empty, and the user is asked once more.
 */
#include "target/trust.h"

#include "base/show.h"
#include "target/cache.h"
#include "target/fstype.h"
#include "target/target.h"
#include "target/variant.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TYPED_MAX_BYTES ((size_t)256 << 10)
#define SHOWN_BYTES 300 /* how much of a target a message shows */

/* ---- What reaches outside -------------------------------------------------------------------- */

static void say(struct as_buf *what, const char *does, const char *text)
{
	struct as_buf shown = { 0 };

	if (!what)
		return;
	as_show(&shown, text);
	as_buf_addf(what, "%s %.*s%s", does, SHOWN_BYTES, as_buf_str(&shown),
		    shown.len > SHOWN_BYTES ? "..." : "");
	as_buf_free(&shown);
}

static bool is_word_of(const char *list, const char *word, size_t len)
{
	for (const char *s = list ? list : ""; *s; s += strcspn(s, " "), s += *s == ' ')
		if (strcspn(s, " ") == len && !strncmp(s, word, len))
			return true;
	return false;
}

/* Flags of mount(2) itself. */
static const char flags[] = "ro rw sync async dirsync atime noatime diratime nodiratime relatime "
			    "strictatime lazytime nolazytime nosuid nodev noexec";

/* An option may name a device, a file or a module. Only those that the row lists, and the flags
 * that every type has, are known not to. */
static bool mount_reaches(const struct as_fstype *type, const char *opts)
{
	size_t len;

	if (is_word_of(type->draw, opts, strlen(opts)))
		return false;
	for (; *opts; opts += len + (opts[len] == ',')) {
		len = strcspn(opts, ",");
		if (len && !is_word_of(type->draw, opts, len) && !is_word_of(flags, opts, len))
			return true;
	}
	return false;
}

/* Names of variants are ours. */
static bool options_reach(const struct as_fstype *type, const char *opts)
{
	char *names = NULL, *mount = NULL;
	bool reach;

	if (as_variants_split(opts, &names, &mount, NULL))
		return true;
	reach = mount_reaches(type, mount);
	free(names);
	free(mount);
	return reach;
}

static const struct as_fstype *type_of(const char *name, size_t len)
{
	char *copy = strndup(name, len);
	const struct as_fstype *type;

	as_assert(copy);
	type = as_fstype_find(copy);
	free(copy);
	return type;
}

static const struct as_target_kind *kind_of(const char *name, size_t len)
{
	const struct as_target_kind *kind;

	for (unsigned i = 0; (kind = as_target_kind(i)); i++)
		if (strlen(kind->name) == len && !strncmp(kind->name, name, len))
			return kind;
	return NULL;
}

bool as_trust_reaches(const char *spec, bool boxed, struct as_buf *what)
{
	size_t len = strcspn(spec, ":");
	const char *rest = spec[len] ? spec + len + 1 : "";
	const struct as_target_kind *kind = kind_of(spec, len);

	if (!kind)
		return as_trust_options_reach(spec, boxed, rest, what);
	if (kind->does)
		say(what, kind->does, rest);
	return kind->does;
}

bool as_trust_options_reach(const char *spec, bool boxed, const char *opts, struct as_buf *what)
{
	static const struct as_fstype unknown = { .draw = NULL };
	size_t len = strcspn(spec, ":");
	const struct as_fstype *type = type_of(spec, len);

	if (!type && !strncmp(spec, "fuse:", 5))
		type = &unknown;
	if (boxed || !type || !options_reach(type, opts))
		return false;
	say(what, "mount, outside of a sandbox, with the options", opts);
	return true;
}

/* ---- What was typed -------------------------------------------------------------------------- */

static void add_plain(struct as_buf *line, const char *text)
{
	for (; *text; text++)
		if (*text > ' ' && *text < 0x7f && *text != '\\')
			as_buf_addc(line, *text);
		else
			as_buf_addf(line, "\\x%02x", (unsigned char)*text);
}

/* Whether it means the same wherever it is typed. */
static bool is_absolute(const char *what)
{
	return *what == '/' || !strncmp(what, "plugin:/", 8) || !strncmp(what, "dir:/", 5);
}

/* Makes "\nFOLDER TEXT\n"; false: there is no such folder. */
static bool line_of(const char *what, struct as_buf *line)
{
	char *cwd = is_absolute(what) ? as_xstrdup("/") : getcwd(NULL, 0);
	bool known = cwd;

	as_buf_addc(line, '\n');
	add_plain(line, known ? cwd : "");
	as_buf_addc(line, ' ');
	add_plain(line, what);
	as_buf_addc(line, '\n');
	free(cwd);
	return known;
}

static bool open_typed(struct as_buf *path, struct as_buf *text)
{
	struct stat st;

	if (as_cache_folder("trust", path, NULL))
		return false;
	as_buf_adds(path, "/typed");
	as_buf_addc(text, '\n');
	if (lstat(as_buf_str(path), &st))
		return true;
	return S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
	       !as_buf_read_file(text, as_buf_str(path), TYPED_MAX_BYTES * 2, NULL);
}

bool as_trust_remembers(const char *what)
{
	struct as_buf path = { 0 }, text = { 0 }, line = { 0 };
	bool found = line_of(what, &line) && open_typed(&path, &text) &&
		     strstr(as_buf_str(&text), as_buf_str(&line));

	as_buf_free(&path);
	as_buf_free(&text);
	as_buf_free(&line);
	return found;
}

void as_trust_remember(const char *what)
{
	struct as_buf path = { 0 }, text = { 0 }, line = { 0 };
	int fd;

	if (line_of(what, &line) && open_typed(&path, &text) &&
	    !strstr(as_buf_str(&text), as_buf_str(&line))) {
		if (text.len > TYPED_MAX_BYTES)
			unlink(as_buf_str(&path));
		fd = open(as_buf_str(&path), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			  0600);
		/* It is one call, so that lines of two processes do not mix; a line that is cut off
		 * does not count. */
		if (fd >= 0 && write(fd, line.data + 1, line.len - 1) < 0)
			unlink(as_buf_str(&path));
		if (fd >= 0)
			close(fd);
	}
	as_buf_free(&path);
	as_buf_free(&text);
	as_buf_free(&line);
}
