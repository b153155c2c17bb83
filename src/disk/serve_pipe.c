/* SPDX-License-Identifier: GPL-2.0-or-later */
/* serve_pipe: see serve_pipe.h. */
#include "disk/serve_pipe.h"

#include "disk/serve.h"
#include "os/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_BYTES (2 * AS_SERVE_PIECE_BYTES)
#define REQUEST_BYTES (2u << 20) /* more than libfuse asks for: 257 pages */
#define SPARE_BYTES (24u << 20) /* less than what malloc maps on its own (mount/mount.c) */
#define ONLY_IN_UML "/proc/exitcode"

bool as_serve_pipe_needed(void)
{
	return !access(ONLY_IN_UML, F_OK);
}

/* The reading end does not wait: what is read there is there. The buffer's pages are touched now,
 * so that no request waits for them. */
int as_serve_pipe_open(struct as_serve_pipe *pipe, void **buffer, struct as_err *err)
{
	pthread_mutex_init(&pipe->settling, NULL);
	*buffer = as_xmalloc(REQUEST_BYTES);
	memset(*buffer, 0, REQUEST_BYTES);
	if (pipe2(pipe->fd, O_CLOEXEC) || fcntl(pipe->fd[0], F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(pipe->fd[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
		return as_fail_errno(err, errno, "cannot make a pipe of %u bytes", PIPE_BYTES);
	return 0;
}

/* Memory that malloc has at hand is touched, page by page. */
static void touch_spare(void)
{
	char *spare = malloc(SPARE_BYTES);

	for (size_t i = 0; spare && i < SPARE_BYTES; i += 4096)
		*(volatile char *)(spare + i) = 1;
	free(spare);
}

void as_serve_settle(struct as_serve *serve)
{
	struct as_serve_pipe *pipe = (struct as_serve_pipe *)serve;

	if (!pipe->used)
		return;
	pthread_mutex_lock(&pipe->settling);
	/* Once: while the spare memory is taken out, the server has none, and a thread that was
	 * here before may be in mmap(2). */
	if (!pipe->settled) {
		as_memory_bring_in();
		touch_spare();
		pipe->settled = true;
	}
	pthread_mutex_unlock(&pipe->settling);
}

ssize_t as_serve_pipe_take(int fd, void *buf, size_t len, void *ctx)
{
	struct as_serve_pipe *pipe = ctx;
	ssize_t n = splice(fd, NULL, pipe->fd[1], NULL, len < PIPE_BYTES ? len : PIPE_BYTES, 0);
	ssize_t done = 0;

	while (done < n) {
		ssize_t got = read(pipe->fd[0], (char *)buf + done, (size_t)(n - done));

		if (got <= 0)
			return -1;
		done += got;
	}
	return n;
}

ssize_t as_serve_pipe_send(int fd, struct iovec *iov, int count, void *ctx)
{
	struct as_serve_pipe *pipe = ctx;
	ssize_t len = writev(pipe->fd[1], iov, count), sent = len;
	char rest[4096];
	int errnum;

	if (len > 0)
		sent = splice(pipe->fd[0], NULL, fd, NULL, (size_t)len, 0);
	errnum = errno;
	/* One that the kernel did not take. */
	while (sent < len && read(pipe->fd[0], rest, sizeof(rest)) > 0)
		;
	errno = errnum;
	return sent;
}
