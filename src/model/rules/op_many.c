/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_many: operations that are many system calls in a fixed order (docs/FORMAT.md): remove, prune,
 * deepen, enlarge. They end at the first call that fails; how many took effect before is part of
 * the outcome, and the model follows.
 */
#include "model/rules/rule.h"

#include <stdio.h>
#include <string.h>

/* The first name of a directory in bytewise order. */
static const struct as_entry *first_entry(const struct as_inode *dir)
{
	const struct as_entry *entry = dir->dir.entries;

	while (entry && entry->left)
		entry = entry->left;
	return entry;
}

/* Removes up to *limit names below dir, depth first, smallest first. True when dir is empty. */
static bool empty_out(struct as_model *m, uint32_t dir, uint64_t *limit)
{
	const struct as_entry *entry;

	while ((entry = first_entry(inode_at(m, dir)))) {
		struct as_name *name = as_name_get(entry->name);
		uint32_t ino = entry->ino;
		bool done = !is_dir(inode_at(m, ino)) || empty_out(m, ino, limit);

		if (done && *limit && as_model_may_delete(m, dir, ino)) {
			as_node_unlink(m, dir, name->s, name->len);
			--*limit;
		} else {
			done = false;
		}
		as_name_put(name);
		if (!done)
			return false;
	}
	return true;
}

/* Whether flags keep something below dir from being removed. */
static bool holds_on(const struct as_model *m, uint32_t dir, const struct as_entry *entry)
{
	const struct as_inode *inode;

	if (!entry)
		return false;
	inode = inode_at(m, entry->ino);
	return !as_model_may_delete(m, dir, entry->ino) ||
	       (is_dir(inode) && holds_on(m, entry->ino, inode->dir.entries)) ||
	       holds_on(m, dir, entry->left) || holds_on(m, dir, entry->right);
}

static bool cannot_empty(const struct as_model *m, uint32_t ino)
{
	const struct as_inode *inode = inode_at(m, ino);

	return is_dir(inode) && holds_on(m, ino, inode->dir.entries);
}

static bool is_open_in(const struct as_model *m, const struct as_entry *entry);

static bool is_open(const struct as_model *m, uint32_t ino)
{
	const struct as_inode *inode = inode_at(m, ino);

	return inode->opens || (is_dir(inode) && is_open_in(m, inode->dir.entries));
}

static bool is_open_in(const struct as_model *m, const struct as_entry *entry)
{
	return entry && (is_open(m, entry->ino) || is_open_in(m, entry->left) ||
			 is_open_in(m, entry->right));
}

/* include/assay/target.h, struct as_contract: busy_errno. */
void as_rule_allow_busy(struct as_rule_step *s, uint32_t ino)
{
	const struct as_traits *traits = s->m->traits;

	if (traits->quirks & AS_QUIRK_NO_OPEN_UNLINKED && s->m->n_open && is_open(s->m, ino))
		as_rule_allow(s, traits->busy_errno ? traits->busy_errno : EBUSY);
}

/* A composite that failed may have got somewhere. */
static bool go_on(struct as_rule_step *s, int64_t ret)
{
	bool accepted = as_rule_accept(s, ret);

	if (accepted)
		return true;
	return s->got && s->got->ret < 0 && s->got->done &&
	       as_allowed_err(&s->allowed, s->got->err);
}

/* A directory that is emptied, and then cannot be removed. */
static void emptied_only(struct as_rule_step *s, uint32_t dir, int err)
{
	uint64_t limit = as_rule_composite_limit(s);

	as_rule_refuse(s, err);
	if (s->applying || (s->got && s->got->ret < 0 && s->got->err == err)) {
		as_rule_changes(s);
		empty_out(s->m, dir, &limit);
	}
}

/* The path is resolved again for the last call: what it goes through, by a
 * symbolic link or "..", may be gone with the rest by then. 0, or why it leads nowhere then. */
static int cut_off(const struct as_model *m, const char *path, uint32_t dir)
{
	uint64_t limit = UINT64_MAX;
	struct as_model *after;
	unsigned links = 0;
	int err;

	as_walk_from(m, m->cwd, path, WALK_PARENT, &links);
	if (!links && !strstr(path, ".."))
		return 0;
	after = as_model_copy(m);
	empty_out(after, dir, &limit);
	err = as_walk_path(after, path, WALK_NOFOLLOW).err;
	as_model_free(after);
	return err;
}

void as_rule_remove(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_PARENT), full;
	uint64_t limit = as_rule_composite_limit(s);
	uint32_t ino;
	int err = as_op_remove_refused(s->op->path);

	if (err || w.err)
		return as_rule_refuse(s, err ? err : w.err);
	full = as_walk_path(s->m, s->op->path, WALK_NOFOLLOW);
	if (full.err)
		return as_rule_refuse(s, full.err);
	if (as_rule_read_only(s))
		return;
	as_walk_last(s->m, &w);
	ino = full.ino;
	if (ino != w.ino) {
		/* "link/" is the directory that the link points to: it is emptied, but rmdir(2)
		 * of the link itself is ENOTDIR, or ENOENT where the link went with the rest. If
		 * that directory was removed, its list is ENOENT. */
		if (inode_at(s->m, ino)->nlink == 0)
			return as_rule_refuse(s, ENOENT);
		err = as_walk_is_above(s->m, ino, w.parent) ? ENOENT : ENOTDIR;
		if (cannot_empty(s->m, ino) || !as_model_may_delete(s->m, w.parent, w.ino))
			err = EPERM;
		return emptied_only(s, ino, err);
	}
	if (cannot_empty(s->m, ino))
		return emptied_only(s, ino, EPERM);
	if (!as_model_may_delete(s->m, w.parent, ino))
		return is_dir(inode_at(s->m, ino)) ? emptied_only(s, ino, EPERM)
						   : as_rule_refuse(s, EPERM);
	err = is_dir(inode_at(s->m, ino)) ? cut_off(s->m, s->op->path, ino) : 0;
	if (err)
		return emptied_only(s, ino, err);
	as_rule_allow_busy(s, ino);
	if (!go_on(s, 0))
		return;
	as_rule_changes(s);
	if ((!is_dir(inode_at(s->m, ino)) || empty_out(s->m, ino, &limit)) && limit)
		as_node_unlink(s->m, w.parent, w.last, w.last_len);
}

void as_rule_prune(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	uint64_t limit = as_rule_composite_limit(s);
	const struct as_inode *inode;

	if (w.err)
		return as_rule_refuse(s, w.err);
	inode = inode_at(s->m, w.ino);
	if (is_reg(inode))
		return as_rule_truncate_path(s, w.ino, 0);
	if (!is_dir(inode))
		return as_rule_refuse(s, EINVAL);
	if (inode->nlink == 0)
		as_rule_allow_removed_list(s);
	if (inode->dir.children && as_rule_read_only(s))
		return;
	if (cannot_empty(s->m, w.ino))
		return emptied_only(s, w.ino, EPERM);
	as_rule_allow_busy(s, w.ino);
	if (!go_on(s, 0))
		return;
	as_rule_changes(s);
	empty_out(s->m, w.ino, &limit);
}

/* What mkdir in a loop may run into half-way. */
static void allow_partial(struct as_rule_step *s)
{
	as_rule_allow_full(s);
	if (s->m->traits->dir_link_max)
		as_rule_allow(s, EMLINK);
}

static bool may_make_dirs(const struct as_rule_step *s, uint32_t dir)
{
	return as_rule_may_create(s, dir) && !(s->m->traits->quirks & AS_QUIRK_FLAT);
}

void as_rule_enlarge(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	uint64_t limit = as_rule_composite_limit(s), made = 0;
	const struct as_inode *inode;
	char name[24];

	if (w.err)
		return as_rule_refuse(s, w.err);
	inode = inode_at(s->m, w.ino);
	if (is_reg(inode))
		return as_rule_truncate_path(s, w.ino, inode->reg.size + s->op->len);
	if (!is_dir(inode))
		return as_rule_refuse(s, EINVAL);
	if (inode->nlink == 0 && s->op->len)
		return as_rule_refuse(s, ENOENT);
	if (s->op->len && as_rule_read_only(s))
		return;
	if (s->op->len && !may_make_dirs(s, w.ino))
		return as_rule_refuse(s, EPERM);
	allow_partial(s);
	if (!go_on(s, (int64_t)s->op->len))
		return;
	as_rule_changes(s);
	if (limit > s->op->len)
		limit = s->op->len;
	for (uint64_t i = 0; made < limit; i++) {
		struct as_walk at = { .parent = w.ino };
		int len = snprintf(name, sizeof(name), "e%llu", (unsigned long long)i);

		if (as_entries_find(inode_at(s->m, w.ino)->dir.entries, name, (size_t)len))
			continue;
		as_node_link(s->m, w.ino, name, (size_t)len,
			     as_rule_make_node(s, &at, S_IFDIR | 0755)->ino);
		made++;
	}
}

/* The new part of a chain is built from its end, so that each link costs one step of digest
 * instead of one for each directory above. */
static void build_chain(struct as_rule_step *s, uint32_t dir, uint64_t n)
{
	struct as_walk at = { .parent = dir };
	uint32_t below = 0;

	if (n == 0)
		return;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t ino = as_rule_make_node(s, &at, S_IFDIR | 0755)->ino;

		if (below)
			as_node_link(s->m, ino, "d", 1, below);
		below = ino;
	}
	as_node_link(s->m, dir, "d", 1, below);
}

void as_rule_deepen(struct as_rule_step *s)
{
	struct as_walk w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	uint64_t limit = as_rule_composite_limit(s);
	uint32_t dir = w.ino;
	struct as_entry *entry;

	if (w.err)
		return as_rule_refuse(s, w.err);
	if (!is_dir(inode_at(s->m, dir)))
		return as_rule_refuse(s, ENOTDIR);
	if (inode_at(s->m, dir)->nlink == 0 && s->op->len)
		return as_rule_refuse(s, ENOENT);
	/* Down what is there; a "d" that is no directory stops it: O_DIRECTORY|O_NOFOLLOW. */
	while (s->op->len && (entry = as_entries_find(inode_at(s->m, dir)->dir.entries, "d", 1))) {
		dir = entry->ino;
		if (!is_dir(inode_at(s->m, dir)))
			return as_rule_refuse(s, ENOTDIR);
	}
	if (s->op->len && as_rule_read_only(s))
		return;
	if (s->op->len && !may_make_dirs(s, dir))
		return as_rule_refuse(s, EPERM);
	allow_partial(s);
	/* Many open directories, one at a time: only the descent itself may fail. */
	if (!go_on(s, (int64_t)s->op->len))
		return;
	as_rule_changes(s);
	build_chain(s, dir, limit < s->op->len ? limit : s->op->len);
}
