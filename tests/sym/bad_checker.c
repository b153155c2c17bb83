/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bad_checker WHAT DISK: a checker that reads four bytes of a disk, from byte 100 on, in one way or
 * another. It finds an error that it leaves if they are "ABCD". For tests of assay fsck. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define OFF 100
#define N 4
#define CLEAN 0
#define REPAIRED 1
#define LEFT 4
#define FAILED 8
#define PRIME_1 0xb3d1c7f5a989u
#define PRIME_2 0xd98e5b3a7c45u

static int disk;
static char **words, self[4096];
static unsigned char got[512];

/* A jump for each byte. */
static int judge(const unsigned char *b)
{
	for (int i = 0; i < N; i++)
		if (b[i] != 'A' + i)
			return CLEAN;
	return LEFT;
}

static int by_pread(void)
{
	return pread(disk, got, N, OFF) == N ? judge(got) : FAILED;
}

/* Asks for more than there is: the last bytes of the disk and some after them. */
static int past_end(void)
{
	return pread(disk, got, sizeof(got), lseek(disk, 0, SEEK_END) - N) == N ? judge(got)
										: FAILED;
}

static int asleep(void)
{
	for (;;)
		pause();
}

/* It hangs where the first byte is right. */
static int then_asleep(void)
{
	if (pread(disk, got, N, OFF) != N)
		return FAILED;
	return got[0] == 'A' ? asleep() : CLEAN;
}

static int by_readv(void)
{
	struct iovec v[2] = { { got, 101 }, { got + 101, 11 } };

	return readv(disk, v, 2) == 112 ? judge(got + OFF) : FAILED;
}

static int by_preadv(void)
{
	struct iovec v[2] = { { got, 1 }, { got + 1, 3 } };

	return preadv(disk, v, 2, OFF) == N ? judge(got) : FAILED;
}

static int by_map(int flags)
{
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, disk, 0);

	return p == MAP_FAILED ? FAILED : judge(p + OFF);
}

static int by_shared(void)
{
	return by_map(MAP_SHARED);
}

static int by_private(void)
{
	return by_map(MAP_PRIVATE);
}

/* What it writes through a mapping it reads again. At the end, the disk is what it was. */
static int through_map(void)
{
	volatile unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0);

	if (p == MAP_FAILED)
		return FAILED;
	for (int i = 0; i < N; i++)
		p[OFF + i] ^= 0x55;
	if (msync((void *)p, 4096, MS_SYNC) || pread(disk, got, N, OFF) != N)
		return FAILED;
	for (int i = 0; i < N; i++) {
		p[OFF + i] ^= 0x55;
		got[i] ^= 0x55;
	}
	return judge(got);
}

/* By another name, and another descriptor. */
static int by_other_name(void)
{
	char name[64];
	int other;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", disk);
	other = dup(open(name, O_RDONLY));
	return other >= 0 && pread(other, got, N, OFF) == N ? judge(got) : FAILED;
}

/* Through a pipe. */
static int by_pipe(void)
{
	off_t at = OFF;
	int ends[2];

	if (pipe(ends) || sendfile(ends[1], disk, &at, N) != N || read(ends[0], got, N) != N)
		return FAILED;
	return judge(got);
}

/* Each byte that is right is a jump back. */
static int by_jumps(void)
{
	volatile int i = 0;
	jmp_buf at;

	if (pread(disk, got, N, OFF) != N)
		return FAILED;
	(void)setjmp(at);
	if (i == N)
		return LEFT;
	if (got[i] != 'A' + i)
		return CLEAN;
	i++;
	longjmp(at, 1);
}

static volatile sig_atomic_t answer_in;
static sigjmp_buf after_fault;

static void judge_in(int sig)
{
	(void)sig;
	answer_in = judge(got);
}

static int in_handler(void)
{
	signal(SIGUSR1, judge_in);
	if (pread(disk, got, N, OFF) != N)
		return FAILED;
	raise(SIGUSR1);
	return answer_in;
}

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(after_fault, 1);
}

/* It touches memory that is not there, and goes on. */
static int after_a_fault(void)
{
	volatile char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	signal(SIGSEGV, on_fault);
	if (pread(disk, got, N, OFF) != N)
		return FAILED;
	if (!sigsetjmp(after_fault, 1))
		return none[0] ? CLEAN : FAILED;
	return judge(got);
}

/* All four bytes at once, in a register of 32. */
__attribute__((target("avx2"))) static int by_vector(void)
{
	typedef unsigned char v32 __attribute__((vector_size(32)));
	v32 want = { 'A', 'B', 'C', 'D' }, have = { 0 };
	unsigned char same[32];

	if (pread(disk, got, N, OFF) != N)
		return FAILED;
	memcpy(&have, got, N);
	have = (v32)(have == want);
	memcpy(same, &have, sizeof(same));
	for (int i = 0; i < N; i++)
		if (!same[i])
			return CLEAN;
	return LEFT;
}

/* The child reads, and its status is the answer. */
static int by_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(by_pread());
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : FAILED;
}

static int beside_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return by_pread();
}

/* Who it is; it will read as usual. */
static int read_self(void)
{
	words[1] = "pread";
	return readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0;
}

/* Another program in its place: before it reads, or after that. */
static int by_exec(void)
{
	return read_self() ? FAILED : execv(self, words);
}

static int then_exec(void)
{
	int answer = by_pread();

	if (answer == CLEAN && !read_self())
		execv(self, words);
	return answer;
}

static void *read_it(void *unused)
{
	return by_pread() == FAILED ? NULL : unused;
}

static int by_thread(void)
{
	pthread_t t;
	void *read = NULL;

	pthread_create(&t, NULL, read_it, got);
	pthread_join(t, &read);
	return read ? judge(got) : FAILED;
}

static void *idle(void *unused)
{
	return unused;
}

static int then_thread(void)
{
	int answer = by_pread();
	pthread_t t;

	pthread_create(&t, NULL, idle, NULL);
	pthread_join(t, NULL);
	return answer;
}

static int by_aio(void)
{
	aio_context_t ctx = 0;
	struct iocb one = { .aio_lio_opcode = IOCB_CMD_PREAD,
			    .aio_fildes = (uint32_t)disk,
			    .aio_buf = (uint64_t)(uintptr_t)got,
			    .aio_nbytes = N,
			    .aio_offset = OFF };
	struct iocb *all[] = { &one };
	struct io_event event;

	if (syscall(SYS_io_setup, 1, &ctx) || syscall(SYS_io_submit, ctx, 1, all) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) != 1)
		return FAILED;
	return event.res == N ? judge(got) : FAILED;
}

/* Sets up a ring; where there is none, it reads as usual. */
static int by_uring(void)
{
	struct io_uring_params params = { 0 };
	long ring = syscall(SYS_io_uring_setup, 4, &params);

	if (ring >= 0)
		close((int)ring);
	return by_pread();
}

static void unknown(void)
{
#ifdef UNKNOWN
	__asm__ volatile(UNKNOWN ::: "xmm0", "xmm1", "rax");
#endif
}

static int unknown_first(void)
{
	unknown();
	return by_pread();
}

/* Only for one value, which some path has. */
static int unknown_then(void)
{
	int answer = by_pread();

	if (got[0] == 'A')
		unknown();
	return answer;
}

/* 64 paths: it dies on the one on which all bytes are odd. */
static int tree(void)
{
	volatile int odd = 0;

	if (pread(disk, got, 6, OFF) != 6)
		return FAILED;
	for (int i = 0; i < 6; i++)
		if (got[i] & 1)
			odd++;
	if (odd == 6)
		abort();
	return CLEAN;
}

/* So many paths that no machine runs them all. */
static int forest(void)
{
	volatile int odd = 0;

	if (pread(disk, got, 24, OFF) != 24)
		return FAILED;
	for (int i = 0; i < 24; i++)
		if (got[i] & 1)
			odd++;
	return odd > 24 ? FAILED : CLEAN;
}

/* It dies if two fields of the superblock of labfs have certain values (layouts/lab.layout). */
static int both(void)
{
	uint32_t words[24];

	if (pread(disk, words, sizeof(words), 0) != sizeof(words))
		return FAILED;
	if (words[18] == 0x01020304 && words[20] == 0x44434241)
		abort();
	return CLEAN;
}

/*
 * It clears two words that are far from each other. Each has a number that nobody guesses, of which
 * it says something; it dies if both have it.
 */
static int apart(void)
{
	uint32_t a, b, none = 0;

	if (pread(disk, &a, 4, 4096) != 4 || pread(disk, &b, 4, 40960) != 4)
		return FAILED;
	if (a == 0x01020304)
		puts("the first word is old");
	if (b == 0x44434241)
		puts("the second word is old");
	if (a == 0x01020304 && b == 0x44434241)
		abort();
	if (!a && !b)
		return CLEAN;
	if (pwrite(disk, &none, 4, 4096) != 4 || pwrite(disk, &none, 4, 40960) != 4)
		return FAILED;
	return REPAIRED;
}

/* It repairs one of two words in each run. */
static int half(void)
{
	uint32_t word, none = 0;

	for (int i = 0; i < 2; i++) {
		off_t at = 4096 + 4 * i;

		if (pread(disk, &word, 4, at) != 4)
			return FAILED;
		if (!word)
			continue;
		if (!i && pwrite(disk, &word, 4, at + 4) != 4)
			return FAILED;
		return pwrite(disk, &none, 4, at) == 4 ? REPAIRED : FAILED;
	}
	return CLEAN;
}

/*
 * It dies if 24 bytes fit together. 12 of them have to be factors of a large number: a solver that
 * looks for all of them is late. These are the half that is kept. With them as they are, the answer
 * takes a tenth of the time that there is, so it is not late on a busy machine, either.
 */
static int hard(void)
{
	uint64_t word[4] = { 0 }, *b = &word[2], *d = &word[3];
	unsigned __int128 product;

	if (pread(disk, got, 24, OFF) != 24)
		return FAILED;
	for (int i = 0; i < 4; i++)
		memcpy(&word[i], got + 6 * i, 6);
	product = (unsigned __int128)word[0] * word[1] - (unsigned __int128)PRIME_1 * PRIME_2;
	if ((uint64_t)(product >> 64) > 1)
		return CLEAN;
	if ((uint64_t)product > 1)
		return CLEAN;
	if ((*d ^ *d >> 7) == ((*b * (word[0] & 0xff)) ^ (0xb70000u ^ 0xb70000u >> 7)))
		abort();
	return CLEAN;
}

static int other_bytes(void)
{
	return pread(disk, got, N, 4096) == N ? CLEAN : FAILED;
}

static const struct {
	const char *name;
	int (*f)(void);
} rows[] = {
	{ "tree", tree },
	{ "forest", forest },
	{ "both", both },
	{ "apart", apart },
	{ "half", half },
	{ "hard", hard },
	{ "pread", by_pread },
	{ "end", past_end },
	{ "asleep", asleep },
	{ "then-asleep", then_asleep },
	{ "readv", by_readv },
	{ "preadv", by_preadv },
	{ "shared", by_shared },
	{ "private", by_private },
	{ "through", through_map },
	{ "name", by_other_name },
	{ "pipe", by_pipe },
	{ "jumps", by_jumps },
	{ "handler", in_handler },
	{ "fault", after_a_fault },
	{ "vector", by_vector },
	{ "child", by_child },
	{ "beside", beside_child },
	{ "exec", by_exec },
	{ "then-exec", then_exec },
	{ "thread", by_thread },
	{ "then-thread", then_thread },
	{ "aio", by_aio },
	{ "uring", by_uring },
	{ "unknown", unknown_first },
	{ "then-unknown", unknown_then },
	{ "other", other_bytes },
};

int main(int argc, char **argv)
{
	words = argv;
	if (argc != 3 || (disk = open(argv[2], O_RDWR)) < 0)
		return FAILED;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(argv[1], rows[i].name))
			return rows[i].f();
	return FAILED;
}
