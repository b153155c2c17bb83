/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopping: see stopping.h. */
#include "cli/stopping.h"

#include <signal.h>
#include <stddef.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* Set by a signal, read by the one thread that works. */
static volatile sig_atomic_t stopped;

static void note(int signum)
{
	stopped = signum;
}

const volatile int *as_cli_stop_catch(void)
{
	struct sigaction act = { .sa_handler = note, .sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction was;

		/* A SIGHUP that is ignored stays so: that is what nohup(1) is for. A SIGINT that
		 * is ignored only means that a shell started us in the background. */
		if (signals[i] != SIGHUP ||
		    (!sigaction(SIGHUP, NULL, &was) && was.sa_handler != SIG_IGN))
			sigaction(signals[i], &act, NULL);
	}
	return &stopped;
}

void as_cli_stop_release(void)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct sigaction was;

		if (!sigaction(signals[i], NULL, &was) && was.sa_handler == note)
			signal(signals[i], SIG_DFL);
	}
}

int as_cli_stopped(void)
{
	return stopped;
}
