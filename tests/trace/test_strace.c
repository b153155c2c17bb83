/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of strace, as its options make them, and what they are counted as. */
#include "tests/lib/counted.h"

/* One line a row: which partition it falls into, once. arg NULL: the result. */
static const struct {
	const char *line, *family, *arg, *part;
} rows[] = {
	{ "1 open(\"/a\", O_RDONLY) = 3", "open", "flags", "O_RDONLY" },
	{ "open(\"/a\", O_RDWR|O_CREAT, 0644) = 3", "open", "flags", "O_RDWR" },
	{ "open(\"/a\", O_RDWR|O_CREAT, 0644) = 3", "open", "mode", "S_IWUSR" },
	{ "open(\"/a\", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3", "open", "flags",
	  "O_DIRECTORY" },
	{ "[pid  7] openat(AT_FDCWD, \"a\", O_WRONLY) = -1 ENOENT (No such file or directory)",
	  "open", NULL, "ENOENT" },
	{ "7 openat(AT_FDCWD</tmp>, \"a\", O_WRONLY) = 4</tmp/a>", "open", "dirfd", "AT_FDCWD" },
	{ "7 10:00:00 openat(AT_FDCWD, \"\", O_PATH) = -1 ENOENT (x)", "open", "path", "empty" },
	{ "7 10:00:00.123456 openat(AT_FDCWD, \"a/\", O_PATH) = 3", "open", "path",
	  "trailing-slash" },
	{ "7 1700000000.123456 openat(-1, \"a\", O_PATH) = -1 EBADF (x)", "open", "dirfd",
	  "negative" },
	{ "7      0.000123 openat(9, \"a\", O_PATH) = -1 EBADF (x)", "open", "dirfd", "closed" },
	{ "10:00:00.1 creat(\"a\", 0700) = 3 <0.000012>", "open", "flags", "O_TRUNC" },
	{ "[00007f8012345678] open(\"/a\", 0x80000 /* O_RDONLY|O_CLOEXEC */) = 3", "open", "flags",
	  "O_CLOEXEC" },
	{ "[ 257] openat(AT_FDCWD, \"/a\", O_RDONLY|0x40000000) = 3", "open", "flags", "unknown" },
	{ "openat2(AT_FDCWD, \"/a\", {flags=O_RDWR|O_CREAT, mode=0600, resolve=RESOLVE_BENEATH}, "
	  "24) = 3",
	  "open", "resolve", "RESOLVE_BENEATH" },
	{ "openat2(AT_FDCWD, \"/a\", {flags=O_RDWR|O_CREAT, mode=0600, resolve=RESOLVE_BENEATH}, "
	  "24) = 3",
	  "open", "mode", "S_IRUSR" },
	{ "openat(AT_FDCWD, NULL, O_RDONLY) = -1 EFAULT (Bad address)", "open", "path", "null" },
	{ "openat(AT_FDCWD, 0xdeadbeef, O_RDONLY) = -1 EFAULT (Bad address)", "open", "path",
	  "null" },
	{ "openat(AT_FDCWD, \"/a\", O_RDWR|O_SYNC) = 3", "open", "flags", "O_SYNC" },
	{ "openat(AT_FDCWD, \"/a\", O_RDWR|O_DSYNC) = 3", "open", "flags", "O_DSYNC" },
	{ "openat(AT_FDCWD, \"/a\", O_RDWR|O_TMPFILE, 0600) = 3", "open", "flags", "O_TMPFILE" },
	{ "openat(AT_FDCWD, \"/a\", O_ACCMODE) = 3", "open", "flags", "unknown" },
	{ "write(3, \"ab\\\"), = 7\\n\\\\\", 12) = 12", "write", "count", "2^3" },
	{ "write(3, \"ab\"..., 4096) = 4096", "write", "count", "2^12" },
	{ "write(3, \"ab\"..., 4096) = 4096", "write", NULL, "OK=2^12" },
	{ "write(3, \"\", 0) = 0", "write", "count", "0" },
	{ "write(3, \"\", 0) = 0", "write", NULL, "OK=0" },
	{ "write(3, 0x7f, 18446744073709551615) = -1 EFAULT (x)", "write", "count", "negative" },
	{ "writev(3, [{iov_base=\"iov_len=9\", iov_len=9}, {iov_base=\"b\"..., iov_len=91}], 2) = "
	  "100",
	  "write", "count", "2^6" },
	{ "writev(3, [{iov_base=\"a\", iov_len=1}, ...], 99) = 100", "write", "count",
	  "(not-shown)" },
	{ "writev(3, [{iov_base=\"a\", iov_len=1}], 1) = 1", "write", "iovcnt", "2^0" },
	{ "pwritev2(3, [{iov_base=\"a\", iov_len=1}], 1, 4096, RWF_DSYNC) = 1", "write", "flags",
	  "RWF_DSYNC" },
	{ "pwrite64(3, \"a\", 1, 8191) = 1", "write", "offset", "2^12" },
	{ "pread64(3, \"a\", 1, -1) = -1 EINVAL (x)", "read", "offset", "negative" },
	{ "read(3, \"\", 100)                       = 0", "read", NULL, "OK=0" },
	{ "read(3</dev/null<char 1:3>>, \"\", 100) = 0", "read", "count", "2^6" },
	{ "lseek(3, -5, SEEK_END) = 12", "lseek", "offset", "negative" },
	{ "lseek(3, 0, SEEK_DATA) = -1 ENXIO (x)", "lseek", "whence", "SEEK_DATA" },
	{ "lseek(3, 0, 0x63 /* SEEK_??? */) = -1 EINVAL (x)", "lseek", "whence", "other" },
	{ "ftruncate(3, 9223372036854775807) = -1 EFBIG (x)", "truncate", "length", "2^62" },
	{ "mkdirat(AT_FDCWD, \"d\", 01777) = 0", "mkdir", "mode", "S_ISVTX" },
	{ "setxattr(\"/a\", \"user.x\", \"v\", 1, XATTR_CREATE) = 0", "setxattr", "flags",
	  "XATTR_CREATE" },
	{ "setxattr(\"/a\", \"security\"..., \"v\", 1, 0) = 0", "setxattr", "name", "security." },
	{ "fsetxattr(3, \"user.x\", \"v\", 65536, 0) = 0", "setxattr", "size", "2^16" },
	{ "lgetxattr(\"/a\", \"user.x\", NULL, 0) = 17", "getxattr", NULL, "OK=2^4" },
	{ "mknodat(AT_FDCWD, \"n\", S_IFCHR|0600, makedev(0x1, 0x3)) = 0", "mknod", "mode",
	  "S_IFCHR" },
	{ "mknodat(AT_FDCWD, \"n\", S_IFCHR|0600, makedev(0x1, 0x3)) = 0", "mknod", "dev", "2^8" },
	{ "fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0", "fallocate",
	  "mode", "FALLOC_FL_PUNCH_HOLE" },
	{ "copy_file_range(3, [4096] => [8192], 4, NULL, 4096, 0) = 4096", "copy_file_range",
	  "off_in", "2^12" },
	{ "copy_file_range(3, [4096] => [8192], 4, NULL, 4096, 0) = 4096", "copy_file_range",
	  "off_out", "null" },
	{ "sendfile(4, 3, [0] => [5], 100) = 5", "sendfile", "offset", "0" },
	{ "newfstatat(AT_FDCWD, \"a\", {st_mode=S_IFREG|0644, st_size=5, ...}, "
	  "AT_SYMLINK_NOFOLLOW) = 0",
	  "stat", "flags", "AT_SYMLINK_NOFOLLOW" },
	{ "fstat(3, {st_mode=S_IFREG|0644, st_size=5, ...}) = 0", "stat", NULL, "OK" },
	{ "statx(AT_FDCWD, \"a\", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL}) = 0",
	  "statx", "mask", "STATX_BTIME" },
	{ "statx(AT_FDCWD, \"a\", AT_STATX_SYNC_AS_STAT, STATX_MODE, {stx_mask=STATX_ALL}) = 0",
	  "statx", "flags", "0" },
	{ "getdents64(3, 0x55d0 /* 5 entries */, 32768) = 144", "getdents", "count", "2^15" },
	{ "getdents64(3, 0x55d0 /* 5 entries */, 32768) = 144", "getdents", NULL, "OK=2^7" },
	{ "fchownat(AT_FDCWD, \"a\", -1, 0, 0) = 0", "chown", "user", "-1" },
	{ "fchownat(AT_FDCWD, \"a\", 4294967295, 100000, 0) = 0", "chown", "group", "32-bit" },
	{ "utimensat(AT_FDCWD, \"a\", [{tv_sec=978307200, tv_nsec=0} /* "
	  "2001-01-01T00:00:00+0000 */, UTIME_OMIT], 0) = 0",
	  "utimens", "atime", "before-2038" },
	{ "utimensat(AT_FDCWD, \"a\", [{tv_sec=978307200, tv_nsec=0} /* "
	  "2001-01-01T00:00:00+0000 */, UTIME_OMIT], 0) = 0",
	  "utimens", "mtime", "UTIME_OMIT" },
	{ "utimensat(3, NULL, NULL, 0) = 0", "utimens", "mtime", "null" },
	{ "utimensat(3, NULL, [UTIME_NOW, {tv_sec=-1, tv_nsec=5}], 0) = 0", "utimens", "mtime",
	  "negative" },
	{ "utimensat(3, NULL, [UTIME_NOW, {tv_sec=-1, tv_nsec=5}], 0) = 0", "utimens", "atime",
	  "UTIME_NOW" },
	{ "utime(\"a\", {actime=0 /* 1970 */, modtime=4000000000}) = 0", "utimens", "mtime",
	  "before-2446" },
	{ "access(\"a\", F_OK) = 0", "access", "mode", "0" },
	{ "faccessat2(AT_FDCWD, \"a\", R_OK|X_OK, AT_EACCESS) = 0", "access", "mode", "X_OK" },
	{ "fcntl(3, F_GETFL) = 0x8000 (flags O_RDONLY|O_LARGEFILE)", "fcntl", "cmd", "F_GETFL" },
	{ "flock(3, LOCK_EX|LOCK_NB) = -1 EAGAIN (x)", "flock", "operation", "LOCK_EX" },
	{ "ioctl(3, FICLONE, 4) = -1 EOPNOTSUPP (x)", "ioctl", "cmd", "FICLONE" },
	{ "ioctl(3, BTRFS_IOC_CLONE or FICLONE, 4) = 0", "ioctl", "cmd", "FICLONE" },
	{ "ioctl(3, FS_IOC_GETFLAGS, [FS_EXTENT_FL]) = 0", "ioctl", "cmd", "FS_IOC_GETFLAGS" },
	{ "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0x1000) = 0x7f0000000000", "mmap",
	  "flags", "MAP_SHARED" },
	{ "mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0x1000) = 0x7f0000000000", "mmap",
	  "offset", "2^12" },
	{ "mount(\"/dev/sda\", \"/mnt\", \"ext4\", MS_RDONLY|MS_NOATIME, NULL) = 0", "mount",
	  "flags", "MS_NOATIME" },
	{ "umount2(\"/mnt\", MNT_DETACH) = 0", "umount", "flags", "MNT_DETACH" },
	{ "renameat2(AT_FDCWD, \"a\", AT_FDCWD, \"b\", RENAME_EXCHANGE) = 0", "rename", "flags",
	  "RENAME_EXCHANGE" },
	{ "symlink(\"/target/\", \"s\") = 0", "symlink", "target", "trailing-slash" },
	{ "read(3, \"x\", 1) = -1 EHWPOISON (Memory page has hardware error)", "read", NULL,
	  "EHWPOISON" },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_counts *counts = t_read_text(&as_source_strace, NULL, "/", rows[i].line);

		if (as_counts_noted(counts, AS_NOTE_NOT_UNDERSTOOD))
			fail_msg("not understood: %s", rows[i].line);
		if (t_count(counts, rows[i].family, rows[i].arg, rows[i].part) != 1)
			fail_msg("not %s %s %s: %s", rows[i].family,
				 rows[i].arg ? rows[i].arg : "result", rows[i].part, rows[i].line);
		as_counts_free(counts);
	}
}

/* O_RDWR is not also O_RDONLY; a directory is not also a temporary file. */
static void test_exclusive(void **state)
{
	struct as_counts *counts = t_read_text(&as_source_strace, NULL, "/",
					       "open(\"/a\", O_RDWR|O_SYNC) = 3\n"
					       "open(\"/a\", O_RDWR|O_TMPFILE, 0) = 3\n"
					       "open(\"/a\", O_WRONLY) = 3\n");

	(void)state;
	assert_int_equal(t_count(counts, "open", "flags", "O_RDONLY"), 0);
	assert_int_equal(t_count(counts, "open", "flags", "O_RDWR"), 2);
	assert_int_equal(t_count(counts, "open", "flags", "O_WRONLY"), 1);
	assert_int_equal(t_count(counts, "open", "flags", "O_DSYNC"), 0);
	assert_int_equal(t_count(counts, "open", "flags", "O_DIRECTORY"), 0);
	/* The mode counts only where something is made. */
	assert_int_equal(t_count(counts, "open", "mode", "0"), 1);
	as_counts_free(counts);
}

/* Interrupted calls, signals, exits, remarks; two threads at once. */
static void test_interrupted(void **state)
{
	static const char text[] =
		"10 execve(\"/bin/x\", [\"x\"], 0x7ffd /* 20 vars */) = 0\n"
		"strace: Process 11 attached\n"
		"10 read(3,  <unfinished ...>\n"
		"11 openat(AT_FDCWD, \"/a\", O_RDONLY <unfinished ...>\n"
		"10 <... read resumed>\"abc\", 100) = 3\n"
		"11 <... openat resumed>) = 4\n"
		"10 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11} ---\n"
		"10 read(3, 0x7f, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n"
		"10 read(3, \"\", 10) = 0\n"
		"11 write(4, \"x\", 1 <unfinished ...>\n"
		"11 +++ killed by SIGKILL +++\n"
		"10 restart_syscall(<... resuming interrupted nanosleep ...>) = 0\n"
		"10 exit_group(0) = ?\n"
		"10 +++ exited with 0 +++\n"
		"[ Process PID=12 runs in 32 bit mode. ]\n"
		"12 open(\"/a\", O_RDONLY) = 3\n"
		"[ Process PID=12 runs in 64 bit mode. ]\n"
		"12 open(\"/a\", O_RDONLY) = 3\n"
		"this is no line of strace\n"
		" > /usr/lib/libc.so.6(read+0x1e) [0x100]\n"
		"\n";
	struct as_counts *counts = t_read_text(&as_source_strace, NULL, NULL, text);
	uint64_t n;

	(void)state;
	assert_int_equal(t_count(counts, "read", NULL, "OK=2^1"), 1);
	assert_int_equal(t_count(counts, "read", "count", "2^6"), 1);
	assert_int_equal(t_count(counts, "read", NULL, "OK=0"), 1);
	assert_int_equal(t_calls(counts, "read"), 2);
	assert_int_equal(t_calls(counts, "openat"), 1);
	assert_int_equal(t_calls(counts, "open"), 2); /* one of them with 32 bit */
	assert_int_equal(t_calls(counts, "write"), 0);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_OTHER_ARCH), 0);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_NOT_UNDERSTOOD), 1);
	assert_int_equal(as_counts_noted(counts, AS_NOTE_UNFINISHED), 1);
	assert_string_equal(as_counts_example_at(counts, 0), "this is no line of strace");
	assert_string_equal(as_counts_unknown_at(counts, 0, &n), "restart_syscall");
	as_counts_free(counts);
}

/* What the program sees of calls that signals interrupt: EINTR, or the end of the repetition. */
static void test_signals(void **state)
{
	static const struct {
		const char *name, *text;
		unsigned reads, eintr, unfinished;
	} rows[] = {
		{ "a handler without SA_RESTART",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n1 read(3, \"x\", 9) = 1\n",
		  2, 1, 0 },
		{ "one that calls something itself",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 write(1, \"x\", 1) = 1\n1 read(4, \"x\", 1) = 1\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n",
		  2, 1, 0 },
		{ "a handler with SA_RESTART",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 rt_sigreturn({mask=[]}) = 0\n1 read(3, \"x\", 9) = 1\n",
		  1, 0, 0 },
		{ "no handler",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGCHLD {} ---\n"
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGCONT {} ---\n"
		  "1 read(3, \"x\", 9) = 1\n",
		  1, 0, 0 },
		{ "a handler that is interrupted itself",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 read(4, 0x7f, 9) = ? ERESTARTNOHAND (x)\n1 --- SIGUSR1 {} ---\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n",
		  2, 2, 0 },
		{ "two signals at once",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 --- SIGUSR1 {} ---\n1 rt_sigreturn({mask=[ALRM]}) = 0\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n",
		  1, 1, 0 },
		{ "it dies",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n1 +++ killed by SIGKILL +++\n", 0, 0,
		  1 },
		{ "put together from two lines",
		  "1 read(3,  <unfinished ...>\n2 getpid() = 2\n"
		  "1 <... read resumed>0x7f, 9) = ? ERESTARTSYS (x)\n1 --- SIGALRM {} ---\n"
		  "1 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n",
		  1, 1, 0 },
		{ "an EINTR of its own", "1 read(3, 0x7f, 9) = -1 EINTR (x)\n", 1, 1, 0 },
		{ "of another thread",
		  "1 read(3, 0x7f, 9) = ? ERESTARTSYS (x)\n2 --- SIGALRM {} ---\n"
		  "2 rt_sigreturn({mask=[]}) = -1 EINTR (x)\n",
		  0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_counts *c = t_read_text(&as_source_strace, NULL, NULL, rows[i].text);
		uint64_t got[3] = { t_calls(c, "read"), t_count(c, "read", NULL, "EINTR"),
				    as_counts_noted(c, AS_NOTE_UNFINISHED) };

		if (got[0] != rows[i].reads || got[1] != rows[i].eintr ||
		    got[2] != rows[i].unfinished)
			fail_msg("%s: reads %d eintr %d unfinished %d", rows[i].name, (int)got[0],
				 (int)got[1], (int)got[2]);
		as_counts_free(c);
	}
}

/* Errors that no manual page lists are not expected, and named. */
static void test_undocumented(void **state)
{
	struct as_counts *counts = t_read_text(&as_source_strace, NULL, NULL,
					       "close(3) = -1 ENOSYS (x)\nclose(3) = 0\n");
	struct as_space space;
	bool seen = false;

	(void)state;
	assert_true(as_counts_find(counts, "close", NULL, AS_SPACE_OUTPUT, &space));
	for (unsigned i = 0; i < space.n; i++)
		if (!strcmp(space.parts[i].name, "ENOSYS")) {
			seen = true;
			assert_false(space.parts[i].expected);
		}
	assert_true(seen);
	as_space_free(&space);
	as_counts_free(counts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	     cmocka_unit_test(test_exclusive),
		cmocka_unit_test(test_interrupted),  cmocka_unit_test(test_signals),
		cmocka_unit_test(test_undocumented),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
