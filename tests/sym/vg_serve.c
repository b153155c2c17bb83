/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vg_serve RUNS DEADLINE_MS FILE OFFSET LENGTH -- valgrind ... : starts the Valgrind tool as a
 * server and has it run RUNS times. Before run number i, byte i % LENGTH at OFFSET of FILE gets a
 * new value (its old one and i), and gets its old one back afterwards; with LENGTH 0 nothing
 * changes. Prints a line for each answer. The arguments after "--" get --cmd-fd and --answer-fd in
 * place of a word "@". */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym/vg/log.h"

static const char *const kinds[] = { "?", "ready", "done", "late", "unreached", "unfit" };

static int start(char **argv, int *cmd, int *answer)
{
	int c[2], a[2];
	pid_t pid;

	if (pipe(c) != 0 || pipe(a) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		char *args[128], in[32], out[32];
		int n = 0;

		setpgid(0, 0);
		close(c[1]);
		close(a[0]);
		snprintf(in, sizeof in, "--cmd-fd=%d", c[0]);
		snprintf(out, sizeof out, "--answer-fd=%d", a[1]);
		for (; *argv && n < 124; argv++) {
			if (strcmp(*argv, "@") == 0) {
				args[n++] = in;
				args[n++] = out;
			} else {
				args[n++] = *argv;
			}
		}
		args[n] = NULL;
		execvp(args[0], args);
		_exit(127);
	}
	close(c[0]);
	close(a[1]);
	*cmd = c[1];
	*answer = a[0];
	return (int)pid;
}

static int hear(int answer, struct as_symlog_answer *a)
{
	if (read(answer, a, sizeof *a) != (ssize_t)sizeof *a)
		return -1;
	printf("%s status=%d nodes=%llu events=%llu instructions=%llu micros=%llu\n",
	       a->kind < 6 ? kinds[a->kind] : "?", a->status, (unsigned long long)a->nodes,
	       (unsigned long long)a->events_bytes, (unsigned long long)a->instructions,
	       (unsigned long long)a->micros);
	return 0;
}

static int run(int fd, long offset, long length, int i, int cmd, int answer, unsigned deadline)
{
	struct as_symlog_cmd c = { .kind = AS_SYMLOG_RUN, .deadline_ms = deadline };
	struct as_symlog_answer a;
	unsigned char was = 0, is;

	if (length) {
		if (pread(fd, &was, 1, offset + i % length) != 1)
			return -1;
		is = (unsigned char)(was + i);
		if (pwrite(fd, &is, 1, offset + i % length) != 1)
			return -1;
	}
	if (write(cmd, &c, sizeof c) != (ssize_t)sizeof c || hear(answer, &a) != 0)
		return -1;
	return length && pwrite(fd, &was, 1, offset + i % length) != 1 ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct as_symlog_cmd quit = { .kind = AS_SYMLOG_QUIT };
	struct as_symlog_answer a;
	int cmd, answer, pid, fd, status = 1, ended;

	if (argc < 8 || (fd = open(argv[3], O_RDWR)) < 0 || strcmp(argv[6], "--") != 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	pid = start(argv + 7, &cmd, &answer);
	if (pid > 0 && hear(answer, &a) == 0 && a.kind == AS_SYMLOG_READY) {
		status = 0;
		for (int i = 0; i < atoi(argv[1]) && status == 0; i++)
			if (run(fd, atol(argv[4]), atol(argv[5]), i, cmd, answer,
				(unsigned)atoi(argv[2])) != 0)
				status = 1;
	}
	if (write(cmd, &quit, sizeof quit) != (ssize_t)sizeof quit)
		status = 1;
	waitpid(pid, &ended, 0);
	return status;
}
