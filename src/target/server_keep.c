/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server_keep: see server_keep.h.
 *
 * Method. The keeper is the first process of a PID namespace: when it ends, by whatever, the kernel
 * kills all that are in it, the server's daemons and theirs included, and so closes every
 * descriptor of /dev/fuse that they hold. Then calls that wait for an answer return.
 * The server itself is the second process, because the first one is spared most signals. The keeper
 * waits for it, reaps orphans, and reads what is printed into a ring, so that a talkative server
 * neither blocks nor fills the memory.
 *
 * Invariants
 *   1. The keeper stays in the process group of the process that started it: who kills that group
 *      kills all of it, also when the starter waits in the kernel for the server and cannot die.
 *   2. It also ends with the starter, and with the starter's parent (of which it has a descriptor):
 *      nobody is left to kill the group when that one is killed.
 *   3. Between fork and exec nothing is called that may wait for a lock: the starter has threads.
 */
#include "target/server_keep.h"

#include "base/err.h"
#include "os/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 200 /* for orphans; everything else wakes us */
#define BLOCKS_MAX 16 /* read before we look at the server again */

/* Where the keeper has its descriptors. */
enum { FD_NULL, FD_OUT, FD_ERR, FD_PIPE, FD_WATCHER, FD_NONE };

struct keeping {
	const char *program;
	char *const *argv;
	const char *mnt;
	uint64_t before; /* number of the mount that is there without the server's */
	struct as_server_report *report;
	int fds[FD_NONE];
};

/* fork(2) without what the C library does around it: see invariant 3. */
static pid_t bare_fork(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);
}

_Noreturn static void become(const struct keeping *k)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		    lc[] = "LC_ALL=C", tz[] = "TZ=UTC", home[] = "HOME=/";
	static char *const envp[] = { path, lc, tz, home, NULL };
	struct rlimit none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &none);
	as_limit_memory();
	execve(k->program, k->argv, envp);
	k->report->exec_errno = errno;
	_exit(127);
}

/* Nothing else that the starter had open stays open. */
static bool take_descriptors(struct keeping *k)
{
	int high[FD_NONE];

	for (int i = 0; i < FD_NONE; i++) {
		high[i] = k->fds[i] < 0 ? -1 : fcntl(k->fds[i], F_DUPFD_CLOEXEC, FD_NONE);
		if (high[i] < 0 && i != FD_WATCHER)
			return false;
	}
	for (int i = 0; i < FD_NONE; i++) {
		close(i);
		if (high[i] >= 0 && dup3(high[i], i, i >= FD_PIPE ? O_CLOEXEC : 0) != i)
			return false;
	}
	close_range(FD_NONE, ~0u, 0);
	return true;
}

/* False: nothing more is there now. */
static bool take_output(struct as_server_report *r)
{
	char block[4096];
	ssize_t n = read(FD_PIPE, block, sizeof(block));

	for (ssize_t i = 0; i < n; i++)
		r->output[(r->output_bytes + (uint64_t)i) % AS_SERVER_OUTPUT_BYTES] = block[i];
	if (n > 0)
		r->output_bytes += (uint64_t)n;
	return n > 0;
}

static void take_some_output(struct as_server_report *r)
{
	for (int i = 0; i < BLOCKS_MAX && take_output(r); i++)
		;
}

uint64_t as_server_mount_number(const char *path)
{
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &sx))
		return 0;
	return sx.stx_mask & STATX_MNT_ID ? sx.stx_mnt_id : 0;
}

_Noreturn static void keep(struct keeping *k)
{
	struct pollfd fds[3] = { { .fd = FD_PIPE, .events = POLLIN },
				 { .fd = FD_WATCHER, .events = POLLIN },
				 { .events = POLLIN } };
	struct as_server_report *r = k->report;
	pid_t server, got;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!take_descriptors(k))
		_exit(1);
	server = bare_fork(0);
	if (server < 0)
		_exit(1);
	if (!server)
		become(k);
	dup2(FD_NULL, FD_OUT);
	dup2(FD_NULL, FD_ERR);
	fds[2].fd = pidfd_open(server, 0);
	while (!r->ended) {
		if (poll(fds, 3, LOOK_MS) > 0 && fds[1].revents & POLLIN) {
			/* A server that waits for its own file system would outlive even its
			 * namespace. What was mounted there before is not ours. */
			if (as_server_mount_number(k->mnt) != k->before)
				umount2(k->mnt, MNT_FORCE | MNT_DETACH);
			_exit(0);
		}
		/* All writers are gone: nothing more will come. */
		if (fds[0].revents & POLLHUP && !(fds[0].revents & POLLIN))
			fds[0].fd = -1;
		take_some_output(r);
		while ((got = waitpid(-1, &status, WNOHANG)) > 0)
			if (got == server) {
				take_some_output(r);
				r->status = status;
				r->ended = true;
			}
	}
	_exit(0);
}

pid_t as_server_keep(const char *program, char *const *argv, const char *mnt,
		     struct as_server_report *report)
{
	struct keeping k = { .program = program,
			     .argv = argv,
			     .mnt = mnt,
			     .before = as_server_mount_number(mnt),
			     .report = report };
	int pipe_fds[2] = { -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int watcher = pidfd_open(getppid(), 0);
	pid_t pid = -1;
	int saved;

	if (null >= 0 && !pipe2(pipe_fds, O_CLOEXEC) && !fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK)) {
		k.fds[FD_NULL] = null;
		k.fds[FD_OUT] = k.fds[FD_ERR] = pipe_fds[1];
		k.fds[FD_PIPE] = pipe_fds[0];
		k.fds[FD_WATCHER] = watcher;
		pid = bare_fork(CLONE_NEWPID);
		/* A process that may not have a namespace may not mount either: there will be
		 * nothing to wait for. */
		if (pid < 0 && errno == EPERM)
			pid = bare_fork(0);
		if (!pid)
			keep(&k);
	}
	saved = errno;
	if (null >= 0)
		close(null);
	if (watcher >= 0)
		close(watcher);
	if (pipe_fds[0] >= 0) {
		close(pipe_fds[0]);
		close(pipe_fds[1]);
	}
	return pid < 0 ? -saved : pid;
}
