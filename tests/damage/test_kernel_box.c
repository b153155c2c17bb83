/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel: what is made of a sandbox that prints much, dies, or fails. A shell script takes the
 * place of a kernel: it does what the test says at each request.
 */
#include "tests/lib/skip.h"

#include "damage/kernel.h"
#include "tests/lib/tmpdir.h"

#include <stdio.h>
#include <string.h>

#define DISK_BYTES ((uint64_t)64 << 10)

/* ---- The sandbox ----------------------------------------------------------------------------- */

/* `boots` is how often one was started. Events go to 3, the console is 1, the folder is 5. */
static const char begin[] = "boots=$(($(cat \"$0/boots\" 2>/dev/null || echo 0) + 1))\n"
			    "echo $boots >\"$0/boots\"\n"
			    "answer() {\n"
			    "  printf 'assay-word 1 0 0 0 0 0\\n' >/proc/$$/fd/5/out/answer\n"
			    "  echo 'done ask' >&3\n"
			    "}\n"
			    "up() { echo 'assay: the engine begins'; }\n";

static struct fake {
	const char *folder, *script;
} fake;

static int ready(const struct as_box_options *options, struct as_err *err)
{
	(void)options;
	(void)err;
	return 0;
}

static int start(const struct as_box_options *options, struct as_box *box, struct as_err *err)
{
	char sh[] = "sh", c[] = "-c", path[] = "PATH=/usr/bin:/bin", text[4096], folder[1024];
	char *argv[] = { sh, c, text, folder, NULL }, *envp[] = { path, NULL };
	int rc = as_box_open_folder(box, NULL, err);

	snprintf(text, sizeof(text), "%s%s", begin, fake.script);
	snprintf(folder, sizeof(folder), "%s", fake.folder);
	if (rc)
		return rc;
	return as_box_spawn(box,
			    &(struct as_box_program){ .path = "/bin/sh",
						      .argv = argv,
						      .envp = envp,
						      .core = AS_CORE_ANY,
						      .console = true,
						      .fds = { box->share_fd },
						      .fill = options->fill,
						      .fill_ctx = options->fill_ctx },
			    err);
}

static const struct as_sandbox_ops ops = {
	.api = AS_SANDBOX_API,
	.caps = AS_SANDBOX_OWN_KERNEL | AS_SANDBOX_HAS_CONSOLE,
	.name = "fake",
	.help = "a script",
	.ready = ready,
	.state_path = "/proc/self/fd/4",
	.share_path = "/proc/self/fd/5",
	.start = start,
};

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
#define ANSWERS "while read r; do answer; done"
#define FINE AS_WORD_FINE
#define DIED AS_WORD_DIED
#define UNASKED AS_WORD_UNASKED

static const struct test_row rows[] = {
	{ "it answers", "up; " ANSWERS, 2, { FINE, FINE }, 1, "", "?" },
	{ "it prints much, and dies at the third disk",
	  "up; [ $boots = 1 ] && for i in 1 2; do read r; " FLOOD "answer; done; read r; " FLOOD
	  "exit 1",
	  3,
	  { FINE, FINE, DIED },
	  2,
	  "the kernel dies",
	  "come up" },
	{ "it prints much before its first answer, and dies",
	  "up; read r; " FLOOD "exit 1",
	  1,
	  { DIED },
	  1,
	  "the kernel dies",
	  "come up" },
	{ "it dies of what the disk before did",
	  "up; read r; answer; read r; exit 1",
	  2,
	  { FINE, FINE },
	  2,
	  "",
	  "?" },
	{ "what it said of one disk is not said of the next one",
	  "up; [ $boots = 1 ] && { read r; " OOPS "answer; }; read r; exit 1",
	  2,
	  { FINE, DIED },
	  2,
	  "the kernel dies",
	  "BUG" },
	{ "what it says of this one is said",
	  "up; [ $boots = 1 ] && { read r; answer; }; read r; " OOPS "exit 1",
	  2,
	  { FINE, DIED },
	  2,
	  "BUG",
	  "?" },
	{ "what it said at boot is not said of a disk",
	  OOPS "up; read r; exit 1",
	  1,
	  { DIED },
	  1,
	  "the kernel dies",
	  "BUG" },
	{ "it does not come up, once",
	  "[ $boots = 1 ] && exit 1; up; " ANSWERS,
	  1,
	  { FINE },
	  2,
	  "",
	  "?" },
	{ "it never comes up", "exit 1", 1, { ERROR }, 2, "did not come up", "?" },
	{ "the engine gives up at once",
	  "up; read r; echo 'error no room' >&3; sleep 9",
	  1,
	  { ERROR },
	  1,
	  "no room",
	  "?" },
	{ "the engine gives up after some disks",
	  "up; read r; answer; read r; echo 'error no room' >&3; sleep 9",
	  3,
	  { FINE, FINE, FINE },
	  3,
	  "",
	  "?" },
	{ "it fails twice, and is well again",
	  "[ $boots = 2 -o $boots = 3 ] && exit 1; up; read r; answer; [ $boots = 1 ] && exit 1; "
	  "" ANSWERS,
	  4,
	  { FINE, UNASKED, FINE, FINE },
	  4,
	  "",
	  "?" },
	{ "it fails for good",
	  "[ $boots -ge 2 ] && exit 1; up; read r; answer; read r; exit 1",
	  4,
	  { FINE, UNASKED, UNASKED, ERROR },
	  6,
	  "did not come up",
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

static int boots(void)
{
	char path[1024];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/boots", fake.folder);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	fclose(f);
	return n;
}

static void test_row(const struct test_row *row)
{
	struct as_fsck_kernel_setup setup = { .target = "ext4",
					      .sandbox = &ops,
					      .box.core = AS_CORE_ANY };
	struct as_chunks *store = as_chunks_new();
	struct as_fsck_kernel *kernel;
	const struct as_word *word = NULL;
	struct as_err err = { 0 };
	const char *why;

	print_message("%s\n", row->name);
	fake = (struct fake){ t_tmpdir(), row->script };
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
	assert_int_equal(boots(), row->boots);
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
