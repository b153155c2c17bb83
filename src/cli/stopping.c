/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stopping: see stopping.h. */
#include "cli/stopping.h"

#include "cli/cli.h"
#include "os/spawn.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

#define GRACE_US 1000000
#define LEAST_US 500000

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* Set by a signal, read by the one thread that works. */
static volatile sig_atomic_t stopped;

/* Nothing is done yet that could be lost. */
static volatile sig_atomic_t opening;
static int64_t began_us;

static void set_timer(int64_t us)
{
	struct itimerval at = { .it_value = { us / 1000000, us % 1000000 } };

	setitimer(ITIMER_REAL, &at, NULL);
}

static void note(int signum)
{
	stopped = signum;
	if (opening)
		set_timer(GRACE_US);
}

static void on_timer(int signum)
{
	static const char text[] = "assay: the time was over before the work could begin\n";

	(void)signum;
	if (!opening)
		return;
	if (stopped) {
		signal(stopped, SIG_DFL);
		raise(stopped);
	}
	/* Nobody is left to tell if this fails. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(AS_EXIT_WRONG);
	_exit(AS_EXIT_WRONG);
}

void as_cli_opens(int64_t for_us)
{
	struct sigaction act = { .sa_handler = on_timer, .sa_flags = SA_RESTART | SA_NODEFER };

	opening = 1;
	began_us = as_now_us();
	sigaction(SIGALRM, &act, NULL);
	set_timer(for_us ? for_us + GRACE_US : 0);
}

void as_cli_opened(void)
{
	opening = 0;
	set_timer(0);
}

int64_t as_cli_time_left(int64_t for_us)
{
	int64_t left_us = for_us - (as_now_us() - began_us);

	return left_us > LEAST_US ? left_us : LEAST_US;
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
