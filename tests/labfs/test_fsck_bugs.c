/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fsck_bugs: each seeded bug of the checker (50 to 58; 59 needs a power cut and is in
 * test_fsck_journal) shows itself on a disk made for it, and without the bug the same disk is
 * repaired as it should be. The checker runs in a child, because some of them make it crash or
 * hang.
 */
#include "tests/lib/lab_sample.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* How a run went, as the exit status of the child; a sanitizer's is none of these. */
enum verdict {
	RIGHT = 40,
	WRONG_EXIT, /* not AS_FSCK_REPAIRED */
	WRONG_TWICE, /* a second run finds something */
	WRONG_TREE, /* sound, but not the tree that it should be */
	NOT_SOUND,
	HANGS,
	CRASHES,
};

static void root_dot(struct img *img)
{
	t_sample_rec(img, I_ROOT, ".")->ino = 9;
}

static void loop(struct img *img)
{
	t_sample_rec(img, I_ROOT, "a")->ino = 0;
	t_sample_rec(img, I_C, "deep")->ino = I_A;
}

static void double_range(struct img *img)
{
	t_img_inode(img, I_SPARSE)->ptr[LAB_DIRECT + 1] = 0xfffffff0;
	t_img_seal_inode(img, I_SPARSE);
}

static void lost_dir(struct img *img)
{
	t_sample_rec(img, I_A, "b")->ino = 0;
}

static void shared(struct img *img)
{
	t_img_inode(img, I_F)->ptr[1] = t_img_inode(img, I_BIG)->ptr[0];
	t_img_seal_inode(img, I_F);
}

static void bitmap(struct img *img)
{
	memset(t_img_block(img, t_img_super(img)->inode_bitmap_start), 0, 8);
}

static void backup_and_bitmap(struct img *img)
{
	memset(img->data, 0, LAB_BLOCK);
	memset(t_img_block(img, 1), 0, 8);
}

static void rec_len(struct img *img)
{
	t_sample_rec(img, I_ROOT, "big")->rec_len = 0;
}

static void name_taken(struct img *img)
{
	char name[16];

	snprintf(name, sizeof(name), "#%d", I_F);
	t_img_entry(img, I_LOST, name, I_HARD);
	t_img_inode(img, I_HARD)->nlink++;
	t_img_seal_inode(img, I_HARD);
	t_sample_rec(img, I_A, "f")->ino = 0;
}

static const struct {
	unsigned bug;
	void (*damage)(struct img *img);
	enum as_fsck_mode mode;
	const char *diff; /* of a right repair */
	enum verdict with; /* the bug */
} rows[] = {
	{ 50, root_dot, AS_FSCK_FULL, "", WRONG_TREE },
	{ 51, loop, AS_FSCK_FULL, " 5 gone, 5 new, 0 changed", HANGS },
	{ 52, double_range, AS_FSCK_FULL, " ~/sparse", CRASHES },
	{ 53, lost_dir, AS_FSCK_FULL,
	  " -/a/b -/a/b/c -/a/b/c/deep +/lost+found/#5 +/lost+found/#5/c +/lost+found/#5/c/deep",
	  WRONG_TWICE },
	{ 54, shared, AS_FSCK_FULL, " ~/a/f", WRONG_TWICE },
	{ 55, bitmap, AS_FSCK_FULL, "", WRONG_EXIT },
	{ 56, backup_and_bitmap, AS_FSCK_DEFAULT, "", WRONG_TWICE },
	{ 57, rec_len, AS_FSCK_FULL, "", WRONG_TREE },
	{ 58, name_taken, AS_FSCK_FULL, " -/a/f +/lost+found/#4 +/lost+found/#4.1", WRONG_TWICE },
};

static enum verdict judge(size_t row, const char *opts)
{
	struct tree *sound = malloc(sizeof(*sound)), *tree = malloc(sizeof(*tree));
	struct img img = t_sample_build(malloc(SAMPLE_BYTES));
	struct sample_run first, second;
	char diff[512];

	t_tree_walk(sound, &img);
	rows[row].damage(&img);
	t_sample_check(&img, rows[row].mode, opts, false, &first);
	if (first.code != AS_FSCK_REPAIRED)
		return WRONG_EXIT;
	t_tree_walk(tree, &img);
	t_tree_diff(sound, tree, diff, sizeof(diff));
	t_sample_check(&img, AS_FSCK_FULL, "", false, &second);
	if (second.code)
		return WRONG_TWICE;
	if (tree->wrong)
		return NOT_SOUND;
	return strcmp(diff, rows[row].diff) ? WRONG_TREE : RIGHT;
}

static enum verdict judge_in_child(size_t row, const char *opts)
{
	struct rlimit limit = { 1, 2 };
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CPU, &limit);
		limit = (struct rlimit){ 0, 0 };
		setrlimit(RLIMIT_CORE, &limit);
		signal(SIGSEGV, SIG_DFL);
		signal(SIGXCPU, SIG_DFL);
		/* A sanitizer's report is expected here. */
		if (*opts && !freopen("/dev/null", "w", stderr))
			_exit(1);
		_exit((int)judge(row, opts));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? HANGS : CRASHES;
	return WEXITSTATUS(status) >= RIGHT && WEXITSTATUS(status) < CRASHES
		       ? (enum verdict)WEXITSTATUS(status)
		       : CRASHES;
}

static void test_bugs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum verdict without, with;
		char opts[16];

		snprintf(opts, sizeof(opts), "bug=%u", rows[i].bug);
		without = judge_in_child(i, "");
		with = judge_in_child(i, opts);
		if (without != RIGHT || with != rows[i].with)
			fail_msg("bug %u: without it %d (want %d), with it %d (want %d)",
				 rows[i].bug, without, RIGHT, with, rows[i].with);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bugs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
