/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shield: see shield.h.
 *
 * Method. A seccomp filter looks at the calls that send a signal to a process by its number, and at
 * the one that opens a process. The numbers of all ancestors, of their groups, and -1, which is
 * everybody, are parts of the filter. Asking whether a process is there (signal 0) is allowed.
 *
 * What it does not do: processes that are no ancestors (workers beside this one), ptrace.
 */
#include "os/shield.h"

#include "base/buf.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define ANCESTORS_MAX 24
#define NUMBERS_MAX (3 * ANCESTORS_MAX + 1)
#define CALLS_MAX 6
#define PROGRAM_MAX (CALLS_MAX * (2 * NUMBERS_MAX + 8) + 8)
#define NO_SIGNAL (-1)

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, what)
#define IS(value, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, no)

static const struct {
	unsigned call;
	int signal; /* the argument that is the signal */
} calls[] = {
	{ SYS_kill, 1 },
	{ SYS_tkill, 1 },
	{ SYS_tgkill, 2 },
	{ SYS_rt_sigqueueinfo, 1 },
	{ SYS_rt_tgsigqueueinfo, 2 },
	{ SYS_pidfd_open, NO_SIGNAL },
};

struct program {
	struct sock_filter code[PROGRAM_MAX];
	size_t n;
};

static void emit(struct program *p, struct sock_filter code)
{
	as_assert(p->n < PROGRAM_MAX);
	p->code[p->n++] = code;
}

/* The parent of a process; 0: it has none that we see. */
static pid_t parent_of(pid_t pid)
{
	struct as_buf path = { 0 }, text = { 0 };
	const char *name_end;
	pid_t parent = 0;

	as_buf_addf(&path, "/proc/%d/stat", (int)pid);
	if (!as_buf_read_file(&text, as_buf_str(&path), 4096, NULL)) {
		/* `pid (name) state parent ...`; the name may have anything in it. */
		name_end = strrchr(as_buf_str(&text), ')');
		if (name_end && strlen(name_end) > 4)
			parent = (pid_t)atol(name_end + 4);
	}
	as_buf_free(&path);
	as_buf_free(&text);
	return parent;
}

static size_t list_numbers(pid_t *numbers)
{
	size_t n = 0, ancestors = 0;

	numbers[n++] = -1;
	for (pid_t pid = getppid(); pid > 0 && ancestors < ANCESTORS_MAX; pid = parent_of(pid)) {
		numbers[n++] = pid;
		numbers[n++] = -pid;
		numbers[n++] = -getpgid(pid);
		ancestors++;
	}
	return n;
}

static void add_call(struct program *p, unsigned call, int signal, const pid_t *numbers, size_t n)
{
	size_t length = 2 * n + 2 + (signal == NO_SIGNAL ? 0 : 3);

	emit(p, (struct sock_filter)IS(call, (unsigned char)length));
	if (signal != NO_SIGNAL) {
		emit(p, (struct sock_filter)LOAD(args[signal]));
		emit(p, (struct sock_filter)IS(0, 1));
		emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
	}
	emit(p, (struct sock_filter)LOAD(args[0]));
	for (size_t i = 0; i < n; i++) {
		emit(p, (struct sock_filter)IS(numbers[i], 1));
		emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_TRAP));
	}
	emit(p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
}

void as_shield_ancestors(void)
{
	static pid_t shielded;
	struct program p = { .n = 0 };
	pid_t numbers[NUMBERS_MAX];
	struct sock_fprog program;
	size_t n;

	if (shielded == getpid())
		return;
	shielded = getpid();
	n = list_numbers(numbers);
	emit(&p, (struct sock_filter)LOAD(arch));
	emit(&p, (struct sock_filter)IS(AUDIT_ARCH_X86_64, 1));
	emit(&p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	emit(&p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
	emit(&p, (struct sock_filter)LOAD(nr));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		add_call(&p, calls[i].call, calls[i].signal, numbers, n);
	emit(&p, (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW));
	program = (struct sock_fprog){ (unsigned short)p.n, p.code };
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
			      &program);
}
