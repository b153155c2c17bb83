/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * temp: temporary folders. Each is locked by the process that made it. Whoever makes one first
 * removes the folders of the same user in the same place that nobody holds any more: so the next
 * process removes what a killed process has left.
 */
#ifndef AS_OS_TEMP_H
#define AS_OS_TEMP_H

#include "base/err.h"

struct as_temp;

/* Where temporary files belong: $TMPDIR, if it names a folder by its whole path; else /tmp. */
const char *as_temp_place(void);

/* `place` is a folder, such as "/dev/shm"; NULL: as_temp_place(). */
AS_MUST_CHECK int as_temp_new(const char *place, struct as_temp **temp, struct as_err *err);
const char *as_temp_path(const struct as_temp *temp);
void as_temp_free(struct as_temp *temp); /* removes it with everything in it; takes NULL */

/* For a child without open descriptors, after its parent has died. Takes NULL. */
void as_temp_remove_now(const struct as_temp *temp);

#endif
