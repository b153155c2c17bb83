/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopping: SIGINT, SIGTERM and SIGHUP ask the program to stop soon. */
#ifndef AS_CLI_STOPPING_H
#define AS_CLI_STOPPING_H

/* From now on each of these signals sets the returned flag to its number. */
const volatile int *as_cli_stop_catch(void);
/* From now on they end the program at once, as is their default. */
void as_cli_stop_release(void);
int as_cli_stopped(void); /* the signal that came, 0: none did */

#endif
