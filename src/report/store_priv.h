/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_priv: how the folder of a finding is changed. Only store.c and reduced.c include it. */
#ifndef AS_REPORT_STORE_PRIV_H
#define AS_REPORT_STORE_PRIV_H

#include "os/dir.h"

#include <jansson.h>

/* Changes finding.json. It is locked meanwhile. */
AS_MUST_CHECK int as_stored_change(const struct as_dir *finding,
				   void (*change)(json_t *root, void *ctx), void *ctx,
				   struct as_err *err);

#endif
