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

/* For people. Everything is flushed at once, so that no forked child prints it again. */
struct as_sink *as_term_sink_new(FILE *out, bool colour);
/* Where findings are kept, if a command has to name it to find them; it must live as long. */
void as_term_sink_kept_in(struct as_sink *sink, const char *folder);
void as_term_sink_free(struct as_sink *sink); /* takes NULL */

/* One object a line: {"event":"finding",...}, {"event":"note",...}, {"event":"done",...}. */
struct as_sink *as_jsonl_sink_new(FILE *out);
void as_jsonl_sink_free(struct as_sink *sink); /* takes NULL */

/*
 * Keeps findings in FOLDER/findings/ID/: finding.json, workload.txt, repro.c, README.md and, if
 * there is a disk, disk.img.zst. A finding that is already there is only counted. The folder is
 * made at once: a folder that cannot be written, or that is not a run folder (os/rundir.h), is an
 * error before the work begins. It is removed again if it stays empty. `given`: the folder is a
 * supervisor's, who does the counting.
 */
typedef int (*as_save_disk_fn)(const struct as_disk *disk, const struct as_dir *dir,
			       const char *name, struct as_err *err);
AS_MUST_CHECK int as_store_sink_new(const char *folder, bool given, as_save_disk_fn save_disk,
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

/* Disks in the folder of a finding: at that moment; before the workload whose power was cut; before
 * it was damaged. */
#define AS_DISK_NAME "disk.img.zst"
#define AS_BEFORE_NAME "before.img.zst"
#define AS_HEALTHY_NAME "healthy.img.zst"
#define AS_LAYOUT_NAME "disk.layout"

/* A finding that was read from its folder. */
struct as_stored {
	struct as_finding_record record; /* its workload is NULL */
	char *workload;
	char *reduced; /* the reduced workload, NULL: there is none */
	char *layout; /* the path of its own description of the disk, NULL: there is none */
};

/* `folder` is the finding's own. */
AS_MUST_CHECK int as_stored_load(const struct as_dir *folder, struct as_stored *stored,
				 struct as_err *err);
void as_stored_free(struct as_stored *stored);

/* Replaces the number of times that it was met, and its likely cause; NULL: that stays. */
AS_MUST_CHECK int as_stored_set_count(const struct as_dir *folder, uint64_t count,
				      const char *group, struct as_err *err);

/* The result of a reduction. */
#define AS_REDUCED_NAME "workload.reduced.txt"
struct as_stored_reduction {
	const char *workload; /* canonical text */
	uint64_t ops_before, ops_after, executions;
	unsigned runs, failed; /* the result failed in `failed` of `runs` runs; 0: not confirmed */
	bool flaky, complete;
	double seconds;
	/* What it shows (finding.h); NULL: not known. */
	const char *summary, *detail, *log;
	long op_index;
};

/* Puts it into the folder of a finding, in place of an earlier one. */
AS_MUST_CHECK int as_stored_set_reduced(const struct as_dir *folder,
					const struct as_stored_reduction *reduction,
					struct as_err *err);
/* What the reduced workload showed; NULL: there is none, or it is not known. */
const char *as_stored_shows(const struct as_stored *stored);

#endif
