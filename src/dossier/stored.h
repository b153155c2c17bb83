/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored: the folder of a finding: the names of its files, and what is read from it. Who writes it
 * is dossier/dossier.h. */
#ifndef AS_DOSSIER_STORED_H
#define AS_DOSSIER_STORED_H

#include "base/finding_json.h"
#include "os/dir.h"

#define AS_FINDING_NAME "finding.json"
#define AS_WORKLOAD_NAME "workload.txt"
#define AS_REDUCED_NAME "workload.reduced.txt"
#define AS_PROGRAM_NAME "repro.c"
/* Disks: at that moment; before the workload whose power was cut; before it was damaged. */
#define AS_DISK_NAME "disk.img.zst"
#define AS_BEFORE_NAME "before.img.zst"
#define AS_HEALTHY_NAME "healthy.img.zst"
#define AS_LAYOUT_NAME "disk.layout"

/* A finding that was read from its folder. */
struct as_stored {
	struct as_finding finding; /* its workload is `workload` */
	char *workload;
	char *reduced; /* the reduced workload, NULL: there is none */
	char *layout; /* the path of its own description of the disk, NULL: there is none */
};

/* `folder` is the finding's own. */
AS_MUST_CHECK int as_stored_load(const struct as_dir *folder, struct as_stored *stored,
				 struct as_err *err);
void as_stored_free(struct as_stored *stored);
/* It takes a power cut. */
bool as_stored_is_power(const struct as_finding *finding);
/* What the reduced workload showed; NULL: there is none, or it is not known. */
const char *as_stored_shows(const struct as_stored *stored);

#endif
