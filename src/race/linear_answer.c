/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linear_answer: what a call answered, compared with the model at one moment; and what of it may be
 * left open, since the kernel promises no more.
 * What that is, and why, is in leeway.def.
 */
#include "model/rules/rule.h"
#include "race/linear_priv.h"

#include <string.h>

static bool judge(struct as_linear_search *x, struct as_model *m, const struct as_op *op,
		  const struct as_outcome *got)
{
	return as_model_judge(m, op, got, &x->verdict);
}

/* The inode that a stat or a list is about; 0: none. */
static uint32_t told_of(const struct as_model *m, const struct as_op *op)
{
	const struct as_file *file;

	if (op->path) {
		struct as_walk w =
			as_walk_path(m, op->path, op->nofollow ? WALK_NOFOLLOW : WALK_FOLLOW);

		return w.err ? 0 : w.ino;
	}
	file = as_file_at(m, op->fd);
	return file ? file->ino : 0;
}

bool as_linear_is_stat(const struct as_linear_call *c)
{
	return as_op_table[c->op->code].reads == AS_READS_ATTRS && c->got.ret >= 0 &&
	       c->got.payload == AS_PAYLOAD_STAT;
}

enum asks {
#define AS_LEEWAY(asks, what, why) ASKS_##asks,
#include "race/leeway.def"
};

static const uint8_t leeway[] = {
#define AS_LEEWAY(asks, what, why) what,
#include "race/leeway.def"
};

/* The file that it reads or seeks in; NULL: none of which this can be said. */
static const struct as_file *file_of(const struct as_model *m, const struct as_op *op)
{
	const struct as_file *file = as_file_at(m, op->fd);

	return file && !(file->flags & AS_O_PATH) && is_reg(inode_at(m, file->ino)) ? file : NULL;
}

static enum asks asks_file(const struct as_model *m, const struct as_op *op, bool torn)
{
	if (op->code == AS_OP_LSEEK)
		return op->flags < AS_SEEK_END	  ? ASKS_ELSE
		       : op->flags == AS_SEEK_END ? ASKS_SEEK_TO_END
						  : ASKS_SEEK_TO_DATA;
	if (torn)
		return ASKS_BYTES_OF_COPY;
	return m->traits->quirks & AS_QUIRK_READS_WHOLE ? ASKS_WHOLE_BYTES : ASKS_BYTES;
}

/* What the answer of a call tells of at this moment, if a part of it may be left open; inode 0:
 * nothing. */
static struct as_linear_part tells_of(const struct as_model *m, const struct as_op *op,
				      const struct as_linear_call *c, bool torn)
{
	struct as_linear_part part = { .to = LINEAR_END };
	enum as_reads reads = as_op_table[op->code].reads;
	const struct as_file *file;
	enum asks asks = ASKS_ELSE;

	if (reads == AS_READS_ATTRS) {
		part.ino = as_linear_is_stat(c) ? told_of(m, op) : 0;
		asks = ASKS_STAT;
	} else if (reads == AS_READS_NAMES) {
		part.ino = told_of(m, op);
		asks = ASKS_LIST;
	} else if ((reads == AS_READS_DATA || op->code == AS_OP_LSEEK) && (file = file_of(m, op))) {
		part.ino = file->ino;
		asks = asks_file(m, op, torn);
	}
	part.what = leeway[asks];
	if (asks == ASKS_BYTES || asks == ASKS_BYTES_OF_COPY) {
		part.from = (uint64_t)(op->code == AS_OP_READ ? file->off : op->off);
		part.to = part.from + op->len;
	}
	return part;
}

/* A read during which another call changed bytes: the first one that is wrong now must be among
 * them. Of those after it nothing is said. */
static bool weak_read(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		      size_t call, struct as_linear_part part)
{
	const struct as_outcome *got = &x->how->calls[call].got;
	const struct as_file *file = as_file_at(n->m, op->fd);
	const struct as_inode *inode = inode_at(n->m, part.ino);
	uint64_t size = inode->reg.size > part.from ? inode->reg.size - part.from : 0;
	uint64_t same = (uint64_t)got->ret < size ? (uint64_t)got->ret : size;
	uint8_t want;

	if ((file->flags & AS_O_ACCMODE) == AS_O_WRONLY || (uint64_t)got->ret > op->len)
		return false;
	if (got->payload == AS_PAYLOAD_BYTES)
		same = as_content_check(inode, part.from, got->data,
					same < got->len ? same : got->len, &want);
	part.from += same;
	part.to = part.from + 1;
	if (!as_linear_excuse(x, n, call, part))
		return false;
	if (got->ret)
		as_node_forget_times(n->m, part.ino, true, false);
	if (op->code == AS_OP_READ)
		as_file_seek(n->m, op->fd, as_file_at(n->m, op->fd)->off + got->ret);
	return true;
}

/* A seek relative to a size, or to data or a hole, which another call may have changed. */
static bool weak_seek(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		      size_t call, struct as_linear_part part)
{
	const struct as_outcome *got = &x->how->calls[call].got;

	if (got->ret < 0 && got->err != (op->flags == AS_SEEK_END ? EINVAL : ENXIO))
		return false;
	if (!as_linear_excuse(x, n, call, part))
		return false;
	if (got->ret >= 0)
		as_file_seek(n->m, op->fd, got->ret);
	return true;
}

/* Whether the list has this name: how often. */
static unsigned listed(const struct as_outcome *got, const struct as_name *name)
{
	const char *at = got->data, *end = at + got->len;
	unsigned count = 0;

	for (; at < end; at += strlen(at) + 1)
		count += !as_name_cmp(name, at + 1, strlen(at + 1));
	return count;
}

static bool excuse_name(struct as_linear_search *x, struct as_linear_node *n, size_t call,
			struct as_linear_part part, const char *name, size_t len)
{
	part.from = as_linear_key(name, len);
	part.to = part.from + 1;
	return as_linear_excuse(x, n, call, part);
}

static bool weak_entries(struct as_linear_search *x, struct as_linear_node *n, size_t call,
			 struct as_linear_part part, const struct as_entry *entry)
{
	const struct as_outcome *got = &x->how->calls[call].got;

	if (!entry)
		return true;
	if (listed(got, entry->name) != 1 &&
	    !excuse_name(x, n, call, part, entry->name->s, entry->name->len))
		return false;
	return weak_entries(x, n, call, part, entry->left) &&
	       weak_entries(x, n, call, part, entry->right);
}

/* A list during which names came and went: each one that is wrong now must be among them. */
static bool weak_list(struct as_linear_search *x, struct as_linear_node *n, size_t call,
		      struct as_linear_part part)
{
	const struct as_outcome *got = &x->how->calls[call].got;
	const char *at = got->data, *end = at + got->len;
	struct as_entry *entries;

	if (!is_dir(inode_at(n->m, part.ino)))
		return false;
	if (got->payload != AS_PAYLOAD_NAMES)
		return as_linear_excuse(x, n, call, part);
	entries = inode_at(n->m, part.ino)->dir.entries;
	for (; at < end; at += strlen(at) + 1)
		if (!as_entries_find(entries, at + 1, strlen(at + 1)) &&
		    !excuse_name(x, n, call, part, at + 1, strlen(at + 1)))
			return false;
	if (!weak_entries(x, n, call, part, entries))
		return false;
	/* If only the type of a name is wrong, the name has to be one of them, too. */
	if (!as_linear_excuse(x, n, call, part))
		return false;
	as_node_forget_times(n->m, part.ino, true, false);
	return true;
}

enum { SEEN_MODE = 1, SEEN_NLINK = 2, SEEN_SIZE = 4, SEEN_TIMES = 8, SEEN_ALL = 15 };

/* Which parts of the answer are right at this moment. */
static uint8_t seen_now(struct as_linear_search *x, struct as_model *m, uint32_t ino,
			const struct as_op *op, const struct as_stat *got)
{
	const struct as_inode *inode = inode_at(m, ino);
	struct as_outcome out = { .payload = AS_PAYLOAD_STAT };
	struct as_stat now;
	uint8_t seen = 0;

	as_inode_stat(inode, &now);
	now.atime_ns = inode->times ? inode->times->atime_ns : 0;
	now.mtime_ns = inode->times ? inode->times->mtime_ns : 0;
	for (uint8_t part = SEEN_MODE; part < SEEN_ALL; part = (uint8_t)(part << 1)) {
		out.st = now;
		if (part == SEEN_MODE) {
			out.st.mode = got->mode;
			out.st.uid = got->uid;
			out.st.gid = got->gid;
			out.st.rdev = got->rdev;
		} else if (part == SEEN_NLINK) {
			out.st.nlink = got->nlink;
		} else if (part == SEEN_SIZE) {
			out.st.size = got->size;
		} else {
			out.st.atime_ns = got->atime_ns;
			out.st.mtime_ns = got->mtime_ns;
		}
		if (judge(x, m, op, &out))
			seen |= part;
	}
	return seen;
}

/* Whether the parts of a stat that differ from this state may differ. */
static bool excuse_stat(const struct as_linear_search *x, struct as_linear_node *n, size_t call,
			uint32_t ino, uint8_t seen)
{
	static const struct {
		uint8_t part, what;
	} parts[] = { { SEEN_SIZE, LINEAR_SIZE }, { SEEN_NLINK, LINEAR_LINKS } };
	struct as_linear_part part = { .ino = ino, .to = LINEAR_END };
	uint32_t promises = n->n_promises;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		part.what = parts[i].what;
		if (!(seen & parts[i].part) && as_linear_excuse(x, n, call, part))
			seen |= parts[i].part;
	}
	if (seen == SEEN_ALL)
		return true;
	n->n_promises = promises;
	return false;
}

bool as_linear_stat(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		    const struct as_linear_call *c, uint8_t *seen, bool *whole)
{
	size_t call = (size_t)(c - x->how->calls);
	struct as_linear_part part = tells_of(n->m, op, c, x->leeway[call] & LINEAR_TORN);
	uint8_t before = *seen;

	*whole = false;
	if (!part.ino)
		return false;
	x->about[call] = part;
	*seen |= seen_now(x, n->m, part.ino, op, &c->got.st);
	*whole = *seen == SEEN_ALL || excuse_stat(x, n, call, part.ino, *seen);
	return *whole || *seen != before;
}

/* The answer is wrong at this moment: whether what is wrong may be left open. */
static bool answer_loosely(struct as_linear_search *x, struct as_linear_node *n,
			   const struct as_op *op, size_t call, struct as_linear_part part)
{
	const struct as_linear_call *c = &x->how->calls[call];
	enum as_reads reads = as_op_table[op->code].reads;
	uint8_t seen = 0;
	bool whole;

	if (reads == AS_READS_ATTRS)
		return as_linear_stat(x, n, op, c, &seen, &whole) && whole;
	if (op->code == AS_OP_LSEEK)
		return weak_seek(x, n, op, call, part);
	if (c->got.ret < 0)
		return false;
	if (reads == AS_READS_NAMES)
		return weak_list(x, n, call, part);
	return weak_read(x, n, op, call, part);
}

/* Another call changed a file of a copy meanwhile: what was copied may be anything. */
static void note_mixture(struct as_linear_search *x, const struct as_linear_node *n,
			 const struct as_op *op, size_t call, struct as_linear_part *part)
{
	for (int k = 0; k < 2; k++) {
		const struct as_file *file = as_file_at(n->m, as_linear_slot(op, k));

		if (!file || !as_linear_mixes(x, n, call, file->ino))
			continue;
		x->mixed = true;
		*part = (struct as_linear_part){ 0, LINEAR_END, file->ino, leeway[ASKS_MIXTURE] };
	}
}

bool as_linear_answer(struct as_linear_search *x, struct as_linear_node *n, const struct as_op *op,
		      const struct as_linear_call *c)
{
	size_t call = (size_t)(c - x->how->calls);
	struct as_linear_part part = { 0 };

	if (x->leeway[call])
		part = tells_of(n->m, op, c, x->leeway[call] & LINEAR_TORN);
	if (x->leeway[call] && as_linear_copies(c) && (c->got.ret >= 0 || c->got.done))
		note_mixture(x, n, op, call, &part);
	x->about[call] = part;
	if (judge(x, n->m, op, &c->got))
		return true;
	return part.ino && part.what && !as_linear_copies(c) &&
	       answer_loosely(x, n, op, call, part);
}
