/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout: says what the blocks of a disk are: superblock, journal, inode table, bitmaps,
 * directories, data of which file. It knows labfs (labfs/format.h), ext2, ext3 and ext4 (through
 * libext2fs, where assay was built with it), and all types whose structures are described
 * (field.h).
 */
#ifndef AS_LAYOUT_LAYOUT_H
#define AS_LAYOUT_LAYOUT_H

#include "base/buf.h"
#include "disk/cow.h"

#include <stdbool.h>
#include <stdint.h>

/* The words for the superblock of an empty journal. */
#define AS_LAYOUT_EMPTY "which says that it is empty"

struct as_layout;
struct as_target;

/* The layout of a disk. The disk should have been unmounted: what is only in a journal is not
 * looked at. NULL: the target's format is not known, or the disk makes no sense. */
struct as_layout *as_layout_new(const struct as_target *target, struct as_disk *disk);
void as_layout_free(struct as_layout *layout); /* takes NULL */

/* "inode table (/, /a/f), directory /a": says what the bytes at off are. data: what is written
 * there, or NULL. A journal's descriptor says what the blocks after it are, which is remembered; so
 * calls are to be made in the order of the writes. False: nothing is known of these bytes, and
 * nothing was said. */
bool as_layout_say(struct as_layout *layout, uint64_t off, uint64_t len, const unsigned char *data,
		   struct as_buf *out);

#endif
