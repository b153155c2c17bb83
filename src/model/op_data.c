/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * op_data: reading, writing and shaping the contents of open files. Order of errors as in Linux's
 * fs/read_write.c and fs/open.c.
 */
#include "model/rule.h"

#include <string.h>

static bool readable(const struct file *file)
{
	return (file->flags & O_ACC) != O_WR;
}

static bool writable(const struct file *file)
{
	return (file->flags & O_ACC) != 0;
}

static bool overflows(int64_t off, uint64_t len)
{
	return len > (uint64_t)INT64_MAX || off > INT64_MAX - (int64_t)len;
}

/* open(2), O_DIRECT: unaligned lengths or offsets may be refused with EINVAL. */
static void allow_direct(struct step *s, const struct file *file)
{
	if (file->flags & O_DIRECT_BIT)
		allow(s, EINVAL);
}

void drop_setid(struct step *s, struct inode *inode)
{
	if (!has(s, AS_FEAT_UNPRIVILEGED) || !is_reg(inode))
		return;
	if (inode->mode & S_IXGRP)
		inode->mode &= (uint16_t)~S_ISGID;
	inode->mode &= (uint16_t)~S_ISUID;
}

static void check_bytes(struct step *s, const struct inode *inode, uint64_t off, uint64_t want)
{
	const struct as_outcome *got = s->got;
	uint8_t byte = 0;
	size_t at;

	if (!got || got->payload != AS_PAYLOAD_BYTES)
		return;
	if (got->len != want)
		return wrong(s, "gave %zu bytes, model says %llu", got->len,
			     (unsigned long long)want);
	at = content_check(inode, off, got->data, got->len, &byte);
	if (at < got->len)
		wrong(s, "byte at offset %llu is 0x%02x, model says 0x%02x",
		      (unsigned long long)(off + at), ((const uint8_t *)got->data)[at], byte);
}

static void read_at(struct step *s, struct file *file, int64_t off, bool move)
{
	const struct inode *inode = inode_at(s->m, file->ino);
	uint64_t n = 0;

	/* vfs_read(): EBADF, then rw_verify_area(), then the directory's own EISDIR (read(2)). */
	if (!readable(file))
		return refuse(s, EBADF);
	if (overflows(off, s->op->len))
		return refuse(s, EINVAL);
	if (is_dir(inode)) {
		/* Where lseek left a directory's offset is the file system's own affair (ext4: a
		 * hash), and so is whether it can be read from. */
		if (move)
			allow(s, EINVAL);
		return refuse(s, s->m->traits->quirks & AS_QUIRK_DIR_READ_EINVAL ? EINVAL : EISDIR);
	}
	allow_direct(s, file);
	if ((uint64_t)off < inode->reg.size)
		n = inode->reg.size - (uint64_t)off;
	n = n < s->op->len ? n : s->op->len;
	if (!accept(s, (int64_t)n))
		return;
	check_bytes(s, inode, (uint64_t)off, n);
	if (s->said_wrong)
		return;
	if (n)
		node_forget_times(s->m, file->ino, true, false);
	use(s->m, file->ino);
	if (move)
		file_seek(s->m, s->op->fd, off + (int64_t)n);
}

void step_READ(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);

	if (file)
		read_at(s, file, file->off, true);
}

void step_PREAD(struct step *s)
{
	struct file *file;

	/* pread(2): a negative offset is EINVAL, found before the descriptor is looked at. */
	if (s->op->off < 0)
		return refuse(s, EINVAL);
	file = fd_file(s, s->op->fd, false);
	if (file)
		read_at(s, file, s->op->off, false);
}

/* How much of a write fits below the type's largest file; 0: EFBIG (write(2)). */
static uint64_t fits(const struct step *s, uint64_t off, uint64_t len)
{
	uint64_t max = s->m->traits->size_max;

	if (off >= max)
		return 0;
	return len < max - off ? len : max - off;
}

/* What a write that ran out of space says it wrote is believed, if it is less. */
static bool accept_count(struct step *s, uint64_t n, uint64_t *done)
{
	int64_t got = s->got ? s->got->ret : -1;
	bool may_be_short = s->m->traits->may_fill;

	*done = n;
	if (may_be_short && got > 0 && (uint64_t)got < n) {
		*done = (uint64_t)got;
		return accept(s, got);
	}
	return accept(s, (int64_t)n);
}

static void write_at(struct step *s, struct file *file, int64_t off, bool move)
{
	const struct inode *look = inode_at(s->m, file->ino);
	uint32_t ino = file->ino;
	uint64_t n;
	struct inode *inode;
	struct pair before;

	if (!writable(file))
		return refuse(s, EBADF);
	if (overflows(off, s->op->len))
		return refuse(s, EINVAL);
	/* open(2), O_APPEND; pwrite(2), BUGS: on Linux it appends too. */
	if (file->flags & O_APPEND_BIT)
		off = (int64_t)look->reg.size;
	allow_direct(s, file);
	/* __generic_file_write_iter(): the time is set before the transfer is found unaligned. */
	if (file->flags & O_DIRECT_BIT && s->got && s->got->ret < 0 && s->got->err == EINVAL)
		node_forget_times(s->m, ino, false, true);
	if (s->op->len == 0) {
		(void)accept(s, 0);
		return;
	}
	n = fits(s, (uint64_t)off, s->op->len);
	if (n == 0)
		return refuse(s, EFBIG);
	allow_full(s);
	if (!accept_count(s, n, &n))
		return;
	changes(s);
	inode = node_edit(s->m, ino, &before);
	content_write(inode, (uint64_t)off, n, s->op->fill, (uint64_t)off);
	drop_setid(s, inode);
	inode->used = s->m->clock;
	node_finish(s->m, inode, &before);
	node_forget_times(s->m, ino, false, true);
	if (move)
		file_seek(s->m, s->op->fd, off + (int64_t)n);
}

void step_WRITE(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);

	if (file)
		write_at(s, file, file->off, true);
}

void step_PWRITE(struct step *s)
{
	struct file *file;

	if (s->op->off < 0)
		return refuse(s, EINVAL);
	file = fd_file(s, s->op->fd, false);
	if (file)
		write_at(s, file, s->op->off, false);
}

/* ---- lseek ---- */

/* lseek(2): SEEK_DATA and SEEK_HOLE are hints: a file system may call holes data, but never data a
 * hole, and the end of the file is one. */
static bool seek_sparse(struct step *s, const struct inode *inode, int64_t off, bool data)
{
	uint64_t at = (uint64_t)off, size = inode->reg.size, next;
	int64_t got = s->got ? s->got->ret : -1;

	if (off < 0 && s->m->traits->quirks & AS_QUIRK_SEEK_FROM_START) {
		/* But not always: what is not on the disk yet it does not find so. */
		allow(s, ENXIO);
		at = 0;
	} else if (off < 0) {
		at = size;
	}
	if (at >= size) {
		refuse(s, ENXIO);
		return false;
	}
	next = content_next_data(inode, at);
	if (data && next >= size)
		allow(s, ENXIO);
	if (!s->got || got < 0)
		return accept(s, -1);
	if ((uint64_t)got < at || (uint64_t)got > size - data)
		wrong(s, "found %s at %lld, outside the file", data ? "data" : "a hole",
		      (long long)got);
	else if (data && (uint64_t)got > next)
		wrong(s, "found data at %lld, model has some at %llu", (long long)got,
		      (unsigned long long)next);
	else if (!data && (uint64_t)got < size && content_is_data(inode, (uint64_t)got))
		wrong(s, "found a hole at %lld, model has data there", (long long)got);
	return accept(s, -1) && !s->said_wrong;
}

void step_LSEEK(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);
	const struct inode *inode;
	int64_t off = s->op->off, base = 0;

	if (!file)
		return;
	inode = inode_at(s->m, file->ino);
	if (is_dir(inode)) {
		/* What offsets of a directory mean is the file system's own affair. */
		allow(s, EINVAL);
		allow(s, ENXIO);
		allow(s, EOVERFLOW);
		/* ext4 has its holes at INT64_MAX: who reads there overflows before it matters
		 * that it is a directory. */
		if (accept(s, -1) && s->got && s->got->ret >= 0)
			file_seek(s->m, s->op->fd, s->got->ret);
		return;
	}
	if (s->op->flags >= 3) {
		if (seek_sparse(s, inode, off, s->op->flags == 3) && s->got)
			file_seek(s->m, s->op->fd, s->got->ret);
		return;
	}
	if (s->op->flags == 1)
		base = file->off;
	else if (s->op->flags == 2)
		base = (int64_t)inode->reg.size;
	/* lseek(2): a negative result or one beyond the type's largest file is EINVAL. */
	if (__builtin_add_overflow(base, off, &off) || off < 0 ||
	    (uint64_t)off > s->m->traits->size_max)
		return refuse(s, EINVAL);
	if (accept(s, off))
		file_seek(s->m, s->op->fd, off);
}

/* ---- Sizes ---- */

void truncate_inode(struct step *s, uint32_t ino, uint64_t size)
{
	struct inode *inode;
	struct pair before;

	/* truncate(2): a length that is negative as off_t is EINVAL. */
	if (size > (uint64_t)INT64_MAX)
		return refuse(s, EINVAL);
	/* truncate(2), EFBIG: inode_newsize_ok(). */
	if (size > s->m->traits->size_max)
		return refuse(s, EFBIG);
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = node_edit(s->m, ino, &before);
	content_truncate(inode, size);
	drop_setid(s, inode);
	node_finish(s->m, inode, &before);
	node_forget_times(s->m, ino, false, true);
}

void step_TRUNCATE(struct step *s)
{
	const struct inode *inode;
	struct walk w;

	/* truncate(2): a negative length is EINVAL, before the path is looked at. */
	if (s->op->len > (uint64_t)INT64_MAX)
		return refuse(s, EINVAL);
	w = walk_path(s->m, s->op->path, WALK_FOLLOW);
	if (w.err)
		return refuse(s, w.err);
	inode = inode_at(s->m, w.ino);
	if (is_dir(inode))
		return refuse(s, EISDIR);
	if (!is_reg(inode))
		return refuse(s, EINVAL);
	truncate_inode(s, w.ino, s->op->len);
}

void step_FTRUNCATE(struct step *s)
{
	struct file *file;

	if (s->op->len > (uint64_t)INT64_MAX)
		return refuse(s, EINVAL);
	file = fd_file(s, s->op->fd, false);
	if (!file)
		return;
	/* ftruncate(2): EINVAL for what is no regular file or not open for writing. */
	if (!is_reg(inode_at(s->m, file->ino)) || !writable(file))
		return refuse(s, EINVAL);
	truncate_inode(s, file->ino, s->op->len);
}

/* ---- fallocate ---- */

enum { KEEP = 0x01, PUNCH = 0x02, COLLAPSE = 0x08, ZERO = 0x10, INSERT = 0x20, UNSHARE = 0x40 };

/* fallocate(2), EINVAL and EOPNOTSUPP: which flags go together. Linux answered EINVAL for some
 * mixtures up to 6.11 and EOPNOTSUPP since: both are allowed. */
static bool falloc_flags_ok(struct step *s, int64_t mode)
{
	int64_t kind = mode & ~KEEP;
	bool ok = kind == 0 || (kind == PUNCH && (mode & KEEP)) || kind == ZERO ||
		  kind == UNSHARE || ((kind == COLLAPSE || kind == INSERT) && !(mode & KEEP));

	if (!ok) {
		refuse(s, EOPNOTSUPP);
		allow(s, EINVAL);
	}
	return ok;
}

static bool falloc_supported(const struct step *s, int64_t mode)
{
	switch (mode & ~KEEP) {
	case 0:
		return has(s, mode & KEEP ? AS_FEAT_FALLOC_KEEP : AS_FEAT_FALLOC_ALLOC);
	case PUNCH:
		return has(s, AS_FEAT_FALLOC_PUNCH);
	case ZERO:
		return has(s, AS_FEAT_FALLOC_ZERO);
	case COLLAPSE:
		return has(s, AS_FEAT_FALLOC_COLLAPSE);
	case INSERT:
		return has(s, AS_FEAT_FALLOC_INSERT);
	default:
		return false;
	}
}

/* fallocate(2), COLLAPSE and INSERT: whole blocks only, and inside the file. */
static int range_error(const struct step *s, const struct inode *inode, int64_t kind)
{
	uint64_t off = (uint64_t)s->op->off, len = s->op->len, block = s->m->traits->block_bytes;

	if (kind != COLLAPSE && kind != INSERT)
		return 0;
	if (block && (off % block || len % block))
		return EINVAL;
	if (kind == COLLAPSE)
		return off + len >= inode->reg.size ? EINVAL : 0;
	if (off >= inode->reg.size)
		return EINVAL;
	return inode->reg.size + len > s->m->traits->size_max ? EFBIG : 0;
}

static void falloc_now(struct step *s, uint32_t ino, int64_t mode)
{
	uint64_t off = (uint64_t)s->op->off, len = s->op->len;
	struct pair before;
	struct inode *inode = node_edit(s->m, ino, &before);

	switch (mode & ~KEEP) {
	case PUNCH:
	case ZERO:
		content_punch(inode, off, len);
		break;
	case COLLAPSE:
		content_collapse(inode, off, len);
		break;
	case INSERT:
		content_insert(inode, off, len);
		break;
	default:
		break;
	}
	if (((mode & ~KEEP) == 0 || (mode & ~KEEP) == ZERO) && !(mode & KEEP) &&
	    off + len > inode->reg.size)
		inode->reg.size = off + len;
	drop_setid(s, inode);
	node_finish(s->m, inode, &before);
	node_forget_times(s->m, ino, false, true);
}

void step_FALLOCATE(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);
	int64_t mode = s->op->flags;
	const struct inode *inode;
	int err;

	if (!file)
		return;
	/* vfs_fallocate(), in its order. */
	if (s->op->off < 0 || s->op->len == 0 || s->op->len > (uint64_t)INT64_MAX)
		return refuse(s, EINVAL);
	if (!falloc_flags_ok(s, mode))
		return;
	if (!writable(file))
		return refuse(s, EBADF);
	inode = inode_at(s->m, file->ino);
	if (overflows(s->op->off, s->op->len) ||
	    (uint64_t)s->op->off + s->op->len > s->m->traits->size_max)
		return refuse(s, EFBIG);
	if (!falloc_supported(s, mode)) {
		if ((s->m->traits->quirks & AS_QUIRK_FALLOC_TOUCHES) && (s->applying || s->got))
			node_forget_times(s->m, file->ino, false, true);
		/* UNSHARE_RANGE on a type that knows it is a plain allocation. */
		return refuse(s, EOPNOTSUPP);
	}
	err = range_error(s, inode, mode & ~KEEP);
	if (err) {
		if ((s->m->traits->quirks & AS_QUIRK_FALLOC_TOUCHES) && (s->applying || s->got))
			node_forget_times(s->m, file->ino, false, true);
		return refuse(s, err);
	}
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	falloc_now(s, file->ino, mode);
}

/* ---- Copies and mappings ---- */

static int copy_error(struct step *s, const struct file *in, const struct file *out)
{
	const struct inode *from = inode_at(s->m, in->ino), *to = inode_at(s->m, out->ino);

	/* generic_file_rw_checks(); copy_file_range(2): EISDIR, EINVAL, EBADF (also O_APPEND). */
	if (is_dir(from) || is_dir(to))
		return EISDIR;
	if (!readable(in) || !writable(out) || (out->flags & O_APPEND_BIT))
		return EBADF;
	return 0;
}

void step_COPY_FILE_RANGE(struct step *s)
{
	struct file *in = fd_file(s, s->op->fd, false), *out;
	const struct inode *from;
	uint64_t off = (uint64_t)s->op->off, to_off = (uint64_t)s->op->off2, n = 0;
	struct inode *to;
	struct pair before;
	int err;

	if (!in)
		return;
	out = fd_file(s, s->op->fd2, false);
	if (!out)
		return;
	err = copy_error(s, in, out);
	if (err)
		return refuse(s, err);
	/* generic_copy_file_checks(): ranges that wrap 64 bits are EOVERFLOW, negative offsets
	 * EINVAL or EOVERFLOW depending on which check sees them first. A length beyond the sign
	 * bit is none of these: it is cut to what the source has before anybody adds it to a
	 * signed offset. */
	if (s->op->off < 0 || s->op->off2 < 0 || off + s->op->len < off ||
	    to_off + s->op->len < to_off) {
		allow(s, EOVERFLOW);
		return refuse(s, EINVAL);
	}
	from = inode_at(s->m, in->ino);
	if (off < from->reg.size)
		n = from->reg.size - off < s->op->len ? from->reg.size - off : s->op->len;
	if (to_off >= s->m->traits->size_max && s->op->len) {
		refuse(s, EFBIG);
		if (n == 0)
			(void)accept(s, 0);
		return;
	}
	/* copy_file_range(2), EINVAL: same file, overlapping ranges. */
	if (in->ino == out->ino && to_off + n > off && to_off < off + n)
		return refuse(s, EINVAL);
	/* do_splice_from() of fs/splice.c, by which copies are made where nothing better is. */
	if (s->m->traits->quirks & AS_QUIRK_COPY_MAYBE_REFUSED)
		allow(s, EINVAL);
	n = fits(s, to_off, n);
	allow_direct(s, in);
	allow_direct(s, out);
	allow_full(s);
	/* A short copy is always allowed, nothing at all only when there is nothing. */
	if (s->got && s->got->ret > 0 && (uint64_t)s->got->ret < n)
		n = (uint64_t)s->got->ret;
	if (!accept(s, (int64_t)n) || n == 0)
		return;
	changes(s);
	to = node_edit(s->m, out->ino, &before);
	content_copy(inode_at(s->m, in->ino), off, to, to_off, n);
	drop_setid(s, to);
	node_finish(s->m, to, &before);
	node_forget_times(s->m, out->ino, false, true);
	node_forget_times(s->m, in->ino, true, false);
}

#define MSYNC_BOTH 5 /* MS_ASYNC and MS_SYNC */

void step_MMAP_WRITE(struct step *s)
{
	struct file *file = fd_file(s, s->op->fd, false);
	const struct inode *look;
	struct inode *inode;
	struct pair before;

	if (!file)
		return;
	look = inode_at(s->m, file->ino);
	/* The executor asks some of these itself and in its own order, so every error that applies
	 * is allowed: mmap(2) EACCES (not open for both), ENODEV (directories), EINVAL (length 0,
	 * bad offset), msync(2) EINVAL (MS_SYNC with MS_ASYNC: asked before anything is written);
	 * ENXIO: the executor's, for writing behind the end. */
	if (s->op->len == 0 || s->op->off < 0 || overflows(s->op->off, s->op->len) ||
	    (s->op->flags & MSYNC_BOTH) == MSYNC_BOTH)
		refuse(s, EINVAL);
	else if (is_reg(look) && (uint64_t)s->op->off + s->op->len > look->reg.size)
		refuse(s, ENXIO);
	if ((file->flags & O_ACC) != O_RW)
		refuse(s, EACCES);
	if (is_dir(look)) {
		refuse(s, ENODEV);
		allow(s, EACCES);
	}
	if (!has(s, AS_FEAT_MMAP))
		refuse(s, ENODEV);
	if (s->allowed.must)
		return;
	allow_full(s);
	if (!accept(s, 0))
		return;
	changes(s);
	inode = node_edit(s->m, file->ino, &before);
	content_write(inode, (uint64_t)s->op->off, s->op->len, s->op->fill, (uint64_t)s->op->off);
	node_finish(s->m, inode, &before);
	node_forget_times(s->m, file->ino, true, true);
}
