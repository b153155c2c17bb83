/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state: all that a hunt has to remember, in one file (FOLDER/hunt/state.json, docs/FORMAT.md). The
 * file is replaced as a whole: a reader sees the hunt as it was after some batch.
 */
#ifndef AS_HUNT_STATE_H
#define AS_HUNT_STATE_H

#include "base/err.h"
#include "base/event.h"
#include "os/dir.h"
#include "progress/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum as_hunt_reduced {
	AS_HUNT_UNREDUCED, /* not yet */
	AS_HUNT_REDUCED,
	AS_HUNT_SHORTENED, /* the time was up before everything was tried */
	AS_HUNT_VANISHED, /* it did not reproduce when its workload was run alone */
};

/* A signature: one kind of finding. */
struct as_hunt_sign {
	char *signature, *id, *summary;
	char *cause; /* the signature of the reduced workload; at first its own */
	char *steps; /* of the reduced workload, in the words of groups; NULL: not reduced */
	uint64_t count;
	unsigned job; /* the job that met it first, */
	uint64_t number; /* and the number of its workload in that job's stream */
	int64_t first_us; /* when it was met, in the hunt's time */
	uint64_t ops; /* operations of the workload */
	enum as_hunt_reduced reduced;
	uint64_t ops_reduced;
	unsigned runs, failed; /* of the reduced workload: it failed in `failed` of `runs` runs */
};

struct as_hunt_job {
	uint64_t position; /* workloads of its stream that are done */
	bool over; /* it has done its share */
	struct as_shares shares; /* what its crash states came to */
};

/* A way to make and mount the target (sets.h). */
struct as_hunt_drawn {
	char *target; /* as a person could have typed it */
	uint64_t workloads;
	char *refused; /* why it was left out; NULL: it was not */
};

struct as_hunt_state {
	/* What was asked for; `words` are options of the command line, "--name=value". */
	char *target, *scenario;
	char **words;
	size_t n_words;
	uint64_t seed;
	uint64_t max_workloads; /* of all jobs; 0: no end */
	int64_t for_us; /* 0: no end */
	uint64_t max_signs; /* kinds of findings; 0: no end */
	/* What was used and counted so far. */
	int64_t used_us;
	uint64_t workloads, ops, skipped, unjudged, excused, findings;
	uint64_t failures; /* inside the kernel */
	struct as_raced raced;
	uint64_t looked, possible; /* as in struct as_run_result */
	struct as_hunt_job *jobs;
	size_t n_jobs;
	struct as_hunt_drawn *sets; /* the first is `target`; none: nothing was drawn */
	size_t n_sets, cap_sets;
	struct as_hunt_sign *signs; /* in the order in which they were met */
	size_t n_signs, cap_signs;
};

/* An empty state with that many jobs; free it with as_hunt_state_free(). */
void as_hunt_state_init(struct as_hunt_state *state, size_t n_jobs);
void as_hunt_state_free(struct as_hunt_state *state);
/* NULL: none of that signature. */
struct as_hunt_sign *as_hunt_state_find(const struct as_hunt_state *state, const char *signature);
void as_hunt_state_add_set(struct as_hunt_state *state, const char *target);
struct as_hunt_sign *as_hunt_state_add(struct as_hunt_state *state, const char *signature);
/* NULL changes nothing. */
void as_hunt_sign_set_cause(struct as_hunt_sign *sign, const char *cause, const char *steps);
/* Of all jobs. */
struct as_shares as_hunt_state_shares(const struct as_hunt_state *state);
/* Whether time or workloads are used up. Signatures that are not reduced yet do not matter. */
bool as_hunt_state_over(const struct as_hunt_state *state);
/* Whether it has as many kinds of findings as were asked for. */
bool as_hunt_state_enough(const struct as_hunt_state *state);

/* `folder` is the one named hunt in the run folder. AS_EUSE: there is no hunt in it, or one that
 * cannot be read. */
AS_MUST_CHECK int as_hunt_state_load(const struct as_dir *folder, struct as_hunt_state *state,
				     struct as_err *err);
bool as_hunt_state_exists(const struct as_dir *folder);
AS_MUST_CHECK int as_hunt_state_save(const struct as_dir *folder, const struct as_hunt_state *state,
				     struct as_err *err);

#endif
