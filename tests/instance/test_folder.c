/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folders below one directory that many runs share: each run has its own, whoever else is killed
 * meanwhile, and in the end nothing is left. TORTURE_SECONDS=N goes on for about N seconds. */
#include "base/prng.h"
#include "instance/folder.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"
#include "tests/lib/wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 8
#define DEADLINE_MS 60000
#define FILES 3

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How many entries the directory has. */
static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	unsigned n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return n;
}

static int work_in(const char *tree)
{
	char path[100];

	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/f%d", tree, i);
		/* One that is there, or cannot be made, is somebody else's folder. */
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return -1;
		close(fd);
	}
	return 0;
}

/* Folder after folder until it is killed, or until `end`. */
_Noreturn static void worker(const char *parent, int64_t end)
{
	struct as_folder *folder;
	struct as_err err = { 0 };

	while (now_ms() < end) {
		int rc = as_folder_new(parent, DEADLINE_MS, &folder, &err);

		if (!rc && work_in(as_folder_tree(folder))) {
			fprintf(stderr, "a folder is not ours\n");
			_exit(1);
		}
		if (!rc)
			rc = as_folder_remove(&folder, &err);
		if (rc) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(1);
		}
	}
	_exit(0);
}

static pid_t start_worker(const char *parent, int64_t end)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		worker(parent, end);
	return pid;
}

static void reap_killed(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* It may have come to its end just before. */
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status));
}

static bool is_empty(void *parent)
{
	return !entries(parent);
}

static void together(void **state)
{
	const char *seconds = getenv("TORTURE_SECONDS");
	int64_t end = now_ms() + (seconds ? atoll(seconds) * 1000 : 2000);
	const char *parent = t_tmpdir();
	struct as_folder *folder;
	struct as_prng prng = as_prng_seed((uint64_t)now_ms());
	pid_t pids[WORKERS];

	(void)state;

	for (int i = 0; i < WORKERS; i++)
		pids[i] = start_worker(parent, end);
	while (now_ms() < end) {
		unsigned who = (unsigned)as_prng_below(&prng, WORKERS);

		/* The moment is what is tested. */
		usleep((useconds_t)as_prng_below(&prng, 5000));
		kill(pids[who], SIGKILL);
		reap_killed(pids[who]);
		pids[who] = start_worker(parent, end);
	}
	for (int i = 0; i < WORKERS; i++)
		reap_killed(pids[i]);
	assert_int_equal(as_folder_new(parent, DEADLINE_MS, &folder, NULL), 0);
	assert_int_equal(as_folder_remove(&folder, NULL), 0);
	/* Who holds the folder of a dead run removes it soon. */
	assert_true(t_wait_until(is_empty, (void *)parent, DEADLINE_MS));
	assert_int_equal(rmdir(parent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
