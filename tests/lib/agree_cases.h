/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agree_cases: what fails, on what, during which workloads; for tests/trial/test_agree.c. */
#ifndef AS_TESTS_LIB_AGREE_CASES_H
#define AS_TESTS_LIB_AGREE_CASES_H

#include <stdbool.h>
#include <stddef.h>

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* ---- What fails ------------------------------------------------------------------------------ */

struct fault {
	const char *kind, *then; /* of a rule, around its number */
	/* N grows by 1 and by N / slower. The errno decides what becomes of an operation, and not
	 * which calls it makes: so all are met by one of them, and others are spread. */
	unsigned slower;
	bool patient; /* a rule may hit nothing, and one with a larger N may hit */
};

static const struct fault faults[] = {
	{ "read", ":eio", 3, false },	  { "read", ":enospc", 2, false },
	{ "read", ":eilseq", 2, false },  { "read", ":flip=3", 2, false },
	{ "write", ":eio", 6, false },	  { "write", ":enospc", 3, false },
	{ "write", ":eilseq", 3, false }, { "write", ":flip=3", 2, false },
	{ "write", ":drop", 2, false },	  { "write", ":tear=1", 2, true },
	{ "flush", ":eio", 6, false },	  { "flush", ":enospc", 3, false },
	{ "flush", ":eilseq", 2, false }, { "flush", ":drop", 2, false },
	{ "alloc", "", 3, false },	  { "erase", ":eio", 3, false },
	{ "erase", ":enospc", 2, false }, { "erase", ":eilseq", 2, false },
	{ "erase", ":drop", 2, false },
};

static const char *const mixed[] = {
	"read:9:eio write:3:enospc",
	"write:2:eio write:4:eilseq flush:3:eio",
	"write:3..5:eilseq flush:2+:enospc",
	"alloc:40 write:7+:eio",
	"alloc:30 alloc:60 alloc:61 read:12:eilseq",
	"flush:4:eio read:8+:eio",
	"write:30:enospc write:60+:eio",
	"write:90:eilseq flush:9:enospc",
	"read:1:eio",
	"read:1+:eilseq",
	"read:2:enospc write:1:eio",
	"alloc:1",
	"alloc:3 read:3:eio",
	"read:10:enospc read:55:enospc",
};

/* A fault stays ("3+"). An allocation has no such rule: so many in a row fail. */
#define STAYS_ALLOCS 4u

/* ---- Workloads ------------------------------------------------------------------------------- */

struct workload {
	const char *name, *text;
};

/* Each ends mounted, with an operation that changes nothing: so it is seen what the one before it
 * came to. */
static const struct workload workloads[] = {
	{ "overwrite",
	  "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 at=0 len=20000 fill=1\nfsync $0\n"
	  "pwrite $0 at=0 len=20000 fill=2\nclose $0\nstat /f\n" },
	{ "names", "mkdir /a 0755\ncreate /a/f 0644\nsync\nrename /a/f /a/g\nhardlink /a/g /h\n"
		   "unlink /a/g\nsymlink x /s\nreaddir /\nrmdir /a\nsync\nstat /h\n" },
	{ "sizes", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=9000 fill=1\nftruncate $0 100\n"
		   "fsync $0\n$1 = open /f O_WRONLY|O_APPEND\nwrite $1 len=3000 fill=2\nclose $1\n"
		   "truncate /f 5000\nfallocate $0 0 at=0 len=8192\npread $0 len=6000 at=0\n"
		   "unlink /f\nclose $0\nsync\nstatfs /\n" },
	{ "mounted again",
	  "create /f 0644\n$0 = open /f O_RDWR\nwrite $0 len=5000 fill=3\nclose $0\numount\n"
	  "mount\n$0 = open /f O_RDWR\npread $0 len=5000 at=0\npwrite $0 len=100 at=50 fill=4\n"
	  "fdatasync $0\nclose $0\nremount opts=\"\"\nstat /f\n" },
	{ "many calls",
	  "mkdir /a 0755\ndeepen /a 3\nenlarge /a 4\nprune /a\ncreate /f 0644\nenlarge /f 3000\n"
	  "sync\nremove /a\nstat /f\n" },
	{ "maps", "$0 = open /f O_RDWR|O_CREAT|O_SYNC 0644\nwrite $0 len=5000 fill=1\n"
		  "mmap $0 len=4096 at=0\nmstore $0 len=500 at=100 fill=5\nmsync $0\n"
		  "mload $0 len=4096 at=0\nmunmap $0\nwrite_xattr /f user.k len=20 fill=1\n"
		  "read_xattr /f user.k\nclose $0\nstat /f\n" },
	/* What is written and then made stable in one operation, and looked at. */
	{ "written and synced", "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5000 fill=1\n"
				"mmap_write $0 len=100 at=300 fill=6\nstat /f\n"
				"pwritev2 $0 len=300 at=50 fill=7 flags=RWF_SYNC\nstat /f\n" },
	/* A power cut in the middle, with a journal to be replayed. */
	{ "cut", "mkdir /a 0755\nsync\ncreate /a/f 0644\ncrash\nstat /a\nmkdir /b 0755\nstat /\n" },
};

/* It fills the disk, and goes on: what is open for writing, then what names it, then what takes its
 * bytes elsewhere. */
#define FILL(n) "$2 = open /n" #n " O_RDWR|O_CREAT 0644\nwrite $2 len=60000 fill=" #n "\nclose $2\n"
#define FILLED                                                                             \
	FILL(1)                                                                            \
	FILL(2)                                                                            \
	FILL(3) FILL(4) FILL(5) FILL(6) FILL(7) FILL(8) FILL(9) FILL(10) FILL(11) FILL(12) \
		FILL(13) FILL(14) FILL(15) FILL(16) FILL(17) FILL(18) FILL(19)

static const struct workload full = {
	"full",
	"$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 at=0 len=9000 fill=1\n"
	"$1 = open /b O_RDWR|O_CREAT 0644\npwrite $1 at=0 len=9000 fill=2\n" FILLED
	"pwrite $0 at=9000 len=60000 fill=3\npread $0 len=100 at=0\nfstat $0\nstat /a\n"
	"mkdir /d 0755\ntruncate /a 5\nstat /a\nfsync $0\n"
	"copy_file_range $0 $1 len=100 at=0 to=50\npread $1 len=100 at=50\nclose $0\nstat /\n"
};

/* What is written when it is closed finds no room only when all is over. */
#define HOLD(n) \
	"$" #n " = open /v" #n " O_RDWR|O_CREAT 0644\npwrite $" #n " at=0 len=60000 fill=" #n "\n"

static const struct workload left_open = {
	"left open",
	HOLD(1) HOLD(2) HOLD(3) HOLD(4) HOLD(5) HOLD(6) HOLD(7) HOLD(8) HOLD(9) HOLD(10) HOLD(11)
		HOLD(12) HOLD(13) HOLD(14) HOLD(15) HOLD(16) HOLD(17) HOLD(18) HOLD(19) HOLD(20)
};

/* Of a kernel, where a plan takes a second, instead. */
static const struct workload kernel_workloads[] = {
	{ "a kernel's",
	  "mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\npwrite $0 at=0 len=20000 fill=1\n"
	  "fsync $0\nrename /a/f /g\npwrite $0 at=0 len=20000 fill=2\nsync\nclose $0\n"
	  "umount\nmount\nstat /g\n" },
};

/* ---- Targets --------------------------------------------------------------------------------- */

enum subject_is {
	IS_FLASH = 1,
	IS_KERNEL = 2,
	WRITES_SECTORS = 4,
	IS_DENSE =
		8, /* more calls fail; with workloads that are drawn, and several faults at once */
	IS_FEW = 16, /* of the faults, only some */
	IS_BOXED = 64, /* in a guest of User-Mode Linux */
	NOT_MANY = 32, /* without the workload of operations of many calls */
};

struct subject {
	const char *name;
	const char *plugin; /* below the folder of plugins; NULL: it is none of these */
	const char *spec; /* what follows that; NULL, too: odd_plugin.c under that name */
	unsigned is; /* enum subject_is */
};

/* Cells that are empty. */
static const struct empty {
	unsigned is; /* all of these; 0: of no flash */
	const char *kind, *then; /* "": any */
	int stays; /* -1: both */
	const char *why;
} empty[] = {
	{ 0, "erase", "", -1, "its disk is no raw flash, so nothing is erased" },
	{ IS_FLASH, "flush", "", -1, "raw flash has no cache that could be flushed" },
	{ WRITES_SECTORS, "write", ":tear=1", -1, "a write of one sector cannot be torn" },
	{ IS_KERNEL, "alloc", "", -1, "memory of the kernel is no host's: nothing is counted" },
};

#endif
