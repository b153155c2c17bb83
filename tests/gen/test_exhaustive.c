/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exhaustive enumeration against brute force: every sequence of commands over every path of the
 * alphabet is tried on the model, without any pruning, and the canonical digests of all states met
 * are collected. The enumeration has to give one workload for each of them, no more, no fewer.
 *
 * The brute force knows the rules of the core commands only from their description: what is named
 * lies below the working directory (except for chcwd), no path leads through a symbolic link, a new
 * name is free, a hard link is to a regular file, a symbolic link says the path of something there,
 * the working directory stays where it is.
 */
#include "base/array.h"
#include "tests/lib/gen.h"

#include "work/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATHS_MAX 512

struct brute {
	const struct as_profile *profile;
	char path[PATHS_MAX][64];
	unsigned n_paths;
	struct as_visited met;
	uint64_t sequences;
};

static void list_paths(struct brute *b, const char *top, unsigned depth)
{
	for (uint32_t i = 0; i < b->profile->n_names && depth; i++) {
		char *path = b->path[b->n_paths++];

		as_assert(b->n_paths <= PATHS_MAX);
		snprintf(path, 64, "%s/%s", strcmp(top, "/") ? top : "", b->profile->name[i]);
		list_paths(b, path, depth - 1);
	}
}

/* What a path names without any symbolic link on the way; 0: nothing. */
static uint32_t type_at(const struct as_model *m, const char *path)
{
	struct as_stat st;

	for (const char *s = path + 1; (s = strchr(s, '/')); s++) {
		char part[64] = { 0 };

		memcpy(part, path, (size_t)(s - path));
		if (!as_model_stat(m, part, true, &st) || !S_ISDIR(st.mode))
			return 0;
	}
	return as_model_stat(m, path, true, &st) ? st.mode & S_IFMT : 0;
}

static bool is_under(const char *path, const char *top)
{
	size_t len = strcmp(top, "/") ? strlen(top) : 0;

	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

static bool parent_is_dir(const struct as_model *m, const char *path, char parent[64])
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	memcpy(parent, path, len);
	parent[len] = '\0';
	if (!len)
		memcpy(parent, "/", 2);
	return S_ISDIR(type_at(m, parent));
}

static bool is_new(const struct as_model *m, const char *path, const char *cwd)
{
	char parent[64];

	return parent_is_dir(m, path, parent) && !type_at(m, path) && is_under(parent, cwd);
}

static bool allowed(const struct brute *b, const struct as_model *m, const struct as_op *op,
		    const char *cwd)
{
	uint32_t type = op->path ? type_at(m, op->path) : 0;

	switch (op->code) {
	case AS_OP_MKDIR:
	case AS_OP_CREATE:
	case AS_OP_MKNOD:
		return is_new(m, op->path, cwd);
	case AS_OP_HARDLINK:
		return S_ISREG(type) && is_under(op->path, cwd) && is_new(m, op->path2, cwd);
	case AS_OP_SYMLINK:
		return type && is_under(op->path, cwd) && is_new(m, op->path2, cwd);
	case AS_OP_RENAME:
		return type && is_under(op->path, cwd) && strcmp(op->path, cwd) &&
		       is_new(m, op->path2, cwd) && !is_under(op->path2, op->path);
	case AS_OP_REMOVE:
		return type && is_under(op->path, cwd) && strcmp(op->path, cwd);
	case AS_OP_OPEN:
		return S_ISREG(type) && is_under(op->path, cwd);
	case AS_OP_CHCWD:
		return S_ISDIR(type) && strcmp(op->path, cwd);
	default:
		(void)b;
		return true;
	}
}

static void explore(struct brute *b, const struct as_model *m, const char *cwd, bool open,
		    unsigned left);

static void attempt(struct brute *b, const struct as_model *m, const char *cwd, bool open,
		    const struct as_op *op, unsigned left)
{
	struct as_model *next;

	if (!allowed(b, m, op, cwd))
		return;
	next = as_model_copy(m);
	assert_int_equal(as_model_apply(next, op), 0);
	b->sequences++;
	as_visited_add(&b->met, as_model_digest_canonical(next));
	if (left > 1)
		explore(b, next, op->code == AS_OP_CHCWD ? op->path : cwd,
			op->code == AS_OP_OPEN || (open && op->code != AS_OP_CLOSE), left - 1);
	as_model_free(next);
}

static void explore(struct brute *b, const struct as_model *m, const char *cwd, bool open,
		    unsigned left)
{
	struct as_gen_view view;

	as_view_init(&view, b->profile, NULL);
	for (int code = 0; code <= AS_OP_CHCWD; code++) {
		struct as_op op = view.plain[code];
		bool two = code == AS_OP_HARDLINK || code == AS_OP_SYMLINK || code == AS_OP_RENAME;

		if (!b->profile->weight[code] || (code == AS_OP_OPEN && open) ||
		    (code == AS_OP_CLOSE && !open))
			continue;
		op.fd = op.slot = 0;
		if (code != AS_OP_OPEN)
			op.slot = AS_SLOT_NONE;
		if (code == AS_OP_CLOSE) {
			attempt(b, m, cwd, open, &op, left);
			continue;
		}
		for (unsigned i = 0; i <= b->n_paths; i++) {
			op.path = i < b->n_paths ? b->path[i] : "/";
			if (i == b->n_paths && code != AS_OP_SYMLINK && code != AS_OP_CHCWD)
				continue;
			for (unsigned k = 0; k < (two ? b->n_paths : 1); k++) {
				op.path2 = two ? b->path[k] : NULL;
				attempt(b, m, cwd, open, &op, left);
			}
		}
	}
	as_view_free(&view);
}

struct given {
	struct as_visited states;
	struct as_digest *digests; /* of the states */
	size_t n, cap;
	size_t longest;
	bool sorted;
};

static int take(void *ctx, struct as_seq *seq)
{
	struct given *g = ctx;
	struct as_model *model = as_model_new(&t_any_traits);

	for (size_t i = 0; i < seq->n; i++)
		assert_int_equal(as_model_apply(model, &seq->ops[i]), 0);
	/* One workload for each state. */
	AS_ARRAY_ROOM(g->digests, g->n, g->cap);
	g->digests[g->n] = as_model_digest_canonical(model);
	assert_true(as_visited_add(&g->states, g->digests[g->n]));
	g->sorted &= seq->n >= g->longest;
	g->longest = seq->n > g->longest ? seq->n : g->longest;
	g->n++;
	as_model_free(model);
	as_seq_free(seq);
	return 0;
}

static const struct {
	unsigned length, names;
	bool links; /* symbolic links, too */
	uint64_t want; /* workloads */
} cases[] = {
	{ 1, 1, true, 4 },  { 2, 1, true, 11 },	 { 3, 1, true, 25 },   { 1, 2, true, 4 },
	{ 2, 2, true, 31 }, { 3, 2, true, 163 }, { 4, 2, true, 1195 }, { 4, 2, false, 160 },
};

static void test_against_brute_force(void **state)
{
	struct as_profile *profile = as_profile_new();

	(void)state;
	profile->slots = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct brute b = { .profile = profile };
		struct given g = { .sorted = true };
		struct as_model *empty = as_model_new(&t_any_traits);
		uint64_t expanded;

		profile->n_names = cases[i].names;
		profile->weight[AS_OP_SYMLINK] = cases[i].links;
		list_paths(&b, "/", cases[i].length);
		as_visited_add(&b.met, as_model_digest_canonical(empty));
		explore(&b, empty, "/", false, cases[i].length);
		as_gen_exhaustive(profile, &t_any_traits, cases[i].length, take, &g, &expanded);
		/* The empty state is met, too, but no workload is given for it. */
		assert_int_equal(g.n, as_digests_n(&b.met.set) - 1);
		for (size_t k = 0; k < g.n; k++)
			assert_true(as_visited_has(&b.met, g.digests[k]));
		assert_true(g.sorted);
		assert_true(g.longest <= cases[i].length);
		assert_true(b.sequences >= g.n);
		assert_int_equal(g.n, cases[i].want);
		as_model_free(empty);
		as_visited_free(&b.met);
		as_visited_free(&g.states);
		free(g.digests);
	}
	free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_brute_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
