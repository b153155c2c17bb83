/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is found when a file system counts wrong. The file system is a model that can be asked for
 * its quotas, right or with a mistake; tests/cli/test_uml.sh has real ones.
 */
#include "child/quota.h"

#include "tests/lib/model.h"

#include <errno.h>

/* Of usr 0, usr 7, grp 0 and grp 8. */
struct usage {
	int64_t inodes[4];
	uint64_t bytes[4];
};

struct counted {
	struct as_vfs vfs;
	const struct as_model *model;
	struct usage usage;
};

static void do_quota(struct as_vfs *vfs, const struct as_op *op, struct as_outcome *out)
{
	const struct counted *c = (const struct counted *)vfs;
	int i = (op->flags ? 2 : 0) + (op->uid ? 1 : 0);

	as_vfs_answer(out, c->usage.inodes[i]);
	out->space_bytes = c->usage.bytes[i];
}

static int tree_stat(void *ctx, const char *path, struct as_stat *st)
{
	const struct counted *c = ctx;

	if (!as_model_stat(c->model, path, true, st))
		return -ENOENT;
	st->blocks = (st->size + 511) / 512;
	return 0;
}

/* A root directory of root, files of 1024 and 512 bytes of 7 and 8, one of them with two names. */
static const char text[] = "create /f 0644\ntruncate /f 1024\ncreate /g 0644\ntruncate /g 512\n"
			   "chown /f 7 8\nchown /g 7 8\nhardlink /f /h\n";

static const struct {
	const char *name;
	struct usage usage;
	const char *why; /* "": nothing is wrong */
} rows[] = {
	{ "right", { { 1, 2, 1, 2 }, { 0, 1536, 0, 1536 } }, "" },
	{ "a chown that did not move it",
	  { { 2, 1, 1, 2 }, { 1024, 512, 0, 1536 } },
	  "quota of user 0: 2 inodes, the tree has 1" },
	{ "a name counted as an inode",
	  { { 1, 3, 1, 2 }, { 0, 1536, 0, 1536 } },
	  "quota of user 7: 3 inodes, the tree has 2" },
	{ "a group forgotten",
	  { { 1, 2, 1, 0 }, { 0, 1536, 0, 0 } },
	  "quota of group 8: 0 inodes, the tree has 2" },
	{ "no answer", { { 1, 2, 1, -ESRCH }, { 0, 1536, 0, 0 } }, "quota of group 8: ESRCH" },
	{ "space that is not given back",
	  { { 1, 2, 1, 2 }, { 0, 1536, 0, 2048 } },
	  "quota of group 8: 2048 bytes, the tree has 1536" },
};

static void test_counts(void **state)
{
	static const struct as_tree_ops tree = { .stat = tree_stat };
	struct as_vfs_ops ops = { .tree = &tree, .op = { [AS_OP_QUOTA] = do_quota } };
	struct as_traits traits = t_full_traits;
	struct as_model *m;

	(void)state;
	traits.quota = AS_QUOTA_SPACE;
	traits.features &= ~(uint64_t)AS_FEAT_PROJECT;
	m = as_model_new(&traits);
	assert_int_equal(t_apply_text(m, text), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct counted c = { .vfs = { .ops = &ops }, .model = m, .usage = rows[i].usage };
		struct as_buf why = { 0 };
		bool agrees = as_quota_agrees(&c.vfs, m, &why);

		if (agrees != !*rows[i].why || strcmp(as_buf_str(&why), rows[i].why))
			fail_msg("%s: %s", rows[i].name, as_buf_str(&why));
		as_buf_free(&why);
	}
	as_model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_counts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
