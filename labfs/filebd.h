/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filebd.h: a block device in an ordinary file, for the programs labfs-mkfs and labfs-fsck, and the
 * host (memory, clock, log to a stream) for them.
 */
#ifndef LABFS_FILEBD_H
#define LABFS_FILEBD_H

#include <assay/target.h>
#include <stdio.h>

struct lab_filebd {
	struct as_bd bd;
	int fd;
};

/* Opens `path`. With size_bytes != 0 the file is created, or resized to that size; with 0 it must
 * exist, and the device has its size. Returns 0 or a negative errno. */
int lab_filebd_open(struct lab_filebd *file, const char *path, uint64_t size_bytes, bool readonly);

/* Also takes a file that was never opened (fd -1). */
int lab_filebd_close(struct lab_filebd *file);

struct lab_filehost {
	struct as_host host;
	struct as_choice choice;
	uint64_t clock_ns;
	FILE *log; /* NULL = silent */
};

/* The host uses malloc and free, and the real clock, made strictly increasing; it always takes the
 * first choice. It points into `fh`, which must not move. */
void lab_filehost_init(struct lab_filehost *fh, FILE *log);

#endif
