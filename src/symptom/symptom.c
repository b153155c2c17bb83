/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * symptom: see symptom.h.
 *
 * Method. The words of the difference tell the side (symptom.def), the operation or the path in
 * the words tells the object, as an inode of the model. The operations before are then walked
 * backwards, until one changes that side and names that inode by a path or a descriptor. Paths are
 * resolved in the model as it is at the end, so that an object that was renamed since may be
 * missed; then an earlier operation is named, or none. In a reduced workload little is left to
 * miss.
 */
#include "symptom/symptom.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- Objects --------------------------------------------------------------------------------- */

struct symptom_object {
	uint64_t ino; /* 0: not known */
	uint32_t type; /* S_IFMT bits; 0: not known */
};

static int find_type(void *ctx, const char *path, const struct as_attrs *attrs)
{
	struct symptom_object *o = ctx;

	(void)path;
	if (attrs->ino == o->ino)
		o->type = attrs->type & S_IFMT;
	return o->type != 0;
}

static struct symptom_object at_path(const struct as_model *model, const char *path, bool follow)
{
	struct as_stat st;

	if (!path || !as_model_stat(model, path, !follow, &st))
		return (struct symptom_object){ 0 };
	return (struct symptom_object){ st.ino, st.mode & S_IFMT };
}

static struct symptom_object at_slot(const struct as_model *model, int32_t slot)
{
	struct symptom_object o = { 0 };

	if (slot == AS_SLOT_NONE)
		return o;
	o.ino = as_model_slot_ino(model, slot);
	if (o.ino)
		(void)as_model_each(model, false, find_type, &o);
	/* What has no name any more is a file, or its directory is gone with it. */
	if (o.ino && !o.type)
		o.type = S_IFREG;
	return o;
}

static struct symptom_object parent_of(const struct as_model *model, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct as_buf dir = { 0 };
	struct symptom_object o;

	if (!path)
		return (struct symptom_object){ 0 };
	if (slash)
		as_buf_add(&dir, path, slash == path ? 1 : (size_t)(slash - path));
	else
		as_buf_adds(&dir, ".");
	o = at_path(model, as_buf_str(&dir), true);
	as_buf_free(&dir);
	return o;
}

static bool follows(const struct as_op *op, size_t path)
{
	return !op->nofollow && as_op_table[op->code].path[path] == AS_PATHS_USE;
}

/* The one that an operation is about. */
static struct symptom_object of_op(const struct as_model *model, const struct as_op *op)
{
	int32_t slot = as_op_maps(op->code) ? AS_MAP_SLOT + op->fd : op->fd;

	return op->fd != AS_SLOT_NONE ? at_slot(model, slot)
				      : at_path(model, op->path, follows(op, 0));
}

/* Whether an operation names the object; the slot must still be that of the same open. */
static bool concerns(const struct as_symptom *s, size_t at, const struct symptom_object *o)
{
	const struct as_op *op = &s->seq->ops[at];
	const char *const paths[] = { op->path, op->path2 };
	const int32_t slots[] = { op->slot, op->fd, op->fd2 };

	for (size_t i = 0; i < 2; i++)
		if (paths[i] && (at_path(s->model, paths[i], follows(op, i)).ino == o->ino ||
				 (S_ISDIR(o->type) && parent_of(s->model, paths[i]).ino == o->ino)))
			return true;
	for (size_t i = 0; i < 3; i++) {
		const struct as_op *opened =
			i ? as_symptom_open(s->seq, at, slots[i]) : (slots[0] >= 0 ? op : NULL);
		size_t end = s->op >= 0 ? (size_t)s->op : s->seq->n;

		if (!opened)
			continue;
		/* A slot that is closed, or used again, is known by the path that it had. */
		if (opened == as_symptom_open(s->seq, end, slots[i]) &&
				    at_slot(s->model, slots[i]).ino
			    ? at_slot(s->model, slots[i]).ino == o->ino
			    : at_path(s->model, opened->path, true).ino == o->ino)
			return true;
	}
	return false;
}

/* ---- Sides ----------------------------------------------------------------------------------- */

static const struct side {
	const char *words, *name;
	enum as_changes changes;
} sides[] = {
#define SIDE(words, name, changes) { words, name, AS_CHANGES_##changes },
#include "symptom/symptom.def"
#undef SIDE
};

/* A byte that is wrong: zeros were expected and something is there, or data is gone, or other data
 * is there. */
static const struct side side_stray = { "", "stray bytes", AS_CHANGES_DATA };
static const struct side side_lost = { "", "lost bytes", AS_CHANGES_DATA };
static const struct side side_size = { "", "size", AS_CHANGES_DATA };
static const struct side side_name = { "", "name", AS_CHANGES_NAMES };

static const struct side *byte_side(const struct side *side, const char *why)
{
	const char *got = strstr(why, " is 0x"), *want = strstr(why, "model says 0x");

	if (!got || !want)
		return side;
	if (!strncmp(want, "model says 0x00", 15))
		return &side_stray;
	return strncmp(got, " is 0x00", 8) ? side : &side_lost;
}

static const struct side *side_of(const char *why)
{
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		const char *words = sides[i].words;
		bool fits = *words == '*' ? strstr(why, words + 1) != NULL
					  : !strncmp(why, words, strlen(words));

		if (fits)
			return byte_side(&sides[i], why);
	}
	return NULL;
}

static const char *type_word(uint32_t type)
{
	switch (type) {
	case S_IFREG:
		return "a file";
	case S_IFDIR:
		return "a directory";
	case S_IFLNK:
		return "a symbolic link";
	case 0:
		return "an object";
	default:
		return "a node";
	}
}

/* Whether the operation gives space back: what it held must not be seen again. */
static bool frees(const struct as_symptom *s, const struct symptom_object *o, size_t at)
{
	const struct as_seq *seq = s->seq;
	const struct as_op *op = &seq->ops[at];
	const enum as_paths path = as_op_table[op->code].path[0];

	if (path == AS_PATHS_KILL || path == AS_PATHS_EMPTY || op->code == AS_OP_REMOVEXATTR)
		return true;
	/* A hole of the object itself shows what is wrong; one in another gives space back. */
	if (op->code == AS_OP_FALLOCATE)
		return op->flags & (AS_FALLOC_PUNCH_HOLE | AS_FALLOC_COLLAPSE_RANGE) &&
		       !concerns(s, at, o);
	if (op->code != AS_OP_TRUNCATE && op->code != AS_OP_FTRUNCATE)
		return op->code == AS_OP_OPEN && op->flags & AS_O_TRUNC;
	/* A truncate that something before it was longer than. */
	while (at-- > 0) {
		const struct as_op *before = &seq->ops[at];
		bool sets = before->code == AS_OP_TRUNCATE || before->code == AS_OP_FTRUNCATE;

		if (as_op_table[before->code].changes & AS_CHANGES_DATA &&
		    (sets ? 0 : (uint64_t)before->off) + before->len > op->len)
			return true;
	}
	return false;
}

/* A stray byte was there before. The operation to blame gave its place back, or wrote it to the
 * wrong place; the last one that made room for it did no more than to show it. */
static void add_after_stray(const struct as_symptom *s, const struct symptom_object *o,
			    const char *last, struct as_buf *out)
{
	size_t at = s->op >= 0 ? (size_t)s->op : s->seq->n;

	if (strstr(last, "O_APPEND") || strstr(last, "O_DIRECT")) {
		as_buf_adds(out, last);
		return;
	}
	while (at-- > 0)
		if (!(s->failed && s->failed[at]) && frees(s, o, at)) {
			as_buf_adds(out, AS_SIGNATURE_AFTER "something was freed");
			return;
		}
}

/* The last change of that side of the object, or where none is known of its name; -1: none. */
static int64_t last_change(const struct as_symptom *s, const struct side *side,
			   const struct symptom_object *o)
{
	int64_t end = s->op >= 0 ? s->op : (int64_t)s->seq->n, made = -1;

	for (int64_t i = end; o->ino && i-- > 0;) {
		unsigned changes = as_symptom_changes(&s->seq->ops[i]);

		if (!changes || (s->failed && s->failed[i]) || !concerns(s, (size_t)i, o))
			continue;
		if (changes & side->changes)
			return i;
		if (made < 0 && changes & AS_CHANGES_NAMES)
			made = i;
	}
	return made;
}

static void add_after(const struct as_symptom *s, const struct side *side,
		      const struct symptom_object *o, struct as_buf *out)
{
	int64_t last = last_change(s, side, o);

	if (last < 0) {
		as_symptom_after_last(s->seq, s->failed, s->op >= 0 ? s->op : (int64_t)s->seq->n,
				      out);
		return;
	}
	as_buf_adds(out, AS_SIGNATURE_AFTER);
	as_symptom_op(s->seq, (size_t)last, out);
}

/* Whether the size was asked for through a descriptor that was open when somebody else changed it,
 * other than by an append, which may itself have gone to the wrong place. */
static bool through_older(const struct as_symptom *s, const struct side *side,
			  const struct symptom_object *o)
{
	int32_t fd = s->kind != AS_FIND_TREE && s->op >= 0 ? s->seq->ops[s->op].fd : AS_SLOT_NONE;
	const struct as_op *opened = as_symptom_open(s->seq, s->op >= 0 ? (size_t)s->op : 0, fd);
	struct as_buf op = { 0 };
	bool moved = false, appends = false;

	if (strcmp(side->name, "size") || !opened)
		return false;
	for (size_t i = (size_t)(opened - s->seq->ops) + 1; i < (size_t)s->op; i++) {
		unsigned changes = as_symptom_changes(&s->seq->ops[i]);

		if (!(changes & AS_CHANGES_DATA || s->seq->ops[i].code == AS_OP_ENLARGE) ||
		    (s->failed && s->failed[i]) || !concerns(s, i, o))
			continue;
		as_buf_clear(&op);
		as_symptom_op(s->seq, i, &op);
		appends = appends || strstr(as_buf_str(&op), "O_APPEND");
		moved = moved || s->seq->ops[i].fd != fd;
	}
	as_buf_free(&op);
	return moved && !appends;
}

static void sign_state(const struct as_symptom *s, const struct side *side,
		       const struct symptom_object *o, const char *how, struct as_buf *out)
{
	struct as_buf after = { 0 };

	as_buf_addf(out, "state: %s%s of %s", how, side->name, type_word(o->type));
	if (through_older(s, side, o))
		as_buf_adds(out, AS_SIGNATURE_OLDER);
	add_after(s, side, o, &after);
	if (side == &side_stray)
		add_after_stray(s, o, as_buf_str(&after), out);
	else
		as_buf_adds(out, as_buf_str(&after));
	as_buf_free(&after);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* "-1 ENOENT" is ENOENT, a number is a number; the length of the one that stands there. */
static size_t answer_len(const char *s)
{
	return strcspn(s, " ,");
}

/* The answer after "returned " or "model says ": an errno's name, or "success". */
static void add_answer(const char *s, struct as_buf *out)
{
	if (!strncmp(s, "-1 ", 3))
		as_buf_add(out, s + 3, answer_len(s + 3));
	else
		as_buf_adds(out, "success");
}

static bool is_answer(const char *s, const char *name)
{
	struct as_buf text = { 0 };
	bool is;

	add_answer(s, &text);
	is = !strcmp(as_buf_str(&text), name);
	as_buf_free(&text);
	return is;
}

/* Errors of the walk along a path, and of a disk that contradicts itself: any operation that comes
 * that way has them. */
static const struct way_error {
	const char *name, *about;
} way_errors[] = {
	{ "ENAMETOOLONG", "a path" },	   { "ELOOP", "a path" },
	{ "EUCLEAN", "a damaged object" }, { "EBADMSG", "a damaged object" },
	{ "EIO", "a damaged object" },
};

static const char *way_of(const char *got)
{
	for (size_t i = 0; i < sizeof(way_errors) / sizeof(*way_errors); i++)
		if (is_answer(got, way_errors[i].name))
			return way_errors[i].about;
	return NULL;
}

/* Whether the answer of a descriptor's operation shows how long the file is. */
static bool shows_size(const struct as_op *op, const char *got, const char *want)
{
	const struct as_op_info *info = &as_op_table[op->code];
	bool counts = strncmp(got, "-1 ", 3) && strncmp(want, "-1 ", 3);
	bool beyond = is_answer(got, "ENXIO") || is_answer(want, "ENXIO");

	if (info->moves == AS_MOVES_MAPPED)
		return beyond;
	if (info->reads != AS_READS_DATA && info->moves != AS_MOVES_COPY && op->code != AS_OP_LSEEK)
		return false;
	return counts || beyond || is_answer(got, "EINVAL") || is_answer(want, "EINVAL");
}

static void sign_answer(const struct as_symptom *s, struct as_buf *out)
{
	const struct as_op *op = &s->seq->ops[s->op];
	const char *got = strstr(s->why, "returned "), *want = strstr(s->why, "model says ");
	struct symptom_object o = of_op(s->model, op);
	const char *about = as_op_table[op->code].name, *way;

	if (!got || !want) {
		as_buf_addf(out, "answer: %s: ", about);
		as_signature_add(out, s->why);
		return;
	}
	got += strlen("returned ");
	want += strlen("model says ");
	way = way_of(got);
	if (o.ino && op->fd != AS_SLOT_NONE && shows_size(op, got, want)) {
		sign_state(s, &side_size, &o, "", out);
		return;
	}
	if (is_answer(got, "ENOENT") && is_answer(want, "success") && o.ino &&
	    op->fd == AS_SLOT_NONE) {
		sign_state(s, &side_name, &o, "missing ", out);
		return;
	}
	as_buf_addf(out, "answer: %s: ", way ? way : about);
	add_answer(got, out);
	if (way) {
		/* A path is refused for its own sake. */
		if (o.ino && strcmp(way, "a path"))
			add_after(s, &side_name, &o, out);
		return;
	}
	as_buf_adds(out, ", model says ");
	add_answer(want, out);
}

static void sign_difference(const struct as_symptom *s, struct as_buf *out)
{
	const char *why = s->why, *colon;
	struct as_buf path = { 0 };
	const struct side *side;
	struct symptom_object o;

	if (s->kind == AS_FIND_OUTCOME) {
		sign_answer(s, out);
		return;
	}
	if (s->kind == AS_FIND_TREE) {
		colon = strstr(why, ": ");
		as_buf_add(&path, why, colon ? (size_t)(colon - why) : 0);
		why = colon ? colon + 2 : why;
		o = at_path(s->model, as_buf_str(&path), false);
		as_buf_free(&path);
	} else {
		o = of_op(s->model, &s->seq->ops[s->op]);
	}
	side = side_of(why);
	if (!side) {
		as_buf_adds(out, "state: ");
		as_signature_add(out, why);
		return;
	}
	sign_state(s, side, &o,
		   strstr(why, "is missing")		? "missing "
		   : strstr(why, "should not be there") ? "extra "
							: "",
		   out);
}

/* ---- By the kind ----------------------------------------------------------------------------- */

static void add_after_op(const struct as_symptom *s, int64_t op, struct as_buf *out)
{
	if (!s->seq)
		return;
	if (op < 0) {
		as_symptom_after_last(s->seq, s->failed, (int64_t)s->seq->n, out);
		return;
	}
	as_buf_adds(out, AS_SIGNATURE_AFTER);
	as_symptom_op(s->seq, (size_t)op, out);
}

/* How much is left, and after which of several unmounts, says nothing. */
static void sign_leak(const struct as_symptom *s, struct as_buf *out)
{
	as_symptom_sign_plain(s->kind, NULL, "memory left after unmount", out);
	if (s->made >= 0 || s->op < 0)
		add_after_op(s, s->made, out);
	else
		as_symptom_after_last(s->seq, s->failed, s->op, out);
}

/* A rule that a library keeps by itself: the words say enough. */
static void sign_told(const struct as_symptom *s, struct as_buf *out)
{
	as_buf_addf(out, "%s: ", as_finding_kind_name(s->kind));
	as_signature_add(out, s->why);
	add_after_op(s, s->op, out);
}

/* Any other: where it happened, and the words. */
static void sign_words(const struct as_symptom *s, struct as_buf *out)
{
	as_buf_addf(out, "%s: %s: ", as_finding_kind_name(s->kind), s->about);
	as_signature_add(out, s->why);
	if (s->op < 0)
		add_after_op(s, -1, out);
}

static const struct sign_row {
	void (*sign)(const struct as_symptom *s, struct as_buf *out);
	bool by_model; /* without a model: as any other */
} sign_rows[AS_FIND_KINDS] = {
	[AS_FIND_OUTCOME] = { sign_difference, true }, [AS_FIND_DATA] = { sign_difference, true },
	[AS_FIND_TREE] = { sign_difference, true },    [AS_FIND_LEAK] = { sign_leak, false },
	[AS_FIND_LOCK] = { sign_told, false },	       [AS_FIND_PAIR] = { sign_told, false },
	[AS_FIND_INVARIANT] = { sign_told, false },    [AS_FIND_SILENT] = { sign_told, false },
	[AS_FIND_LIMIT] = { sign_told, false },
};

void as_symptom_sign(const struct as_symptom *s, struct as_buf *out)
{
	const struct sign_row *row = &sign_rows[s->kind];

	if (row->sign && (s->model || !row->by_model))
		row->sign(s, out);
	else
		sign_words(s, out);
}

void as_symptom_sign_plain(enum as_finding_kind kind, const char *about, const char *what,
			   struct as_buf *out)
{
	as_buf_addf(out, "%s: %s%s%s", as_finding_kind_name(kind), about ? about : "",
		    about ? ": " : "", what);
}
