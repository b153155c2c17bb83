/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build: commands from what a view shows. The typical ones are for the search (Algorithm 1,
 * build_commands), all of them for exhaustive enumeration. Both go through the same three steps:
 * the subject (a name or a descriptor), the second path or descriptor, the operation.
 *
 * Of the core commands only such are built as the semantics in Dogfood's Figure 5 let through: a
 * new name is free, a hard link is to a regular file, nothing moves below itself, the working
 * directory stays. (Figure 5 also forbids moving upwards; the paper's own ReiserFS case moves
 * upwards, and so do we.)
 */
#include "gen/view.h"

#include <string.h>

static const char *path_of(const struct as_gen_view *view, size_t spot)
{
	return view->text.data + view->spot[spot].path;
}

/* As an argument: absolute, or from the working directory (spot 0, when not at the root). */
static const char *spell(struct as_gen_view *view, const char *path, size_t len, bool absolute)
{
	size_t cwd_len = view->spot[0].path_len;

	if (absolute || view->at_root || len <= cwd_len || path[cwd_len] != '/' ||
	    memcmp(path, path_of(view, 0), cwd_len) ||
	    !as_draw_chance(view->choice, view->profile->relative))
		return as_arena_strndup(&view->strings, path, len);
	return as_arena_strndup(&view->strings, path + cwd_len + 1, len - cwd_len - 1);
}

static const char *join(struct as_gen_view *view, size_t dir, unsigned name, bool absolute)
{
	const char *top = path_of(view, dir), *last = view->profile->name[name];
	size_t top_len = view->spot[dir].path_len, last_len = strlen(last);
	char *path = as_arena_alloc(&view->strings, top_len + last_len + 2);

	if (top_len == 1) /* the root */
		top_len = 0;
	memcpy(path, top, top_len);
	path[top_len] = '/';
	memcpy(path + top_len + 1, last, last_len);
	return spell(view, path, top_len + 1 + last_len, absolute);
}

/* A name that is free in the directory: mostly the first one, so that states do not differ by names
 * alone and names come back; now and then any. */
static unsigned free_name(const struct as_gen_view *view, size_t dir)
{
	const struct as_profile *p = view->profile;
	uint64_t taken = view->spot[dir].taken;
	unsigned n = 0, skip = 0;

	if (!as_draw_chance(view->choice, p->first_name)) {
		n = p->n_names - (unsigned)__builtin_popcountll(taken);
		skip = as_choose(view->choice, n);
	}
	for (unsigned i = 0; i < p->n_names; i++)
		if (!(taken >> i & 1) && !skip--)
			return i;
	as_assert(!"a directory without a free name");
	return 0;
}

static bool is_below(const struct as_gen_view *view, size_t spot, size_t top)
{
	for (; spot != top; spot = view->spot[spot].parent)
		if (spot == 0)
			return false;
	return true;
}

/* May the second path of this command, whose subject is `from`, be in directory `dir`? */
static bool second_fits(const struct as_gen_view *view, enum as_opcode code, size_t from,
			size_t dir)
{
	return as_gen_rows[code].subject != AS_SUBJECT_MOVABLE || !is_below(view, dir, from);
}

static int32_t free_slot(const struct as_gen_view *view)
{
	return (int32_t)__builtin_ctzll(~view->slots_taken);
}

/* The operation on a name, without its second path. The text of a symbolic link is absolute. */
static struct as_op make_on(struct as_gen_view *view, enum as_opcode code, size_t spot,
			    bool absolute)
{
	struct as_op op = view->plain[code];

	op.path = spell(view, path_of(view, spot), view->spot[spot].path_len,
			absolute || code == AS_OP_SYMLINK);
	if (code == AS_OP_OPEN)
		op.slot = free_slot(view);
	return op;
}

/* ---- Typical commands ------------------------------------------------------------------------ */

static unsigned cluster(struct as_gen_view *view, const struct as_point *points, size_t n,
			uint32_t chosen[AS_KMEANS_MAX])
{
	unsigned found;

	if (!view->profile->k) { /* no clusters: all alike */
		chosen[0] = n ? as_choose(view->choice, (unsigned)n) : 0;
		return n > 0;
	}
	if (view->watch)
		view->watch(view->watch_ctx, true);
	found = as_kmeans(points, n, (unsigned)view->profile->k, view->choice, chosen);
	if (view->watch)
		view->watch(view->watch_ctx, false);
	return found;
}

static unsigned build_fds(struct as_gen_view *view, enum as_opcode code,
			  struct as_op out[AS_KMEANS_MAX])
{
	struct as_point points[64];
	uint32_t chosen[AS_KMEANS_MAX];
	unsigned n;

	for (unsigned i = 0; i < view->n_open; i++)
		points[i] = view->open[i].point;
	n = cluster(view, points, view->n_open, chosen);
	for (unsigned i = 0; i < n; i++) {
		out[i] = view->plain[code];
		view->from[i] = view->to[i] = chosen[i];
		out[i].fd = view->open[chosen[i]].slot;
		if (as_gen_rows[code].second != AS_SECOND_DESCRIPTOR)
			continue;
		/* Any without clusters, else the other end is typical, too. */
		view->to[i] = view->profile->k ? chosen[as_choose(view->choice, n)]
					       : as_choose(view->choice, view->n_open);
		out[i].fd2 = view->open[view->to[i]].slot;
	}
	return n;
}

/* Second ends of a command that takes two paths: directories for a new name, or names that exist.
 * They are gathered once for all subjects. */
struct far_ends {
	uint32_t *all; /* candidates */
	size_t n_all;
	uint32_t typical[AS_KMEANS_MAX];
	unsigned n;
};

static void gather(struct as_gen_view *view, enum as_subject subject, struct far_ends *ends)
{
	ends->n_all = as_view_candidates(view, subject);
	ends->n = cluster(view, view->point, ends->n_all, ends->typical);
	ends->all = as_arena_alloc(&view->strings, (ends->n_all + 1) * sizeof(*ends->all));
	memcpy(ends->all, view->candidate, ends->n_all * sizeof(*ends->all));
	for (unsigned i = 0; i < ends->n; i++)
		ends->typical[i] = ends->all[ends->typical[i]];
}

/* One of the spots that fits; SIZE_MAX when there is none. */
static size_t fitting(const struct as_gen_view *view, enum as_opcode code, size_t from,
		      const uint32_t *spots, size_t n)
{
	size_t first = n ? as_choose(view->choice, (unsigned)n) : 0;

	for (size_t i = 0; i < n; i++) {
		size_t spot = spots[(first + i) % n];

		if (spot != from && second_fits(view, code, from, spot))
			return spot;
	}
	return SIZE_MAX;
}

/* A typical one, or any if no typical one will do. */
static size_t second_end(const struct as_gen_view *view, enum as_opcode code, size_t from,
			 const struct far_ends *ends)
{
	size_t end = fitting(view, code, from, ends->typical, ends->n);

	return end != SIZE_MAX ? end : fitting(view, code, from, ends->all, ends->n_all);
}

static unsigned build_pairs(struct as_gen_view *view, enum as_opcode code, const uint32_t *subject,
			    unsigned n, struct as_op out[AS_KMEANS_MAX])
{
	bool moves = as_gen_rows[code].subject == AS_SUBJECT_MOVABLE;
	bool replaces = moves && as_draw_chance(view->choice, view->replace);
	struct far_ends ends;
	unsigned built = 0;

	gather(view, replaces ? AS_SUBJECT_MOVABLE : AS_SUBJECT_PARENT, &ends);
	for (unsigned i = 0; i < n && ends.n_all; i++) {
		size_t end = second_end(view, code, subject[i], &ends);
		struct as_op *op = &out[built];

		if (end == SIZE_MAX)
			continue;
		view->from[built] = subject[i];
		view->to[built++] = (uint32_t)end;
		*op = make_on(view, code, subject[i], false);
		op->path2 =
			replaces ? spell(view, path_of(view, end), view->spot[end].path_len, false)
				 : join(view, end, free_name(view, end), false);
	}
	return built;
}

/* chcwd: the whole tree is looked at; the path is absolute. */
static size_t look_for_goals(struct as_gen_view *view, const struct as_model *model)
{
	char cwd[4096];
	size_t n, out = 0, len = view->spot[0].path_len;

	if (len >= sizeof(cwd))
		return 0;
	memcpy(cwd, path_of(view, 0), len + 1);
	as_view_look(view, model, true);
	n = as_view_candidates(view, AS_SUBJECT_GOAL);
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(path_of(view, view->candidate[i]), cwd))
			continue;
		view->point[out] = view->point[i];
		view->candidate[out++] = view->candidate[i];
	}
	return out;
}

unsigned as_view_build(struct as_gen_view *view, const struct as_model *model, enum as_opcode code,
		       struct as_op out[AS_KMEANS_MAX])
{
	const struct as_gen_row *row = &as_gen_rows[code];
	bool goal = row->subject == AS_SUBJECT_GOAL;
	uint32_t chosen[AS_KMEANS_MAX];
	size_t candidates;
	unsigned n;

	if (row->subject == AS_SUBJECT_NONE || row->subject == AS_SUBJECT_QUIET) {
		out[0] = view->plain[code];
		view->from[0] = view->to[0] = 0;
		return 1;
	}
	if (row->subject == AS_SUBJECT_FD)
		return build_fds(view, code, out);
	candidates = goal ? look_for_goals(view, model) : as_view_candidates(view, row->subject);
	n = cluster(view, view->point, candidates, chosen);
	for (unsigned i = 0; i < n; i++)
		chosen[i] = view->candidate[chosen[i]];
	if (row->second == AS_SECOND_NEW)
		return build_pairs(view, code, chosen, n, out);
	for (unsigned i = 0; i < n; i++) {
		view->from[i] = view->to[i] = chosen[i];
		if (row->subject == AS_SUBJECT_PARENT) {
			out[i] = view->plain[code];
			out[i].path = join(view, chosen[i], free_name(view, chosen[i]), false);
		} else {
			out[i] = make_on(view, code, chosen[i], goal);
		}
	}
	return n;
}

/* ---- All commands ---------------------------------------------------------------------------- */

typedef int (*each_fn)(void *ctx, const struct as_op *op);

/* Every free name of a directory, into path (or path2). */
static int each_name(struct as_gen_view *view, struct as_op *op, const char **path, size_t dir,
		     each_fn fn, void *ctx)
{
	int rc = 0;

	for (unsigned i = 0; i < view->profile->n_names && !rc; i++) {
		if (view->spot[dir].taken >> i & 1)
			continue;
		*path = join(view, dir, i, true);
		rc = fn(ctx, op);
	}
	return rc;
}

static int each_second(struct as_gen_view *view, enum as_opcode code, size_t from, each_fn fn,
		       void *ctx)
{
	struct as_op op = make_on(view, code, from, true);
	size_t n_dirs = as_view_candidates(view, AS_SUBJECT_PARENT);
	int rc = 0;

	for (size_t i = 0; i < n_dirs && !rc; i++)
		if (second_fits(view, code, from, view->candidate[i]))
			rc = each_name(view, &op, &op.path2, view->candidate[i], fn, ctx);
	return rc;
}

static int each_fd(struct as_gen_view *view, enum as_opcode code, each_fn fn, void *ctx)
{
	bool two = as_gen_rows[code].second == AS_SECOND_DESCRIPTOR;
	struct as_op op = view->plain[code];
	int rc = 0;

	for (unsigned i = 0; i < view->n_open && !rc; i++) {
		op.fd = view->open[i].slot;
		for (unsigned k = 0; k < (two ? view->n_open : 1) && !rc; k++) {
			if (two)
				op.fd2 = view->open[k].slot;
			rc = fn(ctx, &op);
		}
	}
	return rc;
}

int as_view_build_all(struct as_gen_view *view, const struct as_model *model, enum as_opcode code,
		      int (*fn)(void *ctx, const struct as_op *op), void *ctx)
{
	const struct as_gen_row *row = &as_gen_rows[code];
	struct as_op op = view->plain[code];
	uint32_t *subject;
	size_t n;
	int rc = 0;

	if (!as_view_can(view, code))
		return 0;
	if (row->subject == AS_SUBJECT_NONE || row->subject == AS_SUBJECT_QUIET)
		return fn(ctx, &op);
	if (row->subject == AS_SUBJECT_FD)
		return each_fd(view, code, fn, ctx);
	n = row->subject == AS_SUBJECT_GOAL ? look_for_goals(view, model)
					    : as_view_candidates(view, row->subject);
	subject = as_arena_alloc(&view->strings, (n + 1) * sizeof(*subject));
	memcpy(subject, view->candidate, n * sizeof(*subject));
	for (size_t i = 0; i < n && !rc; i++) {
		if (row->subject == AS_SUBJECT_PARENT) {
			rc = each_name(view, &op, &op.path, subject[i], fn, ctx);
		} else if (row->second == AS_SECOND_NEW) {
			rc = each_second(view, code, subject[i], fn, ctx);
		} else {
			op = make_on(view, code, subject[i], true);
			rc = fn(ctx, &op);
		}
	}
	/* Leave the view as it was asked for. */
	if (row->subject == AS_SUBJECT_GOAL)
		as_view_look(view, model, false);
	return rc;
}
