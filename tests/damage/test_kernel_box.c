/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: what is made of a sandbox that prints much, dies, or fails. A shell script takes the
 * place of a kernel: it does what the test says at each request.
 */
#include "tests/lib/skip.h"

#include "damage/kernel.h"
#include "tests/lib/fake_box.h"
#include "tests/lib/tmpdir.h"

#include <stdio.h>
#include <string.h>

#define DISK_BYTES ((uint64_t)64 << 10)

/* ---- Asking ---------------------------------------------------------------------------------- */

#define ASKS_MAX 8
enum { ERROR = -1 };

struct test_row {
	const char *name, *script;
	int n, want[ASKS_MAX]; /* enum as_word_end, or ERROR */
	int boots;
	const char *why, *not_why; /* in the last word or error */
};

#define FLOOD "yes 'F2FS-fs: something' | head -c 300000; "
#define OOPS "echo '[    1.000000] BUG: unable to handle kernel paging request at 0'; "
#define WORD "word() { answer \"assay-word 1 0 0 0 0 0\n\"; }; "
#define UP WORD "up; "
#define ANSWERS "while next; do word; done"
#define FINE AS_WORD_FINE
#define DIED AS_WORD_DIED
#define UNASKED AS_WORD_UNASKED

static const struct test_row rows[] = {
	{ "it answers", UP ANSWERS, 2, { FINE, FINE }, 1, "", "?" },
	{ "it prints much, and dies at the third disk",
	  UP "[ $boots = 1 ] && for i in 1 2; do next; " FLOOD "word; done; next; " FLOOD "die",
	  3,
	  { FINE, FINE, DIED },
	  2,
	  "the kernel dies",
	  "come up" },
	{ "it prints much before its first answer, and dies",
	  UP "next; " FLOOD "die",
	  1,
	  { DIED },
	  1,
	  "the kernel dies",
	  "come up" },
	{ "it dies of what the disk before did",
	  UP "next; word; next; die",
	  2,
	  { FINE, FINE },
	  2,
	  "",
	  "?" },
	{ "what it said of one disk is not said of the next one",
	  UP "[ $boots = 1 ] && { next; " OOPS "word; }; next; die",
	  2,
	  { FINE, DIED },
	  2,
	  "the kernel dies",
	  "BUG" },
	{ "what it says of this one is said",
	  UP "[ $boots = 1 ] && { next; word; }; next; " OOPS "die",
	  2,
	  { FINE, DIED },
	  2,
	  "BUG",
	  "?" },
	{ "what it said at boot is not said of a disk",
	  OOPS UP "next; die",
	  1,
	  { DIED },
	  1,
	  "the kernel dies",
	  "BUG" },
	{ "it does not come up, once",
	  "[ $boots = 1 ] && exit 1; " UP ANSWERS,
	  1,
	  { FINE },
	  2,
	  "",
	  "?" },
	{ "it never comes up", "exit 1", 1, { ERROR }, 2, "did not start", "?" },
	{ "the engine gives up at once",
	  UP "next; say '{\"event\":\"error\",\"text\":\"no room\"}'; exit 2",
	  1,
	  { ERROR },
	  1,
	  "no room",
	  "?" },
	{ "the engine gives up after some disks",
	  UP "next; word; next; say '{\"event\":\"error\",\"text\":\"no room\"}'; exit 2",
	  3,
	  { FINE, FINE, FINE },
	  3,
	  "",
	  "?" },
	{ "it fails twice, and is well again",
	  "[ $boots = 2 -o $boots = 3 ] && exit 1; " UP "next; word; [ $boots = 1 ] && exit 1; "
	  "" ANSWERS,
	  4,
	  { FINE, UNASKED, FINE, FINE },
	  4,
	  "",
	  "?" },
	{ "it fails for good",
	  "[ $boots -ge 2 ] && exit 1; " UP "next; word; next; die",
	  4,
	  { FINE, UNASKED, UNASKED, ERROR },
	  6,
	  "did not start",
	  "?" },
};

/* Each disk is another one: a word that is known is not asked for. */
static struct as_disk *disk_of(struct as_chunks *store, int i)
{
	unsigned char sector[AS_DISK_SECTOR_BYTES] = { (unsigned char)(i + 1) };
	struct as_disk *disk;
	struct as_err err;

	assert_int_equal(as_disk_new(store, DISK_BYTES, &disk, &err), 0);
	assert_int_equal(as_bd_write(as_disk_bd(disk), 0, sector, sizeof(sector)), 0);
	return disk;
}

static void test_row(const struct test_row *row)
{
	struct as_fsck_kernel_setup setup = { .target = "ext4",
					      .sandbox = &t_fake_box,
					      .box.core = AS_CORE_ANY };
	struct as_chunks *store = as_chunks_new();
	struct as_fsck_kernel *kernel;
	const struct as_word *word = NULL;
	struct as_err err = { 0 };
	const char *why;

	print_message("%s\n", row->name);
	t_fake_box_set(t_tmpdir(), row->script);
	assert_int_equal(as_fsck_kernel_open(&setup, &kernel, &err), 0);
	for (int i = 0; i < row->n; i++) {
		struct as_disk *disk = disk_of(store, i);
		int rc = as_fsck_kernel_ask(kernel, disk, &word, &err);

		assert_int_equal(rc ? ERROR : (int)word->end, row->want[i]);
		as_disk_free(disk);
	}
	why = row->want[row->n - 1] == ERROR ? err.msg : as_buf_str(&word->why);
	assert_non_null(strstr(why, row->why));
	assert_null(strstr(why, row->not_why));
	assert_int_equal(t_fake_box_boots(), row->boots);
	as_fsck_kernel_free(kernel);
	as_chunks_free(store);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		test_row(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
