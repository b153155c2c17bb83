/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out: files that are written as a whole. Everything that a user names as an output goes this way.
 *
 * A regular file, also one that does not exist yet, is written under another name in the same
 * folder and renamed when it is complete. So a reader sees all of it or nothing, and a failure
 * leaves what was there. The new file has the mode and the owner of the old one. A device, a FIFO
 * or an open descriptor (/dev/stdout, /dev/fd/N) is written into. If the path is a link, the file
 * that it points to is written, and the link stays. A folder and a socket are refused, and "-" is
 * standard output. A file or a FIFO of another user in a folder that everybody can write to is
 * refused. A file that cannot be replaced, because nothing can be made in its folder or because it
 * is a mount point, is written in place.
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
/* Whether it could be opened, as far as that is known without opening it. It is for callers that
 * have long work to do before they write. */
AS_MUST_CHECK int as_out_check(const char *path, struct as_err *err);
/* A file of ours in an open folder. Only a regular file is replaced; anything else is refused. */
AS_MUST_CHECK int as_out_open_at(const struct as_dir *dir, const char *name, struct as_out **out,
				 struct as_err *err);
/* Whether a file of that name was never finished, because its writer was killed. */
bool as_out_is_unfinished(const char *name);
int as_out_fd(const struct as_out *out);
/* True: it is a new, empty, regular file. It may be written in any order, and has holes where
 * nothing is written. False: everything must be written, from the first byte to the last. */
bool as_out_is_new(const struct as_out *out);
/* 0 or a negative errno. */
AS_MUST_CHECK int as_out_write(struct as_out *out, const void *data, size_t len);
/* Ends the writing, which gave 0 or a negative errno: the file gets its name, or is removed. */
AS_MUST_CHECK int as_out_end(struct as_out *out, int failed, struct as_err *err);
/* Writes a whole file at once. */
AS_MUST_CHECK int as_out_save(const char *path, const struct as_buf *text, struct as_err *err);

#endif
