/* SPDX-License-Identifier: GPL-2.0-or-later */
/* who: processes, as /proc tells of them. Everything here is a best effort: where /proc is
 * hidden, less is said. */
#include "progress/who.h"

#include "base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROC_MAX_BYTES 65536u
#define PROCESSES_MAX 256u
#define STAT_START 19u /* after the name, from 0 */
#define STAT_EXIT 49u

/* A file of /proc; false: it cannot be read. */
static bool read_proc(const char *path, struct as_buf *text)
{
	char *at = as_buf_reserve(text, PROC_MAX_BYTES);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, at, PROC_MAX_BYTES - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text->len += (size_t)n;
	text->data[text->len] = '\0';
	return true;
}

/* A number of /proc/PID/stat, counted after the name, which may have any character. */
static bool stat_number(pid_t pid, unsigned field, uint64_t *value, char *state)
{
	struct as_buf text = { 0 };
	char path[64], *at;
	bool fine;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fine = read_proc(path, &text) && (at = strrchr(text.data, ')')) && at[1];
	if (fine) {
		at += 2;
		*state = *at;
		for (; field && fine; field--) {
			at = strchr(at, ' ');
			fine = at;
			at += fine;
		}
		if (fine)
			*value = strtoull(at, NULL, 10);
	}
	as_buf_free(&text);
	return fine;
}

static uint64_t pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static void boot_id(char to[AS_PROGRESS_TEXT])
{
	struct as_buf text = { 0 };

	*to = '\0';
	if (read_proc("/proc/sys/kernel/random/boot_id", &text)) {
		text.data[strcspn(text.data, "\n")] = '\0';
		as_progress_text(to, text.data);
	}
	as_buf_free(&text);
}

void as_progress_say_who(struct as_progress *p, pid_t pid)
{
	char state;

	p->pid = pid;
	if (!stat_number(pid, STAT_START, &p->pid_start, &state))
		p->pid_start = 0;
	p->pid_space = pid_space();
	boot_id(p->boot);
	if (gethostname(p->host, sizeof(p->host) - 1))
		*p->host = '\0';
}

int as_progress_died_of(pid_t pid)
{
	uint64_t status;
	char state;

	if (!stat_number(pid, STAT_EXIT, &status, &state) || (state != 'Z' && state != 'X'))
		return 0;
	return WIFSIGNALED((int)status) ? WTERMSIG((int)status) : 0;
}

int as_progress_is_alive(const struct as_progress *p)
{
	char boot[AS_PROGRESS_TEXT], state;
	uint64_t start;

	boot_id(boot);
	if (!*p->boot || p->pid <= 0 || !p->pid_start || p->pid > INT32_MAX)
		return -1;
	if (strcmp(boot, p->boot)) {
		char host[AS_PROGRESS_TEXT] = "";

		/* The same machine, started again; or another one. */
		return gethostname(host, sizeof(host) - 1) || strcmp(host, p->host) ? -1 : 0;
	}
	if (!p->pid_space || p->pid_space != pid_space())
		return -1;
	if (stat_number((pid_t)p->pid, STAT_START, &start, &state))
		return start == p->pid_start && state != 'Z' && state != 'X';
	/* Others' processes may be hidden. */
	return kill((pid_t)p->pid, 0) && errno == ESRCH ? 0 : -1;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* In pages: all of the first one; of the others, what they do not share. */
static uint64_t pages_of(pid_t pid, bool first)
{
	struct as_buf text = { 0 };
	unsigned long long all = 0, resident = 0, shared = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!read_proc(path, &text) ||
	    sscanf(text.data, "%llu %llu %llu", &all, &resident, &shared) != 3)
		resident = shared = 0;
	as_buf_free(&text);
	return first ? resident : resident > shared ? resident - shared : 0;
}

uint64_t as_progress_memory(pid_t pid, pid_t except)
{
	pid_t list[PROCESSES_MAX] = { pid };
	size_t n = 1;
	uint64_t pages = 0;

	for (size_t i = 0; i < n; i++) {
		struct as_buf text = { 0 };
		char path[64], *at, *end;

		pages += pages_of(list[i], i == 0);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)list[i],
			 (int)list[i]);
		at = read_proc(path, &text) ? text.data : NULL;
		for (; at && isdigit((unsigned char)*at) && n < PROCESSES_MAX; at = end) {
			pid_t child = (pid_t)strtol(at, &end, 10);

			end += strspn(end, " ");
			if (child != except)
				list[n++] = child;
		}
		as_buf_free(&text);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
