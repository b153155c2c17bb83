/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reduce_merge: the phase of a reduction that rewrites operations when none can be removed any
 * more: operations that depend on a name get another name.
 *
 * Rules, as a table: each looks at one operation and makes a candidate that is shorter by one.
 *   folder    "mkdir D" is removed; what was below D is then in the folder of D
 *   rename    "rename A B" is removed; after it, B and all paths below B are called A
 *   open      "create F ... $N = open F": the open makes F itself
 *   exchange  "create X ... unlink Y", Y older than X: "rename Y X ..."
 *   roots     "enlarge D 1" is removed; what was below D/e0 is then in D; the same for "deepen D 1"
 *             and D/d
 *   more      "... deepen D N", or enlarge: nothing before it, and twice as much of it in the root
 * First, if no chcwd is left, all paths become absolute, so that equal paths have equal texts.
 */
#include "reduce/reduce_priv.h"
#include "work/op.h"

#include <stdlib.h>
#include <string.h>

static struct as_seq *without(const struct as_seq *seq, size_t op)
{
	bool *kept = as_xcalloc(seq->n, sizeof(*kept));
	struct as_seq *copy;

	memset(kept, true, seq->n * sizeof(*kept));
	kept[op] = false;
	copy = as_seq_subset(seq, kept);
	free(kept);
	return copy;
}

static void set_path(struct as_seq *seq, const char **path, const char *folder, size_t len,
		     const char *rest)
{
	struct as_buf text = { 0 };

	as_buf_add(&text, folder, len);
	as_buf_adds(&text, rest);
	*path = as_arena_strndup(&seq->strings, as_buf_str(&text), text.len);
	as_buf_free(&text);
}

/* ---- The rules: a candidate, or NULL --------------------------------------------------------- */

static struct as_seq *drop_folder(const struct as_seq *seq, size_t at, size_t other)
{
	const char *folder = seq->ops[at].path, *slash = strrchr(folder, '/');
	size_t len = strlen(folder), above = slash ? (size_t)(slash - folder) : 0;
	struct as_seq *copy = without(seq, at);

	(void)other;
	for (size_t i = at; i < copy->n; i++) {
		const char **paths[] = { &copy->ops[i].path, &copy->ops[i].path2 };

		for (int k = 0; k < 2; k++)
			if (*paths[k] && !strncmp(*paths[k], folder, len) &&
			    (*paths[k])[len] == '/')
				set_path(copy, paths[k], folder, above, *paths[k] + len + !slash);
	}
	return copy;
}

static struct as_seq *drop_rename(const struct as_seq *seq, size_t at, size_t other)
{
	const char *from = seq->ops[at].path, *to = seq->ops[at].path2;
	size_t len = strlen(to);
	struct as_seq *copy = without(seq, at);

	(void)other;
	for (size_t i = at; i < copy->n; i++) {
		const char **paths[] = { &copy->ops[i].path, &copy->ops[i].path2 };

		for (int k = 0; k < 2; k++)
			if (*paths[k] && !strncmp(*paths[k], to, len) &&
			    ((*paths[k])[len] == '/' || !(*paths[k])[len]))
				set_path(copy, paths[k], from, strlen(from), *paths[k] + len);
	}
	return copy;
}

static struct as_seq *open_makes(const struct as_seq *seq, size_t at, size_t other)
{
	const struct as_op *create = &seq->ops[at], *open = &seq->ops[other];
	struct as_seq *copy;

	if (open->code != AS_OP_OPEN || strcmp(open->path, create->path))
		return NULL;
	copy = without(seq, at);
	copy->ops[other - 1].flags |= AS_O_CREAT;
	copy->ops[other - 1].mode = create->mode;
	return copy;
}

static bool is_older(const struct as_seq *seq, const char *path, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		const struct as_op *op = &seq->ops[i];

		if (!strcmp(op->path2 ? op->path2 : op->path ? op->path : "", path))
			return true;
	}
	return false;
}

static struct as_seq *rename_instead(const struct as_seq *seq, size_t at, size_t other)
{
	const struct as_op *gone = &seq->ops[other];
	struct as_op move = as_op_make(AS_OP_RENAME);
	struct as_seq *copy;

	if ((gone->code != AS_OP_UNLINK && gone->code != AS_OP_REMOVE) ||
	    !strcmp(gone->path, seq->ops[at].path) || !is_older(seq, gone->path, at))
		return NULL;
	copy = without(seq, other);
	set_path(copy, &move.path, gone->path, strlen(gone->path), "");
	move.path2 = copy->ops[at].path;
	copy->ops[at] = move;
	return copy;
}

static struct as_seq *drop_first(const struct as_seq *seq, size_t at, size_t other)
{
	struct as_seq *copy, *dropped;
	struct as_buf folder = { 0 };

	if (seq->ops[at].len != 1)
		return NULL;
	copy = as_seq_copy(seq);
	as_buf_addf(&folder, "%s%s%s", seq->ops[at].path,
		    seq->ops[at].path[strlen(seq->ops[at].path) - 1] == '/' ? "" : "/",
		    seq->ops[at].code == AS_OP_DEEPEN ? "d" : "e0");
	set_path(copy, &copy->ops[at].path, as_buf_str(&folder), folder.len, "");
	dropped = drop_folder(copy, at, other);
	as_seq_free(copy);
	as_buf_free(&folder);
	return dropped;
}

static struct as_seq *more_alone(const struct as_seq *seq, size_t at, size_t other)
{
	bool *kept;
	struct as_seq *copy;

	(void)other;
	if (!at || seq->ops[at].len > INT64_MAX / 2)
		return NULL;
	kept = as_xcalloc(seq->n, sizeof(*kept));
	for (size_t i = at; i < seq->n; i++)
		kept[i] = true;
	copy = as_seq_subset(seq, kept);
	free(kept);
	set_path(copy, &copy->ops[0].path, "/", 1, "");
	copy->ops[0].len *= 2;
	return copy;
}

/* Not a rule: nothing gets shorter by it. */
static void write_from_root(struct as_reducing *x)
{
	struct as_seq *copy = as_seq_copy(x->best);
	bool any = false;

	for (size_t i = 0; i < copy->n; i++) {
		const char **paths[] = { &copy->ops[i].path, &copy->ops[i].path2 };

		if (copy->ops[i].code == AS_OP_CHCWD) {
			as_seq_free(copy);
			return;
		}
		/* The text of a symbolic link is not a path of the workload. */
		for (int k = copy->ops[i].code == AS_OP_SYMLINK; k < 2; k++)
			if (*paths[k] && **paths[k] && **paths[k] != '/') {
				set_path(copy, paths[k], "/", 1, *paths[k]);
				any = true;
			}
	}
	if (any)
		as_reducing_try(x, copy);
	else
		as_seq_free(copy);
}

static const struct rule {
	const char *name;
	enum as_opcode code; /* the operation that the rule looks at */
	bool pair; /* it also looks at each operation after that one */
	struct as_seq *(*make)(const struct as_seq *seq, size_t at, size_t other);
} rules[] = {
	{ "folders", AS_OP_MKDIR, false, drop_folder },
	{ "renames", AS_OP_RENAME, false, drop_rename },
	{ "opens", AS_OP_CREATE, true, open_makes },
	{ "exchanges", AS_OP_CREATE, true, rename_instead },
	{ "exchanges", AS_OP_MKDIR, true, rename_instead },
	{ "roots", AS_OP_ENLARGE, false, drop_first },
	{ "roots", AS_OP_DEEPEN, false, drop_first },
	{ "more", AS_OP_DEEPEN, false, more_alone },
	{ "more", AS_OP_ENLARGE, false, more_alone },
};

/* Whether the rule helped at `at`; if so, there is another operation now. */
static bool try_rule(struct as_reducing *x, const struct rule *rule, size_t at)
{
	size_t last = rule->pair ? x->best->n - 1 : at + 1; /* alone: once */

	if (x->best->n < 2)
		return false;
	for (size_t other = at + 1; other <= last && !x->over; other++) {
		struct as_seq *candidate = rule->make(x->best, at, other);

		if (candidate && as_reducing_try(x, candidate))
			return true;
	}
	return false;
}

void as_reduce_merge(struct as_reducing *x)
{
	x->phase = "roots";
	write_from_root(x);
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]) && !x->over; r++) {
		x->phase = rules[r].name;
		for (size_t at = 0; at < x->best->n && !x->over;)
			if (x->best->ops[at].code != rules[r].code || !try_rule(x, &rules[r], at))
				at++;
	}
}
