/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories of several threads, by hand. A line is a call: thread, begin, end, operation, answer.
 * Then random ones: what a search over all orders says must be what the checker says.
 */
#include "base/prng.h"
#include "model/state.h"
#include "race/linear.h"
#include "tests/lib/traits.h"
#include "work/parse.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CALLS_MAX 16
#define NAMES_MAX 32

struct history {
	const char *name;
	const char *before; /* done by one thread beforehand; every operation succeeds */
	const char *calls[CALLS_MAX];
	enum as_linear_answer want,
		want_atomic; /* of a kernel; of calls that happen at one moment */
	const char *why; /* part of it, or NULL */
};

#define YES AS_LINEAR_EXPLAINED
#define NO AS_LINEAR_UNEXPLAINED

static const struct history histories[] = {
	{ "nothing", "", { NULL }, YES, YES, NULL },
	{ "one after the other",
	  "",
	  { "0 1-2 mkdir /a 0755 = 0", "1 3-4 mkdir /a 0755 = EEXIST" },
	  YES,
	  YES,
	  NULL },
	{ "one after the other, the wrong way round",
	  "",
	  { "0 1-2 mkdir /a 0755 = EEXIST", "1 3-4 mkdir /a 0755 = 0" },
	  NO,
	  NO,
	  "EEXIST" },
	{ "together, the later one wins",
	  "",
	  { "0 1-4 mkdir /a 0755 = EEXIST", "1 2-3 mkdir /a 0755 = 0" },
	  YES,
	  YES,
	  NULL },
	{ "two winners",
	  "",
	  { "0 1-4 mkdir /a 0755 = 0", "1 2-3 mkdir /a 0755 = 0" },
	  NO,
	  NO,
	  "model says -1 EEXIST" },
	{ "no winner",
	  "",
	  { "0 1-4 mkdir /a 0755 = EEXIST", "1 2-3 mkdir /a 0755 = EEXIST" },
	  NO,
	  NO,
	  NULL },
	{ "the name moves beside a look",
	  "create /a 0644",
	  { "0 1-8 rename /a /b = 0", "1 2-3 stat /a = 0", "1 4-5 stat /b = 0",
	    "1 6-7 stat /a = ENOENT" },
	  YES,
	  YES,
	  NULL },
	{ "a rename of two steps: both names are seen",
	  "create /a 0644",
	  { "0 1-8 rename /a /b = 0", "1 2-3 stat /b = 0", "1 4-5 stat /a = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a rename of two steps: neither name is seen",
	  "create /a 0644",
	  { "0 1-8 rename /a /b = 0", "1 2-3 stat /a = ENOENT", "1 4-5 stat /b = ENOENT" },
	  NO,
	  NO,
	  NULL },
	{ "a copy that is too long",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=0 fill=1\n"
	  "$1 = open /b O_RDWR|O_CREAT 0644\n$2 = open /a O_RDWR\n$3 = open /c O_RDWR|O_CREAT 0644",
	  { "0 1-2 copy_file_range $0 $1 len=200 at=0 to=0 = 150",
	    "1 3-4 pwrite $2 len=120 at=0 fill=2 = 120" },
	  NO,
	  NO,
	  NULL },
	{ "the same beside a write to its source: any mixture may be copied",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=0 fill=1\n"
	  "$1 = open /b O_RDWR|O_CREAT 0644\n$2 = open /a O_RDWR\n$3 = open /c O_RDWR|O_CREAT 0644",
	  { "0 1-4 copy_file_range $0 $1 len=200 at=0 to=0 = 150",
	    "1 2-3 pwrite $2 len=120 at=0 fill=2 = 120" },
	  AS_LINEAR_GAVE_UP,
	  NO,
	  NULL },
	{ "the same beside a write to another file",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=0 fill=1\n"
	  "$1 = open /b O_RDWR|O_CREAT 0644\n$2 = open /a O_RDWR\n$3 = open /c O_RDWR|O_CREAT 0644",
	  { "0 1-4 copy_file_range $0 $1 len=200 at=0 to=0 = 150",
	    "1 2-3 pwrite $3 len=120 at=0 fill=2 = 120" },
	  NO,
	  NO,
	  NULL },
	{ "a load that ends in the middle",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\n"
	  "mmap $0 len=8192 at=0\n$1 = open /a O_RDWR\n$2 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-2 mload $0 len=8192 at=0 = 4096", "1 3-4 ftruncate $1 0 = 0" },
	  NO,
	  NO,
	  NULL },
	{ "the same while the file is cut: the first page was there before",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\n"
	  "mmap $0 len=8192 at=0\n$1 = open /a O_RDWR\n$2 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-4 mload $0 len=8192 at=0 = 4096", "1 2-3 ftruncate $1 0 = 0" },
	  AS_LINEAR_GAVE_UP,
	  NO,
	  NULL },
	{ "the same while another file is cut",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\n"
	  "mmap $0 len=8192 at=0\n$1 = open /a O_RDWR\n$2 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-4 mload $0 len=8192 at=0 = 4096", "1 2-3 ftruncate $2 0 = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a load of what is cut: one of two orders",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\n"
	  "mmap $0 len=8192 at=0\n$1 = open /a O_RDWR\n$2 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-4 mload $0 len=8192 at=0 = ENXIO", "1 2-3 ftruncate $1 0 = 0" },
	  YES,
	  YES,
	  NULL },
	{ "a store that is not loaded",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1\n"
	  "mmap $0 len=8192 at=0\n$1 = open /a O_RDWR\n$2 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-2 mstore $0 len=100 at=0 fill=0 = 100", "1 3-4 pread $1 len=1 at=0 = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a stale answer",
	  "",
	  { "0 1-2 create /a 0644 = 0", "1 3-4 stat /a = ENOENT" },
	  NO,
	  NO,
	  "ENOENT" },
	{ "a walk into a directory that is renamed beneath it",
	  "mkdir /a 0755",
	  { "1 1-8 stat /a/x = 0", "0 2-3 rename /a /b = 0", "0 4-5 create /b/x 0644 = 0" },
	  YES,
	  NO,
	  NULL },
	{ "the same, too late for the walk",
	  "mkdir /a 0755",
	  { "0 1-2 rename /a /b = 0", "1 3-8 stat /a/x = 0", "0 4-5 create /b/x 0644 = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a file made in a directory that is somewhere else by then",
	  "mkdir /a 0755\nmkdir /c 0755",
	  { "1 1-9 create /a/x 0644 = 0", "0 2-3 rename /a /b = 0", "0 4-5 rename /c /a = 0",
	    "0 6-7 stat /b/x = ENOENT", "0 10-11 stat /b/x = 0", "0 12-13 stat /a/x = ENOENT" },
	  YES,
	  NO,
	  NULL },
	{ "a directory made in one that was removed",
	  "mkdir /a 0755",
	  { "1 1-9 mkdir /a/x 0755 = ENOENT", "0 2-3 rmdir /a = 0", "0 4-5 mkdir /a 0755 = 0" },
	  YES,
	  YES,
	  NULL },
	{ "the same, with the new one there from the start",
	  "mkdir /a 0755\nmkdir /c 0755",
	  { "1 1-9 mkdir /a/x 0755 = ENOENT", "0 2-3 rename /c /a = 0" },
	  YES,
	  NO,
	  NULL },
	{ "link(2) of a name that is never missing",
	  "create /a 0644\ncreate /c 0644",
	  { "1 1-9 hardlink /a /b = ENOENT", "0 2-3 rename /c /a = 0" },
	  YES,
	  NO,
	  NULL },
	{ "the same with nothing beside it",
	  "create /a 0644\ncreate /c 0644",
	  { "1 4-9 hardlink /a /b = ENOENT", "0 2-3 rename /c /a = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a link to what the name stood for at first",
	  "create /a 0600\ncreate /c 0644",
	  { "1 1-9 hardlink /a /b = 0", "0 2-3 rename /a /d = 0", "0 4-5 rename /c /a = 0",
	    "0 10-11 stat /d = 0 nlink=2 mode=0600", "0 12-13 stat /a = 0 nlink=1" },
	  YES,
	  YES,
	  NULL },
	{ "a stat without links",
	  "create /a 0644",
	  { "1 1-9 stat /a = 0 nlink=0", "0 2-3 unlink /a = 0" },
	  YES,
	  NO,
	  NULL },
	{ "a count that is there before the name",
	  "create /a 0644",
	  { "0 1-9 hardlink /a /b = 0", "1 2-3 stat /a = 0 nlink=2", "1 4-5 stat /b = ENOENT" },
	  YES,
	  NO,
	  NULL },
	{ "a name that outlives the count",
	  "$1 = open /a O_RDWR|O_CREAT 0644",
	  { "0 1-9 unlink /a = 0", "1 2-3 fstat $1 = 0 nlink=0", "1 4-5 stat /a = 0" },
	  YES,
	  NO,
	  NULL },
	{ "a stat without links, afterwards",
	  "create /a 0644",
	  { "0 1-2 create /b 0644 = 0", "1 3-9 stat /a = 0 nlink=0", "0 10-11 unlink /a = 0" },
	  NO,
	  NO,
	  "link count 0" },
	{ "a stat of two moments",
	  "create /a 0644",
	  { "1 1-9 stat /a = 0 size=7 mode=0644", "0 2-3 chmod /a 0600 = 0",
	    "0 4-5 truncate /a 7 = 0" },
	  YES,
	  NO,
	  NULL },
	{ "a stat of no moment",
	  "create /a 0644",
	  { "1 1-9 stat /a = 0 mode=0640", "0 2-3 chmod /a 0600 = 0", "0 4-5 hardlink /a /b = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a lost append",
	  "$0 = open /a O_RDWR|O_CREAT|O_APPEND 0644\n$1 = open /a O_RDWR|O_APPEND",
	  { "0 1-4 write $0 len=10 = 10", "1 2-3 write $1 len=10 = 10",
	    "0 5-6 fstat $0 = 0 size=10" },
	  NO,
	  NO,
	  "size 10" },
	{ "no append is lost",
	  "$0 = open /a O_RDWR|O_CREAT|O_APPEND 0644\n$1 = open /a O_RDWR|O_APPEND",
	  { "0 1-4 write $0 len=10 = 10", "1 2-3 write $1 len=10 = 10",
	    "0 5-6 fstat $0 = 0 size=20" },
	  YES,
	  YES,
	  NULL },
	{ "half a write is read",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR",
	  { "0 1-4 write $0 len=8192 fill=1 = 8192", "1 2-3 read $1 len=8192 = 4096" },
	  YES,
	  NO,
	  NULL },
	{ "half a write is read after it",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR",
	  { "0 1-2 write $0 len=8192 fill=1 = 8192", "1 3-4 read $1 len=8192 = 4096" },
	  NO,
	  NO,
	  "4096, model says 8192" },
	{ "an open that truncates late",
	  "$0 = open /a O_RDWR|O_CREAT 0644",
	  { "1 1-9 $1 = open /a O_RDWR|O_TRUNC = 0", "0 2-3 rename /a /b = 0",
	    "0 4-5 write $0 len=10 = 10", "0 10-11 fstat $0 = 0 size=0" },
	  YES,
	  NO,
	  NULL },
	{ "through a link that is put in another's place",
	  "mkdir /d 0755\ncreate /d/x 0600\nsymlink /d /a\nsymlink /e /b",
	  { "1 1-9 stat /a/x = 0", "0 2-3 rename /b /a = 0", "0 4-5 unlink /d/x = 0" },
	  YES,
	  YES,
	  NULL },
	{ "through a link to what was made later",
	  "mkdir /d 0755\nsymlink /d /a\nsymlink /e /b",
	  { "1 1-9 stat /a/x = 0", "0 2-3 rename /b /a = 0", "0 4-5 create /d/x 0600 = 0" },
	  YES,
	  NO,
	  NULL },
	{ "names come and go beside a list",
	  "create /a 0644\ncreate /b 0644",
	  { "1 1-9 readdir / = 0", "0 2-3 unlink /a = 0" },
	  YES,
	  NO,
	  NULL },
	/* Only what was changed at the same time is left open. */
	{ "half a write is read, and another file is written",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /b O_RDWR|O_CREAT 0644\n"
	  "pwrite $1 len=8192 at=0 fill=1",
	  { "0 1-4 write $0 len=8192 fill=1 = 8192", "1 2-3 pread $1 len=8192 at=0 = 4096" },
	  NO,
	  NO,
	  "4096, model says 8192" },
	{ "half of what was not written is read",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR\npwrite $1 len=8192 at=0 fill=1",
	  { "0 1-4 pwrite $0 len=10 at=5000 fill=2 = 10", "1 2-3 pread $1 len=8192 at=0 = 4096" },
	  NO,
	  NO,
	  "4096, model says 8192" },
	{ "it is cut off where it is written",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR\npwrite $1 len=8192 at=0 fill=1",
	  { "0 1-4 ftruncate $0 5000 = 0", "0 5-8 ftruncate $0 8192 = 0",
	    "1 2-7 pread $1 len=8192 at=0 = 6000" },
	  YES,
	  NO,
	  NULL },
	{ "it is cut off before what is written",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR\npwrite $1 len=8192 at=0 fill=1",
	  { "0 1-4 ftruncate $0 5000 = 0", "0 5-8 ftruncate $0 8192 = 0",
	    "1 2-7 pread $1 len=8192 at=0 = 4000" },
	  NO,
	  NO,
	  NULL },
	{ "half a size",
	  "$0 = open /a O_RDWR|O_CREAT 0644",
	  { "0 1-4 pwrite $0 len=8192 at=0 fill=1 = 8192", "1 2-3 stat /a = 0 size=4096" },
	  YES,
	  NO,
	  NULL },
	{ "half a size, and another file is written",
	  "$0 = open /a O_RDWR|O_CREAT 0644\ncreate /b 0644\ntruncate /b 8192",
	  { "0 1-4 pwrite $0 len=8192 at=0 fill=1 = 8192", "1 2-3 stat /b = 0 size=4096" },
	  NO,
	  NO,
	  "size 4096" },
	{ "half a size, of which nothing is changed",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=8192 at=0 fill=1",
	  { "0 1-4 pwrite $0 len=8192 at=0 fill=2 = 8192", "1 2-3 stat /a = 0 size=4096" },
	  NO,
	  NO,
	  "size 4096" },
	{ "the end of a file that grows",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR",
	  { "0 1-4 pwrite $0 len=8192 at=0 fill=1 = 8192", "1 2-3 lseek $1 0 SEEK_END = 4096" },
	  YES,
	  NO,
	  NULL },
	{ "the end of a file, and another one grows",
	  "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /b O_RDWR|O_CREAT 0644",
	  { "0 1-4 pwrite $0 len=8192 at=0 fill=1 = 8192", "1 2-3 lseek $1 0 SEEK_END = 4096" },
	  NO,
	  NO,
	  NULL },
	{ "a wrong count, and another file gets a link",
	  "create /a 0644\ncreate /b 0644",
	  { "0 1-9 hardlink /a /c = 0", "1 2-3 stat /b = 0 nlink=2" },
	  NO,
	  NO,
	  "link count 2" },
	{ "a count that is there before a name that is never made there",
	  "create /a 0644\ncreate /b 0644\ncreate /d 0644",
	  { "1 1-2 rename /a /c = 0", "0 3-9 rename /b /a = 0", "1 4-5 stat /d = 0 nlink=2" },
	  NO,
	  NO,
	  "link count 2" },
	{ "a name that comes is in the list, one that goes is not",
	  "create /a 0644\ncreate /b 0644",
	  { "1 1-9 readdir / = 2 names=b,c", "0 2-3 create /c 0644 = 0", "0 4-5 unlink /a = 0" },
	  YES,
	  YES,
	  NULL },
	{ "both names of a rename are in the list",
	  "create /a 0644\ncreate /b 0644",
	  { "1 1-9 readdir / = 3 names=a,b,c", "0 2-3 rename /a /c = 0" },
	  YES,
	  NO,
	  NULL },
	{ "the same before the rename counts as done",
	  "create /a 0644\ncreate /b 0644",
	  { "0 1-9 rename /a /c = 0", "1 2-3 readdir / = 3 names=a,b,c", "1 4-5 stat /a = 0" },
	  YES,
	  NO,
	  NULL },
	{ "another name is missing from the list",
	  "create /a 0644\ncreate /b 0644",
	  { "1 1-9 readdir / = 1 names=a", "0 2-3 rename /a /c = 0" },
	  NO,
	  NO,
	  NULL },
	{ "another name is in the list twice",
	  "create /a 0644\ncreate /b 0644",
	  { "1 1-9 readdir / = 3 names=a,b,b", "0 2-3 rename /a /c = 0" },
	  NO,
	  NO,
	  NULL },
	{ "a name is missing, and names change in another directory",
	  "mkdir /d 0755\ncreate /d/a 0644\ncreate /d/b 0644\nmkdir /e 0755",
	  { "1 1-9 readdir /d = 1 names=b", "0 2-3 create /e/a 0644 = 0" },
	  NO,
	  NO,
	  "missing" },
	{ "the same, and the directories are exchanged beneath the list",
	  "mkdir /d 0755\ncreate /d/a 0644\ncreate /d/b 0644\nmkdir /e 0755",
	  { "1 1-12 readdir /d = 1 names=b", "0 2-3 create /e/b 0644 = 0",
	    "0 4-5 rename2 /d /e RENAME_EXCHANGE = 0" },
	  YES,
	  YES,
	  NULL },
	{ "a call that ran out of space",
	  "create /a 0644\ncreate /b 0644",
	  { "0 1-9 hardlink /a /c = ENOSPC", "1 2-3 stat /a = 0 nlink=2" },
	  YES,
	  NO,
	  NULL },
	{ "three threads, one order",
	  "",
	  { "0 1-20 rename /a /b = 0", "1 2-19 create /a 0644 = 0", "2 3-18 rename /b /c = 0",
	    "0 21-22 stat /c = 0" },
	  YES,
	  YES,
	  NULL },
	{ "three threads, a circle",
	  "create /x 0644",
	  { "0 1-20 rename /a /b = 0", "1 2-19 rename /b /c = 0", "2 3-18 rename /c /a = 0" },
	  NO,
	  NO,
	  NULL },
};

/* ---- Reading them ---- */

struct made {
	struct as_seq *seq[CALLS_MAX];
	struct as_linear_call calls[CALLS_MAX];
	size_t n;
};

static char names[NAMES_MAX + 1][64]; /* what lists answered */
static size_t n_names;

static void make_answer(const char *text, struct as_linear_call *call)
{
	char word[64];
	int at = 0;

	assert_int_equal(sscanf(text, "%63s%n", word, &at), 1);
	if (word[0] >= '0' && word[0] <= '9') {
		call->got.ret = atoll(word);
	} else {
		call->got.ret = -1;
		for (int err = 1; err < 192; err++)
			if (!strcmp(as_errno_name(err), word))
				call->got.err = err;
		assert_int_not_equal(call->got.err, 0);
	}
	if (strstr(text, "names=")) {
		char *out = names[n_names++];
		const char *from = strstr(text, "names=") + 6;

		assert_true(n_names <= NAMES_MAX);
		call->got.payload = AS_PAYLOAD_NAMES;
		call->got.data = out;
		for (; *from; from += strcspn(from, ","), from += *from == ',')
			out += snprintf(out, (size_t)(names[n_names] - out), "-%.*s",
					(int)strcspn(from, ","), from) +
			       1;
		call->got.len = (size_t)(out - (const char *)call->got.data);
	}
	/* A stat says all or nothing; what is not said is as it is at first. */
	if (strstr(text, "nlink=") || strstr(text, "size=") || strstr(text, "mode=")) {
		call->got.payload = AS_PAYLOAD_STAT;
		call->got.st = (struct as_stat){ .mode = S_IFREG | 0644, .nlink = 1 };
		if (strstr(text, "nlink="))
			call->got.st.nlink = (uint32_t)atoi(strstr(text, "nlink=") + 6);
		if (strstr(text, "size="))
			call->got.st.size = (uint64_t)atoi(strstr(text, "size=") + 5);
		if (strstr(text, "mode="))
			call->got.st.mode =
				S_IFREG | (uint32_t)strtoul(strstr(text, "mode=") + 5, NULL, 8);
	}
}

static void make_call(struct made *made, const char *line)
{
	struct as_linear_call *call = &made->calls[made->n];
	const char *equals = strstr(line, " = "), *from = line;
	unsigned thread;
	unsigned long begin, end;
	struct as_err err;
	int at = 0;

	assert_int_equal(sscanf(line, "%u %lu-%lu %n", &thread, &begin, &end, &at), 3);
	from = line + at;
	/* "$1 = open ... = 0": the answer follows the last " = ". */
	for (const char *next; (next = strstr(equals + 1, " = "));)
		equals = next;
	assert_int_equal(
		as_parse_text("call", from, (size_t)(equals - from), &made->seq[made->n], &err), 0);
	*call = (struct as_linear_call){
		.op = &made->seq[made->n]->ops[0], .begin = begin, .end = end, .thread = thread
	};
	make_answer(equals + 3, call);
	made->n++;
}

static struct as_model *make_before_on(const struct as_traits *traits, const char *text)
{
	struct as_model *model = as_model_new(traits);
	struct as_seq *seq;
	struct as_err err;

	assert_int_equal(as_parse_text("before", text, strlen(text), &seq, &err), 0);
	for (size_t i = 0; i < seq->n; i++)
		assert_int_equal(as_model_apply(model, &seq->ops[i]), 0);
	as_seq_free(seq);
	return model;
}

static struct as_model *make_before(const char *text)
{
	static const struct as_traits traits = { .name = "any", AS_TRAITS_ANY, .may_fill = true };

	return make_before_on(&traits, text);
}

static const char *answer_name(enum as_linear_answer answer)
{
	static const char *const names[] = { "explained", "unexplained", "wrong end", "gave up" };

	return names[answer];
}

static void check(const struct history *h, const struct made *made, bool atomic)
{
	struct as_model *first = make_before(h->before);
	struct as_linear how = {
		.first = first, .calls = made->calls, .n = made->n, .atomic = atomic
	};
	enum as_linear_answer want = atomic ? h->want_atomic : h->want;
	struct as_linear_result result;

	as_linear_judge(&how, &result);
	if (result.answer != want)
		fail_msg("%s%s: %s, should be %s: %s", h->name, atomic ? " (atomic)" : "",
			 answer_name(result.answer), answer_name(want), as_buf_str(&result.why));
	if (want == AS_LINEAR_UNEXPLAINED) {
		assert_true(result.guilty < made->n);
		assert_null(result.last);
		if (h->why && !strstr(as_buf_str(&result.why), h->why))
			fail_msg("%s: \"%s\" is not in \"%s\"", h->name, h->why,
				 as_buf_str(&result.why));
	} else if (want != AS_LINEAR_GAVE_UP) {
		assert_non_null(result.last);
		assert_null(as_model_check(result.last));
		assert_int_equal(result.n_order, made->n);
	}
	as_linear_result_free(&result);
	as_model_free(first);
}

static void by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
		struct made made = { .n = 0 };

		for (size_t k = 0; k < CALLS_MAX && histories[i].calls[k]; k++)
			make_call(&made, histories[i].calls[k]);
		check(&histories[i], &made, false);
		check(&histories[i], &made, true);
		for (size_t k = 0; k < made.n; k++)
			as_seq_free(made.seq[k]);
	}
}

/* ---- What is left open ---- */

#define HALF_READ "1 2-3 pread $1 len=8192 at=0 = 4096"

static void judge_on(const struct as_traits *traits, const char *before, const char *const *calls,
		     struct as_linear_result *result)
{
	struct as_model *first = make_before_on(traits, before);
	struct made made = { .n = 0 };
	struct as_linear how = { .first = first, .calls = made.calls };

	for (size_t k = 0; calls[k]; k++)
		make_call(&made, calls[k]);
	how.n = made.n;
	as_linear_judge(&how, result);
	for (size_t k = 0; k < made.n; k++)
		as_seq_free(made.seq[k]);
	as_model_free(first);
}

/* A file system that reads under the lock of writes never shows half a write. */
static void some_read_whole(void **state)
{
	static const struct as_traits traits[] = {
		{ .name = "any", AS_TRAITS_ANY },
		{ .name = "whole", AS_TRAITS_ANY, .quirks = AS_QUIRK_READS_WHOLE },
	};
	static const char *const calls[] = { "0 1-4 pwrite $0 len=8192 at=0 fill=1 = 8192",
					     HALF_READ, NULL };
	const char *before = "$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR";
	struct as_linear_result result;

	(void)state;
	judge_on(&traits[0], before, calls, &result);
	assert_int_equal(result.answer, AS_LINEAR_EXPLAINED);
	as_linear_result_free(&result);
	judge_on(&traits[1], before, calls, &result);
	assert_int_equal(result.answer, AS_LINEAR_UNEXPLAINED);
	assert_int_equal(result.guilty, 1);
	as_linear_result_free(&result);
}

static void open_answers_are_counted(void **state)
{
	static const char *const calls[] = {
		"0 1-20 pwrite $0 len=8192 at=0 fill=1 = 8192", /* changes /a */
		"1 2-3 pread $1 len=8192 at=0 = 4096",
		"1 4-5 pread $1 len=10 at=9000 = 0",
		"2 6-7 stat /b = 0 nlink=1",
		"2 8-9 stat /a = 0 size=4096",
		"1 10-11 lseek $1 0 SEEK_END = 8192",
		"1 12-13 lseek $1 5 SEEK_SET = 5",
		"2 14-15 readdir / = 2 names=a,b",
		"2 16-17 readdir / = ENOENT",
		NULL,
	};
	static const uint64_t want[AS_RACED_COUNTS] = {
		[AS_RACED_CALLS] = 8,	   [AS_RACED_READS] = 2,      [AS_RACED_READS_OPEN] = 2,
		[AS_RACED_SEEKS] = 1,	   [AS_RACED_SEEKS_OPEN] = 1, [AS_RACED_STATS] = 2,
		[AS_RACED_STATS_OPEN] = 1, [AS_RACED_LISTS] = 1,
	};
	const char *before =
		"$0 = open /a O_RDWR|O_CREAT 0644\n$1 = open /a O_RDWR\ncreate /b 0644";
	const char *list[CALLS_MAX] = { NULL };
	struct as_linear_result result;

	(void)state;
	memcpy(list, calls, 8 * sizeof(*calls));
	judge_on(&t_any_traits, before, list, &result);
	assert_int_equal(result.answer, AS_LINEAR_EXPLAINED);
	assert_memory_equal(result.raced.n, want, sizeof(want));
	assert_int_equal(as_raced_full(&result.raced), 4);
	as_linear_result_free(&result);
	/* A list that nothing explains is no answer that is counted. */
	memcpy(list, calls, 9 * sizeof(*calls));
	judge_on(&t_any_traits, before, list, &result);
	assert_int_equal(result.answer, AS_LINEAR_UNEXPLAINED);
	assert_int_equal(result.raced.n[AS_RACED_READS_OPEN], 0);
	as_linear_result_free(&result);
}

/* ---- The end, and the bound ---- */

static bool has_b(void *ctx, const struct as_model *last, struct as_buf *why)
{
	struct as_stat st;

	++*(unsigned *)ctx;
	as_buf_adds(why, "/b is not there");
	return as_model_stat(last, "/b", true, &st);
}

static void the_end_counts(void **state)
{
	static const char *const calls[] = { "0 1-4 rename /x /a = 0", "1 2-3 rename /y /a = 0" };
	static const char *const more[] = { "0 1-4 rename /x /a = 0",
					    "1 2-3 rename2 /a /b RENAME_NOREPLACE = 0" };
	struct as_model *first = make_before("create /x 0600\ncreate /y 0644\ncreate /a 0644");
	unsigned asked = 0;
	struct made made = { .n = 0 };
	struct as_linear how = { .first = first, .ends = has_b, .ctx = &asked };
	struct as_linear_result result;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		make_call(&made, calls[i]);
	how.calls = made.calls;
	how.n = made.n;
	as_linear_judge(&how, &result);
	assert_int_equal(result.answer, AS_LINEAR_WRONG_END);
	assert_string_equal(as_buf_str(&result.why), "/b is not there");
	/* Both orders end differently, so both were asked about, once in each pass. */
	assert_int_equal(asked, 4);
	as_linear_result_free(&result);
	made.n = 0;
	for (size_t i = 0; i < 2; i++) {
		as_seq_free(made.seq[i]);
		make_call(&made, more[i]);
	}
	as_linear_judge(&how, &result);
	assert_int_equal(result.answer, AS_LINEAR_EXPLAINED);
	as_linear_result_free(&result);
	for (size_t i = 0; i < 2; i++)
		as_seq_free(made.seq[i]);
	as_model_free(first);
}

static void gives_up(void **state)
{
	struct as_model *first = make_before("create /a 0644");
	struct made made = { .n = 0 };
	struct as_linear how = { .first = first, .max_states = 100 };
	struct as_linear_result result;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		char line[96];

		/* All at once, all different, and the last one lies. */
		snprintf(line, sizeof(line), "%u %u-%u create /f%u 0644 = %s", i, i + 1, 100 + i, i,
			 i == 11 ? "EEXIST" : "0");
		make_call(&made, line);
	}
	how.calls = made.calls;
	how.n = made.n;
	as_linear_judge(&how, &result);
	assert_int_equal(result.answer, AS_LINEAR_GAVE_UP);
	assert_true(result.states <= 100);
	as_linear_result_free(&result);
	/* With room it is found out: 2^11 sets of calls that are done. */
	how.max_states = 0;
	as_linear_judge(&how, &result);
	assert_int_equal(result.answer, AS_LINEAR_UNEXPLAINED);
	assert_int_equal(result.guilty, 11);
	as_linear_result_free(&result);
	for (size_t i = 0; i < made.n; i++)
		as_seq_free(made.seq[i]);
	as_model_free(first);
}

/* ---- Against all orders ---- */

#define RANDOM_CALLS 6

/* Every order that keeps that of calls which did not overlap. */
static bool some_order(const struct as_linear_call *calls, size_t n, const struct as_model *m,
		       unsigned left)
{
	struct as_verdict verdict = { 0 };
	bool found = !left;

	for (size_t i = 0; i < n && !found; i++) {
		bool first = left >> i & 1;
		struct as_model *next;

		for (size_t k = 0; k < n && first; k++)
			if (left >> k & 1 && calls[k].end < calls[i].begin)
				first = false;
		if (!first)
			continue;
		next = as_model_copy(m);
		found = as_model_judge(next, calls[i].op, &calls[i].got, &verdict) &&
			some_order(calls, n, next, left & ~(1u << i));
		as_model_free(next);
	}
	as_verdict_free(&verdict);
	return found;
}

static void random_op(struct as_prng *prng, struct as_op *op)
{
	static const enum as_opcode codes[] = { AS_OP_MKDIR,  AS_OP_CREATE, AS_OP_RENAME,
						AS_OP_UNLINK, AS_OP_RMDIR,  AS_OP_HARDLINK,
						AS_OP_STAT };
	static const char *const paths[] = { "/a", "/b", "/a/b", "/b/a" };

	*op = as_op_make(codes[as_prng_below(prng, sizeof(codes) / sizeof(codes[0]))]);
	op->path = paths[as_prng_below(prng, 4)];
	op->path2 = paths[as_prng_below(prng, 4)];
	op->mode = 0755;
}

/* Calls of three threads, overlapping at random, carried out in a random order that respects
 * that; with `lie`, one answer is changed. */
static void random_history(struct as_prng *prng, const struct as_model *first, bool lie,
			   struct as_op *ops, struct as_linear_call *calls)
{
	static const int errs[] = { 0, ENOENT, EEXIST, ENOTDIR };
	struct as_model *m = as_model_copy(first);
	uint64_t now = 1;
	size_t running[3] = { SIZE_MAX, SIZE_MAX, SIZE_MAX }, begun = 0;
	bool acted[RANDOM_CALLS] = { false };
	size_t ended = 0;

	while (ended < RANDOM_CALLS) {
		unsigned t = (unsigned)as_prng_below(prng, 3);
		size_t i = running[t];

		if (i == SIZE_MAX) {
			if (begun == RANDOM_CALLS)
				continue;
			i = running[t] = begun++;
			random_op(prng, &ops[i]);
			calls[i] = (struct as_linear_call){ .op = &ops[i],
							    .thread = t,
							    .begin = now++ };
		} else if (!acted[i]) {
			int err = as_model_apply(m, &ops[i]);

			calls[i].got.ret = err ? -1 : 0;
			calls[i].got.err = err;
			acted[i] = true;
		} else {
			calls[i].end = now++;
			running[t] = SIZE_MAX;
			ended++;
		}
	}
	if (lie) {
		size_t i = as_prng_below(prng, RANDOM_CALLS);
		int err = errs[as_prng_below(prng, 4)];

		calls[i].got.ret = err ? -1 : 0;
		calls[i].got.err = err;
	}
	as_model_free(m);
}

static void as_all_orders_say(void **state)
{
	struct as_prng prng = as_prng_seed(20);
	struct as_model *first = make_before("mkdir /a 0755\ncreate /a/b 0644");
	unsigned lies = 0, seen = 0, apart = 0;

	(void)state;
	for (unsigned i = 0; i < 4000; i++) {
		struct as_op ops[RANDOM_CALLS];
		struct as_linear_call calls[RANDOM_CALLS];
		struct as_linear how = {
			.first = first, .calls = calls, .n = RANDOM_CALLS, .atomic = true
		};
		struct as_linear_result result;
		bool can;

		random_history(&prng, first, i % 2, ops, calls);
		can = some_order(calls, RANDOM_CALLS, first, (1u << RANDOM_CALLS) - 1);
		as_linear_judge(&how, &result);
		assert_int_equal(result.answer, can ? YES : NO);
		assert_true(i % 2 || can);
		as_linear_result_free(&result);
		lies += i % 2;
		seen += !can;
		/* Taking apart only ever adds explanations. */
		how.atomic = false;
		as_linear_judge(&how, &result);
		assert_true(!can || result.answer == YES);
		apart += !can && result.answer == YES;
		if (result.last)
			assert_null(as_model_check(result.last));
		as_linear_result_free(&result);
	}
	/* A changed answer is often one that another order gives, or the same one. */
	assert_true(seen > lies / 4);
	assert_true(apart < seen / 2);
	as_model_free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(some_read_whole),
		cmocka_unit_test(open_answers_are_counted),
		cmocka_unit_test(the_end_counts),
		cmocka_unit_test(gives_up),
		cmocka_unit_test(as_all_orders_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
