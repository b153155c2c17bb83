/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pick: see pick.h. */
#include "gen/pick.h"

#include <string.h>

#define FOCUS_PERCENT 30 /* of subjects that are the one used last */
#define ASIDE 2 /* names of a directory that are taken: how often another is tried */
#define LONG_NAME_ROOM 300

/* ---- Subjects ---- */

static bool fits(const struct as_gen_walk *w, enum as_subject subject, size_t i)
{
	const struct as_item *item = &w->roster.item[i];

	if (!as_subject_takes(subject, item->kind == AS_ITEM_DIR, item->kind == AS_ITEM_REG,
			      item->kind == AS_ITEM_LINK))
		return false;
	if (subject == AS_SUBJECT_MOVABLE)
		return i != 0;
	return subject != AS_SUBJECT_EMPTY || (i != 0 && !as_roster_has_below(&w->roster, i));
}

size_t as_pick_item(struct as_gen_walk *w, enum as_subject subject)
{
	const struct as_roster *r = &w->roster;
	size_t first;

	if (w->last < r->n && as_gen_walk_chance(w, FOCUS_PERCENT) && fits(w, subject, w->last))
		return w->last;
	first = as_gen_walk_choose(w, r->n);
	for (size_t i = 0; i < r->n; i++) {
		size_t at = first + i < r->n ? first + i : first + i - r->n;

		if (fits(w, subject, at))
			return w->last = at;
	}
	return SIZE_MAX;
}

/* A path that is not what the command is for: anything, something that was removed, something
 * below a file. */
static const char *pick_stray(struct as_gen_walk *w)
{
	const struct as_roster *r = &w->roster;
	unsigned how = as_gen_walk_choose(w, 8), i = as_gen_walk_choose(w, AS_ROSTER_GHOSTS);
	const struct as_item *item = &r->item[as_gen_walk_choose(w, r->n)];
	struct as_buf *text = &w->text;

	if (how == 0 && r->ghost[i])
		return r->ghost[i];
	if (how > 1 || item->len + AS_NAME_BYTES > AS_ROSTER_PATH_MAX)
		return item->path;
	as_buf_clear(text);
	as_buf_add(text, item->path, item->len > 1 ? item->len : 0);
	as_buf_addf(text, "/%s", w->profile->name[as_gen_walk_choose(w, w->profile->n_names)]);
	return as_arena_strndup(&w->roster.text, text->data, text->len);
}

const char *as_pick_path(struct as_gen_walk *w, enum as_subject subject)
{
	size_t i;

	if (as_gen_walk_chance(w, w->profile->stray))
		return pick_stray(w);
	i = as_pick_item(w, subject);
	return i == SIZE_MAX ? NULL : w->roster.item[i].path;
}

const char *as_pick_attributed(struct as_gen_walk *w)
{
	const struct as_roster *r = &w->roster;
	size_t first = as_gen_walk_choose(w, r->n);

	if (as_gen_walk_choose(w, 4))
		for (size_t i = 0; i < r->n; i++) {
			size_t at = first + i < r->n ? first + i : first + i - r->n;

			if (r->item[at].xattr)
				return r->item[at].path;
		}
	return as_pick_path(w, AS_SUBJECT_ANY);
}

const char *as_pick_attributable(struct as_gen_walk *w, struct as_op *op)
{
	size_t i;

	if (as_gen_walk_choose(w, 8))
		return as_pick_path(w, AS_SUBJECT_DIR_REG);
	i = as_pick_item(w, AS_SUBJECT_ANY);
	if (i == SIZE_MAX)
		return NULL;
	if (w->roster.item[i].kind == AS_ITEM_LINK)
		op->nofollow = 1;
	if (w->roster.item[i].kind >= AS_ITEM_LINK && as_gen_walk_choose(w, 4))
		op->name = "trusted.a";
	return w->roster.item[i].path;
}

/* ---- Wide numbers ---- */

static const int64_t ids[] = { 65535, 65536, 70000, INT32_MAX, UINT32_MAX - INT64_C(1) };
static const uint64_t devices[] = { AS_DEV(1, 256), AS_DEV(256, 0), AS_DEV(4095, 1048575) };
/* From 1901 to 2255. */
static const int64_t times_s[] = { -1, INT32_MIN, INT64_C(1) << 31, INT64_C(1) << 32, 9000000000 };

#define ANY_OF(w, array) array[as_gen_walk_choose(w, sizeof(array) / sizeof(array[0]))]

static void widen_time(struct as_gen_walk *w, int64_t *time_ns)
{
	if (*time_ns != AS_TIME_NOW && *time_ns != AS_TIME_OMIT && as_gen_walk_choose(w, 2))
		*time_ns = ANY_OF(w, times_s) * 1000000000 + as_gen_walk_choose(w, 2);
}

/* The rows of types of the kernel say nothing of such limits. */
void as_pick_wide(struct as_gen_walk *w, struct as_op *op)
{
	if (!(w->traits->features & AS_FEAT_LIBRARY))
		return;
	if (op->code == AS_OP_CHOWN && !as_gen_walk_choose(w, 6)) {
		*(as_gen_walk_choose(w, 2) ? &op->uid : &op->gid) = ANY_OF(w, ids);
	} else if (op->code == AS_OP_MKNOD && op->dev && !as_gen_walk_choose(w, 4)) {
		op->dev = ANY_OF(w, devices);
	} else if (op->code == AS_OP_UTIMENS && w->traits->stamps && !as_gen_walk_choose(w, 6)) {
		widen_time(w, &op->atime);
		widen_time(w, &op->mtime);
	}
}

/* ---- New names ---- */

static void add_long_name(struct as_gen_walk *w, struct as_buf *text)
{
	const char *seed = w->profile->name[as_gen_walk_choose(w, w->profile->n_names)];
	size_t max = w->traits->name_max ? w->traits->name_max : 255, len;
	unsigned how = w->bursting ? 0 : as_gen_walk_choose(w, 20);

	/* Most are as long as a name may be, some one less or one more, some anything. */
	len = how < 13	 ? max
	      : how < 15 ? max - 1
	      : how < 16 ? max + 1
			 : 16 + as_gen_walk_choose(w, max - 15);
	for (size_t seed_len = strlen(seed); len > seed_len; len -= seed_len)
		as_buf_add(text, seed, seed_len);
	as_buf_add(text, seed, len);
	text->data[text->len - 1] = w->profile->name[as_gen_walk_choose(w, w->profile->n_names)][0];
}

static void add_name(struct as_gen_walk *w, const struct as_item *dir, struct as_buf *text)
{
	uint64_t percent = !dir->long_names ? w->profile->long_name / 4 : w->bursting ? 100 : 95;

	if (dir->len + LONG_NAME_ROOM < AS_ROSTER_PATH_MAX && as_gen_walk_chance(w, percent))
		add_long_name(w, text);
	else
		as_buf_adds(text, w->profile->name[as_gen_walk_choose(w, w->profile->n_names)]);
	if (w->bursting && !dir->long_names)
		as_buf_addf(text, "%u", as_gen_walk_choose(w, 100));
}

const char *as_pick_new_in(struct as_gen_walk *w, size_t i, bool stray)
{
	struct as_buf *text = &w->text;

	if (i == SIZE_MAX || w->roster.item[i].len + AS_NAME_BYTES > AS_ROSTER_PATH_MAX)
		i = 0;
	for (unsigned t = 0; t <= ASIDE; t++) {
		as_buf_clear(text);
		if (i)
			as_buf_add(text, w->roster.item[i].path, w->roster.item[i].len);
		as_buf_addc(text, '/');
		add_name(w, &w->roster.item[i], text);
		if (stray || as_roster_find(&w->roster, text->data, text->len) == SIZE_MAX)
			break;
	}
	return as_arena_strndup(&w->roster.text, text->data, text->len);
}

const char *as_pick_new(struct as_gen_walk *w)
{
	bool stray = as_gen_walk_chance(w, w->profile->stray);

	return as_pick_new_in(w, as_pick_item(w, stray ? AS_SUBJECT_ANY : AS_SUBJECT_PARENT),
			      stray);
}
