/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share: files in a folder that somebody else can write to, perhaps with bad intent. No link is
 * followed, nothing outside the folder is reached, and only plain files of a bounded size are read:
 * anything else is an error.
 */
#ifndef AS_OS_SHARE_H
#define AS_OS_SHARE_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* Opens a plain file for reading; `path` is relative to the open folder. Returns a negative errno
 * if it cannot; -EFBIG for a file that is longer than `max`. */
int as_share_open(int folder, const char *path, uint64_t max);
/* Appends the contents of the file to `text`. */
AS_MUST_CHECK int as_share_read(int folder, const char *path, uint64_t max, struct as_buf *text,
				struct as_err *err);
/* Opens a folder in the folder. If it is missing, it is made for that user. Returns a descriptor or
 * a negative errno. */
int as_share_folder(int folder, const char *name, uid_t uid);
/* Writes a plain file that all can read; an entry of that name is replaced. */
AS_MUST_CHECK int as_share_write(int folder, const char *name, const void *data, size_t len,
				 struct as_err *err);
/* Whether it can be the name of a file: letters, digits, "._-", and no dot at its beginning. */
bool as_share_is_name(const char *name);

#endif
