/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sanitizer: plugins that were built with -fsanitize=address or undefined. Their run-time library
 * must be the first one of a process, and its options are read when the process starts: so this
 * program starts itself once more, with that library and with options by which a mistake kills the
 * process that made it. What the run-time library reports then becomes part of the finding.
 */
#ifndef AS_OS_SANITIZER_H
#define AS_OS_SANITIZER_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this process has the run-time library of a sanitizer that needs more memory than any
 * limit. */
bool as_sanitizer_is(void);

/* Before a file is loaded: if it needs the library of a sanitizer which is not here, the program is
 * executed again, with the same arguments. Programs that it starts get the environment as it was.
 * It returns if that is not needed, or cannot be done. */
void as_sanitizer_exec(const char *path);

/* From now on, what the address sanitizer reports is copied to `said`, which is never without an
 * end. */
void as_sanitizer_tell(char *said, size_t size);

#endif
