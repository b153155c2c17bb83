/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard: see guard.h.
 *
 * Method. Standard output and error are a pipe that is read when the child has ended. Writing to it
 * does not block: a child that fills it loses the rest of its output and goes on. While the child
 * lives, this process is the reaper of orphans, so that a process which the child leaves running
 * becomes our child. Every child that we did not have before is then killed, until there is none.
 * Where the kernel does not list children, only the process group is killed.
 */
#include "os/guard.h"

#include "os/left.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#define OUTPUT_BYTES (64 << 10)
#define ROUNDS_MAX 100 /* how often we look for orphans */

struct guarded {
	int (*fn)(void *ctx);
	void *ctx;
	int out_fd;
};

static int enter(void *ctx)
{
	const struct guarded *g = ctx;
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd >= 0)
		dup2(null_fd, STDIN_FILENO);
	dup2(g->out_fd, STDOUT_FILENO);
	dup2(g->out_fd, STDERR_FILENO);
	return g->fn(g->ctx);
}

/* ---- The child ------------------------------------------------------------------------------- */

static void read_all(int fd, struct as_buf *output)
{
	ssize_t n;

	do {
		n = read(fd, as_buf_reserve(output, OUTPUT_BYTES), OUTPUT_BYTES);
		if (n > 0)
			output->len += (size_t)n;
	} while (n > 0 && output->len < OUTPUT_BYTES);
	as_buf_add(output, "", 0);
}

int as_guard_fork(int (*fn)(void *ctx), void *ctx, const struct as_spawn_limits *limits,
		  struct as_buf *output, struct as_ended *ended, struct as_err *err)
{
	struct guarded g = { .fn = fn, .ctx = ctx };
	struct as_buf before = { 0 };
	int fds[2], reaper = 0, rc;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return as_fail_errno(err, errno, "cannot make a pipe");
	g.out_fd = fds[1];
	prctl(PR_GET_CHILD_SUBREAPER, &reaper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	as_left_list(&before);
	rc = as_spawn_fork_limited(enter, &g, limits, ended, err);
	for (int i = 0; i < ROUNDS_MAX && as_left_kill(&before); i++)
		;
	prctl(PR_SET_CHILD_SUBREAPER, reaper);
	close(fds[1]);
	read_all(fds[0], output);
	close(fds[0]);
	as_buf_free(&before);
	return rc;
}
