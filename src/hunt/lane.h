/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lane: where the workloads of one process of a hunt run: in children of this process, or in a
 * sandbox, whose engine then does the same. */
#ifndef AS_HUNT_LANE_H
#define AS_HUNT_LANE_H

#include "hunt/hunt.h"
#include "symptom/known.h"

struct as_lane;

/*
 * `name` is that of a folder of this process alone, in hunt/ (folders.h); findings are kept in its
 * findings/, if `keep` is set.
 * sinks hear of every finding or, when it was known before, that it came again. hunt, known and
 * sinks must outlive the lane.
 */
AS_MUST_CHECK int as_lane_open(const struct as_hunt *hunt, const char *name, bool keep,
			       struct as_known *known, struct as_sink *sinks, struct as_lane **lane,
			       struct as_err *err);
/* Runs all of them or, if hunt->run.stop is set meanwhile, the first result->workloads. The result
 * is the sum. */
AS_MUST_CHECK int as_lane_run(struct as_lane *lane, const struct as_work *work,
			      struct as_run_result *result, struct as_err *err);
void as_lane_close(struct as_lane *lane); /* takes NULL */

#endif
