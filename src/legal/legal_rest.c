/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_rest: may a file have these times, blocks and holes?
 *
 * Method. The model does not know the values: they depend on a clock and on how a type allocates.
 * So whoever records a workload asks stat(2) right after each fsync of a file (as_history_saw()),
 * and what it told is what was made stable. Which operations may have moved a time or a block since
 * is the model's word (as_model_touches()), whether they changed anything else or not. Operations
 * that came after the last write have left nothing on the disk, so they do not count.
 *
 * Rules
 *   1. A time that no operation has touched since the last fsync is what it was then. Some types
 *      change the ctime of a file when recovery takes an old name away from it; where each object
 *      is of a moment of its own, it may be later.
 *   2. A ctime is never earlier than it was then: only the clock sets it. A touched atime or mtime
 *      may be anything, since utimensat(2) sets them.
 *   3. A file that nobody touched has at least the blocks that it had then. It may have more. Where
 *      stat(2) counted others than those of data, it may have lost these: blocks of its map, which
 *      e2fsck writes anew ("extent tree could be narrower"); blocks that wait in memory for a copy
 *      on write (xfs_bmap_btalloc_accounting(), of the fork for copies), once something was shared.
 *      It has those of its data.
 *   4. Data is never called a hole (lseek(2)), after whatever happened. Holes may be called data.
 *   5. A file has no more blocks than the data of some version can need (model/footprint.h): of the
 *      first one of that size or of a later one, whose data may be there before its size is. A
 *      truncate that recovery has finished leaves none after the end. This is asked of libraries
 *      whose operations are whole or not at all.
 * fdatasync makes none of this stable, nor does a write with O_SYNC, after which nobody looks.
 */
#include "legal/legal_priv.h"

#include "model/model.h"
#include "model/traits.h"

/* The last fsync of the inode that somebody looked at. */
static const struct as_history_promise *last_seen(const struct as_legal_judge *j, uint32_t ino)
{
	const struct as_history_inode *inode = &j->h->inode[ino];

	for (uint32_t k = inode->n_promises; k-- > 0;) {
		const struct as_history_promise *promise = &j->h->promise[inode->promise[k]];

		if (inode->promise[k] < j->n_promises && promise->seen)
			return promise;
	}
	return NULL;
}

/* Which times operations after `op` may have moved: AS_STAMPS_*. */
static unsigned touched_since(const struct as_legal_judge *j, uint32_t ino, size_t op)
{
	unsigned times = 0;

	for (uint32_t i = j->n_touches; i-- > 0 && j->h->touch[i].op > op;)
		if (j->h->touch[i].what.ino == ino)
			times |= j->h->touch[i].what.times;
	return times;
}

static bool broken(struct as_legal_fault *fault, enum as_rule rule, enum as_legal_fault_kind kind,
		   uint64_t want, uint64_t got)
{
	fault->rule = rule;
	fault->kind = kind;
	fault->want_lo = want;
	fault->at = got;
	return false;
}

static bool times_ok(const struct as_legal_judge *j, const struct as_history_seen *seen,
		     unsigned touched, const struct as_tree_node *node,
		     struct as_legal_fault *fault)
{
	bool exact = j->policy.guarantee == AS_GUARANTEE_PREFIX && !(touched & AS_STAMPS_CTIME);

	if (!(touched & AS_STAMPS_ATIME) && node->atime_ns != seen->atime_ns)
		return broken(fault, AS_RULE_TIMES, FAULT_ATIME, (uint64_t)seen->atime_ns,
			      (uint64_t)node->atime_ns);
	if (!(touched & AS_STAMPS_MTIME) && node->mtime_ns != seen->mtime_ns)
		return broken(fault, AS_RULE_TIMES, FAULT_MTIME, (uint64_t)seen->mtime_ns,
			      (uint64_t)node->mtime_ns);
	if (node->ctime_ns < seen->ctime_ns || (exact && node->ctime_ns != seen->ctime_ns))
		return broken(fault, AS_RULE_TIMES, FAULT_CTIME, (uint64_t)seen->ctime_ns,
			      (uint64_t)node->ctime_ns);
	return true;
}

/* ---- Blocks that are left ---- */

enum {
	RUN_BLOCKS = 6, /* with what tells where they are, as in model/footprint.c */
	BLOCK_BLOCKS = 3,
	DATA_SHARE = 16,
};

static uint64_t held_blocks(const struct as_history_version *v, uint64_t block)
{
	uint64_t n = 0, next = 0;

	for (uint32_t i = 0; i < v->n_runs; i++) {
		uint64_t first = v->run[i].start / block;
		uint64_t end = (v->run[i].start + v->run[i].len + block - 1) / block;

		first = first > next ? first : next;
		n += end > first ? end - first : 0;
		next = end > next ? end : next;
	}
	return n;
}

static uint64_t data_blocks(const struct as_history_version *v, uint64_t block)
{
	uint64_t n = held_blocks(v, block), map;

	map = (uint64_t)v->n_runs * RUN_BLOCKS;
	return n + n / DATA_SHARE + (map < n * BLOCK_BLOCKS ? map : n * BLOCK_BLOCKS);
}

/* What the file can have at most, in blocks of 512 bytes; 0: nothing is known. */
static uint64_t most_blocks(const struct as_legal_judge *j, uint32_t ino,
			    const struct as_tree_node *node)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint64_t block = j->h->traits->block_bytes, most = 0;
	struct as_footprint now;
	bool begun = false;

	if (!block || !as_model_footprint(j->h->model, ino, &now))
		return 0;
	for (uint32_t i = 0; i < inode->n; i++) {
		const struct as_history_version *v = &inode->v[i];
		uint64_t n;

		if (v->n_xattrs)
			return 0;
		begun |= v->size == node->size;
		n = begun ? data_blocks(v, block) : 0;
		most = n > most ? n : most;
	}
	/* What was reserved is never less than before. */
	return begun ? (most * block + now.empty_bytes) / 512 : 0;
}

static bool leaves_nothing(const struct as_legal_judge *j, uint32_t ino,
			   const struct as_tree_node *node, struct as_legal_fault *fault)
{
	const struct as_traits *traits = j->h->traits;
	uint64_t most;

	if (!j->policy.blocks || j->policy.guarantee != AS_GUARANTEE_PREFIX ||
	    !(traits->features & AS_FEAT_LIBRARY) || !(traits->space & AS_SPACE_FILES))
		return true;
	most = most_blocks(j, ino, node);
	return !most || node->blocks <= most ||
	       broken(fault, AS_RULE_BLOCKS, FAULT_LEFT, most, node->blocks);
}

/* ---- Blocks that were made stable ---- */

static bool shares(const struct as_history *h)
{
	for (size_t i = 0; i < h->ops->n; i++)
		switch (h->ops->ops[i].code) {
		case AS_OP_CLONE:
		case AS_OP_CLONE_RANGE:
		case AS_OP_DEDUPE_RANGE:
		case AS_OP_COPY_FILE_RANGE: /* vfs_copy_file_range() clones where it can */
			return true;
		default:
			break;
		}
	return false;
}

/* In blocks of 512 bytes, of which every file system has at least one for each that holds data. */
static uint64_t stable_blocks(const struct as_legal_judge *j, uint32_t ino,
			      const struct as_history_promise *by)
{
	const struct as_policy *policy = &j->policy;
	uint64_t seen = by->seen->blocks, held;

	if (!(policy->map_anew && j->checked) && !(policy->copies_ahead && shares(j->h)))
		return seen;
	held = held_blocks(as_history_version_at(j->h, ino, by->point), 512);
	return held < seen ? held : seen;
}

bool as_legal_rest_ok(const struct as_legal_judge *j, uint32_t ino, const struct as_tree_node *node,
		      struct as_legal_fault *fault)
{
	const struct as_history_promise *by = last_seen(j, ino);
	unsigned touched;

	fault->ino = ino;
	fault->by = NULL;
	if (node->hidden)
		return broken(fault, AS_RULE_LAYOUT, FAULT_HIDDEN, 0, node->hidden - 1);
	if (!leaves_nothing(j, ino, node, fault))
		return false;
	if (!by || !(j->policy.times || j->policy.blocks))
		return true;
	fault->by = by;
	touched = touched_since(j, ino, by->op);
	if (j->policy.blocks && !(touched & (AS_STAMPS_MTIME | AS_STAMPS_CTIME)) &&
	    node->blocks < stable_blocks(j, ino, by))
		return broken(fault, AS_RULE_BLOCKS, FAULT_BLOCKS, stable_blocks(j, ino, by),
			      node->blocks);
	return !j->policy.times || times_ok(j, by->seen, touched, node, fault);
}
