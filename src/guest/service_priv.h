/* SPDX-License-Identifier: GPL-2.0-or-later */
/* service_priv: what the parts of the service share. Only guest/ *.c include it. */
#ifndef AS_GUEST_SERVICE_PRIV_H
#define AS_GUEST_SERVICE_PRIV_H

#include "guest/service.h"

#include "os/dir.h"
#include "scenario/series.h"

struct as_disk_host; /* damage/disk_host.h */

struct as_service {
	struct as_sink wire; /* tells the supervisor (tell.c); the first member */
	bool unheard; /* nobody listens any more */
	const struct as_guest_counter *counter;
	struct as_box_state *state;
	/*
	 * What is opened when it is first needed stays open for the calls that are like `opened`.
	 * `call` is the one in hand; they may be the same.
	 */
	struct as_wire_call *call, *opened;
	/* Of workloads (runs.c): */
	bool runs_open;
	struct as_series runs;
	struct as_known *known; /* all signatures that were met; NULL: nobody asks */
	struct as_known_filter filter;
	/* Where disks of findings go (tell.c); fd < 0: nowhere. And what came of that so far. */
	struct as_dir kept;
	int kept_rc; /* 0 or an error */
	struct as_err kept_err;
	/* Of disks (disks.c); the host remembers the chunks of the disk before. */
	struct as_chunks *store;
	struct as_disk_host *host; /* NULL: none was visited yet */
};

/* ---- tell.c ---- */

/* The sink through which everybody speaks, as as_service.wire. */
extern const struct as_sink as_service_wire;
/* Adds a line to what the supervisor hears. */
void as_service_say(struct as_service *s, const struct as_wire_event *event);
/* Where disks of findings go, as the call says. */
AS_MUST_CHECK int as_service_kept_open(struct as_service *s, struct as_err *err);
/* Whether a disk could not be kept: 0 or an error. */
AS_MUST_CHECK int as_service_kept_failed(const struct as_service *s, struct as_err *err);

/*
 * Each carries out s->call. An error ends the service. What they opened is closed before a call
 * that is not like the one it was opened for.
 */
/* runs.c: */
AS_MUST_CHECK int as_service_run(struct as_service *s, struct as_err *err);
/* rc is what came of the service; returns that or an error. */
AS_MUST_CHECK int as_service_runs_close(struct as_service *s, int rc, struct as_err *err);
/* disks.c: */
AS_MUST_CHECK int as_service_make(struct as_service *s, struct as_err *err);
AS_MUST_CHECK int as_service_mount(struct as_service *s, struct as_err *err);
void as_service_disks_close(struct as_service *s);

#endif
