/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a power cut may leave, as a value: which pasts have the same digest, and that copies are
 * independent of each other. */
#include "legal/past.h"
#include "tests/lib/model.h"

static const struct as_policy policy = { .guarantee = AS_GUARANTEE_PREFIX,
					 .data = AS_DATA_ORDERED,
					 .fsync_names = true,
					 .fdatasync_names = true,
					 .block_bytes = 4096 };

struct walked {
	struct as_model *model;
	struct as_past *past;
};

static void walk_on(struct walked *w, const char *text)
{
	struct as_seq *seq = t_parse(text);

	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];
		int err = as_model_apply(w->model, op);
		struct as_outcome got = { .ret = err ? -1 : (int64_t)op->len, .err = err };
		struct as_past *next = as_past_add(w->past, op, &got, w->model);

		as_past_put(w->past);
		w->past = next;
	}
	as_seq_free(seq);
}

static struct walked walk(const char *text)
{
	struct walked w = { .model = as_model_new(&t_any_traits) };

	w.past = as_past_new(w.model, &policy);
	walk_on(&w, text);
	return w;
}

static void done(struct walked *w)
{
	as_past_put(w->past);
	as_model_free(w->model);
}

#define TWINS "create /a 0644\ncreate /b 0644\nsync\n"

#define OPEN_A "$0 = open /a O_RDWR|O_CREAT 0644\n"
#define RESERVE "fallocate $0 KEEP_SIZE len=5000 at=0\n"

static const struct {
	const char *name, *one, *other;
	bool same;
} rows[] = {
	{ "other options", "remount opts=sync\n", "", false },
	{ "one option or another", "remount opts=sync\n", "remount opts=noatime\n", false },
	{ "options and back", "remount opts=sync\nremount\n", "", true },
	{ "options and back, before a sync", "create /a 0644\nremount opts=sync\nremount\n",
	  "create /a 0644\n", true },
	{ "the last of two remounts", "create /a 0644\nremount opts=noatime\nremount opts=sync\n",
	  "create /a 0644\nremount opts=sync\n", true },
	{ "before or after the options", "remount opts=sync\ncreate /a 0644\n",
	  "create /a 0644\nremount opts=sync\n", false },
	{ "another mount forgets them", "remount opts=noatime\numount\nmount\n", "umount\nmount\n",
	  true },
	{ "an unmount, too", "remount opts=noatime\numount\n", "umount\n", true },
	{ "a mount with options", "umount\nmount opts=noatime\n", "umount\nmount\n", false },
	{ "names do not count", "create /a 0644\n", "create /b 0644\n", true },
	{ "nor do they after a sync", "create /a 0644\nsync\n", "create /b 0644\nsync\n", true },
	{ "what was removed before a sync", "create /a 0644\nsync\n",
	  "create /a 0644\nmkdir /d 0755\nrmdir /d\nsync\n", true },
	{ "inodes with other numbers",
	  "create /x 0644\nunlink /x\nmkdir /d 0755\nsync\n"
	  "create /d/f 0644\n",
	  "mkdir /e 0755\nsync\ncreate /e/g 0644\n", true },
	{ "operations that fail", "create /a 0644\n", "create /a 0644\nmkdir /a 0755\nrmdir /b\n",
	  true },
	{ "what only reads", "create /a 0644\n", "create /a 0644\nstat /a\nreaddir /\n", true },
	{ "an fsync more", "$0 = open /a O_RDWR|O_CREAT 0644\nfsync $0\n",
	  "$0 = open /a O_RDWR|O_CREAT 0644\nfsync $0\nfsync $0\n", true },
	{ "opened and closed", "create /a 0644\n",
	  "create /a 0644\n$0 = open /a O_RDONLY\nclose $0\n", true },
	{ "a sync", "create /a 0644\n", "create /a 0644\nsync\n", false },
	{ "an fsync", "$0 = open /a O_RDWR|O_CREAT 0644\n",
	  "$0 = open /a O_RDWR|O_CREAT 0644\nfsync $0\n", false },
	{ "blocks that are reserved", OPEN_A, OPEN_A RESERVE, false },
	{ "blocks that are reserved, then an fsync", OPEN_A RESERVE, OPEN_A RESERVE "fsync $0\n",
	  false },
	{ "an fsync before they are", OPEN_A RESERVE "fsync $0\n", OPEN_A "fsync $0\n" RESERVE,
	  false },
	{ "blocks that are reserved twice", OPEN_A RESERVE "fsync $0\n",
	  OPEN_A RESERVE "fsync $0\n" RESERVE "fsync $0\n", true },
	{ "fdatasync is less", "$0 = open /a O_RDWR|O_CREAT 0644\nfchmod $0 0600\nfsync $0\n",
	  "$0 = open /a O_RDWR|O_CREAT 0644\nfchmod $0 0600\nfdatasync $0\n", false },
	{ "an fsync before the change",
	  "$0 = open /a O_RDWR|O_CREAT 0644\nfsync $0\nchmod /a 0600\n",
	  "$0 = open /a O_RDWR|O_CREAT 0644\nchmod /a 0600\nfsync $0\n", false },
	{ "the order of changes", "mkdir /d 0755\ncreate /f 0644\n",
	  "create /f 0644\nmkdir /d 0755\n", false },
	{ "a state in between", "create /a 0644\n", "create /a 0644\ncreate /b 0644\nunlink /b\n",
	  false },
	{ "other data", "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=10 at=0 fill=1\n",
	  "$0 = open /a O_RDWR|O_CREAT 0644\npwrite $0 len=10 at=0 fill=2\n", false },
	/* In both, the states that follow each other look the same but for names. */
	{ "which of two that look alike", TWINS "chmod /a 0600\nchmod /b 0600\nchmod /a 0644\n",
	  TWINS "chmod /a 0600\nchmod /b 0600\nchmod /b 0644\n", false },
};

static void test_digests(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct walked one = walk(rows[i].one), other = walk(rows[i].other);
		bool same = as_digest_eq(as_past_digest(one.past), as_past_digest(other.past));

		if (same != rows[i].same)
			print_error("%s\n", rows[i].name);
		assert_int_equal(same, rows[i].same);
		done(&one);
		done(&other);
	}
}

static void test_exact(void **state)
{
	struct walked one = walk("create /a 0644\n"), other = walk("create /b 0644\n");
	struct walked again = walk("create /a 0644\nstat /a\n");

	(void)state;
	assert_false(as_digest_eq(as_past_exact(one.past), as_past_exact(other.past)));
	assert_true(as_digest_eq(as_past_exact(one.past), as_past_exact(again.past)));
	done(&one);
	done(&other);
	done(&again);
}

/* A copy is a reference; what is added to one does not show in the other. */
static void test_copies(void **state)
{
	struct walked one = walk("create /a 0644\n");
	struct walked copy = { as_model_copy(one.model), as_past_get(one.past) };
	struct as_digest before = as_past_digest(one.past);

	(void)state;
	walk_on(&copy, "mkdir /d 0755\nsync\ncreate /d/f 0644\n");
	assert_true(as_digest_eq(as_past_digest(one.past), before));
	assert_false(as_digest_eq(as_past_digest(copy.past), before));
	assert_int_equal(as_past_len(one.past), 1);
	assert_int_equal(as_past_len(copy.past), 1);
	done(&copy);
	walk_on(&one, "mkdir /d 0755\n");
	assert_int_equal(as_past_len(one.past), 2);
	done(&one);
}

/* The history that is made of a past has its states, and its promises. */
static void test_history(void **state)
{
	struct walked w = walk("create /old 0644\nsync\n$0 = open /a O_RDWR|O_CREAT 0644\nstat /a\n"
			       "pwrite $0 len=10 at=0 fill=1\nfsync $0\nmkdir /d 0755\n");
	struct as_history *history = as_past_history(w.past);
	struct as_buf words = { 0 };

	(void)state;
	assert_int_equal(as_past_len(w.past), 4);
	assert_int_equal(as_history_len(history), 4);
	assert_int_equal(as_history_known(history), 4);
	assert_false(as_history_persists(history, 0, &words));
	assert_true(as_history_persists(history, 2, &words));
	assert_string_equal(as_buf_str(&words), "fsync of /a at op 3");
	as_buf_free(&words);
	as_history_free(history);
	done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digests),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
