/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim and the fork server, with a program (tool_subject.c) that does what checkers do and what
 * they should not: the answers are those of a plain file, the record is complete, and nothing that
 * a run does outlives it or reaches anything else.
 */
#include "disk/image.h"
#include "os/spawn.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"
#include "tests/lib/wait.h"
#include "tool/shim/proto.h"
#include "tool/tool.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SIZE (UINT64_C(1) << 20)
#define PATIENCE_MS 20000

struct rig {
	const char *dir;
	char subject[PATH_MAX], path[PATH_MAX], canary[PATH_MAX];
	struct as_chunks *store;
	struct as_disk *disk;
	struct as_tool *tool;
	struct as_tool_result result;
};

static void check(int rc, const struct as_err *err)
{
	if (rc)
		fail_msg("%s", err->msg);
}

static int set_up(void **state)
{
	struct rig *rig = as_xcalloc(1, sizeof(*rig));
	char *const argv[] = { "cc", "-O1", "-D_GNU_SOURCE", "-pthread",
			       "-w", "-o",  rig->subject,    "tests/tool/tool_subject.c",
			       NULL };
	struct as_spawn spawn = { .argv = argv };
	struct as_err err = { 0 };
	struct as_ended ended;
	FILE *f;

	rig->dir = t_tmpdir();
	snprintf(rig->subject, sizeof(rig->subject), "%s/subject", rig->dir);
	snprintf(rig->path, sizeof(rig->path), "%s/disk", rig->dir);
	snprintf(rig->canary, sizeof(rig->canary), "%s/canary", rig->dir);
	f = fopen(rig->canary, "w");
	assert_non_null(f);
	assert_true(fputs("canary\n", f) >= 0 && !fclose(f));
	check(as_spawn_run(&spawn, &ended, &err), &err);
	assert_true(ended.how == AS_END_EXIT && !ended.status);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

static void start(struct rig *rig, struct as_tool_setup setup)
{
	struct as_err err = { 0 };
	unsigned char block[512];

	setup.disk_path = rig->path;
	rig->store = as_chunks_new();
	check(as_disk_new(rig->store, SIZE, &rig->disk, &err), &err);
	for (unsigned i = 0; i < SIZE / sizeof(block); i++) {
		memset(block, (int)(i % 7 ? i : 0), sizeof(block));
		assert_int_equal(as_bd_write(as_disk_bd(rig->disk), i * 512, block, 512), 0);
	}
	check(as_tool_start(rig->subject, &setup, &rig->tool, &err), &err);
}

static void stop(struct rig *rig)
{
	as_tool_result_free(&rig->result);
	as_tool_free(rig->tool);
	as_disk_free(rig->disk);
	as_chunks_free(rig->store);
}

/* The log, replayed on the disk as it was, gives the disk as it is. */
static void assert_log_is_true(struct rig *rig)
{
	struct as_disk *copy = as_disk_snapshot(rig->disk);
	struct as_err err = { 0 };

	check(as_reclog_replay(rig->result.log, 0, as_reclog_len(rig->result.log), as_disk_bd(copy),
			       &err),
	      &err);
	assert_true(as_disk_eq(copy, rig->result.disk));
	as_disk_free(copy);
}

static void run(struct rig *rig, const char *what, const char *input, unsigned flags)
{
	char *const argv[] = { "subject", (char *)what, rig->path, rig->canary, NULL };
	const struct as_tool_job job = { .argv = argv, .input = input, .flags = flags };
	struct as_digest before = as_disk_digest(rig->disk), after;
	struct as_err err = { 0 };

	as_tool_result_free(&rig->result);
	check(as_tool_run(rig->tool, &job, rig->disk, &rig->result, &err), &err);
	after = as_disk_digest(rig->disk);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_log_is_true(rig);
}

static void assert_exit(const struct rig *rig, int status)
{
	if (rig->result.ended.how != AS_END_EXIT || rig->result.ended.status != status)
		fail_msg("ended %d with %d, want exit %d: %s", (int)rig->result.ended.how,
			 rig->result.ended.status, status, as_buf_str(&rig->result.output));
}

static bool holds(struct rig *rig, uint64_t off, const char *text)
{
	unsigned char block[1024];
	uint64_t first = off & ~UINT64_C(511);

	assert_int_equal(as_bd_read(as_disk_bd(rig->result.disk), first, block, 1024), 0);
	return !memcmp(block + (off - first), text, strlen(text));
}

/* ---- As a plain file ---- */

static void test_same_as_plain(void **state)
{
	static const char *const whats[] = { "descriptors", "streams", "maps",
					     "threads",	    "die",     "pointers" };
	struct rig *rig = *state;

	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		char *const argv[] = { rig->subject, (char *)whats[i], rig->path, NULL };
		struct as_buf output = { 0 };
		struct as_spawn spawn = { .argv = argv, .output = &output };
		struct as_disk *plain = NULL;
		struct as_err err = { 0 };
		struct as_ended ended;

		start(rig, (struct as_tool_setup){ 0 });
		run(rig, whats[i], NULL, AS_TOOL_READS);
		check(as_image_export_raw(rig->disk, rig->path, &err), &err);
		check(as_spawn_run(&spawn, &ended, &err), &err);
		check(as_image_import_raw(rig->store, rig->path, &plain, &err), &err);
		unlink(rig->path);
		assert_exit(rig, ended.status);
		assert_true(ended.status == 0 || ended.status == 42);
		assert_string_equal(as_buf_str(&rig->result.output), as_buf_str(&output));
		assert_true(as_disk_eq(plain, rig->result.disk));
		assert_false(rig->result.incomplete);
		assert_int_equal(rig->result.refused, 0);
		as_buf_free(&output);
		as_disk_free(plain);
		stop(rig);
	}
}

/* Order, kinds and data, as the program did it. */
static void test_record(void **state)
{
	struct rig *rig = *state;
	size_t flushes = 0, writes = 0;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "streams", NULL, AS_TOOL_READS);
	assert_exit(rig, 0);
	for (size_t i = 0; i < as_reclog_len(rig->result.log); i++) {
		const struct as_log_entry *e = as_reclog_at(rig->result.log, i);

		flushes += e->kind == AS_CALL_FLUSH;
		writes += e->kind == AS_CALL_WRITE;
		/* fsync comes after the last write, and only reads follow. */
		if (flushes)
			assert_true(e->kind != AS_CALL_WRITE);
	}
	assert_int_equal(flushes, 1);
	assert_true(writes >= 2);
	assert_true(holds(rig, 100000, "stream") && holds(rig, 8191, "over the edge"));
	stop(rig);
}

/* Unaligned writes become the sectors they touch, in order, around what was there. */
static void test_record_of_writes(void **state)
{
	struct rig *rig = *state;
	const struct as_log_entry *e;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "die", NULL, 0);
	assert_exit(rig, 42);
	assert_int_equal(as_reclog_len(rig->result.log), 1);
	e = as_reclog_at(rig->result.log, 0);
	assert_true(e->kind == AS_CALL_WRITE && e->off == 512 && e->len == 512);
	assert_memory_equal(e->data, "written\1\1\1", 10);
	stop(rig);
}

static void test_input(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "echo", NULL, 0);
	assert_exit(rig, 7);
	for (int i = 0; i < 2; i++) {
		run(rig, "echo", i ? "two\n" : "Yes\n", 0);
		assert_exit(rig, 0);
		assert_string_equal(as_buf_str(&rig->result.output), i ? "two\n" : "Yes\n");
	}
	run(rig, "echo", NULL, 0);
	assert_exit(rig, 7);
	stop(rig);
}

/* Time, process id and random numbers are the same in every run, and sleep takes no time. */
static void test_clock(void **state)
{
	struct rig *rig = *state;
	char *first = NULL;

	start(rig, (struct as_tool_setup){ 0 });
	for (int i = 0; i < 3; i++) {
		run(rig, "clock", NULL, 0);
		assert_exit(rig, 0);
		if (!first)
			first = as_xstrdup(as_buf_str(&rig->result.output));
		assert_string_equal(first, as_buf_str(&rig->result.output));
		assert_true(strtol(first, NULL, 10) == 2145916800L + 100000);
	}
	free(first);
	stop(rig);
}

/* ---- What must not happen ---- */

static void test_outside(void **state)
{
	struct rig *rig = *state;
	struct as_buf canary = { 0 };
	struct as_err err = { 0 };
	char path[PATH_MAX + 8];

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "outside", NULL, 0);
	if (!rig->result.confined)
		skip_because("this kernel has no seccomp filters");
	assert_exit(rig, 0);
	assert_true(rig->result.refused >= 8);
	assert_non_null(strstr(rig->result.first_refused, rig->canary));
	check(as_buf_read_file(&canary, rig->canary, 100, &err), &err);
	assert_string_equal(as_buf_str(&canary), "canary\n");
	snprintf(path, sizeof(path), "%s.new", rig->canary);
	assert_int_equal(access(path, F_OK), -1);
	as_buf_free(&canary);
	stop(rig);
}

static bool is_dead(void *ctx)
{
	return kill(*(pid_t *)ctx, 0) && errno == ESRCH;
}

static bool is_gone(pid_t pid)
{
	/* It may still be dying when its parent is already reaped. */
	return t_wait_until(is_dead, &pid, PATIENCE_MS);
}

static void test_hang(void **state)
{
	struct rig *rig = *state;
	int child = 0;

	start(rig, (struct as_tool_setup){ .deadline_ms = 200 });
	for (int i = 0; i < 2; i++) {
		run(rig, "hang", NULL, 0);
		assert_int_equal(rig->result.ended.how, AS_END_DEADLINE);
		assert_int_equal(sscanf(as_buf_str(&rig->result.output), "child %d", &child), 1);
		assert_true(child > 1 && is_gone(child));
		assert_true(holds(rig, 0, "before"));
	}
	/* The server is still there for the next. */
	run(rig, "die", NULL, 0);
	assert_exit(rig, 42);
	stop(rig);
}

static int hang_in_child(void *ctx)
{
	struct rig *rig = ctx;
	char *const argv[] = { "subject", "hang", rig->path, rig->canary, NULL };
	const struct as_tool_job job = { .argv = argv };

	start(rig, (struct as_tool_setup){ 0 });
	return as_tool_run(rig->tool, &job, rig->disk, &rig->result, NULL);
}

/* How many processes have this program. */
static unsigned count_running(const char *program)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned n = 0;

	assert_non_null(proc);
	while ((entry = readdir(proc))) {
		char path[PATH_MAX], exe[PATH_MAX];
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		len = readlink(path, exe, sizeof(exe) - 1);
		exe[len > 0 ? len : 0] = '\0';
		n += !strcmp(exe, program);
	}
	closedir(proc);
	return n;
}

static bool none_running(void *ctx)
{
	return !count_running(((struct rig *)ctx)->subject);
}

/* The process that runs a tool is killed in the middle: server, run and the run's own child die
 * with it. */
static void test_killed(void **state)
{
	struct rig *rig = *state, copy = *rig;
	struct as_ended ended;

	assert_int_equal(as_spawn_fork(hang_in_child, &copy, 500, NULL, &ended, NULL), 0);
	assert_int_equal(ended.how, AS_END_DEADLINE);
	assert_true(t_wait_until(none_running, rig, PATIENCE_MS));
}

/* The server is a process of the program, too: it is ended first. */
static void test_left(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "leave", NULL, 0);
	assert_exit(rig, 0);
	assert_true(count_running(rig->subject) <= 1);
	stop(rig);
	assert_true(none_running(rig));
}

static void test_hog(void **state)
{
	struct rig *rig = *state;
	int mib = 0;

	start(rig, (struct as_tool_setup){ .memory_bytes = 64 << 20, .record_bytes = 1 << 20 });
	run(rig, "hog", NULL, 0);
	assert_exit(rig, 3);
	assert_int_equal(sscanf(as_buf_str(&rig->result.output), "%d MiB", &mib), 1);
	assert_true(mib < 64);
	stop(rig);
}

static void test_crash(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "crash", NULL, 0);
	assert_int_equal(rig->result.ended.how, AS_END_SIGNAL);
	assert_string_equal(rig->result.died, "SIGSEGV in main");
	assert_int_equal(rig->result.ended.status, SIGSEGV);
	assert_true(holds(rig, 512, "written"));
	run(rig, "die", NULL, 0);
	assert_exit(rig, 42);
	stop(rig);
}

static void test_shout(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct as_tool_setup){ .output_bytes = 1000 });
	run(rig, "shout", NULL, 0);
	assert_exit(rig, 0);
	assert_int_equal(rig->result.output.len, 1000);
	stop(rig);
}

/* The server is killed between two runs: the next one starts another. */
static void test_server_dies(void **state)
{
	struct rig *rig = *state;
	int server = 0;

	start(rig, (struct as_tool_setup){ 0 });
	for (int i = 0; i < 3; i++) {
		run(rig, "parent", NULL, 0);
		assert_exit(rig, 0);
		assert_int_equal(sscanf(as_buf_str(&rig->result.output), "%d", &server), 1);
		assert_true(server > 1 && !kill(server, SIGKILL));
	}
	stop(rig);
}

_Static_assert(AS_SHIM_HEAD_BYTES == 32768, "HEAD_BYTES of tool_subject.c");

/* A record that a wild pointer has hit is recognised as wrong, and the disk is right all the
 * same. */
static void test_scribble(void **state)
{
	struct rig *rig = *state;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "scribble", NULL, 0);
	assert_exit(rig, 0);
	assert_true(rig->result.incomplete);
	assert_true(holds(rig, 0, "one") && holds(rig, 300000, "two") &&
		    holds(rig, 600000, "three"));
	stop(rig);
}

/* So is one that is too small for the run. */
static void test_overflow(void **state)
{
	struct rig *rig = *state;
	struct as_disk *whole;

	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "threads", NULL, 0);
	assert_exit(rig, 0);
	whole = as_disk_snapshot(rig->result.disk);
	as_tool_free(rig->tool);
	{
		struct as_tool_setup small = { .disk_path = rig->path, .record_bytes = 10000 };
		struct as_err err = { 0 };

		check(as_tool_start(rig->subject, &small, &rig->tool, &err), &err);
	}
	run(rig, "threads", NULL, 0);
	assert_exit(rig, 0);
	assert_true(rig->result.incomplete);
	assert_true(as_disk_eq(whole, rig->result.disk));
	as_disk_free(whole);
	stop(rig);
}

/* Disks of another size, one after the other in one server. */
static void test_sizes(void **state)
{
	struct rig *rig = *state;
	struct as_disk *small = NULL, *first;
	struct as_err err = { 0 };

	start(rig, (struct as_tool_setup){ 0 });
	first = rig->disk;
	check(as_disk_new(rig->store, 2048, &small, &err), &err);
	for (int i = 0; i < 4; i++) {
		rig->disk = i % 2 ? small : first;
		run(rig, "die", NULL, 0);
		assert_exit(rig, 42);
		assert_int_equal(as_disk_size(rig->result.disk), as_disk_size(rig->disk));
		assert_true(holds(rig, 512, "written"));
	}
	as_disk_free(small);
	rig->disk = first;
	stop(rig);
}

/* Nothing can be loaded into a static program: it gets its disk through FUSE. */
static void test_static(void **state)
{
	static const char *const whats[] = { "streams", "threads", "die" };
	struct rig *rig = *state;
	char *const cc[] = { "cc",
			     "-static",
			     "-O1",
			     "-D_GNU_SOURCE",
			     "-pthread",
			     "-w",
			     "-o",
			     rig->subject,
			     "tests/tool/tool_subject.c",
			     NULL };
	struct as_spawn compile = { .argv = cc };
	struct as_err err = { 0 };
	struct as_ended ended;

	rig->subject[strlen(rig->subject) - 1] = 's'; /* another name, beside the dynamic one */
	check(as_spawn_run(&compile, &ended, &err), &err);
	if (ended.how != AS_END_EXIT || ended.status)
		skip_because("there is no static C library here");
	assert_false(as_tool_is_dynamic(rig->subject));
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		char *const argv[] = { rig->subject, (char *)whats[i], rig->path, NULL };
		const struct as_tool_job job = { .argv = argv };
		struct as_spawn spawn = { .argv = argv };
		struct as_disk *plain = NULL;
		int rc;

		start(rig, (struct as_tool_setup){ 0 });
		rc = as_tool_run(rig->tool, &job, rig->disk, &rig->result, &err);
		if (rc == AS_ELACK)
			skip_because("%s", err.msg);
		check(rc, &err);
		assert_log_is_true(rig);
		check(as_image_export_raw(rig->disk, rig->path, &err), &err);
		check(as_spawn_run(&spawn, &ended, &err), &err);
		check(as_image_import_raw(rig->store, rig->path, &plain, &err), &err);
		unlink(rig->path);
		assert_exit(rig, ended.status);
		assert_true(as_disk_eq(plain, rig->result.disk));
		as_disk_free(plain);
		stop(rig);
	}
	/* Nothing that it leaves behind outlives the run. */
	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "leave", NULL, 0);
	assert_exit(rig, 0);
	assert_true(none_running(rig));
	stop(rig);
	/* Everything else is mounted read-only. */
	start(rig, (struct as_tool_setup){ 0 });
	run(rig, "outside", NULL, 0);
	assert_true(rig->result.ended.how == AS_END_EXIT && rig->result.ended.status);
	assert_non_null(strstr(as_buf_str(&rig->result.output), "errno 30"));
	stop(rig);
}

static void test_refusals(void **state)
{
	struct as_err err = { 0 };
	struct as_tool *tool;

	(void)state;
	assert_int_equal(as_tool_start("no-such-program", NULL, &tool, &err), AS_ELACK);
	assert_null(tool);
	assert_string_equal(err.msg, "no-such-program: no such program");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_plain),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_of_writes),
		cmocka_unit_test(test_input),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_outside),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_hog),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_shout),
		cmocka_unit_test(test_scribble),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_server_dies),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_static),
	};

	return cmocka_run_group_tests_name("tool/tool", tests, set_up, tear_down);
}
