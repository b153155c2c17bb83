/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writes: what a power cut left of the writes, as bytes that anybody can put on a disk. */
#ifndef AS_DOSSIER_WRITES_H
#define AS_DOSSIER_WRITES_H

#include "dossier/dossier.h"
#include "dossier/letter/letter.h"

/* Writes writes.txt and writes.bin.zst into the folder: the sectors of the disk of a finding that
 * are not as before. Where one of the disks is missing nothing is done. */
AS_MUST_CHECK int as_writes_save(const struct as_letter *letter, const struct as_dossier_news *news,
				 struct as_err *err);

#endif
