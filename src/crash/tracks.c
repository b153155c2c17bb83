/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tracks: the crash runs of several workloads at once.
 *
 * Method. A recovery by the running kernel is mostly waiting: for the threads of a mount to start
 * and to end, for RCU, for the checker. So a few processes, the tracks, share the workloads: each
 * takes the next one when it is done with the last one, on devices of its own.
 *
 * Invariants.
 * 1. What is found does not depend on the number of tracks, nor on which was faster: each workload
 *    is judged as if it were alone. The tracks only say which workloads passed. Those before the
 *    first that did not are counted, and the next ones are run again, one after the other.
 * 2. A message of the kernel that names no device is heard by all tracks. So all workloads up to
 *    the last one at which a track found something are run again.
 * 3. A track that fails or dies has found nothing: its workload is run again.
 * 4. What was found and does not come again is told as it was.
 * 5. The shares of all workloads of a batch are drawn by what those before the batch came to.
 */
#include "crash/crash_priv.h"
#include "crew/crew.h"

#include "instance/instance.h"
#include "os/spawn.h"
#include "progress/result.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRACKS_MAX 4u
#define TRACKS_PER_CPU 2u
#define END_MS 2000 /* how long a track that was told to stop may take */

/* What becomes of a workload; in shared memory. */
struct track_row {
	volatile bool passed;
	struct as_run_result result;
};

struct track {
	struct as_crasher crasher; /* as ours, but with memory of its own */
	struct track_shared *shared;
};

struct track_shared {
	volatile size_t at; /* the workload that it is at */
	volatile bool found, failed;
};

struct tracks {
	struct as_crasher *crasher;
	const struct as_work *work;
	struct track track[TRACKS_MAX];
	unsigned n_tracks;
	/* In shared memory. */
	struct tracks_shared {
		volatile size_t next;
		volatile bool over; /* something was found */
		struct track_shared track[TRACKS_MAX];
		struct track_row rows[];
	} * shared;
};

static unsigned tracks_for(const struct as_crasher *c, size_t n)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = cpus > 0 ? (size_t)cpus * TRACKS_PER_CPU : 1;

	/* A machine with one processor (uml) has no threads to wait for, and who looks on from
	 * outside can follow one process. */
	if (!(as_instance_caps(c->target) & AS_INSTANCE_KERNEL) || c->run.state || cpus < 2)
		return 1;
	most = most < n ? most : n;
	return most < TRACKS_MAX ? (unsigned)most : TRACKS_MAX;
}

/* ---- A track --------------------------------------------------------------------------------- */

static int open_track(struct tracks *t, struct track *track, struct as_err *err)
{
	track->crasher = *t->crasher;
	track->crasher.quiet = true;
	track->crasher.dedup = NULL; /* each workload makes a new one */
	track->crasher.shared = as_shared_alloc(sizeof(*track->crasher.shared));
	track->crasher.disk_fd = memfd_create("assay-crash", MFD_CLOEXEC);
	return track->crasher.disk_fd < 0
		       ? as_fail_errno(err, errno, "cannot make a file in memory")
		       : 0;
}

static void close_track(struct track *track)
{
	if (track->crasher.shared)
		as_shared_free(track->crasher.shared, sizeof(*track->crasher.shared));
	if (track->crasher.disk_fd >= 0)
		close(track->crasher.disk_fd);
}

static int be_track(struct as_mate *mate, void *ctx, struct as_err *err)
{
	struct tracks *t = ctx;
	struct track *track = &t->track[as_mate_seat(mate)];
	struct track_shared *mine = track->shared;
	struct as_crash_counts counts;
	int rc = 0;
	size_t i;

	while (!rc && !mine->found && !t->shared->over &&
	       (i = __sync_fetch_and_add(&t->shared->next, 1)) < t->work->n) {
		struct as_run_result *result = &t->shared->rows[i].result;

		mine->at = i;
		rc = as_crash_workload(&track->crasher, t->work->seqs[i], t->work->names[i], result,
				       &counts, err);
		mine->found = !rc && result->findings;
		if (rc || mine->found)
			t->shared->over = true;
		else
			t->shared->rows[i].passed = true;
	}
	return rc;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static bool is_stopped(const struct as_crasher *c)
{
	return c->run.stop && *c->run.stop;
}

/* The children of a track have deadlines: here we wait for tracks only. */
static int run_tracks(struct tracks *t, struct as_err *err)
{
	static const struct as_crew_plan plan = { .who = "a track" };
	const struct as_halt halt = { .stop = t->crasher->run.stop };
	struct as_crew *crew = as_crew_new(&plan, t->n_tracks);
	int rc = 0;

	for (unsigned k = 0; k < t->n_tracks && !rc; k++) {
		t->track[k].shared = &t->shared->track[k];
		rc = as_crew_start(crew, k, be_track, t, err);
	}
	as_crew_await(crew, &halt, END_MS);
	for (unsigned k = 0; k < t->n_tracks; k++)
		if (as_crew_sits(crew, k))
			t->track[k].shared->failed =
				as_crew_ended(crew, k, NULL) != 0 && !t->track[k].shared->found;
	as_crew_free(crew);
	return rc;
}

/* The last workload at which a track stopped, and the track that found something first. */
static size_t last_suspect(struct tracks *t, struct track **first)
{
	size_t last = 0;

	*first = NULL;
	for (unsigned k = 0; k < t->n_tracks; k++) {
		struct track *track = &t->track[k];
		size_t at = track->shared->at;

		if (!track->shared->found && !track->shared->failed)
			continue;
		last = at > last ? at : last;
		if (track->shared->found && (!*first || at < (*first)->shared->at))
			*first = track;
	}
	return last;
}

/* One workload alone. */
static int run_alone(struct tracks *t, size_t i, struct as_run_result *result, struct as_err *err)
{
	struct as_crash_counts counts;
	struct as_run_result one;
	int rc = as_crash_workload(t->crasher, t->work->seqs[i], t->work->names[i], &one, &counts,
				   err);

	if (!rc)
		as_run_result_add(result, &one);
	return rc;
}

static int sum_up(struct tracks *t, size_t *done, struct as_run_result *result, struct as_err *err)
{
	struct track *found;
	size_t last = last_suspect(t, &found);
	int rc = 0;

	for (; *done < t->work->n && t->shared->rows[*done].passed; (*done)++)
		as_run_result_add(result, &t->shared->rows[*done].result);
	if (is_stopped(t->crasher))
		return *done ? 0 : as_fail(err, AS_ESTOP, "stopped");
	while (!rc && !result->findings && *done < t->work->n && *done <= last) {
		rc = run_alone(t, *done, result, err);
		*done += !rc;
	}
	if (rc || result->findings || !found)
		return rc;
	found->crasher.quiet = false;
	as_crasher_tell(&found->crasher, t->work->seqs[found->shared->at],
			t->work->names[found->shared->at], found->crasher.shared->plan);
	result->findings += found->crasher.shared->n_reports;
	return 0;
}

static int run_beside(struct tracks *t, size_t *done, struct as_run_result *result,
		      struct as_err *err)
{
	size_t bytes = sizeof(*t->shared) + t->work->n * sizeof(t->shared->rows[0]);
	int rc = 0;

	t->crasher->frozen = true;
	for (unsigned k = 0; k < TRACKS_MAX; k++)
		t->track[k].crasher.disk_fd = -1;
	t->shared = as_shared_alloc(bytes);
	for (unsigned k = 0; k < t->n_tracks && !rc; k++)
		rc = open_track(t, &t->track[k], err);
	if (!rc)
		rc = run_tracks(t, err);
	if (!rc)
		rc = sum_up(t, done, result, err);
	for (unsigned k = 0; k < t->n_tracks; k++)
		close_track(&t->track[k]);
	as_shared_free(t->shared, bytes);
	t->crasher->frozen = false;
	as_shares_add(&t->crasher->so_far, &result->shares);
	return rc;
}

int as_crash_workloads(struct as_crasher *c, const struct as_work *work, size_t *done,
		       struct as_run_result *result, struct as_err *err)
{
	struct tracks t = { .crasher = c, .work = work };
	struct as_crash_counts counts;

	*result = (struct as_run_result){ 0 };
	*done = 0;
	t.n_tracks = as_runner_unfit(c->runner) ? 1 : tracks_for(c, work->n);
	if (t.n_tracks > 1)
		return run_beside(&t, done, result, err);
	*done = 1;
	return as_crash_workload(c, work->seqs[0], work->names[0], result, &counts, err);
}
