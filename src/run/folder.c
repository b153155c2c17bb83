/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder: see folder.h.
 *
 * Method. The lock is flock(2) on a file: it is let go by the kernel when the last process that
 * inherited it is dead. Whoever gets the lock of a folder may remove it; the maker, too, has it
 * only when he gets it, and begins anew when a cleaner was faster. The lock's file goes last, so
 * that a cleaner who is killed leaves something that the next one recognises.
 *
 * The file system below may not answer, not even to a close(2), and who waits for it cannot be
 * killed. So a process of its own, the holder, makes the folder, holds the lock and removes it all;
 * we hold nothing there, and leave the holder behind when it does not answer. It also removes the
 * folder when we die.
 */
#include "run/folder.h"

#include "base/buf.h"
#include "base/spawn.h"
#include "base/stuck.h"
#include "run/sys_new.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".assay-run-"
#define NAME_LEN (sizeof(PREFIX) - 1 + 6)
#define ATTEMPTS 100
#define KILL_MS 500
#define HURRY_MS 700

/* In shared memory: what the holder has to say. */
struct told {
	uint64_t done; /* entries removed: it makes progress */
	int rc; /* of what it was last asked for */
	struct as_err err;
	char tree[PATH_MAX + 64];
};

struct as_folder {
	pid_t holder;
	int fd; /* a byte from there: it is done; one to there: remove it */
	struct told *told;
	unsigned deadline_ms;
};

/* The holder's. */
struct place {
	char *path, *tree, *lock;
	int lock_fd;
	uint64_t *done;
};

static char *join(const char *folder, const char *name)
{
	struct as_buf path = { 0 };

	as_buf_addf(&path, "%s/%s", folder, name);
	return path.data;
}

static void let_go(struct place *f)
{
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	free(f->path);
	free(f->tree);
	free(f->lock);
	free(f);
}

static struct place *named(const char *path, uint64_t *done)
{
	struct place *f = as_xcalloc(1, sizeof(*f));

	f->done = done;
	f->path = as_xstrdup(path);
	f->tree = join(path, "tree");
	f->lock = join(path, "lock");
	f->lock_fd = -1;
	return f;
}

/* With the lock in our hands. */
static int remove_all(struct place *f, struct as_err *err)
{
	struct stat st;
	int rc = 0;

	if (!lstat(f->tree, &st))
		rc = as_sys_remove_counted(f->tree, f->done, err);
	if (!rc && ((unlink(f->lock) && errno != ENOENT) || (rmdir(f->path) && errno != ENOENT)))
		rc = as_fail_errno(err, errno, "cannot remove %s", f->path);
	return rc;
}

/* ---- What dead runs left -------------------------------------------------------------------- */

static void clean_one(const char *path, uint64_t *done)
{
	struct place *f = named(path, done);
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

static void clean(const char *parent, uint64_t *done)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path;

		if (strlen(entry->d_name) != NAME_LEN ||
		    strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1))
			continue;
		path = join(parent, entry->d_name);
		clean_one(path, done);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* ---- Making one ----------------------------------------------------------------------------- */

/* 1: made, 0: a cleaner was faster, negative: errno. */
static int try(const char *parent, uint64_t *done, struct place **out)
{
	char *path = join(parent, PREFIX "XXXXXX");
	struct place *f;
	int rc = 1;

	if (!mkdtemp(path)) {
		rc = -errno;
		free(path);
		return rc;
	}
	f = named(path, done);
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

/* ---- The holder ----------------------------------------------------------------------------- */

static int make(const char *parent, struct told *told, struct place **place)
{
	int rc = 0;

	clean(parent, &told->done);
	for (int i = 0; i < ATTEMPTS && !rc; i++)
		rc = try(parent, &told->done, place);
	if (rc != 1)
		return as_fail_errno(&told->err, rc ? -rc : EBUSY, "%s: cannot make a folder in it",
				     parent);
	if ((size_t)snprintf(told->tree, sizeof(told->tree), "%s", (*place)->tree) <
	    sizeof(told->tree))
		return 0;
	return as_fail(&told->err, AS_EUSE, "%s: too long a path", parent);
}

/* Nothing of ours stays open there but the way to us. */
static int settle(int fd)
{
	setpgid(0, 0);
	as_spawn_be_silent();
	fd = dup2(fd, 3);
	close_range(4, ~0u, 0);
	return fd;
}

_Noreturn static void hold(const char *parent, struct told *told, int fd)
{
	struct pollfd ways[2] = { { .fd = settle(fd), .events = POLLIN },
				  { .fd = pidfd_open(getppid(), 0), .events = POLLIN } };
	struct place *place = NULL;

	told->rc = make(parent, told, &place);
	if (told->rc)
		_exit(1);
	(void)!send(ways[0].fd, "m", 1, MSG_NOSIGNAL);
	/* Asked to, or with nobody left who could ask. */
	while (poll(ways, 2, -1) < 0 && errno == EINTR)
		;
	told->rc = remove_all(place, &told->err);
	(void)!send(ways[0].fd, "r", 1, MSG_NOSIGNAL);
	_exit(0);
}

/* ---- Our side ------------------------------------------------------------------------------- */

/* False: it has not answered, for as long as nothing went on. */
static bool await_answer(struct as_folder *f)
{
	struct pollfd way = { .fd = f->fd, .events = POLLIN };
	volatile uint64_t *done = &f->told->done;
	uint64_t seen;
	char byte;

	do {
		seen = *done;
		if (poll(&way, 1, (int)f->deadline_ms) > 0)
			/* At its end it says nothing: what it could not do stands there. */
			return read(f->fd, &byte, 1) == 1 || f->told->rc;
	} while (*done != seen);
	return false;
}

static void free_folder(struct as_folder *f)
{
	close(f->fd);
	/* One that still lives writes to memory that it shares with nobody then. */
	as_shared_free(f->told, sizeof(*f->told));
	free(f);
}

static int give_up(struct as_folder *f, const char *parent, struct as_err *err)
{
	kill(f->holder, SIGKILL);
	(void)as_stuck_reap(f->holder, KILL_MS, NULL);
	return as_fail(
		err, AS_EIO,
		"%s: the file system does not answer within %u ms; what we made there is left",
		parent, f->deadline_ms);
}

int as_folder_new(const char *parent, unsigned deadline_ms, struct as_folder **folder,
		  struct as_err *err)
{
	struct as_folder *f = as_xcalloc(1, sizeof(*f));
	int fds[2], rc = 0;

	*folder = NULL;
	f->deadline_ms = deadline_ms;
	f->told = as_shared_alloc(sizeof(*f->told));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		rc = as_fail_errno(err, errno, "cannot make a pair of sockets");
		as_shared_free(f->told, sizeof(*f->told));
		free(f);
		return rc;
	}
	f->fd = fds[0];
	f->holder = fork();
	if (!f->holder)
		hold(parent, f->told, fds[1]);
	close(fds[1]);
	if (f->holder < 0)
		rc = as_fail_errno(err, errno, "cannot fork");
	else if (!await_answer(f))
		rc = give_up(f, parent, err);
	else if (f->told->rc) {
		rc = f->told->rc;
		if (err)
			*err = f->told->err;
		(void)as_stuck_reap(f->holder, KILL_MS, NULL);
	}
	if (rc)
		free_folder(f);
	else
		*folder = f;
	return rc;
}

const char *as_folder_tree(const struct as_folder *f)
{
	return f->told->tree;
}

void as_folder_leave(struct as_folder **folder)
{
	if (*folder) {
		(void)!give_up(*folder, "", NULL);
		free_folder(*folder);
	}
	*folder = NULL;
}

void as_folder_let_go(struct as_folder **folder)
{
	struct as_folder *f = *folder;
	struct pollfd way = { .events = POLLIN };

	if (!f)
		return;
	*folder = NULL;
	way.fd = f->fd;
	if (send(f->fd, "r", 1, MSG_NOSIGNAL) == 1 && poll(&way, 1, HURRY_MS) > 0)
		(void)as_stuck_reap(f->holder, KILL_MS, NULL);
	free_folder(f);
}

int as_folder_remove(struct as_folder **folder, struct as_err *err)
{
	struct as_folder *f = *folder;
	int rc = 0;

	if (!f)
		return 0;
	*folder = NULL;
	if (send(f->fd, "r", 1, MSG_NOSIGNAL) != 1 || !await_answer(f)) {
		rc = give_up(f, f->told->tree, err);
	} else {
		rc = f->told->rc;
		if (rc && err)
			*err = f->told->err;
		(void)as_stuck_reap(f->holder, f->deadline_ms, NULL);
	}
	free_folder(f);
	return rc;
}
