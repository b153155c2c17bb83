/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules, row by row (*_rows.def): a workload, a moment, a tree (a state of the model, changed
 * by hand), and what is to be said of it. NULL: it is legal.
 */
#include "tests/lib/mutate.h"
#include "tests/lib/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct row {
	const char *name;
	enum as_data_rule data;
	const char *workload;
	size_t done, begun;
	size_t state; /* the tree after that many operations ... */
	const char *how; /* ... changed like this */
	const char *rule; /* NULL: legal */
	const char *why; /* words that must be in it */
	size_t op; /* blamed */
};

#define NO AS_LEGAL_NO_OP
#define O AS_DATA_ORDERED

#define TWO_FILES            \
	"mkdir /a 0755\n"    \
	"create /a/f 0644\n" \
	"sync\n"             \
	"create /a/g 0644\n" \
	"chmod /a/f 0600\n"

#define FSYNCED                                \
	"mkdir /a 0755\n"                      \
	"create /b 0644\n"                     \
	"$0 = open /a/f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=4096 at=0 fill=7\n"     \
	"fsync $0\n"                           \
	"create /c 0644\n"                     \
	"pwrite $0 len=1024 at=0 fill=8\n"

#define NEW_RENAMED "mkdir /a 0755\nsync\ncreate /a/f 0644\nrename /a/f /a/g\ncreate /a/h 0644\n"
#define RENAMED              \
	"mkdir /a 0755\n"    \
	"create /a/f 0644\n" \
	"mkdir /b 0755\n"    \
	"sync\n"             \
	"rename /a/f /b/f\n" \
	"create /x 0644\n"

#define UNLINKED           \
	"create /f 0644\n" \
	"create /g 0644\n" \
	"sync\n"           \
	"unlink /f\n"      \
	"sync\n"           \
	"create /h 0644\n"

#define WRITES                                \
	"$0 = open /f O_RDWR|O_CREAT 0644\n"  \
	"pwrite $0 len=4096 at=0 fill=1\n"    \
	"fsync $0\n"                          \
	"pwrite $0 len=4096 at=2048 fill=2\n" \
	"mkdir /d 0755\n"

#define CUT                                  \
	"$0 = open /f O_RDWR|O_CREAT 0644\n" \
	"pwrite $0 len=4096 at=0 fill=1\n"   \
	"sync\n"                             \
	"ftruncate $0 0\n"                   \
	"pwrite $0 len=4096 at=0 fill=2\n"   \
	"mkdir /d 0755\n"

#define RANGE                                \
	"$0 = open /f O_RDWR|O_CREAT 0644\n" \
	"$1 = open /f O_RDWR|O_DSYNC\n"      \
	"pwrite $0 len=4096 at=0 fill=1\n"   \
	"pwrite $1 len=1024 at=8192 fill=2\n"

/* More than one inode fits a name: $0 is fsynced at the end, and all else may be of any moment. */
#define MADE_X "$0 = open /x O_RDWR|O_CREAT 0644\n"
#define FSYNC_X                         \
	"pwrite $0 len=1 at=0 fill=1\n" \
	"fsync $0\n"
#define X_WRITTEN "size /x 1; fill /x 0 1 1; "

#define AGAIN MADE_X "create /f 0644\nsync\nrename /f /g\ncreate /f 0644\n" FSYNC_X
#define THRICE                                                                      \
	MADE_X "create /f 0644\nsync\nrename /f /g\ncreate /f 0644\nrename /f /h\n" \
	       "create /f 0644\n" FSYNC_X
#define RING                                                                          \
	MADE_X "create /a 0644\ncreate /b 0644\ncreate /c 0644\nsync\nrename /a /t\n" \
	       "rename /b /a\nrename /c /b\nrename /t /c\n" FSYNC_X
#define LINKED MADE_X "create /f 0644\nsync\nhardlink /f /g\nunlink /f\ncreate /f 0644\n" FSYNC_X
#define EXCHANGED                                                                      \
	MADE_X "create /f 0644\ncreate /g 0644\nsync\nrename2 /f /g RENAME_EXCHANGE\n" \
	       "rename /f /h\ncreate /f 0644\n" FSYNC_X
#define OVER                                                                      \
	MADE_X "mkdir /d 0755\nmkdir /e 0755\nsync\nrename /d /e\nrename /e /g\n" \
	       "mkdir /e 0755\n" FSYNC_X
#define DIR_AGAIN                                                                     \
	MADE_X "mkdir /d 0755\ncreate /d/k 0644\nsync\nrename /d /g\nmkdir /d 0755\n" \
	       "create /d/k 0644\n" FSYNC_X
#define WHITEOUT                                                                  \
	MADE_X "create /f 0644\nsync\nrename2 /f /g RENAME_WHITEOUT\nunlink /f\n" \
	       "create /f 0644\n" FSYNC_X

#define LIST "u::rw-,u:1:r--,g::r--,m::rw-,o::---"

static const struct row prefix_rows[] = {
#include "prefix_rows.def"
};

static const struct row object_rows[] = {
#include "object_rows.def"
};

static const struct row repair_rows[] = {
#include "repair_rows.def"
};

static const struct row commit_rows[] = {
#include "commit_rows.def"
};

typedef bool judge_fn(struct as_history *history, struct as_moment moment,
		      const struct as_tree *tree, struct as_legal *verdict);

/* What is wrong is printed, and how much of it returned. */
static int complain(const struct row *row, const struct as_legal *verdict, const char *what)
{
	print_error("%s: %s (%s, op %zd: %s)\n", row->name, what,
		    verdict->legal ? "legal" : as_rule_name(verdict->rule), verdict->op,
		    as_buf_str(&verdict->why));
	return 1;
}

static int check_verdict(const struct row *row, const struct as_legal *verdict)
{
	if (verdict->legal != !row->rule)
		return complain(row, verdict, "wrong verdict");
	if (verdict->legal)
		return 0;
	if (strcmp(as_rule_name(verdict->rule), row->rule) != 0)
		return complain(row, verdict, "another rule");
	if (!strstr(as_buf_str(&verdict->why), row->why))
		return complain(row, verdict, "other words");
	if (verdict->op != row->op)
		return complain(row, verdict, "blames another operation");
	if (strpbrk(as_buf_str(&verdict->signature), "013456789/"))
		return complain(row, verdict, as_buf_str(&verdict->signature));
	return 0;
}

static int check_row(const struct row *row, enum as_guarantee guarantee, judge_fn *judge)
{
	struct as_policy policy = {
		.guarantee = guarantee,
		.data = row->data,
		.fsync_names = guarantee != AS_GUARANTEE_REPAIR,
		.lost_found = true,
		.block_bytes = 1024,
	};
	struct as_legal verdict = { 0 };
	struct as_tree *tree, *mutant;
	struct told told;
	int wrong = 0;

	t_told_text(&told, &policy, row->workload);
	tree = as_history_tree(told.history, row->state);
	mutant = t_mutate(tree, row->how);
	/* Twice: the second time from memory. */
	for (int again = 0; again < 2 && !wrong; again++) {
		(void)judge(told.history, (struct as_moment){ row->done, row->begun, 0 }, mutant,
			    &verdict);
		wrong = check_verdict(row, &verdict);
	}
	as_tree_put(tree);
	as_tree_put(mutant);
	as_legal_free(&verdict);
	t_told_end(&told);
	return wrong;
}

static void check_rows(const struct row *rows, size_t n, enum as_guarantee guarantee,
		       judge_fn *judge)
{
	int wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += check_row(&rows[i], guarantee, judge);
	assert_int_equal(wrong, 0);
}

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static void test_prefix(void **state)
{
	(void)state;
	check_rows(prefix_rows, COUNT(prefix_rows), AS_GUARANTEE_PREFIX, as_legal_judge);
}

static void test_object(void **state)
{
	(void)state;
	check_rows(object_rows, COUNT(object_rows), AS_GUARANTEE_OBJECT, as_legal_judge);
}

static void test_repair(void **state)
{
	(void)state;
	check_rows(repair_rows, COUNT(repair_rows), AS_GUARANTEE_REPAIR, as_legal_judge);
}

static void test_commit(void **state)
{
	(void)state;
	check_rows(commit_rows, COUNT(commit_rows), AS_GUARANTEE_OBJECT, as_legal_judge_commit);
}

/* The two verdicts on one tree at one moment are remembered apart. */
static void test_commit_apart(void **state)
{
	struct as_policy policy = { .guarantee = AS_GUARANTEE_OBJECT,
				    .data = AS_DATA_ORDERED,
				    .fsync_names = true };
	struct as_moment moment = { 5, 5, 0 };
	struct as_legal verdict = { 0 };
	struct as_tree *before;
	struct told told;

	(void)state;
	t_told_text(&told, &policy, FSYNCED);
	before = as_history_tree(told.history, 2);
	for (int again = 0; again < 2; again++) {
		assert_true(as_legal_judge_commit(told.history, moment, before, &verdict));
		assert_false(as_legal_judge(told.history, moment, before, &verdict));
	}
	as_tree_put(before);
	as_legal_free(&verdict);
	t_told_end(&told);
}

/* An interrupted recovery may come to an older tree on some types, but not to one from before what
 * an fsync has promised. */
static void test_redone(void **state)
{
	(void)state;
	for (int differs = 0; differs < 2; differs++) {
		struct as_policy policy = { .guarantee = AS_GUARANTEE_OBJECT,
					    .data = AS_DATA_ORDERED,
					    .fsync_names = true,
					    .redo_differs = differs };
		struct as_tree *older, *newest;
		struct told told;

		t_told_text(&told, &policy, FSYNCED);
		older = as_history_tree(told.history, 2);
		newest = as_history_tree(told.history, 5);
		assert_int_equal(as_legal_judge_redone(told.history, (struct as_moment){ 2, 2, 0 },
						       older),
				 differs);
		assert_int_equal(as_legal_judge_redone(told.history, (struct as_moment){ 5, 5, 0 },
						       newest),
				 differs);
		assert_false(
			as_legal_judge_redone(told.history, (struct as_moment){ 5, 5, 0 }, older));
		as_tree_put(older);
		as_tree_put(newest);
		t_told_end(&told);
	}
}

/* What is allowed depends on the operation under way, though it changes nothing: a verdict must not
 * be remembered for another moment. */
static void test_under_way(void **state)
{
	struct as_policy policy = {
		.guarantee = AS_GUARANTEE_OBJECT,
		.data = AS_DATA_ORDERED,
		.fsync_names = true,
		.block_bytes = 1024,
	};
	struct as_moment before = { 4, 4, 0 }, during = { 4, 5, 0 };
	struct as_legal verdict = { 0 };
	struct as_tree *tree, *alone;
	struct told told;

	(void)state;
	for (int turn = 0; turn < 2; turn++) {
		t_told_text(&told, &policy, FSYNCED);
		tree = as_history_tree(told.history, 5);
		alone = t_mutate(tree, "drop /b");
		for (int i = 0; i < 2; i++) {
			bool under_way = (turn + i) % 2;

			assert_int_equal(as_legal_judge(told.history, under_way ? during : before,
							alone, &verdict),
					 under_way);
		}
		as_tree_put(tree);
		as_tree_put(alone);
		t_told_end(&told);
	}
	as_legal_free(&verdict);
}

/* A checker makes /lost+found again, and nothing else. */
static void test_found(void **state)
{
	static const struct {
		const char *how;
		bool makes, checked, legal;
	} rows[] = {
		{ "", true, true, true },
		{ "dir /lost+found 0700", true, true, true },
		{ "dir /lost+found 0700", true, false, false },
		{ "dir /lost+found 0700", false, true, false },
		{ "file /lost+found 0700", true, true, false },
		{ "dir /lost+found 0700; file /lost+found/f 0644", true, true, false },
		{ "dir /lost+found 0700; drop /f", true, true, false },
		{ "dir /found 0700", true, true, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct as_policy policy = { .data = AS_DATA_ORDERED,
					    .fsync_names = true,
					    .makes_found = rows[i].makes,
					    .block_bytes = 1024 };
		struct as_moment moment = { 4, 4, 0 };
		struct as_legal verdict = { 0 };
		struct as_tree *tree, *mutant;
		struct told told;

		t_told_text(&told, &policy,
			    "mkdir /lost+found 0700\nrmdir /lost+found\ncreate /f 0644\nsync\n");
		tree = as_history_tree(told.history, 4);
		mutant = t_mutate(tree, rows[i].how);
		if ((rows[i].checked ? as_legal_judge_checked : as_legal_judge)(
			    told.history, moment, mutant, &verdict) != rows[i].legal)
			fail_msg("row %zu: %s", i, as_buf_str(&verdict.why));
		/* What is said is not about what the checker may do. */
		if (rows[i].checked && rows[i].makes && strstr(rows[i].how, "drop"))
			assert_non_null(strstr(as_buf_str(&verdict.why), "/f must exist"));
		as_tree_put(tree);
		as_tree_put(mutant);
		as_legal_free(&verdict);
		t_told_end(&told);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_under_way),    cmocka_unit_test(test_found),
		cmocka_unit_test(test_prefix),	     cmocka_unit_test(test_object),
		cmocka_unit_test(test_repair),	     cmocka_unit_test(test_commit),
		cmocka_unit_test(test_commit_apart), cmocka_unit_test(test_redone),
	};

	return cmocka_run_group_tests_name("legal rules", tests, NULL, NULL);
}
