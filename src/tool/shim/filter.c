/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter: a seccomp filter that refuses every system call which could change something other than
 * the disk, communicate with others, or leave the process group, however the program makes the
 * call. It is installed once, in the server, and every run inherits it. It lists what is refused,
 * not what is allowed: checkers have bugs but are not hostile, and a checker that needs a new
 * harmless call should not fail because of it.
 *
 * The server itself must put each run into a group of its own. setpgid takes two arguments; the
 * server gives a secret as a third one, which the kernel ignores and the filter can see.
 */
#include "tool/shim/shim.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY(errnum) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define IF_BITS(bits, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, then, otherwise)
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* These are refused with EACCES. */
static const unsigned short changes[] = {
	SYS_creat,
	SYS_unlink,
	SYS_unlinkat,
	SYS_rename,
	SYS_renameat,
	SYS_renameat2,
	SYS_mkdir,
	SYS_mkdirat,
	SYS_rmdir,
	SYS_mknod,
	SYS_mknodat,
	SYS_link,
	SYS_linkat,
	SYS_symlink,
	SYS_symlinkat,
	SYS_chmod,
	SYS_fchmodat,
	SYS_chown,
	SYS_lchown,
	SYS_fchownat,
	SYS_truncate,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_execve,
	SYS_execveat,
	SYS_setsid,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_fsopen,
	SYS_fsmount,
	SYS_fspick,
	SYS_fsconfig,
	SYS_open_tree,
	SYS_move_mount,
	SYS_swapon,
	SYS_swapoff,
	SYS_reboot,
	SYS_ptrace,
	SYS_bpf,
	SYS_shmget,
	SYS_msgget,
	SYS_semget,
	SYS_mq_open,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_acct,
	SYS_quotactl,
	SYS_finit_module,
	SYS_delete_module,
	SYS_sethostname,
	SYS_pidfd_getfd,
	SYS_process_vm_writev,
	SYS_perf_event_open,
	SYS_open_by_handle_at,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_adjtimex,
	SYS_clock_adjtime,
	SYS_kexec_load,
	SYS_kexec_file_load,
};

/* These are refused as by a kernel that lacks them, so that programs use other calls, which we can
 * see. */
static const unsigned short absent[] = { SYS_openat2, SYS_io_uring_setup, SYS_io_setup,
					 SYS_userfaultfd };

#define N_CHANGES (sizeof(changes) / sizeof(changes[0]))
#define N_ABSENT (sizeof(absent) / sizeof(absent[0]))
#define ARG(n) args[n]

bool shim_filter_install(uint64_t secret)
{
	const struct sock_filter head[] = {
		LOAD(arch),
		IF(AUDIT_ARCH_X86_64, 1, 0),
		DENY(EACCES),
		LOAD(nr),
		/* open(path, flags), openat(dir, path, flags) */
		IF(SYS_open, 0, 2),
		LOAD(ARG(1)),
		BPF_JUMP(BPF_JMP | BPF_JA, 2, 0, 0),
		IF(SYS_openat, 0, 4),
		LOAD(ARG(2)),
		IF_BITS(WRITES, 0, 1),
		DENY(EACCES),
		ALLOW,
		/* setpgid(pid, group), and the secret */
		IF(SYS_setpgid, 0, 6),
		LOAD(ARG(2)),
		IF((uint32_t)secret, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) + 4),
		IF((uint32_t)(secret >> 32), 0, 1),
		ALLOW,
		DENY(EPERM),
	};
	enum { N_HEAD = sizeof(head) / sizeof(head[0]) };
	struct sock_filter code[N_HEAD + 2 * (N_CHANGES + N_ABSENT) + 1];
	struct sock_fprog prog = { .filter = code };
	unsigned n = 0;

	for (unsigned i = 0; i < N_HEAD; i++)
		code[n++] = head[i];
	for (unsigned i = 0; i < N_CHANGES; i++) {
		code[n++] = (struct sock_filter)IF(changes[i], 0, 1);
		code[n++] = (struct sock_filter)DENY(EACCES);
	}
	for (unsigned i = 0; i < N_ABSENT; i++) {
		code[n++] = (struct sock_filter)IF(absent[i], 0, 1);
		code[n++] = (struct sock_filter)DENY(ENOSYS);
	}
	code[n++] = (struct sock_filter)ALLOW;
	prog.len = (unsigned short)n;
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}
