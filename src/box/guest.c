/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest: the first process of a guest. It mounts what a system needs, loads the modules and starts
 * the engine (this program, with the arguments in the shared memory). From then on it shows that
 * the kernel still schedules. When the engine has ended, it turns the machine off. When the engine
 * has made no progress for too long, it makes the kernel print where every task waits. Errors
 * before the engine starts are reported in the shared memory.
 */
#include "box/initramfs.h"
#include "box/sandbox.h"

#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define BEAT_MS 50
#define STOPPED_US 1000000 /* a longer time between two beats: the machine was stopped */
#define EVENTS_TTY "/dev/ttyS0"
#define ORDER_MAX_BYTES 65536u
#define ARGS_MAX 256

static const struct {
	const char *type, *at, *data;
	unsigned long flags;
} mounts[] = {
	{ "proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
	{ "sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC },
	{ "devtmpfs", "/dev", NULL, MS_NOSUID },
	{ "tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV },
	{ "tmpfs", "/run", "mode=0755", MS_NOSUID | MS_NODEV },
	{ "hostfs", AS_GUEST_SHARE, NULL, MS_NOSUID | MS_NODEV },
};

/* This must work even if everything else fails. */
_Noreturn static void turn_off(void)
{
	sync();
	umount2(AS_GUEST_SHARE, 0);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static int mount_all(struct as_err *err)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++)
		if (mount(mounts[i].type, mounts[i].at, mounts[i].type, mounts[i].flags,
			  mounts[i].data) &&
		    errno != EBUSY)
			return as_fail_errno(err, errno, "guest: cannot mount %s on %s",
					     mounts[i].type, mounts[i].at);
	return 0;
}

/* Settings of the guest's kernel. One that it does not have is skipped. */
static const struct {
	const char *file, *value;
} settings[] = {
	/* By its own estimate the kernel would refuse to fork a large engine. Memory that runs
	 * out is noticed when it is used. */
	{ "/proc/sys/vm/overcommit_memory", "1" },
	/* The file system must answer, not a policy for shared directories. */
	{ "/proc/sys/fs/protected_symlinks", "0" },
	{ "/proc/sys/fs/protected_hardlinks", "0" },
	{ "/proc/sys/fs/protected_regular", "0" },
	{ "/proc/sys/fs/protected_fifos", "0" },
};

static void set_kernel(void)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		int fd = open(settings[i].file, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			continue;
		if (write(fd, settings[i].value, 1) != 1)
			as_assert(errno != EBADF);
		close(fd);
	}
}

static int load_module(const char *name, struct as_err *err)
{
	char path[4096];
	int fd, rc = 0;

	snprintf(path, sizeof(path), AS_GUEST_MODULES "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		rc = as_fail_errno(err, errno, "guest: cannot load the module %s", name);
	if (fd >= 0)
		close(fd);
	/* The file is not needed any more, and memory is short. */
	if (!rc)
		unlink(path);
	return rc;
}

static int load_modules(struct as_err *err)
{
	struct as_buf order = { 0 };
	char *save = NULL;
	int rc = 0;

	if (access(AS_GUEST_MODULES "/order", R_OK))
		return 0;
	rc = as_buf_read_file(&order, AS_GUEST_MODULES "/order", ORDER_MAX_BYTES, err);
	for (char *name = strtok_r(order.data, "\n", &save); name && !rc;
	     name = strtok_r(NULL, "\n", &save))
		rc = load_module(name, err);
	as_buf_free(&order);
	return rc;
}

/* ---- The engine ------------------------------------------------------------------------------ */

static int open_events(void)
{
	int fd = open(EVENTS_TTY, O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios raw;

	if (fd >= 0 && !tcgetattr(fd, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(fd, TCSANOW, &raw);
	}
	return fd;
}

_Noreturn static void become_engine(struct as_box_state *state, int events_fd)
{
	char *argv[ARGS_MAX + 2] = { (char *)AS_GUEST_PROGRAM }, *arg = state->args;
	char env_path[] = "PATH=/bin", env_lc[] = "LC_ALL=C", env_tz[] = "TZ=UTC",
	     env_home[] = "HOME=/root";
	char *const envp[] = { env_path, env_lc, env_tz, env_home, NULL };

	for (uint32_t i = 0; i < state->n_args && i < ARGS_MAX; i++, arg += strlen(arg) + 1)
		argv[i + 1] = arg;
	setsid();
	/* Reports before this mark belong to the boot, not to the first workload. */
	if (write(1, AS_GUEST_MARK, strlen(AS_GUEST_MARK)) < 0)
		_exit(125);
	if (dup2(events_fd, 0) < 0 || dup2(events_fd, 1) < 0 || dup2(events_fd, 2) < 0 ||
	    chdir("/work"))
		_exit(126);
	execve(AS_GUEST_PROGRAM, argv, envp);
	_exit(127);
}

/* Makes the kernel print all blocked tasks on the console. Their stacks are on a level that the
 * console has not (loglevel= of box/sandbox_uml.c). */
static void show_tasks(void)
{
	int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	for (const char *key = "9w5"; *key; key++)
		if (write(fd, key, 1) != 1)
			as_assert(errno != EBADF);
	close(fd);
}

static void watch_engine(struct as_box_state *state, pid_t engine)
{
	uint64_t seen = as_box_progress(state);
	int64_t since_us = as_now_us(), last_us = since_us, waited_us = state->waited_us;
	int status;

	while (true) {
		pid_t got = waitpid(-1, &status, WNOHANG);
		int64_t now_us, waits_us = state->waited_us;

		if (got == engine)
			break;
		state->beat++;
		/* The machine was stopped, and the engine with it. The clock is read once in a
		 * round, so that a stop at any moment is seen. */
		now_us = as_now_us();
		if (now_us - last_us > STOPPED_US)
			since_us += now_us - last_us;
		last_us = now_us;
		since_us += waits_us - waited_us;
		waited_us = waits_us;
		/* Before its first workload the engine only gets ready, which may take long. */
		if (as_box_progress(state) != seen || state->job < 0) {
			seen = as_box_progress(state);
			since_us = now_us;
		} else if (state->stuck_ms && !state->stuck &&
			   now_us - since_us > (int64_t)state->stuck_ms * 1000) {
			show_tasks();
			state->stuck = 1;
		}
		/* SIGCHLD ends this sleep: orphans are reaped and the engine's end is seen at
		 * once. */
		if (got <= 0)
			poll(NULL, 0, BEAT_MS);
	}
	state->status = status;
	state->ended = 1;
}

static void on_child(int sig)
{
	(void)sig;
}

void as_guest_main(void)
{
	struct sigaction action = { .sa_handler = on_child };
	struct as_box_state *state = NULL;
	struct as_err err = { 0 };
	int events_fd = -1, rc;
	pid_t engine = -1;

	/* The end of a child interrupts the sleep of watch_engine(). */
	sigaction(SIGCHLD, &action, NULL);
	rc = mount_all(&err);
	set_kernel();
	if (!rc)
		rc = as_box_state_open(as_sandbox_uml.state_path, &state, &err);
	if (!rc)
		rc = load_modules(&err);
	if (!rc) {
		events_fd = open_events();
		if (events_fd < 0)
			rc = as_fail_errno(&err, errno, "guest: " EVENTS_TTY);
	}
	if (!rc) {
		engine = fork();
		if (engine < 0)
			rc = as_fail_errno(&err, errno, "guest: cannot fork");
	}
	if (!rc && !engine)
		become_engine(state, events_fd);
	if (!rc)
		watch_engine(state, engine);
	else if (state)
		snprintf(state->error, sizeof(state->error), "%s", err.msg);
	else if (write(1, err.msg, strlen(err.msg)) >= 0)
		sync();
	turn_off();
}
