/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Imports: what becomes of each line, what is told of those that cannot be expressed, and all of
 * CrashMonkey's 328 workloads of length 1 where they are at hand.
 */
#include "tests/lib/skip.h"

#include "trace/import.h"
#include "work/parse.h"
#include "work/print.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

static void tell(void *ctx, unsigned line, const char *what)
{
	as_buf_addf(ctx, "%u: %s\n", line, what);
}

static struct as_seq *import(struct as_import *im, const char *text, size_t len)
{
	struct as_buf canonical = { 0 };
	struct as_seq *seq = NULL, *again = NULL;
	struct as_err err = { 0 };

	if (as_import_text(im, text, len, &seq, &err))
		fail_msg("%s", err.msg);
	as_print_seq(seq, &canonical);
	if (as_parse_text("imported", as_buf_str(&canonical), canonical.len, &again, &err))
		fail_msg("%s\n%s", err.msg, as_buf_str(&canonical));
	assert_true(as_seq_equal(seq, again));
	as_seq_free(again);
	as_buf_free(&canonical);
	return seq;
}

/* The operations, without the metadata, and after them what was reported. */
static void check(enum as_import_from from, const char *under, const char *text, const char *want)
{
	static const char *const names[] = { "jlang", "fsx", "strace" };
	struct as_buf told = { 0 }, got = { 0 };
	struct as_import im = {
		.from = from, .file = "a/b", .under = under, .left_out = tell, .ctx = &told
	};
	struct as_seq *seq = import(&im, text, strlen(text));

	for (size_t i = 0; i < seq->n; i++) {
		as_print_op(&seq->ops[i], &got);
		as_buf_addc(&got, '\n');
	}
	as_buf_add(&got, as_buf_str(&told), told.len);
	assert_string_equal(as_buf_str(&got), want);
	assert_string_equal(as_seq_meta(seq, "name"), "b");
	assert_string_equal(as_seq_meta(seq, "from"), names[from]);
	as_seq_free(seq);
	as_buf_free(&told);
	as_buf_free(&got);
}

#define DEFINE "# define\ntest\nA\nA/C\nfoo\nA/C/foo\n# run\n"

static void jlang(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "mkdir A 0777\nmkdir AC\n", "mkdir /A 0777\nmkdir /A/C 0777\n" },
		{ "open foo O_RDWR|O_CREAT 0777\nwrite foo 10 20\nclose foo\n",
		  "$0 = open /foo O_RDWR|O_CREAT 0777\npwrite $0 len=20 at=10 fill=1\nclose $0\n" },
		{ "opendir test 0777\nopen ACfoo O_RDWR 0777\nfsync test\nclose test\n"
		  "fdatasync ACfoo\n",
		  "$0 = open / O_RDONLY|O_DIRECTORY\n$1 = open /A/C/foo O_RDWR\nfsync $0\n"
		  "close $0\nfdatasync $1\n" },
		{ "fsync foo\nrename foo nosuch\nfly foo\nfalloc\n",
		  "8: foo is not open here\n9: nosuch is not defined\n"
		  "10: no operation for the command 'fly'\n"
		  "11: falloc: 0 arguments, expected 4\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };

		as_buf_addf(&text, DEFINE "%s", rows[i].text);
		check(AS_IMPORT_JLANG, NULL, as_buf_str(&text), rows[i].want);
		as_buf_free(&text);
	}
	check(AS_IMPORT_JLANG, NULL, DEFINE "open foo O_RDWR|O_FAST 0777\ntruncate foo x\n",
	      "8: 'O_RDWR|O_FAST' cannot be read\n9: 'x' cannot be read\n");
}

static void fsx(void **state)
{
	(void)state;
	check(AS_IMPORT_FSX, NULL,
	      "# comment\nskip read 0x0 0x1 0x0\nwrite 0x0 0x10 0x0\nmapwrite 0x8 0x10 0x10\n"
	      "truncate 0x0 0x5 0x18 close_open\n",
	      "$0 = open /fsx O_RDWR|O_CREAT|O_TRUNC 0666\npwrite $0 len=16 at=0 fill=1\n"
	      "ftruncate $0 24\nmmap_write $0 len=16 at=8 fill=2\nftruncate $0 5\nclose $0\n"
	      "$0 = open /fsx O_RDWR\n");
	check(AS_IMPORT_FSX, NULL,
	      "write 0x0 0x1000 0x0\nclone_range 0x0 0x1000 0x1000 0x1000\n"
	      "dedupe_range 0x0 0x1000 0x1000 0x2000\nmapwrite 0x1000 0x1000 0x2000\n",
	      "$0 = open /fsx O_RDWR|O_CREAT|O_TRUNC 0666\npwrite $0 len=4096 at=0 fill=1\n"
	      "clone_range $0 $0 len=4096 at=0 to=4096\n"
	      "dedupe_range $0 $0 len=4096 at=0 to=4096\nmmap_write $0 len=4096 at=4096 fill=2\n");
	check(AS_IMPORT_FSX, NULL,
	      "read 0x0 0x10 0x20\nexchange_range 0 1 2 0x20\nfly 0 0 0\nread 1\n"
	      "read 0x0 0x1 0x20 sideways\n",
	      "$0 = open /fsx O_RDWR|O_CREAT|O_TRUNC 0666\nftruncate $0 32\npread $0 len=16 at=0\n"
	      "1: the log begins with a file of 32 bytes; what they are is unknown\n"
	      "2: no operation does the same\n3: unknown operation 'fly'\n"
	      "4: read: expected 3 numbers\n5: unknown flag 'sideways'\n");
}

static const struct {
	const char *text, *want;
} logs[] = {
	/* paths and what is outside */
	{ "mkdir(\"/t/a\", 0755) = 0\nmkdir(\"/u\", 0755) = 0\nrmdir(\"/t/a\") = 0\n"
	  "rename(\"/t/a\", \"/u\") = -1 EXDEV (Invalid cross-device link)\n",
	  "mkdir /a 0755\nrmdir /a\n4: rename: one of its paths is outside the tree\n" },
	{ "chdir(\"/t/x\") = 0\nunlink(\"../y//z\") = -1 ENOENT (No such file)\n"
	  "unlink(\"../../t2\") = 0\n",
	  "mkdir /x 0777\nchcwd /x\nunlink /y/z\n" },
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0600) = 3\n"
	  "1 pwritev2(3, [{iov_base=\"ab\", iov_len=2}], 1, -1, RWF_DSYNC) = 2\n"
	  "1 preadv2(3, [{iov_base=\"b\", iov_len=9}], 1, 1, 0) = 1\n",
	  "$0 = open /f O_RDWR|O_CREAT 0600\npwritev2 $0 len=2 at=-1 fill=1 flags=RWF_DSYNC\n"
	  "preadv2 $0 len=1 at=1\nclose $0\n" },
	{ "1 mkdir(\"/t/d\", 0755) = 0\n1 setxattr(\"/t/d\", \"system.posix_acl_default\", "
	  "\"\\2\\0\\0\\0\\1\\0\\7\\0\\377\\377\\377\\377\\2\\0\\4\\0\\350\\3\\0\\0\", 20, 0) = 0\n"
	  "1 lsetxattr(\"/t/d\", \"system.posix_acl_access\", \"\\2\\0\\0\", 20, 0) = 0\n",
	  "mkdir /d 0755\nsetacl /d u::rwx,u:1000:r-- default=1\n"
	  "3: lsetxattr: a list that is not whole (strace -s 512 prints more)\n" },
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0600) = 3\n1 open(\"/t/g\", O_RDWR|O_CREAT, 0600) = 4\n"
	  "1 sendfile(4, 3, [7] => [9], 2) = 2\n1 sendfile(4, 3, NULL, 100) = 0\n",
	  "$0 = open /f O_RDWR|O_CREAT 0600\n$1 = open /g O_RDWR|O_CREAT 0600\n"
	  "sendfile $0 $1 len=2 at=7\nsendfile $0 $1 len=100 at=-1\nclose $0\nclose $1\n" },
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0600) = 3\n1 open(\"/t/g\", O_RDWR|O_CREAT, 0600) = 4\n"
	  "1 ioctl(4</t/g>, BTRFS_IOC_CLONE or FICLONE, 3) = -1 EOPNOTSUPP (Operation not "
	  "supported)\n1 ioctl(4</t/g>, FIONREAD, [0]) = 0\n",
	  "$0 = open /f O_RDWR|O_CREAT 0600\n$1 = open /g O_RDWR|O_CREAT 0600\nclone $1 $0\n"
	  "close $0\nclose $1\n4: no operation for the call ioctl\n" },
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0600) = 3\n"
	  "1 fcntl(3, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=5, l_len=0}) = 0\n"
	  "1 fcntl(3, F_OFD_SETLKW, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=-7, "
	  "l_pid=0}) = 0\n"
	  "1 fcntl(3, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_CUR, l_start=0, l_len=1}) = 0\n"
	  "1 fcntl(3, F_GETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=1}) = 0\n",
	  "$0 = open /f O_RDWR|O_CREAT 0600\nsetlk $0 F_WRLCK at=5 len=0\n"
	  "ofd_setlk $0 F_UNLCK at=0 len=-7\nclose $0\n4: fcntl: a lock\n" },
	/* descriptors of two processes */
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0600) = 3\n1 fork() = 2\n1 close(3) = 0\n"
	  "2 write(3, \"abc\", 3) = 3\n2 close(3) = 0\n",
	  "$0 = open /f O_RDWR|O_CREAT 0600\nwrite $0 len=3 fill=1\nclose $0\n" },
	{ "1 chdir(\"/t\") = 0\n1 fork() = 2\n2 chdir(\"d\") = 0\n"
	  "1 truncate(\"f\", 5) = -1 ENOENT (No)\n2 truncate(\"f\", 6) = -1 ENOENT (No)\n",
	  "mkdir /d 0777\nchcwd /\nchcwd /d\ntruncate /f 5\ntruncate /d/f 6\n" },
	/* shared descriptors, and a call that was cut in two */
	{ "1 clone(child_stack=0x1, flags=CLONE_VM|CLONE_FS|CLONE_FILES) = 2\n"
	  "2 openat(AT_FDCWD, \"/t/f\", O_WRONLY|O_CREAT, 0644 <unfinished ...>\n"
	  "1 sync( <unfinished ...>\n2 <... openat resumed>) = 4\n"
	  "1 <... sync resumed>) = 0\n"
	  "1 fsync(4) = 0\n",
	  "$0 = open /f O_WRONLY|O_CREAT 0644\nsync\nfsync $0\nclose $0\n" },
	/* -y */
	{ "openat(AT_FDCWD</t/w>, \"f\", O_RDONLY|O_CREAT, 0644) = 3</t/w/f>\n"
	  "fchmod(3</t/w/f>, 0400) = 0\nfsync(9</t/q>) = 0\nfsync(8</u/q>) = 0\n",
	  "mkdir /w 0777\n$0 = open /w/f O_RDONLY|O_CREAT 0644\nfchmod $0 0400\nclose $0\n"
	  "3: fsync: a descriptor that was open before the log began\n" },
	/* dup and exec */
	{ "1 creat(\"/t/f\", 0644) = 3\n1 dup2(3, 1) = 1\n1 close(3) = 0\n"
	  "1 write(1, \"x\", 1) = 1\n"
	  "1 dup2(7, 1) = 1\n1 open(\"/t/f\", O_RDONLY|O_CLOEXEC) = 3\n"
	  "1 execve(\"/x\", [], 0x1) = 0\n",
	  "$0 = open /f O_WRONLY|O_CREAT|O_TRUNC 0644\nwrite $0 len=1 fill=1\nclose $0\n"
	  "$0 = open /f O_RDONLY|O_CLOEXEC\nclose $0\n" },
	/* strings and times */
	{ "10:00:01 symlink(\"a\\tb\\303\\251\", \"/t/l\") = 0\n"
	  "10:00:02.5 utimensat(AT_FDCWD, \"/t/l\", [UTIME_NOW, {tv_sec=-1, tv_nsec=5}], "
	  "AT_SYMLINK_NOFOLLOW) = 0 <0.01>\n",
	  "symlink \"a\\tb\xc3\xa9\" /l\nutimens /l mtime=-0.999999995 nofollow=1\n" },
	/* what has no operation */
	{ "1 open(\"/t/f\", O_RDWR|O_CREAT, 0644) = 3\n1 ioctl(3, FIGETBSZ, [4096]) = 0\n"
	  "1 access(\"/t/f\", R_OK) = 0\n1 access(\"/u\", R_OK) = 0\n"
	  "1 brk(NULL) = 0x5\ngarbage\n"
	  "1 lseek(3, 0, SEEK_SET) = 0\n1 pwrite64(3, \"\"..., 99999999999, 0) = 5\n",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nlseek $0 0 SEEK_SET\nclose $0\n"
	  "2: no operation for the call ioctl\n3: no operation for the call access\n"
	  "6: not a line of strace\n"
	  "8: pwrite: out of range: expected a length in bytes\n" },
	/* renames move what is open and where one is */
	{ "chdir(\"/t/a\") = 0\nopen(\"/t/a\", O_RDONLY|O_DIRECTORY) = 3\n"
	  "rename(\"/t/a\", \"/t/b\") = 0\nmkdirat(3, \"c\", 0700) = 0\n"
	  "mkdir(\"d\", 0700) = 0\n",
	  "mkdir /a 0777\nchcwd /a\n$0 = open /a O_RDONLY|O_DIRECTORY\nrename /a /b\n"
	  "mkdir /b/c 0700\nmkdir /b/d 0700\nclose $0\n" },
	/* a call that was interrupted and made again is one operation */
	{ "1 creat(\"/t/f\", 0644) = 3\n"
	  "1 fsync(3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
	  "1 --- SIGCHLD {si_signo=SIGCHLD} ---\n1 fsync(3) = 0\n",
	  "$0 = open /f O_WRONLY|O_CREAT|O_TRUNC 0644\nfsync $0\nclose $0\n" },
	/* halves of calls, and descriptors whose open is no operation */
	{ "1 <... fsync resumed>) = 0\n"
	  "1 openat2(AT_FDCWD, \"/t/f\", {flags=O_RDWR}, 24) = 3\n"
	  "1 fsync(3) = 0\n1 sync() = 0\n",
	  "sync\n1: fsync: its beginning is not in the log\n"
	  "2: no operation for the call openat2\n"
	  "3: fsync: a descriptor whose open was left out\n" },
	/* threads share descriptors; a terminal shows numbers while there are several */
	{ "openat(AT_FDCWD, \"/t/f\", O_RDWR|O_CREAT, 0644) = 3\n"
	  "clone(child_stack=0x1, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD"
	  "strace: Process 12 attached\n"
	  ") = 12\n[pid 12] close(3) = 0\n[pid 12] +++ exited with 0 +++\n"
	  "fsync(3) = -1 EBADF (Bad file descriptor)\nsync() = 0\n",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nclose $0\nsync\n" },
};

static void strace(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		check(AS_IMPORT_STRACE, "/t/", logs[i].text, logs[i].want);
}

static void not_of_its_kind(void **state)
{
	static const char *const texts[] = { "", "hello\n", "mkdir /a 0755\n", "\n\n\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int from = 0; from < AS_IMPORTS; from++) {
			struct as_import im = { .from = (enum as_import_from)from, .file = "x" };
			struct as_seq *seq = (struct as_seq *)1;
			struct as_err err = { 0 };

			assert_int_equal(as_import_text(&im, texts[i], strlen(texts[i]), &seq,
							&err),
					 AS_EUSE);
			assert_null(seq);
			assert_non_null(strstr(err.msg, "x: no line in it is of "));
		}
	assert_int_equal(as_import_find("jlang"), AS_IMPORT_JLANG);
	assert_int_equal(as_import_find("klang"), -1);
}

static void crashmonkey(void **state)
{
	struct as_buf told = { 0 };
	size_t ops = 0;
	glob_t found;

	(void)state;
	if (glob("../shared/data/crashmonkey-seq1/j-lang*", 0, NULL, &found))
		skip_because("CrashMonkey's workloads are not at ../shared/data/crashmonkey-seq1");
	assert_int_equal(found.gl_pathc, 328);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct as_import im = { .from = AS_IMPORT_JLANG,
					.file = found.gl_pathv[i],
					.left_out = tell,
					.ctx = &told };
		struct as_buf text = { 0 };
		struct as_err err = { 0 };
		struct as_seq *seq;

		assert_int_equal(as_buf_read_file(&text, found.gl_pathv[i], 1 << 20, &err), 0);
		seq = import(&im, as_buf_str(&text), text.len);
		assert_non_null(as_seq_meta(seq, "checkpoints"));
		assert_true(seq->n >= 2);
		ops += seq->n;
		as_seq_free(seq);
		as_buf_free(&text);
	}
	assert_string_equal(as_buf_str(&told), "");
	assert_true(ops > 328 * 4);
	globfree(&found);
	as_buf_free(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jlang),       cmocka_unit_test(fsx),
		cmocka_unit_test(strace),      cmocka_unit_test(not_of_its_kind),
		cmocka_unit_test(crashmonkey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
