/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals, for User-Mode Linux. A UML kernel catches the signals that ask a program to end, cleans
 * up and ends with status 1, as if it had failed by itself. Preloaded into it, this leaves them as
 * they are: it then dies of the signal, and whoever waits for it sees which.
 */
#include <signal.h>
#include <stddef.h>

extern int __sigaction(int sig, const struct sigaction *action, struct sigaction *old);

int sigaction(int sig, const struct sigaction *action, struct sigaction *old)
{
	if (sig == SIGTERM || sig == SIGINT || sig == SIGHUP || sig == SIGQUIT)
		action = NULL;
	return __sigaction(sig, action, old);
}
