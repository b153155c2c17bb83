/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * program: runs make and its like for many minutes. What it says goes to a log and, line by line,
 * to the caller. It is a process group that dies with us, and ends when we are asked to stop.
 */
#include "kernel/kernel_priv.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 200
#define LINE_MAX_BYTES ((size_t)64 << 10) /* a compilation names its folder some dozen times */
#define TERM_TRIES 50 /* of LOOK_MS / 10 */

static const char *const environment[] = {
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	"LC_ALL=C",
	"TZ=UTC",
	"HOME=/nonexistent",
	/* Two builds of one source are the same. */
	"KBUILD_BUILD_USER=assay",
	"KBUILD_BUILD_HOST=assay",
	"KBUILD_BUILD_TIMESTAMP=1970-01-01",
	NULL,
};

static _Noreturn void become(const struct as_kernel_program *p, int out)
{
	int null = open("/dev/null", O_RDONLY);

	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (!p->cwd || !chdir(p->cwd))
		execvpe(p->argv[0], (char *const *)p->argv, (char *const *)environment);
	dprintf(2, "%s: %s\n", p->argv[0], strerror(errno));
	_exit(127);
}

struct hearing {
	const struct as_kernel_program *program;
	int fd, log;
	struct as_buf line;
};

/* False at the end of the stream. */
static bool take(struct hearing *r)
{
	char block[16 << 10];
	ssize_t n = read(r->fd, block, sizeof(block));

	if (n <= 0)
		return n < 0 && (errno == EINTR || errno == EAGAIN);
	/* A log that cannot be written (a full disk) is not what ends a build. */
	if (r->log >= 0 && write(r->log, block, (size_t)n) != n) {
		close(r->log);
		r->log = -1;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (block[i] != '\n') {
			if (r->line.len < LINE_MAX_BYTES)
				as_buf_addc(&r->line, block[i]);
			continue;
		}
		if (r->program->line)
			r->program->line(r->program->ctx, as_buf_str(&r->line));
		as_buf_clear(&r->line);
	}
	return true;
}

/* Make removes what it has half written when it gets SIGTERM. */
static void stop(pid_t pid)
{
	siginfo_t info = { 0 };

	kill(-pid, SIGTERM);
	for (int i = 0; i < TERM_TRIES && !info.si_pid; i++) {
		poll(NULL, 0, LOOK_MS / 10);
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
	}
	kill(-pid, SIGKILL);
}

int as_kernel_program(const struct as_kernel_program *p, int *status, struct as_err *err)
{
	struct hearing r = { .program = p, .log = -1 };
	pid_t pid;
	bool stopped = false, more = true;
	int pipes[2], word = 0;

	if (pipe2(pipes, O_CLOEXEC))
		return as_fail_errno(err, errno, "pipe");
	pid = as_spawn_child(AS_BIRTH_GROUP);
	if (!pid)
		become(p, pipes[1]);
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return as_fail_errno(err, errno, "fork");
	}
	r.fd = pipes[0];
	if (p->log)
		r.log = open(p->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	while (more && !stopped) {
		struct pollfd fd = { .fd = r.fd, .events = POLLIN };

		if (poll(&fd, 1, LOOK_MS) > 0)
			more = take(&r);
		stopped = p->stop && *p->stop;
	}
	if (stopped)
		stop(pid);
	while (waitpid(pid, &word, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL);
	close(r.fd);
	if (r.log >= 0)
		close(r.log);
	as_buf_free(&r.line);
	*status = WIFEXITED(word) ? WEXITSTATUS(word) : 128 + WTERMSIG(word);
	return stopped ? as_fail(err, AS_ESTOP, "stopped by a signal") : 0;
}
