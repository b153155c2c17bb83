/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xfs_log: what a mount of xfs writes to its log follows from the disk, but for one thing: each
 * transaction has a number that the kernel draws at random (xlog_ticket_alloc()). It only tells
 * which parts belong together. So two mounts of the same disk leave different bytes, and nothing
 * that reads the log is ever remembered (memo.h), nor is any power cut during a recovery met twice.
 * Here the numbers are exchanged for others that follow from where the transactions stand: the disk
 * is then one that the kernel could have left as well, had it drawn these.
 */
#ifndef AS_RECOVER_XFS_LOG_H
#define AS_RECOVER_XFS_LOG_H

#include "disk/cow.h"
#include "disk/log.h"

/* `after` is what a mount made of `before`, and `log`, which may be NULL, how: both get the new
 * numbers. If anything is unusual, they stay as they are. journal_bytes: the last bytes are a disk
 * of the log alone (target/apart.h); 0: they are not. */
void as_xfs_log_settle(struct as_disk *before, struct as_disk *after, struct as_reclog *log,
		       uint64_t journal_bytes);

#endif
