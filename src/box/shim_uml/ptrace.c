/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptrace, for User-Mode Linux on processors with large register files. A UML kernel sets the
 * floating-point registers of its processes from a buffer of fixed size (2.7 kB in Linux 6.1); the
 * host's kernel takes nothing but the whole state, which is 11 kB where there is AMX, and answers
 * EFAULT. Preloaded into the UML kernel, this fills the rest with zeros: registers that a guest
 * cannot know of, in their initial state.
 *
 * A UML kernel reads all registers of a process after each of its stops, and sets all of them
 * before it goes on. Most system calls of a guest change no floating-point register, and a page
 * fault changes none at all. What would be set to what was read since the last stop is not set
 * again: that saves the larger part of such a call. Before a process goes on after another one, its
 * kernel sets the base of the segment of its thread; this is no floating-point register, and mostly
 * what it was. Whatever else is done to a process makes us forget what was read.
 */
#include <asm/prctl.h>
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#define STATE_MAX_BYTES 65536
#define KNOWN_MAX 64 /* processes; two with the same remainder share a place, which costs time */
#define KNOWN_STATE_BYTES 4096

/* What a process that has stopped holds in its registers. */
struct known {
	pid_t pid; /* 0: none */
	size_t state_bytes; /* 0: not known */
	int has_regs;
	struct user_regs_struct regs;
	char state[KNOWN_STATE_BYTES];
};

static __thread struct known all_known[KNOWN_MAX];

static __thread char whole[STATE_MAX_BYTES] __attribute__((aligned(64)));
static __thread size_t whole_bytes; /* 0: not asked for yet */

static struct known *known_of(pid_t pid)
{
	struct known *k = &all_known[(unsigned)pid % KNOWN_MAX];

	if (k->pid != pid) {
		k->pid = pid;
		k->state_bytes = 0;
		k->has_regs = 0;
	}
	return k;
}

static void forget(pid_t pid)
{
	struct known *k = known_of(pid);

	k->state_bytes = 0;
	k->has_regs = 0;
}

static void note_state(pid_t pid, const struct iovec *iov)
{
	struct known *k = known_of(pid);

	k->state_bytes = iov->iov_len <= sizeof(k->state) ? iov->iov_len : 0;
	memcpy(k->state, iov->iov_base, k->state_bytes);
}

static void note_regs(pid_t pid, const struct user_regs_struct *regs)
{
	struct known *k = known_of(pid);

	k->has_regs = 1;
	k->regs = *regs;
}

/* Whether it is what the process has anyway. What is given may be longer than the whole state. */
static int is_known_state(pid_t pid, const struct iovec *given)
{
	const struct known *k = known_of(pid);
	int fits = given->iov_len == k->state_bytes ||
		   (given->iov_len > k->state_bytes && k->state_bytes == whole_bytes);

	return k->state_bytes && fits && !memcmp(k->state, given->iov_base, k->state_bytes);
}

static int are_known_regs(pid_t pid, const struct user_regs_struct *regs)
{
	const struct known *k = known_of(pid);

	return k->has_regs && !memcmp(&k->regs, regs, sizeof(*regs));
}

static int set_state(pid_t pid, const struct iovec *given)
{
	struct iovec iov = { whole, sizeof(whole) };
	size_t len = given->iov_len;

	if (!whole_bytes) {
		if (syscall(SYS_ptrace, PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov))
			return -1;
		whole_bytes = iov.iov_len;
		memset(whole, 0, sizeof(whole));
	}
	if (len > whole_bytes)
		len = whole_bytes;
	memcpy(whole, given->iov_base, len);
	iov = (struct iovec){ whole, whole_bytes };
	known_of(pid)->state_bytes = 0;
	return (int)syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov);
}

static long set_regs(pid_t pid, void *addr, struct user_regs_struct *regs)
{
	long ret;

	if (are_known_regs(pid, regs))
		return 0;
	ret = syscall(SYS_ptrace, PTRACE_SETREGS, pid, addr, regs);
	/* The kernel may not take all of them as they are. */
	known_of(pid)->has_regs = 0;
	return ret;
}

/* Sets FS or GS, or asks for one. `code` is in the place of the data, the base in that of the
 * address. */
static long set_base(pid_t pid, void *base, void *code)
{
	struct known *k = known_of(pid);

	if (k->has_regs && code == (void *)ARCH_SET_FS && k->regs.fs_base == (unsigned long)base)
		return 0;
	k->has_regs = 0;
	return syscall(SYS_ptrace, PTRACE_ARCH_PRCTL, pid, base, code);
}

static int only_reads(enum __ptrace_request request)
{
	return request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA ||
	       request == PTRACE_PEEKUSER || request == PTRACE_GETREGSET ||
	       request == PTRACE_GETSIGINFO;
}

/* What was read is kept; after anything but reading, nothing is known. */
static void note(enum __ptrace_request request, pid_t pid, const void *addr, const void *data)
{
	if (request == PTRACE_GETREGS)
		note_regs(pid, data);
	else if (request == PTRACE_GETREGSET && addr == (const void *)NT_X86_XSTATE)
		note_state(pid, data);
	else if (!only_reads(request))
		forget(pid);
}

long ptrace(enum __ptrace_request request, ...)
{
	long word = 0, ret;
	void *addr, *data;
	va_list ap;
	pid_t pid;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (request == PTRACE_SETREGSET && addr == (void *)NT_X86_XSTATE)
		return is_known_state(pid, data) ? 0 : set_state(pid, data);
	if (request == PTRACE_SETREGS)
		return set_regs(pid, addr, data);
	if ((int)request == PTRACE_ARCH_PRCTL)
		return set_base(pid, addr, data);
	/* The library's calls that read return what they read; the kernel writes it. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER)
		data = &word;
	ret = syscall(SYS_ptrace, request, pid, addr, data);
	if (ret < 0)
		forget(pid);
	else
		note(request, pid, addr, data);
	if (ret >= 0 && data == &word) {
		errno = 0;
		return word;
	}
	return ret;
}
