/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vg_subject WHAT DISK: does one thing with the bytes of a disk, for tests of the Valgrind tool.
 * The exit status is what the bytes decide. */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int disk;
static uint8_t data[4096];

static void get(size_t bytes)
{
	if (pread(disk, data, bytes, 0) != (ssize_t)bytes)
		exit(99);
}

/* A jump, where a compiler would calculate a number. */
static int yes(int condition)
{
	if (condition)
		__asm__ volatile("nop");
	else
		__asm__ volatile("nop; nop");
	return condition ? 1 : 0;
}

static int by_pread(void)
{
	get(8);
	return yes(data[0] == 0x41);
}

static int by_read(void)
{
	if (lseek(disk, 1, SEEK_SET) != 1 || read(dup(disk), data, 2) != 2)
		return 99;
	return data[1] == 0x41;
}

static int by_readv(void)
{
	uint8_t a[3], b[5];
	struct iovec v[2] = { { a, sizeof a }, { b, sizeof b } };

	if (preadv(disk, v, 2, 0) != 8)
		return 99;
	return b[1] == 0x41;
}

static int by_mmap(void)
{
	const uint8_t *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, disk, 0);

	return p[5] == 0x41;
}

/* Written through a shared mapping, read by a system call. */
static int by_shared(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0);

	p[4096] = (uint8_t)(p[6] + 1);
	if (pread(disk, data, 1, 4096) != 1)
		return 99;
	return data[0] == 0x41;
}

static int reread(void)
{
	uint8_t back[4];

	get(4);
	for (int i = 0; i < 4; i++)
		data[i] += 1;
	if (pwrite(disk, data, 4, 4096) != 4 || pread(disk, back, 4, 4096) != 4)
		return 99;
	return back[3] == 0x42;
}

static int loop(void)
{
	volatile int turns = 0;

	get(2);
	for (int i = 0; i < (data[0] | data[1] << 8); i++)
		turns++;
	return turns > 300;
}

static const uint8_t table[256] = { [0] = 7, [1] = 9, [77] = 13, [200] = 13 };

static int by_table(void)
{
	get(8);
	return table[data[0]] == 13;
}

/* A table that is written in the same block, after it was read. */
static uint8_t marks[256] = { [5] = 13 }, others[256] = { [5] = 13 };

static int rewritten(uint8_t *from, uint8_t *written)
{
	uint64_t got;

	get(8);
	__asm__ volatile("movzbl (%1,%2), %k0\n\tmovb $13, 77(%3)"
			 : "=&r"(got)
			 : "r"(from), "r"((uint64_t)data[0]), "r"(written)
			 : "memory");
	return yes(got == 13);
}

static int rewritten_same(void)
{
	return rewritten(marks, marks);
}

static int rewritten_other(void)
{
	return rewritten(marks, others);
}

/* Written by a system call, read through a shared mapping. */
static int by_both(void)
{
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, disk, 0), back;

	back = (uint8_t)(p[6] + 1);
	if (pwrite(disk, &back, 1, 4097) != 1)
		return 99;
	return yes(p[4097] == 0x41);
}

static int checksum(void)
{
	uint32_t crc = ~0u;

	get(512);
	for (int i = 0; i < 508; i++) {
		crc ^= data[i];
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return yes(memcmp(&crc, data + 508, 4) == 0);
}

/* As short names of FAT have it: nothing in its arithmetic says that it is a checksum. */
static int plain_sum(void)
{
	uint8_t sum = 0;

	get(512);
	for (int i = 0; i < 8; i++)
		sum = (uint8_t)((sum >> 1 | sum << 7) + data[i]);
	return yes(sum == data[508]);
}

static int strings(void)
{
	static const char want[33] = "0123456789abcdef0123456789abcdef";

	get(64);
	if (memcmp(data, want, 32) == 0)
		return 1;
	if (strnlen((char *)data + 32, 16) > 3)
		return 2;
	return memchr(data, 'x', 48) != NULL;
}

static int divides(void)
{
	uint32_t x;

	get(8);
	memcpy(&x, data, 4);
	return x && 100000 / x == 7;
}

static int swapped(void)
{
	uint32_t x;

	get(8);
	memcpy(&x, data, 4);
	return __builtin_bswap32(x) == 0x11223344;
}

static int allocated(void)
{
	uint32_t x;
	char *p;

	get(8);
	memcpy(&x, data, 4);
	p = calloc((x & 0xffff) + 1, 16);
	memset(p, 1, (x & 0xffff) + 1);
	return p[0] && (x & 0xffff) > 1000;
}

static int switched(void)
{
	uint32_t x;

	get(8);
	memcpy(&x, data, 4);
	switch (x & 0xffffff) {
	case 0:
		__asm__ volatile("nop");
		return 10;
	case 1:
		__asm__ volatile("nop;nop");
		return 21;
	case 2:
		__asm__ volatile("nop;nop;nop");
		return 3;
	case 3:
		__asm__ volatile("nop;nop;nop;nop");
		return 14;
	case 4:
		__asm__ volatile("nop;nop;nop;nop;nop");
		return 5;
	case 5:
		__asm__ volatile("nop;nop;nop;nop;nop;nop");
		return 66;
	case 6:
		__asm__ volatile("nop;nop;nop;nop;nop;nop;nop");
		return 7;
	default:
		return 9;
	}
}

/* A process of the checker's own. */
static int forks(void)
{
	pid_t pid;
	int status;

	get(8);
	pid = fork();
	if (pid == 0)
		_exit(yes(data[1] == 0x41));
	waitpid(pid, &status, 0);
	return yes(data[0] == 0x41);
}

static void *reader(void *unused)
{
	get(8);
	return unused;
}

static int in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, reader, NULL);
	pthread_join(t, NULL);
	return data[0] == 0x41;
}

static int crash(void)
{
	get(8);
	if (data[0] != 0x41)
		raise(SIGSEGV);
	return 0;
}

static int slow(void)
{
	volatile uint64_t n = 0;

	get(8);
	while (data[0] != 0x41)
		n++;
	return 0;
}

/* What is read so is not followed. */
static int by_aio(void)
{
	aio_context_t ctx = 0;
	struct iocb one = { .aio_lio_opcode = IOCB_CMD_PREAD,
			    .aio_fildes = (uint32_t)disk,
			    .aio_buf = (uint64_t)(uintptr_t)(data + 8),
			    .aio_nbytes = 8 };
	struct iocb *all[] = { &one };
	struct io_event event;

	get(8);
	if (syscall(SYS_io_setup, 1, &ctx) || syscall(SYS_io_submit, ctx, 1, all) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &event, NULL) != 1)
		return 99;
	return yes(data[0] == 0x41) + yes(data[9] == 0x41);
}

static int nothing(void)
{
	return 3;
}

static const struct {
	const char *name;
	int (*f)(void);
} rows[] = {
	{ "pread", by_pread },
	{ "read", by_read },
	{ "readv", by_readv },
	{ "mmap", by_mmap },
	{ "shared", by_shared },
	{ "reread", reread },
	{ "loop", loop },
	{ "table", by_table },
	{ "checksum", checksum },
	{ "sum", plain_sum },
	{ "strings", strings },
	{ "divides", divides },
	{ "swapped", swapped },
	{ "allocated", allocated },
	{ "thread", in_thread },
	{ "crash", crash },
	{ "slow", slow },
	{ "nothing", nothing },
	{ "switched", switched },
	{ "forks", forks },
	{ "aio", by_aio },
	{ "both", by_both },
	{ "rewritten", rewritten_same },
	{ "unwritten", rewritten_other },
};

int main(int argc, char **argv)
{
	if (argc != 3 || (disk = open(argv[2], O_RDWR)) < 0)
		return 98;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(argv[1], rows[i].name) == 0)
			return rows[i].f();
	return 97;
}
