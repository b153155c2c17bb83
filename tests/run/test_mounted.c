/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole runs on file systems of the running kernel: the examples and the cases written for labfs
 * agree with the model to the last answer; power cuts, faults, options; and what is wrong is
 * found: a model that was told otherwise, a disk that its checker does not like.
 */
#include "tests/lib/mounted.h"

#include "run/run.h"
#include "work/parse.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>

static const char *const types[] = { "ext2", "ext3", "ext4", "xfs", "btrfs" };

#define NTYPES (sizeof(types) / sizeof(types[0]))

/* Keeps the last finding. */
struct catcher {
	struct as_sink sink;
	unsigned n;
	char summary[512];
	enum as_finding_kind kind;
	bool has_disk;
};

static void caught(struct as_sink *sink, const struct as_finding *finding)
{
	struct catcher *c = (struct catcher *)sink;

	c->n++;
	c->kind = finding->kind;
	c->has_disk = finding->disk;
	snprintf(c->summary, sizeof(c->summary), "%s", finding->summary);
}

static struct as_run_result run_text(const char *spec, const char *text, const char *name,
				     const struct as_run_options *options, struct catcher *c)
{
	struct as_run_result result = { 0 };
	struct as_runner *runner = NULL;
	struct as_target *target = NULL;
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	*c = (struct catcher){ .sink.finding = caught };
	if (as_parse_text(name, text, strlen(text), &seq, &err) ||
	    as_target_open(spec, &target, &err) ||
	    as_runner_new(target, options, &c->sink, &runner, &err) ||
	    as_run_workload(runner, seq, name, &result, &err))
		fail_msg("%s on %s: %s", name, spec, err.msg);
	as_runner_free(runner);
	as_target_free(target);
	as_seq_free(seq);
	return result;
}

/* ---- Agreement ----------------------------------------------------------------------------- */

static unsigned count_ops(const struct as_seq *seq, enum as_opcode code)
{
	unsigned n = 0;

	for (size_t i = 0; i < seq->n; i++)
		n += seq->ops[i].code == code;
	return n;
}

static void test_agrees(void **state)
{
	const struct as_run_options options = { .check_every_op = true };
	struct catcher c = { .sink.finding = caught };
	struct as_target *target;
	struct as_runner *runner;
	struct as_err err = { 0 };
	glob_t files;

	t_need_host(*state);
	assert_int_equal(glob("examples/smoke.txt", 0, NULL, &files), 0);
	assert_int_equal(glob("labfs/cases/*.txt", GLOB_APPEND, NULL, &files), 0);
	assert_true(files.gl_pathc > 20);
	assert_int_equal(as_target_open(*state, &target, &err), 0);
	assert_int_equal(as_runner_new(target, &options, &c.sink, &runner, &err), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		struct as_run_result result;
		struct as_seq *seq;

		assert_int_equal(as_parse_file(files.gl_pathv[i], &seq, &err), 0);
		if (as_run_workload(runner, seq, files.gl_pathv[i], &result, &err))
			fail_msg("%s: %s", files.gl_pathv[i], err.msg);
		if (c.n)
			fail_msg("%s: %s", files.gl_pathv[i], c.summary);
		assert_int_equal(result.ops, seq->n);
		/* Nobody may take a file of the machine for swap space. */
		assert_int_equal(result.skipped, count_ops(seq, AS_OP_SWAPON));
		as_seq_free(seq);
	}
	as_runner_free(runner);
	as_target_free(target);
	globfree(&files);
}

/* ---- Mounting, cutting, failing ------------------------------------------------------------ */

#define LETTERS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_NAME LETTERS LETTERS LETTERS LETTERS LETTERS

static const struct {
	const char *name, *target, *text;
	unsigned ops, skipped;
} lives[] = {
	{ "nothing answers while unmounted", "ext4",
	  "umount\nmkdir /a 0755\numount\nmount\nmkdir /a 0755\n", 5, 0 },
	{ "open files keep it busy", "ext4",
	  "$0 = open /f O_RDWR|O_CREAT 0644\numount\nclose $0\numount\nmount\nstat /f\n", 6, 0 },
	{ "mount while mounted", "ext4", "mount\nmkdir /a 0755\n", 2, 0 },
	{ "cut after sync", "ext4",
	  "mkdir /a 0755\nchcwd /a\ncreate f 0600\nsync\ncrash\nstat /a/f\nreaddir /\n", 7, 0 },
	{ "cut with files open", "xfs",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nwrite $0 len=9000 fill=1\nsync\ncrash\nstat /f\n", 5,
	  0 },
	{ "cut after cut", "btrfs", "mkdir /a 0755\nsync\ncrash\ncrash\nreaddir /a\n", 5, 0 },
	{ "cut of what was not synced", "ext4", "mkdir /a 0755\ncrash\nmkdir /b 0755\n", 3, 0 },
	{ "the working directory outlives a remount", "ext4",
	  "mkdir /a 0755\nchcwd /a\nremount opts=noatime\ncreate f 0600\nstat /a/f\n", 5, 0 },
	{ "options of the target", "ext4:data=journal",
	  "create /f 0600\numount\nmount\nremount\nstat /f\n", 5, 0 },
	{ "options of a mount", "ext4",
	  "umount\nmount opts=data=writeback,noatime\ncreate /f 0600\n", 3, 0 },
	{ "options that nobody knows", "ext4",
	  "umount\nmount opts=no-such-option\nmount\ncreate /f 0600\n", 4, 0 },
	{ "what cannot be written to", "ext4", "remount opts=ro\ncreate /f 0600\n", 2, 0 },
	{ "devices, never opened", "ext4",
	  "mknod /c chr 0666 dev=1:3\n$0 = open /c O_RDWR\nstat /c\n", 3, 0 },
	{ "mapped pages", "xfs",
	  "$0 = open /f O_RDWR|O_CREAT 0644\nftruncate $0 65536\n"
	  "mmap_write $0 len=30000 at=5000 fill=7 flags=MS_SYNC\n"
	  "pread $0 len=65536 at=0\nclose $0\n",
	  5, 0 },
	/* What a look at its blocks holds open would not be free when all is removed. */
	{ "a file at the end of a long path", "ext4",
	  "mkdir /a 0755\nmkdir /a/" LONG_NAME " 0755\ncreate /a/" LONG_NAME "/" LONG_NAME
	  " 0644\n",
	  3, 0 },
	{ "a workload that ends unmounted", "ext4", "mkdir /a 0755\numount\n", 2, 0 },
};

static void test_lives(void **state)
{
	const struct as_run_options options = { 0 };

	(void)state;
	t_need_host("ext4");
	t_need_host("xfs");
	t_need_host("btrfs");
	for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
		struct catcher c;
		struct as_run_result result =
			run_text(lives[i].target, lives[i].text, lives[i].name, &options, &c);

		if (c.n)
			fail_msg("%s: %s", lives[i].name, c.summary);
		assert_int_equal(result.ops, lives[i].ops);
		assert_int_equal(result.skipped, lives[i].skipped);
	}
}

static const char *const faults[] = { "read:1:eio",   "read:5+:eio", "write:1:eio",
				      "write:3+:eio", "flush:2:eio", "write:2:drop" };

/* Whatever the disk does, the run comes to its end and blames nobody for it. */
static void test_faults(void **state)
{
	static const char text[] = "mkdir /a 0755\n$0 = open /a/f O_RDWR|O_CREAT 0644\n"
				   "write $0 len=100000 fill=1\nfsync $0\nclose $0\nsync\n"
				   "umount\nmount\nreaddir /a\ncrash\nreaddir /\n";

	t_need_host(*state);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct as_run_options options = { .faults = faults[i] };
		struct catcher c;

		run_text(*state, text, faults[i], &options, &c);
		if (c.n)
			fail_msg("%s on %s: %s", faults[i], (const char *)*state, c.summary);
	}
}

/* ---- Findings ------------------------------------------------------------------------------ */

static int corrupt_and_check(void *ctx)
{
	const struct as_fstype *type = as_fstype_find("ext4");
	struct as_medium *medium = t_fresh_medium(type, &t_child_err);
	unsigned char junk[1024];
	enum as_check_answer answer;
	struct as_buf output = { 0 };
	struct as_mount *m;

	(void)ctx;
	child_check(medium);
	child_ok(as_mount_new(type, medium, &m, &t_child_err));
	child_ok(as_mount_check(m, AS_CHECK_FULL, false, 20000, &answer, &output, &t_child_err));
	child_check(answer == AS_CHECK_CLEAN);
	/* The bitmaps and tables of the first group, after the superblock and its descriptors. */
	memset(junk, 0x77, sizeof(junk));
	as_mount_medium(m);
	for (uint64_t block = 3; block < 300; block++)
		child_check(!as_bd_write(as_medium_bd(medium), block * 1024, junk, sizeof(junk)));
	as_mount_release(m);
	child_ok(as_mount_check(m, AS_CHECK_FULL, false, 20000, &answer, &output, &t_child_err));
	child_check(answer != AS_CHECK_CLEAN);
	/* Kept, it is what the checker made of it. */
	child_ok(as_mount_check(m, AS_CHECK_FULL, true, 20000, &answer, &output, &t_child_err));
	child_check(answer == AS_CHECK_REPAIRED);
	child_ok(as_mount_check(m, AS_CHECK_FULL, false, 20000, &answer, &output, &t_child_err));
	child_check(answer == AS_CHECK_CLEAN);
	child_ok(as_mount_forget(m, &t_child_err));
	child_ok(as_mount_mount(m, "", ""));
	as_mount_free(m);
	as_medium_free(medium);
	as_buf_free(&output);
	return 0;
}

static void test_checker(void **state)
{
	(void)state;
	t_need_host("ext4");
	t_in_child(corrupt_and_check, NULL);
}

static const struct {
	const char *spec, *want;
	uint64_t size_bytes;
} refused[] = {
	{ "ext4", "too small", 1 << 20 },
	{ "xfs", "too small", 4 << 20 },
	{ "ext4:no-such-option", "cannot be mounted", 0 },
	{ "ubifs", "UBI", 0 },
};

static void test_refused(void **state)
{
	(void)state;
	t_need_host("ext4");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct as_run_options options = { .size_bytes = refused[i].size_bytes };
		struct as_runner *runner = NULL;
		struct as_target *target = NULL;
		struct as_err err = { 0 };
		int rc = as_target_open(refused[i].spec, &target, &err);

		if (!rc)
			rc = as_runner_new(target, &options, NULL, &runner, &err);
		assert_int_not_equal(rc, 0);
		if (!strstr(err.msg, refused[i].want))
			fail_msg("%s: %s", refused[i].spec, err.msg);
		as_target_free(target);
	}
}

/* Nobody but root, and one clear sentence. */
static int not_root(void *ctx)
{
	struct as_run_options options = { 0 };
	const struct passwd *nobody = getpwnam("nobody");
	struct as_runner *runner = NULL;
	struct as_target *target = NULL;

	(void)ctx;
	child_check(nobody && !setgid(nobody->pw_gid) && !setuid(nobody->pw_uid));
	child_ok(as_target_open("ext4", &target, &t_child_err));
	child_check(as_runner_new(target, &options, NULL, &runner, &t_child_err) == AS_ELACK);
	child_check(strstr(t_child_err.msg, "root"));
	as_target_free(target);
	return 0;
}

static void test_not_root(void **state)
{
	(void)state;
	if (geteuid())
		skip_because("becoming somebody else takes root's rights");
	t_in_child(not_root, NULL);
}

/* Mounted with grpid, new files get their directory's group, of which the model was not told: it
 * must object, and the finding brings the disk along. */
static void test_found(void **state)
{
	static const char text[] = "mkdir /d 0755\nchown /d 0 5\ncreate /d/f 0644\nstat /d/f\n";
	const struct as_run_options options = { 0 };
	struct catcher c;

	(void)state;
	t_need_host("ext4");
	run_text("ext4", text, "without grpid", &options, &c);
	assert_int_equal(c.n, 0);
	run_text("ext4:grpid", text, "with grpid", &options, &c);
	assert_int_equal(c.n, 1);
	assert_int_equal(c.kind, AS_FIND_DATA);
	assert_true(c.has_disk);
	assert_non_null(strstr(c.summary, "op 4"));
}

int main(void)
{
	static char names[2 * NTYPES][32];
	struct CMUnitTest tests[2 * NTYPES + 5];
	size_t n = 0;

	for (size_t i = 0; i < NTYPES; i++) {
		snprintf(names[n], sizeof(names[n]), "agrees: %s", types[i]);
		tests[n] = (struct CMUnitTest){ names[n], test_agrees, NULL, NULL,
						(void *)(uintptr_t)types[i] };
		n++;
		snprintf(names[n], sizeof(names[n]), "faults: %s", types[i]);
		tests[n] = (struct CMUnitTest){ names[n], test_faults, NULL, NULL,
						(void *)(uintptr_t)types[i] };
		n++;
	}
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_lives);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_checker);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_found);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_refused);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_not_root);
	return _cmocka_run_group_tests("mounted", tests, n, NULL, NULL);
}
