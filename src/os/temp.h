/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * temp: temporary folders. Each is locked by the process that made it; whoever makes one first
 * removes those of the same user in the same place that nobody holds any more: what a killed
 * process left goes with the next that starts.
 */
#ifndef AS_OS_TEMP_H
#define AS_OS_TEMP_H

#include "base/err.h"

struct as_temp;

/* `place` is a folder, such as "/tmp". */
AS_MUST_CHECK int as_temp_new(const char *place, struct as_temp **temp, struct as_err *err);
const char *as_temp_path(const struct as_temp *temp);
void as_temp_free(struct as_temp *temp); /* removes it with all in it; takes NULL */

/* For a child whose descriptors are closed, when its parent has died. Takes NULL. */
void as_temp_remove_now(const struct as_temp *temp);

#endif
