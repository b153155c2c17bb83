/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rewind_subject: a program that prints what a run finds, and leaves everything in another state
 * than it was. The first byte of its disk says how it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int counter;
static char large[20000];
static char *before; /* allocated before the disk is read */

static void say_goodbye(void)
{
	printf("goodbye %d\n", counter);
}

static void *nothing(void *arg)
{
	return arg;
}

static void print_all(int file)
{
	struct sigaction usr;
	sigset_t mask;
	mode_t old = umask(0);
	char folder[256], *heap = malloc(70000);
	unsigned long sum = 0;

	umask(old);
	sigaction(SIGUSR1, NULL, &usr);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 0; i < 70000; i++)
		sum += heap[i];
	for (int i = 0; i < 20000; i++)
		sum += large[i];
	printf("counter %d, umask %o, handler %d, blocked %d, folder %s\n", counter, old,
	       usr.sa_handler == SIG_DFL, sigismember(&mask, SIGUSR2), getcwd(folder, 256));
	printf("offset %ld, heap %p, break %p, sum %lu, before %s, X=%s, alarm %u\n",
	       (long)lseek(file, 0, SEEK_CUR), heap, sbrk(0), sum, before,
	       getenv("X") ? getenv("X") : "", alarm(0));
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("descriptor %d\n", fd);
}

/* Uses stack far below. */
static int deep(int n)
{
	volatile char room[4096];

	memset((char *)room, n, sizeof(room));
	return n ? deep(n - 1) + room[7] : 0;
}

static void mess_up(int file, int byte)
{
	sigset_t mask;

	counter += 5 + (deep(byte == 8 ? 40 : 10) == 1); /* of 8, the stack grows */
	memset(large, 7, sizeof(large));
	memcpy(before, "changed", 8);
	memset(malloc(90000), 1, 90000);
	if (byte == 8)
		memset(malloc(3000000), 2, 3000000); /* a mapping, which stays */
	free(malloc(2000000));
	umask(077);
	signal(SIGUSR1, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	setenv("X", "set", 1);
	alarm(1000);
	lseek(file, 5, SEEK_SET);
	for (int i = 0; i < 5; i++)
		open("/dev/null", O_RDONLY);
	close(file);
	close(0);
	if (chdir("/proc"))
		exit(9);
}

int main(int argc, char **argv)
{
	int file = open("/proc/version", O_RDONLY), disk = open(argv[argc - 1], O_RDWR);
	unsigned char byte = 0;
	pthread_t thread;

	before = strdup("as it was");
	atexit(say_goodbye);
	printf("begun; ");
	if (pread(disk, &byte, 1, 0) != 1)
		return 9;
	if (argc == 3)
		return printf("%ld\n", syscall(SYS_getpid)) < 0;
	print_all(file);
	if (byte != 1)
		mess_up(file, byte);
	if (pwrite(disk, &counter, 1, 1000 + byte) != 1)
		return 9;
	switch (byte) {
	case 0:
	case 1:
		return 3;
	case 2:
		exit(4);
	case 3:
		fflush(NULL);
		_exit(5);
	case 4:
		fflush(NULL);
		raise(SIGSEGV);
	case 5:
		fflush(NULL);
		if (!fork())
			for (;;)
				pause();
		return 6;
	case 6:
		return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0) == MAP_FAILED;
	case 7:
		return pthread_create(&thread, NULL, nothing, NULL);
	default:
		return 0;
	}
}
