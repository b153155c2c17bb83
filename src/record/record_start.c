/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record_start: the command of a recording, from fork to exec, and what it starts with. */
#include "record/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Start ----------------------------------------------------------------------------------- */

/* In the child; never returns. */
static void become(char **argv, int (*prepare)(void *ctx), void *ctx, int go, int said)
{
	int why;
	char c;

	/* Without an answer, the recorder has ended. */
	if (read(go, &c, 1) != 1)
		_exit(127);
	why = prepare(ctx);
	if (!why) {
		execvp(argv[0], argv);
		why = errno;
	}
	(void)!write(said, &why, sizeof(why));
	_exit(127);
}

int as_record_fork(char **argv, int (*prepare)(void *ctx), void *ctx, struct as_record_child *child,
		   struct as_err *err)
{
	int go[2], said[2];

	*child = (struct as_record_child){ .pid = -1, .go_fd = -1, .said_fd = -1 };
	if (pipe2(go, O_CLOEXEC))
		return as_fail_errno(err, errno, "cannot make a pipe");
	if (pipe2(said, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return as_fail_errno(err, errno, "cannot make a pipe");
	}
	child->pid = fork();
	if (!child->pid) {
		close(go[1]);
		close(said[0]);
		become(argv, prepare, ctx, go[0], said[1]);
	}
	close(go[0]);
	close(said[1]);
	child->go_fd = go[1];
	child->said_fd = said[0];
	if (child->pid < 0) {
		close(go[1]);
		close(said[0]);
		return as_fail_errno(err, errno, "cannot fork");
	}
	return 0;
}

void as_record_go(struct as_record_child *child)
{
	(void)!write(child->go_fd, "", 1);
	close(child->go_fd);
	child->go_fd = -1;
}

int as_record_said(struct as_record_child *child, const struct as_source_input *input,
		   struct as_err *err)
{
	int why = 0, rc = 0;

	if (read(child->said_fd, &why, sizeof(why)) == sizeof(why))
		rc = as_fail_errno(err, why, "cannot run %s", input->argv[0]);
	if (rc && input->control)
		input->control->exec_errno = why;
	if (child->go_fd >= 0)
		close(child->go_fd);
	close(child->said_fd);
	*child = (struct as_record_child){ .pid = -1, .go_fd = -1, .said_fd = -1 };
	return rc;
}

/* ---- What it starts with --------------------------------------------------------------------- */

/* A descriptor without CLOEXEC. */
static bool outlives_exec(pid_t pid, const char *name)
{
	char path[64];
	unsigned flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)pid, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "pos: %*s flags: %o", &flags) != 1)
		flags = 0;
	fclose(f);
	return !(flags & O_CLOEXEC);
}

static void tell_fd(struct as_world *world, int dir, const char *name, unsigned tid)
{
	char path[PATH_MAX];
	ssize_t len = readlinkat(dir, name, path, sizeof(path));
	struct stat st;

	if (len <= 0 || fstatat(dir, name, &st, 0))
		return;
	/* "pipe:[123]" and the like are no paths. */
	if (path[0] == '/')
		as_world_fd(world, tid, atoi(name), path, (size_t)len, S_ISDIR(st.st_mode));
	else
		as_world_fd(world, tid, atoi(name), NULL, 0, false);
}

void as_record_inherited(struct as_world *world, pid_t pid, unsigned tid)
{
	char path[PATH_MAX], text[64];
	const struct dirent *entry;
	ssize_t len;
	DIR *dir;

	snprintf(text, sizeof(text), "/proc/%d/cwd", (int)pid);
	len = readlink(text, path, sizeof(path));
	if (len > 0)
		as_world_cwd(world, tid, path, (size_t)len);
	snprintf(text, sizeof(text), "/proc/%d/fd", (int)pid);
	dir = opendir(text);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && outlives_exec(pid, entry->d_name))
			tell_fd(world, dirfd(dir), entry->d_name, tid);
	if (dir)
		closedir(dir);
}

void as_record_renamed(struct as_world *world, unsigned former, unsigned tid)
{
	as_world_exit(world, tid);
	as_world_fork(world, former, tid, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD);
	as_world_exit(world, former);
}

/* ---- What became of it ----------------------------------------------------------------------- */

static size_t read_some(const char *path, void *out, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, len);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

/* The path that was given to exec: of a script it is the script's. */
static size_t read_program(pid_t pid, char *out, size_t size)
{
	uint64_t auxv[64][2];
	struct iovec here = { out, size }, there[2];
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	n = read_some(path, auxv, sizeof(auxv)) / sizeof(auxv[0]);
	for (size_t i = 0; i < n; i++) {
		ssize_t got;

		if (auxv[i][0] != AT_EXECFN)
			continue;
		/* It is at the end of the stack: there may be no page after it. */
		there[0] =
			(struct iovec){ (void *)(uintptr_t)auxv[i][1], 4096 - auxv[i][1] % 4096 };
		there[1] = (struct iovec){ (char *)there[0].iov_base + there[0].iov_len, 4096 };
		got = process_vm_readv(pid, &here, 1, there, 2, 0);
		return got > 0 ? strnlen(out, (size_t)got) : 0;
	}
	return 0;
}

void as_record_command(pid_t pid, struct as_record_command *room, struct as_syscall *call)
{
	char path[64];
	size_t len;

	as_assert(call->spec->act == AS_ACT_EXEC && call->spec->n_slots == 1);
	len = read_program(pid, room->program, sizeof(room->program));
	call->slots[0] = (struct as_syscall_slot){ .state = len ? AS_SLOT_TEXT : AS_SLOT_UNSEEN,
						   .text = room->program,
						   .len = (unsigned)len };
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	len = read_some(path, room->args, sizeof(room->args));
	call->args = room->args;
	call->args_len = (unsigned)len;
	call->args_cut = len == sizeof(room->args);
}
