/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_cov_ways: what one call costs when it is caught in each way that needs no privileges, with
 * nothing done about it: processor time of all concerned, a loop of lseek.
 *   none, filter     not at all; by a seccomp filter that lets it through
 *   trap, dispatch   by a signal to itself: seccomp's trap, syscall user dispatch
 *   notify           by seccomp's user notification, answered by another thread
 *   stop, stops      by ptrace, which stops it once (before) or twice (before and after)
 * What the recorder does (rewritten text) is in cov.record.calls.
 */
#include "bench/bench.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define TURNS 3
#define CALLS 20000
#define USER_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH */
#define OWN_RESTORER 0x04000000 /* SA_RESTORER */

/* Makes a call, and comes back from a signal handler; the page that it is in is let through. */
static const unsigned char code[] = {
	0x48, 0x89, 0xf8, /* mov %rdi, %rax */
	0x48, 0x89, 0xf7, /* mov %rsi, %rdi */
	0x48, 0x89, 0xd6, /* mov %rdx, %rsi */
	0x48, 0x89, 0xca, /* mov %rcx, %rdx */
	0x0f, 0x05, 0xc3, /* syscall, ret */
	0xb8, 15,   0,	  0, 0, 0x0f, 0x05, /* rt_sigreturn */
};
#define CODE_CALL 14 /* after the first call */
#define CODE_RESTORE 15

static long (*let_through)(long nr, long a, long b, long c);
static volatile char caught = 1;

/* As the kernel has it. */
struct kernel_sigaction {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	const void *restorer;
	unsigned long mask;
};

static void on_call(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	r[REG_RAX] = let_through(r[REG_RAX], r[REG_RDI], r[REG_RSI], r[REG_RDX]);
}

static const char *prepare_page(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kernel_sigaction act = { .handler = on_call,
					.flags = SA_SIGINFO | SA_NODEFER | OWN_RESTORER };

	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	memcpy(&let_through, &page, sizeof(page));
	act.restorer = page + CODE_RESTORE;
	syscall(SYS_rt_sigaction, SIGSYS, &act, NULL, sizeof(act.mask));
	return page;
}

static int install(unsigned action, const char *page, unsigned flags)
{
	unsigned allowed = (unsigned)(uintptr_t)page + CODE_CALL;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_lseek, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_SPEC_ALLOW | flags, &program);
}

static void *answer(void *arg)
{
	int fd = (int)(intptr_t)arg;

	for (;;) {
		struct seccomp_notif asked = { .id = 0 };
		struct seccomp_notif_resp told = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		told.id = asked.id;
		(void)!ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &told);
	}
	return NULL;
}

/* In the child; false: it cannot be done here. */
static bool none(void)
{
	return true;
}

static bool filter(void)
{
	return install(SECCOMP_RET_ALLOW, NULL, 0) == 0;
}

static bool trap(void)
{
	return install(SECCOMP_RET_TRAP, prepare_page(), 0) == 0;
}

static bool dispatch(void)
{
	return !prctl(USER_DISPATCH, 1, prepare_page(), 4096, &caught);
}

static bool notify(void)
{
	int fd = install(SECCOMP_RET_USER_NOTIF, NULL, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	pthread_t thread;

	return fd >= 0 && !pthread_create(&thread, NULL, answer, (void *)(intptr_t)fd);
}

static bool stops(void)
{
	raise(SIGSTOP);
	return install(SECCOMP_RET_TRACE, NULL, 0) == 0;
}

static const struct {
	const char *name;
	bool (*begin)(void);
	int resume; /* of a tracer, 0: there is none */
} ways[] = {
	{ "none", none, 0 },
	{ "filter", filter, 0 },
	{ "trap", trap, 0 },
	{ "dispatch", dispatch, 0 },
	{ "notify", notify, 0 },
	{ "stop", stops, PTRACE_CONT },
	{ "stops", stops, PTRACE_SYSCALL },
};

static void child(bool (*begin)(void), int fd)
{
	if (!begin())
		_exit(1);
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_lseek, fd, 0, SEEK_SET);
	caught = 0;
	_exit(0);
}

static void trace(pid_t pid, int resume)
{
	const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
	int status;

	as_assert(waitpid(pid, &status, WUNTRACED) == pid);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_SEIZE, pid, NULL, options))
		return;
	kill(pid, SIGCONT);
	for (;;) {
		siginfo_t info = { .si_pid = 0 };
		bool asked;

		if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) ||
		    info.si_code != CLD_TRAPPED)
			return;
		as_assert(waitpid(pid, &status, __WALL) == pid);
		asked = status >> 16 == PTRACE_EVENT_SECCOMP;
		ptrace(asked ? resume : PTRACE_CONT, pid, NULL, NULL);
	}
}

static double cpu_us(const struct rusage *u)
{
	return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 +
	       (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* The cost of one turn; negative: it cannot be done here. */
static double turn(size_t way, int fd)
{
	int64_t start_us = bench_cpu_us();
	struct rusage theirs;
	pid_t pid;
	int status;

	pid = fork();
	if (!pid)
		child(ways[way].begin, fd);
	if (ways[way].resume)
		trace(pid, ways[way].resume);
	if (pid < 0 || wait4(pid, &status, __WALL, &theirs) != pid || status)
		return -1;
	return ((double)(bench_cpu_us() - start_us) + cpu_us(&theirs)) / CALLS;
}

void bench_cov_ways(as_bench_report report)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char name[64];

	for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		double best = -1;

		for (int i = 0; i < TURNS; i++) {
			double us = turn(way, fd);

			if (us >= 0 && (best < 0 || us < best))
				best = us;
		}
		snprintf(name, sizeof(name), "cov.ways.%s_cpu", ways[way].name);
		if (best >= 0)
			report(name, best, "us/call");
	}
	close(fd);
}
