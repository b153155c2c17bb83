/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lib_watched: a linked file system whose calls are watched for answers that are no errno, for
 * success that hides a failure (if it is `faulty`), and for what they use (if it is `measured`). */
#ifndef AS_VFS_LIB_WATCHED_H
#define AS_VFS_LIB_WATCHED_H

#include "host/host.h"

struct as_watched;

/* Both must outlive it. */
struct as_watched *as_watched_new(const struct as_target_ops *inner, struct as_host_mem *host,
				  bool faulty, bool measured);
void as_watched_free(struct as_watched *watched); /* takes NULL */
/* The table to be used in place of `inner`, except for mount, which does not know who calls. */
const struct as_target_ops *as_watched_ops(const struct as_watched *watched);
int as_watched_mount(struct as_watched *watched, const struct as_mount_args *args,
		     struct as_fs **fs);

#endif
