/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose file is it? Descriptor tables and working directories through fork, exec, dup and the rest,
 * with a filter: each case says how many calls are counted, how many are about other files, and how
 * many cannot be attributed. */
#include "tests/lib/counted.h"

static const struct {
	const char *name, *under, *cwd, *text;
	unsigned counted, outside, unknown, no_file;
	bool regex; /* `under` is a regular expression */
} cases[] = {
	{ "absolute paths", "/mnt/test", NULL,
	  "1 mkdir(\"/mnt/test/a\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/testing\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/test\", 0755) = -1 EEXIST (x)\n"
	  "1 mkdir(\"/mnt//test/./b/../c\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/test/../other\", 0755) = 0\n",
	  3, 2, 0, 0, false },
	{ "a regular expression", "/mnt/(test|scratch)", NULL,
	  "1 mkdir(\"/mnt/test/a\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/scratch/a\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/scratchy/a\", 0755) = 0\n"
	  "1 mkdir(\"/x/mnt/test/a\", 0755) = 0\n",
	  2, 2, 0, 0, true },
	{ "an expression with nothing but letters", "/mnt/test", NULL,
	  "1 mkdir(\"/mnt/test/a\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/testing\", 0755) = 0\n",
	  1, 1, 0, 0, true },
	{ "an expression that begins with ^", "^/m(nt|edia)", NULL,
	  "1 mkdir(\"/mnt/a\", 0755) = 0\n1 mkdir(\"/media\", 0755) = 0\n"
	  "1 mkdir(\"/x/mnt\", 0755) = 0\n",
	  2, 1, 0, 0, true },
	/* A path is no expression: its letters stand for themselves. */
	{ "a path with a +", "/b/gcc-address+undefined", NULL,
	  "1 mkdir(\"/b/gcc-address+undefined/a\", 0755) = 0\n"
	  "1 mkdir(\"/b/gcc-address+undefined\", 0755) = -1 EEXIST (x)\n"
	  "1 mkdir(\"/b/gcc-address+undefined2\", 0755) = 0\n"
	  "1 mkdir(\"/b/gcc-addresssundefined\", 0755) = 0\n",
	  2, 2, 0, 0, false },
	{ "a path with all that an expression uses", "/a.b(c|d)[e]*^${2}?\\", NULL,
	  "1 mkdir(\"/a.b(c|d)[e]*^${2}?\\\\/x\", 0755) = 0\n"
	  "1 mkdir(\"/a.b(c|d)[e]*^${2}?\", 0755) = 0\n1 mkdir(\"/aXbc\", 0755) = 0\n",
	  1, 2, 0, 0, false },
	{ "a path that is written in a long way", "//mnt/./x/..//test/", NULL,
	  "1 mkdir(\"/mnt/test/a\", 0755) = 0\n1 mkdir(\"/mnt/test\", 0755) = 0\n"
	  "1 mkdir(\"/mnt/x\", 0755) = 0\n1 mkdir(\"/mnt\", 0755) = 0\n",
	  2, 2, 0, 0, false },
	{ "the root", "/", NULL,
	  "1 mkdir(\"/mnt/test/a\", 0755) = 0\n1 mkdir(\"/\", 0755) = -1 EEXIST (x)\n", 2, 0, 0, 0,
	  false },
	{ "above the root", "/../..", NULL, "1 mkdir(\"/mnt\", 0755) = 0\n", 1, 0, 0, 0, false },
	{ "descriptors", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 openat(AT_FDCWD, \"/o/a\", O_RDWR) = 4\n"
	  "1 write(3, \"x\", 1) = 1\n1 write(4, \"x\", 1) = 1\n"
	  "1 close(3) = 0\n1 openat(AT_FDCWD, \"/o/b\", O_RDWR) = 3\n1 write(3, \"x\", 1) = 1\n",
	  3, 4, 0, 0, false },
	{ "from before the trace", "/m", NULL,
	  "1 write(1, \"x\", 1) = 1\n1 mkdir(\"rel\", 0) = 0\n"
	  "1 write(9, \"x\", 1) = -1 EBADF (x)\n",
	  0, 0, 2, 1, false },
	{ "the working directory of the start", "/m", "/m/sub", "1 mkdir(\"rel\", 0) = 0\n", 1, 0,
	  0, 0, false },
	{ "chdir and fchdir", "/m", NULL,
	  "1 chdir(\"/m/d\") = 0\n1 mkdir(\"r\", 0) = 0\n1 chdir(\"../../o\") = 0\n"
	  "1 mkdir(\"r\", 0) = 0\n1 openat(AT_FDCWD, \"/m/d\", O_DIRECTORY) = 3\n"
	  "1 fchdir(3) = 0\n1 mkdir(\"r\", 0) = 0\n1 chdir(\"/o\") = -1 EACCES (x)\n"
	  "1 mkdir(\"r\", 0) = 0\n",
	  6, 3, 0, 0, false },
	{ "relative to a descriptor", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/d\", O_RDONLY) = 3\n1 openat(AT_FDCWD, \"/o\", O_RDONLY) = 4\n"
	  "1 mkdirat(3, \"x\", 0) = 0\n1 mkdirat(4, \"x\", 0) = 0\n"
	  "1 mkdirat(4, \"../m/x\", 0) = 0\n1 mkdirat(4, \"/m/y\", 0) = 0\n"
	  "1 renameat(4, \"x\", 3, \"y\") = 0\n",
	  5, 2, 0, 0, false },
	{ "fork: a copy", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 fork() = 2\n"
	  "1 close(3) = 0\n1 openat(AT_FDCWD, \"/o\", O_RDWR) = 3\n"
	  "2 write(3, \"x\", 1) = 1\n1 write(3, \"x\", 1) = 1\n",
	  3, 2, 0, 0, false },
	{ "clone with CLONE_FILES: the same", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/o\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, "
	  "parent_tid=[2]) = 2\n"
	  "2 close(3) = 0\n2 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 write(3, \"x\", 1) = 1\n"
	  "2 chdir(\"/m\") = 0\n1 mkdir(\"r\", 0) = 0\n",
	  4, 2, 0, 0, false },
	{ "clone3 without CLONE_FS: a directory of its own", "/m", "/o",
	  "1 clone3({flags=CLONE_FILES, exit_signal=SIGCHLD}, 88) = 2\n"
	  "2 chdir(\"/m\") = 0\n1 mkdir(\"r\", 0) = 0\n2 mkdir(\"r\", 0) = 0\n",
	  2, 1, 0, 0, false },
	{ "a child that is seen before its parent is back", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD <unfinished ...>\n"
	  "2 write(3, \"x\", 1) = 1\n2 close(3) = 0\n"
	  "1 <... clone resumed>, child_tidptr=0x7f) = 2\n"
	  "2 openat(AT_FDCWD, \"/o\", O_RDWR) = 3\n"
	  "2 write(3, \"x\", 1) = 1\n1 write(3, \"x\", 1) = 1\n",
	  4, 2, 0, 0, false },
	{ "dup, dup2, dup3, F_DUPFD", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 dup(3) = 4\n1 dup2(3, 5) = 5\n"
	  "1 dup3(3, 6, O_CLOEXEC) = 6\n1 fcntl(3, F_DUPFD, 10) = 10\n"
	  "1 fcntl(3, F_DUPFD_CLOEXEC, 20) = 20\n1 close(3) = 0\n1 write(4, \"x\", 1) = 1\n"
	  "1 write(5, \"x\", 1) = 1\n1 write(6, \"x\", 1) = 1\n1 write(10, \"x\", 1) = 1\n"
	  "1 write(20, \"x\", 1) = 1\n",
	  9, 0, 0, 0, false },
	{ "exec closes what is marked", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR|O_CLOEXEC) = 3\n"
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 4\n1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 5\n"
	  "1 fcntl(5, F_SETFD, FD_CLOEXEC) = 0\n"
	  "1 execve(\"/bin/x\", [\"x\"], 0x7f /* 3 vars */) = 0\n"
	  "1 write(4, \"x\", 1) = 1\n"
	  /* Not in the table and not refused: not closed, but unknown. */
	  "1 write(3, \"x\", 1) = 1\n1 write(5, \"x\", 1) = 1\n",
	  5, 0, 2, 0, false },
	{ "close_range", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 4\n"
	  "1 close_range(4, 4294967295, 0) = 0\n1 write(3, \"x\", 1) = 1\n"
	  "1 write(4, \"x\", 1) = 1\n",
	  3, 0, 1, 0, false },
	{ "close_range with CLOEXEC", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 close_range(3, 4294967295, CLOSE_RANGE_CLOEXEC) = 0\n1 write(3, \"x\", 1) = 1\n"
	  "1 execve(\"/x\", [], 0x7f) = 0\n1 write(3, \"x\", 1) = 1\n",
	  2, 0, 1, 0, false },
	{ "pipes and sockets have no file; what comes through them is unknown", "/m", NULL,
	  "1 pipe2([3, 4], 0) = 0\n1 socket(AF_UNIX, SOCK_STREAM, 0) = 5\n"
	  "1 write(4, \"x\", 1) = 1\n1 read(5, \"x\", 1) = 1\n"
	  "1 recvmsg(5, {msg_control=[{cmsg_type=SCM_RIGHTS, cmsg_data=[6]}]}, 0) = 1\n"
	  "1 write(6, \"x\", 1) = 1\n",
	  0, 2, 1, 0, false },
	{ "closed and negative go with the process", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 close(3) = 0\n1 close(3) = -1 EBADF (x)\n"
	  "1 read(-1, 0x7f, 1) = -1 EBADF (x)\n1 sync() = 0\n2 sync() = 0\n"
	  "2 read(-1, 0x7f, 1) = -1 EBADF (x)\n",
	  5, 0, 0, 2, false },
	{ "what -y says is right", "/m", NULL,
	  "1 write(7</m/a>, \"x\", 1) = 1\n1 write(8</o/a (deleted)>, \"x\", 1) = 1\n"
	  "1 write(9<socket:[77]>, \"x\", 1) = 1\n1 mkdirat(AT_FDCWD</m/d>, \"x\", 0) = 0\n",
	  2, 2, 0, 0, false },
	{ "unshare", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_FILES|CLONE_FS) = 2\n"
	  "2 unshare(CLONE_FILES) = 0\n2 close(3) = 0\n1 write(3, \"x\", 1) = 1\n",
	  3, 0, 0, 0, false },
	{ "a number that is used again after exit", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 +++ exited with 0 +++\n"
	  "1 write(3, \"x\", 1) = 1\n",
	  1, 0, 1, 0, false },
	{ "anonymous memory is no file", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f\n"
	  "1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7f\n",
	  2, 1, 0, 0, false },
	{ "chroot", "/jail/m", NULL,
	  "1 chroot(\"/jail\") = 0\n1 mkdir(\"/m/a\", 0) = 0\n1 mkdir(\"/o\", 0) = 0\n", 1, 1, 0, 0,
	  false },
	{ "futimens", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 utimensat(3, NULL, NULL, 0) = 0\n"
	  "1 newfstatat(3, \"\", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0\n",
	  3, 0, 0, 0, false },
	{ "a directory that is renamed takes all with it", "/m/in", NULL,
	  "1 mkdir(\"/m/o/d\", 0) = 0\n1 openat(AT_FDCWD, \"/m/o/d/f\", O_RDWR) = 3\n"
	  "1 chdir(\"/m/o/d\") = 0\n1 rename(\"/m/o/d\", \"/m/in/d\") = 0\n"
	  "1 write(3, \"x\", 1) = 1\n1 mkdir(\"r\", 0) = 0\n1 mkdir(\"../../o/x\", 0) = 0\n",
	  3, 4, 0, 0, false },
	{ "a directory that is renamed, with nothing open below", "/m/(in|x)", NULL,
	  "1 mkdir(\"/m/o\", 0) = 0\n1 mkdir(\"/m/o/a\", 0) = 0\n1 rmdir(\"/m/o/a\") = 0\n"
	  "1 rename(\"/m/o\", \"/m/in\") = 0\n1 mkdir(\"/m/in/a\", 0) = 0\n"
	  "1 rename(\"/m/in\", \"/m/o\") = 0\n1 mkdir(\"/m/o/a\", 0) = 0\n",
	  3, 4, 0, 0, true },
	{ "pivot_root", "/jail/m", NULL,
	  "1 chdir(\"/\") = 0\n1 pivot_root(\"/jail\", \"/jail/o\") = 0\n1 mkdir(\"m/a\", 0) = 0\n"
	  "1 mkdir(\"/m/b\", 0) = 0\n1 mkdir(\"/o\", 0) = 0\n",
	  2, 2, 0, 0, false },
	{ "threads: a number that is given again before its close is back", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 2\n"
	  "1 close(3 <unfinished ...>\n2 openat(AT_FDCWD, \"/o/b\", O_RDWR) = 3\n"
	  "2 close(3 <unfinished ...>\n1 <... close resumed>) = 0\n2 <... close resumed>) = 0\n",
	  2, 2, 0, 0, false },
	{ "threads: the same with dup", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n1 openat(AT_FDCWD, \"/o/b\", O_RDWR) = 4\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 2\n"
	  "1 close(3 <unfinished ...>\n2 dup(4) = 3\n1 <... close resumed>) = 0\n"
	  "2 write(3, \"x\", 1) = 1\n2 close(3) = 0\n",
	  2, 3, 0, 0, false },
	{ "threads: what was read from when it began", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 2\n"
	  "1 read(3,  <unfinished ...>\n2 close(3) = 0\n2 openat(AT_FDCWD, \"/o/b\", O_RDWR) = 3\n"
	  "1 <... read resumed>\"x\", 1) = 1\n",
	  3, 1, 0, 0, false },
	{ "threads: a child that is made while a close is under way", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 2\n"
	  "1 close(3 <unfinished ...>\n2 fork() = 5\n1 <... close resumed>) = 0\n"
	  "5 write(3, \"x\", 1) = 1\n5 close(3) = 0\n",
	  4, 0, 0, 0, false },
	{ "threads: exec of one that is not the first", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 3\n"
	  "1 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD) = 2\n"
	  "1 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n"
	  "2 execve(\"/bin/x\", [\"x\"], 0x7f /* 3 vars */ <pid changed to 1 ...>\n"
	  "1 +++ superseded by execve in pid 2 +++\n1 <... execve resumed>) = 0\n"
	  "1 write(3, \"x\", 1) = 1\n",
	  2, 0, 0, 0, false },
	{ "calls that never came back change nothing", "/m", NULL,
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR <unfinished ...>\n2 write(3, \"x\", 1) = 1\n"
	  "1 <... openat resumed>) = 3\n1 write(3, \"x\", 1) = 1\n",
	  2, 0, 1, 0, false },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *under = cases[i].regex ? NULL : cases[i].under;
		const char *regex = cases[i].regex ? cases[i].under : NULL;
		struct as_world_options options = { .under = under,
						    .under_regex = regex,
						    .cwd = cases[i].cwd };
		struct as_counts *c = t_read_with(&as_source_strace, &options, cases[i].text);
		uint64_t got[4] = { as_counts_noted(c, AS_NOTE_COUNTED),
				    as_counts_noted(c, AS_NOTE_OUTSIDE),
				    as_counts_noted(c, AS_NOTE_UNATTRIBUTED),
				    as_counts_noted(c, AS_NOTE_NO_FILE) };

		if (as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD))
			fail_msg("%s: not understood: %s", cases[i].name,
				 as_counts_example_at(c, 0));
		if (got[0] != cases[i].counted || got[1] != cases[i].outside ||
		    got[2] != cases[i].unknown || got[3] != cases[i].no_file)
			fail_msg("%s: counted %d outside %d unknown %d without %d", cases[i].name,
				 (int)got[0], (int)got[1], (int)got[2], (int)got[3]);
		as_counts_free(c);
	}
}

/* What kind of thing a descriptor is, and what is known of a name. */
static void test_kinds(void **state)
{
	static const char text[] =
		"1 openat(AT_FDCWD, \"/m/d\", O_RDONLY|O_DIRECTORY) = 3\n"
		"1 openat(AT_FDCWD, \"/m/e\", O_RDONLY) = 4\n"
		"1 openat(AT_FDCWD, \"/m/f\", O_RDWR) = 5\n"
		"1 mkdir(\"/m/g\", 0) = 0\n"
		"1 openat(AT_FDCWD, \"/m/g\", O_RDONLY) = 6\n"
		"1 getdents64(4, 0x7f /* 2 entries */, 32768) = 48\n"
		"1 pipe([7, 8]) = 0\n"
		"1 close(3) = 0\n1 close(4) = 0\n1 close(5) = 0\n1 close(6) = 0\n"
		"1 close(7) = 0\n1 close(7) = -1 EBADF (x)\n"
		"1 close(-1) = -1 EBADF (x)\n1 close(77) = 0\n"
		"1 symlink(\"f\", \"/m/s\") = 0\n1 chmod(\"/m/s\", 0) = 0\n"
		"1 rename(\"/m/s\", \"/m/t\") = 0\n1 chmod(\"/m/s\", 0) = 0\n"
		"1 chmod(\"/m/t\", 0) = 0\n1 unlink(\"/m/t\") = 0\n"
		"1 chmod(\"/m/t\", 0) = 0\n";
	struct as_counts *c = t_read_text(&as_source_strace, NULL, NULL, text);

	(void)state;
	assert_int_equal(t_count(c, "close", "fd", "directory"), 3);
	assert_int_equal(t_count(c, "close", "fd", "regular"), 1);
	assert_int_equal(t_count(c, "close", "fd", "other"), 1);
	assert_int_equal(t_count(c, "close", "fd", "closed"), 1);
	assert_int_equal(t_count(c, "close", "fd", "negative"), 1);
	assert_int_equal(t_count(c, "close", "fd", "unknown"), 1);
	assert_int_equal(t_count(c, "chmod", "path", "symlink"), 2);
	assert_int_equal(t_count(c, "chmod", "path", "absolute"), 4);
	as_counts_free(c);
}

#define RD "O_RDONLY"
#define OPEN(path, flags, fd) "1 openat(AT_FDCWD, \"" path "\", " flags ") = " fd "\n"
#define MKDIR(path) "1 mkdir(\"" path "\", 0) = 0\n"
#define LOOK(path) OPEN(path, RD, "9") "1 fsync(9) = 0\n1 close(9) = 0\n"

/* What a name is changes: each case looks at descriptors by fsync, and at names by chmod. */
static const struct {
	const char *name, *text;
	unsigned directory, regular, symlink;
} changes[] = {
	{ "opened for writing: no directory any more",
	  "1 mkdir(\"/m/a\", 0) = 0\n" LOOK("/m/a") OPEN("/m/a", "O_WRONLY", "3") LOOK("/m/a"), 1,
	  1, 0 },
	{ "made by creat", "1 mkdir(\"/m/a\", 0) = 0\n1 creat(\"/m/a\", 0644) = 3\n" LOOK("/m/a"),
	  0, 1, 0 },
	{ "made by O_CREAT|O_EXCL of an access mode that is none",
	  "1 mkdir(\"/m/a\", 0) = 0\n" OPEN("/m/a", "O_ACCMODE|O_CREAT|O_EXCL, 0", "3")
		  LOOK("/m/a"),
	  0, 1, 0 },
	{ "a write that went well",
	  OPEN("/m/a", "O_RDONLY|O_DIRECTORY", "3") "1 close(3) = 0\n" OPEN(
		  "/m/a", RD, "4") "1 fsync(4) = 0\n1 write(4, \"x\", 1) = 1\n1 fsync(4) = 0\n"
				   "1 close(4) = 0\n" LOOK("/m/a"),
	  1, 2, 0 },
	{ "truncate by name",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 truncate(\"/m/a\", 0) = 0\n" LOOK("/m/a"), 0, 1, 0 },
	{ "rmdir", "1 mkdir(\"/m/a\", 0) = 0\n1 rmdir(\"/m/a\") = 0\n" LOOK("/m/a"), 0, 1, 0 },
	{ "a name that is not there",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 stat(\"/m/a\", 0x7f) = -1 ENOENT (x)\n" LOOK("/m/a"), 0, 1,
	  0 },
	{ "what could not be changed stays",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 rmdir(\"/m/a\") = -1 EBUSY (x)\n"
	  "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = -1 EISDIR (x)\n"
	  "1 mount(\"none\", \"/m/a\", \"tmpfs\", 0, NULL) = -1 EPERM (x)\n" LOOK("/m/a"),
	  1, 0, 0 },
	{ "a rename over it",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 rename(\"/m/f\", \"/m/a\") = 0\n" LOOK("/m/a"), 0, 1, 0 },
	{ "a rename away, and back",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 rename(\"/m/a\", \"/m/b\") = 0\n" LOOK("/m/a")
		  LOOK("/m/b") "1 rename(\"/m/b\", \"/m/a\") = 0\n" LOOK("/m/a") LOOK("/m/b"),
	  2, 2, 0 },
	{ "names below one that is renamed",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 mkdir(\"/m/a/b\", 0) = 0\n1 symlink(\"x\", \"/m/a/s\") = 0\n"
	  "1 rename(\"/m/a\", \"/m/c\") = 0\n" LOOK("/m/c/b") LOOK(
		  "/m/a/b") "1 chmod(\"/m/c/s\", 0) = 0\n1 chmod(\"/m/a/s\", 0) = -1 ENOENT (x)\n",
	  1, 1, 1 },
	{ "two that are exchanged",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 mkdir(\"/m/a/d\", 0) = 0\n1 symlink(\"x\", \"/m/s\") = 0\n"
	  "1 renameat2(AT_FDCWD, \"/m/a\", AT_FDCWD, \"/m/s\", RENAME_EXCHANGE) = 0\n"
	  "1 chmod(\"/m/a\", 0) = 0\n1 chmod(\"/m/s\", 0) = 0\n" LOOK("/m/s/d"),
	  1, 0, 1 },
	{ "a mount hides, and so does its end",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 mkdir(\"/m/a/b\", 0) = 0\n"
	  "1 mount(\"x\", \"/m/a\", \"ext4\", 0, NULL) = 0\n" LOOK("/m/a/b") MKDIR("/m/a/c")
		  LOOK("/m/a/c") "1 umount2(\"/m/a\", 0) = 0\n" LOOK("/m/a/c"),
	  1, 2, 0 },
	{ "what a remount and a propagation do not hide",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 mount(\"x\", \"/m\", \"ext4\", MS_REMOUNT, NULL) = 0\n"
	  "1 mount(NULL, \"/m\", NULL, MS_REC|MS_PRIVATE, NULL) = 0\n" LOOK("/m/a"),
	  1, 0, 0 },
	{ "a mount that is moved",
	  "1 mkdir(\"/m/a/d\", 0) = 0\n1 mount(\"/m/a\", \"/m/b\", NULL, MS_MOVE, NULL) = 0\n" LOOK(
		  "/m/b/d") LOOK("/m/a/d"),
	  1, 1, 0 },
	{ "move_mount",
	  "1 mkdir(\"/m/a/d\", 0) = 0\n1 fsmount(3, 0, 0) = 5\n"
	  "1 move_mount(5, \"\", AT_FDCWD, \"/m/a\", MOVE_MOUNT_F_EMPTY_PATH) = 0\n" LOOK("/m/a/d"),
	  0, 1, 0 },
	{ "a symbolic link that is replaced",
	  "1 symlink(\"x\", \"/m/s\") = 0\n1 chmod(\"/m/s\", 0) = 0\n1 unlink(\"/m/s\") = 0\n"
	  "1 link(\"/m/f\", \"/m/s\") = 0\n1 chmod(\"/m/s\", 0) = 0\n",
	  0, 0, 1 },
	{ "a hard link to a symbolic link",
	  "1 symlink(\"x\", \"/m/s\") = 0\n1 link(\"/m/s\", \"/m/t\") = 0\n"
	  "1 chmod(\"/m/t\", 0) = 0\n",
	  0, 0, 1 },
	{ "readlink says that it is none",
	  "1 symlink(\"x\", \"/m/s\") = 0\n1 readlink(\"/m/s\", 0x7f, 9) = -1 EINVAL (x)\n"
	  "1 chmod(\"/m/s\", 0) = 0\n",
	  0, 0, 0 },
	{ "mknod where a directory was",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 mknod(\"/m/a\", S_IFIFO|0644) = 0\n" LOOK("/m/a"), 0, 1, 0 },
	{ "O_TMPFILE is a file in a directory",
	  OPEN("/m/a", "O_RDWR|O_TMPFILE, 0600", "3") "1 fsync(3) = 0\n" LOOK("/m/a"), 1, 1, 0 },
	{ "what has something below it is a directory",
	  OPEN("/m/a/f", "O_RDWR|O_CREAT, 0600", "3") LOOK("/m/a"), 1, 0, 0 },
	{ "rename with a circle in it, from a trace that lies",
	  "1 mkdir(\"/m/a\", 0) = 0\n1 rename(\"/m/a\", \"/m/a/b/c\") = 0\n"
	  "1 renameat2(AT_FDCWD, \"/m/a\", AT_FDCWD, \"/m/a/b\", RENAME_EXCHANGE) = 0\n" LOOK(
		  "/m/a"),
	  1, 0, 0 },
};

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct as_counts *c = t_read_text(&as_source_strace, NULL, NULL, changes[i].text);
		uint64_t got[3] = { t_count(c, "fsync", "fd", "directory"),
				    t_count(c, "fsync", "fd", "regular"),
				    t_count(c, "chmod", "path", "symlink") };

		if (as_counts_noted(c, AS_NOTE_NOT_UNDERSTOOD))
			fail_msg("%s: not understood: %s", changes[i].name,
				 as_counts_example_at(c, 0));
		if (got[0] != changes[i].directory || got[1] != changes[i].regular ||
		    got[2] != changes[i].symlink)
			fail_msg("%s: directory %d regular %d symlink %d", changes[i].name,
				 (int)got[0], (int)got[1], (int)got[2]);
		as_counts_free(c);
	}
}

/* At the limits, or beyond them. */
static void test_long_paths(void **state)
{
	static const struct {
		unsigned component, times;
		bool is_long;
	} rows[] = { { 254, 1, false },
		     { 255, 1, true },
		     { 300, 1, true },
		     { 200, 20, false },
		     { 204, 20, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_buf text = { 0 };
		struct as_counts *c;

		as_buf_adds(&text, "1 mkdir(\"");
		for (unsigned n = 0; n < rows[i].times; n++) {
			as_buf_addc(&text, '/');
			for (unsigned k = 0; k < rows[i].component; k++)
				as_buf_addc(&text, 'x');
		}
		as_buf_adds(&text, "\", 0) = -1 ENAMETOOLONG (x)\n");
		c = t_read_text(&as_source_strace, NULL, NULL, as_buf_str(&text));
		assert_int_equal(t_count(c, "mkdir", "path", "long"), rows[i].is_long);
		as_counts_free(c);
		as_buf_free(&text);
	}
}

static void test_bad_filter(void **state)
{
	static const struct {
		const char *under, *regex, *want;
	} rows[] = {
		{ NULL, "/mnt/(test", "not a regular expression" },
		{ NULL, "a)|(b", "not a regular expression" },
		{ "mnt/test", NULL, "not an absolute path" },
		{ "", NULL, "not an absolute path" },
		{ "/m", "/m", "exclude each other" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_world_options options = { .under = rows[i].under,
						    .under_regex = rows[i].regex };
		struct as_world *world = NULL;
		struct as_err err = { 0 };

		assert_int_equal(as_world_new(t_spec, &options, &world, &err), AS_EUSE);
		assert_null(world);
		if (!strstr(err.msg, rows[i].want))
			fail_msg("%s", err.msg);
	}
}

/* More processes than are kept: bounded, and said. */
static void test_bounded(void **state)
{
	struct as_buf text = { 0 };
	struct as_counts *c;

	(void)state;
	for (unsigned i = 0; i < 20000; i++)
		as_buf_addf(&text, "%u openat(AT_FDCWD, \"/m/a\", O_RDWR) = %u\n", 100 + i, i % 9);
	as_buf_adds(&text, "1 openat(AT_FDCWD, \"/m/a\", O_RDWR) = 70000\n");
	c = t_read_text(&as_source_strace, "/m", NULL, as_buf_str(&text));
	assert_int_equal(as_counts_noted(c, AS_NOTE_COUNTED), 20001);
	assert_true(as_counts_noted(c, AS_NOTE_FORGOTTEN) > 3000);
	as_counts_free(c);
	as_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	   cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_changes),	   cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_bad_filter), cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, t_spec_setup, t_spec_teardown);
}
