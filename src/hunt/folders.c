/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folders: see folders.h. */
#include "hunt/folders.h"

#include "target/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const char *path, struct as_err *err)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		return as_fail_errno(err, errno, "%s", path);
	return 0;
}

static void remove_folder(const char *path)
{
	int fd = open(path, O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	as_box_empty_folder(fd);
	close(fd);
	rmdir(path);
}

/* The folders of processes; files of ours stay, but for those that were never finished. */
static void remove_leftovers(const char *folder)
{
	struct as_buf path = { 0 };
	struct dirent *entry;
	DIR *dir;

	as_buf_addf(&path, "%s/" AS_HUNT_FOLDER, folder);
	dir = opendir(as_buf_str(&path));
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		as_buf_clear(&path);
		as_buf_addf(&path, "%s/" AS_HUNT_FOLDER "/%s", folder, name);
		if (!strncmp(name, "job-", 4) || !strcmp(name, "reduce"))
			remove_folder(as_buf_str(&path));
		else if (name[0] == '.' && strcmp(name, ".") && strcmp(name, ".."))
			unlink(as_buf_str(&path));
	}
	if (dir)
		closedir(dir);
	as_buf_free(&path);
}

int as_folders_make(const char *folder, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc = make(folder, err);

	as_buf_addf(&path, "%s/" AS_HUNT_FOLDER, folder);
	if (!rc)
		rc = make(as_buf_str(&path), err);
	as_buf_free(&path);
	return rc;
}

int as_folders_prepare(const struct as_hunt *hunt, int *lock_fd, struct as_err *err)
{
	struct as_buf path = { 0 };
	int rc = as_folders_make(hunt->folder, err);

	as_buf_addf(&path, "%s/" AS_HUNT_FOLDER "/lock", hunt->folder);
	if (!rc) {
		*lock_fd = open(as_buf_str(&path), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
		if (*lock_fd < 0)
			rc = as_fail_errno(err, errno, "%s", as_buf_str(&path));
		else if (flock(*lock_fd, LOCK_EX | LOCK_NB))
			rc = as_fail(err, AS_EUSE, "%s: another hunt is running there",
				     hunt->folder);
	}
	if (rc && *lock_fd >= 0) {
		close(*lock_fd);
		*lock_fd = -1;
	}
	if (!rc)
		remove_leftovers(hunt->folder);
	as_buf_free(&path);
	return rc;
}

/* What engines in the boxes of a job have counted, to where the hunt looks for it. */
static void take_counts(const struct as_hunt *hunt, const char *job)
{
	struct as_buf folder = { 0 }, from = { 0 }, to = { 0 };
	const struct dirent *entry;
	DIR *dir;

	as_buf_addf(&folder, "%s/" AS_HUNT_FOLDER "/%s/" AS_HUNT_COV, hunt->folder, job);
	dir = opendir(as_buf_str(&folder));
	while (dir && (entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".cov"))
			continue;
		as_buf_clear(&from);
		as_buf_clear(&to);
		as_buf_addf(&from, "%s/%s", as_buf_str(&folder), entry->d_name);
		as_buf_addf(&to, "%s/%s-%s", hunt->cov, job, entry->d_name);
		rename(as_buf_str(&from), as_buf_str(&to));
	}
	if (dir)
		closedir(dir);
	as_buf_free(&folder);
	as_buf_free(&from);
	as_buf_free(&to);
}

static void take_all_counts(const struct as_hunt *hunt)
{
	struct as_buf folder = { 0 };
	const struct dirent *entry;
	DIR *dir;

	as_buf_addf(&folder, "%s/" AS_HUNT_FOLDER, hunt->folder);
	dir = opendir(as_buf_str(&folder));
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "job-", 4))
			take_counts(hunt, entry->d_name);
	if (dir)
		closedir(dir);
	as_buf_free(&folder);
}

void as_folders_clean(const struct as_hunt *hunt, int *lock_fd)
{
	if (hunt->cov)
		take_all_counts(hunt);
	remove_leftovers(hunt->folder);
	if (*lock_fd >= 0)
		close(*lock_fd);
	*lock_fd = -1;
}

int as_folders_take(const struct as_hunt *hunt, unsigned job, const char *id, bool keep,
		    struct as_err *err)
{
	struct as_buf from = { 0 }, to = { 0 };
	struct stat st;
	int rc = 0;

	as_buf_addf(&from, "%s/" AS_HUNT_FOLDER "/job-%u/findings/%s", hunt->folder, job, id);
	as_buf_addf(&to, "%s/findings", hunt->folder);
	if (keep)
		rc = make(as_buf_str(&to), err);
	as_buf_addf(&to, "/%s", id);
	/* The same finding of the same workload may be there since an earlier death of ours. */
	if (!rc && (!keep || !stat(as_buf_str(&to), &st)))
		remove_folder(as_buf_str(&from));
	else if (!rc && rename(as_buf_str(&from), as_buf_str(&to)))
		rc = as_fail_errno(err, errno, "%s", as_buf_str(&to));
	as_buf_free(&from);
	as_buf_free(&to);
	return rc;
}

int as_folders_set_count(const struct as_hunt *hunt, const struct as_hunt_sign *sign,
			 struct as_err *err)
{
	struct as_buf folder = { 0 };
	struct stat st;
	int rc = 0;

	as_buf_addf(&folder, "%s/findings/%s", hunt->folder, sign->id);
	/* Who has read it may have thrown it away. */
	if (!stat(as_buf_str(&folder), &st))
		rc = hunt->store->set_count(as_buf_str(&folder), sign->count, err);
	as_buf_free(&folder);
	return rc;
}
