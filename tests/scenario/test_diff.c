/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparing what several file systems answered: answers by hand, and what is to be said of them. */
#include "tests/lib/skip.h"

#include "os/spawn.h"
#include "scenario/diff.h"
#include "work/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUBJECTS 4
#define OPS 6

static const struct as_traits posix = {
	.name = "posix",
	.features = ~(uint64_t)(AS_FEAT_UNPRIVILEGED | AS_FEAT_LIBRARY),
	.name_max = 255,
	.symlink_max = 4095,
	.size_max = INT64_MAX,
	.time_granularity_ns = 1,
};

/* One answer: what came, and what the model allows. */
struct answer {
	int64_t ret; /* negative: an errno */
	bool wrong; /* the model does not allow it */
	int may; /* an errno that it allows beside success and what came */
	uint32_t nlink; /* of a stat; 0: it is none */
	uint32_t mode;
	bool any; /* the value of a success is left open */
};

struct row {
	const char *name, *text;
	size_t n;
	struct answer ops[OPS][SUBJECTS]; /* by operation, by subject */
	uint64_t quirks[SUBJECTS];
	size_t fresh[SUBJECTS]; /* 0: the root alone */
	enum as_diff_answer want;
	size_t op, odd;
	const char *says; /* by the odd one; NULL: not asked */
	uint64_t documented, hints, undecided;
};

#define ALL_OK                       \
	{                            \
		{ 0 }, { 0 }, { 0 }, \
		{                    \
			0            \
		}                    \
	}

static const struct row rows[] = {
	{ .name = "all alike",
	  .text = "mkdir /a 0755\nmkdir /b 0755\n",
	  .n = 3,
	  .ops = { ALL_OK, ALL_OK },
	  .want = AS_DIFF_NONE },
	{ .name = "two, and one is wrong",
	  .text = "mkdir /a 0755\nrename /a /b\n",
	  .n = 2,
	  .ops = { ALL_OK, { { 0 }, { -EEXIST, .wrong = true } } },
	  .want = AS_DIFF_WRONG,
	  .op = 1,
	  .odd = 1,
	  .says = "returned -1 EEXIST" },
	{ .name = "two, and the first is wrong",
	  .text = "mkdir /a 0755\nrename /a /b\n",
	  .n = 2,
	  .ops = { ALL_OK, { { -EEXIST, .wrong = true }, { 0 } } },
	  .want = AS_DIFF_WRONG,
	  .op = 1,
	  .odd = 0,
	  .says = "returned -1 EEXIST" },
	{ .name = "all wrong alike: not for us",
	  .text = "mkdir /a 0755\n",
	  .n = 3,
	  .ops = { { { -EIO, .wrong = true }, { -EIO, .wrong = true }, { -EIO, .wrong = true } } },
	  .want = AS_DIFF_NONE },
	{ .name = "the model before the majority",
	  .text = "mkdir /a 0755\n",
	  .n = 3,
	  .ops = { { { -EIO, .wrong = true }, { -EIO, .wrong = true }, { 0 } } },
	  .want = AS_DIFF_WRONG,
	  .op = 0,
	  .odd = 0 },
	{ .name = "the odd one out",
	  .text = "unlink /a\nunlink /b\n",
	  .n = 4,
	  .ops = { ALL_OK,
		   { { -EISDIR, .may = EPERM },
		     { -EISDIR, .may = EPERM },
		     { -EPERM, .may = EISDIR },
		     { -EISDIR, .may = EPERM } } },
	  .want = AS_DIFF_ODD,
	  .op = 1,
	  .odd = 2,
	  .says = "returned -1 EPERM" },
	{ .name = "two of one mind and two of another",
	  .text = "unlink /a\n",
	  .n = 4,
	  .ops = { { { -EISDIR, .may = EPERM },
		     { -EPERM, .may = EISDIR },
		     { -EPERM, .may = EISDIR },
		     { -EISDIR, .may = EPERM } } },
	  .want = AS_DIFF_NONE,
	  .undecided = 1 },
	{ .name = "two, and both are allowed",
	  .text = "unlink /a\n",
	  .n = 2,
	  .ops = { { { -EISDIR, .may = EPERM }, { -EPERM, .may = EISDIR } } },
	  .want = AS_DIFF_NONE,
	  .undecided = 1 },
	{ .name = "what fstype.def knows of",
	  .text = "rename /a /b\n",
	  .n = 3,
	  .ops = { { { .ret = -ENOTEMPTY }, { .ret = -ENOTEMPTY }, { .ret = -EEXIST } } },
	  .want = AS_DIFF_NONE,
	  .documented = 1 },
	{ .name = "a full disk",
	  .text = "mkdir /a 0755\nmkdir /b 0755\n",
	  .n = 3,
	  .ops = { { { 0, .may = ENOSPC }, { 0, .may = ENOSPC }, { .ret = -ENOSPC } }, ALL_OK },
	  .want = AS_DIFF_NONE,
	  .documented = 1 },
	{ .name = "a hint",
	  .text = "lseek $0 0 SEEK_HOLE\n",
	  .n = 3,
	  .ops = { { { 4096, .any = true }, { 4096, .any = true }, { 8192, .any = true } } },
	  .want = AS_DIFF_NONE,
	  .hints = 1 },
	{ .name = "a hole that one calls data",
	  .text = "lseek $0 5 SEEK_DATA\n",
	  .n = 3,
	  .ops = { { { -ENXIO, .may = ENOSPC }, { -ENXIO, .may = ENOSPC }, { 5, .may = ENXIO } } },
	  .want = AS_DIFF_NONE,
	  .hints = 1 },
	{ .name = "O_DIRECT that is not aligned",
	  .text = "$0 = open /a O_RDWR|O_CREAT|O_DIRECT 0644\npwrite $0 len=5 at=3\n",
	  .n = 3,
	  .ops = { ALL_OK,
		   { { 5, .may = EINVAL }, { -EINVAL, .may = ENOSPC }, { .ret = -EINVAL } } },
	  .want = AS_DIFF_NONE,
	  .documented = 0,
	  .hints = 1 },
	{ .name = "those that went another way are not compared",
	  .text = "mkdir /a 0755\nrmdir /a\nmkdir /b 0755\n",
	  .n = 3,
	  .ops = { { { 0, .may = ENOSPC }, { 0, .may = ENOSPC }, { .ret = -ENOSPC } },
		   { { 0 }, { 0 }, { .ret = -ENOENT } },
		   ALL_OK },
	  .want = AS_DIFF_NONE,
	  .documented = 1 },
	{ .name = "but with those that went the same",
	  .text = "mkdir /a 0755\nrmdir /a\nmkdir /b 0755\n",
	  .n = 4,
	  .ops = { { { 0, .may = ENOSPC },
		     { 0, .may = ENOSPC },
		     { .ret = -ENOSPC },
		     { .ret = -ENOSPC } },
		   { { 0 }, { 0 }, { .ret = -ENOENT }, { -EBUSY, .wrong = true } } },
	  .want = AS_DIFF_WRONG,
	  .op = 1,
	  .odd = 3,
	  .documented = 1 },
	{ .name = "link counts of files",
	  .text = "stat /a\n",
	  .n = 3,
	  .ops = { { { 0, .nlink = 2, .mode = S_IFREG },
		     { 0, .nlink = 2, .mode = S_IFREG },
		     { 0, .nlink = 1, .mode = S_IFREG, .wrong = true } } },
	  .want = AS_DIFF_WRONG,
	  .op = 0,
	  .odd = 2,
	  .says = "says link count 1" },
	{ .name = "link counts of directories, with a quirk",
	  .text = "stat /a\n",
	  .n = 3,
	  .ops = { { { 0, .nlink = 3, .mode = S_IFDIR },
		     { 0, .nlink = 3, .mode = S_IFDIR },
		     { 0, .nlink = 1, .mode = S_IFDIR } } },
	  .quirks = { 0, 0, AS_QUIRK_DIR_NLINK_ONE },
	  .want = AS_DIFF_NONE },
	{ .name = "link counts of directories, none hidden",
	  .text = "stat /a\n",
	  .n = 3,
	  .ops = { { { 0, .nlink = 3, .mode = S_IFDIR },
		     { 0, .nlink = 3, .mode = S_IFDIR },
		     { 0, .nlink = 2, .mode = S_IFDIR, .wrong = true } } },
	  .want = AS_DIFF_WRONG,
	  .op = 0,
	  .odd = 2,
	  .says = "says link count 2" },
	{ .name = "link counts of directories where one has lost+found",
	  .text = "stat /\n",
	  .n = 3,
	  .ops = { { { 0, .nlink = 3, .mode = S_IFDIR },
		     { 0, .nlink = 2, .mode = S_IFDIR },
		     { 0, .nlink = 2, .mode = S_IFDIR } } },
	  .fresh = { 2, 1, 2 },
	  .want = AS_DIFF_NONE },
	{ .name = "modes",
	  .text = "stat /a\n",
	  .n = 2,
	  .ops = { { { 0, .nlink = 1, .mode = S_IFREG | 0644 },
		     { 0, .nlink = 1, .mode = S_IFREG | 0600, .wrong = true } } },
	  .want = AS_DIFF_WRONG,
	  .op = 0,
	  .odd = 1,
	  .says = "says mode 0100600" },
};

static void make_answer(const struct answer *a, struct as_answer *t)
{
	*t = (struct as_answer){ .ret = a->ret < 0 ? -1 : a->ret,
				 .err = a->ret < 0 ? (int)-a->ret : 0,
				 .agrees = !a->wrong };
	t->allowed.ok = a->ret >= 0 || a->may == EINVAL || a->may == ENOSPC;
	t->allowed.ret = a->any ? -1 : a->ret;
	if (a->ret < 0)
		t->allowed.may[-a->ret / 64] |= UINT64_C(1) << (-a->ret % 64);
	if (a->may)
		t->allowed.may[a->may / 64] |= UINT64_C(1) << (a->may % 64);
	if (a->nlink) {
		t->payload = AS_PAYLOAD_STAT;
		t->st = (struct as_stat){ .mode = a->mode, .nlink = a->nlink };
	}
}

static void check(const struct row *row)
{
	struct as_diff_subject subjects[SUBJECTS];
	struct as_traits traits[SUBJECTS];
	struct as_answers *answers = as_xcalloc(SUBJECTS, sizeof(*answers));
	static const char *const names[] = { "one", "two", "three", "four" };
	struct as_diff diff;
	struct as_seq *seq;
	struct as_err err;

	assert_int_equal(as_parse_text("diff", row->text, strlen(row->text), &seq, &err), 0);
	for (size_t i = 0; i < row->n; i++) {
		traits[i] = posix;
		traits[i].quirks = row->quirks[i];
		for (size_t k = 0; k < seq->n; k++)
			make_answer(&row->ops[k][i], &answers[i].ops[answers[i].n++]);
		subjects[i] = (struct as_diff_subject){ names[i], &traits[i], &answers[i],
							row->fresh[i] ? row->fresh[i] : 1 };
	}
	as_diff_judge(seq, subjects, row->n, &diff);
	if (diff.answer != row->want || diff.documented != row->documented ||
	    diff.hints != row->hints || diff.undecided != row->undecided)
		fail_msg("%s: answer %d, documented %llu, hints %llu, undecided %llu", row->name,
			 (int)diff.answer, (unsigned long long)diff.documented,
			 (unsigned long long)diff.hints, (unsigned long long)diff.undecided);
	if (row->want != AS_DIFF_NONE && (diff.op != row->op || diff.odd != row->odd))
		fail_msg("%s: operation %zu of %s", row->name, diff.op, names[diff.odd]);
	if (row->says)
		assert_string_equal(as_buf_str(&diff.says), row->says);
	as_diff_free(&diff);
	as_seq_free(seq);
	free(answers);
}

static void by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

static void lists(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *specs[4];
	} good[] = {
		{ "ext4,xfs", 2, { "ext4", "xfs" } },
		{ "lab,lab:bug=7", 2, { "lab", "lab:bug=7" } },
		{ "lab:bug=3,bug=7,ext4:data=journal,nodelalloc,dir:/tmp/a,b",
		  3,
		  { "lab:bug=3,bug=7", "ext4:data=journal,nodelalloc", "dir:/tmp/a,b" } },
		{ "lab,nosuch", 2, { "lab", "nosuch" } },
	};
	static const char *const bad[] = { "", "ext4", "lab:bug=3,bug=7",
					   ("lab,lab,lab,lab,lab,lab,lab,lab,lab,lab,lab,lab,lab,"
					    "lab,lab,lab,lab") };
	char *specs[AS_DIFF_MAX];
	struct as_err err;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(as_diff_parse(good[i].text, specs, &n, &err), 0);
		assert_int_equal(n, good[i].n);
		for (size_t k = 0; k < n; k++) {
			assert_string_equal(specs[k], good[i].specs[k]);
			free(specs[k]);
		}
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(as_diff_parse(bad[i], specs, &n, &err), AS_EUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
