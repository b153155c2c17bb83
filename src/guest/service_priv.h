/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service_priv: what the parts of the service share. Only guest/ *.c include it. */
#ifndef AS_GUEST_SERVICE_PRIV_H
#define AS_GUEST_SERVICE_PRIV_H

#include "guest/service.h"

#include "os/dir.h"
#include "scenario/series.h"

struct as_disk_host; /* damage/disk_host.h */

struct as_service {
	struct as_sink wire; /* tells the supervisor; the first member */
	bool unheard; /* nobody listens any more */
	struct as_wire_job job;
	const struct as_guest_counter *counter;
	struct as_dir kept; /* where disks of findings go; fd < 0: nowhere */
	int kept_rc; /* what came of that so far: 0 or an error */
	struct as_err kept_err;
	struct as_box_state *state;
	struct as_series runs;
	struct as_run_stats stats;
	/* Of requests with a disk; the host remembers the chunks of the disk before. */
	struct as_chunks *store;
	struct as_disk_host *host; /* NULL: none was visited yet */
};

/* Adds a line to what the supervisor hears. */
void as_service_say(struct as_service *s, const struct as_wire_event *event);

/* ---- kept.c ---- */

AS_MUST_CHECK int as_service_kept_open(struct as_service *s, struct as_err *err);
void as_service_kept_close(struct as_service *s);
/* Keeps the disks of a finding. */
void as_service_keep(struct as_service *s, const struct as_finding *finding);
/* Whether a disk could not be kept: 0 or an error. */
AS_MUST_CHECK int as_service_kept_failed(const struct as_service *s, struct as_err *err);

/*
 * Each carries out the requests from *at on that it can, at least one, and moves *at after them.
 * An error ends the service.
 */
/* runs.c: */
AS_MUST_CHECK int as_service_runs_open(struct as_service *s, struct as_err *err);
AS_MUST_CHECK int as_service_run(struct as_service *s, const struct as_wire_work *work, size_t *at,
				 struct as_err *err);
void as_service_runs_close(struct as_service *s);
/* disks.c: */
AS_MUST_CHECK int as_service_make(struct as_service *s, const struct as_wire_work *work, size_t *at,
				  struct as_err *err);
AS_MUST_CHECK int as_service_mount(struct as_service *s, const struct as_wire_work *work,
				   size_t *at, struct as_err *err);
void as_service_disks_close(struct as_service *s);

#endif
