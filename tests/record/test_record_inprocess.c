/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording from inside the process must not change what it records. The programs here look at all
 * that a call may not touch, do what could take the recorder's code away from under it, or come
 * where it cannot be. Each is recorded in all ways, and the counts must be those that it knows of.
 */
#include "record_test.h"

#include "record/record_site.h"
#include "tests/lib/skip.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ROUNDS 300
#define MANY_THREADS 700 /* more than there are slots */
#define THREAD_ROUNDS 10

extern char **environ;
static int n_rounds = ROUNDS;

/* 4 calls a round on files of the folder, and two to begin and end: what all programs make last. */
static int rounds(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600), failed = fd < 0;
	char buf[8];

	for (int i = 0; i < n_rounds; i++) {
		failed |= pwrite(fd, "abcdefgh", 8, 0) != 8;
		failed |= lseek(fd, 0, SEEK_SET) != 0;
		failed |= read(fd, buf, 8) != 8 || memcmp(buf, "abcdefgh", 8);
		failed |= syscall(SYS_pread64, fd, buf, 4, 4) != 4 || memcmp(buf, "efgh", 4);
	}
	failed |= close(fd) != 0;
	return failed;
}

static int rounds_program(void)
{
	return rounds("f");
}

/* ---- What a call leaves alone ---------------------------------------------------------------- */

/* write(fd, text, 3) by hand, with everything else in use: registers, the carry, the 128 bytes
 * below the stack pointer. Afterwards all of it is put where rdx points to. */
long write_by_hand(long fd, const char *text, uint64_t out[16]);
__asm__(".text\n"
	".globl write_by_hand\n"
	"write_by_hand:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rdx, %rbx\n"
	"	mov $0x105, %rax\n"
	"	movq %rax, %xmm5\n"
	"	mov $0x108, %r8d\n"
	"	mov $0x109, %r9d\n"
	"	mov $0x10a, %r10d\n"
	"	mov $0x10c, %r12d\n"
	"	mov $0x10d, %r13d\n"
	"	mov $0x10e, %r14d\n"
	"	mov $0x10f, %r15d\n"
	"	mov $0x110, %ebp\n"
	"	movq $0x111, -8(%rsp)\n"
	"	movq $0x112, -128(%rsp)\n"
	"	mov $3, %edx\n"
	"	stc\n"
	"	mov $1, %eax\n"
	"	syscall\n"
	"	mov %rax, 0(%rbx)\n"
	"	mov %rdx, 8(%rbx)\n"
	"	mov %r8, 16(%rbx)\n"
	"	mov %r9, 24(%rbx)\n"
	"	mov %r10, 32(%rbx)\n"
	"	mov %r12, 40(%rbx)\n"
	"	mov %r13, 48(%rbx)\n"
	"	mov %r14, 56(%rbx)\n"
	"	mov %r15, 64(%rbx)\n"
	"	mov %rbp, 72(%rbx)\n"
	"	mov -8(%rsp), %r11\n"
	"	mov %r11, 80(%rbx)\n"
	"	mov -128(%rsp), %r11\n"
	"	mov %r11, 88(%rbx)\n"
	"	movq %xmm5, %r11\n"
	"	mov %r11, 96(%rbx)\n"
	"	setc 104(%rbx)\n"
	"	mov %rdi, 112(%rbx)\n"
	"	mov %rsi, 120(%rbx)\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n");

static int untouched_program(void)
{
	static const char text[] = "abc";
	int fd = open("g", O_RDWR | O_CREAT, 0600);

	for (int i = 0; i < ROUNDS; i++) {
		const uint64_t want[16] = { 3,	   3,	  0x108, 0x109,		 0x10a, 0x10c,
					    0x10d, 0x10e, 0x10f, 0x110,		 0x111, 0x112,
					    0x105, 1,	  fd,	 (uintptr_t)text };
		uint64_t got[16] = { 0 };

		write_by_hand(fd, text, got);
		if (memcmp(got, want, sizeof(got)))
			return 1;
	}
	return rounds("f");
}

/* ---- Descriptors, signals, filters ----------------------------------------------------------- */

static int closes_program(void)
{
	close_range(3, ~0u, 0);
	for (int fd = 3; fd < 1024; fd++)
		dup2(0, fd);
	close_range(3, ~0u, 0);
	return rounds("f");
}

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

/* Own handlers on a stack of their own; bad pointers that no handler may hear of. */
static int handlers_program(void)
{
	static char stack[65536];
	const stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	static const int signals[] = { SIGSYS, SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGUSR1 };
	char *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int failed = sigaltstack(&alt, NULL);
	sigset_t all;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &act, NULL);
	for (int i = 0; i < 50; i++) {
		failed |= open(bad, O_RDONLY) >= 0 || errno != EFAULT;
		failed |= rename("f", bad) >= 0 || errno != EFAULT;
		failed |= mkdir((char *)0x123456789000, 0700) >= 0 || errno != EFAULT;
		failed |= unlink((char *)-1) >= 0 || errno != EFAULT;
	}
	failed |= handled != 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		raise(signals[i]);
	failed |= handled != 6;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return failed | rounds("f");
}

/* A filter of the program's own, which forbids what a recorder would like to call. */
static int filter_program(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 7, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	_exit(rounds("f"));
}

/* ---- The place itself ------------------------------------------------------------------------ */

static int gs_program(void)
{
	static uint64_t own = 0x42;
	uint64_t seen;

	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &own))
		return 1;
	for (int i = 0; i < 5; i++) {
		__asm__ volatile("mov %%gs:0, %0" : "=r"(seen));
		if (seen != 0x42)
			return 1;
		mkdir("d", 0700);
	}
	return rounds("f");
}

static int become(char *mode)
{
	char *argv[] = { self, mode, NULL }, *no_environment[] = { NULL };

	execve(self, argv, no_environment);
	return 1;
}

/* No room for the recorder's memory in the next program. */
static int limits_program(void)
{
	struct rlimit limit = { 12 << 20, 12 << 20 };

	return setrlimit(RLIMIT_AS, &limit) ? 1 : become("--rounds");
}

/* Others may not look into it. */
static int hidden_program(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || mkdir("d", 0700) || rmdir("d"))
		return 1;
	return rounds("f");
}

static int locked_program(void)
{
	(void)!mlockall(MCL_CURRENT | MCL_FUTURE);
	return rounds("f");
}

/* Where there is no memory shared with the recorder. */
static int namespace_program(void)
{
	(void)!unshare(CLONE_NEWUSER | CLONE_NEWIPC);
	return become("--rounds");
}

static void *in_thread(void *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "f%ld", (long)arg);
	return (void *)(long)rounds(name);
}

static int threads_program(void)
{
	static pthread_t threads[MANY_THREADS];
	pthread_attr_t small;
	void *failed;
	long n = 0;

	n_rounds = THREAD_ROUNDS;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	for (long i = 0; i < MANY_THREADS; i++)
		n += !pthread_create(&threads[n], &small, in_thread, (void *)n);
	for (long i = 0; i < n; i++)
		if (pthread_join(threads[i], &failed) || failed)
			return 1;
	return n == MANY_THREADS ? 0 : 1;
}

/* Each kind of child, from a function that makes any call (syscall()). */
static int children_program(void)
{
	char *argv[] = { self, "--rounds", NULL };
	volatile int failed = 0;
	int status;
	pid_t pid;

	mkdir("d", 0700);
	syscall(SYS_mkdirat, AT_FDCWD, "d", 0700);
	for (int i = 0; i < 5; i++) {
		pid = (pid_t)(i < 2   ? syscall(SYS_fork)
			      : i < 4 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
				      : fork());
		if (!pid)
			_exit(rounds("f"));
		failed |= waitpid(pid, &status, 0) != pid || status;
	}
	for (int i = 0; i < 3; i++) {
		failed |= posix_spawn(&pid, self, NULL, NULL, argv, environ);
		failed |= waitpid(pid, &status, 0) != pid || status;
		pid = vfork();
		if (!pid) {
			execve(self, argv, environ);
			_exit(1);
		}
		failed |= waitpid(pid, &status, 0) != pid || status;
	}
	return failed;
}

/* A thread that is not the first replaces the program. */
static void *exec_in_thread(void *arg)
{
	(void)arg;
	become("--rounds");
	return NULL;
}

static int exec_program(void)
{
	pthread_t thread;

	if (rounds("f") || pthread_create(&thread, NULL, exec_in_thread, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 1;
}

/* ---- Checks ---------------------------------------------------------------------------------- */

static unsigned n_made, n_opens; /* rounds, files opened */

static void check_rounds(const struct recorded *r)
{
	assert_int_equal(made(r, "pwrite64"), n_made);
	assert_int_equal(made(r, "lseek"), n_made);
	assert_int_equal(made(r, "read"), n_made);
	assert_int_equal(made(r, "pread64"), n_made);
	assert_int_equal(met(r, "read", NULL, "OK=2^3"), n_made);
	assert_int_equal(met(r, "read", NULL, "OK=2^2"), n_made);
	assert_int_equal(met(r, "open", NULL, "OK"), n_opens);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_LOST), 0);
	assert_int_equal(as_counts_noted(r->counts, AS_NOTE_UNFINISHED), 0);
}

static void check_handlers(const struct recorded *r)
{
	check_rounds(r);
	assert_int_equal(met(r, "open", NULL, "EFAULT"), 50);
	assert_int_equal(met(r, "rename", NULL, "EFAULT"), 50);
}

static const struct program programs[] = {
	{ "--rounds", rounds_program },	  { "--untouched", untouched_program },
	{ "--closes", closes_program },	  { "--handlers", handlers_program },
	{ "--filter", filter_program },	  { "--gs", gs_program },
	{ "--limits", limits_program },	  { "--locked", locked_program },
	{ "--hidden", hidden_program },	  { "--namespace", namespace_program },
	{ "--threads", threads_program }, { "--children", children_program },
	{ "--exec", exec_program },
};

static bool is_bounded(const char *mode)
{
	return !strcmp(mode, "--filter") || !strcmp(mode, "--limits") || !strcmp(mode, "--locked");
}

/* The modes that call rounds() once, and bound what they may do or not. */
static void check_modes(bool bounded)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]) - 3; i++) {
		char mode[32];

		snprintf(mode, sizeof(mode), "%s", programs[i].mode);
		if (is_bounded(mode) != bounded)
			continue;
		print_message("%s\n", mode);
		n_made = ROUNDS;
		n_opens = strcmp(mode, "--untouched") ? 1 : 2;
		all_ways(mode, strcmp(mode, "--handlers") ? check_rounds : check_handlers);
	}
}

static void nothing_is_changed(void **state)
{
	(void)state;
	check_modes(false);
}

static void nothing_is_changed_in_bounds(void **state)
{
	(void)state;
	if (SANITIZED)
		skip_because("a sanitizer makes calls and takes memory that the filter, the limits "
			     "and the locked memory of these programs forbid");
	check_modes(true);
}

static void more_threads_than_places(void **state)
{
	(void)state;
	n_made = MANY_THREADS * THREAD_ROUNDS;
	n_opens = MANY_THREADS;
	all_ways("--threads", check_rounds);
}

static void every_kind_of_child(void **state)
{
	(void)state;
	n_opens = 5 + 6;
	n_made = n_opens * ROUNDS;
	all_ways("--children", check_rounds);
	n_opens = 2;
	n_made = n_opens * ROUNDS;
	all_ways("--exec", check_rounds);
}

/* ---- Sites ----------------------------------------------------------------------------------- */

static void calls_are_led_soundly(void **state)
{
	static const struct {
		const char *name;
		unsigned char text[64];
		unsigned len, at;
		int nr, from, pad; /* from 1: not */
	} cases[] = {
		{ "number before", "\x90\xb8\x01\0\0\0\x0f\x05\xc3", 9, 6, 1, -5, -5 },
		{ "another number", "\x90\xb8\x02\0\0\0\x0f\x05\xc3", 9, 6, 1, 1, 0 },
		{ "another register", "\x41\xb8\x01\0\0\0\x0f\x05\xc3", 9, 6, 1, 1, 0 },
		{ "any number", "\x90\x4c\x8b\x4c\x24\x08\x0f\x05\x48\x3d\x01\xf0\xff\xff\xc3", 15,
		  6, 7, -5, -5 },
		{ "a wrapper of any", "\x90\x4c\x8b\x4c\x24\x08\x0f\x05\xc3", 9, 6, 7, 1, 0 },
		{ "a wrapper, unused bytes", "\x89\xf8\x0f\x05\xc3\x0f\x1f\x44\0\0\x90", 11, 2, 0,
		  1, 0 },
		{ "unused bytes after a return",
		  "\x31\xc0\x0f\x05\x48\x3d\0\xf0\xff\xff\x77\x10\xc3\x0f\x1f\x44\0\0\x90", 19, 2,
		  0, 0, 11 },
		{ "too few of them", "\x31\xc0\x0f\x05\xc3\x0f\x1f\x40\0\x55\xc3", 11, 2, 0, 1, 0 },
		{ "they are run through",
		  "\x31\xc0\x0f\x05\x48\x89\xc3\x0f\x1f\x44\0\0\x90\x55\xc3", 15, 2, 0, 1, 0 },
		{ "nothing that is known", "\x31\xc0\x0f\x05\x62\xc3\x0f\x1f\x44\0\0\x90", 12, 2, 0,
		  1, 0 },
		{ "no call", "\x90\xb8\x01\0\0\0\x0f\x0b\xc3", 9, 6, 1, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct as_site site;

		as_site_plan(cases[i].text, cases[i].len, cases[i].at, cases[i].nr, &site);
		if (site.usable != (cases[i].from != 1))
			fail_msg("%s: %s", cases[i].name, site.usable ? "led" : "not led");
		if (site.usable && (site.from != cases[i].from || site.pad != cases[i].pad))
			fail_msg("%s: %d %d", cases[i].name, site.from, site.pad);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_led_soundly),
		cmocka_unit_test(nothing_is_changed),
		cmocka_unit_test(nothing_is_changed_in_bounds),
		cmocka_unit_test(more_threads_than_places),
		cmocka_unit_test(every_kind_of_child),
	};

	return RUN_OR_TEST(argc, argv, programs, tests);
}
