/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random workloads, told by the model itself. Whatever the power cut, the model's own states from
 * the last sync on are legal, with their data mixed from what the file held since it was made
 * stable; and what lacks something stable is not.
 */
#include "tests/lib/chance.h"
#include "tests/lib/mutate.h"
#include "tests/lib/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct as_policy policy_of(enum as_guarantee guarantee)
{
	return (struct as_policy){
		.guarantee = guarantee,
		.data = AS_DATA_ORDERED,
		.fsync_names = guarantee != AS_GUARANTEE_REPAIR,
		.lost_found = true,
		.block_bytes = 1024,
	};
}

static void show(const struct told *t, struct as_moment moment, size_t state, const char *why)
{
	struct as_buf words = { 0 };

	print_error("after %zu (begun %zu), state %zu: %s\n", moment.done, moment.begun, state,
		    why);
	for (size_t i = 0; i < as_history_len(t->history); i++)
		if (as_history_persists(t->history, i, &words))
			as_buf_addc(&words, '\n');
	print_error("%s", as_buf_str(&words));
	as_buf_free(&words);
}

static bool is_sync(const struct as_op *op)
{
	return op->code == AS_OP_SYNC || op->code == AS_OP_SYNCFS;
}

/* All states against all moments. */
static void check_states(struct told *t, const struct as_seq *ops, struct as_tree **trees,
			 bool in_order)
{
	size_t n = as_history_len(t->history), synced = 0;
	struct as_legal verdict = { 0 };

	for (size_t done = 0; done <= n; done++) {
		if (done && is_sync(&ops->ops[done - 1]) &&
		    as_history_persists(t->history, done - 1, NULL))
			synced = done;
		for (size_t k = 0; k <= done; k++) {
			struct as_moment moment = { done, done < n ? done + 1 : done, 0 };
			bool legal = as_legal_judge(t->history, moment, trees[k], &verdict);
			bool same = false, lost = true;

			/* Nothing was made stable since: all of it may be lost. */
			for (size_t i = k; i < done; i++)
				lost &= !as_history_persists(t->history, i, NULL);
			/* The same as one that came later. */
			for (size_t m = synced; m <= moment.begun && !same; m++)
				same = as_digest_eq(as_tree_digest(trees[k]),
						    as_tree_digest(trees[m]));
			if (lost && !legal)
				show(t, moment, k, as_buf_str(&verdict.why));
			if (lost)
				assert_true(legal);
			if (!in_order)
				continue;
			if (!same && legal)
				show(t, moment, k, "not noticed");
			if (!same)
				assert_false(legal);
		}
	}
	as_legal_free(&verdict);
}

static void one_workload(const struct as_seq *letters, uint64_t seed, size_t len,
			 enum as_guarantee guarantee)
{
	struct as_policy policy = policy_of(guarantee);
	struct as_chooser *chance = as_chooser_seeded(seed);
	struct as_tree **trees = as_xcalloc(len + 1, sizeof(*trees));
	struct as_seq *ops = as_seq_new();
	struct told told;

	t_told_begin(&told, &policy);
	trees[0] = as_history_tree(told.history, 0);
	for (size_t i = 0; i < len; i++) {
		const struct as_op *op =
			&letters->ops[as_choose(as_chooser_choice(chance), (unsigned)letters->n)];

		as_seq_add(ops, op);
		t_told_add(&told, op);
		trees[i + 1] = as_history_tree(told.history, i + 1);
	}
	check_states(&told, ops, trees, guarantee == AS_GUARANTEE_PREFIX);
	for (size_t i = 0; i <= len; i++)
		as_tree_put(trees[i]);
	free(trees);
	as_seq_free(ops);
	as_chooser_free(chance);
	t_told_end(&told);
}

static void test_states(void **state)
{
	struct as_seq *letters = t_chance_letters();

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		one_workload(letters, seed, 40, AS_GUARANTEE_PREFIX);
		one_workload(letters, seed, 40, AS_GUARANTEE_OBJECT);
		one_workload(letters, seed, 40, AS_GUARANTEE_REPAIR);
	}
	as_seq_free(letters);
}

/* ---- Anything at all ---- */

/* A path of the tree, or one that is not there. */
static void draw_path(const struct as_tree *tree, struct as_choice *c, struct as_buf *out)
{
	uint32_t at = as_choose(c, as_tree_len(tree));

	as_tree_path(tree, at, out);
	if (S_ISDIR(as_tree_at(tree, at)->mode) && as_choose(c, 2) == 0)
		as_buf_addf(out, "%s%c", at ? "/" : "", 'a' + as_choose(c, 26));
}

static struct as_tree *draw_tree(const struct as_tree *tree, struct as_choice *c)
{
	static const char *const verbs[] = { "drop",  "file",  "dir",	 "link", "move",
					     "mode",  "nlink", "uid",	 "size", "fill",
					     "bytes", "xattr", "noxattr" };
	struct as_tree *now = t_mutate(tree, "");

	for (unsigned n = 1 + as_choose(c, 4); n > 0; n--) {
		const char *verb = verbs[as_choose(c, sizeof(verbs) / sizeof(verbs[0]))];
		struct as_buf a = { 0 }, b = { 0 }, line = { 0 };
		uint32_t at, to;

		draw_path(now, c, &a);
		draw_path(now, c, &b);
		at = as_tree_find(now, as_buf_str(&a));
		to = as_tree_find(now, as_buf_str(&b));
		as_buf_addf(&line, "%s %s ", verb, as_buf_str(&a));
		if (strcmp(verb, "file") == 0 || strcmp(verb, "dir") == 0)
			at = at == AS_TREE_NONE ? 1 : AS_TREE_NONE;
		else if (strcmp(verb, "link") == 0 || strcmp(verb, "move") == 0)
			at = to == AS_TREE_NONE && at != AS_TREE_NONE && at != 0 &&
					     !S_ISDIR(as_tree_at(now, at)->mode)
				     ? at
				     : AS_TREE_NONE;
		else if (strcmp(verb, "drop") == 0 && at == 0)
			at = AS_TREE_NONE;
		else if ((strcmp(verb, "size") == 0 || strcmp(verb, "fill") == 0 ||
			  strcmp(verb, "bytes") == 0) &&
			 at != AS_TREE_NONE && !S_ISREG(as_tree_at(now, at)->mode))
			at = AS_TREE_NONE;
		if (strcmp(verb, "link") == 0 || strcmp(verb, "move") == 0)
			as_buf_adds(&line, as_buf_str(&b));
		else if (strcmp(verb, "xattr") == 0 || strcmp(verb, "noxattr") == 0)
			as_buf_addf(&line, "user.k %u %u", as_choose(c, 40), as_choose(c, 5));
		else
			as_buf_addf(&line, "%u %u %u", as_choose(c, 5000), as_choose(c, 5000),
				    as_choose(c, 12));
		if (at != AS_TREE_NONE) {
			struct as_tree *next = t_mutate(now, as_buf_str(&line));

			as_tree_put(now);
			now = next;
		}
		as_buf_free(&a);
		as_buf_free(&b);
		as_buf_free(&line);
	}
	return now;
}

/* Trees that make no sense: each gets a verdict, the same twice, and words where it is refused. */
static void test_anything(void **state)
{
	struct as_seq *letters = t_chance_letters();

	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct as_policy policy = policy_of((enum as_guarantee)(seed % 3));
		struct as_chooser *chance = as_chooser_seeded(seed);
		struct as_choice *c = as_chooser_choice(chance);
		struct told told;

		t_told_begin(&told, &policy);
		for (size_t i = 0; i < 30; i++)
			t_told_add(&told, &letters->ops[as_choose(c, (unsigned)letters->n)]);
		for (int i = 0; i < 40; i++) {
			size_t n = as_choose(c, 31), done = as_choose(c, 31);
			struct as_moment moment = { done, done < 30 ? done + as_choose(c, 2) : done,
						    0 };
			struct as_tree *like = as_history_tree(told.history, n);
			struct as_tree *tree = draw_tree(like, c);
			struct as_legal first = { 0 }, again = { 0 };
			bool legal = as_legal_judge(told.history, moment, tree, &first);

			assert_int_equal(as_legal_judge(told.history, moment, tree, &again), legal);
			assert_string_equal(as_buf_str(&first.why), as_buf_str(&again.why));
			assert_true(legal || (first.why.len && first.signature.len));
			as_legal_free(&first);
			as_legal_free(&again);
			as_tree_put(like);
			as_tree_put(tree);
		}
		t_told_end(&told);
		as_chooser_free(chance);
	}
	as_seq_free(letters);
}

/* ---- Data ---- */

#define SECTOR 512u
#define SECTORS 16u
#define WRITES 30u

struct file_model { /* a file, simply */
	unsigned char at[WRITES + 1][SECTOR * SECTORS];
	size_t size[WRITES + 1];
	bool synced[WRITES + 1]; /* after that many operations */
	size_t n;
};

static void write_op(struct told *t, struct file_model *f, struct as_choice *c)
{
	struct as_op op = as_op_make(AS_OP_PWRITE);

	op.fd = 0;
	op.off = as_choose(c, SECTOR * SECTORS - 1);
	op.len = 1 + as_choose(c, (unsigned)(SECTOR * SECTORS - (unsigned)op.off));
	op.fill = 1 + as_choose(c, 1000);
	memcpy(f->at[f->n + 1], f->at[f->n], sizeof(f->at[0]));
	f->size[f->n + 1] = f->size[f->n];
	as_pattern_fill(op.fill, (uint64_t)op.off, f->at[f->n + 1] + op.off, op.len);
	if ((size_t)op.off + op.len > f->size[f->n + 1])
		f->size[f->n + 1] = (size_t)op.off + op.len;
	f->n++;
	t_told_add(t, &op);
}

static void sync_op(struct told *t, struct file_model *f, bool data)
{
	struct as_op op = as_op_make(data ? AS_OP_FDATASYNC : AS_OP_FSYNC);

	op.fd = 0;
	memcpy(f->at[f->n + 1], f->at[f->n], sizeof(f->at[0]));
	f->size[f->n + 1] = f->size[f->n];
	f->synced[++f->n] = true;
	t_told_add(t, &op);
}

/* A tree with one file of these bytes. */
static struct as_tree *tree_of(const struct told *t, const unsigned char *bytes, size_t size)
{
	struct as_tree *like = as_history_tree(t->history, as_history_len(t->history)), *tree;
	struct as_tree_maker *maker = as_tree_maker_new();
	struct as_tree_node node = *as_tree_at(like, 0);
	struct as_content *content = as_content_of_bytes(bytes, size);

	as_tree_maker_add(maker, AS_TREE_NONE, 1, &node);
	node = *as_tree_at(like, 1);
	node.content = content;
	node.size = size;
	as_tree_maker_add(maker, 0, 2, &node);
	tree = as_tree_maker_done(maker);
	as_content_put(content);
	as_tree_put(like);
	return tree;
}

/* Sectors from any state since the last fsync, any size between. */
static void check_mixed(struct told *t, const struct file_model *f, size_t from,
			struct as_choice *c)
{
	size_t n = f->n, lo = f->size[from],
	       size = lo + as_choose(c, (unsigned)(f->size[n] - lo) + 1);
	unsigned char mix[SECTOR * SECTORS] = { 0 };
	struct as_legal verdict = { 0 };
	struct as_tree *tree;
	size_t len = as_history_len(t->history), at;
	bool known = false;

	for (unsigned s = 0; s < SECTORS; s++)
		memcpy(mix + s * SECTOR,
		       f->at[from + as_choose(c, (unsigned)(n - from) + 1)] + s * SECTOR, SECTOR);
	tree = tree_of(t, mix, size);
	if (!as_legal_judge(t->history, (struct as_moment){ len, len, 0 }, tree, &verdict))
		fail_msg("a mixture of what it held since op %zu: %s", from,
			 as_buf_str(&verdict.why));
	as_tree_put(tree);
	/* One byte that it never held since. */
	if (size == 0)
		return;
	at = as_choose(c, (unsigned)size);
	mix[at] = (unsigned char)as_choose(c, 256);
	for (size_t i = from; i <= n; i++)
		known |= f->at[i][at] == mix[at];
	tree = tree_of(t, mix, size);
	if (as_legal_judge(t->history, (struct as_moment){ len, len, 0 }, tree, &verdict) != known)
		fail_msg("byte %zu is %s: %s", at, known ? "right" : "wrong",
			 as_buf_str(&verdict.why));
	if (!known)
		assert_true(verdict.rule == AS_RULE_DATA || verdict.rule == AS_RULE_FOREIGN);
	as_tree_put(tree);
	/* Too short. */
	if (lo) {
		tree = tree_of(t, f->at[n], as_choose(c, (unsigned)lo));
		assert_false(as_legal_judge(t->history, (struct as_moment){ len, len, 0 }, tree,
					    &verdict));
		assert_int_equal(verdict.rule, AS_RULE_SIZE);
		as_tree_put(tree);
	}
	as_legal_free(&verdict);
}

static void test_data(void **state)
{
	struct as_policy policy = policy_of(AS_GUARANTEE_PREFIX);

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct as_chooser *chance = as_chooser_seeded(seed);
		struct as_choice *c = as_chooser_choice(chance);
		struct file_model *f = as_xcalloc(1, sizeof(*f));
		struct as_op op = as_op_make(AS_OP_OPEN);
		size_t from = 0;
		struct told told;

		t_told_begin(&told, &policy);
		op.path = "/f";
		op.slot = 0;
		op.flags = 0102; /* O_RDWR|O_CREAT */
		op.mode = 0644;
		t_told_add(&told, &op);
		op = as_op_make(AS_OP_SYNC);
		t_told_add(&told, &op);
		while (f->n < WRITES) {
			if (as_choose(c, 4) == 0)
				sync_op(&told, f, as_choose(c, 2));
			else
				write_op(&told, f, c);
			if (f->synced[f->n])
				from = f->n;
			for (int i = 0; i < 4; i++)
				check_mixed(&told, f, from, c);
		}
		t_told_end(&told);
		free(f);
		as_chooser_free(chance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_anything),
		cmocka_unit_test(test_data),
	};

	return cmocka_run_group_tests_name("legal chance", tests, NULL, NULL);
}
