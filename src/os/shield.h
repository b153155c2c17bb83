/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shield: a process that runs foreign code cannot send a signal to those that have started it. It
 * dies of SIGSYS when it tries, where it tries; so that costs what it was doing, and not the run.
 */
#ifndef AS_OS_SHIELD_H
#define AS_OS_SHIELD_H

/* From now on, for this process and its children; nothing where the kernel has no filters. Once for
 * each process is enough, and more is nothing. The process gets no more rights from programs with
 * set-user-ID bits. */
void as_shield_ancestors(void);

#endif
