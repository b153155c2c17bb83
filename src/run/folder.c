/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder: see folder.h.
 *
 * Method. The lock is flock(2) on a file: it is let go by the kernel when the last process that
 * inherited it is dead. Whoever gets the lock of a folder may remove it; the maker, too, has it
 * only when he gets it, and begins anew when a cleaner was faster. The lock's file goes last, so
 * that a cleaner who is killed leaves something that the next one recognises.
 */
#include "run/folder.h"

#include "base/buf.h"
#include "run/sys_new.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".assay-run-"
#define NAME_LEN (sizeof(PREFIX) - 1 + 6)
#define ATTEMPTS 100

struct as_folder {
	char *path, *tree, *lock;
	int lock_fd;
};

static char *join(const char *folder, const char *name)
{
	struct as_buf path = { 0 };

	as_buf_addf(&path, "%s/%s", folder, name);
	return path.data;
}

static void let_go(struct as_folder *f)
{
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	free(f->path);
	free(f->tree);
	free(f->lock);
	free(f);
}

static struct as_folder *named(const char *path)
{
	struct as_folder *f = as_xcalloc(1, sizeof(*f));

	f->path = as_xstrdup(path);
	f->tree = join(path, "tree");
	f->lock = join(path, "lock");
	f->lock_fd = -1;
	return f;
}

/* With the lock in our hands. */
static int remove_all(struct as_folder *f, struct as_err *err)
{
	struct stat st;
	int rc = 0;

	if (!lstat(f->tree, &st))
		rc = as_sys_remove_tree(f->tree, err);
	if (!rc && ((unlink(f->lock) && errno != ENOENT) || (rmdir(f->path) && errno != ENOENT)))
		rc = as_fail_errno(err, errno, "cannot remove %s", f->path);
	return rc;
}

/* ---- What dead runs left -------------------------------------------------------------------- */

static void clean_one(const char *path)
{
	struct as_folder *f = named(path);
	struct stat st;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		goto out;
	f->lock_fd = open(f->lock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (f->lock_fd < 0) {
		/* Killed before there was a lock, or after: then there is nothing else. */
		if (errno == ENOENT)
			rmdir(path);
		goto out;
	}
	/* What cannot be removed is not this run's concern. */
	if (!flock(f->lock_fd, LOCK_EX | LOCK_NB))
		(void)!remove_all(f, NULL);
out:
	let_go(f);
}

static void clean(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;

		if (strlen(entry->d_name) != NAME_LEN ||
		    strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1))
			continue;
		path = join(parent, entry->d_name);
		clean_one(path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- Making one ----------------------------------------------------------------------------- */

/* 1: made, 0: a cleaner was faster, negative: errno. */
static int try(const char *parent, struct as_folder **out)
{
	char *path = join(parent, PREFIX "XXXXXX");
	struct as_folder *f;
	int rc = 1;

	if (!mkdtemp(path)) {
		rc = -errno;
		free(path);
		return rc;
	}
	f = named(path);
	free(path);
	f->lock_fd = open(f->lock, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->lock_fd < 0) {
		rc = errno == ENOENT ? 0 : -errno;
		rmdir(f->path);
	} else if (flock(f->lock_fd, LOCK_EX | LOCK_NB)) {
		rc = errno == EWOULDBLOCK ? 0 : -errno;
	} else if (mkdir(f->tree, 0755)) {
		/* The lock we hold may be of a file that a cleaner has removed. */
		rc = errno == ENOENT ? 0 : -errno;
	} else if (chmod(f->tree, 0755)) {
		rc = -errno;
	}
	if (rc < 0 && f->lock_fd >= 0)
		(void)!remove_all(f, NULL);
	if (rc == 1)
		*out = f;
	else
		let_go(f);
	return rc;
}

int as_folder_new(const char *parent, struct as_folder **folder, struct as_err *err)
{
	int rc = 0;

	*folder = NULL;
	clean(parent);
	for (int i = 0; i < ATTEMPTS && !rc; i++)
		rc = try(parent, folder);
	if (rc == 1)
		return 0;
	return as_fail_errno(err, rc ? -rc : EBUSY, "%s: cannot make a folder in it", parent);
}

const char *as_folder_tree(const struct as_folder *f)
{
	return f->tree;
}

int as_folder_remove(struct as_folder **folder, struct as_err *err)
{
	struct as_folder *f = *folder;
	int rc;

	if (!f)
		return 0;
	*folder = NULL;
	rc = remove_all(f, err);
	let_go(f);
	return rc;
}
