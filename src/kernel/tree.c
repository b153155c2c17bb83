/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: the copy of a source that patches change.
 *
 * Invariants
 *   1. The files of the source are never written: in a copy of an unpacked tarball, all files are
 *      hard links, and whoever changes one replaces it.
 *   2. A file of the copy that was replaced is newer than what was built from the old one: make
 *      decides by times. So no time is ever copied.
 *   3. Of a user's folder, a file is copied again when it is newer than the copy or has another
 *      size. A file that has gone from the folder goes from the copy.
 */
#include "kernel/kernel_priv.h"
#include "os/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 24)

bool as_kernel_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int as_kernel_mkdirs(const char *path, struct as_err *err)
{
	char *copy = as_xstrdup(path);
	int rc = 0;

	for (char *at = copy + 1; !rc && *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0700) && errno != EEXIST)
			rc = as_fail_errno(err, errno, "%s", copy);
		*at = '/';
	}
	if (!rc && mkdir(copy, 0700) && errno != EEXIST)
		rc = as_fail_errno(err, errno, "%s", copy);
	free(copy);
	return rc;
}

int as_kernel_copy_file(const char *from, const char *to, struct as_err *err)
{
	struct as_buf part = { 0 };
	struct stat st = { 0 };
	int in = open(from, O_RDONLY | O_CLOEXEC), out = -1, rc = 0;
	ssize_t n = 1;

	as_buf_addf(&part, "%s.assay-part", to);
	if (in >= 0 && !fstat(in, &st))
		out = open(as_buf_str(&part), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			   (st.st_mode & 0777) | 0600);
	if (out < 0)
		rc = as_fail_errno(err, errno, "copy of %s to %s", from, to);
	while (!rc && n > 0)
		n = sendfile(out, in, NULL, COPY_BYTES);
	if (!rc && n < 0)
		rc = as_fail_errno(err, errno, "copy of %s to %s", from, to);
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) && !rc)
		rc = as_fail_errno(err, errno, "%s", to);
	if (!rc && rename(as_buf_str(&part), to))
		rc = as_fail_errno(err, errno, "%s", to);
	if (rc && out >= 0)
		unlink(as_buf_str(&part));
	as_buf_free(&part);
	return rc;
}

/* ---- One entry ------------------------------------------------------------------------------- */

static int put_link(const char *from, const char *to, struct as_err *err)
{
	char text[PATH_MAX], there[PATH_MAX];
	ssize_t len = readlink(from, text, sizeof(text) - 1), old;

	if (len < 0)
		return as_fail_errno(err, errno, "%s", from);
	text[len] = '\0';
	old = readlink(to, there, sizeof(there) - 1);
	if (old == len && !memcmp(text, there, (size_t)len))
		return 0;
	unlink(to);
	return symlink(text, to) ? as_fail_errno(err, errno, "%s", to) : 0;
}

static int put_file(bool users, const FTSENT *ent, const char *to, struct as_err *err)
{
	const struct stat *now = ent->fts_statp;
	struct stat st;

	if (!users && !link(ent->fts_path, to))
		return 0;
	if (users && !lstat(to, &st) && S_ISREG(st.st_mode) && st.st_size == now->st_size &&
	    (st.st_mtim.tv_sec > now->st_mtim.tv_sec ||
	     (st.st_mtim.tv_sec == now->st_mtim.tv_sec &&
	      st.st_mtim.tv_nsec >= now->st_mtim.tv_nsec)))
		return 0;
	/* A file system without hard links, or with too many. */
	return as_kernel_copy_file(ent->fts_path, to, err);
}

static int put_entry(bool users, const FTSENT *ent, const char *to, struct as_err *err)
{
	switch (ent->fts_info) {
	case FTS_D:
		return mkdir(to, 0700) && errno != EEXIST ? as_fail_errno(err, errno, "%s", to) : 0;
	case FTS_F:
		return put_file(users, ent, to, err);
	case FTS_SL:
	case FTS_SLNONE:
		return put_link(ent->fts_path, to, err);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return as_fail_errno(err, ent->fts_errno, "%s", ent->fts_path);
	default:
		return 0;
	}
}

static bool is_left_out(const FTSENT *ent)
{
	return ent->fts_level == 1 && !strcmp(ent->fts_name, ".git");
}

static FTS *walk(const char *folder, struct as_err *err)
{
	char *const roots[] = { (char *)folder, NULL };
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	if (!fts)
		as_fail_errno(err, errno, "%s", folder);
	return fts;
}

static int copy_all(const struct as_kernel_job *job, const char *to, struct as_err *err)
{
	const char *from = as_buf_str(&job->pristine);
	FTS *fts = walk(from, err);
	struct as_buf path = { 0 };
	FTSENT *ent;
	int rc = fts ? 0 : AS_EIO;

	while (!rc && (ent = fts_read(fts))) {
		if (is_left_out(ent)) {
			fts_set(fts, ent, FTS_SKIP);
			continue;
		}
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%s", to, ent->fts_path + strlen(from));
		rc = put_entry(job->users, ent, as_buf_str(&path), err);
		if (!rc && job->want->stop && *job->want->stop)
			rc = as_fail(err, AS_ESTOP, "stopped by a signal");
	}
	if (fts)
		fts_close(fts);
	as_buf_free(&path);
	return rc;
}

/* Removes files of the copy that the folder has no longer. */
static int remove_gone(const struct as_kernel_job *job, struct as_err *err)
{
	const char *copy = as_buf_str(&job->src);
	FTS *fts = walk(copy, err);
	struct as_buf path = { 0 };
	struct stat st;
	FTSENT *ent;

	while (fts && (ent = fts_read(fts))) {
		if (ent->fts_info != FTS_F && ent->fts_info != FTS_SL &&
		    ent->fts_info != FTS_SLNONE)
			continue;
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%s", as_buf_str(&job->pristine),
			    ent->fts_path + strlen(copy));
		if (lstat(as_buf_str(&path), &st) && errno == ENOENT)
			unlink(ent->fts_path);
	}
	if (fts)
		fts_close(fts);
	as_buf_free(&path);
	return fts ? 0 : AS_EIO;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int link_all(struct as_kernel_job *job, struct as_err *err)
{
	struct as_buf part = { 0 };
	int rc;

	if (as_kernel_is_dir(as_buf_str(&job->src)))
		return 0;
	as_buf_addf(&part, "%s.part", as_buf_str(&job->src));
	as_dir_remove_path(as_buf_str(&part));
	as_kernel_say(job, "makes a tree of links", 0, 0);
	rc = copy_all(job, as_buf_str(&part), err);
	if (!rc && rename(as_buf_str(&part), as_buf_str(&job->src)))
		rc = as_fail_errno(err, errno, "%s", as_buf_str(&job->src));
	as_buf_free(&part);
	return rc;
}

int as_kernel_tree_fill(struct as_kernel_job *job, struct as_err *err)
{
	int rc;

	if (!strcmp(as_buf_str(&job->src), as_buf_str(&job->pristine)))
		return 0;
	if (!job->users)
		return link_all(job, err);
	as_kernel_say(job, "copies what is new in the folder", 0, 0);
	rc = copy_all(job, as_buf_str(&job->src), err);
	return rc ? rc : remove_gone(job, err);
}
