/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ptrace, for User-Mode Linux on processors with large register files. A UML kernel sets the
 * floating-point registers of its processes from a buffer of fixed size (2.7 kB in Linux 6.1); the
 * host's kernel takes nothing but the whole state, which is 11 kB where there is AMX, and answers
 * EFAULT. Preloaded into the UML kernel, this fills the rest with zeros: registers that a guest
 * cannot know of, in their initial state.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STATE_MAX_BYTES 65536

static __thread char whole[STATE_MAX_BYTES] __attribute__((aligned(64)));
static __thread size_t whole_bytes; /* 0: not asked for yet */

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
	return (int)syscall(SYS_ptrace, PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov);
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
		return set_state(pid, data);
	/* The library's calls that read return what they read; the kernel writes it. */
	if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER)
		data = &word;
	ret = syscall(SYS_ptrace, request, pid, addr, data);
	if (ret >= 0 && data == &word) {
		errno = 0;
		return word;
	}
	return ret;
}
