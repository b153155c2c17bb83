/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: see walk.h. This file draws commands; follow.c enters into the roster what they do.
 *
 * Invariants
 *   1. Everything is decided by the roster and the choice, and for steered commands (steer.h) by
 *      the model: the same seed, the same walk.
 *   2. The roster holds at most profile->tree names of its own making and what the backbone left.
 *   3. `at` and `at2` are the absolute paths of the operation being built; op->path may be spelled
 *      from the working directory.
 */
#include "gen/walk.h"

#include "gen/follow.h"
#include "gen/gen.h"
#include "gen/pick.h"

#include <fcntl.h>
#include <string.h>

#define TRIES 8
#define FIRST_TURN 12
#define READONLY_MAX 8
#define LINK_SHORT 160 /* bytes; inodes have room for less */
#define LINK_LONG 4095 /* bytes: a path and its end are at most 4096 */

/* How much the weight of a command counts while the tree grows and while it shrinks. */
static const uint32_t turns[2][3] = { [false] = { 1, 2, 4 }, [true] = { 6, 2, 1 } };

/* 0: it makes names, 2: it removes them, 1: neither. */
static unsigned tendency(enum as_opcode code)
{
	const enum as_paths *path = as_op_table[code].path;

	switch (path[1] != AS_PATHS_NONE ? path[1] : path[0]) {
	case AS_PATHS_DEFINE:
	case AS_PATHS_ALIAS:
	case AS_PATHS_DEEPEN:
		return 0;
	case AS_PATHS_KILL:
	case AS_PATHS_EMPTY:
		return 2;
	default:
		return 1;
	}
}

void as_gen_walk_init(struct as_gen_walk *walk, struct as_gen_view *view,
		      const struct as_traits *traits)
{
	uint32_t weight[AS_OP_COUNT], turned[2][AS_OP_COUNT], sum[2] = { 0 };

	*walk = (struct as_gen_walk){
		.profile = view->profile, .traits = traits, .choice = view->choice, .view = view
	};
	walk->aim = as_aim_new(view->profile);
	as_gen_weights(view->profile, traits, weight);
	for (int op = 0; op < AS_OP_COUNT; op++)
		for (unsigned g = 0; g < 2; g++) {
			turned[g][op] = weight[op] * turns[g][tendency((enum as_opcode)op)];
			sum[g] += turned[g][op];
			walk->sum[g][op] = sum[g];
		}
	if (view->profile->steer)
		walk->steer = as_steer_new(turned);
}

void as_gen_walk_free(struct as_gen_walk *walk)
{
	as_aim_free(walk->aim);
	as_steer_free(walk->steer);
	as_roster_free(&walk->roster);
	as_buf_free(&walk->text);
	as_buf_free(&walk->opts);
	as_buf_free(&walk->link);
}

static enum as_opcode draw_code(const struct as_gen_walk *w)
{
	const uint32_t *sum = w->sum[w->growing];
	uint32_t at = as_gen_walk_choose(w, sum[AS_OP_COUNT - 1]);
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

/* ---- Commands ---- */

/* As an argument: absolute, or from the working directory. */
const char *as_gen_walk_spell(const struct as_gen_walk *w, const char *path)
{
	const char *cwd = w->roster.cwd;
	size_t len = cwd ? strlen(cwd) : 0;

	if (len <= 1 || strncmp(path, cwd, len) || path[len] != '/' || !path[len + 1] ||
	    !as_gen_walk_chance(w, w->profile->relative))
		return path;
	return path + len + 1;
}

/* An operation with its arguments; its paths may depend on them. */
struct as_op as_gen_walk_begin(struct as_gen_walk *w, enum as_opcode code)
{
	struct as_op op = w->view->plain[code];

	w->at = w->at2 = NULL;
	if (w->fill) {
		as_buf_clear(&w->opts);
		as_draw_args(&w->view->index, w->profile->dist, w->choice, &op, &w->opts);
		as_pick_wide(w, &op);
	}
	return op;
}

/* Whether an operation succeeds on a read-only mount. */
static bool is_done_read_only(const struct as_gen_walk *w, const struct as_op *op)
{
	const int64_t changes = AS_O_ACCMODE | AS_O_TRUNC | AS_O_TMPFILE_ONLY;

	if (op->code == AS_OP_OPEN)
		return !(op->flags & changes) && w->at &&
		       as_roster_find(&w->roster, w->at, strlen(w->at)) != SIZE_MAX;
	return as_op_table[op->code].changes == AS_CHANGES_NOTHING;
}

/* Appends the operation, and takes it to succeed. after: the state that it leads to, if known. */
static void emit_known(struct as_gen_walk *w, const struct as_op *op, struct as_model *after)
{
	struct as_op *added = as_seq_add(w->out, op);

	as_draw_drop_idle(added);
	if (after) {
		as_model_free(w->model);
		w->model = after;
	} else if (w->model) {
		as_model_apply(w->model, added);
	}
	if (w->model)
		as_steer_follow(w->steer, added);
	if (op->code == AS_OP_MMAP && op->fd >= 0 && op->fd < 64)
		w->mapped |= (uint64_t)1 << op->fd;
	if (!w->readonly || is_done_read_only(w, op))
		as_gen_walk_follow(w, op);
}

void as_gen_walk_emit(struct as_gen_walk *w, const struct as_op *op)
{
	emit_known(w, op, NULL);
}

static int32_t free_slot(const struct as_gen_walk *w)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < w->roster.n_handles; i++)
		taken |= (uint64_t)1 << w->roster.handle[i].slot;
	return (int32_t)__builtin_ctzll(~taken);
}

static void close_one(struct as_gen_walk *w, unsigned i)
{
	struct as_op op = as_gen_walk_begin(w, AS_OP_CLOSE);

	op.fd = w->roster.handle[i].slot;
	as_gen_walk_emit(w, &op);
}

/* Mostly a file that is there; else a new one, a directory, a file without a name. */
static bool walk_open(struct as_gen_walk *w, bool tmpfile)
{
	struct as_op op = as_gen_walk_begin(w, AS_OP_OPEN);
	unsigned how = as_gen_walk_choose(w, 16);

	if (w->roster.n_handles >= w->profile->slots) {
		close_one(w, as_gen_walk_choose(w, w->roster.n_handles));
		op = as_gen_walk_begin(w, AS_OP_OPEN);
	}
	if (tmpfile) {
		op.flags = (op.flags & ~(int64_t)(AS_O_CREAT | O_ACCMODE)) | AS_O_TMPFILE | O_RDWR;
		if (!as_gen_walk_choose(w, 6))
			op.flags |= AS_O_EXCL;
		w->at = as_pick_path(w, AS_SUBJECT_DIR);
	} else if (how == 0) {
		/* Now and then as one would make a file, to see it refused. */
		op.flags = (op.flags & ~(int64_t)(AS_O_CREAT | O_ACCMODE)) |
			   (as_gen_walk_choose(w, 8) ? AS_O_DIRECTORY : AS_O_CREAT);
		w->at = as_pick_path(w, AS_SUBJECT_DIR);
	} else if (how < 3) {
		op.flags |= AS_O_CREAT;
		w->at = as_pick_new(w);
	} else {
		w->at = as_pick_path(w, AS_SUBJECT_REG);
	}
	if (!w->at)
		return false;
	if (w->readonly && as_gen_walk_choose(w, 4))
		op.flags &= ~(int64_t)(AS_O_ACCMODE | AS_O_TRUNC | AS_O_CREAT | AS_O_EXCL);
	op.slot = free_slot(w);
	op.path = as_gen_walk_spell(w, w->at);
	if (!w->fill)
		op.mode = (uint32_t)w->profile->dist[AS_DRAW_OPEN_OPEN_MODE].base;
	as_gen_walk_emit(w, &op);
	return true;
}

static void close_all(struct as_gen_walk *w)
{
	while (w->roster.n_handles)
		close_one(w, 0);
	for (; w->mapped; w->mapped &= w->mapped - 1) {
		struct as_op op = as_gen_walk_begin(w, AS_OP_MUNMAP);

		op.fd = (int32_t)__builtin_ctzll(w->mapped);
		as_gen_walk_emit(w, &op);
	}
}

/* Whether the next mount or remount is to be read-only. */
static bool wants_read_only(const struct as_gen_walk *w, uint64_t feature)
{
	return w->fill && w->traits->features & feature &&
	       as_gen_walk_chance(w, w->profile->readonly);
}

static bool walk_one(struct as_gen_walk *w, enum as_opcode code);

/* A few commands on a read-only mount: those that change something are refused. */
static void walk_read_only(struct as_gen_walk *w)
{
	unsigned n = 1 + as_gen_walk_choose(w, READONLY_MAX);

	w->readonly = true;
	while (n-- > 0) {
		enum as_opcode code = draw_code(w);

		if (code != AS_OP_REMOUNT && as_gen_rows[code].subject != AS_SUBJECT_QUIET)
			(void)walk_one(w, code);
	}
	w->readonly = false;
}

static void make_writable(struct as_gen_walk *w)
{
	if (w->traits->features & AS_FEAT_TURNS && as_gen_walk_choose(w, 3)) {
		as_gen_walk_emit(w, &w->view->plain[AS_OP_REMOUNT]);
		return;
	}
	close_all(w);
	as_gen_walk_emit(w, &w->view->plain[AS_OP_UMOUNT]);
	as_gen_walk_emit(w, &w->view->plain[AS_OP_MOUNT]);
}

/* Read-only and back. Now and then nothing is closed before, to see it refused. */
static bool walk_turn(struct as_gen_walk *w)
{
	bool refused = !as_gen_walk_choose(w, 4);
	struct as_op op;

	if (!refused)
		close_all(w);
	op = as_gen_walk_begin(w, AS_OP_REMOUNT);
	if (as_gen_walk_choose(w, 4))
		as_buf_clear(&w->opts);
	as_buf_adds(&w->opts, w->opts.len ? ",ro" : "ro");
	op.opts = as_buf_str(&w->opts);
	as_gen_walk_emit(w, &op);
	if (!refused)
		walk_read_only(w);
	make_writable(w);
	return true;
}

/* A mount that is read-only for a few commands, and writable afterwards. */
static void mount_read_only(struct as_gen_walk *w)
{
	struct as_op op = w->view->plain[AS_OP_MOUNT];

	op.opts = "ro";
	as_gen_walk_emit(w, &op);
	walk_read_only(w);
	make_writable(w);
}

/* The file system goes away and comes back; what was open is closed before. */
static bool walk_umount(struct as_gen_walk *w)
{
	struct as_op op;

	close_all(w);
	op = as_gen_walk_begin(w, AS_OP_UMOUNT);
	as_gen_walk_emit(w, &op);
	if (wants_read_only(w, AS_FEAT_READONLY)) {
		mount_read_only(w);
		return true;
	}
	op = as_gen_walk_begin(w, AS_OP_MOUNT);
	as_gen_walk_emit(w, &op);
	/* If the options were refused, a mount without options follows; if not, that second
	 * mount is refused. */
	if (op.opts && *op.opts)
		as_gen_walk_emit(w, &w->view->plain[AS_OP_MOUNT]);
	return true;
}

/* Only a crash after a sync can be judged exactly. */
static bool walk_crash(struct as_gen_walk *w)
{
	struct as_op op = as_gen_walk_begin(w, AS_OP_SYNC);

	as_gen_walk_emit(w, &op);
	op = as_gen_walk_begin(w, AS_OP_CRASH);
	as_gen_walk_emit(w, &op);
	return true;
}

static bool walk_link_tmpfile(struct as_gen_walk *w)
{
	/* Now and then one that has a name, or had one. */
	bool any = as_gen_walk_chance(w, w->profile->stray);
	struct as_op op;

	for (unsigned i = 0; i < w->roster.n_handles; i++) {
		const struct as_gen_handle *handle = &w->roster.handle[i];

		if (!handle->tmpfile && !(any && handle->kind == AS_ITEM_REG) &&
		    !(handle->nameless && as_gen_walk_choose(w, 2)))
			continue;
		op = as_gen_walk_begin(w, AS_OP_LINK_TMPFILE);
		op.fd = w->roster.handle[i].slot;
		w->at = as_pick_new(w);
		op.path = as_gen_walk_spell(w, w->at);
		as_gen_walk_emit(w, &op);
		return true;
	}
	return walk_open(w, true);
}

static bool walk_fd(struct as_gen_walk *w, enum as_opcode code)
{
	struct as_op op;

	if (!w->roster.n_handles && !walk_open(w, false))
		return false;
	if (!w->roster.n_handles) /* the open was refused */
		return true;
	op = as_gen_walk_begin(w, code);
	op.fd = w->roster.handle[as_gen_walk_choose(w, w->roster.n_handles)].slot;
	if (as_gen_rows[code].second == AS_SECOND_DESCRIPTOR)
		op.fd2 = w->roster.handle[as_gen_walk_choose(w, w->roster.n_handles)].slot;
	as_gen_walk_emit(w, &op);
	return true;
}

/* How often the second path is one that exists: that is what an exchange needs. */
static uint64_t replaces(const struct as_gen_walk *w, const struct as_op *op)
{
	return op->code == AS_OP_RENAME2 && op->flags & AS_RENAME_EXCHANGE ? 90
									   : w->profile->replace;
}

/* How long the text of a link is to be: mostly so that it may just fit an inode. */
static size_t link_bytes(struct as_gen_walk *w)
{
	size_t max = w->traits->symlink_max < LINK_LONG ? w->traits->symlink_max : LINK_LONG;

	switch (as_gen_walk_choose(w, 8)) {
	case 0:
		return 1 + as_gen_walk_choose(w, max + 1);
	case 1:
		/* As long as it may be, and a byte less or more. */
		return max + as_gen_walk_choose(w, 3) - (max > 1);
	default:
		return 1 + as_gen_walk_choose(w, LINK_SHORT);
	}
}

/* The text of a link that leads to `path`. File systems keep short ones in the inode, others in
 * blocks of their own. So it is made longer by slashes, which mean nothing, to all lengths. */
static const char *link_text(struct as_gen_walk *w, const char *path)
{
	size_t have = strlen(path), len;

	/* udf: udf_symlink() keeps a list of names, and no slashes. */
	if (w->traits->quirks & AS_QUIRK_SYMLINK_OF_NAMES || *path != '/' || !w->fill ||
	    !as_gen_walk_chance(w, w->profile->link_text))
		return path;
	len = link_bytes(w);
	as_buf_clear(&w->link);
	for (; len > have; len--)
		as_buf_addc(&w->link, '/');
	as_buf_adds(&w->link, path);
	return as_buf_str(&w->link);
}

/* A command on one path or two, from its row. */
static bool walk_path(struct as_gen_walk *w, enum as_opcode code)
{
	const struct as_gen_row *row = &as_gen_rows[code];
	struct as_op op = as_gen_walk_begin(w, code);
	enum as_subject subject = row->subject;

	/* Now and then a directory that may not be empty, to see it refused. */
	if (subject == AS_SUBJECT_EMPTY && as_gen_walk_chance(w, 2 * w->profile->stray))
		subject = AS_SUBJECT_DIR;
	if (code == AS_OP_READ_XATTR || code == AS_OP_REMOVEXATTR)
		w->at = as_pick_attributed(w);
	else if (code == AS_OP_WRITE_XATTR)
		w->at = as_pick_attributable(w, &op);
	else
		w->at = subject == AS_SUBJECT_PARENT ? as_pick_new(w) : as_pick_path(w, subject);
	if (!w->at)
		return false;
	if (row->second == AS_SECOND_NEW) {
		w->at2 = as_gen_walk_chance(w, replaces(w, &op))
				 ? as_pick_path(w, AS_SUBJECT_MOVABLE)
				 : as_pick_new(w);
		if (!w->at2)
			return false;
		op.path2 = as_gen_walk_spell(w, w->at2);
	}
	op.path = code == AS_OP_SYMLINK ? link_text(w, w->at)
		  : code == AS_OP_CHCWD ? w->at
					: as_gen_walk_spell(w, w->at);
	as_gen_walk_emit(w, &op);
	return true;
}

/* ---- Steps ---- */

static bool walk_one(struct as_gen_walk *w, enum as_opcode code)
{
	switch (as_gen_rows[code].subject) {
	case AS_SUBJECT_FILE:
		return walk_open(w, false);
	case AS_SUBJECT_QUIET:
		return code == AS_OP_CRASH ? walk_crash(w) : walk_umount(w);
	case AS_SUBJECT_TMPFILE:
		return walk_link_tmpfile(w);
	case AS_SUBJECT_NONE: {
		struct as_op op;

		if (code == AS_OP_REMOUNT && wants_read_only(w, AS_FEAT_TURNS))
			return walk_turn(w);
		op = as_gen_walk_begin(w, code);
		as_gen_walk_emit(w, &op);
		return true;
	}
	case AS_SUBJECT_FD:
		return walk_fd(w, code);
	default:
		return walk_path(w, code);
	}
}

/* Now and then the tree stops growing and shrinks, and the other way round. */
static void take_turns(struct as_gen_walk *w)
{
	size_t max = w->profile->tree, n = w->roster.n;

	if (w->growing ? n < w->turn : n > w->turn)
		return;
	w->growing = !w->growing;
	w->turn = w->growing ? n + 1 + as_gen_walk_choose(w, max > n ? max - n : 1)
			     : as_gen_walk_choose(w, n / 2 + 1);
}

/* What the walk begins with: the state that the backbone leads to. */
static void load(struct as_gen_walk *walk, const struct as_model *model)
{
	struct as_gen_view *view = walk->view;
	struct as_buf cwd = { 0 };

	as_view_look(view, model, false);
	as_buf_adds(&cwd, view->text.data + view->spot[0].path);
	as_view_look(view, model, true);
	as_roster_load(&walk->roster, view, as_buf_str(&cwd));
	as_buf_free(&cwd);
	walk->growing = true;
	walk->turn = walk->roster.n + FIRST_TURN;
	walk->last = SIZE_MAX;
}

/* A command chosen by the state; false: there is none. */
static bool steered(struct as_gen_walk *w)
{
	struct as_model *after;
	struct as_op op;

	if (!as_model_mounted(w->model) || as_model_lost(w->model))
		return false;
	after = as_steer_pick(w->steer, w->view, w->model, w->growing, w->fill, &op);
	if (!after)
		return false;
	if (tendency(op.code) == 0 && w->roster.n >= w->profile->tree) {
		as_model_free(after);
		return false;
	}
	w->at = op.path;
	w->at2 = op.path2;
	emit_known(w, &op, after);
	return true;
}

/* One command, or a burst of them. */
static void step(struct as_gen_walk *walk)
{
	bool done = false;

	take_turns(walk);
	if (as_gen_walk_chance(walk, walk->profile->burst)) {
		as_gen_burst(walk);
		return;
	}
	if (walk->model && as_gen_walk_chance(walk, walk->profile->steer) && steered(walk))
		return;
	for (unsigned t = 0; t < TRIES && !done; t++) {
		enum as_opcode code = draw_code(walk);

		if (tendency(code) == 0 && walk->roster.n >= walk->profile->tree)
			continue;
		done = walk_one(walk, code);
	}
	/* No command that can be drawn has anything to work on. */
	if (!done)
		(void)walk_one(walk, walk->view->plain[AS_OP_CREATE].code);
}

static size_t less(size_t n, size_t by)
{
	return n > by ? n - by : 0;
}

void as_gen_walk_append(struct as_gen_walk *walk, const struct as_model *model, size_t n, bool fill,
			struct as_seq *out)
{
	size_t all = out->n + n, aims = fill ? as_aim_share(walk->aim, all) : 0;

	if (n + aims == 0 || !walk->sum[0][AS_OP_COUNT - 1])
		return;
	load(walk, model);
	walk->model = walk->steer ? as_model_copy(model) : NULL;
	if (walk->steer)
		as_steer_begin(walk->steer);
	walk->fill = fill;
	walk->out = out;
	while (n + aims > 0) {
		size_t before = out->n;

		if (aims && as_gen_walk_choose(walk, n + aims) < aims) {
			bool done = as_aim_append(walk->aim, walk);
			size_t most = as_aim_share(walk->aim, all);

			aims = done ? less(aims, out->n - before) : 0;
			if (aims > most)
				aims = most;
		} else {
			step(walk);
			n = less(n, out->n - before);
		}
	}
	as_model_free(walk->model);
	walk->model = NULL;
}
