/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * against: the model against a file system: every sequence of up to three operations over an
 * alphabet, from two starting points, and long random ones, are carried out and judged, and the
 * tree is compared at their end. One disagreement fails the test. This is what makes the oracle
 * trustworthy, so it runs on the kernel's own file systems, a tmpfs and the disk's, by system calls
 * in a scratch directory; and on labfs, which has to be as right as they are.
 *
 * Enumeration: the odometer of base/choice. An operation that left the model as it was ends its
 * sequence: what would follow is a shorter sequence that is tried anyway, and the comparison at the
 * end of this one shows that it changed nothing on disk either.
 */
#ifndef AS_TESTS_MODEL_AGAINST_H
#define AS_TESTS_MODEL_AGAINST_H

#include "subject.h"

#include "base/choice.h"
#include "base/spawn.h"
#include "model/compare.h"
#include "run/lib_new.h"
#include "run/sys_new.h"
#include "run/traits.h"
#include "target/host.h"
#include "target/stand.h"
#include "target/target.h"
#include "tests/skip.h"
#include "work/print.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SLOTS 3
#define LENGTH_MAX 320

static const char *const starts[] = {
	"",
	"mkdir /a 0755\n"
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n"
	"pwrite $0 len=5000 at=100 fill=1\n"
	"hardlink /a/f /g\n"
	"symlink a /l\n"
	"mkdir /a/b 0700\n"
	"write_xattr /g user.k len=10 fill=2\n",
};

/* Every operation that the kernel carries out, grouped by what it is about, in three parts: what is
 * tried in all threes from the prepared tree everywhere, what is tried so where that is cheap, and
 * what is tried in all twos only. From the empty tree all threes of everything are tried. */
static const char *const part_names =
	"mkdir /a 0755\nmkdir /l/c 0750\nmkdir b 0755\ncreate /a/f 0644\ncreate /g 0600\n"
	"mknod /p fifo 0600\nhardlink /g /h\nhardlink /h /a/b/h\nsymlink l /m\n"
	"symlink ../g /a/u\nrename /a /b\nrename /a/f /g\nrename /g /h\nrename /a/b /a\n"
	"rename /a /a/b/c\nrename /a/b /b\nrename /g /a\nrename2 /g /a RENAME_EXCHANGE\n"
	"rename2 /a/b /b RENAME_EXCHANGE\nrename2 /g /h RENAME_WHITEOUT\nunlink /g\n"
	"unlink /a/f\nunlink /l\nrmdir /a/b\nrmdir /a\nremove /a\nremove /l/\n"
	"$1 = open /a/f O_RDWR\n$1 = open /h O_RDWR|O_CREAT 0644\n$1 = open /a O_RDONLY\n"
	"$1 = open /a O_RDWR|O_TMPFILE 0600\nclose $0\nlink_tmpfile $1 /h\nchcwd /a\n"
	"chcwd /a/b\nchcwd ..\nstat /g\nreaddir .\n";

static const char *const part_data =
	"$1 = open /g O_WRONLY|O_APPEND\n$1 = open /g O_RDONLY|O_TRUNC\n"
	"$1 = open /m O_RDWR|O_CREAT 0644\nlink_tmpfile $0 /a/b/t\nread $0 len=300\n"
	"pread $0 len=9000 at=50\nwrite $1 len=5000 fill=4\npwrite $0 len=4096 at=8192 fill=5\n"
	"lseek $0 0 SEEK_END\nlseek $0 4096 SEEK_DATA\ntruncate /g 4097\nftruncate $0 20000\n"
	"fallocate $0 KEEP_SIZE|PUNCH_HOLE at=200 len=4500\n"
	"fallocate $0 INSERT_RANGE at=4096 len=4096\n"
	"copy_file_range $0 $1 len=3000 at=50 to=10\nchmod /g 04755\n"
	"write_xattr /g user.k len=300 fill=1\nremovexattr /g user.k\nstat ..\nfstat $1\n"
	"readdir /a\nprune /a\ndeepen /a 3\n";

static const char *const part_rest =
	/* making */
	"mkdir /a/b 01777\nmkdir /a/ 0755\nmkdir .. 0755\nmkdir /g/x 0755\ncreate /l 0644\n"
	"create a/ 0644\ncreate /l/b/f 0640\nmknod /a/s sock 0600\nmknod /w chr 0600\n"
	"mknod /r reg 0644\nhardlink /l /m\nhardlink /a /h\nhardlink /p /q\nhardlink g h/\n"
	"symlink a /l\nsymlink m /m\nsymlink /a/b /n\nsymlink nowhere /h\n"
	/* renaming */
	"rename /g /a/f\nrename /l /m\nrename /a /g\nrename /a/ /h/\nrename . /h\nrename /g /g\n"
	"rename /a/b /n\nrename2 /a /a/b RENAME_EXCHANGE\nrename2 /g /h RENAME_NOREPLACE\n"
	"rename2 /a /l RENAME_NOREPLACE\nrename2 /a/b /b RENAME_WHITEOUT\n"
	"rename2 /g /l RENAME_NOREPLACE|RENAME_EXCHANGE\n"
	/* removing */
	"unlink /a\nunlink /g/\nunlink l/f\nrmdir /l\nrmdir .\nrmdir ..\nrmdir /b\nremove .\n"
	"remove /g\n"
	/* opening and closing */
	"$1 = open /g O_RDONLY\n$1 = open /h O_RDWR|O_CREAT|O_EXCL 0600\n"
	"$1 = open /g O_RDWR|O_TRUNC\n$1 = open /l O_RDONLY|O_NOFOLLOW\n"
	"$1 = open /l O_RDONLY|O_DIRECTORY\n$1 = open /a O_RDWR\n"
	"$1 = open /g O_RDONLY|O_DIRECTORY\n$1 = open /a O_RDWR|O_TMPFILE|O_EXCL 0600\n"
	"$1 = open /g O_RDONLY|O_PATH\n$1 = open /l O_RDONLY|O_PATH|O_NOFOLLOW\n"
	"$1 = open /p O_RDWR\n$1 = open /h/ O_RDWR|O_CREAT 0644\n$1 = open . O_RDONLY\n"
	"$1 = open /a O_RDONLY|O_CREAT 0644\nclose $1\n"
	"$1 = open /a/b O_RDONLY|O_CREAT|O_DIRECTORY 0644\n"
	"chcwd /l\nchcwd /g\n"
	/* data */
	"read $1 len=10\npread $1 len=10 at=0\npread $0 len=1 at=-1\nwrite $0 len=40 fill=3\n"
	"pwrite $1 len=10 at=3 fill=6\nwrite $1 len=0 fill=1\nlseek $0 0 SEEK_HOLE\n"
	"lseek $1 7 SEEK_CUR\nlseek $0 -1 SEEK_SET\nlseek $0 9999999 SEEK_DATA\n"
	"truncate /a/f 0\ntruncate /a 0\ntruncate /p 1\ntruncate /l 5\nftruncate $1 3\n"
	"truncate /g 9223372036854775807\nfallocate $0 0 at=4000 len=8000\n"
	"fallocate $0 KEEP_SIZE at=4000 len=90000\nfallocate $0 ZERO_RANGE at=1000 len=9000\n"
	"fallocate $0 COLLAPSE_RANGE at=0 len=4096\nfallocate $0 PUNCH_HOLE at=0 len=1\n"
	"fallocate $1 0 at=0 len=10\nfallocate $0 COLLAPSE_RANGE at=1 len=4096\n"
	"fallocate $0 COLLAPSE_RANGE|KEEP_SIZE at=0 len=4096\n"
	"copy_file_range $0 $0 len=100 at=100 to=20000\n"
	"copy_file_range $0 $0 len=100 at=100 to=150\ncopy_file_range $1 $0 len=100 at=-1 to=0\n"
	"mmap_write $0 len=100 at=3000 fill=7 flags=MS_ASYNC\nmmap_write $1 len=10 at=0 fill=7\n"
	/* stability */
	"fsync $1\nsync_file_range $0 at=0 len=4096\n"
	"sync_file_range $0 at=-1 len=1\n"
	/* attributes */
	"chmod /l 0711\nfchmod $0 06777\nfchmod $1 0600\nchown /g 1 2\n"
	"chown /l 3 -1 nofollow=1\nchown /a -1 -1\nchmod /a 02755\n"
	"utimens /g atime=1.5 mtime=1000000000.123456789\nutimens /l mtime=5 nofollow=1\n"
	"utimens /g atime=omit mtime=omit\nutimens /a atime=omit mtime=77\n"
	"write_xattr /a user.k len=5 fill=1 flags=XATTR_CREATE\n"
	"write_xattr /g user.k len=5 flags=XATTR_REPLACE\n"
	"write_xattr /l user.k len=5 nofollow=1\nwrite_xattr /g nospace.k len=5\n"
	"write_xattr /g user. len=5\nwrite_xattr /g trusted.t len=7\n"
	"write_xattr /nowhere \"\" len=70000\nread_xattr /g user.k\nread_xattr /a user.k\n"
	"read_xattr /p user.k\nlistxattr /g\nlistxattr /l\nremovexattr /a/b user.k\n"
	/* looking */
	"stat /l\nstat /l nofollow=1\nstat /a/b/../f\nfstat $0\nreaddir /\nreaddir /g\n"
	"readlink /l\nreadlink /g\nstatfs /a\n"
	/* composites */
	"enlarge /a 3\nenlarge /g 700\nprune /g\nprune /\nenlarge /p 1\ndeepen /g 1\n"
	"enlarge . 2\n";

struct bout {
	char folder[4096]; /* for system calls; "": a library */
	const struct as_target *target;
	unsigned start, length;
	unsigned parts; /* how many of them */
	unsigned random; /* that many random sequences instead of all */
	struct as_traits traits;
	/* Shared with the child. */
	struct tally {
		volatile uint64_t alive;
		uint64_t sequences, ops, maybes;
		bool failed;
		char what[32768];
	} * tally;
};

struct fight {
	struct bout *bout;
	struct as_vfs *vfs;
	struct as_seq *start, *alphabet;
	struct as_model *fresh; /* an empty model that knows the root's attributes */
	struct as_verdict verdict;
	const struct as_op *done[LENGTH_MAX];
	size_t n_done;
	/* What a library stands on. */
	struct as_chooser *chance;
	struct as_host_log log;
	struct as_host_mem *host;
	struct as_stand *stand;
};

static void say(struct fight *f, const char *why)
{
	struct tally *tally = f->bout->tally;
	struct as_buf text = { 0 };

	as_buf_addf(&text, "on %s, from start %u, sequence %llu:\n", f->bout->traits.name,
		    f->bout->start, (unsigned long long)tally->sequences);
	for (size_t i = 0; i < f->n_done; i++) {
		as_buf_adds(&text, "    ");
		as_print_op(f->done[i], &text);
		as_buf_addc(&text, '\n');
	}
	as_buf_adds(&text, why);
	tally->failed = true;
	snprintf(tally->what, sizeof(tally->what), "%s", as_buf_str(&text));
	as_buf_free(&text);
}

/* Carries one out and judges it. */
static bool play(struct fight *f, struct as_model *m, const struct as_op *op)
{
	struct as_outcome out;

	f->done[f->n_done++] = op;
	as_vfs_exec(f->vfs, op, &out);
	f->bout->tally->ops++;
	if (!as_model_judge(m, op, &out, &f->verdict)) {
		say(f, as_buf_str(&f->verdict.why));
		return false;
	}
	/* Allowed, but no reason for it here: the disk is not full. */
	if (out.ret < 0 && (out.err == ENOSPC || out.err == EDQUOT))
		f->bout->tally->maybes++;
	return true;
}

static void clean_up(struct fight *f)
{
	struct as_op op = as_op_make(AS_OP_CHCWD);
	struct as_outcome out;

	op.path = "/";
	as_vfs_exec(f->vfs, &op, &out);
	op = as_op_make(AS_OP_CLOSE);
	for (op.fd = 0; op.fd < SLOTS; op.fd++)
		as_vfs_exec(f->vfs, &op, &out);
	op = as_op_make(AS_OP_PRUNE);
	op.path = "/";
	as_vfs_exec(f->vfs, &op, &out);
	/* A descriptor of the root may have changed its mode. */
	op = as_op_make(AS_OP_CHMOD);
	op.path = "/";
	op.mode = 0755;
	as_vfs_exec(f->vfs, &op, &out);
}

static bool one_sequence(struct fight *f, struct as_choice *choice)
{
	struct as_model *m = as_model_copy(f->fresh);
	struct as_buf why = { 0 };
	bool ok = true;

	f->n_done = 0;
	for (size_t i = 0; ok && i < f->start->n; i++)
		ok = play(f, m, &f->start->ops[i]);
	f->n_done = 0;
	for (unsigned i = 0; ok && i < f->bout->length; i++) {
		struct as_digest before = as_model_digest(m);

		ok = play(f, m, &f->alphabet->ops[as_choose(choice, (unsigned)f->alphabet->n)]);
		if (!f->bout->random && as_digest_eq(before, as_model_digest(m)))
			break;
	}
	if (ok && as_model_compare(m, as_vfs_tree(f->vfs), f->vfs, &why)) {
		say(f, as_buf_str(&why));
		ok = false;
	}
	as_buf_free(&why);
	as_model_free(m);
	clean_up(f);
	f->bout->tally->sequences++;
	f->bout->tally->alive++;
	return ok;
}

/* labfs on a disk of its own, without what mkfs put there. */
static int open_library(struct fight *f, struct as_err *err)
{
	const struct as_target_ops *ops = as_target_library(f->bout->target);
	struct as_op op = as_op_make(AS_OP_REMOVE);
	struct as_mount_args args = { .opts = "" };
	struct as_outcome out;

	f->chance = as_chooser_seeded(1);
	f->host = as_host_new(as_chooser_choice(f->chance), &f->log);
	if (as_stand_new(ops->default_bytes, &f->stand, err) != 0)
		return err->code;
	args.host = as_host_seam(f->host);
	args.bd = as_stand_bd(f->stand);
	if (ops->mkfs(&args) != 0)
		return as_fail(err, AS_EUSE, "mkfs failed");
	f->vfs =
		as_vfs_lib_new(&(struct as_lib_args){ .ops = ops,
						      .host = f->host,
						      .bd = args.bd,
						      .opts = "",
						      .name_max = f->bout->traits.name_max,
						      .size_max_bytes = f->bout->traits.size_max });
	if (as_vfs_lib_mount(f->vfs, "") != 0)
		return as_fail(err, AS_EUSE, "mount failed");
	op.path = "/lost+found";
	as_vfs_exec(f->vfs, &op, &out);
	return 0;
}

/* Unmounts, and the full checker has the last word. */
static void close_library(struct fight *f)
{
	const struct as_target_ops *ops = as_target_library(f->bout->target);
	struct as_mount_args args = { .opts = "", .bd = as_stand_bd(f->stand) };
	enum as_finding_kind kind;
	const char *trouble;

	args.host = as_host_seam(f->host);
	if (as_vfs_lib_unmount(f->vfs) != 0)
		say(f, "unmount failed");
	trouble = as_vfs_lib_trouble(f->vfs, &kind);
	if (trouble)
		say(f, trouble);
	if (ops->fsck(&args, AS_FSCK_FULL) != AS_FSCK_CLEAN)
		say(f, "the checker is not content");
	as_vfs_free(f->vfs);
	as_host_free(f->host);
	as_stand_free(f->stand);
	as_chooser_free(f->chance);
}

static int open_vfs(struct fight *f, struct as_err *err)
{
	if (f->bout->folder[0])
		return as_vfs_sys_new(f->bout->folder, &f->vfs, err);
	return open_library(f, err);
}

/* In the child: system calls are confined to the scratch directory for good. */
static int fight_it_out(void *ctx)
{
	struct bout *bout = ctx;
	struct fight f = { .bout = bout };
	struct as_chooser *chooser = bout->random ? as_chooser_seeded(1) : as_chooser_exhaustive();
	struct as_buf letters = { 0 };
	struct as_err err = { 0 };
	struct as_stat root = { 0 };

	if (open_vfs(&f, &err) != 0) {
		snprintf(bout->tally->what, sizeof(bout->tally->what), "%s", err.msg);
		return err.code == AS_ELACK ? 3 : 2;
	}
	f.start = parse(starts[bout->start]);
	as_buf_addf(&letters, "%s%s%s", part_names, bout->parts > 1 ? part_data : "",
		    bout->parts > 2 ? part_rest : "");
	f.alphabet = parse(as_buf_str(&letters));
	as_buf_free(&letters);
	f.fresh = as_model_new(&bout->traits);
	if (as_vfs_tree(f.vfs)->stat(f.vfs, "/", &root) != 0)
		return 2;
	as_model_adopt(f.fresh, "/", &root);
	while (one_sequence(&f, as_chooser_choice(chooser)) && as_chooser_next(chooser) &&
	       (!bout->random || bout->tally->sequences < bout->random))
		;
	as_model_free(f.fresh);
	as_verdict_free(&f.verdict);
	if (!bout->folder[0] && !bout->tally->failed)
		close_library(&f);
	else
		as_vfs_free(f.vfs);
	as_seq_free(f.start);
	as_seq_free(f.alphabet);
	as_chooser_free(chooser);
	return 0;
}

static void judge_bout(struct bout *bout, const char *where)
{
	struct as_ended ended;
	struct as_err err = { 0 };

	as_run_traits(bout->target, &bout->traits);
	bout->tally = as_shared_alloc(sizeof(*bout->tally));
	if (as_spawn_fork(fight_it_out, bout, 60000, &bout->tally->alive, &ended, &err) != 0)
		fail_msg("%s", err.msg);
	if (bout->folder[0])
		assert_int_equal(as_sys_remove_tree(bout->folder, &err), 0);
	if (ended.how == AS_END_EXIT && ended.status == 3)
		skip_because("%s", bout->tally->what);
	if (bout->tally->failed) {
		/* cmocka cuts long messages; the sequence is wanted whole. */
		fputs(bout->tally->what, stderr);
		fputc('\n', stderr);
		fail_msg("disagreement on %s", where);
	}
	if (ended.how != AS_END_EXIT || ended.status != 0)
		fail_msg("the child ended with %d/%d: %s", ended.how, ended.status,
			 bout->tally->what);
	print_message("%s: %llu sequences, %llu operations, %llu maybes, %.1f s\n", where,
		      (unsigned long long)bout->tally->sequences,
		      (unsigned long long)bout->tally->ops, (unsigned long long)bout->tally->maybes,
		      (double)ended.wall_us / 1e6);
	assert_int_equal(bout->tally->maybes, 0);
	assert_true(bout->tally->sequences >= 100);
	as_shared_free(bout->tally, sizeof(*bout->tally));
}

/* tests/model/test_against_*.c give each file system its own program: they run side by side. */
static const char *scratch; /* a folder, or the name of a library */
static long scratch_magic; /* what statfs(2) has to say of the folder; 0: a library */
static bool scratch_is_slow;

static void against(struct bout bout)
{
	struct as_target *target = NULL;
	struct as_err err = { 0 };
	struct statfs sfs;
	char spec[4200];

	if (scratch_magic) {
		if (statfs(scratch, &sfs) != 0 || (long)sfs.f_type != scratch_magic)
			skip_because("%s is not the kind of file system this is about", scratch);
		snprintf(bout.folder, sizeof(bout.folder), "%s/assay-against-XXXXXX", scratch);
		if (!mkdtemp(bout.folder))
			skip_because("cannot make a folder in %s", scratch);
		assert_int_equal(chmod(bout.folder, 0755), 0);
		snprintf(spec, sizeof(spec), "dir:%s", bout.folder);
	} else {
		snprintf(spec, sizeof(spec), "%s", scratch);
	}
	if (as_target_open(spec, &target, &err) != 0)
		fail_msg("%s", err.msg);
	bout.target = target;
	judge_bout(&bout, scratch);
	as_target_free(target);
}

static void test_empty_threes(void **state)
{
	(void)state;
	against((struct bout){ .start = 0, .length = 3, .parts = 3 });
}

static void test_prepared_twos(void **state)
{
	(void)state;
	against((struct bout){ .start = 1, .length = 2, .parts = 3 });
}

static void test_prepared_threes(void **state)
{
	(void)state;
	against((struct bout){ .start = 1, .length = 3, .parts = scratch_is_slow ? 1 : 2 });
}

static void test_random(void **state)
{
	(void)state;
	against((struct bout){
		.start = 1, .length = 300, .parts = 3, .random = scratch_is_slow ? 300 : 1000 });
}

static int run_against(const char *where, long magic, bool slow)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_threes),
		cmocka_unit_test(test_prepared_twos),
		cmocka_unit_test(test_prepared_threes),
		cmocka_unit_test(test_random),
	};

	scratch = where;
	scratch_magic = magic;
	scratch_is_slow = slow;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
