/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopping: SIGINT, SIGTERM and SIGHUP ask the program to stop soon. */
#ifndef AS_CLI_STOPPING_H
#define AS_CLI_STOPPING_H

#include <stdint.h>

/* From now on each of these signals sets the returned flag to its number. */
const volatile int *as_cli_stop_catch(void);
/* From now on they end the program at once, as is their default. */
void as_cli_stop_release(void);
/*
 * Before a long command begins its work, it looks at what it is given: it probes programs, makes
 * disks, boots kernels. Nothing is found yet, so that nothing is lost if the program ends there. It
 * does between these two, a second after a signal, or after its time is over; as_cli_opens() again
 * gives it a new time. 0: it has no time.
 */
void as_cli_opens(int64_t for_us);
void as_cli_opened(void);
/* What is left of that time, at least a moment: that it took long to begin is a part of it. */
int64_t as_cli_time_left(int64_t for_us);
int as_cli_stopped(void); /* the signal that came, 0: none did */

#endif
