/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: folders as open descriptors. What is done below a folder that is open goes through its
 * descriptor, by single names, and follows no link: whoever may write there, or replaces a part of
 * the path meanwhile, leads us nowhere else.
 */
#ifndef AS_OS_DIR_H
#define AS_OS_DIR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* An open folder; fd -1: none. */
struct as_dir {
	int fd;
	char *path; /* as people know it */
};

#define AS_DIR_NONE ((struct as_dir){ .fd = -1 })

/* How a path that a user gave ends. */
struct as_route {
	int fd; /* the folder of its last part, for openat() and the like */
	struct as_buf name; /* the last part: no link, and it need not exist; "." for a folder */
	bool is_magic; /* a link of /proc, which only the kernel can follow */
};

/*
 * Walks along a path that the user gave, from folder to folder. Links on the way are followed, and
 * one at the end too, if they belong to us or to root: a link that another user made is refused.
 */
AS_MUST_CHECK int as_route_find(const char *path, struct as_route *way, struct as_err *err);
void as_route_free(struct as_route *way);

/* A folder that the user names. With `made` it is made where it is missing; *made says so. */
AS_MUST_CHECK int as_dir_open(const char *path, bool *made, struct as_dir *dir, struct as_err *err);
/* The same for those who only want it to be there, and to be able to write in it. */
AS_MUST_CHECK int as_dir_make(const char *path, struct as_err *err);
/* The same at the end of a walk along it. */
AS_MUST_CHECK int as_dir_open_way(const struct as_route *way, const char *path, bool *made,
				  struct as_dir *dir, struct as_err *err);
/* A folder in `dir`; with `make` it is made where it is missing. A link is refused. */
AS_MUST_CHECK int as_dir_below(const struct as_dir *dir, const char *name, bool make,
			       struct as_dir *below, struct as_err *err);
/* The same for another that closes it. */
AS_MUST_CHECK int as_dir_dup(const struct as_dir *dir, struct as_dir *copy, struct as_err *err);
void as_dir_close(struct as_dir *dir);

/* Waits for the lock of the folder (flock), alone or shared, but not for ever: whoever can read the
 * folder can hold it. It goes with the descriptor. */
AS_MUST_CHECK int as_dir_lock(const struct as_dir *dir, bool alone, struct as_err *err);
/* Whether it is a name that we give: not hidden, and one part of a path. */
bool as_dir_is_plain(const char *name);
/* Whether there is something of that name. */
bool as_dir_has(const struct as_dir *dir, const char *name);
/* A regular file of at most max bytes; anything else is refused and never waited for. */
AS_MUST_CHECK int as_dir_read(const struct as_dir *dir, const char *name, size_t max,
			      struct as_buf *buf, struct as_err *err);
/* Writes a file as a whole: a reader sees the old one or the new one. */
AS_MUST_CHECK int as_dir_write(const struct as_dir *dir, const char *name, const struct as_buf *buf,
			       struct as_err *err);
/* A new folder "PREFIXxxxxxx" that nobody else has. */
AS_MUST_CHECK int as_dir_temp(const struct as_dir *dir, const char *prefix, struct as_buf *name,
			      struct as_dir *below, struct as_err *err);
/* Takes a folder of plain files out of one that others, a guest say, can write to: all else in it
 * is removed, and what is left becomes ours. *again: there is one of that name in `to`, which stays
 * as it is; the other is removed. */
AS_MUST_CHECK int as_dir_take(const struct as_dir *from, const char *name, const struct as_dir *to,
			      bool *again, struct as_err *err);
/* Gives a folder of ours, complete now, its name in the same folder; *again as above. */
AS_MUST_CHECK int as_dir_place(const struct as_dir *dir, const char *temp, const char *name,
			       bool *again, struct as_err *err);
/* Calls fn for each entry until it returns something else than 0, which is the result. */
int as_dir_each(const struct as_dir *dir, int (*fn)(void *ctx, const char *name), void *ctx);
/* Removes all that is in an open folder, however deep, or an entry with all that is below it. No
 * link is followed; the open folder stays. */
void as_dir_empty(int fd);
void as_dir_remove(const struct as_dir *dir, const char *name);

#endif
