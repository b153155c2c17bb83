/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_data: reading, writing and shaping the contents of open files. Order of errors as in Linux's
 * fs/read_write.c and fs/open.c.
 */
#include "model/footprint.h"
#include "model/limits.h"
#include "model/mark.h"
#include "model/rules/rule.h"

#include <string.h>

/* open(2), O_DIRECT: a buffer, a length or an offset that is not aligned may be refused with
 * EINVAL, or the transfer goes through the page cache. What is refused changes nothing. */
static void allow_direct(struct as_rule_step *s, const struct as_file *file, int64_t off)
{
	uint32_t align = s->m->traits->dio_align;

	if (!(file->flags & AS_O_DIRECT))
		return;
	if (!align || ((uint64_t)off | s->op->len | s->op->mem) % align)
		as_rule_allow(s, EINVAL);
}

void as_rule_drop_setid(struct as_rule_step *s, struct as_inode *inode)
{
	if (!as_rule_has(s, AS_FEAT_UNPRIVILEGED) || !is_reg(inode))
		return;
	if (inode->mode & S_IXGRP)
		inode->mode &= (uint16_t)~S_ISGID;
	inode->mode &= (uint16_t)~S_ISUID;
	inode->flags &= (uint8_t)~INODE_SETID_UNSURE;
}

void as_rule_doubt_setid(struct as_rule_step *s, uint32_t ino)
{
	const struct as_inode *is = inode_at(s->m, ino);
	struct as_ino_pair before;
	struct as_inode *inode;

	if (!as_rule_has(s, AS_FEAT_UNPRIVILEGED) || !is_reg(is) ||
	    !(is->mode & (S_ISUID | S_ISGID)))
		return;
	inode = as_node_edit(s->m, ino, &before);
	inode->flags |= INODE_SETID_UNSURE;
	as_node_finish(s->m, inode, &before);
}

void as_rule_check_bytes(struct as_rule_step *s, const struct as_inode *inode, uint64_t off,
			 uint64_t want)
{
	const struct as_outcome *got = s->got;
	uint8_t byte = 0;
	size_t at;

	as_rule_tell_content(s, inode, off, want);
	if (!got || got->payload != AS_PAYLOAD_BYTES)
		return;
	if (got->len != want)
		return as_rule_wrong(s, "gave %zu bytes, model says %llu", got->len,
				     (unsigned long long)want);
	at = as_content_check(inode, off, got->data, got->len, &byte);
	if (at < got->len)
		as_rule_wrong(s, "byte at offset %llu is 0x%02x, model says 0x%02x",
			      (unsigned long long)(off + at), ((const uint8_t *)got->data)[at],
			      byte);
}

/* open(2), O_NOATIME. read(): "Upon successful completion, where nbyte is greater than 0", but at
 * the end of the file it is up to the file system, and with O_DIRECT, too. */
static void stamp_read(struct as_rule_step *s, const struct as_file *file, uint64_t n)
{
	bool plain = n && !(file->flags & AS_O_DIRECT);

	if (!(file->flags & AS_O_NOATIME))
		as_stamp(s->m, file->ino, plain ? AS_EVENT_READ : AS_EVENT_READ_OTHERWISE);
}

/* preadv2(2), RWF_NOWAIT: what cannot be had at once may be left out. */
static bool no_wait(const struct as_rule_step *s)
{
	return (s->op->code == AS_OP_PREADV2 || s->op->code == AS_OP_PWRITEV2) &&
	       s->op->flags & AS_RWF_NOWAIT;
}

static void read_at(struct as_rule_step *s, const struct as_file *file, int64_t off, bool move)
{
	const struct as_inode *inode = inode_at(s->m, file->ino);
	uint64_t n = 0;

	/* vfs_read(): EBADF, then rw_verify_area(), then the directory's own EISDIR (read(2)). */
	if (!as_file_reads(file))
		return as_rule_refuse(s, EBADF);
	if (as_range_overflows(off, s->op->len))
		return as_rule_refuse(s, EINVAL);
	if (is_dir(inode)) {
		/* Where lseek left a directory's offset is the file system's own affair (ext4: a
		 * hash), and so is whether it can be read from. */
		if (move)
			as_rule_allow(s, EINVAL);
		return as_rule_refuse(s, s->m->traits->quirks & AS_QUIRK_DIR_READ_EINVAL ? EINVAL
											 : EISDIR);
	}
	allow_direct(s, file, off);
	if ((uint64_t)off < inode->reg.size)
		n = inode->reg.size - (uint64_t)off;
	n = n < s->op->len ? n : s->op->len;
	if (s->got && s->got->ret < 0 && (file->flags & AS_O_DIRECT || no_wait(s)))
		stamp_read(s, file, 0);
	if (no_wait(s) && s->got && s->got->ret > 0 && (uint64_t)s->got->ret < n)
		n = (uint64_t)s->got->ret;
	if (!as_rule_accept(s, (int64_t)n))
		return;
	as_rule_check_bytes(s, inode, (uint64_t)off, n);
	if (s->said_wrong)
		return;
	if (n)
		as_node_forget_times(s->m, file->ino, true, false);
	stamp_read(s, file, n);
	as_model_use(s->m, file->ino);
	if (move)
		as_file_seek(s->m, s->op->fd, off + (int64_t)n);
}

void as_rule_read(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);

	if (file)
		read_at(s, file, file->off, true);
}

void as_rule_pread(struct as_rule_step *s)
{
	struct as_file *file;

	/* pread(2): a negative offset is EINVAL, found before the descriptor is looked at. */
	if (s->op->off < 0)
		return as_rule_refuse(s, EINVAL);
	file = as_rule_fd_file(s, s->op->fd, false);
	if (file)
		read_at(s, file, s->op->off, false);
}

uint64_t as_rule_fits(const struct as_rule_step *s, uint64_t off, uint64_t len)
{
	uint64_t max = s->m->traits->size_max;

	if (off >= max)
		return 0;
	return len < max - off ? len : max - off;
}

/* What a write that ran out of space says it wrote is believed, if it is less. */
static bool accept_count(struct as_rule_step *s, uint64_t n, uint64_t *done)
{
	int64_t got = s->got ? s->got->ret : -1;
	bool may_be_short = s->m->traits->may_fill || no_wait(s);

	*done = n;
	if (may_be_short && got > 0 && (uint64_t)got < n) {
		*done = (uint64_t)got;
		return as_rule_accept(s, got);
	}
	return as_rule_accept(s, (int64_t)n);
}

/* __generic_file_write_iter() and ext4_dio_write_checks(): the time is set before the transfer
 * is found unaligned or to need a wait, or to lack space or memory. */
void as_rule_touch_refused(struct as_rule_step *s, const struct as_file *file)
{
	int err = s->got && s->got->ret < 0 ? s->got->err : 0;

	if (err != ENOSPC && err != EDQUOT && err != ENOMEM && !(err && no_wait(s)) &&
	    !(err == EINVAL && file->flags & AS_O_DIRECT))
		return;
	as_rule_doubt_setid(s, file->ino);
	as_node_forget_times(s->m, file->ino, false, true);
	as_stamp(s->m, file->ino, AS_EVENT_TOUCHED);
}

void as_rule_allow_immutable(struct as_rule_step *s, const struct as_inode *inode)
{
	if (as_inode_flags(inode) & AS_FS_IMMUTABLE_FL)
		as_rule_allow(s, EPERM);
}

static void write_at(struct as_rule_step *s, const struct as_file *file, int64_t off, bool move)
{
	const struct as_inode *look = inode_at(s->m, file->ino);
	uint32_t ino = file->ino;
	uint64_t n;
	struct as_inode *inode;
	struct as_ino_pair before;

	if (!as_file_writes(file))
		return as_rule_refuse(s, EBADF);
	if (as_range_overflows(off, s->op->len))
		return as_rule_refuse(s, EINVAL);
	as_rule_allow_immutable(s, look);
	/* xfs_file_write_iter() looks at the offset before O_APPEND has moved it. */
	allow_direct(s, file, off);
	/* open(2), O_APPEND; pwrite(2), BUGS: on Linux it appends too. */
	if (file->flags & AS_O_APPEND)
		off = (int64_t)look->reg.size;
	allow_direct(s, file, off);
	as_rule_touch_refused(s, file);
	if (s->op->len == 0) {
		(void)as_rule_accept(s, 0);
		return;
	}
	n = as_rule_fits(s, (uint64_t)off, s->op->len);
	if (n == 0)
		return as_rule_refuse(s, EFBIG);
	as_rule_allow_full(s);
	if (!accept_count(s, n, &n))
		return;
	as_rule_check_limits(s, look, (uint64_t)off, n);
	if (s->said_wrong)
		return;
	as_rule_changes(s);
	inode = as_node_edit(s->m, ino, &before);
	as_footprint_grow(s->m, inode, (uint64_t)off);
	as_content_write(inode, (uint64_t)off, n, s->op->fill, (uint64_t)off);
	as_rule_drop_setid(s, inode);
	inode->used = s->m->clock;
	as_node_finish(s->m, inode, &before);
	as_node_forget_times(s->m, ino, false, true);
	as_stamp(s->m, ino, AS_EVENT_WRITTEN);
	if (move)
		as_file_seek(s->m, s->op->fd, off + (int64_t)n);
}

void as_rule_write(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);

	if (file)
		write_at(s, file, file->off, true);
}

void as_rule_pwrite(struct as_rule_step *s)
{
	struct as_file *file;

	if (s->op->off < 0)
		return as_rule_refuse(s, EINVAL);
	file = as_rule_fd_file(s, s->op->fd, false);
	if (file)
		write_at(s, file, s->op->off, false);
}

/* ---- With flags ---- */

enum {
	RWF_OLD = AS_RWF_HIPRI | AS_RWF_DSYNC | AS_RWF_SYNC | AS_RWF_NOWAIT | AS_RWF_APPEND,
	RWF_ATOMIC = 0x40, /* Linux 6.11 */
	/* RWF_NOAPPEND of Linux 6.9, RWF_DONTCACHE of 6.14, RWF_NOSIGNAL of 6.18: a kernel that
	 * does not know them says EOPNOTSUPP. */
	RWF_NEW = AS_RWF_NOAPPEND | RWF_ATOMIC | 0x80 | 0x100,
};

/* kiocb_set_rw_flags(); preadv2(2): EOPNOTSUPP, EAGAIN. False: refused. */
static bool rwf_ok(struct as_rule_step *s, bool writes)
{
	int64_t flags = s->op->flags, both = AS_RWF_APPEND | AS_RWF_NOAPPEND;

	if (flags & RWF_NEW)
		as_rule_allow(s, EOPNOTSUPP);
	if (flags & RWF_ATOMIC)
		as_rule_allow(s, EINVAL);
	if (flags & ~(int64_t)(RWF_OLD | RWF_NEW) || (flags & RWF_ATOMIC && !writes)) {
		as_rule_refuse(s, EOPNOTSUPP);
		return false;
	}
	if ((flags & both) == both) {
		as_rule_refuse(s, EINVAL);
		return false;
	}
	/* A file that does not know RWF_NOWAIT, or not for what is cached. */
	if (flags & AS_RWF_NOWAIT) {
		as_rule_allow(s, EAGAIN);
		as_rule_allow(s, EOPNOTSUPP);
		/* generic_write_checks(): a write through the page cache, which the type cannot do
		 * without a wait. */
		if (writes)
			as_rule_allow(s, EINVAL);
	}
	return true;
}

/* preadv2() and pwritev2(): the offset -1 stands for the descriptor's. */
static void with_flags(struct as_rule_step *s, bool writes)
{
	const struct as_file *file;
	bool moves = s->op->off == -1;
	struct as_file how;
	int64_t off;

	if (s->op->off < -1)
		return as_rule_refuse(s, EINVAL);
	file = as_rule_fd_file(s, s->op->fd, false);
	if (!file)
		return;
	if (!(writes ? as_file_writes(file) : as_file_reads(file)))
		return as_rule_refuse(s, EBADF);
	/* vfs_readv(), vfs_writev(): the file system is not called for 0 bytes. */
	if (s->op->len == 0) {
		if (is_dir(inode_at(s->m, file->ino)))
			as_rule_allow(s, EINVAL);
		(void)as_rule_accept(s, 0);
		return;
	}
	off = moves ? file->off : s->op->off;
	if (as_range_overflows(off, s->op->len))
		return as_rule_refuse(s, EINVAL);
	/* A directory has no read_iter(), without which no flag but RWF_HIPRI is known. */
	if (is_dir(inode_at(s->m, file->ino)) && s->op->flags & ~(int64_t)AS_RWF_HIPRI) {
		as_rule_allow(s, EINVAL);
		return as_rule_refuse(s, EOPNOTSUPP);
	}
	if (!rwf_ok(s, writes))
		return;
	how = *file;
	/* kiocb_set_rw_flags() */
	if (s->op->flags & AS_RWF_NOAPPEND && file->flags & AS_O_APPEND &&
	    as_inode_flags(inode_at(s->m, file->ino)) & AS_FS_APPEND_FL)
		return as_rule_refuse(s, EPERM);
	if (s->op->flags & AS_RWF_APPEND)
		how.flags |= AS_O_APPEND;
	if (s->op->flags & AS_RWF_NOAPPEND)
		how.flags &= ~(typeof(how.flags))AS_O_APPEND;
	if (writes)
		write_at(s, &how, off, moves);
	else
		read_at(s, &how, off, moves);
}

void as_rule_preadv2(struct as_rule_step *s)
{
	with_flags(s, false);
}

void as_rule_pwritev2(struct as_rule_step *s)
{
	with_flags(s, true);
}

/* ---- Sizes ---- */

static void rule_truncate_inode(struct as_rule_step *s, uint32_t ino, uint64_t size)
{
	struct as_inode *inode;
	struct as_ino_pair before;

	/* truncate(2): a length that is negative as off_t is EINVAL. */
	if (size > (uint64_t)INT64_MAX)
		return as_rule_refuse(s, EINVAL);
	/* truncate(2), EFBIG: inode_newsize_ok(). */
	if (size > s->m->traits->size_max)
		return as_rule_refuse(s, EFBIG);
	as_rule_allow_full(s);
	if (!as_rule_accept(s, 0))
		return;
	as_rule_changes(s);
	as_stamp(s->m, ino,
		 inode_at(s->m, ino)->reg.size == size ? AS_EVENT_SAME_SIZE : AS_EVENT_RESIZED);
	inode = as_node_edit(s->m, ino, &before);
	as_footprint_grow(s->m, inode, size);
	as_content_truncate(inode, size);
	as_footprint_edges(s->m, inode, 1);
	as_rule_drop_setid(s, inode);
	as_node_finish(s->m, inode, &before);
	as_node_forget_times(s->m, ino, false, true);
}

/* vfs_truncate() */
void as_rule_truncate_path(struct as_rule_step *s, uint32_t ino, uint64_t size)
{
	if (as_rule_read_only(s))
		return;
	if (size <= (uint64_t)INT64_MAX && as_flags_bar(as_inode_flags(inode_at(s->m, ino))))
		return as_rule_refuse(s, EPERM);
	rule_truncate_inode(s, ino, size);
}

void as_rule_truncate(struct as_rule_step *s)
{
	const struct as_inode *inode;
	struct as_walk w;

	/* truncate(2): a negative length is EINVAL, before the path is looked at. */
	if (s->op->len > (uint64_t)INT64_MAX)
		return as_rule_refuse(s, EINVAL);
	w = as_walk_path(s->m, s->op->path, WALK_FOLLOW);
	if (w.err)
		return as_rule_refuse(s, w.err);
	inode = inode_at(s->m, w.ino);
	if (is_dir(inode))
		return as_rule_refuse(s, EISDIR);
	if (!is_reg(inode))
		return as_rule_refuse(s, EINVAL);
	as_rule_truncate_path(s, w.ino, s->op->len);
}

void as_rule_ftruncate(struct as_rule_step *s)
{
	struct as_file *file;

	if (s->op->len > (uint64_t)INT64_MAX)
		return as_rule_refuse(s, EINVAL);
	file = as_rule_fd_file(s, s->op->fd, false);
	if (!file)
		return;
	/* ftruncate(2): EINVAL for what is no regular file or not open for writing. */
	if (!is_reg(inode_at(s->m, file->ino)) || !as_file_writes(file))
		return as_rule_refuse(s, EINVAL);
	/* do_ftruncate() */
	if (as_inode_flags(inode_at(s->m, file->ino)) & AS_FS_APPEND_FL)
		return as_rule_refuse(s, EPERM);
	as_rule_allow_immutable(s, inode_at(s->m, file->ino));
	rule_truncate_inode(s, file->ino, s->op->len);
}

/* ---- Copies and mappings ---- */

static int copy_error(struct as_rule_step *s, const struct as_file *in, const struct as_file *out)
{
	const struct as_inode *from = inode_at(s->m, in->ino), *to = inode_at(s->m, out->ino);

	/* generic_file_rw_checks(); copy_file_range(2): EISDIR, EINVAL, EBADF (also O_APPEND). */
	if (is_dir(from) || is_dir(to))
		return EISDIR;
	if (!as_file_reads(in) || !as_file_writes(out) || (out->flags & AS_O_APPEND))
		return EBADF;
	/* generic_copy_file_checks(): "Don't touch certain kinds of inodes." */
	return as_inode_flags(to) & AS_FS_IMMUTABLE_FL ? EPERM : 0;
}

void as_rule_copy_file_range(struct as_rule_step *s)
{
	struct as_file *in = as_rule_fd_file(s, s->op->fd, false), *out;
	const struct as_inode *from;
	uint64_t off = (uint64_t)s->op->off, to_off = (uint64_t)s->op->off2, n = 0;
	struct as_inode *to;
	struct as_ino_pair before;
	int err;

	if (!in)
		return;
	out = as_rule_fd_file(s, s->op->fd2, false);
	if (!out)
		return;
	err = copy_error(s, in, out);
	if (err)
		return as_rule_refuse(s, err);
	/* generic_copy_file_checks(): ranges that wrap 64 bits are EOVERFLOW, negative offsets
	 * EINVAL or EOVERFLOW depending on which check sees them first. A length beyond the sign
	 * bit is none of these: it is cut to what the source has before anybody adds it to a
	 * signed offset. */
	if (s->op->off < 0 || s->op->off2 < 0 || off + s->op->len < off ||
	    to_off + s->op->len < to_off) {
		as_rule_allow(s, EOVERFLOW);
		return as_rule_refuse(s, EINVAL);
	}
	from = inode_at(s->m, in->ino);
	if (off < from->reg.size)
		n = from->reg.size - off < s->op->len ? from->reg.size - off : s->op->len;
	/* generic_write_check_limits() asks this also when there is nothing to copy. */
	if (to_off >= s->m->traits->size_max) {
		as_rule_refuse(s, EFBIG);
		if (n == 0)
			(void)as_rule_accept(s, 0);
		return;
	}
	/* copy_file_range(2), EINVAL: same file, overlapping ranges, of what the limit leaves. */
	n = as_rule_fits(s, to_off, n);
	if (in->ino == out->ino && to_off + n > off && to_off < off + n)
		return as_rule_refuse(s, EINVAL);
	/* do_splice_from() of fs/splice.c, by which copies are made where nothing better is. */
	if (s->m->traits->quirks & AS_QUIRK_COPY_MAYBE_REFUSED)
		as_rule_allow(s, EINVAL);
	as_rule_touch_refused(s, out);
	/* The kernel chooses the buffers of the copy itself. */
	if ((in->flags | out->flags) & AS_O_DIRECT)
		as_rule_allow(s, EINVAL);
	as_rule_allow_full(s);
	/* A short copy is always allowed, nothing at all only when there is nothing. */
	if (s->got && s->got->ret > 0 && (uint64_t)s->got->ret < n)
		n = (uint64_t)s->got->ret;
	if (s->applying || s->got)
		as_stamp(s->m, in->ino, AS_EVENT_READ_OTHERWISE);
	if (!as_rule_accept(s, (int64_t)n) || n == 0)
		return;
	as_rule_changes(s);
	to = as_node_edit(s->m, out->ino, &before);
	as_footprint_grow(s->m, to, to_off);
	as_content_copy(inode_at(s->m, in->ino), off, to, to_off, n);
	as_rule_drop_setid(s, to);
	as_node_finish(s->m, to, &before);
	as_node_forget_times(s->m, out->ino, false, true);
	as_node_forget_times(s->m, in->ino, true, false);
	as_stamp(s->m, out->ino, AS_EVENT_WRITTEN);
}

static void store_mapped(struct as_rule_step *s, uint32_t ino, uint64_t len)
{
	struct as_ino_pair before;
	struct as_inode *inode;

	as_rule_check_limits(s, inode_at(s->m, ino), (uint64_t)s->op->off, len);
	if (s->said_wrong)
		return;
	as_rule_changes(s);
	inode = as_node_edit(s->m, ino, &before);
	if (len)
		as_content_write(inode, (uint64_t)s->op->off, len, s->op->fill,
				 (uint64_t)s->op->off);
	as_node_finish(s->m, inode, &before);
	as_footprint_doubt(s->m, ino);
	as_node_forget_times(s->m, ino, true, true);
	as_stamp(s->m, ino, AS_EVENT_MAPPED);
}

void as_rule_mmap_write(struct as_rule_step *s)
{
	struct as_file *file = as_rule_fd_file(s, s->op->fd, false);
	const struct as_inode *look;

	if (!file)
		return;
	look = inode_at(s->m, file->ino);
	/* The executor asks some of these itself and in its own order, so every error that
	 * applies is allowed: mmap(2) EACCES (not open for both), ENODEV (directories), EINVAL
	 * (length 0, bad offset), msync(2) EINVAL (MS_SYNC with MS_ASYNC: asked before anything
	 * is written); ENXIO: the executor's own, for writing after the end. */
	if (s->op->len == 0 || s->op->off < 0 || as_range_overflows(s->op->off, s->op->len) ||
	    (s->op->flags & AS_MS_BOTH) == AS_MS_BOTH)
		as_rule_refuse(s, EINVAL);
	else if (is_reg(look) && (uint64_t)s->op->off + s->op->len > look->reg.size)
		as_rule_refuse(s, ENXIO);
	if ((file->flags & AS_O_ACCMODE) != AS_O_RDWR)
		as_rule_refuse(s, EACCES);
	if (is_dir(look)) {
		as_rule_refuse(s, ENODEV);
		as_rule_allow(s, EACCES);
	}
	if (!as_rule_has(s, AS_FEAT_MMAP))
		as_rule_refuse(s, ENODEV);
	/* do_mmap() of what is append-only; of what is immutable, the executor answers, since the
	 * store would be a SIGBUS on ext4 (ext4_page_mkwrite()). */
	if (as_inode_flags(look) & AS_FS_APPEND_FL && as_file_writes(file))
		as_rule_refuse(s, EACCES);
	if (as_inode_flags(look) & AS_FS_IMMUTABLE_FL)
		as_rule_refuse(s, EPERM);
	if (s->allowed.must)
		return;
	as_rule_allow_full(s);
	/* A page for which there is no space raises SIGBUS (fault(), VM_FAULT_SIGBUS); those before
	 * it were stored. */
	if (s->m->traits->may_fill)
		as_rule_allow(s, ENXIO);
	if (as_rule_accept(s, 0))
		store_mapped(s, file->ino, s->op->len);
	else if (s->got && s->got->ret < 0 && s->got->err == ENXIO && s->m->traits->may_fill)
		store_mapped(s, file->ino, s->got->done < s->op->len ? s->got->done : 0);
}
