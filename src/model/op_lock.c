/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_lock: locks of whole files by flock(2), as Linux's fs/locks.c keeps them.
 *
 * 1. A lock belongs to what was opened, not to the process: two slots of one file exclude each
 *    other.
 * 2. It ends with the slot: when that is closed, or opened anew. If it is mapped then, it ends with
 *    the mapping.
 * 3. A change of a lock begins with its end (flock_lock_inode()): what is then refused leaves none.
 * 4. Nothing waits: the executor adds LOCK_NB.
 */
#include "model/rule.h"

struct rivals {
	const struct as_file *file;
	int64_t want;
};

static int is_rival(void *ctx, uint32_t slot, void *elem)
{
	const struct rivals *r = ctx;
	const struct as_file *other = elem;

	(void)slot;
	return other != r->file && other->ino == r->file->ino && other->lock &&
	       (other->lock == AS_LOCK_EX || r->want == AS_LOCK_EX);
}

void as_rule_flock(struct as_rule_step *s)
{
	int64_t want = s->op->flags & (AS_LOCK_SH | AS_LOCK_EX | AS_LOCK_UN);
	bool known = want == AS_LOCK_SH || want == AS_LOCK_EX || want == AS_LOCK_UN;
	struct as_file *file = as_file_at(s->m, s->op->fd);
	struct rivals rivals = { file, want };

	/* What is asked for and the descriptor were looked at in the other order before 6.0. */
	if (!known)
		as_rule_allow(s, EINVAL);
	if (!as_rule_fd_file(s, s->op->fd, false))
		return;
	if (!known)
		return as_rule_refuse(s, EINVAL);
	/* "if (type != F_UNLCK && !(f_mode & (FMODE_READ | FMODE_WRITE)))": the access mode 3. */
	if ((file->flags & AS_O_ACCMODE) == AS_O_ACCMODE)
		as_rule_allow(s, EBADF);
	if (as_rule_has(s, AS_FEAT_LIBRARY))
		return as_rule_refuse(s, EOPNOTSUPP);
	if (want == AS_LOCK_UN) {
		if (as_rule_accept(s, 0))
			as_file_lock(s->m, s->op->fd, 0);
		return;
	}
	if (file->lock != want && as_vec_each(&s->m->files, is_rival, &rivals)) {
		as_rule_refuse(s, EAGAIN);
		if (s->applying || (s->got && s->got->ret < 0 && s->got->err == EAGAIN))
			as_file_lock(s->m, s->op->fd, 0);
		return;
	}
	if (as_rule_accept(s, 0))
		as_file_lock(s->m, s->op->fd, want);
}
