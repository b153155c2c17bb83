/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout: what the blocks of a disk are, in words: superblock, journal, inode table, bitmaps,
 * directories, data of which file. Known for labfs (labfs/format.h) and for ext2, ext3 and ext4
 * (through libext2fs, where assay was built with it).
 */
#ifndef AS_LAYOUT_LAYOUT_H
#define AS_LAYOUT_LAYOUT_H

#include "base/buf.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stdint.h>

/* How it is said of a journal's superblock. */
#define AS_LAYOUT_EMPTY "which says that it is empty"

struct as_layout;
struct as_target;

/* As the disk has it, best one that was unmounted properly: what is in a journal only is not
 * looked at. NULL: not known for this target, or the disk makes no sense. */
struct as_layout *as_layout_new(const struct as_target *target, struct as_disk *disk);
void as_layout_free(struct as_layout *layout); /* takes NULL */

/* "inode table (/, /a/f), directory /a" of the bytes at off; data: what is written there, or NULL.
 * What a journal's descriptor says of the blocks behind it is remembered, so calls are to be made
 * in the order of the writes. False: nothing is known of these bytes, and nothing was said. */
bool as_layout_say(struct as_layout *layout, uint64_t off, uint64_t len, const unsigned char *data,
		   struct as_buf *out);

#endif
