/* SPDX-License-Identifier: GPL-2.0-or-later */
/* memory: files in memory that have no name. */
#ifndef AS_OS_MEMORY_H
#define AS_OS_MEMORY_H

/* The folder in memory of a process that is confined (box/jail.h). */
#define AS_MEMORY_FOLDER "/mem"

/* An empty file in memory that closes on exec; or -1 with errno. A process that may not make one
 * (box/confine.h) gets a file without a name in its folder. */
int as_memory_file(const char *name);

#endif
