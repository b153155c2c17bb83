/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the row of a checker excuses, and what it does not: each excuse is tried on a run that it is
 * for (the clean subject) and on one that is a step away from it (the mutant), which must be told.
 */
#include "fsck/excuse.h"
#include "fsck/loss.h"
#include "tests/lib/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES (UINT64_C(64) << 10)

struct rig {
	struct as_chunks *store;
	struct as_fsck_base base;
	struct as_disk *damaged;
};

static void poke(struct as_disk *disk, uint64_t off, unsigned char value)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES];
	uint64_t at = off / sizeof(sector) * sizeof(sector);

	assert_int_equal(as_bd_read(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
	sector[off - at] = value;
	assert_int_equal(as_bd_write(as_disk_bd(disk), at, sector, sizeof(sector)), 0);
}

static int set_up(void **state)
{
	struct rig *r = as_xcalloc(1, sizeof(*r));
	struct as_err err;

	r->store = as_chunks_new();
	assert_int_equal(as_disk_new(r->store, BYTES, &r->base.disk, &err), 0);
	poke(r->base.disk, 5000, 5);
	r->damaged = as_disk_snapshot(r->base.disk);
	poke(r->damaged, 9000, 9);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	as_disk_free(r->damaged);
	as_fsck_base_free(&r->base);
	as_chunks_free(r->store);
	free(r);
	return 0;
}

/* The damaged disk after a run that wrote one byte. */
static struct as_disk *after(const struct rig *r, uint64_t off, unsigned char value)
{
	struct as_disk *disk = as_disk_snapshot(r->damaged);

	poke(disk, off, value);
	return disk;
}

static bool differs(const struct rig *r, const struct as_checker_test *row,
		    enum as_subject_mode mode, uint64_t off)
{
	struct as_disk *disk = after(r, off, 77);
	struct as_damage how = { 0 };
	bool yes = as_excuse_differs(row, mode, &r->base, r->damaged, disk, &how);

	assert_int_equal(how.n, yes ? 1 : 0);
	as_damage_free(&how);
	as_disk_free(disk);
	return yes;
}

/* ---- Books ---- */

static void test_books(void **state)
{
	static const char *const broken[] = { "", " ", "7", "7-", "-7", "x-y", "9-8" };
	struct rig *r = *state;
	struct as_checker_test row = { .books = "100-103 2000-2000" };

	assert_true(as_subject_is_book(row.books, 100));
	assert_true(as_subject_is_book(row.books, 103));
	assert_true(as_subject_is_book(row.books, 2000));
	assert_false(as_subject_is_book(row.books, 99));
	assert_false(as_subject_is_book(row.books, 104));
	assert_false(as_subject_is_book(row.books, 2001));
	assert_false(as_subject_is_book(NULL, 0));
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_false(as_subject_is_book(broken[i], 7));
	assert_false(differs(r, &row, AS_SUBJECT_REPAIR, 103));
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, 104));
	/* A run that only looks has books of its own. */
	assert_true(differs(r, &row, AS_SUBJECT_CHECK, 103));
	row.check_books = "103-103";
	assert_false(differs(r, &row, AS_SUBJECT_CHECK, 103));
	assert_true(differs(r, &row, AS_SUBJECT_CHECK, 102));
}

/* What it writes to the healthy disk, it may write to a damaged one: the same number only. */
static void test_healthy_writes(void **state)
{
	struct rig *r = *state;
	struct as_checker_test row = { 0 };
	struct as_disk *disk = as_disk_snapshot(r->base.disk);

	poke(disk, 300, 1);
	assert_true(as_damage_diff(&r->base.writes, r->base.disk, disk));
	as_disk_free(disk);
	assert_false(differs(r, &row, AS_SUBJECT_REPAIR, 300));
	assert_false(differs(r, &row, AS_SUBJECT_REPAIR, 303));
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, 304));
	assert_true(differs(r, &row, AS_SUBJECT_CHECK, 300));
	/* What it repairs on an image of a suite excuses nothing. */
	r->base.sick = true;
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, 300));
}

static void test_rebuilt(void **state)
{
	struct rig *r = *state;
	struct as_checker_test row = { .rebuilds = true };
	struct as_reclog *log = as_reclog_new(as_disk_bd(r->base.disk), AS_RECLOG_READS, 0);
	unsigned char sector[AS_DISK_SECTOR_BYTES];

	/* Sector 2 is read, sector 3 is written as it was. */
	assert_int_equal(as_bd_read(as_reclog_bd(log), 1024, sector, sizeof(sector)), 0);
	assert_int_equal(as_bd_read(as_reclog_bd(log), 1536, sector, sizeof(sector)), 0);
	assert_int_equal(as_bd_write(as_reclog_bd(log), 1536, sector, sizeof(sector)), 0);
	assert_int_equal(as_bd_flush(as_reclog_bd(log)), 0);
	as_excuse_note_rebuilt(&r->base, log);
	as_reclog_free(log);
	assert_false(differs(r, &row, AS_SUBJECT_REPAIR, 1536));
	assert_false(differs(r, &row, AS_SUBJECT_REPAIR, 2047));
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, 1535));
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, 2048));
	assert_true(differs(r, &row, AS_SUBJECT_REPAIR, BYTES - 1));
	assert_true(differs(r, &row, AS_SUBJECT_CHECK, 1536));
}

/* ---- Words ---- */

static void test_says(void **state)
{
	(void)state;
	assert_true(as_excuse_says("one|two", "and two."));
	assert_true(as_excuse_says("one", "one"));
	assert_false(as_excuse_says("one|two", "on|tw"));
	assert_false(as_excuse_says(NULL, "one"));
	assert_false(as_excuse_says("", "one"));
}

static void test_silent(void **state)
{
	struct as_fsck_run told = { .answer = AS_CHECK_CLEAN,
				    .output = "x: ***** FILE SYSTEM WAS MODIFIED *****\n" };
	struct as_fsck_run mute = { .answer = AS_CHECK_CLEAN, .output = "Fix? yes\nx: 3 files\n" };
	const struct as_checker_test tells = { .tells = "***** FILE SYSTEM WAS MODIFIED *****" };
	const struct as_checker_test quiet = { .quiet = true }, plain = { 0 };

	(void)state;
	assert_true(as_excuse_silent(&tells, &told));
	assert_false(as_excuse_silent(&tells, &mute));
	assert_true(as_excuse_silent(&quiet, &mute));
	assert_false(as_excuse_silent(&plain, &told));
}

struct disagreement {
	const char *what;
	struct as_checker_test row;
	const char *look, *repair; /* outputs */
	enum as_check_answer look_answer, repair_answer;
	uint64_t off; /* that the repair changes; 0: nothing */
	bool excused;
};

static const struct disagreement disagreements[] = {
	{ "plain", { 0 }, "", "", AS_CHECK_CLEAN, AS_CHECK_REPAIRED, 700, false },
	{ "it noticed",
	  { .notices = "? no\n" },
	  "Count wrong. Fix? no\n",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  true },
	{ "it did not notice",
	  { .notices = "? no\n" },
	  "all well\n",
	  "Fix? no\n",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  false },
	{ "harmless",
	  { .unseen = "no lost+found" },
	  "",
	  "no lost+found\n",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  true },
	{ "not harmless",
	  { .unseen = "no lost+found" },
	  "no lost+found\n",
	  "no root\n",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  false },
	{ "books", { .books = "700-703" }, "", "", AS_CHECK_CLEAN, AS_CHECK_REPAIRED, 700, true },
	{ "more than books",
	  { .books = "700-703" },
	  "",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  704,
	  false },
	{ "a repair that changes nothing",
	  { .books = "700-703" },
	  "",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  0,
	  false },
	{ "always a repair",
	  { .rewrites = true },
	  "",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  0,
	  true },
	{ "always a repair, and a change",
	  { .rewrites = true },
	  "",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  false },
	{ "quiet", { .quiet = true }, "", "", AS_CHECK_LEFT, AS_CHECK_CLEAN, 700, true },
	{ "not quiet", { 0 }, "", "", AS_CHECK_LEFT, AS_CHECK_CLEAN, 700, false },
	{ "quiet, but the look sees less",
	  { .quiet = true },
	  "",
	  "",
	  AS_CHECK_CLEAN,
	  AS_CHECK_REPAIRED,
	  700,
	  false },
};

static void test_disagrees(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(disagreements) / sizeof(disagreements[0]); i++) {
		const struct disagreement *d = &disagreements[i];
		struct as_fsck_run check = { .answer = d->look_answer,
					     .output = (char *)d->look,
					     .disk = r->damaged };
		struct as_fsck_run first = { .answer = d->repair_answer,
					     .output = (char *)d->repair,
					     .changed = d->off };

		first.disk = d->off ? after(r, d->off, 77) : as_disk_snapshot(r->damaged);
		if (as_excuse_disagrees(&d->row, &r->base, r->damaged, &check, &first) !=
		    d->excused)
			fail_msg("%s", d->what);
		as_disk_free(first.disk);
	}
}

/* e2fsck works through the list of orphans only if it may write: what pass 5 tells of then is its
 * own doing. A list that makes no sense is another matter. */
static void test_orphans(void **state)
{
	static const struct {
		const char *said;
		bool excused;
	} all[] = {
		{ "Clearing orphaned inode 20 (uid=0, gid=0, mode=0100644, size=0)\n"
		  "Free inodes count wrong for group #0 (240, counted=239).\nFix? yes\n",
		  true },
		{ "Truncating orphaned inode 12 (uid=0, gid=0, mode=0100644, size=100000)\n"
		  "Free blocks count wrong (828, counted=830).\nFix? yes\n",
		  true },
		{ "Illegal orphaned inode 3 in superblock.\nClear? yes\n", false },
		{ "Free blocks count wrong (828, counted=830).\nFix? yes\n", false },
	};
	struct rig *r = *state;
	const struct as_checker_test *row = as_checker_find("e2fsck")->tests;

	assert_string_equal(row->name, "e2fsck");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct as_fsck_run check = { .answer = AS_CHECK_CLEAN,
					     .output = "12/256 files\n",
					     .disk = r->damaged };
		struct as_fsck_run first = { .answer = AS_CHECK_REPAIRED,
					     .output = (char *)all[i].said,
					     .changed = true,
					     .disk = after(r, 700, 77) };

		if (as_excuse_disagrees(row, &r->base, r->damaged, &check, &first) !=
		    all[i].excused)
			fail_msg("%s", all[i].said);
		as_disk_free(first.disk);
	}
}

/* ---- The second run ---- */

static void test_second(void **state)
{
	static const struct {
		const char *spec;
		enum as_check_answer first, second;
		bool excused;
	} all[] = {
		{ "checker:cat {disk}", AS_CHECK_FAILED, AS_CHECK_CLEAN, false },
		{ "checker:cat {disk}", AS_CHECK_REPAIRED, AS_CHECK_REPAIRED, false },
		/* It trusts the superblock, and its second run is thorough. */
		{ "e2fsck-preen", AS_CHECK_CLEAN, AS_CHECK_REPAIRED, true },
		{ "e2fsck-preen", AS_CHECK_REPAIRED, AS_CHECK_REPAIRED, false },
		{ "e2fsck", AS_CHECK_CLEAN, AS_CHECK_REPAIRED, false },
		/* Another command may be able to do what the first one could not. */
		{ "reiserfsck-rebuild-tree", AS_CHECK_FAILED, AS_CHECK_LEFT, true },
		{ "reiserfsck-rebuild-tree", AS_CHECK_REPAIRED, AS_CHECK_LEFT, false },
		/* It looks at the superblock only, but then the disk can be opened. */
		{ "reiserfsck-rebuild-sb", AS_CHECK_REPAIRED, AS_CHECK_LEFT, true },
		{ "reiserfsck-rebuild-sb", AS_CHECK_REPAIRED, AS_CHECK_FAILED, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct as_subject_setup setup = { .spec = all[i].spec };
		struct as_fsck_subject *s = NULL;
		struct as_err err;
		int rc = as_subject_open(&setup, &s, &err);

		if (rc == AS_ELACK) {
			print_message("%s is not installed\n", all[i].spec);
			continue;
		}
		assert_int_equal(rc, 0);
		if (as_excuse_second(s, all[i].first, all[i].second) != all[i].excused)
			fail_msg("%s, row %zu", all[i].spec, i);
		as_subject_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_books, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_healthy_writes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rebuilt, set_up, tear_down),
		cmocka_unit_test(test_says),
		cmocka_unit_test(test_silent),
		cmocka_unit_test_setup_teardown(test_disagrees, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_orphans, set_up, tear_down),
		cmocka_unit_test(test_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
