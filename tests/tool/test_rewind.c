/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs that come back (tool/shim/rewind.c): a program that leaves everything in another state finds
 * all of it as it was, however the run before has ended. Each run is compared with a whole one.
 */
#include "os/spawn.h"
#include "tests/lib/tmpdir.h"
#include "tool/stop.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE (UINT64_C(1) << 20)
#define ENDS 9u /* ways to end of rewind_subject.c */
#define RUNS 90u

struct rig {
	char subject[PATH_MAX];
	struct as_chunks *store;
	struct as_tool *whole, *again;
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
			       "-w", "-o",  rig->subject,    "tests/tool/rewind_subject.c",
			       NULL };
	struct as_spawn spawn = { .argv = argv };
	struct as_err err = { 0 };
	struct as_ended ended;

	snprintf(rig->subject, sizeof(rig->subject), "%s/subject", t_tmpdir());
	check(as_spawn_run(&spawn, &ended, &err), &err);
	assert_true(ended.how == AS_END_EXIT && !ended.status);
	rig->store = as_chunks_new();
	check(as_tool_start(rig->subject, NULL, &rig->whole, &err), &err);
	check(as_tool_start(rig->subject, NULL, &rig->again, &err), &err);
	*state = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	as_tool_free(rig->whole);
	as_tool_free(rig->again);
	as_chunks_free(rig->store);
	free(rig);
	return 0;
}

static struct as_disk *make_disk(struct rig *rig, unsigned char byte)
{
	unsigned char sector[512] = { byte };
	struct as_err err = { 0 };
	struct as_disk *disk;

	check(as_disk_new(rig->store, SIZE, &disk, &err), &err);
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, sector, sizeof(sector)), 0);
	return disk;
}

static void begin(struct rig *rig, const struct as_tool_job *job)
{
	struct as_tool_range all = { 0, SIZE };
	struct as_disk *disk = make_disk(rig, 0);
	struct as_err err = { 0 };
	bool stopped;

	check(as_tool_stop_begin(rig->again, job, disk, &all, 1, &stopped, &err), &err);
	assert_true(stopped);
	as_disk_free(disk);
}

static void compare(struct rig *rig, const struct as_tool_job *job, unsigned char byte)
{
	struct as_disk *disk = make_disk(rig, byte);
	struct as_tool_result whole, again;
	struct as_err err = { 0 };

	check(as_tool_run(rig->whole, job, disk, &whole, &err), &err);
	check(as_tool_stop_run(rig->again, disk, &again, &err), &err);
	assert_string_equal(as_buf_str(&whole.output), as_buf_str(&again.output));
	assert_int_equal(whole.ended.how, again.ended.how);
	assert_int_equal(whole.ended.status, again.ended.status);
	assert_true(as_disk_eq(whole.disk, again.disk));
	assert_int_equal(as_reclog_len(whole.log), as_reclog_len(again.log));
	as_tool_result_free(&whole);
	as_tool_result_free(&again);
	as_disk_free(disk);
}

/* One way to end after the other, and each of them in a row. */
static void test_same_as_whole(void **state)
{
	struct rig *rig = *state;
	char *const argv[] = { "subject", AS_TOOL_DISK, NULL };
	const struct as_tool_job job = { .argv = argv };

	begin(rig, &job);
	for (unsigned i = 0; i < RUNS; i++)
		compare(rig, &job, (unsigned char)(i < RUNS / 2 ? i % ENDS : i * ENDS / RUNS));
	for (unsigned i = 0; i < RUNS; i++)
		compare(rig, &job, i % 8 ? 1 : (unsigned char)(i / 8 % ENDS));
	as_tool_stop_end(rig->again);
}

/* It is the same process, so there was no fork. */
static void test_comes_back(void **state)
{
	struct rig *rig = *state;
	char *const argv[] = { "subject", "pid", AS_TOOL_DISK, NULL };
	const struct as_tool_job job = { .argv = argv };
	char last[64] = "";
	unsigned same = 0;

	begin(rig, &job);
	for (unsigned i = 0; i < 20; i++) {
		struct as_disk *disk = make_disk(rig, (unsigned char)i);
		struct as_tool_result result;
		struct as_err err = { 0 };

		check(as_tool_stop_run(rig->again, disk, &result, &err), &err);
		same += !strcmp(last, as_buf_str(&result.output));
		snprintf(last, sizeof(last), "%s", as_buf_str(&result.output));
		as_tool_result_free(&result);
		as_disk_free(disk);
	}
	as_tool_stop_end(rig->again);
	assert_true(same >= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_whole),
		cmocka_unit_test(test_comes_back),
	};

	return cmocka_run_group_tests_name("tool/rewind", tests, set_up, tear_down);
}
