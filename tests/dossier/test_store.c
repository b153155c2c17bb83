/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store of findings: what is written is whole, can be read back, and counts repetitions; the
 * pages say what is in the folder, whoever writes there at the same time. */
#include "tests/lib/skip.h"

#include "base/buf.h"
#include "disk/cow.h"
#include "dossier/dossier.h"
#include "dossier/store.h"
#include "dossier/stored.h"
#include "tests/lib/tmpdir.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISK_BYTES ((uint64_t)1 << 20)
#define WRITERS 6
#define COUNTS 15

static char out[PATH_MAX];
static struct as_chunks *chunks;
static struct as_disk *before, *after;

/* The second one cannot be packed. */
static int setup(void **state)
{
	uint64_t bits = 88172645463325252u, block[512];
	struct as_err err;

	(void)state;
	snprintf(out, sizeof(out), "%s/out", t_tmpdir());
	chunks = as_chunks_new();
	if (as_disk_new(chunks, DISK_BYTES, &before, &err) ||
	    as_disk_new(chunks, DISK_BYTES, &after, &err))
		return -1;
	for (uint64_t at = 0; at < DISK_BYTES; at += sizeof(block)) {
		for (size_t i = 0; i < 512; i++) {
			bits ^= bits << 13;
			bits ^= bits >> 7;
			bits ^= bits << 17;
			block[i] = bits;
		}
		if (as_bd_write(as_disk_bd(after), at, block, sizeof(block)))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	as_disk_free(before);
	as_disk_free(after);
	as_chunks_free(chunks);
	return 0;
}

static struct as_finding finding(const char *id)
{
	return (struct as_finding){
		.id = id,
		.kind = AS_FIND_OUTCOME,
		.target = "ext4",
		.summary = "op 2: \"quoted\" \xff and <odd>",
		.detail = "     2  mkdir /a 0755 = 0\n",
		.signature = "outcome: mkdir: returned #",
		.workload = "mkdir /b 0755\nmkdir /b/a 0755\n",
		.workload_name = "w.txt",
		.options = "check=end",
		.op_index = 1,
		.op_line = 2,
		.log = "a line\n",
		.disk = after,
	};
}

static void open_folder(const char *id, struct as_dir *dir)
{
	char path[PATH_MAX + 256];
	struct as_err err;

	snprintf(path, sizeof(path), "%s/findings/%s", out, id);
	if (as_dir_open(path, NULL, dir, &err))
		fail_msg("%s", err.msg);
}

static bool may(const char *id, const char *name, int how)
{
	char path[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/findings/%s/%s", out, id, name);
	return !access(path, how);
}

static bool exists(const char *id, const char *name)
{
	return may(id, name, R_OK);
}

/* As as_dir_take() does. */
static void take_right(const char *id, const char *name)
{
	struct as_dir dir;

	open_folder(id, &dir);
	assert_int_equal(fchmodat(dir.fd, name, 0644, 0), 0);
	as_dir_close(&dir);
	assert_false(may(id, name, X_OK));
}

/* How often the text stands in the file. */
static unsigned has(const char *id, const char *name, const char *text)
{
	struct as_buf buf = { 0 };
	struct as_dir dir;
	unsigned n = 0;

	open_folder(id, &dir);
	assert_int_equal(as_dir_read(&dir, name, (size_t)1 << 24, &buf, NULL), 0);
	for (const char *s = as_buf_str(&buf); (s = strstr(s, text)); s++)
		n++;
	as_dir_close(&dir);
	as_buf_free(&buf);
	return n;
}

static void put(const char *id, const char *name, const char *text)
{
	struct as_buf buf = { 0 };
	struct as_dir dir;

	open_folder(id, &dir);
	as_buf_adds(&buf, text);
	assert_int_equal(as_dir_write(&dir, name, &buf, NULL), 0);
	as_dir_close(&dir);
	as_buf_free(&buf);
}

static int tell(const char *id, const struct as_dossier_news *news)
{
	struct as_err err;
	struct as_dir dir;
	int rc;

	open_folder(id, &dir);
	rc = as_dossier_write(&dir, news, &err);
	as_dir_close(&dir);
	return rc;
}

static void store(const struct as_finding *f, unsigned times)
{
	struct as_sink *sink;
	struct as_err err;

	assert_int_equal(as_store_sink_new(out, &sink, &err), 0);
	while (times--)
		as_emit_finding(sink, f);
	if (as_store_sink_failed(sink, &err))
		fail_msg("%s", err.msg);
	as_store_sink_free(sink);
}

static void written_and_read(void **state)
{
	static const char *const parts[] = { "finding.json", "workload.txt", "repro.c",
					     "README.md",    "disk.img.zst", "repro.sh",
					     "report.txt",   "expected.tree" };
	const struct as_finding f = finding("ext4-outcome-1");
	struct as_stored stored;
	struct as_dir dir;
	struct as_err err;

	(void)state;
	store(&f, 2);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!exists("ext4-outcome-1", parts[i]))
			fail_msg("%s is not there", parts[i]);
	open_folder("ext4-outcome-1", &dir);
	assert_int_equal(as_stored_load(&dir, &stored, &err), 0);
	as_dir_close(&dir);
	assert_string_equal(stored.finding.id, "ext4-outcome-1");
	assert_string_equal(stored.finding.target, f.target);
	assert_string_equal(stored.finding.options, f.options);
	assert_string_equal(stored.finding.signature, f.signature);
	assert_string_equal(stored.workload, f.workload);
	assert_int_equal(stored.finding.count, 2);
	as_stored_free(&stored);
}

/* The program knows the answers from the beginning. */
static void pages_follow(void **state)
{
	static const char id[] = "ext4-outcome-5";
	const struct as_dossier_reduction twice[] = {
		{ .workload = "mkdir /c 0755\n",
		  .ops_before = 2,
		  .ops_after = 1,
		  .runs = 3,
		  .failed = 3,
		  .complete = true,
		  .summary = "op 1: as it is now",
		  .op_index = 0 },
		{ .workload = "mkdir /d 0755\n",
		  .ops_before = 2,
		  .ops_after = 1,
		  .runs = 4,
		  .failed = 2,
		  .flaky = true,
		  .summary = "op 1: once more",
		  .op_index = 0 },
	};
	const struct as_finding f = finding(id);

	(void)state;
	store(&f, 1);
	assert_true(has(id, "repro.c", "check(2, "));
	assert_int_equal(has(id, "expected.tree", "b/a"), 1);
	assert_int_equal(has(id, "README.md", "## Reduced"), 0);
	assert_int_equal(has(id, "report.txt", "It was met 1 time."), 1);
	put(id, "expected.data", "of the workload that was found\n");
	for (size_t i = 0; i < 2; i++) {
		const struct as_dossier_news news = { .event = AS_DOSSIER_REDUCED,
						      .reduction = &twice[i] };

		assert_int_equal(tell(id, &news), 0);
	}
	assert_int_equal(has(id, "README.md", "## Reduced"), 1);
	assert_int_equal(has(id, "README.md", "in 2 of 4 runs: it is flaky"), 1);
	assert_int_equal(has(id, "README.md", "once more"), 1);
	assert_true(has(id, "report.txt", "2 of 4 runs"));
	assert_true(has(id, "repro.c", "\"/d\""));
	assert_false(has(id, "repro.c", "\"/c\""));
	assert_int_equal(has(id, "expected.tree", "b/a"), 0);
	assert_false(exists(id, "expected.data"));
	assert_true(has(id, "repro.sh", "once more"));
	assert_int_equal(tell(id, &(struct as_dossier_news){ .event = AS_DOSSIER_COUNTED,
							     .count = 7,
							     .group = "a cause" }),
			 0);
	assert_int_equal(has(id, "finding.json", "\"group\":\"a cause\""), 1);
	assert_int_equal(has(id, "report.txt", "It was met 7 times."), 1);
}

/* What shows on an empty file system has no operation. */
static void nothing_done(void **state)
{
	struct as_finding f = finding("ext4-leak-1");

	(void)state;
	f.kind = AS_FIND_LEAK;
	f.workload = "";
	f.op_index = -1;
	store(&f, 1);
	assert_true(has(f.id, "repro.c", "int main("));
	assert_false(exists(f.id, "expected.tree"));
}

/* What a power cut left, as bytes. */
static void writes_are_told(void **state)
{
	struct as_finding f = finding("ext4-crash-1");

	(void)state;
	f.kind = AS_FIND_CRASH;
	f.healthy = before;
	store(&f, 1);
	assert_true(exists("ext4-crash-1", "before.img.zst"));
	assert_true(exists("ext4-crash-1", "writes.bin.zst"));
	assert_int_equal(has("ext4-crash-1", "writes.txt", "\n0 1048576\n"), 1);
	f.kind = AS_FIND_TREE;
	f.id = "ext4-tree-1";
	store(&f, 1);
	assert_true(exists("ext4-tree-1", "healthy.img.zst"));
	assert_false(exists("ext4-tree-1", "writes.txt"));
}

/* Several processes count at the same time: none is lost, and the letter says the last number. */
static void counted_together(void **state)
{
	static const char id[] = "ext4-outcome-6";
	const struct as_dossier_news news = { .event = AS_DOSSIER_COUNTED };
	const struct as_finding f = finding(id);
	pid_t pids[WRITERS];
	char text[64];
	int status;

	(void)state;
	store(&f, 1);
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i])
			continue;
		for (int k = 0; k < COUNTS; k++)
			if (tell(id, &news))
				_exit(1);
		_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	snprintf(text, sizeof(text), "\"count\":%d", WRITERS * COUNTS + 1);
	assert_int_equal(has(id, "finding.json", text), 1);
	snprintf(text, sizeof(text), "It was met %d times.", WRITERS * COUNTS + 1);
	assert_int_equal(has(id, "report.txt", text), 1);
}

/* A writer that was killed left its beginnings; they do not stand in the way. */
static void leftovers(void **state)
{
	const struct as_finding f = finding("ext4-outcome-2");
	struct as_sink *sink;
	char path[PATH_MAX + 256];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/findings/.part-1.0", out);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof(path), "%s/findings/.part-1.0/half", out);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(as_store_sink_new(out, &sink, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	as_emit_finding(sink, &f);
	assert_true(exists("ext4-outcome-2", "finding.json"));
	as_store_sink_free(sink);
}

/* The same in the folder of a finding: the next one who writes there removes them. And a folder
 * that was taken over has a script that can be run. */
static void leftovers_of_a_page(void **state)
{
	static const char id[] = "ext4-outcome-7";
	const struct as_dossier_news news = { .event = AS_DOSSIER_COUNTED };
	const struct as_finding f = finding(id);

	(void)state;
	store(&f, 1);
	put(id, ".repro.c.4711.0.tmp", "half of a");
	put(id, "notes.txt", "of a person");
	take_right(id, "repro.sh");
	assert_int_equal(tell(id, &news), 0);
	assert_false(exists(id, ".repro.c.4711.0.tmp"));
	assert_true(exists(id, "notes.txt"));
	assert_true(may(id, "repro.sh", X_OK));
	assert_int_equal(has(id, "report.txt", "It was met 2 times."), 1);
}

/* The disk does not fit. */
static void failures_are_kept(void **state)
{
	const struct as_finding f = finding("ext4-outcome-3");
	struct rlimit was, little;
	struct as_sink *sink;
	struct as_err err;

	(void)state;
	assert_int_equal(as_store_sink_new(out, &sink, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	little = was;
	little.rlim_cur = DISK_BYTES / 2;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	as_emit_finding(sink, &f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(as_store_sink_failed(sink, &err), AS_EIO);
	assert_non_null(strstr(err.msg, "disk.img.zst"));
	assert_false(exists("ext4-outcome-3", "finding.json"));
	as_store_sink_free(sink);
}

static void refused(void **state)
{
	struct as_sink *sink;
	struct as_err err;

	(void)state;
	assert_int_not_equal(as_store_sink_new("/proc/nosuch/x", &sink, &err), 0);
	assert_non_null(strstr(err.msg, "/proc/nosuch/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),    cmocka_unit_test(pages_follow),
		cmocka_unit_test(nothing_done),	       cmocka_unit_test(writes_are_told),
		cmocka_unit_test(counted_together),    cmocka_unit_test(leftovers),
		cmocka_unit_test(failures_are_kept),   cmocka_unit_test(refused),
		cmocka_unit_test(leftovers_of_a_page),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
