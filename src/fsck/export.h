/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * export: findings as cases of a regression suite, in the layout of e2fsprogs' tests: a folder for
 * each, with image.gz, name, and what the first and the second run print (expect.1, expect.2).
 */
#ifndef AS_FSCK_EXPORT_H
#define AS_FSCK_EXPORT_H

#include "base/event.h"
#include "fsck/judge.h"
#include "os/dir.h"

/* Writes one case into `folder`. AS_ELACK: there is no gzip. */
AS_MUST_CHECK int as_fsck_export(const struct as_dir *folder, const char *case_name,
				 const struct as_fsck_verdict *verdict, const char *summary,
				 struct as_disk *disk, struct as_err *err);

#endif
