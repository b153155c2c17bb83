/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steady: fresh disks that are the same every time and on every machine with the same mkfs: it runs
 * where the clock stands still and chance always comes out the same (tool.h). They are kept where
 * target/fresh.h looks for them.
 */
#ifndef AS_TOOL_STEADY_H
#define AS_TOOL_STEADY_H

#include "base/err.h"
#include "host/medium.h"
#include "target/fstype.h"

/* As as_fresh_disk(). A mkfs that is a static program runs as it does there, by the true clock. */
AS_MUST_CHECK int as_steady_disk(const struct as_fstype *type, const char *folder,
				 struct as_medium *medium, struct as_err *err);

#endif
