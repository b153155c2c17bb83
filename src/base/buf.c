/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buf: grows by doubling; cap counts the NUL, so len < cap wherever data is not NULL. */
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_STEP_BYTES ((size_t)64 << 10)

char *as_buf_reserve(struct as_buf *buf, size_t len)
{
	size_t need;

	as_assert(len < SIZE_MAX / 4 && buf->len < SIZE_MAX / 4);
	need = buf->len + len + 1;
	if (need > buf->cap) {
		size_t cap = buf->cap ? buf->cap : 64;

		while (cap < need)
			cap *= 2;
		buf->data = as_xrealloc(buf->data, cap);
		buf->cap = cap;
		buf->data[buf->len] = 0;
	}
	return buf->data + buf->len;
}

void as_buf_add(struct as_buf *buf, const void *data, size_t len)
{
	char *at = as_buf_reserve(buf, len);

	if (len)
		memcpy(at, data, len);
	buf->len += len;
	buf->data[buf->len] = 0;
}

void as_buf_adds(struct as_buf *buf, const char *s)
{
	as_buf_add(buf, s, strlen(s));
}

void as_buf_addc(struct as_buf *buf, char c)
{
	char *at = as_buf_reserve(buf, 1);

	at[0] = c;
	at[1] = 0;
	buf->len++;
}

void as_buf_addu(struct as_buf *buf, unsigned long long value)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	as_buf_add(buf, digits + at, sizeof(digits) - at);
}

void as_buf_vaddf(struct as_buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	char *at;
	int len;

	va_copy(again, ap);
	at = as_buf_reserve(buf, 63);
	room = buf->cap - buf->len;
	len = vsnprintf(at, room, fmt, ap);
	as_assert(len >= 0);
	if ((size_t)len >= room) {
		at = as_buf_reserve(buf, (size_t)len);
		vsnprintf(at, (size_t)len + 1, fmt, again);
	}
	buf->len += (size_t)len;
	va_end(again);
}

void as_buf_add_word(struct as_buf *buf, const char *text)
{
	as_buf_addc(buf, '\'');
	for (; *text; text++)
		if (*text == '\'')
			as_buf_adds(buf, "'\\''");
		else
			as_buf_addc(buf, *text);
	as_buf_addc(buf, '\'');
}

void as_buf_addf(struct as_buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	as_buf_vaddf(buf, fmt, ap);
	va_end(ap);
}

const char *as_buf_str(const struct as_buf *buf)
{
	return buf->data ? buf->data : "";
}

void as_buf_clear(struct as_buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = 0;
}

void as_buf_free(struct as_buf *buf)
{
	if (!buf)
		return;
	free(buf->data);
	*buf = (struct as_buf){ 0 };
}

static int read_all(struct as_buf *buf, int fd, const char *path, size_t max, struct as_err *err)
{
	size_t got = 0;

	for (;;) {
		/* One byte more than allowed is read: that is how a file that is too long is
		 * noticed. */
		size_t left = max - got;
		size_t step = left < READ_STEP_BYTES ? left + 1 : READ_STEP_BYTES;
		ssize_t n = read(fd, as_buf_reserve(buf, step), step);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return as_fail_errno(err, errno, "%s: cannot read", path);
		if (!n)
			return 0;
		if ((size_t)n > left)
			return as_fail(err, AS_EUSE, "%s: longer than the %zu bytes allowed", path,
				       max);
		got += (size_t)n;
		buf->len += (size_t)n;
		buf->data[buf->len] = 0;
	}
}

int as_buf_read_fd(struct as_buf *buf, int fd, const char *path, size_t max, struct as_err *err)
{
	size_t old_len = buf->len;
	int rc = read_all(buf, fd, path, max, err);

	if (rc && buf->data) {
		buf->len = old_len;
		buf->data[old_len] = 0;
	}
	return rc;
}

int as_buf_read_file(struct as_buf *buf, const char *path, size_t max, struct as_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return as_fail_errno(err, errno, "%s: cannot open", path);
	rc = as_buf_read_fd(buf, fd, is_stdin ? "standard input" : path, max, err);
	if (!is_stdin)
		close(fd);
	return rc;
}
