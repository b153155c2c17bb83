/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop: many runs of a program on disks that differ in a few places only. What the program does
 * before it first reads or writes one of these places is the same for all of them, so it is done
 * once: the run stops there and is forked for each disk. This is exact, because a run sees a
 * standing clock and meets no chance. A disk that differs elsewhere, too, fits as well if nothing
 * of that was touched before the stop.
 */
#ifndef AS_TOOL_STOP_H
#define AS_TOOL_STOP_H

#include "tool/tool.h"

#define AS_TOOL_STOPS_MAX 16u

struct as_tool_range {
	uint64_t off, len;
};

/*
 * Runs the program until it is about to touch one of the ranges. *stopped false: it cannot stop (a
 * static program, one with threads, a disk over 1 GiB), or it ends without touching them; each disk
 * must be run as a whole then. A tool that has stopped takes no other calls than those below. The
 * words of the job must live until as_tool_stop_end(). A range that is the whole disk stops it
 * before it touches any of it: then the disks may differ everywhere.
 */
AS_MUST_CHECK int as_tool_stop_begin(struct as_tool *tool, const struct as_tool_job *job,
				     struct as_disk *disk, const struct as_tool_range *ranges,
				     unsigned n, bool *stopped, struct as_err *err);
/* Whether the run up to the stop is the same on `disk`: all that it touched is. */
bool as_tool_stop_fits(const struct as_tool *tool, const struct as_disk *disk);
/* How often it read the disk before the stop. 0: nothing is won that every run has. */
uint64_t as_tool_stop_reads(const struct as_tool *tool);
/* As as_tool_run() on `disk`, which fits: it does if it differs within the ranges only. */
AS_MUST_CHECK int as_tool_stop_run(struct as_tool *tool, struct as_disk *disk,
				   struct as_tool_result *result, struct as_err *err);
/* Whether it can be forked again: a run that had to be killed may have ended it. */
bool as_tool_has_stopped(const struct as_tool *tool);
void as_tool_stop_end(struct as_tool *tool);

#endif
