/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: changes to the graph of inodes that keep the invariants of model/state.h.
 *
 * Method. Whoever changes an inode takes its digest before (as_node_edit) and hands it back
 * afterwards (as_node_finish), which replaces the old value by the new one in the sum of each
 * parent, and so on up to the root. Edges are taken out of and put into a parent's sum with the
 * child's digest of that moment, so a child must not be between edit and finish then.
 */
#include "model/locks.h"
#include "model/stamp.h"
#include "model/state.h"
#include "model/view.h"

#include <stdlib.h>
#include <string.h>

static struct as_digest mix_in(struct as_digest a, struct as_digest b)
{
	uint64_t lo = as_mix64(a.lo + as_mix64(b.lo ^ 0x2545f4914f6cdd1du));

	return (struct as_digest){ lo, as_mix64(a.hi + as_mix64(b.hi ^ lo)) };
}
static struct as_digest xattr_digest(const struct as_inode *inode)
{
	struct as_digest sum = AS_DIGEST_ZERO;

	for (uint32_t i = 0; inode->xattrs && i < inode->xattrs->n; i++) {
		const struct as_xattr *x = &inode->xattrs->x[i];

		sum = as_digest_add(sum, as_digest_bind((struct as_digest){ x->len, x->pattern },
							x->name->hash));
	}
	return sum;
}

/* Of what the inode itself holds. Fields that are rarely set come last and are left out when
 * they are not set; the length tells both forms apart. */
static struct as_digest own_digest(const struct as_inode *inode)
{
	struct {
		uint32_t mode, nlink, uid, gid;
		uint64_t label, held, size;
		struct as_digest content;
		/* seldom */
		struct as_digest xattrs;
		int64_t atime, mtime;
		uint64_t known;
	} own = {
		.mode = inode->mode,
		.nlink = inode->nlink,
		.uid = inode->uid,
		.gid = inode->gid,
		.label = inode->label,
		.held = inode->cwd | (uint64_t)(inode->flags & INODE_LINKABLE),
	};

	if (S_ISREG(inode->mode)) {
		const struct as_runs *runs = inode->reg.runs;

		own.size = inode->reg.size;
		if (runs)
			own.content = as_hash(runs->run, runs->n * sizeof(runs->run[0]));
	} else if (S_ISLNK(inode->mode)) {
		own.content.lo = inode->text->hash;
	} else if (!S_ISDIR(inode->mode)) {
		own.size = inode->rdev;
	}
	if (!inode->times && !inode->xattrs)
		return as_hash(&own, (size_t)((char *)&own.xattrs - (char *)&own));
	own.xattrs = xattr_digest(inode);
	if (inode->times) {
		own.atime = inode->times->atime_known ? inode->times->atime_ns : 0;
		own.mtime = inode->times->mtime_known ? inode->times->mtime_ns : 0;
		own.known = 1u + inode->times->atime_known + 2u * inode->times->mtime_known;
	}
	return as_hash(&own, sizeof(own));
}

static struct as_ino_pair with_sums(const struct as_inode *inode, struct as_digest own)
{
	if (!S_ISDIR(inode->mode))
		return (struct as_ino_pair){ own, own };
	return (struct as_ino_pair){ mix_in(own, inode->dir.sum.exact),
				     mix_in(own, inode->dir.sum.canon) };
}

struct as_ino_pair as_node_digest(const struct as_inode *inode)
{
	return with_sums(inode, own_digest(inode));
}

/* Nothing where nobody asks. */
static struct as_ino_pair digest_in(const struct as_model *m, const struct as_inode *inode)
{
	return m->undigested ? (struct as_ino_pair){ 0 } : as_node_digest(inode);
}

/* A child's part in its parent's sums; with name NULL, an orphan's part in the model's. */
static struct as_ino_pair bound(const struct as_ino_pair *child, const struct as_name *name)
{
	return (struct as_ino_pair){ as_digest_bind(child->exact, name ? name->hash : 1),
				     as_digest_bind(child->canon, 1) };
}

static void sum_add(struct as_ino_pair *sum, struct as_ino_pair part)
{
	sum->exact = as_digest_add(sum->exact, part.exact);
	sum->canon = as_digest_add(sum->canon, part.canon);
}

static void sum_sub(struct as_ino_pair *sum, struct as_ino_pair part)
{
	sum->exact = as_digest_sub(sum->exact, part.exact);
	sum->canon = as_digest_sub(sum->canon, part.canon);
}

static struct as_inode *edit(struct as_model *m, uint32_t ino)
{
	return as_vec_edit(&m->inodes, ino, as_inode_dup, as_inode_put);
}

struct as_inode *as_node_edit(struct as_model *m, uint32_t ino, struct as_ino_pair *before)
{
	struct as_inode *inode = edit(m, ino);

	*before = digest_in(m, inode);
	return inode;
}

static bool same(const struct as_ino_pair *a, const struct as_ino_pair *b)
{
	return as_digest_eq(a->exact, b->exact) && as_digest_eq(a->canon, b->canon);
}

/* From a directory whose child at `link` changed, up to the root or to where nothing changes. A
 * directory's own part stays as it is, so one hash a level is enough. */
static void carry_up(struct as_model *m, struct as_link link, struct as_ino_pair old,
		     struct as_ino_pair now)
{
	for (;;) {
		struct as_inode *dir = edit(m, link.parent);
		struct as_digest own = own_digest(dir);
		struct as_ino_pair before = with_sums(dir, own), after;

		sum_sub(&dir->dir.sum, bound(&old, link.name));
		sum_add(&dir->dir.sum, bound(&now, link.name));
		after = with_sums(dir, own);
		if (same(&before, &after))
			return;
		if (dir->flags & INODE_ORPHAN) {
			sum_sub(&m->orphan_sum, bound(&before, NULL));
			sum_add(&m->orphan_sum, bound(&after, NULL));
			return;
		}
		if (!dir->link.name)
			return;
		link = dir->link;
		old = before;
		now = after;
	}
}

void as_node_finish(struct as_model *m, struct as_inode *inode, const struct as_ino_pair *before)
{
	struct as_ino_pair now = digest_in(m, inode);

	if (m->undigested || same(before, &now))
		return;
	if (inode->flags & INODE_ORPHAN) {
		sum_sub(&m->orphan_sum, bound(before, NULL));
		sum_add(&m->orphan_sum, bound(&now, NULL));
	} else if (inode->flags & INODE_MANY) {
		for (uint32_t i = 0; i < inode->many->n; i++)
			carry_up(m, inode->many->link[i], *before, now);
	} else if (inode->link.name) {
		carry_up(m, inode->link, *before, now);
	}
}

struct as_inode *as_node_new(struct as_model *m, uint32_t mode)
{
	struct as_inode *inode = as_inode_new(m->next_ino++, mode);

	inode->used = m->clock;
	if (S_ISDIR(mode))
		inode->nlink = 2;
	as_vec_set(&m->inodes, inode->ino, inode, as_inode_put);
	m->n_inodes++;
	return inode;
}

/* ---- Which inodes have several links ---- */

static void multi_change(struct as_model *m, uint32_t ino, bool add)
{
	uint32_t n = m->multi ? m->multi->n : 0, k = 0;
	struct as_inos *fresh;

	if (!add && n == 1) {
		if (--m->multi->ref == 0)
			free(m->multi);
		m->multi = NULL;
		return;
	}
	fresh = as_xmalloc(sizeof(*fresh) + (n + 1) * sizeof(uint32_t));
	fresh->ref = 1;
	for (uint32_t i = 0; i < n; i++)
		if (m->multi->ino[i] != ino)
			fresh->ino[k++] = m->multi->ino[i];
	if (add)
		fresh->ino[k++] = ino;
	fresh->n = k;
	if (m->multi && --m->multi->ref == 0)
		free(m->multi);
	m->multi = fresh;
}

/* The child's record of an edge. Not part of any digest. */
static void link_record_add(struct as_model *m, struct as_inode *inode, uint32_t dir,
			    struct as_name *name)
{
	struct as_links *many;

	if (!(inode->flags & INODE_MANY) && !inode->link.name) {
		inode->link = (struct as_link){ as_name_get(name), dir };
		return;
	}
	if (inode->flags & INODE_MANY) {
		many = inode->many;
	} else {
		many = as_xmalloc(sizeof(*many) + 2 * sizeof(many->link[0]));
		many->n = 1;
		many->cap = 2;
		many->link[0] = inode->link;
		inode->flags |= INODE_MANY;
		multi_change(m, inode->ino, true);
	}
	if (many->n == many->cap) {
		many->cap *= 2;
		many = as_xrealloc(many, sizeof(*many) + many->cap * sizeof(many->link[0]));
	}
	many->link[many->n++] = (struct as_link){ as_name_get(name), dir };
	inode->many = many;
}

static void link_record_del(struct as_model *m, struct as_inode *inode, uint32_t dir,
			    const struct as_name *name)
{
	struct as_links *many;
	uint32_t i = 0;

	if (!(inode->flags & INODE_MANY)) {
		as_name_put(inode->link.name);
		inode->link.name = NULL;
		return;
	}
	many = inode->many;
	while (many->link[i].parent != dir ||
	       as_name_cmp(many->link[i].name, name->s, name->len) != 0) {
		i++;
		as_assert(i < many->n);
	}
	as_name_put(many->link[i].name);
	many->link[i] = many->link[--many->n];
	if (many->n == 1) {
		struct as_link last = many->link[0];

		free(many);
		inode->flags &= (uint8_t)~INODE_MANY;
		inode->link = last;
		multi_change(m, inode->ino, false);
	}
}

/* ---- Edges ---- */

static void edge_in(struct as_model *m, uint32_t dir, struct as_name *name,
		    const struct as_inode *child)
{
	struct as_ino_pair before, part = digest_in(m, child);
	struct as_inode *parent;
	bool dir_child = is_dir(child);
	uint32_t ino = child->ino;

	part = bound(&part, name);
	parent = as_node_edit(m, dir, &before);
	parent->dir.entries = as_entries_add(parent->dir.entries, name, ino);
	parent->dir.children++;
	parent->nlink += dir_child;
	sum_add(&parent->dir.sum, part);
	as_times_put(parent->times);
	parent->times = NULL;
	as_node_finish(m, parent, &before);
	as_stamp(m, dir, AS_EVENT_ENTRY);
}

static void edge_out(struct as_model *m, uint32_t dir, struct as_name *name,
		     const struct as_inode *child)
{
	struct as_ino_pair before, part = digest_in(m, child);
	struct as_inode *parent;
	bool dir_child = is_dir(child);

	part = bound(&part, name);
	parent = as_node_edit(m, dir, &before);
	parent->dir.entries = as_entries_del(parent->dir.entries, name->s, name->len);
	parent->dir.children--;
	parent->nlink -= dir_child;
	sum_sub(&parent->dir.sum, part);
	as_times_put(parent->times);
	parent->times = NULL;
	as_node_finish(m, parent, &before);
	as_stamp(m, dir, AS_EVENT_ENTRY);
}

static void link_named(struct as_model *m, uint32_t dir, struct as_name *name, uint32_t ino)
{
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(m, ino, &before);

	if (inode->flags & INODE_ORPHAN) {
		sum_sub(&m->orphan_sum, bound(&before, NULL));
		inode->flags &= (uint8_t) ~(INODE_ORPHAN | INODE_LINKABLE);
	}
	if (!is_dir(inode)) {
		inode->nlink++;
		as_node_finish(m, inode, &before);
	}
	edge_in(m, dir, name, inode);
	link_record_add(m, inode, dir, name);
	as_stamp(m, ino, AS_EVENT_LINKS);
}

void as_node_link(struct as_model *m, uint32_t dir, const char *s, size_t len, uint32_t ino)
{
	struct as_name *name = as_name_new(s, len);

	link_named(m, dir, name, ino);
	as_name_put(name);
}

void as_node_orphan(struct as_model *m, uint32_t ino)
{
	struct as_inode *inode = edit(m, ino);
	struct as_ino_pair now;

	inode->flags |= INODE_ORPHAN;
	now = digest_in(m, inode);
	sum_add(&m->orphan_sum, bound(&now, NULL));
}

/* Frees an orphan that nothing holds. */
static void node_release(struct as_model *m, uint32_t ino)
{
	while (ino) {
		struct as_inode *inode = inode_at(m, ino);
		uint32_t parent = 0;
		struct as_ino_pair now;

		if (!(inode->flags & INODE_ORPHAN) || inode->opens || inode->cwd || inode->pins)
			return;
		now = digest_in(m, inode);
		sum_sub(&m->orphan_sum, bound(&now, NULL));
		if (is_dir(inode)) {
			parent = inode->link.parent;
			edit(m, parent)->pins--;
		}
		as_vec_set(&m->inodes, ino, NULL, as_inode_put);
		m->n_inodes--;
		ino = parent;
	}
}

void as_node_unlink(struct as_model *m, uint32_t dir, const char *s, size_t len)
{
	struct as_entry *entry = as_entries_find(inode_at(m, dir)->dir.entries, s, len);
	struct as_name *name = as_name_get(entry->name);
	uint32_t ino = entry->ino;
	struct as_inode *inode;
	struct as_ino_pair before;

	if (m->traits->quirks & AS_QUIRK_UNLINK_TOUCHES)
		as_node_forget_times(m, ino, true, true);
	edge_out(m, dir, name, inode_at(m, ino));
	inode = edit(m, ino);
	link_record_del(m, inode, dir, name);
	as_name_put(name);
	as_stamp(m, ino, is_dir(inode) ? AS_EVENT_REMOVED : AS_EVENT_LINKS);
	before = digest_in(m, inode);
	inode->nlink = is_dir(inode) ? 0 : inode->nlink - 1;
	if (inode->nlink) {
		as_node_finish(m, inode, &before);
		return;
	}
	if (is_dir(inode)) {
		inode->link.parent = dir;
		edit(m, dir)->pins++;
	}
	as_node_orphan(m, ino);
	node_release(m, ino);
}

void as_node_move(struct as_model *m, uint32_t from, const char *fs, size_t flen, uint32_t to,
		  const char *ts, size_t tlen)
{
	struct as_entry *entry = as_entries_find(inode_at(m, from)->dir.entries, fs, flen);
	struct as_name *old = as_name_get(entry->name), *fresh = as_name_new(ts, tlen);
	uint32_t ino = entry->ino;
	struct as_inode *inode;

	edge_out(m, from, old, inode_at(m, ino));
	inode = edit(m, ino);
	link_record_del(m, inode, from, old);
	edge_in(m, to, fresh, inode);
	link_record_add(m, edit(m, ino), to, fresh);
	as_stamp(m, ino, AS_EVENT_RENAMED);
	as_name_put(old);
	as_name_put(fresh);
}

void as_node_exchange(struct as_model *m, uint32_t a, const char *as, size_t alen, uint32_t b,
		      const char *bs, size_t blen)
{
	struct as_entry *ea = as_entries_find(inode_at(m, a)->dir.entries, as, alen);
	struct as_entry *eb = as_entries_find(inode_at(m, b)->dir.entries, bs, blen);
	struct as_name *na = as_name_get(ea->name), *nb = as_name_get(eb->name);
	uint32_t ia = ea->ino, ib = eb->ino;

	edge_out(m, a, na, inode_at(m, ia));
	edge_out(m, b, nb, inode_at(m, ib));
	link_record_del(m, edit(m, ia), a, na);
	link_record_del(m, edit(m, ib), b, nb);
	edge_in(m, b, nb, inode_at(m, ia));
	link_record_add(m, edit(m, ia), b, nb);
	edge_in(m, a, na, inode_at(m, ib));
	link_record_add(m, edit(m, ib), a, na);
	as_stamp(m, ia, AS_EVENT_MOVED);
	as_stamp(m, ib, AS_EVENT_MOVED);
	as_name_put(na);
	as_name_put(nb);
}

void as_node_forget_times(struct as_model *m, uint32_t ino, bool atime, bool mtime)
{
	const struct as_inode *look = inode_at(m, ino);
	struct as_inode *inode;
	struct as_times *times;
	struct as_ino_pair before;

	if (!look->times ||
	    (!(atime && look->times->atime_known) && !(mtime && look->times->mtime_known)))
		return;
	inode = as_node_edit(m, ino, &before);
	times = as_xmalloc(sizeof(*times));
	*times = *inode->times;
	times->ref = 1;
	times->atime_known &= !atime;
	times->mtime_known &= !mtime;
	as_times_put(inode->times);
	inode->times = times;
	if (!times->atime_known && !times->mtime_known) {
		as_times_put(times);
		inode->times = NULL;
	}
	as_node_finish(m, inode, &before);
}

void as_node_set_cwd(struct as_model *m, uint32_t ino)
{
	struct as_ino_pair before;
	struct as_inode *inode;
	uint32_t old = m->cwd;

	if (old == ino)
		return;
	inode = as_node_edit(m, ino, &before);
	inode->cwd = 1;
	as_node_finish(m, inode, &before);
	inode = as_node_edit(m, old, &before);
	inode->cwd = 0;
	as_node_finish(m, inode, &before);
	m->cwd = ino;
	node_release(m, old);
}

/* ---- Open files ---- */

/* Odd, so that no two lengths are alike. */
struct as_file *as_file_at(const struct as_model *m, int32_t slot)
{
	return slot < 0 ? NULL : as_vec_at(&m->files, (uint32_t)slot);
}

void as_file_open(struct as_model *m, int32_t slot, uint32_t ino, int64_t flags)
{
	as_file_map(m, slot, ino, flags, 0, 0);
}

void as_file_map(struct as_model *m, int32_t slot, uint32_t ino, int64_t prot, int64_t off,
		 uint64_t len)
{
	struct as_file *file = as_xcalloc(1, sizeof(*file));
	struct as_ino_pair before;
	struct as_inode *inode;

	*file = (struct as_file){ .ref = 1,
				  .ino = ino,
				  .slot = slot,
				  .flags = prot,
				  .off = off,
				  .len = len,
				  .attached = slot >= AS_MAP_SLOT };
	as_vec_set(&m->files, (uint32_t)slot, file, as_file_put);
	m->n_open++;
	inode = as_node_edit(m, ino, &before);
	inode->opens++;
	inode->label += as_file_label(file);
	as_node_finish(m, inode, &before);
}

/* What was opened lives on as long as it is mapped, and its lock with it. */
static bool leave_to_map(struct as_model *m, const struct as_file *file)
{
	int32_t slot = AS_MAP_SLOT + file->slot;
	struct as_file *map = file->slot < AS_MAP_SLOT ? as_file_at(m, slot) : NULL;
	struct as_ino_pair before;
	struct as_inode *inode;

	if (!map || !map->attached)
		return false;
	map = as_vec_edit(&m->files, (uint32_t)slot, as_file_dup, as_file_put);
	inode = as_node_edit(m, map->ino, &before);
	inode->label -= as_file_label(map);
	map->attached = false;
	map->lock = file->lock;
	inode->label += as_file_label(map);
	as_node_finish(m, inode, &before);
	return true;
}

void as_file_close(struct as_model *m, int32_t slot)
{
	struct as_file *file = as_file_at(m, slot);
	struct as_ino_pair before;
	struct as_inode *inode;
	uint32_t ino;

	if (!file)
		return;
	as_view_close(m, slot);
	file = as_file_at(m, slot);
	as_locks_close(m, file, leave_to_map(m, file));
	ino = file->ino;
	inode = as_node_edit(m, ino, &before);
	inode->opens--;
	inode->label -= as_file_label(file);
	as_node_finish(m, inode, &before);
	as_vec_set(&m->files, (uint32_t)slot, NULL, as_file_put);
	m->n_open--;
	node_release(m, ino);
}

void as_file_seek(struct as_model *m, int32_t slot, int64_t off)
{
	struct as_file *file = as_file_at(m, slot);
	struct as_ino_pair before;
	struct as_inode *inode;

	if (file->off == off)
		return;
	file = as_vec_edit(&m->files, (uint32_t)slot, as_file_dup, as_file_put);
	inode = as_node_edit(m, file->ino, &before);
	inode->label -= as_file_label(file);
	file->off = off;
	inode->label += as_file_label(file);
	as_node_finish(m, inode, &before);
}

void as_file_lock(struct as_model *m, int32_t slot, int64_t lock)
{
	struct as_file *file = as_file_at(m, slot);
	struct as_ino_pair before;
	struct as_inode *inode;

	if (file->lock == lock)
		return;
	file = as_vec_edit(&m->files, (uint32_t)slot, as_file_dup, as_file_put);
	inode = as_node_edit(m, file->ino, &before);
	inode->label -= as_file_label(file);
	file->lock = lock;
	inode->label += as_file_label(file);
	as_node_finish(m, inode, &before);
}
