/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * temp: see temp.h.
 *
 * Invariants
 *   1. Only a process that holds the lock of a folder removes it: its maker, or another one after
 *      the maker's end.
 *   2. Between making and locking, another process may take the folder for a leftover: it counts as
 *      made only if it is locked and still exists.
 */
#include "os/temp.h"

#include "base/buf.h"
#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "assay-temp-"
#define ATTEMPTS 100
#define OPEN_FOLDER (O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC)

struct as_temp {
	char *path;
	int fd;
};

const char *as_temp_place(void)
{
	const char *place = getenv("TMPDIR");
	struct stat st;

	return place && *place == '/' && !stat(place, &st) && S_ISDIR(st.st_mode) &&
			       !faccessat(AT_FDCWD, place, W_OK | X_OK, AT_EACCESS)
		       ? place
		       : "/tmp";
}

/* ---- Leftovers ------------------------------------------------------------------------------- */

/* Whether it belongs to our user, so that we may remove it. */
static bool is_own(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid();
}

static void sweep(const char *place)
{
	DIR *dir = opendir(place);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		fd = openat(dirfd(dir), entry->d_name, OPEN_FOLDER);
		if (fd < 0)
			continue;
		if (is_own(fd) && !flock(fd, LOCK_EX | LOCK_NB)) {
			as_dir_empty(fd);
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
		}
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* Returns 0 or an errno; EAGAIN: another process removed it before we had the lock. */
static int try(const char *place, struct as_temp *temp)
{
	struct as_buf path = { 0 };
	struct stat st;
	int rc = 0;

	as_buf_addf(&path, "%s/" PREFIX "XXXXXX", place);
	if (!mkdtemp(path.data)) {
		rc = errno;
		as_buf_free(&path);
		return rc;
	}
	temp->path = path.data;
	temp->fd = open(temp->path, OPEN_FOLDER);
	if (temp->fd < 0)
		rc = errno == ENOENT ? EAGAIN : errno;
	else if (flock(temp->fd, LOCK_EX | LOCK_NB) || fstat(temp->fd, &st) || !st.st_nlink)
		rc = EAGAIN;
	if (rc) {
		if (temp->fd >= 0)
			close(temp->fd);
		free(temp->path);
	}
	return rc;
}

int as_temp_new(const char *place, struct as_temp **out, struct as_err *err)
{
	struct as_temp *temp = as_xcalloc(1, sizeof(*temp));
	int rc = EAGAIN;

	place = place ? place : as_temp_place();
	sweep(place);
	for (int i = 0; i < ATTEMPTS && rc == EAGAIN; i++)
		rc = try(place, temp);
	if (rc) {
		free(temp);
		*out = NULL;
		return as_fail_errno(err, rc, "cannot make a folder in %s", place);
	}
	*out = temp;
	return 0;
}

const char *as_temp_path(const struct as_temp *temp)
{
	return temp->path;
}

void as_temp_free(struct as_temp *temp)
{
	if (!temp)
		return;
	as_dir_empty(temp->fd);
	rmdir(temp->path);
	close(temp->fd);
	free(temp->path);
	free(temp);
}

void as_temp_remove_now(const struct as_temp *temp)
{
	int fd = temp ? open(temp->path, OPEN_FOLDER) : -1;

	if (fd < 0)
		return;
	if (is_own(fd)) {
		as_dir_empty(fd);
		rmdir(temp->path);
	}
	close(fd);
}
