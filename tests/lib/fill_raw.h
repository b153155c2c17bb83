/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill_raw: files for fresh file systems whose tools cannot copy any in: minix (all versions) and
 * FAT12, written block by block into an image in memory.
 */
#ifndef AS_TESTS_LIB_FILL_RAW_H
#define AS_TESTS_LIB_FILL_RAW_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FILL_FILES 12u

/* Where things are in the three versions; blocks are of 1024 bytes. */
struct fill_minix {
	unsigned inode_bytes, entry_bytes, number_bytes;
	unsigned imap_blocks, zmap_blocks, first_zone;
	unsigned char *disk;
};

/* The root's directory is in the first zone, as mkfs.minix leaves it. */
void t_fill_minix(unsigned char *disk, unsigned version);

/* Files of one to four clusters in the root directory, in all copies of a FAT12. */
void t_fill_fat(unsigned char *disk);

#endif
