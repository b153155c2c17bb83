/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of syzkaller: inputs are counted, outputs are not. */
#include "tests/lib/counted.h"

static const struct {
	const char *line, *family, *arg, *part;
} rows[] = {
	{ "r0 = open(&(0x7f0000000000)='./file0\\x00', 0x42, 0x1ff)", "open", "flags", "O_RDWR" },
	{ "r0 = open(&(0x7f0000000000)='./file0\\x00', 0x42, 0x1ff)", "open", "path", "relative" },
	{ "openat$dir(0xffffffffffffff9c, &(0x7f0000000040)=\"2f6100\", 0x10000, 0x0)", "open",
	  "path", "absolute" },
	{ "openat(0xffffffffffffff9c, &AUTO='a/\\x00', 0x0, 0x0)", "open", "dirfd", "AT_FDCWD" },
	{ "openat2(0xffffffffffffffff, &(0x7f0000000040)='a\\x00', "
	  "&(0x7f0000000080)={0x42, 0x180, 0x8}, 0x18)",
	  "open", "resolve", "RESOLVE_BENEATH" },
	{ "write(r0, &(0x7f0000000140)=\"6162\", 0x1000) (async)", "write", "count", "2^12" },
	{ "pwritev(r0, &(0x7f0000000100)=[{&(0x7f0000000140)=\"6162\", 0x2}, "
	  "{&(0x7f0000000180)='a,b]', 0x3e}], 0x2, 0x8)",
	  "write", "count", "2^6" },
	{ "pwritev(r0, &(0x7f0000000100)=[{&(0x7f0000000140)=\"6162\", 0x2}], 0x1, 0x8)", "write",
	  "offset", "2^3" },
	{ "setxattr$trusted(&(0x7f0000000000)='./file0\\x00', "
	  "&(0x7f0000000040)='trusted.overlay.origin\\x00', 0x0, 0x0, 0x1)",
	  "setxattr", "name", "trusted." },
	{ "copy_file_range(r0, &(0x7f0000000180)=0x1000, r1, 0x0, 0x8, 0x0)", "copy_file_range",
	  "off_in", "2^12" },
	{ "copy_file_range(r0, &(0x7f0000000180)=0x1000, r1, 0x0, 0x8, 0x0)", "copy_file_range",
	  "off_out", "null" },
	{ "utimensat(0xffffffffffffff9c, &(0x7f0000000000)='a\\x00', "
	  "&(0x7f0000000040)={{0x77359400}, {0x0, 0x3ffffffe}}, 0x0)",
	  "utimens", "mtime", "UTIME_OMIT" },
	{ "utimensat(0xffffffffffffff9c, &(0x7f0000000000)='a\\x00', &(0x7f0000000040)=nil, 0x0)",
	  "utimens", "mtime", "null" },
	{ "mkdir(0x0, 0x1ff)", "mkdir", "path", "null" },
	{ "lseek(0xffffffffffffffff, 0xfffffffffffffffe, 0x3)", "lseek", "whence", "SEEK_DATA" },
	{ "close(0xffffffffffffffff)", "close", "fd", "negative" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_counts *c = t_read_text(&as_source_syzkaller, NULL, NULL, rows[i].line);

		if (as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD))
			fail_msg("not understood: %s", rows[i].line);
		if (t_count(c, rows[i].family, rows[i].arg, rows[i].part) != 1)
			fail_msg("not %s %s %s: %s", rows[i].family, rows[i].arg, rows[i].part,
				 rows[i].line);
		as_counts_free(c);
	}
}

/* Results are descriptors of their program alone; a filter works. */
static void test_programs(void **state)
{
	static const char text[] = "2023/07/09 10:00:00 executing program 1:\n"
				   "r0 = open(&(0x7f00)='/m/a\\x00', 0x2, 0x0)\n"
				   "r1 = dup(r0)\n"
				   "write(r1, &(0x7f00)=\"61\", 0x1)\n"
				   "\n"
				   "10:00:01 executing program 0:\n"
				   "r0 = open(&(0x7f00)='/o/a\\x00', 0x2, 0x0)\n"
				   "write(r0, &(0x7f00)=\"61\", 0x1)\n"
				   "syz_mount_image$ext4(&(0x7f00)='ext4\\x00', 0x0)\n"
				   "[  100.1] EXT4-fs error\n";
	struct as_counts *c = t_read_text(&as_source_syzkaller, "/m", NULL, text);
	uint64_t n;

	(void)state;
	assert_int_equal(as_counts_noted(c, AS_NOTE_COUNTED), 2);
	assert_int_equal(as_counts_noted(c, AS_NOTE_OUTSIDE), 2);
	assert_int_equal(as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD), 1);
	assert_string_equal(as_counts_unknown_at(c, 0, &n), "syz_mount_image");
	assert_int_equal(t_count(c, "write", "fd", "regular"), 1);
	assert_int_equal(t_count(c, "open", NULL, "OK"), 0);
	as_counts_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
