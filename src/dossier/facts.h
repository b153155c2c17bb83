/* SPDX-License-Identifier: GPL-2.0-or-later */
/* facts: what the pages of a folder are made of: finding.json, the workloads, the disks, and the
 * files that came with the finding of a checker. dossier/stored.h names and reads them. */
#ifndef AS_DOSSIER_FACTS_H
#define AS_DOSSIER_FACTS_H

#include "dossier/dossier.h"

/* Writes the facts that are new. What is in finding.json counts, so it is written last. */
AS_MUST_CHECK int as_facts_write(const struct as_dir *folder, const struct as_dossier_news *news,
				 struct as_err *err);

#endif
