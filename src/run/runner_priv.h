/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runner_priv: what the files of the runner share (run/runner*.c). */
#ifndef AS_RUN_RUNNER_PRIV_H
#define AS_RUN_RUNNER_PRIV_H

#include "child/child.h"
#include "model/traits.h"
#include "run/run.h"
#include "symptom/ids.h"

struct as_ended;
struct as_kwatch;

struct as_runner {
	const struct as_target *target;
	uint32_t caps; /* of its instances: enum as_instance_cap */
	struct as_run_options options;
	struct as_sink *sinks;
	struct as_traits traits;
	struct as_plan *plan;
	struct as_medium *fresh_disk; /* NULL: a directory has none */
	struct as_model *fresh_model;
	struct as_child_shared *shared;
	struct as_child_shared *unfit; /* see as_runner_unfit(): what was found; NULL: it is fit */
	int disk_fd;
	bool said; /* what is left out on a directory */
	bool quiet; /* findings are not reported */
	struct as_err left; /* what could not be removed after the last run; code 0: nothing */
	unsigned race_run; /* number of the run of this workload in several threads */
	struct as_ids ids; /* of what was found before */
	struct as_track *tracks; /* runner_tracks.c; NULL: none so far */
	unsigned n_tracks;
	struct as_kcov_area *code; /* NULL: nobody asks what code is reached */
	struct as_passes *passes; /* in the process of a track */
};

/* ---- runner_child.c ---- */

/* Starts a child and waits for its end. The folder that it works in on a directory is removed then;
 * if that fails, r->left says so, since what was found before counts all the same. */
AS_MUST_CHECK int as_runner_start(struct as_runner *r, int (*fn)(void *),
				  struct as_child_args *args, struct as_ended *ended,
				  struct as_err *err);
int as_runner_tell_left(const struct as_runner *r, struct as_err *err);
/* "died of SIGSEGV", "called exit(3)", "did not come back within 10 s", or NULL for a child that
 * came to its own end. */
const char *as_runner_bad_end(const struct as_runner *r, const struct as_ended *ended, char *text,
			      size_t cap);
uint64_t as_runner_race_seed(const struct as_runner *r); /* of the next run; 0: it is no race */
/* Counts the workloads of a child that came to their end. */
void as_runner_add_done(const struct as_child_shared *sh, struct as_run_result *result);
/* One workload, or those of a batch until one has found something. */
AS_MUST_CHECK int as_runner_once(struct as_runner *r, const struct as_work *batch,
				 const char *faults, const struct as_plan *plan,
				 struct as_run_result *result, struct as_err *err);

/* ---- runner_code.c ---- */

void as_runner_code_open(struct as_runner *r);
void as_runner_code_close(struct as_runner *r);
/* After a child. */
void as_runner_code_tell(struct as_runner *r, const struct as_work *batch);

/* ---- runner_leak.c ---- */

/* Around a child. AS_ELACK: the kernel cannot do it. */
AS_MUST_CHECK int as_runner_leak_begin(struct as_runner *r, struct as_err *err);
void as_runner_leak_look(struct as_runner *r);

/* ---- runner_found.c ---- */

/* What a dead child cannot say itself. */
void as_runner_found_dead(struct as_runner *r, const struct as_seq *seq,
			  const struct as_ended *ended, const char *end);
/* Whether it is the target's mistake that there is no fresh disk: then it is a finding. end: how
 * the child died; NULL: it did not. */
bool as_runner_found_fresh(struct as_runner *r, const struct as_ended *ended, const char *end);
/* What the kernel said when the child could no longer report it: perhaps it died of it. */
void as_runner_found_in_log(struct as_runner *r, const struct as_seq *seq, struct as_kwatch *watch,
			    bool excused);
/* Tells the sinks what the shared memory holds. */
AS_MUST_CHECK int as_runner_report(struct as_runner *r, const struct as_seq *seq, const char *name,
				   const char *faults, struct as_run_result *result,
				   struct as_err *err);

/* ---- runner_tracks.c ---- */

/* What came of a batch that ran on several instances at once. */
struct as_beside {
	size_t passed; /* so many from the first one on */
	size_t doubtful; /* so many after them have to run again, one after the other; 0: none */
	struct as_track *found; /* it has found something, NULL: none has, */
	size_t found_at; /* by this workload */
};

/* On how many instances so many workloads are best run at once. */
unsigned as_runner_tracks(const struct as_runner *r, size_t n);
/* Adds the workloads that passed to the result. Nothing is reported. */
AS_MUST_CHECK int as_runner_beside(struct as_runner *r, const struct as_work *batch,
				   unsigned tracks, struct as_beside *beside,
				   struct as_run_result *result, struct as_err *err);
/* Reports what was found then, if it has not come again. */
AS_MUST_CHECK int as_runner_report_beside(struct as_runner *r, const struct as_beside *beside,
					  const struct as_work *batch, struct as_run_result *result,
					  struct as_err *err);
void as_runner_close_tracks(struct as_runner *r);

/* ---- runner_faults.c ---- */

/* As as_run_batch(), with what was drawn for each workload. */
AS_MUST_CHECK int as_runner_drawn(struct as_runner *r, const struct as_work *batch, size_t *done,
				  struct as_run_result *result, struct as_err *err);
/* With options.near. */
AS_MUST_CHECK int as_runner_near(struct as_runner *r, const struct as_work *one,
				 struct as_run_result *result, struct as_err *err);

/* ---- runner_sweep.c, runner_race.c ---- */

/* Fails call 1, 2, 3, ... until a run ends in which no call failed. */
AS_MUST_CHECK int as_runner_sweep(struct as_runner *r, const struct as_work *one,
				  struct as_run_result *result, struct as_err *err);
AS_MUST_CHECK int as_runner_race(struct as_runner *r, const struct as_seq *seq, const char *name,
				 struct as_run_result *result, struct as_err *err);

#endif
