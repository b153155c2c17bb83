/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree that was read becomes a model (snapshot/tree_model.c), and the model's tree is the same
 * again; what a model cannot hold is refused.
 */
#include "legal/history.h"
#include "snapshot/tree.h"
#include "work/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct as_traits traits = { .name = "test", AS_TRAITS_ANY };

static struct as_tree *tree_of(const struct as_model *model)
{
	struct as_policy policy = { .guarantee = AS_GUARANTEE_PREFIX };
	struct as_history *history = as_history_new(model, &policy);
	struct as_tree *tree = as_history_tree(history, 0);

	as_history_free(history);
	return tree;
}

static struct as_model *model_of(const char *text)
{
	struct as_model *model = as_model_new(&traits);
	struct as_seq *seq = NULL;
	struct as_err err = { 0 };

	if (as_parse_text("workload", text, strlen(text), &seq, &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < seq->n; i++)
		if (as_model_apply(model, &seq->ops[i]))
			fail_msg("operation %zu fails: %s", i + 1, text);
	as_seq_free(seq);
	return model;
}

static void check(const char *text)
{
	struct as_model *model = model_of(text), *back;
	struct as_tree *tree = tree_of(model), *again;
	struct as_buf how = { 0 };

	back = as_tree_model(tree, &traits);
	if (!back)
		fail_msg("refused: %s", text);
	again = tree_of(back);
	if (as_tree_diff(tree, "tree", again, "model", &how))
		fail_msg("%s: %s", text, as_buf_str(&how));
	assert_true(as_digest_eq(as_tree_digest(tree), as_tree_digest(again)));
	as_buf_free(&how);
	as_tree_put(tree);
	as_tree_put(again);
	as_model_free(back);
	as_model_free(model);
}

#define FILE_F "$0 = open /f O_RDWR|O_CREAT 0644\n"

static void test_trees(void **state)
{
	static const char *const workloads[] = {
		"mkdir /a 0700\nmkdir /a/b 01777\ncreate /a/b/f 04644\nchown /a 5 7\n",
		"create /f 0644\nhardlink /f /g\nmkdir /d 0755\nhardlink /g /d/h\n",
		"symlink /nowhere/at/all /s\nmkdir /d 0755\nsymlink ../s /d/t\n",
		"mknod /p fifo 0600\nmknod /c chr 0600 dev=1:3\n",
		FILE_F "pwrite $0 len=9000 at=0 fill=7\npwrite $0 len=5 at=3 fill=8\n"
		       "pwrite $0 len=1001 at=2003 fill=9\n",
		FILE_F "pwrite $0 len=3 at=0 fill=7\n",
		FILE_F "pwrite $0 len=1 at=100001 fill=7\nftruncate $0 200003\n",
		FILE_F "pwrite $0 len=16384 at=0 fill=7\n"
		       "fallocate $0 COLLAPSE_RANGE at=4096 len=4096\n"
		       "pwrite $0 len=13 at=8190 fill=3\n",
		"create /f 0644\nwrite_xattr /f user.a len=0 fill=1\n"
		"write_xattr /f user.b len=5 fill=2\nwrite_xattr /f user.c len=13 fill=3\n"
		"write_xattr /f user.d len=300 fill=4\nwrite_xattr / user.e len=8 fill=0\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		check(workloads[i]);
}

/* ---- What is refused ---- */

static struct as_tree *odd_tree(const char *xattr, size_t odd_bytes, bool cut)
{
	struct as_tree_maker *maker = as_tree_maker_new();
	unsigned char *bytes = as_xmalloc(odd_bytes + 1);
	struct as_tree_xattr attribute = { xattr, as_content_of_bytes("not a pattern at all", 20) };
	struct as_tree_node root = { .name = "", .mode = S_IFDIR | 0755, .nlink = 2 };
	struct as_tree_node file = { .name = "f", .mode = S_IFREG | 0644, .nlink = 1 };
	uint32_t at;

	for (size_t i = 0; i < odd_bytes; i++)
		bytes[i] = (unsigned char)(1 + i * 7 % 250);
	file.content = as_content_of_bytes(bytes, odd_bytes);
	file.size = odd_bytes;
	file.xattr = &attribute;
	file.n_xattrs = xattr ? 1 : 0;
	at = as_tree_maker_add(maker, AS_TREE_NONE, 1, &root);
	(void)as_tree_maker_add(maker, at, 2, &file);
	if (cut)
		as_tree_maker_cut(maker);
	as_content_put(file.content);
	as_content_put(attribute.value);
	free(bytes);
	return as_tree_maker_done(maker);
}

static void test_refused(void **state)
{
	static const struct {
		const char *xattr;
		size_t odd_bytes;
		bool cut, fits;
	} rows[] = {
		{ NULL, 0, false, true },
		{ NULL, 1003, false, true },
		{ NULL, 100000, false, false },
		{ NULL, 0, true, false },
		{ "security.selinux", 0, false, true },
		{ "user.a", 0, false, false },
		{ "trusted.a", 0, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct as_tree *tree = odd_tree(rows[i].xattr, rows[i].odd_bytes, rows[i].cut);
		struct as_model *model = as_tree_model(tree, &traits);

		if (!model != !rows[i].fits)
			fail_msg("row %zu", i);
		as_model_free(model);
		as_tree_put(tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_trees),
					    cmocka_unit_test(test_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
