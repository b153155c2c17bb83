/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outputs and folders: paths that a user names, what is below a run folder, and who may own it. */
#include "tests/lib/skip.h"

#include "os/out.h"
#include "os/rundir.h"
#include "os/spawn.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;

static int setup(void **state)
{
	(void)state;
	folder = t_tmpdir();
	return chdir(folder);
}

static int teardown(void **state)
{
	(void)state;
	return chdir("/");
}

static int put(const char *path, const char *text, struct as_err *err)
{
	struct as_buf buf = { 0 };
	int rc;

	as_buf_adds(&buf, text);
	rc = as_out_save(path, &buf, err);
	as_buf_free(&buf);
	return rc;
}

static bool holds(const char *path, const char *text)
{
	struct as_buf buf = { 0 };
	bool same = !as_buf_read_file(&buf, path, 1000, NULL) && !strcmp(as_buf_str(&buf), text);

	as_buf_free(&buf);
	return same;
}

static void links(void **state)
{
	struct as_err err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(symlink("d/b", "a"), 0);
	assert_int_equal(symlink("../c", "d/b"), 0);
	assert_int_equal(put("a", "1", &err), 0); /* c is not there yet */
	assert_true(holds("c", "1"));
	assert_int_equal(chmod("c", 0604), 0);
	assert_int_equal(put("a", "2", &err), 0);
	assert_true(holds("c", "2"));
	assert_int_equal(lstat("a", &st) || !S_ISLNK(st.st_mode), 0);
	assert_int_equal(lstat("d/b", &st) || !S_ISLNK(st.st_mode), 0);
	assert_int_equal(stat("c", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
	/* Links that lead nowhere, in a circle, through a file. */
	assert_int_equal(symlink("circle", "circle"), 0);
	assert_int_not_equal(put("circle", "x", &err), 0);
	assert_int_equal(symlink("no/where", "astray"), 0);
	assert_int_not_equal(put("astray", "x", &err), 0);
	assert_int_not_equal(put("c/d", "x", &err), 0);
	assert_int_not_equal(put("", "x", &err), 0);
	assert_int_not_equal(put("new/", "x", &err), 0);
	assert_int_not_equal(put("c/", "x", &err), 0);
	assert_true(holds("c", "2"));
	assert_int_equal(access("new", F_OK), -1);
}

static void sockets_and_folders(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "sock" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_not_equal(put("sock", "x", &err), 0);
	assert_non_null(strstr(err.msg, "is a socket"));
	assert_int_not_equal(as_out_check("sock", &err), 0);
	assert_int_equal(mkdir("folder", 0755), 0);
	assert_int_not_equal(put("folder", "x", &err), 0);
	assert_non_null(strstr(err.msg, "is a folder"));
	assert_int_not_equal(as_out_check("folder", &err), 0);
	assert_int_not_equal(as_out_check("folder/no/file", &err), 0);
	assert_int_equal(as_out_check("folder/file", &err), 0);
	assert_int_equal(access("folder/file", F_OK), -1);
	close(fd);
}

static void failures_leave_what_was_there(void **state)
{
	struct as_err err = { 0 };
	struct as_out *out;

	(void)state;
	assert_int_equal(put("kept", "old", &err), 0);
	assert_int_equal(as_out_open("kept", &out, &err), 0);
	assert_true(as_out_is_new(out));
	assert_int_equal(as_out_write(out, "new", 3), 0);
	assert_int_not_equal(as_out_end(out, -ENOSPC, &err), 0);
	assert_non_null(strstr(err.msg, "No space left"));
	assert_true(holds("kept", "old"));
	assert_int_equal(system("test -z \"$(ls -A | grep tmp)\""), 0);
}

/* Below an open folder nothing but plain files of bounded length is read, and no link written. */
static void below(void **state)
{
	struct as_buf buf = { 0 };
	struct as_err err = { 0 };
	struct as_dir dir, inner;
	bool made = false;

	(void)state;
	assert_int_equal(as_dir_open("open", &made, &dir, &err), 0);
	assert_true(made);
	assert_int_equal(put("outside", "precious", &err), 0);
	assert_int_equal(symlink("../outside", "open/link"), 0);
	assert_int_equal(mkfifo("open/fifo", 0644), 0);
	as_buf_adds(&buf, "text");
	assert_int_equal(as_dir_write(&dir, "file", &buf, &err), 0);
	assert_int_not_equal(as_dir_write(&dir, "link", &buf, &err), 0);
	assert_int_not_equal(as_dir_write(&dir, "fifo", &buf, &err), 0);
	as_buf_clear(&buf);
	assert_int_equal(as_dir_read(&dir, "file", 4, &buf, &err), 0);
	assert_string_equal(as_buf_str(&buf), "text");
	assert_int_not_equal(as_dir_read(&dir, "file", 3, &buf, &err), 0);
	assert_int_not_equal(as_dir_read(&dir, "link", 100, &buf, &err), 0);
	assert_int_not_equal(as_dir_read(&dir, "fifo", 100, &buf, &err), 0);
	assert_int_not_equal(as_dir_read(&dir, ".", 100, &buf, &err), 0);
	assert_int_equal(symlink("..", "open/up"), 0);
	assert_int_not_equal(as_dir_below(&dir, "up", true, &inner, &err), 0);
	assert_int_not_equal(as_dir_below(&dir, "file", true, &inner, &err), 0);
	/* Links are removed, not what they lead to. */
	as_dir_empty(dir.fd);
	assert_int_equal(as_dir_has(&dir, "up"), 0);
	assert_true(holds("outside", "precious"));
	as_dir_close(&dir);
	as_buf_free(&buf);
}

/* Folders that a guest hands over. */
static void taken(void **state)
{
	struct as_err err = { 0 };
	struct as_dir from, to;
	bool made, again;
	struct stat st;

	(void)state;
	assert_int_equal(as_dir_open("from", &made, &from, &err), 0);
	assert_int_equal(as_dir_open("to", &made, &to, &err), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(mkdir("from/id", 0777), 0);
		assert_int_equal(put("from/id/file", i ? "second" : "first", &err), 0);
		assert_int_equal(chmod("from/id/file", 06777), 0);
		assert_int_equal(symlink("/etc/passwd", "from/id/link"), 0);
		assert_int_equal(mkfifo("from/id/fifo", 0644), 0);
		assert_int_equal(mkdir("from/id/sub", 0755), 0);
		assert_int_equal(as_dir_take(&from, "id", &to, &again, &err), 0);
		assert_int_equal(again, i == 1);
		assert_int_equal(as_dir_has(&from, "id"), 0);
	}
	assert_true(holds("to/id/file", "first"));
	assert_int_equal(stat("to/id/file", &st), 0);
	assert_int_equal(st.st_mode & 07133, 0);
	assert_int_equal(system("test \"$(ls -A to/id)\" = file && test \"$(ls -A to)\" = id"), 0);
	assert_int_not_equal(as_dir_take(&from, "..", &to, &again, &err), 0);
	assert_int_not_equal(as_dir_take(&from, "a/b", &to, &again, &err), 0);
	assert_int_not_equal(as_dir_take(&from, ".part-1", &to, &again, &err), 0);
	assert_int_not_equal(as_dir_take(&from, "none", &to, &again, &err), 0);
	assert_int_equal(system("test \"$(ls -A to)\" = id"), 0);
	as_dir_close(&from);
	as_dir_close(&to);
}

static void run_folders(void **state)
{
	static const struct {
		const char *name, *make;
		bool accepted;
	} rows[] = {
		{ "new", "true", true },
		{ "empty", "mkdir r", true },
		{ "marked", "mkdir r; touch r/.assay-run r/x", true },
		{ "other files", "mkdir r; touch r/x", false },
		{ "a mark that is a link", "mkdir r; touch m; ln -s ../m r/.assay-run", false },
		{ "a mark that is a folder", "mkdir -p r/.assay-run", false },
		{ "findings of old",
		  "mkdir -p r/findings/a; cd r/findings/a; "
		  "touch finding.json workload.txt",
		  true },
		{ "no findings", "mkdir -p r/findings/a; touch r/findings/a/x", false },
		{ "a hunt of old", "mkdir -p r/hunt; echo '{\"version\":1,' >r/hunt/state.json",
		  true },
		{ "another's hunt", "mkdir -p r/hunt; touch r/hunt/.x", false },
		{ "a state that is a FIFO", "mkdir -p r/hunt; mkfifo r/hunt/state.json", false },
		{ "old, and more", "mkdir -p r/findings; touch r/README", false },
		{ "a file", "touch r", false },
		{ "for all", "mkdir -m 777 r", false },
		{ "for all, sticky", "mkdir -m 1777 r", false },
		{ "a link of ours", "mkdir q; ln -s q r", true },
		{ "a link to other files", "mkdir q; touch q/x; ln -s q r", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_err err = { 0 };
		struct as_rundir run;
		char command[512];
		int rc;

		snprintf(command, sizeof(command), "rm -rf r q m; (%s)", rows[i].make);
		assert_int_equal(system(command), 0);
		rc = as_rundir_open("r", AS_RUNDIR_MAKE, &run, &err);
		if (!rc != rows[i].accepted)
			fail_msg("%s: %s", rows[i].name, rc ? err.msg : "accepted");
		if (!rc)
			as_rundir_close(&run);
	}
}

/* The process that made the folder ends while another one uses it; then that one ends. */
static void shared(void **state)
{
	struct as_rundir first, second;
	struct as_err err;

	(void)state;
	assert_int_equal(system("rm -rf r q m"), 0);
	assert_int_equal(as_rundir_open("r", AS_RUNDIR_MAKE, &first, &err), 0);
	assert_int_equal(as_rundir_open("r", AS_RUNDIR_MAKE, &second, &err), 0);
	as_rundir_close(&first);
	assert_int_equal(access("r/" AS_RUN_MARK, F_OK), 0);
	as_rundir_close(&second);
	assert_int_equal(system("rm -rf r"), 0);
	assert_int_equal(as_rundir_open("r", AS_RUNDIR_MAKE, &first, &err), 0);
	as_rundir_close(&first);
	assert_int_equal(access("r", F_OK), -1);
}

/* A child that runs out of memory reports it to its parent, which has an error and no finding. */
static int hungry(void *ctx)
{
	(void)ctx;
	as_out_of_memory(4711);
}

static void out_of_memory(void **state)
{
	struct as_ended ended;
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_spawn_fork(hungry, NULL, 0, NULL, &ended, &err), AS_ENOMEM);
	assert_non_null(strstr(err.msg, "out of memory: 4711 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links),
		cmocka_unit_test(sockets_and_folders),
		cmocka_unit_test(failures_leave_what_was_there),
		cmocka_unit_test(below),
		cmocka_unit_test(taken),
		cmocka_unit_test(run_folders),
		cmocka_unit_test(shared),
		cmocka_unit_test(out_of_memory),
	};

	return cmocka_run_group_tests_name("os/out", tests, setup, teardown);
}
