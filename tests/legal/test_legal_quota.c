/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quotas after a power cut. In each row, the recovered tree is the last state of the model, and its
 * quotas are right but for what the row says: the number that is added to the inodes or bytes of
 * one owner, and the limits of user 3.
 */
#include "tests/lib/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define P AS_GUARANTEE_PREFIX
#define O AS_GUARANTEE_OBJECT

#define FILES "create /a 0644\nchown /a 3 4\nhardlink /a /b\ncreate /c 0644\n"
#define SET_10 "setquota usr 3 ihard=10 bhard=100\n"
#define SET_20 "setquota usr 3 ihard=20\n"
#define NEW_FILE "$0 = open /n O_RDWR|O_CREAT 0644\n"

static const struct row {
	const char *name;
	enum as_guarantee guarantee;
	const char *workload;
	int inodes, bytes; /* more than there are, of group 4 */
	struct as_quota_limits limits; /* of user 3 */
	const char *words; /* of what is wrong; NULL: it is legal */
} rows[] = {
	{ "all is right", P, FILES, 0, 0, { 0 }, NULL },
	{ "an inode too many",
	  P,
	  FILES,
	  1,
	  0,
	  { 0 },
	  "the quota of group 4 has 2 inodes; recovered tree has 1" },
	{ "an inode too few", O, FILES, -1, 0, { 0 }, "has 0 inodes; recovered tree has 1" },
	{ "bytes too many",
	  P,
	  FILES,
	  0,
	  1024,
	  { 0 },
	  "the quota of group 4 has 5120 bytes; recovered tree has 4096" },
	{ "limits from nowhere",
	  P,
	  FILES "sync\n",
	  0,
	  0,
	  { .inodes_soft = 1 },
	  "user 3 must have the limits isoft=0 ihard=0 bsoft=0 bhard=0" },
	{ "limits that were synced", P, SET_10 "sync\n", 0, 0, { 0, 10, 0, 100 }, NULL },
	{ "limits that were synced are gone",
	  P,
	  SET_10 "sync\n",
	  0,
	  0,
	  { 0 },
	  "after sync at op 2, user 3 must have the limits isoft=0 ihard=10 bsoft=0 bhard=100" },
	{ "half of the limits", P, SET_10 "sync\n", 0, 0, { 0, 10, 0, 0 }, "after sync at op 2" },
	{ "limits that were not synced", P, SET_10, 0, 0, { 0 }, NULL },
	{ "limits that were not synced, but there", P, SET_10, 0, 0, { 0, 10, 0, 100 }, NULL },
	{ "newer limits, not synced", P, SET_10 "sync\n" SET_20, 0, 0, { 0, 20, 0, 0 }, NULL },
	{ "older limits, synced", P, SET_10 "sync\n" SET_20, 0, 0, { 0, 10, 0, 100 }, NULL },
	{ "older limits than those synced",
	  P,
	  SET_10 "sync\n" SET_20 "sync\n",
	  0,
	  0,
	  { 0, 10, 0, 100 },
	  "after sync at op 4, user 3 must have the limits isoft=0 ihard=20" },
	{ "limits of two moments", P, SET_10 "sync\n" SET_20, 0, 0, { 0, 20, 0, 100 }, "op 2" },
	{ "an fsync of what came later",
	  P,
	  SET_10 NEW_FILE "fsync $0\n",
	  0,
	  0,
	  { 0 },
	  "after fsync of /n at op 3" },
	{ "the same where order is not promised",
	  O,
	  SET_10 NEW_FILE "fsync $0\n",
	  0,
	  0,
	  { 0 },
	  NULL },
	{ "an fsync of what came earlier", P, NEW_FILE SET_10 "fsync $0\n", 0, 0, { 0 }, NULL },
};

static struct as_policy policy_of(enum as_guarantee guarantee)
{
	return (struct as_policy){ .guarantee = guarantee,
				   .data = AS_DATA_ORDERED,
				   .fsync_names = true,
				   .fdatasync_names = true,
				   .block_bytes = 1024 };
}

/* The workload on a file system that counts. */
static void tell(struct told *told, const struct as_policy *policy, const char *workload)
{
	struct as_err err = { 0 };

	t_told_begin(told, policy);
	told->traits.features &= ~(uint64_t)AS_FEAT_LIBRARY;
	told->traits.quota = AS_QUOTA_NOW | AS_QUOTA_SPACE | AS_QUOTA_LIMITS;
	if (as_parse_text("test", workload, strlen(workload), &told->seq, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < told->seq->n; i++)
		t_told_add(told, &told->seq->ops[i]);
}

/* The last state, in which each inode has 4096 bytes, and what its file system tells. */
static struct as_tree *tree_of(const struct as_history *history, const struct row *row)
{
	struct as_tree *tree = as_history_tree(history, as_history_len(history)), *made;
	struct as_tree_maker *maker = as_tree_maker_new();
	struct as_quota_told told[4] = { { .type = AS_QUOTA_USR },
					 { .type = AS_QUOTA_GRP },
					 { .type = AS_QUOTA_USR, .id = 3, .limits = row->limits },
					 { .type = AS_QUOTA_GRP, .id = 4 } };

	for (uint32_t i = 0; i < as_tree_len(tree); i++) {
		struct as_tree_node node = *as_tree_at(tree, i);
		bool first = node.twin == i;

		node.blocks = 8;
		as_tree_maker_add(maker, node.parent, node.twin + 1, &node);
		for (unsigned k = 0; k < 4 && first; k++) {
			bool its =
				told[k].id == (told[k].type == AS_QUOTA_USR ? node.uid : node.gid);

			told[k].inodes += its;
			told[k].space_bytes += its ? 4096 : 0;
		}
	}
	told[3].inodes += (uint64_t)row->inodes;
	told[3].space_bytes += (uint64_t)row->bytes;
	as_tree_maker_quotas(maker, told, 4);
	made = as_tree_maker_done(maker);
	as_tree_put(tree);
	return made;
}

static bool judge(struct told *told, const struct row *row, struct as_buf *why)
{
	struct as_tree *tree = tree_of(told->history, row);
	size_t n = as_history_len(told->history);
	struct as_moment moment = { .done = n, .begun = n };
	struct as_legal verdict = { 0 };
	bool legal = as_legal_judge_quotas(told->history, moment, tree, &verdict);

	t_verdict_say(&verdict, why);
	as_tree_put(tree);
	return legal;
}

static void test_rows(void **state)
{
	struct as_buf why = { 0 };
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_policy policy = policy_of(rows[i].guarantee);
		struct told told = { 0 };
		bool legal;

		tell(&told, &policy, rows[i].workload);
		legal = judge(&told, &rows[i], &why);
		if (legal != !rows[i].words ||
		    (!legal && (!strstr(as_buf_str(&why), rows[i].words) ||
				strncmp(as_buf_str(&why), "quota: ", 7)))) {
			fprintf(stderr, "%s: %s\n", rows[i].name, as_buf_str(&why));
			wrong++;
		}
		t_told_end(&told);
	}
	as_buf_free(&why);
	assert_int_equal(wrong, 0);
}

/* After a power cut, nobody knows which limits there are; usage is judged all the same. */
static void test_doubt(void **state)
{
	struct as_policy policy = policy_of(P);
	struct row row = { .limits = { 1, 2, 3, 4 } };
	struct as_buf why = { 0 };
	struct told told = { 0 };

	(void)state;
	tell(&told, &policy, FILES "sync\n");
	assert_false(judge(&told, &row, &why));
	as_history_doubt_limits(told.history);
	assert_true(judge(&told, &row, &why));
	row.inodes = 1;
	assert_false(judge(&told, &row, &why));
	t_told_end(&told);
	as_buf_free(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
