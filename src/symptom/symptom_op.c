/* SPDX-License-Identifier: GPL-2.0-or-later */
/* symptom_op: the operations of a workload as signatures name them (symptom.h). */
#include "symptom/symptom.h"

#include <string.h>

#define FEW 10 /* changing operations of a workload that is as good as reduced */

/* ---- Operations ------------------------------------------------------------------------------ */

unsigned as_symptom_changes(const struct as_op *op)
{
	unsigned changes = as_op_table[op->code].changes;

	if (op->code == AS_OP_OPEN) {
		changes = op->flags & AS_O_TRUNC ? AS_CHANGES_DATA : 0;
		if (op->flags & AS_O_CREAT || (op->flags & AS_O_TMPFILE) == AS_O_TMPFILE)
			changes |= AS_CHANGES_NAMES;
	}
	return changes &
	       (AS_CHANGES_NAMES | AS_CHANGES_DATA | AS_CHANGES_ATTRS | AS_CHANGES_XATTRS);
}

const struct as_op *as_symptom_open(const struct as_seq *seq, size_t op, int32_t slot)
{
	while (slot != AS_SLOT_NONE && op-- > 0)
		if (seq->ops[op].slot == slot)
			return &seq->ops[op];
	return NULL;
}

/* The flags that decide which way an operation takes, by the argument that holds them. */
static const struct deciding {
	enum as_arg_kind arg;
	int64_t bits;
	const char *word;
} deciding[] = {
	{ AS_ARG_OPEN_FLAGS, AS_O_TRUNC, "O_TRUNC" },
	{ AS_ARG_OPEN_FLAGS, AS_O_TMPFILE, "O_TMPFILE" },
	{ AS_ARG_FALLOC, AS_FALLOC_PUNCH_HOLE, "PUNCH_HOLE" },
	{ AS_ARG_FALLOC, AS_FALLOC_COLLAPSE_RANGE, "COLLAPSE_RANGE" },
	{ AS_ARG_FALLOC, AS_FALLOC_ZERO_RANGE, "ZERO_RANGE" },
	{ AS_ARG_FALLOC, AS_FALLOC_INSERT_RANGE, "INSERT_RANGE" },
	{ AS_ARG_FALLOC, AS_FALLOC_UNSHARE_RANGE, "UNSHARE_RANGE" },
	{ AS_ARG_RENAME, AS_RENAME_NOREPLACE, "RENAME_NOREPLACE" },
	{ AS_ARG_RENAME, AS_RENAME_EXCHANGE, "RENAME_EXCHANGE" },
	{ AS_ARG_RENAME, AS_RENAME_WHITEOUT, "RENAME_WHITEOUT" },
	/* Of the descriptor that is written to. */
	{ AS_ARG_END, AS_O_APPEND, "O_APPEND" },
	{ AS_ARG_END, AS_O_DIRECT, "O_DIRECT" },
};

static bool has_arg(const struct as_op *op, enum as_arg_kind kind)
{
	for (const enum as_arg_kind *arg = as_op_table[op->code].args; *arg != AS_ARG_END; arg++)
		if (*arg == kind)
			return true;
	return false;
}

/* Whether somebody else changed a file since the descriptor was opened. Without that O_APPEND is a
 * write like any other. */
static bool end_moved(const struct as_seq *seq, size_t at, const struct as_op *opened)
{
	for (size_t i = (size_t)(opened - seq->ops) + 1; i < at; i++)
		if (as_symptom_changes(&seq->ops[i]) & AS_CHANGES_DATA &&
		    seq->ops[i].fd != opened->slot)
			return true;
		else if (seq->ops[i].code == AS_OP_ENLARGE)
			return true;
	return false;
}

void as_symptom_op(const struct as_seq *seq, size_t at, struct as_buf *out)
{
	const struct as_op *op = &seq->ops[at];
	bool sent = op->code == AS_OP_SENDFILE || op->code == AS_OP_SPLICE;
	const struct as_op *opened = as_op_table[op->code].changes & AS_CHANGES_AS_OPENED
					     ? as_symptom_open(seq, at, sent ? op->fd2 : op->fd)
					     : NULL;
	bool any = false;

	as_buf_adds(out, as_op_table[op->code].name);
	for (size_t i = 0; i < sizeof(deciding) / sizeof(*deciding); i++) {
		const struct deciding *d = &deciding[i];
		const struct as_op *of = d->arg == AS_ARG_END  ? opened
					 : has_arg(op, d->arg) ? op
							       : NULL;

		if (of && d->bits == AS_O_APPEND && !end_moved(seq, at, of))
			continue;
		if (of && (of->flags & d->bits) == d->bits) {
			as_buf_addf(out, " %s", d->word);
			any = true;
		}
	}
	if (op->code == AS_OP_OPEN && !any && op->flags & AS_O_CREAT)
		as_buf_adds(out, " O_CREAT");
}

/* The last operation before `end` that can change something; -1: none. */
static int64_t symptom_last(const struct as_seq *seq, const bool *failed, int64_t end)
{
	while (end-- > 0)
		if (as_symptom_changes(&seq->ops[end]) && !(failed && failed[end]))
			return end;
	return -1;
}

static bool is_directory(const struct as_seq *seq, const struct as_op *opened)
{
	if (opened->flags & AS_O_DIRECTORY || !strcmp(opened->path, "/"))
		return true;
	for (const struct as_op *op = seq->ops; op < opened; op++)
		if (op->code == AS_OP_MKDIR && !strcmp(op->path, opened->path))
			return true;
	return false;
}

/* "fsync", "fsync_dir", "sync", "umount": what an operation promises; false: nothing. */
static bool add_promise(const struct as_seq *seq, size_t at, struct as_buf *out)
{
	const struct as_op *op = &seq->ops[at];
	const struct as_op *opened;

	switch (op->code) {
	case AS_OP_FSYNC:
	case AS_OP_FDATASYNC:
		opened = as_symptom_open(seq, at, op->fd);
		as_buf_adds(out, opened && opened->path && is_directory(seq, opened) ? "fsync_dir"
										     : "fsync");
		return true;
	case AS_OP_SYNC:
	case AS_OP_SYNCFS:
	case AS_OP_UMOUNT:
		as_buf_adds(out, as_op_table[op->code].name);
		return true;
	default:
		return false;
	}
}

void as_symptom_steps(const struct as_seq *seq, struct as_buf *out)
{
	struct as_buf op = { 0 };

	for (size_t i = 0; i < seq->n; i++) {
		as_buf_clear(&op);
		if (as_symptom_changes(&seq->ops[i]))
			as_symptom_op(seq, i, &op);
		else if (!add_promise(seq, i, &op))
			continue;
		as_signature_group(out, as_buf_str(&op));
		as_buf_addc(out, ',');
	}
	as_buf_free(&op);
}

void as_symptom_after_last(const struct as_seq *seq, const bool *failed, int64_t end,
			   struct as_buf *out)
{
	int64_t last = symptom_last(seq, failed, end);
	unsigned n = 0;

	for (int64_t i = last; i >= 0; i--)
		n += as_symptom_changes(&seq->ops[i]) && !(failed && failed[i]);
	if (!n || n > FEW)
		return;
	as_buf_adds(out, AS_SIGNATURE_AFTER);
	as_symptom_op(seq, (size_t)last, out);
}

/* ---- Pairs ----------------------------------------------------------------------------------- */

#define NAMES_MAX 8

/* The names that a file had, as far as they are known: the newest first. */
struct pair_names {
	const char *name[NAMES_MAX];
	size_t n;
};

static bool is_name(const struct pair_names *names, const char *path)
{
	for (size_t i = 0; i < names->n && path; i++)
		if (!strcmp(names->name[i], path))
			return true;
	return false;
}

static void add_name(struct pair_names *names, const char *path)
{
	if (path && names->n < NAMES_MAX && !is_name(names, path))
		names->name[names->n++] = path;
}

/* Of what is at `path` at operation `end`. */
static struct pair_names names_of(const struct as_seq *seq, size_t end, const char *path)
{
	struct pair_names names = { { path }, 1 };

	while (end-- > 0) {
		const struct as_op *op = &seq->ops[end];
		bool link = op->code == AS_OP_HARDLINK;

		if (!link && op->code != AS_OP_RENAME && op->code != AS_OP_RENAME2)
			continue;
		if (is_name(&names, op->path2))
			add_name(&names, op->path);
		else if (link && is_name(&names, op->path))
			add_name(&names, op->path2);
	}
	return names;
}

/* Whether the operation names what was opened, by its path, the folder it is in, or a slot. */
static bool touches(const struct as_seq *seq, size_t at, const struct as_op *opened,
		    const struct pair_names *names)
{
	const struct as_op *op = &seq->ops[at];
	const struct as_op *of = op->fd != AS_SLOT_NONE ? as_symptom_open(seq, at, op->fd) : NULL;
	const char *const paths[] = { op->path, op->path2 };
	size_t len = strlen(opened->path);

	if (op == opened || (of && (of == opened || is_name(names, of->path))))
		return true;
	for (size_t i = 0; i < 2; i++)
		if (paths[i] && !strncmp(paths[i], opened->path, len) &&
		    (!paths[i][len] || paths[i][len] == '/' || len == 1))
			return true;
	return false;
}

void as_symptom_pair(const struct as_seq *seq, const bool *failed, size_t promise,
		     struct as_buf *out)
{
	const struct as_op *op = &seq->ops[promise];
	const struct as_op *opened = as_symptom_open(seq, promise, op->fd);
	/* A rename, or a write with O_SYNC, is change and promise in one. */
	int64_t last = (int64_t)promise + 1;
	struct pair_names names;

	if (!opened || !opened->path) {
		as_symptom_after_last(seq, failed, last, out);
		return;
	}
	names = names_of(seq, promise, opened->path);
	do
		last = symptom_last(seq, failed, last);
	while (last >= 0 && !touches(seq, (size_t)last, opened, &names));
	if (last < 0)
		last = symptom_last(seq, failed, (int64_t)promise + 1);
	if (last < 0)
		return;
	as_buf_adds(out, AS_SIGNATURE_AFTER);
	as_symptom_op(seq, (size_t)last, out);
	if (last != (int64_t)promise)
		as_buf_addf(out, ", then %s of %s", as_op_table[op->code].name,
			    is_directory(seq, opened) ? "a directory" : "a file");
}
