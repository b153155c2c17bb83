/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * universe: see universe.h. The arguments of an operation are filled in from left to right, with
 * each value in turn: a walk through their product.
 */
#include "check/universe.h"

#include "base/array.h"
#include "work/arg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LONG_NAME 255u
#define LIST_MAX (2 * AS_UNIVERSE_NODES_MAX + 2)
#define TEXT_MAX 4000u /* of links; the path of one must fit, too */
#define TEXT_BLOCK 400u /* bytes that need a block of their own */
/* A tree with a larger file takes too long to compare. */
#define FILE_MAX ((uint64_t)1 << 30)
/* Values that depend on the type. */
#define MOST_BASE (INT64_MAX - 4096)
#define MOST(n) (MOST_BASE + (n))

/* ---- Values ---------------------------------------------------------------------------------- */

struct value {
	enum as_opcode code; /* AS_OP_COUNT: any */
	enum as_arg_kind kind;
	int64_t value;
	bool wide; /* only with --wide */
	bool few; /* the one of --narrow */
};

static const bool usual[AS_OP_COUNT] = {
#define USUAL(id) [AS_OP_##id] = true,
#include "check/universe.def"
};

static const struct value values[] = {
#define VALUE(id, kind, value) { AS_OP_##id, AS_ARG_##kind, value, false, false },
#define ANY(kind, value) { AS_OP_COUNT, AS_ARG_##kind, value, false, false },
#define FEW(kind, value) { AS_OP_COUNT, AS_ARG_##kind, value, false, true },
#define WIDE(kind, value) { AS_OP_COUNT, AS_ARG_##kind, value, true, false },
#include "check/universe.def"
};

/* What texts of links begin with. */
static const char *const beginnings[] = {
#define TEXT(bytes) bytes,
#include "check/universe.def"
};

#define N_BEGINNINGS (sizeof(beginnings) / sizeof(beginnings[0]))
#define N_VALUES (sizeof(values) / sizeof(values[0]))

static bool has_own(enum as_opcode code, enum as_arg_kind kind)
{
	for (size_t i = 0; i < N_VALUES; i++)
		if (values[i].code == code && values[i].kind == kind)
			return true;
	return false;
}

/* The value that stands for all with --narrow: the one that is marked, or the first. */
static size_t only(enum as_opcode code, enum as_arg_kind kind)
{
	size_t first = N_VALUES;

	for (size_t i = 0; i < N_VALUES; i++) {
		if (values[i].code != code || values[i].kind != kind)
			continue;
		if (values[i].few)
			return i;
		if (first == N_VALUES)
			first = i;
	}
	return first;
}

/* The fields of slots and modes have 32 bits, all others 64. */
static void set(struct as_op *op, enum as_arg_kind kind, int64_t value)
{
	const struct as_arg_info *info = &as_arg_table[kind];
	char *field = (char *)op + info->offset;
	int32_t narrow = (int32_t)value;

	if (info->type == AS_TYPE_SLOT || info->type == AS_TYPE_OCT ||
	    info->type == AS_TYPE_OCT_OPT)
		memcpy(field, &narrow, sizeof(narrow));
	else
		memcpy(field, &value, sizeof(value));
}

/* ---- What a state has ------------------------------------------------------------------------ */

struct name {
	const char *path;
	bool is_dir;
};

struct universe_walk {
	const struct as_universe *universe;
	const struct as_model *model;
	struct as_seq *moves;
	struct as_arena strings;
	struct name *name; /* that exists */
	size_t n_names, cap_names, n_all; /* n_all: with those of nodes that are not named */
	const char **fresh; /* that do not, one in each directory, with `wide` two */
	size_t n_fresh, cap_fresh;
	int slot[AS_UNIVERSE_SLOTS_MAX]; /* that are open */
	unsigned n_open;
	int free_slot; /* -1: none */
	bool may_make; /* one more node */
};

static int add_name(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct universe_walk *w = ctx;
	const struct as_universe *u = w->universe;

	w->n_all++;
	if (attrs->ino < u->n_hidden && u->hidden[attrs->ino])
		return 0;
	AS_ARRAY_ROOM(w->name, w->n_names, w->cap_names);
	w->name[w->n_names++] = (struct name){
		as_arena_strndup(&w->strings, path, strlen(path)),
		attrs->type == S_IFDIR,
	};
	return 0;
}

static int add_open(void *ctx, int slot, uint32_t ino, int64_t flags)
{
	struct universe_walk *w = ctx;

	(void)ino;
	(void)flags;
	if (slot < (int)w->universe->slots && w->n_open < AS_UNIVERSE_SLOTS_MAX)
		w->slot[w->n_open++] = slot;
	return 0;
}

static bool exists(const struct universe_walk *w, const char *path)
{
	for (size_t i = 0; i < w->n_names; i++)
		if (!strcmp(w->name[i].path, path))
			return true;
	return w->universe->hidden && as_model_stat(w->model, path, true, &(struct as_stat){ 0 });
}

/* Name number i of the list, in a directory. */
static const char *spell(struct universe_walk *w, const char *dir, unsigned i)
{
	const char *slash = strcmp(dir, "/") ? "/" : "";
	unsigned n = i % 2 ? w->universe->long_bytes : 1;
	size_t len = strlen(dir) + strlen(slash) + n;
	char *path = as_arena_alloc(&w->strings, len + 1);

	snprintf(path, len + 1, "%s%s", dir, slash);
	memset(path + len - n, 'a' + (int)(i / 2), n);
	path[len] = '\0';
	return path;
}

static const char *spell_dot(struct universe_walk *w, const char *dir)
{
	size_t len = strlen(dir) + sizeof("/.a");
	char *path = as_arena_alloc(&w->strings, len);

	snprintf(path, len, "%s/.a", dir[1] ? dir : "");
	return path;
}

static bool is_fresh(struct universe_walk *w, const char *path)
{
	if (exists(w, path))
		return false;
	AS_ARRAY_ROOM(w->fresh, w->n_fresh, w->cap_fresh);
	w->fresh[w->n_fresh++] = path;
	return true;
}

/* A name with a dot comes last: the state that it leads to is that of the other name. */
static void add_fresh(struct universe_walk *w, const char *dir)
{
	unsigned i = 0;

	while (i < LIST_MAX && !is_fresh(w, spell(w, dir, i)))
		i++;
	if (w->universe->wide)
		(void)is_fresh(w, spell_dot(w, dir));
}

static void look(struct universe_walk *w)
{
	const struct as_universe *u = w->universe;

	(void)as_model_each_name(w->model, false, add_name, w);
	(void)as_model_each_open(w->model, add_open, w);
	for (size_t i = 0; i < w->n_names; i++)
		if (w->name[i].is_dir)
			add_fresh(w, w->name[i].path);
	w->may_make = as_model_inodes(w->model) < u->fresh + u->nodes;
	w->free_slot = -1;
	for (int slot = (int)u->slots - 1; slot >= 0; slot--) {
		bool taken = false;

		for (unsigned i = 0; i < w->n_open; i++)
			taken |= w->slot[i] == slot;
		if (!taken)
			w->free_slot = slot;
	}
}

/* ---- The product of the arguments ------------------------------------------------------------ */

static void fill(struct universe_walk *w, struct as_op *op, unsigned arg);

static void with_path(struct universe_walk *w, struct as_op *op, unsigned arg, bool second,
		      const char *path)
{
	if (second)
		op->path2 = path;
	else
		op->path = path;
	fill(w, op, arg + 1);
}

/* Whether the operation may be given a name that does not exist: to make it, or, once, to see that
 * it refuses. */
static bool takes_fresh(const struct universe_walk *w, enum as_paths what)
{
	switch (what) {
	case AS_PATHS_DEFINE:
	case AS_PATHS_ENSURE:
		return w->may_make;
	case AS_PATHS_ALIAS:
		return w->n_all < w->universe->fresh + w->universe->nodes + 1;
	case AS_PATHS_TO:
		return true;
	default:
		return false;
	}
}

/* A text of so many bytes that begins so; without a beginning, it leads to /a. */
static void with_text(struct universe_walk *w, struct as_op *op, unsigned arg, bool second,
		      const char *beginning, unsigned bytes)
{
	char *text = as_arena_alloc(&w->strings, bytes + 1);

	memset(text, '/', bytes);
	memcpy(text, beginning, strlen(beginning));
	text[bytes - 1] = 'a';
	text[bytes] = '\0';
	with_path(w, op, arg, second, text);
}

/* Texts of a symbolic link, up to the longest and one that is longer. */
static void with_texts(struct universe_walk *w, struct as_op *op, unsigned arg, bool second)
{
	unsigned most = as_model_traits(w->model)->symlink_max;

	with_text(w, op, arg, second, "", 1);
	if (!w->universe->wide)
		return;
	for (size_t i = 0; i < N_VALUES; i++) {
		unsigned edge = values[i].kind == AS_ARG_PATH ? (unsigned)values[i].value : 0;

		for (unsigned n = edge - 1; edge && n <= edge + 1 && n < most; n++)
			with_text(w, op, arg, second, "", n);
	}
	for (size_t i = 0; i < N_BEGINNINGS && most > TEXT_BLOCK; i++)
		with_text(w, op, arg, second, beginnings[i], TEXT_BLOCK);
	if (most > 1 && most < TEXT_MAX) {
		with_text(w, op, arg, second, "", most);
		with_text(w, op, arg, second, "", most + 1);
	}
}

static void with_paths(struct universe_walk *w, struct as_op *op, unsigned arg, bool second)
{
	enum as_paths what = as_op_table[op->code].path[second];

	if (what == AS_PATHS_NONE) {
		with_texts(w, op, arg, second);
		return;
	}
	for (size_t i = 1; i < w->n_names; i++) /* name 0 is the root */
		with_path(w, op, arg, second, w->name[i].path);
	for (size_t i = 0; i < w->n_fresh; i++)
		if (takes_fresh(w, what))
			with_path(w, op, arg, second, w->fresh[i]);
	if (!takes_fresh(w, what) && what != AS_PATHS_DEFINE && what != AS_PATHS_ALIAS &&
	    w->n_fresh)
		with_path(w, op, arg, second, w->fresh[0]);
	if (what == AS_PATHS_ENSURE) /* to open the root */
		with_path(w, op, arg, second, "/");
}

static void with_slots(struct universe_walk *w, struct as_op *op, unsigned arg,
		       enum as_arg_kind kind)
{
	for (unsigned i = 0; i < w->n_open; i++) {
		set(op, kind, w->slot[i]);
		fill(w, op, arg + 1);
	}
}

/* Whether the type has such a value; *value: it. */
static bool resolve(const struct universe_walk *w, int64_t *value)
{
	uint64_t most = as_model_traits(w->model)->size_max;

	if (*value < MOST_BASE - 4096)
		return true;
	*value = (int64_t)most + (*value - MOST_BASE);
	return most && most <= FILE_MAX;
}

static void with_values(struct universe_walk *w, struct as_op *op, unsigned arg,
			enum as_arg_kind kind)
{
	enum as_opcode code = has_own(op->code, kind) ? op->code : AS_OP_COUNT;
	bool narrow = w->universe->narrow;
	bool any = false;
	int64_t value;

	for (size_t i = 0; i < N_VALUES; i++)
		if (values[i].code == code && values[i].kind == kind &&
		    (narrow ? i == only(code, kind) : w->universe->wide || !values[i].wide)) {
			any = true;
			value = values[i].value;
			if (!resolve(w, &value))
				continue;
			set(op, kind, value);
			fill(w, op, arg + 1);
		}
	/* Nothing else can be opened then. */
	if (kind == AS_ARG_OPEN_FLAGS && as_model_read_only(w->model)) {
		set(op, kind, AS_O_RDONLY);
		fill(w, op, arg + 1);
	}
	if (!any) /* its default */
		fill(w, op, arg + 1);
}

/* Those of the target, and then others: of a remount, and with --wide of a mount. */
static void with_opts(struct universe_walk *w, struct as_op *op, unsigned arg)
{
	const struct as_universe *u = w->universe;
	const char *at = u->opts ? u->opts : "";

	op->opts = "";
	fill(w, op, arg + 1);
	if (op->code != AS_OP_REMOUNT && !u->wide)
		return;
	at += strspn(at, " ");
	while (*at) {
		size_t len = strcspn(at, " ");

		op->opts = as_arena_strndup(&w->strings, at, len);
		fill(w, op, arg + 1);
		at += len;
		at += strspn(at, " ");
	}
}

static void fill(struct universe_walk *w, struct as_op *op, unsigned arg)
{
	enum as_arg_kind kind = as_op_table[op->code].args[arg];

	switch (kind) {
	case AS_ARG_END:
		as_seq_add(w->moves, op);
		break;
	case AS_ARG_PATH:
	case AS_ARG_PATH2:
		with_paths(w, op, arg, kind == AS_ARG_PATH2);
		break;
	case AS_ARG_FD:
	case AS_ARG_FD2:
		with_slots(w, op, arg, kind);
		break;
	case AS_ARG_OPTS:
		with_opts(w, op, arg);
		break;
	case AS_ARG_XNAME:
		op->name = "user.a";
		fill(w, op, arg + 1);
		if (w->universe->wide) {
			op->name = "user.b";
			fill(w, op, arg + 1);
		}
		break;
	default:
		with_values(w, op, arg, kind);
		break;
	}
}

static void add_moves(struct universe_walk *w, enum as_opcode code)
{
	struct as_op op = as_op_make(code);

	if (code == AS_OP_OPEN && w->free_slot < 0)
		return;
	/* Once unmounted, nothing can be done but to mount it; and the other way round. */
	if (as_model_mounted(w->model) == (code == AS_OP_MOUNT))
		return;
	if (code == AS_OP_OPEN)
		op.slot = w->free_slot;
	fill(w, &op, 0);
}

struct as_seq *as_universe_moves(const struct as_universe *universe, const struct as_model *model)
{
	struct universe_walk w = { .universe = universe, .model = model, .moves = as_seq_new() };

	look(&w);
	for (unsigned code = 0; code < AS_OP_COUNT; code++)
		if (universe->has[code])
			add_moves(&w, (enum as_opcode)code);
	free(w.name);
	free(w.fresh);
	as_arena_free(&w.strings);
	return w.moves;
}

/* ---- Which operations ------------------------------------------------------------------------ */

struct as_universe as_universe_of(const struct as_model *fresh, unsigned nodes)
{
	struct as_universe universe = {
		.nodes = nodes,
		.fresh = fresh ? (unsigned)as_model_inodes(fresh) : 0,
		.slots = 1,
		.long_bytes = LONG_NAME,
	};
	uint32_t name_max = fresh ? as_model_traits(fresh)->name_max : 0;

	if (name_max && name_max < universe.long_bytes)
		universe.long_bytes = name_max;
	memcpy(universe.has, usual, sizeof(usual));
	return universe;
}

/* Whether every argument of it can be given a value. */
static bool can_be_tried(enum as_opcode code)
{
	const enum as_arg_kind *kind = as_op_table[code].args;

	/* A power cut is no operation here, and a slot that is no descriptor is not known. */
	if (code == AS_OP_CRASH || as_op_maps(code))
		return false;
	for (; *kind != AS_ARG_END; kind++)
		if (*kind != AS_ARG_PATH && *kind != AS_ARG_PATH2 && *kind != AS_ARG_FD &&
		    *kind != AS_ARG_FD2 && *kind != AS_ARG_XNAME &&
		    as_arg_table[*kind].def == AS_REQUIRED && !has_own(code, *kind) &&
		    !has_own(AS_OP_COUNT, *kind))
			return false;
	return true;
}

int as_universe_choose(struct as_universe *universe, const char *ops, struct as_err *err)
{
	bool all = !strcmp(ops, "all");

	for (unsigned code = 0; code < AS_OP_COUNT; code++)
		universe->has[code] = all && can_be_tried((enum as_opcode)code);
	if (!*ops)
		return as_fail(err, AS_EUSE, "no operation is to be tried");
	return all ? 0 : as_universe_add(universe, ops, err);
}

int as_universe_add(struct as_universe *universe, const char *ops, struct as_err *err)
{
	for (const char *at = ops; *at;) {
		size_t len = strcspn(at, ",");
		enum as_opcode code = as_op_find(at, len);

		if (code == AS_OP_COUNT)
			return as_fail(err, AS_EUSE, "'%.*s': there is no such operation", (int)len,
				       at);
		if (!can_be_tried(code))
			return as_fail(err, AS_EUSE,
				       "%.*s: it cannot be tried systematically: check knows no "
				       "values for one of its arguments",
				       (int)len, at);
		universe->has[code] = true;
		at += len + (at[len] == ',');
	}
	/* What was unmounted must be mounted again. */
	universe->has[AS_OP_MOUNT] |= universe->has[AS_OP_UMOUNT];
	return 0;
}

void as_universe_print(const struct as_universe *universe, struct as_buf *out)
{
	const char *comma = "";

	for (unsigned code = 0; code < AS_OP_COUNT; code++)
		if (universe->has[code]) {
			as_buf_addf(out, "%s%s", comma, as_op_table[code].name);
			comma = ",";
		}
	if (universe->wide)
		as_buf_adds(out, ", wide");
	if (universe->narrow)
		as_buf_adds(out, ", narrow");
	if (universe->opts && universe->has[AS_OP_REMOUNT])
		as_buf_addf(out, ", options %s", universe->opts);
}
