/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that failed because the disk did: they may have happened or not, and they made nothing
 * stable. What was stable before them stays stable.
 */
#include "tests/lib/told.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the above: cmocka wants them first */
#include <cmocka.h>

enum how { FAILED, UNSURE, FINE };

#define FSYNC "$0 = open /f O_RDWR|O_CREAT 0644\nfsync $0\n"
#define ALONE "create /a 0644\n$0 = open /b O_RDWR|O_CREAT 0644\nfsync $0\n"
#define TREE "mkdir /d 0755\ncreate /d/f 0644\nsync\n"

static const struct row {
	const char *name, *workload;
	size_t op; /* this one, from 0 */
	enum how how;
	const char *tree; /* what is recovered is what this workload makes */
	bool legal;
} rows[] = {
	{ "create: not done", TREE "create /g 0644\n", 3, FAILED, TREE, true },
	{ "create: done", TREE "create /g 0644\n", 3, FAILED, TREE "create /g 0644\n", true },
	{ "create: something else", TREE "create /g 0644\n", 3, FAILED, TREE "create /h 0644\n",
	  false },
	{ "create: what was stable is lost", TREE "create /g 0644\n", 3, FAILED, "mkdir /d 0755\n",
	  false },
	{ "create, and one more: not done", TREE "create /g 0644\ncreate /h 0644\n", 3, FAILED,
	  TREE "create /h 0644\n", true },
	{ "create, and one more: it comes back", TREE "create /g 0644\ncreate /h 0644\n", 3, FAILED,
	  TREE "create /g 0644\ncreate /h 0644\n", false },
	{ "symlink, and another of that name", TREE "symlink x /l\nsymlink yy /l\n", 3, FAILED,
	  TREE "symlink yy /l\n", true },
	{ "rename: not done", TREE "rename /d/f /g\n", 3, FAILED, TREE, true },
	{ "rename: done", TREE "rename /d/f /g\n", 3, FAILED, TREE "rename /d/f /g\n", true },
	{ "rename: in both places", TREE "rename /d/f /g\n", 3, FAILED, TREE "hardlink /d/f /g\n",
	  false },
	{ "rename: gone", TREE "rename /d/f /g\n", 3, FAILED, TREE "unlink /d/f\n", false },
	{ "fsync: lost", FSYNC, 1, FAILED, "", true },
	{ "fsync: there", FSYNC, 1, FAILED, FSYNC, true },
	{ "fsync that did not fail: lost", FSYNC, 1, FINE, "", false },
	{ "fsync, and one that did not fail: lost", FSYNC "fsync $0\n", 1, FAILED, "", false },
	{ "sync that cannot tell: lost", "mkdir /d 0755\nsync\n", 1, UNSURE, "", true },
	{ "sync that can: lost", "mkdir /d 0755\nsync\n", 1, FINE, "", false },
	{ "sync that cannot tell, after one that could", TREE "mkdir /e 0755\nsync\n", 4, UNSURE,
	  "mkdir /d 0755\n", false },
	{ "fsync: it alone, in a log", ALONE, 2, FAILED, "create /b 0644\n", false },
};

/* Each object for itself: an fsync that failed may have done its work, before what was made
 * earlier. */
static const struct row objects[] = {
	{ "fsync: it alone", ALONE, 2, FAILED, "create /b 0644\n", true },
	{ "fsync that cannot tell: it alone", ALONE, 2, UNSURE, "create /b 0644\n", true },
	{ "fsync, then sync: it alone", ALONE "sync\n", 2, FAILED, "create /b 0644\n", false },
	{ "fsync, then sync and more: not in order", ALONE "sync\ncreate /c 0644\ncreate /d 0644\n",
	  2, FAILED, "create /a 0644\ncreate /b 0644\ncreate /d 0644\n", false },
	{ "sync: not in order", "create /a 0644\ncreate /b 0644\nsync\n", 2, FAILED,
	  "create /b 0644\n", false },
};

static struct as_policy policy_of(const struct row *row)
{
	bool object = row >= objects && row < objects + sizeof(objects) / sizeof(objects[0]);

	return (struct as_policy){ .guarantee = object ? AS_GUARANTEE_OBJECT : AS_GUARANTEE_PREFIX,
				   .data = AS_DATA_ORDERED,
				   .fsync_names = true,
				   .fdatasync_names = true,
				   .block_bytes = 1024 };
}

static void tell(struct told *t, const struct row *row)
{
	const struct as_outcome failed = { .ret = -1, .err = EIO }, done = { 0 };
	const struct as_policy policy = policy_of(row);
	struct as_err err = { 0 };

	t_told_begin(t, &policy);
	if (as_parse_text("test", row->workload, strlen(row->workload), &t->seq, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < t->seq->n; i++) {
		const struct as_op *op = &t->seq->ops[i];

		if (i != row->op || row->how == FINE)
			t_told_add(t, op);
		else if (row->how == UNSURE)
			assert_true(as_history_add_unsure(t->history, op, &done));
		else
			assert_true(as_history_add_failed(t->history, op, &failed));
	}
	assert_int_equal(as_history_len(t->history), t->seq->n);
	assert_int_equal(as_history_persists(t->history, row->op, NULL), row->how == FINE);
}

static bool check(const struct row *row)
{
	const struct as_policy policy = policy_of(row);
	struct as_legal verdict = { 0 };
	struct told told, other;
	struct as_tree *tree;
	size_t n;
	bool legal;

	tell(&told, row);
	t_told_text(&other, &policy, row->tree);
	tree = as_history_tree(other.history, as_history_len(other.history));
	n = as_history_len(told.history);
	legal = as_legal_judge(told.history, (struct as_moment){ .done = n, .begun = n }, tree,
			       &verdict);
	if (legal != row->legal)
		print_error("%s: %s\n", row->name, legal ? "legal" : as_buf_str(&verdict.why));
	as_tree_put(tree);
	as_legal_free(&verdict);
	t_told_end(&told);
	t_told_end(&other);
	return legal == row->legal;
}

static void test_rows(void **state)
{
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		wrong += !check(&rows[i]);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		wrong += !check(&objects[i]);
	assert_int_equal(wrong, 0);
}

/* The descriptor that a slot held is gone, also if the open that was to take its place has failed:
 * the history knows that, and goes on. */
static void test_slot(void **state)
{
	static const char text[] = "$0 = open /f O_RDWR|O_CREAT 0644\n"
				   "$0 = open /g O_RDWR|O_CREAT 0644\n"
				   "pwrite $0 at=0 len=100 fill=1\n"
				   "stat /g\n";
	const struct as_outcome failed = { .ret = -1, .err = EIO };
	const struct as_outcome bad = { .ret = -1, .err = EBADF };
	const struct as_outcome none = { .ret = -1, .err = ENOENT };
	const struct as_policy policy = policy_of(rows);
	struct as_err err = { 0 };
	struct told t;

	(void)state;
	t_told_begin(&t, &policy);
	if (as_parse_text("test", text, strlen(text), &t.seq, &err))
		fail_msg("%s", err.msg);
	t_told_add(&t, &t.seq->ops[0]);
	assert_true(as_history_add_failed(t.history, &t.seq->ops[1], &failed));
	assert_true(as_history_add(t.history, &t.seq->ops[2], &bad));
	assert_true(as_history_add(t.history, &t.seq->ops[3], &none));
	t_told_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
					    cmocka_unit_test(test_slot) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
