/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that signals interrupt. EINTR that the program sees is a result; a call that the kernel
 * makes again is one call, with the result that it has in the end; a call whose process dies is
 * none. And what else is hard to see of a call: vectors up to the kernel's limit, 32-bit calls.
 */
#include "record_test.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

/* ---- The programs ---------------------------------------------------------------------------- */

static volatile sig_atomic_t alarms, feed_after;
static int feed_fd = -1;
static sigjmp_buf away;

static void on_alarm(int sig)
{
	(void)sig;
	if (feed_after && ++alarms == feed_after && write(feed_fd, "abc", 3) != 3)
		_exit(9);
}

static void on_leave(int sig)
{
	(void)sig;
	siglongjmp(away, 1);
}

/* Signals come again and again, so that one comes while the call waits. */
static void alarms_with(void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval often = { { 0, handler ? 20000 : 0 }, { 0, handler ? 20000 : 0 } };

	alarms = 0;
	if (!handler)
		setitimer(ITIMER_REAL, &often, NULL);
	sigaction(SIGALRM, &act, NULL);
	if (handler)
		setitimer(ITIMER_REAL, &often, NULL);
}

/* Shared with the children. */
static struct {
	volatile unsigned times; /* that we were bothered */
	volatile bool enough;
} * shared;

/* Sends us both signals every few milliseconds until it is enough. It is not killed: it could have
 * stopped us just before. */
static pid_t bother(int first, int second)
{
	pid_t parent = getpid(), pid;

	shared->times = 0;
	shared->enough = false;
	pid = fork();
	if (pid)
		return pid;
	while (!shared->enough) {
		usleep(10000);
		kill(parent, first);
		kill(parent, second);
		shared->times++;
	}
	_exit(0);
}

static pid_t feed_later(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		while (shared->times < 5)
			usleep(1000);
		_exit(write(fd, "abc", 3) == 3 ? 0 : 1);
	}
	return pid;
}

static void ended(pid_t pid, int sig)
{
	if (sig)
		kill(pid, sig);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* One who holds what we wait for. */
static pid_t hold(int *fd)
{
	struct flock whole = { .l_type = F_WRLCK };
	int ready[2];
	pid_t pid;
	char c;

	*fd = open("lock", O_RDWR | O_CREAT, 0600);
	if (pipe(ready))
		_exit(1);
	pid = fork();
	if (!pid) {
		int own = open("lock", O_RDWR);

		flock(own, LOCK_EX);
		fcntl(own, F_SETLK, &whole);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	return read(ready[0], &c, 1) == 1 ? pid : -1;
}

static int stops(int expected)
{
	return errno == expected ? 0 : 1;
}

/* EINTR: of open 1, of read 2, of flock 1, of fcntl 1. */
static int ends_program(void)
{
	struct flock whole = { .l_type = F_WRLCK };
	int fifo, lock, failed = 0;
	char buf[16];
	pid_t pid;

	if (mkfifo("fifo", 0600))
		return 1;
	alarms_with(on_alarm, 0);
	failed |= open("fifo", O_RDONLY) >= 0 || stops(EINTR);
	fifo = open("fifo", O_RDWR);
	failed |= read(fifo, buf, 5) >= 0 || stops(EINTR);
	failed |= read(fifo, buf, 6) >= 0 || stops(EINTR);
	alarms_with(NULL, 0);
	pid = hold(&lock);
	alarms_with(on_alarm, 0);
	failed |= flock(lock, LOCK_EX) >= 0 || stops(EINTR);
	failed |= fcntl(lock, F_SETLKW, &whole) >= 0 || stops(EINTR);
	alarms_with(NULL, 0);
	ended(pid, SIGKILL);
	return failed;
}

static void check_ends(const struct recorded *r)
{
	assert_int_equal(met(r, "open", NULL, "EINTR"), 1);
	assert_int_equal(met(r, "read", NULL, "EINTR"), 2);
	assert_int_equal(met(r, "read", "count", "2^2"), 2);
	assert_int_equal(met(r, "flock", NULL, "EINTR"), 1);
	assert_int_equal(met(r, "fcntl", NULL, "EINTR"), 1);
	/* open: fifo twice, lock twice. */
	assert_int_equal(made(r, "openat"), 4);
	assert_int_equal(made(r, "flock"), 2);
}

/* Made again each time: one call each, which goes well. */
static int again_program(void)
{
	int fifo, failed = 0;
	char buf[16];
	pid_t pid, feeder;

	if (mkfifo("fifo", 0600))
		return 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	feed_fd = fifo = open("fifo", O_RDWR);
	/* A handler that asks for it; it feeds us in the end. */
	feed_after = 4;
	alarms_with(on_alarm, SA_RESTART);
	failed |= read(fifo, buf, sizeof(buf)) != 3;
	alarms_with(NULL, 0);
	feed_after = 0;
	/* Signals without a handler, ignored by default and by wish. */
	signal(SIGUSR1, SIG_IGN);
	pid = bother(SIGWINCH, SIGUSR1);
	feeder = feed_later(fifo);
	failed |= read(fifo, buf, sizeof(buf)) != 3;
	shared->enough = true;
	ended(pid, 0);
	ended(feeder, 0);
	/* Stopped and continued. */
	pid = bother(SIGSTOP, SIGCONT);
	feeder = feed_later(fifo);
	failed |= read(fifo, buf, sizeof(buf)) != 3;
	shared->enough = true;
	ended(pid, 0);
	ended(feeder, 0);
	return failed;
}

static void check_again(const struct recorded *r)
{
	assert_int_equal(made(r, "read"), 3);
	assert_int_equal(met(r, "read", NULL, "OK=2^1"), 3);
	assert_int_equal(met(r, "read", NULL, "EINTR"), 0);
	assert_int_equal(met(r, "write", NULL, "OK=2^1"), 3);
}

/* Calls that do not come back: a process that dies, an image that is replaced, a longjmp. */
static int never_program(void)
{
	struct sigaction act = { .sa_handler = on_leave };
	int fifo;
	char buf[16];
	pid_t pid;

	if (mkfifo("fifo", 0600))
		return 1;
	fifo = open("fifo", O_RDWR);
	pid = fork();
	if (!pid)
		_exit((int)read(fifo, buf, 7));
	usleep(100000); /* it reads by then, as a rule; if not, there is one call less */
	ended(pid, SIGKILL);
	sigaction(SIGUSR2, &act, NULL);
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid) {
			usleep(20000);
			for (int k = 0; k < 100; k++) {
				kill(getppid(), SIGUSR2);
				usleep(10000);
			}
			_exit(0);
		}
		if (!sigsetjmp(away, 1))
			return (int)read(fifo, buf, 9) + 100;
		signal(SIGUSR2, SIG_IGN);
		ended(pid, SIGKILL);
		sigaction(SIGUSR2, &act, NULL);
	}
	/* Afterwards all is as before. */
	for (int i = 0; i < 1000; i++)
		if (write(fifo, "x", 1) != 1 || read(fifo, buf, 1) != 1)
			return 1;
	return 0;
}

static void check_never(const struct recorded *r)
{
	assert_int_equal(met(r, "read", NULL, "OK=2^0"), 1000);
	assert_int_equal(met(r, "write", NULL, "OK=2^0"), 1000);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_LOST), 0);
	/* What was left by longjmp is no result, and what died is none. */
	assert_int_equal(made(r, "read"), 1000);
	assert_int_equal(met(r, "read", NULL, "EINTR"), 0);
}

/* 1, 256, 257, 1023 and 1024 parts of three bytes; 1025 and bad ones are refused. */
static int vectors_program(void)
{
	static const int sizes[] = { 1, 256, 257, 1023, 1024 };
	static char bytes[3];
	struct iovec *vec = calloc(1025, sizeof(*vec));
	char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("f", O_RDWR | O_CREAT, 0600), failed = 0;

	for (int i = 0; i < 1025; i++)
		vec[i] = (struct iovec){ bytes, 3 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		failed |= writev(fd, vec, sizes[i]) != 3 * sizes[i];
		failed |= pwritev(fd, vec, sizes[i], 0) != 3 * sizes[i];
		failed |= pwritev2(fd, vec, sizes[i], 0, 0) != 3 * sizes[i];
		failed |= preadv(fd, vec, sizes[i], 0) != 3 * sizes[i];
		failed |= preadv2(fd, vec, sizes[i], 0, 0) != 3 * sizes[i];
		failed |= lseek(fd, 0, SEEK_SET) != 0 || readv(fd, vec, sizes[i]) != 3 * sizes[i];
	}
	failed |= writev(fd, vec, 1025) >= 0 || stops(EINVAL);
	failed |= writev(fd, vec, 0) != 0;
	/* A vector that ends where memory does, and goes on. */
	munmap(edge + 4096, 4096);
	memcpy(edge + 4096 - 32, vec, 32);
	failed |= writev(fd, (struct iovec *)(edge + 4096 - 32), 2) != 6;
	failed |= writev(fd, (struct iovec *)(edge + 4096 - 32), 3) >= 0 || stops(EFAULT);
	failed |= syscall(SYS_writev, fd, NULL, 2) >= 0 || stops(EFAULT);
	failed |= syscall(SYS_writev, fd, -16, 2) >= 0 || stops(EFAULT);
	return failed;
}

static void check_vectors(const struct recorded *r)
{
	/* 3 times: 3, 768, 771, 3069 and 3072 bytes; 6 and 0 once. */
	assert_int_equal(met(r, "write", "count", "2^1"), 3);
	assert_int_equal(met(r, "write", "count", "2^9"), 6);
	assert_int_equal(met(r, "write", "count", "2^11"), 6);
	assert_int_equal(met(r, "write", "count", "0"), 1);
	assert_int_equal(met(r, "write", "count", "2^2"), 1);
	assert_int_equal(met(r, "read", "count", "2^11"), 6);
	assert_int_equal(met(r, "write", NULL, "EFAULT"), 3);
	assert_int_equal(met(r, "write", NULL, "EINVAL"), 1);
	assert_int_equal(made(r, "writev"), 5 + 6);
}

/* A 32-bit call from a 64-bit program: number 4 is write there, and stat here. */
static int foreign_program(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int fd = open("f", O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < 10; i++) {
		long ret = 4;

		__asm__ volatile("int $0x80"
				 : "+a"(ret)
				 : "b"((long)fd), "c"(low), "d"(3L)
				 : "r8", "r9", "r10", "r11", "memory");
		if (ret != 3 && ret != -ENOSYS)
			return 1;
	}
	return write(fd, low, 3) == 3 ? 0 : 1;
}

static void check_foreign(const struct recorded *r)
{
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_OTHER_ARCH), 10);
	assert_int_equal(made(r, "write"), 1);
	assert_int_equal(made(r, "stat"), 0);
}

/* ---- The tests ------------------------------------------------------------------------------- */

static void eintr_is_a_result(void **state)
{
	(void)state;
	all_ways("--ends", check_ends);
}

static void made_again_is_one_call(void **state)
{
	(void)state;
	all_ways("--again", check_again);
}

static void never_back_is_no_result(void **state)
{
	(void)state;
	all_ways("--never", check_never);
}

static void vectors_are_added_up(void **state)
{
	(void)state;
	all_ways("--vectors", check_vectors);
}

static void foreign_calls_are_told(void **state)
{
	(void)state;
	all_ways("--foreign", check_foreign);
}

int main(int argc, char **argv)
{
	static const struct program programs[] = {
		{ "--ends", ends_program },	  { "--again", again_program },
		{ "--never", never_program },	  { "--vectors", vectors_program },
		{ "--foreign", foreign_program },
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eintr_is_a_result),	   cmocka_unit_test(made_again_is_one_call),
		cmocka_unit_test(never_back_is_no_result), cmocka_unit_test(vectors_are_added_up),
		cmocka_unit_test(foreign_calls_are_told),
	};

	return RUN_OR_TEST(argc, argv, programs, tests);
}
