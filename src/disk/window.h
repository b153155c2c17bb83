/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window: a part of a block device, as a device of its own. So one device can stand for several
 * disks: it has all their writes in one order, its copies and images have all their bytes, and a
 * power cut leaves a subset over all of them. Each disk has a cache of its own: a flush of a window
 * covers what was written through this window only (as_bd_flush_part()).
 */
#ifndef AS_DISK_WINDOW_H
#define AS_DISK_WINDOW_H

#include <assay/target.h>
#include <stdint.h>

struct as_window {
	struct as_bd bd; /* first: a window is a block device */
	struct as_bd *inner;
	uint64_t off;
};

/* Bytes off..off+len-1 of `inner`, which must outlive it: whole sectors. */
void as_window_init(struct as_window *window, struct as_bd *inner, uint64_t off, uint64_t len);

#endif
