/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure FILE COMMAND...: runs the command and writes a line to FILE: its exit status (128 and the
 * signal, 124 where it was killed after 60 seconds), the milliseconds it took, and the most memory
 * in KiB that it or a descendant had at a time.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 60

static volatile sig_atomic_t late;
static pid_t child;

static void lose_patience(int signum)
{
	(void)signum;
	late = 1;
	kill(child, SIGKILL);
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	long long start_ms = now_ms();
	struct rusage usage;
	int status = 0;
	FILE *file;

	if (argc < 3)
		return 2;
	child = fork();
	if (!child) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	signal(SIGALRM, lose_patience);
	alarm(PATIENCE_S);
	while (waitpid(child, &status, 0) < 0)
		;
	getrusage(RUSAGE_CHILDREN, &usage);
	file = fopen(argv[1], "w");
	if (!file)
		return 2;
	fprintf(file, "%d %lld %ld\n",
		late		      ? 124
		: WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				      : WEXITSTATUS(status),
		now_ms() - start_ms, usage.ru_maxrss);
	return fclose(file) ? 2 : 0;
}
