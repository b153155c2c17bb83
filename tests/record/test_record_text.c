/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that the recorder in the process has to leave alone: what is mapped to be read, what was put
 * where a file's text had been, and calls whose place matters to a signal's handler. */
#include "record_test.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#define ROUNDS 20

static int rounds(void)
{
	int fd = open("f", O_RDWR | O_CREAT, 0600), failed = fd < 0;
	char buf[8];

	for (int i = 0; i < ROUNDS; i++) {
		failed |= pwrite(fd, "abcdefgh", 8, 0) != 8;
		failed |= pread(fd, buf, 8, 0) != 8;
	}
	return failed | close(fd);
}

/* ---- Mapped to be read ----------------------------------------------------------------------- */

/* The text of the C library, as an emulator would map it, is what its file has. */
static int same_text(struct dl_phdr_info *info, size_t size, void *failed)
{
	int fd;

	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	fd = open(info->dlpi_name, O_RDONLY);
	for (unsigned i = 0; fd >= 0 && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		size_t len = ph->p_filesz & ~4095ul;
		char *mapped, *file;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		file = malloc(len);
		mapped = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			      (off_t)ph->p_offset);
		*(int *)failed = !file || mapped == MAP_FAILED ||
				 pread(fd, file, len, (off_t)ph->p_offset) != (ssize_t)len ||
				 memcmp(mapped, file, len);
		if (mapped != MAP_FAILED)
			munmap(mapped, len);
		free(file);
	}
	return close(fd);
}

static void *no_work(void *arg)
{
	return arg;
}

/* Before there are threads, and afterwards. */
static int reader_program(void)
{
	int failed = 1;
	pthread_t thread;

	if (rounds() || dl_iterate_phdr(same_text, &failed) || failed ||
	    pthread_create(&thread, NULL, no_work, NULL))
		return 1;
	pthread_join(thread, NULL);
	failed = 1;
	return dl_iterate_phdr(same_text, &failed) || failed;
}

/* ---- Where a file's text had been ------------------------------------------------------------ */

/* Text of the program's own making, that it writes anew and expects to be as it wrote it. */
static int reuse_program(void)
{
	static const unsigned char code[] = {
		0x90, 0x90, 0xb8, SYS_lseek, 0, 0, 0, 0x0f, 0x05, 0xc3
	};
	int fd = open("/proc/self/exe", O_RDONLY), failed = fd < 0;
	char *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (failed || at == MAP_FAILED || munmap(at, 4096) ||
	    mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		return 1;
	close(fd);
	memcpy(at, code, sizeof(code));
	fd = open("f", O_RDWR | O_CREAT, 0600);
	for (int i = 0; i < ROUNDS; i++) {
		failed |= mprotect(at, 4096, PROT_READ | PROT_EXEC);
		failed |= ((long (*)(int, long, int))(uintptr_t)at)(fd, i, SEEK_SET) != i;
		failed |= memcmp(at, code, sizeof(code)) != 0;
		failed |= mprotect(at, 4096, PROT_READ | PROT_WRITE);
	}
	close(fd);
	return failed | rounds();
}

/* ---- Calls whose place matters --------------------------------------------------------------- */

/* A cancellation point as C libraries have it: any call, and then bytes that are not used. */
long any_call(long nr, long a, long b, long c);
extern const char any_call_end[];
__asm__(".text\n"
	".balign 16\n"
	"any_call:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	syscall\n"
	"any_call_end:\n"
	"	ret\n"
	"	.balign 32, 0x90\n");

static volatile sig_atomic_t between, elsewhere;

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uintptr_t rip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (rip >= (uintptr_t)any_call && rip <= (uintptr_t)any_call_end)
		between++;
	else
		elsewhere++;
}

static int between_program(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct sigaction act = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO };
	int fds[2], fd = open("f", O_RDWR | O_CREAT, 0600), failed = fd < 0 || pipe(fds);
	char byte;

	failed |= sigaction(SIGALRM, &act, NULL);
	for (int i = 0; i < ROUNDS; i++)
		failed |= any_call(SYS_lseek, fd, i, SEEK_SET) != i;
	for (int i = 0; i < 3; i++) {
		failed |= setitimer(ITIMER_REAL, &soon, NULL);
		failed |= any_call(SYS_read, fds[0], (long)&byte, 1) != -EINTR;
	}
	return failed || between != 3 || elsewhere || close(fd) || rounds();
}

static const struct program programs[] = {
	{ "--reader", reader_program },
	{ "--reuse", reuse_program },
	{ "--between", between_program },
};

static unsigned n_seeks;

static void check(const struct recorded *r)
{
	assert_int_equal(made(r, "pwrite64"), ROUNDS);
	assert_int_equal(made(r, "pread64"), ROUNDS);
	assert_int_equal(made(r, "lseek"), n_seeks);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_LOST), 0);
}

static void text_to_be_read(void **state)
{
	(void)state;
	n_seeks = 0;
	all_ways("--reader", check);
}

static void text_of_its_own(void **state)
{
	(void)state;
	n_seeks = ROUNDS;
	all_ways("--reuse", check);
}

static void wrappers_of_calls(void **state)
{
	(void)state;
	n_seeks = ROUNDS;
	all_ways("--between", check);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_to_be_read),
		cmocka_unit_test(text_of_its_own),
		cmocka_unit_test(wrappers_of_calls),
	};

	return RUN_OR_TEST(argc, argv, programs, tests);
}
