/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apart: a file system whose journal is on a disk of its own. Our disk stands for both: its last
 * bytes are the journal's disk (struct as_fstype, journal_bytes). So a record has the writes to
 * both in one order, a power cut leaves a subset over both, and an image has both. A kernel gets
 * two devices (disk/window.h), and programs get two files.
 */
#ifndef AS_TARGET_APART_H
#define AS_TARGET_APART_H

#include "base/err.h"

#include <stdint.h>

/* Makes the last bytes of a file a new file of their own; an old one of that name is replaced. */
AS_MUST_CHECK int as_apart_split(int fd, const char *journal, uint64_t journal_bytes,
				 struct as_err *err);
/* Puts them back to the end. The second file stays. */
AS_MUST_CHECK int as_apart_unite(int fd, const char *journal, struct as_err *err);

/* An ext4 that was made without a journal, and a journal that was made alone (mke2fs -O
 * journal_dev): makes each know the other by its UUID. */
AS_MUST_CHECK int as_apart_join_ext(int fd, const char *journal, struct as_err *err);
/* The superblock of an ext4 also has the number of the device where its journal was last. Ours have
 * another number at each mount, which is rare elsewhere, and Linux 6.1 then forgets how much space
 * is free. So this writes the number, and flushes, where it is another one. A disk that makes no
 * sense stays as it is. */
void as_apart_number_ext(const char *device, uint32_t number);

#endif
