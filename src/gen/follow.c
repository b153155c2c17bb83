/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * follow: see follow.h. Simple rules: a new name needs a directory and must be free, a removed one
 * must be there, a directory is replaced only by a directory and only while it is empty. Symbolic
 * links are not followed, a full disk is not known of: what then fails was worth a try.
 */
#include "gen/follow.h"

#include "gen/pick.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define BURST_MAX 24
#define KEPT_MAX 3
#define CHURN_MIN 8u
#define CHURN_MAX 56u
#define FULL_TRIES 4
#define DEEP_KEPT 2 /* of what deepen makes: this many on the way, and the last */

static size_t at(const struct as_gen_walk *w, const char *path)
{
	return path ? as_roster_find(&w->roster, path, strlen(path)) : SIZE_MAX;
}

static bool name_fits(const struct as_gen_walk *w, const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return !w->traits->name_max || strlen(name) <= w->traits->name_max;
}

static bool can_make(const struct as_gen_walk *w, const char *path)
{
	size_t len = strlen(path);

	return len > 1 && at(w, path) == SIZE_MAX && as_roster_has_parent(&w->roster, path, len) &&
	       name_fits(w, path);
}

static struct as_item *make(struct as_gen_walk *w, const char *path, enum as_item_kind kind,
			    uint32_t file)
{
	struct as_item *item;

	if (!can_make(w, path))
		return NULL;
	item = as_roster_add(&w->roster, path, strlen(path), kind, file);
	if (kind == AS_ITEM_DIR)
		item->long_names = as_draw_chance(w->choice, w->profile->long_name);
	return item;
}

static void follow_nothing(struct as_gen_walk *w, const struct as_op *op)
{
	(void)w;
	(void)op;
}

static void follow_mkdir(struct as_gen_walk *w, const struct as_op *op)
{
	(void)op;
	make(w, w->at, AS_ITEM_DIR, 0);
}

static void follow_create(struct as_gen_walk *w, const struct as_op *op)
{
	(void)op;
	make(w, w->at, AS_ITEM_REG, 0);
}

static void follow_mknod(struct as_gen_walk *w, const struct as_op *op)
{
	(void)op;
	make(w, w->at, AS_ITEM_NODE, 0);
}

static void follow_symlink(struct as_gen_walk *w, const struct as_op *op)
{
	(void)op;
	make(w, w->at2, AS_ITEM_LINK, 0);
}

static void follow_hardlink(struct as_gen_walk *w, const struct as_op *op)
{
	size_t from = at(w, w->at);

	(void)op;
	if (from != SIZE_MAX && w->roster.item[from].kind != AS_ITEM_DIR)
		make(w, w->at2, w->roster.item[from].kind, w->roster.item[from].file);
}

static bool is_within(const char *path, const char *top)
{
	size_t len = strlen(top);

	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

static void follow_rename(struct as_gen_walk *w, const struct as_op *op)
{
	int64_t flags = op->flags;
	struct as_roster *r = &w->roster;
	size_t from = at(w, w->at), to = at(w, w->at2);
	bool from_dir;

	if (from == SIZE_MAX || !from || !to || is_within(w->at2, w->at))
		return;
	if (flags & AS_RENAME_EXCHANGE) {
		if (to != SIZE_MAX && !is_within(w->at, w->at2))
			as_roster_swap(r, from, to);
		return;
	}
	from_dir = r->item[from].kind == AS_ITEM_DIR;
	if (to == SIZE_MAX
		    ? !can_make(w, w->at2)
		    : (flags & AS_RENAME_NOREPLACE) || r->item[from].file == r->item[to].file ||
			      from_dir != (r->item[to].kind == AS_ITEM_DIR) ||
			      (from_dir && as_roster_has_below(r, to)))
		return;
	if (to != SIZE_MAX)
		as_roster_drop(r, to, false);
	as_roster_move(r, at(w, w->at), w->at2, strlen(w->at2));
	if (flags & AS_RENAME_WHITEOUT)
		make(w, w->at, AS_ITEM_NODE, 0);
}

static void follow_remove(struct as_gen_walk *w, const struct as_op *op)
{
	struct as_roster *r = &w->roster;
	size_t i = at(w, w->at);
	bool dir;

	if (i == SIZE_MAX)
		return;
	dir = r->item[i].kind == AS_ITEM_DIR;
	if (op->code == AS_OP_PRUNE) {
		if (dir)
			as_roster_drop(r, i, true);
		return;
	}
	if (!i || (op->code == AS_OP_UNLINK && dir) ||
	    (op->code == AS_OP_RMDIR && (!dir || as_roster_has_below(r, i))))
		return;
	as_roster_drop(r, i, false);
}

static void follow_deepen(struct as_gen_walk *w, const struct as_op *op)
{
	uint64_t count = op->len;
	size_t i = at(w, w->at), len;
	struct as_buf path = { 0 };

	if (i == SIZE_MAX || w->roster.item[i].kind != AS_ITEM_DIR)
		return;
	if (i)
		as_buf_adds(&path, w->at);
	for (uint64_t k = 0; k < count; k++) {
		as_buf_adds(&path, "/d");
		len = path.len;
		if (len > AS_ROSTER_PATH_MAX)
			break;
		if ((k < DEEP_KEPT || k + 1 == count) &&
		    as_roster_find(&w->roster, path.data, len) == SIZE_MAX)
			as_roster_add(&w->roster, path.data, len, AS_ITEM_DIR, 0);
	}
	as_buf_free(&path);
}

/* The first and the last of what it made. */
static void follow_enlarge(struct as_gen_walk *w, const struct as_op *op)
{
	uint64_t count = op->len;
	size_t i = at(w, w->at);
	char path[AS_ROSTER_PATH_MAX + 32];

	if (i == SIZE_MAX || w->roster.item[i].kind != AS_ITEM_DIR || !count)
		return;
	w->roster.item[i].bulk |= count > 2;
	for (unsigned k = 0; k < 2; k++) {
		int len = snprintf(path, sizeof(path), "%s/e%llu", i ? w->at : "",
				   k ? (unsigned long long)count - 1 : 0);

		if (len > 0 && len <= AS_ROSTER_PATH_MAX &&
		    as_roster_find(&w->roster, path, (size_t)len) == SIZE_MAX)
			as_roster_add(&w->roster, path, (size_t)len, AS_ITEM_DIR, 0);
	}
}

static void follow_open(struct as_gen_walk *w, const struct as_op *op)
{
	struct as_roster *r = &w->roster;
	size_t i = at(w, w->at);
	/* fs/open.c, build_open_flags(): O_PATH leaves no others than these. */
	int64_t flags = op->flags & AS_O_PATH ? op->flags & AS_O_DIRECTORY : op->flags;
	bool writes = (flags & O_ACCMODE) != O_RDONLY;
	struct as_gen_handle handle = { .slot = op->slot };

	if (flags & AS_O_TMPFILE_ONLY) {
		if (i == SIZE_MAX || r->item[i].kind != AS_ITEM_DIR || !writes ||
		    (flags & AS_O_CREAT))
			return;
		handle.tmpfile = !(flags & AS_O_EXCL);
		handle.nameless = !handle.tmpfile;
		handle.kind = AS_ITEM_REG;
		handle.file = ++r->next_file;
		as_roster_open(r, handle);
		return;
	}
	if (i == SIZE_MAX) {
		const struct as_item *made;

		if (!(flags & AS_O_CREAT) || (flags & AS_O_DIRECTORY))
			return;
		made = make(w, w->at, AS_ITEM_REG, 0);
		if (!made)
			return;
		handle.file = made->file;
		handle.kind = AS_ITEM_REG;
	} else {
		const struct as_item *item = &r->item[i];
		bool dir = item->kind == AS_ITEM_DIR;

		if (((flags & AS_O_CREAT) && ((flags & AS_O_EXCL) || dir)) || (dir && writes) ||
		    (!dir && (flags & AS_O_DIRECTORY)) || item->kind == AS_ITEM_NODE)
			return;
		handle.file = item->file;
		handle.kind = item->kind;
	}
	as_roster_open(r, handle);
}

static void follow_link_tmpfile(struct as_gen_walk *w, const struct as_op *op)
{
	struct as_roster *r = &w->roster;

	for (unsigned i = 0; i < r->n_handles; i++) {
		if (r->handle[i].slot != op->fd)
			continue;
		if (!r->handle[i].nameless && make(w, w->at, AS_ITEM_REG, r->handle[i].file))
			r->handle[i].tmpfile = false;
		return;
	}
}

static void follow_xattr(struct as_gen_walk *w, const struct as_op *op)
{
	size_t i = at(w, w->at);

	(void)op;
	if (i != SIZE_MAX)
		w->roster.item[i].xattr = true;
}

static void follow_chcwd(struct as_gen_walk *w, const struct as_op *op)
{
	size_t i = at(w, w->at);

	(void)op;
	if (i != SIZE_MAX && w->roster.item[i].kind == AS_ITEM_DIR)
		w->roster.cwd = w->roster.item[i].path;
}

static void follow_close(struct as_gen_walk *w, const struct as_op *op)
{
	as_roster_close(&w->roster, op->fd);
}

static void follow_closes_all(struct as_gen_walk *w, const struct as_op *op)
{
	(void)op;
	as_roster_close_all(&w->roster);
}

/* The last word of the column GEN. */
static void (*const follows[AS_OP_COUNT])(struct as_gen_walk *w, const struct as_op *op) = {
#define GEN(subject, second, features, flags, follow) follow_##follow
#define OP(id, name, layer, args, calls, needs, persists, paths, changes, reads, moves, cost, \
	   race, syscalls, help, gen, ...)                                                    \
	[AS_OP_##id] = gen,
#include "work/op.def"
#undef OP
#undef GEN
};

void as_gen_walk_follow(struct as_gen_walk *walk, const struct as_op *op)
{
	follows[op->code](walk, op);
}

/* ---- Bursts ---- */

static void on_path(struct as_gen_walk *w, enum as_opcode code, const char *path)
{
	struct as_op op = as_gen_walk_begin(w, code);

	w->at = path;
	op.path = as_gen_walk_spell(w, path);
	as_gen_walk_emit(w, &op);
}

/* Many names in one directory, every other time a new one, so that it grows beyond its first
 * blocks. */
static size_t fill_one(struct as_gen_walk *w)
{
	static const enum as_opcode makers[] = { AS_OP_CREATE, AS_OP_MKDIR };
	size_t dir = as_pick_item(w, AS_SUBJECT_PARENT), made;
	unsigned n = 2 + as_gen_walk_choose(w, BURST_MAX);
	const char *path = w->roster.item[dir].path;
	bool flat = w->traits->quirks & AS_QUIRK_FLAT;

	if (!flat && as_gen_walk_choose(w, 2)) {
		const char *fresh = as_pick_new_in(w, dir, false);

		on_path(w, AS_OP_MKDIR, fresh);
		made = as_roster_find(&w->roster, fresh, strlen(fresh));
		if (made != SIZE_MAX) {
			w->roster.item[made].long_names = as_gen_walk_choose(w, 2);
			path = fresh;
		}
	}
	w->bursting = true;
	while (n-- > 0) {
		dir = as_roster_find(&w->roster, path, strlen(path));
		on_path(w, makers[!flat && !as_gen_walk_choose(w, 4)],
			as_pick_new_in(w, dir, false));
	}
	w->bursting = false;
	return as_roster_find(&w->roster, path, strlen(path));
}

/* Of a few directories the one with the most names. */
static size_t pick_full(struct as_gen_walk *w)
{
	size_t best = SIZE_MAX, most = 0, first;

	for (unsigned t = 0; t < FULL_TRIES; t++) {
		size_t dir = as_pick_item(w, AS_SUBJECT_DIR), n;

		n = dir ? as_roster_list(&w->roster, dir, &first) : 0;
		if (n > most) {
			most = n;
			best = dir;
		}
	}
	return best;
}

/* The oldest name of a directory becomes its newest. */
static void renew(struct as_gen_walk *w, size_t dir, size_t first)
{
	struct as_op op = as_gen_walk_begin(w, AS_OP_RENAME);
	const char *path;
	size_t moved;

	w->bursting = true;
	path = as_pick_new_in(w, dir, false);
	w->bursting = false;

	w->at = w->roster.item[first].path;
	w->at2 = path;
	op.path = as_gen_walk_spell(w, w->at);
	op.path2 = as_gen_walk_spell(w, w->at2);
	as_gen_walk_emit(w, &op);
	moved = as_roster_find(&w->roster, path, strlen(path));
	if (moved != SIZE_MAX)
		as_roster_to_end(&w->roster, moved);
}

/* The names of one directory go, the oldest first, all or all but a few; then the directory. What
 * is left may lie in its later blocks only. */
static void drain_one(struct as_gen_walk *w, size_t dir)
{
	unsigned keep = as_gen_walk_choose(w, KEPT_MAX + 1);
	size_t first = 0;
	const char *path;

	if (dir == SIZE_MAX || !dir)
		return;
	path = w->roster.item[dir].path;
	if (as_gen_walk_choose(w, 8) && as_roster_list(&w->roster, dir, &first))
		renew(w, dir, first);
	dir = as_roster_find(&w->roster, path, strlen(path));
	while (dir != SIZE_MAX && as_roster_list(&w->roster, dir, &first) > keep) {
		const struct as_item *item = &w->roster.item[first];

		on_path(w, item->kind != AS_ITEM_DIR ? AS_OP_UNLINK : AS_OP_REMOVE, item->path);
		dir = as_roster_find(&w->roster, path, strlen(path));
	}
	on_path(w, AS_OP_RMDIR, path);
}

/* Names come and go in one directory, few at a time: what they leave behind must not add up. */
static void churn_one(struct as_gen_walk *w)
{
	const char *path = w->roster.item[as_pick_item(w, AS_SUBJECT_PARENT)].path;
	const char *made[KEPT_MAX] = { 0 };
	unsigned n = CHURN_MIN + as_gen_walk_choose(w, CHURN_MAX),
		 most = 1 + as_gen_walk_choose(w, KEPT_MAX);

	for (unsigned i = 0; i < n; i++) {
		size_t dir = as_roster_find(&w->roster, path, strlen(path));

		if (made[i % most])
			on_path(w, AS_OP_UNLINK, made[i % most]);
		w->bursting = true;
		made[i % most] = as_pick_new_in(w, dir, false);
		w->bursting = false;
		on_path(w, AS_OP_CREATE, made[i % most]);
	}
}

void as_gen_burst(struct as_gen_walk *w)
{
	bool full = w->roster.n >= w->profile->tree;
	unsigned how = as_gen_walk_choose(w, 4);
	size_t dir;

	if (how == 3) {
		churn_one(w);
		return;
	}
	dir = full || !how ? pick_full(w) : fill_one(w);
	if (full || how < 2)
		drain_one(w, dir);
}
