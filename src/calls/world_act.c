/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_act: what calls do to descriptors and directories; one function for each row of act.def. */
#include "calls/world_priv.h"

#include <errno.h>
#include <stdlib.h>

enum {
	O_WRITES_BITS = 03 | 0100 | 01000, /* O_WRONLY, O_RDWR, O_CREAT, O_TRUNC: of no directory */
	O_MADE_BITS = 0100 | 0200, /* O_CREAT, O_EXCL: it was not there before */
	O_CLOEXEC_BIT = 02000000,
	O_DIRECTORY_BIT = 0200000,
	O_TMPFILE_BITS = 020200000,
	O_PATH_BIT = 010000000,
};

struct acting {
	struct as_world *w;
	struct as_process *p;
	const struct as_syscall *call;
	const struct as_call_plan *plan;
	struct as_resolved *paths;
};

/* The value of a slot, if it is there and was seen. */
static uint64_t value(const struct acting *a, int slot, uint64_t otherwise)
{
	if (slot < 0 || a->call->slots[slot].state != AS_SLOT_VALUE)
		return otherwise;
	return a->call->slots[slot].value;
}

/* Is it a name that can be made and removed? */
static bool is_name(const struct as_resolved *path)
{
	return path->known && path->entry && !path->vague;
}

static void act_none(const struct acting *a)
{
	(void)a;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

/*
 * A descriptor that the kernel chose. If threads share the table and the source does not show
 * the beginnings of calls, a thread may get a number before the close that freed it is reported.
 * That close does not close the new descriptor.
 */
static void put_new(const struct acting *a, int fd, struct as_dentry *dentry, enum as_fd_kind kind,
		    bool cloexec)
{
	const struct as_fd *was = a->p->files->refs > 1 ? as_world_get(a->p, fd) : NULL;
	unsigned late = was && was->late < 255 ? was->late + 1u : 0;
	struct as_fd *at;

	as_files_put(a->w, a->p->files, fd, dentry, kind, cloexec);
	at = as_world_get(a->p, fd);
	if (at)
		at->late = (unsigned char)late;
}

static void act_open(const struct acting *a)
{
	uint64_t flags = value(a, a->plan->open_flags, 0);
	struct as_resolved *path = &a->paths[0];
	bool shown = a->plan->open_flags >= 0; /* otherwise nothing can be learnt from it */
	enum as_fd_kind kind = AS_FD_REGULAR;

	if ((flags & O_MADE_BITS) == O_MADE_BITS && is_name(path))
		as_dentry_fresh(&a->w->names, path);
	if ((flags & O_TMPFILE_BITS) == O_DIRECTORY_BIT)
		kind = AS_FD_DIRECTORY;
	else if (!(flags & O_WRITES_BITS) && path->known && !path->vague &&
		 (path->dentry->dir || path->slash || !path->entry))
		kind = AS_FD_DIRECTORY;
	if (path->known && !path->vague && !path->dentry->link && shown)
		path->dentry->dir = kind == AS_FD_DIRECTORY ||
				    (flags & O_TMPFILE_BITS) == O_TMPFILE_BITS ||
				    !path->dentry->parent;
	put_new(a, (int)a->call->ret, as_dentry_share(&a->w->names, path->dentry), kind,
		(flags | value(a, a->plan->flags, 0)) & O_CLOEXEC_BIT);
}

/* Linux closes the descriptor even if close fails, except with EBADF. */
static void act_close(const struct acting *a)
{
	int fd = (int)value(a, a->plan->fd, UINT64_MAX);
	struct as_fd *at = as_files_at(a->p->files, fd);

	if (!at)
		return;
	if (a->p->entered == a->call->spec) {
		/* It was closed when the close began. Another descriptor may have the number
		 * now. */
		if (at->closing)
			as_files_remove(a->w, a->p->files, at);
	} else if (a->call->err != EBADF) {
		if (at->late && !at->closing)
			at->late--;
		else
			as_files_remove(a->w, a->p->files, at);
	}
}

struct fd_range {
	uint64_t first, last;
	bool begun; /* only those whose close was seen to begin */
};

static bool in_range(const struct as_fd *at, const void *ctx)
{
	const struct fd_range *range = ctx;

	return (unsigned)at->fd >= range->first && (unsigned)at->fd <= range->last &&
	       (!range->begun || at->closing);
}

static void act_close_range(const struct acting *a)
{
	struct fd_range range = { value(a, a->plan->old, 0) & 0xffffffff,
				  value(a, a->plan->last, 0) & 0xffffffff, false };
	uint64_t flags = value(a, a->plan->flags, 0);
	struct as_files *files;

	if (flags & 2)
		as_world_unshare(a->w, a->p, true, false);
	else
		range.begun = a->p->entered == a->call->spec;
	files = a->p->files;
	if (!(flags & 4)) {
		as_files_remove_all(a->w, files, in_range, &range);
		return;
	}
	for (size_t i = 0; i < files->n; i++)
		files->at[i].cloexec |= in_range(&files->at[i], &range);
}

/* slot: that of the descriptor that is copied. chosen: the kernel chose the new number. */
static void copy_fd(const struct acting *a, int slot, bool cloexec, bool chosen)
{
	const struct as_fd *from = as_world_used(a->p, a->call, slot);
	int to = (int)a->call->ret, fd = (int)value(a, slot, UINT64_MAX);
	struct as_dentry *dentry;
	struct as_fd *at;

	if (fd == to)
		return;
	if (!from) {
		at = as_files_at(a->p->files, to);
		if (at)
			as_files_remove(a->w, a->p->files, at);
		return;
	}
	dentry = as_dentry_share(&a->w->names, from->dentry);
	if (chosen)
		put_new(a, to, dentry, (enum as_fd_kind)from->kind, cloexec);
	else
		as_files_put(a->w, a->p->files, to, dentry, (enum as_fd_kind)from->kind, cloexec);
	if (a->w->changed)
		as_world_set_file(a->w, a->p->tid, to, as_world_file(a->w, a->p->tid, fd));
}

static void act_dup(const struct acting *a)
{
	copy_fd(a, a->plan->old, false, true);
}

static void act_dup2(const struct acting *a)
{
	copy_fd(a, a->plan->old, value(a, a->plan->flags, 0) & O_CLOEXEC_BIT, false);
}

static void act_fcntl(const struct acting *a)
{
	uint64_t cmd = value(a, a->plan->word, UINT64_MAX);
	struct as_fd *at;

	if (cmd == 0 || cmd == 1030) {
		copy_fd(a, a->plan->fd, cmd == 1030, true);
	} else if (cmd == 2) {
		at = as_world_get(a->p, (int)value(a, a->plan->fd, UINT64_MAX));
		if (at)
			at->cloexec = value(a, a->plan->arg, 0) & 1;
	}
}

static void act_make_fd(const struct acting *a)
{
	put_new(a, (int)a->call->ret, NULL, AS_FD_OTHER,
		value(a, a->plan->flags, 0) & O_CLOEXEC_BIT);
}

static void act_make_pair(const struct acting *a)
{
	for (int i = 0; i < 2; i++)
		if (a->call->made[i] >= 0)
			put_new(a, a->call->made[i], NULL, AS_FD_OTHER,
				value(a, a->plan->flags, 0) & O_CLOEXEC_BIT);
}

/* ---- Directories ----------------------------------------------------------------------------- */

static void set_place(const struct acting *a, struct as_dentry **at, struct as_dentry *dentry)
{
	as_dentry_share(&a->w->names, dentry);
	as_dentry_drop(&a->w->names, *at);
	*at = dentry;
}

static void act_chdir(const struct acting *a)
{
	const struct as_resolved *path = &a->paths[0];

	set_place(a, &a->p->now->cwd, path->dentry);
	if (path->known && !path->vague && !path->dentry->link)
		path->dentry->dir = true;
}

static void act_fchdir(const struct acting *a)
{
	const struct as_fd *at = as_world_used(a->p, a->call, a->plan->fd);

	set_place(a, &a->p->now->cwd, at ? at->dentry : NULL);
}

static void act_chroot(const struct acting *a)
{
	set_place(a, &a->p->now->root, a->paths[0].dentry);
}

/* A process whose working directory was the old root has the new one. */
static void act_pivot(const struct acting *a)
{
	struct as_where_now *now = a->p->now;

	if (!a->paths[0].known)
		return;
	if (now->cwd == (now->root ? now->root : a->w->names.root))
		set_place(a, &now->cwd, a->paths[0].dentry);
	set_place(a, &now->root, a->paths[0].dentry);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void act_fork(const struct acting *a)
{
	if (a->call->ret > 0)
		as_world_fork(a->w, a->call->tid, (unsigned)a->call->ret, 0);
}

static void act_vfork(const struct acting *a)
{
	act_fork(a);
}

static void act_clone(const struct acting *a)
{
	uint64_t flags = value(a, a->plan->clone, value(a, a->plan->clone2, 0));

	if (a->call->ret > 0)
		as_world_fork(a->w, a->call->tid, (unsigned)a->call->ret, flags);
}

static void act_unshare(const struct acting *a)
{
	uint64_t flags = value(a, a->plan->clone, 0);

	as_world_unshare(a->w, a->p, flags & 0x400, flags & 0x200);
}

static bool is_cloexec(const struct as_fd *at, const void *ctx)
{
	(void)ctx;
	return at->cloexec;
}

static void act_exec(const struct acting *a)
{
	as_world_alone(a->w, a->p);
	as_world_unshare(a->w, a->p, true, false);
	as_files_remove_all(a->w, a->p->files, is_cloexec, NULL);
}

static void act_exit(const struct acting *a)
{
	as_world_drop(a->w, a->p);
}

static void act_exit_group(const struct acting *a)
{
	while (a->p->peer != a->p)
		as_world_drop(a->w, a->p->peer);
	as_world_drop(a->w, a->p);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void act_mkdir(const struct acting *a)
{
	if (!is_name(&a->paths[0]))
		return;
	as_dentry_fresh(&a->w->names, &a->paths[0]);
	a->paths[0].dentry->dir = true;
}

static void act_symlink(const struct acting *a)
{
	if (!is_name(&a->paths[0]))
		return;
	as_dentry_fresh(&a->w->names, &a->paths[0]);
	a->paths[0].dentry->link = true;
}

static void act_make(const struct acting *a)
{
	if (is_name(&a->paths[0]))
		as_dentry_fresh(&a->w->names, &a->paths[0]);
}

/* A link to a symbolic link is one, too. */
static void act_link(const struct acting *a)
{
	const uint64_t follow = 0x400;

	if (!is_name(&a->paths[1]))
		return;
	as_dentry_fresh(&a->w->names, &a->paths[1]);
	if (is_name(&a->paths[0]) && !(value(a, a->plan->any_flags, 0) & follow))
		a->paths[1].dentry->link = a->paths[0].dentry->link;
}

static void act_remove(const struct acting *a)
{
	if (is_name(&a->paths[0]))
		as_dentry_gone(&a->w->names, a->paths[0].dentry);
}

static void move(const struct acting *a, const struct as_resolved *from,
		 const struct as_resolved *to)
{
	if (is_name(from) && is_name(to))
		as_dentry_move(&a->w->names, from->dentry, to->dentry);
	else if (is_name(from) || is_name(to))
		as_dentry_gone(&a->w->names, is_name(from) ? from->dentry : to->dentry);
}

static void act_rename(const struct acting *a)
{
	const uint64_t exchange = 2;

	if (!(value(a, a->plan->any_flags, 0) & exchange))
		move(a, &a->paths[0], &a->paths[1]);
	else if (is_name(&a->paths[0]) && is_name(&a->paths[1]))
		as_dentry_swap(&a->w->names, a->paths[0].dentry, a->paths[1].dentry);
}

/* What was at the mount point, and below it, is hidden. */
static void act_mount(const struct acting *a)
{
	enum { REMOUNT = 32, BIND = 4096, MOVE = 8192, PROPAGATION = 15 << 17 };
	uint64_t flags = value(a, a->plan->any_flags, 0);
	const struct as_resolved *to = &a->paths[0];
	const struct as_syscall_slot *source;
	struct as_resolved from;

	if (!to->known || to->vague || flags & REMOUNT ||
	    (flags & PROPAGATION && !(flags & (BIND | MOVE))))
		return;
	source = a->plan->source < 0 ? NULL : &a->call->slots[a->plan->source];
	if (!(flags & MOVE) || !source || source->state != AS_SLOT_TEXT) {
		as_dentry_gone(&a->w->names, to->dentry);
		return;
	}
	as_world_resolve(a->w, a->p, a->p->now->cwd, source->text, source->len, &from);
	move(a, &from, to);
	as_dentry_drop(&a->w->names, from.dentry);
}

static void act_umount(const struct acting *a)
{
	if (a->paths[0].known && !a->paths[0].vague)
		as_dentry_gone(&a->w->names, a->paths[0].dentry);
}

/* If it is from a descriptor of fsmount, there is no first name. */
static void act_move_mount(const struct acting *a)
{
	if (a->paths[0].entry)
		move(a, &a->paths[0], &a->paths[1]);
	else if (a->paths[1].known && !a->paths[1].vague)
		as_dentry_gone(&a->w->names, a->paths[1].dentry);
}

/* ---- What calls give away -------------------------------------------------------------------- */

/* A readlink with a buffer of no bytes fails with EINVAL, too. */
static bool has_room(const struct as_syscall *call)
{
	for (unsigned i = 0; i < call->spec->n_slots; i++)
		if (call->spec->slots[i].class == AS_CLASS_NUMBER)
			return call->slots[i].state == AS_SLOT_VALUE &&
			       (int64_t)call->slots[i].value > 0;
	return false;
}

void as_world_learn(const struct as_syscall *call, const struct as_resolved *path)
{
	struct as_dentry *dentry = path->dentry;
	bool itself = call->spec->act == AS_ACT_REMOVE || call->spec->act == AS_ACT_READLINK;

	if (!call->finished || call->no_result || path->vague || !dentry->parent)
		return;
	if (!call->err) {
		if (path->entry && !dentry->parent->link)
			dentry->parent->dir = true;
		if (path->slash && !dentry->link)
			dentry->dir = true;
		if (call->spec->act == AS_ACT_DATA)
			dentry->dir = false;
		if (call->spec->act == AS_ACT_READLINK) {
			dentry->link = true;
			dentry->dir = false;
		}
	} else if (call->err == ENOENT) {
		/* The target of a link may be missing; that says nothing about the link. */
		dentry->link = dentry->link && !itself;
		dentry->dir = false;
	} else if (call->err == EINVAL && call->spec->act == AS_ACT_READLINK && has_room(call)) {
		dentry->link = false;
	} else if ((call->err == EISDIR && path->entry && call->spec->act != AS_ACT_RENAME) ||
		   (call->err == ENOTEMPTY && call->spec->act == AS_ACT_REMOVE)) {
		dentry->dir = !dentry->link || itself;
	}
}

static void (*const acts[])(const struct acting *) = {
	[AS_ACT_NONE] = act_none,
	[AS_ACT_DATA] = act_none, /* world_about.c has learnt from it */
	[AS_ACT_OPEN] = act_open,
	[AS_ACT_CLOSE] = act_close,
	[AS_ACT_CLOSE_RANGE] = act_close_range,
	[AS_ACT_DUP] = act_dup,
	[AS_ACT_DUP2] = act_dup2,
	[AS_ACT_FCNTL] = act_fcntl,
	[AS_ACT_MAKE_FD] = act_make_fd,
	[AS_ACT_MAKE_PAIR] = act_make_pair,
	[AS_ACT_CHDIR] = act_chdir,
	[AS_ACT_FCHDIR] = act_fchdir,
	[AS_ACT_CHROOT] = act_chroot,
	[AS_ACT_PIVOT] = act_pivot,
	[AS_ACT_FORK] = act_fork,
	[AS_ACT_VFORK] = act_vfork,
	[AS_ACT_CLONE] = act_clone,
	[AS_ACT_UNSHARE] = act_unshare,
	[AS_ACT_EXEC] = act_exec,
	[AS_ACT_EXIT] = act_exit,
	[AS_ACT_EXIT_GROUP] = act_exit_group,
	[AS_ACT_MKDIR] = act_mkdir,
	[AS_ACT_SYMLINK] = act_symlink,
	[AS_ACT_MAKE] = act_make,
	[AS_ACT_LINK] = act_link,
	[AS_ACT_REMOVE] = act_remove,
	[AS_ACT_RENAME] = act_rename,
	[AS_ACT_MOUNT] = act_mount,
	[AS_ACT_UMOUNT] = act_umount,
	[AS_ACT_MOVE_MOUNT] = act_move_mount,
	[AS_ACT_READLINK] = act_none,
	[AS_ACT_READDIR] = act_none,
	[AS_ACT_SIGRETURN] = act_none,
	[AS_ACT_HIDES] = act_none,
};

void as_world_act(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		  struct as_resolved paths[2])
{
	struct acting a = { w, p, call, &w->plans[call->spec->index], paths };

	acts[call->spec->act](&a);
}
