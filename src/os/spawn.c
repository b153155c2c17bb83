/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawn: see spawn.h.
 *
 * Method. Parent and child both put the child into its own group, so that neither goes on before
 * that is done. The parent waits with poll() on a pidfd (without one, it sleeps for short times)
 * and on the output pipe, which it always drains: the child never has to wait for us. stdin is a
 * memfd, so nobody has to feed it. When the child has ended but is not yet reaped, its pid cannot
 * be given to someone else: that is when the rest of the group is killed.
 *
 * A pipe that closes on exec tells a failed exec from a program that exits with 127.
 */
#include "os/spawn.h"

#include "os/memory.h"
#include "os/patience.h"
#include "os/stuck.h"
#include "os/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX_DEFAULT ((size_t)1 << 20)
#define NAP_MS 2
#define STOP_LOOK_MS 50 /* a signal may come after we looked for it and before we wait */
#define KILL_MS 1000 /* how long a killed child may take to end, before and after it was helped */
#define BLOCK_BYTES (16 << 10)
#define DRAIN_BLOCKS 8 /* twice what a pipe holds */
#define SBIN_FOLDERS "/usr/local/sbin:/usr/sbin:/sbin"

int64_t as_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

bool as_halted(const struct as_halt *halt)
{
	return halt &&
	       ((halt->stop && *halt->stop) || (halt->until_us && as_now_us() >= halt->until_us));
}

int as_halt_wait_ms(const struct as_halt *halt, int64_t wish_ms)
{
	return (int)(halt && wish_ms > STOP_LOOK_MS ? STOP_LOOK_MS : wish_ms);
}

void *as_shared_alloc(size_t len)
{
	void *ptr = mmap(NULL, len ? len : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);

	if (ptr == MAP_FAILED)
		as_out_of_memory(len);
	return ptr;
}

void as_shared_free(void *ptr, size_t len)
{
	if (ptr)
		munmap(ptr, len ? len : 1);
}

const char *as_signal_name(int sig)
{
	static _Thread_local char name[24];
	const char *abbrev = sigabbrev_np(sig);

	if (abbrev)
		snprintf(name, sizeof(name), "SIG%s", abbrev);
	else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		snprintf(name, sizeof(name), "SIGRTMIN+%d", sig - SIGRTMIN);
	else
		snprintf(name, sizeof(name), "signal %d", sig);
	return name;
}

/* Checkers and mkfs are in sbin folders, which are often not in an ordinary user's PATH. */
void as_spawn_path(struct as_buf *out)
{
	const char *path = getenv("PATH");

	as_buf_addf(out, "%s:" SBIN_FOLDERS, path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool as_spawn_which(const char *name, char *path, size_t cap)
{
	struct as_buf list = { 0 };
	bool found = false;

	if (!*name)
		return false;
	if (strchr(name, '/'))
		return (size_t)snprintf(path, cap, "%s", name) < cap && is_program(path);
	as_spawn_path(&list);
	for (const char *s = as_buf_str(&list); !found; s++) {
		size_t len = strcspn(s, ":");
		int n = snprintf(path, cap, "%.*s/%s", len ? (int)len : 1, len ? s : ".", name);

		found = n >= 0 && (size_t)n < cap && is_program(path);
		s += len;
		if (!*s)
			break;
	}
	as_buf_free(&list);
	return found;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

struct watch {
	pid_t pid;
	int pidfd; /* -1: there is none */
	int out_fd; /* -1: there is nothing to read */
	struct as_buf *output;
	size_t output_left;
	int64_t start_us;
};

/* Reads what is there, but no more than a full pipe: a child that never stops writing must not keep
 * us from looking at the clock. False at the end of the stream. */
static bool drain(struct watch *w)
{
	char block[BLOCK_BYTES];
	ssize_t n = 1;

	for (int i = 0; i < DRAIN_BLOCKS && (n = read(w->out_fd, block, sizeof(block))) > 0; i++) {
		size_t take = (size_t)n < w->output_left ? (size_t)n : w->output_left;

		as_buf_add(w->output, block, take);
		w->output_left -= take;
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool has_ended(const struct watch *w)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* Sleeps until something happens, at most timeout_ms (-1: forever). */
static void wait_event(struct watch *w, int timeout_ms)
{
	struct pollfd fds[2] = { { .fd = w->pidfd, .events = POLLIN },
				 { .fd = w->out_fd, .events = POLLIN } };

	if (w->pidfd < 0 && (timeout_ms < 0 || timeout_ms > NAP_MS))
		timeout_ms = NAP_MS;
	if (poll(fds, 2, timeout_ms) > 0 && fds[1].revents && !drain(w)) {
		close(w->out_fd);
		w->out_fd = -1;
	}
}

/* False: it does not end. */
static bool reap(const struct watch *w, int *status)
{
	if (as_stuck_reap(w->pid, KILL_MS, status))
		return true;
	as_stuck_cut(w->pid);
	return as_stuck_reap(w->pid, KILL_MS * 2, status);
}

/* Kills the rest of the group, reaps the child, and reads the rest of its output. `early` is how we
 * ended it; AS_END_EXIT if we did not. */
static void finish(struct watch *w, enum as_end early, struct as_ended *ended)
{
	int status = 0;

	kill(-w->pid, SIGKILL);
	/* A child that has not run yet may not be in its group. */
	if (early != AS_END_EXIT)
		kill(w->pid, SIGKILL);
	ended->stuck = reap(w, &status) ? 0 : w->pid;
	if (w->out_fd >= 0) {
		drain(w);
		close(w->out_fd);
		w->out_fd = -1;
	}
	if (w->pidfd >= 0)
		close(w->pidfd);
	ended->wall_us = as_now_us() - w->start_us;
	if (early != AS_END_EXIT) {
		ended->how = early;
		ended->status = SIGKILL;
	} else if (WIFSIGNALED(status)) {
		ended->how = AS_END_SIGNAL;
		ended->status = WTERMSIG(status);
	} else {
		ended->how = AS_END_EXIT;
		ended->status = WEXITSTATUS(status);
	}
}

/* How long until something may have to be done; 0: the deadline has passed. */
static int64_t time_left(const struct as_spawn_limits *limits, struct as_patience *patience)
{
	int64_t left_ms = 1000000;

	if (limits->deadline_ms) {
		left_ms = as_patience_left(patience);
		/* A change of *alive is seen only when we look: we look often enough to be an
		 * eighth late at most. */
		if (limits->alive && left_ms > limits->deadline_ms / 8 + 1)
			left_ms = limits->deadline_ms / 8 + 1;
	}
	if ((limits->stop || limits->halt) && left_ms > STOP_LOOK_MS)
		left_ms = STOP_LOOK_MS;
	return left_ms;
}

/* Waits for the end or for the deadline, which starts again whenever *alive changes. */
static void watch_child(struct watch *w, enum as_patience_kind kind,
			const struct as_spawn_limits *limits, struct as_ended *ended)
{
	struct as_patience patience = as_patience_of(kind, w->pid, limits->deadline_ms);
	uint64_t seen = limits->alive ? *limits->alive : 0;
	enum as_end early = AS_END_EXIT;
	int64_t left_ms;

	w->pidfd = pidfd_open(w->pid, 0);
	while (!has_ended(w)) {
		if (limits->alive && *limits->alive != seen) {
			seen = *limits->alive;
			as_patience_restart(&patience);
		}
		left_ms = time_left(limits, &patience);
		if ((limits->stop && *limits->stop) || as_halted(limits->halt))
			early = AS_END_STOPPED;
		else if (!left_ms && !has_ended(w)) /* it may have ended while we looked */
			early = AS_END_DEADLINE;
		if (early == AS_END_DEADLINE && limits->where)
			as_stuck_where(w->pid, limits->where);
		if (early != AS_END_EXIT)
			break;
		wait_event(w, (int)left_ms);
	}
	finish(w, early, ended);
}

/* ---- Children -------------------------------------------------------------------------------- */

/* Where children of this process report that memory ran out: the number of bytes that they asked
 * for, or 0. */
static volatile uint64_t *wanted;

/* Every child does this first. */
static void prepare_child(pid_t parent, unsigned how)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t none;

	if (how & AS_BIRTH_GROUP)
		setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have died before that call. */
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (how & AS_BIRTH_DEAF)
			signal(ends[i], SIG_IGN);
		/* Our handlers of signals that end a process are not for a child. */
		else if (how & AS_BIRTH_PLAIN && signal(ends[i], SIG_DFL) == SIG_IGN)
			signal(ends[i], SIG_IGN);
	}
}

pid_t as_spawn_child(unsigned how)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prepare_child(parent, how);
		/* What its children want is told to it alone. */
		wanted = NULL;
	} else if (pid > 0 && how & AS_BIRTH_GROUP) {
		setpgid(pid, pid);
	}
	return pid;
}

static volatile uint64_t *oom_counter(void)
{
	if (!wanted)
		wanted = as_shared_alloc(sizeof(*wanted));
	return wanted;
}

void as_spawn_be_silent(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
}

/* From here on kills are counted: once, and for all that are forked later. */
static void know_kills(void)
{
	static bool known;

	if (!known)
		(void)as_memory_killed();
	known = true;
}

/* Whether the kernel has ended it because memory ran out: that says nothing of what is tested. */
static bool was_killed(const struct as_ended *ended)
{
	return ended->how == AS_END_SIGNAL && ended->status == SIGKILL && as_memory_killed();
}

int as_spawn_fork_limited(int (*fn)(void *ctx), void *ctx, const struct as_spawn_limits *limits,
			  struct as_ended *ended, struct as_err *err)
{
	struct watch w = { .out_fd = -1, .start_us = as_now_us() };
	volatile uint64_t *oom = oom_counter();

	*oom = 0;
	know_kills();
	w.pid = as_spawn_child(AS_BIRTH_GROUP | AS_BIRTH_PLAIN);
	if (!w.pid) {
		as_oom_tell(oom);
		_exit(fn(ctx) & 0xff);
	}
	if (w.pid < 0)
		return as_fail_errno(err, errno, "cannot fork");
	watch_child(&w, AS_PATIENCE_CHILD, limits, ended);
	if (!*oom && was_killed(ended))
		return as_fail(err, AS_ENOMEM,
			       "a process of ours was killed because memory ran out: %llu MiB are "
			       "too few",
			       (unsigned long long)as_memory_machine() >> 20);
	return *oom ? as_fail_oom(err, *oom) : 0;
}

int as_spawn_fork(int (*fn)(void *ctx), void *ctx, unsigned deadline_ms,
		  const volatile uint64_t *alive, struct as_ended *ended, struct as_err *err)
{
	struct as_spawn_limits limits = { .deadline_ms = deadline_ms, .alive = alive };

	return as_spawn_fork_limited(fn, ctx, &limits, ended, err);
}

struct plumbing {
	int in_fd, out_fd[2], exec_fd[2];
};

static void close_plumbing(struct plumbing *p)
{
	close_fd(&p->in_fd);
	close_fd(&p->out_fd[0]);
	close_fd(&p->out_fd[1]);
	close_fd(&p->exec_fd[0]);
	close_fd(&p->exec_fd[1]);
}

static int open_input(const char *text)
{
	size_t len = strlen(text), done = 0;
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	while (fd >= 0 && done < len) {
		ssize_t n = pwrite(fd, text + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			int saved = errno;

			close(fd);
			errno = saved;
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return fd;
}

static int open_plumbing(const struct as_spawn *spawn, struct plumbing *p, struct as_err *err)
{
	*p = (struct plumbing){ -1, { -1, -1 }, { -1, -1 } };
	p->in_fd =
		spawn->input ? open_input(spawn->input) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (p->in_fd < 0 || pipe2(p->exec_fd, O_CLOEXEC))
		goto fail;
	if (spawn->output) {
		if (pipe2(p->out_fd, O_CLOEXEC) || fcntl(p->out_fd[0], F_SETFL, O_NONBLOCK))
			goto fail;
	} else {
		p->out_fd[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (p->out_fd[1] < 0)
			goto fail;
	}
	return 0;
fail:
	as_fail_errno(err, errno, "%s: cannot set up its input and output", spawn->argv[0]);
	close_plumbing(p);
	return AS_EIO;
}

/* Runs in the child and does not return. The errno of a failure goes through the exec pipe. */
_Noreturn static void exec_child(const struct as_spawn *spawn, const char *path, char *const *envp,
				 const struct plumbing *p)
{
	int fail = 0;

	if (dup2(p->in_fd, 0) < 0 || dup2(p->out_fd[1], 1) < 0 || dup2(p->out_fd[1], 2) < 0 ||
	    (spawn->cwd && chdir(spawn->cwd)))
		fail = errno;
	if (!fail) {
		execve(path, spawn->argv, envp);
		fail = errno;
	}
	/* Nothing can be done if even this fails; the exit status still shows it. */
	if (write(p->exec_fd[1], &fail, sizeof(fail)) < 0)
		_exit(126);
	_exit(127);
}

/* The errno that exec failed with, or 0. It is read after the child has ended, so that it cannot
 * block, not even when the child hangs in chdir(). */
static int exec_result(int fd)
{
	int fail = 0;
	ssize_t n;

	do {
		n = read(fd, &fail, sizeof(fail));
	} while (n < 0 && errno == EINTR);
	return n == sizeof(fail) ? fail : 0;
}

static int run_program(const struct as_spawn *spawn, const char *path, char *const *envp,
		       struct as_ended *ended, struct as_err *err)
{
	struct watch w = { .out_fd = -1, .output = spawn->output, .start_us = as_now_us() };
	struct as_spawn_limits limits = { .deadline_ms = spawn->deadline_ms, .halt = spawn->halt };
	pid_t parent = getpid();
	struct plumbing p;
	int rc, fail;

	rc = open_plumbing(spawn, &p, err);
	if (rc)
		return rc;
	/* To copy a large process only to replace it costs more than most programs do. But a child
	 * that has to change its folder may hang there forever, and after vfork() we would wait for
	 * it. */
	w.pid = spawn->cwd ? fork() : vfork();
	if (w.pid < 0) {
		rc = as_fail_errno(err, errno, "%s: cannot fork", spawn->argv[0]);
		goto out;
	}
	if (!w.pid) {
		prepare_child(parent, AS_BIRTH_GROUP | AS_BIRTH_PLAIN);
		exec_child(spawn, path, envp, &p);
	}
	setpgid(w.pid, w.pid);
	w.output_left = spawn->output_max ? spawn->output_max : OUTPUT_MAX_DEFAULT;
	w.out_fd = p.out_fd[0];
	p.out_fd[0] = -1;
	close_fd(&p.out_fd[1]);
	close_fd(&p.exec_fd[1]);
	watch_child(&w, AS_PATIENCE_PROGRAM, &limits, ended);
	fail = ended->stuck ? 0 : exec_result(p.exec_fd[0]);
	if (fail)
		rc = as_fail_errno(err, fail, "%s: cannot be started%s%s", path,
				   spawn->cwd ? " in " : "", spawn->cwd ? spawn->cwd : "");
out:
	close_plumbing(&p);
	return rc;
}

int as_spawn_run(const struct as_spawn *spawn, struct as_ended *ended, struct as_err *err)
{
	struct as_buf path_env = { 0 }, temp_env = { 0 };
	char path[4096];
	int rc;

	if (!as_spawn_which(spawn->argv[0], path, sizeof(path)))
		return as_fail(err, AS_ELACK, "%s: no such program", spawn->argv[0]);
	as_buf_adds(&path_env, "PATH=");
	as_spawn_path(&path_env);
	as_buf_addf(&temp_env, "TMPDIR=%s", as_temp_place());
	{
		char lc_all[] = "LC_ALL=C", tz[] = "TZ=UTC";
		char *const fixed[] = { path_env.data, lc_all, tz, temp_env.data, NULL };

		rc = run_program(spawn, path, spawn->envp ? spawn->envp : fixed, ended, err);
	}
	as_buf_free(&path_env);
	as_buf_free(&temp_env);
	return rc;
}
