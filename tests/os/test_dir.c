/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dir: a folder is emptied on its own file system only: what is mounted below it stays. */
#include "tests/lib/skip.h"

#include "os/dir.h"
#include "os/temp.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_file(int at, const char *name)
{
	int fd = openat(at, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int enter(const char *path)
{
	int fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* In a mount namespace of its own: 0, or the number of the first check that failed. 77: we may not
 * mount. */
static int empty_below_mounts(const char *top, const char *kept)
{
	struct stat st;
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    chdir(top) || mount("none", "tmpfs", "tmpfs", 0, NULL) ||
	    mount(kept, "deep/bind", NULL, MS_BIND, NULL))
		return 77;
	fd = enter("tmpfs");
	make_file(fd, "file");
	close(fd);
	if (chmod("deep/bind", 0555))
		return 1;
	fd = enter(".");
	as_dir_empty(fd);
	close(fd);
	if (stat("tmpfs/file", &st))
		return 2;
	if (stat("deep/bind/file", &st))
		return 3;
	if (stat("deep/bind", &st) || (st.st_mode & 07777) != 0555)
		return 4;
	if (!stat("deep/other", &st) || !stat("plain", &st))
		return 5;
	if (umount("tmpfs") || umount("deep/bind"))
		return 6;
	fd = enter(".");
	as_dir_empty(fd);
	close(fd);
	return stat("tmpfs", &st) && stat("deep", &st) ? 0 : 7;
}

static void mounts_are_left_alone(void **state)
{
	struct as_temp *top = NULL, *kept = NULL;
	int fd, status;
	struct stat st;
	pid_t pid;

	(void)state;
	assert_int_equal(as_temp_new(t_tmpdir(), &top, NULL), 0);
	assert_int_equal(as_temp_new(t_tmpdir(), &kept, NULL), 0);
	fd = enter(as_temp_path(top));
	assert_int_equal(mkdirat(fd, "tmpfs", 0700), 0);
	assert_int_equal(mkdirat(fd, "deep", 0700), 0);
	assert_int_equal(mkdirat(fd, "deep/bind", 0700), 0);
	assert_int_equal(mkdirat(fd, "deep/other", 0700), 0);
	make_file(fd, "plain");
	close(fd);
	fd = enter(as_temp_path(kept));
	make_file(fd, "file");
	pid = fork();
	if (!pid)
		_exit(empty_below_mounts(as_temp_path(top), as_temp_path(kept)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != 77) {
		assert_int_equal(WEXITSTATUS(status), 0);
		assert_int_equal(fstatat(fd, "file", &st, 0), 0);
	}
	close(fd);
	as_temp_free(top);
	as_temp_free(kept);
	if (WEXITSTATUS(status) == 77)
		skip_because("only root can mount");
}

/* Files, folders with all below them, and links themselves go; what a link points to stays. */
static void paths_are_removed(void **state)
{
	struct as_temp *top = NULL;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(as_temp_new(t_tmpdir(), &top, NULL), 0);
	fd = enter(as_temp_path(top));
	assert_int_equal(fchdir(fd), 0);
	assert_int_equal(mkdir("kept", 0700), 0);
	make_file(fd, "kept/file");
	make_file(fd, "plain");
	assert_int_equal(mkdir("folder", 0700), 0);
	make_file(fd, "folder/file");
	assert_int_equal(symlink("kept", "link"), 0);
	as_dir_remove_path("plain");
	as_dir_remove_path("./folder");
	as_dir_remove_path("link");
	as_dir_remove_path("none");
	as_dir_remove_path("none/none");
	assert_int_equal(lstat("plain", &st), -1);
	assert_int_equal(lstat("folder", &st), -1);
	assert_int_equal(lstat("link", &st), -1);
	assert_int_equal(stat("kept/file", &st), 0);
	assert_int_equal(chdir("/"), 0);
	close(fd);
	as_temp_free(top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_are_left_alone),
		cmocka_unit_test(paths_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
