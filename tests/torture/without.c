/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * without NUMBER... -- COMMAND...: runs a command on a kernel that seems not to have these system
 * calls: they answer EPERM (unshare) or ENOSYS (the others). It shows what the other layers of the
 * sandbox do when one is missing.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_MAX 32

int main(int argc, char **argv)
{
	struct sock_filter filter[2 * CALLS_MAX + 2] = { BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { 1, filter };
	int i = 1;

	for (; i < argc && i < CALLS_MAX && strcmp(argv[i], "--"); i++) {
		unsigned nr = (unsigned)atoi(argv[i]);
		unsigned answer = SECCOMP_RET_ERRNO | (nr == SYS_unshare ? EPERM : ENOSYS);

		filter[program.len++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (i + 1 >= argc)
		return 2;
	if ((geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return 2;
	}
	execvp(argv[i + 1], argv + i + 1);
	perror(argv[i + 1]);
	return 127;
}
