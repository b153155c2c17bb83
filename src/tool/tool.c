/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tool: assay's side of the fork server (see tool.h, and shim/proto.h for the protocol).
 *
 * Method. The disk's bytes are in a memfd, which is mapped here. `loaded` is the disk with the same
 * bytes. Before a run, only the chunks in which the next disk differs from it are copied. After the
 * run, the record is replayed onto a snapshot (tool_share.c), which then has the same bytes as the
 * memfd.
 *
 * Invariants
 *   1. Between runs the memfd equals `loaded`; if `loaded` is NULL, all of it must be written.
 *   2. No process of a run is alive when as_tool_run() returns: the server kills the group before
 *      it answers, and when it does not answer, server and group are both killed here.
 */
#include "tool/tool.h"

#include "os/elf.h"
#include "os/elf_needs.h"
#include "os/memory.h"
#include "os/patience.h"
#include "os/spawn.h"
#include "os/stack.h"
#include "os/stuck.h"
#include "tool/shim/proto.h"
#include "tool/stop.h"
#include "tool/tool_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_BYTES (UINT64_C(256) << 20)
#define RECORD_PART 8 /* of the machine's memory */
#define KILL_MS 5000 /* for killed processes to end */
#define START_MS 20000 /* to load and link a program, on a busy machine */
#define QUIET_MS 25
#define GRACE_MS 5000 /* from the kill of a run to the answer of the server */
/* The numbers of the inherited descriptors: above all that a checker opens. */
enum { DISK_FD = AS_SHIM_MAX_FD - 4, SHARE_FD, CONTROL_FD, SHIM_FD };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Which programs ---- */

bool as_tool_is_dynamic(const char *path)
{
	struct as_elf_needs needs = { 0 };
	bool found = false;
	struct as_elf elf;
	struct as_err err;

	if (!as_elf_open(path, &elf))
		return false;
	if (!as_elf_needs(elf.data, elf.len, path, &needs, &err))
		found = needs.interp;
	as_elf_needs_free(&needs);
	as_elf_close(&elf);
	return found;
}

/* ---- The server ---- */

struct launch {
	const char *path;
	char *const *envp;
	int disk_fd, share_fd, control_fd, shim_fd, out_fd, in_fd;
};

/* Runs in the child; it makes only calls that are safe after a fork. */
_Noreturn static void exec_server(const struct launch *l)
{
	const struct rlimit files = { AS_SHIM_MAX_FD, AS_SHIM_MAX_FD }, core = { 0, 0 };
	const int from[] = { l->in_fd,	  l->out_fd,	 l->out_fd, l->disk_fd,
			     l->share_fd, l->control_fd, l->shim_fd };
	const int to[] = { 0, 1, 2, DISK_FD, SHARE_FD, CONTROL_FD, SHIM_FD };
	char *const argv[] = { (char *)l->path, NULL };

	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	/* In some hash tables the order depends on addresses. */
	personality(ADDR_NO_RANDOMIZE);
	umask(022);
	if (chdir("/"))
		_exit(127);
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		if (dup2(from[i], to[i]) < 0)
			_exit(127);
	execve(l->path, argv, l->envp);
	_exit(127);
}

/* The caller's descriptors may have the numbers that we want in the child. */
static int above(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, AS_SHIM_MAX_FD);
}

static char **environment(char *const *more)
{
	static const char *const fixed[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C",
		"TZ=UTC",
		"HOME=/",
		"LD_BIND_NOW=1",
		/* Of a program with sanitizers: a report is a death, and our shim comes first. */
		"ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:abort_on_error=1:"
		"handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:"
		"use_sigaltstack=0",
		"UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1",
	};
	enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };
	struct as_buf line = { 0 };
	size_t n_more = 0, n = 0;
	char **env;

	while (more && more[n_more])
		n_more++;
	env = as_xcalloc(N_FIXED + n_more + 3, sizeof(*env));
	for (size_t i = 0; i < N_FIXED; i++)
		env[n++] = as_xstrdup(fixed[i]);
	for (size_t i = 0; i < n_more; i++)
		env[n++] = as_xstrdup(more[i]);
	as_buf_addf(&line, "LD_PRELOAD=/proc/self/fd/%d", SHIM_FD);
	env[n++] = as_xstrdup(as_buf_str(&line));
	as_buf_clear(&line);
	as_buf_addf(&line, AS_SHIM_ENV "=%d,%d,%d", DISK_FD, SHARE_FD, CONTROL_FD);
	env[n++] = as_xstrdup(as_buf_str(&line));
	as_buf_free(&line);
	return env;
}

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

void as_tool_stop_server(struct as_tool *tool)
{
	if (tool->pid > 0) {
		int32_t run = __atomic_load_n(&tool->head->pid, __ATOMIC_ACQUIRE);

		/* The server is killed first: then nobody reaps the run, and its number is not
		 * reused. */
		kill(-tool->pid, SIGKILL);
		kill(tool->pid, SIGKILL);
		if (tool->running && run > 1)
			kill(-run, SIGKILL);
		/* If it waits in the kernel, it is left there. */
		(void)as_stuck_reap(tool->pid, KILL_MS, NULL);
	}
	tool->pid = 0;
	tool->running = tool->stopped = false;
	close_fd(&tool->control_fd);
	close_fd(&tool->out_fd);
}

static int plumb(struct launch *l, int control[2], int out[2], struct as_err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) || pipe2(out, O_CLOEXEC) ||
	    fcntl(out[0], F_SETFL, O_NONBLOCK))
		return as_fail_errno(err, errno, "%s: cannot set up its server", l->path);
	l->in_fd = above(l->in_fd);
	l->control_fd = above(control[1]);
	l->out_fd = above(out[1]);
	l->disk_fd = above(l->disk_fd);
	l->share_fd = above(l->share_fd);
	l->shim_fd = above(l->shim_fd);
	if (l->in_fd < 0 || l->control_fd < 0 || l->out_fd < 0 || l->disk_fd < 0 ||
	    l->share_fd < 0 || l->shim_fd < 0)
		return as_fail_errno(err, errno, "%s: cannot set up its server", l->path);
	return 0;
}

static int start_server(struct as_tool *tool, struct as_err *err)
{
	struct launch l = { .path = tool->path,
			    .disk_fd = tool->disk_fd,
			    .share_fd = tool->share_fd,
			    .in_fd = tool->in_fd,
			    .out_fd = -1,
			    .control_fd = -1 };
	int control[2] = { -1, -1 }, out[2] = { -1, -1 }, shim = -1, rc;
	char **env = environment(tool->envp);

	l.envp = env;
	rc = as_tool_shim_fd(&shim, err);
	l.shim_fd = shim;
	if (!rc)
		rc = plumb(&l, control, out, err);
	if (rc)
		goto out;
	tool->pid = as_spawn_child(AS_BIRTH_GROUP);
	if (!tool->pid)
		exec_server(&l);
	if (tool->pid < 0) {
		rc = as_fail_errno(err, errno, "%s: cannot fork", tool->path);
		goto out;
	}
	tool->control_fd = control[0];
	tool->out_fd = out[0];
	control[0] = out[0] = -1;
out:
	close_fd(&control[0]);
	close_fd(&control[1]);
	close_fd(&out[0]);
	close_fd(&out[1]);
	close_fd(&shim);
	if (l.in_fd != tool->in_fd)
		close_fd(&l.in_fd);
	close_fd(&l.out_fd);
	close_fd(&l.control_fd);
	/* plumb() has replaced the tool's own descriptors by duplicates. */
	if (l.disk_fd != tool->disk_fd)
		close_fd(&l.disk_fd);
	if (l.share_fd != tool->share_fd)
		close_fd(&l.share_fd);
	if (l.shim_fd != shim && l.shim_fd >= AS_SHIM_MAX_FD)
		close_fd(&l.shim_fd);
	free_words(env);
	return rc;
}

/* A record is repeated on a disk, so that it is in memory twice; and several may be kept. */
static uint64_t record_max(void)
{
	uint64_t machine = as_memory_machine(), most = RECORD_BYTES;

	return machine && machine / RECORD_PART < most ? machine / RECORD_PART : most;
}

void as_tool_set_deadline(struct as_tool *tool, unsigned deadline_ms)
{
	tool->limits.deadline_ms = deadline_ms;
}

int as_tool_start(const char *program, const struct as_tool_setup *setup, struct as_tool **out,
		  struct as_err *err)
{
	char *const *envp = setup ? setup->envp : NULL;
	struct as_tool *tool = as_xcalloc(1, sizeof(*tool));
	char path[4096];
	int rc = 0;
	size_t n;

	*out = NULL;
	tool->disk_fd = tool->share_fd = tool->control_fd = tool->out_fd = tool->in_fd = -1;
	if (setup)
		tool->limits = *setup;
	tool->disk_path = as_xstrdup(setup && setup->disk_path ? setup->disk_path : AS_TOOL_DISK);
	if (!tool->limits.deadline_ms)
		tool->limits.deadline_ms = 60000;
	if (!tool->limits.memory_bytes)
		tool->limits.memory_bytes = UINT64_C(2) << 30;
	if (!tool->limits.output_bytes)
		tool->limits.output_bytes = 1 << 20;
	if (!tool->limits.record_bytes)
		tool->limits.record_bytes = record_max();
	if (strlen(tool->disk_path) >= AS_SHIM_PATH_BYTES)
		rc = as_fail(err, AS_EUSE, "%s: too long a path for a disk", tool->disk_path);
	else if (!as_spawn_which(program, path, sizeof(path)))
		rc = as_fail(err, AS_ELACK, "%s: no such program", program);
	else
		tool->is_static = tool->limits.served || !as_tool_is_dynamic(path);
	if (!rc)
		rc = as_tool_share_new(tool, err);
	if (rc) {
		as_tool_free(tool);
		return rc;
	}
	/* It runs in the root folder. */
	tool->path = realpath(path, NULL);
	if (!tool->path)
		tool->path = as_xstrdup(path);
	for (n = 0; envp && envp[n]; n++)
		;
	tool->envp = n ? as_xcalloc(n + 1, sizeof(*tool->envp)) : NULL;
	for (size_t i = 0; i < n; i++)
		tool->envp[i] = as_xstrdup(envp[i]);
	*out = tool;
	return 0;
}

void as_tool_free(struct as_tool *tool)
{
	if (!tool)
		return;
	as_tool_stop_end(tool);
	as_tool_stop_server(tool);
	as_tool_share_free(tool);
	free_words(tool->envp);
	free(tool->disk_path);
	free(tool->path);
	free(tool);
}

/* ---- A run ---- */

int as_tool_pack_args(struct as_tool *tool, char *const *argv, struct as_err *err)
{
	size_t at = 0;

	tool->head->argc = 0;
	for (; argv[tool->head->argc]; tool->head->argc++) {
		size_t len = strlen(argv[tool->head->argc]) + 1;

		if (len > AS_SHIM_ARGS_BYTES - at || tool->head->argc == 60)
			return as_fail(err, AS_EUSE, "%s: too many arguments", argv[0]);
		memcpy(tool->head->args + at, argv[tool->head->argc], len);
		at += len;
	}
	return 0;
}

static void drain(struct as_tool *tool, struct as_buf *output)
{
	char block[16 << 10];
	ssize_t n;

	for (int i = 0; i < 8; i++) {
		size_t room = tool->limits.output_bytes > output->len
				      ? tool->limits.output_bytes - output->len
				      : 0;

		n = read(tool->out_fd, block, sizeof(block));
		if (n <= 0)
			break;
		as_buf_add(output, block, (size_t)n < room ? (size_t)n : room);
	}
}

/*
 * Waits for the server's answer. 1: it came; 0: the time is over; -1: the server has ended. Most
 * runs are short and print less than a pipe holds: at first we do not wake up for their output.
 */
int as_tool_await(struct as_tool *tool, unsigned deadline_ms, struct as_buf *output)
{
	struct as_patience patience = as_patience_of(AS_PATIENCE_CHECKER, tool->pid, deadline_ms);
	struct pollfd answer = { .fd = tool->control_fd, .events = POLLIN };

	while (poll(&answer, 1, QUIET_MS) < 0 && errno == EINTR)
		;
	for (;;) {
		struct pollfd fds[2] = { { .fd = tool->control_fd, .events = POLLIN },
					 { .fd = tool->out_fd, .events = POLLIN } };
		int64_t left_ms = as_patience_left(&patience);
		char byte;

		if (!left_ms || as_halted(tool->limits.halt))
			return 0;
		if (poll(fds, 2, as_halt_wait_ms(tool->limits.halt, left_ms)) < 0 && errno != EINTR)
			return -1;
		if (fds[1].revents & POLLIN)
			drain(tool, output);
		if (fds[0].revents) {
			ssize_t n = read(tool->control_fd, &byte, 1);

			if (n == 1) {
				tool->answer = byte;
				drain(tool, output);
				return 1;
			}
			if (n == 0 || errno != EINTR)
				return -1;
		} else if (fds[1].revents & (POLLHUP | POLLERR)) {
			return -1;
		}
	}
}

/* Kills the run; the server then answers as after any other death. */
static void at_deadline(struct as_tool *tool, struct as_buf *output)
{
	int32_t run = __atomic_load_n(&tool->head->pid, __ATOMIC_ACQUIRE);
	int got;

	if (run > 1)
		kill(-run, SIGKILL);
	got = run > 1 ? as_tool_await(tool, GRACE_MS, output) : -1;
	if (got != 1)
		as_tool_stop_server(tool);
}

static int load_program(struct as_tool *tool, struct as_buf *output, struct as_err *err)
{
	int rc = start_server(tool, err);

	if (!rc && as_tool_await(tool, START_MS, output) != 1) {
		as_tool_stop_server(tool);
		if (as_halted(tool->limits.halt))
			return as_fail(err, AS_ESTOP, "stopped");
		rc = as_fail(err, AS_EIO, "%s: cannot be loaded with the shim: %s", tool->path,
			     as_buf_str(output));
	}
	as_buf_clear(output); /* what constructors print belongs to no run */
	return rc;
}

static void found_dead(const struct as_tool *tool, struct as_tool_result *result)
{
	struct as_stack stack = tool->head->stack;
	struct as_buf died = { 0 };
	int sig = WTERMSIG(tool->head->status);

	as_stack_words(&stack, sig, &died);
	result->has_address = stack.has_address && stack.signal == sig;
	result->address = stack.address;
	snprintf(result->died, sizeof(result->died), "%s", as_buf_str(&died));
	result->ended = (struct as_ended){ AS_END_SIGNAL, sig, result->ended.wall_us, 0 };
	as_buf_free(&died);
}

int as_tool_go(struct as_tool *tool, struct as_tool_result *result, struct as_err *err)
{
	const char go_byte = AS_SHIM_GO;
	int64_t start_us;
	int got;

	if (!tool->pid) {
		int rc = load_program(tool, &result->output, err);

		if (rc)
			return rc;
	}
	start_us = as_now_us();
	tool->running = true;
	if (send(tool->control_fd, &go_byte, 1, MSG_NOSIGNAL) != 1)
		got = -1;
	else
		got = as_tool_await(tool, tool->limits.deadline_ms, &result->output);
	if (!got)
		at_deadline(tool, &result->output);
	else if (got < 0)
		as_tool_stop_server(tool);
	tool->running = tool->stopped = got == 1 && tool->answer == AS_SHIM_STOPPED;
	result->ended.wall_us = as_now_us() - start_us;
	if (got < 0)
		return as_fail(err, AS_EIO, "%s: its server died", tool->path);
	/* It did not end for as long as there was time: nobody knows whether it would have. */
	if (!got && as_halted(tool->limits.halt))
		return as_fail(err, AS_ESTOP, "stopped");
	if (!got)
		result->ended =
			(struct as_ended){ AS_END_DEADLINE, SIGKILL, result->ended.wall_us, 0 };
	else if (tool->stopped)
		return 0;
	else if (tool->head->status == -1)
		return as_fail(err, AS_EIO, "%s: its server cannot fork", tool->path);
	else if (WIFSIGNALED(tool->head->status))
		found_dead(tool, result);
	else
		result->ended = (struct as_ended){ AS_END_EXIT, WEXITSTATUS(tool->head->status),
						   result->ended.wall_us, 0 };
	return 0;
}

int as_tool_run(struct as_tool *tool, const struct as_tool_job *job, struct as_disk *disk,
		struct as_tool_result *result, struct as_err *err)
{
	int rc;

	memset(result, 0, sizeof(*result));
	rc = as_tool_pack_args(tool, job->argv, err);
	/* Tries once more if somebody else has killed the server, for example because memory was
	 * short. */
	for (int attempt = 0; !rc && attempt < 2; attempt++) {
		as_buf_clear(&result->output);
		rc = as_tool_load(tool, disk, job, err);
		if (!rc)
			rc = tool->is_static ? as_tool_go_static(tool, job, result, err)
					     : as_tool_go(tool, result, err);
		if (!rc) {
			as_tool_harvest(tool, disk, job->flags, result);
			break;
		}
		/* Whatever happened in the run, the memfd may no longer equal `disk`. */
		as_tool_forget(tool);
		if (!attempt && !tool->pid && !tool->is_static && rc != AS_ESTOP)
			rc = 0;
	}
	return rc;
}

void as_tool_result_free(struct as_tool_result *result)
{
	as_reclog_free(result->log);
	as_disk_free(result->log_disk);
	as_disk_free(result->disk);
	as_buf_free(&result->output);
	memset(result, 0, sizeof(*result));
}
