/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: see walk.h. This file draws commands; follow.c enters into the roster what they do.
 *
 * Invariants
 *   1. Everything is decided by the roster and the choice, nothing by the model: the same seed, the
 *      same walk.
 *   2. The roster holds at most profile->tree names of its own making and what the backbone left.
 *   3. `at` and `at2` are the absolute paths of the operation being built; op->path may be spelled
 *      from the working directory.
 */
#include "gen/walk.h"

#include "gen/follow.h"
#include "gen/gen.h"

#include <fcntl.h>
#include <string.h>

#define TRIES 8
#define FOCUS_PERCENT 30 /* of subjects that are the one used last */
#define FIRST_TURN 12
#define BURST_MAX 24
#define KEPT_MAX 3
#define FULL_TRIES 4
#define ASIDE 2 /* names of a directory that are taken: how often another is tried */

/* The numbers that open(2) has on x86-64, as flags.def writes them out. */
#define OPEN_TMPFILE 020200000
#define OPEN_DIRECTORY 0200000
#define OPEN_CREAT 0100

/* How much the weight of a command counts while the tree grows and while it shrinks. */
static const uint32_t turns[2][3] = { [false] = { 1, 2, 4 }, [true] = { 4, 2, 1 } };

/* 0: it makes names, 2: it removes them, 1: neither. */
static unsigned tendency(enum as_opcode code)
{
	switch (code) {
	case AS_OP_MKDIR:
	case AS_OP_CREATE:
	case AS_OP_MKNOD:
	case AS_OP_HARDLINK:
	case AS_OP_SYMLINK:
	case AS_OP_LINK_TMPFILE:
	case AS_OP_DEEPEN:
		return 0;
	case AS_OP_REMOVE:
	case AS_OP_RMDIR:
	case AS_OP_UNLINK:
	case AS_OP_PRUNE:
		return 2;
	default:
		return 1;
	}
}

void as_walk_init(struct as_walk *walk, struct as_view *view, const struct as_traits *traits)
{
	uint32_t weight[AS_OP_COUNT], sum[2] = { 0 };

	*walk = (struct as_walk){
		.profile = view->profile, .traits = traits, .choice = view->choice, .view = view
	};
	as_gen_weights(view->profile, traits, weight);
	for (int op = 0; op < AS_OP_COUNT; op++)
		for (unsigned g = 0; g < 2; g++) {
			sum[g] += weight[op] * turns[g][tendency((enum as_opcode)op)];
			walk->sum[g][op] = sum[g];
		}
}

void as_walk_free(struct as_walk *walk)
{
	as_roster_free(&walk->roster);
	as_buf_free(&walk->text);
}

static unsigned choose(const struct as_walk *w, size_t n)
{
	return as_choose(w->choice, (unsigned)n);
}

static bool chance(const struct as_walk *w, uint64_t percent)
{
	return as_draw_chance(w->choice, percent);
}

static enum as_opcode draw_code(const struct as_walk *w)
{
	const uint32_t *sum = w->sum[w->growing];
	uint32_t at = choose(w, sum[AS_OP_COUNT - 1]);
	unsigned lo = 0, hi = AS_OP_COUNT - 1;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (sum[mid] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return (enum as_opcode)lo;
}

/* ---- Subjects ---- */

static bool fits(const struct as_walk *w, enum as_subject subject, size_t i)
{
	const struct as_item *item = &w->roster.item[i];
	bool dir = item->kind == AS_ITEM_DIR, reg = item->kind == AS_ITEM_REG;

	switch (subject) {
	case AS_SUBJECT_PARENT:
	case AS_SUBJECT_DIR:
	case AS_SUBJECT_GOAL:
		return dir;
	case AS_SUBJECT_REG:
	case AS_SUBJECT_FILE:
		return reg;
	case AS_SUBJECT_LINK:
		return item->kind == AS_ITEM_LINK;
	case AS_SUBJECT_DIR_REG:
		return dir || reg;
	case AS_SUBJECT_NONDIR:
		return !dir;
	case AS_SUBJECT_MOVABLE:
		return i != 0;
	case AS_SUBJECT_EMPTY:
		return i != 0 && dir && !as_roster_has_below(&w->roster, i);
	default:
		return true;
	}
}

/* SIZE_MAX: there is none. */
static size_t pick_item(struct as_walk *w, enum as_subject subject)
{
	const struct as_roster *r = &w->roster;
	size_t first;

	if (w->last < r->n && chance(w, FOCUS_PERCENT) && fits(w, subject, w->last))
		return w->last;
	first = choose(w, r->n);
	for (size_t i = 0; i < r->n; i++) {
		size_t at = first + i < r->n ? first + i : first + i - r->n;

		if (fits(w, subject, at))
			return w->last = at;
	}
	return SIZE_MAX;
}

/* A path that is not what the command is for: anything, something that was removed, something
 * below a file. */
static const char *pick_stray(struct as_walk *w)
{
	const struct as_roster *r = &w->roster;
	unsigned how = choose(w, 8), i = choose(w, AS_ROSTER_GHOSTS);
	const struct as_item *item = &r->item[choose(w, r->n)];
	struct as_buf *text = &w->text;

	if (how == 0 && r->ghost[i])
		return r->ghost[i];
	if (how > 1 || item->len + AS_NAME_BYTES > AS_ROSTER_PATH_MAX)
		return item->path;
	as_buf_clear(text);
	as_buf_add(text, item->path, item->len > 1 ? item->len : 0);
	as_buf_addf(text, "/%s", w->profile->name[choose(w, w->profile->n_names)]);
	return as_arena_strndup(&w->roster.text, text->data, text->len);
}

static const char *pick_path(struct as_walk *w, enum as_subject subject)
{
	size_t i;

	if (chance(w, w->profile->stray))
		return pick_stray(w);
	i = pick_item(w, subject);
	return i == SIZE_MAX ? NULL : w->roster.item[i].path;
}

/* ---- New names ---- */

static void add_long_name(struct as_walk *w, struct as_buf *text)
{
	const char *seed = w->profile->name[choose(w, w->profile->n_names)];
	size_t max = w->traits->name_max ? w->traits->name_max : 255, len;
	unsigned how = choose(w, 20);

	/* Most are as long as a name may be, some one less or one more, some anything. */
	len = how < 9 ? max : how < 12 ? max - 1 : how < 13 ? max + 1 : 16 + choose(w, max - 15);
	for (size_t seed_len = strlen(seed); len > seed_len; len -= seed_len)
		as_buf_add(text, seed, seed_len);
	as_buf_add(text, seed, len);
}

static void add_name(struct as_walk *w, const struct as_item *dir, struct as_buf *text)
{
	uint64_t percent = dir->long_names ? 95 : w->profile->long_name / 4;

	if (dir->len + 300 < AS_ROSTER_PATH_MAX && chance(w, percent))
		add_long_name(w, text);
	else
		as_buf_adds(text, w->profile->name[choose(w, w->profile->n_names)]);
}

/* A path in item i, mostly one that is free. */
static const char *new_in(struct as_walk *w, size_t i, bool stray)
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

static const char *pick_new(struct as_walk *w)
{
	bool stray = chance(w, w->profile->stray);

	return new_in(w, pick_item(w, stray ? AS_SUBJECT_ANY : AS_SUBJECT_PARENT), stray);
}

/* ---- Commands ---- */

/* As an argument: absolute, or from the working directory. */
static const char *spell(const struct as_walk *w, const char *path)
{
	const char *cwd = w->roster.cwd;
	size_t len = cwd ? strlen(cwd) : 0;

	if (len <= 1 || strncmp(path, cwd, len) || path[len] != '/' || !path[len + 1] ||
	    !chance(w, w->profile->relative))
		return path;
	return path + len + 1;
}

/* Draws what is left to draw, appends, and believes what it says. */
static void emit(struct as_walk *w, struct as_op *op)
{
	if (w->fill) {
		as_buf_clear(&w->text);
		as_draw_args(&w->view->index, w->profile->dist, w->choice, op, &w->text);
	}
	as_seq_add(w->out, op);
	as_walk_follow(w, op);
}

static struct as_op begin(struct as_walk *w, enum as_opcode code)
{
	w->at = w->at2 = NULL;
	return w->view->plain[code];
}

static int32_t free_slot(const struct as_walk *w)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < w->roster.n_handles; i++)
		taken |= (uint64_t)1 << w->roster.handle[i].slot;
	return (int32_t)__builtin_ctzll(~taken);
}

static void close_one(struct as_walk *w, unsigned i)
{
	struct as_op op = begin(w, AS_OP_CLOSE);

	op.fd = w->roster.handle[i].slot;
	emit(w, &op);
}

/* Mostly a file that is there; else a new one, a directory, a file without a name. */
static bool walk_open(struct as_walk *w, bool tmpfile)
{
	struct as_op op = begin(w, AS_OP_OPEN);
	unsigned how = choose(w, 16);

	if (w->roster.n_handles >= w->profile->slots) {
		close_one(w, choose(w, w->roster.n_handles));
		op = begin(w, AS_OP_OPEN);
	}
	if (tmpfile) {
		op.flags |= OPEN_TMPFILE;
		w->at = pick_path(w, AS_SUBJECT_DIR);
	} else if (how == 0) {
		op.flags = (op.flags & ~(int64_t)O_ACCMODE) | OPEN_DIRECTORY;
		w->at = pick_path(w, AS_SUBJECT_DIR);
	} else if (how < 3) {
		op.flags |= OPEN_CREAT;
		w->at = pick_new(w);
	} else {
		w->at = pick_path(w, AS_SUBJECT_REG);
	}
	if (!w->at)
		return false;
	op.slot = free_slot(w);
	op.path = spell(w, w->at);
	emit(w, &op);
	return true;
}

/* The file system goes away and comes back; what was open is closed before. */
static bool walk_umount(struct as_walk *w)
{
	struct as_op op;

	while (w->roster.n_handles)
		close_one(w, 0);
	op = begin(w, AS_OP_UMOUNT);
	emit(w, &op);
	op = begin(w, AS_OP_MOUNT);
	emit(w, &op);
	return true;
}

/* Only what a sync went before is judged exactly. */
static bool walk_crash(struct as_walk *w)
{
	struct as_op op = begin(w, AS_OP_SYNC);

	emit(w, &op);
	op = begin(w, AS_OP_CRASH);
	emit(w, &op);
	return true;
}

static bool walk_link_tmpfile(struct as_walk *w)
{
	struct as_op op;

	for (unsigned i = 0; i < w->roster.n_handles; i++) {
		if (!w->roster.handle[i].tmpfile)
			continue;
		op = begin(w, AS_OP_LINK_TMPFILE);
		op.fd = w->roster.handle[i].slot;
		w->at = pick_new(w);
		op.path = spell(w, w->at);
		emit(w, &op);
		return true;
	}
	return walk_open(w, true);
}

static bool walk_fd(struct as_walk *w, enum as_opcode code)
{
	struct as_op op;

	if (!w->roster.n_handles && !walk_open(w, false))
		return false;
	if (!w->roster.n_handles) /* it did not go through */
		return true;
	op = begin(w, code);
	op.fd = w->roster.handle[choose(w, w->roster.n_handles)].slot;
	if (as_gen_rows[code].second == AS_SECOND_DESCRIPTOR)
		op.fd2 = w->roster.handle[choose(w, w->roster.n_handles)].slot;
	emit(w, &op);
	return true;
}

/* A command on one path or two, from its row. */
static bool walk_path(struct as_walk *w, enum as_opcode code)
{
	const struct as_gen_row *row = &as_gen_rows[code];
	struct as_op op = begin(w, code);
	enum as_subject subject = row->subject;

	/* That a directory must be empty is worth asking. */
	if (subject == AS_SUBJECT_EMPTY && chance(w, 2 * w->profile->stray))
		subject = AS_SUBJECT_DIR;
	w->at = subject == AS_SUBJECT_PARENT ? pick_new(w) : pick_path(w, subject);
	if (!w->at)
		return false;
	if (row->second == AS_SECOND_NEW) {
		uint64_t percent = code == AS_OP_RENAME2 ? 50 : w->profile->replace;

		w->at2 = chance(w, percent) ? pick_path(w, AS_SUBJECT_MOVABLE) : pick_new(w);
		if (!w->at2)
			return false;
		op.path2 = spell(w, w->at2);
	}
	op.path = code == AS_OP_SYMLINK || code == AS_OP_CHCWD ? w->at : spell(w, w->at);
	emit(w, &op);
	return true;
}

/* ---- Bursts ---- */

static void on_path(struct as_walk *w, enum as_opcode code, const char *path)
{
	struct as_op op = begin(w, code);

	w->at = path;
	op.path = spell(w, path);
	emit(w, &op);
}

/* Many names in one directory, every other time a new one, so that it grows beyond its first
 * blocks. */
static void fill_one(struct as_walk *w)
{
	static const enum as_opcode makers[] = { AS_OP_CREATE, AS_OP_MKDIR };
	size_t dir = pick_item(w, AS_SUBJECT_PARENT), made;
	unsigned n = 2 + choose(w, BURST_MAX);
	const char *path = w->roster.item[dir].path;

	if (choose(w, 2)) {
		const char *fresh = new_in(w, dir, false);

		on_path(w, AS_OP_MKDIR, fresh);
		made = as_roster_find(&w->roster, fresh, strlen(fresh));
		if (made != SIZE_MAX) {
			w->roster.item[made].long_names = choose(w, 2);
			path = fresh;
		}
	}
	while (n-- > 0) {
		dir = as_roster_find(&w->roster, path, strlen(path));
		on_path(w, makers[!choose(w, 4)], new_in(w, dir, false));
	}
}

/* Of a few directories the one with the most names. */
static size_t pick_full(struct as_walk *w)
{
	size_t best = SIZE_MAX, most = 0, first;

	for (unsigned t = 0; t < FULL_TRIES; t++) {
		size_t dir = pick_item(w, AS_SUBJECT_DIR), n;

		n = dir ? as_roster_list(&w->roster, dir, &first) : 0;
		if (n > most) {
			most = n;
			best = dir;
		}
	}
	return best;
}

/* The names of one directory go, the oldest first, all or all but a few; then the directory. What
 * is left may lie in its later blocks only. */
static void drain_one(struct as_walk *w)
{
	size_t dir = pick_full(w), first = 0;
	unsigned keep = choose(w, KEPT_MAX + 1);
	const char *path;

	if (dir == SIZE_MAX)
		return;
	path = w->roster.item[dir].path;
	while (dir != SIZE_MAX && as_roster_list(&w->roster, dir, &first) > keep) {
		const struct as_item *item = &w->roster.item[first];

		on_path(w, item->kind != AS_ITEM_DIR ? AS_OP_UNLINK : AS_OP_REMOVE, item->path);
		dir = as_roster_find(&w->roster, path, strlen(path));
	}
	on_path(w, AS_OP_RMDIR, path);
}

static bool walk_one(struct as_walk *w, enum as_opcode code)
{
	switch (code) {
	case AS_OP_OPEN:
		return walk_open(w, false);
	case AS_OP_UMOUNT:
		return walk_umount(w);
	case AS_OP_CRASH:
		return walk_crash(w);
	case AS_OP_LINK_TMPFILE:
		return walk_link_tmpfile(w);
	default:
		break;
	}
	switch (as_gen_rows[code].subject) {
	case AS_SUBJECT_NONE: {
		struct as_op op = begin(w, code);

		emit(w, &op);
		return true;
	}
	case AS_SUBJECT_FD:
		return walk_fd(w, code);
	default:
		return walk_path(w, code);
	}
}

/* Now and then the tree stops growing and shrinks, and the other way round. */
static void take_turns(struct as_walk *w)
{
	size_t max = w->profile->tree, n = w->roster.n;

	if (w->growing ? n < w->turn : n > w->turn)
		return;
	w->growing = !w->growing;
	w->turn = w->growing ? n + 1 + choose(w, max > n ? max - n : 1) : choose(w, n / 2 + 1);
}

void as_walk_append(struct as_walk *walk, const struct as_model *model, size_t n, bool fill,
		    struct as_seq *out)
{
	struct as_view *view = walk->view;
	struct as_buf cwd = { 0 };
	size_t end = out->n + n;

	if (!n || !walk->sum[0][AS_OP_COUNT - 1])
		return;
	as_view_look(view, model, false);
	as_buf_adds(&cwd, view->text.data + view->spot[0].path);
	as_view_look(view, model, true);
	as_roster_load(&walk->roster, view, as_buf_str(&cwd));
	as_buf_free(&cwd);
	walk->fill = fill;
	walk->out = out;
	walk->growing = true;
	walk->turn = walk->roster.n + FIRST_TURN;
	walk->last = SIZE_MAX;
	while (out->n < end) {
		bool done = false;

		take_turns(walk);
		if (chance(walk, walk->profile->burst)) {
			if (walk->roster.n < walk->profile->tree && choose(walk, 2))
				fill_one(walk);
			else
				drain_one(walk);
			continue;
		}
		for (unsigned t = 0; t < TRIES && !done; t++) {
			enum as_opcode code = draw_code(walk);

			if (tendency(code) == 0 && walk->roster.n >= walk->profile->tree)
				continue;
			done = walk_one(walk, code);
		}
		/* Nothing is there that any command drawn could use. */
		if (!done)
			(void)walk_one(walk, walk->view->plain[AS_OP_CREATE].code);
	}
}
