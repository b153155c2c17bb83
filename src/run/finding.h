/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding: puts a finding together from the workload and the options that led to it. Every finding
 * that is told of a workload is made here. */
#ifndef AS_RUN_FINDING_H
#define AS_RUN_FINDING_H

#include "base/event.h"
#include "base/notice.h"
#include "run/run.h"
#include "work/seq.h"

/*
 * The caller has opened a notice (base/notice.h), and set target, workload_name, log and disk. The
 * texts of the workload and the options, the line of the operation and the id are added, then the
 * sinks are told. `options` are those of the run; the notice's words count more, where there are
 * any. `name` begins the id; NULL: the target up to its first colon. An op_index that the workload
 * does not have becomes -1.
 */
void as_finding_tell(struct as_finding *finding, const char *name, const struct as_seq *seq,
		     const struct as_run_options *options, struct as_sink *sinks,
		     char id[AS_FINDING_ID_MAX]);

#endif
