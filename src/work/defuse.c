/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * defuse: see defuse.h.
 *
 * Method. A pass over the operations keeps a world of names: for each path and slot, which
 * operation put it there (def) and which one made the file that it names (object: renames and links
 * keep it). The pass over the whole workload notes for each operation which of its arguments were
 * there, and on which operations they depend. A pass over a subset drops every operation that has
 * an argument which was there in the whole workload and is not there now. So an operation whose
 * argument was missing from the start (to get an error) is never dropped for that, and when the
 * first creation of a name is gone, the second one takes its place.
 *
 * Invariants:
 * 1. Paths in the world are absolute and without ".", ".." and double slashes; "/" is always there.
 * 2. A path's defs are those of all names along it: what lies below a renamed folder depends on the
 *    rename through the folder's own entry.
 */
#include "work/defuse.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY (-1)

struct defuse_name {
	size_t at; /* its index in the world */
	uint64_t hash; /* of the path */
	int def, object;
	int deepened, enlarged; /* by whom, or NOBODY */
	char path[];
};

struct world {
	struct defuse_name **names;
	size_t n, cap;
	struct as_table table; /* of the names, by path */
	int slot_def[AS_SLOT_MAX + 1], slot_object[AS_SLOT_MAX + 1];
	int map_def[AS_SLOT_MAX + 1], map_object[AS_SLOT_MAX + 1]; /* mappings of the slots */
	struct as_buf cwd; /* without a slash at its end: "" is the root */
	int cwd_def;
};

enum { HAD_PATH = 1, HAD_PATH2 = 2, HAD_FD = 4, HAD_FD2 = 8 };

struct list {
	size_t *at, n, cap;
};

struct as_defuse {
	const struct as_seq *seq;
	unsigned char *had; /* of each operation */
	struct list *deps, *objects;
	struct world world;
	struct as_buf path, path2; /* scratch */
};

/* ---- Lists ----------------------------------------------------------------------------------- */

/* Adds a value; the list is ascending and holds each value once. NOBODY is not added. */
static void note(struct list *list, int value)
{
	size_t i;

	if (!list || value == NOBODY)
		return;
	for (i = list->n; i && list->at[i - 1] > (size_t)value;)
		i--;
	if (i && list->at[i - 1] == (size_t)value)
		return;
	AS_ARRAY_ROOM(list->at, list->n, list->cap);
	memmove(list->at + i + 1, list->at + i, (list->n++ - i) * sizeof(*list->at));
	list->at[i] = (size_t)value;
}

/* ---- The world of names ---------------------------------------------------------------------- */

/* The last name takes its place. */
static void take_out(struct world *w, struct defuse_name *name)
{
	as_table_remove_ptr(&w->table, name->hash, name);
	w->names[name->at] = w->names[--w->n];
	w->names[name->at]->at = name->at;
}

static void put_in(struct world *w, struct defuse_name *name, size_t len)
{
	AS_ARRAY_ROOM(w->names, w->n, w->cap);
	name->at = w->n;
	name->hash = as_hash64(name->path, len);
	w->names[w->n++] = name;
	as_table_add_ptr(&w->table, name->hash, name);
}

static void forget(struct world *w, struct defuse_name *name)
{
	take_out(w, name);
	free(name);
}

static void forget_slots(struct world *w)
{
	for (size_t i = 0; i <= AS_SLOT_MAX; i++)
		w->slot_def[i] = w->map_def[i] = NOBODY;
}

static void forget_all(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->names[i]);
	w->n = 0;
	as_table_clear(&w->table);
	forget_slots(w);
	as_buf_clear(&w->cwd);
	w->cwd_def = NOBODY;
}

struct name_key {
	const char *path;
	size_t len;
};

static bool is_name(const void *ctx, size_t item)
{
	const struct defuse_name *name = as_table_ptr(item);
	const struct name_key *key = ctx;

	return !strncmp(name->path, key->path, key->len) && !name->path[key->len];
}

static struct defuse_name *find(const struct world *w, const char *path, size_t len)
{
	return as_table_ptr(as_table_find(&w->table, as_hash64(path, len), is_name,
					  &(struct name_key){ path, len }));
}

static void define(struct world *w, const char *path, size_t len, int def, int object)
{
	struct defuse_name *name = find(w, path, len);

	if (name || !len)
		return;
	name = as_xcalloc(1, sizeof(*name) + len + 1);
	memcpy(name->path, path, len);
	name->def = def;
	name->object = object;
	name->deepened = name->enlarged = NOBODY;
	put_in(w, name, len);
}

static bool is_below(const char *path, const struct as_buf *folder)
{
	return !strncmp(path, as_buf_str(folder), folder->len) && path[folder->len] == '/';
}

static void forget_below(struct world *w, const struct as_buf *folder)
{
	for (size_t i = w->n; i-- > 0;)
		if (is_below(w->names[i]->path, folder))
			forget(w, w->names[i]);
}

/* An absolute path without ".", ".." and double slashes; "" for the root. */
static void make_absolute(const struct world *w, const char *path, struct as_buf *out)
{
	as_buf_clear(out);
	if (*path != '/')
		as_buf_add(out, as_buf_str(&w->cwd), w->cwd.len);
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2)) {
			while (out->len && out->data[--out->len] != '/')
				;
			if (out->data)
				out->data[out->len] = '\0';
		} else if (len && !(len == 1 && *path == '.')) {
			as_buf_addc(out, '/');
			as_buf_add(out, path, len);
		}
		path += len + (path[len] == '/');
	}
}

/* A name that deepen or enlarge made below `folder`, or NOBODY. */
static int spawned(const struct defuse_name *folder, int deepened, const char *part, size_t len)
{
	if (len == 1 && *part == 'd')
		return folder ? folder->deepened : deepened;
	if (folder && len > 1 && *part == 'e' && strspn(part + 1, "0123456789") >= len - 1)
		return folder->enlarged;
	return NOBODY;
}

/* Whether all of an absolute path (or all but its last name) is there. */
static bool look_up(const struct world *w, const struct as_buf *path, bool folder_only,
		    struct list *deps, int *object)
{
	const char *text = as_buf_str(path);
	struct defuse_name *folder = NULL;
	int deepened = NOBODY;

	if (object)
		*object = NOBODY;
	for (size_t at = 0; at < path->len;) {
		size_t end = at + 1 + strcspn(text + at + 1, "/");
		struct defuse_name *name = find(w, text, end);
		int by = spawned(folder, deepened, text + at + 1, end - at - 1);

		if (end == path->len && folder_only)
			return true;
		if (!name && by == NOBODY)
			return false;
		note(deps, name ? name->def : by);
		if (object)
			*object = name ? name->object : by;
		deepened = !name && text[at + 1] == 'd' ? by : NOBODY;
		folder = name;
		at = end;
	}
	return true;
}

/* ---- One operation --------------------------------------------------------------------------- */

static enum as_paths role_of(const struct as_op *op, bool second)
{
	enum as_paths role = as_op_table[op->code].path[second];

	return role == AS_PATHS_ENSURE && !(op->flags & AS_O_CREAT) ? AS_PATHS_USE : role;
}

static bool has_path(const struct world *w, const struct as_op *op, bool second,
		     const struct as_buf *path, struct list *deps, struct list *objects)
{
	enum as_paths role = role_of(op, second);
	bool makes = role == AS_PATHS_DEFINE || role == AS_PATHS_ALIAS || role == AS_PATHS_TO;
	bool exchanges = op->code == AS_OP_RENAME2 && op->flags & AS_RENAME_EXCHANGE;
	const char *said = second ? op->path2 : op->path;
	int object = NOBODY;
	bool had;

	if (role == AS_PATHS_NONE)
		return false;
	if (*said != '/')
		note(deps, w->cwd_def);
	if (role == AS_PATHS_ENSURE)
		makes = !look_up(w, path, false, NULL, NULL);
	had = look_up(w, path, makes && !exchanges, deps, &object);
	if (had && !makes)
		note(objects, object);
	return had;
}

static bool has_slot(const struct world *w, int slot, struct list *deps, struct list *objects)
{
	if (slot < 0 || w->slot_def[slot] == NOBODY)
		return false;
	note(deps, w->slot_def[slot]);
	note(objects, w->slot_object[slot]);
	return true;
}

static bool has_map(const struct world *w, int slot, struct list *deps, struct list *objects)
{
	if (slot < 0 || w->map_def[slot] == NOBODY)
		return false;
	note(deps, w->map_def[slot]);
	note(objects, w->map_object[slot]);
	return true;
}

/* Which of its arguments are there; du->path and path2 are set on return. */
static unsigned uses(struct as_defuse *du, const struct as_op *op, struct list *deps,
		     struct list *objects)
{
	struct world *w = &du->world;
	unsigned had = 0;

	if (op->path) {
		make_absolute(w, op->path, &du->path);
		had |= has_path(w, op, false, &du->path, deps, objects) ? HAD_PATH : 0;
	}
	if (op->path2) {
		make_absolute(w, op->path2, &du->path2);
		had |= has_path(w, op, true, &du->path2, deps, objects) ? HAD_PATH2 : 0;
	}
	if (as_op_maps(op->code))
		had |= has_map(w, op->fd, deps, objects) ? HAD_FD : 0;
	else
		had |= has_slot(w, op->fd, deps, objects) ? HAD_FD : 0;
	had |= has_slot(w, op->fd2, deps, objects) ? HAD_FD2 : 0;
	return had;
}

/* Everything at and below `from` is called as if it were at `to`. */
static void move(struct world *w, const struct as_buf *from, const struct as_buf *to, int self)
{
	struct defuse_name **moved = NULL;
	size_t n = 0, cap = 0;
	struct as_buf path = { 0 };

	for (size_t i = w->n; i-- > 0;) {
		struct defuse_name *name = w->names[i];
		bool top = !strcmp(name->path, as_buf_str(from));

		if (!top && !is_below(name->path, from))
			continue;
		take_out(w, name);
		as_buf_clear(&path);
		as_buf_addf(&path, "%s%s", as_buf_str(to), name->path + from->len);
		name = as_xrealloc(name, sizeof(*name) + path.len + 1);
		memcpy(name->path, as_buf_str(&path), path.len + 1);
		if (top)
			name->def = self;
		AS_ARRAY_ROOM(moved, n, cap);
		moved[n++] = name;
	}
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(moved[i]->path);
		struct defuse_name *old = find(w, moved[i]->path, len);

		if (old)
			forget(w, old);
		put_in(w, moved[i], len);
	}
	free(moved);
	as_buf_free(&path);
}

static void rename_paths(struct as_defuse *du, const struct as_op *op, int self)
{
	static const struct as_buf aside = { .data = (char *)"//", .len = 2, .cap = 0 };
	struct world *w = &du->world;
	bool exchanges = op->code == AS_OP_RENAME2 && op->flags & AS_RENAME_EXCHANGE;

	if (!look_up(w, &du->path, false, NULL, NULL) || !du->path.len || !du->path2.len ||
	    !strcmp(du->path.data, du->path2.data) || is_below(du->path2.data, &du->path))
		return;
	if (exchanges)
		move(w, &du->path2, &aside, self);
	else
		forget_below(w, &du->path2);
	move(w, &du->path, &du->path2, self);
	if (exchanges)
		move(w, &aside, &du->path, self);
}

static void define_path(struct as_defuse *du, const struct as_op *op, enum as_paths role, int self)
{
	const struct as_buf *path = op->path2 ? &du->path2 : &du->path;
	int object = self;

	if (role == AS_PATHS_ALIAS)
		look_up(&du->world, &du->path, false, NULL, &object);
	if (op->code == AS_OP_LINK_TMPFILE && op->fd >= 0)
		object = du->world.slot_object[op->fd];
	define(&du->world, as_buf_str(path), path->len, self, object == NOBODY ? self : object);
}

static void enter(struct as_defuse *du, int self)
{
	as_buf_clear(&du->world.cwd);
	as_buf_add(&du->world.cwd, as_buf_str(&du->path), du->path.len);
	du->world.cwd_def = self;
}

static void apply_path(struct as_defuse *du, const struct as_op *op, int self)
{
	enum as_paths role = role_of(op, op->path2 != NULL);
	struct world *w = &du->world;
	struct defuse_name *name = op->path ? find(w, as_buf_str(&du->path), du->path.len) : NULL;

	switch (role) {
	case AS_PATHS_DEFINE:
	case AS_PATHS_ENSURE:
	case AS_PATHS_ALIAS:
		define_path(du, op, role, self);
		break;
	case AS_PATHS_TO:
		rename_paths(du, op, self);
		break;
	case AS_PATHS_KILL:
	case AS_PATHS_EMPTY:
		forget_below(w, &du->path);
		if (name)
			name->deepened = name->enlarged = NOBODY;
		if (name && role == AS_PATHS_KILL)
			forget(w, name);
		break;
	case AS_PATHS_DEEPEN:
		if (name)
			name->deepened = self;
		break;
	case AS_PATHS_ENLARGE:
		if (name)
			name->enlarged = self;
		break;
	case AS_PATHS_ENTER:
		enter(du, self);
		break;
	default:
		break;
	}
}

/* What the operation does to the world. uses() comes before it. */
static void apply(struct as_defuse *du, const struct as_op *op, int self)
{
	struct world *w = &du->world;

	if (op->path)
		apply_path(du, op, self);
	if (op->code == AS_OP_OPEN && op->slot >= 0) {
		int object;

		look_up(w, &du->path, false, NULL, &object);
		w->slot_def[op->slot] = self;
		/* A file without a name was made by this operation. */
		w->slot_object[op->slot] =
			object == NOBODY || op->flags & AS_O_TMPFILE_ONLY ? self : object;
	}
	if (op->code == AS_OP_CLOSE && op->fd >= 0)
		w->slot_def[op->fd] = NOBODY;
	if (op->code == AS_OP_MMAP && op->fd >= 0) {
		w->map_def[op->fd] = self;
		w->map_object[op->fd] =
			w->slot_def[op->fd] == NOBODY ? NOBODY : w->slot_object[op->fd];
	}
	if (op->code == AS_OP_MUNMAP && op->fd >= 0)
		w->map_def[op->fd] = NOBODY;
	if (op->code == AS_OP_CRASH)
		forget_slots(w);
	if (op->code == AS_OP_CRASH || op->code == AS_OP_UMOUNT) {
		as_buf_clear(&w->cwd);
		w->cwd_def = NOBODY;
	}
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct as_defuse *as_defuse_new(const struct as_seq *seq)
{
	struct as_defuse *du = as_xcalloc(1, sizeof(*du));

	du->seq = seq;
	du->had = as_xcalloc(seq->n + 1, sizeof(*du->had));
	du->deps = as_xcalloc(seq->n + 1, sizeof(*du->deps));
	du->objects = as_xcalloc(seq->n + 1, sizeof(*du->objects));
	forget_all(&du->world);
	for (size_t i = 0; i < seq->n; i++) {
		const struct as_op *op = &seq->ops[i];

		du->had[i] = (unsigned char)uses(du, op, &du->deps[i], &du->objects[i]);
		apply(du, op, (int)i);
		/* A file that the operation makes is one of its objects. */
		if (op->code == AS_OP_OPEN && op->slot >= 0)
			note(&du->objects[i], du->world.slot_object[op->slot]);
		note(&du->objects[i],
		     role_of(op, op->path2 != NULL) == AS_PATHS_DEFINE ? (int)i : NOBODY);
	}
	return du;
}

void as_defuse_free(struct as_defuse *du)
{
	if (!du)
		return;
	for (size_t i = 0; i < du->seq->n; i++) {
		free(du->deps[i].at);
		free(du->objects[i].at);
	}
	forget_all(&du->world);
	free(du->world.names);
	as_table_free(&du->world.table);
	as_buf_free(&du->world.cwd);
	as_buf_free(&du->path);
	as_buf_free(&du->path2);
	free(du->had);
	free(du->deps);
	free(du->objects);
	free(du);
}

size_t as_defuse_close(struct as_defuse *du, bool *kept)
{
	size_t left = 0;

	forget_all(&du->world);
	for (size_t i = 0; i < du->seq->n; i++) {
		if (!kept[i])
			continue;
		if (du->had[i] & ~uses(du, &du->seq->ops[i], NULL, NULL)) {
			kept[i] = false;
			continue;
		}
		apply(du, &du->seq->ops[i], (int)i);
		left++;
	}
	return left;
}

const size_t *as_defuse_of(const struct as_defuse *du, size_t op, size_t *n)
{
	*n = du->deps[op].n;
	return du->deps[op].at;
}

static bool shares(const struct list *list, const bool *wanted)
{
	for (size_t i = 0; i < list->n; i++)
		if (wanted[list->at[i]])
			return true;
	return false;
}

size_t as_defuse_slice(struct as_defuse *du, size_t op, bool wide, bool *kept)
{
	bool *wanted = as_xcalloc(du->seq->n + 1, sizeof(*wanted));
	size_t n = 0;

	memset(kept, 0, du->seq->n * sizeof(*kept));
	kept[op] = true;
	for (size_t i = 0; i < du->objects[op].n; i++)
		wanted[du->objects[op].at[i]] = wide;
	/* Dependencies point backwards: one pass from the end sees each operation after all that
	 * could want it. */
	for (size_t i = op + 1; i-- > 0;) {
		kept[i] = kept[i] || shares(&du->objects[i], wanted);
		if (!kept[i])
			continue;
		n++;
		for (size_t k = 0; k < du->deps[i].n; k++)
			kept[du->deps[i].at[k]] = true;
	}
	free(wanted);
	return n;
}
