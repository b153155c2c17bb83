/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of a walk that are chosen by the state: the same for the same seed; nearly all go
 * through, and those that are refused are refused in many ways; both ends of a command are typical;
 * numbers are put at the size of a file; and more kinds of steps are met than by the walk alone and
 * than by drawing evenly what the state allows.
 */
#include "tests/lib/gen.h"

#include "base/digests.h"
#include "base/hash.h"
#include "work/print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WALK "like hunt\nsteer 0%\ncompare 3\nextend 0%\nburst 0%\nwalk.min 200\nwalk.max 200\n"
#define STEERED WALK "steer 100%\n"
#define EVENLY STEERED "k 0\ncompare 1\n"

struct setup {
	struct as_profile *profile;
	struct as_chooser *chooser;
	struct as_gen *gen;
};

static struct setup set_up(const char *text, uint64_t seed)
{
	struct setup s = { .profile = as_profile_new() };
	struct as_err err = { 0 };

	if (as_profile_parse("p", text, strlen(text), s.profile, &err))
		fail_msg("%s", err.msg);
	s.chooser = as_chooser_seeded(seed);
	s.gen = t_gen_start(s.profile, &t_any_traits, s.chooser);
	return s;
}

static void tear_down(struct setup *s)
{
	as_gen_free(s->gen);
	as_chooser_free(s->chooser);
	free(s->profile);
}

static struct as_seq *next(struct setup *s)
{
	struct as_seq *seq = as_gen_next(s->gen, AS_GEN_SYNTAX);

	assert_non_null(seq);
	as_chooser_next(s->chooser);
	return seq;
}

static struct as_digest text_of(uint64_t seed)
{
	struct setup s = set_up(STEERED, seed);
	struct as_buf text = { 0 };
	struct as_digest digest;

	for (int n = 0; n < 20; n++) {
		struct as_seq *seq = next(&s);

		as_print_seq(seq, &text);
		as_seq_free(seq);
	}
	digest = as_hash(as_buf_str(&text), text.len);
	as_buf_free(&text);
	tear_down(&s);
	return digest;
}

static void test_same_seed_same_workloads(void **state)
{
	struct as_digest one = text_of(1), again = text_of(1), two = text_of(2);

	(void)state;
	assert_memory_equal(&one, &again, sizeof(one));
	assert_memory_not_equal(&one, &two, sizeof(one));
}

/* ---- What is met ---- */

/* A step as a file system may see it: the command, what was done last to the same inode, what kind
 * of inode it is. */
struct met {
	struct as_digests steps; /* that went through */
	struct as_digests refusals; /* command and errno */
	unsigned ops, through;
	unsigned replaced, exchanged, apart; /* renames over a name, exchanges, fds of two files */
	unsigned at_size; /* numbers that are the size of the file, or one beside it */
	unsigned code[AS_OP_COUNT];
	uint8_t last[4096];
};

struct found {
	int slot;
	uint32_t ino;
};

static int see_open(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct found *found = ctx;

	(void)flags;
	if (slot == found->slot)
		found->ino = ino;
	return 0;
}

static uint32_t ino_of_fd(const struct as_model *model, int slot)
{
	struct found found = { .slot = slot };

	as_model_each_open(model, see_open, &found);
	return found.ino;
}

static bool there(const struct as_model *model, const char *path, struct as_stat *st)
{
	return path && as_model_stat(model, path, true, st);
}

static void note_pair(struct met *met, const struct as_model *model, const struct as_op *op)
{
	struct as_stat st;

	if (op->code == AS_OP_RENAME && there(model, op->path2, &st))
		met->replaced++;
	if (op->code == AS_OP_RENAME2 && op->flags & AS_RENAME_EXCHANGE)
		met->exchanged++;
	if (op->code == AS_OP_COPY_FILE_RANGE &&
	    ino_of_fd(model, op->fd) != ino_of_fd(model, op->fd2))
		met->apart++;
}

static void note(struct met *met, const struct as_model *before, const struct as_op *op, int err)
{
	struct as_stat st = { 0 };
	uint64_t step[3] = { (uint64_t)op->code };

	met->ops++;
	if (err) {
		step[1] = (uint64_t)err;
		as_digests_add(&met->refusals, as_hash(step, sizeof(step)));
		return;
	}
	met->through++;
	met->code[op->code]++;
	note_pair(met, before, op);
	if (op->code == AS_OP_TRUNCATE && there(before, op->path, &st) &&
	    (uint64_t)(op->len - st.size + 1) <= 2 && st.size)
		met->at_size++;
	if (there(before, op->path, &st))
		step[1] = st.mode & S_IFMT;
	else if (op->fd >= 0)
		st.ino = ino_of_fd(before, op->fd);
	if (st.ino) {
		step[2] = met->last[st.ino % 4096];
		met->last[st.ino % 4096] = (uint8_t)(op->code + 1);
	}
	as_digests_add(&met->steps, as_hash(step, sizeof(step)));
}

static struct met meet(const char *text)
{
	struct setup s = set_up(text, 7);
	struct met met = { 0 };

	for (int n = 0; n < 60; n++) {
		struct as_seq *seq = next(&s);
		struct as_model *model = as_model_new(&t_any_traits);

		memset(met.last, 0, sizeof(met.last));
		for (size_t i = 0; i < seq->n; i++) {
			struct as_model *before = as_model_copy(model);

			note(&met, before, &seq->ops[i], as_model_apply(model, &seq->ops[i]));
			as_model_free(before);
		}
		as_model_free(model);
		as_seq_free(seq);
	}
	tear_down(&s);
	return met;
}

static void forget(struct met *met)
{
	as_digests_free(&met->steps);
	as_digests_free(&met->refusals);
}

static void test_more_kinds_of_steps(void **state)
{
	struct met walk = meet(WALK), evenly = meet(EVENLY), steered = meet(STEERED);

	(void)state;
	print_message("steps: walk %zu, evenly %zu, steered %zu; through: %u, %u, %u of 100\n",
		      as_digests_n(&walk.steps), as_digests_n(&evenly.steps),
		      as_digests_n(&steered.steps), 100 * walk.through / walk.ops,
		      100 * evenly.through / evenly.ops, 100 * steered.through / steered.ops);
	assert_true(as_digests_n(&steered.steps) * 10 > as_digests_n(&walk.steps) * 115 / 10);
	assert_true(as_digests_n(&steered.steps) * 10 > as_digests_n(&evenly.steps) * 115 / 10);
	assert_true(100 * steered.through / steered.ops >= 85);
	assert_true(as_digests_n(&steered.refusals) >= 15);
	forget(&walk);
	forget(&evenly);
	forget(&steered);
}

static void test_both_ends(void **state)
{
	struct met steered = meet(STEERED);

	(void)state;
	print_message("replaced %u, exchanged %u, two files %u, at the size %u\n", steered.replaced,
		      steered.exchanged, steered.apart, steered.at_size);
	assert_true(steered.replaced >= 20);
	assert_true(steered.exchanged >= 20);
	assert_true(steered.apart >= 20);
	assert_true(steered.at_size >= 10);
	/* Extensions take part: all but those that come with others and are the walk's. */
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (as_op_table[op].needs != AS_NEEDS_MOUNT && op != AS_OP_LINK_TMPFILE &&
		    op != AS_OP_CHCWD && !steered.code[op])
			fail_msg("%s never went through", as_op_table[op].name);
	forget(&steered);
}

/* ---- Small spaces ---- */

/* With so few states a search comes to an end; it must not look for more for ever. */
static void test_small_spaces_end(void **state)
{
	struct setup s = set_up("like hunt\nlength.max 2\nnames a\n", 1);
	unsigned n = 0;

	(void)state;
	for (;; n++) {
		struct as_seq *seq = as_gen_next(s.gen, AS_GEN_SYNTAX);

		if (!seq)
			break;
		as_seq_free(seq);
		as_chooser_next(s.chooser);
	}
	assert_in_range(n, 5, 100000);
	tear_down(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_seed_same_workloads),
		cmocka_unit_test(test_more_kinds_of_steps),
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_small_spaces_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
