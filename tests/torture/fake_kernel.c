/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_kernel: a "kernel" for `--uml` that does not boot anything: it tries to get out of the
 * sandbox in every way we could think of. Each try is reported as a note over the wire of the
 * engine (descriptor 3): "refused NAME: ERRNO" or "ALLOWED NAME". What only shows that something
 * outside exists is "SEEN NAME": namespaces hide it, Landlock cannot.
 *
 * Its own path tells it what it needs to know, as all else is fixed: .../escape-PID, where PID is a
 * process of the same user outside, and .../canary/ beside it has files that it must not touch.
 */
#include <asm/ioctls.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char share[4096] = "/share", home[4096] = "/mem", canary[4096], secret[4200];
static pid_t victim;

static void note(const char *fmt, ...)
{
	char text[1024], line[1200];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = snprintf(line, sizeof(line), "{\"event\":\"note\",\"text\":\"%s\"}\n", text);
	if (write(3, line, (size_t)n) != n)
		_exit(9);
}

/* Reports what a call returned: it should be -1. */
static void tell(const char *name, long ret)
{
	if (ret == -1)
		note("refused %s: %s", name, strerrorname_np(errno));
	else
		note("ALLOWED %s (%ld)", name, ret);
}

#define TRY(name, call)                   \
	do {                              \
		errno = 0;                \
		tell(name, (long)(call)); \
	} while (0)
#define SEE(name, call)                                                       \
	do {                                                                  \
		if ((long)(call) == -1)                                       \
			note("refused %s: %s", name, strerrorname_np(errno)); \
		else                                                          \
			note("SEEN %s", name);                                \
	} while (0)

static const char *in(const char *folder, const char *name)
{
	static char path[4][8300];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", folder, name);
	return path[i];
}

static long try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : fd;
}

static long try_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char byte;
	long n = fd < 0 ? -1 : read(fd, &byte, 1);

	if (fd >= 0)
		close(fd);
	return n > 0 ? n : -1;
}

static long try_list(const char *path)
{
	DIR *dir = opendir(path);
	long n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	errno = ENOENT;
	return n > 3 ? n : -1; /* /etc has one file for the libraries */
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void nodes(void)
{
	static const struct {
		const char *name;
		mode_t type;
		unsigned major, minor;
	} kinds[] = { { "block node", S_IFBLK, 8, 0 }, { "block node of a loop", S_IFBLK, 7, 0 },
		      { "char node", S_IFCHR, 1, 1 },  { "char node of null", S_IFCHR, 1, 3 },
		      { "pipe", S_IFIFO, 0, 0 },       { "socket node", S_IFSOCK, 0, 0 } };
	const char *const places[] = { share, home, "/tmp", canary };
	char name[8500];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (size_t j = 0; j < 4; j++) {
			dev_t dev = makedev(kinds[i].major, kinds[i].minor);
			const char *path = in(places[j], "node");

			snprintf(name, sizeof(name), "%s in %s", kinds[i].name, places[j]);
			TRY(name, mknod(path, kinds[i].type | 0600, dev));
			TRY(name, syscall(SYS_mknodat, AT_FDCWD, path, kinds[i].type | 0600, dev));
		}
}

static void devices(void)
{
	static const char *const paths[] = {
		"/dev/mem",	     "/dev/kmem",	 "/dev/port",	 "/dev/kmsg",
		"/dev/vda",	     "/dev/sda",	 "/dev/nvme0n1", "/dev/loop0",
		"/dev/fuse",	     "/dev/kvm",	 "/dev/tty",	 "/dev/console",
		"/dev/ptmx",	     "/dev/pts/0",	 "/dev/zero",	 "/dev/urandom",
		"/dev/loop-control", "/dev/net/tun",	 "/dev/rtc0",	 "/dev/snapshot",
		"/dev/vhost-net",    "/dev/userfaultfd", "/dev/tty0",	 "/dev/full"
	};
	char name[128];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(name, sizeof(name), "open %s to write", paths[i]);
		TRY(name, try_open(paths[i], O_RDWR));
		snprintf(name, sizeof(name), "open %s to read", paths[i]);
		TRY(name, try_open(paths[i], O_RDONLY));
	}
	TRY("list /dev/shm", try_list("/dev/shm"));
	for (int fd = 0; fd < 5; fd++) {
		snprintf(name, sizeof(name), "type on descriptor %d", fd);
		TRY(name, ioctl(fd, TIOCSTI, "x"));
	}
}

static void attributes(void)
{
	const char *const paths[] = { secret, canary, "/linux", "/", "/lib", "/etc/passwd" };
	const struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	char name[8500];
	int fd;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(name, sizeof(name), "chmod %s", paths[i]);
		TRY(name, chmod(paths[i], 04777));
		TRY(name, syscall(SYS_fchmodat, AT_FDCWD, paths[i], 0777));
		TRY(name, syscall(452, AT_FDCWD, paths[i], 0777, 0)); /* fchmodat2 */
		snprintf(name, sizeof(name), "chown %s", paths[i]);
		TRY(name, chown(paths[i], 0, 0));
		TRY(name, lchown(paths[i], getuid(), getgid()));
		snprintf(name, sizeof(name), "set times of %s", paths[i]);
		TRY(name, utimensat(AT_FDCWD, paths[i], times, 0));
		snprintf(name, sizeof(name), "set an attribute of %s", paths[i]);
		TRY(name, syscall(SYS_setxattr, paths[i], "user.x", "x", 1, 0));
		snprintf(name, sizeof(name), "truncate %s", paths[i]);
		TRY(name, truncate(paths[i], 0));
		snprintf(name, sizeof(name), "open %s to write", paths[i]);
		TRY(name, try_open(paths[i], O_WRONLY));
	}
	TRY("a new file with the setuid bit", open(in(share, "suid"), O_CREAT | O_WRONLY, 04755));
	fd = open(in(share, "plain"), O_CREAT | O_RDWR, 0755);
	TRY("set the setuid bit", fchmod(fd, 06755));
	close(fd);
}

static void outside(void)
{
	static const char *const reads[] = {
		"/etc/shadow",	     "/etc/passwd",	 "/root/.ssh/id_rsa",
		"/root/.bashrc",     "/etc/hostname",	 "/etc/ssl/openssl.cnf",
		"/var/log/dpkg.log", "/boot/System.map", "/bin/sh"
	};
	static const char *const lists[] = { "/root", "/home", "/etc",	"/tmp",
					     "/var",  "/run",  "/boot", "/sys" };
	static const char *const folders[] = { "/",    "/lib",	   "/usr/lib", "/tmp",
					       "/etc", "/root",	   "/proc",    "/sys",
					       "/dev", "/var/tmp", "/run" };
	static const char *const knobs[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
		"/proc/sys/vm/drop_caches",	 "/sys/kernel/uevent_helper", "/proc/self/uid_map",
		"/proc/self/oom_score_adj"
	};
	char name[8500];

	TRY("read the canary", try_open(secret, O_RDONLY));
	SEE("stat of the canary", access(secret, F_OK));
	SEE("path of the canary", try_open(secret, O_PATH));
	TRY("list the canary's folder", try_list(canary));
	TRY("write beside the canary", try_open(in(canary, "planted"), O_CREAT | O_WRONLY));
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		snprintf(name, sizeof(name), "read %s", reads[i]);
		TRY(name, try_open(reads[i], O_RDONLY));
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		snprintf(name, sizeof(name), "list %s", lists[i]);
		TRY(name, try_list(lists[i]));
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(name, sizeof(name), "write in %s", folders[i]);
		TRY(name, try_open(in(folders[i], "assay-planted"), O_CREAT | O_WRONLY));
		snprintf(name, sizeof(name), "make a folder in %s", folders[i]);
		TRY(name, mkdir(in(folders[i], "assay-planted"), 0700));
		snprintf(name, sizeof(name), "make a nameless file in %s", folders[i]);
		TRY(name, try_open(folders[i], O_TMPFILE | O_RDWR));
	}
	for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
		snprintf(name, sizeof(name), "write to %s", knobs[i]);
		TRY(name, try_open(knobs[i], O_WRONLY));
	}
}

static void links(void)
{
	const char *const places[] = { canary, "/tmp", "/", home };
	char name[8500];
	int fd;

	close(open(in(share, "mine"), O_CREAT | O_WRONLY, 0600));
	TRY("hard link to the canary", link(secret, in(share, "linked")));
	TRY("symbolic link in the share", symlink(secret, in(share, "sym")));
	TRY("symbolic link in the share", symlinkat("/etc/shadow", AT_FDCWD, in(share, "sym")));
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "hard link into %s", places[i]);
		TRY(name, link(in(share, "mine"), in(places[i], "moved")));
		snprintf(name, sizeof(name), "rename into %s", places[i]);
		if (strcmp(places[i], home))
			TRY(name, rename(in(share, "mine"), in(places[i], "moved")));
		TRY(name, syscall(SYS_renameat2, AT_FDCWD, in(share, "mine"), AT_FDCWD,
				  in(canary, "secret"), RENAME_EXCHANGE));
	}
	TRY("remove the canary", unlink(secret));
	TRY("remove the canary's folder", rmdir(canary));
	fd = open(share, O_RDONLY | O_DIRECTORY);
	TRY("climb out by ..", openat(fd, "../../../../../../etc/shadow", O_RDONLY));
	SEE("climb up by ..", openat(fd, "../../../../../../root", O_PATH));
	close(fd);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void processes(void)
{
	static const char *const files[] = { "mem",  "environ", "maps", "root/etc/passwd",
					     "cwd/", "fd/0",	"auxv", "syscall",
					     "stack" };
	pid_t pids[] = { victim, getppid(), 1 };
	struct rlimit limits = { 0, 0 };
	struct iovec iov = { &limits, sizeof(limits) };
	cpu_set_t one = { { 1 } };
	char path[128], name[256];

	for (size_t i = 0; i < 3; i++) {
		pid_t pid = pids[i];

		if (pid <= 0)
			continue;
		for (size_t j = 0; j < sizeof(files) / sizeof(files[0]); j++) {
			snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[j]);
			snprintf(name, sizeof(name), "open /proc/%s/%s",
				 i == 0	  ? "VICTIM"
				 : i == 1 ? "PARENT"
					  : "1",
				 files[j]);
			TRY(name, try_read(path));
		}
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		TRY("write memory of another", try_open(path, O_RDWR));
		TRY("ptrace attach", ptrace(PTRACE_ATTACH, pid, 0, 0));
		TRY("ptrace seize", ptrace(PTRACE_SEIZE, pid, 0, 0));
		TRY("process_vm_readv", process_vm_readv(pid, &iov, 1, &iov, 1, 0));
		TRY("process_vm_writev", process_vm_writev(pid, &iov, 1, &iov, 1, 0));
		TRY("prlimit of another", prlimit(pid, RLIMIT_NOFILE, &limits, NULL));
		TRY("affinity of another", sched_setaffinity(pid, sizeof(one), &one));
		TRY("priority of another", setpriority(PRIO_PROCESS, (id_t)pid, 19));
		TRY("pidfd of another", syscall(SYS_pidfd_open, pid, 0));
		TRY("kcmp", syscall(SYS_kcmp, getpid(), pid, 0, 0, 0));
		TRY("move pages of another", syscall(SYS_migrate_pages, pid, 0, 0, 0));
	}
	if (victim > 0) {
		TRY("signal 0 to another", kill(victim, 0));
		TRY("kill another", kill(victim, SIGKILL));
		TRY("tgkill another", syscall(SYS_tgkill, victim, victim, SIGKILL));
		TRY("queue a signal", syscall(SYS_rt_sigqueueinfo, victim, SIGKILL, &limits));
		TRY("kill its group", kill(-victim, SIGKILL));
	}
}

static void rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct all[2] = { { ~0u, ~0u, ~0u }, { ~0u, ~0u, ~0u } };
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");
	gid_t root = 0;

	TRY("setuid 0", setuid(0));
	TRY("setgid 0", setgid(0));
	TRY("setresuid 0", setresuid(0, 0, 0));
	TRY("setgroups", setgroups(1, &root));
	TRY("capset", syscall(SYS_capset, &head, all));
	TRY("be root", getuid() && geteuid() && getgid() && getegid() ? -1 : 0);
	while (status && fgets(line, sizeof(line), status)) {
		line[strcspn(line, "\n")] = '\0';
		for (char *s = line; *s; s++)
			*s = *s == '\t' ? ' ' : *s;
		if (!strncmp(line, "CapBnd", 6))
			SEE(line, strstr(line, ": 0000000000000000") ? -1 : 0);
		else if (!strncmp(line, "Cap", 3))
			TRY(line, strstr(line, ": 0000000000000000") ? -1 : 0);
		if (!strncmp(line, "NoNewPrivs:", 11))
			TRY(line, strstr(line, " 1") ? -1 : 0);
		if (!strncmp(line, "CapEff", 6) || !strncmp(line, "Uid", 3) ||
		    !strncmp(line, "Groups", 6) || !strncmp(line, "Seccomp", 7))
			note("is %s", line);
	}
	if (status)
		fclose(status);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void sockets(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET };
	char name[64];
	int fds[2];

	for (int family = 0; family < 46; family++)
		for (size_t i = 0; i < 4; i++) {
			snprintf(name, sizeof(name), "socket of family %d type %d", family,
				 types[i]);
			TRY(name, socket(family, types[i], 0));
		}
	TRY("socketpair of TIPC", socketpair(30, SOCK_STREAM, 0, fds));
	/* An end of a pair is a socket, too: it must not reach what listens outside. */
	if (!socketpair(AF_UNIX, SOCK_DGRAM, 0, fds)) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };
		socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					    (size_t)snprintf(to.sun_path + 1, 64, "assay-canary-%d",
							     victim));

		TRY("connect an end of a pair", connect(fds[0], (void *)&to, len));
		TRY("bind an end of a pair", bind(fds[0], (void *)&to, len));
		TRY("send to an abstract socket",
		    sendto(fds[0], "x", 1, MSG_NOSIGNAL, (void *)&to, len));
	}
}

static void spaces(void)
{
	static const struct {
		const char *name;
		int flag;
	} kinds[] = { { "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },
		      { "pid", CLONE_NEWPID },	 { "net", CLONE_NEWNET },
		      { "ipc", CLONE_NEWIPC },	 { "uts", CLONE_NEWUTS },
		      { "time", 0x80 },		 { "cgroup", CLONE_NEWCGROUP } };
	struct {
		uint64_t flags, rest[10];
	} args = { .flags = CLONE_NEWUSER, .rest = { 0, 0, 0, SIGCHLD } };
	char path[64], name[96];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int fd;

		snprintf(name, sizeof(name), "unshare %s", kinds[i].name);
		TRY(name, unshare(kinds[i].flag));
		if (kinds[i].flag != 0x80) {
			long pid;

			snprintf(name, sizeof(name), "clone into a new %s", kinds[i].name);
			pid = syscall(SYS_clone, kinds[i].flag | SIGCHLD, 0, 0, 0, 0);
			if (!pid)
				_exit(0);
			TRY(name, pid);
		}
		for (int j = 0; j < 2; j++) {
			snprintf(path, sizeof(path), "/proc/%s/ns/%s", j ? "1" : "self",
				 kinds[i].name);
			fd = open(path, O_RDONLY);
			snprintf(name, sizeof(name), "setns to %s", path);
			TRY(name, fd < 0 ? -1 : setns(fd, 0));
		}
	}
	{
		long pid = syscall(SYS_clone3, &args, sizeof(args));

		if (!pid)
			_exit(0);
		TRY("clone3", pid);
	}
}

static void mounts(void)
{
	TRY("mount tmpfs", mount("x", share, "tmpfs", 0, NULL));
	TRY("mount proc", mount("x", share, "proc", 0, NULL));
	TRY("bind mount", mount("/", share, NULL, MS_BIND | MS_REC, NULL));
	TRY("remount the root", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	TRY("umount", umount2("/proc", MNT_DETACH));
	TRY("umount /lib", umount2("/lib", MNT_DETACH));
	TRY("chroot", chroot(share));
	TRY("pivot_root", syscall(SYS_pivot_root, share, share));
	TRY("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	TRY("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
	TRY("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, share, 0));
	TRY("mount_setattr", syscall(442, AT_FDCWD, "/", 0, NULL, 0));
}

static void privileged(void)
{
	static const struct {
		const char *name;
		long nr;
	} calls[] = {
		{ "bpf", SYS_bpf },
		{ "perf_event_open", SYS_perf_event_open },
		{ "keyctl", SYS_keyctl },
		{ "add_key", SYS_add_key },
		{ "request_key", SYS_request_key },
		{ "io_uring_setup", SYS_io_uring_setup },
		{ "io_uring_enter", SYS_io_uring_enter },
		{ "userfaultfd", SYS_userfaultfd },
		{ "kexec_load", SYS_kexec_load },
		{ "kexec_file_load", SYS_kexec_file_load },
		{ "init_module", SYS_init_module },
		{ "finit_module", SYS_finit_module },
		{ "delete_module", SYS_delete_module },
		{ "open_by_handle_at", SYS_open_by_handle_at },
		{ "name_to_handle_at", SYS_name_to_handle_at },
		{ "swapon", SYS_swapon },
		{ "swapoff", SYS_swapoff },
		{ "sethostname", SYS_sethostname },
		{ "setdomainname", SYS_setdomainname },
		{ "settimeofday", SYS_settimeofday },
		{ "clock_settime", SYS_clock_settime },
		{ "clock_adjtime", SYS_clock_adjtime },
		{ "adjtimex", SYS_adjtimex },
		{ "acct", SYS_acct },
		{ "quotactl", SYS_quotactl },
		{ "syslog", SYS_syslog },
		{ "iopl", SYS_iopl },
		{ "ioperm", SYS_ioperm },
		{ "memfd_create", SYS_memfd_create },
		{ "fanotify_init", SYS_fanotify_init },
		{ "inotify_init", SYS_inotify_init },
		{ "mq_open", SYS_mq_open },
		{ "shmget", SYS_shmget },
		{ "semget", SYS_semget },
		{ "msgget", SYS_msgget },
		{ "vhangup", SYS_vhangup },
		{ "mlockall", SYS_mlockall },
		{ "sched_setscheduler", SYS_sched_setscheduler },
		{ "setsid", SYS_setsid },
		{ "sync", SYS_sync },
		{ "syncfs", SYS_syncfs },
		{ "sendfile", SYS_sendfile },
		{ "splice", SYS_splice },
		{ "tee", SYS_tee },
		{ "vmsplice", SYS_vmsplice },
		{ "pkey_alloc", SYS_pkey_alloc },
		{ "landlock_create_ruleset", 444 },
		{ "memfd_secret", 447 },
		{ "process_madvise", 440 },
		{ "process_mrelease", 448 },
		{ "pidfd_getfd", 438 },
		{ "pidfd_send_signal", 424 },
		{ "openat2", 437 },
		{ "listmount", 458 },
		{ "statmount", 457 },
		{ "quotactl_fd", 443 },
		{ "a call of x32", 0x40000000 + 41 },
		{ "a call that does not exist", 9999 },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		TRY(calls[i].name, syscall(calls[i].nr, 1L, 0L, 0L, 0L, 0L, 0L));
}

/* ---- Greed ----------------------------------------------------------------------------------- */

static void fork_bomb(void)
{
	pid_t group[5000];
	unsigned n = 0;

	while (n < 5000) {
		pid_t pid = fork();

		if (!pid) {
			for (;;)
				pause();
		}
		if (pid < 0)
			break;
		group[n++] = pid;
	}
	note("%s a fork bomb: %u processes", n == 5000 ? "ALLOWED" : "refused", n);
	while (n--) {
		kill(group[n], SIGKILL);
		waitpid(group[n], NULL, 0);
	}
}

static void fill_disk(void)
{
	unsigned long long total = 0;
	char name[64];
	int fd = open(in(share, "huge"), O_CREAT | O_WRONLY, 0600);

	signal(SIGXFSZ, SIG_IGN);
	TRY("a file of 1 TiB", ftruncate(fd, 1LL << 40));
	TRY("a file of 64 GiB", fallocate(fd, 0, 0, 64LL << 30));
	close(fd);
	unlink(in(share, "huge"));
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "fill%d", i);
		fd = open(in(share, name), O_CREAT | O_WRONLY, 0600);
		if (fd < 0 || fallocate(fd, 0, 0, 128 << 20))
			break;
		total += 128 << 20;
		close(fd);
	}
	note("%s filling the disk: %llu MiB", total >= 8ull << 30 ? "SEEN" : "refused",
	     total >> 20);
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "fill%d", i);
		unlink(in(share, name));
	}
}

/* It does not return if all is well. */
static void hog_memory(void)
{
	size_t step = 32 << 20, total = 0;

	note("begins to take memory");
	for (int i = 0; i < 60; i++) {
		char *p = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			break;
		memset(p, 1, step);
		total += step;
		usleep(50000); /* as fast as that it is to be noticed */
	}
	note("%s taking %zu MiB of memory", total >= (size_t)60 * step ? "SEEN" : "refused",
	     total >> 20);
}

static void read_words(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *dash = strrchr(argv[0], '-');

	snprintf(canary, sizeof(canary), "%.*s/canary", (int)(slash - argv[0]), argv[0]);
	snprintf(secret, sizeof(secret), "%s/secret", canary);
	victim = dash && dash > slash ? atoi(dash + 1) : 0;
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "hostfs=", 7))
			snprintf(share, sizeof(share), "%s", argv[i] + 7);
		if (!strncmp(argv[i], "uml_dir=", 8))
			snprintf(home, sizeof(home), "%.*s", (int)strlen(argv[i] + 8) - 1,
				 argv[i] + 8);
	}
}

/* Without it nothing else is heard. */
static void say_hello(void)
{
	static const char hello[] = "{\"event\":\"hello\",\"wire\":3}\n";

	if (write(3, hello, sizeof(hello) - 1) < 0)
		_exit(9);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("6.1.0");
		return 0;
	}
	read_words(argc, argv);
	say_hello();
	rights();
	nodes();
	devices();
	attributes();
	outside();
	links();
	processes();
	sockets();
	spaces();
	mounts();
	privileged();
	fork_bomb();
	fill_disk();
	note("all was tried");
	hog_memory();
	return 3;
}
