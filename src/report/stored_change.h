/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored_change: the one way in which the finding.json of a finding that is kept changes. */
#ifndef AS_REPORT_STORED_CHANGE_H
#define AS_REPORT_STORED_CHANGE_H

#include "os/dir.h"

#include <jansson.h>

/* Nobody else changes it meanwhile. */
AS_MUST_CHECK int as_stored_change(const struct as_dir *finding,
				   void (*change)(json_t *root, void *ctx), void *ctx,
				   struct as_err *err);

#endif
