/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk after the backbone: long ones stay meaningful to their end, the tree grows and shrinks
 * within its bound, every command is met, the errors a tester wants to see are provoked, and what
 * never comes alone does not come alone.
 */
#include "tests/lib/gen.h"

#include "gen/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct setup {
	struct as_profile *profile;
	struct as_chooser *chooser;
	struct as_gen *gen;
};

static struct setup set_up(const char *name, const char *more)
{
	struct setup s = { .profile = as_profile_new() };
	struct as_buf text = { 0 };
	struct as_err err = { 0 };

	as_buf_addf(&text, "like %s\n%s", name, more);
	if (as_profile_parse("p", as_buf_str(&text), text.len, s.profile, &err))
		fail_msg("%s", err.msg);
	as_buf_free(&text);
	s.chooser = as_chooser_seeded(5);
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

/* Shares of what goes through, at the beginning and in the last fifth of a thousand commands. */
static void test_long_walks_stay_meaningful(void **state)
{
	struct setup s = set_up("hunt", "walk.min 1000\nwalk.max 1000\n");
	unsigned ok = 0, all = 0, late_ok = 0, late = 0, met[AS_OP_COUNT] = { 0 };

	(void)state;
	for (int n = 0; n < 60; n++) {
		struct as_seq *seq = next(&s);
		struct as_model *model = as_model_new(&t_any_traits);

		assert_in_range(seq->n, 1000, 1000 + 300);
		for (size_t i = 0; i < seq->n; i++) {
			bool through = as_model_apply(model, &seq->ops[i]) == 0;

			ok += through;
			all++;
			late_ok += through && i >= seq->n * 4 / 5;
			late += i >= seq->n * 4 / 5;
			met[seq->ops[i].code] += through;
		}
		as_model_free(model);
		as_seq_free(seq);
	}
	assert_in_range(100 * ok / all, 65, 92);
	assert_in_range(100 * late_ok / late, 60, 95);
	for (int op = 0; op < AS_OP_COUNT; op++)
		if (op != AS_OP_CRASH && !met[op])
			fail_msg("%s never went through", as_op_table[op].name);
	assert_int_equal(met[AS_OP_CRASH], 0);
	assert_int_equal(met[AS_OP_MOUNT], met[AS_OP_UMOUNT]);
	tear_down(&s);
}

static void test_the_tree_grows_and_shrinks(void **state)
{
	struct setup s = set_up("hunt", "walk.min 2000\nwalk.max 2000\nweight deepen 0\n"
					"weight enlarge 0\nweight setflags 0\ntree 60\n");

	(void)state;
	for (int n = 0; n < 20; n++) {
		struct as_seq *seq = next(&s);
		struct as_model *model = as_model_new(&t_any_traits);
		size_t least = SIZE_MAX, most = 0;

		for (size_t i = 0; i < seq->n; i++) {
			size_t inodes;

			as_model_apply(model, &seq->ops[i]);
			inodes = as_model_inodes(model);
			if (i < 500)
				continue;
			least = inodes < least ? inodes : least;
			most = inodes > most ? inodes : most;
		}
		/* A burst may go beyond it, and what is open is there without a name. */
		assert_true(most <= 60 + 26 + s.profile->slots);
		assert_true(most >= 20);
		assert_true(least < most / 2);
		as_model_free(model);
		as_seq_free(seq);
	}
	tear_down(&s);
}

struct provoked {
	unsigned replaced, unlink_dir, not_empty, exists, too_long, longest, create_again,
		replace_none;
	unsigned exchanged, deep, large, twice, linked, append, setuid;
};

static int count_same(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	uint32_t *seen = ctx;

	(void)slot;
	(void)flags;
	for (unsigned i = 1; i <= seen[0]; i++)
		if (seen[i] == ino)
			return 1;
	seen[++seen[0]] = ino;
	return 0;
}

static void judge_path(struct provoked *p, const struct as_model *before, const struct as_op *op,
		       int err)
{
	const char *last = op->path ? strrchr(op->path, '/') : NULL;
	struct as_stat st;
	bool there = op->path2 && as_model_stat(before, op->path2, true, &st);

	last = last ? last + 1 : op->path;
	p->replaced += op->code == AS_OP_RENAME && !err && there;
	p->exchanged += op->code == AS_OP_RENAME2 && !err && op->flags == AS_RENAME_EXCHANGE;
	p->unlink_dir += op->code == AS_OP_UNLINK && err == EISDIR;
	p->not_empty += op->code == AS_OP_RMDIR && err == ENOTEMPTY;
	p->exists += err == EEXIST;
	p->too_long += err == ENAMETOOLONG && last && strlen(last) == 256;
	p->longest += !err && last && strlen(last) == 255;
	p->create_again +=
		op->code == AS_OP_WRITE_XATTR && op->flags == AS_XATTR_CREATE && err == EEXIST;
	p->replace_none +=
		op->code == AS_OP_WRITE_XATTR && op->flags == AS_XATTR_REPLACE && err == ENODATA;
	p->deep += op->code == AS_OP_DEEPEN && !err && op->len > 64;
	p->large += op->code == AS_OP_ENLARGE && !err && op->len > 1000;
	p->linked += op->code == AS_OP_LINK_TMPFILE && !err;
	p->append += op->code == AS_OP_OPEN && !err && op->flags & AS_O_APPEND;
	p->setuid += op->code == AS_OP_CHMOD && !err && op->mode & 07000;
}

static void test_what_a_tester_wants_to_see(void **state)
{
	struct setup s = set_up("hunt", "");
	struct provoked p = { 0 };

	(void)state;
	for (int n = 0; n < 600; n++) {
		struct as_seq *seq = next(&s);
		struct as_model *model = as_model_new(&t_any_traits);

		for (size_t i = 0; i < seq->n; i++) {
			struct as_model *before = as_model_copy(model);
			uint32_t seen[65] = { 0 };
			int err = as_model_apply(model, &seq->ops[i]);

			judge_path(&p, before, &seq->ops[i], err);
			p.twice += as_model_each_open(model, count_same, seen);
			as_model_free(before);
		}
		as_model_free(model);
		as_seq_free(seq);
	}
	assert_true(p.replaced > 300 && p.exchanged > 300 && p.unlink_dir > 30);
	assert_true(p.not_empty > 100 && p.exists > 300 && p.too_long > 20 && p.longest > 1000);
	assert_true(p.create_again > 10 && p.replace_none > 15);
	assert_true(p.deep > 5 && p.large > 1);
	assert_true(p.twice > 5000 && p.linked > 50 && p.append > 1000 && p.setuid > 500);
	tear_down(&s);
}

/* A crash follows a sync, a mount an umount, in the walk and between the commands of a backbone. */
static void test_never_alone(void **state)
{
	static const char *const more[] = { "walk.min 0\nwalk.max 0\nlength.max 12\n",
					    "walk.min 50\nwalk.max 100\n" };
	unsigned crashes[2] = { 0 }, umounts[2] = { 0 };

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct as_buf lines = { 0 };
		struct setup s;

		as_buf_addf(&lines, "%sweight umount 2\n", more[k]);
		s = set_up("crash", as_buf_str(&lines));
		for (int n = 0; n < 2000; n++) {
			struct as_seq *seq = next(&s);

			for (size_t i = 0; i < seq->n; i++) {
				enum as_opcode code = seq->ops[i].code;

				crashes[k] += code == AS_OP_CRASH;
				umounts[k] += code == AS_OP_UMOUNT;
				if (code == AS_OP_CRASH)
					assert_int_equal(seq->ops[i - 1].code, AS_OP_SYNC);
				/* The second one is for options that were refused. */
				if (code == AS_OP_MOUNT && seq->ops[i - 1].code == AS_OP_MOUNT)
					assert_string_equal(seq->ops[i].opts, "");
				else if (code == AS_OP_MOUNT)
					assert_int_equal(seq->ops[i - 1].code, AS_OP_UMOUNT);
				if (code == AS_OP_UMOUNT)
					assert_int_equal(seq->ops[i + 1].code, AS_OP_MOUNT);
			}
			as_seq_free(seq);
		}
		as_buf_free(&lines);
		tear_down(&s);
		assert_true(crashes[k] > 50 && umounts[k] > 50);
	}
}

struct turned {
	unsigned turns, busy, refused, opened, longest, left;
};

static void follow_turns(struct turned *t, const struct as_seq *seq)
{
	struct as_model *model = as_model_new(&t_any_traits);
	unsigned here = 0;

	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];
		bool was = as_model_read_only(model);
		int err = as_model_apply(model, op);

		t->turns += !was && as_model_read_only(model);
		t->busy += op->code == AS_OP_REMOUNT && err == EBUSY;
		t->refused += was && err == EROFS;
		t->opened += was && op->code == AS_OP_OPEN && !err;
		here = was ? here + 1 : 0;
		t->longest = here > t->longest ? here : t->longest;
	}
	t->left += as_model_read_only(model);
	as_model_free(model);
}

/* Walks reach read-only mounts, try there what is refused and what is not, and come back. */
static void test_read_only(void **state)
{
	static const char *const profiles[] = { "hunt", "crash" };

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct setup s = set_up(profiles[k], "walk.min 200\nwalk.max 200\n");
		struct turned t = { 0 };

		for (int n = 0; n < 600; n++) {
			struct as_seq *seq = next(&s);

			follow_turns(&t, seq);
			as_seq_free(seq);
		}
		tear_down(&s);
		assert_true(t.turns > 100 && t.busy > 10 && t.refused > 200 && t.opened > 10);
		/* Eight commands, what each has to open or close before, and the way back. */
		assert_true(t.longest < 60 && t.left == 0);
	}
}

/* ---- The roster ---- */

static void add(struct as_roster *r, const char *path, enum as_item_kind kind)
{
	as_roster_add(r, path, strlen(path), kind, 0);
}

static size_t at(const struct as_roster *r, const char *path)
{
	return as_roster_find(r, path, strlen(path));
}

static void test_roster(void **state)
{
	struct as_roster r = { 0 };
	size_t first = SIZE_MAX;

	(void)state;
	add(&r, "/", AS_ITEM_DIR);
	add(&r, "/a", AS_ITEM_DIR);
	add(&r, "/ab", AS_ITEM_REG);
	add(&r, "/a/x", AS_ITEM_DIR);
	add(&r, "/a/x/y", AS_ITEM_REG);
	add(&r, "/b", AS_ITEM_DIR);
	r.cwd = r.item[at(&r, "/a/x")].path;
	assert_true(as_roster_has_parent(&r, "/b/new", 6));
	assert_true(as_roster_has_parent(&r, "/new", 4));
	assert_false(as_roster_has_parent(&r, "/ab/new", 7));
	assert_false(as_roster_has_parent(&r, "/c/new", 6));
	assert_int_equal(as_roster_list(&r, at(&r, "/a"), &first), 1);
	assert_int_equal(first, at(&r, "/a/x"));
	assert_int_equal(as_roster_list(&r, 0, &first), 3);
	as_roster_swap(&r, at(&r, "/a/x"), at(&r, "/b"));
	assert_int_not_equal(at(&r, "/b/y"), SIZE_MAX);
	assert_int_equal(r.item[at(&r, "/a/x")].kind, AS_ITEM_DIR);
	assert_int_equal(at(&r, "/a/x/y"), SIZE_MAX);
	assert_string_equal(r.cwd, "/b");
	as_roster_move(&r, at(&r, "/b"), "/a/m", 4);
	assert_int_not_equal(at(&r, "/a/m/y"), SIZE_MAX);
	assert_int_equal(at(&r, "/b"), SIZE_MAX);
	assert_string_equal(r.cwd, "/a/m");
	as_roster_drop(&r, at(&r, "/a"), true);
	assert_int_equal(r.n, 3);
	assert_null(r.cwd);
	assert_int_not_equal(at(&r, "/a"), SIZE_MAX);
	assert_int_not_equal(at(&r, "/ab"), SIZE_MAX);
	as_roster_to_end(&r, at(&r, "/a"));
	assert_int_equal(at(&r, "/a"), 2);
	as_roster_drop(&r, at(&r, "/a"), false);
	assert_int_equal(at(&r, "/a"), SIZE_MAX);
	as_roster_free(&r);
}

/* Transfers with O_DIRECT: most are whole blocks, each of offset, length and buffer is met alone as
 * what is not, and where a buffer begins is said for them only. */
static void test_direct_transfers(void **state)
{
	struct setup s = set_up("hunt", "");
	unsigned met[8] = { 0 }, all = 0;

	(void)state;
	for (int n = 0; n < 800; n++) {
		struct as_seq *seq = next(&s);
		bool direct[AS_SLOT_MAX + 1] = { false };

		for (size_t i = 0; i < seq->n; i++) {
			const struct as_op *op = &seq->ops[i];

			if (op->code == AS_OP_OPEN)
				direct[op->slot] = op->flags & AS_O_DIRECT;
			if (op->code != AS_OP_PREAD && op->code != AS_OP_PWRITE)
				continue;
			if (!direct[op->fd]) {
				assert_int_equal(op->mem, 0);
				continue;
			}
			met[(op->off % 512 != 0) | (op->len % 512 != 0) << 1 |
			    (op->mem % 512 != 0) << 2]++;
			all++;
		}
		as_seq_free(seq);
	}
	assert_true(all > 200);
	assert_true(met[0] > all / 2 && met[0] < all * 9 / 10);
	for (unsigned alone = 1; alone < 8; alone <<= 1)
		assert_true(met[alone] > 0);
	tear_down(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_walks_stay_meaningful),
		cmocka_unit_test(test_the_tree_grows_and_shrinks),
		cmocka_unit_test(test_what_a_tester_wants_to_see),
		cmocka_unit_test(test_never_alone),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_roster),
		cmocka_unit_test(test_direct_transfers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
