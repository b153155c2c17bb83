/* SPDX-License-Identifier: GPL-2.0-or-later */
/* temp: temporary folders are removed, also those of a process that was killed; nothing else is. */
#include "tests/lib/skip.h"

#include "base/buf.h"
#include "os/temp.h"
#include "tests/lib/tmpdir.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEP 300

static unsigned entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

/* A tree deeper than the number of folders that one would keep open, with all kinds of things. */
static void fill(const char *path, const char *outside)
{
	int top = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	int fd = dup(top);

	for (int i = 0; i < DEEP; i++) {
		int next;

		assert_int_equal(symlinkat(outside, fd, "link"), 0);
		assert_int_equal(mkfifoat(fd, "pipe", 0600), 0);
		close(openat(fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0));
		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	assert_int_equal(mkdirat(fd, "shut", 0), 0);
	/* Names that as_dir_empty() itself may want to give. */
	for (int i = 0; i < 3; i++) {
		char name[16];

		snprintf(name, sizeof(name), "up-%d", i);
		assert_int_equal(mkdirat(top, name, 0700), 0);
		snprintf(name, sizeof(name), "up-%d/in", i);
		assert_int_equal(mkdirat(top, name, 0700), 0);
	}
	close(top);
	close(fd);
}

static void test_all(void **state)
{
	const char *place = t_tmpdir(), *outside = t_tmpdir();
	char path[PATH_MAX];
	struct as_temp *one, *other;
	struct stat st;
	int status, pipes[2];
	pid_t pid;
	char byte;

	(void)state;
	snprintf(path, sizeof(path), "%s/canary", outside);
	close(open(path, O_CREAT | O_WRONLY, 0644));
	assert_int_equal(as_temp_new(place, &one, NULL), 0);
	fill(as_temp_path(one), outside);
	/* Another process makes one and is killed. */
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		if (!as_temp_new(place, &other, NULL) && write(pipes[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(entries(place), 2);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* The next one takes its place; the one that is in use stays. */
	assert_int_equal(as_temp_new(place, &other, NULL), 0);
	assert_int_equal(entries(place), 2);
	assert_int_equal(stat(as_temp_path(one), &st), 0);
	as_temp_free(other);
	as_temp_free(one);
	assert_int_equal(entries(place), 0);
	/* No link was followed. */
	assert_int_equal(stat(path, &st), 0);
	close(pipes[0]);
	close(pipes[1]);
	as_temp_free(NULL);
	assert_true(as_temp_new("/nowhere", &one, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
