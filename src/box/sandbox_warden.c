/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandbox_warden: processes in boxes.
 *
 * Method. A User-Mode Linux kernel that is killed leaves helper processes, and its parent may be
 * killed, too. So there is a warden between the kernel and us: it lives until its one child has
 * ended, kills the child's group, and ends in the same way. SIGTERM, which it also gets when we
 * die, makes it kill at once. With namespaces its child is a second warden, the first process of
 * the new process namespace, and the box is a child of that. When this first process ends, the
 * machine's kernel ends all other processes of the namespace.
 *
 *	we -> warden [-> first process] -> box
 *
 * Before the box begins, its wardens report over a socket which layers confine it. Then we fill its
 * folder and let it continue. When the socket is closed, the box has begun.
 */
#include "box/sandbox.h"

#include "os/spawn.h"
#include "os/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NFDS 7
#define TALK_MS 20000
#define SMALL_PAGES 512
#define LOOK_MS 500 /* how often the first process looks at the memory that its box uses */

struct spawning {
	struct as_box *box;
	const struct as_box_program *program;
	struct as_jail_report *report;
	int fds[NFDS]; /* become descriptors 0, 1, ...; -1: none */
	int talk; /* the socket of the wardens */
	pid_t parent;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Talk ------------------------------------------------------------------------------------ */

static bool tell(int talk, const struct as_jail_report *report, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { (void *)report, sizeof(*report) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		msg.msg_control = room;
		msg.msg_controllen = sizeof(room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(talk, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(*report);
}

/* 1: a report, 0: the end, -1: neither in time. */
static int hear(int talk, struct as_jail_report *report, int *fd)
{
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { report, sizeof(*report) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct pollfd ready = { .fd = talk, .events = POLLIN };
	const struct cmsghdr *c;
	ssize_t n;
	int some;

	*fd = -1;
	do
		some = poll(&ready, 1, TALK_MS);
	while (some < 0 && errno == EINTR);
	if (some <= 0)
		return -1;
	n = recvmsg(talk, &msg, MSG_CMSG_CLOEXEC);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n == (ssize_t)sizeof(*report) ? 1 : n ? -1 : 0;
}

_Noreturn static void give_up(const struct spawning *s)
{
	tell(s->talk, s->report, -1);
	_exit(127);
}

/* ---- The box --------------------------------------------------------------------------------- */

static void stay_on(int core)
{
	cpu_set_t set;

	if (core == AS_CORE_HERE)
		core = sched_getcpu();
	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)core, &set);
	/* It is slower without this, not wrong. */
	if (sched_setaffinity(0, sizeof(set), &set))
		return;
}

static void set_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < SIGRTMIN; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Closes all descriptors but those that the box is given, and the socket. */
static bool set_descriptors(struct spawning *s)
{
	/* First they move away from the numbers that they will get. */
	for (int i = 0; i < NFDS; i++)
		if (s->fds[i] >= 0)
			s->fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, NFDS + 1);
	if (s->talk >= 0) {
		int talk = fcntl(s->talk, F_DUPFD_CLOEXEC, NFDS + 1);

		if (talk < 0 || dup3(talk, NFDS, O_CLOEXEC) < 0)
			return false;
		s->talk = NFDS;
	}
	for (int i = 0; i < NFDS; i++) {
		if (s->fds[i] < 0)
			close(i);
		else if (dup2(s->fds[i], i) < 0)
			return false;
	}
	return !close_range(s->talk >= 0 ? NFDS + 1 : NFDS, ~0u, 0);
}

/* `parent` is 0 if it is in another process namespace. */
_Noreturn static void become(struct spawning *s, pid_t parent)
{
	const struct as_box_program *p = s->program;
	const char *path = p->path;

	setpgid(0, 0);
	set_signals();
	stay_on(p->core);
	if (!set_descriptors(s))
		_exit(127);
	if (p->jail) {
		if (as_jail_drop(p->jail, s->report))
			give_up(s);
		if (s->report->layers & AS_JAIL_SPACES)
			path = AS_JAIL_PROGRAM;
	}
	/* This comes last: a process that changes its user loses it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (s->talk >= 0)
		tell(s->talk, s->report, -1);
	execve(path, p->argv, p->envp);
	if (p->jail) {
		s->report->error = errno;
		snprintf(s->report->what, sizeof(s->report->what), "starting %.40s", p->path);
		give_up(s);
	}
	_exit(127);
}

/* ---- The first process of a namespace -------------------------------------------------------- */

/* The bytes of memory that all processes use, without files. A few pages of each are not counted,
 * because a child shares with its parent the pages that it has not written to. */
static uint64_t memory_taken(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	uint64_t pages = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300], text[128] = { 0 };
		unsigned long long size, resident, shared;
		int fd;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/statm", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		    sscanf(text, "%llu %llu %llu", &size, &resident, &shared) == 3 &&
		    resident > shared + SMALL_PAGES)
			pages += resident - shared - SMALL_PAGES;
		if (fd >= 0)
			close(fd);
	}
	if (proc)
		closedir(proc);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Records how children ended; true: the box has ended. */
static bool look_at_children(struct as_box_watch *watch, pid_t child)
{
	siginfo_t info = { 0 };

	while (!waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) && info.si_pid) {
		bool ours = info.si_pid == child;

		if (ours && (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)) {
			watch->stopped = info.si_code == CLD_STOPPED;
		} else if (ours) {
			watch->status =
				info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
			watch->ended = 1;
			return true;
		}
		info.si_pid = 0;
	}
	return false;
}

/* `warden` comes to its end when the first warden is gone. */
_Noreturn static void mind(const struct spawning *s, pid_t child, int warden)
{
	const struct timespec tick = { .tv_nsec = LOOK_MS * 1000000L };
	struct as_box_watch *watch = s->box->watch;
	sigset_t sigchld;

	sigemptyset(&sigchld);
	sigaddset(&sigchld, SIGCHLD);
	while (!look_at_children(watch, child)) {
		struct pollfd alive = { .fd = warden };

		if (sigtimedwait(&sigchld, NULL, &tick) > 0)
			continue;
		if (poll(&alive, 1, 0) > 0)
			_exit(0);
		if (memory_taken() > s->program->jail->memory_bytes) {
			watch->greedy = 1;
			watch->status = SIGKILL;
			watch->ended = 1;
			_exit(0);
		}
	}
	_exit(0);
}

_Noreturn static void be_first(struct spawning *s, int warden)
{
	sigset_t sigchld;
	int root;
	char go;
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* No process of the box may look into it. */
	prctl(PR_SET_DUMPABLE, 0);
	sigemptyset(&sigchld);
	sigaddset(&sigchld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &sigchld, NULL);
	signal(SIGTERM, SIG_DFL);
	if (as_jail_build(s->program->jail, s->report))
		give_up(s);
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !tell(s->talk, s->report, root) || read(s->talk, &go, 1) != 1)
		_exit(127);
	child = fork();
	if (!child)
		become(s, 1);
	if (child < 0)
		_exit(127);
	/* Closes all but the one that it listens to. */
	dup3(warden, 0, O_CLOEXEC);
	close_range(1, ~0u, 0);
	mind(s, child, 0);
}

/* ---- The warden ------------------------------------------------------------------------------ */

static volatile pid_t ward;
static volatile bool ward_is_first;

static void on_term(int sig)
{
	(void)sig;
	if (ward > 0)
		kill(ward_is_first ? ward : -ward, SIGKILL);
}

/* Ends in the same way as the box did. */
_Noreturn static void end_as(int status)
{
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(126);
}

_Noreturn static void guard(const struct spawning *s, pid_t child)
{
	struct as_box_watch *watch = s->box->watch;
	siginfo_t info = { 0 };
	int status = 0;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != s->parent)
		on_term(SIGTERM);
	/* As long as it is not reaped, no other process can have its id, or its group's. */
	for (;;) {
		int rc = waitid(P_PID, (id_t)child, &info,
				WEXITED | WSTOPPED | WCONTINUED | WNOWAIT);

		if (rc && errno != EINTR)
			break;
		if (!rc && (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED)) {
			watch->stopped = info.si_code == CLD_STOPPED;
			waitid(P_PID, (id_t)child, &info, WSTOPPED | WCONTINUED | WNOHANG);
		} else if (!rc) {
			break;
		}
	}
	if (!ward_is_first)
		kill(-child, SIGKILL);
	ward = 0;
	waitpid(child, &status, 0);
	if (ward_is_first && watch->ended)
		status = watch->status;
	/* There is nobody else who would do it. */
	if (getppid() != s->parent)
		as_temp_remove_now(s->box->folder);
	end_as(status);
}

static void set_up_jail(const struct spawning *s)
{
	const struct as_jail *jail = s->program->jail;
	char go;

	s->report->uid = as_jail_uid(getpid());
	if (jail->spaces && as_jail_unshare(s->report))
		give_up(s);
	if (jail->spaces)
		return;
	if (as_jail_hand_over(jail, s->report))
		give_up(s);
	if (!tell(s->talk, s->report, -1) || read(s->talk, &go, 1) != 1)
		_exit(127);
}

_Noreturn static void stand_guard(struct spawning *s)
{
	const struct as_jail *jail = s->program->jail;
	struct sigaction action = { .sa_handler = on_term };
	int alive[2] = { -1, -1 };
	sigset_t term, old;
	pid_t self, child;

	setpgid(0, 0);
	/* A SIGTERM between the fork and the handler is blocked until then. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &old);
	sigaction(SIGTERM, &action, NULL);
	if (jail)
		set_up_jail(s);
	ward_is_first = jail && jail->spaces;
	if (pipe2(alive, O_CLOEXEC))
		_exit(127);
	self = getpid();
	child = fork();
	if (!child && ward_is_first) {
		close(alive[1]);
		be_first(s, alive[0]);
	}
	if (!child)
		become(s, self);
	if (child < 0)
		_exit(127);
	ward = child;
	if (!ward_is_first)
		setpgid(child, child);
	dup3(alive[1], 0, O_CLOEXEC);
	close_range(1, ~0u, 0);
	sigdelset(&old, SIGTERM);
	sigprocmask(SIG_SETMASK, &old, NULL);
	guard(s, child);
}

/* ---- Starting -------------------------------------------------------------------------------- */

static int say_why(const struct as_box *box, const struct as_box_program *program,
		   struct as_err *err)
{
	bool spaces = program->jail->spaces && !(box->jail.layers & AS_JAIL_SPACES);

	as_fail_errno(err, box->jail.error ? box->jail.error : EIO,
		      "cannot confine the sandbox: %s", box->jail.what);
	return spaces ? AS_ELACK : AS_EIO;
}

/* Talks with the wardens until the box has begun. */
static int agree(struct as_box *box, const struct as_box_program *program, int talk,
		 struct as_err *err)
{
	int root, none, more, rc = 0;
	char go = 1;

	if (hear(talk, &box->jail, &root) != 1)
		return as_fail(err, AS_EIO, "%s: its warden does not answer", program->path);
	if (box->jail.error)
		return say_why(box, program, err);
	if (root >= 0)
		box->share_fd = openat(root, &AS_JAIL_SHARE[1],
				       O_DIRECTORY | O_NOFOLLOW | O_RDONLY | O_CLOEXEC);
	if (root >= 0)
		close(root);
	if (box->share_fd < 0)
		return as_fail(err, AS_EIO, "%s: no folder to share with it", program->path);
	if (program->fill)
		rc = program->fill(program->fill_ctx, box, err);
	if (!rc && send(talk, &go, 1, MSG_NOSIGNAL) != 1)
		rc = as_fail_errno(err, errno, "%s: its warden is gone", program->path);
	while (!rc && (more = hear(talk, &box->jail, &none))) {
		if (more < 0)
			rc = as_fail(err, AS_EIO, "%s: does not begin", program->path);
		else if (box->jail.error)
			rc = say_why(box, program, err);
	}
	return rc;
}

struct ends {
	int input[2], events[2], lines[2], talk[2];
};

static bool open_ends(struct ends *e, const struct as_box_program *program)
{
	bool console = program->console;

	/* Sockets, because writing to one that nobody reads can be done without a SIGPIPE. */
	return !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->input) &&
	       !pipe2(e->events, O_CLOEXEC) && (!console || !pipe2(e->lines, O_CLOEXEC)) &&
	       !fcntl(e->events[0], F_SETFL, O_NONBLOCK) &&
	       (!console || !fcntl(e->lines[0], F_SETFL, O_NONBLOCK)) &&
	       (!program->jail || !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->talk));
}

static void start_warden(struct as_box *box, const struct as_box_program *program, struct ends *e)
{
	int out = program->console ? e->lines[1] : e->events[1];
	struct spawning s = { .box = box,
			      .program = program,
			      .report = &box->jail,
			      .fds = { e->input[1], out, out, e->events[1], box->state_fd,
				       program->fds[0] > 0 ? program->fds[0] : -1,
				       program->fds[1] > 0 ? program->fds[1] : -1 },
			      .talk = e->talk[1],
			      .parent = getpid() };

	box->jail = (struct as_jail_report){ 0 };
	box->pid = fork();
	if (!box->pid) {
		close_fd(&e->talk[0]);
		stand_guard(&s);
	}
}

int as_box_spawn(struct as_box *box, const struct as_box_program *program, struct as_err *err)
{
	struct ends e = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int *const all = e.input;
	int rc = 0;

	if (!open_ends(&e, program))
		rc = as_fail_errno(err, errno, "%s: cannot set up its pipes", program->path);
	if (!rc && !program->jail && program->fill)
		rc = program->fill(program->fill_ctx, box, err);
	if (!rc)
		start_warden(box, program, &e);
	if (!rc && box->pid < 0)
		rc = as_fail_errno(err, errno, "%s: cannot fork", program->path);
	if (rc)
		box->pid = 0;
	close_fd(&e.talk[1]);
	if (!rc) {
		setpgid(box->pid, box->pid);
		box->pidfd = pidfd_open(box->pid, 0);
		box->events_fd = e.events[0];
		box->console_fd = e.lines[0];
		box->input_fd = e.input[0];
		e.events[0] = e.lines[0] = e.input[0] = -1;
		if (program->jail)
			rc = agree(box, program, e.talk[0], err);
	}
	for (size_t i = 0; i < sizeof(e) / sizeof(int); i++)
		close_fd(&all[i]);
	return rc;
}
