/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * linear_call: one call of a thread as steps of the model, each of which happens at one moment.
 *
 * Most calls are one step. These are not, if other threads changed something meanwhile:
 *
 *   1. The walk along a path. The kernel looks up one component after the other (fs/namei.c,
 *      link_path_walk()); each lookup is atomic, the walk is not: /a/x may be found in a directory
 *      that was renamed to /b, or removed, after the first of them. What was reached is held by a
 *      reference, here by a slot that no workload can have, and the next step begins there
 *      (walk.h, WALK_PIN). Making, removing and renaming a name is atomic after the walk to the
 *      directory that holds it: all happen under its lock (two directories: lock_rename()).
 *   2. A call that acts on what a path names (stat, truncate, chmod, xattrs, readdir, link's first
 *      path): the walk goes to the inode, and the act comes later. By then the name may belong to
 *      another file, or to none: stat may show a link count of 0, and link(2) may answer ENOENT for
 *      a name that was never missing (vfs_link() of an inode without links).
 *   3. open with O_TRUNC: found or made, then truncated (handle_truncate()).
 *   4. stat: mode and owner, size and times are read one by one without a lock
 *      (generic_fillattr()), in no order that all file systems share.
 */
#include "model/rules/rule.h"
#include "race/linear_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { WHOLE, FIRST, SECOND, ACT, TRUNC };

enum how {
	NOT, /* no path, or none that is walked */
	PARENT, /* to the directory that holds the last component */
	FULL, /* all of it; whether a link at the end is followed, the operation says */
	FULL_NOFOLLOW, /* all of it, but a link at the end is not followed */
	OPENS, /* PARENT, but a link at the end may be followed; FULL for O_TMPFILE */
};

/* By what the operation does to the name (op.def). What race_form.c takes apart is not here. */
static const enum how walks[] = {
	[AS_PATHS_NONE] = NOT,	    [AS_PATHS_USE] = FULL,     [AS_PATHS_LINK] = FULL_NOFOLLOW,
	[AS_PATHS_DEFINE] = PARENT, [AS_PATHS_ENSURE] = OPENS, [AS_PATHS_ALIAS] = PARENT,
	[AS_PATHS_FROM] = PARENT,   [AS_PATHS_TO] = PARENT,    [AS_PATHS_KILL] = PARENT,
	[AS_PATHS_EMPTY] = NOT,	    [AS_PATHS_DEEPEN] = NOT,   [AS_PATHS_ENLARGE] = NOT,
	[AS_PATHS_ENTER] = NOT,
};

static enum how how_of(const struct as_op *op, enum stage stage)
{
	enum how how = walks[as_op_table[op->code].path[stage != FIRST]];

	if (how == FULL && op->nofollow)
		return FULL_NOFOLLOW;
	if (how == OPENS && op->flags & AS_O_TMPFILE_ONLY)
		return FULL;
	return how;
}

/* ---- What calls do to each other ---- */

static uint8_t leeway_of(const struct as_op *op, unsigned beside)
{
	bool walked = how_of(op, FIRST) != NOT || how_of(op, SECOND) != NOT;
	uint8_t leeway = 0;

	if (beside & AS_CHANGES_DATA)
		leeway |= LINEAR_DATA | LINEAR_SIZE;
	if (beside & AS_CHANGES_NAMES)
		leeway |= LINEAR_NAMES | LINEAR_LINKS;
	if (walked && beside & AS_CHANGES_NAMES)
		leeway |= LINEAR_APART;
	if (as_op_table[op->code].reads == AS_READS_ATTRS && beside)
		leeway |= LINEAR_APART;
	if (op->code == AS_OP_OPEN && op->flags & AS_O_TRUNC && beside)
		leeway |= LINEAR_APART;
	return leeway;
}

static bool is_beside_copy(const struct as_linear *how, size_t call)
{
	for (size_t i = 0; i < how->n; i++)
		if (as_linear_copies(&how->calls[i]) &&
		    linear_overlap(&how->calls[i], &how->calls[call]))
			return true;
	return false;
}

void as_linear_mark(struct as_linear_search *x)
{
	uint8_t *beside = as_xcalloc(x->how->n + 1, sizeof(*beside));

	as_linear_watch(x, beside);
	for (size_t i = 0; i < x->how->n; i++)
		x->leeway[i] =
			(uint8_t)(leeway_of(x->how->calls[i].op, beside[i]) |
				  (beside[i] && is_beside_copy(x->how, i) ? LINEAR_TORN : 0));
	free(beside);
}

/* ---- Walking ---- */

static int32_t pin_slot(uint32_t thread, int k)
{
	return (int32_t)(WALK_PIN_SLOT + 2 * thread) + k;
}

static uint32_t pinned(const struct as_model *m, uint32_t thread, int k)
{
	const struct as_file *file = as_file_at(m, pin_slot(thread, k));

	return file ? file->ino : MODEL_ROOT;
}

static void pin(struct as_model *m, uint32_t thread, int k, uint32_t ino)
{
	int32_t slot = pin_slot(thread, k);

	/* If this was the last reference to a directory, the directory must still exist during the
	 * change. */
	if (as_file_at(m, slot) && as_file_at(m, slot)->ino == ino)
		return;
	as_file_open(m, slot + 2 * (int32_t)AS_LINEAR_THREADS_MAX, ino, AS_O_PATH);
	as_file_close(m, slot);
	as_file_open(m, slot, ino, AS_O_PATH);
	as_file_close(m, slot + 2 * (int32_t)AS_LINEAR_THREADS_MAX);
}

static const char *after_slashes(const char *s)
{
	while (*s == '/')
		s++;
	return s;
}

static bool is_last(const char *rest)
{
	return !*after_slashes(strchrnul(rest, '/'));
}

static bool is_walked(const char *rest, enum how how)
{
	return how == PARENT || how == OPENS ? is_last(rest) : !*rest;
}

/* A link takes the place of the component that it was found at. */
static int follow(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread, int k,
		  const struct as_inode *link, const char *more)
{
	struct as_linear_party *p = &n->party[thread];
	const char *text = link->text->s;
	size_t len = link->text->len + strlen(more) + 2;
	char *rest;

	if (p->links++ >= MODEL_SYMLINKS_MAX)
		return ELOOP;
	rest = as_arena_alloc(&x->texts, len);
	snprintf(rest, len, "%s%s%s", text, *more ? "/" : "", more);
	if (*text == '/')
		pin(n->m, thread, k, MODEL_ROOT);
	p->rest[k] = after_slashes(rest);
	return 0;
}

static int look(const struct as_model *m, uint32_t dir, const char *s, size_t len, uint32_t *ino)
{
	const struct as_inode *inode = inode_at(m, dir);
	const struct as_entry *entry;

	*ino = dir;
	if (len == 1 && s[0] == '.')
		return 0;
	if (len == 2 && s[0] == '.' && s[1] == '.') {
		*ino = dir == MODEL_ROOT ? dir : inode->link.parent;
		return 0;
	}
	if (inode->nlink == 0)
		return ENOENT;
	if (len > m->traits->name_max)
		return ENAMETOOLONG;
	entry = as_entries_find(inode->dir.entries, s, len);
	*ino = entry ? entry->ino : 0;
	return entry ? 0 : ENOENT;
}

/* One component: 0, or the errno that ends the walk. */
static int take(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread, int k,
		enum how how)
{
	struct as_linear_party *p = &n->party[thread];
	const char *s = p->rest[k], *end = strchrnul(s, '/'), *more = after_slashes(end);
	uint32_t dir = pinned(n->m, thread, k), ino;
	bool dir_wanted = *end, last = !*more;
	const struct as_inode *inode;
	int err;

	if (!is_dir(inode_at(n->m, dir)))
		return ENOTDIR;
	err = look(n->m, dir, s, (size_t)(end - s), &ino);
	if (err)
		return err;
	inode = inode_at(n->m, ino);
	if (S_ISLNK(inode->mode) && (!last || dir_wanted || how != FULL_NOFOLLOW))
		return follow(x, n, thread, k, inode, last ? end : more);
	if (dir_wanted && !is_dir(inode))
		return ENOTDIR;
	pin(n->m, thread, k, ino);
	p->rest[k] = more;
	return 0;
}

/* ---- Calls taken apart ---- */

static void finish(struct as_linear_node *n, uint32_t thread)
{
	struct as_linear_party *p = &n->party[thread];

	as_file_close(n->m, pin_slot(thread, 0));
	as_file_close(n->m, pin_slot(thread, 1));
	*p = (struct as_linear_party){ .next = p->next + 1 };
	n->done++;
}

/* The walk ends with an errno, and the call with it. */
static bool fail(struct as_linear_node *n, uint32_t thread, const struct as_linear_call *c, int err)
{
	if (c->got.ret >= 0 || c->got.err != err)
		return false;
	if (c->op->code == AS_OP_OPEN)
		as_file_close(n->m, c->op->slot);
	finish(n, thread);
	return true;
}

/* The rest of the path, from where the walk is now; NULL: there is none. */
static const char *path_now(struct as_linear_search *x, const struct as_linear_node *n,
			    uint32_t thread, int k)
{
	const char *rest = n->party[thread].rest[k];

	if (!rest)
		return NULL;
	as_buf_clear(&x->text[k]);
	if (as_file_at(n->m, pin_slot(thread, k)))
		as_buf_addf(&x->text[k], "%c%d%s", WALK_PIN, pin_slot(thread, k), *rest ? "/" : "");
	else
		as_buf_addc(&x->text[k], '/');
	as_buf_adds(&x->text[k], rest);
	return as_buf_str(&x->text[k]);
}

/* Whether the last component of an open is a link to follow; *rc is then the result of following
 * it. */
static bool open_follows(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
			 const struct as_op *op, int *rc)
{
	struct as_linear_party *p = &n->party[thread];
	const char *s = p->rest[0], *end = strchrnul(s, '/');
	uint32_t dir = pinned(n->m, thread, 0), ino;
	bool stays = op->flags & AS_O_NOFOLLOW || (op->flags & AS_O_CREAT && op->flags & AS_O_EXCL);

	if (!*s || stays || !is_dir(inode_at(n->m, dir)) ||
	    look(n->m, dir, s, (size_t)(end - s), &ino) || !S_ISLNK(inode_at(n->m, ino)->mode))
		return false;
	*rc = follow(x, n, thread, 0, inode_at(n->m, ino), end);
	p->stage = FIRST;
	return true;
}

/* A regular file is found or made in one step and truncated in another. */
static bool open_apart(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
		       const struct as_linear_call *c, struct as_op *op)
{
	struct as_walk w = as_walk_path(n->m, op->path, WALK_NOFOLLOW);
	bool truncates = op->flags & AS_O_TRUNC && c->got.ret >= 0 && !w.err && w.ino &&
			 is_reg(inode_at(n->m, w.ino));
	int err = 0;

	if (open_follows(x, n, thread, op, &err))
		return err ? fail(n, thread, c, err) : true;
	if (!truncates) {
		if (!as_linear_answer(x, n, op, c))
			return false;
		finish(n, thread);
		return true;
	}
	op->flags &= ~(int64_t)AS_O_TRUNC;
	n->party[thread].stage = TRUNC;
	return as_linear_answer(x, n, op, c);
}

static bool truncate_opened(struct as_linear_node *n, uint32_t thread, const struct as_op *op)
{
	uint32_t ino = as_file_at(n->m, op->slot)->ino;
	struct as_ino_pair before;
	struct as_inode *inode = as_node_edit(n->m, ino, &before);

	as_content_truncate(inode, 0);
	as_node_finish(n->m, inode, &before);
	as_node_forget_times(n->m, ino, false, true);
	finish(n, thread);
	return true;
}

static bool act_apart(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
		      const struct as_linear_call *c)
{
	struct as_linear_party *p = &n->party[thread];
	struct as_op op = *c->op;
	bool whole;

	if (p->rest[0])
		op.path = path_now(x, n, thread, 0);
	if (p->rest[1])
		op.path2 = path_now(x, n, thread, 1);
	if (op.code == AS_OP_OPEN)
		return open_apart(x, n, thread, c, &op);
	if (as_linear_is_stat(c)) {
		if (!as_linear_stat(x, n, &op, c, &p->seen, &whole))
			return false;
		if (whole)
			finish(n, thread);
		return true;
	}
	if (!as_linear_answer(x, n, &op, c))
		return false;
	finish(n, thread);
	return true;
}

static void begin(struct as_linear_node *n, uint32_t thread, const struct as_op *op)
{
	struct as_linear_party *p = &n->party[thread];

	p->stage = FIRST;
	if (how_of(op, FIRST) != NOT)
		p->rest[0] = after_slashes(op->path);
	if (how_of(op, SECOND) != NOT)
		p->rest[1] = after_slashes(op->path2);
}

static bool step_apart(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread)
{
	const struct as_linear_call *c = linear_next(x, n, thread);
	struct as_linear_party *p = &n->party[thread];

	if (p->stage == WHOLE)
		begin(n, thread, c->op);
	for (; p->stage < ACT; p->stage++) {
		int k = p->stage - FIRST, err;
		enum how how = how_of(c->op, p->stage);

		if (how == NOT || is_walked(p->rest[k], how))
			continue;
		err = take(x, n, thread, k, how);
		return err ? fail(n, thread, c, err) : true;
	}
	return p->stage == TRUNC ? truncate_opened(n, thread, c->op) : act_apart(x, n, thread, c);
}

bool as_linear_step(struct as_linear_search *x, struct as_linear_node *n, uint32_t thread,
		    bool apart)
{
	const struct as_linear_call *c = linear_next(x, n, thread);

	if (apart)
		return step_apart(x, n, thread);
	if (!as_linear_answer(x, n, c->op, c))
		return false;
	finish(n, thread);
	return true;
}
