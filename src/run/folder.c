/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder: see folder.h.
 *
 * Method. The lock is flock(2) on a file: it is let go by the kernel when the last process that
 * inherited it is dead. Whoever gets the lock of a folder may remove it; the maker, too, has it
 * only when he gets it, and begins anew when a cleaner was faster. The lock's file goes last, so
 * that a cleaner who is killed leaves something that the next one recognises.
 *
 * All of it goes through descriptors: whoever can write to the parent may put something else under
 * our names, but leads neither the run nor the cleaning there.
 */
#include "run/folder.h"

#include "base/dir.h"
#include "run/sys_new.h"

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
#define TREE "tree"
#define LOCK "lock"

struct as_folder {
	struct as_dir parent;
	char name[NAME_LEN + 1];
	int fd, lock_fd, tree_fd;
	char tree[48]; /* by its descriptor, which children inherit */
};

static void let_go(struct as_folder *f)
{
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	if (f->tree_fd >= 0)
		close(f->tree_fd);
	if (f->fd >= 0)
		close(f->fd);
	as_dir_close(&f->parent);
	free(f);
}

/* NULL: the parent could not be opened once more. */
static struct as_folder *named(const struct as_dir *parent, const char *name, struct as_err *err)
{
	struct as_folder *f = as_xcalloc(1, sizeof(*f));

	f->fd = f->lock_fd = f->tree_fd = -1;
	snprintf(f->name, sizeof(f->name), "%s", name);
	if (!as_dir_dup(parent, &f->parent, err))
		return f;
	let_go(f);
	return NULL;
}

/* Only what is ours by owner. 0 or a negative errno. */
static int open_own(struct as_folder *f)
{
	struct stat st;

	f->fd = openat(f->parent.fd, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	return fstat(f->fd, &st) || st.st_uid != geteuid() ? -EPERM : 0;
}

/* With the lock in our hands. */
static int remove_all(struct as_folder *f, struct as_err *err)
{
	struct stat st;
	int rc = 0;

	if (!fstatat(f->fd, TREE, &st, AT_SYMLINK_NOFOLLOW))
		rc = as_sys_remove_tree_at(f->fd, TREE, err);
	if (!rc && ((unlinkat(f->fd, LOCK, 0) && errno != ENOENT) ||
		    (unlinkat(f->parent.fd, f->name, AT_REMOVEDIR) && errno != ENOENT)))
		rc = as_fail_errno(err, errno, "cannot remove %s/%s", f->parent.path, f->name);
	return rc;
}

/* ---- What dead runs left -------------------------------------------------------------------- */

static int clean_one(void *ctx, const char *name)
{
	struct as_folder *f;

	if (strlen(name) != NAME_LEN || strncmp(name, PREFIX, sizeof(PREFIX) - 1))
		return 0;
	f = named(ctx, name, NULL);
	if (!f)
		return 0;
	if (!open_own(f)) {
		f->lock_fd = openat(f->fd, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		/* Killed before there was a lock, or after: then there is nothing else. */
		if (f->lock_fd < 0 && errno == ENOENT)
			unlinkat(f->parent.fd, name, AT_REMOVEDIR);
		/* What cannot be removed is not this run's concern. */
		if (f->lock_fd >= 0 && !flock(f->lock_fd, LOCK_EX | LOCK_NB))
			(void)!remove_all(f, NULL);
	}
	let_go(f);
	return 0;
}

/* ---- Making one ----------------------------------------------------------------------------- */

/* 1: made, 0: a cleaner was faster, negative: errno. */
static int fill(struct as_folder *f)
{
	int rc = open_own(f);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	f->lock_fd = openat(f->fd, LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->lock_fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? 0 : -errno;
	/* The lock we hold may be of a file that a cleaner has removed. */
	if (mkdirat(f->fd, TREE, 0755))
		return errno == ENOENT ? 0 : -errno;
	f->tree_fd = openat(f->fd, TREE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->tree_fd < 0 || fchmod(f->tree_fd, 0755))
		return -errno;
	snprintf(f->tree, sizeof(f->tree), "/proc/self/fd/%d/.", f->tree_fd);
	return 1;
}

static int try(const struct as_dir *parent, unsigned attempt, struct as_folder **out)
{
	char name[NAME_LEN + 1];
	struct as_folder *f;
	int rc;

	snprintf(name, sizeof(name), PREFIX "%06x",
		 ((unsigned)getpid() * 131 + attempt) & 0xffffff);
	if (mkdirat(parent->fd, name, 0700))
		return errno == EEXIST ? 0 : -errno;
	f = named(parent, name, NULL);
	if (!f)
		return -EMFILE;
	rc = fill(f);
	if (rc < 0 && f->lock_fd >= 0)
		(void)!remove_all(f, NULL);
	else if (rc < 0)
		unlinkat(parent->fd, name, AT_REMOVEDIR);
	if (rc == 1)
		*out = f;
	else
		let_go(f);
	return rc;
}

int as_folder_new(const char *path, struct as_folder **folder, struct as_err *err)
{
	struct as_dir parent;
	int rc;

	*folder = NULL;
	rc = as_dir_open(path, NULL, &parent, err);
	if (rc)
		return as_fail_in(err, "cannot make a folder in it");
	as_dir_each(&parent, clean_one, &parent);
	for (unsigned i = 0; i < ATTEMPTS && !rc; i++)
		rc = try(&parent, i, folder);
	as_dir_close(&parent);
	if (rc == 1)
		return 0;
	return as_fail_errno(err, rc ? -rc : EBUSY, "%s: cannot make a folder in it", path);
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
