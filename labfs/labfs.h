/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labfs.h: the laboratory file system, for programs that link it: its table of operations, its
 * mkfs, and (through bug.h) the tables of its seeded bugs and flush sites.
 */
#ifndef LABFS_LABFS_H
#define LABFS_LABFS_H

#include "bug.h"

#include <assay/target.h>

#define LABFS_MIN_BYTES (256u * 1024)
#define LABFS_DEFAULT_BYTES (16u * 1024 * 1024)
#define LABFS_MAX_BYTES ((uint64_t)64 << 30)

extern const struct as_target_ops lab_target;

/* Makes an empty file system on the first size_bytes of `bd` (0 = all of it) and flushes. -ENOSPC:
 * that is less than LABFS_MIN_BYTES; -EFBIG: it is more than LABFS_MAX_BYTES. */
int lab_mkfs(const struct as_host *host, struct as_bd *bd, uint64_t size_bytes);

#endif
