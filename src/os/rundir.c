/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rundir: see rundir.h.
 *
 * Method. The lock is flock(2) on the folder itself, so it lasts until the last process that has
 * inherited it ends. A process that gets the exclusive lock when it starts removes what dead
 * processes have left. A process that gets it when it ends removes the folder if that is empty. A
 * process that has waited for the lock of a folder that was removed meanwhile starts again.
 */
#include "os/rundir.h"

#include "base/advise.h"
#include "base/hash.h"
#include "os/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTEMPTS 100
#define ACL_NAME "system.posix_acl_access"
#define STATE_HEAD "{\"version\":"
#define ID_HEAD "run: "
#define MARK_MAX_BYTES 4096

static const char mark_text[] =
	"This folder belongs to assay, which keeps what it finds here and deletes what\n"
	"processes of its own have left. Without this file assay does not touch the folder.\n";

/* ---- Whose it is ----------------------------------------------------------------------------- */

static int check_owner(const struct as_dir *dir, struct as_err *err)
{
	struct stat st;

	if (fstat(dir->fd, &st))
		return as_fail_errno(err, errno, "%s", dir->path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return as_fail(
			err, AS_EUSE,
			"%s: this folder belongs to another user: choose another one with -o",
			dir->path);
	/* With an access control list, the bits of the group are the most that any entry of it
	 * gives. */
	if (st.st_mode & S_IWGRP && fgetxattr(dir->fd, ACL_NAME, NULL, 0) > 0)
		return as_fail(err, AS_EUSE,
			       "%s: its access control list (getfacl) lets others write to this "
			       "folder: choose another one with -o",
			       dir->path);
	/* On many systems each user has a group of their own, and new folders are writable for
	 * it. */
	if (st.st_mode & S_IWOTH || (st.st_mode & S_IWGRP && st.st_gid != getegid()))
		return as_fail(
			err, AS_EUSE,
			"%s: other users can write to this folder: choose another one with -o",
			dir->path);
	return 0;
}

/* ---- Whether it is a run folder -------------------------------------------------------------- */

static int is_other(void *ctx, const char *name)
{
	static const char *const ours[] = { AS_RUN_FINDINGS, AS_RUN_HUNT,   AS_RUN_PARTS,
					    "progress.json", "history.csv", "report.html" };

	(void)ctx;
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!strcmp(name, ours[i]))
			return 0;
	return 1;
}

static int is_no_finding(void *ctx, const char *name)
{
	struct as_dir below;
	bool is;

	/* What processes of ours left begins with a dot. */
	if (name[0] == '.')
		return 0;
	if (as_dir_below(ctx, name, false, &below, NULL))
		return 1;
	is = as_dir_has(&below, "finding.json") && as_dir_has(&below, "workload.txt");
	as_dir_close(&below);
	return !is;
}

static bool holds_findings(const struct as_dir *dir)
{
	struct as_dir below;
	bool all;

	if (!as_dir_has(dir, AS_RUN_FINDINGS))
		return true;
	if (as_dir_below(dir, AS_RUN_FINDINGS, false, &below, NULL))
		return false;
	all = !as_dir_each(&below, is_no_finding, &below);
	as_dir_close(&below);
	return all;
}

static bool holds_hunt(const struct as_dir *dir)
{
	struct as_buf text = { 0 };
	struct as_dir below;
	bool is;

	if (!as_dir_has(dir, AS_RUN_HUNT))
		return true;
	if (as_dir_below(dir, AS_RUN_HUNT, false, &below, NULL))
		return false;
	is = !as_dir_read(&below, AS_RUN_STATE, (size_t)256 << 20, &text, NULL) &&
	     !strncmp(as_buf_str(&text), STATE_HEAD, sizeof(STATE_HEAD) - 1);
	as_buf_free(&text);
	as_dir_close(&below);
	return is;
}

/* Versions that did not write .assay-run made such folders: they contain only findings and a hunt,
 * both as we write them. */
static bool is_of_old(const struct as_dir *dir)
{
	return (as_dir_has(dir, AS_RUN_FINDINGS) || as_dir_has(dir, AS_RUN_HUNT)) &&
	       !as_dir_each(dir, is_other, NULL) && holds_findings(dir) && holds_hunt(dir);
}

static int is_entry(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 1;
}

/* Only the existence of the file counts, so a kill leaves an empty folder or a run folder. The text
 * in it is for people, with a name that no other run has; it may be missing when the disk is full.
 */
static int put_mark(const struct as_dir *dir, struct as_err *err)
{
	int fd = openat(dir->fd, AS_RUN_MARK, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	char text[sizeof(mark_text) + sizeof(ID_HEAD) + AS_RUN_ID_LEN + 1], id[AS_RUN_ID_LEN + 1];
	struct as_digest chance;

	if (fd < 0)
		return as_fail_errno(err, errno, "%s/" AS_RUN_MARK ": cannot create", dir->path);
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) == (ssize_t)sizeof(chance)) {
		as_digest_hex(chance, id);
		snprintf(text, sizeof(text), "%s" ID_HEAD "%s\n", mark_text, id);
		(void)!write(fd, text, strlen(text));
	} else {
		(void)!write(fd, mark_text, sizeof(mark_text) - 1);
	}
	close(fd);
	return 0;
}

bool as_rundir_id(const struct as_dir *dir, char id[static AS_RUN_ID_LEN + 1])
{
	struct as_buf text = { 0 };
	struct as_digest digest;
	const char *at = NULL;

	if (!as_dir_read(dir, AS_RUN_MARK, MARK_MAX_BYTES, &text, NULL))
		at = strstr(as_buf_str(&text), "\n" ID_HEAD);
	if (at)
		snprintf(id, AS_RUN_ID_LEN + 1, "%.*s", AS_RUN_ID_LEN, at + strlen(ID_HEAD) + 1);
	as_buf_free(&text);
	return at && as_digest_parse(id, &digest);
}

/* When several processes come at once, one makes the folder, and the others may see it
 * unfinished. */
static int check_mark(const struct as_dir *dir, bool alone, struct as_err *err)
{
	char id[AS_RUN_ID_LEN + 1];
	struct stat st;

	if (!fstatat(dir->fd, AS_RUN_MARK, &st, AT_SYMLINK_NOFOLLOW)) {
		/* Of an old version, or made by a person. A folder that cannot be written stays
		 * without a name. */
		if (S_ISREG(st.st_mode) && alone && !as_rundir_id(dir, id))
			(void)!put_mark(dir, NULL);
		if (S_ISREG(st.st_mode))
			return 0;
	} else if (!as_dir_each(dir, is_entry, NULL) || is_of_old(dir)) {
		return put_mark(dir, err);
	}
	return as_fail(err, AS_EUSE,
		       "%s: there are files in this folder that are not assay's: choose another "
		       "one with -o, or make this one a run folder by `touch %s/" AS_RUN_MARK "`",
		       dir->path, dir->path);
}

/* ---- Using it -------------------------------------------------------------------------------- */

static int remove_part(void *ctx, const char *name)
{
	if (!strncmp(name, AS_RUN_PART, strlen(AS_RUN_PART)) || as_out_is_unfinished(name))
		as_dir_remove(ctx, name);
	return 0;
}

static int clean_below(void *ctx, const char *name)
{
	struct as_dir below;

	if (as_dir_is_plain(name) && !as_dir_below(ctx, name, false, &below, NULL)) {
		as_dir_each(&below, remove_part, &below);
		as_dir_close(&below);
	}
	return 0;
}

/* Nobody else uses the folder: the processes that left these have ended. */
static void clean(struct as_dir *dir)
{
	/* Folders of folders; the second one is that of joined runs (join/join.h). */
	static const char *const deep[] = { AS_RUN_FINDINGS, AS_RUN_JOINED };
	struct as_dir below;

	as_dir_each(dir, remove_part, dir);
	as_dir_each(dir, clean_below, dir); /* the states of hunts, checks and sessions, too */
	for (size_t i = 0; i < sizeof(deep) / sizeof(deep[0]); i++) {
		if (!as_dir_below(dir, deep[i], false, &below, NULL))
			as_dir_each(&below, clean_below, &below);
		as_dir_close(&below);
	}
}

static bool is_still_there(const struct as_rundir *run)
{
	struct stat own, now;

	return !fstat(run->dir.fd, &own) &&
	       !fstatat(run->way.fd, as_buf_str(&run->way.name), &now, AT_SYMLINK_NOFOLLOW) &&
	       own.st_dev == now.st_dev && own.st_ino == now.st_ino;
}

static void let_go(struct as_rundir *run)
{
	as_dir_close(&run->dir);
	as_route_free(&run->way);
	run->made = false;
}

/* Only one process at a time looks for .assay-run or writes it. */
static int take(struct as_rundir *run, bool *again, struct as_err *err)
{
	bool alone = !flock(run->dir.fd, LOCK_EX | LOCK_NB);
	int rc = alone ? 0 : as_dir_lock(&run->dir, false, err);

	if (rc)
		return rc;
	*again = !is_still_there(run);
	if (*again)
		return 0;
	rc = check_mark(&run->dir, alone, err);
	if (!rc && alone)
		clean(&run->dir);
	if (!rc && alone && flock(run->dir.fd, LOCK_SH))
		rc = as_fail_errno(err, errno, "%s: cannot lock it", run->dir.path);
	return rc;
}

static int try(const char *path, enum as_rundir_how how, struct as_rundir *run, bool *again,
	       struct as_err *err)
{
	int rc = as_route_find(path, &run->way, err);

	if (!rc)
		rc = as_dir_open_way(&run->way, path, how == AS_RUNDIR_THERE ? NULL : &run->made,
				     &run->dir, err);
	if (!rc)
		rc = check_owner(&run->dir, err);
	if (!rc && how == AS_RUNDIR_MAKE && faccessat(run->dir.fd, ".", W_OK | X_OK, AT_EACCESS))
		rc = as_fail_errno(err, errno, "%s", path);
	if (!rc)
		rc = take(run, again, err);
	/* We made it and could not use it. */
	if (rc && run->made)
		unlinkat(run->way.fd, as_buf_str(&run->way.name), AT_REMOVEDIR);
	return rc;
}

int as_rundir_open(const char *path, enum as_rundir_how how, struct as_rundir *run,
		   struct as_err *err)
{
	bool again = true;
	int rc = 0;

	*run = (struct as_rundir){ .dir = AS_DIR_NONE, .way.fd = -1 };
	for (unsigned i = 0; again && !rc && i < ATTEMPTS; i++) {
		let_go(run);
		again = false;
		rc = try(path, how, run, &again, err);
	}
	if (!rc && again)
		rc = as_fail(err, AS_EIO, "%s: others keep removing this folder", path);
	/* What is wrong with a folder of ours has told already what to do. */
	if (rc == AS_EIO && how != AS_RUNDIR_THERE)
		as_fail_advise(err, "choose another folder with -o");
	if (rc)
		let_go(run);
	return rc;
}

static int is_not_mark(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, AS_RUN_MARK) != 0;
}

void as_rundir_close(struct as_rundir *run)
{
	if (run->dir.fd >= 0 && !flock(run->dir.fd, LOCK_EX | LOCK_NB)) {
		unlinkat(run->dir.fd, AS_RUN_FINDINGS, AT_REMOVEDIR);
		if (run->made && is_still_there(run) &&
		    !as_dir_each(&run->dir, is_not_mark, NULL)) {
			unlinkat(run->dir.fd, AS_RUN_MARK, 0);
			unlinkat(run->way.fd, as_buf_str(&run->way.name), AT_REMOVEDIR);
		}
	}
	let_go(run);
}
