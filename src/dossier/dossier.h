/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dossier: what a person gets of a finding, in its folder: a program (repro.c), what the model
 * expects (expected.*), a script (repro.sh), a letter to the maintainer (report.txt) and a page
 * (README.md). Nothing here prints: all of it is put into buffers and files that are given.
 */
#ifndef AS_DOSSIER_DOSSIER_H
#define AS_DOSSIER_DOSSIER_H

#include "dossier/stored.h"

/* What is written as soon as the finding is stored, of its workload: repro.c, which makes the calls
 * and compares nothing, and README.md. finding.json is there. */
AS_MUST_CHECK int as_dossier_begin(const struct as_dir *folder, const struct as_finding *finding,
				   const char *id, struct as_err *err);
/* What says what is in the folder: repro.sh and report.txt. To be called when anything in it has
 * changed. A finding that came with files of its own has no script of ours. */
AS_MUST_CHECK int as_dossier_tell(const struct as_dir *folder, bool own_files, struct as_err *err);
/* The rest, which takes the model and the disks: the answers and trees that are expected, what a
 * power cut left of the writes; then as_dossier_tell(). */
AS_MUST_CHECK int as_dossier_write(const struct as_dir *folder, const struct as_stored *stored,
				   struct as_err *err);

#endif
