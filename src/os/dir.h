/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dir: folders as open descriptors. All work below an open folder goes through its descriptor, by
 * single names, and follows no link. So nobody who can write there, or who replaces a part of the
 * path meanwhile, can lead us to another place.
 */
#ifndef AS_OS_DIR_H
#define AS_OS_DIR_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

/* An open folder; fd is -1 when there is none. */
struct as_dir {
	int fd;
	char *path; /* for messages */
};

#define AS_DIR_NONE ((struct as_dir){ .fd = -1 })

/* Where a path that a user gave ends. */
struct as_route {
	int fd; /* the folder that holds the last part, for openat() and similar calls */
	struct as_buf name; /* the last part: not a link, and it need not exist; "." for a folder */
	bool is_magic; /* a link of /proc, which only the kernel can follow */
};

/*
 * Walks along a path that the user gave, from folder to folder. A link on the way or at the end is
 * followed if it belongs to us or to root; a link of another user is refused.
 */
AS_MUST_CHECK int as_route_find(const char *path, struct as_route *way, struct as_err *err);
void as_route_free(struct as_route *way);

/* Opens a folder that the user names. With `made`, a missing folder is made, and *made says so. */
AS_MUST_CHECK int as_dir_open(const char *path, bool *made, struct as_dir *dir, struct as_err *err);
/* Makes sure that the folder exists and that we can write in it. */
AS_MUST_CHECK int as_dir_make(const char *path, struct as_err *err);
/* Opens the folder at the end of a walk; `path` is for messages. */
AS_MUST_CHECK int as_dir_open_way(const struct as_route *way, const char *path, bool *made,
				  struct as_dir *dir, struct as_err *err);
/* Opens a folder in `dir`; with `make`, a missing folder is made. A link is refused. */
AS_MUST_CHECK int as_dir_below(const struct as_dir *dir, const char *name, bool make,
			       struct as_dir *below, struct as_err *err);
/* A second descriptor of the same folder, which is closed on its own. */
AS_MUST_CHECK int as_dir_dup(const struct as_dir *dir, struct as_dir *copy, struct as_err *err);
void as_dir_close(struct as_dir *dir);

/* Waits for the lock of the folder (flock), exclusive or shared. It does not wait forever, because
 * everybody who can read the folder can hold the lock. The lock ends with the descriptor. */
AS_MUST_CHECK int as_dir_lock(const struct as_dir *dir, bool alone, struct as_err *err);
/* The same for an open file, 0 or -errno (EWOULDBLOCK: somebody has it). The children of one that
 * was killed hold its lock until they have died, so who takes it over waits. */
#define AS_DIR_LOCK_DYING_US ((int64_t)5 * 1000000)
AS_MUST_CHECK int as_dir_lock_file(int fd, bool alone, int64_t wait_us);
/* Whether it is a name that we would give: one part of a path, and not hidden. */
bool as_dir_is_plain(const char *name);
/* Whether an entry of that name exists. */
bool as_dir_has(const struct as_dir *dir, const char *name);
/* Reads a regular file of at most max bytes. Anything else is refused, and nothing is waited
 * for. */
AS_MUST_CHECK int as_dir_read(const struct as_dir *dir, const char *name, size_t max,
			      struct as_buf *buf, struct as_err *err);
/* Writes a whole file: a reader sees the old one or the new one. */
AS_MUST_CHECK int as_dir_write(const struct as_dir *dir, const char *name, const struct as_buf *buf,
			       struct as_err *err);
/* Makes a new folder "PREFIXxxxxxx" that nobody else uses. */
AS_MUST_CHECK int as_dir_temp(const struct as_dir *dir, const char *prefix, struct as_buf *name,
			      struct as_dir *below, struct as_err *err);
/* Takes a folder of plain files out of one that others (such as a guest) can write to. Everything
 * in it that is no plain file is removed, and the rest becomes ours. *again: `to` has an entry of
 * that name already, which stays as it is; the folder that was taken is removed. */
AS_MUST_CHECK int as_dir_take(const struct as_dir *from, const char *name, const struct as_dir *to,
			      bool *again, struct as_err *err);
/* Gives a finished folder of ours its name in the same folder; *again as above. */
AS_MUST_CHECK int as_dir_place(const struct as_dir *dir, const char *temp, const char *name,
			       bool *again, struct as_err *err);
/* Calls fn for each entry until it returns something other than 0, which is the result. */
int as_dir_each(const struct as_dir *dir, int (*fn)(void *ctx, const char *name), void *ctx);
/* as_dir_empty() removes everything in an open folder, which itself stays; as_dir_remove() removes
 * an entry with everything below it. They follow no link and stay on their file system: what is
 * mounted below the folder is left alone, and so are the folders above the mount point. */
void as_dir_empty(int fd);
void as_dir_remove(const struct as_dir *dir, const char *name);
void as_dir_remove_path(const char *path);

#endif
