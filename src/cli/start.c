/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start: see start.h. */
#include "cli/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t pipe_broke;

/* Because there is a handler, a write fails with an errno. Programs that we start get the default
 * back; they would not if the signal were ignored. */
static void note(int signum)
{
	if (signum == SIGPIPE)
		pipe_broke = 1;
}

/* A file that is opened later must not become standard output. So the free numbers are filled with
 * /dev/null, opened for the wrong direction: using it fails, as with a closed descriptor. */
static void fill_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return;
}

void as_cli_start(void)
{
	struct sigaction act = { .sa_handler = note, .sa_flags = SA_RESTART };

	fill_standard();
	sigaction(SIGPIPE, &act, NULL);
	sigaction(SIGXFSZ, &act, NULL);
	/* We may have been started with it ignored; then we could not wait for children. */
	signal(SIGCHLD, SIG_DFL);
	/* We need all rights to what we create. */
	umask(umask(0) & 077);
}

bool as_cli_unheard(void)
{
	return ferror(stdout);
}

void as_cli_die_unheard(void)
{
	if (!pipe_broke)
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}
