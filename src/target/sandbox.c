/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandbox: the table of sandboxes, and what all boxes share: their memory, their end. */
#include "target/sandbox.h"

#include "base/buf.h"
#include "base/dir.h"
#include "base/spawn.h"
#include "target/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct as_sandbox_ops *const sandboxes[] = { &as_sandbox_host, &as_sandbox_uml };

const struct as_sandbox_ops *as_sandbox(unsigned i)
{
	return i < sizeof(sandboxes) / sizeof(sandboxes[0]) ? sandboxes[i] : NULL;
}

const struct as_sandbox_ops *as_sandbox_find(const char *name)
{
	for (unsigned i = 0; as_sandbox(i); i++)
		if (!strcmp(as_sandbox(i)->name, name))
			return as_sandbox(i);
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Shared memory --------------------------------------------------------------------------- */

int as_box_state_open(const char *path, struct as_box_state **out, struct as_err *err)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct as_box_state *head = MAP_FAILED;
	void *all = MAP_FAILED;
	size_t size = 0;
	struct stat st;
	int rc = 0;

	*out = NULL;
	if (fd < 0)
		return as_fail_errno(err, errno, "%s", path);
	/* Behind the end of a file there is nothing to look at; a device has none. */
	if (fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && (uint64_t)st.st_size < sizeof(struct as_box_state))) {
		close(fd);
		return as_fail(err, AS_EUSE, "%s: not the state of a box of this program", path);
	}
	/* How large it is stands in it. */
	head = mmap(NULL, sizeof(*head), PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		rc = as_fail_errno(err, errno, "%s: cannot be mapped", path);
	else if (head->magic != AS_BOX_MAGIC || head->size_bytes < sizeof(*head) ||
		 (S_ISREG(st.st_mode) && head->size_bytes > (uint64_t)st.st_size))
		rc = as_fail(err, AS_EUSE, "%s: not the state of a box of this program", path);
	else
		size = head->size_bytes;
	if (head != MAP_FAILED)
		munmap(head, sizeof(*head));
	if (!rc)
		all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!rc && all == MAP_FAILED)
		rc = as_fail_errno(err, errno, "%s: cannot be mapped", path);
	if (!rc)
		*out = all;
	close(fd);
	return rc;
}

void as_box_state_close(struct as_box_state *state)
{
	if (state)
		munmap(state, state->size_bytes);
}

/* The arguments, as they are handed over. */
static int put_args(const char *const *args, struct as_box_state *state, struct as_err *err)
{
	size_t used = 0;

	for (uint32_t i = 0; args[i]; i++, state->n_args = i) {
		size_t len = strlen(args[i]) + 1;

		if (len > sizeof(state->args) - used)
			return as_fail(err, AS_EUSE, "the arguments are longer than %zu bytes",
				       sizeof(state->args));
		memcpy(state->args + used, args[i], len);
		used += len;
	}
	return 0;
}

/* ---- Starting -------------------------------------------------------------------------------- */

static void stay_on(int core)
{
	cpu_set_t set;

	if (core == AS_CORE_HERE)
		core = sched_getcpu();
	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((unsigned)core, &set);
	/* Slower without, not wrong. */
	if (sched_setaffinity(0, sizeof(set), &set))
		return;
}

/* `fds` are the ends it gets as 0, 1, 2, 3, 4. */
_Noreturn static void become(const struct as_box_program *program, pid_t parent, int fds[5])
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	stay_on(program->core);
	/* First out of the way of the numbers they are to get. */
	for (int i = 0; i < 5; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
	for (int i = 0; i < 5; i++)
		if (fds[i] < 0 || dup2(fds[i], i) < 0)
			_exit(127);
	/* Without it a program that breaks out of its kernel finds an ordinary user's files. */
	if (program->files && as_confine(program->files) < 0)
		_exit(127);
	execve(program->path, program->argv, program->envp);
	_exit(127);
}

/*
 * A kernel in a process leaves helpers behind when it is killed, and its parent may be killed, too.
 * So there is a warden between us: it lives until its one child has ended, kills the child's group,
 * and ends the same way. SIGTERM, which it also gets when we die, makes it kill the group at once.
 */
static volatile pid_t ward;

static void on_term(int sig)
{
	(void)sig;
	if (ward > 0)
		kill(-ward, SIGKILL);
}

_Noreturn static void guard(pid_t child, pid_t parent)
{
	siginfo_t info;
	int status = 0;

	ward = child;
	setpgid(child, child);
	close_range(0, ~0u, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		kill(-child, SIGKILL);
	/* Not reaped yet, its number and its group's cannot be another's. */
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) && errno == EINTR)
		;
	kill(-child, SIGKILL);
	ward = 0;
	waitpid(child, &status, 0);
	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(126);
}

_Noreturn static void stand_guard(const struct as_box_program *program, pid_t parent, int fds[5],
				  struct as_box_state *state)
{
	struct sigaction action = { .sa_handler = on_term };
	pid_t self = getpid(), child;
	sigset_t term, old;

	setpgid(0, 0);
	/* Between the fork and the handler a SIGTERM must wait. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &old);
	sigaction(SIGTERM, &action, NULL);
	child = fork();
	if (!child)
		become(program, self, fds);
	if (child < 0)
		_exit(127);
	ward = child;
	state->kernel_pid = child;
	sigdelset(&old, SIGTERM);
	sigprocmask(SIG_SETMASK, &old, NULL);
	guard(child, parent);
}

int as_box_spawn(struct as_box *box, const struct as_box_program *program, struct as_err *err)
{
	bool console = program->console;
	int events[2] = { -1, -1 }, lines[2] = { -1, -1 }, input[2] = { -1, -1 }, rc = 0;
	pid_t parent = getpid();

	/* Sockets, as who writes to one that nobody reads is not killed for it. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) || pipe2(events, O_CLOEXEC) ||
	    (console && pipe2(lines, O_CLOEXEC)) || fcntl(events[0], F_SETFL, O_NONBLOCK) ||
	    (console && fcntl(lines[0], F_SETFL, O_NONBLOCK)))
		rc = as_fail_errno(err, errno, "%s: cannot set up its pipes", program->path);
	if (!rc)
		box->pid = fork();
	if (!rc && box->pid < 0)
		rc = as_fail_errno(err, errno, "%s: cannot fork", program->path);
	if (!rc && !box->pid) {
		int out = console ? lines[1] : events[1];

		stand_guard(program, parent,
			    (int[5]){ input[1], out, out, events[1], box->state_fd }, box->state);
	}
	if (!rc) {
		setpgid(box->pid, box->pid);
		box->pidfd = pidfd_open(box->pid, 0);
		box->events_fd = events[0];
		box->console_fd = lines[0];
		box->input_fd = input[0];
		events[0] = lines[0] = input[0] = -1;
	} else {
		box->pid = 0;
	}
	close_fd(&input[0]);
	close_fd(&input[1]);
	close_fd(&events[0]);
	close_fd(&events[1]);
	close_fd(&lines[0]);
	close_fd(&lines[1]);
	return rc;
}

int as_box_start(const struct as_sandbox_ops *ops, const struct as_box_options *options,
		 const char *const *args, struct as_box **out, struct as_err *err)
{
	size_t size = (sizeof(struct as_box_state) + options->engine_bytes + 4095) / 4096 * 4096;
	struct as_box *box = as_xcalloc(1, sizeof(*box));
	void *map = MAP_FAILED;
	int rc = 0;

	as_assert(ops->api == AS_SANDBOX_API);
	*box = (struct as_box){ .ops = ops,
				.pidfd = -1,
				.events_fd = -1,
				.console_fd = -1,
				.input_fd = -1,
				.folder_fd = -1,
				.state_fd = memfd_create("assay-box", MFD_CLOEXEC) };
	if (box->state_fd >= 0 && !ftruncate(box->state_fd, (off_t)size))
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, box->state_fd, 0);
	if (map == MAP_FAILED) {
		rc = as_fail_errno(err, errno, "cannot make memory to share with a sandbox");
	} else {
		box->state = map;
		box->state->magic = AS_BOX_MAGIC;
		box->state->size_bytes = size;
		box->state->job = -1;
		box->state->stuck_ms = options->stuck_ms;
		box->state_bytes = size;
		rc = put_args(args, box->state, err);
	}
	if (!rc)
		rc = ops->start(options, box, err);
	if (rc) {
		as_box_free(box);
		box = NULL;
	}
	*out = box;
	return rc;
}

bool as_box_say(struct as_box *box, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = send(box->input_fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* ---- Ending ---------------------------------------------------------------------------------- */

void as_box_end(struct as_box *box)
{
	pid_t got;

	if (box->reaped || !box->pid)
		return;
	kill(box->pid, SIGTERM);
	do {
		got = waitpid(box->pid, &box->status, 0);
	} while (got < 0 && errno == EINTR);
	as_assert(got == box->pid);
	box->reaped = true;
}

void as_box_empty_folder(int fd)
{
	as_dir_empty(fd);
}

void as_box_free(struct as_box *box)
{
	if (!box)
		return;
	as_box_end(box);
	if (box->state)
		munmap(box->state, box->state_bytes);
	close_fd(&box->pidfd);
	close_fd(&box->events_fd);
	close_fd(&box->console_fd);
	close_fd(&box->input_fd);
	close_fd(&box->state_fd);
	if (box->folder && box->folder_fd >= 0)
		as_box_empty_folder(box->folder_fd);
	if (box->folder)
		rmdir(box->folder);
	close_fd(&box->folder_fd);
	free(box->folder);
	free(box);
}

/* ---- Trying ---------------------------------------------------------------------------------- */

/* Reads what it says until it ends or the time is up. */
static bool wait_end(struct as_box *box, unsigned deadline_ms, struct as_buf *said)
{
	int64_t end_us = as_now_us() + (int64_t)deadline_ms * 1000;
	char block[4096];

	while (as_now_us() < end_us) {
		struct pollfd fds[] = { { .fd = box->pidfd, .events = POLLIN },
					{ .fd = box->console_fd, .events = POLLIN } };
		ssize_t n = 0;

		poll(fds, 2, 100);
		while (box->console_fd >= 0 &&
		       (n = read(box->console_fd, block, sizeof(block))) > 0)
			as_buf_add(said, block, (size_t)n);
		if (fds[0].revents)
			return true;
	}
	return false;
}

int as_sandbox_try(const struct as_sandbox_ops *ops, const struct as_box_options *options,
		   unsigned deadline_ms, struct as_err *err)
{
	static const char *const args[] = { "--version", NULL };
	struct as_box_options o = *options;
	char share[] = "/tmp/assay-share-XXXXXX";
	struct as_buf said = { 0 };
	struct as_box *box = NULL;
	int rc = ops->ready(&o, err);

	if (rc)
		return rc;
	o.share = mkdtemp(share);
	if (!o.share)
		return as_fail_errno(err, errno, "cannot make a folder in /tmp");
	rc = as_box_start(ops, &o, args, &box, err);
	if (!rc) {
		bool ended = wait_end(box, deadline_ms, &said);
		size_t skip = said.len > 200 ? said.len - 200 : 0;

		as_box_end(box);
		if (box->state->error[0])
			rc = as_fail(err, AS_EIO, "%.900s", box->state->error);
		else if (!ended || !box->state->ended || box->state->status)
			rc = as_fail(err, AS_EIO, "%s; its console ends: %s",
				     ended ? "it did not come up" : "it did not end in time",
				     as_buf_str(&said) + skip);
	}
	as_box_free(box);
	as_buf_free(&said);
	rmdir(share);
	return rc;
}
