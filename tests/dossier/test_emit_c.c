/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workloads as C programs: they compile without a warning whatever they hold, do what the workload
 * says below the given directory and nowhere else, and notice answers that were not expected.
 */
#include "base/choice.h"
#include "dossier/program/emit_c.h"
#include "os/out.h"
#include "os/spawn.h"
#include "work/parse.h"
#include "work/print.h"

#include "tests/lib/random_seq.h"
#include "tests/lib/skip.h"
#include "tests/lib/tmpdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder;

/* ---- A workload with every operation, and what a POSIX file system answers ---- */

struct step {
	const char *line, *want;
	const char *or_else; /* where file systems differ or the machine does */
};

#define NOT_REMOUNTED \
	"(nothing is remounted: root has to, and the directory has to be a mount) = -1 "

#define NEEDS "not done: this step needs assay: "
#define NO_MOUNTER                                                                               \
	"(not done: this step needs assay: without --mounter, the options of the mount are not " \
	"known) = -1 EINVAL"

#define NOT_DONE "(not done: the directory is not a mount) = -1 EINVAL"

/* Lines are canonical, as the program prints them. */
static const struct step steps[] = {
	{ "mkdir /a 0775", "= 0", NULL },
	{ "mkdir /a 0775", "= -1 EEXIST", NULL },
	{ "create /a/c 0644", "= 0", NULL },
	{ "mknod /a/fifo fifo 0600", "= 0", NULL },
	{ "$3 = open /a/fifo O_RDONLY", "= -1 ENXIO", NULL },
	{ "hardlink /a/c /a/h", "= 0", NULL },
	{ "symlink c /a/s", "= 0", NULL },
	{ "rename /a/h \"/a/a name with \\\"blanks\\\" and \\x01 \?\?/\"", "= -1 ENOTDIR", NULL },
	{ "rename /a/h \"/a/a name with \\\"blanks\\\" and \\x01 ??\"", "= 0", NULL },
	{ "$0 = open /a/f O_RDWR|O_CREAT 0644", "= 0", NULL },
	{ "write $0 len=5000 fill=1", "= 5000", NULL },
	{ "pwrite $0 len=4096 at=8192 fill=7", "= 4096", NULL },
	{ "lseek $0 -10 SEEK_END", "= 12278", NULL },
	{ "read $0 len=4096", "= 10", NULL },
	{ "pread $0 len=100 at=12200", "= 88", NULL },
	{ "pread $0 len=1 at=-1", "= -1 EINVAL", NULL },
	{ "pread $0 len=100 at=12200 mem=4095", "= 88", NULL },
	{ "pwrite $0 len=100 at=8192 fill=7 mem=1", "= 100", NULL },
	{ "fsync $0", "= 0", NULL },
	{ "fdatasync $0", "= 0", NULL },
	{ "syncfs $0", "= 0", NULL },
	{ "sync_file_range $0 at=0 len=4096 flags=SYNC_FILE_RANGE_WRITE", "= 0", NULL },
	{ "sync", "= 0", NULL },
	{ "mmap_write $0 len=100 at=4090 fill=3", "= 0", NULL },
	{ "mmap_write $0 len=100 at=12200 fill=3", "= -1 ENXIO", NULL },
	{ "mmap_write $0 len=0 at=0", "= -1 EINVAL", NULL },
	{ "mmap_write $9 len=0 at=0", "= -1 EBADF", NULL },
	{ "mmap $0 len=16384 at=0", "= 0", NULL },
	{ "mmap $9 len=1 at=1", "= -1 EINVAL", NULL },
	{ "mmap $9 len=0 at=0", "= -1 EBADF", NULL },
	{ "mstore $0 len=5000 at=4090 fill=3", "= 5000", NULL },
	{ "mload $0 len=16000 at=0", "= 12288", NULL },
	{ "mload $0 len=1 at=12288", "= -1 ENXIO", NULL },
	{ "mload $0 len=1 at=16384", "= -1 EFAULT", NULL },
	{ "mload $9 len=1 at=0", "= -1 EINVAL", NULL },
	{ "msync $0", "= 0", NULL },
	{ "msync $0 flags=MS_ASYNC|MS_SYNC", "= -1 EINVAL", NULL },
	{ "munmap $0", "= 0", NULL },
	{ "munmap $0", "= -1 EINVAL", NULL },
	{ "$3 = open /a O_RDONLY", "= 0", NULL },
	{ "mmap_write $3 len=1 at=100000", "= -1 ENODEV", "= -1 EACCES" },
	{ "close $3", "= 0", NULL },
	{ "fallocate $0 KEEP_SIZE at=0 len=20000", "= 0", "= -1 EOPNOTSUPP" },
	{ "fallocate $0 0 at=0 len=-1", "= -1 EINVAL", NULL },
	{ "ftruncate $0 9000", "= 0", NULL },
	{ "truncate /a/f 10000", "= 0", NULL },
	{ "truncate /a/f -1", "= -1 EINVAL", NULL },
	{ "fstat $0", "= 0", NULL },
	{ "fchmod $0 0600", "= 0", NULL },
	{ "chmod /a/f 0640", "= 0", NULL },
	{ "chown /a/f -1 -1", "= 0", NULL },
	{ "chown /a/s -1 -1 nofollow=1", "= 0", NULL },
	{ "utimens /a/f atime=-1.500000000 mtime=omit", "= 0", NULL },
	{ "utimens /a/f", "= 0", NULL },
	{ "$1 = open /a/g O_RDWR|O_CREAT|O_APPEND 0644", "= 0", NULL },
	{ "copy_file_range $0 $1 len=4096 at=0 to=0", "= -1 EBADF", NULL }, /* O_APPEND */
	{ "write $1 len=10 fill=2", "= 10", NULL },
	{ "pwrite $1 len=10 at=0 fill=2", "= 10", NULL },
	{ "lseek $1 0 SEEK_END", "= 20", NULL },
	{ "$2 = open /a/k O_RDWR|O_CREAT|O_EXCL 0644", "= 0", NULL },
	{ "copy_file_range $0 $2 len=4096 at=0 to=0", "= 4096", NULL },
	{ "pwritev2 $0 len=100 at=0 fill=3 flags=RWF_DSYNC", "= 100", NULL },
	{ "pwritev2 $2 len=100 at=-1 fill=3 flags=RWF_APPEND", "= 100", NULL },
	{ "lseek $2 0 SEEK_CUR", "= 4196", NULL },
	{ "pwritev2 $2 len=100 at=0 fill=3 flags=0x40000000", "= -1 EOPNOTSUPP", NULL },
	{ "preadv2 $2 len=100 at=0", "= 100", NULL },
	{ "preadv2 $2 len=100 at=-2 flags=RWF_HIPRI", "= -1 EINVAL", NULL },
	{ "sendfile $0 $1 len=10 at=0", "= -1 EINVAL", NULL }, /* O_APPEND */
	{ "sendfile $0 $2 len=10 at=100", "= 10", NULL },
	{ "lseek $2 0 SEEK_CUR", "= 4206", NULL },
	{ "sendfile $2 $2 len=10 at=0", "= 10", NULL },
	{ "sendfile $2 $2 len=10 at=-1", "= -1 EINVAL", NULL },
	{ "splice $0 $1 len=10 at=0 to=0", "= -1 EINVAL", NULL }, /* O_APPEND */
	{ "splice $0 $2 len=10 at=100 to=4196", "= 10", NULL },
	{ "splice $2 $2 len=10 at=0 to=5", "= -1 EINVAL", NULL },
	{ "splice $9 $2 len=10 at=0 to=5", "= -1 EBADF", NULL },
	{ "clone $1 $0", "= -1 EBADF", NULL }, /* O_APPEND */
	{ "clone $2 $0", "= 0", "= -1 EOPNOTSUPP" },
	{ "clone_range $2 $0 len=4096 at=0 to=-4096", "= -1 EINVAL", "= -1 EOPNOTSUPP" },
	{ "dedupe_range $2 $0 len=4096 at=0 to=0", "= 4096", "= -1 EOPNOTSUPP" },
	{ "close $2", "= 0", NULL },
	{ "close $2", "= -1 EBADF", NULL },
	{ "read $2 len=1", "= -1 EBADF", NULL },
	{ "$1 = open /none O_RDONLY", "= -1 ENOENT", NULL },
	{ "fsync $1", "= -1 EBADF", NULL }, /* the slot was closed first */
	{ "$4 = open /a O_RDWR|O_TMPFILE 0600", "= 0", "= -1 EOPNOTSUPP" },
	{ "link_tmpfile $4 /a/named", "= 0", "= -1 EBADF" },
	{ "link_tmpfile $5 /a/named2", "= -1 EBADF", NULL },
	{ "rename2 /a/k /a/c RENAME_NOREPLACE", "= -1 EEXIST", NULL },
	{ "rename2 /a/k /a/c RENAME_EXCHANGE", "= 0", "= -1 EINVAL" },
	{ "write_xattr /a/f user.x len=10 fill=1", "= 0", "= -1 EOPNOTSUPP" },
	{ "read_xattr /a/f user.x", "= 10", "= -1 EOPNOTSUPP" },
	{ "listxattr /a/f", "= 1", "= 0" },
	{ "removexattr /a/f user.x", "= 0", "= -1 EOPNOTSUPP" },
	{ "statfs /a", "= 0", NULL },
	{ "stat /a/s", "= 0", NULL },
	{ "stat /a/none nofollow=1", "= -1 ENOENT", NULL },
	{ "setacl /a/f u::rwx,g::r-x,m::rwx,o::r--", "= 0", "= -1 EOPNOTSUPP" },
	{ "getacl /a/f", "= 36", "= -1 EOPNOTSUPP" },
	{ "getacl /a/f default=1", "= -1 ENODATA", "= -1 EOPNOTSUPP" },
	{ "setacl /a/f none", "= 0", "= -1 EOPNOTSUPP" },
	{ "setacl /a/f u:-1:rwx", "= -1 EINVAL", NULL },
	{ "setacl /a/f u::rwx,", "= -1 EINVAL", NULL },
	{ "setacl /a/f m:7:rwx", "= -1 EINVAL", NULL },
	{ "setacl /a/none none", "= -1 ENOENT", NULL },
	{ "handle /a/none", "= -1 ENOENT", NULL },
	{ "openhandle /a/none", "= -1 EBADF", NULL },
	{ "setflags $0 FS_NODUMP_FL", "= 0", "= -1 ENOTTY" },
	{ "flock $0 LOCK_EX", "= 0", NULL },
	{ "flock $0 LOCK_SH|LOCK_EX", "= -1 EINVAL", NULL },
	{ "ofd_setlk $0 F_WRLCK at=0 len=10", "= 0", NULL },
	{ "setlk $0 F_RDLCK at=9 len=1", "= -1 EAGAIN", NULL },
	{ "getlk $0 F_RDLCK at=0 len=0", "= 1", NULL },
	{ "ofd_getlk $0 F_WRLCK at=0 len=0", "= 0", NULL },
	{ "getflags $0", "= 64", "= -1 ENOTTY" },
	{ "statx /a/s mask=STATX_BTIME nofollow=1", "= 0", NULL },
	{ "statx /a/none mask=0x80000000", "= -1 EINVAL", NULL },
	{ "readlink /a/s", "= 1", NULL },
	{ "readlink /a/f", "= -1 EINVAL", NULL },
	{ "chcwd /a", "= 0", NULL },
	{ "stat f", "= 0", NULL },
	{ "mkdir d1 0755", "= 0", NULL },
	{ "deepen d1 1500", "= 1500", NULL },
	{ "deepen d1 2", "= 2", NULL },
	{ "deepen /a/f 1", "= -1 ENOTDIR", NULL },
	{ "create d1/e1 0600", "= 0", NULL },
	{ "enlarge d1 5", "= 5", NULL },
	{ "readdir d1", "= 7", NULL },
	{ "enlarge f 100", "= 0", NULL },
	{ "enlarge fifo 1", "= -1 EINVAL", NULL },
	{ "prune d1", "= 0", NULL },
	{ "readdir d1", "= 0", NULL },
	{ "prune f", "= 0", NULL },
	{ "rmdir d1", "= 0", NULL },
	{ "unlink fifo", "= 0", NULL },
	{ "remove .", "= -1 EINVAL", NULL },
	{ "remove /a/../..", "= -1 EINVAL", NULL },
	{ "remove //", "= -1 EBUSY", NULL },
	{ "remove \"\"", "= -1 ENOENT", NULL },
	{ "mkdir /a/p 0755", "= 0", NULL },
	{ "deepen /a/p 1200", "= 1200", NULL },
	{ "trim len=-1 at=0", NOT_DONE, NULL },
	{ "freeze", NOT_DONE, NULL },
	{ "quota usr 0", NEEDS "quotas are counted by a mount that was made for them", NULL },
	{ "setquota usr 7 ihard=9", NEEDS "quotas are counted by a mount that was made for them",
	  NULL },
	{ "setproject $0 5 inherit=1",
	  NEEDS "projects are counted by a mount that was made for them", NULL },
	{ "swapon /a", NEEDS "swap belongs to the whole kernel, which a program must not change",
	  NULL },
	{ "umount", "= -1 EBUSY", NULL },
	{ "mount opts=ro", "= -1 EBUSY", NULL },
	{ "remount opts=ro", NOT_REMOUNTED "EINVAL", NOT_REMOUNTED "EPERM" },
	{ "remount", NOT_REMOUNTED "EINVAL", NOT_REMOUNTED "EPERM" },
	{ "remount opts=sync", NO_MOUNTER, NULL },
	{ "crash", NEEDS "a program cannot cut the power", NULL },
	{ "chcwd /", "= 0", NULL },
	{ "remove /a", "= 0", NULL },
	{ "readdir /", "= 0", NULL },
};
#define N_STEPS (sizeof(steps) / sizeof(steps[0]))

/* ---- Helpers ---- */

static struct as_seq *parse_steps(void)
{
	struct as_buf text = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	for (size_t i = 0; i < N_STEPS; i++)
		as_buf_addf(&text, "%s\n", steps[i].line);
	if (as_parse_text("steps", as_buf_str(&text), text.len, &seq, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&text);
	return seq;
}

/* Runs a command line of up to 15 words to its end; returns its exit status, output in *out. */
static int run(struct as_buf *out, const char *words[])
{
	struct as_spawn spawn = { .argv = (char *const *)words,
				  .deadline_ms = 120000,
				  .output = out };
	struct as_ended ended;
	struct as_err err = { 0 };

	if (as_spawn_run(&spawn, &ended, &err))
		fail_msg("%s", err.msg);
	return ended.how == AS_END_EXIT ? ended.status : -1;
}

static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static unsigned turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* Writes the program and compiles it with a compiler that must have nothing to say. */
static void compile_plan(const struct as_seq *seq, const struct as_emit_plan *plan, const char *cc,
			 bool only_check)
{
	struct as_buf text = { 0 }, said = { 0 };
	struct as_err err = { 0 };
	const char *source = in_folder("w.c"), *program = only_check ? "/dev/null" : in_folder("w");

	as_emit_c_plan(seq, plan, &text);
	assert_int_equal(as_out_save(source, &text, &err), 0);
	if (run(&said, (const char *[]){ cc, "-Wall", "-Werror", only_check ? "-S" : "-O1", source,
					 "-o", program, NULL }) ||
	    said.len)
		fail_msg("%s: %s", cc, as_buf_str(&said));
	as_buf_free(&text);
	as_buf_free(&said);
}

static void compile(const struct as_seq *seq, const struct as_outcome *expected, const char *cc,
		    bool only_check)
{
	compile_plan(seq, &(struct as_emit_plan){ .expected = expected }, cc, only_check);
}

static const char *fresh_directory(const char *name)
{
	const char *path = in_folder(name);

	assert_int_equal(mkdir(path, 0755), 0);
	return path;
}

static bool can_confine(void)
{
	return geteuid() == 0;
}

/* Each line of what the program printed against the table. */
static void compare_with_steps(const char *said)
{
	for (size_t i = 0; i < N_STEPS; i++) {
		const char *end = strchr(said, '\n');
		struct as_buf line = { 0 }, want = { 0 }, other = { 0 };

		assert_non_null(end);
		as_buf_add(&line, said, (size_t)(end - said));
		as_buf_addf(&want, "%s %s", steps[i].line, steps[i].want);
		as_buf_addf(&other, "%s %s", steps[i].line,
			    steps[i].or_else ? steps[i].or_else : "");
		if (!steps[i].or_else || strcmp(line.data, other.data))
			assert_string_equal(line.data, want.data);
		as_buf_free(&line);
		as_buf_free(&want);
		as_buf_free(&other);
		said = end + 1;
	}
	assert_string_equal(said, "");
}

/* ---- Tests ---- */

static void test_every_operation_is_here(void **state)
{
	struct as_seq *seq = parse_steps();
	bool seen[AS_OP_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < seq->n; i++)
		seen[seq->ops[i].code] = true;
	for (int code = 0; code < AS_OP_COUNT; code++) {
		if (!seen[code])
			fail_msg("no step with %s", as_op_table[code].name);
	}
	as_seq_free(seq);
}

static void run_with(const char *cc, const char *directory, const char *option)
{
	struct as_seq *seq = parse_steps();
	struct as_buf said = { 0 };

	compile(seq, NULL, cc, false);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory(directory),
						      option, NULL }),
			 125);
	compare_with_steps(as_buf_str(&said));
	as_buf_free(&said);
	as_seq_free(seq);
}

static void test_runs(void **state)
{
	(void)state;
	if (!can_confine())
		skip_because("needs root: chroot");
	run_with("gcc", "run-gcc", NULL);
}

static void test_runs_unconfined(void **state)
{
	(void)state;
	if (!as_spawn_which("clang", (char[256]){ 0 }, 256))
		skip_because("clang is not installed (package clang)");
	run_with("clang", "run-clang", "--unconfined");
}

/* As an ordinary user: confined by a user namespace, or refused in words. */
static void test_ordinary_user(void **state)
{
	struct as_seq *seq = parse_steps();
	struct as_buf said = { 0 };
	const char *directory;
	int status;

	(void)state;
	if (geteuid() != 0 || !as_spawn_which("setpriv", (char[256]){ 0 }, 256))
		skip_because("needs root and setpriv, to become someone else");
	compile(seq, NULL, "cc", false);
	directory = fresh_directory("run-user");
	assert_int_equal(chown(directory, 65534, 65534), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	status = run(&said, (const char *[]){ "setpriv", "--reuid=65534", "--regid=65534",
					      "--clear-groups", in_folder("w"), directory, NULL });
	if (status == 125) {
		compare_with_steps(as_buf_str(&said));
	} else {
		assert_int_equal(status, 2);
		assert_non_null(strstr(as_buf_str(&said), "cannot confine myself"));
		assert_non_null(strstr(as_buf_str(&said), "--unconfined"));
	}
	as_buf_free(&said);
	as_seq_free(seq);
}

static void test_wrong_use(void **state)
{
	struct as_seq *seq = as_seq_new();
	struct as_buf said = { 0 };

	(void)state;
	compile(seq, NULL, "cc", false); /* no operations at all */
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), NULL }), 2);
	assert_non_null(strstr(as_buf_str(&said), "DIRECTORY [--unconfined]"));
	as_buf_clear(&said);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), folder, "--what", NULL }), 2);
	assert_non_null(strstr(as_buf_str(&said), "usage: "));
	as_buf_clear(&said);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), in_folder("none"), NULL }),
			 2);
	assert_non_null(strstr(as_buf_str(&said), "No such file or directory"));
	as_buf_free(&said);
	as_seq_free(seq);
}

/* What the last operation hands over, and something else: in a run of bytes, after all runs, in a
 * text, in names, in attributes. */
static const struct {
	const char *last;
	struct as_handed right, wrong;
	struct as_handed_run right_run[2], wrong_run[2];
	const char *right_text, *wrong_text;
	const char *says;
} hands[] = {
	{ "pread $0 len=100 at=3990",
	  { .payload = AS_PAYLOAD_BYTES, .len = 100, .off = 3990, .n_runs = 2 },
	  { .payload = AS_PAYLOAD_BYTES, .len = 100, .off = 3990, .n_runs = 2 },
	  { { 0, 10, 3, 3990 }, { 60, 40, 4, 4050 } },
	  { { 0, 10, 3, 3990 }, { 60, 40, 4, 4051 } },
	  NULL,
	  NULL,
	  "op 7: expected 0x.. at offset 4050, got 0x" },
	{ "pread $0 len=100 at=3990",
	  { .payload = AS_PAYLOAD_BYTES, .len = 100, .off = 3990, .n_runs = 2 },
	  { .payload = AS_PAYLOAD_BYTES, .len = 100, .off = 3990, .n_runs = 1 },
	  { { 0, 10, 3, 3990 }, { 60, 40, 4, 4050 } },
	  { { 0, 10, 3, 3990 } },
	  NULL,
	  NULL,
	  "op 7: expected 0x00 at offset 4050, got 0x" },
	{ "readlink /a/l",
	  { .payload = AS_PAYLOAD_BYTES, .is_text = true, .len = 4 },
	  { .payload = AS_PAYLOAD_BYTES, .is_text = true, .len = 4 },
	  .right_text = "a\"\nb",
	  .wrong_text = "a\"\nc",
	  .says = "op 7: expected \"a\\042\\012c\", got \"a\\042\\012b\"" },
	{ "readdir /a",
	  { .payload = AS_PAYLOAD_NAMES, .typed = true },
	  { .payload = AS_PAYLOAD_NAMES, .typed = true },
	  .right_text = "-f\0ll",
	  .wrong_text = "-f\0lk",
	  .says = "op 7: expected \"k (symbolic link)\", got \"l (symbolic link)\"" },
	{ "stat /a/f",
	  { .payload = AS_PAYLOAD_STAT, .st = { S_IFREG, 0640, -1, -1, 1, 4100, -1 } },
	  { .payload = AS_PAYLOAD_STAT, .st = { S_IFREG, 0644, -1, -1, 1, 4100, -1 } },
	  .says = "op 7: expected mode 0644, got 0640" },
	{ "fstat $0",
	  { .payload = AS_PAYLOAD_STAT, .st = { S_IFREG, -1, -1, -1, -1, 4100, -1 } },
	  { .payload = AS_PAYLOAD_STAT, .st = { S_IFREG, -1, -1, -1, -1, 4101, -1 } },
	  .says = "op 7: expected size 4101, got 4100" },
};

/* As the model would say it: `text` ends as a string does, and may have NULs in it. */
static struct as_handed handed_of(const struct as_handed *told, const struct as_handed_run *run,
				  const char *text)
{
	struct as_handed made = *told;
	size_t n = made.n_runs;

	made.n_runs = 0;
	for (size_t i = 0; i < n; i++)
		as_handed_run(&made, run[i].at, run[i].len, run[i].pattern, run[i].from);
	if (text && told->payload == AS_PAYLOAD_NAMES)
		as_buf_add(&made.text, text, 6);
	else if (text)
		as_buf_add(&made.text, text, told->len);
	return made;
}

/* 0: as expected; 1: not, and what it said. */
static int run_handed(const char *last, struct as_handed told, struct as_buf *said)
{
	static const char text[] =
		"mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0640\n"
		"pwrite $0 len=4000 at=0 fill=3\npwrite $0 len=50 at=4050 fill=4\n"
		"symlink \"a\\\"\\nb\" /a/l\nsync\n";
	enum as_emit_how how[7];
	struct as_buf all = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };
	static int turn;
	char name[32];
	int status;

	as_buf_addf(&all, "%s%s\n", text, last);
	assert_int_equal(as_parse_text("t", all.data, all.len, &seq, &err), 0);
	for (int i = 0; i < 7; i++)
		how[i] = AS_EMIT_SUCCESS;
	compile_plan(seq,
		     &(struct as_emit_plan){ .how = how, .told = &told, .told_at = seq->n - 1 },
		     "cc", false);
	snprintf(name, sizeof(name), "handed-%d", turn++);
	as_buf_clear(said);
	status = run(said, (const char *[]){ in_folder("w"), fresh_directory(name), "--unconfined",
					     NULL });
	as_handed_free(&told);
	as_buf_free(&all);
	as_seq_free(seq);
	return status;
}

static void test_handed_over(void **state)
{
	struct as_buf said = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(hands) / sizeof(hands[0]); i++) {
		const char *says = hands[i].says, *at;

		if (run_handed(hands[i].last,
			       handed_of(&hands[i].right, hands[i].right_run, hands[i].right_text),
			       &said))
			fail_msg("%s", as_buf_str(&said));
		assert_int_equal(run_handed(hands[i].last,
					    handed_of(&hands[i].wrong, hands[i].wrong_run,
						      hands[i].wrong_text),
					    &said),
				 1);
		at = strstr(as_buf_str(&said), "op 7: ");
		assert_non_null(at);
		/* A dot is any character. */
		for (size_t k = 0; says[k]; k++)
			if (says[k] != '.' && says[k] != at[k])
				fail_msg("%s, not %s", at, says);
	}
	as_buf_free(&said);
}

/* With the outcomes given, the program tells right from wrong. */
static void test_expected(void **state)
{
	static const char text[] = "mkdir /x 0755\nrmdir /y\nenlarge /x 3\nremove /x\ncrash\n";
	struct as_outcome expected[5] = {
		{ .ret = 0 },
		{ .ret = -1, .err = ENOENT },
		{ .ret = 3, .done = 3 },
		{ .ret = 0, .done = 4 },
		{ .ret = 1000 /* needs assay */ },
	};
	struct as_seq *seq = NULL;
	struct as_buf said = { 0 };
	struct as_err err = { 0 };

	(void)state;
	assert_int_equal(as_parse_text("t", text, sizeof(text) - 1, &seq, &err), 0);
	compile(seq, expected, "cc", false);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("right"),
						      "--unconfined", NULL }),
			 125);
	assert_string_equal(as_buf_str(&said), "mkdir /x 0755 = 0\nrmdir /y = -1 ENOENT\n"
					       "enlarge /x 3 = 3\nremove /x = 0\n"
					       "crash " NEEDS "a program cannot cut the power\n");
	as_buf_clear(&said);
	expected[0] = (struct as_outcome){ .ret = -1, .err = ENOSPC };
	expected[1] = (struct as_outcome){ .ret = 0 };
	expected[2] = (struct as_outcome){ .ret = -1, .err = ENOSPC, .done = 2 };
	expected[3].done = 3;
	compile(seq, expected, "cc", false);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("wrong"),
						      "--unconfined", NULL }),
			 1);
	assert_string_equal(as_buf_str(&said),
			    "mkdir /x 0755 = 0\nop 1: expected -1 ENOSPC, got 0\n"
			    "rmdir /y = -1 ENOENT\nop 2: expected 0, got -1 ENOENT\n"
			    "enlarge /x 3 = 3\nop 3: expected -1 ENOSPC done=2, got 3\n"
			    "remove /x = 0\n"
			    "op 4: expected 0, got 0 (done: expected 3, got 4)\n"
			    "crash " NEEDS "a program cannot cut the power\n");
	as_buf_free(&said);
	as_seq_free(seq);
}

/* A mount is turned read-only and back; what is no mount is not, and then nothing is compared. */
/* What SEEK_DATA and SEEK_HOLE find is compared with what is in the file: data from 5000 on. */
static void test_sought(void **state)
{
	static const char liar[] =
		"#define _GNU_SOURCE\n#include <errno.h>\n#include <stdlib.h>\n"
		"#include <unistd.h>\n"
		"off_t lseek(int fd, off_t off, int whence)\n{\n\t(void)fd;\n\t(void)off;\n"
		"\tif (whence < SEEK_DATA)\n\t\treturn 0;\n\terrno = ENXIO;\n"
		"\treturn atoll(getenv(\"LIE\"));\n}\n";
	static const struct {
		const char *how, *answer;
		int exit;
		const char *says;
	} rows[] = {
		{ "SEEK_DATA", "5000", 0, NULL },
		{ "SEEK_DATA", "4096", 0, NULL },
		{ "SEEK_DATA", "5001", 1, "op 4: there is data at 5000\n" },
		{ "SEEK_DATA", "-1", 1, "op 4: there is data at 5000\n" },
		{ "SEEK_DATA", "12288", 1, "op 4: the file has 9000 bytes\n" },
		{ "SEEK_HOLE", "0", 0, NULL },
		{ "SEEK_HOLE", "5050", 1, "op 4: there is data at 5050\n" },
		{ "SEEK_HOLE", "9000", 0, NULL },
	};
	const char *source = in_folder("liar.c"), *shared = in_folder("liar.so"), *directory;
	enum as_emit_how how[4] = { AS_EMIT_SUCCESS, AS_EMIT_SUCCESS, AS_EMIT_SUCCESS,
				    AS_EMIT_SOUGHT };
	struct as_buf text = { 0 }, said = { 0 };
	char preload[300], lie[64], name[16];

	(void)state;
	as_buf_adds(&text, liar);
	assert_int_equal(as_out_save(source, &text, NULL), 0);
	assert_int_equal(run(&said, (const char *[]){ "cc", "-shared", "-fPIC", source, "-o",
						      shared, NULL }),
			 0);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", shared);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_seq *seq;

		as_buf_clear(&text);
		as_buf_addf(&text,
			    "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=100 at=5000 fill=1\n"
			    "ftruncate $0 9000\nlseek $0 0 %s\n",
			    rows[i].how);
		assert_int_equal(as_parse_text("test", as_buf_str(&text), text.len, &seq, NULL), 0);
		compile_plan(seq, &(struct as_emit_plan){ .how = how }, "cc", false);
		snprintf(name, sizeof(name), "sought%zu", i);
		directory = fresh_directory(name);
		snprintf(lie, sizeof(lie), "LIE=%s", rows[i].answer);
		as_buf_clear(&said);
		assert_int_equal(run(&said, (const char *[]){ "env", preload, lie, in_folder("w"),
							      directory, NULL }),
				 rows[i].exit);
		if (rows[i].says && !strstr(as_buf_str(&said), rows[i].says))
			fail_msg("row %zu: %s", i, as_buf_str(&said));
		as_seq_free(seq);
	}
	as_buf_free(&text);
	as_buf_free(&said);
}

static void compile_text(const char *text, const struct as_outcome *expected)
{
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	assert_int_equal(as_parse_text("t", text, strlen(text), &seq, &err), 0);
	compile(seq, expected, "cc", false);
	as_seq_free(seq);
}

/* Runs the program by a script that mounts something for it: $0 is the program, $1 the folder. */
static void run_mounted(struct as_buf *said, const char *script, const char *name)
{
	assert_int_equal(run(said, (const char *[]){ "unshare", "-m", "sh", "-c", script,
						     in_folder("w"), fresh_directory(name), NULL }),
			 0);
}

static void test_remount(void **state)
{
	static const char text[] = "remount opts=rw,ro\nmkdir /x 0755\nremount\nmkdir /x 0755\n";
	static const char mounted[] = "mount -t tmpfs none \"$1\" && exec \"$0\" \"$1\"";
	const struct as_outcome expected[] = { { 0 }, { .ret = -1, .err = EROFS }, { 0 }, { 0 } };
	struct as_buf said = { 0 };

	(void)state;
	compile_text(text, expected);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("plain"),
						      "--unconfined", NULL }),
			 3);
	assert_non_null(strstr(as_buf_str(&said), "mkdir /x 0755 = 0\n"));
	assert_null(strstr(as_buf_str(&said), "expected"));
	as_buf_clear(&said);
	if (!can_confine())
		skip_because("needs root: mount");
	run_mounted(&said, mounted, "mounted");
	assert_string_equal(as_buf_str(&said), "remount opts=rw,ro = 0\nmkdir /x 0755 = -1 EROFS\n"
					       "remount = 0\nmkdir /x 0755 = 0\n");
	as_buf_free(&said);
}

/* The directory is unmounted and mounted by the program of --mounter, and only if nothing is
 * open. What is asked for in between is not done elsewhere. */
static void test_mounted_again(void **state)
{
	static const char text[] = "create /a 0644\n$0 = open /a O_RDWR\numount\nclose $0\n"
				   "umount\nmkdir /b 0755\nmount opts=ro\nstat /a\nmkdir /b 0755\n";
	static const char script[] =
		"mkfs.ext4 -q -F \"$1.img\" 4M >/dev/null 2>&1 && "
		"mount -o loop \"$1.img\" \"$1\" && "
		"printf '#!/bin/sh\\n[ $1 = umount ] && exec umount %s\\nexec mount -o \"loop,$2\" "
		"%s.img %s' \"$1\" \"$1\" \"$1\" >\"$1.sh\" && chmod 755 \"$1.sh\" && "
		"exec \"$0\" \"$1\" --mounter \"$1.sh\"";
	static const char *const says[] = { "umount = -1 EBUSY\n", "\numount = 0\n",
					    "mkdir /b 0755 skipped\n", "mount opts=ro ",
					    "stat /a = 0" };
	struct as_buf said = { 0 };

	(void)state;
	compile_text(text, NULL);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("alone"),
						      "--unconfined", NULL }),
			 0);
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		assert_non_null(strstr(as_buf_str(&said), says[i]));
	assert_non_null(strstr(as_buf_str(&said), "\nmkdir /b 0755 = 0\n"));
	as_buf_clear(&said);
	if (!can_confine() || access("/dev/loop-control", W_OK))
		skip_because("needs root and loop devices: mount");
	run_mounted(&said, script, "again");
	for (size_t i = 0; i < sizeof(says) / sizeof(says[0]); i++)
		assert_non_null(strstr(as_buf_str(&said), says[i]));
	assert_non_null(strstr(as_buf_str(&said), "mount opts=ro = 0\n"));
	assert_non_null(strstr(as_buf_str(&said), "\nmkdir /b 0755 = -1 EROFS\n"));
	as_buf_free(&said);
}

/* A remount with more options says those of the mount again; without a mounter, which knows them,
 * it is left out, and what follows is not compared. */
static void test_remount_options(void **state)
{
	static const char text[] = "remount opts=ro,noatime\nmkdir /x 0755\n"
				   "remount opts=data=no\nremount opts=data=writeback\n"
				   "remount opts=sync\nmkdir /x 0755\n";
	static const char script[] =
		"mkfs.ext4 -q -F \"$1.img\" 4M >/dev/null 2>&1 && "
		"mount -o loop,data=writeback \"$1.img\" \"$1\" && "
		"printf '#!/bin/sh\\n[ $1 = options ] && echo data=writeback' >\"$1.sh\" && "
		"chmod 755 \"$1.sh\" && exec \"$0\" \"$1\" --mounter \"$1.sh\"";
	const struct as_outcome expected[] = {
		{ 0 }, { .ret = -1, .err = EROFS }, { .ret = -1, .err = EINVAL }, { 0 }, { 0 },
		{ 0 }
	};
	struct as_buf said = { 0 };

	(void)state;
	compile_text(text, expected);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("bare"),
						      "--unconfined", NULL }),
			 125);
	assert_non_null(strstr(as_buf_str(&said), "remount opts=ro,noatime " NO_MOUNTER "\n"));
	assert_null(strstr(as_buf_str(&said), "expected"));
	as_buf_clear(&said);
	if (!can_confine() || access("/dev/loop-control", W_OK))
		skip_because("needs root and loop devices: mount");
	run_mounted(&said, script, "options");
	assert_string_equal(as_buf_str(&said),
			    "remount opts=ro,noatime = 0\nmkdir /x 0755 = -1 EROFS\n"
			    "remount opts=data=no = -1 EINVAL\nremount opts=data=writeback = 0\n"
			    "remount opts=sync = 0\nmkdir /x 0755 = 0\n");
	as_buf_free(&said);
}

/* What is done to a whole mount is done to that of the directory, and its answer is not compared:
 * whether a disk can discard is no matter of the file system. */
static void test_whole(void **state)
{
	static const char text[] = "freeze\ntrim len=-1 at=0\nmkdir /x 0755\n";
	static const char mounted[] = "mkfs.ext4 -q -F \"$1.img\" 4M >/dev/null 2>&1 && "
				      "mount -o loop \"$1.img\" \"$1\" && exec \"$0\" \"$1\"";
	static const char none[] = "mount -t tmpfs none \"$1\" && exec \"$0\" \"$1\"";
	const struct as_outcome expected[] = { { 0 }, { 0 }, { 0 } };
	struct as_buf said = { 0 };

	(void)state;
	compile_text(text, expected);
	if (!can_confine())
		skip_because("needs root: mount");
	run_mounted(&said, none, "none");
	assert_string_equal(as_buf_str(&said), "freeze = -1 EOPNOTSUPP\n"
					       "trim len=-1 at=0 = -1 ENOTTY\nmkdir /x 0755 = 0\n");
	as_buf_clear(&said);
	if (access("/dev/loop-control", W_OK))
		skip_because("needs loop devices");
	run_mounted(&said, mounted, "whole");
	assert_string_equal(as_buf_str(&said),
			    "freeze = 0\ntrim len=-1 at=0 = 0\nmkdir /x 0755 = 0\n");
	as_buf_free(&said);
}

/* The program writes the bytes that the format promises. */
static void test_bytes(void **state)
{
	static const char text[] =
		"$0 = open /f O_RDWR|O_CREAT|O_APPEND 0644\nwrite $0 len=5 fill=1\n"
		"write $0 len=7000 fill=9\n$1 = open /f O_RDWR\n"
		"mmap_write $1 len=4001 at=999 fill=12345678901234567890\n"
		"pwrite $1 len=3 at=2 fill=0\n";
	char want[7005];
	struct as_buf said = { 0 }, file = { 0 };
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	(void)state;
	as_pattern_fill(1, 0, want, 5);
	as_pattern_fill(9, 5, want + 5, 7000);
	as_pattern_fill(12345678901234567890u, 999, want + 999, 4001);
	as_pattern_fill(0, 2, want + 2, 3);
	assert_int_equal(as_parse_text("t", text, sizeof(text) - 1, &seq, &err), 0);
	compile(seq, NULL, "cc", false);
	assert_int_equal(run(&said, (const char *[]){ in_folder("w"), fresh_directory("bytes"),
						      "--unconfined", NULL }),
			 0);
	assert_int_equal(as_buf_read_file(&file, in_folder("bytes/f"), 1 << 20, &err), 0);
	assert_int_equal(file.len, sizeof(want));
	assert_memory_equal(file.data, want, sizeof(want));
	as_buf_free(&file);
	as_buf_free(&said);
	as_seq_free(seq);
}

/* Every operation brings the helpers it needs and no others: -Wall names those not used. */
static void test_each_alone(void **state)
{
	struct as_seq *all = parse_steps();
	bool seen[AS_OP_COUNT] = { false };

	(void)state;
	for (size_t i = 0; i < all->n; i++) {
		struct as_seq *one = as_seq_new();
		struct as_outcome expected = { 0 };
		enum as_opcode code = all->ops[i].code;

		as_seq_add(one, &all->ops[i]);
		if (!seen[code])
			compile(one, code % 2 ? &expected : NULL, "gcc", true);
		seen[code] = true;
		as_seq_free(one);
	}
	as_seq_free(all);
}

/* Whatever the strings and numbers are, it is C. Long enough to be cut into parts. */
static void test_random_compiles(void **state)
{
	struct as_chooser *chooser = as_chooser_seeded(7);
	struct as_seq *seq = t_random_seq(as_chooser_choice(chooser), 2500);
	struct as_outcome *expected = as_xcalloc(seq->n, sizeof(*expected));

	(void)state;
	for (size_t i = 0; i < seq->n; i++) {
		expected[i].ret = i % 3 ? -1 : INT64_MAX - (int64_t)i;
		expected[i].err = i % 3 ? (int)(i % 200) : 0;
	}
	compile(seq, expected, "gcc", true);
	if (as_spawn_which("clang", (char[256]){ 0 }, 256))
		compile(seq, expected, "clang", true);
	free(expected);
	as_seq_free(seq);
	as_chooser_free(chooser);
}

static int make_folder(void **state)
{
	(void)state;
	folder = t_tmpdir_in("/tmp"); /* an ordinary user must reach it */
	return folder ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_operation_is_here),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_runs_unconfined),
		cmocka_unit_test(test_ordinary_user),
		cmocka_unit_test(test_wrong_use),
		cmocka_unit_test(test_handed_over),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_remount),
		cmocka_unit_test(test_remount_options),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_mounted_again),
		cmocka_unit_test(test_sought),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_each_alone),
		cmocka_unit_test(test_random_compiles),
	};

	return cmocka_run_group_tests_name("work emit_c", tests, make_folder, NULL);
}
