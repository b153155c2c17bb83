/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op_sync: what makes things stable, and what takes the file system away and brings it back. */
#include "model/rule.h"

static void sync_fd(struct step *s, bool all)
{
	if (fd_file(s, s->op->fd, false) && accept(s, 0) && all)
		s->m->synced = true;
}

void step_FSYNC(struct step *s)
{
	sync_fd(s, false);
}

void step_FDATASYNC(struct step *s)
{
	sync_fd(s, false);
}

void step_SYNCFS(struct step *s)
{
	sync_fd(s, true);
}

void step_SYNC(struct step *s)
{
	if (accept(s, 0))
		s->m->synced = true;
}

void step_SYNC_FILE_RANGE(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);

	if (!file)
		return;
	/* sync_file_range(2): EINVAL for unknown flags or a range that is negative or wraps. */
	if ((s->op->flags & ~7) || s->op->off < 0 || s->op->len > (uint64_t)INT64_MAX ||
	    s->op->off > INT64_MAX - (int64_t)s->op->len)
		return refuse(s, EINVAL);
	(void)accept(s, 0);
}

static int close_one(void *ctx, uint32_t slot, void *elem)
{
	int32_t *found = ctx;

	(void)elem;
	*found = (int32_t)slot;
	return 1;
}

static void close_all(struct as_model *m)
{
	int32_t slot;

	while (vec_each(&m->files, close_one, &slot))
		file_close(m, slot);
	node_set_cwd(m, MODEL_ROOT);
}

void step_UMOUNT(struct step *s)
{
	/* Decided by the executor: docs/FORMAT.md. */
	if (s->m->n_open)
		return refuse(s, EBUSY);
	if (!accept(s, 0))
		return;
	close_all(s->m);
	s->m->mounted = false;
	s->m->synced = true;
}

void step_MOUNT(struct step *s)
{
	/* Only reached while mounted: see unmounted_step. */
	refuse(s, EBUSY);
}

void step_REMOUNT(struct step *s)
{
	/* Options are the file system's own: it may know them or not. */
	if (s->op->opts && s->op->opts[0]) {
		allow(s, EINVAL);
		allow(s, EOPNOTSUPP);
	}
	(void)accept(s, 0);
}

void step_CRASH(struct step *s)
{
	if (!accept(s, 0))
		return;
	/* Everything was stable: the tree must be as it is. Otherwise the model cannot tell. */
	close_all(s->m);
	if (!s->m->synced)
		s->m->lost = true;
	s->m->mounted = true;
}

/* While unmounted the executor answers for the file system. */
void unmounted_step(struct step *s)
{
	if (s->op->code == AS_OP_UMOUNT)
		return refuse(s, EINVAL);
	if (s->op->code != AS_OP_MOUNT)
		return refuse(s, ESHUTDOWN);
	if (s->op->opts && s->op->opts[0])
		allow(s, EINVAL);
	if (accept(s, 0))
		s->m->mounted = true;
}
