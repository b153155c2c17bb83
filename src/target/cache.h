/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: the folder for files that are costly to make and can be made again. It belongs to the user
 * alone: ~/.cache/assay, or a folder in /var/tmp or /tmp for users without a home.
 */
#ifndef AS_TARGET_CACHE_H
#define AS_TARGET_CACHE_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Makes FOLDER/`room` (and what is above it) if it is missing, and gives its path. */
AS_MUST_CHECK int as_cache_folder(const char *room, struct as_buf *path, struct as_err *err);
/* Whether the user's own folder is not used because others could write there; *why says it in
 * words. */
bool as_cache_refused(struct as_buf *why);
/* Opens a file for reading: a plain file of the user's own that nobody else can write to. It may
 * hold wrong bytes. Returns a negative errno if there is none. */
int as_cache_open(const char *folder, const char *name, uint64_t max);
/*
 * Makes sure that `folder`/`name` holds exactly these bytes; whoever sees the name sees all of
 * them. Then removes all but the `keep` files that were used last, and what dead writers left.
 */
AS_MUST_CHECK int as_cache_put(const char *folder, const char *name, const struct as_buf *data,
			       unsigned keep, struct as_buf *path, struct as_err *err);

#endif
