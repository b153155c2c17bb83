/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopping: SIGINT, SIGTERM and SIGHUP as a wish to come to an end soon. */
#ifndef AS_CLI_STOPPING_H
#define AS_CLI_STOPPING_H

/* From now on the signals set the flag that this gives: to the signal. */
const volatile int *as_cli_stop_catch(void);
/* From now on they end the program at once, as they do by themselves. */
void as_cli_stop_release(void);
int as_cli_stopped(void); /* the signal that came, 0: none did */

#endif
