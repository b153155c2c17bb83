/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two executors against each other: the same operations through the library executor on labfs
 * and through system calls on a tmpfs directory give the same answers. What Linux's path walk does
 * is the reference for ours; the table names the corners, the random part looks for others.
 */
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include "base/choice.h"
#include "host/medium.h"
#include "labfs/format.h"
#include "labfs/labfs.h"
#include "os/spawn.h"
#include "vfs/lib_new.h"
#include "vfs/sys_new.h"
#include "work/parse.h"
#include "work/print.h"

#include <errno.h>
#include <fcntl.h>
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
	struct as_medium *medium;
	struct as_mount_args mkfs = { .host = as_host_seam(host), .opts = "" };
	struct as_vfs *vfs;

	if (as_medium_new(DISK_BYTES, &medium, c->err))
		return 1;
	mkfs.bd = as_medium_bd(medium);
	vfs = as_vfs_lib_new(&(struct as_lib_args){ .ops = &lab_target,
						    .host = host,
						    .bd = as_medium_bd(medium),
						    .opts = "",
						    .name_max = LAB_NAME_MAX,
						    .size_max_bytes = LAB_MAX_SIZE });
	if (lab_target.mkfs(&mkfs) || as_vfs_lib_mount(vfs, ""))
		return 2;
	run_seq(vfs, c);
	if (as_vfs_lib_unmount(vfs))
		return 3;
	as_vfs_free(vfs);
	as_medium_free(medium);
	as_host_free(host);
	as_chooser_free(chooser);
	return 0;
}

static const char *scratch;
static struct answer *answers[2];
static size_t *counts;

static int setup(void **state)
{
	struct statfs sfs;

	(void)state;
	/* tmpfs is the reference: without it the test means nothing. */
	scratch = t_tmpdir_in("/dev/shm");
	if (statfs("/dev/shm", &sfs) || !scratch)
		return -1;
	answers[0] = as_shared_alloc(sizeof(struct answer) * OPS_MAX);
	answers[1] = as_shared_alloc(sizeof(struct answer) * OPS_MAX);
	counts = as_shared_alloc(sizeof(size_t) * 2);
	return 0;
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
	assert_int_equal(
		as_sys_remove_counted(AT_FDCWD, as_buf_str(&folder), &(uint64_t){ 0 }, &err), 0);
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

/* ---- The table ------------------------------------------------------------------------------- */

#define LONG_NAME_255                                                                           \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *name, *text;
} table[] = {
#define ROW(name, text) { name, text },
#include "lib_vs_sys.def"
#undef ROW
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

/* ---- Random ---------------------------------------------------------------------------------- */

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

	return cmocka_run_group_tests(tests, setup, NULL);
}
