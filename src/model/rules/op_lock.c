/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_lock: locks of whole files by flock(2) and of ranges by fcntl(2), as Linux's fs/locks.c keeps
 * them. The two kinds know nothing of each other. Nothing waits.
 *
 * flock:
 * 1. A lock belongs to what was opened, not to the process: two slots of one file exclude each
 *    other.
 * 2. It ends with the slot: when that is closed, or opened anew. If it is mapped then, it ends with
 *    the mapping.
 * 3. A change of a lock begins with its end (flock_lock_inode()): what is then refused leaves none.
 *
 * fcntl: model/locks.h has the ranges. Locks of what was opened (F_OFD_SETLK) exclude those of
 * other slots and those of the process (F_SETLK). A lock that is refused leaves the old ones.
 */
#include "model/locks.h"
#include "model/rules/rule.h"

#include <string.h>

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

/* A FUSE server that knows files by their paths gives each name of a file an inode of its own, and
 * locks are of inodes: who opened another name is no rival. */
static bool names_are_apart(const struct as_rule_step *s)
{
	return s->m->traits->quirks & AS_QUIRK_DIR_NLINK_ANY && as_rule_has(s, AS_FEAT_HARDLINK);
}

/* A rival of the lock that is asked for; true: it is refused. */
static bool flock_is_refused(struct as_rule_step *s)
{
	bool got_refused = s->got && s->got->ret < 0 && s->got->err == EAGAIN;
	bool apart = names_are_apart(s);

	if (apart)
		as_rule_allow(s, EAGAIN);
	else
		as_rule_refuse(s, EAGAIN);
	if (got_refused || (s->applying && !apart))
		as_file_lock(s->m, s->op->fd, 0);
	return !apart;
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
	if (file->lock != want && as_vec_each(&s->m->files, is_rival, &rivals) &&
	    flock_is_refused(s))
		return;
	if (as_rule_accept(s, 0))
		as_file_lock(s->m, s->op->fd, want);
}

/* ---- Ranges ---- */

/* flock_to_posix_lock() with SEEK_SET: 0, or an errno. */
static int range_of(const struct as_op *op, struct as_record *want)
{
	int64_t len = (int64_t)op->len;

	if (op->off < 0)
		return EINVAL;
	want->start = op->off;
	want->end = INT64_MAX;
	if (len > 0 && len - 1 > INT64_MAX - op->off)
		return EOVERFLOW;
	if (len > 0)
		want->end = op->off + (len - 1);
	/* POSIX: a negative length means the bytes before the start. */
	if (len < 0) {
		if (op->off + len < 0)
			return EINVAL;
		want->start = op->off + len;
		want->end = op->off - 1;
	}
	return want->type > AS_F_UNLCK ? EINVAL : 0;
}

/* Whose lock is asked for or about, and where; false: refused. */
static bool want_record(struct as_rule_step *s, bool process, struct as_record *want)
{
	const struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	int err;

	if (!file)
		return false;
	if (as_rule_has(s, AS_FEAT_LIBRARY)) {
		as_rule_refuse(s, EOPNOTSUPP);
		return false;
	}
	*want = (struct as_record){ .ino = file->ino,
				    .owner = process ? AS_LOCKS_PROCESS : s->op->fd,
				    .type = s->op->flags };
	/* Listing and removing open and close directories. */
	want->doubtful = process && is_dir(inode_at(s->m, file->ino));
	err = range_of(s->op, want);
	if (err)
		as_rule_refuse(s, err);
	return !err;
}

/* check_fmode_for_setlk(); the access mode 3 is neither reading nor writing. */
static bool mode_fits(const struct as_rule_step *s, int64_t type)
{
	int64_t mode = as_file_at(s->m, s->op->fd)->flags & AS_O_ACCMODE;

	if (type == AS_F_UNLCK)
		return true;
	return mode == AS_O_RDWR || mode == (type == AS_F_RDLCK ? AS_O_RDONLY : AS_O_WRONLY);
}

static void set_lock(struct as_rule_step *s, bool process)
{
	struct as_record want;
	const struct as_record *rival = NULL;

	if (!want_record(s, process, &want))
		return;
	if (!mode_fits(s, want.type))
		return as_rule_refuse(s, EBADF);
	while (want.type != AS_F_UNLCK && (rival = as_locks_next(s->m, &want, rival))) {
		if (!rival->doubtful && !names_are_apart(s))
			return as_rule_refuse(s, EAGAIN);
		as_rule_allow(s, EAGAIN);
	}
	if (as_rule_accept(s, 0))
		as_locks_set(s->m, want);
}

/* The lock in the words of vfs/vfs.h. */
static void tell(struct as_buf *out, const struct as_record *r)
{
	int64_t len = r->end == INT64_MAX ? 0 : r->end - r->start + 1;

	as_buf_addf(out, "%s at=%lld len=%lld of %s", r->type == AS_F_RDLCK ? "F_RDLCK" : "F_WRLCK",
		    (long long)r->start, (long long)len,
		    r->owner == AS_LOCKS_PROCESS ? "the process" : "a descriptor");
}

/* What F_GETLK may say: which of several locks it is, is the kernel's choice. */
struct lock_told {
	const struct as_record *sure; /* one that excludes it; NULL: none that must be there */
	bool fits; /* one of them is what was told */
	bool doubt;
};

static struct lock_told find_told(const struct as_rule_step *s, const struct as_record *want,
				  const char *got)
{
	struct lock_told t = { 0 };
	struct as_buf words = { 0 };
	const struct as_record *r = NULL;
	bool apart = names_are_apart(s);

	while ((r = as_locks_next(s->m, want, r))) {
		as_buf_clear(&words);
		tell(&words, r);
		t.fits |= !strcmp(as_buf_str(&words), got);
		t.doubt |= r->doubtful || apart;
		if (!t.sure && !r->doubtful && !apart)
			t.sure = r;
	}
	as_buf_free(&words);
	/* A lock in doubt may be there in part. */
	t.fits |= t.doubt && (apart || strstr(got, "the process"));
	return t;
}

static void check_told(struct as_rule_step *s, const struct lock_told *t, const char *got)
{
	struct as_buf words = { 0 };

	if (t->fits || (!t->sure && !strcmp(got, "F_UNLCK")))
		return;
	if (t->sure)
		tell(&words, t->sure);
	else
		as_buf_adds(&words, "F_UNLCK");
	as_rule_wrong(s, "told of %s, model says %s", got, as_buf_str(&words));
	as_buf_free(&words);
}

static void get_lock(struct as_rule_step *s, bool process)
{
	struct as_buf got = { 0 };
	struct as_record want;
	struct lock_told t;

	if (!as_rule_fd_file(s, s->op->fd, false))
		return;
	/* Since 6.6, F_OFD_GETLK with F_UNLCK tells of a lock of what was opened itself. */
	if (s->op->flags == AS_F_UNLCK && !as_rule_has(s, AS_FEAT_LIBRARY)) {
		if (process)
			return as_rule_refuse(s, EINVAL);
		as_rule_allow(s, EINVAL);
	}
	if (s->op->flags > AS_F_UNLCK)
		as_rule_allow(s, EINVAL);
	if (!want_record(s, process, &want))
		return;
	if (s->got && s->got->payload == AS_PAYLOAD_BYTES)
		as_buf_add(&got, s->got->data, s->got->len);
	t = find_told(s, &want, as_buf_str(&got));
	if (as_rule_accept(s, t.doubt ? -1 : t.sure != NULL) && got.len)
		check_told(s, &t, as_buf_str(&got));
	as_buf_free(&got);
}

void as_rule_ofd_setlk(struct as_rule_step *s)
{
	set_lock(s, false);
}

void as_rule_setlk(struct as_rule_step *s)
{
	set_lock(s, true);
}

void as_rule_ofd_getlk(struct as_rule_step *s)
{
	get_lock(s, false);
}

void as_rule_getlk(struct as_rule_step *s)
{
	get_lock(s, true);
}
