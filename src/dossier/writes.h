/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writes: what a power cut left of the writes, as bytes that anybody can put on a disk. */
#ifndef AS_DOSSIER_WRITES_H
#define AS_DOSSIER_WRITES_H

#include "os/dir.h"

/* Writes writes.txt and writes.bin.zst in the folder of a finding: the sectors of disk.img.zst that
 * are not as in before.img.zst. Where one of the disks is missing nothing is done. */
AS_MUST_CHECK int as_writes_save(const struct as_dir *folder, struct as_err *err);

#endif
