/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_act: what calls do to descriptors and directories; one function for each row of act.def. */
#include "base/hash.h"
#include "cover/world_inside.h"

#include <errno.h>
#include <stdlib.h>

enum { O_CLOEXEC_BIT = 02000000, O_DIRECTORY_BIT = 0200000, O_TMPFILE_BITS = 020200000 };

struct acting {
	struct as_world *w;
	struct as_process *p;
	const struct as_syscall *call;
	const struct as_plan *plan;
	const struct as_resolved *paths;
};

/* The value of a slot, if it is there and was seen. */
static uint64_t value(const struct acting *a, int slot, uint64_t otherwise)
{
	if (slot < 0 || a->call->slots[slot].state != AS_SLOT_VALUE)
		return otherwise;
	return a->call->slots[slot].value;
}

static void act_none(const struct acting *a)
{
	(void)a;
}

/*
 * A descriptor that the kernel chose. Calls are told of when they are over; where threads share the
 * table, one may get a number before the other's close, which freed it, is told of. That close is
 * not one of the new descriptor.
 */
static void put_new(const struct acting *a, int fd, struct as_place *place, enum as_fd_kind kind,
		    bool cloexec)
{
	const struct as_fd *was = a->p->files->refs > 1 ? as_world_get(a->p, fd) : NULL;
	unsigned late = was && was->late < 255 ? was->late + 1u : 0;
	struct as_fd *at;

	as_world_put(a->w, a->p, fd, place, kind, cloexec);
	at = as_world_get(a->p, fd);
	if (at)
		at->late = (unsigned char)late;
}

static void act_open(const struct acting *a)
{
	uint64_t flags = value(a, a->plan->open_flags, 0);
	const struct as_resolved *path = &a->paths[0];
	enum as_fd_kind kind = AS_FD_REGULAR;

	if ((flags & O_TMPFILE_BITS) == O_DIRECTORY_BIT)
		kind = AS_FD_DIRECTORY;
	else if ((flags & O_TMPFILE_BITS) != O_TMPFILE_BITS && path->known &&
		 as_world_known(a->w, path->hash) == AS_KNOWN_DIRECTORY)
		kind = AS_FD_DIRECTORY;
	if (kind == AS_FD_DIRECTORY && path->known)
		as_world_learn(a->w, path->hash, AS_KNOWN_DIRECTORY);
	put_new(a, (int)a->call->ret, as_place_of(path), kind, flags & O_CLOEXEC_BIT);
}

/* Linux closes it whatever it answers, but for EBADF. */
static void act_close(const struct acting *a)
{
	int fd = (int)value(a, a->plan->fd, UINT64_MAX);
	struct as_fd *at = as_world_get(a->p, fd);

	if (a->call->err == EBADF)
		return;
	if (at && at->late)
		at->late--;
	else
		as_world_close(a->w, a->p, fd);
}

static void act_close_range(const struct acting *a)
{
	uint64_t first = value(a, a->plan->old, 0), last = value(a, a->plan->last, 0) & 0xffffffff;
	uint64_t flags = value(a, a->plan->flags, 0);

	if (flags & 2)
		as_world_unshare(a->w, a->p, true, false);
	for (uint64_t fd = first & 0xffffffff; fd <= last && fd < a->p->files->n; fd++) {
		if (!(flags & 4))
			as_world_close(a->w, a->p, (int)fd);
		else if (as_world_get(a->p, (int64_t)fd))
			a->p->files->at[fd].cloexec = true;
	}
}

static void copy_fd(const struct acting *a, int from, int to, bool cloexec)
{
	struct as_fd *at = as_world_get(a->p, from);

	if (from == to)
		return;
	if (at)
		as_world_put(a->w, a->p, to, as_place_share(at->place), (enum as_fd_kind)at->kind,
			     cloexec);
	else
		as_world_close(a->w, a->p, to);
}

static void act_dup(const struct acting *a)
{
	copy_fd(a, (int)value(a, a->plan->old, UINT64_MAX), (int)a->call->ret, false);
}

static void act_dup2(const struct acting *a)
{
	copy_fd(a, (int)value(a, a->plan->old, UINT64_MAX), (int)a->call->ret,
		value(a, a->plan->flags, 0) & O_CLOEXEC_BIT);
}

static void act_fcntl(const struct acting *a)
{
	int fd = (int)value(a, a->plan->fd, UINT64_MAX);
	uint64_t cmd = value(a, a->plan->word, UINT64_MAX);

	if (cmd == 0 || cmd == 1030)
		copy_fd(a, fd, (int)a->call->ret, cmd == 1030);
	else if (cmd == 2 && as_world_get(a->p, fd))
		a->p->files->at[fd].cloexec = value(a, a->plan->arg, 0) & 1;
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

static void set_cwd(struct as_process *p, struct as_place *cwd)
{
	as_place_drop(p->now->cwd);
	p->now->cwd = cwd;
}

static void act_chdir(const struct acting *a)
{
	set_cwd(a->p, as_place_of(&a->paths[0]));
	if (a->paths[0].known)
		as_world_learn(a->w, a->paths[0].hash, AS_KNOWN_DIRECTORY);
}

static void act_fchdir(const struct acting *a)
{
	struct as_fd *at = as_world_get(a->p, (int)value(a, a->plan->fd, UINT64_MAX));

	set_cwd(a->p, at ? as_place_share(at->place) : NULL);
}

static void act_chroot(const struct acting *a)
{
	as_place_drop(a->p->now->root);
	a->p->now->root = as_place_of(&a->paths[0]);
}

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

static void act_exec(const struct acting *a)
{
	struct as_files *files;

	as_world_unshare(a->w, a->p, true, false);
	files = a->p->files;
	for (unsigned fd = 0; fd < files->n; fd++)
		if (files->at[fd].kind != AS_FD_CLOSED && files->at[fd].cloexec)
			as_world_close(a->w, a->p, (int)fd);
}

static void act_exit(const struct acting *a)
{
	as_world_drop(a->w, a->p);
}

static void act_exit_group(const struct acting *a)
{
	unsigned group = a->p->group, tids[64], n;

	if (!a->p->threads) {
		act_exit(a);
		return;
	}
	do {
		n = 0;
		for (unsigned i = 0; i < a->w->table_size && n < 64; i++)
			if (a->w->table[i] && a->w->table[i]->group == group)
				tids[n++] = a->w->table[i]->tid;
		for (unsigned i = 0; i < n; i++)
			as_world_exit(a->w, tids[i]);
	} while (n);
}

static void act_mkdir(const struct acting *a)
{
	if (a->paths[0].known)
		as_world_learn(a->w, a->paths[0].hash, AS_KNOWN_DIRECTORY);
}

static void act_symlink(const struct acting *a)
{
	if (a->paths[0].known)
		as_world_learn(a->w, a->paths[0].hash, AS_KNOWN_SYMLINK);
}

static void act_remove(const struct acting *a)
{
	if (a->paths[0].known)
		as_world_learn(a->w, a->paths[0].hash, AS_KNOWN_NOT);
}

static void act_rename(const struct acting *a)
{
	enum as_known kind;

	if (!a->paths[0].known || !a->paths[1].known)
		return;
	kind = as_world_known(a->w, a->paths[0].hash);
	as_world_learn(a->w, a->paths[0].hash, AS_KNOWN_NOT);
	as_world_learn(a->w, a->paths[1].hash, kind);
}

static void act_readlink(const struct acting *a)
{
	(void)a; /* what it gives away is used before */
}

static void act_readdir(const struct acting *a)
{
	(void)a; /* the same */
}

static void act_hides(const struct acting *a)
{
	(void)a;
}

static void (*const acts[])(const struct acting *) = {
	[AS_ACT_NONE] = act_none,
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
	[AS_ACT_FORK] = act_fork,
	[AS_ACT_VFORK] = act_vfork,
	[AS_ACT_CLONE] = act_clone,
	[AS_ACT_UNSHARE] = act_unshare,
	[AS_ACT_EXEC] = act_exec,
	[AS_ACT_EXIT] = act_exit,
	[AS_ACT_EXIT_GROUP] = act_exit_group,
	[AS_ACT_MKDIR] = act_mkdir,
	[AS_ACT_SYMLINK] = act_symlink,
	[AS_ACT_REMOVE] = act_remove,
	[AS_ACT_RENAME] = act_rename,
	[AS_ACT_READLINK] = act_readlink,
	[AS_ACT_READDIR] = act_readdir,
	[AS_ACT_HIDES] = act_hides,
};

void as_world_act(struct as_world *w, struct as_process *p, const struct as_syscall *call,
		  const struct as_resolved paths[2])
{
	struct acting a = { w, p, call, &w->plans[call->spec->index], paths };

	acts[call->spec->act](&a);
}
