/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filebd.h: a block device kept in an ordinary file, for the stand-alone programs labfs-mkfs and
 * labfs-fsck, and the host (memory, clock, log to a stream) that they run the same code on.
 */
#ifndef LABFS_FILEBD_H
#define LABFS_FILEBD_H

#include <assay/target.h>
#include <stdio.h>

struct lab_filebd {
	struct as_bd bd;
	int fd;
};

/* Opens `path`. With size_bytes != 0 the file is created or resized to that; with 0 it must exist,
 * and its size is that of the device. 0 or a negative errno. */
int lab_filebd_open(struct lab_filebd *file, const char *path, uint64_t size_bytes, bool readonly);

/* Takes a file that was never opened (fd -1). */
int lab_filebd_close(struct lab_filebd *file);

struct lab_filehost {
	struct as_host host;
	struct as_choice choice;
	uint64_t clock_ns;
	FILE *log; /* NULL = silent */
};

/* malloc and free, the real clock made strictly increasing, always the first choice. The host
 * points into `fh`, which must stay where it is. */
void lab_filehost_init(struct lab_filehost *fh, FILE *log);

#endif
