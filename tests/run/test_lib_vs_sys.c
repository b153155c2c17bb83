/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two executors against each other: the same operations through the library executor on labfs
 * and through system calls on a tmpfs directory give the same answers. What Linux's path walk does
 * is the reference for ours; the table names the corners, the random part looks for others.
 */
#include "../skip.h"

#include "base/choice.h"
#include "base/spawn.h"
#include "labfs/format.h"
#include "labfs/labfs.h"
#include "run/lib_new.h"
#include "run/sys_new.h"
#include "target/stand.h"
#include "work/parse.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPS_MAX 512
#define DISK_BYTES ((uint64_t)4 << 20)
#define SEQUENCES 3000
#define SEQUENCE_OPS 60

/* What of an outcome is compared. */
struct answer {
	int64_t ret;
	int err;
	uint64_t done, payload; /* hash */
};

struct child {
	const struct as_seq *seq;
	const char *folder; /* NULL: the library */
	struct answer *answers;
	size_t *n;
	struct as_err *err;
};

static uint64_t payload_hash(const struct as_outcome *o)
{
	const struct as_stat *st = &o->st;
	uint64_t parts[6] = { st->mode, st->nlink, st->uid, st->gid, st->rdev, 0 };

	switch (o->payload) {
	case AS_PAYLOAD_BYTES:
	case AS_PAYLOAD_NAMES:
		return as_hash64(o->data, o->len);
	case AS_PAYLOAD_STAT:
		/* The size of a directory is the file system's own affair. */
		if (!S_ISDIR(st->mode))
			parts[5] = st->size;
		return as_hash64(parts, sizeof(parts));
	default:
		return 0;
	}
}

static void run_seq(struct as_vfs *vfs, struct child *c)
{
	for (size_t i = 0; i < c->seq->n && i < OPS_MAX; i++) {
		struct as_outcome o;

		as_vfs_exec(vfs, &c->seq->ops[i], &o);
		c->answers[i] = (struct answer){ o.ret, o.err, o.done, payload_hash(&o) };
		*c->n = i + 1;
	}
}

static int child_sys(void *ctx)
{
	struct child *c = ctx;
	struct as_vfs *vfs;

	if (as_vfs_sys_new(c->folder, &vfs, c->err))
		return 1;
	/* What labfs has from the start. */
	mkdir("/lost+found", 0700);
	run_seq(vfs, c);
	as_vfs_free(vfs);
	return 0;
}

static int child_lib(void *ctx)
{
	struct child *c = ctx;
	static struct as_host_log log;
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_host_mem *host = as_host_new(as_chooser_choice(chooser), &log);
	struct as_stand *stand;
	struct as_mount_args mkfs = { .host = as_host_seam(host), .opts = "" };
	struct as_vfs *vfs;

	if (as_stand_new(DISK_BYTES, &stand, c->err))
		return 1;
	mkfs.bd = as_stand_bd(stand);
	vfs = as_vfs_lib_new(&(struct as_lib_args){ .ops = &labfs_target,
						    .host = host,
						    .bd = as_stand_bd(stand),
						    .opts = "",
						    .name_max = LAB_NAME_MAX,
						    .size_max_bytes = LAB_MAX_SIZE });
	if (labfs_target.mkfs(&mkfs) || as_vfs_lib_mount(vfs, ""))
		return 2;
	run_seq(vfs, c);
	if (as_vfs_lib_unmount(vfs))
		return 3;
	as_vfs_free(vfs);
	as_stand_free(stand);
	as_host_free(host);
	as_chooser_free(chooser);
	return 0;
}

static char scratch[] = "/dev/shm/assay-test-XXXXXX";
static struct answer *answers[2];
static size_t *counts;

static int setup(void **state)
{
	struct statfs sfs;

	(void)state;
	/* tmpfs is the reference: without it the test means nothing. */
	if (statfs("/dev/shm", &sfs) || !mkdtemp(scratch))
		return -1;
	answers[0] = as_shared_alloc(sizeof(struct answer) * OPS_MAX);
	answers[1] = as_shared_alloc(sizeof(struct answer) * OPS_MAX);
	counts = as_shared_alloc(sizeof(size_t) * 2);
	return 0;
}

static int teardown(void **state)
{
	struct as_err err;

	(void)state;
	return as_sys_remove_tree(scratch, &err);
}

/* One folder a sequence: each begins empty. */
static void run_both(const struct as_seq *seq)
{
	struct as_buf folder = { 0 };
	struct as_err err = { 0 };
	struct as_ended ended;
	struct child c = { .seq = seq, .err = &err };

	as_buf_addf(&folder, "%s/tree", scratch);
	assert_int_equal(mkdir(as_buf_str(&folder), 0755), 0);
	c.folder = as_buf_str(&folder);
	for (int i = 0; i < 2; i++) {
		counts[i] = 0;
		c.answers = answers[i];
		c.n = &counts[i];
		assert_int_equal(
			as_spawn_fork(i ? child_lib : child_sys, &c, 20000, NULL, &ended, &err), 0);
		if (ended.how != AS_END_EXIT || ended.status)
			fail_msg("%s: how %d status %d after %zu operations",
				 i ? "library" : "system calls", ended.how, ended.status,
				 counts[i]);
	}
	assert_int_equal(as_sys_remove_tree(as_buf_str(&folder), &err), 0);
	as_buf_free(&folder);
}

static bool undone(const struct answer *a)
{
	return a->ret < 0 && (a->err == AS_ERR_UNSUPPORTED || a->err == AS_ERR_LIMIT);
}

static void print_upto(const struct as_seq *seq, size_t last)
{
	for (size_t i = 0; i <= last; i++) {
		struct as_buf line = { 0 };

		as_print_op(&seq->ops[i], &line);
		print_message("%.300s   # system calls %lld %s, library %lld %s\n",
			      as_buf_str(&line), (long long)answers[0][i].ret,
			      as_errno_name(answers[0][i].err), (long long)answers[1][i].ret,
			      as_errno_name(answers[1][i].err));
		as_buf_free(&line);
	}
}

/* The number of answers compared. */
static size_t compare(const char *name, const struct as_seq *seq)
{
	run_both(seq);
	for (size_t i = 0; i < seq->n; i++) {
		const struct answer *a = &answers[0][i], *b = &answers[1][i];

		if (undone(a) || undone(b))
			return i;
		if (a->ret != b->ret || a->err != b->err || a->done != b->done ||
		    a->payload != b->payload) {
			print_upto(seq, i);
			fail_msg("%s: operation %zu is answered differently", name, i + 1);
		}
	}
	return seq->n;
}

/* ---- The table -------------------------------------------------------------------------------- */

#define LONG_NAME_255                                                                           \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *name, *text;
} table[] = {
	{ "mkdir and slashes",
	  "mkdir /a/ 0755\nmkdir //a 0755\nmkdir /a/b// 0700\nmkdir /n/b 0755\nmkdir / 0755\n"
	  "mkdir . 0755\nmkdir .. 0755\nmkdir a/. 0755\nmkdir a/.. 0755\nmkdir \"\" 0755\nstat a/b/\n" },
	{ "create and slashes",
	  "create /f 0644\ncreate /f/ 0644\ncreate /g/ 0644\ncreate /f/x 0644\ncreate . 0644\n"
	  "create / 0644\ncreate .. 0644\ncreate /f 0600\nstat /f/\nstat /f/.\nstat /f/..\n" },
	{ "empty paths",
	  "stat \"\"\nunlink \"\"\nrmdir \"\"\nrename \"\" /a\nrename /a \"\"\nchcwd \"\"\nsymlink \"\" /l\n"
	  "symlink x \"\"\nhardlink \"\" /l\nreadlink \"\"\ntruncate \"\" 0\n" },
	{ "rmdir corners",
	  "mkdir /a 0755\nmkdir /a/b 0755\nrmdir /a\nrmdir /a/.\nrmdir /a/..\nrmdir /\nrmdir /a/b/\nrmdir /a/b\n"
	  "create /f 0644\nrmdir /f\nrmdir /f/\nsymlink /a /l\nrmdir /l\nrmdir /l/\nrmdir /a\nrmdir /l/\n" },
	{ "unlink corners",
	  "mkdir /a 0755\ncreate /f 0644\nunlink /\nunlink .\nunlink ..\nunlink /a\nunlink /a/\nunlink /f/\n"
	  "unlink /n\nunlink /n/\nunlink /f/x\nsymlink /a /l\nunlink /l/\nunlink /l\nunlink /f\n" },
	{ "rename corners",
	  "mkdir /a 0755\nmkdir /b 0755\ncreate /f 0644\ncreate /g 0644\nrename /a/. /c\nrename /a /b/..\n"
	  "rename / /c\nrename /a /\nrename /f /a\nrename /a /f\nrename /f/ /h\nrename /f /h/\nrename /a/ /c/\n"
	  "rename /c /c/d\nmkdir /c/d 0755\nrename /c/d /c\nrename /b /c\nrename /f /g\nrename /n /g\nrename /c /c\n"
	  "rename /g /g\nrename /n /n\n" },
	{ "rename of links to one file",
	  "create /f 0644\nhardlink /f /g\nrename /f /g\nstat /f\nstat /g\nrename2 /f /g RENAME_EXCHANGE\n" },
	{ "rename2 flags",
	  "mkdir /a 0755\nmkdir /a/x 0755\ncreate /f 0644\nrename2 /f /a RENAME_NOREPLACE\n"
	  "rename2 /f /n RENAME_EXCHANGE\nrename2 /f /a RENAME_EXCHANGE\nstat /f\nstat /a\nreaddir /f\n"
	  "rename2 /a/ /f RENAME_EXCHANGE\nrename2 /a /f/ RENAME_EXCHANGE\nrename2 /f /f/x RENAME_EXCHANGE\n"
	  "rename2 /f/x /f RENAME_EXCHANGE\nrename2 /f /a RENAME_EXCHANGE|RENAME_NOREPLACE\nrename2 /f . RENAME_NOREPLACE\n" },
	{ "symbolic links",
	  "mkdir /a 0755\nsymlink a /l\nsymlink l /m\nstat /m\nstat /m nofollow=1\nstat /m/ nofollow=1\ncreate /m/f 0644\n"
	  "stat /a/f\nreadlink /m\nreadlink /m/\nreadlink /a\nreadlink /n\nsymlink ../a/f /a/up\nstat /a/up\n"
	  "symlink /n /dangling\nstat /dangling\nmkdir /dangling 0755\nmkdir /dangling/ 0755\ncreate /dangling 0644\n"
	  "$0 = open /dangling O_RDWR|O_CREAT 0644\nstat /n\nsymlink x /l\nsymlink x /z/\nsymlink x /a/\n" },
	{ "loops",
	  "symlink b /a\nsymlink a /b\nstat /a\nstat /a/x\n$0 = open /a O_RDWR\nsymlink s /s\nmkdir /s/x 0755\nchcwd /s\n"
	  "stat /s nofollow=1\nunlink /s\nhardlink /a /c\nreadlink /c\n" },
	{ "names too long",
	  "mkdir " LONG_NAME_255 " 0755\nmkdir " LONG_NAME_255 "a 0755\nstat " LONG_NAME_255 "a\n"
	  "stat /n/" LONG_NAME_255 "a\ncreate /f 0644\nstat /f/" LONG_NAME_255
	  "a\nrename /f " LONG_NAME_255 "a\n"
	  "rename " LONG_NAME_255 "a /f\nunlink " LONG_NAME_255 "a\nrmdir " LONG_NAME_255 "\n" },
	{ "hard links",
	  "create /f 0644\nmkdir /a 0755\nhardlink /f /g\nhardlink /f /g\nhardlink /a /b\nhardlink /a /f\nhardlink /n /x\n"
	  "hardlink /f /x/\nhardlink /f/ /x\nhardlink /f /a/\nhardlink /f /a/h\nstat /f\nsymlink f /l\nhardlink /l /m\n"
	  "readlink /m\nunlink /f\nstat /g\nstat /l\n" },
	{ "working directory",
	  "mkdir /a 0755\nmkdir /a/b 0755\nchcwd /a/b\ncreate f 0644\nstat ../b/f\nrename /a /c\nstat f\nstat ..\n"
	  "create ../g 0644\nstat /c/g\nchcwd ..\nreaddir .\nchcwd b/../b\nreaddir .\nchcwd /\nreaddir .\n" },
	{ "removed working directory",
	  "mkdir /a 0755\nmkdir /a/b 0755\nchcwd /a/b\nrmdir /a/b\nstat .\nstat ..\nstat f\ncreate f 0644\n"
	  "mkdir x 0755\nreaddir .\nstat ../b\nchcwd .\nrename /a /c\nreaddir ..\nrmdir .\nmkdir . 0755\n"
	  "unlink .\nchcwd ..\nreaddir .\nmkdir b 0755\nstat /c/b\n" },
	{ "working directory replaced",
	  "mkdir /a 0755\nmkdir /b 0755\nchcwd /b\nrename /a /b\ncreate f 0644\nstat .\nstat ..\nchcwd /b\ncreate f 0644\n" },
	{ "working directory exchanged",
	  "mkdir /a 0755\nmkdir /b 0755\nchcwd /a\ncreate f 0644\nrename2 /a /b RENAME_EXCHANGE\nstat f\nstat /b/f\nstat /a/f\n" },
	{ "open flags",
	  "mkdir /a 0755\ncreate /f 0644\nsymlink f /l\nsymlink a /k\n$0 = open /a O_RDWR\n$0 = open /a O_RDONLY\n"
	  "$1 = open /a O_RDONLY|O_CREAT 0644\n$1 = open /f O_RDONLY|O_DIRECTORY\n$1 = open /l O_RDONLY|O_NOFOLLOW\n"
	  "$1 = open /k O_RDONLY|O_NOFOLLOW|O_DIRECTORY\n$1 = open /k/ O_RDONLY|O_NOFOLLOW|O_DIRECTORY\n"
	  "$1 = open /f O_RDWR|O_CREAT|O_EXCL 0644\n$1 = open /l O_RDWR|O_CREAT|O_EXCL 0644\n$1 = open /f/ O_RDWR\n"
	  "$1 = open /n/ O_RDWR|O_CREAT 0644\n$1 = open /a/ O_RDWR|O_CREAT 0644\n$1 = open . O_RDWR|O_CREAT 0644\n"
	  "$1 = open / O_RDONLY|O_CREAT|O_EXCL 0644\n$1 = open /n O_RDWR\n$1 = open /f O_RDONLY|O_TRUNC\n"
	  "$1 = open /a O_RDONLY|O_TRUNC\n$1 = open /a O_RDONLY|O_TMPFILE 0600\n$1 = open /f O_RDWR|O_TMPFILE 0600\n" },
	{ "descriptors",
	  "$0 = open /f O_RDONLY|O_CREAT 0644\nwrite $0 len=4 fill=1\npwrite $0 len=4 at=0 fill=1\npread $0 len=4 at=-1\n"
	  "ftruncate $0 10\n$1 = open /f O_WRONLY\nread $1 len=4\nwrite $1 len=100 fill=3\npread $1 len=4 at=0\nread $0 len=200\n"
	  "read $0 len=200\nlseek $0 -1 SEEK_SET\nlseek $0 0 SEEK_END\nlseek $0 -10 SEEK_CUR\nread $0 len=100\nlseek $0 5 SEEK_HOLE\n"
	  "lseek $0 100 SEEK_DATA\nlseek $0 100 SEEK_HOLE\nclose $0\nread $0 len=1\nclose $0\nfstat $0\nfsync $0\n"
	  "pwrite $1 len=4 at=9223372036854775807 fill=1\nftruncate $1 -1\ntruncate /f -1\n" },
	{ "append",
	  "$0 = open /f O_RDWR|O_CREAT|O_APPEND 0644\n$1 = open /f O_WRONLY\nwrite $1 len=10 fill=1\nwrite $0 len=10 fill=2\n"
	  "pwrite $0 len=5 at=0 fill=3\npread $0 len=100 at=0\nlseek $0 0 SEEK_CUR\n" },
	{ "O_PATH",
	  "create /f 0644\nmkdir /a 0755\nsymlink f /l\n$0 = open /f O_PATH\nread $0 len=1\nwrite $0 len=1\nfstat $0\nfchmod $0 0600\n"
	  "ftruncate $0 0\nfsync $0\nlseek $0 0 SEEK_SET\nclose $0\n$0 = open /l O_PATH|O_NOFOLLOW\nfstat $0\nclose $0\n"
	  "$0 = open /a O_PATH|O_RDWR|O_CREAT 0644\nfstat $0\n$0 = open /f O_PATH|O_DIRECTORY\nsyncfs $0\n" },
	{ "nodes are not opened",
	  "mknod /p fifo 0644\nmknod /s sock 0644\nmknod /z chr 0600\n$0 = open /p O_RDONLY\n$0 = open /s O_RDWR\n"
	  "$0 = open /z O_RDWR\n$0 = open /p O_RDONLY|O_DIRECTORY\n$0 = open /p O_RDWR|O_CREAT|O_EXCL 0644\n"
	  "$0 = open /p O_PATH\nfstat $0\ntruncate /p 0\nstat /z\nreaddir /\nunlink /p\n" },
	{ "removed but open",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=10 fill=1\nunlink /f\nfstat $0\npread $0 len=10 at=0\nwrite $0 len=10 fill=2\n"
	  "fstat $0\nlink_tmpfile $0 /g\nclose $0\n" },
	{ "unnamed files",
	  "$0 = open / O_RDWR|O_TMPFILE 0600\nwrite $0 len=10 fill=1\nfstat $0\nlink_tmpfile $0 /g\nstat /g\n"
	  "link_tmpfile $0 /g\nlink_tmpfile $0 /h/\nlink_tmpfile $1 /h\n$1 = open / O_RDWR|O_TMPFILE|O_EXCL 0600\nlink_tmpfile $1 /h\n" },
	{ "many at once",
	  "mkdir /a 0755\nenlarge /a 10\nreaddir /a\nenlarge /a 2\nreaddir /a\ndeepen /a/e0 5\ndeepen /a/e0 3\nremove /a/e0\n"
	  "readdir /a\nprune /a\nreaddir /a\ncreate /f 0644\nenlarge /f 100\nstat /f\nprune /f\nstat /f\nremove /f\nremove /\n"
	  "remove .\nremove /a/..\nremove /n\nsymlink a /l\nenlarge /l 3\nremove /l/\nreaddir /a\nremove /l\nprune /n\ncreate /a/d 0644\n"
	  "deepen /a 1\nremove /a\n" },
	{ "copies and mappings",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=5000 fill=4\n$1 = open /g O_RDWR|O_CREAT 0644\n"
	  "copy_file_range $0 $1 len=100 at=50 to=10\npread $1 len=200 at=0\ncopy_file_range $0 $0 len=100 at=0 to=50\n"
	  "copy_file_range $0 $0 len=100 at=0 to=100\ncopy_file_range $0 $1 len=10 at=5000 to=0\n"
	  "copy_file_range $0 $1 len=10 at=-1 to=0\nmmap_write $0 len=100 at=20 fill=9\npread $0 len=200 at=0\n"
	  "mmap_write $0 len=100 at=4950 fill=9\nmmap_write $0 len=0 at=0\nmmap_write $2 len=1 at=0\n$2 = open /f O_RDONLY\n"
	  "mmap_write $2 len=1 at=0\nfstat $0\nfstat $1\n" },
	{ "attributes",
	  "create /f 0644\nchmod /f 04711\nstat /f\nchown /f 1 -1\nstat /f\nchown /f -1 2\nsymlink f /l\nchown /l 3 4 nofollow=1\nstat /l nofollow=1\n"
	  "chmod /l 0600\nstat /f\nchmod /n 0600\nutimens /n atime=omit mtime=omit\nutimens /n mtime=5\nutimens /f atime=1 mtime=2\n" },
	{ "sync_file_range",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nsync_file_range $0 at=0 len=10\nsync_file_range $0 at=-1 len=10\n"
	  "sync_file_range $1 at=0 len=10\nsyncfs $0\nsync\nfdatasync $0\nfsync $1\n" },
	{ "fallocate",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nfallocate $0 0 at=0 len=5000\nfstat $0\nfallocate $0 KEEP_SIZE at=0 len=20000\nfstat $0\n"
	  "fallocate $0 PUNCH_HOLE at=0 len=1\nfallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=10\nfallocate $0 0 at=-1 len=1\nfallocate $0 0 at=0 len=0\n"
	  "$1 = open /f O_RDONLY\nfallocate $1 0 at=0 len=1\nfallocate $2 0 at=0 len=1\n" },
};

static void table_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct as_seq *seq;
		struct as_err err;

		if (as_parse_text(table[i].name, table[i].text, strlen(table[i].text), &seq, &err))
			fail_msg("%s", err.msg);
		assert_true(seq->n <= OPS_MAX);
		/* Every row is compared to its end: nothing in it is beyond either executor. */
		if (compare(table[i].name, seq) != seq->n)
			fail_msg("%s: an operation is not possible", table[i].name);
		as_seq_free(seq);
	}
}

static void long_paths(void **state)
{
	/* 4095 bytes still go, 4096 do not; and 40 links may be followed, 41 not. */
	struct as_buf text = { 0 }, path = { 0 };
	struct as_seq *seq;
	struct as_err err;

	(void)state;
	as_buf_adds(&text, "create /f 0644\n");
	while (path.len < 4093)
		as_buf_addc(&path, '/');
	for (int i = 0; i < 3; i++) {
		as_buf_addc(&path, '/');
		as_buf_addf(&text, "stat %sf\nmkdir %sd%d 0755\n", as_buf_str(&path),
			    as_buf_str(&path), i);
	}
	for (int i = 1; i <= 42; i++)
		as_buf_addf(&text, "symlink %s%d /l%d\nstat /l%d\n", i == 1 ? "f" : "l", i - 1, i,
			    i);
	as_buf_adds(&text, "create /f0 0644\nstat /l40\nstat /l41\nstat /l40/\n");
	assert_int_equal(as_parse_text("long", as_buf_str(&text), text.len, &seq, &err), 0);
	assert_int_equal(compare("long paths", seq), seq->n);
	as_seq_free(seq);
	as_buf_free(&text);
	as_buf_free(&path);
}

/* ---- Random ----------------------------------------------------------------------------------- */

static const char *const paths[] = { "a",     "b",    "/a",	"/a/b", "a/b/c", "./b",
				     "../a",  "a/..", "a/../b", ".",	"..",	 "/",
				     "a/",    "/b/c", "/l",	"l/a",	"l/",	 "/a/l",
				     "a/./b", "c",    "/c/d",	"b/a",	"//b//", "l/.." };
static const char *const templates[] = {
	"mkdir %s 0755",
	"mkdir %s 0755",
	"mkdir %s 0755",
	"create %s 0644",
	"create %s 0600",
	"hardlink %s %s",
	"symlink %s %s",
	"symlink %s /l",
	"rename %s %s",
	"rename %s %s",
	"rename %s %s",
	"rename2 %s %s RENAME_EXCHANGE",
	"rename2 %s %s RENAME_NOREPLACE",
	"remove %s",
	"rmdir %s",
	"rmdir %s",
	"unlink %s",
	"chcwd %s",
	"chcwd %s",
	"stat %s",
	"stat %s nofollow=1",
	"readdir %s",
	"readlink %s",
	"$0 = open %s O_RDWR|O_CREAT 0644",
	"$1 = open %s O_RDONLY",
	"$0 = open %s O_RDWR|O_TRUNC",
	"write $0 len=700 fill=5",
	"read $1 len=500",
	"fstat $0",
	"fstat $1",
	"truncate %s 3000",
	"prune %s",
	"enlarge %s 3",
	"deepen %s 2",
	"chmod %s 0711",
	"mknod %s fifo 0644",
	"link_tmpfile $0 %s",
	"close $1",
	"$1 = open %s O_PATH|O_NOFOLLOW",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add_random_op(struct as_choice *choice, struct as_buf *text)
{
	const char *t = templates[as_choose(choice, COUNT(templates))];

	for (; *t; t++) {
		if (t[0] == '%' && t[1] == 's') {
			as_buf_adds(text, paths[as_choose(choice, COUNT(paths))]);
			t++;
		} else {
			as_buf_addc(text, *t);
		}
	}
	as_buf_addc(text, '\n');
}

static void random_sequences(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(20040);
	size_t compared = 0;

	(void)state;
	for (int i = 0; i < SEQUENCES; i++) {
		struct as_buf text = { 0 };
		struct as_seq *seq;
		struct as_err err;
		char name[32];

		for (int j = 0; j < SEQUENCE_OPS; j++)
			add_random_op(as_chooser_choice(chooser), &text);
		assert_int_equal(as_parse_text("random", as_buf_str(&text), text.len, &seq, &err),
				 0);
		snprintf(name, sizeof(name), "sequence %d", i);
		compared += compare(name, seq);
		as_seq_free(seq);
		as_buf_free(&text);
	}
	as_chooser_free(chooser);
	print_message("%zu answers compared\n", compared);
	/* Should most sequences end early, the test would prove nothing. */
	assert_true(compared > SEQUENCES * SEQUENCE_OPS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_rows),
		cmocka_unit_test(long_paths),
		cmocka_unit_test(random_sequences),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
