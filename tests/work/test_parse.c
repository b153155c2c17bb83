/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parser refuses and in which words; what it accepts beyond the canonical form; limits. */
#include "os/out.h"
#include "tests/lib/tmpdir.h"
#include "work/parse.h"
#include "work/print.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct row {
	const char *text, *want;
};

static const struct row errors[] = {
	/* operations */
	{ "mkdri /a 0755", "t:1:1: expected an operation (mkdir?), found 'mkdri'" },
	{ "frobnicate /a", "t:1:1: expected an operation, found 'frobnicate'" },
	{ "sync\n\n  fsnc $0", "t:3:3: expected an operation (fsync?), found 'fsnc'" },
	{ "MKDIR /a 0755", "t:1:1: expected an operation, found 'MKDIR'" },
	{ "\"mkdir\" /a 0755", "t:1:1: expected an operation, found '\"mkdir\"'" },
	{ "sync\"\"", "t:1:5: expected a blank after sync, found '\"\"'" },
	/* arguments that are missing or too many */
	{ "mkdir", "t:1:6: expected a path, found end of line" },
	{ "mkdir   ", "t:1:9: expected a path, found end of line" },
	{ "mkdir # /a 0755", "t:1:7: expected a path, found a comment" },
	{ "mkdir /a", "t:1:9: expected an octal mode such as 0644, found end of line" },
	{ "rename /a", "t:1:10: expected a second path, found end of line" },
	{ "sync now", "t:1:6: expected end of line, found 'now'" },
	{ "mkdir /a 0755 0755", "t:1:15: expected end of line, found '0755'" },
	{ "rmdir /a b", "t:1:10: expected end of line, found 'b'" },
	/* keys */
	{ "pwrite $0 len=1", "t:1:16: expected at= and an offset in bytes, found end of line" },
	{ "read $0", "t:1:8: expected len= and a length in bytes, found end of line" },
	{ "read $0 len=1 len=2", "t:1:15: expected len= once, found it a second time" },
	{ "write $0 len=1 at=2", "t:1:16: expected len= or fill= or mem=, found 'at=2'" },
	{ "write $0 4096", "t:1:10: expected len= or fill= or mem=, found '4096'" },
	{ "read $0 len=", "t:1:13: expected a length in bytes, found end of line" },
	{ "read $0 len= 4", "t:1:13: expected a length in bytes, found a blank" },
	{ "read $0 len =4", "t:1:9: expected len= or mem=, found 'len'" },
	/* slots */
	{ "open /a O_RDWR", "t:1:1: expected $N = in front of open, found 'open'" },
	{ "$0 = mkdir /a 0755", "t:1:6: expected open after $0 =, found 'mkdir'" },
	{ "$0 = opne /a O_RDWR", "t:1:6: expected open after $0 =, found 'opne'" },
	{ "$0 =", "t:1:5: expected open after $0 =, found end of line" },
	{ "$0 open /a O_RDWR", "t:1:4: expected = after the slot, found 'open'" },
	{ "$ = open /a O_RDWR", "t:1:1: expected $N = open ..., found '$'" },
	{ "$4096 = open /a O_RDWR", "t:1:1: expected a slot between $0 and $4095, found '$4096'" },
	{ "close 0", "t:1:7: expected a descriptor slot such as $0, found '0'" },
	{ "close $99999999999",
	  "t:1:7: expected a slot between $0 and $4095, found '$99999999999'" },
	{ "close $0x", "t:1:9: expected a blank after the slot, found 'x'" },
	{ "copy_file_range $0 /b len=1 at=0 to=0",
	  "t:1:20: expected a second descriptor slot such as $1, found '/b'" },
	/* numbers */
	{ "read $0 len=64M1", "t:1:13: expected a length in bytes (0 to 67108864), found '64M1'" },
	{ "read $0 len=65M", "t:1:13: expected a length in bytes (0 to 67108864), found '65M'" },
	{ "read $0 len=-1", "t:1:13: expected a length in bytes (0 to 67108864), found '-1'" },
	{ "read $0 len=x", "t:1:13: expected a length in bytes, found 'x'" },
	{ "read $0 len=0x", "t:1:13: expected a length in bytes (0 to 67108864), found '0x'" },
	{ "enlarge /a 1000001", "t:1:12: expected a count (0 to 1000000), found '1000001'" },
	{ "truncate /a 9223372036854775808",
	  "t:1:13: expected a size in bytes (-9223372036854775808 to 9223372036854775807)"
	  ", found '9223372036854775808'" },
	{ "write $0 len=1 fill=18446744073709551616",
	  "t:1:21: expected the number of a data pattern (0 to 18446744073709551615)"
	  ", found '18446744073709551616'" },
	{ "write $0 len=1 fill=99999999999G",
	  "t:1:21: expected the number of a data pattern (0 to 18446744073709551615)"
	  ", found '99999999999G'" },
	{ "chown /a 4294967295 0",
	  "t:1:10: expected a user id, or -1 (-1 to 4294967294), found '4294967295'" },
	{ "stat /a nofollow=2", "t:1:18: expected 0 or 1, found '2'" },
	{ "mkdir /a 0689", "t:1:10: expected an octal mode such as 0644, found '0689'" },
	{ "mkdir /a rwx", "t:1:10: expected an octal mode such as 0644, found 'rwx'" },
	{ "mkdir /a 010000", "t:1:10: expected a mode between 0000 and 07777, found '010000'" },
	{ "mknod /a chr 0644 dev=1", "t:1:23: expected a device number such as 1:3, found '1'" },
	{ "mknod /a chr 0644 dev=1:4294967296",
	  "t:1:23: expected a device number such as 1:3, found '1:4294967296'" },
	{ "utimens /a atime=tomorrow",
	  "t:1:18: expected seconds[.nanoseconds], now or omit, found 'tomorrow'" },
	{ "utimens /a atime=1.", "t:1:20: expected one to nine digits, found end of line" },
	{ "utimens /a atime=1.0123456789",
	  "t:1:20: expected one to nine digits, found '0123456789'" },
	{ "utimens /a atime=9223372036",
	  "t:1:18: expected at most 9223372035 seconds, found '9223372036'" },
	{ "utimens /a atime=nows",
	  "t:1:18: expected seconds[.nanoseconds], now or omit, found 'nows'" },
	/* flags */
	{ "$0 = open /a O_RDWR|O_MAGIC",
	  "t:1:21: expected open flags such as O_RDWR|O_CREAT, found 'O_MAGIC'" },
	{ "$0 = open /a O_RDWR|",
	  "t:1:21: expected open flags such as O_RDWR|O_CREAT, found end of line" },
	{ "$0 = open /a O_RDWR|O_WRONLY", "t:1:21: expected open flags such as O_RDWR|O_CREAT"
					  ", found one that excludes an earlier one" },
	{ "$0 = open /a O_RDWR|0x1", "t:1:21: expected open flags such as O_RDWR|O_CREAT"
				     ", found one that excludes an earlier one" },
	{ "mknod /a fifo|sock 0644", "t:1:15: expected a node type: reg, fifo, sock, chr or blk"
				     ", found one that excludes an earlier one" },
	{ "mknod /a dir 0644",
	  "t:1:10: expected a node type: reg, fifo, sock, chr or blk, found 'dir'" },
	{ "$0 = open /a O_RDWR 0644",
	  "t:1:21: expected no mode without O_CREAT or O_TMPFILE, found '0644'" },
	{ "$0 = open /a 0x100000000 0644",
	  "t:1:14: expected open flags such as O_RDWR|O_CREAT, found '0x100000000'" },
	/* strings and bytes */
	{ "mkdir \"/a 0755", "t:1:15: expected a closing double quote, found end of line" },
	{ "mkdir \"/a\\q\" 0755", "t:1:10: expected \\\" \\\\ \\n \\t or \\xHH, found '\\q\"'" },
	{ "mkdir \"/a\\x4\" 0755", "t:1:10: expected \\\" \\\\ \\n \\t or \\xHH, found '\\x4\"'" },
	{ "mkdir \"/a\\", "t:1:10: expected \\\" \\\\ \\n \\t or \\xHH, found '\\'" },
	{ "mkdir \"\\x00\" 0755", "t:1:8: expected a byte other than NUL, found '\\x00\"'" },
	{ "mkdir \"/a\"b 0755", "t:1:11: expected a blank after a path, found 'b'" },
	{ "mkdir /a\"b\" 0755",
	  "t:1:9: expected the whole string in double quotes, as it holds \"" },
	{ "mkdir /a\\b 0755", "t:1:9: expected the whole string in double quotes, as it holds \\" },
	{ "mkdir /a\x01 0755", "t:1:9: expected a blank after a path, found control byte 0x01" },
	{ "mkdir \"\x01\" 0755",
	  "t:1:8: expected text or an escape such as \\x01, found control byte 0x01" },
	{ "sync # \x1b[0m", "t:1:8: expected text, found control byte 0x1b" },
	{ "sync\rsync", "t:1:5: expected a blank after sync, found a carriage return" },
	{ "\x7f", "t:1:1: expected an operation, found control byte 0x7f" },
	/* metadata */
	{ "@", "t:1:2: expected a key of letters, digits and _ - ., found end of line" },
	{ "@ seed 1", "t:1:2: expected a key of letters, digits and _ - ., found a blank" },
	{ "@s=1", "t:1:3: expected a key of letters, digits and _ - ., found '=1'" },
	{ "@seed \"1\" 2", "t:1:11: expected end of line, found '2'" },
	{ "@seed 1\x02", "t:1:8: expected text, found control byte 0x02" },
	{ "@seed 1\nsync\n@seed 2", "t:3:1: expected @seed once, found it a second time" },
	/* long words are cut */
	{ "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee",
	  "t:1:1: expected an operation, found 'aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...'" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct as_err err = { 0 };
		struct as_seq *seq = (void *)&err; /* must be set to NULL */
		int rc = as_parse_text("t", errors[i].text, strlen(errors[i].text), &seq, &err);

		if (rc != AS_EUSE || seq)
			fail_msg("accepted: %s", errors[i].text);
		assert_string_equal(err.msg, errors[i].want);
	}
}

static void test_nul_byte(void **state)
{
	struct as_seq *seq;
	struct as_err err;

	(void)state;
	assert_int_equal(as_parse_text("t", "sync\nrmdir /a\0b\n", 16, &seq, &err), AS_EUSE);
	assert_string_equal(err.msg, "t:2:9: expected a blank after a path, found a NUL byte");
}

/* Accepted text and its canonical form. */
static const struct row accepted[] = {
	{ "", "" },
	{ "\n\r\n  \t\n# only a comment\n", "" },
	{ "sync", "sync\n" },
	{ "sync\r", "sync\n" },
	{ "  mkdir\t/a   755   # the mode\r\n", "mkdir /a 0755\n" },
	{ "$7=open /a O_CREAT", "$7 = open /a O_RDONLY|O_CREAT 0000\n" },
	{ "$7= open /a 0x42 644", "$7 = open /a O_RDWR|O_CREAT 0644\n" },
	{ "$0 = open /a O_TMPFILE|O_WRONLY 0600", "$0 = open /a O_WRONLY|O_TMPFILE 0600\n" },
	{ "$0 = open /a O_SYNC|O_DSYNC", "$0 = open /a O_RDONLY|O_SYNC\n" },
	{ "$0 = open /a 3", "$0 = open /a 0x3\n" },
	{ "$0 = open /a 0x40000003", "$0 = open /a 0x40000003\n" },
	{ "pwrite $0 fill=0x10 at=1G len=4K", "pwrite $0 len=4096 at=1073741824 fill=16\n" },
	{ "pwrite $0 len=1 at=-1 fill=0", "pwrite $0 len=1 at=-1\n" },
	{ "truncate /a -9223372036854775808", "truncate /a -9223372036854775808\n" },
	{ "fallocate $0 3 at=-1 len=-1", "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=-1 len=-1\n" },
	{ "fallocate $0 0x80 at=0 len=1", "fallocate $0 0x80 at=0 len=1\n" },
	{ "mkdir \"/a\" 0755", "mkdir /a 0755\n" },
	{ "mkdir \"#a\" 0755", "mkdir \"#a\" 0755\n" },
	{ "mkdir a#b 0755", "mkdir a#b 0755\n" },
	{ "mkdir \"\" 0755", "mkdir \"\" 0755\n" },
	{ "mkdir \"\\x41\\x7f\\x0a\\x09\\\"\\\\ \" 0755",
	  "mkdir \"A\\x7f\\n\\t\\\"\\\\ \" 0755\n" },
	{ "mkdir \"a\tb\" 0755", "mkdir \"a\\tb\" 0755\n" },
	{ "mkdir \xc3\xa9 01777", "mkdir \xc3\xa9 01777\n" },
	/* What is not UTF-8, or what a terminal would obey, is escaped. */
	{ "mkdir \xc3\xa9\xff 01777", "mkdir \"\xc3\xa9\\xff\" 01777\n" },
	{ "mkdir a\xc2\x9b 0755", "mkdir \"a\\xc2\\x9b\" 0755\n" },
	{ "mkdir \xe2\x80\xae 0755", "mkdir \"\\xe2\\x80\\xae\" 0755\n" },
	{ "rmdir $0", "rmdir $0\n" },
	{ "utimens /a", "utimens /a\n" },
	{ "utimens /a mtime=1.5 atime=now", "utimens /a mtime=1.500000000\n" },
	{ "utimens /a atime=-0.000000001 mtime=omit",
	  "utimens /a atime=-0.000000001 mtime=omit\n" },
	{ "mknod /a reg 0644 dev=0:0", "mknod /a reg 0644\n" },
	{ "chown /a -1 4294967294 nofollow=1", "chown /a -1 4294967294 nofollow=1\n" },
	{ "mmap_write $0 len=1 at=0 flags=MS_SYNC", "mmap_write $0 len=1 at=0\n" },
	{ "mmap_write $0 len=1 at=0 flags=0", "mmap_write $0 len=1 at=0 flags=0\n" },
	{ "lseek $0 -5 SEEK_END", "lseek $0 -5 SEEK_END\n" },
	{ "lseek $0 0 9", "lseek $0 0 SEEK_CUR|0x8\n" },
	{ "remount opts=", "remount\n" },
	{ "remount opts=\"\"", "remount\n" },
	{ "remount opts=ro,data=journal", "remount opts=ro,data=journal\n" },
	{ "remount opts=\"a b\"", "remount opts=\"a b\"\n" },
	{ "sync\n@seed  42  # why\n@e\n", "@seed 42\n@e\nsync\n" },
	{ "@t \"a  # b\"\n@u \" x\"\n@v a#b \"c\"\n", "@t \"a  # b\"\n@u \" x\"\n@v a#b \"c\"\n" },
	{ "@t a\tb", "@t \"a\\tb\"\n" },
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		struct as_buf text = { 0 };
		struct as_seq *seq = NULL;
		struct as_err err = { 0 };
		const char *input = accepted[i].text;
		int rc = as_parse_text("t", input, strlen(input), &seq, &err);

		if (rc)
			fail_msg("%s", err.msg);
		as_print_seq(seq, &text);
		assert_string_equal(as_buf_str(&text), accepted[i].want);
		as_buf_free(&text);
		as_seq_free(seq);
	}
}

/* A line of n bytes: "rmdir aaa...". */
static int parse_long(size_t n, bool newline, struct as_err *err)
{
	char *text = as_xmalloc(n + 1);
	struct as_seq *seq = NULL;
	int rc;

	memset(text, 'a', n);
	memcpy(text, "rmdir ", 6);
	text[n] = '\n';
	rc = as_parse_text("t", text, n + newline, &seq, err);
	as_seq_free(seq);
	free(text);
	return rc;
}

static void test_limits(void **state)
{
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(parse_long(6 + AS_STR_MAX, true, &err), 0);
	assert_int_equal(parse_long(7 + AS_STR_MAX, true, &err), AS_EUSE);
	assert_string_equal(err.msg,
			    "t:1:7: expected a path of at most 65536 bytes, found 65537 bytes");
	for (int newline = 0; newline < 2; newline++) {
		assert_int_equal(parse_long(AS_LINE_MAX, newline, &err), AS_EUSE);
		assert_non_null(strstr(err.msg, "expected a path of at most"));
		assert_int_equal(parse_long(AS_LINE_MAX + 1, newline, &err), AS_EUSE);
		assert_string_equal(err.msg,
				    "t:1:1048577: expected at most 1048576 bytes in a line, "
				    "found more");
	}
}

struct stopping {
	int left, calls;
};

static int stop_after(void *ctx, const struct as_op *op, unsigned line)
{
	struct stopping *stopping = ctx;

	(void)op;
	stopping->calls++;
	assert_int_equal(line, stopping->calls);
	return stopping->left-- ? 0 : -77;
}

/* A callback's refusal ends it, is handed back, leaves the message alone, and is not forgotten. */
static void test_callback_stops(void **state)
{
	struct stopping stopping = { 1, 0 };
	const struct as_parse_fns fns = { stop_after, NULL };
	struct as_parser *parser = as_parser_new("t", &fns, &stopping);
	struct as_err err = { -77, "mine" };

	(void)state;
	assert_int_equal(as_parser_feed(parser, "sync\nsync\nsync\n", 15, &err), -77);
	assert_int_equal(as_parser_feed(parser, "sync\n", 5, &err), -77);
	assert_int_equal(as_parser_finish(parser, &err), -77);
	assert_string_equal(err.msg, "mine");
	assert_int_equal(stopping.calls, 2);
	as_parser_free(parser);
	as_parser_free(NULL);
}

/* Operations before an error have been handed over; afterwards the same error comes again. */
static void test_error_is_kept(void **state)
{
	struct stopping stopping = { 10, 0 };
	const struct as_parse_fns fns = { stop_after, NULL };
	struct as_parser *parser = as_parser_new("t", &fns, &stopping);
	struct as_err err = { 0 }, again = { 0 };

	(void)state;
	assert_int_equal(as_parser_feed(parser, "sync\nsy", 7, &err), 0);
	assert_int_equal(as_parser_feed(parser, "nk\nsync\n", 8, &err), AS_EUSE);
	assert_string_equal(err.msg, "t:2:1: expected an operation (sync?), found 'synk'");
	assert_int_equal(as_parser_finish(parser, &again), AS_EUSE);
	assert_string_equal(again.msg, err.msg);
	assert_int_equal(stopping.calls, 1);
	as_parser_free(parser);
}

static void test_files(void **state)
{
	const char *folder = t_tmpdir();
	char path[PATH_MAX], missing[PATH_MAX];
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/w", folder);
	snprintf(missing, sizeof(missing), "%s/none", folder);
	for (int i = 0; i < 20000; i++) /* several reads */
		as_buf_addf(&text, "mkdir /directory_%d 0755\n", i);
	assert_int_equal(as_out_save(path, &text, &err), 0);
	assert_int_equal(as_parse_file(path, &seq, &err), 0);
	assert_int_equal(seq->n, 20000);
	assert_string_equal(seq->ops[19999].path, "/directory_19999");
	as_seq_free(seq);
	as_buf_adds(&text, "mkdir\n");
	assert_int_equal(as_out_save(path, &text, &err), 0);
	assert_int_equal(as_parse_file(path, &seq, &err), AS_EUSE);
	assert_null(seq);
	assert_non_null(strstr(err.msg, "/w:20001:6: expected a path, found end of line"));
	assert_true(as_parse_file(missing, &seq, &err) < 0);
	assert_non_null(strstr(err.msg, "No such file"));
	assert_true(as_parse_file(folder, &seq, &err) < 0);
	assert_non_null(strstr(err.msg, "Is a directory"));
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors),	       cmocka_unit_test(test_nul_byte),
		cmocka_unit_test(test_accepted),       cmocka_unit_test(test_limits),
		cmocka_unit_test(test_callback_stops), cmocka_unit_test(test_error_is_kept),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests_name("work parse", tests, NULL, NULL);
}
