/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: see cache.h. A folder that others could write to is never used: what lies in it is
 * executed. Files are named by their content, so a name that is there with the right length holds
 * the right bytes; their times say when they were used last.
 */
#include "target/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Younger files stay whatever their number: someone may be about to open them. */
#define GRACE_SECONDS 600

static bool is_private(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022) && !access(path, R_OK | W_OK | X_OK);
}

static bool make_private(const char *path)
{
	return (!mkdir(path, 0700) || errno == EEXIST) && is_private(path);
}

static bool try_home(struct as_buf *path)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (!pw || !pw->pw_dir || pw->pw_dir[0] != '/' || !is_private(pw->pw_dir))
		return false;
	as_buf_clear(path);
	as_buf_addf(path, "%s/.cache", pw->pw_dir);
	if (!make_private(as_buf_str(path)))
		return false;
	as_buf_adds(path, "/assay");
	return make_private(as_buf_str(path));
}

static bool try_tmp(const char *tmp, struct as_buf *path)
{
	as_buf_clear(path);
	as_buf_addf(path, "%s/assay-%u", tmp, (unsigned)geteuid());
	return make_private(as_buf_str(path));
}

int as_cache_folder(const char *room, struct as_buf *path, struct as_err *err)
{
	if (!try_home(path) && !try_tmp("/var/tmp", path) && !try_tmp("/tmp", path))
		return as_fail(
			err, AS_ELACK,
			"no folder for a cache: neither the home nor /var/tmp nor /tmp takes "
			"one that is the user's alone");
	as_buf_addf(path, "/%s", room);
	if (!make_private(as_buf_str(path)))
		return as_fail(err, AS_EIO, "%s: cannot be made, or is not the user's alone",
			       as_buf_str(path));
	return 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct file {
	char *name;
	int64_t used_s;
};

static int newest_first(const void *a, const void *b)
{
	int64_t left = ((const struct file *)a)->used_s, right = ((const struct file *)b)->used_s;

	return left < right ? 1 : left > right ? -1 : 0;
}

static void collect(const char *folder, int64_t now_s, unsigned keep)
{
	DIR *dir = opendir(folder);
	struct file *files = NULL;
	struct dirent *entry;
	struct stat st;
	size_t n = 0;

	while (dir && (entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		files = as_xrealloc(files, (n + 1) * sizeof(*files));
		files[n++] = (struct file){ as_xstrdup(entry->d_name), st.st_mtim.tv_sec };
	}
	if (n)
		qsort(files, n, sizeof(*files), newest_first);
	for (size_t i = 0; i < n; i++) {
		/* Leftovers of writers that died are old, too, one day. */
		if (i >= keep && files[i].used_s < now_s - GRACE_SECONDS)
			unlinkat(dirfd(dir), files[i].name, 0);
		free(files[i].name);
	}
	free(files);
	if (dir)
		closedir(dir);
}

int as_cache_put(const char *folder, const char *name, const struct as_buf *data, unsigned keep,
		 struct as_buf *path, struct as_err *err)
{
	struct stat st;
	int rc = 0;

	as_buf_clear(path);
	as_buf_addf(path, "%s/%s", folder, name);
	if (lstat(as_buf_str(path), &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != data->len || utimensat(AT_FDCWD, as_buf_str(path), NULL, 0))
		rc = as_buf_write_file(data, as_buf_str(path), err);
	if (!rc && !lstat(as_buf_str(path), &st))
		collect(folder, st.st_mtim.tv_sec, keep);
	return rc;
}
