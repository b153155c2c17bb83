/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share: files in a folder that somebody else can write to, whose worst must be expected. No link
 * is followed, nothing outside is reached, and only plain files of a bounded size are read:
 * whatever is there instead is an error.
 */
#ifndef AS_OS_SHARE_H
#define AS_OS_SHARE_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* A plain file for reading; `path` is relative to the open folder. A negative errno where there is
 * none; EFBIG where it is longer than `max`. */
int as_share_open(int folder, const char *path, uint64_t max);
/* Appends what stands in it. */
AS_MUST_CHECK int as_share_read(int folder, const char *path, uint64_t max, struct as_buf *text,
				struct as_err *err);
/* A folder below; it is made where it is missing, for a user. Negative: an errno. */
int as_share_folder(int folder, const char *name, uid_t uid);
/* A plain file with these bytes, readable for all; what was there by that name is replaced. */
AS_MUST_CHECK int as_share_write(int folder, const char *name, const void *data, size_t len,
				 struct as_err *err);
/* Whether it can be the name of one file: letters, digits, "._-", and no dot at its beginning. */
bool as_share_is_name(const char *name);

#endif
