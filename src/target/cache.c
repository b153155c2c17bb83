/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: see cache.h. A folder that others could write to is never used. What is in it may still be
 * damaged, or may be no file: readers check its digest. Files are never changed, only replaced as a
 * whole; their times say when they were used last.
 */
#include "target/cache.h"
#include "base/array.h"
#include "os/out.h"

#include "os/dir.h"
#include "os/share.h"
#include "os/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Younger files stay, however many there are: somebody may be about to open them. */
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

static const char *home(void)
{
	const struct passwd *pw = getpwuid(geteuid());

	return pw && pw->pw_dir && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL;
}

static bool try_home(struct as_buf *path)
{
	if (!home() || !is_private(home()))
		return false;
	as_buf_clear(path);
	as_buf_addf(path, "%s/.cache", home());
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
	if (!try_home(path) && !try_tmp("/var/tmp", path) && !try_tmp(as_temp_place(), path))
		return as_fail(err, AS_ELACK,
			       "no folder for a cache: neither the home nor /var/tmp nor %s takes "
			       "one that is the user's alone",
			       as_temp_place());
	as_buf_addf(path, "/%s", room);
	if (!make_private(as_buf_str(path)))
		return as_fail(err, AS_EIO, "%s: cannot be made, or is not the user's alone",
			       as_buf_str(path));
	return 0;
}

bool as_cache_refused(struct as_buf *why)
{
	static const char *const below[] = { "", "/.cache", "/.cache/assay" };
	struct as_buf path = { 0 };
	bool refused = false;
	struct stat st;

	for (size_t i = 0; home() && i < sizeof(below) / sizeof(below[0]) && !refused; i++) {
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%s", home(), below[i]);
		if (lstat(as_buf_str(&path), &st) || is_private(as_buf_str(&path)))
			continue;
		refused = i || S_ISDIR(st.st_mode);
		as_buf_addf(why, "%s %s", as_buf_str(&path),
			    !S_ISDIR(st.st_mode)     ? "is no folder"
			    : st.st_uid != geteuid() ? "belongs to another user"
			    : st.st_mode & 022	     ? "can be written by other users"
						     : "cannot be written");
	}
	as_buf_free(&path);
	return refused;
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
	size_t n = 0, cap = 0;

	while (dir && (entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		AS_ARRAY_ROOM(files, n, cap);
		files[n++] = (struct file){ as_xstrdup(entry->d_name), st.st_mtim.tv_sec };
	}
	if (n)
		qsort(files, n, sizeof(*files), newest_first);
	for (size_t i = 0; i < n; i++) {
		/* Files of writers that died become old, too, and go the same way. */
		if (i >= keep && files[i].used_s < now_s - GRACE_SECONDS)
			unlinkat(dirfd(dir), files[i].name, 0);
		free(files[i].name);
	}
	free(files);
	if (dir)
		closedir(dir);
}

int as_cache_open(const char *folder, const char *name, uint64_t max)
{
	int in = open(folder, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
	int fd = in < 0 ? -errno : as_share_open(in, name, max);
	struct stat st;

	if (in >= 0)
		close(in);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022)) {
		close(fd);
		fd = -EPERM;
	}
	/* It is in use now. */
	if (fd >= 0)
		futimens(fd, NULL);
	return fd;
}

/* Removes what has that name, unless it is a file of ours that nobody else can write to. */
static void make_room(const char *path)
{
	struct stat st;

	if (lstat(path, &st) || (S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
				 (st.st_mode & 0600) == 0600 && !(st.st_mode & 022)))
		return;
	as_dir_remove_path(path);
}

int as_cache_put(const char *folder, const char *name, const struct as_buf *data, unsigned keep,
		 struct as_buf *path, struct as_err *err)
{
	struct stat st;
	int rc;

	as_buf_clear(path);
	as_buf_addf(path, "%s/%s", folder, name);
	make_room(as_buf_str(path));
	rc = as_out_save(as_buf_str(path), data, err);
	/* Nobody else may write to it, whatever the umask says. */
	if (!rc && !lstat(as_buf_str(path), &st) && S_ISREG(st.st_mode) && st.st_mode & 022)
		chmod(as_buf_str(path), st.st_mode & 07755);
	if (!rc && !lstat(as_buf_str(path), &st))
		collect(folder, st.st_mtim.tv_sec, keep);
	return rc;
}
