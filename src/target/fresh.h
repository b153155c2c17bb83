/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fresh: disks as mkfs leaves them. mkfs runs once for each command line, program and size: the
 * disk is kept as an image (disk/image.h), named by the digest of all three. An image that is
 * damaged in any bit, or of another size, is made again.
 */
#ifndef AS_TARGET_FRESH_H
#define AS_TARGET_FRESH_H

#include "base/buf.h"
#include "base/err.h"
#include "host/medium.h"
#include "target/fstype.h"
#include "target/target.h"

#include <stdbool.h>

/* What each byte of a disk was before mkfs, if it was used before (struct as_fstype). */
#define AS_FRESH_OLD 0xd7

/* Makes a fresh file system on the medium, which is all zeros so far. `folder` is where images are
 * kept; NULL: none are kept. *made (may be NULL) says whether mkfs had to run. AS_ELACK: mkfs is
 * missing. */
AS_MUST_CHECK int as_fresh_disk(const struct as_fstype *type, const char *folder,
				struct as_medium *medium, bool *made, struct as_err *err);

/* Only if it is kept there. */
bool as_fresh_find(const struct as_fstype *type, const char *folder, struct as_medium *medium);
/* Keeps one that somebody else has made. */
void as_fresh_keep(const struct as_fstype *type, const char *folder, struct as_medium *medium);

/* Both, for a target that is of a type of the kernel. */
AS_MUST_CHECK int as_fresh_of(const struct as_target *target, const char *folder,
			      struct as_medium *medium, struct as_buf *path, struct as_err *err);

#endif
