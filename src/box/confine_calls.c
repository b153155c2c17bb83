/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine_calls: a seccomp filter from the table confine_calls.def.
 *
 * Method. A row becomes a few instructions that end with an answer. For another call, they are
 * jumped over. So no jump is longer than a row, and the table may have any length. The kernel (5.11
 * and later) remembers for which calls the answer does not depend on arguments.
 */
#include "box/confine.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWCGROUP)
#define SETID_BITS 06000
#define FIRST_YOUNG_CALL 424 /* pidfd_send_signal: from there on all architectures count alike */
#define X32_CALLS 0x40000000u
/* Calls that the headers of some machines do not have yet. */
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_rseq
#define SYS_rseq 334
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE(errnum) ANSWER(SECCOMP_RET_ERRNO | (errnum))
#define JUMP(test, value, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, (unsigned)(value), yes, no)
#define IS_CALL(call, length) JUMP(BPF_JEQ, SYS_##call, 0, length)

/* Of these arguments the kernel uses only the low half. */
#define REFUSED(call, arg, test, value, yes, no) \
	IS_CALL(call, 4), LOAD(args[arg]), JUMP(test, value, yes, no), REFUSE(EPERM), LOAD(nr),
#define ALLOWED(call) IS_CALL(call, 1), ANSWER(SECCOMP_RET_ALLOW),

static const struct sock_filter filter[] = {
	LOAD(arch),
	JUMP(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0),
	REFUSE(EPERM),
	LOAD(nr),
/* First the calls that are refused with some arguments, */
#define UNLESS(call, arg, value) REFUSED(call, arg, BPF_JEQ, value, 0, 1)
#define UNLESS_BITS(call, arg, bits) REFUSED(call, arg, BPF_JSET, bits, 0, 1)
#define ONLY_IF(call, arg, value) REFUSED(call, arg, BPF_JEQ, value, 1, 0)
#define CALL(call)
#include "box/confine_calls.def"
#undef UNLESS
#undef UNLESS_BITS
#undef ONLY_IF
#undef CALL
/* then the same calls with other arguments, */
#define UNLESS(call, arg, value) ALLOWED(call)
#define UNLESS_BITS(call, arg, bits) ALLOWED(call)
#define ONLY_IF(call, arg, value) ALLOWED(call)
#define CALL(call)
#include "box/confine_calls.def"
#undef UNLESS
#undef UNLESS_BITS
#undef ONLY_IF
#undef CALL
/* then the calls that are always allowed. */
#define UNLESS(call, arg, value)
#define UNLESS_BITS(call, arg, bits)
#define ONLY_IF(call, arg, value)
#define CALL(call) ALLOWED(call)
#include "box/confine_calls.def"
	JUMP(BPF_JGE, X32_CALLS, 1, 0),
	JUMP(BPF_JGE, FIRST_YOUNG_CALL, 1, 0),
	REFUSE(EPERM),
	REFUSE(ENOSYS),
};

int as_confine_calls(void)
{
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]),
				      (struct sock_filter *)(void *)filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return -errno;
	return 0;
}
