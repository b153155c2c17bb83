/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace: see trace.h. The buffer holds what was read and not yet handed out; when a line goes
 * beyond its end, the rest is moved to the front and more is read after it.
 */
#include "trace/trace.h"
#include "trace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES (256u << 10)
#define BUFFER_BYTES (AS_LINE_MAX + READ_BYTES)

struct as_trace {
	int fd; /* -1: memory */
	char *path;
	struct as_unpack *unpack; /* NULL: as it is */
	char *own; /* the buffer; NULL: memory that is not ours */
	const char *at, *end;
	bool eof, skipping, whole;
	struct as_err failed; /* code 0: not */
};

static size_t read_raw(void *ctx, char *out, size_t len)
{
	struct as_trace *s = ctx;
	ssize_t n;

	do
		n = read(s->fd, out, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		as_fail_errno(&s->failed, errno, "cannot read %s", s->path);
	return n > 0 ? (size_t)n : 0;
}

/* Reads more, after what is there. */
static void refill(struct as_trace *s)
{
	size_t left = (size_t)(s->end - s->at), n;

	if (s->eof)
		return;
	memmove(s->own, s->at, left);
	s->at = s->own;
	if (s->unpack)
		n = as_unpack_read(s->unpack, s->own + left, READ_BYTES, &s->failed);
	else
		n = read_raw(s, s->own + left, READ_BYTES);
	s->end = s->own + left + n;
	s->eof = n == 0;
}

int as_trace_open(const char *path, struct as_trace **out, struct as_err *err)
{
	bool in = !strcmp(path, "-");
	int fd = in ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct as_trace *s;
	char head[4];
	size_t n = 0, got;

	if (fd < 0)
		return as_fail_errno(err, errno, "cannot open %s", path);
	s = as_xcalloc(1, sizeof(*s));
	s->fd = fd;
	s->path = as_xstrdup(in ? "standard input" : path);
	s->own = as_xmalloc(BUFFER_BYTES + 1);
	s->at = s->end = s->own;
	s->whole = true;
	while (n < sizeof(head) && (got = read_raw(s, head + n, sizeof(head) - n)))
		n += got;
	if (!s->failed.code && as_unpack_new(head, n, read_raw, s, s->path, &s->unpack, &s->failed))
		s->eof = true;
	if (s->failed.code) {
		*err = s->failed;
		as_trace_free(s);
		return err->code;
	}
	if (!s->unpack) {
		memcpy(s->own, head, n);
		s->end += n;
	}
	*out = s;
	return 0;
}

struct as_trace *as_trace_on(const char *text, size_t len)
{
	struct as_trace *s = as_xcalloc(1, sizeof(*s));

	s->fd = -1;
	s->path = as_xstrdup("memory");
	s->at = text;
	s->end = text + len;
	s->eof = true;
	s->whole = true;
	return s;
}

void as_trace_free(struct as_trace *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	as_unpack_free(s->unpack);
	free(s->path);
	free(s->own);
	free(s);
}

const char *as_trace_head(struct as_trace *s, size_t *len)
{
	while (s->end - s->at < 4096 && !s->eof)
		refill(s);
	*len = (size_t)(s->end - s->at) < 4096 ? (size_t)(s->end - s->at) : 4096;
	return s->at;
}

/* The end of the line at hand, reading on as long as there is room for it; NULL: there is none. */
static const char *find_end(struct as_trace *s)
{
	size_t seen = 0;

	for (;;) {
		size_t left = (size_t)(s->end - s->at);
		const char *end = memchr(s->at + seen, '\n', left - seen);

		if (end || s->eof || left >= AS_LINE_MAX)
			return end;
		seen = left;
		refill(s);
	}
}

bool as_trace_line(struct as_trace *s, const char **line, size_t *len, bool *cut)
{
	const char *end;

	*cut = false;
	do {
		end = s->at < s->end ? memchr(s->at, '\n', (size_t)(s->end - s->at)) : NULL;
		if (!end)
			end = find_end(s);
		if (s->at == s->end)
			return false;
		*line = s->at;
		*len = (size_t)((end ? end : s->end) - s->at);
		s->at = end ? end + 1 : s->end;
		*cut = s->skipping; /* what follows is the rest of a line that was already given */
		s->whole = end != NULL;
		s->skipping = !end && !s->eof;
	} while (*cut);
	*cut = s->skipping;
	return true;
}

bool as_trace_whole(const struct as_trace *s)
{
	return s->whole;
}

int as_trace_status(const struct as_trace *s, struct as_err *err)
{
	if (!s->failed.code)
		return 0;
	return as_fail(err, s->failed.code, "%s", s->failed.msg);
}
