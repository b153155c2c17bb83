/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left: see left.h.
 *
 * Method. A process that had no child before a call and has one after it has got it from the call:
 * one that still runs, or one that has ended and that nobody has waited for. waitid() tells without
 * waiting, and takes nothing from whoever waits for a child of his own. Where there were children
 * before, nothing is said. That is one system call for each call that is watched: handlers of
 * fork() tell whether we have to look before it, too, and which process is a copy.
 */
#include "os/left.h"

#include "os/stuck.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 100 /* how often we look for orphans */
#define ORPHAN_MS 2000 /* how long a killed orphan may take to end */

void as_left_list(struct as_buf *list)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;

	as_buf_clear(list);
	as_buf_addc(list, ' ');
	while (tasks && (entry = readdir(tasks))) {
		struct as_buf path = { 0 }, text = { 0 };

		as_buf_addf(&path, "/proc/self/task/%s/children", entry->d_name);
		if (entry->d_name[0] != '.' &&
		    !as_buf_read_file(&text, as_buf_str(&path), 1 << 20, NULL))
			as_buf_adds(list, as_buf_str(&text));
		as_buf_free(&path);
		as_buf_free(&text);
	}
	if (tasks)
		closedir(tasks);
}

bool as_left_kill(const struct as_buf *before)
{
	struct as_buf now = { 0 };
	char *save = NULL, word[32];
	bool any = false;

	as_left_list(&now);
	for (char *pid = strtok_r(now.data, " ", &save); pid; pid = strtok_r(NULL, " ", &save)) {
		snprintf(word, sizeof(word), " %s ", pid);
		if (strstr(as_buf_str(before), word))
			continue;
		kill((pid_t)atol(pid), SIGKILL);
		any |= as_stuck_reap((pid_t)atol(pid), ORPHAN_MS, NULL);
	}
	as_buf_free(&now);
	return any;
}

static bool has_children(void)
{
	siginfo_t info;

	return !waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
}

/* Forks of this process, and of those that it is a copy of. */
static unsigned forks, copies;

static void count_fork(void)
{
	forks++;
}

static void count_copy(void)
{
	copies++;
}

static void prepare(void)
{
	static bool counts;

	if (!counts)
		pthread_atfork(NULL, count_fork, count_copy);
	counts = true;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void as_left_begin(struct as_left *left)
{
	static unsigned reaper;

	if (reaper != copies + 1)
		prepare();
	reaper = copies + 1;
	/* Without a fork of ours since the last look it is known that there is none. */
	if (left->copies != copies + 1 || left->forks != forks)
		left->off = has_children();
	left->copies = copies + 1;
	left->forks = forks;
	left->runs = true;
}

bool as_left_end(struct as_left *left)
{
	struct as_buf none = { 0 };

	if (!left->runs)
		return false;
	left->runs = false;
	if (left->copies != copies + 1)
		_exit(0);
	left->forks = forks;
	if (left->off || !has_children())
		return false;
	as_buf_addc(&none, ' ');
	for (int i = 0; i < ROUNDS_MAX && as_left_kill(&none); i++)
		;
	as_buf_free(&none);
	/* Where the kernel does not list children, it may still be there. */
	left->off = has_children();
	return true;
}

static const int signals[AS_LEFT_SIGNALS] = { SIGHUP,  SIGINT,	SIGQUIT, SIGUSR1, SIGUSR2,
					      SIGPIPE, SIGALRM, SIGTERM, SIGCHLD };

/* The folder of a process's threads has one link for each of them. */
void as_left_note(struct as_left_state *state)
{
	struct stat st;

	*state = (struct as_left_state){ 0 };
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		state->open |= (fcntl(fd, F_GETFD) >= 0 ? 1u : 0) << fd;
	if (!stat("/proc/self/task", &st))
		state->threads = (unsigned long)st.st_nlink;
	if (!stat(".", &st)) {
		state->cwd_dev = st.st_dev;
		state->cwd_ino = st.st_ino;
	}
	for (unsigned i = 0; i < AS_LEFT_SIGNALS; i++) {
		struct sigaction is;

		if (!sigaction(signals[i], NULL, &is))
			memcpy(&state->handler[i], &is.sa_handler, sizeof(state->handler[i]));
	}
	sigemptyset(&state->blocked);
	pthread_sigmask(SIG_SETMASK, NULL, &state->blocked);
}

static const char *signals_changed(const struct as_left_state *before,
				   const struct as_left_state *now)
{
	static char words[64];

	for (unsigned i = 0; i < AS_LEFT_SIGNALS; i++) {
		const char *what = before->handler[i] != now->handler[i] ? "changed the handler of"
				   : sigismember(&now->blocked, signals[i]) >
						   sigismember(&before->blocked, signals[i])
					   ? "left blocked"
					   : NULL;

		if (!what)
			continue;
		snprintf(words, sizeof(words), "%s SIG%s", what, sigabbrev_np(signals[i]));
		return words;
	}
	return NULL;
}

const char *as_left_changed(const struct as_left_state *before)
{
	static const char *const closed[] = { "closed standard input", "closed standard output",
					      "closed standard error" };
	struct as_left_state now;

	as_left_note(&now);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (before->open & ~now.open & 1u << fd)
			return closed[fd];
	if (before->threads && now.threads > before->threads)
		return "left a thread behind";
	if (before->cwd_ino && (before->cwd_dev != now.cwd_dev || before->cwd_ino != now.cwd_ino))
		return "changed the working directory";
	return signals_changed(before, &now);
}
