/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out: files that are written as a whole. Everything that a user names as an output goes this way.
 *
 * What is a regular file, or not there yet, is written beside it and renamed when it is complete:
 * a reader sees all or nothing, and a failure leaves what was there; the new file has the mode and
 * the owner of the old one. A device, a FIFO or an open descriptor (/dev/stdout, /dev/fd/N) is
 * written into. Of a link, what it points to is written, and the link stays. A folder and a socket
 * are refused, and "-" is standard output. A file or a FIFO of another user in a folder that all
 * can write to is refused. A file that cannot be replaced, because its folder takes nothing new or
 * because it is a mount point, is written in place.
 */
#ifndef AS_OS_OUT_H
#define AS_OS_OUT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct as_dir;
struct as_out;

AS_MUST_CHECK int as_out_open(const char *path, struct as_out **out, struct as_err *err);
/* Whether it could be opened, as far as can be told without doing it: for those who have long work
 * to do before they write. */
AS_MUST_CHECK int as_out_check(const char *path, struct as_err *err);
/* A file of ours in an open folder: of what is there only a regular file is replaced. */
AS_MUST_CHECK int as_out_open_at(const struct as_dir *dir, const char *name, struct as_out **out,
				 struct as_err *err);
/* Whether a file of that name is one that was never finished, as a kill leaves it. */
bool as_out_is_unfinished(const char *name);
int as_out_fd(const struct as_out *out);
/* A new, empty, regular file: it has holes where nothing is written, and can be written anywhere.
 * If not, what is written must be all of it, from the first byte to the last. */
bool as_out_is_new(const struct as_out *out);
/* 0 or a negative errno. */
AS_MUST_CHECK int as_out_write(struct as_out *out, const void *data, size_t len);
/* The end, whatever came of the writing (0 or a negative errno): the file takes its place, or is
 * taken back. */
AS_MUST_CHECK int as_out_end(struct as_out *out, int failed, struct as_err *err);
/* A whole file at once. */
AS_MUST_CHECK int as_out_save(const char *path, const struct as_buf *text, struct as_err *err);

#endif
