/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: the sink that keeps findings in FOLDER/findings/ID/. A finding that is already there is
 * only counted. The folder is made at once: a folder that cannot be written, or that is not a run
 * folder (os/rundir.h), is an error before the work begins. It is removed again if it stays empty.
 */
#ifndef AS_DOSSIER_STORE_H
#define AS_DOSSIER_STORE_H

#include "base/event.h"
#include "os/dir.h"

AS_MUST_CHECK int as_store_sink_new(const char *folder, struct as_sink **sink, struct as_err *err);
/* The same, in a folder that the caller has opened. */
AS_MUST_CHECK int as_store_sink_in(const struct as_dir *folder, struct as_sink **sink,
				   struct as_err *err);
/* The run folder of as_store_sink_new(). */
const struct as_dir *as_store_sink_folder(const struct as_sink *sink);
/* From now on, a finding that is already there is not counted. */
void as_store_sink_goes_on(struct as_sink *sink);
/* The first failure to write, if any: 0 or its code. */
int as_store_sink_failed(const struct as_sink *sink, struct as_err *err);
void as_store_sink_free(struct as_sink *sink); /* takes NULL */

#endif
