/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostile_checker WHAT DISK: a checker of disks whose every byte is an 'h'. It repairs what is not,
 * and does so in a way, or beside something, that checkers do and whoever runs them has to bear.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 65536

static unsigned char disk[SIZE] __attribute__((aligned(4096)));

static int repair(int fd)
{
	memset(disk, 'h', SIZE);
	return pwrite(fd, disk, SIZE, 0) == SIZE ? 1 : 8;
}

static int repair_in_child(int fd)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(repair(fd));
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

static int repair_mapped(int fd)
{
	unsigned char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return 8;
	memset(at, 'h', SIZE);
	return 1;
}

/* It has repaired the disk but for its first byte, which it goes on changing: the second run says
 * that all is well, and the third one repairs it (later), or all of them do the same (restless). */
static int unfinished(int fd, const char *what, int bad)
{
	unsigned char first = disk[0];
	int later = !strcmp(what, "later");

	for (int i = 1; i < SIZE; i++)
		bad |= (disk[i] != 'h') << 1;
	if (first == 'h' && !bad)
		return 0;
	if (bad & 2 || first < '0' || first > '9') {
		memset(disk, 'h', SIZE);
		disk[0] = '0';
		return pwrite(fd, disk, SIZE, 0) == SIZE ? 1 : 8;
	}
	bad = later && first == '1';
	disk[0] = bad ? 'h' : first == '9' ? '0' : first + 1;
	return pwrite(fd, disk, 1, 0) == 1 ? bad : 8;
}

static void leave_behind(void)
{
	if (fork())
		return;
	setsid();
	for (;;)
		pause();
}

static void shout(void)
{
	for (;;)
		puts("0123456789012345678901234567890123456789012345678901234567890123456789");
}

/* The first damage is in one of eight sectors. */
static int hangs_here(void)
{
	int i = 0;

	while (i < SIZE && disk[i] == 'h')
		i++;
	return i / 512 % 8 == 0;
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	int fd = argc == 3 ? open(argv[2], O_RDWR | (strcmp(what, "direct") ? 0 : O_DIRECT)) : -1;
	char line[16];
	int bad = 0;

	if (fd < 0 || pread(fd, disk, SIZE, 0) != SIZE)
		return 8;
	for (int i = 0; i < SIZE; i++)
		bad |= disk[i] != 'h';
	if (!strcmp(what, "daemon"))
		leave_behind();
	if (!strcmp(what, "stdin") && fgets(line, sizeof(line), stdin))
		return 8;
	if (!strcmp(what, "stubborn")) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGINT, SIG_IGN);
	}
	if (bad && (!strcmp(what, "hang") || !strcmp(what, "stubborn")))
		for (;;)
			pause();
	if (bad && !strcmp(what, "some") && hangs_here())
		for (;;)
			pause();
	if (bad && !strcmp(what, "slow"))
		poll(NULL, 0, 8000);
	if (bad && !strcmp(what, "loud"))
		shout();
	if (!strcmp(what, "later") || !strcmp(what, "restless"))
		return unfinished(fd, what, bad);
	if (!bad)
		return 0;
	if (!strcmp(what, "lies"))
		return 1;
	return !strcmp(what, "fork")  ? repair_in_child(fd)
	       : !strcmp(what, "map") ? repair_mapped(fd)
				      : repair(fd);
}
