/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redo: what was done to one disk, done again to another. */
#ifndef AS_RECOVER_REDO_H
#define AS_RECOVER_REDO_H

#include "base/buf.h"
#include "disk/log.h"

/* Does to `bd` what the entry did, reads included, so that a log of `bd` holds the same entry.
 * Calls that failed do nothing. `scratch` is where reads go; whoever has it frees it. */
void as_redo(const struct as_log_entry *entry, struct as_bd *bd, struct as_buf *scratch);

#endif
