/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fsync: what an fsync that returned promises of a tree, by the guarantee of the type.
 *
 * prefix (a log that is written in order)
 *   fsync of a file        all up to its last change: attributes, size, its names where the type
 *                          promises that (policy.h, fsync_names)
 *   fsync of a directory   the same, and all up to the last change of the names in it
 *   fdatasync              all up to the file's creation and its last change of size; with a
 *                          type whose fdatasync knows no names, up to the change of size only
 *   O_SYNC, O_DSYNC        of a range: only what this very write changed
 * object (single objects in a log)
 *   fsync of a file        its attributes; where the type promises names: that it exists, and the
 *                          directories above it; each of its names, and that it has no others
 *   fsync of a directory   the same, and which names are in it
 *   fdatasync              its data; names as fsync, where the type promises that, else that a file
 *                          with data exists
 * repair (no log)
 *   fsync of either        what it was, as long as nobody touches it again
 *
 * A sync makes everything stable: in a judgement it is the point j->synced.
 */
#include "legal/legal_priv.h"

/* ---- prefix ---- */

/* The last change of an inode of these kinds, up to that version. */
static uint32_t last_change_to(const struct as_history_inode *inode, uint32_t last, unsigned kinds)
{
	for (uint32_t i = last + 1; i-- > 0;)
		if (inode->v[i].what & kinds)
			return inode->v[i].point;
	return 0;
}

static uint32_t last_change(const struct as_history *h, uint32_t ino, unsigned kinds)
{
	const struct as_history_inode *inode = &h->inode[ino];

	return inode->n ? last_change_to(inode, inode->n - 1, kinds) : 0;
}

/* Whether something made the inode stable at one of these points. */
static bool is_promised_between(const struct as_history *h, uint32_t ino, uint32_t from,
				uint32_t to)
{
	for (uint32_t k = h->n_promises; k-- > 0;) {
		const struct as_history_promise *promise = &h->promise[k];

		if (promise->point >= from && promise->point < to &&
		    (promise->what.kind == AS_PERSIST_ALL || promise->what.ino == ino))
			return true;
	}
	return false;
}

/* For fdatasync: a size that the file had before, with nothing made stable since, is no
 * change. ext4 compares it with the one in the inode that it wrote last (need_datasync in
 * ext4_do_update_inode()): a file that grew and was cut again before its new blocks were
 * allocated needs no commit. */
static uint32_t last_resize(const struct as_history *h, uint32_t ino, uint32_t last)
{
	const struct as_history_inode *inode = &h->inode[ino];
	uint32_t i = inode->n, at;

	while (i > 0 && inode->v[i - 1].point != last)
		i--;
	if (!i || !(inode->v[i - 1].what & AS_CHANGE_SIZE))
		return last;
	for (at = i - 1; at-- > 0;)
		if (inode->v[at].size == inode->v[i - 1].size &&
		    !is_promised_between(h, ino, inode->v[at + 1].point, last))
			return last_change_to(inode, at, AS_CHANGE_MADE | AS_CHANGE_SIZE);
	return last;
}

/* The last change of what was asked for. fdatasync: a file's first name and its size are needed to
 * read its data. A range: only of what this very write changed it is known that it was waited for.
 */
uint32_t as_fsync_floor(const struct as_history *h, const struct as_policy *policy,
			const struct as_persist *what, uint32_t point)
{
	unsigned kinds = AS_CHANGE_MADE | AS_CHANGE_SIZE;
	uint32_t made, last;

	switch (what->kind) {
	case AS_PERSIST_ALL:
	case AS_PERSIST_OP:
		return point;
	case AS_PERSIST_INODE:
		kinds |= AS_CHANGE_ATTR | AS_CHANGE_XATTR | AS_CHANGE_ENTRIES;
		if (policy->fsync_names)
			kinds |= AS_CHANGE_LINKS;
		break;
	case AS_PERSIST_DATA:
		if (!policy->fdatasync_names)
			kinds = AS_CHANGE_SIZE;
		break;
	case AS_PERSIST_NOTHING:
		return 0;
	}
	if (policy->data == AS_DATA_JOURNAL)
		kinds |= AS_CHANGE_DATA;
	last = last_change(h, what->ino, kinds);
	if (what->kind == AS_PERSIST_DATA && policy->data != AS_DATA_JOURNAL)
		last = last_resize(h, what->ino, last);
	if (what->len == UINT64_MAX || what->kind == AS_PERSIST_INODE)
		return last;
	made = last_change(h, what->ino, AS_CHANGE_MADE & kinds);
	return last == point ? last : made;
}

/* ---- object ---- */

/* It makes the names of its inode stable. */
static bool is_of_names(const struct as_legal_judge *j, const struct as_history_promise *promise)
{
	return (promise->what.kind == AS_PERSIST_INODE && j->policy.fsync_names) ||
	       (promise->what.kind == AS_PERSIST_DATA && j->policy.fdatasync_names);
}

/* Its inode has a name afterwards. */
static bool is_of_existence(const struct as_legal_judge *j,
			    const struct as_history_promise *promise)
{
	if (is_of_names(j, promise))
		return true;
	return promise->what.kind == AS_PERSIST_DATA && j->policy.fsync_names &&
	       as_history_version_at(j->h, promise->what.ino, promise->point)->size;
}

uint32_t as_fsync_attrs_since(const struct as_legal_judge *j, uint32_t ino,
			      const struct as_history_promise **by)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint32_t since = j->synced;

	*by = j->synced_by;
	for (uint32_t k = inode->n_promises; k-- > 0;) {
		const struct as_history_promise *promise = &j->h->promise[inode->promise[k]];

		if (inode->promise[k] >= j->n_promises || promise->what.kind != AS_PERSIST_INODE ||
		    promise->point < since)
			continue;
		*by = promise;
		return promise->point;
	}
	return since;
}

static bool led_to(const struct as_history_edge *edge, uint32_t ino, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < edge->n; i++) {
		uint32_t end = i + 1 < edge->n ? edge->v[i + 1].point : UINT32_MAX;

		if (edge->v[i].ino == ino && edge->v[i].point <= to && end > from)
			return true;
	}
	return false;
}

uint32_t as_fsync_name_since(const struct as_legal_judge *j, const struct as_history_edge *edge,
			     const struct as_history_promise **by)
{
	uint32_t since = j->synced;

	*by = j->synced_by;
	for (uint32_t i = j->n_promises; i-- > 0;) {
		const struct as_history_promise *promise = &j->h->promise[i];
		uint32_t point = promise->point;

		if (point < since)
			break;
		/* An fsync of the directory it is in; of the file; an operation under dirsync. */
		if ((promise->what.kind == AS_PERSIST_INODE && promise->what.ino == edge->dir) ||
		    (is_of_names(j, promise) &&
		     as_history_edge_at(edge, point) == promise->what.ino) ||
		    (promise->what.kind == AS_PERSIST_OP && point > 0 &&
		     as_history_edge_at(edge, point) != as_history_edge_at(edge, point - 1))) {
			*by = promise;
			return point;
		}
	}
	return since;
}

const struct as_history_promise *
as_fsync_lost_name(const struct as_legal_judge *j, const struct as_history_edge *edge, uint32_t ino)
{
	const struct as_history_inode *inode = &j->h->inode[ino];

	for (uint32_t k = inode->n_promises; k-- > 0 && j->policy.fsync_names;) {
		const struct as_history_promise *promise = &j->h->promise[inode->promise[k]];

		if (inode->promise[k] < j->n_promises && promise->what.kind == AS_PERSIST_INODE &&
		    !led_to(edge, ino, promise->point, j->hi))
			return promise;
	}
	return NULL;
}

bool as_fsync_exists_since(const struct as_legal_judge *j, uint32_t ino, uint32_t *since,
			   const struct as_history_promise **by)
{
	*since = j->synced;
	*by = j->synced_by;
	if (as_history_there(j->h, ino, j->synced))
		return true;
	for (uint32_t i = j->n_promises; i-- > 0;) {
		const struct as_history_promise *promise = &j->h->promise[i];
		uint32_t at = promise->what.ino;

		if (promise->point < j->synced || !is_of_existence(j, promise))
			continue;
		/* The inode itself, or a directory above it. */
		while (at != ino && at != ROOT_INO && as_history_there(j->h, at, promise->point))
			at = as_history_version_at(j->h, at, promise->point)->parent;
		if (at == ino && as_history_there(j->h, ino, promise->point)) {
			*since = promise->point;
			*by = promise;
			return true;
		}
	}
	return false;
}

static bool is_fsynced_from(const struct as_legal_judge *j, uint32_t ino, uint32_t point)
{
	const struct as_history_inode *inode = &j->h->inode[ino];

	for (uint32_t k = 0; k < inode->n_promises; k++)
		if (inode->promise[k] < j->n_begun &&
		    j->h->promise[inode->promise[k]].point >= point)
			return true;
	return false;
}

bool as_fsync_is_overtaken(const struct as_legal_judge *j, uint32_t ino, uint32_t since)
{
	for (uint32_t e = 0; e < j->h->n_edges && j->policy.light_fsync; e++) {
		const struct as_history_edge *edge = &j->h->edge[e];

		if (!led_to(edge, ino, since, j->hi))
			continue;
		for (uint32_t i = 0; i < edge->n; i++)
			if (edge->v[i].ino && edge->v[i].ino != ino && edge->v[i].point > since &&
			    edge->v[i].point <= j->hi &&
			    is_fsynced_from(j, edge->v[i].ino, edge->v[i].point))
				return true;
	}
	return false;
}

/* ---- repair ---- */

bool as_fsync_is_untouched(const struct as_legal_judge *j, uint32_t ino, uint32_t since)
{
	const struct as_history_inode *inode = &j->h->inode[ino];
	uint32_t i = as_history_version_index(inode, since);

	return i != UINT32_MAX && as_history_version_index(inode, j->hi) == i;
}

uint32_t as_fsync_untouched_since(const struct as_legal_judge *j, uint32_t ino,
				  const struct as_history_promise **by)
{
	const struct as_history_inode *inode = &j->h->inode[ino];

	*by = j->synced_by;
	if (as_fsync_is_untouched(j, ino, j->synced))
		return j->synced;
	for (uint32_t k = inode->n_promises; k-- > 0;) {
		const struct as_history_promise *promise = &j->h->promise[inode->promise[k]];

		if (inode->promise[k] < j->n_promises && promise->what.kind == AS_PERSIST_INODE &&
		    promise->what.len == UINT64_MAX && promise->point >= j->synced &&
		    as_fsync_is_untouched(j, ino, promise->point)) {
			*by = promise;
			return promise->point;
		}
	}
	return NO_POINT;
}
