/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hunt: the leading process of a hunt (see hunt.h).
 *
 * Method. It starts a process for each job, reads the results of their batches, and merges these
 * into the state in rounds: the batch of job 0, then that of job 1, and so on, whichever was
 * faster. Only then does a finding move from the job's folder into findings/, and only then is the
 * state written.
 *
 * Invariants
 *   1. The state on disk holds whole batches: its counts, positions and signatures belong together.
 *      Workloads after the position of a job are counted nowhere. If this process is killed, they
 *      are done again when the hunt is resumed.
 *   2. Which workload is kept for a signature, and all counts, depend on the seed and the number of
 *      workloads, not on which job was faster (as long as the target itself is deterministic).
 *      This does not hold with `code`: what is new depends on what other jobs reached before.
 *   3. Only this process writes to findings/ and to the state; a lock keeps others out.
 *   4. The finding of a signature in the state is complete in findings/.
 */
#include "hunt/hunt.h"

#include "hunt/folders.h"
#include "hunt/groups.h"
#include "hunt/hunt_priv.h"
#include "os/spawn.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 100
#define SAVE_US 500000 /* between two saves, unless something was found */
#define STOP_US 1000000 /* how long workers may take to end */

/* ---- Starting -------------------------------------------------------------------------------- */

/* The number after the last workload of a job; UINT64_MAX: it has no last. */
static uint64_t share_end(const struct as_hunt_state *s, size_t job)
{
	if (!s->max_workloads)
		return UINT64_MAX;
	return s->max_workloads / s->n_jobs + (job < s->max_workloads % s->n_jobs);
}

static int start_jobs(struct as_hunt_leader *l, struct as_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < l->state->n_jobs && !rc; i++) {
		uint64_t end = share_end(l->state, i);

		l->state->jobs[i].over = l->state->jobs[i].position >= end;
		if (!l->state->jobs[i].over)
			rc = as_worker_start_job(l->hunt, l->state, i, end, l->shared, l->crew,
						 err);
	}
	return rc;
}

/* The next signature to reduce; NULL: none. */
static struct as_hunt_sign *to_reduce(const struct as_hunt_leader *l)
{
	for (size_t i = 0; l->hunt->reduce_seconds && i < l->state->n_signs; i++)
		if (l->state->signs[i].reduced == AS_HUNT_UNREDUCED && !l->tried[i])
			return &l->state->signs[i];
	return NULL;
}

/* Whether the time is used up. A hunt that was over when we began only reduces, and each
 * signature has a time of its own. */
static bool is_late(const struct as_hunt_leader *l)
{
	return !l->only_reduces && l->state->for_us && l->state->used_us >= l->state->for_us;
}

static bool reduces(const struct as_hunt_leader *l)
{
	return as_crew_sits(l->crew, AS_HUNT_REDUCER(l->state));
}

static int start_reducer(struct as_hunt_leader *l, struct as_err *err)
{
	struct as_hunt_sign *sign = reduces(l) ? NULL : to_reduce(l);

	if (!sign || l->stopping || is_late(l))
		return 0;
	l->tried[sign - l->state->signs] = true;
	return as_worker_start_reducer(l->hunt, l->state, sign, l->shared, l->crew, err);
}

/* ---- Hearing --------------------------------------------------------------------------------- */

/* The end of one of them. When all are to end, it is of no interest how, unless it says so. */
static int hear_end(struct as_hunt_leader *l, unsigned seat, struct as_err *err)
{
	bool said = as_crew_returned(l->crew, seat);
	struct as_err how = { 0 };
	int rc = as_crew_ended(l->crew, seat, &how);

	if (!rc || (l->shared->stop && !said))
		return 0;
	*err = how;
	return rc;
}

static int hear_reducer(struct as_hunt_leader *l, struct as_err *err)
{
	const char *text;
	size_t len;
	int rc = 0;

	while (!rc && (text = as_crew_next(l->crew, AS_HUNT_REDUCER(l->state), &len)))
		rc = as_leader_reduced(l, text, err);
	return !rc && as_crew_is_over(l->crew, AS_HUNT_REDUCER(l->state))
		       ? hear_end(l, AS_HUNT_REDUCER(l->state), err)
		       : rc;
}

/* How long to wait until the time must be checked again. */
static int look_ms(const struct as_hunt_leader *l)
{
	int64_t left_us = l->state->for_us - l->state->used_us;

	return l->state->for_us && left_us > 0 && left_us < LOOK_MS * 1000
		       ? (int)(left_us / 1000) + 1
		       : LOOK_MS;
}

static void end_jobs(struct as_hunt_leader *l)
{
	for (size_t i = 0; i < l->state->n_jobs; i++)
		as_crew_drop(l->crew, (unsigned)i);
}

static int hear(struct as_hunt_leader *l, struct as_err *err)
{
	int rc;

	as_crew_wait(l->crew, look_ms(l));
	rc = as_leader_merge(l, false, err);
	if (as_hunt_state_enough(l->state))
		end_jobs(l);
	for (unsigned i = 0; i < l->state->n_jobs && !rc; i++)
		if (as_crew_sits(l->crew, i) && as_crew_is_over(l->crew, i))
			rc = hear_end(l, i, err);
	return rc ? rc : hear_reducer(l, err);
}

/* ---- Going on -------------------------------------------------------------------------------- */

/* The folder of each kind gets its count and its likely cause. */
static int tell_folders(struct as_hunt_leader *l, struct as_err *err)
{
	struct as_hunt_groups groups;
	int rc = 0;

	as_hunt_groups(l->state, &groups);
	for (size_t i = 0; i < l->state->n_signs && !rc; i++) {
		const struct as_hunt_sign *sign = &l->state->signs[i];
		struct as_dir dir;

		/* The user may have removed the folder. */
		if (!as_folders_finding(l->hunt, sign->id, &dir, NULL))
			rc = l->hunt->store->set_count(&dir, sign->count,
						       groups.groups[groups.of[i]].name, err);
		as_dir_close(&dir);
	}
	as_hunt_groups_free(&groups);
	return rc;
}

static int save(struct as_hunt_leader *l, bool now, struct as_err *err)
{
	int64_t now_us = as_now_us();

	if (!now && (!l->changed || now_us - l->saved_us < SAVE_US))
		return 0;
	l->saved_us = now_us;
	l->changed = false;
	return as_hunt_state_save(&l->hunt->folders->hunt, l->state, err);
}

static void account(struct as_hunt_leader *l)
{
	int64_t now_us = as_now_us();
	uint64_t ops = 0;

	l->state->used_us = l->used_before_us + now_us - l->start_us;
	for (size_t i = 0; i < l->state->n_jobs; i++)
		ops += l->shared->ops[i];
	if (l->hunt->progress)
		l->hunt->progress(l->hunt->ctx, l->state, ops);
}

static bool any_job(const struct as_hunt_leader *l)
{
	for (size_t i = 0; i < l->state->n_jobs; i++)
		if (as_crew_sits(l->crew, (unsigned)i))
			return true;
	return false;
}

/* Runs until no process works any more. */
static int go_on(struct as_hunt_leader *l, struct as_err *err)
{
	int rc = 0;

	while (!rc) {
		/* A reduction that is running is interrupted: it continues when the hunt is
		 * resumed. */
		if (l->hunt->stop(l->hunt->ctx) || is_late(l)) {
			l->stopping = true;
			break;
		}
		if (as_hunt_state_enough(l->state))
			end_jobs(l);
		if (!any_job(l) && !reduces(l) && !to_reduce(l))
			break;
		rc = hear(l, err);
		account(l);
		if (!rc)
			rc = start_reducer(l, err);
		if (!rc)
			rc = save(l, false, err);
	}
	return rc;
}

/* Ends all processes, merges what they have done, and saves the state. */
static int end_all(struct as_hunt_leader *l, int rc, struct as_err *err)
{
	int64_t until_us = as_now_us() + STOP_US;
	struct as_err late = { 0 };
	int rc2 = 0;

	l->shared->stop = 1;
	while (!rc && (any_job(l) || reduces(l)) && as_now_us() < until_us && !rc2)
		rc2 = hear(l, &late);
	end_jobs(l);
	as_crew_drop(l->crew, AS_HUNT_REDUCER(l->state));
	/* After an error of ours, nothing more is merged. If the number of workloads is given,
	 * batches whose turn has not come are not merged, either: they are done again in their
	 * turn. */
	if (!rc && !rc2 && !as_hunt_state_enough(l->state))
		rc2 = as_leader_merge(l, !l->state->max_workloads, &late);
	account(l);
	if (!rc && rc2) {
		rc = rc2;
		*err = late;
	}
	rc2 = save(l, true, &late);
	if (!rc && rc2) {
		rc = rc2;
		*err = late;
	}
	return rc ? rc : tell_folders(l, err);
}

int as_hunt(const struct as_hunt *hunt, struct as_hunt_state *state, struct as_err *err)
{
	/* The leader hears what a terminal says, and decides. */
	static const struct as_crew_plan plan = { .who = "a job of the hunt",
						  .how = AS_BIRTH_GROUP | AS_BIRTH_PLAIN };
	struct as_hunt_leader l = { .hunt = hunt,
				    .state = state,
				    .used_before_us = state->used_us,
				    .start_us = hunt->start_us ? hunt->start_us : as_now_us(),
				    .only_reduces = as_hunt_state_over(state) };
	int rc;

	as_folders_clean(hunt);
	l.crew = as_crew_new(&plan, AS_HUNT_REDUCER(state) + 1);
	l.tried_cap = state->n_signs + 1;
	l.tried = as_xcalloc(l.tried_cap, sizeof(*l.tried));
	l.shared = as_shared_alloc(sizeof(*l.shared));
	rc = save(&l, true, err);
	if (!rc && !l.only_reduces)
		rc = start_jobs(&l, err);
	as_leader_begin(&l);
	if (!rc)
		rc = start_reducer(&l, err);
	if (!rc)
		rc = go_on(&l, err);
	rc = end_all(&l, rc, err);
	as_crew_free(l.crew);
	as_shared_free(l.shared, sizeof(*l.shared));
	as_folders_clean(hunt);
	free(l.tried);
	return rc;
}
