/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jail: see jail.h.
 *
 * Method. Root makes the namespaces and mounts the root of the jail with the rights it has. An
 * ordinary user gets these rights in a user namespace, in which no other user is mapped. Then all
 * rights are dropped, and the program is started.
 *
 * Invariants
 *   1. The program never has uid 0 of the machine, nor a capability in any namespace, nor a way to
 *      a new user namespace (clone, unshare and setns are refused).
 *   2. Everything of the machine that it sees is mounted read-only. What it can write to is in
 *      memory, is bounded, and disappears with the last process or descriptor that uses it.
 *   3. The process that waits for it is the first of its namespace and is not confined. It can be
 *      neither traced nor killed from inside, and when it ends all others end.
 */
#include "box/jail.h"

#include "os/userns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)
/* These are above all numbers that distributions and containers assign. */
#define UID_FIRST 0x70000000u
/* In a container not every number is mapped. These belong to nobody, either. */
#define UID_SMALL_FIRST 60600u
#define UID_SMALL_COUNT 500u
#define PROCESSES_MAX 1024
#define DESCRIPTORS_MAX 4096
#define INODES_MAX "65536"
#define STAGE "/tmp" /* any folder that is always there */

static int failed(struct as_jail_report *report, const char *what)
{
	report->error = errno ? errno : EIO;
	snprintf(report->what, sizeof(report->what), "%s", what);
	return -1;
}

/* Whether the number is mapped to a user: in a container not all are. */
static bool is_mapped(uid_t uid)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned long first, outside, count;
	bool mapped = !file;

	while (file && !mapped && fscanf(file, "%lu %lu %lu", &first, &outside, &count) == 3)
		mapped = uid >= first && uid - first < count;
	if (file)
		fclose(file);
	return mapped;
}

uid_t as_jail_uid(pid_t pid)
{
	uid_t uid = UID_FIRST + (uid_t)pid;
	uid_t small = UID_SMALL_FIRST + (uid_t)pid % UID_SMALL_COUNT;

	if (geteuid())
		return geteuid();
	return is_mapped(uid) ? uid : is_mapped(small) ? small : 0;
}

/* ---- Namespaces ------------------------------------------------------------------------------ */

/* The number that we have in a namespace of our own. In a container that maps no other user, its
 * root is an ordinary user outside. */
static unsigned inside(unsigned id)
{
	return id ? id : UID_SMALL_FIRST;
}

int as_jail_unshare(struct as_jail_report *report)
{
	bool entered;

	if (!geteuid() && report->uid)
		return unshare(SPACES) ? failed(report, "namespaces") : 0;
	/* A process that has changed its user cannot write to its own files in /proc. */
	prctl(PR_SET_DUMPABLE, 1);
	if (as_userns_unshare(SPACES, inside(geteuid()), inside(getegid()), &entered))
		return failed(report, entered ? "the user in a namespace" : "user namespaces");
	return 0;
}

/* ---- A root ---------------------------------------------------------------------------------- */

/* Makes the folders above a path, and at the path a folder or an empty file. */
static bool make_place(const char *path, bool folder)
{
	char part[4096];
	int fd;

	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return false;
	for (char *s = strchr(part + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(part, 0755) && errno != EEXIST)
			return false;
		*s = '/';
	}
	if (folder)
		return !mkdir(part, 0755) || errno == EEXIST;
	fd = open(part, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	return fd >= 0 && !close(fd);
}

/* Flags that a user namespace may not clear must be given again. */
static unsigned long locked_flags(const char *path)
{
	static const struct {
		unsigned long shown, mount;
	} flags[] = { { ST_NOSUID, MS_NOSUID },		{ ST_NODEV, MS_NODEV },
		      { ST_NOEXEC, MS_NOEXEC },		{ ST_NOATIME, MS_NOATIME },
		      { ST_NODIRATIME, MS_NODIRATIME }, { ST_RELATIME, MS_RELATIME } };
	struct statvfs sfs;
	unsigned long mount = 0;

	if (statvfs(path, &sfs))
		return 0;
	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (sfs.f_flag & flags[i].shown)
			mount |= flags[i].mount;
	return mount;
}

/* Mounts what `fd` is outside at `at` in the new root, read-only. */
static bool bind(int fd, const char *at, bool writable)
{
	char from[32], to[4096];
	struct stat st;

	if (fstat(fd, &st))
		return false;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	snprintf(to, sizeof(to), STAGE "%s", at);
	if (!make_place(to, S_ISDIR(st.st_mode)) || mount(from, to, NULL, MS_BIND | MS_REC, NULL))
		return false;
	return writable ||
	       !mount(NULL, to, NULL,
		      MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | locked_flags(to), NULL);
}

/* The jail runs as another user: a program that others may not read or run is copied. */
static bool copy_program(int from)
{
	int to = open(STAGE AS_JAIL_PROGRAM, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0755);
	char link[32];
	ssize_t n = -1;
	int in;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", from);
	in = open(link, O_RDONLY | O_CLOEXEC);
	while (to >= 0 && in >= 0 && (n = sendfile(to, in, NULL, (size_t)1 << 30)) > 0)
		;
	if (in >= 0)
		close(in);
	return to >= 0 && !fchmod(to, 0755) && !close(to) && !n;
}

static bool put_program(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (!geteuid() && (st.st_mode & 05) != 05)
		return copy_program(fd);
	return bind(fd, AS_JAIL_PROGRAM, false);
}

/* A folder in memory. The jail can write only to such folders: everything else is read-only. */
static bool make_own(const char *path, uid_t uid, unsigned long flags)
{
	return !mkdir(path, 0700) && (geteuid() || !chown(path, uid, uid)) &&
	       !mount(path, path, NULL, MS_BIND, NULL) &&
	       !mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | flags, NULL);
}

#define FILES_MAX 16

/* The files must be opened before the new root hides them. */
static int open_all(const struct as_jail *jail, int fds[FILES_MAX])
{
	for (int i = 0; i < FILES_MAX && jail->files[i].path; i++)
		fds[i] = open(jail->files[i].path, O_PATH | O_CLOEXEC);
	return open(jail->program, O_PATH | O_CLOEXEC);
}

static bool mount_stage(const struct as_jail *jail)
{
	char options[128];

	snprintf(options, sizeof(options), "mode=0755,size=%llu,nr_inodes=" INODES_MAX,
		 (unsigned long long)jail->quota_bytes);
	return !mount("assay", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static bool enter_stage(void)
{
	const unsigned long shut = MS_RDONLY | MS_NOSUID | MS_NODEV;

	return !chdir(STAGE) && !mkdir("proc", 0755) &&
	       !mount("proc", "proc", "proc", shut | MS_NOEXEC, NULL) &&
	       !mount(NULL, STAGE, NULL, MS_REMOUNT | MS_BIND | shut, NULL) &&
	       !syscall(SYS_pivot_root, ".", ".") && !umount2(".", MNT_DETACH) && !chdir("/");
}

int as_jail_build(const struct as_jail *jail, struct as_jail_report *report)
{
	int fds[FILES_MAX], program;
	unsigned n = 0;

	/* Another user must be able to enter these folders, whatever the umask was. */
	umask(022);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return failed(report, "private mounts");
	program = open_all(jail, fds);
	if (program < 0)
		return failed(report, jail->program);
	if (!mount_stage(jail))
		return failed(report, "a file system in memory");
	for (; n < FILES_MAX && jail->files[n].path; n++)
		if (fds[n] >= 0 &&
		    !bind(fds[n], jail->files[n].path, jail->files[n].rights & AS_CONFINE_WRITE))
			return failed(report, jail->files[n].path);
	if (!put_program(program))
		return failed(report, jail->program);
	if (!make_own(STAGE AS_JAIL_HOME, report->uid, 0) ||
	    !make_own(STAGE AS_JAIL_SHARE, report->uid, MS_NOEXEC))
		return failed(report, "its folders");
	if (!enter_stage())
		return failed(report, "a root of its own");
	report->layers |= AS_JAIL_SPACES;
	return 0;
}

int as_jail_hand_over(const struct as_jail *jail, struct as_jail_report *report)
{
	static const char *const own[] = { AS_JAIL_HOME, AS_JAIL_SHARE };
	char path[4096];

	if (geteuid())
		return 0;
	errno = EPERM;
	if (!report->uid)
		return failed(report, "root, who cannot become another user");
	if (chmod(jail->folder, 0711))
		return failed(report, jail->folder);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s%s", jail->folder, own[i]);
		if (chown(path, report->uid, report->uid))
			return failed(report, jail->folder);
	}
	return 0;
}

/* ---- Dropping -------------------------------------------------------------------------------- */

static bool limit(int resource, rlim_t value)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)resource, &now))
		return false;
	if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
		value = now.rlim_max;
	now.rlim_cur = now.rlim_max = value;
	return !setrlimit((__rlimit_resource_t)resource, &now);
}

/* The processes and threads that the user has already: the limit counts them, too. */
static rlim_t tasks_of_user(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	rlim_t n = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300];
		struct stat st;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", entry->d_name);
		if (!stat(path, &st) && st.st_uid == geteuid() && st.st_nlink > 2)
			n += st.st_nlink - 2;
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Lets the kernel kill us first when it lacks memory. If /proc is read-only, it decides itself. */
static void killed_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "1000", 4) != 4)
		errno = 0;
	if (fd >= 0)
		close(fd);
}

static int set_limits(const struct as_jail *jail, struct as_jail_report *report)
{
	bool alone = !geteuid() || report->layers & AS_JAIL_SPACES;

	if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, jail->file_bytes) ||
	    !limit(RLIMIT_NOFILE, DESCRIPTORS_MAX) || !limit(RLIMIT_MSGQUEUE, 0) ||
	    !limit(RLIMIT_RTPRIO, 0) || !limit(RLIMIT_NICE, 0) ||
	    !limit(RLIMIT_NPROC, PROCESSES_MAX + (alone ? 0 : tasks_of_user())))
		return failed(report, "limits");
	killed_first();
	report->layers |= AS_JAIL_LIMITS;
	return 0;
}

/* Capabilities are neither kept nor gained by running a program. This needs rights, so it is
 * done before the user changes. */
static void drop_bounds(void)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	/* A process that is not allowed to drop it does not have it. */
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno == EINVAL)
			break;
	prctl(PR_SET_SECUREBITS, bits, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

static int drop_user(struct as_jail_report *report)
{
	uid_t uid = report->uid;

	if (geteuid())
		return 0;
	if (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return failed(report, "root, who cannot become another user");
	report->layers |= AS_JAIL_UID;
	return 0;
}

static int drop_capabilities(struct as_jail_report *report)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } }, left[2];

	if (syscall(SYS_capset, &head, none) || syscall(SYS_capget, &head, left) ||
	    left[0].permitted || left[1].permitted || left[0].effective || left[1].effective)
		return failed(report, "capabilities, which cannot be dropped");
	if (!getuid() || !geteuid() || !setuid(0))
		return failed(report, "root, who cannot be left");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failed(report, "the promise of no new privileges");
	report->layers |= AS_JAIL_RIGHTS;
	return 0;
}

static int confine(const struct as_jail *jail, struct as_jail_report *report)
{
	struct as_confine_path all[FILES_MAX + 4];
	char home[4096], share[4096];
	const char *in = report->layers & AS_JAIL_SPACES ? "" : jail->folder;
	unsigned n = 0;
	int rc;

	snprintf(home, sizeof(home), "%s" AS_JAIL_HOME, in);
	snprintf(share, sizeof(share), "%s" AS_JAIL_SHARE, in);
	for (; n < FILES_MAX && jail->files[n].path; n++)
		all[n] = jail->files[n];
	all[n++] = (struct as_confine_path){ report->layers & AS_JAIL_SPACES ? AS_JAIL_PROGRAM
									     : jail->program,
					     AS_CONFINE_RUN };
	all[n++] = (struct as_confine_path){ home, AS_CONFINE_RUN | AS_CONFINE_WRITE };
	all[n++] = (struct as_confine_path){ share, AS_CONFINE_WRITE };
	all[n++] = (struct as_confine_path){ "/proc", AS_CONFINE_READ };
	all[n] = (struct as_confine_path){ NULL, 0 };
	rc = as_confine_files(all);
	if (rc < 0) {
		errno = -rc;
		return failed(report, "Landlock");
	}
	report->landlock = rc;
	report->layers |= rc ? AS_JAIL_FILES : 0;
	rc = as_confine_calls();
	if (rc && rc != -EINVAL && rc != -ENOSYS) {
		errno = -rc;
		return failed(report, "seccomp");
	}
	report->layers |= rc ? 0 : AS_JAIL_CALLS;
	return 0;
}

int as_jail_drop(const struct as_jail *jail, struct as_jail_report *report)
{
	umask(077);
	/* It gets no controlling terminal. */
	setsid();
	/* Otherwise its files in /proc would belong to root. */
	prctl(PR_SET_DUMPABLE, 1);
	drop_bounds();
	if (set_limits(jail, report) || drop_user(report) || drop_capabilities(report))
		return -1;
	return confine(jail, report);
}

/* ---- Words ----------------------------------------------------------------------------------- */

static const struct {
	unsigned layer;
	const char *holds, *lacks;
} words[] = {
	{ AS_JAIL_UID, "own uid", NULL },
	{ AS_JAIL_RIGHTS, "no rights", "no rights" },
	{ AS_JAIL_SPACES, "namespaces", "namespaces" },
	{ AS_JAIL_FILES, "Landlock", "Landlock" },
	{ AS_JAIL_CALLS, "seccomp", "seccomp" },
	{ AS_JAIL_LIMITS, "limits", "limits" },
};

void as_jail_say(const struct as_jail_report *report, struct as_buf *out)
{
	const char *between = "";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!(report->layers & words[i].layer))
			continue;
		as_buf_addf(out, "%s%s", between, words[i].holds);
		if (words[i].layer == AS_JAIL_UID)
			as_buf_addf(out, " (%u)", (unsigned)report->uid);
		if (words[i].layer == AS_JAIL_FILES)
			as_buf_addf(out, " (version %d)", report->landlock);
		between = ", ";
	}
	between = "; not available here: ";
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (report->layers & words[i].layer || !words[i].lacks)
			continue;
		as_buf_addf(out, "%s%s", between, words[i].lacks);
		between = ", ";
	}
}
