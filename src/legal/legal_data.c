/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * legal_data: may a file hold these bytes?
 *
 * Method. The versions of a file that are still possible are the one that was made stable last and
 * all later ones. A byte may be what it was in any of them (zero, where a version is shorter or has
 * a hole), independently of its neighbours, since data is written in pieces and in any order. It
 * may be nothing else: that would be a byte that nobody wrote here.
 *
 * Rules
 *   1. A byte that was overwritten in place is the old or the new one; it is zero only if it was
 *      zero once.
 *   2. A truncate or a punched hole is metadata. Where names and attributes show that it has
 *      happened (they are those of a later point), what it removed must not come back. That holds
 *      for whole blocks; the rest of a block is zeroed as data is.
 *   3. A write may reach the disk late and in parts, so any size between the old and the new one
 *      may show. The size of a truncate or fallocate is metadata: it shows with all that came after
 *      it.
 *      A type may promise more of a file that a rename puts in the place of another one: that it
 *      is not shorter than it was then, where the rename is seen to have happened. And of a file
 *      that was emptied, written and closed: that it is not shorter than it was then, where
 *      anything is seen to have happened that came after the close.
 *   4. data=journal: data is of one point, as names and attributes are. Only the operation that was
 *      under way then may be there in part.
 *   6. at-close: data and size are those of any version that is still possible, whatever names and
 *      attributes show. whole-files: all of them are of the same version.
 *   5. data=writeback: what was touched since it was made stable may be anything.
 */
#include "legal/legal_priv.h"

#include <string.h>

/* ---- What a version has at a place ---- */

/* The run that holds pos, or the next one after it. */
static uint32_t run_at(const struct as_history_version *v, uint64_t pos)
{
	uint32_t lo = 0, hi = v->n_runs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (v->run[mid].start + v->run[mid].len <= pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* How many of the `len` bytes from pos on, all of one piece, are those of a pattern run. */
static uint64_t same_as_run(const struct as_content_piece *piece, uint64_t pos, uint64_t len,
			    const struct as_node_run *run)
{
	uint64_t key, n = 0;
	unsigned char got[64], want[64];

	if (piece->kind == AS_PIECE_PATTERN && run->pattern &&
	    as_content_key(run->pattern, run->start, run->from, &key) && key == piece->key)
		return len;
	while (n < len) {
		size_t part = len - n < sizeof(got) ? (size_t)(len - n) : sizeof(got);
		size_t i = 0;

		as_piece_bytes(piece, pos + n, got, part);
		as_pattern_fill(run->pattern, run->from + (pos + n - run->start), want, part);
		while (i < part && got[i] == want[i])
			i++;
		n += i;
		if (i < part)
			break;
	}
	return n;
}

static uint64_t same_as_zero(const struct as_content_piece *piece, uint64_t pos, uint64_t len)
{
	static const struct as_node_run zero = { 0, UINT64_MAX, 0, 0 };

	return piece->kind == AS_PIECE_ZERO ? len : same_as_run(piece, pos, len, &zero);
}

/* How many bytes from pos on, up to len, are what the version has there. */
static uint64_t matches(const struct as_history_version *v, const struct as_content_piece *piece,
			uint64_t pos, uint64_t len)
{
	uint64_t done = 0;

	for (uint32_t i = run_at(v, pos); done < len; i++) {
		uint64_t at = pos + done, n, same;

		if (i < v->n_runs && v->run[i].start <= at && at < v->size) {
			n = v->run[i].start + v->run[i].len - at;
			n = n < len - done ? n : len - done;
			same = same_as_run(piece, at, n, &v->run[i]);
		} else {
			n = i < v->n_runs && v->run[i].start > at ? v->run[i].start - at
								  : UINT64_MAX;
			n = n < len - done ? n : len - done;
			same = same_as_zero(piece, at, n);
			i--; /* the run after the hole is looked at next */
		}
		done += same;
		if (same < n)
			break;
	}
	return done;
}

/* ---- Promises ---- */

static bool covers_all(const struct as_history_promise *promise, uint32_t ino)
{
	if (promise->what.kind == AS_PERSIST_ALL)
		return true;
	return (promise->what.kind == AS_PERSIST_INODE || promise->what.kind == AS_PERSIST_DATA) &&
	       promise->what.ino == ino && promise->what.len == UINT64_MAX;
}

/* The last promise that covers all data of an inode; NULL: none, since the beginning. */
static const struct as_history_promise *legal_data_promise(const struct as_legal_judge *j,
							   uint32_t ino)
{
	for (uint32_t i = j->n_promises; i-- > 0;)
		if (covers_all(&j->h->promise[i], ino))
			return &j->h->promise[i];
	return NULL;
}

/* ---- The versions that are still possible ---- */

struct possible {
	const struct as_legal_judge *j;
	const struct as_history_inode *inode;
	uint32_t ino;
	const struct as_history_promise *by; /* of `first` */
	uint32_t first, last; /* versions */
	uint32_t meta_point; /* NO_POINT: unknown */
	uint32_t meta; /* the version then */
	bool middle; /* the version after `meta` comes with the very next point, in parts */
};

static struct possible possible_of(const struct as_legal_judge *j, uint32_t ino, uint32_t meta)
{
	struct possible p = {
		.j = j,
		.inode = &j->h->inode[ino],
		.ino = ino,
		.by = legal_data_promise(j, ino),
		.meta_point = meta,
		.meta = UINT32_MAX,
	};

	/* Rule 6. */
	if (j->policy.at_close)
		meta = p.meta_point = NO_POINT;
	p.first = p.by ? as_history_version_index(p.inode, p.by->point) : 0;
	if (p.first == UINT32_MAX) /* it was made since */
		p.first = 0;
	p.last = as_history_version_index(p.inode, j->hi);
	if (meta != NO_POINT) {
		p.meta = as_history_version_index(p.inode, meta);
		/* The version that was made stable may be newer than the point that names show:
		 * names are the same at that point and at a later one. */
		if (p.meta == UINT32_MAX || p.meta < p.first)
			p.meta = p.first;
		p.middle = p.meta < p.last && p.inode->v[p.meta + 1].point == meta + 1 &&
			   p.inode->v[p.meta + 1].gradual;
	}
	if (j->policy.data == AS_DATA_JOURNAL && meta != NO_POINT) {
		p.first = p.meta;
		p.last = p.meta + p.middle;
	}
	return p;
}

/* ---- Sizes ---- */

/* Whether the version came by a rename to a name that led to another file. */
static bool has_replaced(const struct possible *p, const struct as_history_version *v)
{
	const struct as_history *h = p->j->h;
	const struct as_op *op;
	uint32_t old; /* it may be the file itself, which has another name that was moved */

	if (!(v->what & AS_CHANGE_LINKS) || !v->linked || !v->point)
		return false;
	op = &h->ops->ops[h->point[v->point].op];
	old = as_history_child_at(h, v->parent, v->name, v->point - 1);
	return (op->code == AS_OP_RENAME ||
		(op->code == AS_OP_RENAME2 && !(op->flags & AS_RENAME_EXCHANGE))) &&
	       old && old != p->ino;
}

/* Whether an operation of this kind came after point `from` and before operation `end`. */
static bool came_between(const struct as_history *h, enum as_opcode code, uint32_t from, size_t end)
{
	for (size_t op = h->point[from].op; op < end; op++)
		if (h->ops->ops[op].code == code)
			return true;
	return false;
}

/* The size that version `first` on has got by writes, after it had emptied the file, when the file
 * was closed; 0: it was not, or nothing is seen that came later. Blocks of fallocate are not
 * delayed, so that the close need not write them. */
static uint64_t size_when_closed(const struct possible *p, uint32_t first)
{
	const struct as_history *h = p->j->h;
	const struct as_history_version *v = p->inode->v;
	uint64_t size = 0;

	if (!first || v[first].size || v[first].delayed || !(v[first].what & AS_CHANGE_SIZE))
		return 0;
	for (uint32_t i = 0; i < h->n_closes; i++) {
		const struct as_history_close *close = &h->close[i];
		uint32_t then;

		if (close->ino != p->ino || close->point < v[first].point ||
		    close->point >= p->meta_point ||
		    came_between(h, AS_OP_FALLOCATE, v[first].point, close->op))
			continue;
		then = as_history_version_index(p->inode, close->point);
		if (v[then].size > size)
			size = v[then].size;
		/* The next close does so only if the file was emptied again. */
		break;
	}
	return size;
}

/* Names and attributes are of one point: rule 3. */
static bool size_in_order(const struct possible *p, uint64_t size, struct as_legal_fault *fault)
{
	const struct as_history_version *v = p->inode->v;
	uint32_t first = p->first;
	uint64_t lo, hi;

	for (uint32_t i = p->meta; i > first; i--)
		if ((v[i].what & AS_CHANGE_SIZE) && !v[i].delayed) {
			first = i;
			break;
		}
	lo = v[first].size;
	for (uint32_t i = first; i <= p->meta && p->j->policy.replaces; i++)
		if (v[i].size > lo && has_replaced(p, &v[i]))
			lo = v[i].size;
	if (p->j->policy.replaces) {
		uint64_t closed = size_when_closed(p, first);

		lo = closed > lo ? closed : lo;
	}
	hi = v[p->meta].size > lo ? v[p->meta].size : lo;
	for (uint32_t k = 0; k < p->inode->n_promises; k++) {
		const struct as_history_promise *promise = &p->j->h->promise[p->inode->promise[k]];
		uint64_t end = promise->what.off + promise->what.len;
		const struct as_history_version *then;

		if (p->inode->promise[k] >= p->j->n_promises || promise->what.len == UINT64_MAX ||
		    promise->point < v[first].point)
			continue;
		then = &v[as_history_version_index(p->inode, promise->point)];
		end = end < then->size ? end : then->size;
		if (end > lo) {
			lo = end;
			fault->by = promise;
		}
	}
	if (p->middle) {
		uint64_t next = v[p->meta + 1].size;

		lo = next < lo ? next : lo;
		hi = next > hi ? next : hi;
	}
	fault->want_lo = lo;
	fault->want_hi = hi;
	return size >= lo && size <= hi;
}

static bool size_ever(const struct possible *p, uint64_t size, struct as_legal_fault *fault)
{
	const struct as_history_version *v = p->inode->v;
	bool ok = false;

	fault->want_lo = UINT64_MAX;
	fault->want_hi = 0;
	for (uint32_t i = p->first; i <= p->last; i++) {
		uint64_t lo = v[i].size, hi = v[i].size;

		if (i > p->first && v[i].gradual) {
			lo = v[i - 1].size < lo ? v[i - 1].size : lo;
			hi = v[i - 1].size > hi ? v[i - 1].size : hi;
		}
		ok |= size >= lo && size <= hi;
		fault->want_lo = lo < fault->want_lo ? lo : fault->want_lo;
		fault->want_hi = hi > fault->want_hi ? hi : fault->want_hi;
	}
	return ok;
}

static bool size_ok(const struct possible *p, uint64_t size, struct as_legal_fault *fault)
{
	bool ok;

	fault->by = p->by;
	ok = p->meta == UINT32_MAX ? size_ever(p, size, fault) : size_in_order(p, size, fault);
	if (ok)
		return true;
	fault->rule = AS_RULE_SIZE;
	fault->at = size;
	fault->kind = size < fault->want_lo   ? FAULT_SHORT
		      : size > fault->want_hi ? FAULT_LONG
					      : FAULT_SIZE;
	return false;
}

/* ---- Bytes ---- */

/* The first version that a byte can be of, where a write of a range was made stable; *end: how far
 * that holds at least. */
static uint32_t first_for(const struct possible *p, uint64_t pos, uint64_t *end,
			  const struct as_history_promise **by)
{
	uint32_t first = p->first;

	*by = p->by;
	for (uint32_t k = 0; k < p->inode->n_promises; k++) {
		const struct as_history_promise *promise = &p->j->h->promise[p->inode->promise[k]];
		uint64_t from = promise->what.off, to = from + promise->what.len;
		uint32_t index;

		if (p->inode->promise[k] >= p->j->n_promises || promise->what.len == UINT64_MAX)
			continue;
		if (pos < from) {
			*end = from < *end ? from : *end;
		} else if (pos < to) {
			*end = to < *end ? to : *end;
			index = as_history_version_index(p->inode, promise->point);
			if (index > first) {
				first = index;
				*by = promise;
			}
		}
	}
	return first < p->last ? first : p->last;
}

/* How many bytes from pos on may be what they are; 0: not even the first. */
static uint64_t may_be(const struct possible *p, const struct as_content_piece *piece, uint64_t pos,
		       uint64_t end, uint32_t first)
{
	const struct as_history_version *v = p->inode->v;
	uint64_t best = 0, limit = end - pos;

	for (uint32_t i = p->last + 1; i-- > first;) {
		uint64_t n = matches(&v[i], piece, pos, limit);

		best = n > best ? n : best;
		if (best == end - pos)
			break;
		/* While data is moved within the file, it may be missing. */
		if (v[i].shifted && i > first && pos >= v[i].cut_from) {
			n = same_as_zero(piece, pos, limit);
			best = n > best ? n : best;
		}
		if (p->meta == UINT32_MAX || v[i].point > p->meta_point ||
		    v[i].cut_from >= v[i].cut_to)
			continue;
		if (pos >= v[i].cut_from && pos < v[i].cut_to)
			break; /* older versions cannot show here any more */
		if (pos < v[i].cut_from && v[i].cut_from - pos < limit)
			limit = v[i].cut_from - pos;
	}
	return best;
}

/* Whether data changed after version `first`. */
static bool touched(const struct possible *p, uint32_t first)
{
	for (uint32_t i = first + 1; i <= p->last; i++)
		if (p->inode->v[i].what & (AS_CHANGE_DATA | AS_CHANGE_SIZE))
			return true;
	return p->inode->v[first].what & AS_CHANGE_MADE && !p->by;
}

/* Whose data is this? */
static bool find_owner(const struct as_legal_judge *j, const struct as_content_piece *piece,
		       uint64_t pos, uint32_t not_of, uint32_t *owner)
{
	uint64_t len = piece->start + piece->len - pos;

	len = len < 16 ? len : 16;
	if (len < 4)
		return false;
	for (uint32_t ino = 1; ino < j->h->n_inodes; ino++) {
		const struct as_history_inode *inode = &j->h->inode[ino];

		for (uint32_t i = 0; ino != not_of && i < inode->n; i++)
			for (uint32_t k = 0; k < inode->v[i].n_runs; k++) {
				struct as_node_run run = inode->v[i].run[k];

				/* It may stand at any place. */
				run.from += pos - run.start;
				run.start = pos;
				if (run.pattern && same_as_run(piece, pos, len, &run) == len) {
					*owner = ino;
					return true;
				}
				if (run.pattern && piece->kind == AS_PIECE_PATTERN &&
				    as_content_pattern(piece->key) == run.pattern) {
					*owner = ino;
					return true;
				}
			}
	}
	return false;
}

static void classify(const struct possible *p, const struct as_content_piece *piece, uint64_t pos,
		     uint32_t first, struct as_legal_fault *fault)
{
	const struct as_history_version *v = p->inode->v;

	fault->at = pos;
	fault->rule = AS_RULE_DATA;
	for (uint32_t i = 0; i < first; i++)
		if (matches(&v[i], piece, pos, 1)) {
			fault->kind = piece->kind == AS_PIECE_ZERO ? FAULT_ZEROS : FAULT_OLD;
			return;
		}
	if (piece->kind == AS_PIECE_ZERO) {
		fault->kind = FAULT_ZEROS;
		return;
	}
	/* Its own old data, which a truncate has removed that is seen to have happened. */
	for (uint32_t i = first; i <= p->last; i++)
		if (matches(&v[i], piece, pos, 1)) {
			fault->kind = FAULT_OLD;
			return;
		}
	fault->rule = AS_RULE_FOREIGN;
	fault->kind = FAULT_UNKNOWN;
	for (uint32_t i = 0; i <= p->last; i++)
		for (uint32_t k = 0; k < v[i].n_runs; k++)
			if (piece->kind == AS_PIECE_PATTERN &&
			    as_content_pattern(piece->key) == v[i].run[k].pattern)
				fault->kind = FAULT_MOVED;
	if (find_owner(p->j, piece, pos, p->ino, &fault->other))
		fault->kind = FAULT_OTHER;
}

/* Whether size and bytes are all those of one version. */
static bool is_whole(const struct as_tree_node *node, const struct as_history_version *v)
{
	if (node->size != v->size)
		return false;
	for (uint32_t i = 0; i < node->content->n; i++) {
		const struct as_content_piece *piece = &node->content->piece[i];

		if (piece->kind != AS_PIECE_UNREAD &&
		    matches(v, piece, piece->start, piece->len) < piece->len)
			return false;
	}
	return true;
}

/* Whether the version came by an operation that an executor makes of several writes. */
static bool came_in_parts(const struct possible *p, const struct as_history_version *v)
{
	const struct as_history *h = p->j->h;

	if (!v->point || !(v->what & (AS_CHANGE_DATA | AS_CHANGE_SIZE)))
		return false;
	switch (h->ops->ops[h->point[v->point].op].code) {
	case AS_OP_COPY_FILE_RANGE:
	case AS_OP_SENDFILE:
	case AS_OP_SPLICE:
	case AS_OP_MMAP_WRITE:
	case AS_OP_MSTORE:
	case AS_OP_MSYNC:
	case AS_OP_MUNMAP:
		return true;
	default:
		return false;
	}
}

static bool is_whole_once(const struct possible *p, const struct as_tree_node *node,
			  struct as_legal_fault *fault)
{
	for (uint32_t i = p->last + 1; i-- > p->first;)
		if (is_whole(node, &p->inode->v[i]) ||
		    (i > p->first && came_in_parts(p, &p->inode->v[i])))
			return true;
	fault->rule = AS_RULE_ATOMIC;
	fault->kind = FAULT_MIXED;
	fault->by = p->by;
	fault->at = node->size;
	return false;
}

bool as_legal_data_ok(const struct as_legal_judge *j, uint32_t ino, const struct as_tree_node *node,
		      uint32_t meta, struct as_legal_fault *fault)
{
	struct possible p = possible_of(j, ino, meta);

	fault->ino = ino;
	if (!size_ok(&p, node->size, fault))
		return false;
	for (uint32_t i = 0; i < node->content->n; i++) {
		const struct as_content_piece *piece = &node->content->piece[i];
		uint64_t pos = piece->start, piece_end = pos + piece->len;

		while (pos < piece_end && piece->kind != AS_PIECE_UNREAD) {
			uint64_t end = piece_end, n;
			uint32_t first = first_for(&p, pos, &end, &fault->by);

			n = may_be(&p, piece, pos, end, first);
			if (n == 0 && j->policy.data == AS_DATA_WRITEBACK && touched(&p, first))
				n = end - pos;
			if (n == 0) {
				classify(&p, piece, pos, first, fault);
				return false;
			}
			pos += n;
		}
	}
	return !j->policy.whole_files || is_whole_once(&p, node, fault);
}
