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
#include "run/runner_priv.h"

#include "instance/instance.h"
#include "os/spawn.h"
#include "os/stuck.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TRACKS_MAX 8u
#define TRACKS_PER_CPU 2u
#define SHARE_MIN 4u /* workloads of a track: setting it up takes as long as one */
#define LOOK_MS 100 /* how often we ask whether to stop */
#define END_MS 2000 /* how long a track that was killed may take to end */

struct as_track {
	pid_t pid;
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

/* In its process. What comes of it is in shared memory; false: something did. */
static bool be_track(struct as_runner *r, const struct as_track *t,
		     const struct as_run_batch *batch, struct as_passes *passes)
{
	struct as_run_result result = { 0 };
	struct as_err err = { 0 };
	int rc;

	r->shared = t->shared;
	r->disk_fd = t->disk_fd;
	r->passes = passes;
	r->quiet = true;
	rc = as_runner_once(r, batch, NULL, NULL, &result, &err);
	if (rc)
		r->shared->notice.is = false;
	if (rc || r->shared->notice.is)
		passes->over = true;
	return !rc && !r->shared->notice.is;
}

static int start_track(struct as_runner *r, struct as_track *t, const struct as_run_batch *batch,
		       struct as_passes *passes, struct as_err *err)
{
	pid_t parent = getpid();

	memset(t->shared, 0, sizeof(*t->shared));
	t->pid = fork();
	if (t->pid < 0) {
		t->pid = 0;
		return as_fail_errno(err, errno, "cannot fork");
	}
	if (t->pid)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent && be_track(r, t, batch, passes) ? 0 : 1);
}

/* A track ends its child in time, whatever happens: here we wait for tracks only. */
static void await_track(const struct as_runner *r, struct as_track *t)
{
	bool ended = !t->pid;
	int status = 0;

	while (!ended) {
		ended = as_stuck_reap(t->pid, LOOK_MS, &status);
		if (!ended && r->options.stop && *r->options.stop) {
			/* It may have been told to stop, too, and then it counts what is done. */
			ended = as_stuck_reap(t->pid, END_MS, &status);
			if (!ended)
				kill(t->pid, SIGKILL);
		}
	}
	t->pid = 0;
	t->suspect = status;
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

int as_runner_beside(struct as_runner *r, const struct as_run_batch *batch, unsigned n,
		     struct as_beside *beside, struct as_run_result *result, struct as_err *err)
{
	size_t bytes = sizeof(struct as_passes) + batch->n * sizeof(struct as_pass);
	struct as_passes *passes;
	int rc = open_tracks(r, n, err);

	*beside = (struct as_beside){ 0 };
	if (rc)
		return rc;
	passes = as_shared_alloc(bytes);
	for (unsigned k = 0; k < n && !rc; k++)
		rc = start_track(r, &r->tracks[k], batch, passes, err);
	for (unsigned k = 0; k < n; k++)
		await_track(r, &r->tracks[k]);
	if (!rc)
		sum_up(r, n, batch->n, passes, beside, result);
	as_shared_free(passes, bytes);
	return rc;
}

int as_runner_report_beside(struct as_runner *r, const struct as_beside *beside,
			    const struct as_run_batch *batch, struct as_run_result *result,
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
