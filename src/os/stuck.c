/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stuck: see stuck.h.
 *
 * Method. umount(2) with MNT_FORCE makes FUSE abort the connection: every request that waits is
 * answered with ECONNABORTED. It must be called in the mount namespace that has the mount, so a
 * helper process enters that namespace (and before it the user namespace, if that is another one)
 * and reads there what is mounted. Where the kernel lets only the machine's root force an unmount,
 * the helper tries the connection's file below /sys/fs/fuse/connections, which belongs to the user
 * who mounted. Reading the tables of mounts sends no request to any server.
 */
#include "os/stuck.h"

#include "base/array.h"
#include "base/buf.h"
#include "os/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_MS 2000
#define NAP_US 1000
#define MOUNTS_MAX_BYTES ((size_t)4 << 20)
#define STACK_MAX_BYTES 4096
#define STACKS_MAX 8u

bool as_stuck_reap(pid_t pid, unsigned ms, int *status)
{
	int64_t end_us = as_now_us() + (int64_t)ms * 1000;
	struct pollfd ended = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	pid_t got;

	while ((got = waitpid(pid, status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
		int64_t left_us = end_us - as_now_us();

		if (left_us <= 0)
			break;
		/* Without a pidfd we have to look again and again. */
		if (ended.fd < 0)
			usleep(NAP_US);
		else
			(void)!poll(&ended, 1, (int)(left_us / 1000) + 1);
	}
	if (ended.fd >= 0)
		close(ended.fd);
	return got != 0;
}

/* ---- Tables of mounts ------------------------------------------------------------------------ */

/* A line of mountinfo: `id parent major:minor root path options ... - type ...`. */
struct fuse_mount {
	unsigned minor;
	char *path; /* escaped as in mountinfo, until unescape() */
};

static bool parse_mount(char *line, struct fuse_mount *row)
{
	char *dash = strstr(line, " - "), *save = NULL, *word = NULL;

	if (!dash || strncmp(dash + 3, "fuse", 4))
		return false;
	*dash = '\0';
	for (int i = 0; i < 5; i++) {
		word = strtok_r(i ? NULL : line, " ", &save);
		if (!word || (i == 2 && sscanf(word, "%*u:%u", &row->minor) != 1))
			return false;
	}
	row->path = word;
	return true;
}

static void unescape(char *path)
{
	char *to = path;

	for (const char *s = path; *s; to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*to = *s++;
		}
	}
	*to = '\0';
}

static void each_fuse(struct as_buf *table, void (*fn)(void *ctx, struct fuse_mount *row),
		      void *ctx)
{
	char *save = NULL;

	if (!table->len)
		return;
	for (char *line = strtok_r(table->data, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct fuse_mount row;

		if (parse_mount(line, &row))
			fn(ctx, &row);
	}
}

/* ---- The helper ------------------------------------------------------------------------------ */

struct minors {
	unsigned *minor;
	size_t n, cap;
};

static void collect(void *ctx, struct fuse_mount *row)
{
	struct minors *m = ctx;

	AS_ARRAY_ROOM(m->minor, m->n, m->cap);
	m->minor[m->n++] = row->minor;
}

static void cut(void *ctx, struct fuse_mount *row)
{
	const struct minors *ours = ctx;
	char abort_path[64];
	int fd;

	for (size_t i = 0; i < ours->n; i++)
		if (ours->minor[i] == row->minor)
			return;
	unescape(row->path);
	if (!umount2(row->path, MNT_FORCE | MNT_DETACH | UMOUNT_NOFOLLOW))
		return;
	snprintf(abort_path, sizeof(abort_path), "/sys/fs/fuse/connections/%u/abort", row->minor);
	fd = open(abort_path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, "1", 1);
}

/* Opens a namespace of the process, or of one of its threads: the first thread may have ended. */
static int open_namespace(pid_t pid, const char *name)
{
	char path[320];
	struct dirent *entry;
	int fd = -1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && fd < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/ns/%s", (int)pid, entry->d_name,
			 name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (dir)
		closedir(dir);
	return fd;
}

static bool is_ours(int fd, const char *path)
{
	struct stat theirs, ours;

	return fd < 0 || (!fstat(fd, &theirs) && !stat(path, &ours) &&
			  theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev);
}

static void help(pid_t pid)
{
	int user = open_namespace(pid, "user"), mounts = open_namespace(pid, "mnt");
	struct as_buf table = { 0 };
	struct minors ours = { 0 };

	if (is_ours(mounts, "/proc/self/ns/mnt") ||
	    as_buf_read_file(&table, "/proc/self/mountinfo", MOUNTS_MAX_BYTES, NULL))
		return;
	each_fuse(&table, collect, &ours);
	if (!is_ours(user, "/proc/self/ns/user") && setns(user, CLONE_NEWUSER))
		return;
	as_buf_clear(&table);
	if (setns(mounts, CLONE_NEWNS) ||
	    as_buf_read_file(&table, "/proc/self/mountinfo", MOUNTS_MAX_BYTES, NULL))
		return;
	each_fuse(&table, cut, &ours);
}

void as_stuck_cut(pid_t pid)
{
	pid_t helper = as_spawn_child(0);

	if (helper < 0)
		return;
	if (!helper) {
		help(pid);
		_exit(0);
	}
	if (!as_stuck_reap(helper, HELPER_MS, NULL))
		kill(helper, SIGKILL);
}

/* ---- Where it waits -------------------------------------------------------------------------- */

static void add_stack(pid_t pid, const char *thread, struct as_buf *out)
{
	char path[64 + NAME_MAX], text[STACK_MAX_BYTES];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stack", (int)pid, thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (fd >= 0)
		close(fd);
	if (len > 0)
		as_buf_addf(out, "thread %s of the process that did not come back:\n%.*s", thread,
			    (int)len, text);
}

void as_stuck_where(pid_t pid, struct as_buf *out)
{
	char path[64];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && n < STACKS_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			add_stack(pid, entry->d_name, out);
			n++;
		}
	if (dir)
		closedir(dir);
}
