/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writeback: what a disk sees of a program that writes to it through the page cache of the device.
 * Two writes to one page with no flush between them reach the disk as one write, with what the page
 * held last. (The kernel may write a page back in between, but a program cannot wait for that, and
 * programs rely on it not happening: libext2fs writes a superblock word by word. So what goes wrong
 * only then is not reported.)
 */
#ifndef AS_RECOVER_WRITEBACK_H
#define AS_RECOVER_WRITEBACK_H

#include "disk/cow.h"
#include "disk/log.h"

/* Does to `to`, which holds the same as `start`, what entries 0..n-1 of the log do to the disk
 * beneath the page cache: reads and flushes in their places, each page where it was first written.
 */
void as_writeback(const struct as_reclog *log, size_t n, struct as_disk *start, struct as_bd *to);

#endif
