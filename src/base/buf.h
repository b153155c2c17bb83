/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buf: a growing byte buffer. There is always a NUL after its len bytes. */
#ifndef AS_BASE_BUF_H
#define AS_BASE_BUF_H

#include "base/err.h"

#include <stdarg.h>
#include <stddef.h>

/* A buffer that is all zero is empty and ready for use; its data is NULL (as_buf_str gives ""). */
struct as_buf {
	char *data;
	size_t len, cap;
};

void as_buf_add(struct as_buf *buf, const void *data, size_t len);
void as_buf_adds(struct as_buf *buf, const char *s);
void as_buf_addc(struct as_buf *buf, char c);
void as_buf_addu(struct as_buf *buf, unsigned long long value); /* decimal, fast */
/* Adds a text as one word of a shell. */
void as_buf_add_word(struct as_buf *buf, const char *text);
void as_buf_addf(struct as_buf *buf, const char *fmt, ...) AS_PRINTF(2, 3);
void as_buf_vaddf(struct as_buf *buf, const char *fmt, va_list ap);
/* Makes room for len more bytes and returns where they go. It does not change buf->len. */
char *as_buf_reserve(struct as_buf *buf, size_t len);
const char *as_buf_str(const struct as_buf *buf);
void as_buf_clear(struct as_buf *buf);
void as_buf_free(struct as_buf *buf);
/* Reads a whole file (or stdin for "-"), at most max bytes. */
AS_MUST_CHECK int as_buf_read_file(struct as_buf *buf, const char *path, size_t max,
				   struct as_err *err);
/* Does the same for an open descriptor; `path` is for messages. */
AS_MUST_CHECK int as_buf_read_fd(struct as_buf *buf, int fd, const char *path, size_t max,
				 struct as_err *err);

#endif
