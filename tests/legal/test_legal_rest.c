/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Times, blocks and holes of files after a power cut. In each row /f has been fsynced with the
 * times and blocks SEEN; the recovered tree is the last state of the model with the row's numbers.
 */
#include "tests/lib/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#define P AS_GUARANTEE_PREFIX
#define O AS_GUARANTEE_OBJECT

#define FILE_OF "$0 = open /f O_RDWR|O_CREAT 0644\npwrite $0 len=4096 at=0 fill=1\n"
#define SYNCED FILE_OF "fsync $0\n"

struct rest {
	int64_t atime_ns, mtime_ns, ctime_ns;
	uint64_t blocks, hidden;
};

#define SEEN                         \
	{                            \
		100, 200, 300, 16, 0 \
	}
static const struct rest seen = SEEN;

static const struct row {
	const char *name;
	enum as_guarantee guarantee;
	const char *workload;
	struct rest got;
	const char *words; /* of what is wrong; NULL: it is legal */
} rows[] = {
	{ "as it was", P, SYNCED, SEEN, NULL },
	{ "an older mtime",
	  P,
	  SYNCED,
	  { 100, 199, 300, 16, 0 },
	  "after fsync of /f at op 3, /f must have mtime 200 ns; recovered tree has 199 ns" },
	{ "a later mtime", P, SYNCED, { 100, 201, 300, 16, 0 }, "mtime 200" },
	{ "an older ctime", P, SYNCED, { 100, 200, 299, 16, 0 }, "ctime 300" },
	{ "a later ctime", P, SYNCED, { 100, 200, 301, 16, 0 }, "ctime 300" },
	{ "a later ctime where recovery may set it", O, SYNCED, { 100, 200, 301, 16, 0 }, NULL },
	{ "an older ctime there", O, SYNCED, { 100, 200, 299, 16, 0 }, "ctime 300" },
	{ "another mtime there", O, SYNCED, { 100, 201, 300, 16, 0 }, "mtime 200" },
	{ "another atime", P, SYNCED, { 99, 200, 300, 16, 0 }, "atime 100" },
	{ "another atime after a read",
	  P,
	  SYNCED "pread $0 len=10 at=0\n",
	  { 99, 200, 300, 16, 0 },
	  NULL },
	{ "another mtime after a read",
	  P,
	  SYNCED "pread $0 len=10 at=0\n",
	  { 100, 201, 300, 16, 0 },
	  "mtime 200" },
	{ "fdatasync",
	  P,
	  FILE_OF "sync\npwrite $0 len=9 at=0 fill=2\nfdatasync $0\n",
	  { 1, 2, 3, 4, 0 },
	  NULL },
	{ "a write since",
	  P,
	  SYNCED "pwrite $0 len=9 at=0 fill=2\n",
	  { 100, 999, 999, 2, 0 },
	  NULL },
	{ "a ctime that goes back, after a write",
	  P,
	  SYNCED "pwrite $0 len=9 at=0 fill=2\n",
	  { 100, 200, 299, 16, 0 },
	  "ctime 300" },
	{ "times that were set",
	  P,
	  SYNCED "utimens /f atime=0 mtime=0\n",
	  { 0, 0, 999, 16, 0 },
	  NULL },
	{ "the mode that it has, again",
	  P,
	  SYNCED "fchmod $0 0644\n",
	  { 100, 200, 999, 16, 0 },
	  NULL },
	{ "a mode does not move mtime",
	  P,
	  SYNCED "fchmod $0 0600\n",
	  { 100, 999, 999, 16, 0 },
	  "mtime 200" },
	{ "another file was touched",
	  P,
	  SYNCED "create /g 0644\nutimens /g atime=0 mtime=0\n",
	  { 100, 199, 300, 16, 0 },
	  "mtime 200" },
	{ "a second fsync, which nobody looked at",
	  P,
	  SYNCED "fchmod $0 0600\nfdatasync $0\n",
	  { 100, 200, 300, 16, 0 },
	  NULL },
	{ "blocks are missing",
	  P,
	  SYNCED,
	  { 100, 200, 300, 14, 0 },
	  "after fsync of /f at op 3, /f must have 16 blocks; recovered tree has 14" },
	{ "blocks are missing", O, SYNCED, { 100, 200, 300, 14, 0 }, "16 blocks" },
	{ "more blocks", P, SYNCED, { 100, 200, 300, 18, 0 }, NULL },
	{ "blocks that were punched out since",
	  P,
	  SYNCED "fallocate $0 KEEP_SIZE|PUNCH_HOLE at=0 len=1024\n",
	  { 100, 200, 300, 14, 0 },
	  NULL },
	{ "data in a hole",
	  P,
	  SYNCED,
	  { 100, 200, 300, 16, 8 },
	  "layout: byte 7 of /f is data; in the recovered tree it is in a hole" },
	{ "data in a hole of a file that was not fsynced",
	  O,
	  FILE_OF,
	  { 1, 2, 3, 4, 8 },
	  "layout: byte 7" },
};

static struct as_policy policy_of(enum as_guarantee guarantee, bool promised)
{
	return (struct as_policy){ .guarantee = guarantee,
				   .data = AS_DATA_ORDERED,
				   .fsync_names = true,
				   .fdatasync_names = true,
				   .times = promised,
				   .blocks = promised,
				   .block_bytes = 1024 };
}

/* The workload; SEEN is what stat tells after each fsync and fdatasync. */
static void tell(struct told *told, const struct as_policy *policy, const char *workload)
{
	const struct as_stat st = { .mode = S_IFREG | 0644,
				    .blocks = seen.blocks,
				    .atime_ns = seen.atime_ns,
				    .mtime_ns = seen.mtime_ns,
				    .ctime_ns = seen.ctime_ns };
	struct as_err err = { 0 };

	t_told_begin(told, policy);
	if (as_parse_text("test", workload, strlen(workload), &told->seq, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < told->seq->n; i++) {
		enum as_opcode code = told->seq->ops[i].code;

		t_told_add(told, &told->seq->ops[i]);
		if (code == AS_OP_FSYNC || code == AS_OP_FDATASYNC)
			as_history_saw(told->history, &st);
	}
}

static struct as_tree *tree_with(const struct as_history *history, size_t state,
				 const struct rest *rest)
{
	struct as_tree *tree = as_history_tree(history, state), *made;
	struct as_tree_maker *maker = as_tree_maker_new();

	for (uint32_t i = 0; i < as_tree_len(tree); i++) {
		struct as_tree_node node = *as_tree_at(tree, i);

		if (strcmp(node.name, "f") == 0) {
			node.atime_ns = rest->atime_ns;
			node.mtime_ns = rest->mtime_ns;
			node.ctime_ns = rest->ctime_ns;
			node.blocks = rest->blocks;
			node.hidden = rest->hidden;
		}
		as_tree_maker_add(maker, node.parent, node.twin + 1, &node);
	}
	made = as_tree_maker_done(maker);
	as_tree_put(tree);
	return made;
}

static bool judge(struct told *told, struct as_moment moment, const struct rest *rest,
		  struct as_buf *why)
{
	struct as_tree *tree = tree_with(told->history, moment.done, rest);
	struct as_legal verdict = { 0 };
	bool legal = as_legal_judge(told->history, moment, tree, &verdict);

	t_verdict_say(&verdict, why);
	as_tree_put(tree);
	return legal;
}

/* Blocks that stat(2) counted and that hold no data: of 16, the data has 8. */
static void test_uncounted(void **state)
{
	static const struct {
		const char *name, *workload;
		bool map_anew, copies_ahead, checked;
		uint64_t blocks;
		bool legal;
	} uncounted[] = {
		{ "a map that a checker wrote anew", SYNCED, true, false, true, 8, true },
		{ "data that a checker has lost", SYNCED, true, false, true, 7, false },
		{ "a map, without a checker", SYNCED, true, false, false, 8, false },
		{ "a map that no checker writes anew", SYNCED, false, false, true, 8, false },
		{ "copies in memory", SYNCED "$1 = open /g O_RDWR|O_CREAT 0644\nclone $0 $1\n",
		  false, true, false, 8, true },
		{ "copied data that is lost",
		  SYNCED "$1 = open /g O_RDWR|O_CREAT 0644\nclone $0 $1\n", false, true, false, 7,
		  false },
		{ "copies where nothing was shared", SYNCED, false, true, false, 8, false },
	};
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(uncounted) / sizeof(uncounted[0]); i++) {
		struct rest rest = SEEN;
		struct as_policy policy = policy_of(P, true);
		struct as_legal verdict = { 0 };
		struct as_moment end = { 0 };
		struct as_tree *tree;
		struct told told;
		bool legal;

		policy.map_anew = uncounted[i].map_anew;
		policy.copies_ahead = uncounted[i].copies_ahead;
		rest.blocks = uncounted[i].blocks;
		tell(&told, &policy, uncounted[i].workload);
		end.done = end.begun = as_history_len(told.history);
		tree = tree_with(told.history, end.done, &rest);
		/* A verdict of the other way must not be taken for that of this one. */
		(void)(uncounted[i].checked ? as_legal_judge : as_legal_judge_checked)(
			told.history, end, tree, &verdict);
		legal = (uncounted[i].checked ? as_legal_judge_checked
					      : as_legal_judge)(told.history, end, tree, &verdict);
		if (legal != uncounted[i].legal) {
			print_error("%s: %s\n", uncounted[i].name, as_buf_str(&verdict.why));
			wrong++;
		}
		as_legal_free(&verdict);
		as_tree_put(tree);
		t_told_end(&told);
	}
	assert_int_equal(wrong, 0);
}

static void test_rows(void **state)
{
	struct as_buf why = { 0 };
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int promised = 0; promised < 2; promised++) {
			const struct row *row = &rows[i];
			struct as_policy policy = policy_of(row->guarantee, promised);
			struct told told;
			struct as_moment end = { 0 };
			bool legal, want;

			tell(&told, &policy, row->workload);
			end.done = end.begun = as_history_len(told.history);
			legal = judge(&told, end, &row->got, &why);
			/* Holes are wrong on every type. */
			want = !row->words || (!promised && !row->got.hidden);
			if (legal != want || (!legal && !strstr(as_buf_str(&why), row->words))) {
				print_error("%s: %s\n", row->name, as_buf_str(&why));
				wrong++;
			}
			t_told_end(&told);
		}
	as_buf_free(&why);
	assert_int_equal(wrong, 0);
}

/* Blocks are missing at every point. That is what is told, although at the last point, which the
 * tree is not of, the size of another file is wrong as well. */
static void test_told(void **state)
{
	static const struct rest fewer = { 100, 200, 300, 14, 0 };
	const struct as_policy policy = policy_of(P, true);
	struct as_legal verdict = { 0 };
	struct as_moment end = { 0 };
	struct as_buf why = { 0 };
	struct as_tree *tree;
	struct told told;

	(void)state;
	tell(&told, &policy, "$1 = open /e O_RDWR|O_CREAT 0644\n" SYNCED "ftruncate $1 700\n");
	end.done = end.begun = as_history_len(told.history);
	tree = tree_with(told.history, end.done - 1, &fewer);
	assert_false(as_legal_judge(told.history, end, tree, &verdict));
	t_verdict_say(&verdict, &why);
	assert_non_null(strstr(as_buf_str(&why), "16 blocks"));
	as_buf_free(&why);
	as_tree_put(tree);
	t_told_end(&told);
}

/* utimens makes no state of its own. Verdicts that were remembered must not be mixed up: not those
 * of trees that differ in times only, nor those before it began and while it was under way. */
static void test_remembered(void **state)
{
	static const struct rest other = { 100, 200000, 300000, 16, 0 };
	struct as_policy policy = policy_of(P, true);
	struct as_buf why = { 0 };
	struct told told;

	(void)state;
	tell(&told, &policy, SYNCED "utimens /f atime=omit mtime=0.0002\n");
	for (int again = 0; again < 2; again++) {
		assert_true(judge(&told, (struct as_moment){ 3, 3, 0 }, &seen, &why));
		assert_false(judge(&told, (struct as_moment){ 3, 3, 0 }, &other, &why));
		assert_true(judge(&told, (struct as_moment){ 3, 4, 0 }, &other, &why));
		assert_true(judge(&told, (struct as_moment){ 3, 4, 0 }, &seen, &why));
		/* Nothing was written since the fsync. */
		assert_false(judge(&told, (struct as_moment){ 3, 4, 3 }, &other, &why));
		assert_true(judge(&told, (struct as_moment){ 3, 4, 3 }, &seen, &why));
	}
	as_buf_free(&why);
	t_told_end(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_uncounted),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_remembered),
	};

	return cmocka_run_group_tests_name("legal rest", tests, NULL, NULL);
}
