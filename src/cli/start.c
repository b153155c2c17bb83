/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start: see start.h. */
#include "cli/start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t pipe_broke;

/* With a handler, a write fails and says why; programs that we start get the default back, which
 * they would not if it were ignored. */
static void note(int signum)
{
	if (signum == SIGPIPE)
		pipe_broke = 1;
}

/* A file that is opened later must not become standard output. What is put there in its place fails
 * as a closed one does: it is open the wrong way round. */
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
	/* Some start programs with it ignored, and then no child can be waited for. */
	signal(SIGCHLD, SIG_DFL);
	/* What we make we can use. */
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
