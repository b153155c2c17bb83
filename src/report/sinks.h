/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinks: where findings go: to a person at a terminal, to a program that reads JSON lines, into a
 * folder that keeps them. Each is made, put into a chain (sink->next) and freed by the caller.
 */
#ifndef AS_REPORT_SINKS_H
#define AS_REPORT_SINKS_H

#include "base/err.h"
#include "base/event.h"
#include "base/finding_json.h"
#include "os/dir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* For people. Everything is flushed at once, so that no forked child prints it again. `folder`,
 * which the caller keeps: where `assay replay` has to look for findings; NULL: where it does. */
struct as_sink *as_term_sink_new(FILE *out, bool colour, const char *folder);
void as_term_sink_free(struct as_sink *sink); /* takes NULL */

/* One object a line: {"event":"finding",...}, {"event":"note",...}, {"event":"done",...}. */
struct as_sink *as_jsonl_sink_new(FILE *out);
void as_jsonl_sink_free(struct as_sink *sink); /* takes NULL */

/*
 * Keeps findings in FOLDER/findings/ID/: finding.json, workload.txt, repro.c, README.md and, if
 * there is a disk, disk.img.zst. A finding that is already there is only counted. The folder is
 * made at once: a folder that cannot be written, or that is not a run folder (os/rundir.h), is an
 * error before the work begins. It is removed again if it stays empty.
 */
typedef int (*as_save_disk_fn)(const struct as_disk *disk, const struct as_dir *dir,
			       const char *name, struct as_err *err);
AS_MUST_CHECK int as_store_sink_new(const char *folder, as_save_disk_fn save_disk,
				    struct as_sink **sink, struct as_err *err);
/* The same, in a folder that the caller has opened. */
AS_MUST_CHECK int as_store_sink_in(const struct as_dir *folder, as_save_disk_fn save_disk,
				   struct as_sink **sink, struct as_err *err);
/* The run folder of as_store_sink_new(). */
const struct as_dir *as_store_sink_folder(const struct as_sink *sink);
/* From now on, a finding that is already there is not counted. */
void as_store_sink_goes_on(struct as_sink *sink);
/* The first failure to write, if any: 0 or its code. */
int as_store_sink_failed(const struct as_sink *sink, struct as_err *err);
void as_store_sink_free(struct as_sink *sink); /* takes NULL */

/* Replaces the number of times that it was met, and its likely cause; NULL: that stays. */
AS_MUST_CHECK int as_stored_set_count(const struct as_dir *folder, uint64_t count,
				      const char *group, struct as_err *err);

struct as_stored_reduction;
/* Puts the result of a reduction (dossier/readme.h) into the folder of a finding, in place of an
 * earlier one. */
AS_MUST_CHECK int as_stored_set_reduced(const struct as_dir *folder,
					const struct as_stored_reduction *reduction,
					struct as_err *err);

#endif
