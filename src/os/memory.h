/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory: files in memory that have no name, memory that is reserved, and whether there was enough
 * of it.
 */
#ifndef AS_OS_MEMORY_H
#define AS_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder in memory of a process that is confined (box/jail.h). */
#define AS_MEMORY_FOLDER "/mem"

/* An empty file in memory that closes on exec; or -1 with errno. A process that may not make one
 * (box/confine.h) gets a file without a name in its folder. */
int as_memory_file(const char *name);

/*
 * Shared memory of zeros, or of the file if fd is not -1, of which only a part may ever be used: a
 * page takes memory once it was touched. Children that are forked later share it. NULL with errno.
 */
void *as_memory_reserve(size_t bytes, int fd);
void as_memory_give_back(void *at, size_t bytes); /* takes NULL */

/*
 * Brings the pages of this process into memory, so that no access has to wait for one, but for
 * those that are reserved: nobody else may use these meanwhile. Does nothing where memory may not
 * be locked.
 */
void as_memory_bring_in(void);

uint64_t as_memory_machine(void); /* how many bytes the machine has; 0: it does not tell */

/* Whether the kernel has killed a process because memory ran out since this was asked last, by this
 * process or, before it was forked, by its parent. Not where a kernel does not tell. */
bool as_memory_killed(void);

#endif
