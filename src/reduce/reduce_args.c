/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduce_args: the last phase of a reduction: the operations that are left, made simpler.
 *
 * Method.
 * 1. edits: every argument that could be simpler gives one edit (a flag cleared, a default put in,
 *    a length of 1, an offset of 0, a name of one letter, the mount options dropped). All are tried
 *    at once; if that does not fail, each half is tried, and so on down to single edits. So
 *    arguments that do not matter cost almost nothing.
 * 2. numbers that had to stay: the smallest power of two that fails, by binary search over the
 *    exponents; counts then exactly, because a count is often a threshold.
 * 3. mount options that had to stay: one word at a time.
 */
#include "base/array.h"
#include "reduce/reduce_priv.h"
#include "work/arg.h"

#include <stdlib.h>
#include <string.h>

/* An edit of one field of one operation or, if arg is NULL, of a name in all paths. */
struct edit {
	size_t op;
	const struct as_arg_info *arg;
	int64_t clear, value; /* bits to clear; 0: the value is set */
	char *from, *to; /* of strings */
};

struct edits {
	struct edit *at;
	size_t n, cap;
};

static void add(struct edits *edits, struct edit edit)
{
	AS_ARRAY_ROOM(edits->at, edits->n, edits->cap);
	edits->at[edits->n++] = edit;
}

static void clear_edits(struct edits *edits)
{
	for (size_t i = 0; i < edits->n; i++) {
		free(edits->at[i].from);
		free(edits->at[i].to);
	}
	free(edits->at);
	*edits = (struct edits){ 0 };
}

/* ---- Applying edits -------------------------------------------------------------------------- */

static char *keep(struct as_seq *seq, const char *text, size_t len)
{
	return as_arena_strndup(&seq->strings, text, len);
}

/* A path with every component `from` called `to`. */
static const char *rename_in(struct as_seq *seq, const char *path, const char *from, const char *to)
{
	struct as_buf out = { 0 };
	size_t from_len = strlen(from);
	char *copy;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == from_len && !strncmp(path, from, len))
			as_buf_adds(&out, to);
		else
			as_buf_add(&out, path, len);
		path += len;
		if (*path == '/') {
			as_buf_addc(&out, '/');
			path++;
		}
	}
	copy = keep(seq, as_buf_str(&out), out.len);
	as_buf_free(&out);
	return copy;
}

static void set_field(struct as_seq *seq, struct as_op *op, const struct edit *e)
{
	void *field = as_arg_field(op, e->arg);

	if (e->arg->type == AS_TYPE_STR)
		*(const char **)field = keep(seq, e->to, strlen(e->to));
	else if (e->arg->type == AS_TYPE_OCT || e->arg->type == AS_TYPE_OCT_OPT)
		*(uint32_t *)field = (uint32_t)e->value;
	else
		*(int64_t *)field = e->clear ? *(int64_t *)field & ~e->clear : e->value;
	if (!as_op_takes_mode(op))
		op->mode = 0;
}

static void apply(struct as_seq *seq, const struct edit *e)
{
	if (e->arg) {
		set_field(seq, &seq->ops[e->op], e);
		return;
	}
	for (size_t i = 0; i < seq->n; i++) {
		struct as_op *op = &seq->ops[i];

		if (op->path)
			op->path = rename_in(seq, op->path, e->from, e->to);
		if (op->path2)
			op->path2 = rename_in(seq, op->path2, e->from, e->to);
	}
}

static bool try_edits(struct as_reducing *x, const struct edit *edits, size_t n)
{
	struct as_seq *candidate = as_seq_copy(x->best);

	for (size_t i = 0; i < n; i++)
		apply(candidate, &edits[i]);
	if (as_seq_equal(candidate, x->best)) {
		as_seq_free(candidate);
		return true;
	}
	return as_reducing_try(x, candidate);
}

static void bisect(struct as_reducing *x, const struct edit *edits, size_t n)
{
	if (!n || x->over || try_edits(x, edits, n) || n == 1)
		return;
	bisect(x, edits, n / 2);
	bisect(x, edits + n / 2, n - n / 2);
}

/* ---- Which edits there are ------------------------------------------------------------------- */

static void edit_flags(struct edits *edits, size_t i, const struct as_op *op,
		       const struct as_arg_info *arg)
{
	int64_t exclusive, left = as_arg_int(op, arg);
	size_t n;
	const struct as_flag_word *words =
		as_flag_words((enum as_flag_table)(arg->type - AS_TYPE_FLAGS), &n, &exclusive);

	left &= ~exclusive;
	for (size_t k = 0; k < n; k++) {
		int64_t bits = words[k].value & ~exclusive;

		if (bits && (left & bits) == bits) {
			add(edits, (struct edit){ .op = i, .arg = arg, .clear = bits });
			left &= ~bits;
		}
	}
	if (left)
		add(edits, (struct edit){ .op = i, .arg = arg, .clear = left });
}

/* The simplest value of an argument that is a number. */
static int64_t simplest(const struct as_op *op, enum as_arg_kind kind)
{
	switch (kind) {
	case AS_ARG_MODE:
	case AS_ARG_OPEN_MODE:
		return op->code == AS_OP_MKDIR ? 0755 : 0644;
	case AS_ARG_LEN:
	case AS_ARG_SPAN:
	case AS_ARG_COUNT:
	case AS_ARG_FILL:
		return 1;
	case AS_ARG_ATIME:
	case AS_ARG_MTIME:
		return AS_TIME_NOW;
	case AS_ARG_UID:
	case AS_ARG_GID:
		return -1;
	default:
		return 0;
	}
}

static void edit_text(struct edits *edits, size_t i, const struct as_op *op, enum as_arg_kind kind)
{
	const struct as_arg_info *arg = &as_arg_table[kind];
	const char *text = as_arg_str(op, arg), *to = NULL;

	if (kind == AS_ARG_OPTS && *text)
		to = "";
	else if (kind == AS_ARG_XNAME && !strncmp(text, "user.", 5) && strlen(text) > 6)
		to = "user.a";
	if (to)
		add(edits, (struct edit){ .op = i, .arg = arg, .to = as_xstrdup(to) });
}

static void edit_op(struct edits *edits, size_t i, const struct as_op *op)
{
	for (const enum as_arg_kind *kind = as_op_table[op->code].args; *kind; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];
		int64_t value = simplest(op, *kind), now = value;

		if (arg->type >= AS_TYPE_FLAGS)
			edit_flags(edits, i, op, arg);
		else if (arg->type == AS_TYPE_STR)
			edit_text(edits, i, op, *kind);
		else if (arg->type == AS_TYPE_OCT || arg->type == AS_TYPE_OCT_OPT)
			now = as_op_takes_mode(op) ? as_arg_mode(op, arg) : value;
		else if (arg->type != AS_TYPE_SLOT)
			now = as_arg_int(op, arg);
		/* 0 is as simple as it gets. */
		if (now != value && !(value == 1 && now == 0))
			add(edits, (struct edit){ .op = i, .arg = arg, .value = value });
	}
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* deepen and enlarge choose names themselves. */
static bool is_fixed(const char *name, size_t len)
{
	return (len == 1 && *name == '.') || (len == 2 && !strncmp(name, "..", 2)) ||
	       (len > 1 && *name == 'e' && strspn(name + 1, "0123456789") >= len - 1);
}

static bool has_name(const struct as_seq *seq, const char *name, size_t len)
{
	for (size_t i = 0; i < seq->n; i++) {
		const char *paths[] = { seq->ops[i].path, seq->ops[i].path2 };

		for (int k = 0; k < 2; k++)
			for (const char *s = paths[k]; s && *s; s += *s == '/') {
				size_t n = strcspn(s, "/");

				if (n == len && !strncmp(s, name, len))
					return true;
				s += n;
			}
	}
	return false;
}

static bool is_edited(const struct edits *edits, const char *name, size_t len)
{
	for (size_t i = 0; i < edits->n; i++)
		if (edits->at[i].from && strlen(edits->at[i].from) == len &&
		    !strncmp(edits->at[i].from, name, len))
			return true;
	return false;
}

static void edit_names(struct edits *edits, const struct as_seq *seq, const char *path,
		       char *letter)
{
	for (const char *s = path; s && *s; s += *s == '/') {
		size_t len = strcspn(s, "/");

		if (len > 1 && !is_fixed(s, len) && !is_edited(edits, s, len)) {
			/* d is what deepen calls its folders. */
			while (*letter <= 'z' && (*letter == 'd' || has_name(seq, letter, 1)))
				++*letter;
			if (*letter > 'z')
				return;
			add(edits,
			    (struct edit){ .from = strndup(s, len), .to = strndup(letter, 1) });
			++*letter;
		}
		s += len;
	}
}

/* ---- Numbers and options that had to stay ---------------------------------------------------- */

static bool try_number(struct as_reducing *x, size_t op, const struct as_arg_info *arg,
		       int64_t value)
{
	struct edit edit = { .op = op, .arg = arg, .value = value };

	return try_edits(x, &edit, 1);
}

static void lower_number(struct as_reducing *x, size_t op, const struct as_arg_info *arg)
{
	int64_t now = as_arg_int(&x->best->ops[op], arg);
	int low = -1, high = 0; /* 2^low does not fail (or was not tried); `high`: upper bound */

	if (now <= 2)
		return;
	while (high < 62 && (int64_t)1 << (high + 1) < now)
		high++;
	/* The largest power below the value comes first: if it does not fail, no smaller one
	 * will. */
	if (!try_number(x, op, arg, (int64_t)1 << high)) {
		low = high;
	} else {
		while (low + 1 < high && !x->over) {
			int middle = low + (high - low) / 2;

			if (try_number(x, op, arg, (int64_t)1 << middle))
				high = middle;
			else
				low = middle;
		}
	}
	if (arg->type == AS_TYPE_COUNT) {
		int64_t fine = low < 0 ? 0 : (int64_t)1 << low;

		while ((now = as_arg_int(&x->best->ops[op], arg)) - fine > 1 && !x->over) {
			int64_t middle = fine + (now - fine) / 2;

			if (!try_number(x, op, arg, middle))
				fine = middle;
		}
	}
}

/* One word of "a,b=1,c" at a time. */
static void drop_options(struct as_reducing *x, size_t op, const struct as_arg_info *arg)
{
	for (size_t word = 0; !x->over; word++) {
		const char *now = as_arg_str(&x->best->ops[op], arg), *s = now;
		struct as_buf rest = { 0 };
		struct edit edit = { .op = op, .arg = arg };
		size_t i;
		bool dropped;

		for (i = 0; *s; i++) {
			size_t len = strcspn(s, ",");

			if (i != word)
				as_buf_addf(&rest, "%s%.*s", rest.len ? "," : "", (int)len, s);
			s += len + (s[len] == ',');
		}
		edit.to = (char *)as_buf_str(&rest);
		dropped = word < i && i > 1 && try_edits(x, &edit, 1);
		as_buf_free(&rest);
		if (word >= i)
			return;
		word -= dropped;
	}
}

static void lower_rest(struct as_reducing *x, size_t op)
{
	const enum as_arg_kind *kind = as_op_table[x->best->ops[op].code].args;

	for (; *kind && !x->over; kind++) {
		const struct as_arg_info *arg = &as_arg_table[*kind];

		if (arg->type == AS_TYPE_LEN || arg->type == AS_TYPE_SNUM ||
		    arg->type == AS_TYPE_COUNT)
			lower_number(x, op, arg);
		else if (*kind == AS_ARG_OPTS)
			drop_options(x, op, arg);
	}
}

void as_reduce_args(struct as_reducing *x)
{
	struct edits edits = { 0 };
	char letter[2] = "a";

	x->phase = "arguments";
	for (size_t i = 0; i < x->best->n; i++)
		edit_op(&edits, i, &x->best->ops[i]);
	bisect(x, edits.at, edits.n);
	clear_edits(&edits);
	x->phase = "names";
	for (size_t i = 0; i < x->best->n; i++) {
		edit_names(&edits, x->best, x->best->ops[i].path, letter);
		edit_names(&edits, x->best, x->best->ops[i].path2, letter);
	}
	bisect(x, edits.at, edits.n);
	clear_edits(&edits);
	x->phase = "numbers";
	for (size_t i = 0; i < x->best->n && !x->over; i++)
		lower_rest(x, i);
}
