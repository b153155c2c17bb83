/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writeback: what a disk sees of a program that writes to it. Between the two is the page cache of
 * the device: two writes to one page with no flush between them reach the disk as one, with what
 * stood there last. (The kernel may write a page back in between, but nobody can wait for that:
 * what only then goes wrong is not reported. Programs rely on it: libext2fs writes a superblock
 * word by word.)
 */
#ifndef AS_RECOVER_WRITEBACK_H
#define AS_RECOVER_WRITEBACK_H

#include "disk/cow.h"
#include "disk/log.h"

/* Does to `to`, which holds what `start` holds, what entries 0..n-1 of the log do to the disk
 * beneath the page cache: reads and flushes where they were, each page where it was first written.
 */
void as_writeback(const struct as_reclog *log, size_t n, struct as_disk *start, struct as_bd *to);

#endif
