/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folders: see folders.h. All access is through open folders. Only names that hunts use are
 * removed: job-NUMBER, reduce, and files that were never finished.
 */
#include "hunt/folders.h"

#include "os/out.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME "lock"
#define DYING_US 10000000 /* how long children of a hunt that was killed may take to die */
#define DYING_LOOK_MS 20

void as_folders_job(unsigned job, char name[AS_HUNT_JOB_MAX])
{
	snprintf(name, AS_HUNT_JOB_MAX, AS_HUNT_JOB "%u", job);
}

static bool is_job(const char *name)
{
	size_t skip = strlen(AS_HUNT_JOB);

	return !strncmp(name, AS_HUNT_JOB, skip) && name[skip] &&
	       !name[skip + strspn(name + skip, "0123456789")];
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Whether the process that holds the lock lives. If it was killed, its children hold the lock
 * until they die a moment later. */
static bool leader_lives(int lock_fd)
{
	char text[512] = "", path[64];
	const char *state;
	long pid;
	int fd;

	if (pread(lock_fd, text, sizeof(text) - 1, 0) <= 0)
		return true;
	pid = strtol(text, NULL, 10);
	if (pid <= 0 || (kill((pid_t)pid, 0) && errno == ESRCH))
		return pid <= 0;
	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	memset(text, 0, sizeof(text));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	/* "PID (NAME) STATE"; in state Z it is dead and its parent has not waited for it yet. */
	state = strrchr(text, ')');
	return !state || state[1] != ' ' || (state[2] != 'Z' && state[2] != 'X');
}

static int lock(int fd)
{
	int64_t until_us = as_now_us() + DYING_US;
	int rc;

	while ((rc = flock(fd, LOCK_EX | LOCK_NB)) && errno == EWOULDBLOCK && !leader_lives(fd) &&
	       as_now_us() < until_us)
		poll(NULL, 0, DYING_LOOK_MS);
	return rc ? -errno : 0;
}

static int open_lock(struct as_folders *f, struct as_err *err)
{
	struct stat st;
	int rc;

	f->lock_fd =
		openat(f->hunt.fd, LOCK_NAME,
		       O_CREAT | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (f->lock_fd < 0 && errno != ELOOP)
		return as_fail_errno(err, errno, "%s/" LOCK_NAME, f->hunt.path);
	if (f->lock_fd < 0 || fstat(f->lock_fd, &st) || !S_ISREG(st.st_mode))
		return as_fail(err, AS_EUSE, "%s/" LOCK_NAME ": not a regular file", f->hunt.path);
	rc = lock(f->lock_fd);
	if (rc == -EWOULDBLOCK)
		return as_fail(err, AS_EUSE, "%s: another hunt is running there", f->run.dir.path);
	if (rc || ftruncate(f->lock_fd, 0) || dprintf(f->lock_fd, "%ld\n", (long)getpid()) < 0)
		return as_fail_errno(err, rc ? -rc : errno, "%s/" LOCK_NAME, f->hunt.path);
	return 0;
}

/* Without the lock (lock_fd is -1) nothing may be cleaned up. */
static int take_lock(struct as_folders *f, struct as_err *err)
{
	int rc = open_lock(f, err);

	if (rc && f->lock_fd >= 0) {
		close(f->lock_fd);
		f->lock_fd = -1;
	}
	return rc;
}

int as_folders_open(const char *folder, bool make, struct as_folders *f, struct as_err *err)
{
	struct stat st;
	int rc;

	*f = (struct as_folders){ .run = { .dir = AS_DIR_NONE, .way.fd = -1 },
				  .hunt = AS_DIR_NONE,
				  .lock_fd = -1 };
	if (!make && stat(folder, &st) && errno == ENOENT)
		return as_fail(err, AS_EUSE, "--resume: there is no hunt in %s", folder);
	rc = as_rundir_open(folder, make ? AS_RUNDIR_MAKE : AS_RUNDIR_THERE, &f->run, err);
	if (!rc && !make && !as_dir_has(&f->run.dir, AS_HUNT_FOLDER))
		rc = as_fail(err, AS_EUSE, "--resume: there is no hunt in %s", folder);
	if (!rc)
		rc = as_dir_below(&f->run.dir, AS_HUNT_FOLDER, make, &f->hunt, err);
	if (!rc)
		rc = take_lock(f, err);
	if (rc)
		as_folders_close(f);
	return rc;
}

void as_folders_close(struct as_folders *f)
{
	struct as_dir *dir = &f->run.dir;

	/* Without a state, no hunt has begun here. */
	if (f->lock_fd >= 0 && !as_dir_has(&f->hunt, AS_RUN_STATE))
		as_dir_remove(dir, AS_HUNT_FOLDER);
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	f->lock_fd = -1;
	as_dir_close(&f->hunt);
	as_rundir_close(&f->run);
}

/* ---- What processes leave -------------------------------------------------------------------- */

struct folders_counts {
	const struct as_dir *from, *to;
	const char *job;
};

/* A guest has written these files: they may be anything. */
static int take_count(void *ctx, const char *name)
{
	const struct folders_counts *c = ctx;
	struct as_buf to = { 0 };
	struct stat st;

	as_buf_addf(&to, "%s-%s", c->job, name);
	if (as_dir_is_plain(name) && strstr(name, ".cov") &&
	    !fstatat(c->from->fd, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		(void)!renameat(c->from->fd, name, c->to->fd, as_buf_str(&to));
	as_buf_free(&to);
	return 0;
}

/* Moves the counts of engines in the boxes of a job to the folder of the hunt's counts. */
static int take_counts(void *ctx, const char *name)
{
	const struct as_hunt *hunt = ctx;
	struct as_dir job = AS_DIR_NONE, from = AS_DIR_NONE, to = AS_DIR_NONE;

	if (is_job(name) && !as_dir_below(&hunt->folders->hunt, name, false, &job, NULL) &&
	    !as_dir_below(&job, AS_HUNT_COV, false, &from, NULL) &&
	    !as_dir_open(hunt->cov, NULL, &to, NULL)) {
		struct folders_counts counts = { &from, &to, name };

		as_dir_each(&from, take_count, &counts);
	}
	as_dir_close(&to);
	as_dir_close(&from);
	as_dir_close(&job);
	return 0;
}

static int remove_leftover(void *ctx, const char *name)
{
	if (is_job(name) || !strcmp(name, AS_HUNT_REDUCE) || as_out_is_unfinished(name))
		as_dir_remove(ctx, name);
	return 0;
}

void as_folders_clean(const struct as_hunt *hunt)
{
	const struct as_dir *dir = &hunt->folders->hunt;

	if (hunt->cov)
		as_dir_each(dir, take_counts, (void *)hunt);
	as_dir_each(dir, remove_leftover, (void *)dir);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static int open_job(const struct as_hunt *hunt, unsigned job, struct as_dir *findings,
		    struct as_err *err)
{
	char name[AS_HUNT_JOB_MAX];
	struct as_dir dir;
	int rc;

	as_folders_job(job, name);
	*findings = AS_DIR_NONE;
	rc = as_dir_below(&hunt->folders->hunt, name, false, &dir, err);
	if (!rc)
		rc = as_dir_below(&dir, AS_RUN_FINDINGS, false, findings, err);
	as_dir_close(&dir);
	return rc;
}

int as_folders_take(const struct as_hunt *hunt, unsigned job, const char *id, bool keep,
		    struct as_err *err)
{
	struct as_dir from, to = AS_DIR_NONE;
	bool again;
	int rc = open_job(hunt, job, &from, err);

	if (!rc && !as_dir_is_plain(id))
		rc = as_fail(err, AS_EIO, "a job of the hunt sent an invalid message");
	if (!rc && keep)
		rc = as_dir_below(&hunt->folders->run.dir, AS_RUN_FINDINGS, true, &to, err);
	/* The finding may be there already, if an earlier process was killed after this move. */
	if (!rc && keep)
		rc = as_dir_take(&from, id, &to, &again, err);
	else if (!rc)
		as_dir_remove(&from, id);
	as_dir_close(&to);
	as_dir_close(&from);
	return rc;
}

int as_folders_finding(const struct as_hunt *hunt, const char *id, struct as_dir *dir,
		       struct as_err *err)
{
	struct as_dir findings;
	int rc = as_dir_below(&hunt->folders->run.dir, AS_RUN_FINDINGS, false, &findings, err);

	*dir = AS_DIR_NONE;
	if (!rc)
		rc = as_dir_below(&findings, id, false, dir, err);
	as_dir_close(&findings);
	return rc;
}
