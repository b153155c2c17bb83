/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view: see view.h. This file looks at a state; build.c makes commands of what was seen. */
#include "gen/view.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BREAKS true

const struct as_gen_row as_gen_rows[AS_OP_COUNT] = {
#define GEN(subject, second, features, flags, follow)                           \
	{                                                                       \
		AS_SUBJECT_##subject != AS_SUBJECT_NEVER, AS_SUBJECT_##subject, \
			AS_SECOND_##second, features, flags                     \
	}
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, ...)                                                    \
	[AS_OP_##id] = gen,
#include "work/op.def"
#undef OP
#undef GEN
};

void as_view_init(struct as_gen_view *view, const struct as_profile *profile,
		  struct as_choice *choice)
{
	*view = (struct as_gen_view){ .profile = profile, .choice = choice };
	for (int op = 0; op < AS_OP_COUNT; op++)
		view->plain[op] = as_op_make((enum as_opcode)op);
	for (unsigned i = 0; i < AS_DRAWS; i++)
		as_dist_plain(&as_draws[i], &profile->dist[i], &view->plain[as_draws[i].op]);
	for (int op = 0; op < AS_OP_COUNT; op++)
		as_draw_drop_idle(&view->plain[op]);
	as_draw_index_init(&view->index);
	for (uint32_t i = profile->n_names; i-- > 0;)
		view->by_byte[(unsigned char)profile->name[i][0]] = (uint8_t)(i + 1);
}

void as_view_free(struct as_gen_view *view)
{
	free(view->spot);
	free(view->above);
	free(view->candidate);
	free(view->point);
	as_buf_free(&view->text);
	as_arena_free(&view->strings);
	*view = (struct as_gen_view){ 0 };
}

/* The bit of a name of the alphabet, 0 for any other name. */
static uint64_t name_bit(const struct as_gen_view *view, const char *name)
{
	const struct as_profile *p = view->profile;
	uint32_t i = view->by_byte[(unsigned char)*name];

	if (!i)
		return 0;
	for (i--; i < p->n_names; i++)
		if (!strcmp(p->name[i], name))
			return (uint64_t)1 << i;
	return 0;
}

static struct as_spot *add_spot(struct as_gen_view *view)
{
	AS_ARRAY_ROOM(view->spot, view->n, view->cap);
	return &view->spot[view->n++];
}

/* Names come in depth-first order, so a name's directory is the last one seen a level above. */
static int see_name(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct as_gen_view *view = ctx;
	struct as_spot *spot = add_spot(view);
	uint32_t index = (uint32_t)(view->n - 1);

	*spot = (struct as_spot){ .path = (uint32_t)view->text.len,
				  .path_len = (uint32_t)strlen(path),
				  .parent = index,
				  .attrs = *attrs };
	as_buf_add(&view->text, path, spot->path_len + 1);
	if (index) {
		spot->parent = view->above[attrs->depth - 1];
		view->spot[spot->parent].taken |= name_bit(view, strrchr(path, '/') + 1);
	}
	if (S_ISDIR(attrs->type)) {
		AS_ARRAY_ROOM(view->above, attrs->depth, view->above_cap);
		view->above[attrs->depth] = index;
	}
	return 0;
}

static int see_open(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct as_gen_view *view = ctx;

	if (view->n_open == 64 || slot >= 64)
		return 0;
	view->slots_taken |= (uint64_t)1 << slot;
	view->open[view->n_open++] =
		(struct as_open){ .slot = slot, .ino = ino, .spot = UINT32_MAX, .flags = flags };
	return 0;
}

/* A descriptor has the point of its inode; one whose inode was removed has a point that no other
 * has. */
static void place_open(struct as_gen_view *view)
{
	for (unsigned i = 0; i < view->n_open; i++) {
		view->open[i].point = (struct as_point){ { -1 } };
		for (size_t k = 0; k < view->n; k++)
			if (view->spot[k].attrs.ino == view->open[i].ino) {
				view->open[i].point = view->spot[k].point;
				view->open[i].spot = (uint32_t)k;
				break;
			}
	}
}

void as_view_look(struct as_gen_view *view, const struct as_model *model, bool whole)
{
	uint32_t inodes = (uint32_t)as_model_inodes(model);

	view->n = view->n_open = 0;
	view->slots_taken = 0;
	as_buf_clear(&view->text);
	as_arena_reset(&view->strings);
	as_model_each_name(model, !whole, see_name, view);
	as_model_each_open(model, see_open, view);
	for (size_t i = 0; i < view->n; i++)
		view->spot[i].point = as_point_of(&view->spot[i].attrs, inodes);
	place_open(view);
	if (!whole)
		view->at_root = view->spot[0].path_len == 1;
}

/* A name's own directory is spot 0 or below: the working directory, when not whole. */
static bool fits(const struct as_gen_view *view, enum as_subject subject, size_t i)
{
	const struct as_spot *spot = &view->spot[i];
	uint64_t all = view->profile->n_names == 64 ? UINT64_MAX
						    : ((uint64_t)1 << view->profile->n_names) - 1;
	bool dir = S_ISDIR(spot->attrs.type);

	if (!as_subject_takes(subject, dir, S_ISREG(spot->attrs.type), S_ISLNK(spot->attrs.type)))
		return false;
	if (subject == AS_SUBJECT_PARENT)
		return (spot->taken & all) != all;
	if (subject == AS_SUBJECT_MOVABLE)
		return i != 0;
	return subject != AS_SUBJECT_EMPTY || (i != 0 && !spot->attrs.children);
}

size_t as_view_candidates(struct as_gen_view *view, enum as_subject subject)
{
	size_t n = 0;

	AS_ARRAY_ROOM_FOR(view->candidate, 0, view->n, view->candidate_cap);
	AS_ARRAY_ROOM_FOR(view->point, 0, view->n, view->point_cap);
	for (size_t i = 0; i < view->n; i++)
		if (fits(view, subject, i)) {
			view->point[n] = view->spot[i].point;
			view->candidate[n++] = (uint32_t)i;
		}
	return n;
}

static bool any_fits(const struct as_gen_view *view, enum as_subject subject)
{
	for (size_t i = 0; i < view->n; i++)
		if (fits(view, subject, i))
			return true;
	return false;
}

bool as_view_can(const struct as_gen_view *view, enum as_opcode code)
{
	const struct as_gen_row *row = &as_gen_rows[code];

	if (!row->known)
		return false;
	if (row->second == AS_SECOND_NEW && !any_fits(view, AS_SUBJECT_PARENT))
		return false;
	switch (row->subject) {
	case AS_SUBJECT_NONE:
		return true;
	case AS_SUBJECT_FD:
		return view->n_open > 0;
	case AS_SUBJECT_QUIET:
		return view->at_root && !view->n_open;
	case AS_SUBJECT_TMPFILE:
		return false;
	case AS_SUBJECT_FILE:
		return view->n_open < view->profile->slots && any_fits(view, AS_SUBJECT_REG);
	case AS_SUBJECT_GOAL:
		/* The root is a goal unless it is the working directory. */
		if (!view->at_root)
			return true;
		for (size_t i = 1; i < view->n; i++)
			if (fits(view, AS_SUBJECT_DIR, i))
				return true;
		return false;
	default:
		return any_fits(view, row->subject);
	}
}

bool as_view_draw_types(const struct as_gen_view *view, const uint32_t weight[AS_OP_COUNT],
			enum as_opcode *codes, size_t n)
{
	uint64_t sum[AS_OP_COUNT], total = 0;

	for (int i = 0; i < AS_OP_COUNT; i++) {
		if (weight[i] && as_view_can(view, (enum as_opcode)i))
			total += weight[i];
		sum[i] = total;
	}
	for (size_t i = 0; i < n && total; i++) {
		uint64_t at = as_draw_below(view->choice, total);
		int op = 0;

		while (at >= sum[op])
			op++;
		codes[i] = (enum as_opcode)op;
	}
	return total;
}

enum as_opcode as_view_draw_type(const struct as_gen_view *view, const uint32_t weight[AS_OP_COUNT])
{
	enum as_opcode code;

	return as_view_draw_types(view, weight, &code, 1) ? code : AS_OP_COUNT;
}
