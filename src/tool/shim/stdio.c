/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio: streams on the disk. The C library's streams call its own read and write, which cannot be
 * interposed. So a stream on the disk is a cookie stream over our calls. Its buffer is as large as
 * that of a stream on a file, so that the disk sees the same pieces.
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STREAMS 32
#define BUFFER_BYTES 4096

struct cookie {
	FILE *stream; /* NULL: free */
	int fd;
};

static struct cookie cookies[MAX_STREAMS];
/* Not in the cookies: to look at all of these would touch all pages. */
static char buffers[MAX_STREAMS][BUFFER_BYTES];

static ssize_t cookie_read(void *ctx, char *buf, size_t len)
{
	return read(((struct cookie *)ctx)->fd, buf, len);
}

static ssize_t cookie_write(void *ctx, const char *buf, size_t len)
{
	ssize_t n = write(((struct cookie *)ctx)->fd, buf, len);

	return n < 0 ? 0 : n; /* a cookie function returns 0 for an error */
}

static int cookie_seek(void *ctx, off64_t *off, int whence)
{
	off_t to = lseek(((struct cookie *)ctx)->fd, *off, whence);

	if (to < 0)
		return -1;
	*off = to;
	return 0;
}

static int cookie_close(void *ctx)
{
	struct cookie *cookie = ctx;

	cookie->stream = NULL;
	return close(cookie->fd);
}

/* Converts "r+b" and the like to the flags of open; -1: it is no mode. */
static int mode_flags(const char *mode)
{
	bool plus = strchr(mode, '+');

	switch (*mode) {
	case 'r':
		return plus ? O_RDWR : O_RDONLY;
	case 'w':
		return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
	case 'a':
		return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
	default:
		return -1;
	}
}

static FILE *disk_stream(int fd, const char *mode)
{
	const cookie_io_functions_t io = { cookie_read, cookie_write, cookie_seek, cookie_close };
	struct cookie *cookie = cookies;

	shim_lock();
	while (cookie < cookies + MAX_STREAMS && cookie->stream)
		cookie++;
	if (cookie < cookies + MAX_STREAMS) {
		cookie->fd = fd;
		cookie->stream = fopencookie(cookie, mode, io);
		if (cookie->stream)
			setvbuf(cookie->stream, buffers[cookie - cookies], _IOFBF, BUFFER_BYTES);
	}
	shim_unlock();
	if (cookie == cookies + MAX_STREAMS) {
		errno = EMFILE;
		return NULL;
	}
	return cookie->stream;
}

SHIM_EXPORT FILE *fopen(const char *path, const char *mode)
{
	int flags = mode_flags(mode), fd;
	FILE *stream;

	fd = flags < 0 ? 0 : shim_vet_open(path, flags);
	if (!fd)
		return shim_next()->fopen(path, mode);
	if (fd == SHIM_OPEN_DISK)
		fd = shim_disk_open(path, flags | (strchr(mode, 'e') ? O_CLOEXEC : 0));
	if (fd < 0)
		return NULL;
	stream = fdopen(fd, mode);
	if (!stream)
		close(fd);
	return stream;
}
SHIM_ALIAS(fopen64, fopen);

SHIM_EXPORT FILE *fdopen(int fd, const char *mode)
{
	return shim_file(fd) ? disk_stream(fd, mode) : shim_next()->fdopen(fd, mode);
}

SHIM_EXPORT FILE *freopen(const char *path, const char *mode, FILE *stream)
{
	int flags = mode_flags(mode), fd;

	if (!path || flags < 0)
		return shim_next()->freopen(path, mode, stream);
	fd = shim_vet_open(path, flags);
	if (!fd)
		return shim_next()->freopen(path, mode, stream);
	if (fd >= 0)
		close(fd);
	if (fd == SHIM_OPEN_DISK || strcmp(path, "/dev/null")) {
		/* A standard stream cannot become a cookie. */
		fclose(stream);
		errno = EACCES;
		return NULL;
	}
	fflush(stream);
	return shim_next()->dup2(shim_null_fd, shim_next()->fileno(stream)) < 0 ? NULL : stream;
}
SHIM_ALIAS(freopen64, freopen);

/* What is mounted on this machine has nothing to do with the disk. */
SHIM_EXPORT FILE *setmntent(const char *path, const char *mode)
{
	return shim_next()->fopen(shim_head ? "/dev/null" : path, mode);
}

SHIM_EXPORT int fileno(FILE *stream)
{
	for (int i = 0; i < MAX_STREAMS; i++)
		if (cookies[i].stream && cookies[i].stream == stream)
			return cookies[i].fd;
	return shim_next()->fileno(stream);
}
SHIM_ALIAS(fileno_unlocked, fileno);
