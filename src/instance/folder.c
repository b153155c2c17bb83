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
 *
 * The file system below may not answer, not even to a close(2), and who waits for it cannot be
 * killed. So a process of its own, the holder, makes the folder, holds the lock and removes it all;
 * we hold nothing there but a way to the tree (O_PATH), which children inherit, and leave the
 * holder alone when it does not answer. It also removes the folder when we die.
 */
#include "instance/folder.h"

#include "os/dir.h"
#include "os/spawn.h"
#include "os/stuck.h"
#include "vfs/sys_new.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX ".assay-run-"
#define NAME_LEN (sizeof(PREFIX) - 1 + 6)
#define ATTEMPTS 100
#define KILL_MS 500
#define DEATH_MS 50 /* between the end of its socket and its own */
#define HURRY_MS 700
#define RETRIES 20
#define RETRY_US 50000

#define TREE "tree"
#define LOCK "lock"

/* In shared memory: what the holder has to say. */
struct told {
	uint64_t done; /* entries removed: it makes progress */
	int rc; /* of what it was last asked for */
	struct as_err err;
};

struct as_folder {
	pid_t holder;
	int fd; /* a byte from there: it is done; one to there: remove it */
	int tree_fd; /* -1: there is none yet */
	char tree[48]; /* by that descriptor, which children inherit */
	struct told *told;
	unsigned deadline_ms;
};

/* The holder's. */
struct folder_place {
	struct as_dir parent;
	char name[NAME_LEN + 1];
	int fd, lock_fd, tree_fd;
	uint64_t *done;
};

static void let_go(struct folder_place *f)
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
static struct folder_place *named(const struct as_dir *parent, const char *name, uint64_t *done)
{
	struct folder_place *f = as_xcalloc(1, sizeof(*f));

	f->fd = f->lock_fd = f->tree_fd = -1;
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->done = done;
	if (!as_dir_dup(parent, &f->parent, NULL))
		return f;
	let_go(f);
	return NULL;
}

/* Only what is ours by owner. 0 or a negative errno. */
static int open_own(struct folder_place *f)
{
	struct stat st;

	f->fd = openat(f->parent.fd, f->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	return fstat(f->fd, &st) || st.st_uid != geteuid() ? -EPERM : 0;
}

/* A FUSE server may keep what is removed while it is open under another name in the same folder,
 * and hears of our last close(2) only after it returned. */
static int remove_emptied(const struct folder_place *f)
{
	int err = 0;

	for (int i = 0; i < RETRIES; i++) {
		err = unlinkat(f->parent.fd, f->name, AT_REMOVEDIR) ? errno : 0;
		if (err != ENOTEMPTY)
			break;
		usleep(RETRY_US);
	}
	return err == ENOENT ? 0 : err;
}

/* We hold the lock, and let it go when only the folder itself is left. */
static int remove_all(struct folder_place *f, struct as_err *err)
{
	struct stat st;
	int rc = 0, why = 0;

	if (!fstatat(f->fd, TREE, &st, AT_SYMLINK_NOFOLLOW))
		rc = as_sys_remove_counted(f->fd, TREE, f->done, err);
	if (rc)
		return rc;
	if (unlinkat(f->fd, LOCK, 0) && errno != ENOENT)
		why = errno;
	if (!why) {
		if (f->lock_fd >= 0)
			close(f->lock_fd);
		f->lock_fd = -1;
		why = remove_emptied(f);
	}
	return why ? as_fail_errno(err, why, "cannot remove %s/%s", f->parent.path, f->name) : 0;
}

/* ---- What dead runs left -------------------------------------------------------------------- */

struct cleaning {
	const struct as_dir *parent;
	uint64_t *done;
};

static int clean_one(void *ctx, const char *name)
{
	const struct cleaning *c = ctx;
	struct folder_place *f;

	if (strlen(name) != NAME_LEN || strncmp(name, PREFIX, sizeof(PREFIX) - 1))
		return 0;
	f = named(c->parent, name, c->done);
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
static int fill(struct folder_place *f)
{
	int rc = open_own(f);
	struct stat st;

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	f->lock_fd = openat(f->fd, LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	/* It exists: a cleaner was faster, and then another maker (whose process has our number, in
	 * another container) was. */
	if (f->lock_fd < 0)
		return errno == ENOENT || errno == EEXIST ? 0 : -errno;
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? 0 : -errno;
	/* A cleaner may have removed the lock's file before we locked it. If the cleaner was killed
	 * then, the folder is still there, but a folder without a lock is never cleaned. */
	if (fstatat(f->fd, LOCK, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (mkdirat(f->fd, TREE, 0755))
		return errno == ENOENT ? 0 : -errno;
	if (fchmodat(f->fd, TREE, 0755, 0))
		return -errno;
	/* Whoever has only this open sends no request to the file system when he closes it. */
	f->tree_fd = openat(f->fd, TREE, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (f->tree_fd < 0)
		return -errno;
	return 1;
}

static int try(const struct as_dir *parent, unsigned attempt, uint64_t *done,
	       struct folder_place **out)
{
	char name[NAME_LEN + 1];
	struct folder_place *f;
	int rc;

	snprintf(name, sizeof(name), PREFIX "%06x",
		 ((unsigned)getpid() * 131 + attempt) & 0xffffff);
	if (mkdirat(parent->fd, name, 0700))
		return errno == EEXIST ? 0 : -errno;
	f = named(parent, name, done);
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

/* ---- The holder ----------------------------------------------------------------------------- */

static int make(const char *path, struct told *told, struct folder_place **place)
{
	struct as_dir parent;
	struct cleaning cleaning = { &parent, &told->done };
	int rc = as_dir_open(path, NULL, &parent, &told->err);

	if (rc)
		return as_fail_in(&told->err, "cannot make a folder in it");
	as_dir_each(&parent, clean_one, &cleaning);
	for (unsigned i = 0; i < ATTEMPTS && !rc; i++)
		rc = try(&parent, i, &told->done, place);
	as_dir_close(&parent);
	if (rc != 1)
		return as_fail_errno(&told->err, rc ? -rc : EBUSY, "%s: cannot make a folder in it",
				     path);
	return 0;
}

/* Says that it is made, and hands over the descriptor of the tree. */
static void send_tree(int fd, int tree_fd)
{
	char byte = 'm', room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec text = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &tree_fd, sizeof(int));
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* We keep nothing open there but the socket. */
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
	const pid_t parent_pid = getppid();
	struct pollfd ways[2] = { { .fd = settle(fd), .events = POLLIN },
				  { .fd = pidfd_open(getppid(), 0), .events = POLLIN } };
	struct folder_place *place = NULL;

	told->rc = make(parent, told, &place);
	if (told->rc)
		_exit(1);
	send_tree(ways[0].fd, place->tree_fd);
	/* It was asked to, or nobody is left who could ask. */
	while (poll(ways, 2, -1) < 0 && errno == EINTR)
		;
	told->rc = remove_all(place, &told->err);
	/* A process that we did not wait for may still be dying in there. */
	for (int i = 0; i < RETRIES && told->rc && getppid() != parent_pid; i++) {
		usleep(RETRY_US);
		told->rc = remove_all(place, &told->err);
	}
	(void)!send(ways[0].fd, "r", 1, MSG_NOSIGNAL);
	_exit(0);
}

/* ---- Our side ------------------------------------------------------------------------------- */

/* One byte of an answer, and the descriptor that may be with it. */
static bool take_answer(struct as_folder *f)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec text = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *head;

	if (recvmsg(f->fd, &msg, MSG_CMSG_CLOEXEC) != 1)
		return false;
	head = CMSG_FIRSTHDR(&msg);
	if (head && head->cmsg_type == SCM_RIGHTS && f->tree_fd < 0) {
		memcpy(&f->tree_fd, CMSG_DATA(head), sizeof(int));
		snprintf(f->tree, sizeof(f->tree), "/proc/self/fd/%d/.", f->tree_fd);
	}
	return true;
}

/* A part of the deadline; one that took longer by far than it was to take does not count: then we
 * were stopped, too. */
#define SLICE_MS 250

/* False: it has not answered, and for that long nothing went on. */
static bool await_answer(struct as_folder *f)
{
	struct pollfd way = { .fd = f->fd, .events = POLLIN };
	volatile uint64_t *done = &f->told->done;
	uint64_t seen = *done;
	int64_t left_ms = f->deadline_ms;

	while (left_ms > 0) {
		int slice_ms = left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
		int64_t began_us = as_now_us();

		if (poll(&way, 1, slice_ms) > 0)
			/* When it ends it says nothing: what it could not do is in the shared
			 * memory. */
			return take_answer(f) || f->told->rc;
		if (as_now_us() - began_us < 4 * SLICE_MS * 1000)
			left_ms -= slice_ms;
		if (*done != seen) {
			seen = *done;
			left_ms = f->deadline_ms;
		}
	}
	return false;
}

static void free_folder(struct as_folder *f)
{
	close(f->fd);
	if (f->tree_fd >= 0)
		close(f->tree_fd);
	/* If it still lives, it writes to memory that nobody shares with it then. */
	as_shared_free(f->told, sizeof(*f->told));
	free(f);
}

/* Of a holder that has neither answered nor said why: killed by somebody else, or waiting. */
static int give_up(struct as_folder *f, const char *parent, struct as_err *err)
{
	int status = 0;
	bool ended = as_stuck_reap(f->holder, DEATH_MS, &status);

	if (!ended) {
		kill(f->holder, SIGKILL);
		(void)as_stuck_reap(f->holder, KILL_MS, NULL);
	} else if (WIFSIGNALED(status)) {
		return as_fail(
			err, AS_EIO,
			"%s: the process that holds our folder there was killed by signal %d "
			"(%s); what we made there is left",
			parent, WTERMSIG(status), strsignal(WTERMSIG(status)));
	}
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
	f->tree_fd = -1;
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
	return f->tree;
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
		rc = give_up(f, "the directory under test", err);
	} else {
		rc = f->told->rc;
		if (rc && err)
			*err = f->told->err;
		(void)as_stuck_reap(f->holder, f->deadline_ms, NULL);
	}
	free_folder(f);
	return rc;
}
