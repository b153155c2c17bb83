/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vg_serve [-s LOG] RUNS DEADLINE_MS DISK OFFSET LENGTH -- valgrind ...: starts the Valgrind tool
 * as a server and has it run RUNS times. Before run number i, byte i % LENGTH at OFFSET of DISK
 * gets a new value (its old one and i); afterwards the whole disk is as it was. With LENGTH 0
 * nothing changes. With -s, nothing changes either, and the run's symbolic bytes are LENGTH bytes
 * at OFFSET + i * LENGTH; the counts of all logs are added up. Prints a line for each answer. A
 * word "@" in the command becomes --cmd-fd and --answer-fd. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

static struct {
	int fd;
	long offset, length;
	unsigned deadline;
	unsigned char *disk, *log;
	size_t size;
} it;

static struct as_symlog_end sum;

static void *all_of(const char *path, int *fd, size_t *size)
{
	struct stat st;
	void *map;

	*fd = open(path, O_RDWR);
	if (*fd < 0 || fstat(*fd, &st) != 0)
		return NULL;
	*size = (size_t)st.st_size;
	map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	return map == MAP_FAILED ? NULL : map;
}

/* The last event of a log is its end. */
static void add_up(void)
{
	const struct as_symlog_head *h = (const void *)it.log;
	const struct as_symlog_end *e;

	sum.mismatches += h->mismatches;
	if (!(h->flags & AS_SYMLOG_F_ENDED))
		return;
	e = (const void *)(it.log + h->events_offset + h->events_bytes - sizeof *e);
	sum.branches += e->branches;
	sum.nodes += e->nodes;
	sum.pins += e->pins;
	sum.seals += e->seals;
	sum.drops += e->drops;
}

static int run(int i, int cmd, int answer)
{
	struct as_symlog_cmd c = { .kind = AS_SYMLOG_RUN, .deadline_ms = it.deadline };
	struct as_symlog_range r = { .kind = AS_SYMLOG_SYMBOLIC, .length = (uint64_t)it.length };
	struct as_symlog_answer a;
	unsigned char *was = malloc(it.size);
	int failed;

	memcpy(was, it.disk, it.size);
	if (it.log) {
		c.ranges = 1;
		r.offset = (uint64_t)(it.offset + i * it.length);
	} else if (it.length) {
		it.disk[it.offset + i % it.length] += (unsigned char)i;
	}
	failed = write(cmd, &c, sizeof c) != (ssize_t)sizeof c ||
		 (c.ranges && write(cmd, &r, sizeof r) != (ssize_t)sizeof r) ||
		 hear(answer, &a) != 0;
	if (memcmp(was, it.disk, it.size) != 0)
		memcpy(it.disk, was, it.size);
	if (it.log)
		add_up();
	free(was);
	return failed;
}

static int count_open(int pid)
{
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	struct as_symlog_cmd quit = { .kind = AS_SYMLOG_QUIT };
	struct as_symlog_answer a;
	int cmd, answer, pid, log, status = 1, ended, open_first = 0;
	size_t log_size;

	if (argc > 2 && strcmp(argv[1], "-s") == 0) {
		it.log = all_of(argv[2], &log, &log_size);
		argv += 2;
		argc -= 2;
	}
	if (argc < 8 || strcmp(argv[6], "--") != 0)
		return 2;
	it.deadline = (unsigned)atoi(argv[2]);
	it.disk = all_of(argv[3], &it.fd, &it.size);
	it.offset = atol(argv[4]);
	it.length = atol(argv[5]);
	if (!it.disk)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	pid = start(argv + 7, &cmd, &answer);
	if (pid > 0 && hear(answer, &a) == 0 && a.kind == AS_SYMLOG_READY) {
		status = 0;
		for (int i = 0; i < atoi(argv[1]) && status == 0; i++) {
			status = run(i, cmd, answer);
			/* What the server opens for a run, it closes. */
			if (i && status == 0 && count_open(pid) > open_first) {
				printf("the server has left something open\n");
				status = 3;
			}
			if (!i)
				open_first = count_open(pid);
		}
	}
	if (write(cmd, &quit, sizeof quit) != (ssize_t)sizeof quit)
		status = 1;
	waitpid(pid, &ended, 0);
	if (it.log)
		printf("sum branches=%llu mismatches=%llu nodes=%llu pins=%llu seals=%llu "
		       "drops=%llu\n",
		       (unsigned long long)sum.branches, (unsigned long long)sum.mismatches,
		       (unsigned long long)sum.nodes, (unsigned long long)sum.pins,
		       (unsigned long long)sum.seals, (unsigned long long)sum.drops);
	return status;
}
