/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folder: a place of our own below somebody's directory: PARENT/.assay-run-XXXXXX/ with a lock in
 * it and, in `tree`, an empty directory to work in. It is removed when the folder is freed, or soon
 * after this process was killed. Where it cannot be removed it stays, unlocked, and the next
 * as_folder_new() below the same parent removes it. The file system below may not answer: then the
 * calls return AS_EIO after a time in which nothing went on there.
 *
 * Only a folder is removed that has such a name, belongs to our user, and whose lock nobody holds:
 * never that of a run that is alive, and nothing else.
 */
#ifndef AS_INSTANCE_FOLDER_H
#define AS_INSTANCE_FOLDER_H

#include "base/err.h"

struct as_folder;

AS_MUST_CHECK int as_folder_new(const char *parent, unsigned deadline_ms, struct as_folder **folder,
				struct as_err *err);
/* The empty directory. */
const char *as_folder_tree(const struct as_folder *folder);
/* Removes all of it. *folder becomes NULL also on failure; it may be NULL. */
AS_MUST_CHECK int as_folder_remove(struct as_folder **folder, struct as_err *err);
/* For a caller in a hurry: waits less than a second. If the folder is not gone by then, it will be
 * soon. It may be NULL. */
void as_folder_let_go(struct as_folder **folder);
/* Leaves it as it is: the file system below does not answer. It may be NULL. */
void as_folder_leave(struct as_folder **folder);

#endif
