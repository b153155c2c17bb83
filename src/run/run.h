/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run: workloads on a target. Each runs in a child process, on a fresh file system. The model
 * judges every answer, and the tree is compared with it (at the end, or after every operation).
 * Then the file system is unmounted, its memory is counted, its disk is checked, and it is mounted
 * once more to be compared again. The first finding ends a workload; a child that dies or hangs is
 * a finding, too. */
#ifndef AS_RUN_RUN_H
#define AS_RUN_RUN_H

#include "base/err.h"
#include "base/event.h"
#include "child/child.h"
#include "child/options.h"
#include "progress/result.h"
#include "target/target.h"
#include "work/list.h"

struct as_kcov_area;
struct as_runner;
struct as_model;
struct as_medium;
struct as_traits;

/* Makes the file system once; each workload gets a copy. A target that refuses to be made and
 * mounted is a mistake of the caller: AS_EUSE. A library that dies of it, or refuses to mount what
 * it has made without options, is unfit. The target, the sinks and options->faults must outlive
 * the runner. */
AS_MUST_CHECK int as_runner_new(const struct as_target *target,
				const struct as_run_options *options, struct as_sink *sinks,
				struct as_runner **runner, struct as_err *err);
void as_runner_free(struct as_runner *runner); /* takes NULL */

/* What the runner made, for other ways to run workloads: the disk (NULL: a directory has none),
 * the model of what is on it, and what the model has to know. They live as long as the runner. */
struct as_run_fresh {
	struct as_medium *disk;
	const struct as_model *model;
	const struct as_traits *traits;
};
struct as_run_fresh as_runner_fresh(const struct as_runner *runner);
/* Where those who run a workload in another way note which code of the kernel it reaches, as that
 * of workload 0 (child/kcov.h); NULL: nobody asks. */
struct as_kcov_area *as_runner_code(const struct as_runner *runner);
/* Tells what they have noted since the last time. */
void as_runner_code_noted(struct as_runner *runner, const char *name);
/* Whether the target is unfit: there is no fresh file system, and each workload only tells the
 * finding that says why. */
bool as_runner_unfit(const struct as_runner *runner);

/* Findings go to the sinks; what is returned is 0 or an error of ours. */
AS_MUST_CHECK int as_run_workload(struct as_runner *runner, const struct as_seq *seq,
				  const char *name, struct as_run_result *result,
				  struct as_err *err);

/* As as_run_workload() for the first *done of them. Where the target allows it
 * (AS_INSTANCE_BATCH), they share one child: starting a child costs more than running a workload.
 * It ends after the first one that finds something; *done counts that one, too. Others have run in
 * the same process before, so to be sure the caller runs it once more, alone. */
AS_MUST_CHECK int as_run_batch(struct as_runner *runner, const struct as_work *batch, size_t *done,
			       struct as_run_result *result, struct as_err *err);

#endif
