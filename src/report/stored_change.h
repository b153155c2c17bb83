/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored_change: how the finding.json of a finding that is kept is changed. */
#ifndef AS_REPORT_STORED_CHANGE_H
#define AS_REPORT_STORED_CHANGE_H

#include "os/dir.h"

#include <jansson.h>

/* It is locked meanwhile. */
AS_MUST_CHECK int as_stored_change(const struct as_dir *finding,
				   void (*change)(json_t *root, void *ctx), void *ctx,
				   struct as_err *err);

#endif
