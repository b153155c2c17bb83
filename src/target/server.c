/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server: see server.h.
 *
 * Method. Whether something is mounted is asked with statx(2) and AT_STATX_DONT_SYNC: the number
 * of the mount changes, and no request goes to a server that may not answer.
 */
#include "target/server.h"

#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_BYTES 8192
#define LOOK_US 300

struct as_server {
	pid_t pid; /* leads a process group of its own; 0: reaped */
	int output_fd;
	bool ended, wanted; /* its end was asked for */
	int status;
	char trouble[128];
};

/* ---- Words ---------------------------------------------------------------------------------- */

static int add_place(struct as_buf *word, const char **s, const struct as_server_places *p,
		     struct as_err *err)
{
	const struct {
		const char *name, *text;
	} rows[] = { { "{disk}", p->disk }, { "{mnt}", p->mnt }, { "{src}", p->src } };

	for (size_t i = 0; i < 3; i++)
		if (!strncmp(*s, rows[i].name, strlen(rows[i].name)) && rows[i].text) {
			as_buf_adds(word, rows[i].text);
			*s += strlen(rows[i].name);
			return 0;
		}
	return as_fail(err, AS_EUSE, "'%.16s': expected {disk}, {src} or {mnt}", *s);
}

/* One word from *s on, which stands behind it then. */
static int take_word(const char **s, const struct as_server_places *p, struct as_buf *word,
		     struct as_err *err)
{
	char quote = 0;
	int rc = 0;

	while (**s && (quote || **s != ' ') && !rc) {
		if (quote ? **s == quote : **s == '\'' || **s == '"') {
			quote = quote ? 0 : **s;
			++*s;
		} else if (**s == '\\' && quote != '\'' && (*s)[1]) {
			as_buf_addc(word, (*s)[1]);
			*s += 2;
		} else if (**s == '{') {
			rc = add_place(word, s, p, err);
		} else {
			as_buf_addc(word, *(*s)++);
		}
	}
	return !rc && quote ? as_fail(err, AS_EUSE, "a quote is not closed") : rc;
}

int as_server_argv(const char *command, const struct as_server_places *places, char ***argv,
		   struct as_err *err)
{
	const char *s = command + strspn(command, " ");
	char **words = as_xcalloc(1, sizeof(*words));
	size_t n = 0;
	int rc = 0;

	while (*s && !rc) {
		struct as_buf word = { 0 };

		as_buf_adds(&word, "");
		rc = take_word(&s, places, &word, err);
		words = as_xrealloc(words, (n + 2) * sizeof(*words));
		words[n++] = word.data;
		words[n] = NULL;
		s += strspn(s, " ");
	}
	if (!rc && !n)
		rc = as_fail(err, AS_EUSE, "there is no command");
	if (rc) {
		for (size_t i = 0; i < n; i++)
			free(words[i]);
		free(words);
		words = NULL;
	}
	*argv = words;
	return rc;
}

/* ---- The process ---------------------------------------------------------------------------- */

_Noreturn static void become(char *const *argv, int output_fd)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		    lc[] = "LC_ALL=C", tz[] = "TZ=UTC", home[] = "HOME=/";
	static char *const envp[] = { path, lc, tz, home, NULL };
	char program[4096];
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	dup2(null, STDIN_FILENO);
	dup2(output_fd, STDOUT_FILENO);
	dup2(output_fd, STDERR_FILENO);
	close_range(3, ~0u, 0);
	if (as_spawn_which(argv[0], program, sizeof(program)))
		execve(program, argv, envp);
	_exit(127);
}

static void reap(struct as_server *s, int options)
{
	if (s->ended || waitpid(s->pid, &s->status, options) != s->pid)
		return;
	s->ended = true;
	/* What is left of its group. */
	kill(-s->pid, SIGKILL);
	if (WIFSIGNALED(s->status))
		snprintf(s->trouble, sizeof(s->trouble), "the server died of %s",
			 as_signal_name(WTERMSIG(s->status)));
	else if (!s->wanted || WEXITSTATUS(s->status))
		snprintf(s->trouble, sizeof(s->trouble), "the server ended with status %d%s",
			 WEXITSTATUS(s->status), s->wanted ? "" : " while it was mounted");
}

static uint64_t mount_number(const char *path)
{
	struct statx sx;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &sx))
		return 0;
	return sx.stx_mask & STATX_MNT_ID ? sx.stx_mnt_id : 0;
}

static int await(struct as_server *s, const char *mnt, uint64_t before, unsigned deadline_ms)
{
	int64_t end_us = as_now_us() + (int64_t)deadline_ms * 1000;

	while (mount_number(mnt) == before) {
		reap(s, WNOHANG);
		if (s->ended)
			return WIFEXITED(s->status) && WEXITSTATUS(s->status) == 127
				       ? -ENOEXEC
				       : -ECONNABORTED;
		if (as_now_us() > end_us)
			return -ETIMEDOUT;
		usleep(LOOK_US);
	}
	return 0;
}

int as_server_start(char *const *argv, const char *mnt, unsigned deadline_ms,
		    struct as_server **out)
{
	struct as_server *s = as_xcalloc(1, sizeof(*s));
	uint64_t before = mount_number(mnt);
	struct stat st;
	int rc;

	*out = s;
	s->output_fd = memfd_create("assay-server", MFD_CLOEXEC);
	if (s->output_fd >= 0)
		(void)!fcntl(s->output_fd, F_SETFL, O_APPEND);
	s->pid = fork();
	if (s->pid < 0) {
		s->ended = true;
		return -errno;
	}
	if (!s->pid)
		become(argv, s->output_fd);
	rc = await(s, mnt, before, deadline_ms);
	/* The first request waits until the server has said what it can do. */
	if (!rc && stat(mnt, &st)) {
		as_server_stop(s, deadline_ms);
		rc = -ECONNABORTED;
	}
	if (rc == -ETIMEDOUT) {
		kill(-s->pid, SIGKILL);
		s->wanted = true;
		reap(s, 0);
	}
	return rc;
}

const char *as_server_trouble(struct as_server *s)
{
	reap(s, WNOHANG);
	return s->trouble[0] ? s->trouble : NULL;
}

bool as_server_stop(struct as_server *s, unsigned deadline_ms)
{
	int64_t end_us = as_now_us() + (int64_t)deadline_ms * 1000;

	s->wanted = true;
	while (!s->ended && as_now_us() <= end_us) {
		reap(s, WNOHANG);
		if (!s->ended)
			usleep(LOOK_US);
	}
	if (!s->ended) {
		kill(-s->pid, SIGKILL);
		kill(s->pid, SIGKILL);
		reap(s, 0);
		snprintf(s->trouble, sizeof(s->trouble),
			 "the server did not end within %u ms of the unmount", deadline_ms);
	}
	return !s->trouble[0];
}

void as_server_output(const struct as_server *s, struct as_buf *out)
{
	off_t end = lseek(s->output_fd, 0, SEEK_END);
	off_t start = end > OUTPUT_BYTES ? end - OUTPUT_BYTES : 0;
	char text[OUTPUT_BYTES];
	ssize_t n;

	if (end <= 0)
		return;
	n = pread(s->output_fd, text, sizeof(text), start);
	for (ssize_t i = 0; i < n; i++)
		as_buf_addc(out, text[i] ? text[i] : '?');
}

void as_server_free(struct as_server *s)
{
	if (!s)
		return;
	if (!s->ended) {
		s->wanted = true;
		kill(-s->pid, SIGKILL);
		kill(s->pid, SIGKILL);
		reap(s, 0);
	}
	if (s->output_fd >= 0)
		close(s->output_fd);
	free(s);
}

/* ---- Without root --------------------------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, len) == (ssize_t)len;
	close(fd);
	return ok;
}

int as_server_userns(struct as_err *err)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getegid());
	if (access("/dev/fuse", R_OK | W_OK))
		return as_fail(err, AS_ELACK,
			       "FUSE servers need /dev/fuse, and we may not open it: %s",
			       strerror(errno));
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return as_fail(
			err, AS_ELACK,
			"FUSE servers are tested by root, or where user namespaces are allowed "
			"(sysctl kernel.unprivileged_userns_clone=1): %s",
			strerror(errno));
	if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", uid) ||
	    !write_text("/proc/self/gid_map", gid))
		return as_fail_errno(err, errno, "cannot set up a user namespace");
	return 0;
}
