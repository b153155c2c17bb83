/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner_tracks: the workloads of a batch on several quick instances at once.
 *
 * Method. Nine tenths of the time of a workload on the running kernel is waiting: an unmount waits
 * for the kernel's threads and for RCU, several times. So a few processes, the tracks, share the
 * workloads of a batch: each has a child that takes the next one when it is done with the last one.
 * Tracks report nothing themselves.
 *
 * Invariants.
 * 1. What is found does not depend on the number of tracks, nor on which was faster. The tracks
 *    only say which workloads passed. The caller counts those before the first one that did not
 *    pass, and runs the next ones again, one after the other.
 * 2. A message of the kernel that names no device is seen by all tracks. The one that caused it saw
 *    it, too, and stopped. So all workloads up to the last one at which a track found something are
 *    run again.
 * 3. A track that fails or dies has found nothing: its workload is run again.
 * 4. What was found here and does not come again is reported as it was.
 */
#include "crew/crew.h"
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "os/spawn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TRACKS_MAX 8u
#define TRACKS_PER_CPU 2u
#define SHARE_MIN 4u /* workloads of a track: setting it up takes as long as one */
#define END_MS 2000 /* how long a track that was told to stop may take */

struct as_track {
	struct as_child_shared *shared; /* of its child */
	int disk_fd;
	bool suspect; /* it found something, or failed, or died */
};

/* ---- How many -------------------------------------------------------------------------------- */

unsigned as_runner_tracks(const struct as_runner *r, size_t n)
{
	const struct as_run_options *o = &r->options;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most;

	/* Those who look on can follow one child, and a machine with one processor (uml) has no
	 * threads to wait for. */
	if (!(r->caps & AS_INSTANCE_QUICK) || o->state || o->watch || o->answers || cpus < 2)
		return 1;
	most = (size_t)cpus * TRACKS_PER_CPU;
	if (most > n / SHARE_MIN)
		most = n / SHARE_MIN;
	return most > TRACKS_MAX ? TRACKS_MAX : most > 1 ? (unsigned)most : 1;
}

/* ---- A track --------------------------------------------------------------------------------- */

static int open_tracks(struct as_runner *r, unsigned n, struct as_err *err)
{
	if (!r->tracks)
		r->tracks = as_xcalloc(TRACKS_MAX, sizeof(*r->tracks));
	for (; r->n_tracks < n; r->n_tracks++) {
		struct as_track *t = &r->tracks[r->n_tracks];

		t->disk_fd = memfd_create("assay-disk", MFD_CLOEXEC);
		if (t->disk_fd < 0)
			return as_fail_errno(err, errno, "cannot make a file in memory");
		t->shared = as_shared_alloc(sizeof(*t->shared));
	}
	return 0;
}

void as_runner_close_tracks(struct as_runner *r)
{
	for (unsigned i = 0; i < r->n_tracks; i++) {
		close(r->tracks[i].disk_fd);
		as_shared_free(r->tracks[i].shared, sizeof(*r->tracks[i].shared));
	}
	free(r->tracks);
}

struct track_share {
	struct as_runner *r;
	const struct as_work *batch;
	struct as_passes *passes;
};

/* What comes of it is in shared memory. It returns 0 if nothing did. */
static int be_track(struct as_mate *mate, void *ctx, struct as_err *err)
{
	struct track_share *share = ctx;
	struct as_runner *r = share->r;
	const struct as_track *t = &r->tracks[as_mate_seat(mate)];
	struct as_run_result result = { 0 };
	int rc;

	r->shared = t->shared;
	r->disk_fd = t->disk_fd;
	r->passes = share->passes;
	r->quiet = true;
	rc = as_runner_once(r, share->batch, NULL, NULL, &result, err);
	if (rc)
		r->shared->notice.is = false;
	if (rc || r->shared->notice.is)
		share->passes->over = true;
	return rc;
}

/* A track ends its child in time, whatever happens: here we wait for tracks only. One that was told
 * to stop, too, counts what is done. */
static int run_tracks(struct as_runner *r, unsigned n, struct track_share *share,
		      struct as_err *err)
{
	static const struct as_crew_plan plan = { .who = "a track" };
	const struct as_halt halt = { .stop = r->options.stop };
	struct as_crew *crew = as_crew_new(&plan, n);
	int rc = 0;

	for (unsigned k = 0; k < n && !rc; k++) {
		memset(r->tracks[k].shared, 0, sizeof(*r->tracks[k].shared));
		r->tracks[k].suspect = false;
		rc = as_crew_start(crew, k, be_track, share, err);
	}
	as_crew_await(crew, &halt, END_MS);
	for (unsigned k = 0; k < n; k++)
		if (as_crew_sits(crew, k))
			r->tracks[k].suspect =
				as_crew_ended(crew, k, NULL) || r->tracks[k].shared->notice.is;
	as_crew_free(crew);
	return rc;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The last workload that a track stopped at because of it; and the first one of them that found
 * something. */
static size_t last_suspect(struct as_runner *r, unsigned n, struct as_passes *passes,
			   struct as_beside *beside)
{
	size_t last = 0;

	for (unsigned k = 0; k < n; k++) {
		struct as_track *t = &r->tracks[k];
		size_t at = t->shared->done;

		if (!t->suspect)
			continue;
		last = at > last ? at : last;
		if (!t->shared->notice.is)
			continue;
		passes->rows[at].passed = false;
		if (!beside->found || at < beside->found_at) {
			beside->found = t;
			beside->found_at = at;
		}
	}
	return last;
}

static void sum_up(struct as_runner *r, unsigned n, size_t all, struct as_passes *passes,
		   struct as_beside *beside, struct as_run_result *result)
{
	size_t last = last_suspect(r, n, passes, beside), i;

	for (i = 0; i < all && passes->rows[i].passed; i++) {
		result->runs++;
		result->ops += passes->rows[i].ops;
		result->skipped += passes->rows[i].skipped;
	}
	beside->passed = i;
	if (i < all)
		beside->doubtful = last > i && last < all ? last - i + 1 : 1;
}

int as_runner_beside(struct as_runner *r, const struct as_work *batch, unsigned n,
		     struct as_beside *beside, struct as_run_result *result, struct as_err *err)
{
	size_t bytes = sizeof(struct as_passes) + batch->n * sizeof(struct as_pass);
	struct as_passes *passes;
	int rc = open_tracks(r, n, err);

	*beside = (struct as_beside){ 0 };
	if (rc)
		return rc;
	passes = as_shared_alloc(bytes);
	rc = run_tracks(r, n, &(struct track_share){ r, batch, passes }, err);
	if (!rc)
		sum_up(r, n, batch->n, passes, beside, result);
	as_shared_free(passes, bytes);
	return rc;
}

int as_runner_report_beside(struct as_runner *r, const struct as_beside *beside,
			    const struct as_work *batch, struct as_run_result *result,
			    struct as_err *err)
{
	struct as_child_shared *shared = r->shared;
	int disk_fd = r->disk_fd, rc;

	if (!beside->found)
		return 0;
	r->shared = beside->found->shared;
	r->disk_fd = beside->found->disk_fd;
	rc = as_runner_report(r, batch->seqs[beside->found_at], batch->names[beside->found_at],
			      NULL, result, err);
	r->shared = shared;
	r->disk_fd = disk_fd;
	return rc;
}
