/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles: built-in ones and their text, what is refused and where, and what feedback shifts. */
#include "tests/lib/gen.h"

#include <stdlib.h>
#include <string.h>

static void test_round_trip(void **state)
{
	const char *name, *summary;

	(void)state;
	for (unsigned i = 0; (name = as_profile_builtin(i, &summary)); i++) {
		struct as_profile *a = as_profile_new(), *b = as_profile_new();
		struct as_buf text = { 0 };
		struct as_err err = { 0 };

		if (as_profile_find(name, a, &err))
			fail_msg("%s", err.msg);
		assert_string_equal(a->title, name);
		as_profile_print(a, &text);
		if (as_profile_parse(name, as_buf_str(&text), text.len, b, &err))
			fail_msg("%s", err.msg);
		assert_memory_equal(a, b, sizeof(*a));
		as_buf_free(&text);
		free(a);
		free(b);
	}
	assert_int_equal(as_profile_builtin(6, &summary), NULL);
}

static const struct {
	const char *text, *message;
} bad[] = {
	{ "weight mkdir -1\n", "p:1:14: the weight of mkdir is negative" },
	{ "# x\nweight frob 3\n", "p:2:8: unknown command 'frob'" },
	{ "weight mount 3\n", "p:1:8: unknown command 'mount': it cannot be generated" },
	{ "walk.min 9\n", "p: walk.min 9 is more than walk.max 0" },
	{ "weight mkdir\n", "p:1:13: expected a number from 0 to 1000000, found end of line" },
	{ "weight mkdir 3 4\n", "p:1:16: expected end of line, found '4'" },
	{ "k 17\n", "p:1:3: expected a number from 0 to 16, found '17'" },
	{ "compare 0\n", "p:1:9: expected a number from 1 to 16, found '0'" },
	{ "steer 101%\n", "p:1:7: expected a percentage" },
	{ "length.max 0\n", "p:1:12: expected a number from 1 to 100000, found '0'" },
	{ "length.max 99999999999999999999999\n", "p:1:12: expected a number from 1" },
	{ "length.min 9\nlength.max 3\n", "p: length.min 9 is more than length.max 3" },
	{ "extend 40\n", "p:1:8: expected a percentage from 0 to 90%" },
	{ "names a b a\n", "p:1:11: 'a' is there twice" },
	{ "names\n", "p:1:6: expected a name" },
	{ "names d\n", "p:1:7: 'd' cannot be a name" },
	{ "names a e17\n", "p:1:9: 'e17' cannot be a name" },
	{ "names a/b\n", "p:1:7: 'a/b' cannot be a name" },
	{ "order breadth\n", "p:1:7: expected longer, uniform or depth, found 'breadth'" },
	{ "prune maybe\n", "p:1:7: expected exact or canonical" },
	{ "like nobody\n", "p:1:6: expected a built-in profile, found 'nobody'" },
	{ "frob 1\n", "p:1:1: unknown key 'frob'" },
	{ "param open.x 1\n", "p:1:7: unknown argument 'open.x'" },
	{ "param open.open_flags O_FROB 10%\n", "p:1:23: expected open flags" },
	{ "param open.open_flags O_RDWR 101%\n", "p:1:30: expected a percentage" },
	{ "param write.len 5..\n", "p:1:20: expected a length" },
	{ "param write.len 1..4*0\n", "p:1:22: expected a weight from 1 to 1000" },
	{ "param write.len 1 2 3 4 5 6 7 8 9\n", "p:1:33: expected at most 8 ranges" },
	{ "param utimens.mtime 5\n", "p:1:21: expected a range such as 1..4096" },
	{ "param open.open_flags O_RDWR 10% O_FROB=3%\n", "p:1:34: expected never= or a flag" },
	{ "param open.open_flags O_RDWR 10% O_SYNC=300%\n", "p:1:41: expected a percentage" },
	{ "param write.len 5..4\n", "p:1:17: expected a range that goes upwards" },
	{ "param write.len -1..4\n", "p:1:17: expected a length" },
	{ "param mknod.node_type\n", "p:1:22: expected a node type" },
	{ "weight mkdir 0\nweight create 0\nweight mknod 0\nweight hardlink 0\nweight symlink 0\n"
	  "weight rename 0\nweight remove 0\nweight open 0\nweight close 0\nweight chcwd 0\n",
	  "p: no core command has a weight above 0" },
};

static void test_refused(void **state)
{
	struct as_profile *p = as_profile_new(), *before = as_profile_new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct as_err err = { 0 };

		assert_int_equal(as_profile_parse("p", bad[i].text, strlen(bad[i].text), p, &err),
				 AS_EUSE);
		if (strncmp(err.msg, bad[i].message, strlen(bad[i].message)))
			fail_msg("'%s': %s, wanted %s", bad[i].text, err.msg, bad[i].message);
		assert_memory_equal(p, before, sizeof(*p));
	}
	free(p);
	free(before);
}

/* What the row of a new operation needs: a weight in one of the profiles that are there to draw
 * everything, and a draw for each argument that is neither a path nor a descriptor. */
static void test_every_operation_is_drawn(void **state)
{
	static const char *const names[] = { "coverage", "hunt", "crash" };
	bool drawn[AS_OP_COUNT][AS_ARG_KINDS] = { { false } }, weighed[AS_OP_COUNT] = { false };
	struct as_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct as_profile *p = as_profile_new();

		assert_int_equal(as_profile_find(names[i], p, &err), 0);
		for (int op = 0; op < AS_OP_COUNT; op++)
			weighed[op] |= p->weight[op] != 0;
		free(p);
	}
	for (unsigned i = 0; i < AS_DRAWS; i++)
		drawn[as_draws[i].op][as_draws[i].arg] = true;
	for (int op = 0; op < AS_OP_COUNT; op++) {
		if (as_gen_rows[op].known && !weighed[op])
			fail_msg("src/work/op.def: %s has no weight", as_op_table[op].name);
		for (const enum as_arg_kind *k = as_op_table[op].args; *k != AS_ARG_END; k++)
			if (!drawn[op][*k] && *k != AS_ARG_PATH && *k != AS_ARG_PATH2 &&
			    *k != AS_ARG_FD && *k != AS_ARG_FD2)
				fail_msg("src/work/op.def: %s draws no %s", as_op_table[op].name,
					 as_arg_table[*k].expected);
	}
}

static void test_like(void **state)
{
	static const char text[] = "like crash\r\nprofile mine # and mine alone\n\nweight sync 7\n"
				   "param write.len 1..2\nnames x \"y z\"";
	struct as_profile *p = as_profile_new(), *crash = as_profile_new();
	struct as_err err = { 0 };

	(void)state;
	if (as_profile_parse("p", text, strlen(text), p, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(p->title, "mine");
	assert_int_equal(as_profile_find("crash", crash, &err), 0);
	assert_int_equal(p->length_max, crash->length_max);
	assert_int_equal(p->weight[AS_OP_SYNC], 7);
	assert_int_not_equal(crash->weight[AS_OP_SYNC], 7);
	assert_int_equal(p->weight[AS_OP_FSYNC], crash->weight[AS_OP_FSYNC]);
	assert_int_equal(p->dist[AS_DRAW_WRITE_LEN].hi, 2);
	assert_int_equal(p->n_names, 2);
	assert_string_equal(p->name[1], "y z");
	free(crash);
	free(p);
}

/* ---- Feedback -------------------------------------------------------------------------------- */

struct tally {
	unsigned fsyncs, writes, small, opens, sync;
};

static struct tally tally(const struct as_profile *profile)
{
	struct as_chooser *chooser = as_chooser_seeded(1);
	struct as_gen *gen = t_gen_start(profile, &t_any_traits, chooser);
	struct tally t = { 0 };

	for (int n = 0; n < 1000; n++) {
		struct as_seq *seq = as_gen_next(gen, AS_GEN_SYNTAX);

		for (size_t i = 0; i < seq->n; i++) {
			const struct as_op *op = &seq->ops[i];

			t.fsyncs += op->code == AS_OP_FSYNC;
			t.writes += op->code == AS_OP_WRITE;
			t.small += op->code == AS_OP_WRITE && op->len < 16;
			t.opens += op->code == AS_OP_OPEN;
			t.sync += op->code == AS_OP_OPEN && (op->flags & AS_O_SYNC_ONLY);
		}
		as_seq_free(seq);
	}
	as_gen_free(gen);
	as_chooser_free(chooser);
	return t;
}

static void test_feedback_shifts(void **state)
{
	/* fsync came rarely, everything else alike; writes were all large; O_SYNC never came. */
	static const char text[] =
		"{\"op\": \"fsync\", \"count\": 3}\n\n"
		"{\"op\": \"write\", \"count\": 900}\n{\"op\": \"read\", \"count\": 900}\n"
		"{\"op\": \"open\", \"count\": 900}\n{\"op\": \"mkdir\", \"count\": 900}\n"
		"{\"op\": \"write\", \"arg\": \"len\", \"partition\": \"2^15\", \"count\": 900}\n"
		"{\"op\": \"open\", \"arg\": \"open_flags\", \"partition\": \"O_NONBLOCK\", "
		"\"count\": 64}\n"
		"{\"op\": \"open\", \"arg\": \"open_flags\", \"partition\": \"unknown\", "
		"\"count\": 64}\n";
	struct as_profile *p = as_profile_new();
	struct as_err err = { 0 };
	struct tally before = tally(p), after;

	(void)state;
	if (as_gen_feedback(p, "f", text, strlen(text), &err))
		fail_msg("%s", err.msg);
	/* sync is not in the table: never met. */
	assert_int_equal(p->weight[AS_OP_FSYNC], 3 * 16);
	assert_int_equal(p->weight[AS_OP_SYNC], 3 * 16);
	assert_int_equal(p->weight[AS_OP_WRITE], 10);
	after = tally(p);
	assert_true(after.fsyncs * before.writes > 3 * before.fsyncs * after.writes);
	assert_true(before.small * 20 < before.writes);
	assert_true(after.small * 5 > after.writes);
	assert_true(after.sync * before.opens > 2 * before.sync * after.opens);
	free(p);
}

/* Every kind of partition, each of something that comes rarely or not at all without feedback. */
static const struct {
	const char *common, *op, *arg, *rare; /* rare is met never, common a thousand times */
	unsigned draw;
	int64_t mask, value; /* of the field: how the rare one is told */
} kinds[] = {
	{ "S_IRUSR", "chmod", "mode", "S_ISUID", AS_DRAW_CHMOD_MODE, 04000, 04000 },
	{ "SEEK_SET", "lseek", "whence", "SEEK_HOLE", AS_DRAW_LSEEK_WHENCE, 7, 4 },
	{ "XATTR_CREATE", "write_xattr", "xflags", "XATTR_REPLACE", AS_DRAW_WRITE_XATTR_XFLAGS, 2,
	  2 },
	{ "O_CREAT", "open", "open_flags", "O_WRONLY", AS_DRAW_OPEN_OPEN_FLAGS, 3, 1 },
	{ "2^12", "write", "len", "2^3", AS_DRAW_WRITE_LEN, ~7, 8 },
	{ "MS_SYNC", "mmap_write", "msync", "MS_ASYNC", AS_DRAW_MMAP_WRITE_MSYNC, 7, 1 },
};

static unsigned count_rare(const struct as_profile *p, size_t k)
{
	const struct as_draw *draw = &as_draws[kinds[k].draw];
	struct as_chooser *chooser = as_chooser_seeded(4);
	struct as_buf text = { 0 };
	unsigned n = 0;

	for (int i = 0; i < 4000; i++) {
		struct as_op op = as_op_make(draw->op);
		int64_t value;

		as_dist_draw(draw, &p->dist[kinds[k].draw], as_chooser_choice(chooser), &op, &text);
		value = draw->how == AS_HOW_MODE ? op.mode : as_arg_int(&op, as_draw_info(draw));
		n += (value & kinds[k].mask) == kinds[k].value;
	}
	as_buf_free(&text);
	as_chooser_free(chooser);
	return n;
}

static void test_feedback_steers_every_kind(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct as_profile *p = as_profile_new(), *once = as_profile_new();
		struct as_buf text = { 0 };
		struct as_err err = { 0 };
		unsigned before, after;

		assert_int_equal(as_profile_find("hunt", p, &err), 0);
		before = count_rare(p, k);
		as_buf_addf(&text,
			    "{\"op\": \"%s\", \"arg\": \"%s\", \"partition\": \"%s\", "
			    "\"count\": 1000}\n{\"op\": \"%s\", \"arg\": \"errno\", "
			    "\"partition\": \"ENOSPC\", \"count\": 3}\n"
			    "{\"op\": \"%s\", \"count\": 5}\n",
			    kinds[k].op, kinds[k].arg, kinds[k].common, kinds[k].op, kinds[k].op);
		for (int again = 0; again < 2; again++) {
			if (as_gen_feedback(p, "f", as_buf_str(&text), text.len, &err))
				fail_msg("%s", err.msg);
			if (!again)
				*once = *p;
		}
		/* The same counts twice are the same as once. */
		assert_memory_equal(p, once, sizeof(*p));
		after = count_rare(p, k);
		/* Of five alike of which four are met never, each comes a fifth more often. */
		if (after * 10 < before * 11 || !after)
			fail_msg("%s.%s %s: %u, %u after feedback", kinds[k].op, kinds[k].arg,
				 kinds[k].rare, before, after);
		as_buf_free(&text);
		free(p);
		free(once);
	}
}

static const struct {
	const char *text, *message;
} bad_feedback[] = {
	{ "{\"op\": \"write\"", "f:1:" },
	{ "\n[]\n", "f:2:1: expected {\"op\"" },
	{ "{\"op\": \"write\"}\n", "f:1:1: expected {\"op\"" },
	{ "{\"op\": \"write\", \"arg\": \"len\", \"count\": 3}\n", "f:1:1: expected {\"op\"" },
	{ "{\"op\": \"write\", \"count\": -3}\n", "f:1:1: the count is negative" },
	{ "{\"op\": \"frob\", \"count\": 3}\n", "f:1:1: unknown operation 'frob'" },
};

static void test_feedback_refused(void **state)
{
	struct as_profile *p = as_profile_new(), *before = as_profile_new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad_feedback) / sizeof(bad_feedback[0]); i++) {
		struct as_err err = { 0 };
		const char *text = bad_feedback[i].text;

		assert_int_equal(as_gen_feedback(p, "f", text, strlen(text), &err), AS_EUSE);
		if (strncmp(err.msg, bad_feedback[i].message, strlen(bad_feedback[i].message)))
			fail_msg("'%s': %s", text, err.msg);
		assert_memory_equal(p, before, sizeof(*p));
	}
	free(p);
	free(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_every_operation_is_drawn),
		cmocka_unit_test(test_like),
		cmocka_unit_test(test_feedback_shifts),
		cmocka_unit_test(test_feedback_steers_every_kind),
		cmocka_unit_test(test_feedback_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
