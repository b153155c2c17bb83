/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locks: locks of ranges by fcntl(2), as posix_lock_inode() of Linux's fs/locks.c keeps them.
 *
 * Invariants
 *   1. The ranges of one owner in one inode do not overlap.
 *   2. Two of them that touch have different types: what is alike is one lock, and F_GETLK tells
 *      it as one. A lock in doubt is left as it was.
 *   3. The label of the inode holds the sum of its locks, so that states with other locks differ.
 *
 * In doubt is a lock of the process that may be gone: the process loses all that it has in an inode
 * when it closes any descriptor of it, and those that the executor opens to read the tree count.
 */
#include "model/locks.h"

#include <stdlib.h>

static uint64_t label_of(const struct as_record *r)
{
	uint64_t who = as_mix64((uint64_t)(uint32_t)r->owner * 4 + (uint64_t)r->type);

	return as_mix64(as_mix64(who + (uint64_t)r->start) + (uint64_t)r->end + r->doubtful);
}

/* Puts a new set in place; the caller's reference to it is taken over. */
static void replace(struct as_model *m, uint32_t ino, struct as_locks *now)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, ino, &before);

	for (uint32_t i = 0; m->locks && i < m->locks->n; i++)
		if (m->locks->r[i].ino == ino)
			inode->label -= label_of(&m->locks->r[i]);
	for (uint32_t i = 0; i < now->n; i++)
		if (now->r[i].ino == ino)
			inode->label += label_of(&now->r[i]);
	as_node_finish(m, inode, &before);
	as_locks_put(m->locks);
	if (!now->n) {
		free(now);
		now = NULL;
	}
	m->locks = now;
}

void as_locks_put(struct as_locks *locks)
{
	if (locks && --locks->ref == 0)
		free(locks);
}

static struct as_locks *room_for(const struct as_locks *old, uint32_t more)
{
	uint32_t n = (old ? old->n : 0) + more;
	struct as_locks *now = as_xcalloc(1, sizeof(*now) + n * sizeof(now->r[0]));

	now->ref = 1;
	return now;
}

static void add(struct as_locks *now, struct as_record r)
{
	if (r.start <= r.end)
		now->r[now->n++] = r;
}

/* Whether the two are one lock: of one type, and without a gap. */
static bool are_one(const struct as_record *a, const struct as_record *b)
{
	return a->type == b->type && !a->doubtful && !b->doubtful && a->end >= b->start - 1 &&
	       b->end >= a->start - 1;
}

void as_locks_set(struct as_model *m, struct as_record want)
{
	struct as_locks *now = room_for(m->locks, 2);

	for (uint32_t i = 0; m->locks && i < m->locks->n; i++) {
		struct as_record r = m->locks->r[i], left = r, right = r;

		if (r.ino != want.ino || r.owner != want.owner || r.end < want.start - 1 ||
		    r.start - 1 > want.end) {
			add(now, r);
		} else if (are_one(&r, &want)) {
			want.start = r.start < want.start ? r.start : want.start;
			want.end = r.end > want.end ? r.end : want.end;
		} else {
			left.end = left.end < want.start ? left.end : want.start - 1;
			add(now, left);
			/* There is nothing after the largest offset. */
			if (want.end < INT64_MAX) {
				right.start = right.start > want.end ? right.start : want.end + 1;
				add(now, right);
			}
		}
	}
	if (want.type != AS_F_UNLCK)
		add(now, want);
	replace(m, want.ino, now);
}

/* A lock as it is from now on; false: gone. */
typedef bool change_fn(const struct as_file *file, bool mapped, struct as_record *r);

static void change_all(struct as_model *m, const struct as_file *file, bool mapped,
		       change_fn *change)
{
	struct as_locks *now = room_for(m->locks, 0);

	for (uint32_t i = 0; i < m->locks->n; i++) {
		struct as_record r = m->locks->r[i];

		if (r.ino != file->ino || change(file, mapped, &r))
			add(now, r);
	}
	replace(m, file->ino, now);
}

static bool close_one(const struct as_file *file, bool mapped, struct as_record *r)
{
	/* munmap(2) is no close(2): __fput() ends the locks of what was opened alone. */
	if (r->owner == AS_LOCKS_PROCESS)
		return file->slot >= AS_MAP_SLOT || file->flags & AS_O_PATH;
	if (r->owner != file->slot)
		return true;
	r->owner += mapped ? AS_MAP_SLOT : 0;
	return mapped;
}

void as_locks_close(struct as_model *m, const struct as_file *file, bool mapped)
{
	if (m->locks)
		change_all(m, file, mapped, close_one);
}

static bool doubt_one(const struct as_file *file, bool mapped, struct as_record *r)
{
	(void)file;
	(void)mapped;
	r->doubtful |= r->owner == AS_LOCKS_PROCESS;
	return true;
}

void as_locks_doubt(struct as_model *m)
{
	for (uint32_t i = 0; m->locks && i < m->locks->n; i++) {
		struct as_file file = { .ino = m->locks->r[i].ino };

		if (!m->locks->r[i].doubtful && m->locks->r[i].owner == AS_LOCKS_PROCESS)
			change_all(m, &file, false, doubt_one);
	}
}

const struct as_record *as_locks_next(const struct as_model *m, const struct as_record *want,
				      const struct as_record *after)
{
	uint32_t n = m->locks ? m->locks->n : 0;
	bool own = want->type == AS_F_UNLCK;

	for (uint32_t i = after ? (uint32_t)(after - m->locks->r) + 1 : 0; i < n; i++) {
		const struct as_record *r = &m->locks->r[i];

		if (r->ino != want->ino || r->start > want->end || want->start > r->end)
			continue;
		if (own ? r->owner == want->owner
			: r->owner != want->owner &&
				    (r->type == AS_F_WRLCK || want->type == AS_F_WRLCK))
			return r;
	}
	return NULL;
}
