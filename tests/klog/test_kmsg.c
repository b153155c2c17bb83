/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kmsg: logs of kernels as a table, whose they are, consoles cut anywhere, records of /dev/kmsg. */
#include "tests/lib/skip.h"

#include "klog/kmsg.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What was reported: the number, and the first. */
struct ear {
	unsigned n;
	enum as_kmsg_class cls;
	char what[64], where[128], signature[512], title[256], text[8192];
};

static void hear(void *ctx, const struct as_kmsg_report *r)
{
	struct ear *ear = ctx;

	if (ear->n++)
		return;
	ear->cls = r->cls;
	snprintf(ear->what, sizeof(ear->what), "%s", r->what);
	snprintf(ear->where, sizeof(ear->where), "%s", r->where);
	snprintf(ear->signature, sizeof(ear->signature), "%s", r->signature);
	snprintf(ear->title, sizeof(ear->title), "%s", r->title);
	snprintf(ear->text, sizeof(ear->text), "%s", r->text);
}

static const struct row {
	const char *name, *console;
	enum as_kmsg_class cls;
	const char *what, *where, *signature;
} logs[] = {
#define LOG(name, console, class, what, where, signature) \
	{ #name, console, AS_KMSG_##class, what, where, signature },
#include "kmsg_logs.def"
#undef LOG
};

#define NLOGS (sizeof(logs) / sizeof(logs[0]))

/* Fed in pieces of `step` bytes. */
static struct ear listen(const char *console, size_t step, const struct as_kmsg_filter *filter)
{
	struct ear ear = { 0 };
	struct as_kmsg_scan *scan = as_kmsg_scan_new(filter, hear, &ear);
	size_t len = strlen(console);

	for (size_t at = 0; at < len; at += step)
		as_kmsg_scan_console(scan, console + at, at + step < len ? step : len - at);
	as_kmsg_scan_end(scan);
	as_kmsg_scan_free(scan);
	return ear;
}

static void one_report_each(void **state)
{
	static const size_t steps[] = { 1, 7, 100000 };

	(void)state;
	for (size_t i = 0; i < NLOGS * 3; i++) {
		const struct row *row = &logs[i / 3];
		struct ear ear = listen(row->console, steps[i % 3], NULL);

		if (ear.n != 1 || ear.cls != row->cls || strcmp(ear.what, row->what) ||
		    strcmp(ear.where, row->where) || strcmp(ear.signature, row->signature))
			fail_msg("%s: %u reports, the first: %s %s '%s' signature '%s'", row->name,
				 ear.n, as_kmsg_class_name(ear.cls), ear.what, ear.where,
				 ear.signature);
		assert_non_null(strstr(ear.text, ear.title));
	}
}

/* Everyday lines, and lines that only look bad. */
static void nothing_to_report(void **state)
{
	static const char *const lines[] = {
		"EXT4-fs (loop0): mounted filesystem with ordered data mode. Quota mode: none.",
		"EXT4-fs (loop0): recovery complete",
		"EXT4-fs (loop0): 1 orphan inode deleted",
		"EXT2-fs (loop0): warning: mounting unchecked fs, running e2fsck is recommended",
		"XFS (loop0): Mounting V5 Filesystem",
		"XFS (loop0): Ending clean mount",
		"XFS (loop0): Unmounting Filesystem",
		"BTRFS info (device loop0): using crc32c (crc32c-intel) checksum algorithm",
		"BTRFS warning (device loop0): duplicate device /dev/loop0",
		"BTRFS: device fsid 0f devid 1 transid 7 /dev/loop0 scanned by assay (7)",
		"F2FS-fs (loop0): Mounted with checkpoint version = 4711",
		"REISERFS (device loop0): Using r5 hash to sort names",
		"NILFS (loop0): segctord starting. Construction interval = 5 seconds",
		"gfs2: fsid=loop0: Trying to join cluster \"lock_nolock\", \"loop0\"",
		"FAT-fs (loop0): Volume was not properly unmounted. Some data may be corrupt.",
		"Kernel panic - not syncing: Fatal exception",
		"Buffer I/O error on dev loop0, logical block 0, async page read",
		"assay[77]: segfault at 0 ip 0 sp 0 error 4 in assay",
		"debug: BUG is a word, WARNING too",
		"",
		"[",
		"<4>",
		"------------[ cut here ]------------",
		"Call Trace:",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ear ear = listen(lines[i], 1000, NULL);

		if (ear.n)
			fail_msg("'%s' is taken for %s", lines[i], ear.signature);
	}
}

static void whose_it_is(void **state)
{
	static const char *const devices[] = { "loop1", "loop12", NULL };
	const struct as_kmsg_filter filter = { devices, "assay" };
	static const struct {
		const char *console;
		unsigned n;
	} rows[] = {
		{ "EXT4-fs error (device loop1): ext4_lookup:1: x\n", 1 },
		{ "EXT4-fs error (device loop12): ext4_lookup:1: x\n", 1 },
		{ "EXT4-fs error (device loop2): ext4_lookup:1: x\n", 0 },
		{ "EXT4-fs error (device loop123): ext4_lookup:1: x\n", 0 },
		{ "EXT4-fs error (device sda1): ext4_lookup:1: x\n", 0 },
		{ "Aborting journal on device loop1-8.\n", 1 },
		{ "Aborting journal on device loop10-8.\n", 0 },
		{ "JBD2: Invalid checksum recovering data block 13 in journal\n", 0 },
		{ "BUG: unable to handle page fault for address: 00\n"
		  "CPU: 0 PID: 7 Comm: assay Not tainted\n",
		  1 },
		{ "BUG: unable to handle page fault for address: 00\n"
		  "CPU: 0 PID: 7 Comm: kworker/0:1 Not tainted\n",
		  1 },
		{ "BUG: unable to handle page fault for address: 00\n"
		  "CPU: 0 PID: 7 Comm: firefox Not tainted\n",
		  0 },
		{ "INFO: task backup:12 blocked for more than 120 seconds.\n", 0 },
		{ "INFO: task assay:12 blocked for more than 120 seconds.\n", 1 },
		/* A stranger's does not swallow ours after it. */
		{ "EXT4-fs error (device sda1): ext4_lookup:1: x\n"
		  "EXT4-fs error (device loop1): ext4_lookup:1: x\n",
		  1 },
		{ "------------[ cut here ]------------\n"
		  "WARNING: CPU: 0 PID: 1 at fs/a.c:1 f+0x1/0x2\nCPU: 0 PID: 1 Comm: x Not\n"
		  "------------[ cut here ]------------\n"
		  "WARNING: CPU: 0 PID: 1 at fs/a.c:1 g+0x1/0x2\nCPU: 0 PID: 1 Comm: assay Not\n",
		  1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ear ear = listen(rows[i].console, 1000, &filter);

		if (ear.n != rows[i].n)
			fail_msg("%u reports of %s", ear.n, rows[i].console);
	}
}

/* Several, one after the other: none is lost, none is counted twice. */
static void all_logs_in_a_row(void **state)
{
	struct as_buf all = { 0 };
	struct ear ear;

	(void)state;
	for (size_t i = 0; i < NLOGS; i++)
		if (strstr(logs[i].console, "---[ end ") || logs[i].cls == AS_KMSG_CORRUPTION)
			as_buf_adds(&all, logs[i].console);
	ear = listen(as_buf_str(&all), 13, NULL);
	as_buf_free(&all);
	assert_int_equal(ear.n, 6 + 11);
}

/* A report without an end does not swallow the rest of the log. */
static void endless(void **state)
{
	struct as_buf all = { 0 };
	struct ear ear;

	(void)state;
	as_buf_adds(&all, "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [assay:1]\n");
	for (int i = 0; i < 100000; i++)
		as_buf_addf(&all, "line %d\n", i);
	ear = listen(as_buf_str(&all), 1000, NULL);
	assert_int_equal(ear.n, 1);
	assert_true(strlen(ear.text) < 8191);
	as_buf_free(&all);
}

static void records(void **state)
{
	static const struct {
		const char *data;
		bool ok;
		unsigned level;
		uint64_t seq, time_us;
		const char *text;
	} rows[] = {
		{ "6,339,5140900,-;NET: Registered\n", true, 6, 339, 5140900, "NET: Registered" },
		{ "30,340,5690716,-;udevd[80]: starting\n SUBSYSTEM=x\n", true, 6, 340, 5690716,
		  "udevd[80]: starting" },
		{ "2,1,2,c,caller=T1;a\\x0ab\\x5cx\n DEVICE=b7:0\n", true, 2, 1, 2, "a\nb\\x" },
		{ "3,1,2,-;\\x\n", true, 3, 1, 2, "\\x" },
		{ "3,1,2,-;", true, 3, 1, 2, "" },
		{ "3,1,2,-", false, 0, 0, 0, NULL },
		{ "3,1;text", false, 0, 0, 0, NULL },
		{ "x,1,2,-;text", false, 0, 0, 0, NULL },
		{ "", false, 0, 0, 0, NULL },
		{ "99999999999999999999999,1,2,-;text", false, 0, 0, 0, NULL },
	};
	struct as_buf text = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_kmsg_record r;
		bool ok = as_kmsg_parse_record(rows[i].data, strlen(rows[i].data), &r, &text);

		if (ok != rows[i].ok)
			fail_msg("'%s' is %staken for a record", rows[i].data, ok ? "" : "not ");
		if (!ok)
			continue;
		assert_int_equal(r.level, rows[i].level);
		assert_int_equal(r.seq, rows[i].seq);
		assert_int_equal(r.time_us, rows[i].time_us);
		assert_string_equal(as_buf_str(&text), rows[i].text);
	}
	as_buf_free(&text);
}

/* The real log: what we write to it comes back, and only what came since. */
static void the_real_log(void **state)
{
	static const char mark[] = "<6>assay test: EXT4-fs error (device nodisk)\n";
	struct as_kmsg *before = NULL, *after = NULL;
	struct as_buf log = { 0 };
	struct as_err err;
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0 || as_kmsg_open(&before, &err)) {
		if (fd >= 0)
			close(fd);
		skip_because("writing to /dev/kmsg takes root");
	}
	as_kmsg_poll(before, NULL, NULL);
	if (write(fd, mark, strlen(mark)) != (ssize_t)strlen(mark))
		fail_msg("the log cannot be written to");
	close(fd);
	assert_int_equal(as_kmsg_open(&after, &err), 0);
	assert_true(as_kmsg_poll(before, NULL, &log) >= 1);
	assert_non_null(strstr(as_buf_str(&log), mark + 3));
	as_buf_clear(&log);
	as_kmsg_poll(after, NULL, &log);
	assert_null(strstr(as_buf_str(&log), mark + 3));
	as_kmsg_close(before);
	as_kmsg_close(after);
	as_buf_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_report_each), cmocka_unit_test(nothing_to_report),
		cmocka_unit_test(whose_it_is),	   cmocka_unit_test(all_logs_in_a_row),
		cmocka_unit_test(endless),	   cmocka_unit_test(records),
		cmocka_unit_test(the_real_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
